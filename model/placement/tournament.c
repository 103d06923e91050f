/*
 * tournament.c - see tournament.h.
 */
#include "model/placement/tournament.h"

#include <errno.h>
#include <stdlib.h>

int gsb_tournament_init(struct gsb_tournament *t, uint32_t n)
{
	*t = (struct gsb_tournament){.n = n, .first = 1};
	while (t->first < n)
		t->first *= 2;
	t->best = calloc((size_t)t->first * 2, sizeof(*t->best));
	return t->best ? 0 : -ENOMEM;
}

void gsb_tournament_finish(struct gsb_tournament *t)
{
	free(t->best);
	t->best = NULL;
}

void gsb_tournament_set(struct gsb_tournament *t, uint32_t player, uint32_t score)
{
	uint32_t node = t->first + player;

	while (t->best[node] != score) {
		uint32_t beside = t->best[node ^ 1];

		t->best[node] = score;
		if (node == 1)
			return;
		score = score > beside ? score : beside;
		node /= 2;
	}
}

/* Down to the leftmost leaf with at least so much. */
static uint32_t leftmost(const struct gsb_tournament *t, uint32_t score)
{
	uint32_t node = 1;

	if (!t->best[node])
		return t->n;
	while (node < t->first) {
		node *= 2;
		node += t->best[node] < score;
	}
	return node - t->first;
}

uint32_t gsb_tournament_best(const struct gsb_tournament *t)
{
	return leftmost(t, t->best[1]);
}

uint32_t gsb_tournament_first(const struct gsb_tournament *t)
{
	return leftmost(t, 1);
}
