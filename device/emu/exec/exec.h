/*
 * exec.h - the execution of lowered kernels, as the rest of the device uses it.
 *
 * A kernel is lowered once, into gsb_emu_code. Each thread block that is resident is a gsb_emu_block,
 * which a worker runs in slices: it stops at any instruction and goes on later, on any worker, so
 * that blocks which wait for each other all make progress. What a kernel does wrong ends in
 * GSB_EMU_FAULT with the driver's code for it, never in a crash of the process.
 *
 * Life of a grid:
 *	gsb_emu_guard_install();                         once a process
 *	gsb_emu_lower(module, entry, addrs, &code, ...); once a kernel and module load
 *	gsb_emu_pool_init(&pool);
 *	for each block, as it is placed on an SM:
 *		gsb_emu_block_create(&launch, ctaid, smid, &block);
 *		while ((state = gsb_emu_block_run(block, quantum)) < GSB_EMU_DONE)
 *			run others, then this one again;
 *		read gsb_emu_block_stats(block), and gsb_emu_block_fault(block) after GSB_EMU_FAULT;
 *		gsb_emu_block_destroy(block);
 *	gsb_emu_pool_finish(&pool);
 *	gsb_emu_code_destroy(code);
 */
#ifndef GSB_DEVICE_EMU_EXEC_EXEC_H
#define GSB_DEVICE_EMU_EXEC_EXEC_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/emu/exec/access.h"
#include "device/emu/exec/profile.h"
#include "device/emu/memory/address.h"
#include "device/emu/memory/fifo.h"
#include "device/emu/memory/storage.h"
#include "gsb/cuabi.h"

#define GSB_EMU_MAX_THREADS 1024 /* of a block */
#define GSB_EMU_N_ENVREGS   32
#define GSB_EMU_DEFAULT_STACK \
	16384 /* bytes a thread, beyond the frames that are known, for recursion */

struct gsb_emu_code;
struct gsb_emu_block;
struct gsb_emu_cluster;
struct gsb_emu_combiner;
struct gsb_emu_malloc;
struct gsb_emu_watch;

#define GSB_EMU_POOL_SEATS 16

/* Where a thread leaves the block that it had last. */
struct gsb_emu_pool_seat {
	_Atomic(struct gsb_emu_block *) block;
	char others[56]; /* keep out of its line */
};

/* Blocks of one code that are done, kept for their storage. Any thread: each has a seat, which it may share. */
struct gsb_emu_pool {
	struct gsb_emu_pool_seat seats[GSB_EMU_POOL_SEATS];
	pthread_mutex_t lock; /* of what follows: blocks that found their seat taken */
	struct gsb_emu_block *blocks;
	unsigned int n_blocks;
	size_t bytes;
};

void gsb_emu_pool_init(struct gsb_emu_pool *pool);
/* No block of the code runs; what they were counted in is there. */
void gsb_emu_pool_finish(struct gsb_emu_pool *pool);

/* A grid. The caller keeps it, and all it points to, while blocks of it exist. */
struct gsb_emu_launch {
	const struct gsb_emu_code *code;
	struct gsb_emu_pool *pool; /* of the code; NULL: none */
	const struct gsb_emu_memory *memory;
	struct gsb_emu_malloc *heap;	 /* for malloc; NULL: it gives none */
	struct gsb_emu_storage *storage; /* outlives the pool; NULL: not counted */
	uint32_t grid[3], block[3];	 /* each >= 1; block multiplied <= GSB_EMU_MAX_THREADS */
	uint32_t cluster[3];   /* each >= 1, divides the grid; multiplied <= GSB_CLUSTER_MAX */
	bool explicit_cluster; /* the launch or the kernel has said so */
	uint32_t smem_bytes;   /* dynamic shared memory */
	uint32_t stack_bytes;  /* for recursion, a thread; 0 = GSB_EMU_DEFAULT_STACK */
	const void *params;    /* at 16; at least the entry's param_bytes long: params_bytes says */
	uint32_t params_bytes;
	const char *name;  /* that a fault is told with; NULL: the code's */
	uint32_t first[3]; /* that a fault adds to the number of its block */
	uint64_t grid_id;
	uint32_t n_sms, max_warps; /* %nsmid, %nwarpid */
	uint32_t envreg[GSB_EMU_N_ENVREGS];
	uint64_t
		poison; /* not 0: registers, shared and local memory begin with noise of this seed */
	bool count_paths; /* gsb_emu_block_paths(), also without a watch */
	bool strict;	  /* lanes wait where their ways meet, whatever the others wait for, as code
			     of a GPU's compiler may have them do; else they go on before all hangs */
	struct gsb_emu_watch *watch; /* NULL: nobody looks */
};

