/*
 * gpu.h - the driver, one GPU and its kernels, as much of them as model_measure.c, real_measure.c and emu_oracle.c need.
 *
 * libcuda.so.1 is loaded at run time; without it the program exits 77. Every other error ends the program
 * with a message: a measurement that lost a call is worth nothing.
 */
#ifndef GSB_TESTS_GPU_H
#define GSB_TESTS_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gsb/cuabi.h"

#define GPU_FLOATS     (1u << 26) /* 256 MiB an array: four times the L2 cache */
#define GPU_SMEM_OPTIN 232448	  /* bytes that one block may ask for */

/* A kernel with a geometry. */
struct grid {
	const char *name;
	CUfunction function;
	unsigned blocks, threads, smem; /* dynamic, bytes */
	unsigned work;			/* passes: length, no resource */
	int regs, static_smem;
};

extern int gpu_n_sms;

/* Prints which GPU this is as a comment, and the header behind it; NULL: nothing. */
void gpu_start(const char *header);
void gpu_start_memory(void);	     /* arrays, streams, events: all that runs kernels */
CUmodule gpu_load(const char *text); /* PTX; the caller unloads */
CUmodule gpu_load_file(const char *path);
void gpu_unload(CUmodule module);
void gpu_find(struct grid *g, CUmodule module); /* by g->name; fills regs and static_smem */
/* Blocks of that many threads per SM, as the driver says; its error code, negative, where it refuses. */
int gpu_occupancy(const struct grid *g, unsigned threads, unsigned smem);

void gpu_run(const struct grid *g); /* to its end, untimed: a profiler holds each launch back */
/* Device time of the grid in us, from an event before it to one after it. */
double gpu_time(const struct grid *g);
/*
 * The same for k2 submitted when k1 runs; false when k1 had ended before k2. In two streams: k1's blocks go first.
 */
bool gpu_time_beside(const struct grid *k1, const struct grid *k2, double *us);
/* Runs a grid of the kernel synth; its blocks on the SM that got fewest, and on the one that got most. */
void gpu_spread(const struct grid *g, unsigned *least, unsigned *most);
/* Keeps every SM busy for about a third of a second: clocks rise before anything is measured. */
void gpu_warm(CUmodule module);

/* ---- kernels beside each other, looked at while they run ---- */

#define GPU_SLOTS 3 /* a kernel in each */

void gpu_start_slots(void);
void *gpu_pinned(size_t bytes);
CUdeviceptr gpu_alloc(size_t bytes);
/* Into its slot's stream, without waiting for it. g->work and the arrays of gpu_start_memory() are not used. */
void gpu_slot_launch(unsigned slot, const struct grid *g, void **args);
void gpu_slot_wait(unsigned slot);
/* Marks in the stream of a slot, and the time from one to the other: both have been waited for. */
void gpu_slot_begin(unsigned slot);
void gpu_slot_end(unsigned slot);
double gpu_slots_us(unsigned begun, unsigned ended);
/* Between pinned memory and the device, beside all kernels; waits for the copy alone. */
void gpu_look(void *to, CUdeviceptr from, size_t bytes);
void gpu_put(CUdeviceptr to, const void *from, size_t bytes);
/* Two instants of the device, 0 and 1, and the time between them. */
void gpu_stamp(unsigned which);
double gpu_stamps_us(void);

/* ---- for results, not times ---- */

struct gpu_call {
	const char *kernel;
	unsigned grid[2], block[2], smem;
	void **args;
};

/* False, and the compiler's words in @log, where the driver refuses the text. */
bool gpu_compile(const char *text, CUmodule *module, char *log, size_t size);
CUdeviceptr gpu_copy_in(const void *from, size_t bytes);
void gpu_copy_out(void *to, CUdeviceptr p, size_t bytes); /* and frees p */
void gpu_free(CUdeviceptr p);
void gpu_call(CUmodule module, const struct gpu_call *c); /* to its end */

#endif
