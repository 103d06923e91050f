/*
 * rtabi_toolkit.c - the toolkit's side of test_rtabi. That it compiles is half of the test: the types of the two are
 * not the same ones, but their codes are.
 */
#include <cuda_runtime_api.h>

#include "tests/unit/cuabi.h"

#define GSB_RT_ERROR(name, value)	    _Static_assert(name == value, #name);
#define GSB_RT_OWN_ERROR(name, value, text) _Static_assert(name == value, #name);
#include "cudart/errors.def"

const struct abi_row toolkit_rows[] = {
#define ABI_SIZE(type)		ABI_SIZE_ROW(type)
#define ABI_FIELD(type, member) ABI_FIELD_ROW(type, member)
#define ABI_VALUE(name)		{#name, (long)(name)},
#include "tests/unit/rtabi_list.def"
};
const size_t n_toolkit_rows = sizeof(toolkit_rows) / sizeof(toolkit_rows[0]);
