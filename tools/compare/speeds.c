/*
 * speeds.c - see speeds.h.
 */
#include "tools/compare/speeds.h"

#include <math.h>

#define WINDOWS 10 /* begin in each length of one */

double gsb_progress_done(const struct gsb_progress_of *p, double ms)
{
	double x = ms - p->begin;
	unsigned step = 1;

	if (x <= 0)
		return 0;
	while (step <= GSB_LOOP_STEPS && p->at[step] <= x)
		step++;
	if (step > GSB_LOOP_STEPS)
		return 1;
	return (step - 1 + (x - p->at[step - 1]) / (p->at[step] - p->at[step - 1])) /
	       GSB_LOOP_STEPS;
}

static double speed(const struct gsb_progress_of *p, double from, double to)
{
	return (gsb_progress_done(p, to) - gsb_progress_done(p, from)) * p->alone / (to - from);
}

static double least_speed(const struct gsb_progress_of *p, double from, double to, double window)
{
	double least = speed(p, from, to);

	for (double t = from; t + window <= to; t += window / WINDOWS)
		least = fmin(least, speed(p, t, t + window));
	return least;
}

struct gsb_loop_speeds gsb_loop_speeds_make(const struct gsb_progress_of *p, unsigned n,
					    double window_ms)
{
	double first = INFINITY, last = 0, from = 0, to = INFINITY;
	struct gsb_loop_speeds s = {0};

	for (unsigned i = 0; i < n; i++) {
		double end = p[i].begin + p[i].at[GSB_LOOP_STEPS];

		first = fmin(first, p[i].asked);
		from = fmax(from, p[i].asked);
		last = fmax(last, end);
		to = fmin(to, end);
	}
	s.makespan = last - first;
	s.together = to > from;
	for (unsigned i = 0; s.together && i < n; i++) {
		s.speed[i] = speed(&p[i], from, to);
		s.least[i] =
			least_speed(&p[i], from, to, window_ms > 0 ? window_ms : (to - from) / 5);
		s.before[i] = p[i].asked < from ? speed(&p[i], p[i].asked, from) : 0;
	}
	return s;
}
