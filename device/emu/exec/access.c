/*
 * access.c - see access.h.
 */
#include "device/emu/exec/access.h"

#include <string.h>

#include "device/emu/exec/state.h"

#define BYTES_u8   1
#define BYTES_s8   1
#define BYTES_u16  2
#define BYTES_s16  2
#define BYTES_u32  4
#define BYTES_s32  4
#define BYTES_u64  8
#define BYTES_u128 16

/* By form; what is not in forms.def as an access is all zero. */
static const struct {
	uint8_t kind, bytes;
} shapes[GSB_EMU_N_FORMS] = {
#define GSB_EMU_LOAD(id, types, M, D)	     [GSB_EMU_FORM_##id] = {GSB_EMU_ACCESS_LOAD, BYTES_##M},
#define GSB_EMU_STORE(id, types, M, A)	     [GSB_EMU_FORM_##id] = {GSB_EMU_ACCESS_STORE, BYTES_##M},
#define GSB_EMU_ATOM(id, sub, types, T, ...) [GSB_EMU_FORM_##id] = {GSB_EMU_ACCESS_ATOM, BYTES_##T},
#include "device/emu/code/forms.def"
};

static void find_addresses(const struct gsb_emu_exec *x, const struct gsb_emu_op *op, const char *r,
			   struct gsb_emu_access *a)
{
	const uint64_t *wide = (const void *)(r + op->a);
	const uint32_t *narrow = (const void *)(r + op->a);
	const uint64_t frame = op->flags & GSB_EMU_F_FRAME ? x->local : 0;

	for (uint32_t left = a->mask; left; left &= left - 1) {
		int i = __builtin_ctz(left);
		uint64_t at =
			(op->flags & GSB_EMU_F_ADDR64 ? wide[i] : narrow[i]) + (uint64_t)op->imm;

		if (!(op->flags & GSB_EMU_F_ADDR64))
			at = (uint32_t)at;
		if (a->space == GSB_PTX_SPACE_SHARED || a->space == GSB_PTX_SPACE_CLUSTER ||
		    a->space == GSB_PTX_SPACE_LOCAL)
			at = (uint32_t)(at + (a->space == GSB_PTX_SPACE_LOCAL ? frame : 0));
		a->at[i] = at;
	}
}

static bool is_result(const struct gsb_emu_exec *x, const struct gsb_emu_op *op, uint32_t row)
{
	if (op->e <= 1)
		return op->d == row;
	for (uint32_t k = 0; k < op->e; k++)
		if (x->block->code->lists[op->d + k] == row)
			return true;
	return false;
}

bool gsb_emu_access_find(const struct gsb_emu_exec *x, const struct gsb_emu_op *op, const char *r,
			 uint32_t mask, struct gsb_emu_access *out)
{
	memset(out, 0, sizeof(*out));
	if (!shapes[op->form].kind)
		return false;
	out->kind = shapes[op->form].kind;
	out->len = shapes[op->form].bytes;
	if (out->kind != GSB_EMU_ACCESS_ATOM)
		out->len *= op->e;
	else if (op->e) /* of a vector */
		out->len = op->e;
	out->space = op->n;
	out->mask = mask;
	if (out->kind == GSB_EMU_ACCESS_LOAD)
		out->overlaps = is_result(x, op, op->a);
	else if (out->kind == GSB_EMU_ACCESS_ATOM)
		out->overlaps = op->d == op->a;
	find_addresses(x, op, r, out);
	return true;
}

enum gsb_ptx_space gsb_emu_access_space(uint64_t generic)
{
	switch (generic & ~(GSB_EMU_WINDOW_BYTES - 1)) {
	case GSB_EMU_SHARED_WINDOW: return GSB_PTX_SPACE_SHARED;
	case GSB_EMU_LOCAL_WINDOW: return GSB_PTX_SPACE_LOCAL;
	case GSB_EMU_PARAM_WINDOW: return GSB_PTX_SPACE_PARAM;
	default: return GSB_PTX_SPACE_GLOBAL;
	}
}
