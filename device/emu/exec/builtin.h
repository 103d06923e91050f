/*
 * builtin.h - the call area of functions that the interpreter has itself: a result, then arguments, each at
 * a multiple of GSB_EMU_CALL_ALIGN from the offset op->a of the caller's frame.
 *
 * A compiler may declare them without the result, which it does not want: the arguments are at op->imm then as otherwise.
 */
#ifndef GSB_DEVICE_EMU_EXEC_BUILTIN_H
#define GSB_DEVICE_EMU_EXEC_BUILTIN_H

#include <string.h>

#include "base/checked.h"
#include "device/emu/exec/state.h"

/* NULL: the area is not all there. */
static inline unsigned char *gsb_emu_area_at(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
					     unsigned int lane, uint32_t at, uint32_t len)
{
	uint64_t where = (uint64_t)x->local + op->a + at;

	if (!gsb_range_ok(where, len, x->block->local_bytes))
		return NULL;
	return x->warp->local + (size_t)lane * x->block->local_bytes + where;
}

/* The argument @nth; false: it is not all there. */
static inline bool gsb_emu_area_read(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
				     unsigned int lane, uint32_t nth, void *out, uint32_t len)
{
	const unsigned char *from =
		gsb_emu_area_at(x, op, lane, (uint32_t)op->imm + nth * GSB_EMU_CALL_ALIGN, len);

	if (from)
		memcpy(out, from, len);
	return from;
}

/* The result, which is first, if the call has one. */
static inline void gsb_emu_area_write(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
				      unsigned int lane, const void *value, uint32_t len)
{
	unsigned char *to = op->imm ? gsb_emu_area_at(x, op, lane, 0, len) : NULL;

	if (to)
		memcpy(to, value, len);
}

#endif
