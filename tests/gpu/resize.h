/*
 * resize.h - the driver, as much of it as the files of `resize` need: modules of printed PTX, launches with a buffer of parameters, parts
 * of the SMs.
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
/* A module with these of @m's entries alone, and all else of it. */
struct gsb_ptx_module *device_text_of(const struct gsb_ptx_module *m,
				      struct gsb_ptx_func *const *entries, size_t n);
/* NULL, and the compiler's words in @log, where the driver refuses it. */
CUmodule device_load(const struct gsb_ptx_module *m, char *log, size_t size);
CUfunction device_find(CUmodule module, const char *name);
/* The kernel itself for GSB_N_REWRITE_FORMS, else its variant. */
CUfunction device_find_form(CUmodule module, const char *kernel, unsigned int form);
void device_fire(const struct shot *s, CUstream stream);
int device_attribute(CUfunction f, int which);
int device_resident(CUfunction f, int threads, size_t smem); /* blocks on an SM */
CUdeviceptr device_alloc(size_t bytes);			     /* zeroed */
/* What does not end within 10 s ends the program, with a row "hangs" of these words: nothing more can be had of the device. */
void device_await(CUstream stream, const char *kernel, const char *what);
/* Streams of two parts of the SMs: of the first so many, in whole groups of 8, and of the rest; how many each has. */
void device_split(uint32_t want, CUstream *low, uint32_t *n_low, CUstream *high, uint32_t *n_high);

/* A command each. */
int measure_times(void); /* resize_times.c */
int measure_counting(void);
int measure_overlap(void);
int measure_grids(void);
int measure_shares(void); /* resize_pairs.c */
int measure_hints(void);
int measure_cub(const char *path, uint32_t n_words); /* resize_cub.c: 1 when something is wrong */

#endif
