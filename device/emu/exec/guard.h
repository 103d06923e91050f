/*
 * guard.h - accesses of kernels that the processor finds to be bad.
 */
#ifndef GSB_DEVICE_EMU_EXEC_GUARD_H
#define GSB_DEVICE_EMU_EXEC_GUARD_H

#include <setjmp.h>
#include <stdint.h>

#include "device/emu/memory/address.h"

/*
 * gsb_emu_guard_enter() - from here on, a signal for an address of @memory jumps to *env
 * Nests not. gsb_emu_guard_address(): the address of the access that made it jump.
 */
void gsb_emu_guard_enter(const struct gsb_emu_memory *memory, sigjmp_buf *env);
void gsb_emu_guard_leave(void);
uint64_t gsb_emu_guard_address(void);

#endif
