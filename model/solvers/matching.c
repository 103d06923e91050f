/*
 * matching.c - see matching.h.
 */
#include "model/solvers/matching.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define EQUAL 1e-9 /* what differs by less does so by how it was added up */

/* Of a set of those that are still to be placed: what they cost, and whom the first of them goes with. */
struct rest {
	double cost;
	uint32_t with;
};

static uint32_t first_of(uint32_t set)
{
	return (uint32_t)__builtin_ctz(set);
}

static void place_first(uint32_t n, const double *cost, struct rest *rests, uint32_t set)
{
	uint32_t i = first_of(set);
	struct rest *r = &rests[set];

	*r = (struct rest){INFINITY, i};
	/* Itself last: of equal sums the one with a pair. */
	for (uint32_t k = 1; k <= n - i; k++) {
		uint32_t j = k == n - i ? i : i + k;
		double sum = cost[i * n + j] + rests[set & ~(1u << i) & ~(1u << j)].cost;

		if ((set >> j & 1) && sum < r->cost - EQUAL)
			*r = (struct rest){sum, j};
	}
}

int gsb_matching_least(uint32_t n, const double *cost, uint32_t *partner)
{
	struct rest *rests;
	uint32_t all;
	bool found;

	if (!n || n > GSB_MATCHING_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < n * n; i++)
		if (isnan(cost[i]))
			return -EINVAL;
	all = (1u << n) - 1;
	rests = malloc(((size_t)all + 1) * sizeof(*rests));
	if (!rests)
		return -ENOMEM;
	rests[0] = (struct rest){0, 0};
	for (uint32_t set = 1; set <= all; set++)
		place_first(n, cost, rests, set);
	for (uint32_t set = all; set;) {
		uint32_t i = first_of(set), j = rests[set].with;

		partner[i] = j;
		partner[j] = i;
		set &= ~(1u << i) & ~(1u << j);
	}
	found = isfinite(rests[all].cost);
	free(rests);
	return found ? 0 : -EINVAL;
}
