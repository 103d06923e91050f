/*
 * model_measure.c - measures on a real GPU what the models of model/ predict. It predicts nothing itself:
 * model_tables.c does that from what is printed here, so that a prediction can never see its measurement.
 * Kernels: model_kernels.cu. Seed and parameters stand in this file.
 *
 *   model_measure registers          one generated kernel per register count; what the driver says fits
 *   model_measure curves PTX         each kernel alone, at every number of blocks per SM
 *   model_measure solo PTX           each profile kernel once, filling the GPU, for a profiler
 *   model_measure pairs PTX [SEED]   50 random synthetic pairs, 30 runs each      (Cruz et al. §6.3)
 *   model_measure profiles PTX       eight kernels alone and beside find_index    (Cruz et al. §6.4)
 *   model_measure contending PTX     the same kernels beside six of them that fill half of every SM
 *   model_measure rounds PTX         kernels at every block size                  (Li et al. 2014, Table II)
 *
 * registers, curves and solo are what the models are given; the others what they must predict.
 * Output: tab-separated rows on stdout, comments begin with #.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "gpu.h"

#define N_RUNS	     30
#define N_CURVE_RUNS 10
/* k1 at most so many times as long as it began: then k2 waits for its end. */
#define MAX_LONGER    2048u
#define N_PAIRS	      50
#define SEED	      20261120u
#define SYNTH_STEPS   24000u /* about 0.35 ms a block */
#define K40_SMS	      15
#define MAX_REGISTERS 256
#define SPILLING      3 /* registers more than values that ptxas needs, less one */

struct sample {
	double mean, sd;
};

static struct sample sample_of(const double *x, int n)
{
	struct sample s = {0, 0};

	for (int i = 0; i < n; i++)
		s.mean += x[i] / n;
	for (int i = 0; i < n; i++)
		s.sd += (x[i] - s.mean) * (x[i] - s.mean) / (n - 1);
	s.sd = sqrt(s.sd);
	return s;
}

static struct sample time_alone(const struct grid *g, int n)
{
	double x[N_RUNS];

	gpu_time(g);
	for (int i = 0; i < n; i++)
		x[i] = gpu_time(g);
	return sample_of(x, n);
}

/* Beside counts only while k1 is there in full: half of k1's time is still to come when k2 ends. */
static bool time_pair(const struct grid *k1, double k1_us, const struct grid *k2, double *alone,
		      double *beside)
{
	*alone = gpu_time(k2);
	return gpu_time_beside(k1, k2, beside) && *beside <= k1_us / 2;
}

/*
 * k2 alone and beside k1 in turn, so that a drift of clocks meets both. k1's work grows until k1 is long enough:
 * only its length changes, not what it occupies. Beside is NAN when k2 waited for k1's end, however long k1 was.
 */
static void time_both(struct grid *k1, const struct grid *k2, struct sample *alone,
		      struct sample *beside)
{
	double x[N_RUNS], y[N_RUNS], k1_us = gpu_time(k1);
	unsigned longest = k1->work * MAX_LONGER;

	gpu_time(k2);
	for (int i = 0; i < N_RUNS;) {
		if (time_pair(k1, k1_us, k2, &x[i], &y[i])) {
			i++;
			continue;
		}
		if (k1->work >= longest) {
			*alone = time_alone(k2, N_RUNS);
			*beside = (struct sample){NAN, NAN};
			return;
		}
		i = 0;
		k1->work *= 2;
		k1_us = gpu_time(k1);
	}
	*alone = sample_of(x, N_RUNS);
	*beside = sample_of(y, N_RUNS);
}

/* ---- registers ---- */

/*
 * A kernel that has n values alive at once: volatile accesses keep their order. ptxas rounds what it uses up to
 * where occupancy changes anyway, unless it is told a limit that it can just not keep: then it spills, and uses all.
 */
static const char *register_kernel(unsigned n, unsigned limit)
{
	static char text[1 << 17];
	char *at = text;

	at += sprintf(at, ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param "
			  ".u64 p)\n");
	if (limit)
		at += sprintf(at, ".maxnreg %u\n", limit);
	at += sprintf(at, "{\n.reg .b32 %%v<%u>;\n.reg .b64 %%a;\nld.param.u64 %%a, [p];\n", n + 1);
	for (unsigned i = 0; i < n; i++)
		at += sprintf(at, "ld.volatile.global.u32 %%v%u, [%%a+%u];\n", i, 4 * i);
	for (unsigned i = 0; i < n; i++)
		at += sprintf(at, "st.volatile.global.u32 [%%a+%u], %%v%u;\n", 4 * i, i);
	sprintf(at, "ret;\n}\n");
	return text;
}

