/*
 * demand.c - see demand.h.
 */
#include "model/time/demand.h"

#include <math.h>

#include "model/time/queueing.h"

bool gsb_demand_is_sane(const struct gsb_demand *d)
{
	bool sane = true;

	for (unsigned int u = 0; u < GSB_N_UNITS; u++)
		sane &= d->units[u] >= 0 && d->units[u] <= 1;
	return sane;
}

bool gsb_demand_is_none(const struct gsb_demand *d)
{
	return d->units[gsb_unit_most_wanted(d->units)] <= 0;
}

/* Of so many blocks. 0: with a quarter fewer it would be a quarter slower; 1: as fast. */
static double fullness(const struct gsb_curve *curve, double f)
{
	double lost = 1 - gsb_curve_speed(curve, 0.75 * f) / gsb_curve_speed(curve, f);

	return fmin(1, fmax(0, 1 - 4 * lost));
}

double gsb_demand_at(const struct gsb_demand *d, const struct gsb_curve *curve, double f,
		     struct gsb_resident *r)
{
	double speed = gsb_curve_speed(curve, f) / gsb_curve_speed(curve, 1);
	enum gsb_unit most = gsb_unit_most_wanted(d->units);

	for (unsigned int u = 0; u < GSB_N_UNITS; u++)
		r->demand[u] = d->units[u];
	if (gsb_unit_is_memory(most) && d->units[most] > 0)
		r->demand[most] = fmax(d->units[most], fullness(curve, 1));
	for (unsigned int u = 0; u < GSB_N_UNITS; u++)
		r->demand[u] = fmin(1, r->demand[u] * speed);
	r->in_flight = f;
	r->backlog = fullness(curve, f);
	return speed;
}
