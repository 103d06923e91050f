/*
 * real_predict.c - predictions for kernels of which nothing is known but each alone: its speed over residency, and what a unit of it
 * executes. See real_tables.h.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "model/gpu/arch.h"
#include "model/input/beside.h"
#include "model/input/profiles.h"
#include "model/time/counts.h"
#include "model/time/demand.h"
#include "real_data.h"
#include "real_tables.h"
#include "tsv.h"

struct kernel {
	char name[32];
	struct gsb_curve curve;
	/* Shares of the units. More than 1: the counts are wrong there, or the data sheet. */
	double counted[GSB_N_UNITS];
	struct gsb_demand demand;
	double full; /* units a second */
};

struct world {
	const struct gsb_arch *arch;
	struct gsb_interference law;
	struct gsb_profiles *profiles; /* NULL: there are none */
	struct kernel kernels[REAL_KERNELS_MAX];
	uint32_t n;
};

/* Kernels beside each other, the oldest first. */
struct company {
	uint32_t n, kernels[REAL_BESIDE_MAX], eighths[REAL_BESIDE_MAX];
};

static struct kernel *find(struct world *w, const char *name)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (!strcmp(w->kernels[i].name, name))
			return &w->kernels[i];
	return NULL;
}

/* ---- what is given ---- */

static void read_point(struct world *w, struct tsv *t)
{
	struct kernel *k = find(w, tsv_text(t, 0));
	uint32_t eighths = tsv_count(t, 1);
	double rate = tsv_number(t, 2);

	if (!k) {
		if (w->n == REAL_KERNELS_MAX)
			tsv_die(t->path, "too many kernels");
		k = &w->kernels[w->n++];
		snprintf(k->name, sizeof(k->name), "%s", tsv_text(t, 0));
	}
	if (eighths != k->curve.n + 1 || eighths > REAL_EIGHTHS || !(rate > 0))
		tsv_die(t->path, "eighths that do not rise one by one, or no rate");
	k->curve.points[k->curve.n].fraction = (double)eighths / REAL_EIGHTHS;
	k->curve.points[k->curve.n++].speed = rate;
	k->full = rate;
}

static void read_alone(struct world *w, const char *path)
{
	struct tsv t = tsv_open(path);

	while (tsv_next(&t))
		read_point(w, &t);
	for (uint32_t i = 0; i < w->n; i++) {
		struct kernel *k = &w->kernels[i];

		if (k->curve.n != REAL_EIGHTHS)
			tsv_die(path, "a kernel that was not measured with each number of eighths");
		for (uint32_t p = 0; p < REAL_EIGHTHS; p++)
			k->curve.points[p].speed /= k->full;
	}
}

static void set_demand(const struct gsb_arch *arch, struct kernel *k, const struct tsv *t)
{
	/* Files of 2026-11-25 do not have the last two: without them the law goes by its table. */
	bool has_queues = t->n > 11;
	const struct gsb_counts counts = {
		.insns = tsv_number(t, 1),
		.sfu = tsv_number(t, 2),
		.fp64 = tsv_number(t, 3),
		.requests = tsv_number(t, 4),
		.sectors = tsv_number(t, 5),
		.shared = tsv_number(t, 6),
		.barriers = tsv_number(t, 7),
		.to_l2 = tsv_number(t, 8) / 100,
		.to_dram = tsv_number(t, 9) / 100,
		.alu = has_queues ? tsv_number(t, 10) : 0,
		.shared_requests = has_queues ? tsv_number(t, 11) : 0,
	};

	gsb_counts_demand(arch, &counts, k->full / arch->n_sms, k->full, k->counted);
	if (!has_queues)
		k->counted[GSB_UNIT_REQUESTS] = 0;
	for (unsigned u = 0; u < GSB_N_UNITS; u++)
		k->demand.units[u] = fmin(1, k->counted[u]);
}

