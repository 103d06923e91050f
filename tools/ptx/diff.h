/*
 * diff.h - a kernel against its variants: the same memory before, the same afterwards?
 *
 * A subject is a kernel with a geometry and arguments. Its original runs once, blocks in ascending order; then each way runs a
 * variant as the broker would, in as many launches as it takes, blocks in random order, on registers and shared memory
 * that begin as noise. Beside the memory it is checked that each launch kept what its form promises: lifetimes, the stop
 * flag, SMs to keep off.
 */
#ifndef GSB_TOOLS_PTX_DIFF_H
#define GSB_TOOLS_PTX_DIFF_H

#include "ptx/resize/rewrite.h"
#include "ptx/resize/rewrite_count.h"
#include "ptx/resize/variant.h"
#include "tools/ptx/grid.h"

#define DIFF_PARAM_BYTES  4608
#define DIFF_TEXT_BYTES	  640
#define DIFF_RESHAPE	  GSB_N_REWRITE_FORMS /* a way: the original in blocks of another size */
#define DIFF_MAX_RESHAPES 64

/* How floats of a buffer may differ: not at all, or by rounding, where atomics add them up in another order. */
enum diff_compare { DIFF_BYTES, DIFF_F32, DIFF_F64 };

#define DIFF_MAX_LOOSE 64

struct diff {
	struct gsb_ptx_module *module; /* with the variants */
	const struct gsb_ptx_func *original;
	struct grid_machine machine;
	struct grid_kernel kernels[GSB_N_REWRITE_FORMS + 1]; /* the last: the original */
	unsigned int forms;				     /* bits 1 << form */
	uint32_t grid[3], block[3], smem_bytes;
	bool ascending; /* blocks wait for lower ones: always in order */
	uint64_t
		max_insns; /* of a launch; 0: ten times what the original took, and a little more */
	_Alignas(16) uint8_t params[DIFF_PARAM_BYTES];
	uint64_t bytes; /* of memory that is compared: all up to here */
	uint8_t *before, *expected;
	struct {
		uint64_t at, bytes;
		enum diff_compare how;
	} loose[DIFF_MAX_LOOSE];
	unsigned int n_loose;
	uint32_t reshapes[DIFF_MAX_RESHAPES]; /* threads on x that keep the product */
	unsigned int n_reshapes;
	struct gsb_variant_control *control; /* behind it */
	struct gsb_count_sites sites;
	uint64_t *words;
	struct gsb_arena arena;
	struct gsb_count counted; /* by the last run of COUNT */
	uint64_t n_launches;	  /* of all ways so far */
	uint64_t n_insns;	  /* of the last run, once a warp */
	uint64_t n_original_insns;
	char text[DIFF_TEXT_BYTES]; /* what is wrong */
};

/* A form with what can be chosen about it. */
struct diff_way {
	unsigned int form; /* enum gsb_rewrite_form, or DIFF_RESHAPE */
	uint64_t seed;	   /* of order and noise; not 0 */
	uint32_t resident; /* blocks that take turns */
	uint64_t quantum;
	uint32_t slices;   /* SLICE */
	uint32_t n_blocks; /* PERSISTENT: physical ones */
	uint32_t max_tiles, batch;
	uint64_t max_ns;
	uint64_t stop_after; /* turns until the flag is raised in the first launches; 0: never */
	uint32_t every;	     /* COUNT */
	uint32_t threads;    /* DIFF_RESHAPE: on x */
};

/**
 * diff_open() - variants of a kernel, ready to run
 * @forms: bits 1 << form of those wanted; they can all be written
 *
 * Return: 0; -1, and d->text. Close it in any case.
 */
int diff_open(struct diff *d, const struct gsb_ptx_module *m, const struct gsb_ptx_func *kernel,
	      unsigned int forms, enum gsb_resize_early early);
void diff_close(struct diff *d);

/* Memory for the arguments; then, once, what is in it and in the parameters is what every run begins with: the original runs.
 * 0; -1, and d->text. */
void *diff_alloc(struct diff *d, uint64_t bytes, enum diff_compare how);
int diff_expect(struct diff *d);
/* Memory as it was before the last runs, for other inputs; at first there is nothing to do. */
void diff_restore(struct diff *d);
/* The way's results are the same, and it kept its promises: 0; -1, and d->text. */
int diff_try(struct diff *d, const struct diff_way *way);

/* A way of one of the forms that a number chooses, for so many blocks of so many threads. */
void diff_choose(const struct diff *d, uint64_t number, struct diff_way *way);
void diff_say_way(const struct diff_way *way, char *out, size_t size);

#endif
