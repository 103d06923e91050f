/*
 * real_score.c - predictions beside what was measured afterwards: see real_tables.h.
 *
 * Errors are factors, predicted over measured or the other way round, whichever is more than 1. Regret is the time lost by doing what a
 * way says: of one set of kernels the options are one after the other and all that was measured; the one with the least predicted
 * makespan is taken, of equal ones the mean, and its measured makespan is held against the best there was.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/gpu/interference.h"
#include "model/solvers/matching.h"
#include "real_tables.h"
#include "tsv.h"

#define ROWS_MAX    4096
#define WITHIN	    1.2
#define BEYOND	    2.0
#define STARVED	    0.05 /* of what a kernel has alone with its own eighths */
#define WORST	    10
#define EQUAL	    1e-9
#define MATCHED_MAX 16 /* kernels; of more there is no matching */

static const char *const way_names[REAL_WAYS] = {
	[REAL_LAW] = "law",	  [REAL_CURVE] = "1/curve",	   [REAL_ROUNDS] = "rounds",
	[REAL_PROBES] = "probes", [REAL_BEFORE] = "probes before", [REAL_ONE] = "1",
	[REAL_TWO] = "2",
};

/* A measured set of kernels in one arrangement. */
struct row {
	char names[REAL_NAMES_LEN], set[REAL_NAMES_LEN]; /* set: the names in order */
	char eighths[16];
	uint32_t n;
	double speeds[REAL_WAYS][REAL_BESIDE_MAX], makespan[REAL_WAYS];
	double seen[REAL_BESIDE_MAX], alone[REAL_BESIDE_MAX], seen_makespan;
};

struct rows {
	uint32_t n;
	struct row at[ROWS_MAX];
};

/* ---- reading ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "b,a" has the set "a,b". */
static uint32_t make_set(const char *names, char set[REAL_NAMES_LEN], const char *path)
{
	char text[REAL_NAMES_LEN], *part[REAL_BESIDE_MAX] = {NULL}, *at = text;
	uint32_t n = 0;

	if (strlen(names) >= sizeof(text))
		tsv_die(path, "names that are too long");
	snprintf(text, sizeof(text), "%s", names);
	for (; at && n < REAL_BESIDE_MAX; n++)
		part[n] = strsep(&at, ",");
	if (at)
		tsv_die(path, "more kernels than three");
	qsort(part, n, sizeof(*part), by_text);
	*set = 0;
	for (uint32_t i = 0; i < n; i++) {
		size_t len = strlen(set);

		snprintf(set + len, REAL_NAMES_LEN - len, "%s%s", i ? "," : "", part[i]);
	}
	return n;
}

static void read_numbers(const struct tsv *t, unsigned field, uint32_t n, double *to)
{
	const char *at = tsv_text(t, field);

	for (uint32_t i = 0; i < n; i++) {
		char *rest;

		to[i] = strtod(at, &rest);
		if (rest == at || *rest != (i + 1 < n ? ',' : 0) || !(to[i] >= 0))
			tsv_die(t->path, "not a number for each kernel");
		at = rest + 1;
	}
}

static void read_key(const struct tsv *t, struct row *r)
{
	snprintf(r->names, sizeof(r->names), "%s", tsv_text(t, 0));
	snprintf(r->eighths, sizeof(r->eighths), "%s", tsv_text(t, 1));
	r->n = make_set(tsv_text(t, 0), r->set, t->path);
}

static struct row *add_row(struct rows *rows, const char *path)
{
	if (rows->n == ROWS_MAX)
		tsv_die(path, "too many lines");
	return &rows->at[rows->n++];
}

static void read_predictions(struct rows *rows, const char *path)
{
	struct tsv t = tsv_open(path);

	while (tsv_next(&t)) {
		struct row *r = add_row(rows, path);

		read_key(&t, r);
		for (unsigned way = 0; way < REAL_PREDICTED && 3 + 2 * way < t.n; way++) {
			read_numbers(&t, 2 + 2 * way, r->n, r->speeds[way]);
			r->makespan[way] = tsv_number(&t, 3 + 2 * way);
		}
		for (uint32_t i = 0; i < r->n; i++) {
			r->speeds[REAL_ONE][i] = 1;
			r->speeds[REAL_TWO][i] = 0.5;
		}
		r->makespan[REAL_ONE] = 1;
		r->makespan[REAL_TWO] = 2;
	}
}

