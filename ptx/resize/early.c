/*
 * early.c - how threads end: E0 to E3 (facts.h).
 *
 * A branch that lanes or warps take differently decides about its region; a guarded leave about all that comes after it.
 * Where a barrier lies in there, some threads may be through while others still wait; where an operation of the warp lies
 * in there, and lanes differ, some may be through while others wait for them. In a called function the arguments are taken
 * to differ by lane.
 */
#include "ptx/resize/analysis.h"

struct early {
	struct gsb_resize_flow *f;
	struct gsb_resize_uniform u;
	bool *barrier, *warp_op;	     /* by block: one stands in it */
	bool *barrier_ahead, *warp_op_ahead; /* in it, or in a block that can be reached from it */
};

static const struct gsb_resize_summary *callee(const struct gsb_resize_analysis *a,
					       const struct gsb_ptx_insn *in)
{
	const struct gsb_ptx_func *f;

	if (!in->call || in->call->target.kind != GSB_PTX_OPERAND_FUNC)
		return NULL;
	f = in->call->target.func->alias_of ? in->call->target.func->alias_of
					    : in->call->target.func;
	return &a->of[f->index];
}

/* A call through a table: any of them, so all of them. */
static bool calls(const struct gsb_resize_analysis *a, const struct gsb_ptx_insn *in, bool barrier)
{
	const struct gsb_resize_summary *s = callee(a, in);
	bool any = false;

	if (!in->call)
		return false;
	if (s)
		return barrier ? s->barrier : s->warp_op;
	for (uint32_t i = 0; i < a->k->n_funcs; i++) {
		s = &a->of[a->k->funcs[i]->index];
		any |= a->k->funcs[i] != a->k->entry && (barrier ? s->barrier : s->warp_op);
	}
	return any;
}

static bool has_barrier(const struct early *e, const struct gsb_ptx_insn *in)
{
	return gsb_resize_is_barrier(in) || calls(e->f->a, in, true);
}

static bool has_warp_op(const struct early *e, const struct gsb_ptx_insn *in)
{
	return gsb_resize_is_warp_op(in) || calls(e->f->a, in, false);
}

static void mark_blocks(struct early *e)
{
	for (uint32_t i = 0; i < e->f->func->n_insns; i++) {
		uint32_t block = e->f->cfg.block_of[i];

		e->barrier[block] |= has_barrier(e, &e->f->func->insns[i]);
		e->warp_op[block] |= has_warp_op(e, &e->f->func->insns[i]);
	}
}

/* Backwards from the blocks in @here to all that reach them. */
static void look_ahead(struct early *e, const bool *here, bool *ahead)
{
	uint32_t depth = 0;

	for (uint32_t b = 0; b < e->f->cfg.n_blocks; b++) {
		ahead[b] = here[b];
		if (here[b])
			e->f->stack[depth++] = b;
	}
	while (depth > 0) {
		const struct gsb_ptx_block *b = &e->f->cfg.blocks[e->f->stack[--depth]];

		gsb_resize_steps(e->f->a, b->n_pred);
		for (uint32_t i = 0; i < b->n_pred; i++) {
			if (ahead[b->pred[i]])
				continue;
			ahead[b->pred[i]] = true;
			e->f->stack[depth++] = b->pred[i];
		}
	}
}

static void find_e3(struct early *e, uint32_t insn)
{
	gsb_resize_find(e->f->a, GSB_RESIZE_RULE_E3, e->f->func, insn);
}

static void find_around(struct early *e, uint32_t insn)
{
	if (e->f->func->is_entry)
		e->f->a->around = true;
	else
		gsb_resize_find(e->f->a, GSB_RESIZE_RULE_E_CALLED, e->f->func, insn);
}

static void judge_branch(struct early *e, uint32_t insn)
{
	uint8_t level = gsb_resize_decided_by(&e->u, &e->f->func->insns[insn]);
	uint32_t n;

	if (level == GSB_RESIZE_BLOCK)
		return;
	n = gsb_resize_region(e->f, e->f->cfg.block_of[insn]);
	for (uint32_t i = 0; i < n; i++) {
		if (e->barrier[e->f->region[i]])
			find_around(e, insn);
		if (e->warp_op[e->f->region[i]] && level == GSB_RESIZE_LANE)
			find_e3(e, insn);
	}
}

/* In the rest of the block, or later. */
static bool comes_after(const struct early *e, uint32_t insn, const bool *ahead,
			bool (*has)(const struct early *, const struct gsb_ptx_insn *))
{
	const struct gsb_ptx_block *b = &e->f->cfg.blocks[e->f->cfg.block_of[insn]];

	gsb_resize_steps(e->f->a, b->n_insns);
	for (uint32_t i = insn + 1; i < b->first + b->n_insns; i++)
		if (has(e, &e->f->func->insns[i]))
			return true;
	for (uint32_t i = 0; i < b->n_succ; i++)
		if (b->succ[i] != GSB_PTX_EXIT(&e->f->cfg) && ahead[b->succ[i]])
			return true;
	return false;
}

static uint8_t level_of(const struct early *e, uint32_t insn)
{
	uint8_t by = gsb_resize_decided_by(&e->u, &e->f->func->insns[insn]);
	uint8_t block = e->u.block[e->f->cfg.block_of[insn]];

	return by > block ? by : block;
}

