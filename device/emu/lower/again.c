/*
 * again.c - see again.h.
 *
 * What holds between two ops is known where nothing else can happen between them: no jump comes in, no lane leaves or
 * waits, and the row of addresses is not written. So all is forgotten at each target of a jump and at each op that is
 * not plain arithmetic or an access.
 */
#include "device/emu/lower/again.h"

#include <stdlib.h>

#define MAX_LANE 16 /* bytes of the widest lane: how far rows reach */

enum kind { PLAIN, LOAD, STORE, OTHER };

static const uint8_t kinds[GSB_EMU_N_FORMS] = {
#define GSB_EMU_F1(id, ...)    [GSB_EMU_FORM_##id] = PLAIN,
#define GSB_EMU_F2(id, ...)    [GSB_EMU_FORM_##id] = PLAIN,
#define GSB_EMU_F3(id, ...)    [GSB_EMU_FORM_##id] = PLAIN,
#define GSB_EMU_F4(id, ...)    [GSB_EMU_FORM_##id] = PLAIN,
#define GSB_EMU_CMP(id, ...)   [GSB_EMU_FORM_##id] = PLAIN,
#define GSB_EMU_CARRY(id, ...) [GSB_EMU_FORM_##id] = PLAIN,
#define GSB_EMU_ATOM(id, ...)  [GSB_EMU_FORM_##id] = PLAIN,
#define GSB_EMU_LOAD(id, ...)  [GSB_EMU_FORM_##id] = LOAD,
#define GSB_EMU_STORE(id, ...) [GSB_EMU_FORM_##id] = STORE,
#define GSB_EMU_FLOW(id)       [GSB_EMU_FORM_##id] = OTHER,
#include "device/emu/code/forms.def"
};

/* The accesses that are remembered at an op; NULL: none. */
struct memory {
	struct gsb_emu_op *first[GSB_EMU_N_SEEN];
	unsigned int next; /* whose place is taken */
};

static void forget_all(struct memory *m)
{
	*m = (struct memory){0};
}

/* Rows may share bytes with a row that is no longer needed, of another width. */
static void forget_row(struct memory *m, uint32_t row)
{
	const uint32_t most = GSB_EMU_LANES * MAX_LANE;

	for (unsigned int i = 0; i < GSB_EMU_N_SEEN; i++) {
		if (m->first[i] && row < m->first[i]->a + most && m->first[i]->a < row + most)
			m->first[i] = NULL;
	}
}

static void forget_results(struct memory *m, const struct gsb_emu_code *code,
			   const struct gsb_emu_op *op)
{
	if (kinds[op->form] != LOAD || op->e == 1)
		forget_row(m, op->d);
	for (uint32_t i = 0; kinds[op->form] == LOAD && op->e > 1 && i < op->e; i++)
		forget_row(m, code->lists[op->d + i]);
}

static bool is_same_place(const struct gsb_emu_op *a, const struct gsb_emu_op *b)
{
	return a->a == b->a && a->n == b->n && a->flags == (b->flags & ~GSB_EMU_F_AGAIN);
}

/* Others have ways of their own, on which nothing is remembered. */
static bool may_see(const struct gsb_emu_op *op)
{
	return op->e == 1 && op->form != GSB_EMU_FORM_LD_128 && op->form != GSB_EMU_FORM_ST_128 &&
	       !(op->flags & (GSB_EMU_F_STRONG | GSB_EMU_F_FRAME)) && op->n != GSB_PTX_SPACE_PARAM;
}

static void see(struct memory *m, struct gsb_emu_op *op)
{
	for (unsigned int i = 0; i < GSB_EMU_N_SEEN; i++) {
		if (!m->first[i] || !is_same_place(m->first[i], op))
			continue;
		m->first[i]->b = op->b = i + 1;
		op->flags |= GSB_EMU_F_AGAIN;
		return;
	}
	m->first[m->next] = op;
	m->next = (m->next + 1) % GSB_EMU_N_SEEN;
}

static void mark_targets(const struct gsb_emu_code *code, bool *targets)
{
	for (uint32_t i = 0; i < code->n_funcs; i++)
		targets[code->funcs[i].entry] = true;
	for (uint32_t i = 0; i < code->n_ops; i++) {
		const struct gsb_emu_op *op = &code->ops[i];

		switch (op->form) {
		case GSB_EMU_FORM_BRX:
			for (int64_t k = 0; k < op->imm; k++)
				targets[code->lists[op->d + k]] = true;
			break;
		case GSB_EMU_FORM_BRA:
		case GSB_EMU_FORM_BRA_IF:
		case GSB_EMU_FORM_GUARD: targets[op->d] = true; break;
		default: break;
		}
	}
}

void gsb_emu_find_again(struct gsb_emu_code *code)
{
	bool *targets = calloc(code->n_ops, sizeof(*targets));
	struct memory m = {0};

	if (!targets)
		return;
	mark_targets(code, targets);
	for (uint32_t i = 0; i < code->n_ops; i++) {
		struct gsb_emu_op *op = &code->ops[i];
		const unsigned int kind = kinds[op->form];

		if (targets[i] || kind == OTHER)
			forget_all(&m);
		if ((kind == LOAD || kind == STORE) && may_see(op))
			see(&m, op);
		if (kind == LOAD || kind == PLAIN)
			forget_results(&m, code, op);
	}
	free(targets);
}
