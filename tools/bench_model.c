/*
 * bench_model.c - how long the models think: stage 1 and stage 2 of the two-stage model, and the pair
 * models, beside the solver times that Li, Tu and Zeng report (0.082 to 1.487 ms, mean 0.571).
 *
 * Each row solves many random instances, made from a fixed seed; fastest, median and slowest are of
 * single instances, each solved a few times and the fastest taken, so that the figure is the model's
 * and not the scheduler's. Tables are warm, as they are in an engine.
 */
#include <getopt.h>
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

struct bench {
	const struct gsb_arch *arch;
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

/* Kernels of a query engine: threads an SM such that n of them together nearly fill it. */
static void make_kernels(struct bench *b, uint32_t n, uint32_t warps_per_sm)
{
	b->in = (struct gsb_plan_input){.arch = b->arch,
					.rules = &gsb_rules_hardware,
					.kernels = b->kernels,
					.n_kernels = n};
	for (uint32_t i = 0; i < n; i++) {
		uint32_t warps = 1 + rng(b, 2 * warps_per_sm - 1);
		uint32_t threads = 32u << rng(b, 4);

		memset(&b->kernels[i], 0, sizeof(b->kernels[i]));
		b->kernels[i].range.kernel = (struct gsb_kernel){
			.threads_per_block = threads,
			.regs_per_thread = 16 + rng(b, 17),
			.smem_bytes = rng(b, 2) ? 0 : rng(b, 3000),
			.n_blocks = (warps * 32ull * b->arch->n_sms + threads - 1) / threads,
		};
	}
}

static void make_together(struct bench *b)
{
	make_kernels(b, 16, 4);
}

static void make_batch(struct bench *b)
{
	make_kernels(b, 32, 12);
}

static void make_pair(struct bench *b)
{
	for (int k = 0; k < 2; k++) {
		b->pair[k].needs =
			(struct gsb_kernel){32 * (1 + rng(b, 16)), 16 + rng(b, 32), rng(b, 8000),
					    1 + rng(b, b->arch->n_sms * (k ? 40 : 2))};
		b->pair[k].demand = (struct gsb_demand){rng(b, 100) / 100.0, rng(b, 100) / 100.0,
							0.2 + rng(b, 80) / 100.0, 1e6};
		gsb_curve_from_saturation(&b->sides[k].held, 0.2 + rng(b, 80) / 100.0, 0.05);
		b->sides[k].solo_ns = 1e6 + rng(b, 1000000);
		b->sides[k].issue = b->pair[k].demand.issue;
		b->sides[k].bandwidth = b->pair[k].demand.bandwidth;
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

static void run_slowdown(struct bench *b)
{
	struct gsb_ratio ratio;

	gsb_slowdown(b->arch, &gsb_rules_hardware, &b->pair[0].needs, &b->pair[1].needs, &ratio);
}

static void run_contend(struct bench *b)
{
	struct gsb_contention c;

	gsb_contend(b->arch, &gsb_rules_hardware, b->pair, NULL, &c);
}

static void run_fraction(struct bench *b)
{
	struct gsb_fraction f;

	gsb_fraction_pick(b->sides, NULL, &f);
}

static const struct {
	const char *what;
	void (*make)(struct bench *b);
	void (*run)(struct bench *b);
	const char *aim;
} rows[] = {
	{"stage 1, 16 kernels, B = 32, W = 64", make_together, run_together, "50"},
	{"both stages, 32 kernels in batches", make_batch, run_batches, "1000"},
	{"co-residency and slowdown of a pair", make_pair, run_slowdown, "-"},
	{"the same with contention", make_pair, run_contend, "-"},
	{"persistent fraction of a pair", make_pair, run_fraction, "-"},
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

static void measure_row(struct bench *b, unsigned row, unsigned n)
{
	static double us[INSTANCES_MAX];

	for (unsigned i = 0; i < n; i++) {
		rows[row].make(b);
		us[i] = time_us(b, rows[row].run);
	}
	qsort(us, n, sizeof(us[0]), ascending);
	printf("%-40s %9.2f %9.2f %9.2f %9.2f %7s\n", rows[row].what, us[0], us[n / 2],
	       us[n - 1 - n / 100], us[n - 1], rows[row].aim);
}

static int usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: gsb-bench model [--instances N] [--arch NAME] [--seed N]\n");
	return status;
}

/* -1 to go on, else the exit status. */
static int parse(int argc, char **argv, struct bench *b, unsigned *n)
{
	static const struct option options[] = {{"instances", required_argument, NULL, 'n'},
						{"arch", required_argument, NULL, 'a'},
						{"seed", required_argument, NULL, 's'},
						{"help", no_argument, NULL, 'h'},
						{NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "n:a:s:h", options, NULL)) != -1)
		switch (c) {
		case 'n': *n = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'a': b->arch = gsb_arch_find(optarg); break;
		case 's': b->rng = (uint32_t)strtoul(optarg, NULL, 10); break;
		case 'h': return usage(0);
		default: return usage(2);
		}
	return optind == argc && b->arch && *n && *n <= INSTANCES_MAX ? -1 : usage(2);
}

int gsb_bench_model(int argc, char **argv)
{
	struct bench b = {.arch = gsb_arch_find("h200"), .rng = 1};
	unsigned n = 500;
	int status = parse(argc, argv, &b, &n);

	if (status >= 0)
		return status;
	b.work = gsb_plan_work_create();
	if (!b.work) {
		fprintf(stderr, "gsb-bench model: no memory\n");
		return 1;
	}
	printf("%-40s %9s %9s %9s %9s %7s   (us, %u instances on %s)\n", "", "fastest", "median",
	       "99 %", "slowest", "aim", n, b.arch->name);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(rows); i++)
		measure_row(&b, i, n);
	printf("%-40s %9.2f %9s %9s %9.2f           mean 571\n",
	       "Li, Tu, Zeng 2019, both stages (printed)", 82.0, "", "", 1487.0);
	gsb_plan_work_destroy(b.work);
	return 0;
}
