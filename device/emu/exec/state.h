/*
 * state.h - the state of a block that executes: its warps, the splits of each, its barriers.
 *
 * Lanes of one warp that go different ways are splits. A split is a node {pc, mask}; where it divides,
 * a join node takes its place in the tree, knows the place where all meet again, and becomes a running
 * split when the last child has come or exited. A call is such a node too: its children return to it.
 * So the tree of a warp has a running or waiting split at each leaf and its lanes are in one leaf each,
 * or have arrived at a join. Joining is for speed only: lanes that have waited long at a join go on by
 * themselves, so that a lane which spins for one of them sees it move.
 *
 * Files, from the bottom: fault.c (what ends a block), guard.c (signals), split.c (the tree), look.c (who only waits),
 * combine.c (reductions that memory sees later), cluster.c (blocks that run together, and each other's shared memory),
 * moves.c, sync.c, mbarrier.c, async.c, print.c, alloc.c, stack.c, flow.c (handlers by subject), alu.h, mem.h and atom.h
 * (handlers made of forms.def, built for each instruction set by handlers.c; the latter two on reach.h), block.c
 * (storage, and who runs next).
 */
#ifndef GSB_DEVICE_EMU_EXEC_STATE_H
#define GSB_DEVICE_EMU_EXEC_STATE_H

#include "device/emu/code/code.h"
#include "device/emu/exec/exec.h"
#include "device/emu/memory/storage.h"
#include "gsb/device_info.h"

#define GSB_EMU_NODE_NONE  UINT16_MAX
#define GSB_EMU_N_BARRIERS 16
#define GSB_EMU_CLUSTER_ID GSB_EMU_N_BARRIERS /* of nodes that wait at the cluster's barrier */

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
	uint32_t func; /* that they are in: code->funcs */
	uint32_t frame; /* its rows: offset in the warp's */
	uint32_t local; /* offset of the frame in local memory */
	uint32_t need;	/* SYNC: member mask; BARRIER: its number */
	uint64_t since; /* JOIN with lanes: instructions of the warp when the first arrived */
	uint16_t parent;
	uint16_t children; /* JOIN; FREE: next free node */
	uint8_t state;
	bool is_call;
};

/* What a split has found, of which later looks may be repetitions: look.c. */
struct gsb_emu_look {
	uint64_t found;
	uint32_t n_others; /* looks since that found something else, */
	uint32_t patience; /* and how many of them before another one is kept */
};

struct gsb_emu_warp {
	char *rows;
	uint32_t rows_bytes;
	uint32_t live;	  /* lanes that exist and have not exited */
	uint32_t born;	  /* lanes that exist */
	uint32_t carry;	  /* CC.CF of each lane */
	uint32_t arrived; /* lanes: at the cluster's barrier, in the phase that is not over */
	struct gsb_emu_node *nodes;
	uint16_t n_nodes, cap_nodes; /* used once, allocated */
	uint16_t free_node;
	uint16_t current;
	bool asleep;	      /* in this call of gsb_emu_block_run() */
	uint64_t n_insns;     /* executed before its present turn */
	unsigned char *local; /* lane i's memory is at local + i * block->local_bytes */
	uint32_t tid[3][GSB_EMU_LANES];
	uint32_t stack[GSB_EMU_LANES]; /* local memory from here on is what alloca has given */
	struct gsb_emu_async *async;   /* copies that are pending; NULL: there was never one */
	uint32_t n_in_vain;	       /* turns of loops since it was last tired */
	bool has_looked;	       /* else looks has what another warp has found */
	struct gsb_emu_look looks[GSB_EMU_LANES]; /* by the first lane of who looked */
};

