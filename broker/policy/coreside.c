/*
 * coreside.c - kernels of all tenants beside each other, in the order that ends them soonest.
 *
 * The device gives room in the order of issue, and one whose blocks fit nowhere holds up all behind it. So order decides who is beside
 * whom: what fits beside what runs goes first, and of that the longest, so that nothing long is left to run alone at the end (Li 2019,
 * long poles first); what does not fit comes behind. Both that order and the order of arrival are played through (whatif.h), and the
 * plan is taken only where it gains GAIN of the time, or of the sum of all ends in the same time; else, and where too little
 * is known, things go as they came. That is what fifo does, so a plan that gains nothing costs nothing either.
 *
 * Tenants that keep the device full have SMs of their own where that is better for them (parts.h); their kernels are in no plan.
 *
 * A tenant that is slowed more than it may be has the device to itself until that is mended (cap.h).
 *
 * Copies go straight through, and so do kernels where all that are ready are over before a plan would be. A pair that was measured to
 * lose by sharing is kept apart. Tenants that are far ahead of their share come last, and wait while there is no room; what has
 * waited for as long as anything may, or would miss its deadline, comes first (share.h).
 */
#include "broker/policy/coreside.h"

#include <assert.h>

#include "broker/policy/cap.h"
#include "broker/policy/draft.h"
#include "broker/policy/estimate.h"
#include "broker/policy/parts.h"
#include "broker/policy/shape.h"
#include "broker/policy/share.h"
#include "broker/policy/whatif.h"

#define SHORT_NS  20000	 /* about what it takes to have a plan, issue it and hear of its end */
#define GAIN	  0.05	 /* a plan gains so much, or it is not taken */
#define TRUST_PPM 300000 /* in a prediction, for a plan to rest on it: seen twice and much alike */
#define MEASURED  3	 /* a pair is kept apart when it was seen so often */

/* A kernel that may go now. */
struct candidate {
	unsigned ready;	 /* index */
	unsigned kernel; /* in the what-if, if all are trusted */
	bool due, ahead;
	int64_t due_ns;
};

struct thought {
	const struct gsb_view *view;
	struct gsb_coreside_terms terms;
	struct gsb_parts parts;
	struct gsb_whatif whatif;
	unsigned n;
	bool trusted; /* all that there is to order by */
	bool floors;  /* are what sees to shares */
	bool all_short;
	uint64_t least_ns;
	struct candidate candidates[GSB_WHATIF_MAX];
	unsigned arrival[GSB_WHATIF_MAX],
		ranked[GSB_WHATIF_MAX];	  /* orders: indices of candidates */
	unsigned kernels[GSB_WHATIF_MAX]; /* one of them as the what-if wants it */
};
static_assert(sizeof(struct thought) <= sizeof(struct gsb_policy_area), "there is room to think");

/* ---- what needs no plan ---- */

static bool goes_first(const struct thought *t, const struct gsb_work *w)
{
	return t->terms.critical_first && w->claim->critical;
}

/* While a critical tenant has all SMs. */
static bool stays(const struct thought *t, const struct gsb_work *w)
{
	return t->terms.yields_to && !goes_first(t, w) &&
	       !gsb_share_is_starved(t->view, w, GSB_STARVED_NS) &&
	       gsb_bound_choose(t->view, &t->terms.bound, w, GSB_ALL_SMS).any;
}

/* Cooperative kernels need all of their blocks at once, and so all SMs. */
static struct gsb_part *part_of(struct thought *t, const struct gsb_work *w)
{
	return w->kind == GSB_WORK_KERNEL && !w->cooperative && !goes_first(t, w) && !stays(t, w)
		       ? gsb_parts_find(&t->parts, w->claim)
		       : NULL;
}

static bool needs_plan(struct thought *t, const struct gsb_work *w)
{
	return w->kind == GSB_WORK_KERNEL && !goes_first(t, w) && !stays(t, w) && !part_of(t, w);
}

static bool has_others(const struct gsb_view *v, const struct gsb_claim *c)
{
	for (unsigned i = 0; i < v->n_claims; i++)
		if (v->claims[i] != c && (v->claims[i]->n_ready || v->claims[i]->n_running))
			return true;
	return false;
}

