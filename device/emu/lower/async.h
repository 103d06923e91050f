/*
 * async.h - lowering of asynchronous copies and mbarriers.
 */
#ifndef GSB_DEVICE_EMU_LOWER_ASYNC_H
#define GSB_DEVICE_EMU_LOWER_ASYNC_H

#include "device/emu/lower/lowering.h"

/* The row of 64-bit lanes with an operand in [ ]; of shared memory they count from its start. */
uint32_t gsb_emu_address(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o);

/* The instruction at hand, of class ASYNC. */
void gsb_emu_lower_async(struct gsb_emu_lowering *l);

#endif
