/*
 * parts.c - see parts.h.
 */
#include "broker/policy/parts.h"

#include <math.h>
#include <stddef.h>

#include "broker/policy/claim.h"
#include "broker/policy/estimate.h"

#define N_UNITS	    16 /* SMs are handed out in so many pieces at most */
#define SEEN_AGAIN  3  /* a tenant has a habit when it came back so often, */
#define STAYS	    64 /* and counts when so many more of the longest launches will pass, */
#define STAYS_FAIR  16 /* or so many where somebody has less than its share, */
#define WORTH_ALONE 32 /* and is measured alone where so many of its own are to come, */
#define LINGER_PART \
	4 /* and while it is away for a part of its kernel's time no longer than this, */
#define LINGER_NS 2000000 /* or this */
#define MEASURED  2	  /* values make a speed */
#define GAIN	  0.05	  /* of the mean speed, for parts to be worth it, */
#define HOPE	  0.02	  /* and for one more split to be tried */
#define TRIES \
	5 /* splits; kernels of few rounds have steps in their curves, and would be tried on all */
#define SUM_LOSS  0.01	    /* of all speeds together that fairness may cost */
#define FAIR_LOSS 0.05	    /* the same where somebody has less than its share */
#define TURN_NS	  100000000 /* what is longer nobody has to wait for before its turn */
#define OWN_LOSS \
	0.05 /* of its speed that anyone may lose by parts; below its share only who had more, for one who had less */
#define EVENLY 1e-6 /* between equals, SMs by weight */

struct contender {
	const struct gsb_claim *claim;
	uint64_t n_queued;
	unsigned n_ready, n_running; /* kernels */
	double alone_ns;	     /* all of its habits once, beside nobody; 0: not known */
	double shared;		     /* speed beside the others on all SMs */
	double least_speed;	     /* that a part must leave it */
	uint32_t on;		     /* units that it has just now; 0: none of its own */
	uint32_t
		least; /* units of which something was measured, and below half of it nothing is hoped for */
	double known[N_UNITS + 1]; /* its speed on so many units; 0: not measured */
	double low[N_UNITS + 1], high[N_UNITS + 1]; /* bounds of its speed on so many units */
};

struct auction {
	const struct gsb_view *view;
	struct gsb_sm_range sms;
	uint32_t unit, n_units, over; /* SMs; what is left over goes to the last */
	double weights;
	bool strangers; /* others have kernels here */
	bool starves;	/* beside each other on all SMs somebody has less than its share */
	unsigned n;
	struct contender of[GSB_PARTS_MAX];
};

/* Units of each. */
struct split {
	uint32_t units[GSB_PARTS_MAX];
	double product, sum; /* the logarithm of the product, by weights; of speeds */
};

/* ---- who takes part ---- */

static struct gsb_estimated alone(const struct gsb_view *v, const struct gsb_claim *c, unsigned i)
{
	return gsb_estimates_alone(v->estimates, c->habits.launch[i]);
}

static double alone_ns(const struct gsb_view *v, const struct gsb_claim *c)
{
	double sum = 0;

	for (unsigned i = 0; i < c->habits.n; i++) {
		struct gsb_estimated e = alone(v, c, i);

		if (!e.n)
			return 0;
		sum += e.mean;
	}
	return sum;
}

static bool is_here(const struct gsb_view *v, const struct gsb_claim *c, double ns)
{
	double linger = fmin(ns / c->habits.n / LINGER_PART, LINGER_NS);

	return c->n_ready || c->n_running ||
	       (double)v->now_ns <= (double)c->habits.ended_ns + linger;
}

static void add_contender(struct auction *a, const struct gsb_claim *c)
{
	double ns = alone_ns(a->view, c);

	if (!is_here(a->view, c, ns))
		return;
	if (a->n < GSB_PARTS_MAX)
		a->of[a->n] = (struct contender){.claim = c, .alone_ns = ns};
	a->n++;
	a->weights += c->weight;
}

static struct contender *find(struct auction *a, const struct gsb_claim *c)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->of[i].claim == c)
			return &a->of[i];
	return NULL;
}

/* The piece of that many SMs; 0: none of it is. */
static uint32_t units_of(const struct auction *a, struct gsb_sm_range sms)
{
	return sms.n < a->sms.n && sms.first >= a->sms.first ? sms.n / a->unit : 0;
}