/*
 * The SMs that are kept free, for a kernel that has room there; else all. Where others' kernels leave room on theirs, a block that is put
 * there has what they leave of the unit that they fill, which may be nothing.
 */
static struct gsb_sm_range critical_sms(const struct thought *t, const struct gsb_work *w)
{
	const uint32_t n = t->terms.rest.n ? t->terms.rest.first : 0;

	if (w->kind != GSB_WORK_KERNEL || w->cooperative || t->terms.bound.wait_ns ||
	    w->kernel.n_blocks > (uint64_t)w->blocks_per_sm * n || !has_others(t->view, w->claim))
		return GSB_ALL_SMS;
	return (struct gsb_sm_range){0, n};
}

static void let_critical_pass(const struct thought *t, struct gsb_draft *a)
{
	const struct gsb_view *v = a->view;

	for (unsigned i = 0; i < v->n_ready && !gsb_draft_is_full(a); i++) {
		struct gsb_decision *d;

		if (!goes_first(t, v->ready[i]))
			continue;
		d = gsb_draft_issue(a, i, GSB_REASON_CRITICAL);
		d->priority = v->priority_greatest;
		d->sms = critical_sms(t, v->ready[i]);
	}
}

/* In parts that end soon, where it can be had in such; whether it can. */
static bool go_in_parts(const struct thought *t, struct gsb_decision *d)
{
	struct gsb_bounded b =
		gsb_bound_choose(t->view, &t->terms.bound, t->view->ready[d->ready], d->sms);

	if (!b.any)
		return false;
	d->shape = b.shape;
	d->part_ns = b.part_ns;
	d->reason = GSB_REASON_BOUNDED;
	return true;
}

/* On the SMs that everybody has. */
static struct gsb_decision *issue(const struct thought *t, struct gsb_draft *a, unsigned i,
				  enum gsb_reason reason)
{
	const struct gsb_work *w = a->view->ready[i];
	struct gsb_decision *d = gsb_draft_issue(a, i, reason);

	if (d && w->kind == GSB_WORK_KERNEL && !w->cooperative && !go_in_parts(t, d) &&
	    t->terms.rest.n) {
		d->sms = t->terms.rest;
		d->reason = t->terms.bound.wait_ns ? GSB_REASON_UNBOUNDED : GSB_REASON_RESERVED;
	}
	return d;
}

/* The highest but that of critical tenants. */
static int32_t urgent(const struct thought *t, const struct gsb_view *v)
{
	return v->priority_greatest +
	       (t->terms.critical_first && v->priority_greatest < v->priority_least);
}

/* Below its floor, and nobody is held for it. */
static bool goes_between(const struct thought *t, const struct gsb_work *w)
{
	return t->floors && w->claim->cap.owed && gsb_cap_goes_between(t->view, w);
}

static void let_copies_pass(const struct thought *t, struct gsb_draft *a)
{
	const struct gsb_view *v = a->view;

	for (unsigned i = 0; i < v->n_ready && !gsb_draft_is_full(a); i++)
		if (v->ready[i]->kind != GSB_WORK_KERNEL && !goes_first(t, v->ready[i]))
			issue(t, a, i, GSB_REASON_ARRIVAL);
}

/*
 * Of what is not due. Whatever runs, it is decided on anew when it has waited as long as its tenant lets it. What is held for as long as is usual goes with the
 * next thing that ends, so that nobody comes beside a kernel that has its turn, or is measured; but no later than what waits for no limit.
 */
static uint64_t latest_ns(const struct gsb_view *v, const struct gsb_work *w)
{
	return (uint64_t)gsb_share_due_ns(v, w, GSB_CAP_STARVED_NS);
}

static void hold(struct gsb_draft *a, unsigned i, enum gsb_reason reason,
		 const struct gsb_work *until)
{
	gsb_draft_hold(a, i, reason,
		       (struct gsb_hold_end){latest_ns(a->view, a->view->ready[i]), until});
}

