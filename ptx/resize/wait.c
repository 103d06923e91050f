/*
 * wait.c - does a block wait for what another block does? Then a part of the grid alone may never end.
 *
 * A wait is a loop that a look at memory may end. A look is strong (volatile, relaxed, acquire, atomic), or weak: an
 * ordinary load, which a loop sees change only with a fence in it, or when nothing else ends the loop. Whatever a look
 * brings is followed through the loop, through branches and through memory; when it reaches what decides about leaving, the
 * loop is a wait, but for three cases that are proven to need nobody:
 *  - an ordinary load from what this kernel writes nowhere;
 *  - a compare-and-swap that is tried again with the value that it brought: alone it succeeds the second time;
 *  - a compare-and-swap of one constant where the kernel writes in no other way: no block can bring that value back, so a
 *    place that was looked at never changes again.
 * Loops are natural loops; anything else that goes round is a knot, and refused when it looks at memory.
 */
#include <string.h>

#include "ptx/resize/loops.h"

#define MAX_DEPTH 8 /* of what an address is computed from in a loop: at most 4^8 registers */

struct loop {
	struct gsb_resize_loop is;
	bool fence, sleeps, calls, stores;
};

struct waits {
	struct gsb_resize_flow *f;
	const struct gsb_resize_bases *b;    /* NULL in a called function: nothing is known */
	uint32_t *tainted, taint_now;	     /* by register, likewise */
	uint32_t *progress, *ahead, *behind; /* by block: == taint_now; see ways_out() */
	uint32_t *queue, n_queue;	     /* registers to follow */
	bool memory_tainted;
	uint8_t *
		own; /* by register: made from the block's number, a ticket or shared memory; 2: from %nctaid */
	struct loop loop;
	bool changed, retries, alone;
	bool waits; /* in the loop at hand, for whatever block: nothing worse can be found */
	uint8_t as;
};

static const struct gsb_ptx_insn *insn(const struct waits *w, uint32_t i)
{
	return &w->f->func->insns[i];
}

static bool inside(const struct waits *w, uint32_t block)
{
	return block != GSB_PTX_EXIT(&w->f->cfg) && w->loop.is.has[block];
}

/* ---- looks ---- */

static bool is_shared_space(const struct gsb_ptx_insn *in)
{
	return in->space != GSB_PTX_SPACE_GLOBAL && in->space != GSB_PTX_SPACE_GENERIC;
}

/* A generic address of shared or local memory. */
static bool is_own_memory(const struct waits *w, const struct gsb_ptx_insn *in)
{
	return w->b && gsb_resize_address(in) &&
	       gsb_resize_base_of(w->b, in) == GSB_RESIZE_BASE_OWN;
}

static bool calls_looker(const struct waits *w, const struct gsb_ptx_insn *in)
{
	const struct gsb_resize_analysis *a = w->f->a;
	const struct gsb_ptx_func *f;

	if (!in->call)
		return false;
	if (in->call->target.kind != GSB_PTX_OPERAND_FUNC)
		return true;
	f = in->call->target.func->alias_of ? in->call->target.func->alias_of
					    : in->call->target.func;
	return a->of[f->index].looks;
}

/* What the block alone may see changes nothing between blocks. */
static bool is_strong_look(const struct waits *w, const struct gsb_ptx_insn *in)
{
	if (calls_looker(w, in))
		return true;
	if (in->scope == GSB_PTX_SCOPE_CTA || is_shared_space(in) || is_own_memory(w, in))
		return false;
	return in->op == GSB_PTX_OP_ATOM || (in->op == GSB_PTX_OP_LD && gsb_resize_is_strong(in));
}

static bool is_weak_look(const struct waits *w, const struct gsb_ptx_insn *in)
{
	enum gsb_ptx_class class = gsb_ptx_op_class(in->op);

	if (class == GSB_PTX_CLASS_TEX || gsb_resize_copies(in))
		return true;
	return (in->op == GSB_PTX_OP_LD || in->op == GSB_PTX_OP_LDU) && gsb_resize_is_global(in) &&
	       !(in->flags & GSB_PTX_F_NC) && !gsb_resize_is_strong(in) && !is_own_memory(w, in);
}

