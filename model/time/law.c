/*
 * law.c - see law.h.
 *
 * For each two kernels, and each two units of theirs, the table says both speeds, x of the one and y of the other, were
 * both units full. From it follow the prices that they pay each other. Where x + y > 1 each can be had beside
 * the other, and the first loses (1 - x) for y, the second (1 - y) for x; else it is one unit for both, of which they
 * have x + y. A kernel pays, for each of its units, the highest price of each other kernel:
 *
 *	own demand x own speed + sum of price x other speed <= 1
 *
 * Weights say who is there first: the uses of the two units that meet hardest rise as x and y, and of one unit for both as
 * the requests under way besides. Of n kernels each has the product over all others, in roots, so that two have just that ratio.
 *
 * Of two kernels whose requests are known (queueing.h) there is no table: units of one place are one unit for both, other units do not meet, and
 * prices are demands. What one of them loses besides is waiting, which says how far its speed can rise. Where that is so of all, n of them have
 * the n-th root, which for weights that agree is what each has against their mean.
 */
#include "model/time/law.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "model/time/queueing.h"

#define KERNELS_MAX GSB_LAW_KERNELS_MAX
#define ROWS_MAX    (KERNELS_MAX * GSB_N_UNITS)
#define EPS	    1e-9
#define ONE_UNIT    1.02 /* two speeds of less in sum are of one unit; more is not seen between two */
#define MOST_RATIO  1e9 /* of two weights; the product of all is a number */

/* One unit of one kernel, and what the others take of it at speed 1. */
struct row {
	enum gsb_unit unit;
	double demand;
	double level, rate; /* filled so far, and how fast */
	uint32_t shared;    /* kernels for which it is one unit with one of theirs */
	double price[KERNELS_MAX];
};

struct kernel {
	const struct gsb_resident *r;
	unsigned int rows, rows_end;
	struct gsb_sm_range sms;
	double requests;
	double weight; /* its square, until all pairs have met */
	double speed, most;
	enum gsb_unit full; /* that it wants most */
	bool known;	    /* how many requests it has */
	bool stays;
};

struct mix {
	const struct gsb_interference *f;
	uint16_t meets
		[GSB_N_UNITS]; /* units of which this one has less beside them, or they beside it */
	unsigned int n, n_rows;
	unsigned int n_known,
		n_silent; /* kernels whose requests are known, or not, though they want units */
	uint32_t share;	  /* kernels that had to stop for others */
	bool by_table;	  /* also where requests are known */
	struct kernel kernels[KERNELS_MAX];
	struct row rows[ROWS_MAX];
};

/* What two full units leave each other: speeds, and prices of each for the other. */
struct meeting {
	double speed[2], price[2];
	bool one_unit;
};

/* Two kernels, and the two units of theirs that meet hardest. */
struct pair {
	struct kernel *i, *j;
	double in_i, in_j,
		in;    /* part of the SMs of i, of j that both have, and the greater of them */
	bool together; /* the same SMs, all of them */
	bool by_waits; /* the requests of both are known */
	double conflict;
	double use[2]; /* of those units, when both are asked for all they have */
	double demand[2];
	bool one_unit;
};

/* ---- who is older ---- */

/*
 * Of two kernels whose blocks end, the part of the time in which the first has the older ones. Each turn ends with a block of
 * the older kernel, which begins anew as the younger: so a block is as long as its turn at the older speed and the
 * other's turn at the younger one. Who is done already as the younger one never becomes the older.
 */
static double turn(double ns, double other_ns, const struct gsb_beside *first,
		   const struct gsb_beside *second)
{
	double t = ns * second->older - other_ns * second->younger;
	double other = other_ns * first->older - ns * first->younger;

	/* Age is worth nothing: then it does not matter either. */
	if (first->older * second->older - first->younger * second->younger < EPS)
		return 0.5;
	if (t <= 0 || other <= 0)
		return t > other;
	return t / (t + other);
}

static double older_part(const struct gsb_resident *a, const struct gsb_resident *b,
			 const struct gsb_beside *first, const struct gsb_beside *second)
{
	if (a->block_ns > 0 && b->block_ns > 0)
		return turn(a->block_ns, b->block_ns, first, second);
	if (a->block_ns > 0 || b->block_ns > 0)
		return b->block_ns > 0;
	return a->started_ns <= b->started_ns;
}

/* ---- two units meet ---- */

static double less(double a, double b)
{
	return a < b ? a : b;
}

static double more(double a, double b)
{
	return a > b ? a : b;
}

