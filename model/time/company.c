/*
 * company.c - see company.h.
 */
#include "model/time/company.h"

#include <math.h>

#include "model/time/law.h"

#define CYCLES_PER_NS(arch) ((double)(arch)->clock_khz / 1e6)
#define GUESSED_INSNS	    16 /* of a warp to an access of the memory */
#define LINE_BYTES	    128

void gsb_block_profile_add(struct gsb_block_profile *p, const struct gsb_block_work *block)
{
	p->sum.n_insns += block->n_insns;
	p->sum.n_mem_insns += block->n_mem_insns;
	p->sum.n_shared += block->n_shared;
	p->sum.n_bytes += block->n_bytes;
	p->sum.sleep_ns += block->sleep_ns;
	p->sum.alone_ns += block->alone_ns;
	p->n_blocks++;
}

static struct gsb_block_work guess(uint32_t block_warps)
{
	return (struct gsb_block_work){
		.n_warps = block_warps,
		.n_insns = (uint64_t)block_warps * GUESSED_INSNS,
		.n_mem_insns = block_warps,
		.n_bytes = (uint64_t)block_warps * LINE_BYTES,
	};
}

struct gsb_block_work gsb_block_profile_mean(const struct gsb_block_profile *p,
					     uint32_t block_warps)
{
	if (!p->n_blocks)
		return guess(block_warps);
	return (struct gsb_block_work){
		.n_warps = block_warps,
		.n_insns = p->sum.n_insns / p->n_blocks,
		.n_mem_insns = p->sum.n_mem_insns / p->n_blocks,
		.n_shared = p->sum.n_shared / p->n_blocks,
		.n_bytes = p->sum.n_bytes / p->n_blocks,
		.sleep_ns = p->sum.sleep_ns / p->n_blocks,
		.alone_ns = p->sum.alone_ns / p->n_blocks,
	};
}

static uint64_t sm_warps(const struct gsb_neighbour *k)
{
	return (uint64_t)k->sm_blocks * k->mean.n_warps;
}

static uint64_t device_warps(const struct gsb_neighbour *k)
{
	return k->device_blocks * k->mean.n_warps;
}

/* Of a block with the device for its grid. */
static double block_ns(const struct gsb_arch *arch, const struct gsb_neighbour *k)
{
	const struct gsb_block_company own = {(uint32_t)sm_warps(k), device_warps(k)};

	return (double)gsb_block_time_ns(arch, &k->mean, &own);
}

static double dram_share(const struct gsb_arch *arch, const struct gsb_neighbour *k, double ns)
{
	double bytes = (double)k->mean.n_bytes * (double)k->device_blocks;

	return fmin(1, bytes * 1e9 / ((double)arch->mem_bandwidth_bytes_per_s * ns));
}

double gsb_company_dram(const struct gsb_arch *arch, const struct gsb_neighbour *k)
{
	return dram_share(arch, k, block_ns(arch, k));
}

/* What the grid would want of each unit were it alone, with its blocks where they are. */
static struct gsb_resident resident(const struct gsb_arch *arch, const struct gsb_neighbour *k)
{
	struct gsb_resident r = {.in_flight = (double)sm_warps(k), .sms = {0, 1}};
	double ns = block_ns(arch, k), cycles = ns * CYCLES_PER_NS(arch);

	r.block_ns = k->is_guess ? 0 : ns;
	r.demand[GSB_UNIT_ISSUE] =
		fmin(1, (double)k->mean.n_insns * k->sm_blocks / (arch->issue_width * cycles));
	r.demand[GSB_UNIT_SHARED] = fmin(1, (double)k->mean.n_shared * k->sm_blocks / cycles);
	r.demand[GSB_UNIT_DRAM] = dram_share(arch, k, ns);
	return r;
}

/* Whose blocks are of a length that is not known has them as long as the others, in the mean, so that ages turn over. */
static void guess_lengths(struct gsb_resident *all, unsigned int n)
{
	double sum = 0;
	unsigned int known = 0;

	for (unsigned int i = 0; i < n; i++) {
		sum += all[i].block_ns;
		known += all[i].block_ns > 0;
	}
	for (unsigned int i = 0; i < n; i++)
		if (all[i].block_ns <= 0)
			all[i].block_ns = known ? sum / known : 1;
}

/* For the law there are two SMs: this one, and all others. Requests there count as against those of the whole device here. */
static struct gsb_resident others(const struct gsb_elsewhere *away,
				  const struct gsb_neighbour *here, unsigned int n)
{
	struct gsb_resident r = {.sms = {1, 1}};
	double on_sm = 0, on_device = 0;

	for (unsigned int i = 0; i < n; i++) {
		on_sm += (double)sm_warps(&here[i]);
		on_device += (double)device_warps(&here[i]);
	}
	r.demand[GSB_UNIT_DRAM] = fmin(1, away->dram);
	r.in_flight = on_sm * (double)away->warps / on_device;
	return r;
}

static uint32_t round_speed(double speed)
{
	long s = lround(speed * GSB_FULL_SPEED);

	return s < 1 ? 1 : (uint32_t)s;
}

void gsb_company_speeds(const struct gsb_interference *f, const struct gsb_arch *arch,
			const struct gsb_neighbour *here, unsigned int n,
			const struct gsb_elsewhere *away, uint32_t *speeds)
{
	struct gsb_resident all[GSB_LAW_KERNELS_MAX];
	double found[GSB_LAW_KERNELS_MAX];
	unsigned int n_lawful = n < GSB_LAW_KERNELS_MAX ? n : GSB_LAW_KERNELS_MAX, n_all = n_lawful;
	uint32_t least = GSB_FULL_SPEED;

	for (unsigned int i = 0; i < n_lawful; i++)
		all[i] = resident(arch, &here[i]);
	if (away->dram > 0 && n_all < GSB_LAW_KERNELS_MAX)
		all[n_all++] = others(away, here, n);
	guess_lengths(all, n_all);
	if (gsb_law_speeds(f, 2, all, n_all, found))
		n_lawful = 0; /* it takes all that is made here */
	for (unsigned int i = 0; i < n_lawful; i++) {
		speeds[i] = round_speed(found[i]);
		least = speeds[i] < least ? speeds[i] : least;
	}
	for (unsigned int i = n_lawful; i < n; i++)
		speeds[i] = least;
}
