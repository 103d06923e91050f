/*
 * uid_limits.c - see uid_limits.h.
 */
#include "broker/supervisor/uid_limits.h"

/* Where uid stands; a new one takes a free place, or that of whose lines were paid for first. */
static unsigned place_of(struct gsb_uid_limits *l, uid_t uid)
{
	unsigned quietest = 0;

	for (unsigned i = 0; i < l->n; i++) {
		if (l->at[i].uid == uid)
			return i;
		if (l->at[i].limit.paid_ns < l->at[quietest].limit.paid_ns)
			quietest = i;
	}
	if (l->n < GSB_UID_LIMITS_MAX)
		quietest = l->n++;
	l->at[quietest].uid = uid;
	l->at[quietest].limit = (struct gsb_log_limit){0};
	return quietest;
}

bool gsb_uid_limits_pass(struct gsb_uid_limits *l, uid_t uid, uint64_t now_ns, unsigned *n_held)
{
	return gsb_log_limit_pass(&l->at[place_of(l, uid)].limit, now_ns, n_held);
}
