/*
 * company.c - see company.h.
 */
#include "model/time/company.h"

#include <math.h>

#include "model/time/law.h"

#define CYCLES_PER_NS(arch) ((double)(arch)->clock_khz / 1e6)

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

static uint64_t sm_warps(const struct gsb_neighbour *k)
{
	return (uint64_t)k->sm_blocks * k->block_warps;
}

static uint64_t device_warps(const struct gsb_neighbour *k)
{
	return k->device_blocks * k->block_warps;
}

static struct gsb_block_work mean_work(const struct gsb_neighbour *k)
{
	const struct gsb_block_profile *p = k->profile;

	return (struct gsb_block_work){
		.n_warps = k->block_warps,
		.n_insns = p->sum.n_insns / p->n_blocks,
		.n_mem_insns = p->sum.n_mem_insns / p->n_blocks,
		.n_shared = p->sum.n_shared / p->n_blocks,
		.n_bytes = p->sum.n_bytes / p->n_blocks,
		.sleep_ns = p->sum.sleep_ns / p->n_blocks,
		.alone_ns = p->sum.alone_ns / p->n_blocks,
	};
}

/* Here they are the warps of this SM; from elsewhere as many against them as on the whole device. */
static double requests(const struct gsb_neighbour *k, const struct gsb_neighbour *self)
{
	return k->sm_blocks ? (double)sm_warps(k)
			    : (double)sm_warps(self) * (double)device_warps(k) /
				      (double)device_warps(self);
}

/* What the grid would want of each unit were it alone, with its blocks where they are. */
static struct gsb_resident resident(const struct gsb_arch *arch, const struct gsb_neighbour *k,
				    const struct gsb_neighbour *self)
{
	/* For the law there are two SMs: this one, and the others. Who is on both is here. */
	struct gsb_resident r = {.in_flight = requests(k, self), .sms = {k->sm_blocks ? 0 : 1, 1}};
	const struct gsb_block_work work = mean_work(k);
	const struct gsb_block_company alone = {(uint32_t)sm_warps(k), device_warps(k),
						GSB_FULL_SPEED};
	double cycles;

	r.block_ns = (double)gsb_block_time_ns(arch, &work, &alone);
	cycles = r.block_ns * CYCLES_PER_NS(arch);
	r.demand[GSB_UNIT_ISSUE] =
		fmin(1, (double)work.n_insns * k->sm_blocks / (arch->issue_width * cycles));
	r.demand[GSB_UNIT_SHARED] = fmin(1, (double)work.n_shared * k->sm_blocks / cycles);
	r.demand[GSB_UNIT_DRAM] =
		fmin(1, (double)work.n_bytes * (double)k->device_blocks * 1e9 /
				((double)arch->mem_bandwidth_bytes_per_s * r.block_ns));
	return r;
}

/* Of the unit that it wants most. */
static double fullest(const struct gsb_resident *r)
{
	double most = 0;

	for (unsigned int u = 0; u < GSB_N_UNITS; u++)
		most = fmax(most, r->demand[u]);
	return most;
}

/*
 * A block keeps the speed that it is given when it is placed, whereas the law's shares are those of kernels which stay. So it
 * is never slower than if it waited for all that is there now to end, and then ran alone: units are not idle meanwhile.
 */
static double least_speed(const struct gsb_resident *all, unsigned int n, unsigned int own)
{
	double before = 0;

	for (unsigned int i = 0; i < n; i++)
		before += i == own ? 0 : fullest(&all[i]) * all[i].block_ns;
	return all[own].block_ns / (all[own].block_ns + before);
}

static uint32_t round_speed(double speed)
{
	long s = lround(speed * GSB_FULL_SPEED);

	return s < 1 ? 1 : (uint32_t)s;
}

static void add_warps(struct gsb_block_company *c, const struct gsb_neighbour *k)
{
	c->sm_warps += (uint32_t)sm_warps(k);
	c->device_warps += device_warps(k);
}

struct gsb_block_company gsb_company_find(const struct gsb_interference *f,
					  const struct gsb_arch *arch,
					  const struct gsb_neighbour *all, unsigned int n,
					  unsigned int self)
{
	struct gsb_block_company c = {.speed = GSB_FULL_SPEED};
	struct gsb_resident residents[GSB_LAW_KERNELS_MAX];
	double speeds[GSB_LAW_KERNELS_MAX];
	unsigned int n_known = 0, own = 0;
	bool self_known = all[self].profile->n_blocks > 0;

	for (unsigned int i = 0; i < n; i++) {
		bool known = self_known && all[i].profile->n_blocks &&
			     (i == self || n_known + (i < self) < GSB_LAW_KERNELS_MAX);

		if (i == self || !known)
			add_warps(&c, &all[i]);
		if (i == self)
			own = n_known;
		if (known)
			residents[n_known++] = resident(arch, &all[i], &all[self]);
	}
	if (n_known > 1 && !gsb_law_speeds(f, 2, residents, n_known, speeds))
		c.speed = round_speed(fmax(speeds[own], least_speed(residents, n_known, own)));
	return c;
}
