/*
 * rows.c - where the registers of a function live: a linear scan over intervals of life.
 *
 * Virtual registers are many (thousands in one sorting kernel), rows are 128 bytes a warp or more: the
 * registers that are never alive together share one. A life is the interval of instructions from the
 * first to the last where liveness has it, holes included. Two lives that touch do not share: a handler
 * may write its result before it has read all of a source.
 */
#include "device/emu/lower/rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"
#include "device/emu/code/code.h"
#include "ptx/live.h"

struct life {
	uint32_t reg, first, last;
};

/* Free rows of one width, a stack. */
struct pool {
	uint32_t *rows;
	uint32_t n;
	uint32_t bytes; /* of a row */
};

enum { POOL_PRED, POOL_32, POOL_64, POOL_128, N_POOLS };

struct scan {
	const struct gsb_ptx_func *func;
	struct gsb_arena *arena;
	struct life *lives; /* by register; first is NONE where there is no life */
	uint32_t at;	    /* instruction that is looked at */
};

uint32_t gsb_emu_lane_bytes(enum gsb_ptx_type type)
{
	switch (type) {
	case GSB_PTX_TYPE_PRED: return 0;
	case GSB_PTX_TYPE_B128: return 16;
	default: return gsb_ptx_type_bytes(type) > 4 ? 8 : 4;
	}
}

static unsigned int pool_of(uint8_t type)
{
	switch (gsb_emu_lane_bytes(type)) {
	case 0: return POOL_PRED;
	case 8: return POOL_64;
	case 16: return POOL_128;
	default: return POOL_32;
	}
}

static void extend(struct scan *s, uint32_t reg, uint32_t first, uint32_t last)
{
	struct life *l = &s->lives[reg];

	if (l->first == GSB_EMU_NONE || first < l->first)
		l->first = first;
	if (last > l->last)
		l->last = last;
}

static void on_reg(void *ctx, uint32_t reg)
{
	struct scan *s = ctx;

	extend(s, reg, s->at, s->at);
}

static void extend_set(struct scan *s, const uint64_t *set, uint32_t n_words, uint32_t at)
{
	for (uint32_t w = 0; w < n_words; w++) {
		for (uint64_t left = set[w]; left; left &= left - 1)
			extend(s, w * 64 + (uint32_t)__builtin_ctzll(left), at, at);
	}
}

static void find_lives(struct scan *s, const struct gsb_ptx_cfg *cfg,
		       const struct gsb_ptx_live *live)
{
	for (uint32_t b = 0; b < cfg->n_blocks; b++) {
		const struct gsb_ptx_block *block = &cfg->blocks[b];

		extend_set(s, live->in + (size_t)b * live->n_words, live->n_words, block->first);
		extend_set(s, live->out + (size_t)b * live->n_words, live->n_words,
			   block->first + block->n_insns - 1);
	}
	for (uint32_t i = 0; i < s->func->n_params; i++) { /* all are written at the start */
		if (s->func->params[i].reg != GSB_PTX_NONE)
			extend(s, s->func->params[i].reg, 0, 0);
	}
	for (s->at = 0; s->at < s->func->n_insns; s->at++) {
		gsb_ptx_insn_each_use(&s->func->insns[s->at], on_reg, s);
		if (s->func->insns[s->at].op == GSB_PTX_OP_RET)
			gsb_ptx_each_result(s->func, on_reg, s);
		gsb_ptx_insn_each_def(&s->func->insns[s->at], on_reg, s);
	}
}

static void on_read(void *ctx, uint32_t reg)
{
	bool *is_read = ctx;

	is_read[reg] = true;
}

void gsb_emu_find_read(const struct gsb_ptx_func *func, bool *is_read)
{
	for (uint32_t i = 0; i < func->n_insns; i++)
		gsb_ptx_insn_each_use(&func->insns[i], on_read, is_read);
	gsb_ptx_each_result(func, on_read, is_read);
}

static int by_first(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static int by_last(const void *a, const void *b)
{
	const struct life *const *x = a, *const *y = b;

	return ((*x)->last > (*y)->last) - ((*x)->last < (*y)->last);
}

static int give_rows(struct scan *s, struct life *lives, uint32_t n, uint32_t *rows, uint32_t *end)
{
	struct pool pools[N_POOLS] = {
		[POOL_PRED] = {.bytes = 4},
		[POOL_32] = {.bytes = 4 * GSB_EMU_LANES},
		[POOL_64] = {.bytes = 8 * GSB_EMU_LANES},
		[POOL_128] = {.bytes = 16 * GSB_EMU_LANES},
	};
	struct life **ends = gsb_arena_alloc_array(s->arena, n, sizeof(*ends));
	uint32_t ended = 0;

	for (unsigned int i = 0; i < N_POOLS; i++) {
		pools[i].rows = gsb_arena_alloc_array(s->arena, n, sizeof(uint32_t));
		if (!pools[i].rows || !ends)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		ends[i] = &lives[i];
	qsort(lives, n, sizeof(*lives), by_first);
	qsort(ends, n, sizeof(*ends), by_last);
	for (uint32_t i = 0; i < n; i++) {
		struct pool *p = &pools[pool_of(s->func->regs[lives[i].reg].type)];

		for (; ends[ended]->last < lives[i].first; ended++) {
			uint32_t old = ends[ended]->reg;
			struct pool *q = &pools[pool_of(s->func->regs[old].type)];

			q->rows[q->n++] = rows[old];
		}
		if (p->n) {
			rows[lives[i].reg] = p->rows[--p->n];
			continue;
		}
		if (p->bytes > 4)
			*end = (uint32_t)gsb_round_up(*end, 64);
		rows[lives[i].reg] = *end;
		*end += p->bytes;
		if (*end > GSB_EMU_MAX_FRAME)
			return -E2BIG;
	}
	return 0;
}

int gsb_emu_rows_assign(const struct gsb_ptx_func *func, const struct gsb_ptx_cfg *cfg,
			struct gsb_arena *arena, uint32_t *rows, uint32_t *end)
{
	struct scan s = {.func = func, .arena = arena};
	struct gsb_ptx_live live;
	uint32_t n = 0;
	int err = gsb_ptx_live_build(cfg, arena, &live);

	if (err)
		return err;
	s.lives = gsb_arena_alloc_array(arena, (size_t)func->n_regs + 1, sizeof(*s.lives));
	if (!s.lives)
		return -ENOMEM;
	for (uint32_t i = 0; i < func->n_regs; i++) {
		s.lives[i] = (struct life){.reg = i, .first = GSB_EMU_NONE};
		rows[i] = GSB_EMU_NONE;
	}
	find_lives(&s, cfg, &live);
	for (uint32_t i = 0; i < func->n_regs; i++) {
		if (s.lives[i].first != GSB_EMU_NONE)
			s.lives[n++] = s.lives[i];
	}
	return give_rows(&s, s.lives, n, rows, end);
}