/* The most shared memory with which the SM still holds as many blocks as with from bytes. */
static unsigned last_with(const struct grid *g, unsigned threads, unsigned from, unsigned most)
{
	int blocks = gpu_occupancy(g, threads, from);

	while (from < most) {
		unsigned middle = from + (most - from + 1) / 2;

		if (gpu_occupancy(g, threads, middle) == blocks)
			from = middle;
		else
			most = middle - 1;
	}
	return from;
}

/* Per block size a line: "blocks:first-last" for every run of equal answers, from 0 bytes to the most. */
static void write_occupancies(const struct grid *g, char *at)
{
	unsigned most = (unsigned)(GPU_SMEM_OPTIN - g->static_smem);

	for (unsigned threads = 16; threads <= 1024; threads += 16) {
		at += sprintf(at, "%u\t%d", threads, g->static_smem);
		for (unsigned first = 0, last; first <= most; first = last + 1) {
			last = last_with(g, threads, first, most);
			at += sprintf(at, "\t%d:%u-%u", gpu_occupancy(g, threads, first), first,
				      last);
		}
		at += sprintf(at, "\n");
	}
}

/* One register count; its lines only where they differ from those of the last one. */
static void print_occupancies(const struct grid *g)
{
	static char lines[2][1 << 17];
	static unsigned now;
	static int printed;

	write_occupancies(g, lines[now]);
	if (!strcmp(lines[0], lines[1])) {
		printf("%d\tas %d\n", g->regs, printed);
		return;
	}
	printf("%d\n%s", g->regs, lines[now]);
	printed = g->regs;
	now = 1 - now;
}

static int measure_registers(void)
{
	bool seen[MAX_REGISTERS] = {false};

	gpu_start("# a line of one number: registers; lines that follow: threads, static smem, "
		  "blocks per SM:dynamic smem from-to ...\n");
	for (unsigned n = 1; n < 2 * 253; n++) {
		unsigned values = n < 253 ? n : n - 252;
		CUmodule module =
			gpu_load(register_kernel(values, n < 253 ? 0 : values + SPILLING));
		struct grid g = {.name = "k"};

		gpu_find(&g, module);
		if (g.regs < MAX_REGISTERS && !seen[g.regs]) {
			seen[g.regs] = true;
			print_occupancies(&g);
		}
		gpu_unload(module);
	}
	return 0;
}

/* ---- synthetic pairs ---- */

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static unsigned between(uint32_t *state, unsigned least, unsigned most)
{
	return least + next_random(state) % (most - least + 1);
}

/* As Table 2 there: threads and shared memory at random; blocks scaled from 15 SMs to ours. */
static void draw(struct grid *g, uint32_t *state, unsigned least, unsigned most)
{
	static const unsigned threads[] = {128, 192, 256, 384, 512};

	g->threads = threads[next_random(state) % GSB_ARRAY_LEN(threads)];
	g->smem = next_random(state) % 4 ? 256 * between(state, 1, 96) : 0;
	g->blocks = between(state, least, most) * (unsigned)gpu_n_sms / K40_SMS;
}

/* Case A for k1: it leaves room on the GPU from the beginning. */
static bool leaves_room(const struct grid *g)
{
	int per_sm = gpu_occupancy(g, g->threads, g->smem);

	return per_sm > 0 && g->blocks < (unsigned)per_sm * (unsigned)gpu_n_sms;
}

static int measure_pairs(const char *path, uint32_t seed)
{
	struct grid k1 = {.name = "synth"}, k2 = {.name = "synth"};
	CUmodule module;

	gpu_start("# pair\tk1 blocks\tthreads\tsmem\tregs\tk1's least and most blocks on an SM\t\t"
		  "k2 blocks\tthreads\tsmem\tregs\talone us\tsd\tbeside us\tsd\n");
	printf("# seed %u, %d runs; pair 0: drawn, but k2 waited for the end of k1 (not Case A)\n",
	       seed, N_RUNS);
	gpu_start_memory();
	module = gpu_load_file(path);
	gpu_find(&k1, module);
	gpu_find(&k2, module);
	gpu_warm(module);
	for (int i = 0; i < N_PAIRS;) {
		struct sample a, b;
		unsigned least, most;

		do
			draw(&k1, &seed, 35, 110);
		while (!leaves_room(&k1));
		draw(&k2, &seed, 35, 467);
		k1.work = k2.work = SYNTH_STEPS;
		gpu_spread(&k1, &least, &most);
		time_both(&k1, &k2, &a, &b);
		i += !isnan(b.mean);
		printf("%d\t%u\t%u\t%u\t%d\t%u\t%u\t%u\t%u\t%u\t%d\t%.2f\t%.2f\t%.2f\t%.2f\n",
		       isnan(b.mean) ? 0 : i, k1.blocks, k1.threads, k1.smem, k1.regs, least, most,
		       k2.blocks, k2.threads, k2.smem, k2.regs, a.mean, a.sd, b.mean, b.sd);
		fflush(stdout);
	}
	return 0;
}

