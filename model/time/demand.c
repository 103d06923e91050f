/*
 * demand.c - see demand.h.
 */
#include "model/time/demand.h"

#include <math.h>

#include "model/time/queueing.h"

/* Of the unit that a kernel wants most, it fills it from the one on, and not at all below the other; of the next one what the table's
 * kernels have at most, and what none of them has. */
#define FILLS	    0.95
#define FILLS_NOT   0.8
#define LITTLE_ELSE 0.55
#define MUCH_ELSE   0.75

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

double gsb_demand_fullness(double with_fewer)
{
	return fmin(1, fmax(0, 1 - 4 * (1 - with_fewer)));
}

/* Of so many blocks. */
static double fullness(const struct gsb_curve *curve, double f)
{
	return gsb_demand_fullness(gsb_curve_speed(curve, 0.75 * f) / gsb_curve_speed(curve, f));
}

/* 0 at @from, 1 at @to, which may be the lesser of the two. */
static double between(double x, double from, double to)
{
	return fmin(1, fmax(0, (x - from) / (to - from)));
}

/* Of one place with that unit, or the memory's on the way of what it wants of the memory. */
static bool is_part_of(enum gsb_unit unit, enum gsb_unit full)
{
	return gsb_unit_place(unit) == gsb_unit_place(full) ||
	       (gsb_unit_is_memory(unit) && gsb_unit_is_memory(full));
}

double gsb_demand_alike(const double units[GSB_N_UNITS], double speed)
{
	enum gsb_unit full = gsb_unit_most_wanted(units);
	double second = 0;

	for (unsigned int u = 0; u < GSB_N_UNITS; u++)
		if (u != GSB_UNIT_REQUESTS && !is_part_of((enum gsb_unit)u, full))
			second = fmax(second, units[u]);
	return between(units[full] * speed, FILLS_NOT, FILLS) *
	       between(second * speed, MUCH_ELSE, LITTLE_ELSE);
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
	r->alike = gsb_demand_alike(d->units, speed);
	return speed;
}
