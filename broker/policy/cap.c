/*
 * cap.c - see cap.h.
 */
#include "broker/policy/cap.h"

#define FLOOR_TIMES \
	1.5 /* of what its share comes to: two thirds of it on the whole leave half of it in every second */
#define LEFT_LEAST 0.05 /* of the device that limits leave over: with less there is no floor */
#define NO_LIMIT   1e9
#define FILLS \
	0.95 /* of the places of its rounds: with less, what has the device to itself leaves too much of it idle */
#define HELPED_NS 500000000 /* so far behind its floor, it is not by what it was given instead */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t since(uint64_t from_ns, uint64_t now_ns)
{
	return now_ns > from_ns ? now_ns - from_ns : 0;
}

/* ---- how much is allowed ---- */

static bool wants_device(const struct gsb_claim *c, uint64_t now_ns)
{
	return c->n_ready || c->n_running ||
	       (c->cap.until_ns && since(c->cap.until_ns, now_ns) <= GSB_CAP_GAP_NS);
}

static double own_limit(const struct gsb_cap *c)
{
	return 1 + c->percent / 100.0;
}

/* Of all that want the device: how many, the weight of those that have no limit, and what the limits leave them. */
struct wanted {
	unsigned n;
	uint64_t weight;
	double left;
};

static struct wanted count_wanted(const struct gsb_claim *const *all, unsigned n, uint64_t now_ns)
{
	struct wanted w = {.left = 1};

	for (unsigned i = 0; i < n; i++) {
		if (!wants_device(all[i], now_ns))
			continue;
		w.n++;
		if (all[i]->cap.percent)
			w.left -= 1 / own_limit(&all[i]->cap);
		else
			w.weight += all[i]->weight;
	}
	return w;
}

static double limit_among(const struct gsb_claim *c, const struct wanted *w)
{
	if (c->cap.percent)
		return own_limit(&c->cap);
	if (w->n < 2 || w->left < LEFT_LEAST)
		return NO_LIMIT;
	return FLOOR_TIMES * (double)w->weight / (c->weight * w->left);
}

double gsb_cap_limit(const struct gsb_claim *c, const struct gsb_claim *const *all, unsigned n,
		     uint64_t now_ns)
{
	struct wanted w = count_wanted(all, n, now_ns);

	return limit_among(c, &w);
}

static double slack_ns(const struct gsb_cap *c)
{
	return c->percent ? GSB_CAP_SLACK_NS : GSB_FLOOR_SLACK_NS;
}

static uint64_t linger_ns(const struct gsb_cap *c)
{
	return c->percent ? GSB_CAP_LINGER_NS : GSB_FLOOR_LINGER_NS;
}

/* By how much it is behind, having been busy for so long; 0: it is not. */
static double behind_ns(const struct gsb_cap *c, double limit, uint64_t busy_ns)
{
	double ns = (double)busy_ns - limit * (double)c->alone_ns;

	return ns > 0 ? ns : 0;
}

/* ---- what was had ---- */

/*
 * Alone: from its issue on, however long that took; so what launches cost is never taken for what others do. Else what it takes alone, and where
 * that is not known nothing: then it is owed sooner, has the device to itself, and it is known. That much is not done for a floor.
 */
static uint64_t worth_ns(const struct gsb_cap *c, const struct gsb_estimates *e,
			 const struct gsb_run *run, uint64_t now_ns)
{
	uint64_t stay = run->stay_ns > run->took_ns ? run->stay_ns : run->took_ns;
	struct gsb_estimated alone;

	if (!run->company.others)
		return since(later(c->until_ns, since(stay, now_ns)), now_ns);
	alone = gsb_estimates_alone(e, run->work->launch);
	return alone.n || c->percent ? (uint64_t)alone.mean : run->took_ns;
}

/* Between two kernels; what was longer than a gap was none of its time. */
static uint64_t gap_ns(const struct gsb_cap *c, const struct gsb_run *run)
{
	uint64_t gap = c->until_ns ? since(c->until_ns, run->ready_ns) : 0;

	return c->percent || gap > GSB_CAP_GAP_NS ? 0 : gap;
}

