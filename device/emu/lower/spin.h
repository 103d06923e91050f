/*
 * spin.h - loops that only wait for somebody else.
 */
#ifndef GSB_DEVICE_EMU_LOWER_SPIN_H
#define GSB_DEVICE_EMU_LOWER_SPIN_H

#include "ptx/ptx.h"

/**
 * gsb_emu_is_spin() - does the branch close a loop that looks at the same places until they change?
 * @branch: number of an instruction that goes back to @target
 *
 * Such a loop has strong loads or atomic operations, at addresses that it does not compute, and nothing else
 * that reads or writes memory, waits or calls. It is worth little to execute it again at once, and nothing
 * is lost when it is executed later, so a wrong answer costs time only.
 */
bool gsb_emu_is_spin(const struct gsb_ptx_func *f, uint32_t target, uint32_t branch);

#endif
