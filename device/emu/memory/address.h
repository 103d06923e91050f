/*
 * address.h - what an address means to a kernel.
 *
 * Those of .global and .const are host addresses inside the ranges of gsb_emu_memory. Shared, local and
 * parameter memory and functions have generic addresses in the windows below, which no user-space mapping
 * can have.
 */
#ifndef GSB_DEVICE_EMU_MEMORY_ADDRESS_H
#define GSB_DEVICE_EMU_MEMORY_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/checked.h"

#define GSB_EMU_SHARED_WINDOW UINT64_C(0x800000000000)
#define GSB_EMU_LOCAL_WINDOW  UINT64_C(0x800100000000)
#define GSB_EMU_PARAM_WINDOW  UINT64_C(0x800200000000)
#define GSB_EMU_CODE_WINDOW   UINT64_C(0x800300000000)
#define GSB_EMU_WINDOW_BYTES  UINT64_C(0x100000000)

struct gsb_emu_range {
	uint64_t base, size; /* size 0: no such range */
};

/*
 * Global memory that a kernel may touch: plain host memory at these addresses. Holes inside must be
 * PROT_NONE: what falls into one is a fault of the kernel like an address outside.
 */
struct gsb_emu_memory {
	struct gsb_emu_range device, host;
};

/* True when [addr, addr + len) is in one of the ranges. */
static inline bool gsb_emu_in_memory(const struct gsb_emu_memory *m, uint64_t addr, uint64_t len)
{
	return gsb_range_ok(addr - m->device.base, len, m->device.size) ||
	       gsb_range_ok(addr - m->host.base, len, m->host.size);
}

#endif
