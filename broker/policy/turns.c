/*
 * turns.c - all SMs in turn, where SMs of their own would cost too much: who has had least SM time by its weight goes next, with nobody beside it.
 *
 * Nobody is beside it because a GPU's events charge a launch for what it waits behind, and what is charged decides whose turn it is. So they
 * lose what one fills of the other's last round, a few percent between two of a kind.
 */
#include "broker/policy/auction.h"

#include <math.h>

#define TURN_NS	  100000000 /* what is longer nobody has to wait for before its turn */
#define SURE	  8	    /* values of a speed, where nobody starves */
#define FAIR_LOSS 0.05	    /* of the sum of speeds that they may cost where somebody starves, */
#define TWIN_LOSS 0.15	    /* and between launches of one kernel */

/* In turn nothing is learnt of how fast they are beside each other: what too few have said is not mended, and too little is to come to bear that. */
static bool is_rash(const struct gsb_auction *a, const struct gsb_contender *c)
{
	return !a->starves && c->n_shared < SURE;
}

/* By themselves, on all SMs, with launches that can be waited for. */
bool gsb_turns_can(const struct gsb_auction *a)
{
	for (unsigned i = 0; i < a->n; i++)
		if (gsb_contender_launch_ns(&a->of[i]) > TURN_NS || is_rash(a, &a->of[i]))
			return false;
	return !a->strangers && a->sms.n == a->view->arch->n_sms;
}

/* Each has its share of the time. */
struct gsb_split gsb_turns_split(const struct gsb_auction *a)
{
	bool twins = gsb_auction_is_of_one_kernel(a);
	struct gsb_split s = {.sum = 1, .fair_loss = twins ? TWIN_LOSS : FAIR_LOSS};

	for (unsigned i = 0; i < a->n; i++) {
		s.product += a->of[i].claim->weight * log(gsb_contender_share(a, &a->of[i]));
		s.end_ns += gsb_contender_expected_ns(&a->of[i]);
	}
	return s;
}

/* What it will have had of the SMs by its weight when what it has there has ended. */
static double had(const struct gsb_auction *a, const struct gsb_contender *c, unsigned n_more)
{
	double launch = gsb_contender_launch_ns(c) * a->view->arch->n_sms * c->claim->habits.filled;

	return (double)c->claim->share_ns +
	       launch * (c->n_running + n_more) * GSB_WEIGHT_USUAL / c->claim->weight;
}

/* It has a kernel on the SMs that it has in turn, or will have one in a moment. */
static bool is_there(const struct gsb_contender *c, const struct gsb_part *p)
{
	return p->n_go || (c->n_running && gsb_sm_ranges_overlap(c->at, p->sms));
}

/* From before there were lanes: what came beside it would be measured with it. */
static bool has_all(const struct gsb_contender *c)
{
	return c->n_running && !c->at.n;
}

/* The one that is due on these SMs; @go: what each was let go. GSB_PARTS_MAX: nobody, or it has no kernel ready, or another's runs. */
static unsigned next_turn(const struct gsb_auction *a, struct gsb_sm_range sms,
			  const struct gsb_parts *go)
{
	unsigned next = GSB_PARTS_MAX, n_there = 0;

	for (unsigned i = 0; i < a->n; i++) {
		const struct gsb_contender *c = &a->of[i];

		if (go->of[i].sms.first != sms.first) {
			n_there += has_all(&a->of[i]);
			continue;
		}
		n_there += is_there(c, &go->of[i]);
		if (!c->n_ready && !is_there(c, &go->of[i]))
			continue;
		if (next == GSB_PARTS_MAX ||
		    had(a, c, go->of[i].n_go) < had(a, &a->of[next], go->of[next].n_go))
			next = i;
	}
	if (next == GSB_PARTS_MAX || go->of[next].n_go == a->of[next].n_ready)
		return GSB_PARTS_MAX;
	n_there -= is_there(&a->of[next], &go->of[next]);
	return n_there ? GSB_PARTS_MAX : next;
}

void gsb_turns_take_on(const struct gsb_auction *a, struct gsb_sm_range sms, struct gsb_parts *out)
{
	unsigned n = 0, next;

	while (n++ < GSB_N_QUEUES && (next = next_turn(a, sms, out)) < GSB_PARTS_MAX)
		out->of[next].n_go++;
	out->n = a->n;
	out->turns = true;
}

void gsb_turns_take(const struct gsb_auction *a, struct gsb_parts *out)
{
	for (unsigned i = 0; i < a->n; i++)
		out->of[i] = (struct gsb_part){.claim = a->of[i].claim, .sms = GSB_ALL_SMS};
	gsb_turns_take_on(a, GSB_ALL_SMS, out);
}
