/*
 * inside.c - two on the same SMs, one of them with a part of its blocks, so that the other's find room beside them.
 *
 * Where one lives on the memory and the other on its SMs, hardly any of what one wants is of use to the other: what keeps them apart is room, since whoever
 * has all places of an SM leaves none. So one of the two is launched in its persistent form (doc/resizing.md) with blocks for a part of its places. It
 * goes to a queue of high priority: of that grid nothing is left to be placed once it is there, so it holds nobody up, and the next launch of it has
 * the first places that become free. Which of the two, and which part, nothing but a trial tells: the wrong one may lose half.
 *
 * One with more of its places is not slower, nor faster by more than in proportion, and the other one is not faster for it: so what was measured with one
 * part bounds what may be hoped of others, as parts of the SMs do (curves.c).
 */
#include "broker/policy/auction.h"

#include <math.h>

#define TRIES 4 /* candidates */
#define STAYS \
	64 /* launches of the longest that are to come for a trial: twice as many as for one of parts, which loses nothing */
#define KNEE   1.1 /* times as fast on a part as its SMs are many: it lives on the memory */
#define PLACES 8   /* eighths */

/* In the order in which they are tried where no more is hoped of one than of another. */
static const uint32_t limits[] = {GSB_LIMIT_HALF, 2, 6};
#define N_LIMITS (sizeof(limits) / sizeof(*limits))

/* Of both where that one has so many eighths. One value is enough to give up hope, so that who starves is waited for once. */
struct seen {
	double speed[2][PLACES + 1][2]; /* 0: not measured */
	uint32_t n[2][PLACES + 1][2];	/* values */
};

static bool lives_on_memory(const struct gsb_auction *a, unsigned i)
{
	const double all = a->view->arch->n_sms;

	for (uint32_t u = 1; u < a->n_units; u++)
		if (a->of[i].part.known[u] > KNEE * gsb_auction_sms_of(a, i, u) / all)
			return true;
	return false;
}

static bool may_limit(const struct gsb_auction *a, unsigned who)
{
	return a->of[who].claim->habits.limits && a->of[who].claim->habits.n == 1;
}

/* Two by themselves, of which one lives on the memory and the other does not. */
static bool can(const struct gsb_auction *a)
{
	return a->n == 2 && !a->strangers && !a->cooperative && a->sms.n == a->view->arch->n_sms &&
	       (may_limit(a, 0) || may_limit(a, 1)) &&
	       lives_on_memory(a, 0) != lives_on_memory(a, 1);
}

/* For so long that neither a trial nor what was measured goes on: the other's next launch goes as asked or apart, and lets it end. */
static bool is_held_up(const struct gsb_auction *a)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->of[i].there_ns > GSB_INSIDE_PATIENCE * gsb_contender_launch_ns(&a->of[i]))
			return true;
	return false;
}

/* What is brief has no time to make good what a trial loses. */
static bool may_try(const struct gsb_auction *a)
{
	return !a->brief && !is_held_up(a) && gsb_auction_will_stay_for(a, STAYS);
}

static void find_seen(const struct gsb_auction *a, struct seen *s)
{
	for (unsigned who = 0; who < 2; who++)
		for (unsigned k = 0; k < N_LIMITS; k++)
			for (unsigned i = 0; i < 2; i++)
				s->speed[who][limits[k]][i] = gsb_contender_in(
					a, i, a->sms.n,
					(struct gsb_manners){i == who ? limits[k] : 0,
							     i == who ? 0 : limits[k]},
					&s->n[who][limits[k]][i]);
}

/* What is being tried is to be measured before another is: to and fro would cost as much. */
enum stage { NEW, BEGUN, MEASURED };

static enum stage stage_of(const struct seen *s, unsigned who, uint32_t eighths)
{
	const double *speed = s->speed[who][eighths];
	const uint32_t *n = s->n[who][eighths];

	if (n[0] >= GSB_MEASURED && n[1] >= GSB_MEASURED)
		return MEASURED;
	return speed[0] > 0 || speed[1] > 0 ? BEGUN : NEW;
}

static unsigned n_tried(const struct seen *s)
{
	unsigned n = 0;

	for (unsigned who = 0; who < 2; who++)
		for (unsigned k = 0; k < N_LIMITS; k++)
			n += stage_of(s, who, limits[k]) != NEW;
	return n;
}