static const struct row *find_prediction(const struct rows *rows, const struct row *of)
{
	for (uint32_t i = 0; i < rows->n; i++)
		if (!strcmp(rows->at[i].names, of->names) &&
		    !strcmp(rows->at[i].eighths, of->eighths))
			return &rows->at[i];
	return NULL;
}

/* Every measured line has been predicted: none is left out. */
static void read_measured(struct rows *rows, const struct rows *predicted, const char *path)
{
	struct tsv t = tsv_open(path);

	while (tsv_next(&t)) {
		struct row *r = add_row(rows, path);
		const struct row *p;

		read_key(&t, r);
		p = find_prediction(predicted, r);
		if (p)
			*r = *p;
		else
			tsv_die(path, "a line that nobody has predicted");
		read_numbers(&t, 2, r->n, r->seen);
		read_numbers(&t, 4, r->n, r->alone);
		r->seen_makespan = tsv_number(&t, 6);
	}
	if (!rows->n)
		tsv_die(path, "nothing was measured");
}

/* Not where nobody was beside the probes, or three of them not reckoned by that. */
static bool is_predicted(const struct rows *rows, enum real_way way)
{
	for (uint32_t i = 0; i < rows->n; i++)
		if (!(rows->at[i].makespan[way] > 0))
			return false;
	return true;
}

/* ---- errors ---- */

static double factor(double predicted, double measured)
{
	return exp(fabs(log(fmax(predicted, GSB_STARVED) / fmax(measured, GSB_STARVED))));
}

static double worst_speed(const struct row *r, enum real_way way)
{
	double most = 1;

	for (uint32_t i = 0; i < r->n; i++)
		most = fmax(most, factor(r->speeds[way][i], r->seen[i]));
	return most;
}

static bool is_starved(const struct row *r, uint32_t i)
{
	return r->seen[i] < STARVED * r->alone[i];
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorted factors, and the one that so many of a hundred are not beyond. */
struct factors {
	uint32_t n;
	double of[ROWS_MAX * REAL_BESIDE_MAX];
};

static double at_percent(const struct factors *f, double percent)
{
	uint32_t at = (uint32_t)ceil(f->n * percent / 100);

	return f->n ? f->of[at ? at - 1 : 0] : NAN;
}

/* Per cent of them that are at most so much. */
static double part_within(const struct factors *f, double most)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n; i++)
		n += f->of[i] <= most;
	return f->n ? 100.0 * n / f->n : NAN;
}

static void sort(struct factors *f)
{
	qsort(f->of, f->n, sizeof(*f->of), by_size);
}

static void find_speed_factors(const struct rows *rows, enum real_way way, bool starved,
			       struct factors *f)
{
	f->n = 0;
	for (uint32_t i = 0; i < rows->n; i++)
		for (uint32_t k = 0; k < rows->at[i].n; k++)
			if (!starved || is_starved(&rows->at[i], k))
				f->of[f->n++] =
					factor(rows->at[i].speeds[way][k], rows->at[i].seen[k]);
	sort(f);
}

/* Of a set of kernels, by its worst speed or by its makespan. */
static void find_row_factors(const struct rows *rows, enum real_way way, bool makespans,
			     struct factors *f)
{
	f->n = 0;
	for (uint32_t i = 0; i < rows->n; i++) {
		const struct row *r = &rows->at[i];

		f->of[f->n++] = makespans ? factor(r->makespan[way], r->seen_makespan)
					  : worst_speed(r, way);
	}
	sort(f);
}

