/*
 * knapsack.h - the most valuable choice of items under several capacities.
 *
 * Items of one size and value are a class, with a bound on how many there are. Solved by depth-first
 * branch and bound, which stays small where few items fit at once; a table over all capacities would
 * be gigabytes for the sizes that batch.c asks about.
 */
#ifndef GSB_MODEL_SOLVERS_KNAPSACK_H
#define GSB_MODEL_SOLVERS_KNAPSACK_H

#include <stdbool.h>
#include <stdint.h>

#define GSB_KNAPSACK_DIMS	 4
#define GSB_KNAPSACK_CLASSES_MAX 64
#define GSB_KNAPSACK_NODES_MAX	 40000 /* some milliseconds; never seen where few items fit at once */

struct gsb_knapsack {
	uint32_t n; /* classes */
	uint32_t capacity[GSB_KNAPSACK_DIMS];
	uint32_t size[GSB_KNAPSACK_CLASSES_MAX][GSB_KNAPSACK_DIMS];
	uint8_t demand[GSB_KNAPSACK_CLASSES_MAX]; /* items of the class */
	double value[GSB_KNAPSACK_CLASSES_MAX];	  /* >= 0, of one item */
	uint32_t max_nodes;			  /* 0 = GSB_KNAPSACK_NODES_MAX */
	uint8_t best[GSB_KNAPSACK_CLASSES_MAX];	  /* out: of each class */
};

/* How many of class c fit into that room; 255 for an item without size. */
static inline uint32_t gsb_knapsack_fit(const struct gsb_knapsack *s, uint32_t c,
					const uint32_t *room)
{
	uint32_t n = 255;

	for (int k = 0; k < GSB_KNAPSACK_DIMS; k++) {
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
