/*
 * lanes.c - two lanes of SMs for three and more tenants: who lives on the memory in the one, who lives on the SMs in the other, and in each they
 * take turns.
 *
 * Who to put beside whom is a question of two classes. Two that live on the memory have together what one of them has, or less, and two that
 * live on the SMs as much as their SMs are; one of each gain from each other, whichever they are. So no matching of pairs is better than to keep those apart
 * that live on the memory, by turns in a lane of theirs, and to have one of them beside one of the others at all times. Lanes have no common turns, so nothing
 * is emptied between one pair and the next, and a lane is as wide as makes the product of all speeds the largest (parts.h).
 *
 * Who lives on the memory is seen from its speed on a part: it is faster there than its SMs are many. So each kernel is tried once on one narrow part while
 * all others take turns beside it; what is known of a kernel is known for all tenants that launch it, and in the next engine (estimate.h).
 */
#include "broker/policy/auction.h"

#include <math.h>
#include <stddef.h>

#define WAIT_NS \
	200000000 /* from one launch of a tenant to its next: what waits longer goes in any case */
#define KNEE	      1.1 /* times as fast on a part as its SMs are many: it lives on the memory */
#define TEST	      (6.0 / 16) /* of the SMs: a part on which such a one is seen */
#define TESTED_FOR    3		 /* times as long as the longest launch, */
#define SEEN_TWICE    5		 /* and so many launches where some live on the memory, */
#define ENOUGH	      16	 /* or so many launches, */
#define GIVEN_UP      8		 /* or so many of which none was by itself */
#define FILLS	      0.75	 /* of the device, each of them */
#define LONG_NS	      1000000000 /* of work is to come, and */
#define STAYS	      64	 /* launches of each in the mean are to come, for the tests, */
#define STAYS_STARVED 32	 /* or where somebody has too little; */
#define STAYS_IN_LANE 8		 /* and of the longest for each lane */
#define SURE	      8		 /* values of how fast each is beside the others on all SMs */
#define NOISE	      0.1	 /* of the sum of these */
#define NEW	      0.1 /* of the mean speed that a lane may be worse for being as wide as in the tests */
#define STEADY	      0.01 /* of the mean speed must be gained by another width */

struct lanes {
	const struct gsb_auction *a;
	uint32_t test; /* units */
	uint32_t now;  /* units of the first lane, as it is; 0: there is none */
	unsigned n_knees;
	unsigned order
		[GSB_PARTS_MAX]; /* of contenders; first those with a knee, the sharpest first */
	bool tested[GSB_PARTS_MAX];
	uint32_t n_there[GSB_PARTS_MAX]; /* launches on the narrow part */
	double knee[GSB_PARTS_MAX];
	struct gsb_part_curve first[GSB_PARTS_MAX], second[GSB_PARTS_MAX]; /* on the lanes */
};

/* The first so many of the order have the first lane, which is so wide. */
struct cut {
	unsigned n_first;
	uint32_t units;
	double first, second; /* weights */
	double mixed;	      /* part of the time in which one with a knee has the second lane */
};

/* ---- what is known ---- */

static double part_of_all(const struct lanes *l, uint32_t units, uint32_t over)
{
	return (double)(units * l->a->unit + over) / l->a->view->arch->n_sms;
}

/* So many times as fast as in proportion, where it was measured. */
static double knee_of(const struct lanes *l, unsigned i)
{
	double knee = 0;

	for (uint32_t u = 1; u < l->a->n_units; u++) {
		knee = fmax(knee, l->first[i].known[u] / part_of_all(l, u, 0));
		knee = fmax(knee, l->second[i].known[u] / part_of_all(l, u, l->a->over));
	}
	return knee;
}

static void put_in_order(struct lanes *l)
{
	l->n_knees = 0;
	for (unsigned i = 0; i < l->a->n; i++) {
		unsigned at = i;

		for (; at && l->knee[l->order[at - 1]] < l->knee[i]; at--)
			l->order[at] = l->order[at - 1];
		l->order[at] = i;
		l->n_knees += l->knee[i] > KNEE;
	}
}

static void set_knee(struct lanes *l, unsigned i, double knee)
{
	l->knee[i] = knee;
	put_in_order(l);
}

/* The width of the first lane as long as somebody's launch shows it. */
static uint32_t width_now(const struct gsb_auction *a)
{
	for (unsigned i = 0; i < a->n; i++) {
		const struct gsb_contender *c = &a->of[i];

		if (c->on && c->at.first == a->sms.first)
			return c->on;
		if (c->on && c->at.first + c->at.n == a->sms.first + a->sms.n)
			return (c->at.first - a->sms.first) / a->unit;
	}
	return 0;
}