/*
 * No store or atomic of this kernel may reach what is loaded. Without a fence in the loop an ordinary load does not see what
 * others write meanwhile, if nothing races; then a pointer from memory is taken not to lead to what is written by name.
 */
static bool reads_unwritten(const struct waits *w, const struct gsb_ptx_insn *in)
{
	uint64_t base, doubtful = GSB_RESIZE_BASE_LOADED | GSB_RESIZE_BASE_VAR;

	if (!w->b || !w->b->known || !gsb_resize_address(in))
		return false;
	base = gsb_resize_base_of(w->b, in);
	return !(base & (w->b->written | (w->loop.fence || w->loop.calls ? doubtful : 0)));
}

/* ---- following a value through the loop ---- */

static void taint(void *ctx, uint32_t reg)
{
	struct waits *w = ctx;

	if (w->tainted[reg] == w->taint_now)
		return;
	w->tainted[reg] = w->taint_now;
	w->queue[w->n_queue++] = reg;
}

static void taint_results(struct waits *w, uint32_t i)
{
	gsb_resize_each_def(w->f, insn(w, i), taint, w);
}

typedef void insn_fn(struct waits *w, uint32_t insn);

static void each_in_loop(struct waits *w, insn_fn *fn)
{
	for (uint32_t n = 0; n < w->loop.is.n_blocks; n++) {
		const struct gsb_ptx_block *b = &w->f->cfg.blocks[w->loop.is.blocks[n]];

		for (uint32_t i = b->first; i < b->first + b->n_insns; i++)
			fn(w, i);
		if (!gsb_resize_steps(w->f->a, b->n_insns))
			return;
	}
}

/* Memory of any kind, shared and local memory, parameters of calls and barriers in memory included. */
static bool touches_memory(const struct gsb_ptx_insn *in)
{
	switch (gsb_ptx_op_class(in->op)) {
	case GSB_PTX_CLASS_MEM:
	case GSB_PTX_CLASS_ATOM:
	case GSB_PTX_CLASS_ASYNC:
	case GSB_PTX_CLASS_MATRIX:
	case GSB_PTX_CLASS_TEX:
	case GSB_PTX_CLASS_CALL: return true;
	default: return false;
	}
}

static bool may_write(const struct gsb_ptx_insn *in)
{
	bool is_mem = gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_MEM;

	return touches_memory(in) && (!is_mem || in->op == GSB_PTX_OP_ST);
}

static void taint_load(struct waits *w, uint32_t i)
{
	if (touches_memory(insn(w, i)))
		taint_results(w, i);
}

/* What is written may be read again, wherever. */
static void taint_memory(struct waits *w)
{
	if (w->memory_tainted)
		return;
	w->memory_tainted = true;
	each_in_loop(w, taint_load);
}

static void on_branch(struct waits *w, uint32_t i)
{
	uint32_t n = gsb_resize_region(w->f, w->f->cfg.block_of[i]);

	for (uint32_t r = 0; r < n; r++) {
		const struct gsb_ptx_block *b = &w->f->cfg.blocks[w->f->region[r]];

		if (!inside(w, w->f->region[r]) || !gsb_resize_steps(w->f->a, b->n_insns))
			continue;
		for (uint32_t k = b->first; k < b->first + b->n_insns; k++) {
			taint_results(w, k);
			if (may_write(insn(w, k)))
				taint_memory(w);
		}
	}
}

static void follow_user(struct waits *w, uint32_t i)
{
	const struct gsb_ptx_insn *in = insn(w, i);

	if (!inside(w, w->f->cfg.block_of[i]))
		return;
	taint_results(w, i);
	if (may_write(in))
		taint_memory(w);
	if (gsb_resize_is_branch(in))
		on_branch(w, i);
}

static void follow(struct waits *w)
{
	while (w->n_queue > 0) {
		uint32_t reg = w->queue[--w->n_queue];
		uint32_t first = w->f->user_at[reg], end = w->f->user_at[reg + 1];

		for (uint32_t i = first; i < end; i++)
			follow_user(w, w->f->users[i]);
		if (!gsb_resize_steps(w->f->a, end - first + 1))
			return;
	}
}

/* ---- leaving the loop ---- */

