/*
 * tournament.h - who has most of n, where one number changes at a time.
 *
 * A binary tree over the players: each node knows the best score below it. A change plays the games above one leaf
 * again, and the best is found on one way down; so blocks are placed on an SM without a look at all SMs.
 */
#ifndef GSB_MODEL_PLACEMENT_TOURNAMENT_H
#define GSB_MODEL_PLACEMENT_TOURNAMENT_H

#include <stdint.h>

struct gsb_tournament {
	uint32_t n, first; /* players; node of the first of them, a power of two */
	uint32_t *best;	   /* by node, the root is 1 */
};

/* All scores are 0. 0, -ENOMEM. n >= 1. */
int gsb_tournament_init(struct gsb_tournament *t, uint32_t n);
void gsb_tournament_finish(struct gsb_tournament *t);

void gsb_tournament_set(struct gsb_tournament *t, uint32_t player, uint32_t score);

/* The lowest number of those with the most, and of those with more than 0; n when all have 0. */
uint32_t gsb_tournament_best(const struct gsb_tournament *t);
uint32_t gsb_tournament_first(const struct gsb_tournament *t);

#endif