/*
 * For long enough that others had a turn in the other lane meanwhile, or never by itself. Who lives on the memory and had only its like beside it seems to
 * live on the SMs: so it is seen once more when some are known, which are kept out of its way then.
 */
static bool is_tested(const struct lanes *l, unsigned i, double longest_ns)
{
	double speed = l->first[i].known[l->test];
	uint32_t n = l->n_there[i];

	if (speed <= 0)
		return gsb_contender_n_on(l->a, i, l->test * l->a->unit, GSB_SMS_SHARED) >=
		       GIVEN_UP;
	if (l->n_knees && l->knee[i] <= KNEE && n < SEEN_TWICE)
		return false;
	return n >= ENOUGH ||
	       n * gsb_contender_launch_ns(&l->a->of[i]) / speed >= TESTED_FOR * longest_ns;
}

static void learn(struct lanes *l, const struct gsb_auction *a)
{
	double longest_ns = 0;

	l->a = a;
	l->test = (uint32_t)(a->n_units * TEST);
	l->now = width_now(a);
	for (unsigned i = 0; i < a->n; i++) {
		gsb_curve_find_low(a, i, 0, &l->first[i]);
		gsb_curve_find_low(a, i, a->over, &l->second[i]);
		l->n_there[i] = gsb_contender_n_on(a, i, l->test * a->unit, GSB_SMS_OWN);
		l->knee[i] = knee_of(l, i);
		longest_ns = fmax(longest_ns, gsb_contender_launch_ns(&a->of[i]));
	}
	put_in_order(l);
	for (unsigned i = 0; i < a->n; i++)
		l->tested[i] = is_tested(l, i, longest_ns);
}

/* ---- what a cut is worth ---- */

/* What was not tested is hoped to live on the memory in the first lane, and on the SMs in the second. */
static bool is_hoped(const struct lanes *l, unsigned at)
{
	return isinf(l->knee[l->order[at]]);
}

static double weight_of(const struct lanes *l, unsigned at)
{
	return l->a->of[l->order[at]].claim->weight;
}

static struct cut cut_at(const struct lanes *l, unsigned n_first)
{
	struct cut c = {.n_first = n_first};

	for (unsigned at = 0; at < l->a->n; at++) {
		if (at < n_first)
			c.first += weight_of(l, at);
		else
			c.second += weight_of(l, at);
		if (at >= n_first && at < l->n_knees && !is_hoped(l, at))
			c.mixed += weight_of(l, at);
	}
	c.mixed /= c.second;
	return c;
}

/* While its lane is its own. Of those with a knee two share the memory by their SMs: so in the second lane it is as fast as these are many, and so is who is beside it. */
static double speed_alone(const struct lanes *l, const struct cut *c, unsigned at)
{
	const struct gsb_auction *a = l->a;
	unsigned i = l->order[at];
	uint32_t rest = a->n_units - c->units;
	double speed;

	if (at >= c->n_first)
		return at < l->n_knees && !is_hoped(l, at) ? part_of_all(l, rest, a->over)
							   : l->second[i].low[rest];
	speed = is_hoped(l, at) ? 1 : l->first[i].low[c->units];
	return (1 - c->mixed) * speed + c->mixed * part_of_all(l, c->units, 0);
}

/* Its turns in it are as many as its weight. */
static double speed_of(const struct lanes *l, const struct cut *c, unsigned at)
{
	return speed_alone(l, c, at) * weight_of(l, at) / (at < c->n_first ? c->first : c->second);
}

/* What was seen of those in the tests may be of when others of their kind were beside them: so the lane is as wide as then, for a while. */
static bool is_new(const struct lanes *l, const struct cut *c)
{
	for (unsigned at = 0; at < c->n_first; at++)
		if (l->n_there[l->order[at]] < ENOUGH)
			return true;
	return false;
}

/* The logarithm of the product of speeds; -INFINITY: somebody has too little, or waits too long. */
static double value(const struct lanes *l, const struct cut *c)
{
	double sum = 0;

	for (unsigned at = 0; at < l->a->n; at++) {
		const struct gsb_contender *of = &l->a->of[l->order[at]];
		double speed = speed_of(l, c, at);

		if (speed < of->least_speed || gsb_contender_launch_ns(of) > speed * WAIT_NS)
			return -INFINITY;
		sum += of->claim->weight * log(speed);
	}
	if (c->units == l->test && is_new(l, c))
		sum += NEW * l->a->weights;
	return sum + (c->units == l->now ? STEADY * l->a->weights : 0);
}

