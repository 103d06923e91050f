/*
 * draft.h - a decision being written: what goes, in order, and of what is held as much as there is room to say why.
 */
#ifndef GSB_BROKER_POLICY_DRAFT_H
#define GSB_BROKER_POLICY_DRAFT_H

#include <stddef.h>

#include "broker/policy/hold.h"
#include "broker/policy/policy.h"

struct gsb_draft {
	const struct gsb_view *view;
	struct gsb_decision *out;
	unsigned n, n_issued;
	struct gsb_decision *held; /* the last of those that are */
};

static inline struct gsb_draft gsb_draft_begin(const struct gsb_view *view,
					       struct gsb_decision *out)
{
	return (struct gsb_draft){.view = view, .out = out};
}

static inline bool gsb_draft_is_full(const struct gsb_draft *a)
{
	return a->n_issued == a->view->n_free_queues;
}

/* What is said of the ready work @i, as its program asked for it unless the caller changes that. NULL: there is no room. */
static inline struct gsb_decision *gsb_draft_issue(struct gsb_draft *a, unsigned i,
						   enum gsb_reason reason)
{
	const struct gsb_work *w = a->view->ready[i];
	struct gsb_decision *d = &a->out[a->n];

	if (gsb_draft_is_full(a))
		return NULL;
	*d = (struct gsb_decision){
		.ready = i,
		.reason = reason,
		.priority = w->priority,
		.predicted_ns = w->predicted.alone_ns,
		.trust_ppm = w->predicted.trust_ppm,
	};
	a->n++;
	a->n_issued++;
	return d;
}

/* Holding takes no place that issuing may need. Where there is no room to say more, the last that is said ends no later than the rest. */
static inline void gsb_draft_hold(struct gsb_draft *a, unsigned i, enum gsb_reason reason,
				  struct gsb_hold_end hold)
{
	if (a->n - a->n_issued < GSB_N_DECISIONS - GSB_N_QUEUES) {
		a->held = &a->out[a->n++];
		*a->held = (struct gsb_decision){
			.ready = i, .verdict = GSB_HOLD, .reason = reason, .hold = hold};
	} else {
		a->held->hold.not_before_ns =
			gsb_hold_sooner_ns(a->held->hold.not_before_ns, hold.not_before_ns);
	}
}

#endif
