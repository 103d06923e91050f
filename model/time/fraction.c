/*
 * fraction.c - see fraction.h.
 */
#include "model/time/fraction.h"

#include <errno.h>
#include <math.h>

#include "model/time/stretch.h"

const struct gsb_fraction_params gsb_fraction_defaults = {
	.margin = 1.05,
	.step = 1.0 / 16,
	.issue_capacity = 1,
	.bandwidth_capacity = 1,
};

static bool is_share(double x)
{
	return x >= 0 && x <= 1;
}

static bool is_sane_curve(const struct gsb_curve *curve)
{
	return !curve->n || !gsb_curve_check(curve);
}

static bool is_sane(const struct gsb_fraction_side *s)
{
	return s->solo_ns > 0 && isfinite(s->solo_ns) && is_share(s->issue) &&
	       is_share(s->bandwidth) && is_sane_curve(&s->held) && is_sane_curve(&s->rest);
}

static bool are_sane(const struct gsb_fraction_side sides[2], const struct gsb_fraction_params *p)
{
	return is_sane(&sides[0]) && is_sane(&sides[1]) && p->margin > 0 && p->step > 0 &&
	       p->step < 1 && p->issue_capacity > 0 && p->issue_capacity <= 100 &&
	       p->bandwidth_capacity > 0 && p->bandwidth_capacity <= 100;
}

/* Speed on what a held partner leaves; without any curve as slow as may be: in proportion. */
static double speed_on_rest(const struct gsb_fraction_side *s, double f)
{
	if (s->rest.n)
		return gsb_curve_speed(&s->rest, f);
	return s->held.n ? gsb_curve_speed(&s->held, f) : f;
}

/* Speeds of both while both run. */
static void speeds_together(const struct gsb_fraction_side sides[2],
			    const struct gsb_fraction_params *p, const double alone[2],
			    double speed[2])
{
	struct gsb_stretch s = {.n_groups = 1,
				.issue_capacity = p->issue_capacity,
				.bandwidth_capacity = p->bandwidth_capacity};

	s.groups[0].weight = 1;
	for (int k = 0; k < 2; k++) {
		s.groups[0].speed[k] = alone[k];
		s.shares[k] = (struct gsb_share){sides[k].issue, sides[k].bandwidth};
	}
	gsb_stretch_solve(&s);
	for (uint32_t k = 0; k < 2; k++)
		speed[k] = gsb_stretch_speed(&s, k);
}

/* The inputs are sane and the kernel can be held. */
static void evaluate(const struct gsb_fraction_side sides[2], unsigned int held, double f,
		     const struct gsb_fraction_params *p, struct gsb_fraction *out)
{
	unsigned int other = 1 - held, first, last;
	double alone[2], speed[2], left;

	alone[held] = gsb_curve_speed(&sides[held].held, f);
	alone[other] = speed_on_rest(&sides[other], 1 - f);
	speeds_together(sides, p, alone, speed);
	first = sides[0].solo_ns / speed[0] <= sides[1].solo_ns / speed[1] ? 0 : 1;
	last = 1 - first;
	out->end_ns[first] = sides[first].solo_ns / speed[first];
	left = sides[last].solo_ns - out->end_ns[first] * speed[last];
	/* The held one stays held; the other goes on with the whole GPU. */
	out->end_ns[last] = out->end_ns[first] + left / (last == held ? alone[held] : 1);
	out->held = held;
	out->fraction = f;
	out->together_ns = out->end_ns[last];
	out->sequential_ns = sides[0].solo_ns + sides[1].solo_ns;
	out->gain = out->sequential_ns / out->together_ns;
	out->pays = out->gain >= p->margin;
}

int gsb_fraction_at(const struct gsb_fraction_side sides[2], unsigned int held, double f,
		    const struct gsb_fraction_params *params, struct gsb_fraction *out)
{
	const struct gsb_fraction_params *p = params ? params : &gsb_fraction_defaults;

	if (held > 1 || !(f > 0) || !(f < 1) || !are_sane(sides, p))
		return -EINVAL;
	if (!sides[held].held.n)
		return -ENOTSUP;
	evaluate(sides, held, f, p, out);
	return 0;
}

int gsb_fraction_pick(const struct gsb_fraction_side sides[2],
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
			evaluate(sides, held, i * p->step, p, &now);
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