/* A deadline does not end that: who is critical goes before who has one. */
static void hold_for_critical(const struct thought *t, struct gsb_draft *a)
{
	const struct gsb_work *to = t->terms.yields_to;

	for (unsigned i = 0; to && i < a->view->n_ready; i++) {
		const struct gsb_work *w = a->view->ready[i];

		if (stays(t, w))
			gsb_draft_hold(a, i, GSB_REASON_YIELDED,
				       (struct gsb_hold_end){
					       .not_before_ns = gsb_hold_sooner_ns(
						       gsb_share_starves_ns(w, GSB_CAP_STARVED_NS),
						       gsb_yield_end_ns(to)),
					       .until = to,
				       });
	}
}

/* Kernels of others that were issued before have blocks to place there yet. */
static bool is_taken(const struct gsb_view *v, const struct gsb_part *p)
{
	for (unsigned i = 0; i < v->n_running; i++)
		if (v->running[i]->kind == GSB_WORK_KERNEL && v->running[i]->claim != p->claim &&
		    gsb_sm_ranges_overlap(p->sms, v->running[i]->sms))
			return true;
	return false;
}

/* As long as it took so; where that is new to it nothing is said. */
static void predict_by(const struct gsb_view *v, struct gsb_estimated e, struct gsb_decision *d)
{
	struct gsb_estimated alone = gsb_estimates_alone(v->estimates, v->ready[d->ready]->launch);

	d->predicted_ns = e.n ? (uint64_t)e.mean : 0;
	d->trust_ppm = e.n ? e.trust_ppm : 0;
	if (e.n && alone.n)
		d->predicted_slowdown_ppm = (uint32_t)(1e6 * e.mean / alone.mean);
}

/* In which it is launched, and who is beside it. Of three and more none is launched otherwise than it asks. */
static struct gsb_manners manners(const struct gsb_parts *p, const struct gsb_part *own,
				  const struct gsb_decision *d)
{
	return (struct gsb_manners){
		.own = d->shape ? own->manner : 0,
		.others = p->n == 2 ? p->of[own == &p->of[0]].manner : 0,
	};
}

/* In the manner of its part; a launch that has no such shape goes as asked. */
static void take_part(const struct thought *t, const struct gsb_part *p, enum gsb_sharing sharing,
		      struct gsb_decision *d)
{
	const struct gsb_view *v = t->view;
	const struct gsb_work *w = v->ready[d->ready];

	d->sms = p->sms;
	d->shape = gsb_shape_of_manner(w->shapes, w->n_shapes, p->manner);
	predict_by(v,
		   gsb_estimates_in(v->estimates, v->arch, w->launch, d->sms.n, sharing,
				    manners(&t->parts, p, d), 0),
		   d);
}

/* To its own SMs; where others are still there, it has them as their blocks end. */
static void go_apart(const struct thought *t, struct gsb_draft *a, unsigned i,
		     const struct gsb_part *p)
{
	struct gsb_decision *d = gsb_draft_issue(a, i, GSB_REASON_PARTITION);

	take_part(t, p, GSB_SMS_OWN, d);
	if (is_taken(a->view, p))
		d->priority = urgent(t, a->view);
	go_in_parts(t, d);
}

/*
 * Another's launch with a part of its blocks, which has been there for much longer than it takes: whatever comes beside it on a part of its SMs
 * keeps it there, for its blocks wait there for the very unit that what comes uses. NULL: none.
 */
static const struct gsb_work *limited_held_up(const struct gsb_view *v, const struct gsb_part *p)
{
	for (unsigned i = 0; i < v->n_running; i++) {
		const struct gsb_work *w = v->running[i];

		if (gsb_manner_limits(w->manner) && w->claim != p->claim && w->predicted.alone_ns &&
		    gsb_sm_ranges_overlap(p->sms, w->sms) &&
		    v->now_ns - w->since_ns > GSB_INSIDE_PATIENCE * w->predicted.alone_ns)
			return w;
	}
	return NULL;
}

/* It ends first, unless that takes so long that this one is due. */
static void go_apart_behind(const struct thought *t, struct gsb_draft *a, unsigned i,
			    const struct gsb_part *p)
{
	const struct gsb_work *held_up = limited_held_up(a->view, p);

	if (held_up && !gsb_share_is_due(a->view, a->view->ready[i], GSB_STARVED_NS))
		hold(a, i, GSB_REASON_APART, held_up);
	else
		go_apart(t, a, i, p);
}