static bool leaves_loop(const struct waits *w, uint32_t block)
{
	const struct gsb_ptx_block *b = &w->f->cfg.blocks[block];

	for (uint32_t i = 0; i < b->n_succ; i++)
		if (!inside(w, b->succ[i]))
			return true;
	return false;
}

/* The instructions that decide about it: a branch with a way out, a guarded leave. */
static bool is_way_out(const struct waits *w, uint32_t i)
{
	const struct gsb_ptx_insn *in = insn(w, i);

	if (gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_LEAVE)
		return true;
	return gsb_resize_is_branch(in) && leaves_loop(w, w->f->cfg.block_of[i]);
}

static void deciding_regs(const struct gsb_ptx_insn *in, uint32_t out[2])
{
	out[0] = in->guard;
	out[1] = in->op == GSB_PTX_OP_BRX_IDX ? in->operands[0].reg : GSB_PTX_NONE;
}

static bool is_tainted(const struct waits *w, uint32_t reg)
{
	return reg != GSB_PTX_NONE && w->tainted[reg] == w->taint_now;
}

static bool written_inside(const struct waits *w, uint32_t reg)
{
	for (uint32_t i = w->f->writer_at[reg]; i < w->f->writer_at[reg + 1]; i++)
		if (inside(w, w->f->cfg.block_of[w->f->writers[i]]))
			return true;
	return false;
}

/* What a look means for a loop. */
struct ways {
	bool tainted; /* it decides about a way out, or about going round again before one is reached */
	bool other; /* each turn comes by a way out that goes on without it: a counter */
};

static void judge_way_out(struct waits *w, uint32_t i, struct ways *ways)
{
	uint32_t regs[2];

	deciding_regs(insn(w, i), regs);
	for (int r = 0; r < 2; r++) {
		if (regs[r] == GSB_PTX_NONE)
			continue;
		if (is_tainted(w, regs[r])) {
			ways->tainted = true;
		} else if (written_inside(w, regs[r])) {
			ways->other = true;
			w->progress[w->f->cfg.block_of[i]] = w->taint_now;
		}
	}
}

/* Marks the blocks that are reached from the header, or reach it, without coming by a way out that makes progress. */
static void spread(struct waits *w, uint32_t *mark, bool forward)
{
	uint32_t depth = 0;

	mark[w->loop.is.header] = w->taint_now;
	if (w->progress[w->loop.is.header] != w->taint_now)
		w->f->stack[depth++] = w->loop.is.header;
	while (depth > 0) {
		const struct gsb_ptx_block *b = &w->f->cfg.blocks[w->f->stack[--depth]];
		const uint32_t *next = forward ? b->succ : b->pred;
		uint32_t n = forward ? b->n_succ : b->n_pred;

		if (!gsb_resize_steps(w->f->a, n + 1))
			return;
		for (uint32_t i = 0; i < n; i++) {
			if (!inside(w, next[i]) || mark[next[i]] == w->taint_now ||
			    w->progress[next[i]] == w->taint_now)
				continue;
			mark[next[i]] = w->taint_now;
			w->f->stack[depth++] = next[i];
		}
	}
}

/* From here the header can be reached again without progress. */
static bool leads_round(const struct waits *w, uint32_t block)
{
	const struct gsb_ptx_block *b = &w->f->cfg.blocks[block];

	for (uint32_t i = 0; i < b->n_succ; i++)
		if (inside(w, b->succ[i]) && w->behind[b->succ[i]] == w->taint_now)
			return true;
	return false;
}

/* A branch that the look decides, on a way round that comes by no progress. */
static bool goes_round(struct waits *w)
{
	uint32_t regs[2];

	if (w->progress[w->loop.is.header] == w->taint_now)
		return false;
	spread(w, w->ahead, true);
	spread(w, w->behind, false);
	for (uint32_t n = 0; n < w->loop.is.n_blocks; n++) {
		uint32_t block = w->loop.is.blocks[n];
		const struct gsb_ptx_block *b = &w->f->cfg.blocks[block];
		const struct gsb_ptx_insn *last = insn(w, b->first + b->n_insns - 1);

		deciding_regs(last, regs);
		if (w->ahead[block] == w->taint_now && gsb_resize_is_branch(last) &&
		    (is_tainted(w, regs[0]) || is_tainted(w, regs[1])) && leads_round(w, block))
			return true;
	}
	return false;
}

