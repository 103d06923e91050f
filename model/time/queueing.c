/*
 * queueing.c - see queueing.h.
 */
#include "model/time/queueing.h"

/* Requests of a kernel that fills the memory, in what one of its warps takes for one: so many go before one of another kernel. */
#define BEFORE_OLDER   0.3
#define BEFORE_YOUNGER 1.4
/* At a unit of the SM that an older kernel fills, of which the younger one has one. */
#define TURNS 200.0

enum gsb_unit gsb_unit_most_wanted(const double units[GSB_N_UNITS])
{
	unsigned int most = 0;

	for (unsigned int u = 1; u < GSB_N_UNITS; u++)
		if (u != GSB_UNIT_REQUESTS && units[u] > units[most])
			most = u;
	return (enum gsb_unit)most;
}

static double slots(const struct gsb_resident *r)
{
	return r->demand[GSB_UNIT_DENSE] + r->demand[GSB_UNIT_ISSUE];
}

/* Turns that the younger one waits for, were it to want all of the unit. */
static double turns(const struct gsb_resident *k, enum gsb_unit full)
{
	switch (gsb_unit_place(full)) {
	case GSB_UNIT_ISSUE: return k->demand[GSB_UNIT_DENSE] > 0 ? 0 : TURNS * slots(k);
	case GSB_UNIT_SHARED: return TURNS * k->demand[GSB_UNIT_REQUESTS];
	case GSB_UNIT_BARRIER: return 0; /* nobody queues there */
	default: return TURNS * k->demand[full];
	}
}

/* What it takes a warp from one request to the next is warps over requests, of the one as of the other. */
static double behind_memory(const struct gsb_resident *k, const struct gsb_resident *by, bool older)
{
	return (older ? BEFORE_OLDER : BEFORE_YOUNGER) * k->demand[GSB_UNIT_REQUESTS] /
	       by->demand[GSB_UNIT_REQUESTS];
}

double gsb_queueing_wait(const struct gsb_resident *k, const struct gsb_resident *by,
			 enum gsb_unit full, bool older)
{
	double wait = 0,
	       warps = by->in_flight > 0 && k->in_flight > 0 ? by->in_flight / k->in_flight : 1;

	if (gsb_unit_is_memory(full))
		wait = by->backlog * behind_memory(k, by, older);
	else if (!older)
		wait = by->backlog * turns(k, full);
	if (older && k->demand[GSB_UNIT_DENSE] <= 0)
		wait += slots(k) * slots(by);
	return warps * wait;
}
