/*
 * select.h - which form carries an instruction.
 */
#ifndef GSB_DEVICE_EMU_LOWER_SELECT_H
#define GSB_DEVICE_EMU_LOWER_SELECT_H

#include "ptx/ptx.h"

/* A row of forms.def that an instruction selects. */
struct gsb_emu_form_row {
	uint16_t form;
	uint16_t op;		/* enum gsb_ptx_op */
	uint64_t types, types2; /* sets of 1 << type; types2 0 = any */
	uint64_t key;
	uint8_t n_src;
	uint8_t d, src[4]; /* lane bytes; 0 = predicate */
};

/* NULL: not carried. *key is what the instruction's modifiers come to. */
const struct gsb_emu_form_row *gsb_emu_select(const struct gsb_ptx_insn *insn, uint64_t *key);

/* Memory forms by what is moved: memory type and lane bytes of the register. NONE = no such form. */
uint32_t gsb_emu_select_load(enum gsb_ptx_type type, uint32_t lane_bytes);
uint32_t gsb_emu_select_store(enum gsb_ptx_type type, uint32_t lane_bytes);
uint32_t gsb_emu_select_atom(enum gsb_ptx_word sub, enum gsb_ptx_type type);

#endif
