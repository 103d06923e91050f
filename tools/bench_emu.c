/*
 * bench_emu.c - how fast the emulated device executes kernels, by class of work: million lane instructions per
 * second on one worker, on two, and on as many as asked for, beside the figures of the last release.
 *
 * The device is opened in this process and driven as an engine with blocked tenants drives it: blocks are placed,
 * timed and handed to the workers as they are for a tenant. A launch is timed from issue to completion; classes and
 * numbers of workers take turns, so that what else the machine does falls on all of them.
 *
 * What two workers could reach at most, the machine decides: its memory, its clock, and processors that are halves of one. Two
 * devices of one worker each share nothing else, so they are measured beside, when somebody asks whether the device scales; and where
 * threads meet in memory, threads of plain C that do the same (bench/native.h).
 */
#include <argp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "device/ops.h"
#include "tools/bench.h"
#include "tools/bench/native.h"
#include "tools/bench_emu_ptx.h"

#define LANES	     32 /* of a warp; they stay together in all kernels of bench_emu.cu */
#define WORDS	     (1u << 20)
#define THREADS	     256 /* of a block */
#define RUNS_MAX     101
#define WORKERS_MAX  256
#define N_COLUMNS    4
#define DEVICES_MAX  2 /* of a column */
#define DEVICE_BASE  0x400000000000ull
#define DEVICE_BYTES (1ull << 32)

/* A class: blocks, the kernel's n; the last release on one worker, from other kernels of the class, 0 = not known. */
static const struct {
	const char *kernel, *what;
	uint32_t blocks, n, last_release;
	bool one_place; /* workers wait for each other, as SMs do */
} classes[] = {
	{"multiply_add", "fused multiply-add in registers", 128, 256, 8657},
	{"xorshift", "integers in registers", 128, 256, 9649},
	{"uneven", "the same, blocks of different lengths", 3000, 32, 0},
	{"gather", "loads, each lane somewhere", 128, 64, 1518},
	{"stride", "loads at a stride of 33 words", 128, 64, 0},
	{"stream", "a = b + 3 c, one word a thread", WORDS / THREADS, WORDS, 722},
	{"stream4", "the same in vectors of four", WORDS / THREADS / 4, WORDS, 0},
	{"matmul", "16 x 16 tiles in shared memory", 256, 256, 842},
	{"reduce", "sums of blocks, in a tree", 256, WORDS, 0},
	{"bins", "atomics in shared memory, 256 places", 128, 64, 0},
	{"histogram", "atomics in 65,536 places", 128, 64, 1000},
	{"counter", "atomics in one place", 128, 64, 0, true},
};

enum { N_CLASSES = GSB_ARRAY_LEN(classes) };

/* What plain C does of a class. */
static const struct {
	const char *kernel, *what;
} natives[GSB_NATIVE_N_WORKS] = {
	[GSB_NATIVE_STREAM] = {"stream", "a = b + 3 c"},
	[GSB_NATIVE_ATOMIC] = {"histogram", "atomics in the same 65,536 places"},
	[GSB_NATIVE_COMBINED] = {"histogram", "places of its own for each thread, put together"},
};

struct column {
	unsigned n_devices, n_workers; /* of each */
};

struct settings {
	struct column columns
		[N_COLUMNS]; /* one worker, two, more, and two devices if the scaling is asked for */
	unsigned runs, n_columns, more_workers;
	const char *only; /* a class; NULL = all */
	bool cpu;	  /* by processor time */
	double scaling;	  /* that two workers are to reach; 0 = any */
};

struct rig {
	struct gsb_device *dev;
	struct gsb_space *space;
	struct gsb_queue *queue;
	struct gsb_module *module;
	struct gsb_function *functions[N_CLASSES];
	uint64_t buffers[3];
};

/* ---- the device ---- */

static void close_rig(struct rig *r)
{
	if (r->queue)
		r->dev->ops->queue_destroy(r->queue);
	if (r->space)
		r->dev->ops->space_destroy(r->space);
	if (r->dev)
		r->dev->ops->close(r->dev);
}

static bool load(struct rig *r, char *err, size_t size)
{
	const struct gsb_device_ops *ops = r->dev->ops;
	struct gsb_function_info info;

	if (ops->module_load(r->space, bench_emu_ptx, sizeof(bench_emu_ptx), &r->module, err, size))
		return false;
	for (unsigned i = 0; i < N_CLASSES; i++) {
		if (ops->function_get(r->module, classes[i].kernel, &r->functions[i], &info) ||
		    ops->function_prepare(r->functions[i], err, size))
			return false;
	}
	for (unsigned i = 0; i < GSB_ARRAY_LEN(r->buffers); i++) {
		if (ops->mem_alloc(r->space, WORDS * sizeof(uint32_t), &r->buffers[i]))
			return false;
	}
	return true;
}

