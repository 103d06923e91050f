/*
 * tally.c - see tally.h.
 */
#include "device/emu/lower/tally.h"

#include <errno.h>

#include "ptx/unit.h"

static void add_kind(gsb_emu_tally *sum, const struct gsb_ptx_insn *in)
{
	switch (gsb_ptx_unit_of(in)) {
	case GSB_PTX_UNIT_ALU: (*sum)[GSB_EMU_TALLY_ALU]++; break;
	case GSB_PTX_UNIT_FMA: (*sum)[GSB_EMU_TALLY_IMUL] += gsb_ptx_multiplies_integers(in); break;
	case GSB_PTX_UNIT_XU: (*sum)[GSB_EMU_TALLY_SFU]++; break;
	case GSB_PTX_UNIT_FP64: (*sum)[GSB_EMU_TALLY_FP64]++; break;
	default: break;
	}
}

int gsb_emu_find_tally(struct gsb_emu_code *code)
{
	gsb_emu_tally sum = {0};

	code->before =
		gsb_arena_alloc_array(&code->arena, (size_t)code->n_ops + 1, sizeof(*code->before));
	if (!code->before)
		return -ENOMEM;
	for (uint32_t i = 0; i < code->n_ops; i++) {
		code->before[i] = sum;
		if (code->ops[i].flags & GSB_EMU_F_PSEUDO)
			continue;
		sum[GSB_EMU_TALLY_INSNS]++;
		if (code->origin[i])
			add_kind(&sum, code->origin[i]);
	}
	code->before[code->n_ops] = sum;
	return 0;
}
