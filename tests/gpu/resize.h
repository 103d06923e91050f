/*
 * resize.h - the driver, as much of it as resize.c and resize_times.c need: modules of printed PTX, launches with a buffer of
 * parameters, and the time between two events.
 *
 * A call that fails ends the program with its name: a measurement that lost a call is worth nothing.
 */
#ifndef GSB_TESTS_GPU_RESIZE_H
#define GSB_TESTS_GPU_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/resize/rewrite.h"
#include "ptx/resize/variant.h"
#include "tests/unit/tenant.h"

extern struct cu cu;

struct shot {
	CUfunction function;
	uint32_t grid[3], block[3], smem;
	void *params;
	size_t bytes;
};

void need(const char *what, CUresult result);
void device_open(void);
/* NULL, and the compiler's words in @log, where the driver refuses it. */
CUmodule device_load(const struct gsb_ptx_module *m, char *log, size_t size);
CUfunction device_find(CUmodule module, const char *name);
/* The kernel itself for GSB_N_REWRITE_FORMS, else its variant. */
CUfunction device_find_form(CUmodule module, const char *kernel, unsigned int form);
void device_fire(const struct shot *s, CUstream stream);
int device_attribute(CUfunction f, int which);
int device_resident(CUfunction f, int threads, size_t smem); /* blocks on an SM */
CUdeviceptr device_alloc(size_t bytes);			     /* zeroed */

int measure_times(bool counting_alone); /* resize_times.c: the whole command */

#endif