static struct ways ways_out(struct waits *w)
{
	struct ways ways = {0};

	for (uint32_t n = 0; n < w->loop.is.n_blocks; n++) {
		const struct gsb_ptx_block *b = &w->f->cfg.blocks[w->loop.is.blocks[n]];

		for (uint32_t i = b->first; i < b->first + b->n_insns; i++)
			if (is_way_out(w, i))
				judge_way_out(w, i, &ways);
		if (!gsb_resize_steps(w->f->a, b->n_insns))
			return ways;
	}
	if (goes_round(w)) {
		ways.tainted = true;
		ways.other = false;
	}
	return ways;
}

static void begin_taint(struct waits *w)
{
	w->taint_now++;
	w->n_queue = 0;
	w->memory_tainted = false;
}

static struct ways ways_after(struct waits *w, uint32_t look)
{
	begin_taint(w);
	taint_results(w, look);
	if (gsb_resize_copies(insn(w, look)) || insn(w, look)->call)
		taint_memory(w);
	follow(w);
	return ways_out(w);
}

/* ---- a compare-and-swap that needs nobody ---- */

static bool is_cas(const struct gsb_ptx_insn *in)
{
	return in->op == GSB_PTX_OP_ATOM && in->sub == GSB_PTX_SUB_CAS && in->vec == 1 &&
	       in->guard == GSB_PTX_NONE && in->n_operands >= 4 &&
	       in->operands[0].kind == GSB_PTX_OPERAND_REG;
}

static uint32_t single_writer(const struct waits *w, uint32_t reg)
{
	uint32_t at = w->f->writer_at[reg];

	return w->f->writer_at[reg + 1] == at + 1 ? w->f->writers[at] : GSB_PTX_NONE;
}

/* The value that @o always has: a constant, or a register that only ever gets one. */
static bool constant_of(const struct waits *w, const struct gsb_ptx_operand *o, int64_t *out)
{
	uint32_t writer;

	if (o->kind != GSB_PTX_OPERAND_REG)
		return gsb_resize_is_imm(o, out);
	writer = single_writer(w, o->reg);
	return writer != GSB_PTX_NONE && insn(w, writer)->op == GSB_PTX_OP_MOV &&
	       insn(w, writer)->guard == GSB_PTX_NONE &&
	       gsb_resize_is_imm(&insn(w, writer)->operands[1], out);
}

static bool writes(const struct gsb_ptx_insn *in)
{
	return in->op == GSB_PTX_OP_ST || gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_ATOM;
}

/* Global memory made from one of the bases. */
static bool may_write_to(const struct waits *w, const struct gsb_ptx_insn *in, uint64_t base)
{
	if (!writes(in))
		return may_write(in);
	return gsb_resize_is_global(in) &&
	       (!w->b || (base | gsb_resize_base_of(w->b, in)) & GSB_RESIZE_BASE_LOADED ||
		gsb_resize_base_of(w->b, in) & base);
}

/* In the loop, @reg becomes nothing but what the compare-and-swap brought, and that in each turn. */
static bool is_refreshed(const struct waits *w, uint32_t reg, uint32_t brought)
{
	bool each_turn = false;

	for (uint32_t i = w->f->writer_at[reg]; i < w->f->writer_at[reg + 1]; i++) {
		const struct gsb_ptx_insn *in = insn(w, w->f->writers[i]);
		uint32_t block = w->f->cfg.block_of[w->f->writers[i]];

		if (!inside(w, block))
			continue;
		if (in->op != GSB_PTX_OP_MOV || in->guard != GSB_PTX_NONE ||
		    in->operands[1].kind != GSB_PTX_OPERAND_REG || in->operands[1].reg != brought)
			return false;
		each_turn = each_turn || gsb_resize_each_turn(w->f, &w->loop.is, block);
	}
	return each_turn;
}

static bool is_reg(const struct gsb_ptx_operand *o, uint32_t reg)
{
	return o->kind == GSB_PTX_OPERAND_REG && o->reg == reg && !o->negated;
}

