/*
 * code.h - a lowered kernel, and the state of a block that executes it: private to the interpreter.
 *
 * The idea: one operation is done for all 32 lanes of a warp at once. A register is a row of 32 lanes
 * of 4 or 8 bytes (16 for .b128) in the frame of its function, a predicate is a 32-bit mask there, and
 * an op names its operands by their byte offset in the frame. Constants are rows that never change.
 * Handlers come in two versions: one writes whole rows, for when no other living lane of the warp
 * could mind; the other writes the lanes of a mask.
 *
 * Lanes of one warp that go different ways are splits. A split is a node {pc, mask}; where it divides,
 * a join node takes its place in the tree, knows the place where all meet again, and becomes a running
 * split when the last child has come or exited. A call is such a node too: its children return to it.
 * So the tree of a warp has a running or waiting split at each leaf and its lanes are in one leaf each,
 * or have arrived at a join. Joining is for speed only: lanes that have waited long at a join go on by
 * themselves, so that a lane which spins for one of them sees it move.
 *
 * forms.def is the table of what an op can be. lower/ makes the code from PTX, exec/ executes it.
 */
#ifndef GSB_DEVICE_EMU_CODE_CODE_H
#define GSB_DEVICE_EMU_CODE_CODE_H

#include <pthread.h>
#include <setjmp.h>

#include "base/compiler.h"
#include "device/emu/exec/exec.h"
#include "ptx/cfg.h"
#include "ptx/kernel.h"

#define GSB_EMU_LANES	   32
#define GSB_EMU_ALL	   UINT32_MAX /* every lane */
#define GSB_EMU_NONE	   UINT32_MAX
#define GSB_EMU_NODE_NONE  UINT16_MAX
#define GSB_EMU_N_BARRIERS 16
#define GSB_EMU_CODE_STEP  16 /* between the addresses of two functions */

#define GSB_EMU_MAX_OPS	       ((uint32_t)1 << 23)
#define GSB_EMU_MAX_FRAME      ((uint32_t)32 << 20)  /* rows of one function */
#define GSB_EMU_MAX_ROWS       ((uint32_t)64 << 20)  /* rows of all active calls of one warp */
#define GSB_EMU_MAX_LOCAL      ((uint32_t)512 << 10) /* local memory of a thread */
#define GSB_EMU_MAX_SHARED     ((uint32_t)1 << 20)
#define GSB_EMU_MAX_POOL       16 /* blocks of a kernel kept for reuse, and their bytes */
#define GSB_EMU_MAX_POOL_BYTES ((size_t)8 << 20)
#define GSB_EMU_CALL_ALIGN     16 /* of each argument in local memory */
#define GSB_EMU_FRAME_ALIGN    64 /* of a frame there */

/* Frame: this many bytes of scratch row for results that nobody wants, then the scratch predicates. */
#define GSB_EMU_SCRATCH_ROW  0
#define GSB_EMU_SCRATCH_ROW2 512
#define GSB_EMU_SCRATCH_PRED 1024
#define GSB_EMU_FRAME_FIRST  1088

enum gsb_emu_form {
#define GSB_EMU_FORM(id) GSB_EMU_FORM_##id,
#include "device/emu/code/forms.def"
	GSB_EMU_N_FORMS,
};

/* Keys of forms.def: flags below, then rounding, then one more word; conversions add their types. */
#define GSB_EMU_KEY_RND(w)     ((uint64_t)(w) << 32)
#define GSB_EMU_KEY_WORD(w)    ((uint64_t)(w) << 40)
#define GSB_EMU_KEY_TO(type)   ((uint64_t)(type) << 48)
#define GSB_EMU_KEY_FROM(type) ((uint64_t)(type) << 56)

