/*
 * contenders.c - who takes part in an auction of SMs: tenants that come back to the same long launches, are here, and will stay for long enough.
 */
#include "broker/policy/auction.h"

#include <math.h>
#include <stddef.h>

#include "broker/policy/claim.h"
#include "broker/policy/estimate.h"

#define SEEN_AGAIN 3 /* a tenant has a habit when it came back so often, */
#define STAYS	   32 /* and new parts are tried when so many more of the longest launches will pass, */
#define STAYS_KNOWN \
	8 /* those that are known are kept for so many, and tried for them where somebody has too little, */
#define WORTH_ALONE 32 /* and is measured alone where so many of its own are to come, */
#define LINGER_PART \
	4 /* and while it is away for no more than this part of its kernel's time, or GSB_CLAIM_PAUSE_NS */
#define BRIEF_NS \
	500000000 /* who has nothing for half of a second and its share of the rest has half of it over any second */
#define SOON_NS \
	1000000000 /* and where all is over in a second nobody has less than all that he wants over one */

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
	double linger = fmin(ns / c->habits.n / LINGER_PART, GSB_CLAIM_PAUSE_NS);

	return c->n_ready || c->n_running ||
	       (double)v->now_ns <= (double)c->habits.ended_ns + linger;
}

static void add_contender(struct gsb_auction *a, const struct gsb_claim *c)
{
	double ns = alone_ns(a->view, c);

	if (!is_here(a->view, c, ns))
		return;
	if (a->n < GSB_PARTS_MAX)
		a->of[a->n] = (struct gsb_contender){.claim = c, .alone_ns = ns};
	a->n++;
	a->weights += c->weight;
}

static struct gsb_contender *find(struct gsb_auction *a, const struct gsb_claim *c)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->of[i].claim == c)
			return &a->of[i];
	return NULL;
}

/* The piece of that many SMs; 0: none of it is. */
static uint32_t units_of(const struct gsb_auction *a, struct gsb_sm_range sms)
{
	return sms.n < a->sms.n && sms.first >= a->sms.first ? sms.n / a->unit : 0;
}

/* Whose kernel it is; NULL: a stranger's, or it is none. */
static struct gsb_contender *add_work(struct gsb_auction *a, const struct gsb_work *w)
{
	struct gsb_contender *c = find(a, w->claim);

	if (w->kind != GSB_WORK_KERNEL)
		return NULL;
	a->cooperative |= w->cooperative;
	if (!c)
		a->strangers = true;
	else if (c->n_queued < *w->n_queued)
		c->n_queued = *w->n_queued;
	return c;
}

static void add_ready(struct gsb_auction *a, const struct gsb_work *w)
{
	struct gsb_contender *c = add_work(a, w);

	if (c)
		c->n_ready++;
}

static void add_running(struct gsb_auction *a, const struct gsb_work *w)
{
	struct gsb_contender *c = add_work(a, w);

	if (!c)
		return;
	c->n_running++;
	c->there_ns = fmax(c->there_ns, (double)a->view->now_ns - (double)w->since_ns);
	c->at = w->sms;
	c->on = units_of(a, w->sms);
}

/* False: nobody, one alone, or more than there are parts for. */
bool gsb_auction_gather(struct gsb_auction *a, bool critical_apart)
{
	const struct gsb_view *v = a->view;

	for (unsigned i = 0; i < v->n_claims; i++) {
		const struct gsb_claim *c = v->claims[i];

		if (c->habits.n_again >= SEEN_AGAIN && !(critical_apart && c->critical))
			add_contender(a, c);
	}
	if (a->n < 2 || a->n > GSB_PARTS_MAX)
		return false;
	for (unsigned i = 0; i < v->n_ready; i++)
		add_ready(a, v->ready[i]);
	for (unsigned i = 0; i < v->n_running; i++)
		add_running(a, v->running[i]);
	return true;
}

/* Launches that will come: what stands in its queue, and as many as came. */
static double expected(const struct gsb_contender *c)
{
	return (double)c->claim->habits.n_came + (double)c->n_queued;
}

/* Else they have room beside each other, and nothing is to be gained. */
bool gsb_auction_overfills(const struct gsb_auction *a)
{
	double filled = 0;

	for (unsigned i = 0; i < a->n; i++)
		filled += a->of[i].claim->habits.filled;
	return filled > 1;
}

double gsb_contender_launch_ns(const struct gsb_contender *c)
{
	return c->alone_ns / c->claim->habits.n;
}

double gsb_contender_expected_ns(const struct gsb_contender *c)
{
	return expected(c) * gsb_contender_launch_ns(c);
}

bool gsb_auction_will_stay_for(const struct gsb_auction *a, unsigned n)
{
	double longest = 0, shortest_stay = INFINITY;

	for (unsigned i = 0; i < a->n; i++) {
		longest = fmax(longest, gsb_contender_launch_ns(&a->of[i]));
		shortest_stay = fmin(shortest_stay, gsb_contender_expected_ns(&a->of[i]));
	}
	return shortest_stay >= n * longest;
}

bool gsb_auction_will_stay(const struct gsb_auction *a, bool for_a_trial)
{
	return gsb_auction_will_stay_for(a, for_a_trial && !a->starves ? STAYS : STAYS_KNOWN);
}

static bool are_weights_alike(const struct gsb_auction *a)
{
	for (unsigned i = 1; i < a->n; i++)
		if (a->of[i].claim->weight != a->of[0].claim->weight)
			return false;
	return true;
}

bool gsb_auction_is_brief(const struct gsb_auction *a)
{
	double ns = 0;

	for (unsigned i = 0; i < a->n; i++)
		ns += ((double)a->of[i].claim->habits.n_again + (double)a->of[i].n_queued) *
		      gsb_contender_launch_ns(&a->of[i]);
	return are_weights_alike(a) && ns < BRIEF_NS;
}

bool gsb_auction_ends_soon(const struct gsb_auction *a)
{
	double ns = 0;

	for (unsigned i = 0; i < a->n; i++)
		ns += (a->of[i].claim->habits.n_again + expected(&a->of[i])) *
		      gsb_contender_launch_ns(&a->of[i]);
	return are_weights_alike(a) && ns < SOON_NS;
}

/* Who is to be measured alone, if that can be: of whom that is not known there is nothing to compare with. */
const struct gsb_claim *gsb_auction_next_alone(const struct gsb_auction *a)
{
	for (unsigned i = 0; i < a->n; i++)
		if (expected(&a->of[i]) < WORTH_ALONE)
			return NULL;
	for (unsigned i = 0; i < a->n; i++)
		if (a->of[i].alone_ns <= 0)
			return a->strangers ? NULL : a->of[i].claim;
	return NULL;
}

bool gsb_auction_all_known(const struct gsb_auction *a)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->of[i].alone_ns <= 0)
			return false;
	return true;
}

double gsb_contender_share(const struct gsb_auction *a, const struct gsb_contender *c)
{
	return c->claim->weight / a->weights;
}

bool gsb_auction_is_of_one_kernel(const struct gsb_auction *a)
{
	const struct gsb_habits *first = &a->of[0].claim->habits;

	for (unsigned i = 1; i < a->n; i++)
		if (a->of[i].claim->habits.code != first->code)
			return false;
	return first->code;
}