static void set_prices(struct meeting *m)
{
	double sum = m->speed[0] + m->speed[1];

	m->one_unit = sum < ONE_UNIT;
	for (int i = 0; i < 2; i++)
		m->price[i] = m->one_unit ? 1 / sum : (1 - m->speed[i]) / m->speed[1 - i];
}

static struct meeting meet_inside(const struct mix *m, const struct kernel *i, enum gsb_unit a,
				  const struct kernel *j, enum gsb_unit b)
{
	const struct gsb_beside *first = &m->f->beside[a][b], *second = &m->f->beside[b][a];
	double older = older_part(i->r, j->r, first, second);
	struct meeting res = {.one_unit = false};

	res.speed[0] = less(1, older * first->older + (1 - older) * second->younger);
	res.speed[1] = less(1, older * first->younger + (1 - older) * second->older);
	set_prices(&res);
	return res;
}

/* Part in which i has the older blocks, on a unit of which the younger one has next to nothing. */
static double strictly_older(const struct kernel *i, const struct kernel *j)
{
	static const struct gsb_beside strict = {.older = 1};

	return older_part(i->r, j->r, &strict, &strict);
}

/* Who gets more of what is one unit for both: the older one; of issue slots who never stalls; of the memory, whose queue
 * is one, each as many requests. */
static void share_place(struct pair *p, const struct row *a, const struct row *b)
{
	double older = 2 * strictly_older(p->i, p->j) - 1;

	if (a->unit != b->unit && gsb_unit_place(a->unit) == GSB_UNIT_ISSUE)
		older = a->unit == GSB_UNIT_DENSE ? 1 : -1;
	p->use[0] = pow(GSB_QUEUEING_OLDER, older);
	p->use[1] = 1;
	if (!gsb_unit_is_memory(a->unit))
		return;
	p->demand[0] = p->i->r->demand[GSB_UNIT_REQUESTS];
	p->demand[1] = p->j->r->demand[GSB_UNIT_REQUESTS];
}

/* Part of i's SMs that j has, too. */
static double overlap(const struct kernel *i, const struct kernel *j)
{
	uint32_t from = i->sms.first > j->sms.first ? i->sms.first : j->sms.first;
	uint32_t i_end = i->sms.first + i->sms.n, j_end = j->sms.first + j->sms.n;
	uint32_t to = i_end < j_end ? i_end : j_end;

	return to > from ? (double)(to - from) / i->sms.n : 0;
}

/* Of kernels whose waits are reckoned: one place is full when both have all of it in sum, and two are nothing to each other. */
static struct meeting meet_by_place(enum gsb_unit a, enum gsb_unit b)
{
	static const struct meeting one = {{.5, .5}, {1, 1}, true}, two = {{1, 1}, {0, 0}, false};

	return gsb_unit_place(a) == gsb_unit_place(b) ? one : two;
}

static void raise_price(struct row *row, unsigned int of, double to, bool one_unit)
{
	row->price[of] = more(to, row->price[of]);
	row->shared |= (uint32_t)one_unit << of;
}

static void meet_units(const struct mix *m, struct pair *p, struct row *a, struct row *b)
{
	unsigned int i = (unsigned int)(p->i - m->kernels), j = (unsigned int)(p->j - m->kernels);
	struct meeting near = p->by_waits ? meet_by_place(a->unit, b->unit)
					  : meet_inside(m, p->i, a->unit, p->j, b->unit);
	double conflict = 2 - near.speed[0] - near.speed[1];

	if (!p->together) {
		double apart = gsb_unit_is_memory(a->unit) && gsb_unit_is_memory(b->unit);

		near.price[0] = p->in_i * near.price[0] + (1 - p->in_i) * apart;
		near.price[1] = p->in_j * near.price[1] + (1 - p->in_j) * apart;
		near.one_unit = p->in <= 0 && apart > 0;
		conflict = p->in * conflict + (1 - p->in) * apart;
	}
	raise_price(a, j, b->demand * near.price[0], near.one_unit && !p->by_waits);
	raise_price(b, i, a->demand * near.price[1], near.one_unit && !p->by_waits);
	if (p->by_waits)
		conflict *= more(0, a->demand + b->demand - 1);
	conflict *= a->demand * b->demand;
	if (conflict <= p->conflict)
		return;
	p->conflict = conflict;
	p->one_unit = near.one_unit;
	p->use[0] = near.speed[0];
	p->use[1] = near.speed[1];
	p->demand[0] = a->demand;
	p->demand[1] = b->demand;
	if (p->by_waits)
		share_place(p, a, b);
}