/*
 * On all SMs beside the other. With a part of its blocks it goes before the other's, whose next blocks have what it leaves: nothing of it is left to be
 * placed then, so that holds nobody up.
 */
static void go_inside(const struct thought *t, struct gsb_draft *a, unsigned i,
		      const struct gsb_part *p)
{
	struct gsb_decision *d = gsb_draft_issue(a, i, GSB_REASON_INSIDE);

	take_part(t, p, GSB_SMS_SHARED, d);
	if (d->shape)
		d->priority = urgent(t, a->view);
}

/* What has waited for as long as anything may does not wait for its turn. */
static void go_in_turn(const struct thought *t, struct gsb_draft *a, unsigned i, struct gsb_part *p)
{
	const struct gsb_work *w = a->view->ready[i];

	if (!p->n_go && !gsb_share_is_due(a->view, w, GSB_STARVED_NS)) {
		hold(a, i, GSB_REASON_SHARE, NULL);
		return;
	}
	if (p->sms.n)
		go_apart(t, a, i, p);
	else
		gsb_draft_issue(a, i, p->n_go ? GSB_REASON_SHARE : gsb_share_why_due(a->view, w));
	p->n_go -= p->n_go > 0;
}

static void let_parts_go(struct thought *t, struct gsb_draft *a)
{
	const struct gsb_view *v = a->view;

	for (unsigned i = 0; t->parts.n && i < v->n_ready && !gsb_draft_is_full(a); i++) {
		struct gsb_part *p = part_of(t, v->ready[i]);

		if (p && t->parts.turns)
			go_in_turn(t, a, i, p);
		else if (p && t->parts.inside)
			go_inside(t, a, i, p);
		else if (p)
			go_apart_behind(t, a, i, p);
	}
}

/* ---- to one alone ---- */

/* Where somebody else goes meanwhile, so that it is not in the way of what comes next: SMs that may be missed. */
static struct gsb_sm_range missed(const struct thought *t, const struct gsb_view *v,
				  const struct gsb_owed *owed)
{
	uint32_t n_sms = v->arch->n_sms, group = v->sm_group, first;

	if (!group || n_sms < 2 * group)
		return t->terms.rest;
	first = ((uint32_t)(n_sms / owed->limit) + group - 1) / group * group;
	if (first > n_sms - group)
		first = n_sms / group * group - group;
	if (first < t->terms.rest.first)
		return t->terms.rest;
	return (struct gsb_sm_range){first, n_sms - first};
}

/* Nothing of the tenant is there, and the device is idle: one of the others'. */
static void let_one_go(const struct thought *t, struct gsb_draft *a, unsigned i,
		       const struct gsb_owed *owed)
{
	struct gsb_decision *d = issue(t, a, i, GSB_REASON_CAP);

	if (d && !a->view->ready[i]->cooperative)
		d->sms = missed(t, a->view, owed);
}

/* Also until who is owed, and has nothing, is waited for no further. */
static void hold_for_owed(struct gsb_draft *a, unsigned i, const struct gsb_owed *owed)
{
	uint64_t latest = latest_ns(a->view, a->view->ready[i]);

	gsb_draft_hold(
		a, i, GSB_REASON_CAP,
		(struct gsb_hold_end){.not_before_ns = gsb_hold_sooner_ns(owed->until_ns, latest)});
}

/* Kernels of one tenant, and of others what has waited too long for any limit. */
static void let_owed_go(const struct thought *t, struct gsb_draft *a, const struct gsb_owed *owed)
{
	const struct gsb_view *v = a->view;
	bool idle = v->must && !a->n_issued;

	for (unsigned i = 0; i < v->n_ready && !gsb_draft_is_full(a); i++) {
		const struct gsb_work *w = v->ready[i];

		if (w->kind != GSB_WORK_KERNEL || goes_first(t, w) || stays(t, w))
			continue;
		if (w->claim == owed->claim)
			issue(t, a, i, GSB_REASON_CAP);
		else if (gsb_share_is_due(v, w, GSB_CAP_STARVED_NS))
			issue(t, a, i, gsb_share_why_due(v, w));
		else if (idle)
			let_one_go(t, a, i, owed);
		else
			hold_for_owed(a, i, owed);
		idle &= !a->n_issued;
	}
}