static void print_errors(const struct rows *rows)
{
	static struct factors speeds, starved, sets, spans;

	printf("| | a speed: median | 90 %% | worst | starved ones: median | all speeds of a set within 20 %% | "
	       "one beyond 2x | makespan: median | 90 %% | worst | within 20 %% |\n"
	       "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (enum real_way way = 0; way < REAL_WAYS; way++) {
		if (!is_predicted(rows, way))
			continue;
		find_speed_factors(rows, way, false, &speeds);
		find_speed_factors(rows, way, true, &starved);
		find_row_factors(rows, way, false, &sets);
		find_row_factors(rows, way, true, &spans);
		printf("| %s | %.3f | %.3f | %.1f |", way_names[way], at_percent(&speeds, 50),
		       at_percent(&speeds, 90), at_percent(&speeds, 100));
		printf(starved.n ? " %.2f |" : " - |", at_percent(&starved, 50));
		printf(" %.1f %% | %.1f %% | %.3f | %.3f | %.2f | %.1f %% |\n",
		       part_within(&sets, WITHIN), 100 - part_within(&sets, BEYOND),
		       at_percent(&spans, 50), at_percent(&spans, 90), at_percent(&spans, 100),
		       part_within(&spans, WITHIN));
	}
	printf("\n%u sets, %u speeds, %u of them starved: below a twentieth of what the kernel has "
	       "alone with as many blocks.\n",
	       sets.n, speeds.n, starved.n);
}

/* ---- regret ---- */

/* One after the other, and each row of the set: what is predicted best, and what that and the best have taken. */
struct choice {
	double predicted, taken, best;
};

static struct choice choose(const struct rows *rows, const char *set, uint32_t n, enum real_way way)
{
	struct choice c = {n, n, n};
	double sum = n, equal = 1;

	for (uint32_t i = 0; i < rows->n; i++) {
		const struct row *r = &rows->at[i];

		if (strcmp(r->set, set) != 0)
			continue;
		c.best = fmin(c.best, r->seen_makespan);
		if (r->makespan[way] < c.predicted - EQUAL) {
			c.predicted = r->makespan[way];
			sum = equal = 0;
		}
		if (r->makespan[way] <= c.predicted + EQUAL) {
			sum += r->seen_makespan;
			equal++;
		}
	}
	c.taken = sum / equal;
	return c;
}

static bool is_first_of_set(const struct rows *rows, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (!strcmp(rows->at[i].set, rows->at[at].set))
			return false;
	return true;
}

/* ---- matching ---- */

struct matching {
	uint32_t n;
	const char *names[MATCHED_MAX];
	struct choice pairs[MATCHED_MAX][MATCHED_MAX];
};

static uint32_t index_of(struct matching *m, const char *name, size_t len)
{
	uint32_t i = 0;

	while (i < m->n && (strncmp(m->names[i], name, len) != 0 || m->names[i][len] != ','))
		i++;
	return i;
}

/* Kernels are those that come first in a pair somewhere. False: pairs are missing, there is one kernel over, or too many. */
static bool list_kernels(const struct rows *rows, struct matching *m)
{
	m->n = 0;
	for (uint32_t i = 0; i < rows->n; i++) {
		const char *names = rows->at[i].names;

		if (rows->at[i].n != 2)
			return false;
		if (index_of(m, names, strcspn(names, ",")) < m->n)
			continue;
		if (m->n == MATCHED_MAX)
			return false;
		m->names[m->n++] = names;
	}
	return m->n % 2 == 0;
}

static bool is_there(const struct rows *rows, const char *set)
{
	for (uint32_t i = 0; i < rows->n; i++)
		if (!strcmp(rows->at[i].set, set))
			return true;
	return false;
}

static bool fill_matching(const struct rows *rows, struct matching *m, enum real_way way)
{
	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t j = 0; j < m->n; j++) {
			char names[2 * REAL_NAMES_LEN], set[REAL_NAMES_LEN];

			snprintf(names, sizeof(names), "%.*s,%.*s", (int)strcspn(m->names[i], ","),
				 m->names[i], (int)strcspn(m->names[j], ","), m->names[j]);
			make_set(names, set, "a pair");
			if (i != j && !is_there(rows, set))
				return false;
			m->pairs[i][j] = choose(rows, set, 2, way);
		}
	return true;
}

