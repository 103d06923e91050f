/*
 * claim.h - what a tenant has had of the device, kept up to date: by the engine as kernels end, by a replay likewise.
 *
 * Shares are start-time fair queuing (Goyal, Vin, Cheng 1996) on SM time: what a tenant gets is added to its share_ns by
 * its weight, and who has least goes first. Who asked for nothing gathers nothing: when it comes again it begins
 * where the one that was served last stands.
 */
#ifndef GSB_BROKER_POLICY_CLAIM_H
#define GSB_BROKER_POLICY_CLAIM_H

#include "base/compiler.h"
#include "broker/policy/policy.h"

#define GSB_CLAIM_PAUSE_NS 2000000 /* at most, between two kernels of one that is still there */

/*
 * It wants the device again: @served is the share_ns of the tenant that was served last. Of who was on SMs of its own, and still is, that is
 * another's: it had other SMs, and says nothing of what those got who have these in turn.
 */
static inline void gsb_claim_begin(struct gsb_claim *c, uint64_t served_ns, uint64_t now_ns)
{
	if (gsb_unlikely(c->apart) && now_ns <= c->habits.ended_ns + GSB_CLAIM_PAUSE_NS)
		return;
	if (!c->n_ready && !c->n_running && c->share_ns < served_ns)
		c->share_ns = served_ns;
}

/*
 * gsb_claim_note() - a kernel of the tenant has ended
 * @took_ns: how long it took   @sm_ns: of that, SM time, one SM for one nanosecond counts 1
 * @memory_bytes: what the tenant has of the device's memory
 */
void gsb_claim_note(struct gsb_claim *c, uint64_t took_ns, uint64_t sm_ns, uint64_t memory_bytes);

/* What is shorter is neither planned with nor remembered as a habit: it is over before anything could be made of it. */
#define GSB_LONG_NS 100000

/* Likewise, for policies that predict: what it does again. */
void gsb_claim_note_habit(struct gsb_claim *c, const struct gsb_arch *arch,
			  const struct gsb_work *w, uint64_t took_ns, uint64_t now_ns);

#endif
