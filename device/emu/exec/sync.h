/*
 * sync.h - what waits for lanes that may leave.
 */
#ifndef GSB_DEVICE_EMU_EXEC_SYNC_H
#define GSB_DEVICE_EMU_EXEC_SYNC_H

#include "device/emu/exec/state.h"

/* Lanes left the warp: what waited for them may go on. */
void gsb_emu_sync_recheck(struct gsb_emu_exec *x);
void gsb_emu_barrier_recheck(struct gsb_emu_block *b);

#endif
