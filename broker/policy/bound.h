/*
 * bound.h - launches in parts that end soon, so that a critical tenant has all SMs when it comes.
 *
 * A kernel is not taken off the device, but in a queue of higher priority another one has the next place of each block that ends. That
 * is enough for one that fills all places. One with fewer blocks than that has the blocks of others beside it on its SMs, and new ones as
 * old ones end, for as long as their launches have any. So a launch of which [resize] has proven it goes to the device in parts, slices or blocks that end
 * after so many tiles, of which the next ones wait while a critical tenant's kernel is there: then SMs become empty for it. No SMs have to
 * be kept free of such launches; few free SMs would even harm: all blocks that find room there go there at once, and crowd.
 *
 * What others wait is bounded, too: in the long run GSB_YIELD_PART of the time. A critical tenant that wants more is not waited for meanwhile.
 */
#ifndef GSB_BROKER_POLICY_BOUND_H
#define GSB_BROKER_POLICY_BOUND_H

#include "broker/policy/policy.h"

#define GSB_CRITICAL_LINGER_NS \
	100000000ull /* a critical tenant is active for so long after its last launch */

#define GSB_YIELD_PART	    8 /* others wait for an eighth of the time, in the mean over */
#define GSB_YIELD_WINDOW_NS 1000000000ull
#define GSB_YIELD_SLACK_NS  2000000ull /* and for so much more */
#define GSB_YIELD_MOST_NS \
	2000000ull /* never for a kernel that takes longer alone, nor for longer */

#define GSB_RESERVED_PERCENT 12 /* of the SMs, usually */

/*
 * SMs that are kept free for critical tenants: that part of all, to the nearest whole group, but one if it is any. Of an H200's 132 in groups of 16
 * the usual 12 % are 16. @group: 0: the device has no parts.
 */
uint32_t gsb_reserved_sms(uint32_t n_sms, uint32_t group, uint32_t percent);

/* For launches that are not critical. */
struct gsb_bound {
	uint64_t wait_ns; /* SMs come free within this; 0: launches are not bounded */
	unsigned n_parts; /* that are on the device at a time, of all tenants */
};

/* In which shape a launch ends soon. */
struct gsb_bounded {
	bool any;	  /* there is one: */
	unsigned shape;	  /* as of struct gsb_decision; 0: as asked it is short */
	uint64_t part_ns; /* a part of it takes so long */
};

/* @sms: where it goes */
struct gsb_bounded gsb_bound_choose(const struct gsb_view *v, const struct gsb_bound *b,
				    const struct gsb_work *w, struct gsb_sm_range sms);

/* A critical tenant's kernel that is on the device: are others to wait for it? */
bool gsb_yield_is_due(const struct gsb_work *w, uint64_t now_ns);
/* If so, until then: what takes much longer than it ever did is waited for no further. */
static inline uint64_t gsb_yield_end_ns(const struct gsb_work *w)
{
	return w->since_ns + GSB_YIELD_MOST_NS;
}

/* It wants more SMs than are kept free, or did just now. */
bool gsb_yield_is_wide(const struct gsb_claim *c, uint64_t now_ns);

/*
 * gsb_yield_note() - a kernel of a critical tenant has ended
 * @n_reserved: as the view has it    @w: as it was issued    @waited: others were there
 */
void gsb_yield_note(struct gsb_yield *y, uint32_t n_reserved, const struct gsb_work *w, bool waited,
		    uint64_t now_ns);

#endif
