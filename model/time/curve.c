/*
 * curve.c - see curve.h.
 */
#include "model/time/curve.h"

#include <errno.h>

int gsb_curve_check(const struct gsb_curve *curve)
{
	double last = 0;

	if (!curve->n || curve->n > GSB_CURVE_POINTS_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < curve->n; i++) {
		double f = curve->points[i].fraction, speed = curve->points[i].speed;

		if (!(f > last) || f > 1 || !(speed > 0) || speed > 100)
			return -EINVAL;
		last = f;
	}
	return 0;
}

double gsb_curve_speed(const struct gsb_curve *curve, double f)
{
	double f0 = 0, speed0 = 0;

	for (uint32_t i = 0; i < curve->n; i++) {
		double f1 = curve->points[i].fraction, speed1 = curve->points[i].speed;

		if (f <= f1)
			return speed0 + (speed1 - speed0) * (f - f0) / (f1 - f0);
		f0 = f1;
		speed0 = speed1;
	}
	return speed0;
}

/* In proportion below the saturation: that is said, and so there is a point for it. */
void gsb_curve_from_saturation(struct gsb_curve *curve, double saturation, double overhead)
{
	const double fractions[] = {saturation / 16, saturation, 1};
	double speed = 1 / (1 + overhead);

	curve->n = 0;
	for (uint32_t i = saturation < 1 ? 0 : 2; i < 3; i++) {
		curve->points[curve->n].fraction = fractions[i];
		curve->points[curve->n++].speed = i ? speed : speed / 16;
	}
}
