/*
 * batch.c - see batch.h.
 *
 * Steps, each of which may already close the gap: (1) bounds by counting; (2) first fit decreasing in
 * several orders; (3) a short branch and bound over batches, which mostly finds the packing that (2)
 * missed by one; (4) column generation: master program in lp.c, pricing (eq. 26-30, where the paper
 * proposes a table over warps x registers x shared memory) by knapsack.c; the bound is the program's
 * value rounded up; (5) branch and bound again, in full. In (5) the prices of (4) are
 * used: no batch can be worth more than 1 at those prices, so what is left costs at least the sum of
 * its prices, at every node, without solving anything.
 *
 * Kernels of the same size are one class with a demand, which takes the symmetry out.
 */
#include "model/papers/batch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/solvers/lp.h"

#define NODES_FIRST 1000 /* of the short branch and bound: about as long as column generation */
#define ROUND_EPS   1e-6 /* an LP value this little above a whole number is that number */

typedef uint8_t pattern_t[GSB_BATCH_ITEMS_MAX]; /* of each class, how many in this batch */

struct gsb_batch_work {
	struct gsb_lp *lp;
	struct gsb_knapsack sack; /* classes, largest first */
	uint8_t class_of[GSB_BATCH_ITEMS_MAX];
	uint32_t upper;				    /* batches of the best solution so far */
	pattern_t best[GSB_BATCH_ITEMS_MAX];	    /* that solution */
	pattern_t current[GSB_BATCH_ITEMS_MAX + 1]; /* the branch that is being tried */
	double price[GSB_BATCH_ITEMS_MAX]; /* of a class; no pattern is worth more than 1 */
	uint32_t n_columns;
	double lp_bound;
	uint32_t n_nodes, max_nodes;
};

struct gsb_batch_work *gsb_batch_work_create(void)
{
	struct gsb_batch_work *work = calloc(1, sizeof(*work));

	if (!work)
		return NULL;
	work->lp = gsb_lp_create();
	if (work->lp)
		return work;
	free(work);
	return NULL;
}

void gsb_batch_work_destroy(struct gsb_batch_work *work)
{
	if (!work)
		return;
	gsb_lp_destroy(work->lp);
	free(work);
}

/* Largest share of any capacity: how hard the item is to place. */
static double largest_share(const struct gsb_batch_problem *p, uint32_t item)
{
	double share = 0;

	for (int k = 0; k < GSB_BATCH_DIMS; k++)
		if (p->size[item][k])
			share = fmax(share, (double)p->size[item][k] / p->capacity[k]);
	return share;
}

static void sort_items(const struct gsb_batch_problem *p, uint8_t *order)
{
	for (uint32_t i = 0; i < p->n_items; i++) {
		double share = largest_share(p, i);
		uint32_t at = i;

		while (at && largest_share(p, order[at - 1]) < share) {
			order[at] = order[at - 1];
			at--;
		}
		order[at] = (uint8_t)i;
	}
}

/* Items of equal size become one class; classes in order of falling share. */
static void make_classes(struct gsb_batch_work *w, const struct gsb_batch_problem *p)
{
	struct gsb_knapsack *s = &w->sack;
	uint8_t order[GSB_BATCH_ITEMS_MAX];

	sort_items(p, order);
	s->n = 0;
	memcpy(s->capacity, p->capacity, sizeof(s->capacity));
	for (uint32_t i = 0; i < p->n_items; i++) {
		const uint32_t *size = p->size[order[i]];
		uint32_t c = 0;

		while (c < s->n && memcmp(s->size[c], size, sizeof(s->size[c])))
			c++;
		if (c == s->n) {
			memcpy(s->size[c], size, sizeof(s->size[c]));
			s->demand[c] = 0;
			s->n++;
		}
		s->demand[c]++;
		w->class_of[order[i]] = (uint8_t)c;
	}
}

/* Batches that no packing can save: by volume in each dimension, and by items above one half. */
static uint32_t count_bound(const struct gsb_knapsack *s, const uint8_t *left)
{
	uint64_t most = 0;

	for (int k = 0; k < GSB_BATCH_DIMS; k++) {
		uint64_t volume = 0, big = 0, bound;

		for (uint32_t c = 0; c < s->n; c++) {
			volume += (uint64_t)s->size[c][k] * left[c];
			if ((uint64_t)s->size[c][k] * 2 > s->capacity[k])
				big += left[c];
		}
		bound = s->capacity[k] ? (volume + s->capacity[k] - 1) / s->capacity[k] : 0;
		most = bound > most ? bound : most;
		most = big > most ? big : most;
	}
	return (uint32_t)most;
}

