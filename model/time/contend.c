/*
 * contend.c - see contend.h.
 *
 * Everything is counted in blocks: the time of one block is what is resident over the speed at which
 * the device works on it. Rounds are those of pair.c, each as long as its blocks take; a last round
 * with few blocks of a kernel that saturates early is short, which counting rounds alone misses.
 */
#include "model/time/contend.h"

#include <errno.h>
#include <math.h>

#define GROUPS_MAX 8 /* of SMs with the same mix: two kernels make four at most */

/* The pair, with what pair.c says about it. */
struct mix {
	const struct gsb_arch *arch;
	const struct gsb_rules *rules;
	const struct gsb_interference *law;
	const struct gsb_load *loads;
	struct gsb_curve curves[2];
	struct gsb_coreside side[2];
};

/* Blocks of a kernel on SMs that all hold the same; speed: against SMs full of it, were nobody else there. */
struct part {
	uint32_t kernel;
	double sms, speed;
};

/* Of what it wants of the whole device's memory its part of the SMs has its part. */
static void take_part(struct gsb_resident *r, double part)
{
	for (unsigned int u = 0; u < GSB_N_UNITS; u++)
		if (gsb_unit_is_memory((enum gsb_unit)u))
			r->demand[u] *= part;
}

/* Who is where. The first kernel is the older one, and its blocks stay as long as it does. */
static unsigned int list_parts(const struct mix *m, const struct gsb_sm_array *a,
			       struct gsb_resident *residents, struct part *parts)
{
	uint32_t n_sms = m->arch->n_sms, first_sm = 0;
	unsigned int n = 0;

	for (uint32_t g = 0; g < a->n_groups; first_sm += a->groups[g++].n_sms) {
		for (uint32_t k = 0; k < 2; k++) {
			uint32_t sms = a->groups[g].n_sms;
			double f = a->groups[g].blocks[k] * (double)n_sms /
				   (double)m->side[k].full_gpu;

			if (f <= 0)
				continue;
			residents[n] =
				(struct gsb_resident){.sms = {first_sm, sms}, .started_ns = k};
			parts[n] =
				(struct part){k, sms,
					      gsb_demand_at(&m->loads[k].demand.of, &m->curves[k],
							    fmin(1, f), &residents[n])};
			take_part(&residents[n++], (double)sms / n_sms);
		}
	}
	return n;
}

/* So many blocks of each kernel on the GPU: the time of one block of each, in time of an SM. */
static void block_times(const struct mix *m, const uint64_t blocks[2], double times[2])
{
	struct gsb_resident residents[2 * GROUPS_MAX];
	double speeds[2 * GROUPS_MAX], work[2] = {0, 0};
	struct part parts[2 * GROUPS_MAX];
	struct gsb_sm_array a;
	unsigned int n;

	gsb_sm_array_init(&a, m->arch, m->rules, m->arch->n_sms);
	for (uint32_t k = 0; k < 2; k++)
		gsb_sm_array_place(&a, &m->side[k].need, m->rules->placement, blocks[k]);
	n = list_parts(m, &a, residents, parts);
	/* A kernel is not in its own way on other SMs. */
	if (!blocks[0] || !blocks[1] ||
	    gsb_law_speeds(m->law, m->arch->n_sms, residents, n, speeds))
		for (unsigned int i = 0; i < n; i++)
			speeds[i] = 1;
	for (unsigned int i = 0; i < n; i++)
		work[parts[i].kernel] += parts[i].sms * parts[i].speed * speeds[i];
	for (uint32_t k = 0; k < 2; k++)
		times[k] = blocks[k] ? (double)blocks[k] / work[k] : 0;
}

/* Time of a block of k when beside[] blocks of the other are there. */
static double block_time(const struct mix *m, uint32_t k, uint64_t blocks, uint64_t other)
{
	uint64_t both[2];
	double times[2];

	both[k] = blocks;
	both[1 - k] = other;
	block_times(m, both, times);
	return times[k];
}