/* The best of all; no units: there is none. */
static struct cut best_cut(const struct lanes *l)
{
	struct cut best = {0};
	double most = -INFINITY;

	for (unsigned n = 1; n <= l->n_knees && n < l->a->n; n++) {
		struct cut c = cut_at(l, n);

		for (c.units = 1; c.units < l->a->n_units; c.units++) {
			double v = value(l, &c);

			if (v <= most)
				continue;
			most = v;
			best = c;
		}
	}
	return best;
}

/* When all has ended: who has the lane that ends later has all SMs from then on. */
static double end_ns(const struct lanes *l, const struct cut *c)
{
	double takes[2] = {0}, alone[2] = {0};
	bool later;

	for (unsigned at = 0; at < l->a->n; at++) {
		double ns = gsb_contender_expected_ns(&l->a->of[l->order[at]]);

		alone[at >= c->n_first] += ns;
		takes[at >= c->n_first] += ns / speed_alone(l, c, at);
	}
	later = takes[1] > takes[0];
	return takes[!later] + (1 - takes[!later] / takes[later]) * alone[later];
}

static struct gsb_split split_of(const struct lanes *l, const struct cut *c)
{
	struct gsb_split s = {.fair_loss = GSB_PARTS_GAIN};

	if (!c->units)
		return s;
	for (unsigned at = 0; at < l->a->n; at++) {
		double speed = speed_of(l, c, at);

		s.product += weight_of(l, at) * log(speed);
		s.sum += speed;
	}
	s.end_ns = end_ns(l, c);
	return s;
}

/* ---- whether ---- */

static bool are_alike(const struct gsb_auction *a)
{
	for (unsigned i = 1; i < a->n; i++)
		if (a->of[i].claim->habits.launch[0] != a->of[0].claim->habits.launch[0])
			return false;
	return true;
}

/* In the second lane while somebody is tested. */
static bool would_wait(const struct gsb_auction *a)
{
	for (unsigned i = 0; i < a->n; i++)
		if (gsb_contender_launch_ns(&a->of[i]) >
		    WAIT_NS * (1 - TEST) * gsb_contender_share(a, &a->of[i]))
			return true;
	return false;
}

/* For two lanes at all. */
static bool has_enough(const struct gsb_auction *a)
{
	double left = 0, longest = 0;

	for (unsigned i = 0; i < a->n; i++) {
		left += gsb_contender_expected_ns(&a->of[i]);
		longest = fmax(longest, gsb_contender_launch_ns(&a->of[i]));
	}
	return left >= 2 * STAYS_IN_LANE * longest;
}

/* Each a lane by itself: what has fewer blocks has room beside others, and in turn nobody would use it. */
static bool each_fills(const struct gsb_auction *a)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->of[i].claim->habits.filled < FILLS)
			return false;
	return true;
}

bool gsb_lanes_can(const struct gsb_auction *a)
{
	return a->n > 2 && a->n_units > 2 && !a->strangers && !a->cooperative && !are_alike(a) &&
	       !would_wait(a) && has_enough(a) && each_fills(a);
}

/* Each lane has enough to do for what is lost when it ends. */
static bool will_stay(const struct lanes *l, const struct cut *c)
{
	double left[2] = {0}, longest = 0;

	for (unsigned at = 0; at < l->a->n; at++) {
		const struct gsb_contender *of = &l->a->of[l->order[at]];

		left[at >= c->n_first] += gsb_contender_expected_ns(of);
		longest = fmax(longest, gsb_contender_launch_ns(of));
	}
	return fmin(left[0], left[1]) >= STAYS_IN_LANE * longest;
}

static bool may_test(const struct lanes *l, bool in_turns)
{
	double expected = 0, launches = 0;
	bool any = false;

	for (unsigned i = 0; i < l->a->n; i++) {
		if (!in_turns && l->a->of[i].n_shared < (l->a->starves ? 2 : 1) * SURE)
			return false;
		expected += gsb_contender_expected_ns(&l->a->of[i]);
		launches += gsb_contender_launch_ns(&l->a->of[i]);
		any |= !l->tested[i];
	}
	return any && expected >= LONG_NS &&
	       expected >= (l->a->starves ? STAYS_STARVED : STAYS) * launches;
}

/* ---- who where ---- */

static struct gsb_part part(const struct lanes *l, unsigned i, bool first, uint32_t units)
{
	const struct gsb_auction *a = l->a;
	uint32_t n = units * a->unit;

