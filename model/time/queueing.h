/*
 * queueing.h - how long a kernel waits for what another one on its SMs keeps full.
 *
 * A kernel that would be as fast with fewer warps has warps queued at the unit that it wants most. Who comes to that unit waits:
 *
 *  - loads, stores and atomics stand in one queue of the SM, in order. Where a kernel fills the memory, a request of any other waits as
 *    long as some of that kernel's requests take, whatever it asks for itself;
 *  - of a unit of the SM that an older kernel fills the younger one has a turn now and then;
 *  - issue slots go to who never stalls; who stalls waits for those that others take, also when he is older.
 *
 * The constants are of kernels that were made to find them: doc/model.md#queues.
 */
#ifndef GSB_MODEL_TIME_QUEUEING_H
#define GSB_MODEL_TIME_QUEUEING_H

#include "model/time/law.h"

/* So many times what another one has of a unit that is full for both has the older one, or the one that never stalls. */
#define GSB_QUEUEING_OLDER 2.5

/* Of all but requests, which are no unit of their own. */
enum gsb_unit gsb_unit_most_wanted(const double units[GSB_N_UNITS]);

/* Two units of one place are one for whoever wants either. */
static inline enum gsb_unit gsb_unit_place(enum gsb_unit unit)
{
	switch (unit) {
	case GSB_UNIT_DENSE: return GSB_UNIT_ISSUE;
	case GSB_UNIT_L1: return GSB_UNIT_SHARED;
	case GSB_UNIT_CHAIN: return GSB_UNIT_L2;
	default: return unit;
	}
}

/**
 * gsb_queueing_wait() - what a kernel waits for another, against the time that it takes alone
 * @k, @by:  their requests are known
 * @full:    the unit that @by wants most
 * @older:   @k has the older blocks
 *
 * Source:  ours; doc/model.md#queues.
 * Context: pure, any thread.
 * Return:  0 or more: 1 makes it take twice as long.
 */
double gsb_queueing_wait(const struct gsb_resident *k, const struct gsb_resident *by,
			 enum gsb_unit full, bool older);

#endif