static bool has_items(const struct gsb_knapsack *s, const uint8_t *left)
{
	for (uint32_t c = 0; c < s->n; c++)
		if (left[c])
			return true;
	return false;
}

/* Fill one batch from what is left, classes in the given order. */
static void fill_greedily(const struct gsb_knapsack *s, const uint8_t *order, uint8_t *left,
			  uint8_t *pattern)
{
	uint32_t room[GSB_BATCH_DIMS];

	memcpy(room, s->capacity, sizeof(room));
	memset(pattern, 0, sizeof(pattern_t));
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t c = order[i], n = gsb_knapsack_fit(s, c, room);

		n = n < left[c] ? n : left[c];
		pattern[c] = (uint8_t)n;
		left[c] -= (uint8_t)n;
		for (int k = 0; k < GSB_BATCH_DIMS; k++)
			room[k] -= n * s->size[c][k];
	}
}

static void keep_if_better(struct gsb_batch_work *w, uint32_t n)
{
	if (n >= w->upper)
		return;
	w->upper = n;
	memcpy(w->best, w->current, n * sizeof(pattern_t));
}

static void pack_in_order(struct gsb_batch_work *w, const uint8_t *order)
{
	uint8_t left[GSB_BATCH_ITEMS_MAX];
	uint32_t n = 0;

	memcpy(left, w->sack.demand, sizeof(left));
	while (has_items(&w->sack, left) && n < w->upper)
		fill_greedily(&w->sack, order, left, w->current[n++]);
	if (!has_items(&w->sack, left))
		keep_if_better(w, n);
}

/* Sort key of a heuristic: one dimension, the sum of all, or (the classes' own order) the largest. */
static double heuristic_key(const struct gsb_knapsack *s, uint32_t c, int heuristic)
{
	double sum = 0;

	if (heuristic < GSB_BATCH_DIMS)
		return s->size[c][heuristic];
	for (int k = 0; k < GSB_BATCH_DIMS; k++)
		sum += s->capacity[k] ? (double)s->size[c][k] / s->capacity[k] : 0;
	return heuristic == GSB_BATCH_DIMS ? sum : 0;
}

static void pack_heuristically(struct gsb_batch_work *w, uint32_t lower)
{
	const struct gsb_knapsack *s = &w->sack;

	for (int h = GSB_BATCH_DIMS + 1; h >= 0 && w->upper > lower; h--) {
		uint8_t order[GSB_BATCH_ITEMS_MAX];

		for (uint32_t c = 0; c < s->n; c++) {
			double key = heuristic_key(s, c, h);
			uint32_t at = c;

			while (at && heuristic_key(s, order[at - 1], h) < key) {
				order[at] = order[at - 1];
				at--;
			}
			order[at] = (uint8_t)c;
		}
		pack_in_order(w, order);
	}
}

static int add_column(struct gsb_batch_work *w, const uint8_t *pattern)
{
	double column[GSB_BATCH_ITEMS_MAX];

	for (uint32_t c = 0; c < w->sack.n; c++)
		column[c] = pattern[c];
	if (gsb_lp_add(w->lp, 1, column))
		return -ENOSPC;
	w->n_columns++;
	return 0;
}

/* The first columns: the batches of the best packing so far cover every class. */
static int start_master(struct gsb_batch_work *w)
{
	double demand[GSB_BATCH_ITEMS_MAX];
	int err;

	for (uint32_t c = 0; c < w->sack.n; c++)
		demand[c] = w->sack.demand[c];
	err = gsb_lp_reset(w->lp, demand, w->sack.n);
	for (uint32_t j = 0; !err && j < w->upper; j++)
		err = add_column(w, w->best[j]);
	return err;
}

static uint32_t round_up(double lp_value)
{
	return (uint32_t)ceil(lp_value - ROUND_EPS);
}

/*
 * Column generation. Prices divided by the worth of the best pattern are always safe (Farley), so the
 * bound may be used even before the last column; the generation stops when it closes the gap.
 */
static void generate_columns(struct gsb_batch_work *w, uint32_t *lower)
{
	struct gsb_knapsack *s = &w->sack;

	if (start_master(w))
		return;
	for (;;) {
		double worth, scale, bound;

		if (gsb_lp_solve(w->lp))
			return;
		for (uint32_t c = 0; c < s->n; c++)
			s->value[c] = gsb_lp_price(w->lp, c);
		if (!gsb_knapsack_solve(s, s->demand, &worth))
			return;
		scale = 1 / fmax(worth, 1);
		bound = gsb_lp_objective(w->lp) * scale;
		if (bound > w->lp_bound) {
			w->lp_bound = bound;
			for (uint32_t c = 0; c < s->n; c++)
				w->price[c] = s->value[c] * scale;
		}
		if (round_up(w->lp_bound) > *lower)
			*lower = round_up(w->lp_bound);
		/* The value only falls: once it rounds to the bound we have, the bound stays. */
		if (*lower >= w->upper || round_up(gsb_lp_objective(w->lp)) <= *lower ||
		    worth <= 1 + ROUND_EPS || add_column(w, s->best))
			return;
	}
}