/* ---- profiles of Table 4: grids scaled from 15 SMs to ours ---- */

static struct grid profiles[] = {
	{.name = "find_index", .blocks = 47, .threads = 128, .work = 4000},
	{.name = "euclid", .blocks = 3840, .threads = 256, .work = 64},
	{.name = "path_rows", .blocks = 463, .threads = 256, .work = 4000},
	{.name = "stencil_3d", .blocks = 1024, .threads = 256, .work = 48},
	{.name = "follow_edges", .blocks = 1954, .threads = 512, .work = 24},
	{.name = "heat_tile", .blocks = 1849, .threads = 256, .work = 300},
	{.name = "diffuse", .blocks = 16384, .threads = 256, .work = 8},
	{.name = "factor_tile", .blocks = 1, .threads = 16, .work = 100},
};

static CUmodule find_profiles(const char *path)
{
	CUmodule module;

	gpu_start_memory();
	module = gpu_load_file(path);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(profiles); i++) {
		struct grid *g = &profiles[i];

		if (g->blocks > 1)
			g->blocks = (g->blocks * (unsigned)gpu_n_sms + K40_SMS / 2) / K40_SMS;
		gpu_find(g, module);
	}
	return module;
}

static int measure_profiles(const char *path)
{
	gpu_start(
		"# kernel\tblocks\tthreads\tstatic smem\tregs\twork\talone us\tsd\tbeside us\tsd\n");
	gpu_warm(find_profiles(path));
	for (unsigned i = 0; i < GSB_ARRAY_LEN(profiles); i++) {
		const struct grid *k2 = &profiles[i];
		struct grid k1 = profiles[0];
		struct sample a, b;

		time_both(&k1, k2, &a, &b);
		printf("%s\t%u\t%u\t%d\t%d\t%u\t%.2f\t%.2f\t%.2f\t%.2f\n", k2->name, k2->blocks,
		       k2->threads, k2->static_smem, k2->regs, k2->work, a.mean, a.sd, b.mean,
		       b.sd);
		fflush(stdout);
	}
	return 0;
}

/* k1 holds half of the blocks that every SM could have of it, for as long as it takes. */
static void measure_beside_half(const struct grid *half)
{
	unsigned full = (unsigned)gpu_occupancy(half, half->threads, 0);

	for (unsigned i = 0; i < GSB_ARRAY_LEN(profiles); i++) {
		const struct grid *k2 = &profiles[i];
		struct grid k1 = *half;
		struct sample a, b;

		k1.blocks = full / 2 * (unsigned)gpu_n_sms;
		time_both(&k1, k2, &a, &b);
		printf("%s\t%u\t%s\t%.2f\t%.2f\t%.2f\t%.2f\n", k1.name, k1.blocks, k2->name, a.mean,
		       a.sd, b.mean, b.sd);
		fflush(stdout);
	}
}

static int measure_contending(const char *path)
{
	static const char *const k1s[] = {"euclid",	  "path_rows", "stencil_3d",
					  "follow_edges", "heat_tile", "diffuse"};

	gpu_start("# k1\tblocks\tk2\talone us\tsd\tbeside us\tsd\n");
	gpu_warm(find_profiles(path));
	for (unsigned i = 0; i < GSB_ARRAY_LEN(profiles); i++)
		for (unsigned j = 0; j < GSB_ARRAY_LEN(k1s); j++)
			if (!strcmp(k1s[j], profiles[i].name))
				measure_beside_half(&profiles[i]);
	return 0;
}

/* ---- what the extended model is given: each kernel alone ---- */

/* As many whole rounds as the grid has when per_sm blocks are resident on each SM; at least one. */
static struct grid whole_rounds(const struct grid *g, unsigned per_sm, unsigned full)
{
	unsigned rounds =
		(g->blocks + full * (unsigned)gpu_n_sms / 2) / (full * (unsigned)gpu_n_sms);
	struct grid whole = *g;