/* Whose kernel it is; NULL: a stranger's, or it is none. */
static struct contender *add_work(struct auction *a, const struct gsb_work *w)
{
	struct contender *c = find(a, w->claim);

	if (w->kind != GSB_WORK_KERNEL)
		return NULL;
	if (!c)
		a->strangers = true;
	else if (c->n_queued < *w->n_queued)
		c->n_queued = *w->n_queued;
	return c;
}

static void add_ready(struct auction *a, const struct gsb_work *w)
{
	struct contender *c = add_work(a, w);

	if (c)
		c->n_ready++;
}

static void add_running(struct auction *a, const struct gsb_work *w)
{
	struct contender *c = add_work(a, w);

	if (!c)
		return;
	c->n_running++;
	c->on = units_of(a, w->sms);
}

/* False: nobody, one alone, or more than there are parts for. */
static bool gather(struct auction *a, bool critical_apart)
{
	const struct gsb_view *v = a->view;

	for (unsigned i = 0; i < v->n_claims; i++) {
		const struct gsb_claim *c = v->claims[i];

		if (c->habits.n_again >= SEEN_AGAIN && !(critical_apart && c->critical))
			add_contender(a, c);
	}
	if (a->n < 2 || a->n > GSB_PARTS_MAX || a->n > a->n_units)
		return false;
	for (unsigned i = 0; i < v->n_ready; i++)
		add_ready(a, v->ready[i]);
	for (unsigned i = 0; i < v->n_running; i++)
		add_running(a, v->running[i]);
	return true;
}

/* Launches that will come: what stands in its queue, and as many as there were. */
static double expected(const struct contender *c)
{
	return (double)c->claim->habits.n_again + (double)c->n_queued;
}

/* Else they have room beside each other, and nothing is to be gained. */
static bool overfill(const struct auction *a)
{
	double filled = 0;

	for (unsigned i = 0; i < a->n; i++)
		filled += a->of[i].claim->habits.filled;
	return filled > 1;
}

static double launch_ns(const struct contender *c)
{
	return c->alone_ns / c->claim->habits.n;
}

/* Whoever is left on a part when the others go has lost half a launch or so: that must be little against the time together. */
static bool will_stay(const struct auction *a)
{
	double longest = 0, shortest_stay = INFINITY;

	for (unsigned i = 0; i < a->n; i++) {
		longest = fmax(longest, launch_ns(&a->of[i]));
		shortest_stay = fmin(shortest_stay, expected(&a->of[i]) * launch_ns(&a->of[i]));
	}
	return shortest_stay >= (a->starves ? STAYS_FAIR : STAYS) * longest;
}

/* Who is to be measured alone, if that can be: of whom that is not known there is nothing to compare with. */
static const struct gsb_claim *next_alone(const struct auction *a)
{
	for (unsigned i = 0; i < a->n; i++)
		if (expected(&a->of[i]) < WORTH_ALONE)
			return NULL;
	for (unsigned i = 0; i < a->n; i++)
		if (a->of[i].alone_ns <= 0)
			return a->strangers ? NULL : a->of[i].claim;
	return NULL;
}

static bool all_known(const struct auction *a)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->of[i].alone_ns <= 0)
			return false;
	return true;
}

/* ---- speeds ---- */

/* The code of the only other one; 0: there are several. */
static uint64_t beside(const struct auction *a, unsigned i)
{
	return a->n == 2 ? a->of[!i].claim->habits.code : 0;
}

/* On so many SMs, against alone; 0: not measured. What was measured in this company counts before what was in any. */
static double speed(const struct auction *a, unsigned i, uint32_t n_sms, enum gsb_sharing sharing)
{
	const struct gsb_habits *h = &a->of[i].claim->habits;
	const struct gsb_view *v = a->view;
	double sum = 0;

	for (unsigned k = 0; k < h->n; k++) {
		struct gsb_estimated e = gsb_estimates_on(v->estimates, v->arch, h->launch[k],
							  n_sms, sharing, beside(a, i));

		if (e.n < MEASURED)
			e = gsb_estimates_on(v->estimates, v->arch, h->launch[k], n_sms, sharing,
					     0);
		if (e.n < MEASURED)
			return 0;
		sum += e.mean;
	}
	return a->of[i].alone_ns / sum;
}

static uint32_t sms_of(const struct auction *a, unsigned i, uint32_t units)
{
	return units * a->unit + (i + 1 == a->n ? a->over : 0);
}

