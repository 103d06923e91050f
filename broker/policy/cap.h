/*
 * cap.h - a limit to how much longer a tenant's kernels take beside others than alone.
 *
 * Held against each other are the time in which a tenant has a kernel that could run, and the time that these kernels would have taken alone: what
 * was measured of them, and all of it while nobody else's kernel was there. Who is behind by more than it may be is
 * owed, until it is behind no more: meanwhile it has the device to itself (coreside.c). So over seconds it is slowed as much as it may be, whatever
 * the others do, where that can be had: kernels are not taken off the device, and a device does not stand idle for one that will come.
 * Where several are owed, the one that is slowed most for its limit goes first, so where not all limits can be held all are missed by the same factor.
 *
 * A tenant that has no limit of its own has a floor: of what the limits leave of the device it is to have about half of its share by weight in any second (the
 * limit that this comes to is two thirds of its share). It holds where neither parts nor turns see to shares (parts.h), and is no promise, so it is slow to act: the
 * tenant may fall behind further; time between its kernels counts on both sides (what it has done is held against what it does alone in
 * the same time); a kernel of which nobody knows how long it takes alone was not slowed while it ran; and having had more before makes up for nothing.
 *
 * Both times are of the last seconds: they are halved every GSB_CAP_WINDOW_NS. Kernels of one tenant that run beside each other are worth what each is.
 */
#ifndef GSB_BROKER_POLICY_CAP_H
#define GSB_BROKER_POLICY_CAP_H

#include "broker/policy/estimate.h"
#include "broker/policy/policy.h"

#define GSB_CAP_SLACK_NS   2000000ull	/* so far it may be behind its own limit, */
#define GSB_FLOOR_SLACK_NS 200000000ull /* and so far behind its floor */
#define GSB_CAP_WINDOW_NS  5000000000ull
#define GSB_CAP_GAP_NS \
	100000000ull /* who had no kernel for so long does not want the device any more */
#define GSB_CAP_LINGER_NS \
	2000000ull /* who is owed is waited for so long where others run anyway, */
#define GSB_FLOOR_LINGER_NS \
	200000ull /* and so long by a floor: from one launch to the next, not while it thinks */
#define GSB_CAP_STARVED_NS 1000000000ull /* for what waits so long no limit holds */

/* So many times as long as alone its kernels may take now, beside such others (itself among them). */
double gsb_cap_limit(const struct gsb_claim *c, const struct gsb_claim *const *all, unsigned n,
		     uint64_t now_ns);

/* A kernel of the tenant has ended at @now_ns, and @e knows of it; @limit: gsb_cap_limit(). */
void gsb_cap_note(struct gsb_cap *c, double limit, const struct gsb_estimates *e,
		  const struct gsb_run *run, uint64_t now_ns);

/* The tenant that the device is owed to, by limits or by floors; NULL: nobody. */
struct gsb_owed {
	const struct gsb_claim *claim;
	double limit;
	uint64_t
		until_ns; /* it has no kernel: device time until which it is waited for; 0: it has one */
};

enum gsb_cap_kind { GSB_CAP_LIMIT, GSB_CAP_FLOOR };

/*
 * gsb_cap_goes_between() - how a floor is held for the tenant of @w where it is owed
 * Where its blocks do not fill the rounds that they take, to hold everybody else for it would leave room idle, and what is idle makes the last of all end later. So it
 * goes between the others' blocks, on a queue of the highest priority, and nobody is held, unless it falls half a second behind all the same. False: it has the device to itself, as by a limit of its own, and where there
 * are no priorities.
 */
bool gsb_cap_goes_between(const struct gsb_view *view, const struct gsb_work *w);

struct gsb_owed gsb_cap_owed(const struct gsb_view *view, enum gsb_cap_kind kind,
			     bool critical_apart);

#endif