/* ---- what is to be ordered ---- */

static void add_candidate(struct thought *t, const struct gsb_view *v, unsigned i)
{
	const struct gsb_work *w = v->ready[i];
	int err = gsb_whatif_add(&t->whatif, v, w);

	t->trusted &= !err && w->predicted.trust_ppm >= TRUST_PPM;
	t->all_short &= w->predicted.alone_ns < SHORT_NS;
	t->candidates[t->n++] = (struct candidate){
		.ready = i,
		.kernel = err ? 0 : t->whatif.n - 1,
		.due = gsb_share_is_due(v, w, GSB_STARVED_NS),
		.due_ns = gsb_share_due_ns(v, w, GSB_STARVED_NS),
		.ahead = gsb_share_is_ahead(v, w->claim, t->least_ns),
	};
}

static void collect(struct thought *t, const struct gsb_view *v)
{
	for (unsigned i = 0; i < v->n_ready && t->n < GSB_WHATIF_MAX - GSB_N_QUEUES / 2; i++)
		if (needs_plan(t, v->ready[i]))
			add_candidate(t, v, i);
}

/* Who is due, who may go, who has had more than its share; of each the urgent first. */
static int class_of(const struct thought *t, const struct gsb_view *v, unsigned c)
{
	const struct candidate *x = &t->candidates[c];

	return (x->due ? 0 : x->ahead ? 2 : 1) * 64 + v->ready[x->ready]->priority;
}

static double length_of(const struct thought *t, unsigned c)
{
	return t->whatif.kernels[t->candidates[c].kernel].alone_ns;
}

/* Of one class: the soonest due, or the longest. */
static bool goes_before(const struct thought *t, unsigned c, unsigned other, bool by_length)
{
	if (t->candidates[c].due)
		return t->candidates[c].due_ns < t->candidates[other].due_ns;
	return by_length && length_of(t, other) < length_of(t, c);
}

/* A stable sort: candidates come in the order of arrival, and there are few of them. */
static void sort(const struct thought *t, const struct gsb_view *v, unsigned *order, unsigned n,
		 bool by_length)
{
	for (unsigned i = 1; i < n; i++) {
		unsigned c = order[i], at = i;
		int class = class_of(t, v, c);

		for (; at; at--) {
			unsigned o = order[at - 1];
			int other = class_of(t, v, o);

			if (other < class || (other == class && !goes_before(t, c, o, by_length)))
				break;
			order[at] = o;
		}
		order[at] = c;
	}
}

/* Those that fit beside what runs, all of their blocks, before those that do not. */
static void put_fitting_first(struct thought *t)
{
	unsigned rest[GSB_WHATIF_MAX], n_rest = 0, n = 0;
	int64_t room[GSB_N_ROOMS];

	gsb_whatif_leftover(&t->whatif, room);
	for (unsigned i = 0; i < t->n; i++) {
		unsigned c = t->ranked[i];
		const struct gsb_whatif_kernel *k = &t->whatif.kernels[t->candidates[c].kernel];

		if (t->candidates[c].due || gsb_whatif_fits(&t->whatif, k, room) >= k->n_blocks) {
			gsb_whatif_take(room, k, k->n_blocks);
			t->ranked[n++] = c;
		} else {
			rest[n_rest++] = c;
		}
	}
	for (unsigned i = 0; i < n_rest; i++)
		t->ranked[n++] = rest[i];
}

static struct gsb_whatif_answer play(struct thought *t, const unsigned *order)
{
	for (unsigned i = 0; i < t->n; i++)
		t->kernels[i] = t->candidates[order[i]].kernel;
	return gsb_whatif_run(&t->whatif, t->kernels, t->n);
}

