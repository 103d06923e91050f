/*
 * multichoice.c - see multichoice.h.
 *
 * With a price on each capacity the classes no longer depend on each other: each takes what is
 * cheapest for it, and that total less the worth of the capacities bounds every answer from below
 * (Lagrange). A few steps along what is used above or below the capacities find good prices. At
 * those prices every option has a surcharge against the cheapest of its class; the surcharges of an
 * answer and the bound add up to no more than its cost, so a branch ends as soon as they reach the
 * best cost seen.
 */
#include "model/solvers/multichoice.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define DIMS	    GSB_MULTICHOICE_DIMS
#define PRICE_STEPS 12
#define EPS	    1e-6

/* What an option costs more than the cheapest of its class, at the prices. */
struct ranked {
	double surcharge;
	uint8_t option;
};

/* The options of a class by rising surcharge. */
struct ranking {
	struct ranked at[GSB_MULTICHOICE_OPTIONS_MAX];
};

struct search {
	struct gsb_multichoice *m;
	uint64_t *steps;
	double price[DIMS], bound; /* of the whole, at these prices */
	double unit;		   /* costs differ by multiples of it */
	uint64_t n_options;	   /* of all classes */
	uint8_t order[GSB_MULTICHOICE_CLASSES_MAX];
	struct ranking *ranked; /* of each class */
	/* Least use of the classes at this place of the order and later. */
	uint64_t least[GSB_MULTICHOICE_CLASSES_MAX + 1][DIMS];
	uint8_t picked[GSB_MULTICHOICE_CLASSES_MAX];
	bool found, cut; /* cut: the steps ended the search */
};

static bool take_steps(struct search *s, uint64_t n)
{
	s->cut |= *s->steps < n;
	*s->steps -= *s->steps < n ? *s->steps : n;
	return !s->cut;
}

static double priced(const struct search *s, const struct gsb_multichoice_option *o)
{
	double sum = o->cost;

	for (int d = 0; d < DIMS; d++)
		sum += s->price[d] * o->use[d];
	return sum;
}

/* Each class takes what is cheapest at the prices; its use is added up. Returns the bound. */
static double take_cheapest(struct search *s, uint64_t use[DIMS])
{
	const struct gsb_multichoice *m = s->m;
	double sum = 0;

	memset(use, 0, DIMS * sizeof(*use));
	for (uint32_t i = 0; i < m->n; i++) {
		const struct gsb_multichoice_class *c = &m->classes[i];
		double least = INFINITY;
		uint32_t best = 0;

		for (uint32_t j = 0; j < c->n; j++) {
			double now = priced(s, &c->options[j]);

			best = now < least ? j : best;
			least = now < least ? now : least;
		}
		s->picked[i] = (uint8_t)best;
		sum += least;
		for (int d = 0; d < DIMS; d++)
			use[d] += c->options[best].use[d];
	}
	for (int d = 0; d < DIMS; d++)
		sum -= s->price[d] * (double)m->capacity[d];
	return sum;
}

static uint64_t cost_of_picked(const struct search *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->m->n; i++)
		sum += s->m->classes[i].options[s->picked[i]].cost;
	return sum;
}

/* What is picked keeps the capacities: it is the best so far if it is cheaper and accepted. */
static void keep_if_better(struct search *s)
{
	struct gsb_multichoice *m = s->m;
	uint64_t cost = cost_of_picked(s);

	if ((s->found && cost >= m->cost) || (m->accept && !m->accept(m->ctx, s->picked)))
		return;
	s->found = true;
	m->cost = cost;
	memcpy(m->picked, s->picked, sizeof(m->picked));
}

static bool fits(const struct search *s, const uint64_t use[DIMS])
{
	for (int d = 0; d < DIMS; d++)
		if (use[d] > s->m->capacity[d])
			return false;
	return true;
}

static uint64_t highest_cost(const struct gsb_multichoice *m)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t most = 0;

		for (uint32_t j = 0; j < m->classes[i].n; j++)
			if (m->classes[i].options[j].cost > most)
				most = m->classes[i].options[j].cost;
		sum += most;
	}
	return sum;
}

/* One step of a subgradient method: prices of what is used too much rise, the others fall. */
static void move_prices(struct search *s, const uint64_t use[DIMS], double length)
{
	double excess[DIMS], norm = 0;

	for (int d = 0; d < DIMS; d++) {
		double capacity = (double)s->m->capacity[d];

		excess[d] = capacity > 0 ? (double)use[d] / capacity - 1 : 0;
		if (excess[d] < 0 && s->price[d] <= 0)
			excess[d] = 0;
		norm += excess[d] * excess[d];
	}
	for (int d = 0; d < DIMS && norm > 0; d++)
		if (s->m->capacity[d])
			s->price[d] = fmax(0, s->price[d] + length * excess[d] / norm /
								    (double)s->m->capacity[d]);
}

