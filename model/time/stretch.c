/*
 * stretch.c - see stretch.h.
 */
#include "model/time/stretch.h"

#include <math.h>

#define SWEEPS_MAX 200
#define STEPS_MAX  60
#define EPS	   1e-12

/* One term of what a resource is asked for: speed * share / (base + share * (q - 1)). */
struct term {
	double asked; /* speed * share */
	double base;  /* stretch by everything else */
	double share;
};

/*
 * The least q >= 1 at which the terms ask for no more than the capacity. What is asked for falls with
 * q and is convex, so Newton's steps from 1 approach q from below and never pass it.
 */
static double solve_one(const struct term *terms, uint32_t n, double capacity)
{
	double q = 1;

	for (int step = 0; step < STEPS_MAX; step++) {
		double excess = -capacity, slope = 0;

		for (uint32_t i = 0; i < n; i++) {
			double stretch = terms[i].base + terms[i].share * (q - 1);

			excess += terms[i].asked / stretch;
			slope += terms[i].asked * terms[i].share / (stretch * stretch);
		}
		if (excess <= capacity * EPS || slope <= 0)
			break;
		q += excess / slope;
	}
	return q;
}

static double solve_issue(const struct gsb_stretch *s, uint32_t g)
{
	struct term terms[GSB_STRETCH_KERNELS];

	for (uint32_t k = 0; k < GSB_STRETCH_KERNELS; k++) {
		terms[k].share = s->shares[k].issue;
		terms[k].asked = s->groups[g].speed[k] * s->shares[k].issue;
		terms[k].base = 1 + s->shares[k].bandwidth * (s->bandwidth_factor - 1);
	}
	return solve_one(terms, GSB_STRETCH_KERNELS, s->issue_capacity);
}

static double solve_bandwidth(const struct gsb_stretch *s)
{
	struct term terms[GSB_STRETCH_GROUPS * GSB_STRETCH_KERNELS];
	uint32_t n = 0;

	for (uint32_t g = 0; g < s->n_groups; g++) {
		for (uint32_t k = 0; k < GSB_STRETCH_KERNELS; k++) {
			struct term *t = &terms[n++];

			t->share = s->shares[k].bandwidth;
			t->asked = s->groups[g].weight * s->groups[g].speed[k] * t->share;
			t->base = 1 + s->shares[k].issue * (s->groups[g].issue_factor - 1);
		}
	}
	return solve_one(terms, n, s->bandwidth_capacity);
}

void gsb_stretch_solve(struct gsb_stretch *s)
{
	s->bandwidth_factor = 1;
	for (uint32_t g = 0; g < s->n_groups; g++)
		s->groups[g].issue_factor = 1;
	for (int sweep = 0; sweep < SWEEPS_MAX; sweep++) {
		double change = 0, q;

		for (uint32_t g = 0; g < s->n_groups; g++) {
			q = solve_issue(s, g);
			change = fmax(change, fabs(q - s->groups[g].issue_factor));
			s->groups[g].issue_factor = q;
		}
		q = solve_bandwidth(s);
		change = fmax(change, fabs(q - s->bandwidth_factor));
		s->bandwidth_factor = q;
		if (change < EPS)
			break;
	}
}

double gsb_stretch_of(const struct gsb_stretch *s, uint32_t g, uint32_t k)
{
	return 1 + s->shares[k].issue * (s->groups[g].issue_factor - 1) +
	       s->shares[k].bandwidth * (s->bandwidth_factor - 1);
}

double gsb_stretch_speed(const struct gsb_stretch *s, uint32_t k)
{
	double speed = 0;

	for (uint32_t g = 0; g < s->n_groups; g++)
		speed += s->groups[g].weight * s->groups[g].speed[k] / gsb_stretch_of(s, g, k);
	return speed;
}
