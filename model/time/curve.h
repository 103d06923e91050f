/*
 * curve.h - speed of one kernel against how many of its blocks are resident.
 *
 * Measured alone, with no profiler: the kernel asks for shared memory that it never touches, so that
 * only so many blocks fit an SM, and its grid is timed. A kernel that keeps the arithmetic, an L1 or
 * the memory busy is as fast with fewer blocks; one that waits is not. demand.c asks.
 */
#ifndef GSB_MODEL_TIME_CURVE_H
#define GSB_MODEL_TIME_CURVE_H

#include <stdint.h>

#define GSB_CURVE_POINTS_MAX 32 /* as many as an SM has block slots */

/*
 * Speed of a kernel alone when held to a fraction of its resident blocks; 1 = its speed in the
 * original form at full residency. Between points: linear; below the first: linear to (0, 0).
 */
struct gsb_curve {
	uint32_t n;
	struct {
		double fraction; /* 0 < f <= 1, strictly rising */
		double speed;	 /* > 0 */
	} points[GSB_CURVE_POINTS_MAX];
};

/* 0; -EINVAL: no points or too many, fractions that do not rise, a speed out of range. Pure. */
int gsb_curve_check(const struct gsb_curve *curve);
/* Speed at f in 0 .. 1; the curve has passed the check. Past the last point: as there. */
double gsb_curve_speed(const struct gsb_curve *curve, double f);
/* A curve from two numbers, when only they are known: full speed from @saturation (> 0) on. */
void gsb_curve_from_saturation(struct gsb_curve *curve, double saturation, double overhead);

#endif