/* Good prices, and what was seen on the way that keeps the capacities. */
static void find_prices(struct search *s)
{
	double best[DIMS] = {0}, factor = 1, high = (double)highest_cost(s->m);
	uint64_t use[DIMS];

	s->bound = -INFINITY;
	for (int step = 0; step < PRICE_STEPS && take_steps(s, s->n_options); step++) {
		double bound = take_cheapest(s, use);

		if (fits(s, use))
			keep_if_better(s);
		if (bound > s->bound) {
			s->bound = bound;
			memcpy(best, s->price, sizeof(best));
		} else {
			factor /= 2;
		}
		high = s->found ? (double)s->m->cost : high;
		if (high - s->bound < s->unit - EPS)
			break;
		move_prices(s, use, factor * (high - bound));
	}
	memcpy(s->price, best, sizeof(best));
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

static void find_unit(struct search *s)
{
	uint32_t unit = 0;

	s->n_options = 0;
	for (uint32_t i = 0; i < s->m->n; i++) {
		s->n_options += s->m->classes[i].n;
		for (uint32_t j = 1; j < s->m->classes[i].n; j++) {
			uint32_t a = s->m->classes[i].options[0].cost;
			uint32_t b = s->m->classes[i].options[j].cost;

			unit = gcd(unit, a > b ? a - b : b - a);
		}
	}
	s->unit = unit ? unit : 1;
}

/* The options of class i by rising surcharge. */
static void rank_options(struct search *s, uint32_t i)
{
	const struct gsb_multichoice_class *c = &s->m->classes[i];
	struct ranked *ranked = s->ranked[i].at;

	for (uint32_t j = 0; j < c->n; j++) {
		struct ranked r = {priced(s, &c->options[j]), (uint8_t)j};
		uint32_t at = j;

		for (; at && ranked[at - 1].surcharge > r.surcharge; at--)
			ranked[at] = ranked[at - 1];
		ranked[at] = r;
	}
	for (uint32_t j = c->n; j-- > 0;)
		ranked[j].surcharge -= ranked[0].surcharge;
}

/* How much it costs a class to change its mind: those that hardly can come first. */
static double second_surcharge(const struct search *s, uint32_t i)
{
	return s->m->classes[i].n > 1 ? s->ranked[i].at[1].surcharge : -1;
}

static void order_classes(struct search *s)
{
	for (uint32_t i = 0; i < s->m->n; i++) {
		uint32_t at = i;

		for (; at && second_surcharge(s, s->order[at - 1]) < second_surcharge(s, i); at--)
			s->order[at] = s->order[at - 1];
		s->order[at] = (uint8_t)i;
	}
}

static void sum_least(struct search *s)
{
	memset(s->least[s->m->n], 0, sizeof(s->least[0]));
	for (uint32_t at = s->m->n; at-- > 0;) {
		const struct gsb_multichoice_class *c = &s->m->classes[s->order[at]];

		for (int d = 0; d < DIMS; d++) {
			uint32_t least = c->options[0].use[d];

			for (uint32_t j = 1; j < c->n; j++)
				if (c->options[j].use[d] < least)
					least = c->options[j].use[d];
			s->least[at][d] = s->least[at + 1][d] + least;
		}
	}
}

/* All answers that continue what was picked for the classes before @at. */
static void branch(struct search *s, uint32_t at, const uint64_t used[DIMS], double bound)
{
	const struct gsb_multichoice *m = s->m;
	uint32_t i;

	if (at == m->n) {
		keep_if_better(s);
		return;
	}
	i = s->order[at];
	for (uint32_t j = 0; j < m->classes[i].n && !s->cut; j++) {
		const struct ranked *r = &s->ranked[i].at[j];
		uint64_t next[DIMS];
		bool fit = true;

		if (!take_steps(s, 1) ||
		    (s->found && bound + r->surcharge > (double)m->cost - s->unit + EPS))
			return;
		for (int d = 0; d < DIMS; d++) {
			next[d] = used[d] + m->classes[i].options[r->option].use[d];
			fit &= next[d] + s->least[at + 1][d] <= m->capacity[d];
		}
		if (!fit)
			continue;
		s->picked[i] = r->option;
		branch(s, at + 1, next, bound + r->surcharge);
	}
}

/* Is there an answer, as far as each capacity by itself can tell? */
static bool is_possible(struct search *s)
{
	for (uint32_t i = 0; i < s->m->n; i++)
		s->order[i] = (uint8_t)i;
	sum_least(s);
	return fits(s, s->least[0]);
}

int gsb_multichoice_solve(struct gsb_multichoice *m, uint64_t *steps)
{
	const uint64_t nothing[DIMS] = {0};
	struct ranking ranked[GSB_MULTICHOICE_CLASSES_MAX]; /* filled for the classes there are */
	struct search s = {.m = m, .steps = steps, .ranked = ranked};

	if (!is_possible(&s))
		return -ENOSPC;
	find_unit(&s);
	find_prices(&s);
	if (!s.found || (double)m->cost - s.bound > s.unit - EPS) {
		for (uint32_t i = 0; i < m->n; i++)
			rank_options(&s, i);
		order_classes(&s);
		sum_least(&s);
		branch(&s, 0, nothing, s.bound);
	}
	m->proven = !s.cut;
	return s.found ? 0 : s.cut ? -EAGAIN : -ENOSPC;
}
