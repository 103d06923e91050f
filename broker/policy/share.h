/*
 * share.h - who has had more than its share, and who has waited long enough: what policies that share the device out have in
 * common. Shares are those of claim.h; within GSB_SHARE_LAG_NS of each other tenants count as equal, so that a plan may order them
 * as it likes.
 */
#ifndef GSB_BROKER_POLICY_SHARE_H
#define GSB_BROKER_POLICY_SHARE_H

#include "broker/policy/policy.h"

#define GSB_SHARE_LAG_NS 50000000ull  /* of the whole device */
#define GSB_STARVED_NS	 200000000ull /* longest wait, where a tenant has none of its own */

/* The least that a tenant has had which wants the device now; UINT64_MAX: none does. */
uint64_t gsb_share_least_ns(const struct gsb_view *view);

/* Its tenant is ahead of that by more than it may. */
bool gsb_share_is_ahead(const struct gsb_view *view, const struct gsb_claim *c, uint64_t least_ns);

/* Device time when it will have been ready for as long as anything may: @usual_ns, where its tenant does not say how long that is. */
uint64_t gsb_share_starves_ns(const struct gsb_work *w, uint64_t usual_ns);
/* It has been. */
bool gsb_share_is_starved(const struct gsb_view *view, const struct gsb_work *w, uint64_t usual_ns);

/*
 * A kernel of a tenant with a deadline is due when it would end behind it if another kernel went first: behind what runs, the longest
 * that is ready of others, and itself, for none is taken off the device once it is there. So is what is starved. What is due goes first,
 * the soonest due before the others (earliest deadline first).
 */
bool gsb_share_is_due(const struct gsb_view *view, const struct gsb_work *w, uint64_t usual_ns);
/* Device time when it will be, at the latest, if nothing else happens; below 0: it never could be in time. */
int64_t gsb_share_due_ns(const struct gsb_view *view, const struct gsb_work *w, uint64_t usual_ns);
/* Why it is, of one that is due now: STARVED or DEADLINE. */
enum gsb_reason gsb_share_why_due(const struct gsb_view *view, const struct gsb_work *w);

#endif
