/*
 * stretch.h - several kernels on resources that do not suffice: one factor per resource.
 *
 * A kernel alone runs at a speed and spends the share u of its time on a resource. When the mix asks
 * for more than there is, time spent there becomes q times as long, the same q for all, with q just
 * large enough. With several resources the factors depend on each other; they are the maximum of a
 * concave function (doc/model.md#contention), so improving one at a time always gets there.
 *
 * Issue slots belong to an SM, so SMs that hold the same mix are a group with its own factor; memory
 * bandwidth belongs to the device and has one factor. contend.c and fraction.c call this.
 */
#ifndef GSB_MODEL_TIME_STRETCH_H
#define GSB_MODEL_TIME_STRETCH_H

#include <stdint.h>

#define GSB_STRETCH_KERNELS 2
#define GSB_STRETCH_GROUPS  8

struct gsb_share {
	double issue, bandwidth; /* of the time of the kernel alone; 0 .. 1 */
};

struct gsb_stretch {
	uint32_t n_groups;
	struct {
		double weight; /* share of the SMs; all add up to 1 */
		double speed
			[GSB_STRETCH_KERNELS]; /* on these SMs, were nothing short; 0 = not here */
		double issue_factor;	       /* out: q of the issue slots of these SMs, >= 1 */
	} groups[GSB_STRETCH_GROUPS];
	struct gsb_share shares[GSB_STRETCH_KERNELS];
	double issue_capacity, bandwidth_capacity; /* > 0 */
	double bandwidth_factor;		   /* out: q of the device's bandwidth, >= 1 */
};

/* Fill the factors. Pure, any thread. */
void gsb_stretch_solve(struct gsb_stretch *s);
/* How much longer kernel k takes on the SMs of group g. >= 1. */
double gsb_stretch_of(const struct gsb_stretch *s, uint32_t g, uint32_t k);
/* Speed of kernel k over all SMs, with the factors. */
double gsb_stretch_speed(const struct gsb_stretch *s, uint32_t k);

#endif
