/*
 * law.h - the law of contention: how fast each of several kernels runs beside the others.
 *
 * Room says who is resident, not how fast. Measured on an H200, and the one model of it here:
 *  - kernels meet in what they keep busy, each unit for itself; whose units differ hardly notice each other, but
 *    what differs is a fact of the GPU (model/gpu/interference.h);
 *  - inside an SM the older block wins a full unit, and the younger one has what is left. Issue slots go to
 *    who never stalls, older or not;
 *  - so block length is weight: as blocks end, ages turn over, and two kernels on one unit share it about as
 *    their blocks are long;
 *  - of what is shared by requests, who has more of them under way has more;
 *  - on disjoint SMs only the L2 and the memory couple;
 *  - loads, stores and atomics stand in one queue, wherever they go: behind those for which the memory has no room all wait. Of kernels whose
 *    requests are known (GSB_UNIT_REQUESTS) this is reckoned, from three rules (queueing.h), and no table is needed.
 *
 * The table says what was measured of kernels that fill one unit and want little else; of others the queues say more. So where requests
 * are known, speeds go by the table as far as the kernel that is least like those is like them, and by the queues for the rest: the one
 * place in which this is decided, for the emulated clock and for who asks what would be if (doc/model.md#table-or-queues).
 *
 * What is shared is filled like water: the speeds of all rise together, each at the pace of its weight, until
 * a unit is full for one of them, which stays where it is while the others go on. One kernel alone has speed 1.
 *
 * Pure: no clock, no thread, no allocation. Its work grows with the pairs of kernels times the pairs of their units that meet: 4,500
 * instructions for 2 kernels of three units each, 145,000 for 16; with requests 5,900 and 246,000; both where speeds are of both laws.
 */
#ifndef GSB_MODEL_TIME_LAW_H
#define GSB_MODEL_TIME_LAW_H

#include <stdint.h>

#include "gsb/sm_range.h"
#include "model/gpu/interference.h"

#define GSB_LAW_KERNELS_MAX 32

/* A kernel that has blocks on the SMs, or a copy that runs. */
struct gsb_resident {
	/* By enum gsb_unit: share of the unit that it uses when it has its SMs for itself, with as many blocks on them as now,
	 * 0 .. 1. Issue slots count as dense as far as they are taken without ever waiting for a result. */
	double demand[GSB_N_UNITS];
	/* Requests under way on an SM, against one with 32 warps of one each; 0: as many. */
	double in_flight;
	/* How far its warps queue at the unit that it wants most, 0 .. 1, where 1 is that with fewer of them it would be as fast. */
	double backlog;
	/* Of one whose requests are known: how far it is as the kernels that the table is of, 0 .. 1 (gsb_demand_alike()). */
	double alike;
	struct gsb_sm_range sms;
	uint64_t started_ns; /* of its oldest blocks; of equal ones the lower index is older */
	double block_ns;     /* of one block alone; 0: none ends, or it is not known */
};

/**
 * gsb_law_speeds() - speeds of kernels that are resident together
 * @f:        of the GPU     @n_sms: of the GPU
 * @r, @n:    the kernels, at most GSB_LAW_KERNELS_MAX
 * @speeds:   of each, against what it has alone, > 0 and <= 1; written only on success. Where block lengths are known, over
 *            many blocks; else as long as the ages stay what they are
 *
 * Source:  ours; doc/model.md#the-law.
 * Return:  0; -EINVAL: a share outside 0 .. 1, SMs that there are not, a time that is no number; -E2BIG: more than the most.
 */
int gsb_law_speeds(const struct gsb_interference *f, uint32_t n_sms, const struct gsb_resident *r,
		   unsigned int n, double *speeds);

#endif