/* A guarded leave ends no block: those that stay go on. */
static void judge_leave(struct early *e, uint32_t insn)
{
	uint8_t level = level_of(e, insn);

	if (level == GSB_RESIZE_BLOCK || e->f->func->insns[insn].guard == GSB_PTX_NONE)
		return;
	if (comes_after(e, insn, e->barrier_ahead, has_barrier))
		find_around(e, insn);
	if (level == GSB_RESIZE_LANE && comes_after(e, insn, e->warp_op_ahead, has_warp_op))
		find_e3(e, insn);
}

/* A guarded barrier is a branch around it. */
static void judge_guarded(struct early *e, uint32_t insn)
{
	const struct gsb_ptx_insn *in = &e->f->func->insns[insn];
	uint8_t level = gsb_resize_decided_by(&e->u, in);

	if (level != GSB_RESIZE_BLOCK && has_barrier(e, in))
		find_around(e, insn);
	if (level == GSB_RESIZE_LANE && has_warp_op(e, in))
		find_e3(e, insn);
}

static void judge_all(struct early *e)
{
	for (uint32_t i = 0; i < e->f->func->n_insns; i++) {
		const struct gsb_ptx_insn *in = &e->f->func->insns[i];

		if (!e->f->cfg.blocks[e->f->cfg.block_of[i]].reachable)
			continue;
		if (gsb_resize_is_branch(in))
			judge_branch(e, i);
		else if (gsb_resize_is_leave(in))
			judge_leave(e, i);
		else
			judge_guarded(e, i);
	}
}

/* ---- what the entry's exits and barriers are, for who rewrites them ---- */

static bool is_named(const struct gsb_ptx_insn *in)
{
	int64_t number;
	uint32_t at = in->op == GSB_PTX_OP_BAR_RED || in->op == GSB_PTX_OP_BARRIER_RED;
	bool counted = in->n_operands > (at ? 3u : 1u); /* an arrival always is */

	return counted || in->n_operands <= at || !gsb_resize_is_imm(&in->operands[at], &number);
}

static void add_barrier(struct early *e, uint32_t insn)
{
	struct gsb_resize_analysis *a = e->f->a;
	struct gsb_resize_barrier *b =
		(struct gsb_resize_barrier *)&a->out->barriers[a->out->n_barriers++];

	b->place = (struct gsb_resize_place){e->f->func, insn};
	b->same = level_of(e, insn);
	b->plain = gsb_resize_is_plain(&e->f->func->insns[insn]);
}

static void add_exit(struct early *e, uint32_t insn)
{
	struct gsb_resize_analysis *a = e->f->a;
	struct gsb_resize_exit *x = (struct gsb_resize_exit *)&a->out->exits[a->out->n_exits++];

	x->place = (struct gsb_resize_place){e->f->func, insn};
	x->same = level_of(e, insn);
	x->early = a->around || a->found[GSB_RESIZE_RULE_E3].n;
}

/* An arrival that nobody waits for would be met by the next tile, whoever leaves when. */
static void judge_barriers(struct early *e)
{
	struct gsb_resize_analysis *a = e->f->a;

	for (uint32_t i = 0; i < a->out->n_barriers; i++) {
		const struct gsb_resize_place *p = &a->out->barriers[i].place;

		if ((a->around && !a->out->barriers[i].plain) || is_named(&p->func->insns[p->insn]))
			gsb_resize_find(a, GSB_RESIZE_RULE_E2, p->func, p->insn);
	}
	if (!a->around)
		return;
	for (uint32_t i = 0; i < a->k->n_funcs; i++)
		if (a->k->funcs[i] != a->k->entry && a->of[a->k->funcs[i]->index].barrier)
			gsb_resize_find(a, GSB_RESIZE_RULE_E_CALLED, a->k->funcs[i], GSB_PTX_NONE);
}

static void list_entry(struct early *e)
{
	struct gsb_resize_facts *out = e->f->a->out;
	uint32_t n = 0;

	for (uint32_t i = 0; i < e->f->func->n_insns; i++)
		n += gsb_resize_is_leave(&e->f->func->insns[i]) ||
		     gsb_resize_is_barrier(&e->f->func->insns[i]);
	out->exits = gsb_resize_alloc(e->f->a, n, sizeof(*out->exits));
	out->barriers = gsb_resize_alloc(e->f->a, n, sizeof(*out->barriers));
	for (uint32_t i = 0; i < e->f->func->n_insns && !e->f->a->err; i++) {
		const struct gsb_ptx_insn *in = &e->f->func->insns[i];

		if (!e->f->cfg.blocks[e->f->cfg.block_of[i]].reachable)
			continue;
		if (gsb_resize_is_leave(in))
			add_exit(e, i);
		else if (gsb_resize_is_barrier(in))
			add_barrier(e, i);
	}
	if (!e->f->a->err)
		judge_barriers(e);
}

void gsb_resize_early_exits(struct gsb_resize_flow *f)
{
	struct early e = {.f = f};
	bool **arrays[] = {&e.barrier, &e.warp_op, &e.barrier_ahead, &e.warp_op_ahead};

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		*arrays[i] = gsb_resize_alloc(f->a, f->cfg.n_blocks, sizeof(bool));
	if (f->a->err || !gsb_resize_uniform_build(f, &e.u))
		return;
	mark_blocks(&e);
	look_ahead(&e, e.barrier, e.barrier_ahead);
	look_ahead(&e, e.warp_op, e.warp_op_ahead);
	judge_all(&e);
	if (f->func->is_entry && !f->a->err)
		list_entry(&e);
}
