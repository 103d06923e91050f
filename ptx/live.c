/*
 * live.c - see live.h. The usual backward data flow: in = use | (out & ~def), out = union of the
 * successors' in, by a work list until nothing changes.
 */
#include "ptx/live.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"

#define PRESSURE_UNIT 8 /* registers are handed out in eights */

struct sets {
	uint64_t *use,
		*def; /* of one block: read before written; written whatever the guard says */
};

static void set_bit(uint64_t *set, uint32_t reg)
{
	set[reg / 64] |= (uint64_t)1 << (reg % 64);
}

static void on_use(void *ctx, uint32_t reg)
{
	struct sets *s = ctx;

	if (!gsb_ptx_live_test(s->def, reg))
		set_bit(s->use, reg);
}

static void on_def(void *ctx, uint32_t reg)
{
	set_bit(((struct sets *)ctx)->def, reg);
}

/* Each body ends with a ret: the parser adds one (body.c). */
void gsb_ptx_each_result(const struct gsb_ptx_func *f, gsb_ptx_reg_fn *fn, void *ctx)
{
	for (uint32_t i = 0; i < f->n_rets; i++)
		if (f->rets[i].reg != GSB_PTX_NONE)
			fn(ctx, f->rets[i].reg);
}

static void scan_block(const struct gsb_ptx_cfg *cfg, const struct gsb_ptx_block *b, struct sets *s)
{
	for (uint32_t i = b->first; i < b->first + b->n_insns; i++) {
		const struct gsb_ptx_insn *in = &cfg->func->insns[i];

		gsb_ptx_insn_each_use(in, on_use, s);
		if (in->op == GSB_PTX_OP_RET)
			gsb_ptx_each_result(cfg->func, on_use, s);
		if (in->guard == GSB_PTX_NONE)
			gsb_ptx_insn_each_def(in, on_def, s);
	}
}

struct flow {
	const struct gsb_ptx_cfg *cfg;
	uint32_t n_words;
	uint64_t *use, *def, *in, *out;
	uint32_t *stack;
	bool *waiting;
	uint32_t depth;
	uint64_t steps;
};

static void wait_for(struct flow *fl, uint32_t block)
{
	if (fl->waiting[block])
		return;
	fl->waiting[block] = true;
	fl->stack[fl->depth++] = block;
}

/* Recomputes one block; true when its in has changed. */
static bool update(struct flow *fl, uint32_t block)
{
	const struct gsb_ptx_block *b = &fl->cfg->blocks[block];
	size_t at = (size_t)block * fl->n_words;
	bool changed = false;

	for (uint32_t i = 0; i < b->n_succ; i++) {
		if (b->succ[i] == GSB_PTX_EXIT(fl->cfg))
			continue;
		for (uint32_t w = 0; w < fl->n_words; w++)
			fl->out[at + w] |= fl->in[(size_t)b->succ[i] * fl->n_words + w];
	}
	for (uint32_t w = 0; w < fl->n_words; w++) {
		uint64_t in = fl->use[at + w] | (fl->out[at + w] & ~fl->def[at + w]);

		changed |= in != fl->in[at + w];
		fl->in[at + w] = in;
	}
	return changed;
}

static int solve(struct flow *fl)
{
	for (uint32_t i = 0; i < fl->cfg->n_blocks; i++)
		wait_for(fl, i);
	while (fl->depth > 0) {
		uint32_t block = fl->stack[--fl->depth];
		const struct gsb_ptx_block *b = &fl->cfg->blocks[block];

		fl->waiting[block] = false;
		fl->steps += (uint64_t)(b->n_succ + 1) * fl->n_words;
		if (fl->steps > GSB_PTX_MAX_FLOW_STEPS)
			return -E2BIG;
		if (!update(fl, block))
			continue;
		for (uint32_t i = 0; i < b->n_pred; i++)
			wait_for(fl, b->pred[i]);
	}
	return 0;
}

int gsb_ptx_live_build(const struct gsb_ptx_cfg *cfg, struct gsb_arena *arena,
		       struct gsb_ptx_live *out)
{
	struct flow fl = {.cfg = cfg, .n_words = (uint32_t)gsb_div_up(cfg->func->n_regs, 64)};
	size_t n = (size_t)cfg->n_blocks * fl.n_words; /* 2^22 * 2^14 at most: no overflow */

