/*
 * hint.c - two on SMs of their own, of which one streams: each place that it touches it touches once (ptx/resize/stream.h), so the L2 keeps for it what it
 * does not come back to, and throws out for that what the other one does come back to. In the variant whose accesses are marked so, the L2 lets go of its own
 * first: parts of the SMs do not part the L2, and this does.
 *
 * A hint changes no result and costs next to nothing, and what it is worth, to both, nothing but a trial tells: the other's table may be in the L2 or
 * far too large for it, who streams once a launch may come back to the same places with the next, and two that share the memory by their SMs look like two
 * that use nothing else. So it is tried: first on the best split that there is without, when that is known as well as it is while it lasts, and held against
 * it; then on others, because who streams does less harm with a hint, and so may have more SMs. How fast they may be there is bounded from what was measured with it, as
 * without (curves.c), and by a little more than a hint has been seen to help. A split that is new is had without first (parts.c: is_trying()). What is given up
 * again has cost two launches of each.
 */
#include "broker/policy/auction.h"

#include <math.h>

#define TRIES 5	  /* splits, of both who may be it */
#define STAYS 64  /* launches of the longest that are to come for a trial */
#define HELP  1.5 /* times as fast as without is either of them at most: 1.33 was seen on an H100 */
#define SURE  8	  /* values without: the first on a part is as slow as what it waits for there */

/* Of one of them launched so, on a split. One value is enough to give up hope. */
struct trial {
	unsigned who;
	uint32_t first;	 /* units of the first of them; the other one has the rest */
	double speed[2]; /* of both; while that is not measured, what may be hoped for */
	uint32_t n[2];	 /* values of these */
};

#define N_TRIALS (2 * GSB_N_UNITS)

/* What there is to choose from. */
struct trials {
	unsigned n;
	struct trial of[N_TRIALS];
	struct gsb_split without; /* the best that was measured without; sum 0: none was */
	uint32_t n_without;	  /* from so many values */
};

