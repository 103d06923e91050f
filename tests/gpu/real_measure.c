/*
 * real_measure.c - kernels that do real work, alone and beside each other on a real GPU: what the law of contention must predict. It
 * predicts nothing itself (model_tables.c does, from what `alone` prints), so that a prediction can never see its measurement.
 * Kernels: real_kernels.cu. As dev_measure the same of dev_kernels.cu, as held_measure of held_kernels.cu, as late_measure of late_kernels.cu,
 * as fresh_measure of fresh_kernels.cu.
 *
 *   real_measure alone PTX [LOG2]      each kernel alone, with one to eight eighths of every SM: what the model is given
 *   real_measure pairs PTX [LOG2]      all ordered pairs, the first with 2, 4, 6 eighths, the second with the rest
 *   real_measure triples PTX [LOG2]    50 drawn, the first with as much, the others with half of the rest each
 *   real_measure profiles PTX [LOG2]   as pairs but each once, of all with the probes of probes.def, which are in files beside that one, and
 *                                      of these; those that the file $SEEN has are left out
 *
 * LOG2: of the words of an array, 26 if not said. Less is a trial of the program: three kernels, little work, and figures that say nothing.
 *
 * Rates are of endless kernels while all run: each block tells how many units it has done, in a word of its own, and two copies of
 * these words are taken beside the running kernels, at two instants of the device's time. So no kernel pays for the counting of
 * another, a rate is not that of two kernels of which one has ended, and who starves has a rate too: the time between the copies grows
 * until all blocks have done some units in the mean, up to a limit. Makespans are of kernels that end, by events.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "gpu.h"
#include "real_data.h"

#ifndef REAL_KERNELS
#define REAL_KERNELS "real_kernels.def"
#endif
#define SMS_MAX	      256
#define EIGHTHS	      8
#define BLOCKS_MAX    (SMS_MAX * EIGHTHS)
#define ENDLESS	      (1u << 22) /* units: half a minute at least, should nobody say stop */
#define N_RUNS	      5		 /* alone */
#define N_TIMES	      2		 /* beside each other */
#define SETTLE_MS     2
#define WINDOW_MS     10
#define WINDOW_MAX    80
#define ARRIVE_MS     20 /* a kernel that has not got all its blocks by then is measured as it is */
#define ENOUGH	      20 /* units of a block: one more or less is then 5 % */
#define WHOLE_US      10000.0 /* of each kernel's work alone, of which makespans are taken */
#define SEEN_MAX      (4u << 20)
#define TRIAL_KERNELS 3
#define TRIAL_PROBES  2
#define TRIAL_UNITS   8
#define TRIAL_ENDLESS 256 /* the emulated device has no hurry to stop what goes on for ever */

struct kernel {
	const char *name, *file; /* NULL: the one that is named */
	unsigned threads;
	struct grid grid;
	double full; /* units a second with all eighths */
	double whole_us;
	double alone[EIGHTHS + 1];
};

#define N_OWN	 (GSB_ARRAY_LEN(kernels) - N_PROBES)
#define N_PROBES GSB_ARRAY_LEN(probe_names)

static const char *const probe_names[] = {
#define PROBE(name, threads, file) #name,
#include "probes.def"
#undef PROBE
};

/* The probes behind the others. */
static struct kernel kernels[] = {
#define REAL(name, threads, l2, dram) {#name, NULL, threads, {0}, 0, 0, {0}},
#define PROBE(name, threads, file)    {#name, #file, threads, {0}, 0, 0, {0}},
#include REAL_KERNELS
#include "probes.def"
#undef REAL
#undef PROBE
};

static unsigned n_kernels = N_OWN; /* that are measured */
static int n_times = N_TIMES;	   /* beside each other */

/* A kernel in a slot. */
struct part {
	unsigned kernel, eighths;
};

struct seen {
	uint32_t units, sm;
};

static CUdeviceptr real, word, out[GPU_SLOTS], progress[GPU_SLOTS], stop;
static struct seen *look[GPU_SLOTS], *before[GPU_SLOTS];
static uint32_t *zeros, *one;
static unsigned n_words = 1u << 26;
static bool is_trial;

/* ---- the GPU ---- */

