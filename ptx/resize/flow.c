/*
 * flow.c - who reads and writes a register, what a branch decides about, and questions to one instruction.
 */
#include <errno.h>
#include <string.h>

#include "ptx/resize/analysis.h"

bool gsb_resize_steps(struct gsb_resize_analysis *a, uint64_t n)
{
	a->steps += n;
	if (a->steps > GSB_RESIZE_MAX_STEPS && !a->err)
		a->err = -E2BIG;
	return !a->err;
}

void *gsb_resize_alloc(struct gsb_resize_analysis *a, size_t n, size_t size)
{
	void *p = gsb_arena_alloc_array(a->arena, n, size);

	if (!p && !a->err)
		a->err = -ENOMEM;
	return p;
}

/* ---- registers ---- */

static bool reads_carry(const struct gsb_ptx_insn *in)
{
	return in->op == GSB_PTX_OP_ADDC || in->op == GSB_PTX_OP_SUBC || in->op == GSB_PTX_OP_MADC;
}

void gsb_resize_each_use(const struct gsb_resize_flow *f, const struct gsb_ptx_insn *in,
			 gsb_ptx_reg_fn *fn, void *ctx)
{
	gsb_ptx_insn_each_use(in, fn, ctx);
	if (reads_carry(in))
		fn(ctx, GSB_RESIZE_CARRY(f));
}

void gsb_resize_each_def(const struct gsb_resize_flow *f, const struct gsb_ptx_insn *in,
			 gsb_ptx_reg_fn *fn, void *ctx)
{
	gsb_ptx_insn_each_def(in, fn, ctx);
	if (in->flags & GSB_PTX_F_CC)
		fn(ctx, GSB_RESIZE_CARRY(f));
}

/* A table from registers to instructions, made by counting first. */
struct table {
	uint32_t *at, *insns, insn;
	bool count;
};

static void on_reg(void *ctx, uint32_t reg)
{
	struct table *t = ctx;

	if (t->count)
		t->at[reg + 2]++;
	else
		t->insns[t->at[reg + 1]++] = t->insn;
}

typedef void each_fn(const struct gsb_resize_flow *, const struct gsb_ptx_insn *, gsb_ptx_reg_fn *,
		     void *);

static void each_insn(const struct gsb_resize_flow *f, each_fn *each, struct table *t)
{
	for (uint32_t i = 0; i < f->func->n_insns; i++) {
		t->insn = i;
		if (f->cfg.blocks[f->cfg.block_of[i]].reachable)
			each(f, &f->func->insns[i], on_reg, t);
	}
}

/* at[r] .. at[r + 1]: where register r's stand; one entry more while it is filled. */
static bool build_table(const struct gsb_resize_flow *f, each_fn *each, const uint32_t **at,
			const uint32_t **insns)
{
	struct table t = {.count = true};

	t.at = gsb_resize_alloc(f->a, (size_t)f->n_regs + 2, sizeof(*t.at));
	if (!t.at)
		return false;
	each_insn(f, each, &t);
	for (uint32_t r = 0; r <= f->n_regs; r++)
		t.at[r + 1] += t.at[r];
	t.insns = gsb_resize_alloc(f->a, t.at[f->n_regs + 1], sizeof(*t.insns));
	if (!t.insns)
		return false;
	t.count = false;
	each_insn(f, each, &t);
	*at = t.at;
	*insns = t.insns;
	return gsb_resize_steps(f->a, t.at[f->n_regs]);
}

bool gsb_resize_flow_build(struct gsb_resize_analysis *a, const struct gsb_ptx_func *func,
			   struct gsb_resize_flow *out)
{
	struct gsb_resize_flow f = {.a = a, .func = func, .n_regs = func->n_regs + 1};
	int err = gsb_ptx_cfg_build(func, a->arena, &f.cfg);

	if (err)
		a->err = err;
	if (err || !build_table(&f, gsb_resize_each_use, &f.user_at, &f.users) ||
	    !build_table(&f, gsb_resize_each_def, &f.writer_at, &f.writers))
		return false;
	f.region = gsb_resize_alloc(a, (size_t)f.cfg.n_blocks + 1, sizeof(*f.region));
	f.mark = gsb_resize_alloc(a, (size_t)f.cfg.n_blocks + 1, sizeof(*f.mark));
	f.stack = gsb_resize_alloc(a, (size_t)f.cfg.n_blocks + 1, sizeof(*f.stack));
	f.order = gsb_resize_alloc(a, f.cfg.n_blocks, sizeof(*f.order));
	if (a->err)
		return false;
	memset(f.order, 0xff, f.cfg.n_blocks * sizeof(*f.order)); /* NONE */
	for (uint32_t i = 0; i < f.cfg.n_rpo; i++)
		f.order[f.cfg.rpo[i]] = i;
	*out = f;
	return true;
}

