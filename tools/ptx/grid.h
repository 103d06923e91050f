/*
 * grid.h - grids on the interpreter alone: no clock, no tenant, one thread. Blocks start in any order, so many of them
 * take turns, and what they must not rely on is noise.
 */
#ifndef GSB_TOOLS_PTX_GRID_H
#define GSB_TOOLS_PTX_GRID_H

#include "device/emu/exec/exec.h"
#include "ptx/ptx.h"

#define GRID_MAX_RESIDENT 64

/* A module, its variables, and memory behind them. */
struct grid_machine {
	const struct gsb_ptx_module *module;
	struct gsb_emu_memory memory;
	uint64_t used;	    /* bytes from memory.device.base on */
	uint64_t *var_addr; /* by index of the module's variables */
};

struct grid_kernel {
	const struct gsb_ptx_func *entry;
	struct gsb_emu_code *code;
	struct gsb_emu_pool pool;
};

struct grid_launch {
	uint32_t grid[3], block[3], smem_bytes;
	const void *params; /* at 16 */
	uint32_t params_bytes;
	uint64_t
		seed; /* of the order of blocks and of the noise; 0: ascending, and all begins as 0 */
	bool ascending;	   /* whatever the seed */
	bool strict;	   /* gsb_emu_launch's */
	uint32_t resident; /* blocks that take turns, at most GRID_MAX_RESIDENT; 0: 1 */
	uint64_t quantum;  /* instructions of a turn; 0: to the end */
	uint64_t
		max_insns; /* of the whole launch, about: then CUDA_ERROR_LAUNCH_TIMEOUT; 0: no limit */
	uint32_t *flag; /* becomes 1 after so many turns; NULL: none */
	uint64_t flag_after;
	struct gsb_emu_watch *watch;
	uint64_t n_insns; /* result: of all warps */
};

/* 0, -errno. Memory is of at most so many bytes. */
int grid_machine_init(struct grid_machine *m, const struct gsb_ptx_module *module, uint64_t bytes);
void grid_machine_finish(struct grid_machine *m);
/* Zeroed, at a multiple of 256; NULL: no more. */
void *grid_machine_alloc(struct grid_machine *m, uint64_t bytes);

/* 0, -errno and a sentence. */
int grid_kernel_init(struct grid_kernel *k, const struct grid_machine *m,
		     const struct gsb_ptx_func *entry, char *log, size_t size);
void grid_kernel_finish(struct grid_kernel *k);

/* Run it; @fault is filled when the result is no success. */
CUresult grid_run(const struct grid_machine *m, struct grid_kernel *k, struct grid_launch *l,
		  struct gsb_emu_fault *fault);

#endif
