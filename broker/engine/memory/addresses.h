/*
 * addresses.h - which parts of the area of reserved addresses (gsb/wire.h) are whose.
 *
 * What a tenant reserves takes whole parts, so that its neighbours are its own: a program that grows a range asks for the addresses
 * right behind it. A tenant may have as many parts as are left, at most half of all if it is alone: there are always some for
 * another.
 *
 * Pure.
 */
#ifndef GSB_BROKER_ENGINE_MEMORY_ADDRESSES_H
#define GSB_BROKER_ENGINE_MEMORY_ADDRESSES_H

#include <stdint.h>

#include "device/range.h"
#include "gsb/wire.h"

/* Of an engine. Zeroed is all free. */
struct gsb_addresses {
	uint8_t owner[GSB_N_VIRTUAL_PARTS]; /* slot + 1; 0: nobody's */
	uint32_t n_taken;
};

/*
 * gsb_addresses_take() - reserve size bytes for the tenant of a slot
 * @own:   what it has reserved, a map of the whole area
 * @size:  a multiple of GSB_VIRTUAL_UNIT, > 0
 * @align: a power of two
 * @hint:  where, if that is free; else, and if it is 0, anywhere
 *
 * Return: 0, -ENOMEM.
 */
int gsb_addresses_take(struct gsb_addresses *a, uint32_t slot, struct gsb_ranges *own,
		       uint64_t size, uint64_t align, uint64_t hint, uint64_t *addr);

/* Give back the reservation that begins there. -EINVAL: none does. */
int gsb_addresses_give(struct gsb_addresses *a, uint32_t slot, struct gsb_ranges *own,
		       uint64_t addr);

#endif