/* The order to issue in. What the what-if says last is of that order. */
static const unsigned *choose(struct thought *t, const struct gsb_view *v)
{
	struct gsb_whatif_answer arrival, ranked;

	for (unsigned i = 0; i < t->n; i++)
		t->arrival[i] = t->ranked[i] = i;
	sort(t, v, t->arrival, t->n, false);
	if (!t->trusted || t->all_short)
		return t->arrival;
	sort(t, v, t->ranked, t->n, true);
	put_fitting_first(t);
	ranked = play(t, t->ranked);
	arrival = play(t, t->arrival);
	if (ranked.makespan_ns <= (1 - GAIN) * arrival.makespan_ns ||
	    (ranked.makespan_ns <= arrival.makespan_ns &&
	     ranked.sum_ns <= (1 - GAIN) * arrival.sum_ns)) {
		play(t, t->ranked);
		return t->ranked;
	}
	return t->arrival;
}

/* ---- what had better wait ---- */

static const struct gsb_work *only_kernel(const struct gsb_view *v)
{
	const struct gsb_work *only = NULL;

	for (unsigned i = 0; i < v->n_running; i++) {
		if (v->running[i]->kind != GSB_WORK_KERNEL)
			continue;
		if (only)
			return NULL;
		only = v->running[i];
	}
	return only;
}

/* Beside what runs each would take so much longer that one after the other is better. */
static bool would_lose(const struct gsb_view *v, const struct gsb_work *w,
		       const struct gsb_work *other)
{
	struct gsb_estimated a = gsb_estimates_beside(v->estimates, w, other);
	struct gsb_estimated b = gsb_estimates_beside(v->estimates, other, w);

	if (a.n < MEASURED || b.n < MEASURED || a.trust_ppm < TRUST_PPM || b.trust_ppm < TRUST_PPM)
		return false;
	return 1 / a.mean + 1 / b.mean < 1 - GAIN;
}

/* Nothing of it would begin now. */
static bool has_no_room(const struct thought *t, const struct candidate *c,
			const int64_t room[GSB_N_ROOMS])
{
	return t->trusted && !gsb_whatif_fits(&t->whatif, &t->whatif.kernels[c->kernel], room);
}

static bool has_kernel(const struct gsb_work *const *works, unsigned n, const struct gsb_claim *c)
{
	for (unsigned i = 0; i < n; i++)
		if (works[i]->kind == GSB_WORK_KERNEL && (!c || works[i]->claim == c))
			return true;
	return false;
}

/* One kernel is to run beside none of others, so that it is known how fast it is alone. */
static bool waits_for_measure(const struct thought *t, const struct gsb_view *v,
			      const struct gsb_work *w)
{
	const struct gsb_claim *alone = t->parts.alone;

	if (!alone)
		return false;
	if (w->claim == alone)
		return has_kernel(v->running, v->n_running, NULL);
	return has_kernel(v->running, v->n_running, alone) ||
	       has_kernel(v->ready, v->n_ready, alone);
}

static enum gsb_reason why_hold(const struct thought *t, const struct gsb_view *v,
				const struct candidate *c, const int64_t room[GSB_N_ROOMS])
{
	const struct gsb_work *other = only_kernel(v), *w = v->ready[c->ready];

	if (c->due)
		return GSB_N_REASONS;
	if (waits_for_measure(t, v, w))
		return GSB_REASON_APART;
	if (!v->n_running)
		return GSB_N_REASONS;
	if (c->ahead && has_no_room(t, c, room))
		return GSB_REASON_SHARE;
	if (other && would_lose(v, w, other))
		return GSB_REASON_APART;
	return GSB_N_REASONS; /* it is not held */
}

/* ---- the answer ---- */

/* A plan was played through, and of that the last run was the order that was chosen. */
static bool has_plan(const struct thought *t)
{
	return t->trusted && !t->all_short;
}

static void predict(const struct thought *t, const struct candidate *c, struct gsb_decision *d)
{
	const struct gsb_whatif_kernel *k = &t->whatif.kernels[c->kernel];
	double ns;

	if (!has_plan(t))
		return;
	ns = k->end_ns - k->start_ns;
	d->predicted_wait_ns = (uint64_t)k->start_ns;
	d->predicted_ns = (uint64_t)ns;
	d->predicted_slowdown_ppm = (uint32_t)(1e6 * ns / k->alone_ns);
}

