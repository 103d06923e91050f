/*
 * place.h - where the bytes are that a copy names, checked when it is issued.
 */
#ifndef GSB_DEVICE_EMU_EXEC_PLACE_H
#define GSB_DEVICE_EMU_EXEC_PLACE_H

#include "device/emu/exec/state.h"

/* Bytes of shared memory, the block's own (SHARED) or its cluster's (CLUSTER). NULL: the block has been ended. */
unsigned char *gsb_emu_shared_at(struct gsb_emu_exec *x, enum gsb_ptx_space space, uint64_t addr,
				 uint32_t n, uint32_t align);

/* Likewise of global memory; @what: "read of", "write to". Of nothing none is touched, whatever the address. */
unsigned char *gsb_emu_global_at(struct gsb_emu_exec *x, uint64_t addr, uint32_t n, uint32_t align,
				 const char *what);

#endif