/* The column with the largest value of those not used yet; n_columns when none has any. */
static uint32_t largest_column(const struct gsb_batch_work *w, const bool *used)
{
	double most = ROUND_EPS;
	uint32_t best = w->n_columns;

	for (uint32_t j = 0; j < w->n_columns; j++) {
		if (used[j] || gsb_lp_value(w->lp, j) <= most)
			continue;
		most = gsb_lp_value(w->lp, j);
		best = j;
	}
	return best;
}

/* The column as a batch of what is left, topped up with whatever else fits. */
static void take_column(const struct gsb_batch_work *w, uint32_t column, uint8_t *left,
			uint8_t *pattern)
{
	const struct gsb_knapsack *s = &w->sack;
	uint32_t room[GSB_BATCH_DIMS];

	memcpy(room, s->capacity, sizeof(room));
	memset(pattern, 0, sizeof(pattern_t));
	for (int round = 0; round < 2; round++) {
		for (uint32_t c = 0; c < s->n; c++) {
			uint32_t n = round ? gsb_knapsack_fit(s, c, room)
					   : (uint32_t)gsb_lp_coefficient(w->lp, column, c);

			n = n < left[c] ? n : left[c];
			pattern[c] += (uint8_t)n;
			left[c] -= (uint8_t)n;
			for (int k = 0; k < GSB_BATCH_DIMS; k++)
				room[k] -= n * s->size[c][k];
		}
	}
}

/* A packing from the fractional answer: its columns by falling value, then first fit. */
static void pack_by_columns(struct gsb_batch_work *w)
{
	bool used[GSB_LP_COLS_MAX] = {false};
	uint8_t left[GSB_BATCH_ITEMS_MAX], order[GSB_BATCH_ITEMS_MAX];
	uint32_t n = 0;

	for (uint32_t c = 0; c < w->sack.n; c++)
		order[c] = (uint8_t)c;
	memcpy(left, w->sack.demand, sizeof(left));
	while (has_items(&w->sack, left) && n < w->upper) {
		uint32_t j = largest_column(w, used);

		if (j == w->n_columns) {
			fill_greedily(&w->sack, order, left, w->current[n++]);
			continue;
		}
		used[j] = true;
		take_column(w, j, left, w->current[n++]);
	}
	if (!has_items(&w->sack, left))
		keep_if_better(w, n);
}

static double worth_of(const struct gsb_batch_work *w, const uint8_t *left)
{
	double sum = 0;

	for (uint32_t c = 0; c < w->sack.n; c++)
		sum += w->price[c] * left[c];
	return sum;
}

struct branch {
	uint32_t depth; /* batches closed */
	uint32_t room[GSB_BATCH_DIMS];
	uint8_t left[GSB_BATCH_ITEMS_MAX];
};

static void search(struct gsb_batch_work *w, struct branch *b, uint32_t lower);

/* The batch at b->depth is full: bound what is left, go on with the next batch. */
static void close_batch(struct gsb_batch_work *w, const struct branch *b, uint32_t lower)
{
	struct branch next = *b;
	uint32_t by_price, by_count;

	next.depth++;
	memcpy(next.room, w->sack.capacity, sizeof(next.room));
	by_price = round_up(worth_of(w, next.left));
	by_count = count_bound(&w->sack, next.left);
	if (next.depth + (by_price > by_count ? by_price : by_count) < w->upper)
		search(w, &next, lower);
}

/* Does anything that is left still fit? A batch with room for more need not be looked at. */
static bool can_take_more(const struct gsb_batch_work *w, const struct branch *b)
{
	for (uint32_t c = 0; c < w->sack.n; c++)
		if (b->left[c] && gsb_knapsack_fit(&w->sack, c, b->room))
			return true;
	return false;
}

/* All ways to go on filling the batch with classes from c on; most of a class first. */
static void fill_batch(struct gsb_batch_work *w, struct branch *b, uint32_t c, uint32_t lower)
{
	const struct gsb_knapsack *s = &w->sack;
	uint32_t most;

	w->n_nodes++;
	while (c < s->n && !(b->left[c] && gsb_knapsack_fit(s, c, b->room)))
		c++;
	if (c == s->n) {
		if (!can_take_more(w, b))
			close_batch(w, b, lower);
		return;
	}
	most = gsb_knapsack_fit(s, c, b->room);
	most = most < b->left[c] ? most : b->left[c];
	for (uint32_t n = most + 1; n-- > 0 && w->upper > lower && w->n_nodes < w->max_nodes;) {
		struct branch next = *b;

		next.left[c] -= (uint8_t)n;
		for (int k = 0; k < GSB_BATCH_DIMS; k++)
			next.room[k] -= n * s->size[c][k];
		w->current[b->depth][c] = (uint8_t)n;
		fill_batch(w, &next, c + 1, lower);
	}
	w->current[b->depth][c] = 0;
}