/* All kernels in pairs, the pairs one after the other, so that what is predicted (or, with @best, what was seen) is least: its time. */
static double match(const struct matching *m, bool best)
{
	static double cost[MATCHED_MAX * MATCHED_MAX];
	uint32_t partner[MATCHED_MAX];
	double sum = 0;

	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t j = 0; j < m->n; j++) {
			const struct choice *c = &m->pairs[i][j];

			cost[i * m->n + j] = i == j ? INFINITY : best ? c->best : c->predicted;
		}
	if (gsb_matching_least(m->n, cost, partner))
		return NAN;
	for (uint32_t i = 0; i < m->n; i++)
		if (partner[i] > i)
			sum += best ? m->pairs[i][partner[i]].best : m->pairs[i][partner[i]].taken;
	return sum;
}

/* Per cent by which the matching of a way takes longer than the best one; nan: there is none. */
static double matching_regret(const struct rows *rows, enum real_way way)
{
	static struct matching m;

	if (!list_kernels(rows, &m) || !fill_matching(rows, &m, way))
		return NAN;
	return 100 * (match(&m, false) / match(&m, true) - 1);
}

static void print_matching(const struct rows *rows, enum real_way way)
{
	double regret = matching_regret(rows, way);

	printf(isnan(regret) ? " - |\n" : " %.1f %% |\n", regret);
}

static void print_regret(const struct rows *rows)
{
	uint32_t n = 0;

	printf("\n| | regret: mean | median | worst | its matching |\n| --- | --- | --- | --- | --- |\n");
	for (enum real_way way = 0; way < REAL_WAYS; way++) {
		static struct factors f;
		double sum = 0;

		if (!is_predicted(rows, way))
			continue;
		f.n = 0;
		for (uint32_t i = 0; i < rows->n; i++) {
			const struct row *r = &rows->at[i];
			struct choice c;

			if (!is_first_of_set(rows, i))
				continue;
			c = choose(rows, r->set, r->n, way);
			f.of[f.n++] = c.taken / c.best;
			sum += c.taken / c.best - 1;
		}
		sort(&f);
		n = f.n;
		printf("| %s | %.1f %% | %.1f %% | %.1f %% |", way_names[way], 100 * sum / n,
		       100 * (at_percent(&f, 50) - 1), 100 * (at_percent(&f, 100) - 1));
		print_matching(rows, way);
	}
	printf("\nRegret of %u sets, whose order does not count.\n", n);
}

/* ---- the worst ---- */

/* A comparison has no other way to know it. */
static enum real_way shown;

static int by_worst_speed(const void *a, const void *b)
{
	double x = worst_speed(a, shown), y = worst_speed(b, shown);

	return (x < y) - (x > y);
}

static void print_speeds(const double *speeds, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		printf("%s%.3f", i ? " / " : "", speeds[i]);
	printf(" | ");
}

/* Sorts: the last thing that is done with the rows. */
static void print_worst(struct rows *rows)
{
	shown = is_predicted(rows, REAL_PROBES) ? REAL_PROBES : REAL_LAW;
	qsort(rows->at, rows->n, sizeof(rows->at[0]), by_worst_speed);
	printf("\n| the worst, the oldest first | eighths | %s | measured | factor |\n"
	       "| --- | --- | --- | --- | --- |\n",
	       way_names[shown]);
	for (uint32_t i = 0; i < WORST && i < rows->n; i++) {
		const struct row *r = &rows->at[i];

		printf("| %s | %s | ", r->names, r->eighths);
		print_speeds(r->speeds[shown], r->n);
		print_speeds(r->seen, r->n);
		printf("%.2f |\n", worst_speed(r, shown));
	}
}

int tables_real(char **paths)
{
	static struct rows predicted, measured;

	read_predictions(&predicted, paths[0]);
	read_measured(&measured, &predicted, paths[1]);
	print_errors(&measured);
	print_regret(&measured);
	print_worst(&measured);
	return 0;
}
