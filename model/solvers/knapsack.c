/*
 * knapsack.c - see knapsack.h.
 *
 * The bound is Dantzig's for one capacity: by falling value per size, the last item in part. Several
 * capacities are made into one by weights; any weights give a bound, good ones a tight bound. A few
 * steps of multiplicative weights find them: a capacity that the fractional answer overfills counts
 * more, one that it leaves empty less.
 */
#include "model/solvers/knapsack.h"

#include <math.h>
#include <string.h>

#define WEIGHT_STEPS 8
#define EPS	     1e-9

struct item {
	double value, share; /* of one; share of the weighted capacity, which is 1 */
	uint8_t class, most;
};

struct search {
	const struct gsb_knapsack *s;
	uint32_t n;				     /* classes with value and demand */
	struct item items[GSB_KNAPSACK_CLASSES_MAX]; /* by falling value per share */
	double weight[GSB_KNAPSACK_DIMS];	     /* of a unit of each capacity */
	uint8_t chosen[GSB_KNAPSACK_CLASSES_MAX];
	uint8_t best[GSB_KNAPSACK_CLASSES_MAX];
	double worth;
	uint32_t n_nodes, max_nodes;
};

static void list_items(struct search *q, const uint8_t *most)
{
	q->n = 0;
	for (uint32_t c = 0; c < q->s->n; c++)
		if (q->s->value[c] > 0 && most[c])
			q->items[q->n++] = (struct item){q->s->value[c], 0, (uint8_t)c, most[c]};
}

/* Shares under the weights, and the order that goes with them. */
static void sort_items(struct search *q)
{
	for (uint32_t i = 0; i < q->n; i++) {
		struct item item = q->items[i];
		uint32_t at = i;

		item.share = 0;
		for (int k = 0; k < GSB_KNAPSACK_DIMS; k++)
			item.share += q->weight[k] * q->s->size[item.class][k];
		while (at &&
		       q->items[at - 1].value * item.share < item.value * q->items[at - 1].share) {
			q->items[at] = q->items[at - 1];
			at--;
		}
		q->items[at] = item;
	}
}

/* No more than this can be had from items i and later in that much of the weighted capacity. */
static double bound(const struct search *q, uint32_t i, double room)
{
	double sum = 0;

	for (; i < q->n; i++) {
		const struct item *item = &q->items[i];
		double all = item->share * item->most;

		if (all > room)
			return sum + item->value * fmax(room, 0) / item->share;
		sum += item->value * item->most;
		room -= all;
	}
	return sum;
}

/* What the fractional answer takes of each capacity, 1 = all of it. */
static void fractional_load(const struct search *q, double *load)
{
	double room = 1;

	memset(load, 0, GSB_KNAPSACK_DIMS * sizeof(*load));
	for (uint32_t i = 0; i < q->n && room > 0; i++) {
		const struct item *item = &q->items[i];
		double all = item->share * item->most;
		double count = all > room ? room / item->share : item->most;

		for (int k = 0; k < GSB_KNAPSACK_DIMS; k++)
			if (q->s->capacity[k])
				load[k] += count * q->s->size[item->class][k] / q->s->capacity[k];
		room -= all;
	}
}

/* Weights of whole capacities add up to 1. */
static void set_weights(struct search *q, const double *part)
{
	double sum = 0;

	for (int k = 0; k < GSB_KNAPSACK_DIMS; k++)
		sum += part[k];
	for (int k = 0; k < GSB_KNAPSACK_DIMS; k++)
		q->weight[k] = q->s->capacity[k] ? part[k] / sum / q->s->capacity[k] : 0;
	sort_items(q);
}

static void find_weights(struct search *q)
{
	double part[GSB_KNAPSACK_DIMS], best[GSB_KNAPSACK_DIMS], load[GSB_KNAPSACK_DIMS];
	double least = INFINITY;

	for (int k = 0; k < GSB_KNAPSACK_DIMS; k++)
		part[k] = 1;
	for (int step = 0; step < WEIGHT_STEPS; step++) {
		double now;

		set_weights(q, part);
		now = bound(q, 0, 1);
		if (now < least) {
			least = now;
			memcpy(best, part, sizeof(best));
		}
		fractional_load(q, load);
		for (int k = 0; k < GSB_KNAPSACK_DIMS; k++)
			part[k] *= exp(2 * fmax(fmin(load[k] - 1, 1), -1));
	}
	if (isfinite(least))
		set_weights(q, best);
}

static void search(struct search *q, uint32_t i, const uint32_t *room, double share, double worth)
{
	const struct item *item = &q->items[i];
	uint32_t n;

	if (worth > q->worth) {
		q->worth = worth;
		memcpy(q->best, q->chosen, sizeof(q->best));
	}
	if (i == q->n || q->n_nodes > q->max_nodes || worth + bound(q, i, share) <= q->worth + EPS)
		return;
	q->n_nodes++;
	n = gsb_knapsack_fit(q->s, item->class, room);
	n = n < item->most ? n : item->most;
	for (n = n + 1; n-- > 0;) {
		uint32_t rest[GSB_KNAPSACK_DIMS];

		for (int k = 0; k < GSB_KNAPSACK_DIMS; k++)
			rest[k] = room[k] - n * q->s->size[item->class][k];
		q->chosen[item->class] = (uint8_t)n;
		search(q, i + 1, rest, share - n * item->share, worth + n * item->value);
	}
	q->chosen[item->class] = 0;
}

bool gsb_knapsack_solve(struct gsb_knapsack *s, const uint8_t *most, double *worth)
{
	struct search q = {.s = s,
			   .max_nodes = s->max_nodes ? s->max_nodes : GSB_KNAPSACK_NODES_MAX};

	list_items(&q, most);
	find_weights(&q);
	search(&q, 0, s->capacity, 1, 0);
	memcpy(s->best, q.best, sizeof(s->best));
	*worth = q.worth;
	return q.n_nodes <= q.max_nodes;
}
