/*
 * analysis.h - what the analyses of one kernel share: private to ptx/resize.
 *
 * Values are judged by register, whatever place of the text reads them: a register is what the worst of its writers makes
 * of it. Compilers write each register once or nearly so, and for other text it errs on the safe side. The carry of
 * add.cc and its kin is one more register, GSB_RESIZE_CARRY().
 */
#ifndef GSB_PTX_RESIZE_ANALYSIS_H
#define GSB_PTX_RESIZE_ANALYSIS_H

#include "base/arena.h"
#include "ptx/cfg.h"
#include "ptx/resize/facts.h"

/* By function index: what a call of it may do, its own calls included. */
struct gsb_resize_summary {
	bool reached;	 /* by the kernel */
	bool barrier;	 /* of the block */
	bool warp_op;	 /* that waits for other lanes */
	bool looks;	 /* reads global memory */
	bool writes;	 /* stores to it, atomics included */
	bool asks_where; /* reads a special register */
};

struct gsb_resize_analysis {
	const struct gsb_ptx_module *m;
	const struct gsb_ptx_kernel *k;
	struct gsb_arena *arena;
	struct gsb_resize_facts *out;
	struct gsb_resize_finding found[GSB_RESIZE_N_RULES]; /* n == 0: not found */
	struct gsb_resize_summary *of;			     /* by function index */
	uint64_t steps;
	bool called_writes; /* some called function stores to global memory */
	bool around;	    /* some threads wait at a barrier that others go round, in the entry */
	const struct gsb_ptx_insn *atomic; /* the first beyond shared memory, in any function */
	int err;			   /* 0, -ENOMEM, -E2BIG; sticky */
};

/* One function, with who reads and who writes each register. */
struct gsb_resize_flow {
	struct gsb_resize_analysis *a;
	const struct gsb_ptx_func *func;
	struct gsb_ptx_cfg cfg;
	uint32_t n_regs; /* of the function, and the carry */
	const uint32_t *user_at,
		*users; /* instructions that read register r: users[user_at[r]] .. */
	const uint32_t *writer_at, *writers;
	uint32_t *order;     /* of a block in reverse post-order; NONE: unreachable */
	uint32_t *region;    /* room for block numbers: of gsb_resize_region() */
	uint32_t *mark, now; /* by block: == now while it is in the region */
	uint32_t *stack;
};

#define GSB_RESIZE_CARRY(flow) ((flow)->func->n_regs)

/* Each use and each definition of an instruction, the carry included. */
void gsb_resize_each_use(const struct gsb_resize_flow *f, const struct gsb_ptx_insn *in,
			 gsb_ptx_reg_fn *fn, void *ctx);
void gsb_resize_each_def(const struct gsb_resize_flow *f, const struct gsb_ptx_insn *in,
			 gsb_ptx_reg_fn *fn, void *ctx);

/* flow.c. False: a->err is set, and everything is to end. */
bool gsb_resize_flow_build(struct gsb_resize_analysis *a, const struct gsb_ptx_func *func,
			   struct gsb_resize_flow *out);
bool gsb_resize_steps(struct gsb_resize_analysis *a, uint64_t n);
void *gsb_resize_alloc(struct gsb_resize_analysis *a, size_t n, size_t size);

bool gsb_resize_dominates(const struct gsb_resize_flow *f, uint32_t by, uint32_t block);
/* Is there a way from behind one block to another one that does not come by a third (GSB_PTX_NONE: any)? */
bool gsb_resize_reaches(struct gsb_resize_flow *f, uint32_t from, uint32_t to, uint32_t avoid);

/*
 * The blocks that the branch at the end of @block decides about: from its successors up to where all ways meet again, in
 * f->region, marked; with it, all blocks that can be reached when they never do. Returns how many.
 */
uint32_t gsb_resize_region(struct gsb_resize_flow *f, uint32_t block);
static inline bool gsb_resize_in_region(const struct gsb_resize_flow *f, uint32_t block)
{
	return f->mark[block] == f->now;
}

/* A set of instructions that have to be looked at again, each once. */
struct gsb_resize_queue {
	uint32_t *insns, n;
	bool *waiting;
};
bool gsb_resize_queue_init(struct gsb_resize_analysis *a, struct gsb_resize_queue *q,
			   const struct gsb_resize_flow *f);
