/*
 * resize_task.h - a kernel of the texts in bound_kernels.h and resize_kernels.h, in a form, and how long it takes: for
 * resize_times.c and resize_pairs.c.
 *
 * A time is the least of some runs, from an event before the first launch of a form to one after its last, so that the gaps between
 * the launches of a grid belong to it.
 */
#ifndef GSB_TESTS_GPU_RESIZE_TASK_H
#define GSB_TESTS_GPU_RESIZE_TASK_H

#include "tests/gpu/resize.h"

#define TASK_ORIGINAL GSB_N_REWRITE_FORMS
#define TASK_SMS      132
#define TASK_THREADS  256
#define TASK_FULL     (8 * TASK_SMS) /* blocks of TASK_THREADS */
#define TASK_WAVES    64
#define TASK_MIB      (1ull << 20)
#define TASK_UNIT     (64ull * TASK_THREADS * 4 * TASK_SMS) /* bytes of one turn of a scan */
#define TASK_SCAN     (1024 * TASK_MIB / TASK_UNIT * TASK_UNIT)

/* Its two parameters, and what its form takes behind them. */
struct task {
	struct shot shot;
	struct {
		uint64_t p, n;
		union {
			struct gsb_variant_slice slice;
			struct gsb_variant_persistent persistent;
			struct gsb_variant_count count;
		} own;
	} params;
	unsigned int form;
	uint32_t blocks;    /* of the logical grid */
	uint32_t slices;    /* SLICE: how many; COUNT: one warp of so many */
	uint32_t max_tiles; /* PERSISTENT */
	uint32_t queues;    /* PERSISTENT: that its launches take turns in; 0: one */
	uint32_t spare;	    /* PERSISTENT: launches more than its tiles need */
};

/* What all tasks share. Two queues for kernels; the third says things to them meanwhile. */
struct bench {
	CUstream streams[3];
	CUevent begin, end, joined;
	CUdeviceptr control, words, memory;
	CUmodule bound, more;
};
extern struct bench bench;

/* @n_forms: 0 where a broker is to write variants: it leaves alone what has some already. */
void task_prepare(int n_forms);
struct task task_of(CUmodule module, const char *kernel, unsigned int form, uint32_t blocks,
		    uint64_t n);
struct gsb_variant_persistent task_persistent(const struct task *t);
/* One launch, with @own behind the kernel's parameters. */
void task_fire(struct task *t, const void *own, size_t bytes, CUstream stream);
void task_fire_all(struct task *t, CUstream stream);
double task_us(struct task *t, CUstream stream);
double task_elapsed_us(CUevent from, CUevent to); /* waits for both */
/* Turns of "spin" in which a block takes so long beside as many others as fit. */
uint64_t task_turns(double block_us);
void task_clear_control(void); /* waits for all that runs */
void task_raise_stop(void);

#endif