enum gsb_emu_op_flag {
	GSB_EMU_F_NEGATED = 1 << 0, /* predicate operand is !p */
	GSB_EMU_F_ADDR64 = 1 << 1,  /* address row has 64-bit lanes */
	GSB_EMU_F_FRAME = 1 << 2,   /* address counts from the function's local frame */
	GSB_EMU_F_STRONG = 1 << 3,  /* volatile, relaxed, acquire, release: each lane one access */
	GSB_EMU_F_NO_RESULT = 1 << 4, /* red: as atom, the old value is not wanted */
	GSB_EMU_F_WARP = 1 << 5,      /* warp-wide without .sync: members are the active lanes */
	GSB_EMU_F_PSEUDO = 1 << 6,    /* not an instruction of its own in the PTX */
};

struct gsb_emu_op {
	uint16_t form; /* enum gsb_emu_form */
	uint8_t n;     /* elements of a vector; number of a special register; word of a mode */
	uint8_t flags;
	uint32_t d, a, b, c; /* byte offsets in the frame; forms say when they are something else */
	uint32_t e;
	int64_t imm;
};

/* A row that holds one value in all its lanes. */
struct gsb_emu_const {
	uint64_t value;
	uint32_t row;
	uint32_t bytes; /* of a lane: 4, 8; 0 = a predicate */
};

struct gsb_emu_func {
	const struct gsb_ptx_func *ptx;
	uint32_t entry;	      /* op */
	uint32_t frame_bytes; /* rows */
	uint32_t
		local_bytes; /* local memory: area of results and arguments, variables, .param locals */
	uint32_t first_const, n_consts;
};

struct gsb_emu_code {
	struct gsb_arena arena; /* all of it but the pool */
	const struct gsb_ptx_module *module;
	struct gsb_ptx_kernel kernel;
	struct gsb_emu_op *ops;
	const struct gsb_ptx_insn **origin; /* by op */
	uint32_t n_ops;
	struct gsb_emu_func *funcs; /* the entry first */
	uint32_t n_funcs;
	uint32_t *func_of; /* by index in the module: number in funcs, or NONE */
	struct gsb_emu_const *consts;
	uint32_t n_consts;
	uint32_t *lists; /* operand lists of vectors: rows */
	uint32_t n_lists;
	uint32_t chain_local_bytes;	/* local memory that is enough without recursion */
	uint32_t tail_local_bytes;	/* of that, for calls of built-ins */
	uint64_t const_base, const_end; /* .const variables of the module lie in here */
	bool grows;			/* recursion: the launch's stack comes on top */

	pthread_mutex_t pool_lock;
	struct gsb_emu_block *pool;
	unsigned int n_pool;
	size_t pool_bytes;
};

enum gsb_emu_node_state {
	GSB_EMU_NODE_FREE,
	GSB_EMU_NODE_RUN,
	GSB_EMU_NODE_SYNC, /* at a warp-wide op, until the lanes of need are there */
	GSB_EMU_NODE_BARRIER,
	GSB_EMU_NODE_JOIN, /* waits for its children */
};

struct gsb_emu_node {
	uint32_t mask; /* lanes; JOIN: those that have arrived */
	uint32_t pc;   /* next op; JOIN: where the lanes go on; NONE: nowhere, all will have left */
	uint32_t frame; /* offset in the warp's rows */
	uint32_t local; /* offset of the frame in local memory */
	uint32_t need;	/* SYNC: member mask; BARRIER: its number */
	uint64_t since; /* JOIN with lanes: instructions of the warp when the first arrived */
	uint16_t parent;
	uint16_t children; /* JOIN; FREE: next free node */
	uint8_t state;
	bool is_call;
};

struct gsb_emu_warp {
	char *rows;
	uint32_t rows_bytes;
	uint32_t live;	/* lanes that exist and have not exited */
	uint32_t born;	/* lanes that exist */
	uint32_t carry; /* CC.CF of each lane */
	struct gsb_emu_node *nodes;
	uint16_t n_nodes, cap_nodes; /* used once, allocated */
	uint16_t free_node;
	uint16_t current;
	bool asleep;	      /* in this call of gsb_emu_block_run() */
	uint64_t n_insns;     /* executed before its present turn */
	unsigned char *local; /* lane i's memory is at local + i * block->local_bytes */
	uint32_t tid[3][GSB_EMU_LANES];
};

