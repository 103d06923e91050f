/*
 * bench_model.c - how long the models think, and what comes of it: stage 1 and stage 2 of the
 * two-stage model, and the pair models, beside the solver times that Li, Tu and Zeng report (0.082
 * to 1.487 ms, mean 0.571).
 *
 * Of stage 1 it also says how many instances got a plan and for how many that is proven to be the
 * least; of both stages how many batches there are, beside the simplest thing that could work,
 * first fit decreasing, and the bound that no packing can beat. More batches than first fit in one
 * instance is a failure.
 *
 * Each row solves many random instances, made from a fixed seed; fastest, median and slowest are of
 * single instances, each solved a few times and the fastest taken, so that the figure is the
 * model's and not the scheduler's. Tables are warm, as they are in an engine.
 */
#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "model/gpu/arch.h"
#include "model/time/contend.h"
#include "model/time/fraction.h"
#include "model/papers/plan.h"
#include "tools/bench.h"

#define INSTANCES_MAX 1000
#define REPEATS	      5

/* What came of the instances of a row. */
struct tally {
	unsigned n, found, proven, worse;
	unsigned batches, first_fit, bound;
};

struct bench {
	const struct gsb_arch *arch;
	struct gsb_interference law;
	struct gsb_plan_work *work;
	struct gsb_plan_input in;
	struct gsb_plan_kernel kernels[GSB_PLAN_KERNELS_MAX];
	struct gsb_load pair[2];
	struct gsb_fraction_side sides[2];
	uint32_t rng;
};

static uint32_t rng(struct bench *b, uint32_t below)
{
	b->rng = b->rng * 1664525u + 1013904223u;
	return (b->rng >> 8) % below;
}

static void start_kernels(struct bench *b, uint32_t n)
{
	b->in = (struct gsb_plan_input){.arch = b->arch,
					.rules = &gsb_rules_hardware,
					.kernels = b->kernels,
					.n_kernels = n};
	memset(b->kernels, 0, sizeof(b->kernels));
}

/* So many warps on each SM, in blocks of that many threads. */
static void set_kernel(struct bench *b, uint32_t i, uint32_t threads, double warps, uint32_t regs)
{
	b->kernels[i].range.kernel = (struct gsb_kernel){
		.threads_per_block = threads,
		.regs_per_thread = regs,
		.smem_bytes = rng(b, 2) ? 0 : rng(b, 3000),
		.n_blocks = (uint64_t)ceil(warps * GSB_WARP_SIZE * b->arch->n_sms / threads),
	};
}

/* Kernels of a query engine: threads an SM such that n of them together nearly fill it. */
static void make_kernels(struct bench *b, uint32_t n, uint32_t warps_per_sm, uint32_t low_regs,
			 uint32_t high_regs)
{
	start_kernels(b, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t warps = 1 + rng(b, 2 * warps_per_sm - 1);
		uint32_t threads = 32u << rng(b, 4);

		set_kernel(b, i, threads, warps, low_regs + rng(b, high_regs - low_regs + 1));
	}
}

static void make_together(struct bench *b)
{
	make_kernels(b, 16, 4, 16, 32);
}

/* Up to 63 registers a thread, 0.7 to 0.85 of the warps of an SM: then the registers decide. */
static void make_hard(struct bench *b, uint32_t n)
{
	double load = 0.7 + 0.15 * rng(b, 1000) / 1000, weights[GSB_PLAN_KERNELS_MAX], sum = 0;

	start_kernels(b, n);
	for (uint32_t i = 0; i < n; i++)
		sum += weights[i] = 1 + rng(b, 100);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t threads = 32 * (1 + rng(b, 16));

		set_kernel(b, i, threads, load * b->arch->max_warps * weights[i] / sum, rng(b, 64));
	}
}

static void make_hard_16(struct bench *b)
{
	make_hard(b, 16);
}

static void make_hard_64(struct bench *b)
{
	make_hard(b, 64);
}

static void make_batch_32(struct bench *b)
{
	make_kernels(b, 32, 12, 16, 32);
}

static void make_batch_64(struct bench *b)
{
	make_kernels(b, 32, 12, 16, 64);
}

static void make_batch_128(struct bench *b)
{
	make_kernels(b, 32, 12, 32, 128);
}

