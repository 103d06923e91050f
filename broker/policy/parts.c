/*
 * parts.c - see parts.h. Here parts, turns and all SMs for all are held against each other; contenders.c, curves.c, split.c, hint.c, inside.c, lanes.c
 * and turns.c have one of the questions each.
 */
#include "broker/policy/parts.h"

#include <math.h>
#include <stddef.h>

#include "broker/policy/auction.h"

#define MEASURED_BY 2	 /* launches of each */
#define TRIAL_LOSS  0.01 /* of the time to the end of what is brief, for all trials */
#define TRIES \
	5 /* splits; kernels of few rounds have steps in their curves, and would be tried on all */

/* ---- what is best ---- */

static unsigned n_tried(const struct gsb_auction *a)
{
	unsigned n = 0;

	for (uint32_t u = 1; u < a->n_units; u++)
		n += a->of[0].part.known[u] > 0;
	return n;
}

/* Two by themselves: beside others nothing would be learnt that holds without them. @fair: they have their shares as it is. */
static bool may_try(const struct gsb_auction *a, bool fair)
{
	return !a->strangers && a->n == 2 && !(fair && gsb_auction_is_of_one_kernel(a)) &&
	       gsb_auction_will_stay(a, true) && n_tried(a) < TRIES;
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

/* The split that is in use is being tried: somebody has not been measured on it yet. Then it stays. */
static bool is_trying(const struct gsb_auction *a, const struct gsb_split *now)
{
	for (unsigned i = 0; now->sum > 0 && i < a->n; i++)
		if (a->of[i].part.known[now->units[i]] <= 0)
			return true;
	return false;
}

/*
 * What is lost if the split is no better than it must be: for as long as the launches take that measure it what sharing gained, and half a launch until
 * all are where they belong. Those before cost as much. What is brief must not end later by more than a hundredth for it.
 */
static bool is_cheap(const struct gsb_auction *a, const struct gsb_split *s,
		     const struct gsb_split *none)
{
	double lost = none->sum, longest = 0, takes = 0;

	for (unsigned i = 0; i < a->n; i++) {
		double low = a->of[i].part.low[s->units[i]],
		       launch = gsb_contender_launch_ns(&a->of[i]);

		lost -= low;
		longest = fmax(longest, launch);
		takes = fmax(takes, MEASURED_BY * launch / low);
	}
	lost = fmax(0, lost) * takes + longest / 2;
	return !a->brief || (n_tried(a) + 1) * lost <= TRIAL_LOSS * none->end_ns;
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
