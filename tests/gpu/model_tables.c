/*
 * model_tables.c - what the models predict beside what model_measure saw, as the tables of doc/model.md.
 *
 *   model_tables registers REGISTERS
 *   model_tables pairs     PAIRS
 *   model_tables profiles  PROFILES CURVES SOLO
 *   model_tables contending CONTENDING PROFILES CURVES SOLO
 *   model_tables rounds    ROUNDS
 *   model_tables predict   GPU ALONE DEMANDS [PROFILES]      (of real_measure and real-demands)
 *   model_tables real      PREDICTIONS MEASURED   (of that and of real_measure)
 *
 * The files are in doc/results. Nothing here is fitted: a prediction uses geometry, registers, shared memory,
 * and for the extended model what CURVES and SOLO say about each kernel alone.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "model/gpu/arch.h"
#include "model/time/contend.h"
#include "real_tables.h"
#include "tsv.h"

#define KERNELS_MAX 16
#define ROWS_MAX    256
#define REG_CLASS   8 /* registers a thread come in eights */
#define NAME_LEN    32
#define REGS_MAX    256
#define HARDWARE    (&gsb_rules_hardware)

static const struct gsb_arch *arch;

/* ---- sums ---- */

struct sums {
	unsigned n;
	double sum, squares, most;
	double logs; /* of the predicted to the measured, where it is kept */
};

static void add(struct sums *s, double x)
{
	s->n++;
	s->sum += x;
	s->squares += x * x;
	s->most = fmax(s->most, x);
}

static double mean(const struct sums *s)
{
	return s->n ? s->sum / s->n : NAN;
}

static double deviation(const struct sums *s)
{
	return s->n > 1 ? sqrt((s->squares - s->sum * s->sum / s->n) / (s->n - 1)) : NAN;
}

/* Cruz, eq. 4, in per cent. */
static double error_of(double predicted, double measured)
{
	return (predicted - measured) / measured * 100;
}

/* ---- occupancy ---- */

struct range {
	uint32_t threads, static_smem, first, last;
	int blocks;
};

struct reg_class {
	unsigned kernels, ranges, differences;
};

static int model_blocks(uint32_t regs, uint32_t threads, uint32_t smem)
{
	struct gsb_kernel k = {
		.threads_per_block = threads, .regs_per_thread = regs, .smem_bytes = smem};
	struct gsb_occupancy o;

	return gsb_occupancy(arch, &k, HARDWARE, &o) ? -1 : (int)o.blocks_per_sm;
}

/* Blocks fall as shared memory grows, in the model too: equal at both ends is equal in between. */
static bool differs(uint32_t regs, const struct range *r)
{
	return model_blocks(regs, r->threads, r->static_smem + r->first) != r->blocks ||
	       model_blocks(regs, r->threads, r->static_smem + r->last) != r->blocks;
}

static void add_ranges(const struct tsv *t, struct range **ranges, unsigned *n)
{
	*ranges = realloc(*ranges, (*n + t->n) * sizeof(**ranges));
	if (!*ranges)
		tsv_die(t->path, "no memory");
	for (unsigned i = 2; i < t->n; i++) {
		struct range *now = &(*ranges)[(*n)++];

		now->threads = tsv_count(t, 0);
		now->static_smem = tsv_count(t, 1);
		if (sscanf(t->fields[i], "%d:%u-%u", &now->blocks, &now->first, &now->last) != 3)
			tsv_die(t->path, "a range is not blocks:first-last");
	}
}

static void compare(struct reg_class classes[], uint32_t regs, const struct range *ranges,
		    unsigned n)
{
	struct reg_class *c = &classes[(regs + REG_CLASS - 1) / REG_CLASS];

	c->kernels++;
	c->ranges += n;
	for (unsigned i = 0; i < n; i++)
		c->differences += differs(regs, &ranges[i]);
}

static int print_reg_classes(const struct reg_class *classes, unsigned n)
{
	struct reg_class all = {0};

	printf("| registers a thread | kernels | ranges of equal answers | differences |\n"
	       "| --- | --- | --- | --- |\n");
	for (unsigned i = 1; i < n; i++) {
		if (!classes[i].kernels)
			continue;
		printf("| %u-%u | %u | %u | %u |\n", (i - 1) * REG_CLASS + 1, i * REG_CLASS,
		       classes[i].kernels, classes[i].ranges, classes[i].differences);
		all.kernels += classes[i].kernels;
		all.ranges += classes[i].ranges;
		all.differences += classes[i].differences;
	}
	printf("| all | %u | %u | **%u** |\n", all.kernels, all.ranges, all.differences);
	return 0;
}

