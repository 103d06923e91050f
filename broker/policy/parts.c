/*
 * parts.c - see parts.h. Here parts, turns and all SMs for all are held against each other; contenders.c, curves.c, split.c, hint.c, inside.c, lanes.c
 * and turns.c have one of the questions each.
 */
#include "broker/policy/parts.h"

#include <math.h>
#include <stddef.h>

#include "broker/policy/auction.h"

#define MEASURED_BY 2	 /* launches of each */
#define TRIAL_LOSS  0.01 /* of the time to the end of what ends soon, for all trials, */
#define SURE	    4	 /* where so many values say how fast each is without */
#define TRIES \
	5 /* splits; kernels of few rounds have steps in their curves, and would be tried on all */

/* ---- what is best ---- */

/* One of both is enough to give a split up. */
static unsigned n_tried(const struct gsb_auction *a)
{
	unsigned n = 0;

	for (uint32_t u = 1; u < a->n_units; u++)
		n += a->of[0].part.known[u] > 0 ||
		     (a->n == 2 && a->of[1].part.known[a->n_units - u] > 0);
	return n;
}

/* What too few have said may look cheap by chance, and is looked at again with each launch until it does. */
static bool is_rash(const struct gsb_auction *a)
{
	for (unsigned i = 0; a->soon && i < a->n; i++)
		if (a->of[i].n_shared < SURE)
			return true;
	return false;
}

/* Two by themselves: beside others nothing would be learnt that holds without them. @fair: they have their shares as it is. */
static bool may_try(const struct gsb_auction *a, bool fair)
{
	return !a->strangers && a->n == 2 && !is_rash(a) &&
	       !(fair && gsb_auction_is_of_one_kernel(a)) && gsb_auction_will_stay(a, true) &&
	       n_tried(a) < TRIES;
}

static void hand_out(const struct gsb_auction *a, const struct gsb_split *s, struct gsb_parts *out)
{
	uint32_t first = a->sms.first;

	for (unsigned i = 0; i < a->n; i++) {
		uint32_t n = gsb_auction_sms_of(a, i, s->units[i]);

		out->of[i] = (struct gsb_part){a->of[i].claim, {first, n}, 0};
		first += n;
	}
	out->n = a->n;
}

static bool anybody_has_a_part(const struct gsb_auction *a)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->of[i].on)
			return true;
	return false;
}

/*
 * The split that is in use is being tried: somebody has not been measured on it yet. Then it stays, unless somebody who was has less than it may be left:
 * what ends soon has no time to hear the rest.
 */
static bool is_trying(const struct gsb_auction *a, const struct gsb_split *now)
{
	bool trying = false;

	for (unsigned i = 0; now->sum > 0 && i < a->n; i++) {
		double known = a->of[i].part.known[now->units[i]];

		if (a->soon && known > 0 && known < a->of[i].least_speed)
			return false;
		trying |= known <= 0;
	}
	return trying;
}

/* All end so much later when they have those speeds for so long, and then share all SMs: who ends last may lose more than all together. */
static double puts_off_ns(const struct gsb_auction *a, const double *speeds, double for_ns)
{
	double shared[GSB_PARTS_MAX];

	for (unsigned i = 0; i < a->n; i++)
		shared[i] = a->of[i].shared;
	return gsb_split_end_after_ns(a, shared, speeds, for_ns) - gsb_split_end_ns(a, shared);
}

/* As fast as it must be where it is brief; else half as much faster as may be hoped for. */
static double doubted(const struct gsb_auction *a, const struct gsb_part_curve *c, uint32_t units)
{
	return a->brief ? c->low[units] : (c->low[units] + c->high[units]) / 2;
}

/*
 * What is lost if the split is no better than it must be: for as long as the launches take that measure it what sharing gained, or by how much that puts off
 * the end, and half a launch until all are where they belong. Those before cost as much, and as long to leave if
 * that may be what there is without. What ends soon must not end later by more than a hundredth for it.
 */
static bool is_cheap(const struct gsb_auction *a, const struct gsb_split *s,
		     const struct gsb_split *none)
{
	double speeds[GSB_PARTS_MAX], lost = none->sum, longest = 0, takes = 0, low = 0, leave;

	for (unsigned i = 0; i < a->n; i++) {
		double launch = gsb_contender_launch_ns(&a->of[i]);

		speeds[i] = doubted(a, &a->of[i].part, s->units[i]);
		low += a->of[i].part.low[s->units[i]];
		lost -= speeds[i];
		longest = fmax(longest, launch);
		takes = fmax(takes, MEASURED_BY * launch / speeds[i]);
	}
	lost = fmax(fmax(0, lost) * takes, puts_off_ns(a, speeds, takes)) + longest / 2;
	leave = low < none->sum ? longest / 2 : 0;
	return !a->soon || lost + n_tried(a) * (lost + leave) <= TRIAL_LOSS * none->end_ns;
}