static void make_pair(struct bench *b)
{
	for (int k = 0; k < 2; k++) {
		b->pair[k].needs =
			(struct gsb_kernel){32 * (1 + rng(b, 16)), 16 + rng(b, 32), rng(b, 8000),
					    1 + rng(b, b->arch->n_sms * (k ? 40 : 2))};
		b->pair[k].demand = (struct gsb_contend_demand){
			.saturation = 0.2 + rng(b, 80) / 100.0, .solo_ns = 1e6};
		b->pair[k].demand.of.units[GSB_UNIT_ISSUE] = rng(b, 100) / 100.0;
		b->pair[k].demand.of.units[GSB_UNIT_DRAM] = rng(b, 100) / 100.0;
		gsb_curve_from_saturation(&b->sides[k].held, 0.2 + rng(b, 80) / 100.0, 0.05);
		b->sides[k].solo_ns = 1e6 + rng(b, 1000000);
		b->sides[k].of = b->pair[k].demand.of;
	}
}

static void run_together(struct bench *b)
{
	struct gsb_plan plan;

	gsb_plan_together(b->work, &b->in, &plan);
}

static void run_batches(struct bench *b)
{
	struct gsb_plan_batches batches;

	gsb_plan_batches(b->work, &b->in, &batches);
}

static void tally_together(struct bench *b, struct tally *t)
{
	struct gsb_plan plan;

	if (gsb_plan_together(b->work, &b->in, &plan))
		return;
	t->found++;
	t->proven += plan.exact;
}

/* Largest share of any capacity of the GPU that the kernel takes as it came. */
static double share_of(const struct bench *b, const struct gsb_kernel *k)
{
	struct gsb_block_need need = {1, 0, 0};
	double share;

	gsb_block_need(b->arch, k, b->in.rules, &need);
	share = fmax((double)need.warps / b->arch->max_warps, 1.0 / b->arch->max_blocks);
	share = fmax(share, (double)need.warps * need.regs_per_warp / b->arch->regs);
	share = fmax(share, (double)need.smem_bytes / b->arch->smem_bytes);
	return share * (double)k->n_blocks;
}

