/*
 * access.h - lowering of the instruction at hand where it touches memory or waits.
 */
#ifndef GSB_DEVICE_EMU_LOWER_ACCESS_H
#define GSB_DEVICE_EMU_LOWER_ACCESS_H

#include "device/emu/lower/lowering.h"

void gsb_emu_lower_access(struct gsb_emu_lowering *l, bool store);
void gsb_emu_lower_atom(struct gsb_emu_lowering *l, bool has_result);
void gsb_emu_lower_barrier(struct gsb_emu_lowering *l);
void gsb_emu_lower_shfl(struct gsb_emu_lowering *l);
void gsb_emu_lower_vote(struct gsb_emu_lowering *l);
/* match, redux, elect */
void gsb_emu_lower_members(struct gsb_emu_lowering *l, unsigned int form);

#endif
