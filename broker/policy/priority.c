/*
 * priority.c - coreside, with SMs for critical tenants.
 *
 * While a critical tenant is active, everybody else's kernels go to the other SMs alone. So its launches begin at once, on SMs that nobody
 * has blocks on, whatever fills the rest; its queues have the highest priority, so that what does not fit there has the
 * next room on the others. It is active while it has work, and for a while longer: then the others have all of the device again, and
 * a launch of it that comes later waits for their blocks once, as it does where the device has no partitions.
 *
 * Where its kernels want more SMs than are kept free, the others' go to all SMs in parts that end soon, and wait while one of its kernels is there
 * (bound.h). What cannot be had in such parts goes to the other SMs as before. How many are kept
 * free is said by who configures the device, since a part of the SMs costs who lives on them the same part of its speed.
 *
 * Cooperative kernels of others need all of their blocks at once and go anywhere.
 */
#include <stddef.h>

#include "broker/policy/coreside.h"

static bool is_active(const struct gsb_view *v, const struct gsb_claim *c)
{
	return c->n_ready || c->n_running ||
	       (c->n_issued && v->now_ns < c->asked_ns + GSB_CRITICAL_LINGER_NS);
}

static bool is_critical_active(const struct gsb_view *v)
{
	for (unsigned i = 0; i < v->n_claims; i++)
		if (v->claims[i]->critical && is_active(v, v->claims[i]))
			return true;
	return false;
}

/* Whole groups of SMs, from the first on; the others have the rest, which must be something. */
static struct gsb_sm_range rest_of(const struct gsb_view *v)
{
	uint32_t n = v->n_reserved;

	if (!v->sm_group || !n)
		return GSB_ALL_SMS;
	return n < v->arch->n_sms ? (struct gsb_sm_range){n, v->arch->n_sms - n} : GSB_ALL_SMS;
}

static bool is_wide(const struct gsb_view *v)
{
	for (unsigned i = 0; i < v->n_claims; i++)
		if (v->claims[i]->critical && gsb_yield_is_wide(v->claims[i], v->now_ns))
			return true;
	return false;
}

/* Of the kernels that others wait for the one that was issued last, and so is waited for longest. */
static const struct gsb_work *last_due(const struct gsb_view *v)
{
	const struct gsb_work *last = NULL;

	for (unsigned i = 0; i < v->n_running; i++)
		if (gsb_yield_is_due(v->running[i], v->now_ns) &&
		    (!last || v->running[i]->since_ns > last->since_ns))
			last = v->running[i];
	return last;
}

/* A part of each tenant's may be there, and one that comes in as another one ends. */
static struct gsb_bound bound_of(const struct gsb_view *v)
{
	struct gsb_bound b = {.wait_ns = v->critical_wait_ns};

	for (unsigned i = 0; i < v->n_claims; i++)
		b.n_parts += !v->claims[i]->critical &&
			     (v->claims[i]->n_ready || v->claims[i]->n_running);
	b.n_parts = b.n_parts < 2 ? 2 : b.n_parts;
	return b;
}

static void bound(const struct gsb_view *v, struct gsb_coreside_terms *terms)
{
	terms->bound = bound_of(v);
	terms->yields_to = last_due(v);
}

static unsigned decide(const struct gsb_view *view, struct gsb_policy_area *area,
		       struct gsb_decision *out)
{
	struct gsb_coreside_terms terms = {.critical_first = true};

	if (is_critical_active(view)) {
		terms.rest = rest_of(view);
		if (view->critical_wait_ns && is_wide(view))
			bound(view, &terms);
	}
	return gsb_coreside_decide(view, area, out, &terms);
}

static uint64_t yields_until(const struct gsb_view *view)
{
	const struct gsb_work *due = view->critical_wait_ns ? last_due(view) : NULL;

	return due ? gsb_yield_end_ns(due) : 0;
}

const struct gsb_policy gsb_policy_priority = {
	.name = "priority",
	.heeds = GSB_HEEDS_WEIGHT | GSB_HEEDS_WAIT | GSB_HEEDS_SLOWDOWN | GSB_HEEDS_CRITICAL |
		 GSB_HEEDS_DEADLINE,
	.predicts = true,
	.runs = true,
	.splits = true,
	.beside = true,
	.reshapes = true,
	.decide = decide,
	.yields_until = yields_until,
};
