/*
 * tenants.c - gsb-bench compare --workload pairs, starvation, critical, limits: tenants that launch one kernel again and again, way after way and round
 * after round. Each round has all of them alone first, so that speeds are against what the machine gave at that time.
 *
 * A broker begins anew for each run, so what a policy has to learn is in the figures; engines have begun before anybody starts.
 */
#include "tools/compare/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tools/model_report.h"

#define WINDOW_MS 500 /* of the least speed, on a GPU */
#define ALONE_MAX (GSB_LOADS_MAX * GSB_LOOPS_MAX)

/* One of the figures of a load in a way, in every round. */
struct series {
	double v[GSB_ROUNDS_MAX];
	unsigned n;
};

struct tenant_figures {
	struct series speed, least, before;
};

struct load_figures {
	struct series makespan, speedup, sum, before, median, p99;
	struct tenant_figures of[GSB_LOOPS_MAX];
};

/* What one load, in one place of it, takes alone. Those that are alike are run once. */
struct alone {
	const struct gsb_tenant_load *load;
	unsigned place;
	unsigned long long turns;
	double ms;
};

struct contest {
	struct gsb_contest *c;
	struct alone alone[ALONE_MAX];
	unsigned n_alone;
	unsigned alone_at[GSB_LOADS_MAX][GSB_LOOPS_MAX];
	struct load_figures *of; /* [load][way]; of critical loads one more: alone */
	struct gsb_loop_outcome outcome;
	unsigned n_failed;
};

