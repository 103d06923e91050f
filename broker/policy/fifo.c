/*
 * fifo.c - plain streams: what is ready first goes first, and nothing is held. This is what
 * a GPU does with the streams of one process, and what the other policies are measured against.
 */
#include "broker/policy/policy.h"

static unsigned decide(const struct gsb_view *view, struct gsb_policy_area *area,
		       struct gsb_decision *out)
{
	unsigned n = view->n_ready < view->n_free_queues ? view->n_ready : view->n_free_queues;

	for (unsigned i = 0; i < n; i++)
		out[i] = (struct gsb_decision){.ready = i,
					       .reason = GSB_REASON_ARRIVAL,
					       .priority = view->ready[i]->priority};
	return n;
}

const struct gsb_policy gsb_policy_fifo = {.name = "fifo", .runs = true, .decide = decide};
