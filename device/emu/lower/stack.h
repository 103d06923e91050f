/*
 * stack.h - lowering of alloca and of what it makes a function do at its begin and at each return.
 */
#ifndef GSB_DEVICE_EMU_LOWER_STACK_H
#define GSB_DEVICE_EMU_LOWER_STACK_H

#include "device/emu/lower/lowering.h"

/* At the begin of the function at hand, and before a return of it. */
void gsb_emu_stack_begin(struct gsb_emu_lowering *l);
void gsb_emu_stack_leave(struct gsb_emu_lowering *l);

/* alloca, stacksave, stackrestore */
void gsb_emu_lower_stack(struct gsb_emu_lowering *l);

#endif