/* "REGS" alone: its ranges follow. "REGS as OTHER": the ranges just read are its own too. */
static int tables_registers(char **paths)
{
	struct reg_class classes[REGS_MAX / REG_CLASS + 1] = {{0}};
	struct range *ranges = NULL;
	struct tsv t = tsv_open(paths[0]);
	uint32_t waiting = 0;
	unsigned n = 0;

	while (tsv_next(&t)) {
		if (t.n > 2) {
			add_ranges(&t, &ranges, &n);
			continue;
		}
		if (tsv_count(&t, 0) > REGS_MAX)
			tsv_die(t.path, "too many registers");
		if (waiting)
			compare(classes, waiting, ranges, n);
		waiting = 0;
		if (t.n == 2) {
			compare(classes, tsv_count(&t, 0), ranges, n);
		} else {
			waiting = tsv_count(&t, 0);
			n = 0;
		}
	}
	if (waiting)
		compare(classes, waiting, ranges, n);
	free(ranges);
	return print_reg_classes(classes, GSB_ARRAY_LEN(classes));
}

/* ---- synthetic pairs ---- */

static struct gsb_kernel kernel_at(const struct tsv *t, const unsigned fields[4])
{
	return (struct gsb_kernel){.n_blocks = tsv_count(t, fields[0]),
				   .threads_per_block = tsv_count(t, fields[1]),
				   .smem_bytes = tsv_count(t, fields[2]),
				   .regs_per_thread = tsv_count(t, fields[3])};
}

/* Whether k2 waits is predicted too. */
struct cases {
	unsigned waited, predicted; /* of those that waited */
	unsigned missed;	    /* predicted to wait, but it did not */
};

/* @constant: errors of the answer 1 */
static void print_pair(const struct tsv *t, struct sums *errors, struct sums *constant,
		       struct cases *cases)
{
	const unsigned first[4] = {1, 2, 3, 4}, second[4] = {7, 8, 9, 10};
	struct gsb_kernel k1 = kernel_at(t, first), k2 = kernel_at(t, second);
	double measured = tsv_number(t, 13) / tsv_number(t, 11), error;
	struct gsb_ratio predicted;
	int err = gsb_slowdown(arch, HARDWARE, &k1, &k2, &predicted);

	if (isnan(measured)) {
		cases->waited++;
		cases->predicted += err == -EAGAIN;
		return;
	}
	if (err) {
		cases->missed++;
		return;
	}
	error = error_of(gsb_ratio_value(predicted), measured);
	printf("| %u | %u x %u, %u | %u x %u, %u | %u/%u = %.3f | %.3f | %+.2f |\n",
	       tsv_count(t, 0), (unsigned)k1.n_blocks, k1.threads_per_block, k1.smem_bytes,
	       (unsigned)k2.n_blocks, k2.threads_per_block, k2.smem_bytes, (unsigned)predicted.num,
	       (unsigned)predicted.den, gsb_ratio_value(predicted), measured, error);
	add(errors, fabs(error));
	add(constant, fabs(error_of(1, measured)));
}

static int tables_pairs(char **paths)
{
	struct tsv t = tsv_open(paths[0]);
	struct cases cases = {0, 0, 0};
	struct sums errors = {0}, constant = {0};

	printf("| pair | k1: blocks x threads, smem | k2: blocks x threads, smem | predicted | measured "
	       "| error %% |\n| --- | --- | --- | --- | --- | --- |\n");
	while (tsv_next(&t))
		print_pair(&t, &errors, &constant, &cases);
	printf("\nAbsolute error of %u pairs: mean **%.2f %%**, standard deviation **%.2f %%**, largest "
	       "%.2f %%; of always answering 1: %.2f %%, %.2f %%, %.2f %%; in the paper 3.49 %% and "
	       "6.43 %%.\n"
	       "Drawn pairs in which k2 waited for the end of k1: %u, predicted: %u; predicted but not "
	       "seen: %u.\n",
	       errors.n, mean(&errors), deviation(&errors), errors.most, mean(&constant),
	       deviation(&constant), constant.most, cases.waited, cases.predicted, cases.missed);
	return 0;
}

/* ---- profiles ---- */

