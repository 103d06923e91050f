/*
 * code.c - see code.h.
 */
#include "device/emu/code/code.h"

#include <stdlib.h>

#include "device/emu/memory/address.h"

size_t gsb_emu_code_bytes(const struct gsb_emu_code *code)
{
	return code->arena.used_bytes;
}

void gsb_emu_code_destroy(struct gsb_emu_code *code)
{
	if (!code)
		return;
	gsb_arena_finish(&code->arena);
	free(code);
}

uint64_t gsb_emu_func_address(const struct gsb_ptx_func *func)
{
	return GSB_EMU_CODE_WINDOW + ((uint64_t)func->index + 1) * GSB_EMU_CODE_STEP;
}