/* On SMs of their own they have the memory by the requests of all their SMs. */
static void weigh(const struct pair *p)
{
	double by = p->demand[1] / p->demand[0], inside = p->use[0] / p->use[1];

	if (p->one_unit)
		by *= p->i->requests / p->j->requests;
	if (p->in >= 1)
		by *= inside;
	else
		by *= pow((double)p->i->sms.n / p->j->sms.n, 1 - p->in) * pow(inside, p->in);
	by = less(more(by, 1 / MOST_RATIO), MOST_RATIO);
	p->i->weight *= by;
	p->j->weight /= by;
}

static void meet(struct mix *m, struct kernel *i, struct kernel *j)
{
	struct pair p = {.i = i, .j = j, .in_i = 1, .in_j = 1, .by_waits = i->known && j->known};

	if (i->sms.first != j->sms.first || i->sms.n != j->sms.n) {
		p.in_i = overlap(i, j);
		p.in_j = overlap(j, i);
	}
	p.in = more(p.in_i, p.in_j);
	p.together = p.in_i >= 1 && p.in_j >= 1;
	for (unsigned int a = i->rows; a < i->rows_end; a++)
		for (unsigned int b = j->rows; b < j->rows_end; b++)
			if (m->meets[m->rows[a].unit] >> m->rows[b].unit & 1)
				meet_units(m, &p, &m->rows[a], &m->rows[b]);
	if (p.conflict > 0)
		weigh(&p);
}

/* ---- waits ---- */

/* Of i for j, who is there for a part of the time: over its turns as the older and the younger one. */
static double wait_for(const struct kernel *i, const struct kernel *j, double part)
{
	double older = i < j ? strictly_older(i, j) : 1 - strictly_older(j, i), speed = 0;

	if (older > 0)
		speed += older / (1 + part * gsb_queueing_wait(i->r, j->r, j->full, true));
	if (older < 1)
		speed += (1 - older) / (1 + part * gsb_queueing_wait(i->r, j->r, j->full, false));
	return overlap(i, j) * (1 / speed - 1);
}

/* Who waits himself does not fill his unit for as long: first as if nobody waited, and then with what came of that. */
static void set_most(struct mix *m)
{
	double part[KERNELS_MAX];

	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < m->n; i++)
			part[i] = m->kernels[i].most;
		for (unsigned int i = 0; i < m->n; i++) {
			double wait = 0;

			for (unsigned int j = 0; m->kernels[i].known && j < m->n; j++)
				if (i != j && m->kernels[j].known)
					wait += wait_for(&m->kernels[i], &m->kernels[j], part[j]);
			m->kernels[i].most = 1 / (1 + wait);
		}
	}
}

/* ---- water ---- */

/* How long all may still rise until this one has all it can. */
static double time_left(const struct mix *m, const struct kernel *k)
{
	double t = (k->most - k->speed) / k->weight;

	for (unsigned int a = k->rows; a < k->rows_end; a++)
		t = less(t, (1 - m->rows[a].level) / m->rows[a].rate);
	return more(t, 0);
}

/* What rises with kernel k: its own units, and what it takes of those of others. */
static void add_rates(struct mix *m, const struct kernel *k, double sign)
{
	unsigned int at = (unsigned int)(k - m->kernels);

	for (unsigned int a = 0; a < m->n_rows; a++)
		m->rows[a].rate += sign * k->weight * m->rows[a].price[at];
}

static void rise(struct mix *m, double t)
{
	for (unsigned int a = 0; a < m->n_rows; a++)
		m->rows[a].level += m->rows[a].rate * t;
	for (struct kernel *k = m->kernels; k < m->kernels + m->n; k++)
		if (!k->stays)
			k->speed += k->weight * t;
}

/* Whom a full unit stops: its own kernel, and those that share it. */
static uint32_t find_stopped(struct mix *m)
{
	uint32_t stopped = 0;

	for (unsigned int i = 0; i < m->n; i++) {
		const struct kernel *k = &m->kernels[i];

		if (k->speed >= k->most - EPS)
			stopped |= UINT32_C(1) << i;
		for (unsigned int a = k->rows; a < k->rows_end; a++)
			if (m->rows[a].level >= 1 - EPS) {
				stopped |= m->rows[a].shared | UINT32_C(1) << i;
				m->share |= m->rows[a].shared;
			}
	}
	return stopped;
}

