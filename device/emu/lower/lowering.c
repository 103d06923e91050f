/*
 * lowering.c - see lowering.h.
 */
#include "device/emu/lower/lowering.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

void gsb_emu_lower_fail(struct gsb_emu_lowering *l, int err, const char *fmt, ...)
{
	char text[240];
	va_list ap;

	if (l->err)
		return;
	l->err = err;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (l->insn)
		snprintf(l->log, l->log_size, "kernel '%s', line %u: %s",
			 l->code->kernel.entry->name, l->insn->line, text);
	else
		snprintf(l->log, l->log_size, "kernel '%s': %s", l->code->kernel.entry->name, text);
}

void gsb_emu_lower_no_memory(struct gsb_emu_lowering *l)
{
	gsb_emu_lower_fail(l, -ENOMEM, "no memory to lower it");
}

#define MOST_SHOWN 80 /* characters of an instruction, in a line of the log */

void gsb_emu_not_carried(struct gsb_emu_lowering *l)
{
	const char *spelling = l->insn->spelling, *what = gsb_ptx_refused_what(spelling);
	size_t len = gsb_ptx_unknown_len(spelling);

	gsb_emu_lower_fail(l, -ENOTSUP, "'%.*s' is not carried by the emulated device: %s",
			   (int)(len < MOST_SHOWN ? len : MOST_SHOWN), spelling,
			   what ? what
				: "doc/ptx-coverage.md lists what is; build the kernel without it, "
				  "or use a real GPU");
}

/* Room for one more element of an array that doubles; false: the error is set. */
static bool room(struct gsb_emu_lowering *l, void *array, uint32_t n, uint32_t *cap, size_t size)
{
	void **p = array, *q;
	uint32_t want = *cap ? *cap * 2 : 256;

	if (n < *cap)
		return true;
	if (want > GSB_EMU_MAX_OPS) {
		gsb_emu_lower_fail(l, -E2BIG, "more than %u operations", GSB_EMU_MAX_OPS);
		return false;
	}
	q = realloc(*p, want * size);
	if (!q) {
		gsb_emu_lower_no_memory(l);
		return false;
	}
	*p = q;
	*cap = want;
	return true;
}

struct gsb_emu_op *gsb_emu_emit(struct gsb_emu_lowering *l, unsigned int form, bool main)
{
	static _Thread_local struct gsb_emu_op nowhere;
	uint32_t cap = l->cap_ops;
	struct gsb_emu_op *op;

	if (l->err || !room(l, &l->ops, l->n_ops, &cap, sizeof(*l->ops)) ||
	    !room(l, &l->origin, l->n_ops, &l->cap_ops, sizeof(const struct gsb_ptx_insn *))) {
		nowhere = (struct gsb_emu_op){0};
		return &nowhere;
	}
	op = &l->ops[l->n_ops];
	*op = (struct gsb_emu_op){.form = (uint16_t)form};
	op->flags = main ? 0 : GSB_EMU_F_PSEUDO;
	l->origin[l->n_ops++] = l->insn;
	return op;
}

void gsb_emu_fix(struct gsb_emu_lowering *l, int field, uint32_t at, uint32_t insn)
{
	if (l->err || !room(l, &l->fixups, l->n_fixups, &l->cap_fixups, sizeof(*l->fixups)))
		return;
	l->fixups[l->n_fixups++] = (struct gsb_emu_fixup){.at = at, .insn = insn};
	l->fixups[l->n_fixups - 1].field = (unsigned int)field;
}

uint32_t gsb_emu_list_new(struct gsb_emu_lowering *l, uint32_t n)
{
	uint32_t first = l->n_lists;

	for (uint32_t i = 0; i < n; i++) {
		if (l->err || !room(l, &l->lists, l->n_lists, &l->cap_lists, sizeof(*l->lists)))
			return 0;
		l->lists[l->n_lists++] = 0;
	}
	return first;
}

/* ---- the frame ---- */

uint32_t gsb_emu_new_row(struct gsb_emu_lowering *l, uint32_t bytes)
{
	uint32_t row = (uint32_t)gsb_round_up(l->frame_end, bytes > 4 ? 64 : 4);

	l->frame_end = row + bytes;
	if (l->frame_end > GSB_EMU_MAX_FRAME) {
		l->frame_end = row;
		gsb_emu_lower_fail(l, -E2BIG, "more than %u bytes of registers", GSB_EMU_MAX_FRAME);
	}
	return row;
}

static uint64_t lane_value(uint64_t value, uint32_t bytes)
{
	return bytes == 0 ? value != 0 : bytes == 4 ? (uint32_t)value : value;
}

/*
 * A 64 x 64 -> 128 bit product, folded. The start differs from process to process (an address), so that a hostile text
 * cannot be made to put all of its constants into one chain.
 */
static uint32_t bucket_of(const struct gsb_emu_lowering *l, uint64_t value, uint32_t bytes)
{
	uint64_t seed = (uintptr_t)l->code * UINT64_C(0xbf58476d1ce4e5b9) ^ bytes;
	unsigned __int128 product =
		(unsigned __int128)(value ^ seed) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)((uint64_t)product ^ (uint64_t)(product >> 64)) % GSB_EMU_CONST_BUCKETS;
}

uint32_t gsb_emu_const_row(struct gsb_emu_lowering *l, uint64_t value, uint32_t bytes)
{
	uint32_t first = l->code->funcs[l->nth].first_const, at, *head;
	struct gsb_emu_const *c;

	if (bytes > 8) {
		gsb_emu_lower_fail(l, -ENOTSUP, "'%s' with a constant is not carried",
				   l->insn ? l->insn->spelling : "a call");
		return 0;
	}
	value = lane_value(value, bytes);
	head = &l->const_head[bucket_of(l, value, bytes)];
	for (at = *head; at; at = l->const_next[at - 1]) {
		c = &l->consts[first + at - 1];
		if (c->value == value && c->bytes == bytes)
			return c->row;
	}
	at = l->n_consts - first;
	if (l->err || !room(l, &l->consts, l->n_consts, &l->cap_consts, sizeof(*l->consts)) ||
	    !room(l, &l->const_next, at, &l->cap_const_next, sizeof(*l->const_next)))
		return 0;
	c = &l->consts[l->n_consts++];
	*c = (struct gsb_emu_const){.value = value, .bytes = bytes};
	c->row = gsb_emu_new_row(l, bytes ? bytes * GSB_EMU_LANES : 4);
	l->const_next[at] = *head;
	*head = at + 1;
	return c->row;
}

uint32_t gsb_emu_temp_row(struct gsb_emu_lowering *l)
{
	if (l->used_temps == GSB_EMU_MAX_TEMPS) {
		gsb_emu_lower_fail(l, -E2BIG, "'%s' has too many operands to convert",
				   l->insn->spelling);
		return 0;
	}
	if (l->used_temps == l->n_temps)
		l->temps[l->n_temps++] = gsb_emu_new_row(l, 8 * GSB_EMU_LANES);
	return l->temps[l->used_temps++];
}
