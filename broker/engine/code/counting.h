/*
 * counting.h - launches that count what their warps ask of an SM (demand.h): which do, and what becomes of their words.
 */
#ifndef GSB_BROKER_ENGINE_CODE_COUNTING_H
#define GSB_BROKER_ENGINE_CODE_COUNTING_H

#include <stdbool.h>
#include <stdint.h>

#define GSB_COUNTING_WARPS 2048 /* about so many of a launch are counted */

struct gsb_cmd_launch;
struct gsb_fence;
struct gsb_kernel_fn;
struct gsb_tenant;
struct gsb_warp_demand;

/* Where the demand of such a launch stands, or is to stand; NULL: there is no more room. */
struct gsb_warp_demand *gsb_counting_of(const struct gsb_kernel_fn *fn,
					const struct gsb_cmd_launch *l);
/* Would a launch that counts tell something new? */
bool gsb_counting_is_wanted(const struct gsb_kernel_fn *fn, const struct gsb_cmd_launch *l);
/* One warp in so many is counted. */
uint32_t gsb_counting_every(const struct gsb_cmd_launch *l);

/*
 * gsb_counting_note() - a launch has counted
 * @fence: that its operation holds: until the words are understood, the kernel stays
 * @words: what it has written; consumed
 */
void gsb_counting_note(struct gsb_tenant *t, struct gsb_kernel_fn *fn, struct gsb_fence *fence,
		       const struct gsb_cmd_launch *l, uint64_t *words);

#endif
