/*
 * split.c - the best split of the SMs among the contenders: the largest product of speeds, each to the power of its weight.
 *
 * Tenant after tenant, of each number of pieces the best that those so far can have together: exact whatever the curves, in time that grows with the
 * square of the pieces.
 */
#include "broker/policy/auction.h"

#include <math.h>

#define SUM_LOSS  0.01 /* of all speeds together that fairness may cost */
#define FAIR_LOSS 0.05 /* the same where somebody has less than its share */
#define EVENLY	  1e-6 /* between equals, SMs by weight */

static double speed_on(const struct gsb_contender *c, uint32_t units, enum gsb_bound bound)
{
	return bound == GSB_HOPED ? c->part.high[units] : c->part.low[units];
}

/* @stay: who has units now keeps them. */
static double value(const struct gsb_contender *c, uint32_t units, enum gsb_bound bound, bool stay)
{
	if (stay ? c->on && c->on != units : speed_on(c, units, bound) < c->least_speed)
		return -INFINITY;
	return c->claim->weight * (log(speed_on(c, units, bound)) + EVENLY * log((double)units));
}

/* Of each number of units that those so far have together the best, and how many the last has of them. */
struct table {
	double best[GSB_PARTS_MAX + 1][GSB_N_UNITS + 1];
	uint32_t units[GSB_PARTS_MAX][GSB_N_UNITS + 1];
};

static void add_row(const struct gsb_auction *a, struct table *t, unsigned i, enum gsb_bound bound,
		    bool stay)
{
	double values[GSB_N_UNITS + 1] = {0};

	for (uint32_t x = 1; x <= a->n_units; x++)
		values[x] = value(&a->of[i], x, bound, stay);
	for (uint32_t u = 0; u <= a->n_units; u++) {
		t->best[i + 1][u] = -INFINITY;
		t->units[i][u] = 0;
		for (uint32_t x = 1; x <= u; x++) {
			double v = t->best[i][u - x] + values[x];

			if (v <= t->best[i + 1][u])
				continue;
			t->best[i + 1][u] = v;
			t->units[i][u] = x;
		}
	}
}

/* ---- what a split is worth ---- */

/* The first of those that have something left to end, at these speeds; -1: nobody has. */
static int next_end(const struct gsb_auction *a, const double *left, const double *speeds)
{
	int next = -1;

	for (unsigned i = 0; i < a->n; i++)
		if (left[i] > 0 && (next < 0 || left[i] / speeds[i] < left[next] / speeds[next]))
			next = (int)i;
	return next;
}

double gsb_split_end_ns(const struct gsb_auction *a, const double *speeds)
{
	return gsb_split_end_after_ns(a, speeds, speeds, 0);
}

double gsb_split_end_after_ns(const struct gsb_auction *a, const double *speeds,
			      const double *before, double for_ns)
{
	double left[GSB_PARTS_MAX], sum = 0, end = for_ns;
	int next;

	for (unsigned i = 0; i < a->n; i++) {
		left[i] = gsb_contender_expected_ns(&a->of[i]) - for_ns * before[i];
		sum += speeds[i];
	}
	while ((next = next_end(a, left, speeds)) >= 0) {
		double there = 0, faster, ns;

		for (unsigned i = 0; i < a->n; i++)
			there += left[i] > 0 ? speeds[i] : 0;
		faster = sum / there;
		ns = left[next] / fmin(1, speeds[next] * faster);
		for (unsigned i = 0; i < a->n; i++)
			left[i] = i == (unsigned)next ? 0
						      : left[i] - ns * fmin(1, speeds[i] * faster);
		end += ns;
	}
	return end;
}

static void sum_up(const struct gsb_auction *a, const double *speeds, struct gsb_split *s)
{
	for (unsigned i = 0; i < a->n; i++) {
		s->product += a->of[i].claim->weight * log(speeds[i]);
		s->sum += speeds[i];
	}
	s->end_ns = gsb_split_end_ns(a, speeds);
}

/* Tenant after tenant, so that it is exact whatever the curves. Sum 0: there is none. */
struct gsb_split gsb_split_best(const struct gsb_auction *a, enum gsb_bound bound, bool stay)
{
	struct table t;
	struct gsb_split s = {.fair_loss = FAIR_LOSS};
	uint32_t left = a->n_units;
	double speeds[GSB_PARTS_MAX];

	for (uint32_t u = 0; u <= a->n_units; u++)
		t.best[0][u] = u ? -INFINITY : 0;
	for (unsigned i = 0; i < a->n; i++)
		add_row(a, &t, i, bound, stay);
	if (isinf(t.best[a->n][left]))
		return s;
	for (unsigned i = a->n; i--; left -= s.units[i])
		s.units[i] = t.units[i][left];
	for (unsigned i = 0; i < a->n; i++)
		speeds[i] = speed_on(&a->of[i], s.units[i], bound);
	sum_up(a, speeds, &s);
	return s;
}

struct gsb_split gsb_split_of_speeds(const struct gsb_auction *a, const double *speeds)
{
	struct gsb_split s = {.fair_loss = FAIR_LOSS};

	sum_up(a, speeds, &s);
	return s;
}

struct gsb_split gsb_split_shared(const struct gsb_auction *a)
{
	struct gsb_split s = {0};
	double speeds[GSB_PARTS_MAX];

	for (unsigned i = 0; i < a->n; i++)
		speeds[i] = a->of[i].shared;
	sum_up(a, speeds, &s);
	return s;
}

bool gsb_split_gains(const struct gsb_auction *a, const struct gsb_split *s,
		     const struct gsb_split *other, const struct gsb_split *none, double gain)
{
	double loss = a->starves ? s->fair_loss : SUM_LOSS;

	return s->sum > 0 && s->product - other->product >= gain * a->weights &&
	       s->sum >= (1 - loss) * none->sum && (a->starves || s->end_ns <= none->end_ns);
}

bool gsb_split_is_worth_a_risk(const struct gsb_auction *a, const struct gsb_split *hoped,
			       const struct gsb_split *known, const struct gsb_split *none)
{
	const bool any = gsb_split_gains(a, known, none, none, GSB_PARTS_GAIN);

	return gsb_split_gains(a, hoped, any ? known : none, none, GSB_PARTS_GAIN);
}

bool gsb_split_is_hoped_for(const struct gsb_auction *a, const struct gsb_split *hoped,
			    const struct gsb_split *known, const struct gsb_split *none)
{
	return gsb_split_gains(a, hoped, none, none, GSB_PARTS_GAIN) &&
	       (!gsb_split_gains(a, known, none, none, GSB_PARTS_GAIN) ||
		gsb_split_gains(a, hoped, known, none, GSB_PARTS_HOPE));
}
