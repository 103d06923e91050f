/*
 * coreside.h - the plan of coreside.c for policies that have terms of their own.
 */
#ifndef GSB_BROKER_POLICY_CORESIDE_H
#define GSB_BROKER_POLICY_CORESIDE_H

#include "broker/policy/bound.h"
#include "broker/policy/policy.h"

struct gsb_coreside_terms {
	bool critical_first; /* critical tenants' work goes before all plans, at the highest priority, anywhere */
	struct gsb_sm_range rest; /* where everybody else's kernels go; GSB_ALL_SMS: anywhere */
	struct gsb_bound bound;	  /* in which parts, and then anywhere */
	const struct gsb_work
		*yields_to; /* running: what would go in parts stays for it; NULL: it goes */
};

/* As decide of struct gsb_policy. */
unsigned gsb_coreside_decide(const struct gsb_view *view, struct gsb_policy_area *area,
			     struct gsb_decision *out, const struct gsb_coreside_terms *terms);

#endif
