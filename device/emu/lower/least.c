/*
 * least.c - see least.h.
 *
 * A search by distance: an op is a step long or, when it is no instruction of its own, none. Ops that are one step
 * further wait in a second list until the first is empty; so the first way out that is found is the nearest.
 */
#include "device/emu/lower/least.h"

#include <stdlib.h>

struct search {
	const struct gsb_emu_code *code;
	bool *seen;
	uint32_t *now, *later; /* ops: at this distance, and one step further */
	uint32_t n_now, n_later;
};

/* At most once from each op or entry of a list. */
static void reach(struct search *s, uint32_t at)
{
	if (s->seen[at])
		return;
	if (s->code->ops[at].flags & GSB_EMU_F_PSEUDO)
		s->now[s->n_now++] = at;
	else
		s->later[s->n_later++] = at;
}

static bool is_way_out(const struct gsb_emu_op *op)
{
	switch (op->form) {
	case GSB_EMU_FORM_RET:
	case GSB_EMU_FORM_EXIT:
	case GSB_EMU_FORM_TRAP:
	case GSB_EMU_FORM_CALL:
	case GSB_EMU_FORM_CALL_ADDRESS: return true;
	default: return false;
	}
}

static void reach_next(struct search *s, uint32_t at)
{
	const struct gsb_emu_op *op = &s->code->ops[at];

	switch (op->form) {
	case GSB_EMU_FORM_BRA: reach(s, op->d); break;
	case GSB_EMU_FORM_BRX:
		for (int64_t i = 0; i < op->imm; i++)
			reach(s, s->code->lists[op->d + i]);
		break;
	case GSB_EMU_FORM_BRA_IF:
	case GSB_EMU_FORM_GUARD:
		reach(s, op->d);
		reach(s, at + 1);
		break;
	default: reach(s, at + 1);
	}
}

static uint32_t search(struct search *s)
{
	uint32_t distance = 0, *empty;

	reach(s, s->code->funcs[0].entry);
	while (s->n_now || s->n_later) {
		while (s->n_now) {
			uint32_t at = s->now[--s->n_now];

			if (s->seen[at])
				continue;
			s->seen[at] = true;
			if (is_way_out(&s->code->ops[at]))
				return distance;
			reach_next(s, at);
		}
		empty = s->now;
		s->now = s->later;
		s->later = empty;
		s->n_now = s->n_later;
		s->n_later = 0;
		distance++;
	}
	return 0; /* no way out: the kernel does not end */
}

void gsb_emu_find_least(struct gsb_emu_code *code)
{
	const size_t most = 2 * (size_t)code->n_ops + code->n_lists + 1;
	struct search s = {
		.code = code,
		.seen = calloc(code->n_ops, sizeof(*s.seen)),
		.now = calloc(most, sizeof(*s.now)),
		.later = calloc(most, sizeof(*s.later)),
	};

	if (s.seen && s.now && s.later)
		code->least_insns = search(&s);
	free(s.seen);
	free(s.now);
	free(s.later);
}