	whole.blocks = (rounds ? rounds : 1) * per_sm * (unsigned)gpu_n_sms;
	return whole;
}

/* per_sm blocks on each SM and no more: dynamic shared memory that the kernel never touches keeps others out. */
static void print_curve_point(const struct grid *g, unsigned per_sm, unsigned full)
{
	unsigned most = (unsigned)(GPU_SMEM_OPTIN - g->static_smem), first = 0;
	struct grid held = whole_rounds(g, per_sm, full);
	struct sample s;

	while (per_sm < full && gpu_occupancy(g, g->threads, first) > (int)per_sm)
		first = last_with(g, g->threads, first, most) + 1;
	held.smem = first;
	if (gpu_occupancy(&held, held.threads, held.smem) != (int)per_sm)
		return;
	s = time_alone(&held, N_CURVE_RUNS);
	printf("%s\t%u\t%u\t%u\t%u\t%.2f\t%.2f\n", g->name, per_sm, full, held.smem, held.blocks,
	       s.mean, s.sd);
}

static int measure_curves(const char *path)
{
	gpu_start("# kernel\tblocks per SM\tat most\tdynamic smem\tblocks of the grid\tus\tsd\n");
	gpu_warm(find_profiles(path));
	for (unsigned i = 0; i < GSB_ARRAY_LEN(profiles); i++) {
		const struct grid *g = &profiles[i];
		unsigned full = (unsigned)gpu_occupancy(g, g->threads, 0);

		for (unsigned per_sm = full; per_sm > 0; per_sm--)
			print_curve_point(g, per_sm, full);
		fflush(stdout);
	}
	return 0;
}

static int measure_solo(const char *path)
{
	gpu_start("");
	find_profiles(path);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(profiles); i++) {
		const struct grid *g = &profiles[i];
		unsigned full = (unsigned)gpu_occupancy(g, g->threads, 0);
		struct grid whole = whole_rounds(g, full, full);

		gpu_run(&whole);
	}
	return 0;
}

/* ---- rounds against time ---- */

static const struct {
	const char *name;
	unsigned smem, smem_per_thread; /* dynamic */
	unsigned work;
} shapes[] = {
	{"radial", 8192, 0, 1500},
	{"column_histogram", 16384, 0, 400},
	{"nested_loop", 0, 4, 3072},
	{"nested_tiled", 0, 4, 3072},
};

static int measure_rounds(const char *path)
{
	unsigned items;
	CUmodule module;

	gpu_start("# kernel\tthreads\tblocks\tdynamic smem\tstatic smem\tregs\tus\tsd\n");
	gpu_start_memory();
	module = gpu_load_file(path);
	gpu_warm(module);
	items = (unsigned)gpu_n_sms * 2048 * 6; /* T x B: six rounds when nothing is in the way */
	for (unsigned i = 0; i < GSB_ARRAY_LEN(shapes); i++) {
		struct grid g = {.name = shapes[i].name, .work = shapes[i].work};

		gpu_find(&g, module);
		for (g.threads = 32; g.threads <= 1024; g.threads += 32) {
			struct sample s;

			g.smem = shapes[i].smem + g.threads * shapes[i].smem_per_thread;
			g.blocks = (items + g.threads - 1) / g.threads;
			s = time_alone(&g, N_RUNS);
			printf("%s\t%u\t%u\t%u\t%d\t%d\t%.2f\t%.2f\n", g.name, g.threads, g.blocks,
			       g.smem, g.static_smem, g.regs, s.mean, s.sd);
		}
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *path);
	} parts[] = {{"curves", measure_curves},
		     {"solo", measure_solo},
		     {"profiles", measure_profiles},
		     {"contending", measure_contending},
		     {"rounds", measure_rounds}};

	if (argc == 2 && !strcmp(argv[1], "registers"))
		return measure_registers();
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "pairs"))
		return measure_pairs(argv[2],
				     argc == 4 ? (uint32_t)strtoul(argv[3], NULL, 10) : SEED);
	for (unsigned i = 0; argc == 3 && i < GSB_ARRAY_LEN(parts); i++)
		if (!strcmp(argv[1], parts[i].name))
			return parts[i].run(argv[2]);
	fprintf(stderr, "usage: model_measure registers | pairs PTX [SEED] | "
			"curves|solo|profiles|contending|rounds PTX\n");
	return 2;
}