/* The same register, or the same constant. */
static bool is_like(const struct waits *w, const struct gsb_ptx_operand *a,
		    const struct gsb_ptx_operand *b)
{
	int64_t x, y;

	if (b->kind == GSB_PTX_OPERAND_REG && is_reg(a, b->reg))
		return true;
	return constant_of(w, a, &x) && constant_of(w, b, &y) && x == y;
}

/* setp.eq or .ne of what was brought and what was expected. */
static bool compares(const struct waits *w, const struct gsb_ptx_insn *setp,
		     const struct gsb_ptx_insn *cas)
{
	uint32_t brought = cas->operands[0].reg;
	const struct gsb_ptx_operand *expected = &cas->operands[2];

	return setp->op == GSB_PTX_OP_SETP && setp->guard == GSB_PTX_NONE &&
	       setp->n_operands == 3 && !gsb_ptx_type_is_float(setp->type[0]) &&
	       (setp->cmp == GSB_PTX_CMP_EQ || setp->cmp == GSB_PTX_CMP_NE) &&
	       ((is_reg(&setp->operands[1], brought) && is_like(w, &setp->operands[2], expected)) ||
		(is_reg(&setp->operands[2], brought) && is_like(w, &setp->operands[1], expected)));
}

/* The way that is taken when they are equal leads out of the loop, and each turn comes by. */
static bool equal_leaves(const struct waits *w, uint32_t branch, bool equal)
{
	const struct gsb_ptx_insn *in = insn(w, branch);
	uint32_t block = w->f->cfg.block_of[branch], to;
	const struct gsb_ptx_block *b = &w->f->cfg.blocks[block];

	if (in->op != GSB_PTX_OP_BRA || !inside(w, block) ||
	    !gsb_resize_each_turn(w->f, &w->loop.is, block))
		return false;
	if (equal != in->guard_negated)
		to = w->f->cfg.block_of[w->f->func->labels[in->operands[0].label].insn];
	else if (b->first + b->n_insns < w->f->func->n_insns)
		to = w->f->cfg.block_of[b->first + b->n_insns];
	else
		return false;
	return !inside(w, to);
}

static bool success_leaves(const struct waits *w, uint32_t setp)
{
	const struct gsb_ptx_operand *p = &insn(w, setp)->operands[0];

	if (p->kind != GSB_PTX_OPERAND_REG || single_writer(w, p->reg) != setp)
		return false;
	for (uint32_t i = w->f->user_at[p->reg]; i < w->f->user_at[p->reg + 1]; i++) {
		const struct gsb_ptx_insn *in = insn(w, w->f->users[i]);

		if (in->guard == p->reg &&
		    equal_leaves(w, w->f->users[i], insn(w, setp)->cmp == GSB_PTX_CMP_EQ))
			return true;
	}
	return false;
}

/* What is computed anew in each turn, from what stays; with @loads also what ordinary loads of such addresses bring. */
struct stays {
	const struct waits *w;
	uint32_t depth;
	bool loads, ok;
};

static bool register_stays(const struct waits *w, uint32_t reg, bool loads, uint32_t depth);

static void on_operand(void *ctx, uint32_t reg)
{
	struct stays *s = ctx;

	s->ok = s->ok && register_stays(s->w, reg, s->loads, s->depth);
}

static bool is_computed(const struct waits *w, const struct gsb_ptx_insn *in, bool loads)
{
	switch (gsb_ptx_op_class(in->op)) {
	case GSB_PTX_CLASS_ALU:
	case GSB_PTX_CLASS_CMP:
	case GSB_PTX_CLASS_MOV:
	case GSB_PTX_CLASS_CVT: return true;
	case GSB_PTX_CLASS_MEM: return loads && in->op == GSB_PTX_OP_LD && !is_strong_look(w, in);
	default: return false;
	}
}

static bool register_stays(const struct waits *w, uint32_t reg, bool loads, uint32_t depth)
{
	struct stays s = {w, depth + 1, loads, true};
	uint32_t writer = single_writer(w, reg);

	if (!written_inside(w, reg))
		return true;
	if (depth == MAX_DEPTH || !gsb_resize_steps(w->f->a, 1))
		return loads; /* on the safe side of either question */
	if (writer == GSB_PTX_NONE || !is_computed(w, insn(w, writer), loads))
		return false;
	gsb_resize_each_use(w->f, insn(w, writer), on_operand, &s);
	return s.ok;
}

