/*
 * mbarrier.h - barriers that are objects in shared memory.
 */
#ifndef GSB_DEVICE_EMU_EXEC_MBARRIER_H
#define GSB_DEVICE_EMU_EXEC_MBARRIER_H

#include "device/emu/exec/state.h"

/*
 * The object that an address means, shared or generic by op->n. NULL: it is none, and the block has been
 * ended.
 */
unsigned char *gsb_emu_mbar_at(struct gsb_emu_exec *x, const struct gsb_emu_op *op, uint64_t addr);

/* What an asynchronous copy does to its mbarrier when it is complete. NULL, or what is wrong with it. */
const char *gsb_emu_mbar_expect_arrival(unsigned char *mbar);
const char *gsb_emu_mbar_arrive(unsigned char *mbar);
const char *gsb_emu_mbar_complete_tx(unsigned char *mbar, uint32_t bytes);

#endif