static enum gsb_reason why_issue(const struct thought *t, const struct candidate *c,
				 const unsigned *order)
{
	if (c->due)
		return gsb_share_why_due(t->view, t->view->ready[c->ready]);
	if (goes_between(t, t->view->ready[c->ready]))
		return GSB_REASON_SHARE;
	if (t->trusted && t->all_short)
		return GSB_REASON_SHORT;
	if (!t->trusted)
		return GSB_REASON_DISTRUST;
	return order == t->ranked ? GSB_REASON_RANK : GSB_REASON_ARRIVAL;
}

static void say(const struct thought *t, struct gsb_draft *a, const unsigned *order)
{
	int64_t room[GSB_N_ROOMS];

	gsb_whatif_leftover(&t->whatif, room);
	for (unsigned i = 0; i < t->n; i++) {
		const struct candidate *c = &t->candidates[order[i]];
		enum gsb_reason why = why_hold(t, a->view, c, room);
		struct gsb_decision *d;

		if (why != GSB_N_REASONS) {
			hold(a, c->ready, why,
			     why == GSB_REASON_APART ? only_kernel(a->view) : NULL);
			continue;
		}
		d = issue(t, a, c->ready, why_issue(t, c, order));
		if (!d)
			return;
		if (goes_between(t, a->view->ready[c->ready]))
			d->priority = urgent(t, a->view);
		predict(t, c, d);
	}
}

/* More than are worth a plan: they go behind it, as they came. */
static void say_rest(struct thought *t, struct gsb_draft *a)
{
	unsigned i = t->n ? t->candidates[t->n - 1].ready + 1 : a->view->n_ready;

	for (; i < a->view->n_ready && !gsb_draft_is_full(a); i++)
		if (needs_plan(t, a->view->ready[i]))
			issue(t, a, i, GSB_REASON_ARRIVAL);
}

/* Parts and turns hold shares, or find out how; and what is brief needs none. */
static bool sees_to_shares(const struct gsb_parts *p)
{
	return p->n || p->alone || p->brief;
}

unsigned gsb_coreside_decide(const struct gsb_view *view, struct gsb_policy_area *area,
			     struct gsb_decision *out, const struct gsb_coreside_terms *terms)
{
	struct gsb_draft a = gsb_draft_begin(view, out);
	struct thought *t = (struct thought *)area;
	struct gsb_owed owed;

	t->view = view;
	t->terms = *terms;
	t->n = 0;
	t->floors = false;
	let_critical_pass(t, &a);
	if (a.n) /* at once: the others are planned beside it when it is there */
		return a.n;
	let_copies_pass(t, &a);
	hold_for_critical(t, &a);
	owed = gsb_cap_owed(view, GSB_CAP_LIMIT, terms->critical_first);
	if (!owed.claim) {
		gsb_parts_plan(view, terms->rest, terms->critical_first, &t->parts);
		t->floors = !sees_to_shares(&t->parts);
		if (t->floors)
			owed = gsb_cap_owed(view, GSB_CAP_FLOOR, terms->critical_first);
	}
	if (owed.claim) {
		let_owed_go(t, &a, &owed);
		return a.n;
	}
	t->least_ns = gsb_share_least_ns(view);
	let_parts_go(t, &a);
	t->all_short = true;
	t->trusted = !gsb_whatif_begin(&t->whatif, view, terms->rest);
	collect(t, view);
	say(t, &a, choose(t, view));
	say_rest(t, &a);
	return a.n;
}

static unsigned decide(const struct gsb_view *view, struct gsb_policy_area *area,
		       struct gsb_decision *out)
{
	return gsb_coreside_decide(view, area, out, &(struct gsb_coreside_terms){0});
}

const struct gsb_policy gsb_policy_coreside = {
	.name = "coreside",
	.heeds = GSB_HEEDS_WEIGHT | GSB_HEEDS_WAIT | GSB_HEEDS_SLOWDOWN | GSB_HEEDS_DEADLINE,
	.predicts = true,
	.runs = true,
	.splits = true,
	.beside = true,
	.decide = decide,
};
