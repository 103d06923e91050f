/*
 * cubin.h - what a cubin says about its kernels, read without a driver: registers, memory, parameters.
 *
 * A cubin is an ELF file with machine 190. Nothing in it is trusted: what points outside is -EBADMSG.
 */
#ifndef GSB_PTX_CUBIN_H
#define GSB_PTX_CUBIN_H

#include <stdbool.h>

#include "base/arena.h"

#define GSB_CUBIN_MAX_PARAMS 4096

struct gsb_cubin_param {
	uint32_t offset, size; /* in the parameter block, bytes */
};

struct gsb_cubin_kernel {
	const char *name;
	uint32_t regs; /* per thread */
	uint32_t
		shared_bytes; /* static, without the 1,024 that sm_90 and later add for themselves */
	uint32_t local_bytes;	 /* stack per thread */
	uint32_t max_threads[3]; /* __launch_bounds__; zeros: none */
	uint32_t reqntid[3];	 /* zeros: none */
	uint32_t cluster[3];	 /* fixed cluster size; zeros: none */
	uint32_t n_barriers;
	uint32_t param_bytes;
	const struct gsb_cubin_param *params;
	uint32_t n_params;
};

struct gsb_cubin {
	uint32_t sm;				/* 90 */
	const struct gsb_cubin_kernel *kernels; /* in the order of the symbol table */
	uint32_t n_kernels;
	uint64_t const_bytes;  /* __constant__ variables */
	uint64_t global_bytes; /* __device__ variables */
	bool has_managed;      /* __managed__ ones among them */
	bool prints;	       /* its kernels call vprintf, which it does not have itself */
	bool sets_conditions;  /* likewise of graphs (condition.h) */
};

/**
 * gsb_cubin_read() - the kernels of a cubin
 * @arena: everything in @out lives there, names are copied
 *
 * Context: pure. Return: 0, -EBADMSG (no cubin, or malformed), -ENOMEM.
 */
int gsb_cubin_read(const void *bytes, size_t size, struct gsb_arena *arena, struct gsb_cubin *out);

#endif
