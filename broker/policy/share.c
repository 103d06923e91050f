/*
 * share.c - see share.h.
 */
#include "broker/policy/share.h"

uint64_t gsb_share_least_ns(const struct gsb_view *view)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < view->n_claims; i++) {
		const struct gsb_claim *c = view->claims[i];

		if ((c->n_ready || c->n_running) && c->share_ns < least)
			least = c->share_ns;
	}
	return least;
}

bool gsb_share_is_ahead(const struct gsb_view *view, const struct gsb_claim *c, uint64_t least_ns)
{
	return c->share_ns > least_ns &&
	       c->share_ns - least_ns > GSB_SHARE_LAG_NS * view->arch->n_sms;
}

uint64_t gsb_share_starves_ns(const struct gsb_work *w, uint64_t usual_ns)
{
	return w->since_ns + (w->claim->max_wait_ns ? w->claim->max_wait_ns : usual_ns);
}

bool gsb_share_is_starved(const struct gsb_view *view, const struct gsb_work *w, uint64_t usual_ns)
{
	return view->now_ns >= gsb_share_starves_ns(w, usual_ns);
}

static uint64_t longest_ready_ns(const struct gsb_view *v, const struct gsb_claim *but)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < v->n_ready; i++)
		if (v->ready[i]->kind == GSB_WORK_KERNEL && v->ready[i]->claim != but &&
		    v->ready[i]->predicted.alone_ns > ns)
			ns = v->ready[i]->predicted.alone_ns;
	return ns;
}

/* When what runs of others will have ended: as was said when it went, or else at the latest, one behind the other. */
static uint64_t free_ns(const struct gsb_view *v, const struct gsb_claim *but)
{
	uint64_t end = 0;

	for (unsigned i = 0; i < v->n_running; i++) {
		const struct gsb_work *w = v->running[i];
		uint64_t its = w->predicted_end_ns;

		if (w->kind != GSB_WORK_KERNEL || w->claim == but)
			continue;
		if (!its)
			its = (end > w->since_ns ? end : w->since_ns) + w->predicted.alone_ns;
		end = its > end ? its : end;
	}
	return end > v->now_ns ? end : v->now_ns;
}

/* The last moment at which another kernel may go before it; INT64_MAX: it has no deadline. */
static int64_t latest_ns(const struct gsb_view *v, const struct gsb_work *w)
{
	const struct gsb_claim *c = w->claim;

	if (!c->deadline_ns || w->kind != GSB_WORK_KERNEL)
		return INT64_MAX;
	return (int64_t)(w->since_ns + c->deadline_ns) - (int64_t)w->predicted.alone_ns -
	       (int64_t)longest_ready_ns(v, c);
}

static bool is_pressed(const struct gsb_view *v, const struct gsb_work *w)
{
	return w->claim->deadline_ns && (int64_t)free_ns(v, w->claim) >= latest_ns(v, w);
}

int64_t gsb_share_due_ns(const struct gsb_view *view, const struct gsb_work *w, uint64_t usual_ns)
{
	int64_t starves = (int64_t)gsb_share_starves_ns(w, usual_ns), latest = latest_ns(view, w);

	return latest < starves ? latest : starves;
}

bool gsb_share_is_due(const struct gsb_view *view, const struct gsb_work *w, uint64_t usual_ns)
{
	return gsb_share_is_starved(view, w, usual_ns) || is_pressed(view, w);
}

enum gsb_reason gsb_share_why_due(const struct gsb_view *view, const struct gsb_work *w)
{
	return is_pressed(view, w) ? GSB_REASON_DEADLINE : GSB_REASON_STARVED;
}