/* Time of a whole grid, in rounds of at most at_once blocks. */
static double grid_time(const struct mix *m, uint32_t k, uint64_t at_once, uint64_t other)
{
	uint64_t n = m->loads[k].needs.n_blocks;
	double time = (double)(n / at_once) * block_time(m, k, at_once, other);

	return n % at_once ? time + block_time(m, k, n % at_once, other) : time;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Both from their start to their ends: until the first ends as in steady, then alone. */
static void run_timeline(const struct mix *m, struct gsb_contention *c)
{
	double solo[2] = {m->loads[0].demand.solo_ns, m->loads[1].demand.solo_ns};
	uint32_t first = solo[0] * c->steady[0] <= solo[1] * c->steady[1] ? 0 : 1;
	uint32_t last = 1 - first;
	double both = solo[first] * c->steady[first];
	double done = both / (solo[last] * c->steady[last]);

	c->end_ns[first] = both;
	c->end_ns[last] = both + (1 - done) * solo[last];
}

/* Case A: all of k1 is resident, k2 takes what is left, round by round. */
static void contend_from_start(const struct mix *m, struct gsb_contention *c)
{
	const struct gsb_kernel *k1 = &m->loads[0].needs, *k2 = &m->loads[1].needs;
	uint64_t beside = min_u64(k2->n_blocks, m->side[1].capacity);
	double alone = block_time(m, 0, k1->n_blocks, 0);

	c->stretch[0] = block_time(m, 0, k1->n_blocks, beside) / alone;
	c->steady[0] = fmax(1, c->stretch[0]);
	alone = block_time(m, 1, min_u64(k2->n_blocks, m->side[1].full_gpu), 0);
	c->stretch[1] = block_time(m, 1, beside, k1->n_blocks) / alone;
	alone = grid_time(m, 1, m->side[1].full_gpu, 0);
	c->steady[1] = fmax(1, grid_time(m, 1, m->side[1].capacity, k1->n_blocks) / alone);
	if (m->loads[0].demand.solo_ns > 0 && m->loads[1].demand.solo_ns > 0)
		run_timeline(m, c);
}

/* Case B: k1's last round is a kernel of its own, with k2 beside it; before that k1 is alone. */
static int contend_in_tail(const struct mix *m, struct gsb_contention *c)
{
	struct gsb_load tail[2] = {m->loads[0], m->loads[1]};
	uint64_t full = m->side[0].full_gpu, rest = tail[0].needs.n_blocks % full;
	double share, before;
	int err;

	rest = rest ? rest : full;
	share = block_time(m, 0, rest, 0) / grid_time(m, 0, full, 0);
	before = (1 - share) * tail[0].demand.solo_ns;
	tail[0].needs.n_blocks = rest;
	tail[0].demand.solo_ns *= share;
	err = gsb_contend(m->arch, m->rules, m->law, tail, c);
	if (err)
		return err;
	c->when = GSB_CASE_B;
	if (c->end_ns[0] > 0) {
		c->end_ns[0] += before;
		c->end_ns[1] += before;
	}
	return 0;
}

static void contend_after(const struct mix *m, struct gsb_contention *c)
{
	c->stretch[0] = c->stretch[1] = c->steady[0] = c->steady[1] = 1;
	if (m->loads[0].demand.solo_ns > 0 && m->loads[1].demand.solo_ns > 0) {
		c->end_ns[0] = m->loads[0].demand.solo_ns;
		c->end_ns[1] = c->end_ns[0] + m->loads[1].demand.solo_ns;
	}
}

static bool is_sane(const struct gsb_contend_demand *d)
{
	return gsb_demand_is_sane(&d->of) && d->saturation >= 0 && d->saturation <= 1 &&
	       d->solo_ns >= 0 && isfinite(d->solo_ns) && (!d->curve || !gsb_curve_check(d->curve));
}

static void set_curve(struct gsb_curve *curve, const struct gsb_contend_demand *d)
{
	if (d->curve)
		*curve = *d->curve;
	else
		gsb_curve_from_saturation(curve, d->saturation > 0 ? d->saturation : 1, 0);
}

int gsb_contend(const struct gsb_arch *arch, const struct gsb_rules *rules,
		const struct gsb_interference *law, const struct gsb_load pair[2],
		struct gsb_contention *out)
{
	const struct gsb_kernel kernels[2] = {pair[0].needs, pair[1].needs};
	struct mix m = {.arch = arch, .rules = rules, .law = law, .loads = pair};
	struct gsb_contention c = {.when = GSB_CASE_A};
	int err;

	if (rules->literal || !is_sane(&pair[0].demand) || !is_sane(&pair[1].demand))
		return -EINVAL;
	for (uint32_t k = 0; k < 2; k++)
		set_curve(&m.curves[k], &pair[k].demand);
	err = gsb_coreside(arch, rules, kernels, 2, m.side);
	if (err)
		return err;
	c.when = m.side[1].when;
	switch (c.when) {
	case GSB_CASE_A: contend_from_start(&m, &c); break;
	case GSB_CASE_B: err = contend_in_tail(&m, &c); break;
	case GSB_CASE_C: contend_after(&m, &c); break;
	}
	if (err)
		return err;
	for (uint32_t k = 0; k < 2; k++)
		c.slowdown[k] =
			c.end_ns[k] > 0 ? c.end_ns[k] / pair[k].demand.solo_ns : c.steady[k];
	c.makespan_ns = fmax(c.end_ns[0], c.end_ns[1]);
	*out = c;
	return 0;
}
