/*
 * cap.h - a limit to how much longer a tenant's kernels take beside others than alone.
 *
 * Held against each other are the time in which a tenant has a kernel that could run, and the time that these kernels would have taken alone: what
 * was measured of them, and all of it while nobody else's kernel was there. Who is behind by more than GSB_CAP_SLACK_NS is
 * owed, until it is behind no more: meanwhile it has the device to itself (coreside.c). So over seconds it is slowed as much as it may be, whatever
 * the others do, where that can be had: kernels are not taken off the device, and a device does not stand idle for one that will come.
 * Where several are owed, the one that is slowed most for its limit goes first, so where not all limits can be held all are missed by the same factor.
 *
 * Both times are of the last seconds: they are halved every GSB_CAP_WINDOW_NS. Kernels of one tenant that run beside each other are worth what each is.
 */
#ifndef GSB_BROKER_POLICY_CAP_H
#define GSB_BROKER_POLICY_CAP_H

#include "broker/policy/estimate.h"
#include "broker/policy/policy.h"

#define GSB_CAP_SLACK_NS   2000000ull
#define GSB_CAP_WINDOW_NS  5000000000ull
#define GSB_CAP_LINGER_NS  2000000ull /* who is owed is waited for so long where others run anyway */
#define GSB_CAP_STARVED_NS 1000000000ull /* for what waits so long no limit holds */

/* A kernel of the tenant has ended at @now_ns, and @e knows of it. */
void gsb_cap_note(struct gsb_cap *c, const struct gsb_estimates *e, const struct gsb_run *run,
		  uint64_t now_ns);

/* The tenant that the device is owed to; NULL: nobody. */
const struct gsb_claim *gsb_cap_owed(const struct gsb_view *view, bool critical_apart);

#endif
