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

#include "model/time/stretch.h"

const struct gsb_capacity gsb_capacity_full = {.issue = 1, .bandwidth = 1};

/* The pair, with what pair.c says about it. */
struct mix {
	const struct gsb_arch *arch;
	const struct gsb_rules *rules;
	const struct gsb_load *loads;
	const struct gsb_capacity *capacity;
	struct gsb_coreside side[2];
};

/* Speed of an SM that holds so many blocks, against one that holds as many as fit. */
static double sm_speed(const struct mix *m, uint32_t k, uint32_t n_blocks)
{
	const struct gsb_contend_demand *d = &m->loads[k].demand;
	double fraction = n_blocks * (double)m->arch->n_sms / (double)m->side[k].full_gpu;

	if (d->curve)
		return gsb_curve_speed(d->curve, fraction) / gsb_curve_speed(d->curve, 1);
	return fmin(1, fraction / (d->saturation > 0 ? d->saturation : 1));
}

/* So many blocks of each kernel on the GPU: the time of one block of each, in time of an SM. */
static void block_times(const struct mix *m, const uint64_t blocks[2], double times[2])
{
	struct gsb_stretch s = {.issue_capacity = m->capacity->issue,
				.bandwidth_capacity = m->capacity->bandwidth};
	struct gsb_sm_array a;

	gsb_sm_array_init(&a, m->arch, m->rules, m->arch->n_sms);
	for (uint32_t k = 0; k < 2; k++) {
		gsb_sm_array_place(&a, &m->side[k].need, m->rules->placement, blocks[k]);
		s.shares[k].issue = m->loads[k].demand.issue;
		s.shares[k].bandwidth = m->loads[k].demand.bandwidth;
	}
	s.n_groups = a.n_groups;
	for (uint32_t g = 0; g < a.n_groups; g++) {
		s.groups[g].weight = (double)a.groups[g].n_sms / m->arch->n_sms;
		for (uint32_t k = 0; k < 2; k++)
			s.groups[g].speed[k] = sm_speed(m, k, a.groups[g].blocks[k]);
	}
	if (!blocks[0] || !blocks[1])
		s.issue_capacity = s.bandwidth_capacity = 1;
	gsb_stretch_solve(&s);
	for (uint32_t k = 0; k < 2; k++)
		times[k] = blocks[k] ? blocks[k] / (gsb_stretch_speed(&s, k) * m->arch->n_sms) : 0;
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
	err = gsb_contend(m->arch, m->rules, tail, m->capacity, c);
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

static bool is_share(double x)
{
	return x >= 0 && x <= 1;
}

static bool is_sane(const struct gsb_contend_demand *d)
{
	return is_share(d->issue) && is_share(d->bandwidth) && is_share(d->saturation) &&
	       d->solo_ns >= 0 && isfinite(d->solo_ns) && (!d->curve || !gsb_curve_check(d->curve));
}

static bool is_capacity(double x)
{
	return x > 0 && x <= 100;
}

int gsb_contend(const struct gsb_arch *arch, const struct gsb_rules *rules,
		const struct gsb_load pair[2], const struct gsb_capacity *capacity,
		struct gsb_contention *out)
{
	const struct gsb_kernel kernels[2] = {pair[0].needs, pair[1].needs};
	struct mix m = {.arch = arch, .rules = rules, .loads = pair, .capacity = capacity};
	struct gsb_contention c = {.when = GSB_CASE_A};
	int err;

	if (!m.capacity)
		m.capacity = &gsb_capacity_full;
	if (rules->literal || !is_sane(&pair[0].demand) || !is_sane(&pair[1].demand) ||
	    !is_capacity(m.capacity->issue) || !is_capacity(m.capacity->bandwidth))
		return -EINVAL;
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
