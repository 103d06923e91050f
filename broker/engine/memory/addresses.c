/*
 * addresses.c - see addresses.h.
 */
#include "broker/engine/memory/addresses.h"

#include <errno.h>
#include <stdbool.h>

#include "base/checked.h"

static_assert(GSB_N_SLOTS < UINT8_MAX, "an owner fits its byte");

static uint64_t part_of(uint64_t addr)
{
	return (addr - GSB_VIRTUAL_BASE) / GSB_VIRTUAL_PART;
}

/* Parts of [addr, addr + size) that the tenant does not have yet; UINT32_MAX: one is another's. */
static uint32_t n_missing(const struct gsb_addresses *a, uint32_t slot, uint64_t addr,
			  uint64_t size)
{
	uint32_t n = 0;

	for (uint64_t i = part_of(addr); i <= part_of(addr + size - 1); i++) {
		if (a->owner[i] && a->owner[i] != slot + 1)
			return UINT32_MAX;
		n += !a->owner[i];
	}
	return n;
}

static uint32_t n_own(const struct gsb_addresses *a, uint32_t slot)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < GSB_N_VIRTUAL_PARTS; i++)
		n += a->owner[i] == slot + 1;
	return n;
}

static int take_at(struct gsb_addresses *a, uint32_t slot, struct gsb_ranges *own, uint64_t addr,
		   uint64_t size)
{
	uint32_t missing = n_missing(a, slot, addr, size);
	int err;

	if (2 * (uint64_t)missing + n_own(a, slot) + a->n_taken > GSB_N_VIRTUAL_PARTS)
		return -ENOMEM;
	err = gsb_ranges_add(own, addr, size);
	if (err)
		return err;
	a->n_taken += missing;
	for (uint64_t i = part_of(addr); i <= part_of(addr + size - 1); i++)
		a->owner[i] = (uint8_t)(slot + 1);
	return 0;
}

/* The first run of free parts, from an address with this alignment on. */
static bool find_free(const struct gsb_addresses *a, uint64_t size, uint64_t align, uint64_t *addr)
{
	const uint64_t end = GSB_VIRTUAL_BASE + GSB_VIRTUAL_SIZE;
	const uint64_t step = align > GSB_VIRTUAL_PART ? align : GSB_VIRTUAL_PART;
	uint64_t at = gsb_round_up(GSB_VIRTUAL_BASE, step);

	while (at < end && size <= end - at) {
		uint64_t i = part_of(at), last = part_of(at + size - 1);

		while (i <= last && !a->owner[i])
			i++;
		if (i > last) {
			*addr = at;
			return true;
		}
		at = gsb_round_up(GSB_VIRTUAL_BASE + (i + 1) * GSB_VIRTUAL_PART, step);
	}
	return false;
}

int gsb_addresses_take(struct gsb_addresses *a, uint32_t slot, struct gsb_ranges *own,
		       uint64_t size, uint64_t align, uint64_t hint, uint64_t *addr)
{
	uint64_t at;
	int err;

	if (align > GSB_VIRTUAL_SIZE)
		return -ENOMEM;
	if (hint && !(hint % GSB_VIRTUAL_UNIT) && !(hint & (align - 1)) &&
	    gsb_range_ok(hint - GSB_VIRTUAL_BASE, size, GSB_VIRTUAL_SIZE) &&
	    !take_at(a, slot, own, hint, size)) {
		*addr = hint;
		return 0;
	}
	if (!find_free(a, size, align, &at))
		return -ENOMEM;
	err = take_at(a, slot, own, at, size);
	if (!err)
		*addr = at;
	return err;
}

static bool is_used(const struct gsb_ranges *own, uint64_t part)
{
	const uint64_t start = GSB_VIRTUAL_BASE + part * GSB_VIRTUAL_PART;

	for (size_t i = 0; i < own->n_items; i++)
		if (own->items[i].start < start + GSB_VIRTUAL_PART &&
		    start < own->items[i].start + own->items[i].size)
			return true;
	return false;
}

int gsb_addresses_give(struct gsb_addresses *a, uint32_t slot, struct gsb_ranges *own,
		       uint64_t addr)
{
	uint64_t first, last;
	struct gsb_range was;

	if (gsb_ranges_remove(own, addr, &was))
		return -EINVAL;
	first = part_of(was.start);
	last = part_of(was.start + was.size - 1);
	for (uint64_t i = first; i <= last; i++) {
		/* Only the outermost are shared with neighbours. */
		if ((i == first || i == last) && is_used(own, i))
			continue;
		a->owner[i] = 0;
		a->n_taken--;
	}
	return 0;
}
