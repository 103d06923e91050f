/*
 * three.h - three kernels on the same SMs, from how each two of them get on there.
 *
 * What another costs a kernel is how much longer it takes beside it than alone, less one. Inside an SM the older block has a full unit, and the
 * younger one what is left (law.h). So what the oldest leaves is for two, and what it costs either of them by itself counts twice beside both; these two
 * cost each other what they do with as many blocks as they have. The oldest loses by both together as much as by one with the blocks of both: of
 * what each would cost it so, the second, which is the older of the two, has two thirds.
 *
 * Source:  ours; the form and the three numbers were chosen on kernels for development. doc/model.md#three-at-once.
 */
#ifndef GSB_MODEL_TIME_THREE_H
#define GSB_MODEL_TIME_THREE_H

/* By age: the oldest, the second, the third. Costs are above -1; 0: none. */
struct gsb_three {
	double first_by[2]; /* of the oldest, by each of the others, which has the places of both */
	double by_first
		[2]; /* of each of the others by the oldest; against alone with as many blocks as it has beside both */
	double second_by_third, third_by_second; /* with as many blocks as each has */
};

/* Of a speed; 1: as alone. */
static inline double gsb_cost_of_speed(double speed)
{
	return 1 / speed - 1;
}

/* Of all three while they are there; 1: alone with as many blocks. Context: pure. */
void gsb_three_speeds(const struct gsb_three *t, double speeds[3]);

#endif
