/*
 * critical.h - the chain of waits that made a tenant, or one operation, end when it did.
 *
 * From the last completion back: what an operation did last (ran, waited for the device, the policy, ...), and then whom it
 * waited for until it was ready: the one before it in its stream, the event or epoch it was parked on, or its own program,
 * which posted it when it did. Of a program it is taken that it posts after what it waited for: the operation of the same
 * tenant that completed last before the post. The steps join without a gap, so that they add up to the whole time.
 */
#ifndef GSB_TOOLS_TRACE_CRITICAL_H
#define GSB_TOOLS_TRACE_CRITICAL_H

#include "tools/trace/account.h"

/* What a step is: one of enum gsb_wait, or */
enum gsb_critical_cause {
	GSB_CRITICAL_KERNEL = GSB_N_WAITS,
	GSB_CRITICAL_COPY,
	GSB_CRITICAL_FINISH, /* from its end on the device to its completion */
	GSB_CRITICAL_PROGRAM,
	GSB_N_CRITICAL_CAUSES
};

struct gsb_critical_step {
	uint64_t from_ns, to_ns;
	uint32_t op; /* index */
	unsigned cause;
};

struct gsb_critical {
	struct gsb_critical_step *steps; /* the first first */
	uint32_t n_steps, room;
	uint64_t causes[GSB_N_CRITICAL_CAUSES];
	uint64_t
		beyond_ns; /* of the kernels' time: more than it would have been alone, where that is known */
};

const char *gsb_critical_text(unsigned cause);

/* The chain that ends with this operation, from @from_ns on at the earliest. Return: 0, -ENOMEM. */
int gsb_critical_make(struct gsb_critical *c, const struct gsb_traced *t,
		      const struct gsb_accounts *a, uint32_t last, uint64_t from_ns);
void gsb_critical_finish(struct gsb_critical *c);

#endif
