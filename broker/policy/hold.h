/*
 * hold.h - the ends of holds, for who asks a policy: when it is to be asked anew, though nothing has come or ended.
 */
#ifndef GSB_BROKER_POLICY_HOLD_H
#define GSB_BROKER_POLICY_HOLD_H

#include "broker/policy/policy.h"

/* Of two times, where 0 says that there is none. */
static inline uint64_t gsb_hold_sooner_ns(uint64_t a, uint64_t b)
{
	return a && (!b || a < b) ? a : b;
}

/* Device time at which the first that is held is to be decided on anew; 0: none has such a time. */
static inline uint64_t gsb_hold_first_ns(const struct gsb_decision *out, unsigned n)
{
	uint64_t first = 0;

	for (unsigned i = 0; i < n; i++)
		if (out[i].verdict == GSB_HOLD)
			first = gsb_hold_sooner_ns(first, out[i].hold.not_before_ns);
	return first;
}

#endif