/* Open a batch with the largest item left: it must be somewhere. */
static void search(struct gsb_batch_work *w, struct branch *b, uint32_t lower)
{
	struct branch next = *b;
	uint32_t c = 0;

	if (!has_items(&w->sack, b->left)) {
		keep_if_better(w, b->depth);
		return;
	}
	if (++w->n_nodes > w->max_nodes || b->depth + 1 >= w->upper)
		return;
	while (!b->left[c])
		c++;
	memset(w->current[b->depth], 0, sizeof(pattern_t));
	for (uint32_t n = b->left[c]; n > 0; n--) {
		if (gsb_knapsack_fit(&w->sack, c, b->room) < n)
			continue;
		next = *b;
		next.left[c] -= (uint8_t)n;
		for (int k = 0; k < GSB_BATCH_DIMS; k++)
			next.room[k] -= n * w->sack.size[c][k];
		w->current[b->depth][c] = (uint8_t)n;
		fill_batch(w, &next, c + 1, lower);
		memset(w->current[b->depth], 0, sizeof(pattern_t));
	}
}

/* True when the search was complete: then the best solution is the least. */
static bool branch_and_bound(struct gsb_batch_work *w, uint32_t lower, uint32_t max_nodes)
{
	struct branch root = {.depth = 0};

	w->n_nodes = 0;
	w->max_nodes = max_nodes;
	memcpy(root.room, w->sack.capacity, sizeof(root.room));
	memcpy(root.left, w->sack.demand, sizeof(root.left));
	search(w, &root, lower);
	return w->n_nodes < max_nodes;
}

/* Items of a class go to the batches that hold the class, in order. */
static void assign(struct gsb_batch_work *w, const struct gsb_batch_problem *p, uint8_t *batch_of)
{
	for (uint32_t i = 0; i < p->n_items; i++) {
		uint32_t c = w->class_of[i], j = 0;

		while (j + 1 < w->upper && !w->best[j][c])
			j++;
		if (w->best[j][c])
			w->best[j][c]--;
		batch_of[i] = (uint8_t)j;
	}
}

static int check(const struct gsb_batch_problem *p)
{
	if (!p->n_items || p->n_items > GSB_BATCH_ITEMS_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < p->n_items; i++)
		for (int k = 0; k < GSB_BATCH_DIMS; k++)
			if (p->size[i][k] > p->capacity[k] ||
			    p->capacity[k] > GSB_BATCH_CAPACITY_MAX)
				return -EINVAL;
	return 0;
}

/* Column generation, a packing from its answer, and the full branch and bound. */
static void solve_by_columns(struct gsb_batch_work *w, const struct gsb_batch_problem *problem,
			     uint32_t *lower)
{
	const uint32_t nodes = problem->max_nodes ? problem->max_nodes : GSB_BATCH_NODES_MAX;

	w->sack.max_nodes = problem->max_nodes;
	generate_columns(w, lower);
	if (w->upper > *lower)
		pack_by_columns(w);
	if (w->upper > *lower && branch_and_bound(w, *lower, nodes))
		*lower = w->upper;
}

int gsb_batch_solve(struct gsb_batch_work *work, const struct gsb_batch_problem *problem,
		    struct gsb_batch_solution *out)
{
	uint32_t lower;
	int err = check(problem);

	if (err)
		return err;
	work->upper = problem->n_items + 1;
	work->n_columns = 0;
	work->lp_bound = 0;
	memset(work->price, 0, sizeof(work->price));
	make_classes(work, problem);
	lower = count_bound(&work->sack, work->sack.demand);
	lower = lower ? lower : 1;
	pack_heuristically(work, lower);
	if (work->upper > lower && problem->way != GSB_BATCH_COLUMNS_FIRST &&
	    branch_and_bound(work, lower, NODES_FIRST))
		lower = work->upper;
	if (work->upper > lower && problem->way != GSB_BATCH_NO_COLUMNS)
		solve_by_columns(work, problem, &lower);
	out->n_batches = work->upper;
	out->lower_bound = lower;
	out->proven = work->upper == lower;
	out->lp_bound = work->lp_bound;
	out->n_columns = work->n_columns;
	assign(work, problem, out->batch_of);
	return 0;
}
