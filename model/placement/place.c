/*
 * place.c - see place.h.
 */
#include "model/placement/place.h"

#include <errno.h>
#include <string.h>

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void gsb_sm_room_init(struct gsb_sm_room *room, const struct gsb_arch *arch,
		      const struct gsb_rules *rules)
{
	memset(room, 0, sizeof(*room));
	room->warps = arch->max_warps;
	room->blocks = arch->max_blocks;
	room->smem_bytes = arch->smem_bytes;
	room->n_partitions = rules->partitions ? arch->warp_unit : 1;
	for (uint32_t p = 0; p < room->n_partitions; p++)
		room->regs[p] = arch->regs / room->n_partitions;
}

uint32_t gsb_sm_room_fit(const struct gsb_sm_room *room, const struct gsb_block_need *need)
{
	uint32_t n = min_u32(room->warps / need->warps, room->blocks);
	uint32_t warps = 0;

	if (need->smem_bytes)
		n = min_u32(n, room->smem_bytes / need->smem_bytes);
	if (!n || !need->regs_per_warp)
		return n;
	for (uint32_t p = 0; p < room->n_partitions; p++)
		warps += room->regs[p] / need->regs_per_warp;
	return min_u32(n, warps / need->warps);
}

/* Do the registers of one more block fit? Each warp lies in one partition. */
static bool has_regs(const struct gsb_sm_room *room, const struct gsb_block_need *need)
{
	/* Evenly spread: mostly true, and no division. */
	uint32_t each = (need->warps + room->n_partitions - 1) / room->n_partitions;
	uint64_t even = (uint64_t)each * need->regs_per_warp;
	uint32_t warps = 0, p = 0;

	while (p < room->n_partitions && room->regs[p] >= even)
		p++;
	if (p == room->n_partitions)
		return true;
	for (p = 0; p < room->n_partitions && warps < need->warps; p++)
		warps += room->regs[p] / need->regs_per_warp;
	return warps >= need->warps;
}

bool gsb_sm_room_has(const struct gsb_sm_room *room, const struct gsb_block_need *need)
{
	return room->warps >= need->warps && room->blocks && room->smem_bytes >= need->smem_bytes &&
	       (!need->regs_per_warp || has_regs(room, need));
}

static uint32_t freest_partition(const struct gsb_sm_room *room)
{
	uint32_t best = 0;

	for (uint32_t p = 1; p < room->n_partitions; p++)
		if (room->regs[p] > room->regs[best])
			best = p;
	return best;
}

/* One warp after the other to the partition with most registers free. */
static void take_regs(struct gsb_sm_room *room, const struct gsb_block_need *need,
		      struct gsb_block_place *place)
{
	for (uint32_t w = 0; w < need->warps; w++) {
		uint32_t p = freest_partition(room);

		room->regs[p] -= need->regs_per_warp;
		place->warps[p]++;
	}
}

/* The same where it comes to as many warps for each partition; false: it does not. */
static bool take_regs_evenly(struct gsb_sm_room *room, const struct gsb_block_need *need,
			     struct gsb_block_place *place)
{
	uint32_t each = need->warps / room->n_partitions;

	if (each * room->n_partitions != need->warps)
		return false;
	for (uint32_t p = 1; p < room->n_partitions; p++)
		if (room->regs[p] != room->regs[0])
			return false;
	for (uint32_t p = 0; p < room->n_partitions; p++) {
		room->regs[p] -= each * need->regs_per_warp;
		place->warps[p] = (uint16_t)each;
	}
	return true;
}

void gsb_sm_room_put(struct gsb_sm_room *room, const struct gsb_block_need *need,
		     struct gsb_block_place *place)
{
	memset(place, 0, sizeof(*place));
	room->warps -= need->warps;
	room->blocks--;
	room->smem_bytes -= need->smem_bytes;
	if (need->regs_per_warp && !take_regs_evenly(room, need, place))
		take_regs(room, need, place);
}

int gsb_sm_room_take(struct gsb_sm_room *room, const struct gsb_block_need *need,
		     struct gsb_block_place *place)
{
	if (!gsb_sm_room_has(room, need))
		return -ENOSPC;
	gsb_sm_room_put(room, need, place);
	return 0;
}

void gsb_sm_room_give(struct gsb_sm_room *room, const struct gsb_block_need *need,
		      const struct gsb_block_place *place)
{
	room->warps += need->warps;
	room->blocks++;
	room->smem_bytes += need->smem_bytes;
	for (uint32_t p = 0; p < room->n_partitions; p++)
		room->regs[p] += place->warps[p] * need->regs_per_warp;
}