void gsb_resize_queue_add(struct gsb_resize_queue *q, uint32_t insn);
uint32_t gsb_resize_queue_take(struct gsb_resize_queue *q); /* GSB_PTX_NONE: empty */
void gsb_resize_queue_users(struct gsb_resize_queue *q, const struct gsb_resize_flow *f,
			    uint32_t reg);

/* find.c */
void gsb_resize_find(struct gsb_resize_analysis *a, enum gsb_resize_rule rule,
		     const struct gsb_ptx_func *func, uint32_t insn);
void gsb_resize_find_detail(struct gsb_resize_analysis *a, enum gsb_resize_rule rule,
			    const struct gsb_ptx_func *func, uint32_t insn, const char *detail);

/* Of instructions. */
static inline bool gsb_resize_is_branch(const struct gsb_ptx_insn *in)
{
	return gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_BRANCH;
}
/* ret or exit; a trap ends the whole grid. */
static inline bool gsb_resize_is_leave(const struct gsb_ptx_insn *in)
{
	return in->op == GSB_PTX_OP_RET || in->op == GSB_PTX_OP_EXIT;
}
bool gsb_resize_is_barrier(const struct gsb_ptx_insn *in);    /* of the block */
bool gsb_resize_is_warp_op(const struct gsb_ptx_insn *in);    /* that waits for lanes */
bool gsb_resize_is_plain(const struct gsb_ptx_insn *barrier); /* sync 0, all threads */
/* The operand that is an address, NULL: it has none. */
const struct gsb_ptx_operand *gsb_resize_address(const struct gsb_ptx_insn *in);
/* May it reach global memory? Generic addresses may. */
bool gsb_resize_is_global(const struct gsb_ptx_insn *in);
/* Reads global memory other than by ld: an asynchronous copy, a matrix. */
bool gsb_resize_copies(const struct gsb_ptx_insn *in);
bool gsb_resize_is_strong(const struct gsb_ptx_insn *ld); /* sees what others write meanwhile */
bool gsb_resize_is_imm(const struct gsb_ptx_operand *o, int64_t *value);
/* One integer of 32 or 64 bits: two halves in one register carry nothing from one to the other. */
bool gsb_resize_is_wide_int(uint8_t type);
/* A parameter of the kernel: the same for all. What a called function gets or gives is not. */
bool gsb_resize_reads_parameter(const struct gsb_resize_flow *f, const struct gsb_ptx_insn *in);

/* uniform.c: by register and by block, enum gsb_resize_same. */
struct gsb_resize_uniform {
	const uint8_t *reg, *block;
};
bool gsb_resize_uniform_build(struct gsb_resize_flow *f, struct gsb_resize_uniform *out);
/* How much alike the threads are in taking what this branch, guard or leave decides. */
uint8_t gsb_resize_decided_by(const struct gsb_resize_uniform *u, const struct gsb_ptx_insn *in);

/* address.c: sets of what an address may be made from. */
#define GSB_RESIZE_BASE_SLOTS  60 /* words of parameters: bits 0.. */
#define GSB_RESIZE_BASE_VAR    ((uint64_t)1 << 60)
#define GSB_RESIZE_BASE_OWN    ((uint64_t)1 << 61) /* shared or local memory */
#define GSB_RESIZE_BASE_LOADED ((uint64_t)1 << 62) /* from memory, or nobody knows from where */
struct gsb_resize_bases {
	const uint64_t *reg;
	uint64_t written; /* what stores and atomics may reach */
	bool known;	  /* all of that is parameters and variables */
};
bool gsb_resize_bases_build(struct gsb_resize_flow *f, struct gsb_resize_bases *out);
uint64_t gsb_resize_base_of(const struct gsb_resize_bases *b, const struct gsb_ptx_insn *in);

/* The analyses; each adds its findings. */
void gsb_resize_features(struct gsb_resize_analysis *a);
void gsb_resize_early_exits(struct gsb_resize_flow *f);
void gsb_resize_waits(struct gsb_resize_flow *f, const struct gsb_resize_bases *b);
void gsb_resize_linear(struct gsb_resize_flow *f);

#endif