static void put(struct series *s, double v)
{
	if (s->n < GSB_ROUNDS_MAX)
		s->v[s->n++] = v;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double least(struct series *s)
{
	qsort(s->v, s->n, sizeof(double), by_value);
	return s->v[0];
}

static double median(struct series *s)
{
	qsort(s->v, s->n, sizeof(double), by_value);
	return s->v[(s->n - 1) / 2];
}

static double most(struct series *s)
{
	qsort(s->v, s->n, sizeof(double), by_value);
	return s->v[s->n - 1];
}

static struct load_figures *figures(struct contest *t, unsigned load, unsigned way)
{
	return &t->of[load * (t->c->n_ways + 1) + way];
}

/* ---- alone ---- */

/* What all of them wait for in all, which is what the others have more to do. */
static unsigned delays(const struct gsb_tenant_load *l, unsigned but)
{
	unsigned ms = 0;

	for (unsigned i = 0; i < l->n; i++)
		ms += i == but ? 0 : l->of[i].delay_ms;
	return ms;
}

static bool are_alike(const struct gsb_tenant_load *a, unsigned i, const struct gsb_tenant_load *b,
		      unsigned k)
{
	const struct gsb_looper *x = &a->of[i], *y = &b->of[k];

	return !strcmp(x->kind, y->kind) && x->us == y->us && x->rounds == y->rounds &&
	       x->critical == y->critical && delays(a, i) == delays(b, k);
}

static int find_alone(struct contest *t)
{
	for (unsigned l = 0; l < t->c->n_loads; l++)
		for (unsigned i = 0; i < t->c->loads[l].n; i++) {
			const struct gsb_tenant_load *load = &t->c->loads[l];
			unsigned at = 0;

			while (at < t->n_alone &&
			       !are_alike(load, i, t->alone[at].load, t->alone[at].place))
				at++;
			t->alone_at[l][i] = at;
			if (at < t->n_alone)
				continue;
			t->alone[at] = (struct alone){.load = load, .place = i};
			t->alone[at].turns =
				gsb_loop_calibrate(&t->c->site, &t->c->loops, &load->of[i]);
			if (!t->alone[at].turns)
				return -1;
			t->n_alone++;
		}
	return 0;
}

static double quantile(double *sorted, unsigned n, double q)
{
	unsigned i = (unsigned)(q * n);

	return sorted[i < n ? i : n - 1];
}

static void put_answers(struct load_figures *f, struct gsb_loop_outcome *o)
{
	if (!o->n_answers)
		return;
	qsort(o->answers, o->n_answers, sizeof(double), by_value);
	put(&f->median, quantile(o->answers, o->n_answers, 0.5));
	put(&f->p99, quantile(o->answers, o->n_answers, 0.99));
}

/* A load of one tenant, which does as much as it does among the others. */
static struct gsb_tenant_load alone_load(const struct alone *a)
{
	struct gsb_tenant_load one = {.name = "alone", .n = 1, .of = {a->load->of[a->place]}};

	one.of[0].delay_ms = 0;
	return one;
}

static int run_one_alone(struct contest *t, struct alone *a)
{
	static const struct gsb_compared_way fifo = {GSB_WAY_POLICY, "fifo", "fifo"};
	const struct gsb_compared_way *way = t->c->site.is_real ? &t->c->ways[0] : &fifo;
	struct gsb_loop_program p = t->c->loops;
	struct gsb_tenant_load one = alone_load(a);

	p.work_ms += delays(a->load, a->place);
	if (gsb_load_run(&t->c->site, &p, &one, &a->turns, way, &t->outcome))
		return -1;
	a->ms = t->outcome.progress[0].at[GSB_LOOP_STEPS];
	for (unsigned l = 0; l < t->c->n_loads; l++)
		if (a->load == &t->c->loads[l])
			put_answers(figures(t, l, t->c->n_ways), &t->outcome);
	return 0;
}

static int run_all_alone(struct contest *t)
{
	int err = 0;

	for (unsigned i = 0; !err && i < t->n_alone; i++)
		err = run_one_alone(t, &t->alone[i]);
	return err;
}

/* ---- beside each other ---- */

static void put_sums(struct load_figures *f, const struct gsb_tenant_load *load,
		     const struct gsb_loop_speeds *s, double alone_ms)
{
	double sum = 0, before = 0;

	put(&f->makespan, s->makespan);
	put(&f->speedup, alone_ms / s->makespan);
	if (!s->together)
		return;
	for (unsigned i = 0; i < load->n; i++) {
		put(&f->of[i].speed, s->speed[i]);
		put(&f->of[i].least, s->least[i]);
		if (s->before[i] > 0)
			put(&f->of[i].before, s->before[i]);
		sum += load->of[i].critical ? 0 : s->speed[i];
		before += s->before[i];
	}
	put(&f->sum, sum);
	if (before > 0)
		put(&f->before, before);
}

static int run_way(struct contest *t, unsigned l, unsigned w)
{
	const struct gsb_tenant_load *load = &t->c->loads[l];
	unsigned long long turns[GSB_LOOPS_MAX];
	struct gsb_loop_speeds s;
	double alone_ms = 0;

	for (unsigned i = 0; i < load->n; i++)
		turns[i] = t->alone[t->alone_at[l][i]].turns;
	if (gsb_load_run(&t->c->site, &t->c->loops, load, turns, &t->c->ways[w], &t->outcome))
		return -1;
	for (unsigned i = 0; i < load->n; i++)
		alone_ms += t->outcome.progress[i].alone = t->alone[t->alone_at[l][i]].ms;
	s = gsb_loop_speeds_make(t->outcome.progress, load->n, t->c->site.is_real ? WINDOW_MS : 0);
	put_sums(figures(t, l, w), load, &s, alone_ms);
	put_answers(figures(t, l, w), &t->outcome);
	return 0;
}

/* Natively one after the other is what was run alone. */
static void put_sequential(struct contest *t, unsigned l, unsigned w)
{
	const struct gsb_tenant_load *load = &t->c->loads[l];
	double ms = 0;

	for (unsigned i = 0; i < load->n; i++)
		ms += t->alone[t->alone_at[l][i]].ms;
	put(&figures(t, l, w)->makespan, ms);
	put(&figures(t, l, w)->speedup, 1);
}

static bool has_terms(const struct gsb_tenant_load *l)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->of[i].weight != l->of[0].weight || l->of[i].slowdown_percent)
			return true;
	return false;
}

/* Without a broker there are no weights and no limits, and a load that differs in them alone would be run twice. A way that fails is said and left out: the others' figures hold without it. */
static void run_load(struct contest *t, unsigned round, unsigned l)
{
	for (unsigned w = 0; w < t->c->n_ways; w++) {
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r\033[Kround %u: %s, %s", round + 1, t->c->loads[l].name,
				t->c->ways[w].name);
		if (t->c->ways[w].way != GSB_WAY_POLICY && has_terms(&t->c->loads[l]))
			continue;
		if (t->c->ways[w].way == GSB_WAY_SEQUENTIAL)
			put_sequential(t, l, w);
		else if (run_way(t, l, w))
			t->n_failed++;
	}
}

