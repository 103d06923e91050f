/*
 * async.h - lowering of asynchronous copies and mbarriers.
 */
#ifndef GSB_DEVICE_EMU_LOWER_ASYNC_H
#define GSB_DEVICE_EMU_LOWER_ASYNC_H

#include "device/emu/lower/lowering.h"

/* The instruction at hand, of class ASYNC. */
void gsb_emu_lower_async(struct gsb_emu_lowering *l);

#endif
