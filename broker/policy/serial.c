/*
 * serial.c - one tenant at a time: what a GPU without sharing does with queries that come one after the other (Li 2019's
 * "sequential"). The streams of that tenant run side by side, as in fifo.
 *
 * The device is the tenant's whose work is on it, and then that of the first tenant, in the order in which they came, which has
 * any. So the first query is as fast as alone, and another one runs only where those before it compute on their hosts: there is no
 * share and no bound to waiting. A baseline, not for production.
 */
#include "broker/policy/draft.h"

static uint32_t turn_of(const struct gsb_view *view)
{
	uint32_t first = UINT32_MAX;

	if (view->n_running)
		return view->running[0]->tenant;
	for (unsigned i = 0; i < view->n_ready; i++)
		if (view->ready[i]->tenant < first)
			first = view->ready[i]->tenant;
	return first;
}

static unsigned decide(const struct gsb_view *view, struct gsb_policy_area *area,
		       struct gsb_decision *out)
{
	struct gsb_draft a = gsb_draft_begin(view, out);
	uint32_t turn = turn_of(view);

	for (unsigned i = 0; i < view->n_ready && !gsb_draft_is_full(&a); i++)
		if (view->ready[i]->tenant == turn)
			gsb_draft_issue(&a, i, GSB_REASON_ARRIVAL);
		else
			gsb_draft_hold(&a, i, GSB_REASON_TURN, (struct gsb_hold_end){0});
	return a.n;
}

const struct gsb_policy gsb_policy_serial = {.name = "serial", .runs = true, .decide = decide};
