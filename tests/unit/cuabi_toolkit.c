/*
 * cuabi_toolkit.c - the toolkit's side of test_cuabi. That it compiles is half of the test: every carried entry
 * point is declared again from entries.def, and a prototype that differs from cuda.h's is an error.
 */
#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>

#include "tests/unit/cuabi.h"

#define GSB_CU(class, symbol, name, since, pt, params, call) CUresult CUDAAPI symbol params;
#define GSB_CU_REFUSED(symbol, name, since, pt)
#include "interpose/entries.def"

#define GSB_DRIVER(name, params, threads) CUresult CUDAAPI name params;
#include "device/cuda/driver.def"

#define GSB_CUERR(name, value, text) _Static_assert(name == value, #name);
#include "gsb/cuda_errors.def"

const struct abi_row toolkit_rows[] = {
#define ABI_SIZE(type)		ABI_SIZE_ROW(type)
#define ABI_FIELD(type, member) ABI_FIELD_ROW(type, member)
#define ABI_VALUE(name)		{#name, (long)(name)},
#include "tests/unit/cuabi_list.def"
};
const size_t n_toolkit_rows = sizeof(toolkit_rows) / sizeof(toolkit_rows[0]);
