/*
 * fault.c - see fault.h.
 */
#include "device/emu/exec/fault.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/checked.h"

const struct gsb_emu_op *gsb_emu_fail(struct gsb_emu_exec *x, CUresult result, uint64_t address,
				      const char *fmt, ...)
{
	struct gsb_emu_block *b = x->block;
	const struct gsb_ptx_insn *in = b->code->origin[x->op - x->ops];
	char text[96]; /* parts are cut so that all of them fit */
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	b->fault.result = result;
	b->fault.address = address;
	b->fault.line = in ? in->line : 0;
	snprintf(b->fault.text, sizeof(b->fault.text),
		 "%.70s: '%.32s' line %u '%.24s', block %u,%u,%u", text,
		 b->code->kernel.entry->name, b->fault.line, in ? in->spelling : "", b->ctaid[0],
		 b->ctaid[1], b->ctaid[2]);
	return gsb_emu_stop(x, GSB_EMU_STOP_FAULT);
}

const struct gsb_emu_op *gsb_emu_no_memory(struct gsb_emu_exec *x)
{
	return gsb_emu_fail(x, CUDA_ERROR_OUT_OF_MEMORY, 0, "no memory for the emulated warp");
}

unsigned char *gsb_emu_generic(struct gsb_emu_exec *x, unsigned int lane, uint64_t addr,
			       uint32_t len, bool write)
{
	struct gsb_emu_block *b = x->block;
	uint64_t at = addr & (GSB_EMU_WINDOW_BYTES - 1);

	switch (addr & ~(GSB_EMU_WINDOW_BYTES - 1)) {
	case GSB_EMU_SHARED_WINDOW:
		return gsb_range_ok(at, len, b->shared_bytes) ? b->shared + at : NULL;
	case GSB_EMU_LOCAL_WINDOW:
		if (!gsb_range_ok(at, len, b->local_bytes))
			return NULL;
		return x->warp->local + (size_t)lane * b->local_bytes + at;
	case GSB_EMU_PARAM_WINDOW:
		if (write || !gsb_range_ok(at, len, b->launch->params_bytes))
			return NULL;
		return (unsigned char *)(uintptr_t)b->launch->params + at;
	default:
		return gsb_emu_in_memory(b->launch->memory, addr, len)
			       ? (unsigned char *)(uintptr_t)addr
			       : NULL;
	}
}