enum gsb_emu_state {
	GSB_EMU_RUNNING, /* the quantum is used up */
	GSB_EMU_YIELDED, /* every warp that could run sleeps or only waits: better run another block */
	GSB_EMU_DONE,
	GSB_EMU_FAULT,
};

/* Instructions that each warp of a kernel executes, unless the block fails: at least so many. */
uint32_t gsb_emu_code_least_insns(const struct gsb_emu_code *code);

/* Whether what it does may depend on where or when its blocks run: it reads %smid, a clock or a timer. */
bool gsb_emu_code_knows_place(const struct gsb_emu_code *code);

/* What a block has done so far: the input of the block-time model. */
struct gsb_emu_stats {
	uint64_t n_insns; /* PTX instructions, once a warp; of these: */
	uint64_t n_alu;	  /* whole numbers and logic */
	uint64_t n_imul;  /* products of whole numbers */
	uint64_t n_sfu;	  /* special functions, and what goes their way: ptx/unit.h's XU */
	uint64_t n_fp64;  /* double precision */
	uint64_t
		n_lane_insns; /* the same, times the lanes that took part (as of the last branch) */
	uint64_t n_mem_insns; /* warp-wide accesses of global memory, atomics included */
	uint64_t n_sectors;   /* runs of 32 bytes that these touched */
	uint64_t n_shared;    /* warp-wide accesses of shared memory */
	uint64_t n_barriers;  /* block barriers that were passed, once a warp */
	uint64_t sleep_ns;    /* asked for by nanosleep, once a warp */
};

/* Strings that are pointed to live as long as the code. */
struct gsb_emu_fault {
	CUresult result;
	uint64_t address; /* of a bad access; else 0 */
	uint32_t line;	  /* of the PTX text */
	char text[256];	  /* one line: what, kernel, instruction and line, block, thread */
	char what[96];	  /* the first of these alone */
	const char *kernel;
	const char *spelling;	   /* of the instruction; "": none is to blame */
	const char *file;	   /* of the compiler's input, by the debug lines of the PTX: any */
	uint32_t source_line;	   /* bytes; 0, "": they do not say */
	uint32_t ctaid[3], tid[3]; /* the first lane to blame */
	uint32_t first_thread;	   /* of its warp, in the block */
	uint32_t lanes;		   /* of its warp to blame; 0: nobody more than others */
	struct gsb_emu_access access; /* kind NONE: another kind of fault */
	bool unmapped; /* the processor has found it: lanes behind the first may be to blame, too */
	char limit[128]; /* what there is of a memory that is not global; "": it is */
};

/**
 * gsb_emu_block_create() - a block at its first instruction
 * @launch: the grid; its geometry has been checked (see there)
 * @ctaid:  which block of it      @smid: %smid
 *
 * Storage comes from the pool, where there is a block of this shape.
 *
 * Context: any thread. Return: 0, -EINVAL (geometry, parameters), -ENOMEM.
 */
int gsb_emu_block_create(const struct gsb_emu_launch *launch, const uint32_t ctaid[3],
			 uint32_t smid, struct gsb_emu_block **out);

/* In any state; NULL is fine. */
void gsb_emu_block_destroy(struct gsb_emu_block *block);

/* What %clock64 and %globaltimer read from now on; the instructions that follow count on from it, one
 * cycle each. */