static void make_arrays(void)
{
	float *numbers = malloc(n_words * sizeof(*numbers));
	uint32_t *words = malloc(n_words * sizeof(*words));

	if (!numbers || !words)
		exit(1);
	for (unsigned i = 0; i < n_words; i++) {
		numbers[i] = real_number(i);
		words[i] = real_word(i);
	}
	real = gpu_copy_in(numbers, n_words * sizeof(*numbers));
	word = gpu_copy_in(words, n_words * sizeof(*words));
	for (unsigned s = 0; s < GPU_SLOTS; s++)
		out[s] = gpu_copy_in(numbers, n_words * sizeof(*numbers));
	free(numbers);
	free(words);
}

static void make_counters(void)
{
	for (unsigned s = 0; s < GPU_SLOTS; s++) {
		progress[s] = gpu_alloc(BLOCKS_MAX * sizeof(struct seen));
		look[s] = gpu_pinned(BLOCKS_MAX * sizeof(struct seen));
		before[s] = gpu_pinned(BLOCKS_MAX * sizeof(struct seen));
	}
	stop = gpu_alloc(sizeof(*one));
	zeros = gpu_pinned(BLOCKS_MAX * sizeof(struct seen));
	one = gpu_pinned(sizeof(*one));
	*one = 1;
}

static void find_in(CUmodule module, struct kernel *k, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct grid *g = &k[i].grid;

		g->name = k[i].name;
		g->threads = k[i].threads;
		gpu_find(g, module);
		if (gpu_occupancy(g, g->threads, 0) < EIGHTHS)
			printf("# %s needs more than an eighth of an SM\n", g->name);
	}
}

static void start(const char *path, const char *header)
{
	gpu_start(header);
	if (gpu_n_sms > SMS_MAX) {
		fprintf(stderr, "real_measure: more than %d SMs\n", SMS_MAX);
		exit(1);
	}
	find_in(gpu_load_file(path), kernels, n_kernels);
	gpu_start_slots();
	make_arrays();
	make_counters();
}

static unsigned blocks_of(const struct part *p)
{
	return p->eighths * (unsigned)gpu_n_sms;
}

static void launch(unsigned slot, const struct part *p, unsigned units)
{
	struct grid g = kernels[p->kernel].grid;
	void *args[] = {&real, &word, &out[slot], &n_words, &units, &progress[slot], &stop};

	g.blocks = blocks_of(p);
	gpu_slot_launch(slot, &g, args);
}

static void look_at(struct seen *to[], const struct part *parts, unsigned n)
{
	for (unsigned s = 0; s < n; s++)
		gpu_look(to[s], progress[s], blocks_of(&parts[s]) * sizeof(struct seen));
}