struct gsb_emu_barrier {
	uint32_t arrived;	 /* threads; whole warps count 32 where a count was given */
	uint32_t expected;	 /* threads, where a count was given */
	uint32_t popc, any, all; /* of the predicates so far; any, all: 0 or 1 */
	bool in_use, counted;	 /* counted: expected was given */
};

enum gsb_emu_stop {
	GSB_EMU_STOP_SWITCH, /* the split waits, has joined or is gone */
	GSB_EMU_STOP_SLICE,
	GSB_EMU_STOP_SLEEP,
	GSB_EMU_STOP_FAULT,
};

struct gsb_emu_exec;
typedef const struct gsb_emu_op *
gsb_emu_handler(struct gsb_emu_exec *x, const struct gsb_emu_op *op, char *r, uint32_t mask);

/* Handlers for one instruction set: [0] of whole rows, [1] of the lanes in a mask. */
struct gsb_emu_isa {
	const char *name;
	gsb_emu_handler *handlers[2][GSB_EMU_N_FORMS];
};

/* What a handler sees: the split that runs. */
struct gsb_emu_exec {
	gsb_emu_handler *const *handlers; /* of the version that fits mask */
	const struct gsb_emu_op *op;	  /* that executes */
	char *rows;			  /* frame of the split */
	uint32_t mask;			  /* lanes: the split's, or those that a guard left of it */
	uint32_t split_mask;
	uint32_t rejoin; /* op where the split joins its parent; NONE = nowhere */
	uint32_t local;	 /* frame in local memory */
	uint64_t n_insns, limit;
	uint64_t lanes_since; /* n_insns when split_mask last changed */
	uint64_t turn_start;  /* n_insns when the turn of the warp began */
	struct gsb_emu_warp *warp;
	struct gsb_emu_block *block;
	const struct gsb_emu_op *ops;
	enum gsb_emu_stop stop;
};

struct gsb_emu_block {
	struct gsb_emu_exec x;
	const struct gsb_emu_isa *isa;
	const struct gsb_emu_code *code;
	const struct gsb_emu_launch *launch;
	uint32_t ctaid[3];
	uint32_t smid;
	uint64_t clock, globaltimer; /* at clock_insns */
	uint64_t clock_insns;
	uint32_t n_threads, n_warps, live_threads;
	uint32_t shared_bytes, local_bytes;
	uint32_t next_warp;
	enum gsb_emu_state state;
	unsigned char *shared;
	unsigned char *local;
	size_t storage_bytes; /* all that it has */
	struct gsb_emu_storage *storage;
	struct gsb_emu_warp *warps;
	struct gsb_emu_barrier barriers[GSB_EMU_N_BARRIERS];
	struct gsb_emu_stats stats;
	struct gsb_emu_fault fault;
	uint32_t shape[3];	    /* of the block that the storage was made for */
	struct gsb_emu_block *next; /* in the pool */
};

/* ---- execution ---- */

static inline struct gsb_emu_node *gsb_emu_node_of(struct gsb_emu_exec *x)
{
	return &x->warp->nodes[x->warp->current];
}

static inline uint32_t gsb_emu_index_of(const struct gsb_emu_exec *x, const struct gsb_emu_op *op)
{
	return (uint32_t)(op - x->ops);
}

static inline const struct gsb_emu_op *gsb_emu_stop(struct gsb_emu_exec *x, enum gsb_emu_stop why)
{
	x->stop = why;
	return NULL;
}

/* The predicate at an offset, as the op takes it. */
static inline uint32_t gsb_emu_predicate(const struct gsb_emu_op *op, const char *r,
					 uint32_t offset)
{
	uint32_t p = *(const uint32_t *)(const void *)(r + offset);

	return op->flags & GSB_EMU_F_NEGATED ? ~p : p;
}

static inline void gsb_emu_predicate_set(char *r, uint32_t offset, uint32_t mask, uint32_t value)
{
	uint32_t *p = (void *)(r + offset);

	*p = (*p & ~mask) | (value & mask);
}