/* Each change from one to the other costs a launch or so: the one that there is stays while it is about as good. */
static bool is_best_inside(const struct gsb_auction *a, const struct gsb_split *inside,
			   const struct gsb_split *parts, const struct gsb_split *none)
{
	const double gain = anybody_has_a_part(a) ? GSB_PARTS_HOPE : -GSB_PARTS_HOPE;

	return gsb_split_gains(a, inside, none, none, GSB_PARTS_GAIN) &&
	       (!gsb_split_gains(a, parts, none, none, GSB_PARTS_GAIN) ||
		gsb_split_gains(a, inside, parts, none, gain));
}

static void take_hint(const struct gsb_auction *a, const struct gsb_hint *h, struct gsb_parts *out)
{
	hand_out(a, &h->worth, out);
	out->of[h->who].manner = h->manner;
}

/*
 * Of what is known, parts, with a hint or without, or inside the SMs, the best; before that what may be better. Parts are tried first: they lose nothing, and say
 * who lives on the memory. A hint comes next, which is told from the same without it.
 * @none: what there is without either, @fair: in which all have their shares.
 */
static void choose_parts(const struct gsb_auction *a, const struct gsb_split *none, bool fair,
			 struct gsb_parts *out)
{
	struct gsb_split s, known, *best = &known;
	struct gsb_inside inside, tried;
	struct gsb_hints hints;
	struct gsb_hint hint;

	s = anybody_has_a_part(a) ? gsb_split_best(a, GSB_HOPED, true) : (struct gsb_split){0};
	if (is_trying(a, &s)) {
		hand_out(a, &s, out);
		return;
	}
	known = gsb_split_best(a, GSB_KNOWN, false);
	inside = gsb_inside_known(a);
	if (is_best_inside(a, &inside.worth, &known, none))
		best = &inside.worth;
	gsb_hints_find(a, &hints);
	if (gsb_split_is_worth_a_risk(a, &hints.known.worth, best, none))
		best = &hints.known.worth;
	s = may_try(a, fair) ? gsb_split_best(a, GSB_HOPED, false) : (struct gsb_split){0};
	hint = gsb_hints_hoped(a, &hints, best, none);
	tried = gsb_inside_hoped(a, best, none);
	if (gsb_split_is_hoped_for(a, &s, best, none) && is_cheap(a, &s, none))
		hand_out(a, &s, out);
	else if (hint.worth.sum > 0)
		take_hint(a, &hint, out);
	else if (tried.eighths)
		gsb_inside_take(a, &tried, out);
	else if (best == &inside.worth)
		gsb_inside_take(a, &inside, out);
	else if (best == &hints.known.worth)
		take_hint(a, &hints.known, out);
	else if (gsb_split_gains(a, &known, none, none, GSB_PARTS_GAIN))
		hand_out(a, &known, out);
}

static void choose(struct gsb_auction *a, struct gsb_parts *out)
{
	struct gsb_split none = gsb_split_shared(a), turns = gsb_turns_split(a);
	double gain = a->starves ? GSB_PARTS_HOPE : GSB_PARTS_GAIN;
	bool in_turns = gsb_turns_can(a) && gsb_split_gains(a, &turns, &none, &none, gain);
	bool said =
		gsb_lanes_can(a) && gsb_lanes_choose(a, in_turns ? &turns : &none, in_turns, out);

	if (!said && a->n <= a->n_units && gsb_auction_will_stay(a, false)) {
		gsb_curves_bound(a);
		choose_parts(a, in_turns ? &turns : &none, in_turns || !a->starves, out);
	}
	if (!out->n && in_turns)
		gsb_turns_take(a, out);
}

/* ---- the whole ---- */

/* Pieces are multiples of what the device hands out. */
static void measure_out(struct gsb_auction *a, struct gsb_sm_range rest)
{
	uint32_t group = a->view->sm_group;

	a->sms = rest.n ? rest : (struct gsb_sm_range){0, a->view->arch->n_sms};
	a->unit = (a->sms.n / group + GSB_N_UNITS - 1) / GSB_N_UNITS * group;
	a->n_units = a->unit ? a->sms.n / a->unit : 0;
	a->over = a->unit ? a->sms.n % a->unit : 0;
}

void gsb_parts_plan(const struct gsb_view *view, struct gsb_sm_range rest, bool critical_apart,
		    struct gsb_parts *out)
{
	struct gsb_auction a = {.view = view};

	out->n = 0;
	out->turns = false;
	out->inside = false;
	out->alone = NULL;
	out->brief = false;
	if (!view->sm_group || !view->estimates)
		return;
	measure_out(&a, rest);
	if (!gsb_auction_gather(&a, critical_apart) || !gsb_auction_overfills(&a))
		return;
	out->brief = !a.strangers && gsb_auction_is_brief(&a);
	out->alone = gsb_auction_next_alone(&a);
	if (gsb_auction_all_known(&a) && gsb_curves_find(&a))
		choose(&a, out);
}

struct gsb_part *gsb_parts_find(struct gsb_parts *p, const struct gsb_claim *c)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->of[i].claim == c)
			return &p->of[i];
	return NULL;
}
