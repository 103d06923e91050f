/*
 * speeds.h - what tenants that do the same again and again had of a device beside each other: from when each of them was how far.
 *
 * The speed of a tenant is the part of its work that it did in a time, times what all of it takes alone, over that time: 1 is as fast as
 * alone. What counts is the time in which all are there: from when the
 * last one asked for something to the first one's end.
 */
#ifndef GSB_TOOLS_COMPARE_SPEEDS_H
#define GSB_TOOLS_COMPARE_SPEEDS_H

#include <stdbool.h>

#define GSB_LOOPS_MAX  8
#define GSB_LOOP_STEPS 20 /* each that much of the work */

/* How far a tenant was, when. In ms. */
struct gsb_progress_of {
	double asked;		       /* to begin, on a clock that all share */
	double begin;		       /* its first launch could */
	double at[GSB_LOOP_STEPS + 1]; /* the end of each step since then; at[0] is 0 */
	double alone;		       /* what all of it takes alone */
};

struct gsb_loop_speeds {
	double makespan;	      /* from the first one's asking to the last one's end */
	bool together;		      /* they were there at one time; else the rest is 0 */
	double speed[GSB_LOOPS_MAX];  /* in that time */
	double least[GSB_LOOPS_MAX];  /* over any window of it */
	double before[GSB_LOOPS_MAX]; /* from its asking until all were there; 0: it was the last */
};

/* The part of its work that is done at a time on the clock that all share, 0 .. 1. */
double gsb_progress_done(const struct gsb_progress_of *p, double ms);

/* @window_ms: over how long the least speed is looked for; 0: a fifth of the time that they are together. Pure. */
struct gsb_loop_speeds gsb_loop_speeds_make(const struct gsb_progress_of *p, unsigned n,
					    double window_ms);

#endif
