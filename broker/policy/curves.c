/*
 * curves.c - how fast each contender is on so many SMs of its own: what was measured, and between that the bounds of what more SMs can never do.
 *
 * They never make a kernel slower, nor faster by more than in proportion, nor faster than it went on from fewer. The lower bound is what is known, the
 * upper one what may be hoped for; where both meet nothing is left to try.
 */
#include "broker/policy/auction.h"

#include <math.h>

#define OWN_LOSS \
	0.05 /* of its speed that anyone may lose by parts; below its share only who had more, for one who had less */

uint32_t gsb_auction_sms_of(const struct gsb_auction *a, unsigned i, uint32_t units)
{
	return units * a->unit + (i + 1 == a->n ? a->over : 0);
}

/* The code of the only other one; 0: there are several. */
static uint64_t beside(const struct gsb_auction *a, unsigned i)
{
	return a->n == 2 ? a->of[!i].claim->habits.code : 0;
}

/* On which SMs, and in what manner beside what manner: as of the questions of estimate.h. */
struct setting {
	uint32_t n_sms;
	enum gsb_sharing sharing;
	struct gsb_manners in;
	uint32_t n_least; /* values that make a speed */
};

static struct gsb_estimated seen(const struct gsb_view *v, uint64_t launch, const struct setting *s,
				 uint64_t beside)
{
	return gsb_estimates_in(v->estimates, v->arch, launch, s->n_sms, s->sharing, s->in, beside);
}

/* Against alone, from @n values; 0: not measured. What was measured in this company counts before what was in any. */
static double speed(const struct gsb_auction *a, unsigned i, const struct setting *s, uint32_t *n)
{
	const struct gsb_habits *h = &a->of[i].claim->habits;
	double sum = 0;

	*n = UINT32_MAX;
	for (unsigned k = 0; k < h->n; k++) {
		struct gsb_estimated e = seen(a->view, h->launch[k], s, beside(a, i));

		if (e.n < s->n_least && beside(a, i) && (s->sharing == GSB_SMS_OWN || !a->soon))
			e = seen(a->view, h->launch[k], s, 0);
		if (e.n < s->n_least)
			return 0;
		*n = e.n < *n ? e.n : *n;
		sum += e.mean;
	}
	return a->of[i].alone_ns / sum;
}

/* Two points of a curve, and the line through them. */
struct line {
	double x1, y1, x2, y2;
};

static double at(const struct line *l, double x)
{
	return l->y1 + (l->y2 - l->y1) / (l->x2 - l->x1) * (x - l->x1);
}

/* From the left: not slower than on fewer SMs, and not faster than it went on; first from no SMs at speed 0. */
static void bound_from_fewer(const struct gsb_auction *a, uint32_t over, struct gsb_part_curve *c)
{
	struct line l = {-1, 0, 0, 0};

	for (uint32_t u = 1; u <= a->n_units; u++) {
		double sms = u * a->unit + over;

		if (c->known[u] > 0)
			l = (struct line){l.x2, l.y2, sms, c->known[u]};
		c->low[u] = l.y2;
		c->high[u] = l.x2 > 0 ? fmin(1, at(&l, sms)) : 1;
	}
}

/* Blocks are there in whole rounds, of which the last may be nearly empty. */
static double rounds_on(const struct gsb_habits *h, double all, double sms)
{
	return ceil(h->rounds * all / sms - 1e-6);
}

/*
 * So fast at least, having speed @y1 on @x1 SMs: in proportion; and what ends soon has no time to find out that its grid takes more rounds
 * there than in proportion.
 */
static double least_on(const struct gsb_auction *a, unsigned i, double sms, double x1, double y1)
{
	const struct gsb_habits *h = &a->of[i].claim->habits;
	const double all = a->view->arch->n_sms;
	double part = sms / x1;

	if (a->soon && h->n == 1 && h->rounds > 0)
		part = fmin(part, rounds_on(h, all, x1) / rounds_on(h, all, sms));
	return y1 * part;
}

/* From the right: not faster than on more SMs, nor than it went on; and not slower than in proportion. On all it has speed 1. */
static void bound_from_more(const struct gsb_auction *a, unsigned i, uint32_t over,
			    struct gsb_part_curve *c)
{
	double all = a->view->arch->n_sms;
	struct line l = {all, 1, all + 1, 1};

	for (uint32_t u = a->n_units; u; u--) {
		double sms = u * a->unit + over;

		if (c->known[u] > 0) {
			l = (struct line){sms, c->known[u], l.x1, l.y1};
			c->least = u;
		}
		c->high[u] = fmin(c->high[u], fmin(l.y1, at(&l, sms)));
		c->low[u] = fmax(c->low[u], least_on(a, i, sms, l.x1, l.y1));
	}
	for (uint32_t u = 1; u <= a->n_units; u++)
		c->high[u] = fmax(c->high[u], c->low[u]);
}

