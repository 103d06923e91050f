/*
 * place.h - the SMs of a GPU being filled with blocks of several kernels.
 *
 * The one idea: SMs in the same state are one group with a count. Placing a grid of any size takes
 * a step per level, not per block, so the planner can ask what-if a hundred times in a decision.
 * Which SM is which is forgotten; machine.c keeps SMs apart and uses struct gsb_sm_room
 * alone.
 */
#ifndef GSB_MODEL_PLACEMENT_PLACE_H
#define GSB_MODEL_PLACEMENT_PLACE_H

#include "model/placement/occupancy.h"

#define GSB_SM_PARTITIONS_MAX 8
#define GSB_PLACE_KERNELS_MAX 64
/* Each kernel splits at most two groups: a full part, one SM in between, the rest. */
#define GSB_PLACE_GROUPS_MAX (2 * GSB_PLACE_KERNELS_MAX + 1)

/* What is free on one SM. */
struct gsb_sm_room {
	uint32_t warps;
	uint32_t blocks;
	uint32_t smem_bytes;
	uint32_t n_partitions;
	uint32_t regs[GSB_SM_PARTITIONS_MAX]; /* one entry used without rules->partitions */
};

/* In which partitions the warps of one block lie: to give exactly that back. */
struct gsb_block_place {
	uint16_t warps[GSB_SM_PARTITIONS_MAX];
};

/* An empty SM. arch has passed gsb_arch_check(). */
void gsb_sm_room_init(struct gsb_sm_room *room, const struct gsb_arch *arch,
		      const struct gsb_rules *rules);
/* How many more such blocks fit. */
uint32_t gsb_sm_room_fit(const struct gsb_sm_room *room, const struct gsb_block_need *need);
/* Does one more fit? gsb_sm_room_fit() would say so too, with more divisions. */
bool gsb_sm_room_has(const struct gsb_sm_room *room, const struct gsb_block_need *need);
/* One block goes in: 0, or -ENOSPC and nothing changed. Each warp goes where most registers are
 * free. */
int gsb_sm_room_take(struct gsb_sm_room *room, const struct gsb_block_need *need,
		     struct gsb_block_place *place);
/* The same for one that is known to have room. */
void gsb_sm_room_put(struct gsb_sm_room *room, const struct gsb_block_need *need,
		     struct gsb_block_place *place);
/* The block that gsb_sm_room_take() put at @place ends. */
void gsb_sm_room_give(struct gsb_sm_room *room, const struct gsb_block_need *need,
		      const struct gsb_block_place *place);

struct gsb_sm_group {
	uint32_t n_sms;
	struct gsb_sm_room room;		/* of each of them */
	uint16_t blocks[GSB_PLACE_KERNELS_MAX]; /* of each kernel, on each of them */
};

struct gsb_sm_array {
	uint32_t n_groups;
	uint32_t n_kernels; /* placed so far */
	struct gsb_sm_group groups[GSB_PLACE_GROUPS_MAX];
};

/* n_sms empty SMs of that GPU. */
void gsb_sm_array_init(struct gsb_sm_array *a, const struct gsb_arch *arch,
		       const struct gsb_rules *rules, uint32_t n_sms);
/* Blocks of one more kernel that would fit, all SMs together. */
uint64_t gsb_sm_array_fit(const struct gsb_sm_array *a, const struct gsb_block_need *need);

/* Would that many fit? Looks at no more SMs than it takes to know. */
bool gsb_sm_array_has_room(const struct gsb_sm_array *a, const struct gsb_block_need *need,
			   uint64_t n_blocks);

/**
 * gsb_sm_array_place() - the next kernel's blocks go in, as many as fit
 * @a:        its n_kernels grows by one; the caller places at most GSB_PLACE_KERNELS_MAX
 * @need:     of one block
 * @n_blocks: to place
 *
 * Context: pure, any thread, no allocation; O(groups x blocks per SM).
 * Return:  blocks placed.
 */
uint64_t gsb_sm_array_place(struct gsb_sm_array *a, const struct gsb_block_need *need,
			    enum gsb_placement placement, uint64_t n_blocks);

#endif