static void read_demands(struct world *w, const char *path)
{
	struct tsv t = tsv_open(path);
	uint32_t n = 0;

	while (tsv_next(&t)) {
		struct kernel *k = find(w, tsv_text(&t, 0));

		if (!k)
			continue; /* a trial measures some */
		set_demand(w->arch, k, &t);
		n++;
	}
	if (n != w->n)
		tsv_die(path, "not one line for each kernel that was measured alone");
}

static struct gsb_profiles *read_profiles(const char *path)
{
	static char text[4 << 20];
	struct gsb_profiles *p;
	struct gsb_text_error error;
	FILE *f = fopen(path, "r");
	size_t len = 0;

	if (f) {
		len = fread(text, 1, sizeof(text), f);
		fclose(f);
	} else {
		tsv_die(path, "no such file");
	}
	if (len == sizeof(text))
		tsv_die(path, "more than 4 MiB");
	if (gsb_profiles_read(text, len, &p, &error))
		tsv_die(path, error.what);
	return p;
}

/* ---- what is predicted ---- */

/* Of those that still run, by their bits. */
static void speeds_by_law(const struct world *w, const struct company *c, uint32_t running,
			  double *speeds)
{
	struct gsb_resident r[REAL_BESIDE_MAX] = {0};
	double alone[REAL_BESIDE_MAX], beside[REAL_BESIDE_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct kernel *k = &w->kernels[c->kernels[i]];

		if (!(running >> i & 1))
			continue;
		alone[n] = gsb_demand_at(&k->demand, &k->curve,
					 (double)c->eighths[i] / REAL_EIGHTHS, &r[n]);
		r[n++].started_ns = i;
	}
	if (gsb_law_speeds(&w->law, w->arch->n_sms, r, n, beside))
		tsv_die(w->arch->name, "demands that the law refuses");
	for (uint32_t i = 0, at = 0; i < c->n; i++)
		if (running >> i & 1) {
			speeds[i] = alone[at] * beside[at];
			at++;
		}
}

static void find_speeds(const struct world *w, const struct company *c, enum real_way way,
			uint32_t running, double *speeds)
{
	if (way == REAL_LAW) {
		speeds_by_law(w, c, running, speeds);
		return;
	}
	for (uint32_t i = 0; i < c->n; i++) {
		double f = (double)c->eighths[i] / REAL_EIGHTHS;

		speeds[i] = way == REAL_CURVE ? gsb_curve_speed(&w->kernels[c->kernels[i]].curve, f)
					      : f;
	}
}

/* Work of 1 each. Who has ended leaves the others alone, with the eighths that they have. */
static double find_makespan(const struct world *w, const struct company *c, enum real_way way)
{
	double left[REAL_BESIDE_MAX] = {1, 1, 1}, speeds[REAL_BESIDE_MAX], end = 0;

	for (uint32_t running = (1u << c->n) - 1; running;) {
		double t = INFINITY;

		find_speeds(w, c, way, running, speeds);
		for (uint32_t i = 0; i < c->n; i++)
			if (running >> i & 1)
				t = fmin(t, left[i] / speeds[i]);
		end += t;
		for (uint32_t i = 0; i < c->n; i++) {
			left[i] -= running >> i & 1 ? t * speeds[i] : 0;
			if (left[i] < 1e-9)
				running &= ~(1u << i);
		}
	}
	return end;
}

/* Two that were both beside the probes: makespans, too, are as theirs were. What each has alone is of the same file as for the others. */
static void print_two_by_probes(const struct world *w, const struct company *c,
				const uint32_t *in_profiles)
{
	const struct kernel *k[2] = {&w->kernels[c->kernels[0]], &w->kernels[c->kernels[1]]};
	const double f = (double)c->eighths[0] / REAL_EIGHTHS;
	uint32_t division = gsb_profiles_division(w->profiles, f);
	struct gsb_encounter b;
	double alone[2];

	if (division == gsb_profiles_n_divisions(w->profiles))
		return;
	gsb_profiles_predict(w->profiles, in_profiles[0], in_profiles[1], division, &b, alone);
	printf("\t%.6f,%.6f\t%.4f", b.older * gsb_curve_speed(&k[0]->curve, f),
	       b.younger * gsb_curve_speed(&k[1]->curve, 1 - f), b.makespan);
}