/* Write lanes of a row of constants. */
void gsb_emu_const_fill(char *r, const struct gsb_emu_const *c, uint32_t mask);

/* The best that this processor has; constant. */
const struct gsb_emu_isa *gsb_emu_isa_best(void);
/* All that this processor can execute, for tests; NULL past the last. */
const struct gsb_emu_isa *gsb_emu_isa_nth(unsigned int i);

/* The split goes on with other lanes; x->mask too. */
void gsb_emu_set_mask(struct gsb_emu_exec *x, uint32_t split_mask);
/* Only x->mask changes: a guard. */
void gsb_emu_set_guard(struct gsb_emu_exec *x, uint32_t mask);

/* Make node @n of the warp the split that executes. */
void gsb_emu_enter(struct gsb_emu_exec *x, uint16_t n);
/* Remember where the split that executes goes on. */
void gsb_emu_leave(struct gsb_emu_exec *x, uint32_t pc);

/* A fresh node, or NODE_NONE without memory. May move warp->nodes. */
uint16_t gsb_emu_node_new(struct gsb_emu_warp *w);
void gsb_emu_node_free(struct gsb_emu_warp *w, uint16_t n);
/* A child of @n has arrived or vanished. */
void gsb_emu_node_child_done(struct gsb_emu_warp *w, uint16_t n);

/* The same for what the block is about to have. */
bool gsb_emu_block_take(struct gsb_emu_block *b, size_t bytes);

/* Free the blocks that are kept for reuse. */
void gsb_emu_pool_drain(struct gsb_emu_code *code);

/*
 * Lanes that have waited at joins for at least @age instructions of the warp go on without the others:
 * these may be waiting for them. Returns whether there were any.
 */
bool gsb_emu_release(struct gsb_emu_exec *x, struct gsb_emu_warp *w, uint64_t age);

/* Lanes left the warp: what waited for them may go on. */
void gsb_emu_sync_recheck(struct gsb_emu_exec *x);
void gsb_emu_barrier_recheck(struct gsb_emu_block *b);

/* End the block. Returns NULL, what a handler returns to stop. The text begins with what went wrong;
 * kernel, instruction and line are added. */
const struct gsb_emu_op *gsb_emu_fail(struct gsb_emu_exec *x, CUresult result, uint64_t address,
				      const char *fmt, ...) GSB_PRINTF(4, 5);

/*
 * The byte that a generic address means for @lane, @len bytes from there checked; NULL when the
 * kernel may not touch them. @write: constant parameters are refused.
 */
unsigned char *gsb_emu_generic(struct gsb_emu_exec *x, unsigned int lane, uint64_t addr,
			       uint32_t len, bool write);

/* True when [addr, addr + len) is in one of the launch's ranges. */
bool gsb_emu_in_memory(const struct gsb_emu_memory *m, uint64_t addr, uint64_t len);

const struct gsb_emu_op *gsb_emu_print(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
				       uint32_t mask);
const struct gsb_emu_op *gsb_emu_assert_fail(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
					     uint32_t mask);

/*
 * gsb_emu_guard_enter() - from here on, a signal for an address of @memory jumps to *env
 * Nests not. gsb_emu_guard_address(): the address of the access that made it jump.
 */
void gsb_emu_guard_enter(const struct gsb_emu_memory *memory, sigjmp_buf *env);
void gsb_emu_guard_leave(void);
uint64_t gsb_emu_guard_address(void);

#define GSB_EMU_HANDLER(name)                                                          \
	const struct gsb_emu_op *name(GSB_UNUSED struct gsb_emu_exec *x,               \
				      const struct gsb_emu_op *op, GSB_UNUSED char *r, \
				      GSB_UNUSED uint32_t mask)

/* Handlers that are the same on every instruction set. */
#define GSB_EMU_FLOW(id) GSB_EMU_HANDLER(gsb_emu_do_##id);
#include "device/emu/code/forms.def"

#endif
