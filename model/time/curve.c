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

void gsb_curve_from_saturation(struct gsb_curve *curve, double saturation, double overhead)
{
	curve->n = saturation < 1 ? 2 : 1;
	curve->points[0].fraction = saturation < 1 ? saturation : 1;
	curve->points[1].fraction = 1;
	curve->points[0].speed = curve->points[1].speed = 1 / (1 + overhead);
}