/* Two points of a curve, and the line through them. */
struct line {
	double x1, y1, x2, y2;
};

static double at(const struct line *l, double x)
{
	return l->y1 + (l->y2 - l->y1) / (l->x2 - l->x1) * (x - l->x1);
}

/* From the left: not slower than on fewer SMs, and not faster than it went on; first from no SMs at speed 0. */
static void bound_from_fewer(const struct auction *a, unsigned i, struct contender *c)
{
	struct line l = {-1, 0, 0, 0};

	for (uint32_t u = 1; u <= a->n_units; u++) {
		double sms = sms_of(a, i, u);

		if (c->known[u] > 0)
			l = (struct line){l.x2, l.y2, sms, c->known[u]};
		c->low[u] = l.y2;
		c->high[u] = l.x2 > 0 ? fmin(1, at(&l, sms)) : 1;
	}
}

/* From the right: not faster than on more SMs, nor than it went on; and not slower than in proportion. On all it has speed 1. */
static void bound_from_more(const struct auction *a, unsigned i, struct contender *c)
{
	double all = a->view->arch->n_sms;
	struct line l = {all, 1, all + 1, 1};

	for (uint32_t u = a->n_units; u; u--) {
		double sms = sms_of(a, i, u);

		if (c->known[u] > 0) {
			l = (struct line){sms, c->known[u], l.x1, l.y1};
			c->least = u;
		}
		c->high[u] = fmin(c->high[u], fmin(l.y1, at(&l, sms)));
		c->low[u] = fmax(c->low[u], l.y1 * sms / l.x1);
	}
	for (uint32_t u = 1; u <= a->n_units; u++)
		c->high[u] = fmax(c->high[u], c->low[u]);
}

static double share(const struct auction *a, const struct contender *c)
{
	return c->claim->weight / a->weights;
}

/* Less than half of what was measured, or of what is its by weight, is too little to try. */
static void bound_hope(const struct auction *a, struct contender *c)
{
	double least = fmin(c->least, a->n_units * share(a, c)) / 2;

	for (uint32_t u = 1; u <= a->n_units && u < least; u++)
		c->high[u] = c->low[u];
}

static void bound(struct auction *a, unsigned i)
{
	struct contender *c = &a->of[i];

	for (uint32_t u = 1; u < a->n_units; u++)
		c->known[u] = speed(a, i, sms_of(a, i, u), GSB_SMS_OWN);
	c->least = a->n_units;
	bound_from_fewer(a, i, c);
	bound_from_more(a, i, c);
	bound_hope(a, c);
}

static bool somebody_starves(const struct auction *a)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->of[i].shared < (1 - 2 * OWN_LOSS) * share(a, &a->of[i]))
			return true;
	return false;
}

/* Nobody pays for the others' gain, but who has more than its share for one who has less. */
static void find_least_speeds(struct auction *a)
{
	a->starves = somebody_starves(a);
	for (unsigned i = 0; i < a->n; i++) {
		struct contender *c = &a->of[i];
		double kept = a->starves ? fmin(c->shared, share(a, c)) : c->shared;

		c->least_speed = (1 - OWN_LOSS) * kept;
	}
}

/* Of everybody; false: of one it is not known how fast it is on shared SMs. */
static bool find_speeds(struct auction *a)
{
	for (unsigned i = 0; i < a->n; i++) {
		a->of[i].shared = speed(a, i, a->sms.n, GSB_SMS_SHARED);
		if (a->of[i].shared <= 0)
			return false;
		bound(a, i);
	}
	find_least_speeds(a);
	return true;
}

/* ---- the best split ---- */

enum bound { KNOWN, HOPED };

static double speed_on(const struct contender *c, uint32_t units, enum bound bound)
{
	return bound == HOPED ? c->high[units] : c->low[units];
}

/* @stay: who has units now keeps them. */
static double value(const struct contender *c, uint32_t units, enum bound bound, bool stay)
{
	if (stay ? c->on && c->on != units : speed_on(c, units, bound) < c->least_speed)
		return -INFINITY;
	return c->claim->weight * (log(speed_on(c, units, bound)) + EVENLY * log((double)units));
}

/* Of each number of units that those so far have together the best, and how many the last has of them. */
struct table {
	double best[GSB_PARTS_MAX + 1][N_UNITS + 1];
	uint32_t units[GSB_PARTS_MAX][N_UNITS + 1];
};