enum unit {
	UNIT_ISSUE, /* in each SM */
	UNIT_LOAD_STORE,
	UNIT_L2, /* of the device */
	UNIT_DRAM,
	UNITS,
};

static const char *const unit_metrics[UNITS] = {
	"smsp__issue_active.avg.pct_of_peak_sustained_elapsed",
	"l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
	"lts__throughput.avg.pct_of_peak_sustained_elapsed",
	"dram__throughput.avg.pct_of_peak_sustained_elapsed",
};

struct profile {
	char name[NAME_LEN];
	struct gsb_kernel kernel;
	struct gsb_curve curve;
	double shares[UNITS]; /* of each unit's time, alone at full residency */
	double measured;
};

struct profiles {
	unsigned n;
	struct profile at[KERNELS_MAX];
};

static struct profile *find(struct profiles *p, const char *name, const char *path)
{
	for (unsigned i = 0; i < p->n; i++)
		if (!strcmp(p->at[i].name, name))
			return &p->at[i];
	tsv_die(path, "a kernel that is not in the profiles");
}

static void read_profiles(struct profiles *p, const char *path)
{
	const unsigned fields[4] = {1, 2, 3, 4};
	struct tsv t = tsv_open(path);

	while (tsv_next(&t)) {
		struct profile *now = &p->at[p->n];

		if (p->n == KERNELS_MAX)
			tsv_die(path, "too many kernels");
		snprintf(now->name, sizeof(now->name), "%s", tsv_text(&t, 0));
		now->kernel = kernel_at(&t, fields);
		now->measured = tsv_number(&t, 8) / tsv_number(&t, 6);
		p->n++;
	}
}

/* The points come from full residency down; a curve rises. */
static void read_curves(struct profiles *p, const char *path)
{
	struct tsv t = tsv_open(path);
	double full_rate = 0;

	while (tsv_next(&t)) {
		struct profile *now = find(p, tsv_text(&t, 0), path);
		double fraction = tsv_number(&t, 1) / tsv_number(&t, 2);
		double rate = tsv_number(&t, 4) / tsv_number(&t, 5);
		struct gsb_curve *c;

		c = &now->curve;
		if (c->n == GSB_CURVE_POINTS_MAX)
			tsv_die(path, "a curve has too many points");
		full_rate = c->n ? full_rate : rate;
		memmove(&c->points[1], &c->points[0], c->n * sizeof(c->points[0]));
		c->points[0].fraction = fraction;
		c->points[0].speed = rate / full_rate;
		c->n++;
	}
}

static void read_solo(struct profiles *p, const char *path)
{
	struct tsv t = tsv_open(path);

	while (tsv_next(&t)) {
		struct profile *now = find(p, tsv_text(&t, 0), path);

		for (unsigned i = 0; i < UNITS; i++)
			if (!strcmp(unit_metrics[i], tsv_text(&t, 1)))
				now->shares[i] = fmin(1, tsv_number(&t, 2) / 100);
	}
}

enum way {
	WAY_CONSTANT, /* always 1: what any model has to beat */
	WAY_PLAIN,
	WAY_CURVES,
	WAY_SHARES,
	WAYS,
};

/* What a profiler's shares are of: the load-store pipe as shared memory, to which most of what went through it here was. */
static const enum gsb_unit units[UNITS] = {
	[UNIT_ISSUE] = GSB_UNIT_ISSUE,
	[UNIT_LOAD_STORE] = GSB_UNIT_SHARED,
	[UNIT_L2] = GSB_UNIT_L2,
	[UNIT_DRAM] = GSB_UNIT_DRAM,
};

/* Slowdown of k2 beside a k1 that never ends. */
static double extended(const struct profile *const both[2], enum way way)
{
	struct gsb_load pair[2] = {{.needs = both[0]->kernel}, {.needs = both[1]->kernel}};
	struct gsb_interference law;
	struct gsb_contention c;

	gsb_interference_init(&law, arch->name);
	for (unsigned i = 0; i < 2; i++) {
		pair[i].demand.curve = &both[i]->curve;
		for (unsigned u = 0; way == WAY_SHARES && u < UNITS; u++)
			pair[i].demand.of.units[units[u]] = both[i]->shares[u];
	}
	return gsb_contend(arch, HARDWARE, &law, pair, &c) ? NAN : c.steady[1];
}

static double plain(const struct profile *const both[2])
{
	struct gsb_ratio r;

	return gsb_slowdown(arch, HARDWARE, &both[0]->kernel, &both[1]->kernel, &r)
		       ? NAN
		       : gsb_ratio_value(r);
}

