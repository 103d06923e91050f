/*
 * speeds.c - see speeds.h.
 */
#include "tools/calibrate/speeds.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LEAST_OVERLAP 0.25 /* of the time alone of the one that takes less */

static double between(uint64_t from, uint64_t to)
{
	return to > from ? (double)(to - from) : 0;
}

int cal_speeds(const struct cal_span spans[2], const struct cal_alone alone[2], double speeds[2])
{
	const struct cal_span *older = &spans[0], *younger = &spans[1];
	uint64_t end = older->end_ns < younger->end_ns ? older->end_ns : younger->end_ns;
	double both = between(younger->start_ns, end), done[2], gaps[2], together;

	if (older->start_ns > younger->start_ns || both <= 0 ||
	    both < LEAST_OVERLAP * fmin(alone[0].ns, alone[1].ns))
		return -ERANGE;
	done[0] = alone[0].ns - between(older->start_ns, younger->start_ns) -
		  between(younger->end_ns, older->end_ns);
	done[1] = alone[1].ns - between(older->end_ns, younger->end_ns);
	for (int i = 0; i < 2; i++)
		gaps[i] = fmax(0, done[i]) * alone[i].gaps;
	together = both - gaps[0] - gaps[1];
	if (together <= 0)
		return -ERANGE;
	for (int i = 0; i < 2; i++)
		speeds[i] = fmax(0, (done[i] - gaps[0] - gaps[1]) / together);
	return 0;
}

void cal_repeat(struct cal_repeats *r, double value)
{
	unsigned int i = r->n++;

	for (; i && r->values[i - 1] > value; i--)
		r->values[i] = r->values[i - 1];
	r->values[i] = value;
}

double cal_middle(const struct cal_repeats *r)
{
	unsigned int half = r->n / 2;

	if (!r->n)
		return 0;
	return r->n % 2 ? r->values[half] : (r->values[half - 1] + r->values[half]) / 2;
}

double cal_least(const struct cal_repeats *r)
{
	return r->values[0];
}

double cal_most(const struct cal_repeats *r)
{
	return r->n ? r->values[r->n - 1] : 0;
}

double cal_spread(const struct cal_repeats *r)
{
	unsigned int outer = r->n / 4;

	return r->n ? r->values[r->n - 1 - outer] - r->values[outer] : 0;
}

double cal_error(double predicted, double measured, double floor)
{
	return fabs(log(fmax(predicted, floor) / fmax(measured, floor)));
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double cal_median(double *values, unsigned int n)
{
	if (!n)
		return 0;
	qsort(values, n, sizeof(*values), ascending);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}
