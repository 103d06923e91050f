/*
 * bound.c - see bound.h.
 */
#include "broker/policy/bound.h"

#include "broker/policy/estimate.h"
#include "broker/policy/shape.h"

#define TILE_NS	  5000	 /* to fetch shorter blocks one by one costs more than slices do */
#define TRUST_PPM 100000 /* in how long it takes: what was seen once beside others has more */

uint32_t gsb_reserved_sms(uint32_t n_sms, uint32_t group, uint32_t percent)
{
	uint32_t unit = group ? group : 1;
	uint32_t n_units = (n_sms * percent + unit * 50) / (unit * 100);

	return percent && !n_units ? unit : n_units * unit;
}

/* ---- others wait ---- */

static bool has_waited_enough(const struct gsb_yield *y)
{
	return y->yielded_ns > y->span_ns / GSB_YIELD_PART + GSB_YIELD_SLACK_NS;
}

bool gsb_yield_is_wide(const struct gsb_claim *c, uint64_t now_ns)
{
	return c->yield.wide_ns && now_ns < c->yield.wide_ns + GSB_CRITICAL_LINGER_NS;
}

static bool is_worth_waiting_for(const struct gsb_work *w, uint64_t now_ns)
{
	return w->kind == GSB_WORK_KERNEL && w->claim->critical && w->predicted.alone_ns &&
	       w->predicted.alone_ns <= GSB_YIELD_MOST_NS && gsb_yield_is_wide(w->claim, now_ns) &&
	       !has_waited_enough(&w->claim->yield);
}

bool gsb_yield_is_due(const struct gsb_work *w, uint64_t now_ns)
{
	return now_ns < gsb_yield_end_ns(w) && is_worth_waiting_for(w, now_ns);
}

void gsb_yield_note(struct gsb_yield *y, uint32_t n_reserved, const struct gsb_work *w, bool waited,
		    uint64_t now_ns)
{
	uint64_t from = w->since_ns > y->until_ns ? w->since_ns : y->until_ns;
	uint64_t end = gsb_yield_end_ns(w) < now_ns ? gsb_yield_end_ns(w) : now_ns;

	if (waited && end > from && is_worth_waiting_for(w, now_ns))
		y->yielded_ns += end - from;
	if (now_ns > y->until_ns)
		y->span_ns += now_ns - (y->until_ns ? y->until_ns : w->since_ns);
	if (y->span_ns > GSB_YIELD_WINDOW_NS) {
		y->yielded_ns = (uint64_t)((double)y->yielded_ns / (double)y->span_ns *
					   GSB_YIELD_WINDOW_NS / 2);
		y->span_ns = GSB_YIELD_WINDOW_NS / 2;
	}
	if (w->kernel.n_blocks > n_reserved)
		y->wide_ns = now_ns;
	y->until_ns = now_ns > y->until_ns ? now_ns : y->until_ns;
}

/* ---- parts ---- */

/* How long a round of its blocks takes, and how many there are. */
struct rounds {
	double ns, n;
};

static double n_rounds(const struct gsb_work *w, uint32_t n_sms)
{
	uint64_t places = (uint64_t)w->blocks_per_sm * n_sms;

	return places ? (double)((w->kernel.n_blocks + places - 1) / places) : 1;
}

/* Both that are known of it are bounds: the lower one. */
static double block_ns(const struct gsb_view *v, const struct gsb_work *w)
{
	struct gsb_estimated block = gsb_estimates_block(v->estimates, w->launch);
	double ns = (double)w->predicted.alone_ns / n_rounds(w, v->arch->n_sms);

	if (w->predicted.trust_ppm < TRUST_PPM)
		ns = 0;
	return block.trust_ppm >= TRUST_PPM && (!ns || block.mean < ns) ? block.mean : ns;
}

/* A part in this shape takes so long; 0: it is none in parts. */
static double part_ns(const struct gsb_shape *s, struct rounds r)
{
	if (s->form == GSB_SHAPE_PERSISTENT && s->max_tiles)
		return r.ns * (s->max_tiles < r.n ? s->max_tiles : r.n);
	if (s->form == GSB_SHAPE_SLICE)
		return r.ns * (r.n > s->n_slices ? r.n / s->n_slices : 1);
	return 0;
}

/* As long as may be, of those that are short enough; else as short as may be. */
static bool is_better(double ns, double best, double most)
{
	if (!best)
		return true;
	return ns <= most ? best > most || ns > best : best > most && ns < best;
}

/* Of those of a form; none takes longer than the whole wait. */
static struct gsb_bounded best_of(const struct gsb_work *w, enum gsb_shape_form form,
				  struct rounds r, const struct gsb_bound *b)
{
	double most = (double)b->wait_ns / b->n_parts, best = 0;
	struct gsb_bounded out = {0};

	for (unsigned i = 0; i < w->n_shapes; i++) {
		double ns = part_ns(&w->shapes[i], r);

		if (w->shapes[i].form != form || !ns || ns > (double)b->wait_ns ||
		    !is_better(ns, best, most))
			continue;
		best = ns;
		out = (struct gsb_bounded){true, i + 1, (uint64_t)ns};
	}
	return out;
}

struct gsb_bounded gsb_bound_choose(const struct gsb_view *v, const struct gsb_bound *b,
				    const struct gsb_work *w, struct gsb_sm_range sms)
{
	enum gsb_shape_form one = GSB_SHAPE_PERSISTENT, other = GSB_SHAPE_SLICE;
	struct gsb_bounded best;
	struct rounds r;

	if (!b->wait_ns || w->kind != GSB_WORK_KERNEL || w->cooperative)
		return (struct gsb_bounded){0};
	r = (struct rounds){block_ns(v, w), n_rounds(w, sms.n ? sms.n : v->arch->n_sms)};
	if (r.ns > 0 && r.ns * r.n <= (double)b->wait_ns)
		return (struct gsb_bounded){true, 0, (uint64_t)(r.ns * r.n)};
	if (r.ns < TILE_NS) {
		one = GSB_SHAPE_SLICE;
		other = GSB_SHAPE_PERSISTENT;
	}
	best = best_of(w, one, r, b); /* of what nothing is known there is none */
	return best.any ? best : best_of(w, other, r, b);
}