static bool open_rig(struct rig *r, unsigned nth, unsigned n_workers, char *err, size_t size)
{
	struct gsb_device_params device = {.spec = "emu:h200", .n_workers = n_workers};
	struct gsb_space_params space = {.device_base = DEVICE_BASE + nth * DEVICE_BYTES,
					 .device_size = DEVICE_BYTES};

	*r = (struct rig){0};
	if (gsb_device_open(&device, &r->dev, err, size))
		return false;
	if (r->dev->ops->space_create(r->dev, &space, &r->space) ||
	    r->dev->ops->queue_create(r->dev, 0, GSB_ALL_SMS, &r->queue) || !load(r, err, size)) {
		close_rig(r);
		return false;
	}
	return true;
}

static void wait_for(struct rig *r, struct gsb_completion *out)
{
	const struct gsb_device_ops *ops = r->dev->ops;
	struct pollfd fd = {.fd = ops->event_fd(r->dev), .events = POLLIN};

	while (!ops->poll(r->dev, out, 1)) {
		ops->advance(r->dev, UINT64_MAX);
		if (ops->poll(r->dev, out, 1))
			return;
		poll(&fd, 1, -1);
	}
}

static uint64_t now_ns(bool cpu)
{
	struct timespec t;

	if (!cpu)
		return gsb_clock_ns();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool issue(struct rig *r, unsigned i)
{
	struct {
		uint64_t a, b, c;
		uint32_t n;
	} params = {r->buffers[0], r->buffers[1], r->buffers[2], classes[i].n};
	struct gsb_cmd cmd = {
		.kind = GSB_CMD_LAUNCH,
		.space = r->space,
		.launch = {.function = r->functions[i],
			   .grid = {classes[i].blocks, 1, 1},
			   .block = {THREADS, 1, 1},
			   .params = &params,
			   .params_bytes = sizeof(params)},
	};

	return !r->dev->ops->issue(r->queue, &cmd);
}

/* Million lane instructions per second of one launch on each; negative: one failed. */
static double measure(struct rig *rigs, unsigned n_rigs, unsigned i, bool cpu)
{
	uint64_t from = now_ns(cpu), n_instructions = 0;
	struct gsb_completion done;

	for (unsigned k = 0; k < n_rigs; k++) {
		if (!issue(&rigs[k], i))
			return -1;
		rigs[k].dev->ops->advance(
			rigs[k].dev,
			UINT64_MAX); /* so that all of them work before one is waited for */
	}
	for (unsigned k = 0; k < n_rigs; k++) {
		wait_for(&rigs[k], &done);
		if (done.result) {
			fprintf(stderr, "gsb-bench emu: %s: %s\n", classes[i].kernel, done.detail);
			return -1;
		}
		n_instructions += done.n_instructions;
	}
	return (double)n_instructions * LANES * 1e3 / (double)(now_ns(cpu) - from);
}

/* ---- the measurements ---- */

struct figures {
	double of[N_CLASSES][N_COLUMNS][RUNS_MAX];
	double native[GSB_NATIVE_N_WORKS][GSB_NATIVE_MAX_THREADS][RUNS_MAX];
};

static bool is_wanted(const struct settings *s, unsigned i)
{
	return !s->only || !strcmp(s->only, classes[i].kernel);
}

/* What is measured: a device or two a column, and the threads of plain C beside them, where they are wanted. */
struct bench {
	struct rig rigs[N_COLUMNS][DEVICES_MAX];
	struct gsb_native *natives[GSB_NATIVE_MAX_THREADS];
};

static bool is_native_of(unsigned work, unsigned i)
{
	return !strcmp(natives[work].kernel, classes[i].kernel);
}

static bool measure_native(struct bench *b, unsigned work, unsigned run, struct figures *f)
{
	for (unsigned t = 0; t < GSB_NATIVE_MAX_THREADS && b->natives[t]; t++) {
		double v = gsb_native_measure(b->natives[t], work);

		if (v < 0) {
			fprintf(stderr, "gsb-bench emu: plain C, %s: no thread, or wrong results\n",
				natives[work].what);
			return false;
		}
		f->native[work][t][run] = v;
	}
	return true;
}

static bool measure_class(const struct settings *s, struct bench *b, unsigned i, unsigned run,
			  struct figures *f)
{
	for (unsigned c = 0; c < s->n_columns; c++) {
		double v = measure(b->rigs[c], s->columns[c].n_devices, i, s->cpu);

		if (v < 0)
			return false;
		f->of[i][c][run] = v;
	}
	for (unsigned work = 0; work < GSB_NATIVE_N_WORKS; work++) {
		if (is_native_of(work, i) && !measure_native(b, work, run, f))
			return false;
	}
	return true;
}

static bool open_bench(const struct settings *s, struct bench *b)
{
	char err[512] = "no memory";
	bool ok = true;

	for (unsigned c = 0; ok && c < s->n_columns; c++)
		for (unsigned k = 0; ok && k < s->columns[c].n_devices; k++)
			ok = open_rig(&b->rigs[c][k], c * DEVICES_MAX + k, s->columns[c].n_workers,
				      err, sizeof(err));
	for (unsigned t = 0; ok && t < GSB_NATIVE_MAX_THREADS && s->scaling > 0; t++) {
		b->natives[t] = gsb_native_create(t + 1);
		ok = b->natives[t];
	}
	if (!ok)
		fprintf(stderr, "gsb-bench emu: %s\n", err);
	return ok;
}

static void close_bench(const struct settings *s, struct bench *b)
{
	for (unsigned c = 0; c < s->n_columns; c++)
		for (unsigned k = 0; k < DEVICES_MAX; k++)
			close_rig(&b->rigs[c][k]);
	for (unsigned t = 0; t < GSB_NATIVE_MAX_THREADS; t++)
		gsb_native_destroy(b->natives[t]);
}

static bool measure_all(const struct settings *s, struct figures *f)
{
	struct bench b = {0};
	bool ok = open_bench(s, &b);

	for (unsigned run = 0; ok && run <= s->runs; run++) { /* the first warms up */
		for (unsigned i = 0; ok && i < N_CLASSES; i++)
			ok = !is_wanted(s, i) || measure_class(s, &b, i, run ? run - 1 : 0, f);
	}
	close_bench(s, &b);
	return ok;
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts them. */
static double median_of(const struct settings *s, double *of)
{
	qsort(of, s->runs, sizeof(*of), ascending);
	return of[s->runs / 2];
}

/* Medians of so many columns, and what they are of the first. */
static void print_figures(const struct settings *s, double (*of)[RUNS_MAX], unsigned n_columns)
{
	double one = 0;

	for (unsigned c = 0; c < n_columns; c++) {
		double median = median_of(s, of[c]);
		char spread[32];

		one = c ? one : median;
		snprintf(spread, sizeof(spread), "(%.0f-%.0f)", of[c][0], of[c][s->runs - 1]);
		printf(" %7.0f %-15s", median, spread);
		if (c)
			printf(" %5.2f", median / one);
	}
}

static void print_row(const struct settings *s, unsigned i, struct figures *f)
{
	printf("%-14s", classes[i].kernel);
	print_figures(s, f->of[i], s->n_columns);
	if (classes[i].last_release)
		printf(" %7u", classes[i].last_release);
	else
		printf(" %7s", "-");
	printf("  %s\n", classes[i].what);
}

static double ratio_of(const struct settings *s, const double *more, const double *one)
{
	return more[s->runs / 2] / one[s->runs / 2];
}

static void print_native_ratios(const struct settings *s, unsigned i, const struct figures *f)
{
	for (unsigned work = 0; work < GSB_NATIVE_N_WORKS; work++) {
		if (is_native_of(work, i))
			printf("; plain C, %s: %.2f", natives[work].what,
			       ratio_of(s, f->native[work][1], f->native[work][0]));
	}
}

/* Whether two workers are so many times as fast as one, in all classes in which they can be. */
static bool check_scaling(const struct settings *s, const struct figures *f)
{
	bool ok = true;

	for (unsigned i = 0; i < N_CLASSES && s->scaling > 0; i++) {
		const double *one = f->of[i][0];
		double ratio = ratio_of(s, f->of[i][1], one);

		if (!is_wanted(s, i) || classes[i].one_place || ratio >= s->scaling)
			continue;
		printf("%s: %.2f times as fast on two workers, not %.2f; two devices with a worker each: %.2f",
		       classes[i].kernel, ratio, s->scaling,
		       ratio_of(s, f->of[i][s->n_columns - 1], one));
		print_native_ratios(s, i, f);
		putchar('\n');
		ok = false;
	}
	return ok;
}

/* ---- the table ---- */

static void print_heading(const struct column *c, int width)
{
	if (c->n_devices > 1)
		printf(" %7u %-*s", c->n_devices, width, "devices of 1 worker");
	else
		printf(" %7u %-*s", c->n_workers, width, c->n_workers > 1 ? "workers" : "worker");
}

static bool is_native_wanted(const struct settings *s, unsigned work)
{
	return !s->only || !strcmp(s->only, natives[work].kernel);
}

static void print_natives(const struct settings *s, struct figures *f)
{
	bool any = false;

	for (unsigned work = 0; work < GSB_NATIVE_N_WORKS; work++) {
		if (!is_native_wanted(s, work))
			continue;
		if (!any)
			printf("plain C, million elements per second\n%-14s %7d %-15s %7d threads\n",
			       "", 1, "thread", 2);
		any = true;
		printf("%-14s", natives[work].kernel);
		print_figures(s, f->native[work], GSB_NATIVE_MAX_THREADS);
		printf("  %s\n", natives[work].what);
	}
}

static void print_table(const struct settings *s, struct figures *f)
{
	printf("million lane instructions per second%s: median of %u runs (least-most), times one "
	       "worker\n%-14s",
	       s->cpu ? " of processor time" : "", s->runs, "");
	for (unsigned c = 0; c < s->n_columns; c++)
		print_heading(&s->columns[c], c ? 21 : 15);
	printf(" %7s\n", "before");
	for (unsigned i = 0; i < N_CLASSES; i++) {
		if (is_wanted(s, i))
			print_row(s, i, f);
	}
	printf("before: one worker, release of 2026-11-21, other kernels of the class\n");
	if (s->scaling > 0)
		print_natives(s, f);
}

/* ---- the command line ---- */

static const struct argp_option options[] = {
	{"workers", 'w', "N", 0, "measure this number of threads too, besides 1 and 2", 0},
	{"runs", 'r', "N", 0, "of each kernel (default 9)", 0},
	{"class", 'c', "NAME", 0, "this one alone", 0},
	{"scaling", 's', "X", 0,
	 "fail unless two workers are X times as fast as one, atomics in one place apart; measures two devices of a worker each, too",
	 0},
	{"cpu", 'p', NULL, 0, "per second of processor time, for machines that are busy", 0},
	{0},
};

static unsigned number(struct argp_state *state, const char *option, const char *arg, unsigned max)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end || !n || n > max)
		argp_error(state, "--%s %s: must be a number from 1 to %u", option, arg, max);
	return (unsigned)n;
}

