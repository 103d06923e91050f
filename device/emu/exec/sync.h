/*
 * sync.h - what waits for lanes that may leave.
 */
#ifndef GSB_DEVICE_EMU_EXEC_SYNC_H
#define GSB_DEVICE_EMU_EXEC_SYNC_H

#include "device/emu/exec/state.h"

/* Lanes left the warp, or wait to: what waited for them may go on. False: nothing does. */
bool gsb_emu_sync_recheck(struct gsb_emu_exec *x);

/* No lane of the warp can go on. False: there are outsiders among those that wait, and the block has been ended. */
bool gsb_emu_sync_check_outsiders(struct gsb_emu_exec *x);

void gsb_emu_barrier_recheck(struct gsb_emu_block *b);

#endif
