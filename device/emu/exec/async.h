/*
 * async.h - copies that a thread starts and waits for later.
 */
#ifndef GSB_DEVICE_EMU_EXEC_ASYNC_H
#define GSB_DEVICE_EMU_EXEC_ASYNC_H

#include "device/emu/exec/box.h"
#include "device/emu/exec/state.h"

/* A warp begins again; nothing of it is pending. */
void gsb_emu_async_reset(struct gsb_emu_warp *w);
void gsb_emu_async_finish(struct gsb_emu_warp *w);

/*
 * Lanes leave, or an mbarrier is looked at: what has to be complete by then is completed. False: the block
 * has been ended.
 */
bool gsb_emu_async_leave(struct gsb_emu_exec *x, uint32_t lanes);
bool gsb_emu_async_looked_at(struct gsb_emu_exec *x, const unsigned char *mbar);

/* A lane's copy of a box, a bulk copy. It reports to @mbar; NULL: it is in a group. False: the block has been ended. */
bool gsb_emu_async_push_box(struct gsb_emu_exec *x, unsigned int lane, unsigned char *mbar,
			    const struct gsb_emu_box *box);

#endif
