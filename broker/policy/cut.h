/*
 * cut.h - into blocks of which size a launch is cut, where several are proven to give the same results (doc/resizing.md).
 *
 * How large its blocks had better be is a property of a kernel and its work, not of what runs beside it: small blocks cannot fill an
 * SM, whose places for blocks are few, and come and go more often. So it is learned from what each size took with the device to
 * itself, and no model is believed: a launch that comes again and again is tried in each other size a few times, and then cut as the
 * fastest was. Pure; what there is to remember stands in the estimates.
 */
#ifndef GSB_BROKER_POLICY_CUT_H
#define GSB_BROKER_POLICY_CUT_H

#include <stdint.h>

struct gsb_arch;
struct gsb_estimates;

struct gsb_cut {
	uint64_t launch; /* the kernel in this geometry, as of struct gsb_work */
	uint64_t n_blocks;
};

/*
 * gsb_cut_choose() - the index of the one to launch
 * @cuts: n of them, the first as its program asked
 *
 * The first, unless it was seen alone GSB_CUT_KNOWN times and takes long enough to be worth it. Then one that is still to be
 * tried, in order; else the fastest, if that gains GSB_CUT_GAIN of the time.
 */
unsigned gsb_cut_choose(const struct gsb_estimates *e, const struct gsb_arch *arch,
			const struct gsb_cut *cuts, unsigned n);

#define GSB_CUT_KNOWN	 8
#define GSB_CUT_TRIES	 2 /* with the device to itself */
#define GSB_CUT_MOST	 6 /* tries in whatever company: then it is given up */
#define GSB_CUT_WORTH_NS 20000
#define GSB_CUT_GAIN	 0.05

#endif