static void sort_by_share(const struct bench *b, uint32_t *order)
{
	for (uint32_t i = 0; i < b->in.n_kernels; i++) {
		double share = share_of(b, &b->kernels[i].range.kernel);
		uint32_t at = i;

		for (; at && share_of(b, &b->kernels[order[at - 1]].range.kernel) < share; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

/* Each kernel, largest first, to the first batch in which stage 1 finds a plan for all. */
static uint32_t first_fit_decreasing(struct bench *b)
{
	static struct gsb_plan_kernel batches[GSB_PLAN_KERNELS_MAX][GSB_PLAN_KERNELS_MAX];
	uint32_t order[GSB_PLAN_KERNELS_MAX], sizes[GSB_PLAN_KERNELS_MAX] = {0}, n = 0;
	struct gsb_plan_input one = b->in;
	struct gsb_plan plan;

	sort_by_share(b, order);
	for (uint32_t i = 0; i < b->in.n_kernels; i++) {
		uint32_t j = 0;

		for (; j < n; j++) {
			one.kernels = batches[j];
			one.n_kernels = sizes[j] + 1;
			batches[j][sizes[j]] = b->kernels[order[i]];
			if (!gsb_plan_together(b->work, &one, &plan))
				break;
		}
		batches[j][sizes[j]++] = b->kernels[order[i]];
		n += j == n;
	}
	return n;
}

static void tally_batches(struct bench *b, struct tally *t)
{
	struct gsb_plan_batches batches;
	uint32_t first_fit = first_fit_decreasing(b);

	if (gsb_plan_batches(b->work, &b->in, &batches))
		return;
	t->found++;
	t->proven += batches.proven;
	t->batches += batches.n_batches;
	t->first_fit += first_fit;
	t->bound += batches.lower_bound;
	t->worse += batches.n_batches > first_fit;
}

static void run_slowdown(struct bench *b)
{
	struct gsb_ratio ratio;

	gsb_slowdown(b->arch, &gsb_rules_hardware, &b->pair[0].needs, &b->pair[1].needs, &ratio);
}

static void run_contend(struct bench *b)
{
	struct gsb_contention c;

	gsb_contend(b->arch, &gsb_rules_hardware, &b->law, b->pair, &c);
}

static void run_fraction(struct bench *b)
{
	struct gsb_fraction f;

	gsb_fraction_pick(&b->law, b->sides, NULL, &f);
}

static const struct {
	const char *what;
	void (*make)(struct bench *b);
	void (*run)(struct bench *b);
	void (*tally)(struct bench *b, struct tally *t); /* NULL: only the time is of interest */
	const char *aim;
} rows[] = {
	{"stage 1, 16 kernels, registers 16-32", make_together, run_together, tally_together, "50"},
	{"stage 1, 16 kernels, 0-63, load .70-.85", make_hard_16, run_together, tally_together,
	 "50"},
	{"stage 1, 64 kernels, 0-63, load .70-.85", make_hard_64, run_together, tally_together,
	 "-"},
	{"both stages, 32 kernels, registers 16-32", make_batch_32, run_batches, tally_batches,
	 "1000"},
	{"both stages, 32 kernels, registers 16-64", make_batch_64, run_batches, tally_batches,
	 "1000"},
	{"both stages, 32 kernels, 32-128", make_batch_128, run_batches, tally_batches, "1000"},
	{"co-residency and slowdown of a pair", make_pair, run_slowdown, NULL, "-"},
	{"the same with contention", make_pair, run_contend, NULL, "-"},
	{"persistent fraction of a pair", make_pair, run_fraction, NULL, "-"},
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double time_us(struct bench *b, void (*run)(struct bench *b))
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < REPEATS; i++) {
		uint64_t start = gsb_clock_ns(), took;

		run(b);
		took = gsb_clock_ns() - start;
		best = took < best ? took : best;
	}
	return best / 1e3;
}

static void print_tally(const struct tally *t)
{
	if (!t->batches) {
		printf("    plans: %u of %u; proven to need the least shared memory: %u\n",
		       t->found, t->n, t->proven);
		return;
	}
	printf("    batches: %.2f; first fit decreasing: %.2f; no fewer than: %.2f; proven fewest: %u; "
	       "more than first fit: %u\n",
	       (double)t->batches / t->found, (double)t->first_fit / t->found,
	       (double)t->bound / t->found, t->proven, t->worse);
}

/* How often there were more batches than first fit gives. */
static unsigned measure_row(struct bench *b, unsigned row, unsigned n)
{
	static double us[INSTANCES_MAX];
	struct tally t = {.n = n};

	for (unsigned i = 0; i < n; i++) {
		rows[row].make(b);
		us[i] = time_us(b, rows[row].run);
		if (rows[row].tally)
			rows[row].tally(b, &t);
	}
	qsort(us, n, sizeof(us[0]), ascending);
	printf("%-40s %9.2f %9.2f %9.2f %9.2f %7s\n", rows[row].what, us[0], us[n / 2],
	       us[n - 1 - n / 100], us[n - 1], rows[row].aim);
	if (rows[row].tally)
		print_tally(&t);
	return t.worse;
}

struct settings {
	const struct gsb_arch *arch;
	unsigned instances, seed;
};

static const struct argp_option options[] = {
	{"instances", 'n', "N", 0, "mixes of each kind, 1 to 1000 (default 500)", 0},
	{"arch", 'a', "GPU", 0, "a name that \"gsb-model arch\" lists (default h200)", 0},
	{"seed", 's', "N", 0, "of the random mixes, from 1 (default 1)", 0},
	{0},
};

static unsigned number(const char *option, const char *arg, unsigned long max,
		       struct argp_state *state)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end || !n || n > max)
		argp_error(state, "--%s %s: must be a number from 1 to %lu", option, arg, max);
	return (unsigned)n;
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
	struct settings *s = state->input;

	switch (key) {
	case 'n': s->instances = number("instances", arg, INSTANCES_MAX, state); return 0;
	case 's': s->seed = number("seed", arg, UINT32_MAX, state); return 0;
	case 'a':
		s->arch = gsb_arch_find(arg);
		if (!s->arch)
			argp_error(state, "--arch %s: no such GPU; \"gsb-model arch\" lists them",
				   arg);
		return 0;
	case ARGP_KEY_ARG: argp_error(state, "'%s' is no option", arg); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

int gsb_bench_model(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = on_option,
		.doc = "How long the models take to plan, on random mixes.",
	};
	struct settings set = {gsb_arch_find("h200"), 500, 1};
	struct bench b = {0};
	unsigned worse = 0;

	argp_parse(&argp, argc, argv, 0, NULL, &set);
	b.arch = set.arch;
	gsb_interference_init(&b.law, b.arch->name);
	b.rng = set.seed;
	b.work = gsb_plan_work_create();
	if (!b.work) {
		fprintf(stderr, "gsb-bench model: no memory\n");
		return 1;
	}
	printf("%-40s %9s %9s %9s %9s %7s   (us, %u instances on %s)\n", "", "fastest", "median",
	       "99 %", "slowest", "aim", set.instances, b.arch->name);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(rows); i++)
		worse += measure_row(&b, i, set.instances);
	printf("%-40s %9.2f %9s %9s %9.2f           mean 571\n",
	       "Li, Tu, Zeng 2019, both stages (printed)", 82.0, "", "", 1487.0);
	gsb_plan_work_destroy(b.work);
	if (worse)
		fprintf(stderr,
			"gsb-bench model: %u times more batches than first fit decreasing\n",
			worse);
	return worse ? 1 : 0;
}