static bool address_stays(const struct waits *w, const struct gsb_ptx_insn *in)
{
	const struct gsb_ptx_operand *o = gsb_resize_address(in);

	return o && (o->reg == GSB_PTX_NONE || register_stays(w, o->reg, false, 0));
}

/* Nothing else in the loop writes @reg. */
static bool is_written_by(const struct waits *w, uint32_t reg, uint32_t writer)
{
	for (uint32_t i = w->f->writer_at[reg]; i < w->f->writer_at[reg + 1]; i++)
		if (w->f->writers[i] != writer && inside(w, w->f->cfg.block_of[w->f->writers[i]]))
			return false;
	return true;
}

/* @b comes after @a in each turn that it comes in. */
static bool follows(const struct waits *w, uint32_t a, uint32_t b)
{
	uint32_t from = w->f->cfg.block_of[a], to = w->f->cfg.block_of[b];

	return from == to ? a < b : inside(w, to) && gsb_resize_dominates(w->f, from, to);
}

/* Where the compare-and-swap finds what it expects, the loop is left. */
static bool leaves_when_equal(const struct waits *w, uint32_t look)
{
	uint32_t brought = insn(w, look)->operands[0].reg;

	if (!is_written_by(w, brought, look) ||
	    !gsb_resize_each_turn(w->f, &w->loop.is, w->f->cfg.block_of[look]))
		return false;
	for (uint32_t i = w->f->user_at[brought]; i < w->f->user_at[brought + 1]; i++) {
		uint32_t user = w->f->users[i];

		if (follows(w, look, user) && compares(w, insn(w, user), insn(w, look)) &&
		    success_leaves(w, user))
			return true;
	}
	return false;
}

/* Nothing else in the loop, no call either, writes where the compare-and-swap does. */
static bool writes_alone(const struct waits *w, uint32_t look)
{
	uint64_t base = w->b ? gsb_resize_base_of(w->b, insn(w, look)) : GSB_RESIZE_BASE_LOADED;

	for (uint32_t n = 0; n < w->loop.is.n_blocks; n++) {
		const struct gsb_ptx_block *b = &w->f->cfg.blocks[w->loop.is.blocks[n]];

		if (!gsb_resize_steps(w->f->a, b->n_insns))
			return false;
		for (uint32_t i = b->first; i < b->first + b->n_insns; i++)
			if (i != look && may_write_to(w, insn(w, i), base))
				return false;
	}
	return true;
}

/* old = CAS(p, expected, new); expected = old; until old was expected. */
static bool is_retry(const struct waits *w, uint32_t look)
{
	const struct gsb_ptx_insn *in = insn(w, look);
	uint32_t brought, expected;

	if (!is_cas(in) || in->operands[2].kind != GSB_PTX_OPERAND_REG)
		return false;
	brought = in->operands[0].reg;
	expected = in->operands[2].reg;
	return is_refreshed(w, expected, brought) && address_stays(w, in) &&
	       leaves_when_equal(w, look) && writes_alone(w, look);
}

static bool is_claim_of(const struct waits *w, const struct gsb_ptx_insn *in, uint8_t type,
			int64_t value)
{
	int64_t other;

	return is_cas(in) && gsb_ptx_type_bytes(in->type[0]) == gsb_ptx_type_bytes(type) &&
	       constant_of(w, &in->operands[2], &other) && other == value;
}

/* One that puts back what it finds changes nothing: unless it leaves the loop then, it is a poll. */
static bool settles(const struct waits *w, uint32_t look, int64_t expected)
{
	const struct gsb_ptx_insn *in = insn(w, look);
	uint32_t bytes = gsb_ptx_type_bytes(in->type[0]), unused = bytes < 8 ? 64 - 8 * bytes : 0;
	int64_t value;

	if (constant_of(w, &in->operands[3], &value) &&
	    (uint64_t)value << unused != (uint64_t)expected << unused)
		return true;
	return leaves_when_equal(w, look);
}

