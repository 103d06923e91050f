/*
 * company.c - see company.h.
 */
#include "model/time/company.h"

#include <math.h>

#include "model/time/counts.h"
#include "model/time/demand.h"

#define GUESSED_INSNS  16 /* of a warp to an access of the memory */
#define LINE_BYTES     128
#define SECTOR_BYTES   32
#define LEAST_REQUESTS 1e-6 /* who asks for nothing is known, too */

void gsb_block_profile_add(struct gsb_block_profile *p, const struct gsb_block_work *block)
{
	p->sum.n_insns += block->n_insns;
	p->sum.n_alu += block->n_alu;
	p->sum.n_imul += block->n_imul;
	p->sum.n_sfu += block->n_sfu;
	p->sum.n_fp64 += block->n_fp64;
	p->sum.n_mem_insns += block->n_mem_insns;
	p->sum.n_shared += block->n_shared;
	p->sum.n_bytes += block->n_bytes;
	p->sum.n_barriers += block->n_barriers;
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
		.n_alu = p->sum.n_alu / p->n_blocks,
		.n_imul = p->sum.n_imul / p->n_blocks,
		.n_sfu = p->sum.n_sfu / p->n_blocks,
		.n_fp64 = p->sum.n_fp64 / p->n_blocks,
		.n_mem_insns = p->sum.n_mem_insns / p->n_blocks,
		.n_shared = p->sum.n_shared / p->n_blocks,
		.n_bytes = p->sum.n_bytes / p->n_blocks,
		.n_barriers = p->sum.n_barriers / p->n_blocks,
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

/* The device has no caches: what is asked for comes from the memory. An access of shared memory is taken for one pass. */
static struct gsb_counts counts_of(const struct gsb_block_work *w)
{
	return (struct gsb_counts){
		.insns = (double)w->n_insns,
		.alu = (double)w->n_alu,
		.imul = (double)w->n_imul,
		.sfu = (double)w->n_sfu,
		.fp64 = (double)w->n_fp64,
		.barriers = (double)w->n_barriers,
		.requests = (double)w->n_mem_insns,
		.sectors = (double)w->n_bytes / SECTOR_BYTES,
		.to_l2 = 1,
		.to_dram = 1,
		.shared = (double)w->n_shared,
		.shared_requests = (double)w->n_shared,
	};
}

/* With a quarter fewer of its warps a block is done earlier by a quarter, or when it has waited for its own results. */
static double backlog(const struct gsb_arch *arch, const struct gsb_neighbour *k, double ns)
{
	double fewer_ns = fmax(0.75 * ns, (double)gsb_block_wait_ns(arch, &k->mean));

	return gsb_demand_fullness(0.75 * ns / fewer_ns);
}

/* All arithmetic takes a warp as long here, so that who waits for his own results is not told from who never does: slots are those of any
 * instructions. What the time of a block has rounded up may go a little beyond all of a unit. */
void gsb_company_demand(const struct gsb_arch *arch, const struct gsb_block_work *block,
			double on_sm, double on_device, double units[GSB_N_UNITS])
{
	const struct gsb_counts counts = counts_of(block);

	gsb_counts_demand(arch, &counts, on_sm, on_device, units);
	units[GSB_UNIT_ISSUE] += units[GSB_UNIT_DENSE];
	units[GSB_UNIT_DENSE] = 0;
	units[GSB_UNIT_REQUESTS] = fmax(LEAST_REQUESTS, units[GSB_UNIT_REQUESTS]);
	for (unsigned int u = 0; u < GSB_N_UNITS; u++)
		units[u] = fmin(1, units[u]);
}

/* What the grid would want of each unit were it alone, with its blocks where they are. */
static struct gsb_resident resident(const struct gsb_arch *arch, const struct gsb_neighbour *k)
{
	struct gsb_resident r = {.in_flight = (double)sm_warps(k), .sms = {0, 1}};
	double ns = block_ns(arch, k);

	r.block_ns = k->is_guess ? 0 : ns;
	r.backlog = backlog(arch, k, ns);
	gsb_company_demand(arch, &k->mean, k->sm_blocks * 1e9 / ns,
			   (double)k->device_blocks * 1e9 / ns, r.demand);
	r.alike = gsb_demand_alike(r.demand, 1);
	return r;
}

/* Of who is not known, nor of who is beside him, queues are not reckoned: a guess says nothing of where it stands in one. Units are those
 * of which something is known of everybody. */
static void forget_queues(struct gsb_resident *all, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		double *units = all[i].demand;

		units[GSB_UNIT_L2] = units[GSB_UNIT_BARRIER] = units[GSB_UNIT_REQUESTS] = 0;
	}
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
	bool has_guess = false;

	for (unsigned int i = 0; i < n_lawful; i++) {
		all[i] = resident(arch, &here[i]);
		has_guess |= here[i].is_guess;
	}
	if (has_guess)
		forget_queues(all, n_lawful);
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
