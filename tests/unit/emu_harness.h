/*
 * emu_harness.h - what a test needs to run PTX text on the interpreter alone, on one thread: memory with
 * a hole behind it, the module's variables, launches. Everything that can only be wrong in the test
 * itself fails the test at once.
 */
#ifndef GSB_TESTS_EMU_HARNESS_H
#define GSB_TESTS_EMU_HARNESS_H

#include "device/emu/exec/exec.h"
#include "device/emu/lower/lower.h"
#include "device/emu/memory/malloc.h"

#define T_MEMORY_BYTES ((uint64_t)256 << 20)
#define T_MAX_ARGS     24

struct t_gpu {
	struct gsb_ptx_module *module;
	struct gsb_emu_memory memory;
	uint64_t used;	    /* bytes of memory.device; what lies behind is PROT_NONE */
	uint64_t *var_addr; /* by index of the module's variables */
	char log[512];
	char printed[65536];
	size_t n_printed, printed_cost; /* bytes; of the printf buffer */
	uint64_t quantum;		/* of one slice; 0 = each block to its end */
	uint32_t resident;		/* blocks that take turns; 0 = 1 */
	uint32_t stack_bytes;
	struct gsb_emu_malloc heap; /* for kernels; t_heap() */
	bool has_heap;
	struct gsb_emu_watch *watch;	   /* of launches; NULL: none */
	struct gsb_emu_combiner *combiner; /* for the blocks of launches, and not flushed; NULL */
	unsigned int isa;		   /* number for gsb_emu_isa_nth() */
	struct gsb_emu_stats stats;	   /* of the last launch, all blocks */
	uint64_t n_yields; /* turns of its blocks that ended because all warps slept */
	struct gsb_emu_fault fault;
};

struct t_launch {
	const char *kernel;
	uint32_t grid[3], block[3]; /* 0 counts as 1 */
	uint32_t smem_bytes;
	bool strict; /* gsb_emu_launch's */
	/* Addresses of the arguments, in order; sizes are the parameters'. */
	const void *args[T_MAX_ARGS];
};

/* PTX from text, or from a file named under the source tree. */
void t_gpu_init(struct t_gpu *g, const char *text);
void t_gpu_init_file(struct t_gpu *g, const char *path);
void t_gpu_finish(struct t_gpu *g);

/* Memory of the device, zeroed, aligned to 256. */
void *t_alloc(struct t_gpu *g, uint64_t bytes);
void *t_copy(struct t_gpu *g, const void *from, uint64_t bytes);
/* A heap of so many bytes for the malloc of kernels. */
void t_heap(struct t_gpu *g, uint64_t bytes);
/* A module variable by name. */
void *t_var(struct t_gpu *g, const char *name);

/* Lower only: 0 or -errno, and g->log. */
int t_lower(struct t_gpu *g, const char *kernel);
/* Lower and run all blocks. */
CUresult t_launch(struct t_gpu *g, const struct t_launch *l);

#endif