void gsb_sm_array_init(struct gsb_sm_array *a, const struct gsb_arch *arch,
		       const struct gsb_rules *rules, uint32_t n_sms)
{
	a->n_groups = 1;
	a->n_kernels = 0;
	memset(&a->groups[0], 0, sizeof(a->groups[0]));
	a->groups[0].n_sms = n_sms;
	gsb_sm_room_init(&a->groups[0].room, arch, rules);
}

uint64_t gsb_sm_array_fit(const struct gsb_sm_array *a, const struct gsb_block_need *need)
{
	uint64_t n = 0;

	for (uint32_t g = 0; g < a->n_groups; g++)
		n += (uint64_t)a->groups[g].n_sms * gsb_sm_room_fit(&a->groups[g].room, need);
	return n;
}

bool gsb_sm_array_has_room(const struct gsb_sm_array *a, const struct gsb_block_need *need,
			   uint64_t n_blocks)
{
	uint64_t n = 0;

	for (uint32_t g = 0; g < a->n_groups && n < n_blocks; g++)
		n += (uint64_t)a->groups[g].n_sms * gsb_sm_room_fit(&a->groups[g].room, need);
	return n >= n_blocks;
}

/* The first n_sms of group g become a group of their own, at index g; the rest follow. */
static void split(struct gsb_sm_array *a, uint32_t g, uint32_t n_sms)
{
	if (n_sms == a->groups[g].n_sms)
		return;
	memmove(&a->groups[g + 1], &a->groups[g], (a->n_groups - g) * sizeof(a->groups[0]));
	a->n_groups++;
	a->groups[g].n_sms = n_sms;
	a->groups[g + 1].n_sms -= n_sms;
}

/* n more blocks of the newest kernel on each SM of the group; they fit. */
static void fill(struct gsb_sm_array *a, uint32_t g, const struct gsb_block_need *need, uint32_t n)
{
	struct gsb_block_place ignored;

	for (uint32_t i = 0; i < n; i++)
		gsb_sm_room_put(&a->groups[g].room, need, &ignored);
	a->groups[g].blocks[a->n_kernels] += (uint16_t)n;
}

/* Groups in which a block may fit: free warps and one, 0 when none fits. Kept apart, it is quick to scan. */
struct free_groups {
	uint32_t n;
	uint32_t keys[GSB_PLACE_GROUPS_MAX];
};

/* The group whose SMs have most warps free, of those with room; n_groups when none has. */
static uint32_t freest_group(const struct gsb_sm_array *a, const struct gsb_block_need *need,
			     struct free_groups *f)
{
	for (;;) {
		uint32_t best = 0;

		for (uint32_t g = 1; g < f->n; g++)
			if (f->keys[g] > f->keys[best])
				best = g;
		if (!f->keys[best])
			return a->n_groups;
		if (gsb_sm_room_has(&a->groups[best].room, need))
			return best;
		f->keys[best] = 0;
	}
}

/* One block to each SM of the freest group, again and again. Only the last step can split. */
static uint64_t place_breadth_first(struct gsb_sm_array *a, const struct gsb_block_need *need,
				    uint64_t n_blocks)
{
	struct free_groups f;
	uint64_t left = n_blocks;
	uint32_t g;

	f.n = a->n_groups;
	for (g = 0; g < f.n; g++)
		f.keys[g] = a->groups[g].room.warps + 1;
	while (left && (g = freest_group(a, need, &f)) < a->n_groups) {
		if (left < a->groups[g].n_sms)
			split(a, g, (uint32_t)left);
		fill(a, g, need, 1);
		f.keys[g] = a->groups[g].room.warps + 1;
		left -= a->groups[g].n_sms;
	}
	return n_blocks - left;
}

/* Each SM in turn to the brim. Only the group in which the blocks run out is split, in three. */
static uint64_t place_depth_first(struct gsb_sm_array *a, const struct gsb_block_need *need,
				  uint64_t n_blocks)
{
	uint64_t left = n_blocks;

	for (uint32_t g = 0; left && g < a->n_groups; g++) {
		uint32_t fit = gsb_sm_room_fit(&a->groups[g].room, need);

		if (!fit)
			continue;
		if (left < fit)
			split(a, g, 1);
		else if (left / fit < a->groups[g].n_sms)
			split(a, g, (uint32_t)(left / fit));
		fit = left < fit ? (uint32_t)left : fit;
		fill(a, g, need, fit);
		left -= (uint64_t)fit * a->groups[g].n_sms;
	}
	return n_blocks - left;
}

uint64_t gsb_sm_array_place(struct gsb_sm_array *a, const struct gsb_block_need *need,
			    enum gsb_placement placement, uint64_t n_blocks)
{
	uint64_t placed = placement == GSB_BREADTH_FIRST ? place_breadth_first(a, need, n_blocks)
							 : place_depth_first(a, need, n_blocks);

	a->n_kernels++;
	return placed;
}
