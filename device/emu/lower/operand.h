/*
 * operand.h - operands of the instruction at hand become rows of its frame.
 */
#ifndef GSB_DEVICE_EMU_LOWER_OPERAND_H
#define GSB_DEVICE_EMU_LOWER_OPERAND_H

#include "device/emu/lower/lowering.h"

/* The row that has the value in lanes of @bytes; 0 = as a predicate. */
uint32_t gsb_emu_src(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o, uint32_t bytes);
uint32_t gsb_emu_src_predicate(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o,
			       uint8_t *flags);
/* The row of 64-bit lanes with an operand in [ ]; of shared memory they count from its start. */
uint32_t gsb_emu_address(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o);
/* Rows of a vector's elements, as a list. */
uint32_t gsb_emu_vector_rows(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *v,
			     uint32_t bytes, bool is_dest);
/* The row for a result in lanes of @bytes; a register of other width gets it from there afterwards. */
uint32_t gsb_emu_dest(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o, uint32_t bytes);
/* Second result of p|q and d|p. */
uint32_t gsb_emu_dest_second(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o);
uint32_t gsb_emu_reg_bytes(const struct gsb_emu_lowering *l, uint32_t reg);
/* In all of the block's shared memory, what is reserved included. */
uint64_t gsb_emu_shared_offset(struct gsb_emu_lowering *l, const struct gsb_ptx_var *var);

#endif
