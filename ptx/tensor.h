/*
 * tensor.h - the copies of the TMA unit that name a tensor map, by their spelling: words in any order, as ptxas takes
 * them, of which the rows of ops.def say no more than the operands.
 */
#ifndef GSB_PTX_TENSOR_H
#define GSB_PTX_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GSB_PTX_TENSOR_MAX_DIMS 5

enum gsb_ptx_tensor_route {
	GSB_PTX_TENSOR_TO_CLUSTER = 1, /* into the shared memory of any block of the cluster */
	GSB_PTX_TENSOR_TO_BLOCK,
	GSB_PTX_TENSOR_TO_GLOBAL, /* a copy or, with an operation, a reduction */
	GSB_PTX_TENSOR_TO_CACHE,
};

enum gsb_ptx_tensor_mode {
	GSB_PTX_TENSOR_TILE = 1,
	GSB_PTX_TENSOR_IM2COL,
	GSB_PTX_TENSOR_IM2COL_NO_OFFSETS,
};

/* 0: not said. */
struct gsb_ptx_tensor {
	uint8_t dims;		   /* from 1 */
	uint8_t route;		   /* enum gsb_ptx_tensor_route */
	uint8_t mode;		   /* enum gsb_ptx_tensor_mode; TILE where none is written */
	uint8_t done;		   /* how the end is told: 1 an mbarrier, 2 a bulk group */
	uint8_t multicast, policy; /* has an operand: mask of blocks, cache policy */
	uint8_t reduction;	   /* GSB_PTX_SUB_* */
	uint8_t zero;
};

/* False: it is none, or its words do not fit together; sm_90's alone are known. */
bool gsb_ptx_tensor_decode(const char *spelling, size_t len, struct gsb_ptx_tensor *out);

/* The letters of ops.def for its operands; @size: GSB_PTX_SHAPE_MAX. */
void gsb_ptx_tensor_shape(const struct gsb_ptx_tensor *t, char *shape, size_t size);

#endif
