/*
 * knapsack.h - the pricing problem: the batch that is worth most at given prices.
 *
 * A knapsack with several capacities and a bound on each class (Li 2019, eq. 26-30, where a table over
 * warps x registers x shared memory is proposed: gigabytes). Solved by depth-first branch and bound
 * instead, which the few items that fit an SM keep small.
 */
#ifndef GSB_MODEL_KNAPSACK_H
#define GSB_MODEL_KNAPSACK_H

#include "model/batch.h"

struct gsb_knapsack {
	uint32_t n; /* classes */
	uint32_t capacity[GSB_BATCH_DIMS];
	uint32_t size[GSB_BATCH_ITEMS_MAX][GSB_BATCH_DIMS];
	uint8_t demand[GSB_BATCH_ITEMS_MAX]; /* items of the class */
	double value[GSB_BATCH_ITEMS_MAX];   /* >= 0, of one item */
	uint8_t best[GSB_BATCH_ITEMS_MAX];   /* out: of each class */
};

/* How many of class c fit into that room; 255 for an item without size. */
static inline uint32_t gsb_knapsack_fit(const struct gsb_knapsack *s, uint32_t c,
					const uint32_t *room)
{
	uint32_t n = 255;

	for (int k = 0; k < GSB_BATCH_DIMS; k++) {
		uint32_t fit = s->size[c][k] ? room[k] / s->size[c][k] : 255;

		n = fit < n ? fit : n;
	}
	return n;
}

/**
 * gsb_knapsack_solve() - fill s->best with the most valuable choice
 * @most:  at most so many of each class      @worth: its value
 *
 * Context: pure but for @s, no allocation; bounded work.
 * Return:  true; false: the limit on nodes was reached, @worth and s->best are the best seen.
 */
bool gsb_knapsack_solve(struct gsb_knapsack *s, const uint8_t *most, double *worth);

#endif