static void add_row(const struct auction *a, struct table *t, unsigned i, enum bound bound,
		    bool stay)
{
	double values[N_UNITS + 1] = {0};

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

/* Tenant after tenant, so that it is exact whatever the curves. Sum 0: there is none. */
static struct split best_split(const struct auction *a, enum bound bound, bool stay)
{
	struct table t;
	struct split s = {0};
	uint32_t left = a->n_units;

	for (uint32_t u = 0; u <= a->n_units; u++)
		t.best[0][u] = u ? -INFINITY : 0;
	for (unsigned i = 0; i < a->n; i++)
		add_row(a, &t, i, bound, stay);
	if (isinf(t.best[a->n][left]))
		return s;
	for (unsigned i = a->n; i--; left -= s.units[i])
		s.units[i] = t.units[i][left];
	for (unsigned i = 0; i < a->n; i++) {
		double speed = speed_on(&a->of[i], s.units[i], bound);

		s.product += a->of[i].claim->weight * log(speed);
		s.sum += speed;
	}
	return s;
}

static struct split shared(const struct auction *a)
{
	struct split s = {0};

	for (unsigned i = 0; i < a->n; i++) {
		s.product += a->of[i].claim->weight * log(a->of[i].shared);
		s.sum += a->of[i].shared;
	}
	return s;
}

/* So much better for the mean tenant, and no worse for all together, or little where that makes it fair. */
static bool gains(const struct auction *a, const struct split *s, double product, double sum,
		  double gain)
{
	double loss = a->starves ? FAIR_LOSS : SUM_LOSS;

	return s->sum > 0 && s->product - product >= gain * a->weights &&
	       s->sum >= (1 - loss) * sum;
}

/* ---- turns ---- */

/* By themselves, on all SMs, with launches that can be waited for. */
static bool can_take_turns(const struct auction *a)
{
	for (unsigned i = 0; i < a->n; i++)
		if (launch_ns(&a->of[i]) > TURN_NS)
			return false;
	return !a->strangers && a->sms.n == a->view->arch->n_sms;
}

/* Each has its share of the time. */
static struct split in_turn(const struct auction *a)
{
	struct split s = {.sum = 1};

	for (unsigned i = 0; i < a->n; i++)
		s.product += a->of[i].claim->weight * log(share(a, &a->of[i]));
	return s;
}

/* What it will have had of the SMs by its weight when what it has there has ended. */
static double had(const struct auction *a, const struct contender *c, unsigned n_more)
{
	double launch = launch_ns(c) * a->view->arch->n_sms * c->claim->habits.filled;

	return (double)c->claim->share_ns +
	       launch * (c->n_running + n_more) * GSB_WEIGHT_USUAL / c->claim->weight;
}

/* The one that is due; @go: what each was let go. GSB_PARTS_MAX: nobody, or it has no kernel ready, or another's runs. */
static unsigned next_turn(const struct auction *a, const struct gsb_parts *go)
{
	unsigned next = GSB_PARTS_MAX, n_there = 0;

	for (unsigned i = 0; i < a->n; i++) {
		const struct contender *c = &a->of[i];

		n_there += c->n_running || go->of[i].n_go;
		if (!c->n_ready && !c->n_running)
			continue;
		if (next == GSB_PARTS_MAX ||
		    had(a, c, go->of[i].n_go) < had(a, &a->of[next], go->of[next].n_go))
			next = i;
	}
	if (next == GSB_PARTS_MAX || go->of[next].n_go == a->of[next].n_ready)
		return GSB_PARTS_MAX;
	return n_there - (a->of[next].n_running || go->of[next].n_go) ? GSB_PARTS_MAX : next;
}

static void take_turns(const struct auction *a, struct gsb_parts *out)
{
	unsigned n = 0, next;

	for (unsigned i = 0; i < a->n; i++)
		out->of[i] = (struct gsb_part){.claim = a->of[i].claim, .sms = GSB_ALL_SMS};
	while (n++ < GSB_N_QUEUES && (next = next_turn(a, out)) < GSB_PARTS_MAX)
		out->of[next].n_go++;
	out->n = a->n;
	out->turns = true;
}

/* ---- what is best ---- */

/* Launches of one kernel want the same things: nothing that one of them leaves is of use to another. */
static bool are_of_one_kernel(const struct auction *a)
{
	const struct gsb_habits *first = &a->of[0].claim->habits;

	for (unsigned i = 1; i < a->n; i++)
		if (a->of[i].claim->habits.code != first->code)
			return false;
	return first->code;
}

/* Two by themselves: beside others nothing would be learnt that holds without them. @fair: they have their shares as it is. */
static bool may_try(const struct auction *a, bool fair)
{
	unsigned n = a->strangers || a->n > 2 || (fair && are_of_one_kernel(a)) ? TRIES : 0;

	for (uint32_t u = 1; u < a->n_units; u++)
		n += a->of[0].known[u] > 0;
	return n < TRIES;
}

static void hand_out(const struct auction *a, const struct split *s, struct gsb_parts *out)
{
	uint32_t first = a->sms.first;

	for (unsigned i = 0; i < a->n; i++) {
		uint32_t n = sms_of(a, i, s->units[i]);

		out->of[i] = (struct gsb_part){a->of[i].claim, {first, n}, 0};
		first += n;
	}
	out->n = a->n;
}

static bool anybody_has_a_part(const struct auction *a)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->of[i].on)
			return true;
	return false;
}