struct gsb_emu_barrier {
	uint32_t arrived;	 /* threads; whole warps count 32 where a count was given */
	uint32_t expected;	 /* threads, where a count was given */
	uint32_t popc, any, all; /* of the predicates so far; any, all: 0 or 1 */
	bool counted;		 /* expected was given */
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

/*
 * A row of addresses, as an access found it: for those behind it that GSB_EMU_F_AGAIN says it of. It holds as long as
 * the split does nothing but arithmetic and accesses.
 */
struct gsb_emu_seen {
	uint64_t at[4];	    /* the first lane of each run, without op->imm */
	uint64_t low, high; /* the least and the greatest of them */
	uint64_t bits;	    /* of all, or-ed, from the start of their memory */
	uint32_t len;	    /* bytes of a lane */
	uint8_t how;	    /* enum glance */
	bool line;
};

/* What a handler sees: the split that runs. */
struct gsb_emu_exec {
	gsb_emu_handler *const *handlers; /* of the version that fits mask */
	const struct gsb_emu_op *op;	  /* that executes */
	char *rows;			  /* frame of the split */
	uint32_t mask;			  /* lanes: the split's, or those that a guard left of it */
	uint32_t split_mask;
	uint32_t rejoin;	     /* op where the split joins its parent; NONE = nowhere */
	uint32_t local;		     /* frame in local memory */
	gsb_emu_tally tally;	     /* of runs of ops that are over since gsb_emu_settle() */
	const gsb_emu_tally *before; /* of the code */
	uint32_t begun;		     /* op with which the run that executes began */
	uint64_t n_insns, limit;     /* settled; see gsb_emu_insns() */
	bool tired;		     /* the warp has looked in vain too often; limit is then 0 */
	uint64_t lanes_since;	     /* n_insns when split_mask last changed */
	uint64_t turn_start;	     /* n_insns when the turn of the warp began */
	struct gsb_emu_warp *warp;
	struct gsb_emu_block *block;
	const struct gsb_emu_op *ops;
	enum gsb_emu_stop stop;
	struct gsb_emu_seen seen[GSB_EMU_N_SEEN];
	struct gsb_emu_combiner *combiner; /* of the thread that executes; NULL: it has none */
	bool combines;			   /* reductions of this block go there: combine.h */
	const struct gsb_emu_combiner *combined; /* the same while it holds something; NULL */
	struct gsb_emu_range open; /* of the device's memory, to a glance: all, or nothing */
};

/* Blocks that run together. A block that is alone has one of its own. */
struct gsb_emu_cluster {
	uint32_t n, shape[3];
	uint32_t next;	    /* whose turn comes */
	uint32_t n_reports; /* pending copies and arrivals that report to an mbarrier */
	bool in_use;	    /* a lane has arrived at its barrier in this phase */
	struct gsb_emu_block *blocks[GSB_CLUSTER_MAX]; /* by rank */
};

struct gsb_emu_block {
	struct gsb_emu_exec x;
	struct gsb_emu_combiner *combiner; /* for its next turn; NULL: none */
	const struct gsb_emu_isa *isa;
	const struct gsb_emu_code *code;
	const struct gsb_emu_launch *launch;
	uint32_t ctaid[3];
	uint32_t smid;
	uint64_t clock, globaltimer; /* at clock_insns */
	uint64_t clock_insns;
	gsb_emu_elapsed *elapsed; /* NULL: by instructions */
	void *elapsed_ctx;
	uint64_t clock_khz, last_clock; /* what a thread has last read */
	uint32_t n_threads, n_warps, live_threads;
	uint32_t shared_bytes; /* given out: reserved, own, and up to the next unit */
	uint32_t local_bytes;
	uint32_t next_warp;
	enum gsb_emu_state state;
	unsigned char *shared;
	unsigned char *local;
	size_t storage_bytes; /* all that it has */
	struct gsb_emu_storage *storage;
	struct gsb_emu_warp *warps;
	struct gsb_emu_barrier barriers[GSB_EMU_N_BARRIERS];
	uint32_t barriers_in_use; /* a bit each */
	struct gsb_emu_cluster *
		cluster; /* &alone; the members of another one are this one's to wait for and to reach */
	struct gsb_emu_cluster alone;
	uint32_t rank;		    /* in the cluster */
	bool stuck;		    /* its threads wait for those of other blocks */
	gsb_emu_on_print *on_print; /* NULL: dropped */
	void *print_ctx;
	struct gsb_emu_stats stats;
	bool count_paths;
	struct gsb_emu_paths paths;
	struct gsb_emu_fault fault;
	struct gsb_emu_watched *watched; /* NULL: its launch is not watched */
	uint32_t shape[3];		 /* of the block that the storage was made for */
	struct gsb_emu_block *next;	 /* in the pool */
	const void *thread;		 /* that had it last */
};

/* Of a block's shared memory, what the kernel has asked for. */
static inline uint64_t gsb_emu_own_shared(const struct gsb_emu_launch *l)
{
	const struct gsb_ptx_kernel *k = &l->code->kernel;

	return l->smem_bytes ? k->dynamic_offset + l->smem_bytes : k->static_shared_bytes;
}

static inline struct gsb_emu_node *gsb_emu_node_of(struct gsb_emu_exec *x)
{
	return &x->warp->nodes[x->warp->current];
}

/* Of lanes: mostly there are all. */
static inline uint32_t gsb_emu_count(uint32_t mask)
{
	return mask == GSB_EMU_ALL ? GSB_EMU_LANES : (uint32_t)__builtin_popcount(mask);
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

/* Count what the block is about to have; false: there is no room. */
static inline bool gsb_emu_block_take(struct gsb_emu_block *b, size_t bytes)
{
	if (!gsb_emu_storage_take(b->storage, bytes))
		return false;
	b->storage_bytes += bytes;
	return true;
}

#define GSB_EMU_HANDLER(name)                                                          \
	const struct gsb_emu_op *name(GSB_UNUSED struct gsb_emu_exec *x,               \
				      const struct gsb_emu_op *op, GSB_UNUSED char *r, \
				      GSB_UNUSED uint32_t mask)

/* Written out, the same on every instruction set: flow.c, sync.c, moves.c. */
/* Handlers that are the same on every instruction set. */
#define GSB_EMU_FLOW(id) GSB_EMU_HANDLER(gsb_emu_do_##id);
#include "device/emu/code/forms.def"

#endif