static double predict(const struct profile *const both[2], enum way way)
{
	switch (way) {
	case WAY_CONSTANT: return 1;
	case WAY_PLAIN: return plain(both);
	default: return extended(both, way);
	}
}

/* The cells of one pair, from the measured slowdown on. */
static void print_ways(const struct profile *k1, const struct profile *k2, double measured,
		       struct sums errors[WAYS])
{
	const struct profile *const both[2] = {k1, k2};

	printf(isnan(measured) ? " - |" : " %.3f |", measured);
	for (enum way i = 0; i < WAYS; i++) {
		double predicted = predict(both, i);
		double error = error_of(predicted, measured);

		if (i != WAY_CONSTANT)
			printf(" %.3f |", predicted);
		printf(isnan(measured) ? " - |" : " %+.1f |", error);
		if (isnan(measured))
			continue;
		add(&errors[i], fabs(error));
		errors[i].logs += fabs(log(predicted / measured));
	}
	printf("\n");
}

static void print_ways_head(const char *kernels)
{
	printf("| %s | measured | always 1: error %% | plain | error %% | curves | error %% | curves and "
	       "shares | error %% |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
	       kernels);
}

/* One figure of the absolute errors of each way, under its column. */
static void print_ways_sum(const char *what, const char *of, const struct sums errors[WAYS],
			   double (*figure)(const struct sums *s))
{
	const char *mark = figure == mean ? "**" : "";

	printf("| %s%s | |", what, of);
	for (enum way i = 0; i < WAYS; i++)
		printf("%s %s%.1f%s |", i == WAY_CONSTANT ? "" : " |", mark, figure(&errors[i]),
		       mark);
	printf("\n");
}

static double largest(const struct sums *s)
{
	return s->most;
}

static double mean_log(const struct sums *s)
{
	return s->n ? 100 * s->logs / s->n : NAN;
}

static void print_ways_sums(const char *of, const struct sums errors[WAYS])
{
	print_ways_sum("absolute errors: mean", of, errors, mean);
	print_ways_sum("standard deviation", of, errors, deviation);
	print_ways_sum("largest", of, errors, largest);
	print_ways_sum("a hundred times the logarithm: mean", of, errors, mean_log);
}

static void read_all(struct profiles *p, char **paths)
{
	p->n = 0;
	read_profiles(p, paths[0]);
	read_curves(p, paths[1]);
	read_solo(p, paths[2]);
}

static int tables_profiles(char **paths)
{
	struct sums errors[WAYS] = {{0}};
	const struct profile *k1;
	struct profiles p = {0};

	read_all(&p, paths);
	k1 = find(&p, "find_index", paths[0]);
	print_ways_head("k2");
	for (unsigned i = 0; i < p.n; i++) {
		printf("| %s |", p.at[i].name);
		print_ways(k1, &p.at[i], p.at[i].measured, errors);
	}
	print_ways_sums("", errors);
	return 0;
}

static void add_all(struct sums *to, const struct sums *from)
{
	to->n += from->n;
	to->sum += from->sum;
	to->squares += from->squares;
	to->logs += from->logs;
	to->most = fmax(to->most, from->most);
}

/* The rows of one k1 stand together. */
static void end_k1(const char *name, struct sums errors[WAYS], struct sums all[WAYS])
{
	char of[NAME_LEN + 16];

	snprintf(of, sizeof(of), ", beside %s", name);
	if (errors[0].n)
		print_ways_sums(of, errors);
	for (enum way i = 0; i < WAYS; i++)
		add_all(&all[i], &errors[i]);
	memset(errors, 0, WAYS * sizeof(*errors));
}

static int tables_contending(char **paths)
{
	struct tsv t = tsv_open(paths[0]);
	struct sums errors[WAYS] = {{0}}, all[WAYS] = {{0}};
	struct profiles p = {0};
	struct profile k1 = {0};

	read_all(&p, paths + 1);
	print_ways_head("k1 and k2");
	while (tsv_next(&t)) {
		const struct profile *first = find(&p, tsv_text(&t, 0), t.path);
		const struct profile *k2 = find(&p, tsv_text(&t, 2), t.path);

		if (strcmp(first->name, k1.name))
			end_k1(k1.name, errors, all);
		k1 = *first;
		k1.kernel.n_blocks = tsv_count(&t, 1);
		printf("| %s and %s |", k1.name, k2->name);
		print_ways(&k1, k2, tsv_number(&t, 5) / tsv_number(&t, 3), errors);
	}
	end_k1(k1.name, errors, all);
	print_ways_sums(", all of these pairs", all);
	return 0;
}

