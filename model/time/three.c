/*
 * three.c - see three.h.
 */
#include "model/time/three.h"

#include <math.h>

#define OF_SECOND (2.0 / 3) /* of what the oldest loses */
#define FOR_TWO	  2.0	    /* is what the oldest leaves */
#define LEAST	  0.3 /* of the time alone: who brings what another reads saves it no more than that */

static double speed(double cost)
{
	return 1 / fmax(1 + cost, LEAST);
}

void gsb_three_speeds(const struct gsb_three *t, double speeds[3])
{
	speeds[0] = speed(OF_SECOND * t->first_by[0] + (1 - OF_SECOND) * t->first_by[1]);
	speeds[1] = speed(FOR_TWO * t->by_first[0] + t->second_by_third);
	speeds[2] = speed(FOR_TWO * t->by_first[1] + t->third_by_second);
}
