/*
 * fault.h - how a block ends because of what its kernel did, and the check of addresses.
 */
#ifndef GSB_DEVICE_EMU_EXEC_FAULT_H
#define GSB_DEVICE_EMU_EXEC_FAULT_H

#include "device/emu/exec/state.h"

/* End the block. Returns NULL, what a handler returns to stop. The text begins with what went wrong;
 * kernel, instruction, line and thread are added: of an access the first lane whose own is bad, else the first
 * that takes part. */
const struct gsb_emu_op *gsb_emu_fail(struct gsb_emu_exec *x, CUresult result, uint64_t address,
				      const char *fmt, ...) GSB_PRINTF(4, 5);

/* The same for an access that the processor has found to be bad. */
void gsb_emu_fail_unmapped(struct gsb_emu_exec *x, uint64_t address);

/* The same, because the process has no memory for what the warp is about to have. */
const struct gsb_emu_op *gsb_emu_no_memory(struct gsb_emu_exec *x);

/* For the lanes of x->mask: whether the address has no owner, and the block has been ended with the reason. */
bool gsb_emu_cluster_refuses(struct gsb_emu_exec *x, enum gsb_ptx_space space, uint64_t addr);

/*
 * The byte that a generic address means for @lane, @len bytes from there checked; NULL when the
 * kernel may not touch them. @write: constant parameters are refused.
 */
unsigned char *gsb_emu_generic(struct gsb_emu_exec *x, unsigned int lane, uint64_t addr,
			       uint32_t len, bool write);

#endif
