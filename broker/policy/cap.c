/*
 * cap.c - see cap.h.
 */
#include "broker/policy/cap.h"

#include <stddef.h>

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t since(uint64_t from_ns, uint64_t now_ns)
{
	return now_ns > from_ns ? now_ns - from_ns : 0;
}

static double limit(const struct gsb_cap *c)
{
	return 1 + c->percent / 100.0;
}

/* By how much it is behind, having been busy for so long; 0: it is not. */
static double behind_ns(const struct gsb_cap *c, uint64_t busy_ns)
{
	double ns = (double)busy_ns - limit(c) * (double)c->alone_ns;

	return ns > 0 ? ns : 0;
}

/*
 * Alone: from its issue on, however long that took; so what launches cost is never taken for what others do. Else what it takes alone, and nothing
 * where that is not known: then it is owed sooner, has the device to itself, and it is known.
 */
static uint64_t worth_ns(const struct gsb_cap *c, const struct gsb_estimates *e,
			 const struct gsb_run *run, uint64_t now_ns)
{
	uint64_t stay = run->stay_ns > run->took_ns ? run->stay_ns : run->took_ns;

	if (!run->company.others)
		return since(later(c->until_ns, since(stay, now_ns)), now_ns);
	return (uint64_t)gsb_estimates_alone(e, run->work->launch).mean;
}

void gsb_cap_note(struct gsb_cap *c, const struct gsb_estimates *e, const struct gsb_run *run,
		  uint64_t now_ns)
{
	double behind;

	if (!c->percent)
		return;
	c->alone_ns += worth_ns(c, e, run, now_ns);
	c->busy_ns += since(later(c->until_ns, run->ready_ns), now_ns);
	c->until_ns = later(c->until_ns, now_ns);
	behind = behind_ns(c, c->busy_ns);
	c->owed = behind > GSB_CAP_SLACK_NS || (c->owed && behind > 0);
	if (c->busy_ns > GSB_CAP_WINDOW_NS) {
		c->busy_ns /= 2;
		c->alone_ns /= 2;
	}
}

/* ---- who ---- */

static bool is_kernel_of(const struct gsb_work *w, const struct gsb_claim *c)
{
	return w->kind == GSB_WORK_KERNEL && w->claim == c;
}

/* Since when it has a kernel that waits, from when it was ready, or runs, from when it was issued. UINT64_MAX: it has none. */
static uint64_t busy_from_ns(const struct gsb_view *v, const struct gsb_claim *c)
{
	uint64_t from = UINT64_MAX;
	unsigned i = 0;

	while (i < v->n_ready && !is_kernel_of(v->ready[i], c))
		i++;
	if (i < v->n_ready) /* they stand as they came */
		from = v->ready[i]->since_ns;
	for (i = 0; i < v->n_running; i++)
		if (is_kernel_of(v->running[i], c) && v->running[i]->since_ns < from)
			from = v->running[i]->since_ns;
	return from;
}

struct standing {
	const struct gsb_claim *claim;
	uint64_t busy_ns; /* until now */
	bool owed;
};

/* Nobody's: it has no kernel, nor had one just now. */
static struct standing look(const struct gsb_view *v, const struct gsb_claim *c)
{
	const struct gsb_cap *cap = &c->cap;
	struct standing s = {c, cap->busy_ns, cap->owed};
	uint64_t from = busy_from_ns(v, c);

	if (from != UINT64_MAX)
		s.busy_ns += since(later(cap->until_ns, from), v->now_ns);
	else if (since(cap->until_ns, v->now_ns) > GSB_CAP_LINGER_NS)
		return (struct standing){0};
	s.owed |= behind_ns(cap, s.busy_ns) > GSB_CAP_SLACK_NS;
	return s;
}

/* Slowed more, for what it may be. Nothing done yet is most of all. */
static bool is_worse(const struct standing *a, const struct standing *b)
{
	return (double)a->busy_ns * limit(&b->claim->cap) * (double)b->claim->cap.alone_ns >
	       (double)b->busy_ns * limit(&a->claim->cap) * (double)a->claim->cap.alone_ns;
}

const struct gsb_claim *gsb_cap_owed(const struct gsb_view *view, bool critical_apart)
{
	struct standing most = {0};

	for (unsigned i = 0; i < view->n_claims; i++) {
		const struct gsb_claim *c = view->claims[i];
		struct standing s;

		if (!c->cap.percent || (critical_apart && c->critical))
			continue;
		s = look(view, c);
		if (s.owed && (!most.claim || is_worse(&s, &most)))
			most = s;
	}
	return most.claim;
}