static bool is_claim(const struct waits *w, uint32_t look)
{
	const struct gsb_ptx_insn *in = insn(w, look);
	uint64_t base;
	int64_t value;

	if (!is_cas(in) || in->scope == GSB_PTX_SCOPE_SYS || !w->b || !w->b->known ||
	    !constant_of(w, &in->operands[2], &value) || !settles(w, look, value))
		return false;
	base = gsb_resize_base_of(w->b, in);
	if (base & GSB_RESIZE_BASE_LOADED)
		return false;
	gsb_resize_steps(w->f->a, w->f->func->n_insns);
	for (uint32_t i = 0; i < w->f->func->n_insns; i++) {
		const struct gsb_ptx_insn *other = insn(w, i);

		if (writes(other) && gsb_resize_is_global(other) &&
		    gsb_resize_base_of(w->b, other) & base &&
		    !is_claim_of(w, other, in->type[0], value))
			return false;
	}
	return true;
}

/* ---- judging ---- */

static void mark_own(void *ctx, uint32_t reg)
{
	struct waits *w = ctx;

	if ((w->own[reg] | w->as) == w->own[reg])
		return;
	w->own[reg] |= w->as;
	w->queue[w->n_queue++] = reg;
}

static uint8_t own_source(const struct gsb_ptx_insn *in)
{
	uint8_t as = in->op == GSB_PTX_OP_ATOM || in->op == GSB_PTX_OP_SHFL ||
		     (in->op == GSB_PTX_OP_LD && in->space == GSB_PTX_SPACE_SHARED);

	for (uint32_t i = 0; i < in->n_operands; i++) {
		if (in->operands[i].kind != GSB_PTX_OPERAND_SREG)
			continue;
		as |= in->operands[i].sreg == GSB_PTX_SREG_CTAID    ? 1
		      : in->operands[i].sreg == GSB_PTX_SREG_NCTAID ? 2
								    : 0;
	}
	return as;
}

/* At most three times for each register: two bits. */
static bool find_own(struct waits *w)
{
	w->own = gsb_resize_alloc(w->f->a, w->f->n_regs, 1);
	if (!w->own)
		return false;
	for (uint32_t i = 0; i < w->f->func->n_insns; i++) {
		w->as = own_source(insn(w, i));
		if (w->as && w->f->cfg.blocks[w->f->cfg.block_of[i]].reachable)
			gsb_resize_each_def(w->f, insn(w, i), mark_own, w);
	}
	while (w->n_queue > 0) {
		uint32_t reg = w->queue[--w->n_queue];

		for (uint32_t i = w->f->user_at[reg]; i < w->f->user_at[reg + 1]; i++) {
			w->as = w->own[reg];
			gsb_resize_each_def(w->f, insn(w, w->f->users[i]), mark_own, w);
		}
		if (!gsb_resize_steps(w->f->a, w->f->user_at[reg + 1] - w->f->user_at[reg] + 1))
			return false;
	}
	return true;
}

/* Which place it waits at follows from which block it is, and not from how many there are. */
static bool is_own_place(const struct waits *w, const struct gsb_ptx_insn *in)
{
	const struct gsb_ptx_operand *o = gsb_resize_address(in);

	return o && o->reg != GSB_PTX_NONE && w->own[o->reg] == 1;
}

static void find(struct waits *w, enum gsb_resize_rule rule, uint32_t i)
{
	gsb_resize_find(w->f->a, rule, w->f->func, i);
}

static void find_wait(struct waits *w, enum gsb_resize_rule rule, uint32_t i)
{
	w->changed = w->waits = true;
	find(w, rule, i);
}

static void judge_strong(struct waits *w, uint32_t i)
{
	const struct gsb_ptx_insn *in = insn(w, i);

	if (w->waits || !is_strong_look(w, in) || is_retry(w, i) || is_claim(w, i) ||
	    !ways_after(w, i).tainted)
		return;
	if (in->op == GSB_PTX_OP_LD && is_own_place(w, in) && w->f->func->is_entry) {
		w->changed = true;
		find(w, GSB_RESIZE_RULE_LOOK_BACK, i);
	} else {
		find_wait(w, in->call ? GSB_RESIZE_RULE_SPIN_CALL : GSB_RESIZE_RULE_SPIN, i);
	}
}