static uint32_t units_of(const struct gsb_auction *a, unsigned i, uint32_t first)
{
	return i ? a->n_units - first : first;
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

static struct gsb_split split_of(const struct gsb_auction *a, uint32_t first,
				 const double speeds[2])
{
	struct gsb_split s = gsb_split_of_speeds(a, speeds);

	for (unsigned i = 0; i < 2; i++)
		s.units[i] = units_of(a, i, first);
	return s;
}

/* From so many values of the one of which there are fewer, launched as they are there; of each what may be hoped for where there is none. */
static uint32_t look(const struct gsb_auction *a, struct trial *t)
{
	for (unsigned i = 0; i < 2; i++) {
		const uint32_t u = units_of(a, i, t->first);

		t->speed[i] =
			gsb_contender_in(a, i, gsb_auction_sms_of(a, i, u), a->of[i].in, &t->n[i]);
		if (!t->n[i])
			t->speed[i] = a->of[i].part.high[u];
	}
	return t->n[0] < t->n[1] ? t->n[0] : t->n[1];
}

static void find_without(const struct gsb_auction *a, struct trials *t)
{
	for (uint32_t u = 1; u < a->n_units; u++) {
		struct trial as_asked = {.first = u};
		uint32_t n = look(a, &as_asked);
		struct gsb_split s;

		if (n < GSB_MEASURED)
			continue;
		s = split_of(a, u, as_asked.speed);
		if (t->without.sum <= 0 || s.product > t->without.product) {
			t->without = s;
			t->n_without = n;
		}
	}
}

/* As if that one were launched so. */
static void add(const struct gsb_auction *a, unsigned who, struct trials *t)
{
	struct gsb_auction with = *a;

	with.of[who].in.own = with.of[!who].in.others = GSB_MANNER_HINT;
	gsb_curves_bound(&with);
	for (uint32_t u = 1; u < a->n_units; u++) {
		struct trial *to = &t->of[t->n++];

		*to = (struct trial){.who = who, .first = u};
		look(&with, to);
		for (unsigned i = 0; i < 2; i++)
			if (!to->n[i])
				to->speed[i] = fmin(to->speed[i],
						    HELP * a->of[i].part.high[units_of(a, i, u)]);
	}
}

static void find(const struct gsb_auction *a, struct trials *t)
{
	for (unsigned who = 0; who < 2; who++)
		if (may_hint(a, who))
			add(a, who, t);
	if (t->n)
		find_without(a, t);
}

enum stage { NEW, BEGUN, MEASURED };

static enum stage stage_of(const struct trial *t)
{
	if (t->n[0] >= GSB_MEASURED && t->n[1] >= GSB_MEASURED)
		return MEASURED;
	return t->n[0] || t->n[1] ? BEGUN : NEW;
}

/* Sum 0: it leaves one of them too little, or is not better by it than any without. */
static struct gsb_split worth(const struct gsb_auction *a, const struct trials *t,
			      const struct trial *of)
{
	struct gsb_split s = split_of(a, of->first, of->speed);

	for (unsigned i = 0; i < 2; i++)
		if (of->speed[i] < a->of[i].least_speed)
			s.sum = 0;
	if (t->without.sum > 0 && s.product - t->without.product < GSB_PARTS_GAIN * a->weights)
		s.sum = 0;
	return s;
}

static struct gsb_hint best_of(const struct gsb_auction *a, const struct trials *t,
			       enum stage stage)
{
	struct gsb_hint best = {0};

	for (unsigned k = 0; k < t->n; k++) {
		const struct gsb_split s = worth(a, t, &t->of[k]);

		if (stage_of(&t->of[k]) == stage && s.sum > 0 &&
		    (best.worth.sum <= 0 || s.product > best.worth.product))
			best = (struct gsb_hint){t->of[k].who, GSB_MANNER_HINT, s};
	}
	return best;
}

static unsigned n_tried(const struct trials *t, unsigned who)
{
	unsigned n = 0;

	for (unsigned k = 0; k < t->n; k++)
		n += t->of[k].who == who && stage_of(&t->of[k]) != NEW;
	return n;
}

/* Of one that was never launched so: on the best split without, after that itself. */
static struct gsb_hint first_trial(const struct gsb_auction *a, const struct trials *t)
{
	const uint32_t manner = t->n_without < SURE ? 0 : GSB_MANNER_HINT;

	for (unsigned k = 0; k < t->n; k++)
		if (t->of[k].first == t->without.units[0] && !n_tried(t, t->of[k].who))
			return (struct gsb_hint){t->of[k].who, manner, worth(a, t, &t->of[k])};
	return (struct gsb_hint){0};
}

static struct gsb_hint next_trial(const struct gsb_auction *a, const struct trials *t)
{
	struct gsb_hint next = {0};

	if (n_tried(t, 0) + n_tried(t, 1) >= TRIES)
		return next;
	next = first_trial(a, t);
	return next.worth.sum > 0 ? next : best_of(a, t, NEW);
}

void gsb_hints_find(const struct gsb_auction *a, struct gsb_hints *out)
{
	struct trials t = {0};

	*out = (struct gsb_hints){0};
	if (!can(a))
		return;
	find(a, &t);
	out->known = best_of(a, &t, MEASURED);
	if (!may_try(a))
		return;
	out->begun = best_of(a, &t, BEGUN);
	out->next = next_trial(a, &t);
}

struct gsb_hint gsb_hints_hoped(const struct gsb_auction *a, const struct gsb_hints *h,
				const struct gsb_split *known, const struct gsb_split *none)
{
	if (gsb_split_is_worth_a_risk(a, &h->begun.worth, known, none))
		return h->begun;
	if (gsb_split_is_worth_a_risk(a, &h->next.worth, known, none))
		return h->next;
	return (struct gsb_hint){0};
}