/* ---- rounds ---- */

struct series {
	char name[NAME_LEN];
	unsigned n;
	double rounds[ROWS_MAX], us[ROWS_MAX];
};

static double pearson(const struct series *s)
{
	double mx = 0, my = 0, xy = 0, xx = 0, yy = 0;

	for (unsigned i = 0; i < s->n; i++) {
		mx += s->rounds[i] / s->n;
		my += s->us[i] / s->n;
	}
	for (unsigned i = 0; i < s->n; i++) {
		double x = s->rounds[i] - mx, y = s->us[i] - my;

		xy += x * y;
		xx += x * x;
		yy += y * y;
	}
	return xy / sqrt(xx * yy);
}

static void print_series(const struct series *s)
{
	static const char *const paper[][2] = {
		{"radial", "0.9974"}, {"column_histogram", "0.9791"}, {"nested_loop", "0.9606"}};
	double low[2] = {s->rounds[0], s->us[0]}, high[2] = {s->rounds[0], s->us[0]};
	const char *theirs = "-";

	for (unsigned i = 0; i < s->n; i++) {
		low[0] = fmin(low[0], s->rounds[i]);
		high[0] = fmax(high[0], s->rounds[i]);
		low[1] = fmin(low[1], s->us[i]);
		high[1] = fmax(high[1], s->us[i]);
	}
	for (unsigned i = 0; i < GSB_ARRAY_LEN(paper); i++)
		theirs = strcmp(paper[i][0], s->name) ? theirs : paper[i][1];
	printf("| %s | %u | %.0f-%.0f | %.2f-%.2f | **%.4f** | %s |\n", s->name, s->n, low[0],
	       high[0], low[1] / 1e3, high[1] / 1e3, pearson(s), theirs);
}

static void add_to_series(struct series *s, const struct tsv *t)
{
	struct gsb_kernel k = {.threads_per_block = tsv_count(t, 1),
			       .n_blocks = tsv_count(t, 2),
			       .smem_bytes = tsv_count(t, 3) + tsv_count(t, 4),
			       .regs_per_thread = tsv_count(t, 5)};
	uint64_t rounds;

	if (s->n == ROWS_MAX || gsb_rounds(arch, &k, HARDWARE, &rounds))
		tsv_die(t->path, "a geometry that the model refuses, or too many");
	snprintf(s->name, sizeof(s->name), "%s", tsv_text(t, 0));
	s->rounds[s->n] = (double)rounds;
	s->us[s->n++] = tsv_number(t, 6);
}

static int tables_rounds(char **paths)
{
	struct tsv t = tsv_open(paths[0]);
	struct series s = {.n = 0};

	printf("| kernel | block sizes | rounds | ms | correlation | Li 2014, Table II |\n"
	       "| --- | --- | --- | --- | --- | --- |\n");
	while (tsv_next(&t)) {
		if (s.n && strcmp(s.name, tsv_text(&t, 0))) {
			print_series(&s);
			s.n = 0;
		}
		add_to_series(&s, &t);
	}
	if (s.n)
		print_series(&s);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int n_least, n_most; /* files */
		int (*print)(char **paths);
	} tables[] = {{"registers", 1, 1, tables_registers},
		      {"pairs", 1, 1, tables_pairs},
		      {"profiles", 3, 3, tables_profiles},
		      {"contending", 4, 4, tables_contending},
		      {"rounds", 1, 1, tables_rounds},
		      {"predict", 3, 4, tables_predict},
		      {"real", 2, 2, tables_real}};

	arch = gsb_arch_find("h200");
	for (unsigned i = 0; argc > 1 && i < GSB_ARRAY_LEN(tables); i++)
		if (!strcmp(argv[1], tables[i].name) && argc >= 2 + tables[i].n_least &&
		    argc <= 2 + tables[i].n_most)
			return tables[i].print(argv + 2);
	fprintf(stderr,
		"usage: model_tables registers|pairs|rounds FILE | profiles PROFILES CURVES SOLO |\n"
		"       contending CONTENDING PROFILES CURVES SOLO | predict GPU ALONE DEMANDS [PROFILES] |\n"
		"       real PREDICTIONS MEASURED\n");
	return 2;
}