void gsb_emu_block_set_time(struct gsb_emu_block *block, uint64_t clock, uint64_t globaltimer_ns);

/*
 * Instead of one cycle and one ns each: how long the block runs that has done so much, in ns from the time
 * that was set. It grows with each count. Called in gsb_emu_block_run().
 */
typedef uint64_t gsb_emu_elapsed(void *ctx, const struct gsb_emu_stats *done);
void gsb_emu_block_set_pace(struct gsb_emu_block *block, gsb_emu_elapsed *elapsed, void *ctx,
			    uint64_t clock_khz);

/* Where the block's printf goes, and its assertions that fail: called in gsb_emu_block_run(). Until then
 * it is dropped. */
typedef void gsb_emu_on_print(void *ctx, const struct gsb_emu_text *text);
void gsb_emu_block_set_print(struct gsb_emu_block *block, gsb_emu_on_print *on_print, void *ctx);

/*
 * What a thread keeps back of its blocks' reductions (combine.h). NULL, without memory, does as well as one: nothing is kept.
 * Once a turn of a block is over, memory gets the rest by flush(), which whoever has it calls before it tells anybody
 * that the turn is over.
 */
struct gsb_emu_combiner *gsb_emu_combiner_create(void);
void gsb_emu_combiner_destroy(struct gsb_emu_combiner *c);
bool gsb_emu_combiner_holds(const struct gsb_emu_combiner *c);
void gsb_emu_combiner_flush(struct gsb_emu_combiner *c);

/* For the turns that follow, all on the thread that has it. */
void gsb_emu_block_set_combiner(struct gsb_emu_block *block, struct gsb_emu_combiner *c);

/**
 * gsb_emu_block_run() - go on with a block for about @quantum instructions of a warp
 *
 * Looks at the quantum at backward branches, calls and waits, so that it may be passed by the longest
 * run of instructions without one.
 *
 * Context: one thread at a time for one block; guard installed; rounding mode to nearest.
 * Return:  RUNNING and YIELDED: call again. DONE and FAULT are final.
 */
enum gsb_emu_state gsb_emu_block_run(struct gsb_emu_block *block, uint64_t quantum);

/* ---- clusters: where a launch has them, and the code knows of it ---- */

bool gsb_emu_code_knows_cluster(const struct gsb_emu_code *code);

/* Its blocks at their first instructions; @smid: of each, by rank. As gsb_emu_block_create(). */
int gsb_emu_cluster_create(const struct gsb_emu_launch *launch, const uint32_t clusterid[3],
			   const uint32_t *smid, struct gsb_emu_cluster **out);
/* In any state; NULL is fine. Its blocks go with it. */
void gsb_emu_cluster_destroy(struct gsb_emu_cluster *cluster);
struct gsb_emu_block *gsb_emu_cluster_block(struct gsb_emu_cluster *cluster, uint32_t rank);
/* As gsb_emu_block_run(), of all its blocks. *rank: of the one at fault. */
enum gsb_emu_state gsb_emu_cluster_run(struct gsb_emu_cluster *cluster, uint64_t quantum,
				       uint32_t *rank);

const struct gsb_emu_stats *gsb_emu_block_stats(const struct gsb_emu_block *block);
/* What it has counted so far, if its launch asked for that or is watched for its profile; else all 0. */
const struct gsb_emu_paths *gsb_emu_block_paths(const struct gsb_emu_block *block);
const struct gsb_emu_fault *gsb_emu_block_fault(const struct gsb_emu_block *block);

/**
 * gsb_emu_guard_install() - take SIGSEGV and SIGBUS for accesses of kernels
 *
 * A fault inside gsb_emu_block_run() at an address of its gsb_emu_memory ends that block; every other
 * one goes to the handler that was there before. Once a process is enough, unless somebody else takes the
 * signals later: then another call takes them back, with that handler behind it.
 *
 * Return: 0, -errno of sigaction.
 */
int gsb_emu_guard_install(void);

#endif