static void find_known(const struct gsb_auction *a, unsigned i, uint32_t over,
		       struct gsb_part_curve *c)
{
	uint32_t n;

	for (uint32_t u = 1; u < a->n_units; u++)
		c->known[u] = speed(a, i,
				    &(struct setting){.n_sms = u * a->unit + over,
						      .sharing = GSB_SMS_OWN,
						      .in = a->of[i].in,
						      .n_least = GSB_MEASURED},
				    &n);
	c->known[0] = c->known[a->n_units] = 0;
}

double gsb_contender_in(const struct gsb_auction *a, unsigned i, uint32_t n_sms,
			struct gsb_manners in, uint32_t *n)
{
	enum gsb_sharing sharing = n_sms < a->sms.n ? GSB_SMS_OWN : GSB_SMS_SHARED;
	double s = speed(a, i, &(struct setting){n_sms, sharing, in, 1}, n);

	*n = s > 0 ? *n : 0;
	return s;
}

void gsb_curve_find_low(const struct gsb_auction *a, unsigned i, uint32_t over,
			struct gsb_part_curve *out)
{
	double last = 0, slope = 1.0 / a->view->arch->n_sms;

	find_known(a, i, over, out);
	for (uint32_t u = 1; u < a->n_units; u++)
		last = out->low[u] = out->known[u] > 0 ? out->known[u] : last;
	for (uint32_t u = a->n_units - 1; u; u--) {
		double sms = u * a->unit + over;

		if (out->known[u] > 0)
			slope = out->known[u] / sms;
		if (out->low[u] < slope * sms)
			out->low[u] = slope * sms;
	}
}

uint32_t gsb_contender_n_on(const struct gsb_auction *a, unsigned i, uint32_t n_sms,
			    enum gsb_sharing sharing)
{
	const struct gsb_view *v = a->view;

	return gsb_estimates_on(v->estimates, v->arch, a->of[i].claim->habits.launch[0], n_sms,
				sharing, 0)
		.n;
}

/* Less than half of what was measured, or of what is its by weight, is too little to try. */
static void bound_hope(const struct gsb_auction *a, struct gsb_contender *c)
{
	double least = fmin(c->part.least, a->n_units * gsb_contender_share(a, c)) / 2;

	for (uint32_t u = 1; u <= a->n_units && u < least; u++)
		c->part.high[u] = c->part.low[u];
}

static void bound(struct gsb_auction *a, unsigned i)
{
	struct gsb_part_curve *c = &a->of[i].part;
	uint32_t over = i + 1 == a->n ? a->over : 0;

	find_known(a, i, over, c);
	c->least = a->n_units;
	bound_from_fewer(a, over, c);
	bound_from_more(a, i, over, c);
	bound_hope(a, &a->of[i]);
}

void gsb_curves_bound(struct gsb_auction *a)
{
	for (unsigned i = 0; i < a->n; i++)
		bound(a, i);
}

static bool somebody_starves(const struct gsb_auction *a)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->of[i].shared < (1 - 2 * OWN_LOSS) * gsb_contender_share(a, &a->of[i]))
			return true;
	return false;
}

/* Of what all have together, which is the device unless they gain from each other as it is: of three and more a speed says little about one of them. */
static double had_in_sum(const struct gsb_auction *a)
{
	double sum = 0;

	for (unsigned i = 0; i < a->n; i++)
		sum += a->of[i].shared;
	return a->starves || sum < 1 + 2 * OWN_LOSS ? 1 : sum;
}

/* Nobody pays for the others' gain, but who has more than its share for one who has less. */
static void find_least_speeds(struct gsb_auction *a)
{
	double sum;

	a->starves = somebody_starves(a) && !a->soon;
	sum = had_in_sum(a);
	for (unsigned i = 0; i < a->n; i++) {
		struct gsb_contender *c = &a->of[i];
		double kept = c->shared;

		if (a->starves || a->n > 2)
			kept = fmin(kept, gsb_contender_share(a, c) * sum);
		c->least_speed = (1 - OWN_LOSS) * kept;
	}
}

/*
 * Of everybody; false: of one it is not known how fast it is on shared SMs. What ends soon there is no time to make good in, so only what was seen in this
 * very company counts.
 */
bool gsb_curves_find(struct gsb_auction *a)
{
	a->brief = gsb_auction_is_brief(a);
	a->soon = a->brief || gsb_auction_ends_soon(a);
	if (a->soon && (a->strangers || a->n > 2))
		return false;
	for (unsigned i = 0; i < a->n; i++) {
		a->of[i].shared = speed(a, i,
					&(struct setting){.n_sms = a->sms.n,
							  .sharing = GSB_SMS_SHARED,
							  .n_least = GSB_MEASURED},
					&a->of[i].n_shared);
		if (a->of[i].shared <= 0)
			return false;
	}
	find_least_speeds(a);
	return true;
}
