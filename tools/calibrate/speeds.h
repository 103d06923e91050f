/*
 * speeds.h - the arithmetic of a calibration: from the times at which grids began and ended to speeds, and how far a law is from them.
 *
 * What a kernel does alone in so long is known. Beside another one it has done the same in the end, a part of it before or after the
 * other was there, at speed 1: the rest it did while both were there. So nothing needs to be seen while it runs, which on a device
 * whose time is virtual cannot be, and it does not matter which of the two ends first.
 */
#ifndef GSB_TOOLS_CALIBRATE_SPEEDS_H
#define GSB_TOOLS_CALIBRATE_SPEEDS_H

#include <stdint.h>

/* Time of the device, in ns: the first of its grids began, the last has ended. */
struct cal_span {
	uint64_t start_ns, end_ns;
};

/* What a kernel takes alone, and which part of it is between its grids: then the other one has all there is. */
struct cal_alone {
	double ns, gaps;
};

/*
 * cal_speeds() - of two kernels while both are there
 * @spans:  of the older and the younger one, beside each other
 * @alone:  of each, with as many blocks on each SM
 * @speeds: of each, 1: as alone; at least 0; written only on success
 *
 * Return: 0; -ERANGE: they were together for less than a quarter of what the shorter one takes alone, or the older one came later: that
 *         is no measurement.
 */
int cal_speeds(const struct cal_span spans[2], const struct cal_alone alone[2], double speeds[2]);

#define CAL_REPEATS_MAX 9

/* Repeats of one figure, the least first. */
struct cal_repeats {
	double values[CAL_REPEATS_MAX];
	unsigned int n;
};

void cal_repeat(struct cal_repeats *r, double value); /* there is room for it */
double cal_middle(const struct cal_repeats *r);	      /* their median; 0 of none */
double cal_least(const struct cal_repeats *r);
double cal_most(const struct cal_repeats *r);
/* Between the least and the most of what is left without the outer quarter on either side, of three all. */
double cal_spread(const struct cal_repeats *r);

/* By how much a predicted speed is off, as a logarithm; of speeds below @floor it does not matter how far. */
double cal_error(double predicted, double measured, double floor);
double cal_median(double *values, unsigned int n); /* sorts them; 0 of none */

#endif
