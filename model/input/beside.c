/*
 * beside.c - see beside.h.
 */
#include "model/input/beside.h"

#include <math.h>

#include "model/time/three.h"

#define POINTS	(2 * GSB_PROFILES_DIVISIONS_MAX + 2)
#define NEXT_TO 1e-6
#define ENDED	1e-9 /* of the work */

/* Points with rising x, and straight lines between them. */
struct path {
	uint32_t n;
	struct {
		double x, y;
	} at[POINTS];
};

static void add_point(struct path *p, double x, double y)
{
	uint32_t i = p->n;

	for (uint32_t k = 0; k < p->n; k++)
		if (fabs(p->at[k].x - x) < NEXT_TO)
			return;
	for (; i && p->at[i - 1].x > x; i--)
		p->at[i] = p->at[i - 1];
	p->at[i].x = x;
	p->at[i].y = y;
	p->n++;
}

/* Beyond the last point as there. */
static double value_at(const struct path *p, double x)
{
	uint32_t i = 0;

	while (i < p->n && p->at[i].x < x)
		i++;
	if (!i || i == p->n)
		return p->at[i ? i - 1 : 0].y;
	return p->at[i - 1].y +
	       (p->at[i].y - p->at[i - 1].y) * (x - p->at[i - 1].x) / (p->at[i].x - p->at[i - 1].x);
}

/* ---- one, and two ---- */

static double alone(const struct gsb_profiles *p, uint32_t kernel, double part)
{
	struct path path = {0};

	add_point(&path, 0, 0);
	add_point(&path, 1, 1);
	for (uint32_t d = 0; d < gsb_profiles_n_divisions(p); d++) {
		double share = gsb_profiles_share(p, d), speeds[2];
		struct gsb_encounter e;

		gsb_profiles_predict(p, kernel, kernel, d, &e, speeds);
		add_point(&path, share, speeds[0]);
		add_point(&path, 1 - share, speeds[1]);
	}
	return value_at(&path, part);
}

/* By the part of an SM that the other one has, of two that have all of it. */
enum of_two {
	OLDER_COST, /* what the older one loses by the younger one */
	YOUNGER_COST,
	LEFT /* what the older one leaves to the younger one; 1: what that has alone on all SMs */
};

static double of_two(const struct gsb_profiles *p, uint32_t older, uint32_t younger,
		     enum of_two what, double part)
{
	struct path path = {0};

	add_point(&path, 0, what == LEFT ? 1 : 0);
	for (uint32_t d = 0; d < gsb_profiles_n_divisions(p); d++) {
		double share = gsb_profiles_share(p, d), speeds[2];
		struct gsb_encounter e;

		gsb_profiles_predict(p, older, younger, d, &e, speeds);
		if (what == OLDER_COST)
			add_point(&path, 1 - share, gsb_cost_of_speed(e.older));
		else if (what == YOUNGER_COST)
			add_point(&path, share, gsb_cost_of_speed(e.younger));
		else
			add_point(&path, share, e.younger * speeds[1]);
	}
	return value_at(&path, part);
}

/* With fewer blocks than all the rest it has less alone, and of that loses what was not left for it. */
static double cost_of_what_is_left(const struct gsb_profiles *p, const struct gsb_beside_set *s,
				   uint32_t i)
{
	double left = of_two(p, s->kernels[0], s->kernels[i], LEFT, s->parts[0]);

	return fmax(0, alone(p, s->kernels[i], s->parts[i]) / left - 1);
}

/* ---- all of them ---- */

static void find_two(const struct gsb_profiles *p, const struct gsb_beside_set *s, double *speeds)
{
	speeds[0] = 1 / (1 + of_two(p, s->kernels[0], s->kernels[1], OLDER_COST, s->parts[1]));
	speeds[1] = 1 / (1 + cost_of_what_is_left(p, s, 1));
}

static void find_three(const struct gsb_profiles *p, const struct gsb_beside_set *s, double *speeds)
{
	const uint32_t *k = s->kernels;
	const struct gsb_three t = {
		.first_by = {of_two(p, k[0], k[1], OLDER_COST, 1 - s->parts[0]),
			     of_two(p, k[0], k[2], OLDER_COST, 1 - s->parts[0])},
		.by_first = {cost_of_what_is_left(p, s, 1), cost_of_what_is_left(p, s, 2)},
		.second_by_third = of_two(p, k[1], k[2], OLDER_COST, s->parts[2]),
		.third_by_second = of_two(p, k[1], k[2], YOUNGER_COST, s->parts[1]),
	};

	gsb_three_speeds(&t, speeds);
}

void gsb_beside_speeds(const struct gsb_profiles *p, const struct gsb_beside_set *s,
		       double speeds[GSB_BESIDE_MAX])
{
	speeds[0] = 1;
	if (s->n == 2)
		find_two(p, s, speeds);
	else if (s->n == 3)
		find_three(p, s, speeds);
	for (uint32_t i = 0; i < s->n; i++)
		speeds[i] *= alone(p, s->kernels[i], s->parts[i]);
}

double gsb_beside_makespan(const struct gsb_profiles *p, const struct gsb_beside_set *set)
{
	double left[GSB_BESIDE_MAX] = {1, 1, 1}, speeds[GSB_BESIDE_MAX], end = 0;
	struct gsb_beside_set s = *set;

	while (s.n) {
		double ns = INFINITY;
		uint32_t n = 0;

		gsb_beside_speeds(p, &s, speeds);
		for (uint32_t i = 0; i < s.n; i++)
			ns = fmin(ns, left[i] / speeds[i]);
		for (uint32_t i = 0; i < s.n; i++) {
			double rest = left[i] - ns * speeds[i];

			if (rest < ENDED)
				continue;
			left[n] = rest;
			s.kernels[n] = s.kernels[i];
			s.parts[n++] = s.parts[i];
		}
		s.n = n;
		end += ns;
	}
	return end;
}
