/*
 * address.h - what an address means to a kernel.
 *
 * Those of .global and .const are host addresses inside the ranges of gsb_emu_memory. Shared, local and
 * parameter memory and functions have generic addresses in the windows below, which no user-space mapping
 * can have.
 */
#ifndef GSB_DEVICE_EMU_MEMORY_ADDRESS_H
#define GSB_DEVICE_EMU_MEMORY_ADDRESS_H

#include <stdatomic.h>
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
 * Where backings are mapped (backing.h), for all owners: units of GSB_EMU_UNIT_SHIFT bits, for each of which a word says whose it is
 * and what may be done there; 0: nobody's.
 */
#define GSB_EMU_UNIT_SHIFT  21
#define GSB_EMU_UNIT_ACCESS 3u /* CUmemAccess_flags */

struct gsb_emu_area {
	uint64_t base, size;		 /* size 0: there is none */
	_Atomic uint32_t *_Atomic units; /* NULL: nobody has made a backing yet */
};

static inline uint32_t gsb_emu_unit(uint64_t owner, uint32_t access)
{
	return (uint32_t)owner << 2 | access;
}

/*
 * Global memory that a kernel may touch: plain host memory at these addresses. Holes inside must be
 * PROT_NONE: what falls into one is a fault of the kernel like an address outside.
 */
struct gsb_emu_memory {
	struct gsb_emu_range device, host;
	const struct gsb_emu_area *area; /* NULL: nothing is mapped */
	uint64_t owner;			 /* whose units of it */
	struct gsb_emu_range
		window; /* where all spaces of the owner lie: of it, too, holes are PROT_NONE */
};

/* Whether all units that hold [addr, addr + len), len > 0, are the owner's and allow this. Any thread, signal handlers, too. */
static inline bool gsb_emu_is_mapped(const struct gsb_emu_memory *m, uint64_t addr, uint64_t len,
				     uint32_t access)
{
	const struct gsb_emu_area *area = m->area;
	const uint32_t want = gsb_emu_unit(m->owner, access);
	const _Atomic uint32_t *units;
	uint64_t i, last;

	if (!area || !m->owner || !gsb_range_ok(addr - area->base, len, area->size))
		return false;
	units = atomic_load_explicit(&area->units, memory_order_acquire);
	if (!units)
		return false;
	last = (addr - area->base + len - 1) >> GSB_EMU_UNIT_SHIFT;
	for (i = (addr - area->base) >> GSB_EMU_UNIT_SHIFT; i <= last; i++) {
		uint32_t unit = atomic_load_explicit(&units[i], memory_order_relaxed);

		if ((unit ^ want) & ~GSB_EMU_UNIT_ACCESS || (unit & access) != access)
			return false;
	}
	return true;
}

/* True when [addr, addr + len), len > 0, is in one of the ranges, or in units of its owner. In that order: mostly it is its own space's. */
static inline bool gsb_emu_in_memory(const struct gsb_emu_memory *m, uint64_t addr, uint64_t len)
{
	return gsb_range_ok(addr - m->device.base, len, m->device.size) ||
	       gsb_range_ok(addr - m->host.base, len, m->host.size) ||
	       gsb_range_ok(addr - m->window.base, len, m->window.size) ||
	       (m->area && gsb_emu_is_mapped(m, addr, len, 0));
}

#endif
