/*
 * multiqx.c - the scheduler of MultiQx-GPU (Wang et al., PVLDB 7(11), 2014), without its memory manager: doc/multiqx.md.
 *
 * Admission: a query, which is a tenant here, begins when its demand and those of the queries that have begun fit the device's
 * memory together. A demand is the memory of its kernels weighted by their time, so less than its peak. Queries are admitted in
 * the order in which they came, and none overtakes one that waits.
 *
 * Execution: every process there has a context of its own, so kernels of different queries never overlap: one is on the device at
 * a time, first come, first served. Copies go beside it.
 */
#include "broker/policy/draft.h"

static uint64_t demand_of(const struct gsb_claim *c)
{
	return c->demand_ns ? c->demand_bytes : c->memory_bytes;
}

/* The first that there is no memory for; all that came before it are admitted. UINT32_MAX: there is no such. */
static uint32_t first_postponed(const struct gsb_view *view)
{
	uint64_t sum = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < view->n_claims; i++)
		if (view->claims[i]->n_issued) {
			sum += demand_of(view->claims[i]);
			n++;
		}
	for (unsigned i = 0; i < view->n_claims; i++) {
		const struct gsb_claim *c = view->claims[i];

		if (c->n_issued || !c->n_ready)
			continue;
		sum += demand_of(c);
		if (n++ && sum > view->memory_bytes)
			return c->tenant;
	}
	return UINT32_MAX;
}

/* Those that have begun stay, whatever they ask for later. With the device idle the first of the others begins, too. */
static bool may_run(const struct gsb_view *view, const struct gsb_work *w, uint32_t postponed)
{
	return w->claim->n_issued || w->tenant < postponed ||
	       (view->must && w->tenant == postponed);
}

static const struct gsb_work *kernel_that_runs(const struct gsb_view *view)
{
	for (unsigned i = 0; i < view->n_running; i++)
		if (view->running[i]->kind == GSB_WORK_KERNEL)
			return view->running[i];
	return NULL;
}

static unsigned decide(const struct gsb_view *view, struct gsb_policy_area *area,
		       struct gsb_decision *out)
{
	struct gsb_draft a = gsb_draft_begin(view, out);
	uint32_t postponed = first_postponed(view);
	const struct gsb_work *runs = kernel_that_runs(view);
	bool busy = runs;

	for (unsigned i = 0; i < view->n_ready && !gsb_draft_is_full(&a); i++) {
		const struct gsb_work *w = view->ready[i];
		bool kernel = w->kind == GSB_WORK_KERNEL;

		if (!may_run(view, w, postponed)) {
			gsb_draft_hold(&a, i, GSB_REASON_ADMISSION, (struct gsb_hold_end){0});
		} else if (kernel && busy) {
			gsb_draft_hold(&a, i, GSB_REASON_TURN,
				       (struct gsb_hold_end){.until = runs});
		} else {
			gsb_draft_issue(&a, i, GSB_REASON_ARRIVAL);
			busy |= kernel;
		}
	}
	return a.n;
}

const struct gsb_policy gsb_policy_multiqx = {.name = "multiqx", .decide = decide};
