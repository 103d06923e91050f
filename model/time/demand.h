/*
 * demand.h - what a kernel asks of the units of a GPU, from what was measured of it alone at full residency.
 *
 * Two things are known of a kernel at another residency: it asks for as much less as it is slower; and one that wants the memory
 * most, and would be as fast with fewer blocks, keeps it full, whatever share a profiler gives: what is full on the way there, requests
 * under way, has no counter.
 */
#ifndef GSB_MODEL_TIME_DEMAND_H
#define GSB_MODEL_TIME_DEMAND_H

#include <stdbool.h>

#include "model/time/curve.h"
#include "model/time/law.h"

/* Shares of the units, 0 .. 1, alone and with every SM as full of the kernel as it gets. */
struct gsb_demand {
	double units[GSB_N_UNITS];
};

bool gsb_demand_is_sane(const struct gsb_demand *d);
bool gsb_demand_is_none(const struct gsb_demand *d);

/* Of a kernel that has so much of its speed with a quarter fewer of its blocks, how far it keeps full what it wants most. 0: it is a
 * quarter slower; 1: as fast. */
double gsb_demand_fullness(double with_fewer);

/**
 * gsb_demand_alike() - how far a kernel is as those are that the table of the law was measured with
 * @units: shares that are counted, alone     @speed: that it has now, against that of these shares
 *
 * These fill one unit and want little else: of every other unit half at most, the issue slots of a pipe of half the width. A
 * kernel that fills two, or none, meets others in a way of which the table knows nothing. A memory that is full without its bytes being
 * many, of requests under way, is none of the table's either, which is why this is asked of counts alone. No step: who is between
 * has some of both.
 *
 * Source:  ours; doc/model.md#table-or-queues.
 * Context: pure, any thread.
 * Return:  0 .. 1.
 */
double gsb_demand_alike(const double units[GSB_N_UNITS], double speed);

/**
 * gsb_demand_at() - of a kernel that is resident with a part of its blocks
 * @curve: its speed over residency     @f: 0 < f <= 1, of its blocks on its SMs
 * @r:     its demand, its requests, against those of full residency, its backlog, and how far it is as the table's kernels are set
 *
 * Source:  ours; doc/model.md#contention.
 * Context: pure, any thread.
 * Return:  its speed there, against full residency, were nobody else there.
 */
double gsb_demand_at(const struct gsb_demand *d, const struct gsb_curve *curve, double f,
		     struct gsb_resident *r);

#endif