/* The split that is in use is being tried: somebody has not been measured on it yet. Then it stays. */
static bool is_trying(const struct auction *a, const struct split *now)
{
	for (unsigned i = 0; now->sum > 0 && i < a->n; i++)
		if (a->of[i].known[now->units[i]] <= 0)
			return true;
	return false;
}

/* Worth one more trial: it could be so much better than what is known, parts or none. */
static bool is_hoped_for(const struct auction *a, const struct split *hoped,
			 const struct split *known, const struct split *none)
{
	return gains(a, hoped, none->product, none->sum, GAIN) &&
	       (!gains(a, known, none->product, none->sum, GAIN) ||
		gains(a, hoped, known->product, none->sum, HOPE));
}

/* @none: what there is without parts, @fair: in which all have their shares. */
static void choose_parts(const struct auction *a, const struct split *none, bool fair,
			 struct gsb_parts *out)
{
	struct split s, known;

	s = anybody_has_a_part(a) ? best_split(a, HOPED, true) : (struct split){0};
	if (is_trying(a, &s)) {
		hand_out(a, &s, out);
		return;
	}
	known = best_split(a, KNOWN, false);
	s = may_try(a, fair) ? best_split(a, HOPED, false) : (struct split){0};
	if (is_hoped_for(a, &s, &known, none))
		hand_out(a, &s, out);
	else if (gains(a, &known, none->product, none->sum, GAIN))
		hand_out(a, &known, out);
}

static void choose(const struct auction *a, struct gsb_parts *out)
{
	struct split none = shared(a), turns = in_turn(a);
	bool in_turns = can_take_turns(a) && gains(a, &turns, none.product, none.sum, GAIN);

	if (will_stay(a))
		choose_parts(a, in_turns ? &turns : &none, in_turns || !a->starves, out);
	if (!out->n && in_turns)
		take_turns(a, out);
}

/* ---- the whole ---- */

/* Pieces are multiples of what the device hands out. */
static void measure_out(struct auction *a, struct gsb_sm_range rest)
{
	uint32_t group = a->view->sm_group;

	a->sms = rest.n ? rest : (struct gsb_sm_range){0, a->view->arch->n_sms};
	a->unit = (a->sms.n / group + N_UNITS - 1) / N_UNITS * group;
	a->n_units = a->unit ? a->sms.n / a->unit : 0;
	a->over = a->unit ? a->sms.n % a->unit : 0;
}

void gsb_parts_plan(const struct gsb_view *view, struct gsb_sm_range rest, bool critical_apart,
		    struct gsb_parts *out)
{
	struct auction a = {.view = view};

	out->n = 0;
	out->turns = false;
	out->alone = NULL;
	if (!view->sm_group || !view->estimates)
		return;
	measure_out(&a, rest);
	if (!gather(&a, critical_apart) || !overfill(&a))
		return;
	out->alone = next_alone(&a);
	if (all_known(&a) && find_speeds(&a))
		choose(&a, out);
}

struct gsb_part *gsb_parts_find(struct gsb_parts *p, const struct gsb_claim *c)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->of[i].claim == c)
			return &p->of[i];
	return NULL;
}