static void forget(const struct part *parts, unsigned n)
{
	gpu_put(stop, zeros, sizeof(*zeros));
	for (unsigned s = 0; s < n; s++)
		gpu_put(progress[s], zeros, blocks_of(&parts[s]) * sizeof(struct seen));
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void wait_ms(double ms)
{
	double end = now_ms() + ms;

	while (now_ms() < end)
		gsb_cpu_relax();
}

/* Until all blocks of a slot are there: so the next kernel is the younger one. */
static void await_blocks(unsigned slot, const struct part *p)
{
	double end = now_ms() + ARRIVE_MS;
	bool all;

	do {
		gpu_look(look[slot], progress[slot], blocks_of(p) * sizeof(struct seen));
		all = true;
		for (unsigned b = 0; b < blocks_of(p); b++)
			all &= look[slot][b].sm > 0;
	} while (!all && now_ms() < end);
}

/* ---- rates ---- */

/* Units that all blocks of a slot have done between the two looks. */
static double units_between(unsigned slot, const struct part *p)
{
	double sum = 0;

	for (unsigned b = 0; b < blocks_of(p); b++)
		sum += look[slot][b].units - before[slot][b].units;
	return sum;
}

static bool is_enough(const struct part *parts, unsigned n)
{
	for (unsigned s = 0; s < n; s++)
		if (units_between(s, &parts[s]) < ENOUGH * (double)blocks_of(&parts[s]))
			return false;
	return true;
}

/* Units a second of each while all run. What is in look[] says where the blocks were. */
static void measure_rates(const struct part *parts, unsigned n, double *rates)
{
	double window = WINDOW_MS, us;

	forget(parts, n);
	for (unsigned s = 0; s < n; s++) {
		launch(s, &parts[s], is_trial ? TRIAL_ENDLESS : ENDLESS);
		await_blocks(s, &parts[s]);
	}
	wait_ms(SETTLE_MS);
	gpu_stamp(0);
	look_at(before, parts, n);
	for (double waited = 0;; waited = window, window *= 2) {
		wait_ms(window - waited);
		gpu_stamp(1);
		look_at(look, parts, n);
		if (is_trial || window >= WINDOW_MAX || is_enough(parts, n))
			break;
	}
	us = gpu_stamps_us();
	gpu_put(stop, one, sizeof(*one));
	for (unsigned s = 0; s < n; s++) {
		gpu_slot_wait(s);
		rates[s] = units_between(s, &parts[s]) / us * 1e6;
	}
}

/* Blocks on the SM that got fewest, and on the one that got most, as the last look had it. */
static void print_places(unsigned slot, const struct part *p)
{
	unsigned on_sm[SMS_MAX] = {0}, least = BLOCKS_MAX, most = 0;

	for (unsigned b = 0; b < blocks_of(p); b++)
		if (look[slot][b].sm)
			on_sm[(look[slot][b].sm - 1) % SMS_MAX]++;
	for (int i = 0; i < gpu_n_sms; i++) {
		least = on_sm[i] < least ? on_sm[i] : least;
		most = on_sm[i] > most ? on_sm[i] : most;
	}
	printf("%s%u-%u", slot ? "," : "", least, most);
}

/* ---- makespans ---- */

static unsigned units_of(const struct part *p)
{
	double units = kernels[p->kernel].full * WHOLE_US / 1e6 / blocks_of(p);

	if (is_trial)
		return TRIAL_UNITS;
	return units < 1 ? 1 : (unsigned)lround(units);
}

/* Of equal work: as much as takes each kernel WHOLE_US with all of the GPU, whatever it has of it here. */
static double measure_makespan(const struct part *parts, unsigned n)
{
	double most = 0;

	forget(parts, n);
	gpu_slot_begin(0);
	for (unsigned s = 0; s < n; s++) {
		launch(s, &parts[s], units_of(&parts[s]));
		gpu_slot_end(s);
		if (s + 1 < n)
			await_blocks(s, &parts[s]);
	}
	for (unsigned s = 0; s < n; s++)
		gpu_slot_wait(s);
	for (unsigned s = 0; s < n; s++)
		most = fmax(most, gpu_slots_us(0, s));
	return most;
}

/* ---- alone ---- */

static void warm(void)
{
	const struct part p = {0, EIGHTHS};
	double rate, end = now_ms() + 300;

	while (now_ms() < end)
		measure_rates(&p, 1, &rate);
}

static void print_alone(unsigned kernel, unsigned eighths)
{
	const struct part p = {kernel, eighths};
	double rate[N_RUNS], mean = 0, squares = 0;
	int n_runs = is_trial ? 2 : N_RUNS;

	for (int i = 0; i < n_runs; i++) {
		measure_rates(&p, 1, &rate[i]);
		mean += rate[i] / n_runs;
	}
	for (int i = 0; i < n_runs; i++)
		squares += (rate[i] - mean) * (rate[i] - mean);
	printf("%s\t%u\t%.1f\t%.1f\t", kernels[kernel].name, eighths, mean,
	       sqrt(squares / (n_runs - 1)));
	print_places(0, &p);
	printf("\t%u\t%d\t%d\n", kernels[kernel].threads, kernels[kernel].grid.regs,
	       kernels[kernel].grid.static_smem);
	fflush(stdout);
}

static int measure_alone(const char *path)
{
	start(path, "# kernel\teighths\tunits/s\tsd\tblocks on an SM\tthreads\tregs\tsmem\n");
	warm();
	for (unsigned i = 0; i < n_kernels; i++)
		for (unsigned e = 1; e <= EIGHTHS; e++)
			print_alone(i, e);
	return 0;
}

/* ---- beside each other ---- */

/* What speeds and makespans are of, in this run and not in another: clocks differ from day to day. */
static void measure_own(void)
{
	warm();
	for (unsigned i = 0; i < n_kernels; i++) {
		struct kernel *k = &kernels[i];
		struct part p = {i, EIGHTHS};

		measure_rates(&p, 1, &k->full);
		for (p.eighths = 1; p.eighths <= EIGHTHS; p.eighths++)
			measure_rates(&p, 1, &k->alone[p.eighths]);
		p.eighths = EIGHTHS;
		k->whole_us = 0;
		for (int j = 0; j < N_TIMES; j++)
			k->whole_us += measure_makespan(&p, 1) / N_TIMES;
	}
}

/* The same once more, against what it was. */
static void print_drift(void)
{
	double most = 0;

	for (unsigned i = 0; i < n_kernels; i++) {
		const struct part p = {i, EIGHTHS};
		double rate;

		measure_rates(&p, 1, &rate);
		most = fmax(most, fabs(log(rate / kernels[i].full)));
	}
	printf("# alone with all eighths at the end against the beginning: at most %.2f %% off\n",
	       100 * (exp(most) - 1));
}

static void print_names(const struct part *parts, unsigned n)
{
	for (unsigned s = 0; s < n; s++)
		printf("%s%s", s ? "," : "", kernels[parts[s].kernel].name);
	for (unsigned s = 0; s < n; s++)
		printf("%c%u", s ? ',' : '\t', parts[s].eighths);
}

static double spread(const double x[N_TIMES])
{
	double least = x[0], most = x[0];

	for (int i = 1; i < n_times; i++) {
		least = fmin(least, x[i]);
		most = fmax(most, x[i]);
	}
	return most > 0 ? 100 * (most - least) / most : 0;
}

static double mean_of(const double x[N_TIMES])
{
	double sum = 0;

	for (int i = 0; i < n_times; i++)
		sum += x[i] / n_times;
	return sum;
}

static void print_beside(const struct part *parts, unsigned n)
{
	double speed[GPU_SLOTS][N_TIMES] = {{0}}, span[N_TIMES] = {0}, rates[GPU_SLOTS], whole = 0;
	double alone[GPU_SLOTS];

	for (unsigned s = 0; s < n; s++) {
		const struct kernel *k = &kernels[parts[s].kernel];

		whole += k->whole_us / n;
		alone[s] = k->alone[parts[s].eighths] / k->full;
	}
	for (int i = 0; i < n_times; i++) {
		measure_rates(parts, n, rates);
		for (unsigned s = 0; s < n; s++)
			speed[s][i] = rates[s] / kernels[parts[s].kernel].full;
	}
	print_names(parts, n);
	for (unsigned s = 0; s < n; s++)
		printf("%c%.6f", s ? ',' : '\t', mean_of(speed[s]));
	for (unsigned s = 0; s < n; s++)
		printf("%c%.1f", s ? ',' : '\t', spread(speed[s]));
	for (unsigned s = 0; s < n; s++)
		printf("%c%.4f", s ? ',' : '\t', alone[s]);
	putchar('\t');
	for (unsigned s = 0; s < n; s++)
		print_places(s, &parts[s]);
	for (int i = 0; i < n_times; i++)
		span[i] = measure_makespan(parts, n) / whole;
	printf("\t%.4f\t%.1f\n", mean_of(span), spread(span));
	fflush(stdout);
}

static const char beside_header[] =
	"# kernels, the oldest first\teighths of an SM\tspeeds while all run, 1: alone with "
	"all eighths\tspread %\tthe same alone with its own eighths\tblocks on an SM\t"
	"makespan, 1: the work of one alone with all eighths\tspread %\n";

static void start_beside(const char *path)
{
	start(path, beside_header);
	measure_own();
}

static void measure_pair(unsigned older, unsigned younger)
{
	for (unsigned e = 2; e < EIGHTHS; e += 2)
		print_beside((const struct part[]){{older, e}, {younger, EIGHTHS - e}}, 2);
}

static int measure_pairs(const char *path)
{
	start_beside(path);
	for (unsigned i = 0; i < n_kernels; i++)
		for (unsigned j = 0; j < n_kernels; j++)
			measure_pair(i, j);
	print_drift();
	return 0;
}

static unsigned n_probes(void)
{
	return is_trial ? TRIAL_PROBES : N_PROBES;
}

static bool is_probe(unsigned kernel)
{
	for (unsigned i = 0; i < n_probes(); i++)
		if (!strcmp(probe_names[i], kernels[kernel].name))
			return true;
	return false;
}

static bool is_known(const char *name)
{
	for (unsigned i = 0; i < n_kernels; i++)
		if (!strcmp(kernels[i].name, name))
			return true;
	return false;
}

/* Those of one file stand together. */
static CUmodule load_beside(const char *path, const char *file)
{
	static const char *loaded = "";
	static CUmodule module;
	const char *slash = strrchr(path, '/');
	char beside[4096];

	if (!strcmp(loaded, file))
		return module;
	snprintf(beside, sizeof(beside), "%.*s%s.ptx", slash ? (int)(slash + 1 - path) : 0, path,
		 file);
	module = gpu_load_file(beside);
	loaded = file;
	return module;
}

/* They come behind those that are measured, but for those that are among these. */
static void find_probes(const char *path)
{
	for (unsigned i = 0; i < n_probes(); i++) {
		const struct kernel *probe = &kernels[N_OWN + i];

		if (is_known(probe->name))
			continue;
		kernels[n_kernels] = *probe;
		find_in(load_beside(path, probe->file), &kernels[n_kernels], 1);
		n_kernels++;
	}
}

/* What is known already: the text of a file of pairs, or nothing. A line stands behind a '\n', the first one too. */
static char *read_seen(void)
{
	const char *path = getenv("SEEN");
	FILE *f = path ? fopen(path, "r") : NULL;
	char *text = calloc(1, SEEN_MAX + 2);

	if (!text || (path && !f)) {
		fprintf(stderr, "real_measure: cannot read %s\n", path ? path : "what is known");
		exit(1);
	}
	if (f) {
		text[0] = '\n';
		text[1 + fread(text + 1, 1, SEEN_MAX, f)] = 0;
		fclose(f);
	}
	return text;
}

static void measure_unseen_pair(const char *seen, unsigned older, unsigned younger)
{
	char line[128];

	snprintf(line, sizeof(line), "\n%s,%s\t", kernels[older].name, kernels[younger].name);
	if (!strstr(seen, line))
		measure_pair(older, younger);
}

/* Probe by probe, each beside those before it as well: who has not the time for all has all of the first ones. */
static int measure_profiles(const char *path)
{
	char *seen = read_seen();

	n_times = 1;
	start(path, beside_header);
	find_probes(path);
	measure_own();
	for (unsigned j = 0; j < n_kernels; j++)
		for (unsigned i = 0; is_probe(j) && i < n_kernels; i++) {
			if (is_probe(i) && i > j)
				continue;
			measure_unseen_pair(seen, i, j);
			if (i != j)
				measure_unseen_pair(seen, j, i);
		}
	print_drift();
	free(seen);
	return 0;
}

static int measure_triples(const char *path)
{
	uint32_t state = REAL_SEED, drawn[3];

	start_beside(path);
	for (int i = 0; i < (is_trial ? 1 : REAL_TRIPLES); i++) {
		struct part parts[3];

		real_draw(&state, n_kernels, drawn);
		for (int s = 0; s < 3; s++)
			parts[s].kernel = drawn[s];
		for (unsigned e = 2; e < EIGHTHS; e += 2) {
			parts[0].eighths = e;
			parts[1].eighths = parts[2].eighths = (EIGHTHS - e) / 2;
			print_beside(parts, 3);
		}
	}
	print_drift();
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *path);
	} parts[] = {{"alone", measure_alone},
		     {"pairs", measure_pairs},
		     {"triples", measure_triples},
		     {"profiles", measure_profiles}};
	unsigned log2 = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 26;

	for (unsigned i = 0; (argc == 3 || argc == 4) && i < GSB_ARRAY_LEN(parts); i++)
		if (!strcmp(argv[1], parts[i].name) && log2 >= 18 && log2 <= 28) {
			n_words = 1u << log2;
			is_trial = argc == 4;
			if (is_trial)
				n_kernels = TRIAL_KERNELS;
			return parts[i].run(argv[2]);
		}
	fprintf(stderr, "usage: real_measure alone|pairs|triples|profiles PTX [LOG2]\n");
	return 2;
}