/* ---- ways ---- */

bool gsb_resize_dominates(const struct gsb_resize_flow *f, uint32_t by, uint32_t block)
{
	uint64_t n = 1;

	for (; block != by && block != GSB_PTX_NONE && f->order[block] > f->order[by]; n++)
		block = f->cfg.blocks[block].idom;
	return gsb_resize_steps(f->a, n) && block == by;
}

bool gsb_resize_reaches(struct gsb_resize_flow *f, uint32_t from, uint32_t to, uint32_t avoid)
{
	uint32_t depth = 1, n = 1;
	bool found = false;

	f->now++;
	f->stack[0] = from;
	while (depth && !found) {
		const struct gsb_ptx_block *b = &f->cfg.blocks[f->stack[--depth]];

		for (uint32_t i = 0; i < b->n_succ && !found; i++) {
			const uint32_t next = b->succ[i];

			if (next == avoid || next == GSB_PTX_EXIT(&f->cfg) ||
			    f->mark[next] == f->now)
				continue;
			found = next == to;
			f->mark[next] = f->now;
			f->stack[depth++] = next;
			n++;
		}
	}
	return gsb_resize_steps(f->a, n) && found;
}

/* ---- regions ---- */

static void enter(struct gsb_resize_flow *f, uint32_t block, uint32_t stop, uint32_t *n,
		  uint32_t *depth)
{
	if (block == stop || block == GSB_PTX_EXIT(&f->cfg) || f->mark[block] == f->now)
		return;
	f->mark[block] = f->now;
	f->region[(*n)++] = block;
	f->stack[(*depth)++] = block;
}

uint32_t gsb_resize_region(struct gsb_resize_flow *f, uint32_t block)
{
	uint32_t stop = f->cfg.blocks[block].ipdom, n = 0, depth = 0, at = block;

	f->now++;
	do {
		const struct gsb_ptx_block *b = &f->cfg.blocks[at];

		for (uint32_t i = 0; i < b->n_succ; i++)
			enter(f, b->succ[i], stop, &n, &depth);
		if (!gsb_resize_steps(f->a, b->n_succ + 1))
			return 0;
		at = depth ? f->stack[--depth] : GSB_PTX_NONE;
	} while (at != GSB_PTX_NONE);
	return n;
}

/* ---- queue ---- */

bool gsb_resize_queue_init(struct gsb_resize_analysis *a, struct gsb_resize_queue *q,
			   const struct gsb_resize_flow *f)
{
	*q = (struct gsb_resize_queue){0};
	q->insns = gsb_resize_alloc(a, f->func->n_insns, sizeof(*q->insns));
	q->waiting = gsb_resize_alloc(a, f->func->n_insns, sizeof(*q->waiting));
	if (a->err)
		return false;
	/* The last block first, since the last in is the first out. */
	for (uint32_t i = f->cfg.n_rpo; i-- > 0;) {
		const struct gsb_ptx_block *b = &f->cfg.blocks[f->cfg.rpo[i]];

		for (uint32_t n = b->n_insns; n-- > 0;)
			gsb_resize_queue_add(q, b->first + n);
	}
	return true;
}

void gsb_resize_queue_add(struct gsb_resize_queue *q, uint32_t insn)
{
	if (q->waiting[insn])
		return;
	q->waiting[insn] = true;
	q->insns[q->n++] = insn;
}

uint32_t gsb_resize_queue_take(struct gsb_resize_queue *q)
{
	uint32_t insn = q->n ? q->insns[--q->n] : GSB_PTX_NONE;

	if (insn != GSB_PTX_NONE)
		q->waiting[insn] = false;
	return insn;
}

void gsb_resize_queue_users(struct gsb_resize_queue *q, const struct gsb_resize_flow *f,
			    uint32_t reg)
{
	for (uint32_t i = f->user_at[reg]; i < f->user_at[reg + 1]; i++)
		gsb_resize_queue_add(q, f->users[i]);
}