	return (struct gsb_part){
		.claim = a->of[i].claim,
		.sms = first ? (struct gsb_sm_range){a->sms.first, n}
			     : (struct gsb_sm_range){a->sms.first + n, a->sms.n - n},
	};
}

static void take_turns(const struct lanes *l, uint32_t units, struct gsb_parts *out)
{
	gsb_turns_take_on(l->a, part(l, 0, true, units).sms, out);
	gsb_turns_take_on(l->a, part(l, 0, false, units).sms, out);
}

static void hand_out(const struct lanes *l, const struct cut *c, struct gsb_parts *out)
{
	for (unsigned at = 0; at < l->a->n; at++)
		out->of[l->order[at]] = part(l, l->order[at], at < c->n_first, c->units);
	take_turns(l, c->units, out);
}

/* Who is there already stays; else who is ready and elsewhere has nothing that runs. */
static unsigned pick(const struct lanes *l)
{
	unsigned best = GSB_PARTS_MAX, most = 0;

	for (unsigned i = 0; i < l->a->n; i++) {
		const struct gsb_contender *c = &l->a->of[i];
		bool there = c->on == l->test && c->at.first == l->a->sms.first;
		unsigned rank = l->tested[i]	? 0
				: there		? 3
				: !c->n_running ? 1 + (c->n_ready > 0)
						: 1;

		if (rank <= most)
			continue;
		most = rank;
		best = i;
	}
	return best;
}

/* It would be slowed by itself, or by who lives on the memory as it may do. */
static bool spoils(const struct lanes *l, unsigned i, unsigned who)
{
	return l->a->of[i].claim->habits.launch[0] == l->a->of[who].claim->habits.launch[0] ||
	       l->knee[i] > KNEE;
}

/* Those who live on the memory have had less of the SMs, and would always be due. */
static void go_first(const struct lanes *l, unsigned who, struct gsb_parts *out)
{
	const struct gsb_auction *a = l->a;

	for (unsigned i = 0; i < a->n; i++)
		if (a->of[i].n_running && gsb_sm_ranges_overlap(a->of[i].at, out->of[who].sms))
			return;
	out->of[who].n_go = a->of[who].n_ready > 0;
}

static void test(const struct lanes *l, unsigned who, struct gsb_parts *out)
{
	unsigned n_first = 0;

	for (unsigned i = 0; i < l->a->n; i++)
		n_first += spoils(l, i, who);
	for (unsigned i = 0; i < l->a->n; i++)
		out->of[i] = part(l, i, n_first < l->a->n ? spoils(l, i, who) : i == who, l->test);
	go_first(l, who, out);
	take_turns(l, l->test, out);
}

/* Of three and more that fill the device the first in each turn has waited for nobody: so a few launches say too much, and that together they are faster than one after the other is believed from NOISE on. */
static struct gsb_split without_noise(const struct gsb_auction *a, const struct gsb_split *none)
{
	struct gsb_split s = *none;

	if (s.sum <= 1 || s.sum >= 1 + NOISE)
		return s;
	s.product -= a->weights * log(s.sum);
	s.end_ns *= s.sum;
	s.sum = 1;
	return s;
}

static bool all_tested(const struct lanes *l)
{
	for (unsigned i = 0; i < l->a->n; i++)
		if (!l->tested[i])
			return false;
	return true;
}

/* It could be so much better if that one lives on the memory. */
static bool is_worth_a_test(struct lanes *l, unsigned who, const struct gsb_split *known,
			    const struct gsb_split *none)
{
	double knee = l->knee[who];
	struct gsb_split hoped;
	struct cut c;

	set_knee(l, who, INFINITY);
	c = best_cut(l);
	hoped = split_of(l, &c);
	set_knee(l, who, knee);
	return gsb_split_is_hoped_for(l->a, &hoped, known, none);
}

bool gsb_lanes_choose(const struct gsb_auction *a, const struct gsb_split *others, bool in_turns,
		      struct gsb_parts *out)
{
	struct gsb_split known, none = without_noise(a, others);
	unsigned who;
	struct lanes l;
	struct cut c;

	learn(&l, a);
	c = best_cut(&l);
	known = split_of(&l, &c);
	who = may_test(&l, in_turns) ? pick(&l) : GSB_PARTS_MAX;
	if (who < GSB_PARTS_MAX && is_worth_a_test(&l, who, &known, &none))
		test(&l, who, out);
	else if (gsb_split_gains(a, &known, &none, &none, GSB_PARTS_GAIN) &&
		 known.end_ns <= none.end_ns && will_stay(&l, &c))
		hand_out(&l, &c, out);
	return out->n || who < GSB_PARTS_MAX || all_tested(&l);
}
