/*
 * priority.c - coreside, with SMs kept free for critical tenants.
 *
 * While a critical tenant is active, everybody else's kernels go to the other SMs alone. So its launches begin at once, on SMs that nobody
 * has blocks on, whatever fills the rest; its queues have the highest priority, so that what does not fit there has the
 * next room on the others. It is active while it has work, and LINGER_NS longer: then the others have all of the device again, and
 * a launch of it that comes later waits for their blocks once, as it does where the device has no partitions.
 *
 * Cooperative kernels of others need all of their blocks at once and go anywhere.
 */
#include "broker/policy/coreside.h"

#define LINGER_NS     100000000ull
#define RESERVED_PART 8 /* of the SMs: 16 of an H200's 132 */

static bool is_active(const struct gsb_view *v, const struct gsb_claim *c)
{
	return c->n_ready || c->n_running || (c->n_issued && v->now_ns < c->asked_ns + LINGER_NS);
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
	uint32_t n = v->arch->n_sms / RESERVED_PART;

	if (!v->sm_group)
		return GSB_ALL_SMS;
	n -= n % v->sm_group;
	if (!n)
		n = v->sm_group;
	return n < v->arch->n_sms ? (struct gsb_sm_range){n, v->arch->n_sms - n} : GSB_ALL_SMS;
}

static unsigned decide(const struct gsb_view *view, struct gsb_policy_area *area,
		       struct gsb_decision *out)
{
	struct gsb_coreside_terms terms = {.critical_first = true};

	if (is_critical_active(view))
		terms.rest = rest_of(view);
	return gsb_coreside_decide(view, area, out, &terms);
}

const struct gsb_policy gsb_policy_priority = {
	.name = "priority",
	.heeds = GSB_HEEDS_WEIGHT | GSB_HEEDS_WAIT | GSB_HEEDS_SLOWDOWN | GSB_HEEDS_CRITICAL,
	.predicts = true,
	.runs = true,
	.decide = decide,
};
