/*
 * stack.c - alloca: memory of a call, of another size for each lane.
 *
 * Local memory of a thread is used from both ends: frames of calls grow up from 0, what alloca gives grows
 * down from the end. What a function has taken is given back when it returns: it notes where the stack ended
 * when it began. Where the two would meet, the kernel has overrun its stack, and ends.
 */
#include "device/emu/exec/stack.h"

#include "base/checked.h"
#include "device/emu/exec/fault.h"

uint32_t gsb_emu_stack_end(const struct gsb_emu_exec *x, uint32_t lanes)
{
	const struct gsb_emu_code *code = x->block->code;
	uint32_t end = x->block->local_bytes;

	if (!code->uses_stack)
		return end;
	for (uint32_t left = lanes; left; left &= left - 1) {
		uint32_t own = x->warp->stack[__builtin_ctz(left)];

		end = own < end ? own : end;
	}
	return end < code->tail_local_bytes ? 0 : end - code->tail_local_bytes;
}

/* The end of the frame that executes, and of what a built-in needs behind it. */
static uint32_t frame_end(const struct gsb_emu_exec *x, const struct gsb_emu_op *op)
{
	return x->local + (uint32_t)op->imm + x->block->code->tail_local_bytes;
}

static uint64_t lane_value(const struct gsb_emu_op *op, const char *r, unsigned int i)
{
	const uint64_t *wide = (const void *)(r + op->a);
	const uint32_t *narrow = (const void *)(r + op->a);

	return op->flags & GSB_EMU_F_ADDR64 ? wide[i] : narrow[i];
}

static void lane_set(const struct gsb_emu_op *op, char *r, unsigned int i, uint32_t value)
{
	uint64_t *wide = (void *)(r + op->d);
	uint32_t *narrow = (void *)(r + op->d);

	if (op->flags & GSB_EMU_F_ADDR64)
		wide[i] = value;
	else
		narrow[i] = value;
}

GSB_EMU_HANDLER(gsb_emu_do_ALLOCA)
{
	uint64_t low = frame_end(x, op);

	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		uint32_t *end = &x->warp->stack[i];
		uint64_t size = lane_value(op, r, i), room = *end > low ? *end - low : 0, at;

		at = size <= room ? (*end - size) & ~(uint64_t)(op->e - 1) : 0;
		if (size > room || at < low)
			return gsb_emu_fail(
				x, CUDA_ERROR_HARDWARE_STACK_ERROR, 0,
				"stack overflow: alloca of %llu bytes, %llu are left of %u",
				(unsigned long long)size, (unsigned long long)room,
				x->block->local_bytes);
		*end = (uint32_t)at;
		lane_set(op, r, i, *end);
	}
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_STACK_SAVE)
{
	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);

		lane_set(op, r, i, x->warp->stack[i]);
	}
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_STACK_RESTORE)
{
	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		uint64_t end = lane_value(op, r, i);

		if (end < frame_end(x, op) || end > x->block->local_bytes)
			return gsb_emu_fail(x, CUDA_ERROR_HARDWARE_STACK_ERROR, 0,
					    "stackrestore of 0x%llx, which stacksave has not given",
					    (unsigned long long)end);
		x->warp->stack[i] = (uint32_t)end;
	}
	return op + 1;
}
