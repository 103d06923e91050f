/*
 * fraction.c - see fraction.h.
 */
#include "model/time/fraction.h"

#include <errno.h>
#include <math.h>

const struct gsb_fraction_params gsb_fraction_defaults = {
	.margin = 1.05,
	.step = 1.0 / 16,
};

static bool is_sane_curve(const struct gsb_curve *curve)
{
	return !curve->n || !gsb_curve_check(curve);
}

static bool is_sane(const struct gsb_fraction_side *s)
{
	return s->solo_ns > 0 && isfinite(s->solo_ns) && gsb_demand_is_sane(&s->of) &&
	       is_sane_curve(&s->held) && is_sane_curve(&s->rest);
}

static bool are_sane(const struct gsb_fraction_side sides[2], const struct gsb_fraction_params *p)
{
	return is_sane(&sides[0]) && is_sane(&sides[1]) && p->margin > 0 && p->step > 0 &&
	       p->step < 1;
}

static const struct gsb_curve in_proportion = {.n = 1, .points = {{1, 1}}};

/* On what a held partner leaves; without any curve it is as slow as may be. */
static const struct gsb_curve *curve_on_rest(const struct gsb_fraction_side *s)
{
	if (s->rest.n)
		return &s->rest;
	return s->held.n ? &s->held : &in_proportion;
}

/* Speeds of both while both run, on SMs that are all alike; held blocks never end, and so are the older ones. */
static void speeds_together(const struct gsb_interference *law,
			    const struct gsb_fraction_side sides[2], unsigned int held, double f,
			    double speed[2])
{
	unsigned int other = 1 - held;
	struct gsb_resident r[2] = {{.started_ns = held != 0}, {.started_ns = held != 1}};
	const struct gsb_curve *rest = curve_on_rest(&sides[other]);
	double beside[2] = {1, 1};

	gsb_demand_at(&sides[held].of, &sides[held].held, f, &r[held]);
	gsb_demand_at(&sides[other].of, rest, 1 - f, &r[other]);
	gsb_law_speeds(law, 1, r, 2, beside);
	speed[held] = beside[held] * gsb_curve_speed(&sides[held].held, f);
	speed[other] = beside[other] * gsb_curve_speed(rest, 1 - f);
}

/* The inputs are sane and the kernel can be held. */
static void evaluate(const struct gsb_interference *law, const struct gsb_fraction_side sides[2],
		     unsigned int held, double f, const struct gsb_fraction_params *p,
		     struct gsb_fraction *out)
{
	double alone = gsb_curve_speed(&sides[held].held, f), speed[2], left;
	unsigned int first, last;

	speeds_together(law, sides, held, f, speed);
	first = sides[0].solo_ns / speed[0] <= sides[1].solo_ns / speed[1] ? 0 : 1;
	last = 1 - first;
	out->end_ns[first] = sides[first].solo_ns / speed[first];
	left = sides[last].solo_ns - out->end_ns[first] * speed[last];
	/* The held one stays held; the other goes on with the whole GPU. */
	out->end_ns[last] = out->end_ns[first] + left / (last == held ? alone : 1);
	out->held = held;
	out->fraction = f;
	out->together_ns = out->end_ns[last];
	out->sequential_ns = sides[0].solo_ns + sides[1].solo_ns;
	out->gain = out->sequential_ns / out->together_ns;
	out->pays = out->gain >= p->margin;
}

int gsb_fraction_at(const struct gsb_interference *law, const struct gsb_fraction_side sides[2],
		    unsigned int held, double f, const struct gsb_fraction_params *params,
		    struct gsb_fraction *out)
{
	const struct gsb_fraction_params *p = params ? params : &gsb_fraction_defaults;

	if (held > 1 || !(f > 0) || !(f < 1) || !are_sane(sides, p))
		return -EINVAL;
	if (!sides[held].held.n)
		return -ENOTSUP;
	evaluate(law, sides, held, f, p, out);
	return 0;
}

/* Below the first of several points a curve is a guess: by it a kernel that keeps a unit full would leave it to others. */
static bool is_measured(const struct gsb_curve *curve, double f)
{
	return curve->n == 1 || f >= curve->points[0].fraction - 1e-9;
}

int gsb_fraction_pick(const struct gsb_interference *law, const struct gsb_fraction_side sides[2],
		      const struct gsb_fraction_params *params, struct gsb_fraction *out)
{
	const struct gsb_fraction_params *p = params ? params : &gsb_fraction_defaults;
	struct gsb_fraction best, now;
	bool found = false;

	if (!are_sane(sides, p) || p->step < 1e-4)
		return -EINVAL;
	for (unsigned int held = 0; held < 2; held++) {
		if (!sides[held].held.n)
			continue;
		for (uint32_t i = 1; i * p->step < 1 - 1e-9; i++) {
			if (!is_measured(&sides[held].held, i * p->step))
				continue;
			evaluate(law, sides, held, i * p->step, p, &now);
			if (!found || now.together_ns < best.together_ns)
				best = now;
			found = true;
		}
	}
	if (!found)
		return -ENOTSUP;
	*out = best;
	return 0;
}