/* ---- instructions ---- */

bool gsb_resize_is_imm(const struct gsb_ptx_operand *o, int64_t *value)
{
	*value = o->imm;
	return o->kind == GSB_PTX_OPERAND_IMM && o->form == GSB_PTX_IMM_INT;
}

bool gsb_resize_is_wide_int(uint8_t type)
{
	switch (type) {
	case GSB_PTX_TYPE_B32:
	case GSB_PTX_TYPE_U32:
	case GSB_PTX_TYPE_S32:
	case GSB_PTX_TYPE_B64:
	case GSB_PTX_TYPE_U64:
	case GSB_PTX_TYPE_S64: return true;
	default: return false;
	}
}

bool gsb_resize_is_barrier(const struct gsb_ptx_insn *in)
{
	return gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_BARRIER;
}

bool gsb_resize_is_warp_op(const struct gsb_ptx_insn *in)
{
	enum gsb_ptx_class class = gsb_ptx_op_class(in->op);

	return class == GSB_PTX_CLASS_MATRIX ||
	       (class == GSB_PTX_CLASS_WARP && in->op != GSB_PTX_OP_ACTIVEMASK);
}

bool gsb_resize_is_plain(const struct gsb_ptx_insn *barrier)
{
	int64_t number;

	return (barrier->op == GSB_PTX_OP_BAR_SYNC || barrier->op == GSB_PTX_OP_BARRIER_SYNC) &&
	       barrier->n_operands == 1 && gsb_resize_is_imm(&barrier->operands[0], &number) &&
	       number == 0;
}

const struct gsb_ptx_operand *gsb_resize_address(const struct gsb_ptx_insn *in)
{
	enum gsb_ptx_class class = gsb_ptx_op_class(in->op);

	if (class != GSB_PTX_CLASS_MEM && class != GSB_PTX_CLASS_ATOM)
		return NULL;
	for (uint32_t i = 0; i < in->n_operands; i++)
		if (in->operands[i].kind == GSB_PTX_OPERAND_ADDR)
			return &in->operands[i];
	return NULL;
}

bool gsb_resize_is_global(const struct gsb_ptx_insn *in)
{
	return gsb_resize_address(in) &&
	       (in->space == GSB_PTX_SPACE_GLOBAL || in->space == GSB_PTX_SPACE_GENERIC);
}

/* ".cv" of ld.global.cv: hints are no fields of an instruction, and this one is more than a hint. */
static bool is_fetched_again(const char *spelling)
{
	for (const char *at = strchr(spelling, '.'); at; at = strchr(at + 1, '.'))
		if (!strncmp(at, ".cv", 3) && (at[3] == '.' || !at[3]))
			return true;
	return false;
}

bool gsb_resize_is_strong(const struct gsb_ptx_insn *ld)
{
	return (ld->sem && ld->sem != GSB_PTX_SEM_WEAK) || is_fetched_again(ld->spelling);
}

bool gsb_resize_reads_parameter(const struct gsb_resize_flow *f, const struct gsb_ptx_insn *in)
{
	const struct gsb_ptx_operand *o = gsb_resize_address(in);

	return in->op == GSB_PTX_OP_LD && in->space == GSB_PTX_SPACE_PARAM && o && o->var &&
	       f->func->is_entry && o->var->func == f->func && o->var >= f->func->params &&
	       o->var < f->func->params + f->func->n_params;
}

bool gsb_resize_copies(const struct gsb_ptx_insn *in)
{
	switch (in->op) {
	case GSB_PTX_OP_CP_ASYNC_CA:
	case GSB_PTX_OP_CP_ASYNC_CG:
	case GSB_PTX_OP_CP_ASYNC_CA_HINT:
	case GSB_PTX_OP_CP_ASYNC_CG_HINT:
	case GSB_PTX_OP_BULK_LOAD:
	case GSB_PTX_OP_BULK_LOAD_HINT:
	case GSB_PTX_OP_BULK_MULTICAST:
	case GSB_PTX_OP_BULK_MULTICAST_HINT:
	case GSB_PTX_OP_TENSOR_COPY: return true;
	case GSB_PTX_OP_WMMA_LOAD:
		return in->space == GSB_PTX_SPACE_GLOBAL || in->space == GSB_PTX_SPACE_GENERIC;
	default: return false;
	}
}
