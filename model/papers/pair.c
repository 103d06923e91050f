/*
 * pair.c - see pair.h.
 */
#include "model/papers/pair.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"

/* Blocks of a kernel's last round. */
static uint64_t last_round(uint64_t n_blocks, uint64_t full_gpu)
{
	uint64_t rest = n_blocks % full_gpu;

	return rest ? rest : full_gpu;
}

/* Cruz, Algorithm 2, to the letter: k1 at its maximum on the SM, no limit on blocks. */
static uint32_t allocatable_printed(const struct gsb_arch *arch, const struct gsb_rules *rules,
				    const struct gsb_occupancy *k1, const struct gsb_block_need *k2)
{
	struct gsb_sm_room room;
	struct gsb_block_place ignored;

	gsb_sm_room_init(&room, arch, rules);
	for (uint32_t i = 0; i < k1->blocks_per_sm; i++)
		gsb_sm_room_take(&room, &k1->need, &ignored);
	room.blocks = GSB_NO_LIMIT;
	return gsb_sm_room_fit(&room, k2);
}

/* The denominator of Cruz, eq. 3, to the letter: one number for all SMs that k1 occupies. */
static uint64_t capacity_printed(const struct gsb_arch *arch, const struct gsb_rules *rules,
				 const struct gsb_occupancy occupancy[2],
				 const struct gsb_kernel *k1)
{
	uint64_t sms = gsb_div_up(k1->n_blocks, occupancy[0].blocks_per_sm);
	uint32_t occupied = sms < arch->n_sms ? (uint32_t)sms : arch->n_sms;
	uint64_t alloc = allocatable_printed(arch, rules, &occupancy[0], &occupancy[1].need);

	return (uint64_t)(arch->n_sms - occupied) * occupancy[1].blocks_per_sm + occupied * alloc;
}

/* Cruz, Algorithm 1, lines 3-11, to the letter. */
static enum gsb_case case_printed(const struct gsb_arch *arch, const struct gsb_rules *rules,
				  const struct gsb_occupancy occupancy[2],
				  const struct gsb_kernel *k1)
{
	uint64_t full = (uint64_t)occupancy[0].blocks_per_sm * arch->n_sms;

	if (k1->n_blocks < full &&
	    allocatable_printed(arch, rules, &occupancy[0], &occupancy[1].need))
		return GSB_CASE_A;
	return k1->n_blocks % full ? GSB_CASE_B : GSB_CASE_C;
}

/* Does a block of k2 fit beside the last round of k1 alone? */
static bool fits_in_tail(const struct gsb_arch *arch, const struct gsb_rules *rules,
			 const struct gsb_coreside *k1, uint64_t k1_blocks,
			 const struct gsb_block_need *k2)
{
	struct gsb_sm_array array;

	gsb_sm_array_init(&array, arch, rules, arch->n_sms);
	gsb_sm_array_place(&array, &k1->need, rules->placement,
			   last_round(k1_blocks, k1->full_gpu));
	return gsb_sm_array_fit(&array, k2) > 0;
}

static enum gsb_case case_after(const struct gsb_arch *arch, const struct gsb_rules *rules,
				const struct gsb_kernel *kernels, uint32_t i,
				const struct gsb_coreside *done)
{
	for (uint32_t j = 0; j < i; j++)
		if (fits_in_tail(arch, rules, &done[j], kernels[j].n_blocks, &done[i].need))
			return GSB_CASE_B;
	return GSB_CASE_C;
}

/* Sizes that do not depend on the others. */
static int coreside_alone(const struct gsb_arch *arch, const struct gsb_rules *rules,
			  const struct gsb_kernel *k, struct gsb_coreside *out)
{
	struct gsb_occupancy o;
	int err = gsb_occupancy(arch, k, rules, &o);

	if (err || !k->n_blocks)
		return -EINVAL;
	if (!o.blocks_per_sm)
		return -ENOSPC;
	memset(out, 0, sizeof(*out));
	out->need = o.need;
	out->full_gpu = (uint64_t)o.blocks_per_sm * arch->n_sms;
	out->rounds_alone = gsb_div_up(k->n_blocks, out->full_gpu);
	return 0;
}

static int coreside_printed(const struct gsb_arch *arch, const struct gsb_rules *rules,
			    const struct gsb_kernel *kernels, uint32_t n, struct gsb_coreside *cs)
{
	struct gsb_occupancy o[2];
	int err;

	if (n > 2)
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		err = gsb_occupancy(arch, &kernels[i], rules, &o[i]);
		if (err)
			return err;
	}
	cs[0].capacity = cs[0].full_gpu;
	if (n == 2) {
		cs[1].capacity = capacity_printed(arch, rules, o, &kernels[0]);
		cs[1].when = case_printed(arch, rules, o, &kernels[0]);
	}
	return 0;
}

static void coreside_placed(const struct gsb_arch *arch, const struct gsb_rules *rules,
			    const struct gsb_kernel *kernels, uint32_t n, struct gsb_coreside *cs)
{
	struct gsb_sm_array array;
	bool blocked = false;

	gsb_sm_array_init(&array, arch, rules, arch->n_sms);
	for (uint32_t i = 0; i < n; i++) {
		cs[i].capacity = gsb_sm_array_fit(&array, &cs[i].need);
		if (blocked || !cs[i].capacity) {
			cs[i].when = case_after(arch, rules, kernels, i, cs);
			blocked = true;
			continue;
		}
		cs[i].resident = gsb_sm_array_place(&array, &cs[i].need, rules->placement,
						    kernels[i].n_blocks);
		blocked = cs[i].resident < kernels[i].n_blocks;
	}
}

int gsb_coreside(const struct gsb_arch *arch, const struct gsb_rules *rules,
		 const struct gsb_kernel *kernels, uint32_t n, struct gsb_coreside *out)
{
	struct gsb_coreside cs[GSB_PLACE_KERNELS_MAX] = {0};
	int err = 0;

	if (!n || n > GSB_PLACE_KERNELS_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		err = coreside_alone(arch, rules, &kernels[i], &cs[i]);
		if (err)
			return err;
	}
	if (rules->literal)
		err = coreside_printed(arch, rules, kernels, n, cs);
	else
		coreside_placed(arch, rules, kernels, n, cs);
	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++) {
		bool counts = cs[i].when == GSB_CASE_A || rules->literal;

		if (counts && cs[i].capacity)
			cs[i].rounds = gsb_div_up(kernels[i].n_blocks, cs[i].capacity);
	}
	memcpy(out, cs, n * sizeof(*out));
	return 0;
}

int gsb_slowdown(const struct gsb_arch *arch, const struct gsb_rules *rules,
		 const struct gsb_kernel *k1, const struct gsb_kernel *k2, struct gsb_ratio *out)
{
	const struct gsb_kernel kernels[2] = {*k1, *k2};
	struct gsb_coreside cs[2];
	int err = gsb_coreside(arch, rules, kernels, 2, cs);

	if (err)
		return err;
	if (!cs[1].rounds)
		return -EAGAIN;
	out->num = cs[1].rounds;
	out->den = cs[1].rounds_alone;
	return 0;
}

enum gsb_case gsb_case_with_launch(enum gsb_case when, double k1_ns, double launch_ns)
{
	return k1_ns > launch_ns ? when : GSB_CASE_C;
}
