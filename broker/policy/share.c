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
