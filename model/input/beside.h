/*
 * beside.h - two or three kernels on the same SMs that never met, from their profiles: whatever part of an SM each of them has.
 *
 * Profiles have pairs in a few divisions of the SMs. Between these what a kernel costs another goes straight, from nothing where it has no
 * blocks; and so does how fast each is alone.
 *
 * Context: pure, any thread.
 */
#ifndef GSB_MODEL_INPUT_BESIDE_H
#define GSB_MODEL_INPUT_BESIDE_H

#include "model/input/profiles.h"

#define GSB_BESIDE_MAX 3

/* The oldest first. */
struct gsb_beside_set {
	uint32_t n; /* 1 .. GSB_BESIDE_MAX */
	uint32_t kernels[GSB_BESIDE_MAX];
	double parts[GSB_BESIDE_MAX]; /* of every SM, each over 0; at most 1 together */
};

/**
 * gsb_beside_speeds() - while all are there; 1: alone on all SMs
 *
 * Source:  gsb_profiles_predict(), gsb_three_speeds().
 */
void gsb_beside_speeds(const struct gsb_profiles *p, const struct gsb_beside_set *set,
		       double speeds[GSB_BESIDE_MAX]);

/* Of work that takes each as long alone on all SMs; 1: that time. Who has ended leaves the others their parts, and no more. */
double gsb_beside_makespan(const struct gsb_profiles *p, const struct gsb_beside_set *set);

#endif
