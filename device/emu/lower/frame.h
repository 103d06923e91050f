/*
 * frame.h - what a function has in local memory, and where.
 */
#ifndef GSB_DEVICE_EMU_LOWER_FRAME_H
#define GSB_DEVICE_EMU_LOWER_FRAME_H

#include "device/emu/lower/lowering.h"

/* The results and parameters of a function, as a prototype has them. */
struct gsb_ptx_proto gsb_emu_proto_of(const struct gsb_ptx_func *f);

/* What a parameter takes in the area of results and arguments. */
uint64_t gsb_emu_param_size(const struct gsb_ptx_var *v);

/* Where the next result or parameter lies in the area that ends at *@end, which becomes more by it. */
uint32_t gsb_emu_area_next(struct gsb_emu_lowering *l, uint32_t *end, const struct gsb_ptx_var *v);
/* All of the area; @offsets: NULL, or where each result, then each parameter, lies. */
uint32_t gsb_emu_area_bytes(struct gsb_emu_lowering *l, const struct gsb_ptx_proto *p,
			    uint32_t *offsets);

/* Where a variable of the function's frame in local memory lies. */
uint32_t gsb_emu_local_offset(struct gsb_emu_lowering *l, const struct gsb_ptx_var *var);
/* It is the entry's own parameter. */
bool gsb_emu_is_entry_param(const struct gsb_emu_lowering *l, const struct gsb_ptx_var *var);

/* Decide where things lie in the local frame of the function at hand; -> its size. */
uint32_t gsb_emu_lay_out_local(struct gsb_emu_lowering *l);

#endif
