/*
 * interference.h - what two kernels on one SM leave each other, by what each of them keeps busy.
 *
 * The units of an SM are not independent: shared memory, loads and the special function unit stand in one
 * queue, and who issues in every cycle starves whoever has to wait. Which pairs get on is a fact of a GPU, not
 * a formula: so it is measured, with one kernel for each unit that does nothing else, all ordered pairs, the
 * older one first. doc/model.md#the-law says how; other GPUs than the measured one take over its figures, and
 * say that they are assumed.
 */
#ifndef GSB_MODEL_GPU_INTERFERENCE_H
#define GSB_MODEL_GPU_INTERFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/gpu/text.h"

/* What a kernel can keep full. Inside an SM but for L2, CHAIN and DRAM, which are the device's, and the copy engines. */
enum gsb_unit {
	GSB_UNIT_DENSE,	  /* issue slots, by chains of arithmetic that never wait */
	GSB_UNIT_ALU,	  /* whole numbers and logic */
	GSB_UNIT_ISSUE,	  /* issue slots, as they come */
	GSB_UNIT_SHARED,  /* accesses to shared memory */
	GSB_UNIT_L1,	  /* loads that hit the L1 */
	GSB_UNIT_SFU,	  /* special functions */
	GSB_UNIT_FP64,	  /* double precision */
	GSB_UNIT_TENSOR,  /* matrix instructions */
	GSB_UNIT_L2,	  /* scattered loads from the L2, many under way */
	GSB_UNIT_CHAIN,	  /* loads from the L2 of which each waits for the one before */
	GSB_UNIT_DRAM,	  /* bytes of the device memory */
	GSB_UNIT_BARRIER, /* barriers of short steps */
	GSB_UNIT_REQUESTS, /* requests: loads, stores and atomics of warps, wherever they go; all are one a cycle */
	GSB_UNIT_UP,   /* copies to the device */
	GSB_UNIT_DOWN, /* copies from it */
	GSB_N_UNITS
};

/* Share of the speed alone that each has; never 0: what was not seen to move is GSB_STARVED. */
struct gsb_beside {
	float older, younger;
};

#define GSB_STARVED 0.0005f

/* What a line of the text form begins with. */
#define GSB_INTERFERENCE_KEY "beside "

struct gsb_interference {
	bool is_assumed; /* of another GPU than the one that it stands for */
	/* By the unit that the older one keeps full, and that of the younger one. */
	struct gsb_beside beside[GSB_N_UNITS][GSB_N_UNITS];
};

/* "dense", "issue", "shared", ... */
const char *gsb_unit_name(enum gsb_unit unit);

/* The units of the whole device, for which also kernels on different SMs meet. */
static inline bool gsb_unit_is_memory(enum gsb_unit unit)
{
	return unit == GSB_UNIT_L2 || unit == GSB_UNIT_CHAIN || unit == GSB_UNIT_DRAM;
}

/* Of the GPU of that name, as in the table of arch.c; of any other name it is assumed. Pure. */
void gsb_interference_init(struct gsb_interference *f, const char *name);

/**
 * gsb_interference_parse() - the same from the text of a GPU, see gsb_arch_parse()
 * @text, @len: of its lines those of the form "beside OLDER YOUNGER = X Y" are read, with names of units and
 *              shares of the speed alone; the first makes the rest of the table no longer assumed
 * @f:          has been initialised for the GPU; unchanged on failure
 *
 * Context: pure, any thread, no allocation.
 * Return:  0, -EINVAL with the line and the reason in @err.
 */
int gsb_interference_parse(const char *text, size_t len, struct gsb_interference *f,
			   struct gsb_text_error *err);

#endif