static void judge_stays(struct waits *w, uint32_t i)
{
	uint32_t regs[2];

	if (!is_way_out(w, i))
		return;
	deciding_regs(insn(w, i), regs);
	for (int r = 0; r < 2; r++)
		if (regs[r] != GSB_PTX_NONE)
			w->alone = w->alone && register_stays(w, regs[r], true, 0);
}

/* As long as memory stays as it is, each turn is like the last: somebody is waited for, if not in this grid. */
static bool waits_alone(struct waits *w)
{
	w->alone = true;
	each_in_loop(w, judge_stays);
	return w->alone;
}

static void judge_weak(struct waits *w, uint32_t i)
{
	const struct gsb_ptx_insn *in = insn(w, i);
	struct ways ways;

	if (w->waits || !is_weak_look(w, in))
		return;
	ways = ways_after(w, i);
	if (!ways.tainted)
		return;
	if (reads_unwritten(w, in) && !waits_alone(w))
		return;
	if (w->loop.fence || w->loop.calls || !ways.other) {
		find_wait(w, GSB_RESIZE_RULE_SPIN, i);
	}
}

static void survey(struct waits *w, uint32_t i)
{
	const struct gsb_ptx_insn *in = insn(w, i);
	bool wide_fence =
		gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_FENCE && in->scope != GSB_PTX_SCOPE_CTA;

	w->loop.fence |= wide_fence || (gsb_resize_is_global(in) && gsb_resize_is_strong(in) &&
					in->scope != GSB_PTX_SCOPE_CTA);
	w->loop.sleeps |= in->op == GSB_PTX_OP_NANOSLEEP;
	w->loop.calls |= calls_looker(w, in);
}

static void find_sleep(struct waits *w, uint32_t i)
{
	if (insn(w, i)->op == GSB_PTX_OP_NANOSLEEP)
		find(w, GSB_RESIZE_RULE_SPIN_SLEEP, i);
}

static void look_for_retry(struct waits *w, uint32_t i)
{
	w->retries = w->retries || is_retry(w, i);
}

/* A loop that tries a compare-and-swap again ends by itself, unless something else that it looks at prevents that. */
static void judge_loop(struct waits *w)
{
	w->changed = w->retries = w->waits = false;
	each_in_loop(w, look_for_retry);
	each_in_loop(w, survey);
	each_in_loop(w, judge_strong);
	each_in_loop(w, judge_weak);
	if (w->loop.sleeps && !w->changed && !w->retries)
		each_in_loop(w, find_sleep);
}

/* ---- loops ---- */

static void find_knot(struct waits *w)
{
	for (uint32_t i = 0; i < w->f->func->n_insns; i++) {
		const struct gsb_ptx_insn *in = insn(w, i);

		if (is_strong_look(w, in) || is_weak_look(w, in)) {
			find(w, GSB_RESIZE_RULE_SPIN_KNOT, i);
			return;
		}
	}
}

static void judge_loops(struct waits *w)
{
	struct gsb_resize_loops all;

	if (!gsb_resize_loops_build(w->f, &all))
		return;
	for (uint32_t i = 0; i < all.n && !w->f->a->err; i++) {
		w->loop = (struct loop){.is = all.loops[i]};
		judge_loop(w);
	}
	if (all.knot || (w->f->a->k->recursive && !w->f->func->is_entry))
		find_knot(w);
}

void gsb_resize_waits(struct gsb_resize_flow *f, const struct gsb_resize_bases *b)
{
	struct waits w = {.f = f, .b = f->func->is_entry ? b : NULL};

	w.progress = gsb_resize_alloc(f->a, f->cfg.n_blocks, sizeof(*w.progress));
	w.ahead = gsb_resize_alloc(f->a, f->cfg.n_blocks, sizeof(*w.ahead));
	w.behind = gsb_resize_alloc(f->a, f->cfg.n_blocks, sizeof(*w.behind));
	w.tainted = gsb_resize_alloc(f->a, f->n_regs, sizeof(*w.tainted));
	w.queue = gsb_resize_alloc(f->a, (size_t)f->n_regs * 2 + 1, sizeof(*w.queue));
	if (f->a->err)
		return;
	if (find_own(&w))
		judge_loops(&w);
}
