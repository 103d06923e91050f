/*
 * hint.c - two on SMs of their own, of which one streams: each place that it touches it touches once (ptx/resize/stream.h), so the L2 keeps for it what it
 * does not come back to, and throws out for that what the other one does come back to. In the variant whose accesses are marked so, the L2 lets go of its own
 * first: parts of the SMs do not part the L2, and this does.
 *
 * A hint changes no result and costs next to nothing, and what it is worth, to both, nothing but a trial tells: the other's table may be in the L2 or
 * far too large for it, who streams once a launch may come back to the same places with the next, and two that share the memory by their SMs look like two
 * that use nothing else. So it is tried on the best split that was measured, and held against the same without, once that is known as well as it is while it
 * lasts; what is given up again has cost two launches.
 */
#include "broker/policy/auction.h"

#include <math.h>

#define TRIES 4	 /* of who and of splits */
#define STAYS 64 /* launches of the longest that are to come for a trial */
#define SURE  8	 /* values without: the first on a part is as slow as what it waits for there */

/* On a split that was measured without, one of them launched so. One value is enough to give up hope. */
struct trial {
	unsigned who;
	uint32_t first;	    /* units of the first of them; the other one has the rest */
	double speed[2];    /* of both; 0: not measured */
	uint32_t n[2];	    /* values of these, */
	uint32_t n_without; /* and of the same without, the fewer */
};

#define N_TRIALS (2 * GSB_N_UNITS)

static uint32_t units_of(const struct gsb_auction *a, unsigned i, uint32_t first)
{
	return i ? a->n_units - first : first;
}

static double known(const struct gsb_auction *a, unsigned i, uint32_t first)
{
	return a->of[i].part.known[units_of(a, i, first)];
}

static bool is_measured(const struct gsb_auction *a, uint32_t first)
{
	return known(a, 0, first) > 0 && known(a, 1, first) > 0;
}

static bool may_hint(const struct gsb_auction *a, unsigned who)
{
	const struct gsb_habits *h = &a->of[who].claim->habits;

	return h->hints && h->n == 1;
}

static bool can(const struct gsb_auction *a)
{
	return a->n == 2 && !a->strangers && !a->cooperative && !gsb_auction_is_of_one_kernel(a);
}

/* What is brief has no time to make good what a trial loses. */
static bool may_try(const struct gsb_auction *a)
{
	return !a->brief && gsb_auction_will_stay_for(a, STAYS);
}

static struct trial look(const struct gsb_auction *a, unsigned who, uint32_t first)
{
	struct trial t = {.who = who, .first = first, .n_without = UINT32_MAX};

	for (unsigned i = 0; i < 2; i++) {
		const uint32_t n_sms = gsb_auction_sms_of(a, i, units_of(a, i, first));
		struct gsb_manners in = {0};
		uint32_t n;

		gsb_contender_in(a, i, n_sms, in, &n);
		t.n_without = n < t.n_without ? n : t.n_without;
		*(i == who ? &in.own : &in.others) = GSB_MANNER_HINT;
		t.speed[i] = gsb_contender_in(a, i, n_sms, in, &t.n[i]);
	}
	return t;
}

/* All that there may be; returns how many. */
static unsigned list(const struct gsb_auction *a, struct trial out[N_TRIALS])
{
	unsigned n = 0;

	for (unsigned who = 0; who < 2; who++)
		for (uint32_t u = 1; may_hint(a, who) && u < a->n_units; u++)
			if (is_measured(a, u))
				out[n++] = look(a, who, u);
	return n;
}

enum stage { NEW, BEGUN, MEASURED };

static enum stage stage_of(const struct trial *t)
{
	if (t->n[0] >= GSB_MEASURED && t->n[1] >= GSB_MEASURED)
		return MEASURED;
	return t->n[0] || t->n[1] ? BEGUN : NEW;
}

static struct gsb_split split_of(const struct gsb_auction *a, uint32_t first,
				 const double speeds[2])
{
	struct gsb_split s = gsb_split_of_speeds(a, speeds);

	for (unsigned i = 0; i < 2; i++)
		s.units[i] = units_of(a, i, first);
	return s;
}

/* Sum 0: it leaves one of them too little. What was not measured may be as fast as alone. */
static struct gsb_split worth(const struct gsb_auction *a, const struct trial *t)
{
	double speeds[2];

	for (unsigned i = 0; i < 2; i++) {
		speeds[i] = t->speed[i] > 0 ? t->speed[i] : 1;
		if (speeds[i] < a->of[i].least_speed)
			return (struct gsb_split){0};
	}
	return split_of(a, t->first, speeds);
}

/* What the split of a trial is worth without. */
static double product_without(const struct gsb_auction *a, const struct trial *t)
{
	const double speeds[2] = {known(a, 0, t->first), known(a, 1, t->first)};

	return gsb_split_of_speeds(a, speeds).product;
}

/* Of those that are better by it. */
static struct gsb_hint best_of(const struct gsb_auction *a, const struct trial *trials, unsigned n,
			       enum stage stage)
{
	const double gain = GSB_PARTS_GAIN * a->weights;
	struct gsb_hint best = {0};

	for (unsigned k = 0; k < n; k++) {
		const struct trial *t = &trials[k];
		struct gsb_split s = worth(a, t);

		if (stage_of(t) == stage && s.sum > 0 &&
		    s.product - product_without(a, t) >= gain &&
		    (best.worth.sum <= 0 || s.product > best.worth.product))
			best = (struct gsb_hint){t->who, GSB_MANNER_HINT, s};
	}
	return best;
}

/* On the best split that there is without, if it was not tried there: first of all without. */
static struct gsb_hint next_new(const struct gsb_auction *a, const struct trial *trials, unsigned n)
{
	double most = -INFINITY;
	struct gsb_hint next = {0};

	for (unsigned k = 0; k < n; k++)
		most = fmax(most, product_without(a, &trials[k]));
	for (unsigned k = n; k--;) {
		const struct trial *t = &trials[k];

		if (stage_of(t) == NEW && product_without(a, t) >= most)
			next = (struct gsb_hint){t->who, t->n_without < SURE ? 0 : GSB_MANNER_HINT,
						 worth(a, t)};
	}
	return next;
}

static unsigned n_tried(const struct trial *trials, unsigned n)
{
	unsigned tried = 0;

	for (unsigned k = 0; k < n; k++)
		tried += stage_of(&trials[k]) != NEW;
	return tried;
}

struct gsb_hint gsb_hint_known(const struct gsb_auction *a)
{
	struct trial trials[N_TRIALS];

	return can(a) ? best_of(a, trials, list(a, trials), MEASURED) : (struct gsb_hint){0};
}

struct gsb_hint gsb_hint_hoped(const struct gsb_auction *a, const struct gsb_split *known,
			       const struct gsb_split *none)
{
	struct trial trials[N_TRIALS];
	struct gsb_hint best;
	unsigned n;

	if (!can(a) || !may_try(a))
		return (struct gsb_hint){0};
	n = list(a, trials);
	best = best_of(a, trials, n, BEGUN);
	if (!gsb_split_is_worth_a_risk(a, &best.worth, known, none))
		best = n_tried(trials, n) < TRIES ? next_new(a, trials, n) : (struct gsb_hint){0};
	return gsb_split_is_worth_a_risk(a, &best.worth, known, none) ? best : (struct gsb_hint){0};
}
