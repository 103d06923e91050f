/*
 * call.h - lowering of calls.
 */
#ifndef GSB_DEVICE_EMU_LOWER_CALL_H
#define GSB_DEVICE_EMU_LOWER_CALL_H

#include "device/emu/lower/lowering.h"

void gsb_emu_lower_call(struct gsb_emu_lowering *l);
/* Parameters and results that are registers: from the area at the start, to it at each ret. */
void gsb_emu_move_reg_params(struct gsb_emu_lowering *l, bool at_ret);
/* Built-ins have no frame of their own: room for the largest area that a call of one fills. */
uint32_t gsb_emu_builtin_area(struct gsb_emu_lowering *l, const struct gsb_ptx_module *m);

#endif