static int run_rounds(struct contest *t)
{
	for (unsigned r = 0; r < t->c->rounds; r++) {
		if (run_all_alone(t))
			return -1;
		for (unsigned l = 0; l < t->c->n_loads; l++)
			run_load(t, r, l);
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	return 0;
}

/* ---- what came of it ---- */

static void report_median(struct report *r, int digits, struct series *s)
{
	if (!s->n) {
		report_none(r);
		return;
	}
	report_number(r, "%.*f", digits, median(s));
}

static void report_spread(struct report *r, int digits, struct series *s)
{
	report_median(r, digits, s);
	if (s->n) {
		report_number(r, "%.*f", digits, least(s));
		report_number(r, "%.*f", digits, most(s));
		return;
	}
	report_none(r);
	report_none(r);
}

static void report_load(struct report *r, struct contest *t, unsigned l, unsigned w)
{
	struct load_figures *f = figures(t, l, w);

	if (!f->makespan.n && !f->p99.n)
		return;
	report_text(r, t->c->loads[l].name);
	report_text(r, w == t->c->n_ways ? "alone" : t->c->ways[w].name);
	report_spread(r, 3, &f->makespan);
	report_median(r, 4, &f->speedup);
	report_spread(r, 4, &f->sum);
	report_median(r, 4, &f->before);
	report_median(r, 1, &f->median);
	report_spread(r, 1, &f->p99);
}

static void report_tenant(struct report *r, struct contest *t, unsigned l, unsigned w, unsigned i)
{
	const struct gsb_looper *of = &t->c->loads[l].of[i];
	struct tenant_figures *f = &figures(t, l, w)->of[i];

	if (!f->speed.n)
		return;
	report_text(r, t->c->loads[l].name);
	report_text(r, t->c->ways[w].name);
	report_number(r, "%u", i + 1);
	report_text(r, of->kind);
	report_number(r, "%u", of->weight);
	report_number(r, "%u", of->slowdown_percent);
	report_spread(r, 4, &f->speed);
	report_median(r, 4, &f->least);
	report_median(r, 4, &f->before);
}

static void report_facts(struct report *r, const struct contest *t)
{
	const struct gsb_contest *c = t->c;

	report_fact_text(r, "workload", gsb_compared_workload_name(c->workload));
	report_fact_text(r, "device", c->site.device);
	report_fact_text(r, "clock", c->site.is_real ? "real" : "virtual");
	report_fact_number(r, "launch_us", "%u", c->launch_us);
	report_fact_number(r, "work_ms", "%u", c->loops.work_ms);
	report_fact_number(r, "rounds", "%u", c->rounds);
	report_fact_number(r, "failed", "%u", t->n_failed);
}

static void report_all(struct contest *t)
{
	static const char *const loads[] = {"load",	 "way",	    "makespan_ms", "least_ms",
					    "most_ms",	 "speedup", "sum",	   "sum_least",
					    "sum_most",	 "before",  "answer_us",   "p99_us",
					    "p99_least", "p99_most"};
	static const char *const tenants[] = {"load",	    "way",	    "tenant", "kind",
					      "weight",	    "limit",	    "speed",  "speed_least",
					      "speed_most", "worst_window", "before"};
	struct report r;

	report_init(&r, t->c->json, loads, GSB_ARRAY_LEN(loads));
	for (unsigned l = 0; l < t->c->n_loads; l++)
		for (unsigned w = 0; w <= t->c->n_ways; w++)
			report_load(&r, t, l, w);
	report_facts(&r, t);
	report_finish(&r);
	if (!t->c->json)
		putchar('\n');
	report_init(&r, t->c->json, tenants, GSB_ARRAY_LEN(tenants));
	for (unsigned l = 0; l < t->c->n_loads; l++)
		for (unsigned w = 0; w < t->c->n_ways; w++)
			for (unsigned i = 0; i < t->c->loads[l].n; i++)
				report_tenant(&r, t, l, w, i);
	report_finish(&r);
}

int gsb_compare_tenants(struct gsb_contest *c)
{
	static struct contest t;
	int err;

	t.c = c;
	t.of = calloc((size_t)c->n_loads * (c->n_ways + 1), sizeof(*t.of));
	if (!t.of) {
		fprintf(stderr, "gsb-bench compare: no memory for %u loads\n", c->n_loads);
		return -1;
	}
	err = find_alone(&t);
	if (!err)
		err = run_rounds(&t);
	if (!err)
		report_all(&t);
	free(t.of);
	return err || t.n_failed ? -1 : 0;
}