static void fill(struct mix *m)
{
	unsigned int rising = m->n;

	for (unsigned int i = 0; i < m->n; i++)
		add_rates(m, &m->kernels[i], 1);
	while (rising) {
		double t = INFINITY;
		uint32_t stopped;

		for (unsigned int i = 0; i < m->n; i++)
			if (!m->kernels[i].stays)
				t = less(t, time_left(m, &m->kernels[i]));
		rise(m, t);
		stopped = find_stopped(m);
		for (unsigned int i = 0; i < m->n; i++) {
			struct kernel *k = &m->kernels[i];

			if (k->stays || !(stopped >> i & 1))
				continue;
			k->stays = true;
			add_rates(m, k, -1);
			rising--;
		}
	}
}

/* ---- what it comes to ---- */

/* By falling weight. */
static void sort(const struct mix *m, unsigned int order[])
{
	for (unsigned int i = 0; i < m->n; i++) {
		unsigned int at = i;

		for (; at && m->kernels[order[at - 1]].weight < m->kernels[i].weight; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

/* What the first @n of that order leave the one that stands at @at. */
static double room(const struct mix *m, const unsigned int order[], unsigned int at, unsigned int n)
{
	const struct kernel *k = &m->kernels[order[at]];
	double most = k->most;

	for (unsigned int a = k->rows; a < k->rows_end; a++) {
		double left = 1;

		for (unsigned int i = 0; i < n; i++)
			if (i != at)
				left -= m->rows[a].price[order[i]] * m->kernels[order[i]].speed;
		most = less(most, left / m->rows[a].demand);
	}
	return more(most, GSB_STARVED);
}

/*
 * Who stayed early has since lost to heavier ones that went on, where he does not cost them what they cost him; and what
 * he lost so is there for others, but for those who had to stop for someone: they have their share.
 */
static void settle(struct mix *m)
{
	unsigned int order[KERNELS_MAX];

	sort(m, order);
	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < m->n; i++) {
			struct kernel *k = &m->kernels[order[i]];

			k->speed = less(k->speed, room(m, order, i, i));
		}
		for (unsigned int i = 0; i < m->n; i++) {
			struct kernel *k = &m->kernels[order[i]];

			if (!(m->share >> order[i] & 1))
				k->speed = more(k->speed, room(m, order, i, m->n));
		}
	}
}

/* ---- in and out ---- */

static bool do_meet(const struct gsb_interference *f, enum gsb_unit a, enum gsb_unit b)
{
	const struct gsb_beside *to = &f->beside[a][b], *of = &f->beside[b][a];

	return to->older < 1 || to->younger < 1 || of->older < 1 || of->younger < 1 ||
	       (gsb_unit_is_memory(a) && gsb_unit_is_memory(b)) ||
	       gsb_unit_place(a) == gsb_unit_place(b);
}

/* Of units that somebody wants. Most do not, and then there is nothing to be found for them. */
static void find_meetings(struct mix *m)
{
	uint16_t wanted = 0;

	for (unsigned int a = 0; a < m->n_rows; a++)
		wanted |= (uint16_t)(1u << m->rows[a].unit);
	for (unsigned int a = 0; a < GSB_N_UNITS; a++) {
		m->meets[a] = 0;
		for (unsigned int b = 0; wanted >> a & 1 && b < GSB_N_UNITS; b++)
			if (wanted >> b & 1 && do_meet(m->f, (enum gsb_unit)a, (enum gsb_unit)b))
				m->meets[a] |= (uint16_t)(1u << b);
	}
}

static bool is_sane(const struct gsb_resident *r, uint32_t n_sms)
{
	bool sane = r->block_ns >= 0 && isfinite(r->block_ns) && r->in_flight >= 0 &&
		    isfinite(r->in_flight) && r->backlog >= 0 && r->backlog <= 1 && r->alike >= 0 &&
		    r->alike <= 1 && r->sms.first < n_sms && r->sms.n <= n_sms - r->sms.first &&
		    (r->sms.n || !r->sms.first);

	for (unsigned int u = 0; u < GSB_N_UNITS; u++)
		sane &= r->demand[u] >= 0 && r->demand[u] <= 1;
	return sane;
}

static void add_row(struct mix *m, struct kernel *k, unsigned int unit)
{
	struct row *row = &m->rows[m->n_rows++];

	row->unit = (enum gsb_unit)unit;
	row->demand = k->r->demand[unit];
	row->level = row->rate = 0;
	row->shared = 0;
	memset(row->price, 0, sizeof(row->price));
	row->price[k - m->kernels] = row->demand;
}

/* The table's kernels all want issue slots besides, and a stream from the device's memory its part of the L2: the figures of their units have
 * that in them, and do not count it twice. */
static bool is_besides(const struct kernel *k, enum gsb_unit unit)
{
	if (unit == k->full)
		return false;
	return gsb_unit_place(unit) == GSB_UNIT_ISSUE ||
	       (gsb_unit_is_memory(unit) && gsb_unit_is_memory(k->full));
}

static bool has_row(const struct mix *m, const struct kernel *k, enum gsb_unit unit)
{
	if (unit == GSB_UNIT_REQUESTS || k->r->demand[unit] <= 0)
		return false;
	return !m->by_table || k->r->demand[GSB_UNIT_REQUESTS] <= 0 || !is_besides(k, unit);
}

static void add_kernel(struct mix *m, const struct gsb_resident *r, uint32_t n_sms)
{
	struct kernel *k = &m->kernels[m->n++];

	*k = (struct kernel){.r = r, .rows = m->n_rows, .sms = r->sms, .weight = 1, .most = 1};
	k->full = gsb_unit_most_wanted(r->demand);
	k->known = r->demand[GSB_UNIT_REQUESTS] > 0 && !m->by_table;
	m->n_known += k->known;
	m->n_silent += !k->known && k->full < GSB_UNIT_UP && r->demand[k->full] > 0;
	k->requests = r->in_flight > 0 ? r->in_flight : 1;
	if (!k->sms.n)
		k->sms.n = n_sms;
	for (unsigned int u = 0; u < GSB_N_UNITS; u++)
		if (has_row(m, k, (enum gsb_unit)u))
			add_row(m, k, u);
	k->rows_end = m->n_rows;
}

static void set_weights(struct mix *m)
{
	bool agree = m->n_known && !m->n_silent;
	double most = 0;

	for (unsigned int i = 0; i < m->n; i++)
		for (unsigned int j = i + 1; j < m->n; j++)
			meet(m, &m->kernels[i], &m->kernels[j]);
	for (unsigned int i = 0; i < m->n; i++)
		most = more(most, m->kernels[i].weight);
	for (unsigned int i = 0; i < m->n; i++) {
		double part = m->kernels[i].weight / most;

		m->kernels[i].weight = more(agree ? pow(part, 1.0 / m->n) : sqrt(part), 1e-12);
	}
}

static void find_speeds(const struct gsb_interference *f, uint32_t n_sms,
			const struct gsb_resident *r, unsigned int n, bool by_table, double *speeds)
{
	struct mix m; /* most of it is not used, and so not cleared */

	m.f = f;
	m.n = m.n_rows = m.n_known = m.n_silent = 0;
	m.share = 0;
	m.by_table = by_table;
	for (unsigned int i = 0; i < n; i++)
		add_kernel(&m, &r[i], n_sms);
	find_meetings(&m);
	set_weights(&m);
	set_most(&m);
	fill(&m);
	settle(&m);
	for (unsigned int i = 0; i < n; i++)
		speeds[i] = fmin(1, fmax(m.kernels[i].speed, GSB_STARVED));
}

/* How far speeds go by the table: as far as the one is that is least like its kernels. Who wants nothing is in nobody's way. */
static double part_by_table(const struct gsb_resident *r, unsigned int n)
{
	double part = 1;

	for (unsigned int i = 0; i < n; i++)
		if (r[i].demand[GSB_UNIT_REQUESTS] > 0 &&
		    r[i].demand[gsb_unit_most_wanted(r[i].demand)] > 0)
			part = less(part, r[i].alike);
	return part;
}

int gsb_law_speeds(const struct gsb_interference *f, uint32_t n_sms, const struct gsb_resident *r,
		   unsigned int n, double *speeds)
{
	double by_queues[KERNELS_MAX], part;

	if (n > KERNELS_MAX)
		return -E2BIG;
	for (unsigned int i = 0; i < n; i++)
		if (!is_sane(&r[i], n_sms))
			return -EINVAL;
	part = part_by_table(r, n);
	if (part > 0)
		find_speeds(f, n_sms, r, n, true, speeds);
	if (part < 1)
		find_speeds(f, n_sms, r, n, false, part > 0 ? by_queues : speeds);
	if (part > 0 && part < 1)
		for (unsigned int i = 0; i < n; i++)
			speeds[i] = pow(speeds[i], part) * pow(by_queues[i], 1 - part);
	return 0;
}