static void print_three_by_probes(const struct world *w, const struct company *c,
				  const uint32_t *in_profiles)
{
	struct gsb_beside_set set = {.n = c->n};
	double speeds[GSB_BESIDE_MAX];

	for (uint32_t i = 0; i < c->n; i++) {
		set.kernels[i] = in_profiles[i];
		set.parts[i] = (double)c->eighths[i] / REAL_EIGHTHS;
	}
	gsb_beside_speeds(w->profiles, &set, speeds);
	for (uint32_t i = 0; i < c->n; i++)
		printf("%c%.6f", i ? ',' : '\t', speeds[i]);
	printf("\t%.4f", gsb_beside_makespan(w->profiles, &set));
}

/* Where all of them were beside the probes. */
static void print_by_probes(const struct world *w, const struct company *c)
{
	uint32_t in_profiles[REAL_BESIDE_MAX];

	if (!w->profiles)
		return;
	for (uint32_t i = 0; i < c->n; i++) {
		in_profiles[i] = gsb_profiles_find(w->profiles, w->kernels[c->kernels[i]].name);
		if (in_profiles[i] == gsb_profiles_n(w->profiles))
			return;
	}
	if (c->n == 2)
		print_two_by_probes(w, c, in_profiles);
	else
		print_three_by_probes(w, c, in_profiles);
}

static void print_company(const struct world *w, const struct company *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		printf("%s%s", i ? "," : "", w->kernels[c->kernels[i]].name);
	for (uint32_t i = 0; i < c->n; i++)
		printf("%c%u", i ? ',' : '\t', c->eighths[i]);
	for (enum real_way way = 0; way < REAL_PROBES; way++) {
		double speeds[REAL_BESIDE_MAX];

		find_speeds(w, c, way, (1u << c->n) - 1, speeds);
		for (uint32_t i = 0; i < c->n; i++)
			printf("%c%.6f", i ? ',' : '\t', speeds[i]);
		printf("\t%.4f", find_makespan(w, c, way));
	}
	print_by_probes(w, c);
	putchar('\n');
}

static void print_triples(const struct world *w)
{
	struct company c = {.n = 3};
	uint32_t state = REAL_SEED;

	for (int i = 0; i < REAL_TRIPLES && w->n >= 3; i++) {
		real_draw(&state, w->n, c.kernels);
		for (uint32_t e = 2; e < REAL_EIGHTHS; e += 2) {
			c.eighths[0] = e;
			c.eighths[1] = c.eighths[2] = (REAL_EIGHTHS - e) / 2;
			print_company(w, &c);
		}
	}
}

/* What was made of the counts, for who reads the file. */
static void print_demands(const struct world *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		printf("# %s:", w->kernels[i].name);
		for (unsigned u = 0; u < GSB_N_UNITS; u++)
			if (w->kernels[i].counted[u] >= 0.0005)
				printf(" %s %.3f", gsb_unit_name((enum gsb_unit)u),
				       w->kernels[i].counted[u]);
		putchar('\n');
	}
}

int tables_predict(char **paths)
{
	struct world w = {.arch = gsb_arch_find(paths[0])};

	if (!w.arch)
		tsv_die(paths[0], "no such GPU");
	gsb_interference_init(&w.law, w.arch->name);
	read_alone(&w, paths[1]);
	read_demands(&w, paths[2]);
	if (paths[3])
		w.profiles = read_profiles(paths[3]);
	print_demands(&w);
	printf("# kernels, the oldest first\teighths of an SM\tlaw: speeds\tmakespan\tcurve: "
	       "speeds\tmakespan\trounds: speeds\tmakespan%s\n",
	       w.profiles ? "\tprobes: speeds\tmakespan" : "");
	for (uint32_t i = 0; i < w.n; i++)
		for (uint32_t j = 0; j < w.n; j++)
			for (uint32_t e = 2; e < REAL_EIGHTHS; e += 2)
				print_company(&w,
					      &(struct company){2, {i, j}, {e, REAL_EIGHTHS - e}});
	print_triples(&w);
	return 0;
}
