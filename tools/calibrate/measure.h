/*
 * measure.h - all pairs of kernels on a rig, in rounds, and how far the law is from what was not asked for its table.
 *
 * The older kernel is one grid of long blocks on half of every SM. The younger one is many grids of short blocks on the other half, which
 * stay the younger ones. Each is measured alone in each round, too, so that clocks that drift from round to round cost nothing.
 *
 * The check: the same pairs with a quarter of every SM for the one and three for the other, and as two sequences of equally short
 * grids, whose ages turn over.
 */
#ifndef GSB_TOOLS_CALIBRATE_MEASURE_H
#define GSB_TOOLS_CALIBRATE_MEASURE_H

#include "model/gpu/interference.h"
#include "tools/calibrate/rig.h"

struct cal_plan {
	unsigned int rounds;
	uint32_t
		n_grids; /* of the younger kernel; a block of the older one is as long as all of them */
	uint64_t grid_ns; /* one of them, alone */
	bool check;
	bool tells; /* how far it is, on stderr */
};

struct cal_pair {
	struct cal_repeats older, younger; /* speeds */
};

struct cal_worst {
	enum gsb_unit older, younger;
	double value;
};

struct cal_result {
	struct cal_pair pairs[GSB_N_UNITS][GSB_N_UNITS];
	struct cal_worst spread; /* of a speed, over the rounds */
	/* The law with the new table, as errors of the logarithm of each speed. */
	unsigned int n_checked;
	double median;
	struct cal_worst off;
};

/* What is measured on this device if nobody says otherwise. */
struct cal_plan cal_plan_of(const struct cal_rig *rig, bool quick);

/*
 * cal_measure() - all ordered pairs of rig->units
 * @law: of the GPU as far as it is known; gets what was found
 *
 * Return: 0; -1, and rig->why says what failed, or which pair is not twice the same.
 */
int cal_measure(struct cal_rig *rig, const struct cal_plan *plan, struct gsb_interference *law,
		struct cal_result *out);

#endif
