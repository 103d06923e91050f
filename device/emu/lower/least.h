/*
 * least.h - how many instructions a warp executes at least before it can be done.
 */
#ifndef GSB_DEVICE_EMU_LOWER_LEAST_H
#define GSB_DEVICE_EMU_LOWER_LEAST_H

#include "device/emu/code/code.h"

/*
 * From the entry to the nearest way out of the kernel, by ops that count as instructions. A call may be such a way,
 * because what is called may exit. Sets code->least_insns; without memory it stays 0, which is always true.
 */
void gsb_emu_find_least(struct gsb_emu_code *code);

#endif
