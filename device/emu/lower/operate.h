/*
 * operate.h - lowering of one instruction that is not a branch, a call or a leave.
 */
#ifndef GSB_DEVICE_EMU_LOWER_OPERATE_H
#define GSB_DEVICE_EMU_LOWER_OPERATE_H

#include "device/emu/lower/lowering.h"

void gsb_emu_lower_operation(struct gsb_emu_lowering *l);

#endif