static double factor(struct argp_state *state, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (*arg < '0' || *arg > '9' || *end || !(v > 0) || v > WORKERS_MAX)
		argp_error(state, "--scaling %s: must be a number, as 1.8", arg);
	return v;
}

static void choose_class(struct argp_state *state, struct settings *s, const char *arg)
{
	for (unsigned i = 0; i < N_CLASSES; i++) {
		if (!strcmp(classes[i].kernel, arg))
			s->only = classes[i].kernel;
	}
	if (!s->only)
		argp_error(state, "--class %s: there is no such class; without it all are shown",
			   arg);
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
	struct settings *s = state->input;

	switch (key) {
	case 'w': s->more_workers = number(state, "workers", arg, WORKERS_MAX); return 0;
	case 'r': s->runs = number(state, "runs", arg, RUNS_MAX); return 0;
	case 'c': choose_class(state, s, arg); return 0;
	case 'p': s->cpu = true; return 0;
	case 's': s->scaling = factor(state, arg); return 0;
	case ARGP_KEY_END:
		if (s->cpu && s->scaling > 0)
			argp_error(state,
				   "--scaling: processor time does not show it; leave --cpu out");
		return 0;
	case ARGP_KEY_ARG: argp_error(state, "'%s' is no option", arg); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static void add_column(struct settings *s, unsigned n_devices, unsigned n_workers)
{
	s->columns[s->n_columns++] = (struct column){n_devices, n_workers};
}

int gsb_bench_emu(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = on_option,
		.doc = "How fast the emulated device executes kernels, by class of work.",
	};
	struct settings s = {.runs = 9};
	static struct figures f;

	argp_parse(&argp, argc, argv, 0, NULL, &s);
	add_column(&s, 1, 1);
	add_column(&s, 1, 2);
	if (s.more_workers > 2)
		add_column(&s, 1, s.more_workers);
	if (s.scaling > 0)
		add_column(&s, 2, 1);
	if (!measure_all(&s, &f))
		return 1;
	print_table(&s, &f);
	return !check_scaling(&s, &f);
}
