/*
 * stack.h - how much local memory the calls of a thread may still take.
 */
#ifndef GSB_DEVICE_EMU_EXEC_STACK_H
#define GSB_DEVICE_EMU_EXEC_STACK_H

#include "device/emu/exec/state.h"

/* Where the frames of calls have to end for all these lanes of the warp. */
uint32_t gsb_emu_stack_end(const struct gsb_emu_exec *x, uint32_t lanes);

#endif