void gsb_cap_note(struct gsb_cap *c, double limit, const struct gsb_estimates *e,
		  const struct gsb_run *run, uint64_t now_ns)
{
	uint64_t gap = gap_ns(c, run);
	double behind;

	c->alone_ns += gap + worth_ns(c, e, run, now_ns);
	c->busy_ns += gap + since(later(c->until_ns, run->ready_ns), now_ns);
	c->until_ns = later(c->until_ns, now_ns);
	behind = behind_ns(c, limit, c->busy_ns);
	c->owed = behind > slack_ns(c) || (c->owed && behind > 0);
	if (!c->percent && behind <= 0) {
		c->busy_ns = c->alone_ns = 0; /* to have had more before makes up for nothing */
	} else if (c->busy_ns > GSB_CAP_WINDOW_NS) {
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
	struct gsb_owed of;
	uint64_t busy_ns; /* until now */
	bool owed;
};

/* Whatever it has, it cannot be behind by so much. Without this all that is ready would be looked through for every tenant. */
static bool is_well(const struct gsb_cap *cap, double limit, uint64_t now_ns)
{
	uint64_t most_ns = cap->busy_ns + since(cap->until_ns, now_ns);

	return !cap->percent && !cap->owed &&
	       (!cap->until_ns || behind_ns(cap, limit, most_ns) <= GSB_FLOOR_SLACK_NS);
}

/* Nobody's: it is well, or has no kernel, nor had one just now. */
static struct standing look(const struct gsb_view *v, const struct gsb_claim *c, double limit)
{
	const struct gsb_cap *cap = &c->cap;
	struct standing s = {{.claim = c, .limit = limit}, cap->busy_ns, cap->owed};
	uint64_t from;

	if (is_well(cap, limit, v->now_ns))
		return (struct standing){0};
	from = busy_from_ns(v, c);
	if (from != UINT64_MAX)
		s.busy_ns += since(later(cap->until_ns, from), v->now_ns);
	else if (since(cap->until_ns, v->now_ns) > linger_ns(cap))
		return (struct standing){0};
	else
		s.of.until_ns = cap->until_ns + linger_ns(cap) + 1;
	s.owed |= behind_ns(cap, limit, s.busy_ns) > slack_ns(cap);
	return s;
}

/* Slowed more, for what it may be. Nothing done yet is most of all. */
static bool is_worse(const struct standing *a, const struct standing *b)
{
	return (double)a->busy_ns * b->of.limit * (double)b->of.claim->cap.alone_ns >
	       (double)b->busy_ns * a->of.limit * (double)a->of.claim->cap.alone_ns;
}

/* Its blocks do not fill the rounds that they take. */
static bool leaves_room(const struct gsb_arch *arch, const struct gsb_work *w)
{
	const uint64_t places = (uint64_t)w->blocks_per_sm * arch->n_sms;
	const uint64_t n = w->kernel.n_blocks;

	return places && (double)n < FILLS * (double)((n + places - 1) / places * places);
}

bool gsb_cap_goes_between(const struct gsb_view *view, const struct gsb_work *w)
{
	return !w->claim->cap.percent && view->priority_greatest < view->priority_least &&
	       leaves_room(view->arch, w);
}

static const struct gsb_work *any_kernel(const struct gsb_work *const *works, unsigned n,
					 const struct gsb_claim *c)
{
	for (unsigned i = 0; i < n; i++)
		if (is_kernel_of(works[i], c))
			return works[i];
	return NULL;
}

/* By what it has ready, or else there. Whose blocks get in and starve there, as beside older ones that keep a unit full, falls further behind, and is not helped. */
static bool is_helped(const struct gsb_view *v, const struct standing *s)
{
	const struct gsb_claim *c = s->of.claim;
	const struct gsb_work *w = any_kernel(v->ready, v->n_ready, c);

	if (!w)
		w = any_kernel(v->running, v->n_running, c);
	return w && gsb_cap_goes_between(v, w) &&
	       behind_ns(&c->cap, s->of.limit, s->busy_ns) <= HELPED_NS;
}

struct gsb_owed gsb_cap_owed(const struct gsb_view *view, enum gsb_cap_kind kind,
			     bool critical_apart)
{
	struct wanted w = count_wanted(view->claims, view->n_claims, view->now_ns);
	struct standing most = {0};

	for (unsigned i = 0; i < view->n_claims; i++) {
		const struct gsb_claim *c = view->claims[i];
		struct standing s;

		if ((kind == GSB_CAP_LIMIT) != (c->cap.percent > 0) ||
		    (critical_apart && c->critical))
			continue;
		s = look(view, c, limit_among(c, &w));
		if (s.owed && (!most.of.claim || is_worse(&s, &most)) && !is_helped(view, &s))
			most = s;
	}
	return most.of;
}