	fl.use = gsb_arena_alloc_array(arena, n, sizeof(uint64_t));
	fl.def = gsb_arena_alloc_array(arena, n, sizeof(uint64_t));
	fl.in = gsb_arena_alloc_array(arena, n, sizeof(uint64_t));
	fl.out = gsb_arena_alloc_array(arena, n, sizeof(uint64_t));
	fl.stack = gsb_arena_alloc_array(arena, cfg->n_blocks, sizeof(*fl.stack));
	fl.waiting = gsb_arena_alloc_array(arena, cfg->n_blocks, sizeof(*fl.waiting));
	if (!fl.use || !fl.def || !fl.in || !fl.out || !fl.stack || !fl.waiting)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfg->n_blocks; i++) {
		struct sets s = {fl.use + (size_t)i * fl.n_words, fl.def + (size_t)i * fl.n_words};

		scan_block(cfg, &cfg->blocks[i], &s);
	}
	if (solve(&fl))
		return -E2BIG;
	*out = (struct gsb_ptx_live){
		.n_steps = fl.steps, .n_words = fl.n_words, .in = fl.in, .out = fl.out};
	return 0;
}

/* A set of live registers and what they weigh in 32-bit registers. */
struct pressure {
	const struct gsb_ptx_func *func;
	uint64_t *live;
	uint32_t now;
};

static uint32_t weight(const struct gsb_ptx_func *f, uint32_t reg)
{
	uint8_t type = f->regs[reg].type;

	return type == GSB_PTX_TYPE_PRED ? 0 : (uint32_t)gsb_div_up(gsb_ptx_type_bytes(type), 4);
}

static void add_live(void *ctx, uint32_t reg)
{
	struct pressure *p = ctx;

	if (gsb_ptx_live_test(p->live, reg))
		return;
	set_bit(p->live, reg);
	p->now += weight(p->func, reg);
}

static void drop_live(void *ctx, uint32_t reg)
{
	struct pressure *p = ctx;

	if (!gsb_ptx_live_test(p->live, reg))
		return;
	p->live[reg / 64] &= ~((uint64_t)1 << (reg % 64));
	p->now -= weight(p->func, reg);
}

/* The most that is live in one block, walking up from its end. */
static uint32_t block_pressure(const struct gsb_ptx_cfg *cfg, const struct gsb_ptx_live *live,
			       uint32_t block, struct pressure *p)
{
	const struct gsb_ptx_block *b = &cfg->blocks[block];
	uint32_t most;

	memcpy(p->live, live->out + (size_t)block * live->n_words,
	       live->n_words * sizeof(uint64_t));
	p->now = 0;
	for (uint32_t w = 0; w < live->n_words; w++)
		for (uint64_t left = p->live[w]; left; left &= left - 1)
			p->now += weight(cfg->func, w * 64 + (uint32_t)__builtin_ctzll(left));
	most = p->now;
	for (uint32_t i = b->first + b->n_insns; i-- > b->first;) {
		const struct gsb_ptx_insn *in = &cfg->func->insns[i];

		gsb_ptx_insn_each_def(in, add_live, p); /* a result needs a place, used or not */
		most = p->now > most ? p->now : most;
		if (in->guard == GSB_PTX_NONE)
			gsb_ptx_insn_each_def(in, drop_live, p);
		gsb_ptx_insn_each_use(in, add_live, p);
		most = p->now > most ? p->now : most;
	}
	return most;
}

int gsb_ptx_live_pressure(const struct gsb_ptx_cfg *cfg, const struct gsb_ptx_live *live,
			  struct gsb_arena *arena, uint32_t *out)
{
	struct pressure p = {.func = cfg->func};
	uint32_t most = 1;

	p.live = gsb_arena_alloc_array(arena, live->n_words, sizeof(uint64_t));
	if (!p.live)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfg->n_rpo; i++) {
		uint32_t now = block_pressure(cfg, live, cfg->rpo[i], &p);

		most = now > most ? now : most;
	}
	*out = (uint32_t)gsb_round_up(most, PRESSURE_UNIT);
	return 0;
}