/* On a full unit the older block has all, in whatever part (doc/model.md): who was starved once is not to be starved again. */
static bool has_starved(const struct seen *s)
{
	for (unsigned who = 0; who < 2; who++)
		for (unsigned k = 0; k < N_LIMITS; k++)
			for (unsigned i = 0; i < 2; i++)
				if (s->speed[who][limits[k]][i] > 0 &&
				    s->speed[who][limits[k]][i] * GSB_INSIDE_PATIENCE < 1)
					return true;
	return false;
}

/* What that with another part says of this one. What the other one takes longer than alone because of it falls with the square of its places at most. */
static double bound_from(double speed, uint32_t eighths, uint32_t other, bool is_limited)
{
	double less = (double)eighths / other;

	if (is_limited)
		return less > 1 ? speed * less : speed;
	return less < 1 ? 1 / (1 + (1 / speed - 1) * less * less) : speed;
}

static double hope(const struct seen *s, unsigned who, uint32_t eighths, unsigned i)
{
	double most = 1;

	for (unsigned k = 0; k < N_LIMITS; k++) {
		double speed = s->speed[who][limits[k]][i];

		if (speed > 0)
			most = fmin(most, bound_from(speed, eighths, limits[k], i == who));
	}
	return most;
}

/* Sum 0: it leaves one of them too little. */
static struct gsb_split worth(const struct gsb_auction *a, const struct seen *s, unsigned who,
			      uint32_t eighths)
{
	double speeds[2];

	for (unsigned i = 0; i < 2; i++) {
		speeds[i] = stage_of(s, who, eighths) == MEASURED ? s->speed[who][eighths][i]
								  : hope(s, who, eighths, i);
		if (speeds[i] < a->of[i].least_speed)
			return (struct gsb_split){0};
	}
	return gsb_split_of_speeds(a, speeds);
}

static bool is_better(const struct gsb_split *s, const struct gsb_split *best)
{
	return s->sum > 0 && (best->sum <= 0 || s->product > best->product);
}

static struct gsb_inside best_of(const struct gsb_auction *a, const struct seen *s,
				 enum stage stage)
{
	const unsigned first = !lives_on_memory(a, 0); /* it wants few places for what it does */
	struct gsb_inside best = {0};

	for (unsigned k = 0; k < 2 * N_LIMITS; k++) {
		const unsigned who = k % 2 ? !first : first;
		const uint32_t eighths = limits[k / 2];
		struct gsb_split w;

		if (!may_limit(a, who) || stage_of(s, who, eighths) != stage)
			continue;
		w = worth(a, s, who, eighths);
		if (is_better(&w, &best.worth))
			best = (struct gsb_inside){who, eighths, w};
	}
	return best;
}

struct gsb_inside gsb_inside_known(const struct gsb_auction *a)
{
	struct seen s = {0};

	if (!can(a) || is_held_up(a))
		return (struct gsb_inside){0};
	find_seen(a, &s);
	return best_of(a, &s, MEASURED);
}

struct gsb_inside gsb_inside_hoped(const struct gsb_auction *a, const struct gsb_split *known,
				   const struct gsb_split *none)
{
	struct gsb_inside best = {0};
	struct seen s = {0};

	if (!can(a) || !may_try(a))
		return best;
	find_seen(a, &s);
	best = best_of(a, &s, BEGUN);
	if (!gsb_split_is_worth_a_risk(a, &best.worth, known, none) && n_tried(&s) < TRIES &&
	    !has_starved(&s))
		best = best_of(a, &s, NEW);
	return gsb_split_is_worth_a_risk(a, &best.worth, known, none) ? best
								      : (struct gsb_inside){0};
}

void gsb_inside_take(const struct gsb_auction *a, const struct gsb_inside *in,
		     struct gsb_parts *out)
{
	for (unsigned i = 0; i < 2; i++)
		out->of[i] = (struct gsb_part){.claim = a->of[i].claim,
					       .sms = GSB_ALL_SMS,
					       .manner = i == in->who ? in->eighths : 0};
	out->n = 2;
	out->inside = true;
}
