/*
 * emu_oracle.c - the interpreter held against a real GPU: the rows of tests/oracle/rows and ordinary kernels run on
 * both, from the same PTX and the same bytes, and every result that is not the same bits is told; and so do random programs.
 *
 * A row runs on its own values and on random ones. What differs is sorted: another NaN pattern, another
 * value. For approximations the largest distance in units of the last place is printed, since a table in
 * hardware and a library function need not round alike. The results that the rows hold are compared with
 * the GPU's as well: they are what keeps the interpreter right where no GPU is.
 *
 * Usage: emu_oracle [EXAMPLES [FORM]]: so many differing results are printed per run of a row; only rows whose forms have FORM in
 * them. Needs to be started where tests/ptx and tests/oracle lie, or with srcdir set; without a driver it exits 77.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "gpu.h"
#include "tests/random/random_program.h"
#include "tests/unit/emu_harness.h"
#include "tests/unit/emu_rows.h"

#define N_RANDOM     16384	/* values of a row; whole blocks of T_ROW_THREADS */
#define BUFFER_BYTES (1u << 18) /* of an array of an ordinary kernel: 65 words a thread */
#define LOG_BYTES    1024
#define N_PROGRAMS   300
#define MAX_REDUCED  20 /* of those that differ */

static uint64_t rng = 1;
static unsigned long n_examples = 4;
static struct {
	unsigned int n_rows, n_refused, n_near, n_differ, n_nan_only, n_wrong, n_kernels,
		n_kernels_differ, n_programs, n_programs_differ;
	uint64_t n_results, n_values, n_nans;
} total;

static uint64_t rnd(void)
{
	uint64_t high;

	rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	high = rng >> 32 << 32;
	rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return high | rng >> 32;
}

/* ---- a row ---- */

/* What one kernel gave, on both sides. */
struct outcome {
	uint64_t n, n_values, n_nans, n_wrong;
	uint64_t max_ulp, ulp_at;
	double max_off; /* the largest difference */
};

/* A row at work: arrays of the columns, ours and theirs. */
struct run {
	const struct t_row *row;
	const char *name;
	uint32_t n;
	void *column[T_ROW_ARGS]; /* results, inputs, memory of the threads */
	void *theirs;
	bool known; /* the row has the results of these inputs */
};

static bool is_float(const struct t_column *c)
{
	return c->name[0] == 'f' && c->bytes >= 4;
}

/* Every second one is of a size that programs compute with: bits alone are mostly huge or tiny, and seldom NaNs. */
static uint64_t random_value(const struct t_column *c)
{
	uint64_t bits = rnd(), v = bits;
	int e = (int)(bits >> 1 & 31);
	double d = ldexp((double)(int64_t)bits, e - 79);
	float f = ldexpf((float)((int64_t)bits >> 32), e - 47);

	if (is_float(c) && (bits >> 8 & 31) == 0)
		return bits | (c->bytes == 4 ? 0x7f800000 : UINT64_C(0x7ff) << 52);
	if (bits & 1)
		return bits;
	if (!is_float(c))
		return (bits >> 8 & 1 ? bits : ~bits) >> (bits >> 1 & 63);
	if (c->bytes == 4)
		memcpy(&v, &f, 4);
	else
		memcpy(&v, &d, 8);
	return v;
}

static void fill(struct run *run)
{
	const struct t_row *r = run->row;

	for (unsigned int k = 0; k < r->n_inputs; k++) {
		for (uint32_t i = 0; i < run->n; i++)
			t_value_put(run->column[k + 1], r->inputs[k]->bytes, i,
				    run->known ? t_row_input(r, k, i) : random_value(r->inputs[k]));
	}
}

static uint64_t input_at(const struct run *run, unsigned int k, uint32_t i)
{
	return k < run->row->n_inputs
		       ? t_value_at(run->column[k + 1], run->row->inputs[k]->bytes, i)
		       : 0;
}

static bool both_nan(const struct run *run, uint64_t p, uint64_t q)
{
	unsigned int bytes = run->row->bytes;

	return run->row->n_inputs && is_float(run->row->inputs[0]) && bytes >= 4 &&
	       t_is_nan(bytes, p) && t_is_nan(bytes, q);
}

static void note(const struct run *run, struct outcome *o, uint32_t i)
{
	const struct t_row *r = run->row;
	unsigned int bytes = t_row_result_bytes(r);
	uint64_t gpu = t_value_at(run->theirs, bytes, i),
		 ours = t_value_at(run->column[0], bytes, i);
	bool nans = both_nan(run, gpu, ours);

	o->n++;
	o->n_wrong += run->known && !t_row_agrees(r, gpu, t_row_result(r, i));
	if (gpu == ours)
		return;
	o->n_nans += nans;
	o->n_values += !nans;
	if (r->ulps == 0 || nans)
		return;
	if (t_ulps(bytes, gpu, ours) > o->max_ulp) {
		o->max_ulp = t_ulps(bytes, gpu, ours);
		o->ulp_at = input_at(run, 0, i);
	}
	o->max_off = fmax(o->max_off, fabs(t_as_real(bytes, gpu) - t_as_real(bytes, ours)));
}

/* Runs a kernel on both sides. */
static void run_both(struct run *run, struct t_gpu *g, CUmodule module, const char *kernel)
{
	size_t bytes = (size_t)T_SCRATCH_BYTES * run->n;
	CUdeviceptr on_gpu[T_ROW_ARGS];
	void *args[T_ROW_ARGS];
	unsigned int blocks = run->n / T_ROW_THREADS;
	struct t_launch l = {.kernel = kernel, .grid = {blocks}, .block = {T_ROW_THREADS}};

	memset(run->column[0], 0xa5, bytes);
	for (int k = 0; k < T_ROW_ARGS; k++) {
		on_gpu[k] = gpu_copy_in(run->column[k], bytes);
		args[k] = &on_gpu[k];
		l.args[k] = &run->column[k];
	}
	gpu_call(module, &(struct gpu_call){kernel, {blocks, 1}, {T_ROW_THREADS, 1}, 0, args});
	gpu_copy_out(run->theirs, on_gpu[0], bytes);
	for (int k = 1; k < T_ROW_ARGS; k++)
		gpu_free(on_gpu[k]);
	if (t_launch(g, &l)) {
		fprintf(stderr, "emu_oracle: %s: %s\n", run->row->text, g->fault.text);
		exit(1);
	}
}

/* The first results that differ, NaNs and others; and those that are not what the row holds. */
static void show(const struct run *run)
{
	const struct t_row *r = run->row;
	unsigned long left[2] = {n_examples, n_examples};

	for (uint32_t i = 0; i < run->n && (left[0] || left[1]); i++) {
		unsigned int bytes = t_row_result_bytes(r);
		uint64_t gpu = t_value_at(run->theirs, bytes, i),
			 ours = t_value_at(run->column[0], bytes, i);
		bool nans = both_nan(run, gpu, ours);
		bool wrong = run->known && !t_row_agrees(r, gpu, t_row_result(r, i));

		if ((gpu == ours && !wrong) || !left[nans])
			continue;
		left[nans]--;
		printf("\ta 0x%" PRIx64 " b 0x%" PRIx64 " c 0x%" PRIx64 " e 0x%" PRIx64
		       ": gpu 0x%" PRIx64 " ours 0x%" PRIx64,
		       input_at(run, 0, i), input_at(run, 1, i), input_at(run, 2, i),
		       input_at(run, 3, i), gpu, ours);
		if (wrong)
			printf(" row 0x%" PRIx64, t_row_result(r, i));
		putchar('\n');
	}
}

static void tell(const struct run *run, const struct outcome *o)
{
	total.n_results += o->n;
	total.n_values += o->n_values;
	total.n_nans += o->n_nans;
	if (!o->n_values && !o->n_nans && !o->n_wrong)
		return;
	printf("%s [%s]: of %" PRIu64 ": values %" PRIu64 ", NaN patterns %" PRIu64
	       ", not as the row says %" PRIu64,
	       run->row->text, run->name, o->n, o->n_values, o->n_nans, o->n_wrong);
	if (o->max_ulp)
		printf("; at most %" PRIu64 " ulp (a 0x%" PRIx64 "), %.3g", o->max_ulp, o->ulp_at,
		       o->max_off);
	putchar('\n');
	show(run);
}

static void count(const struct t_row *r, const struct outcome *all)
{
	total.n_near += r->ulps > 0 && all->n_values;
	total.n_differ += r->ulps == 0 && all->n_values;
	total.n_nan_only += !all->n_values && all->n_nans;
	total.n_wrong += all->n_wrong > 0;
}

static void run_row(const struct t_row *r)
{
	static const char *const names[] = {"full", "split", "random"};
	char text[T_TEXT_BYTES], log[LOG_BYTES];
	struct run run = {.row = r};
	struct outcome all = {0};
	CUmodule module;
	struct t_gpu g;

	total.n_rows++;
	t_row_text(r, text, sizeof(text));
	if (!gpu_compile(text, &module, log, sizeof(log))) {
		printf("%s: refused: %s\n", r->text, log);
		total.n_refused++;
		return;
	}
	t_gpu_init(&g, text);
	for (int k = 0; k < T_ROW_ARGS; k++)
		run.column[k] = t_alloc(&g, T_SCRATCH_BYTES * N_RANDOM);
	run.theirs = t_alloc(&g, T_SCRATCH_BYTES * N_RANDOM);
	for (int i = 0; i < 3; i++) {
		struct outcome o = {0};

		run.name = names[i];
		run.known = i < 2;
		run.n = run.known ? t_row_threads(r) : N_RANDOM;
		fill(&run);
		run_both(&run, &g, module, names[i == 1]);
		for (uint32_t at = 0; at < run.n; at++)
			note(&run, &o, at);
		tell(&run, &o);
		all.n_values += o.n_values;
		all.n_nans += o.n_nans;
		all.n_wrong += o.n_wrong;
	}
	count(r, &all);
	t_gpu_finish(&g);
	gpu_unload(module);
}

/* ---- ordinary kernels ---- */

/* All take addresses of arrays, then perhaps their length; every array starts as random bytes. */
static const struct kernel {
	const char *file, *name;
	int n_arrays;
	unsigned int grid[2], block[2], smem;
	int n;
} kernels[] = {
#define X(file, name, n_arrays)                                                          \
	{                                                                                \
		"tests/ptx/" file ".nvcc.ptx", name, n_arrays, {8, 1}, {128, 1}, 0, 1000 \
	}
	X("asm", "rare_integer", 3),
	X("asm", "rare_carry", 2),
	X("asm", "rare_float", 3),
	X("asm", "rare_space", 1),
	X("bits", "bits", 4),
	X("diverge", "half_warps", 2),
	X("fmath", "fma_poly", 4),
	X("fmath", "convert", 6),
	X("fmath", "compare", 3),
	X("fmath", "rounding", 6),
	X("fmath", "transcendental", 4),
	X("histogram", "histogram", 2),
	X("local", "local_sort", 1),
	X("local", "local_by_address", 1),
	X("muldiv", "mul_wide", 4),
	X("muldiv", "dot128", 3),
	X("muldiv", "divmod", 8),
	X("muldiv", "date_parts", 4),
	X("reduce", "reduce_shfl", 2),
	X("redux", "warp_redux", 2),
	X("switch", "switch_dense", 2),
	X("vadd", "vadd", 3),
	X("warp", "warp_votes", 2),
	X("warp", "warp_match", 2),
	X("warp", "block_votes", 2),
#undef X
	{"tests/ptx/bitonic.nvcc.ptx", "bitonic", 1, {4, 1}, {256, 1}, 0, 0},
	{"tests/ptx/matmul.nvcc.ptx", "matmul", 3, {4, 4}, {16, 16}, 0, 50},
	{"tests/ptx/reduce.nvcc.ptx", "reduce_tree", 2, {4, 1}, {256, 1}, 1024, 1000},
	{"tests/ptx/scan.nvcc.ptx", "scan_block", 2, {4, 1}, {256, 1}, 0, 1000},
};

/* Whole words of 4 bytes: the examples are read beside the kernel. */
static uint64_t differing_words(int nth, const uint32_t *gpu, const uint32_t *ours)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < BUFFER_BYTES / 4; i++) {
		if (gpu[i] != ours[i] && n++ < n_examples)
			printf("\tarray %d word %u: gpu 0x%" PRIx32 " ours 0x%" PRIx32 "\n", nth, i,
			       gpu[i], ours[i]);
	}
	return n;
}

static void run_kernel(const struct kernel *k)
{
	static uint32_t theirs[BUFFER_BYTES / 4];
	uint32_t *ours[T_MAX_ARGS];
	CUdeviceptr on_gpu[T_MAX_ARGS];
	void *args[T_MAX_ARGS] = {0};
	struct t_launch l = {.kernel = k->name, .smem_bytes = k->smem};
	CUmodule module = gpu_load_file(k->file);
	uint64_t n_words = 0;
	struct t_gpu g;
	int n = k->n;

	t_gpu_init_file(&g, k->file);
	for (int i = 0; i < k->n_arrays; i++) {
		ours[i] = t_alloc(&g, BUFFER_BYTES);
		for (unsigned int j = 0; j < BUFFER_BYTES / 4; j++)
			ours[i][j] = (uint32_t)rnd();
		on_gpu[i] = gpu_copy_in(ours[i], BUFFER_BYTES);
		args[i] = &on_gpu[i];
		l.args[i] = &ours[i];
	}
	l.args[k->n_arrays] = args[k->n_arrays] = &n;
	for (int i = 0; i < 2; i++) {
		l.grid[i] = k->grid[i];
		l.block[i] = k->block[i];
	}
	gpu_call(module, &(struct gpu_call){k->name,
					    {k->grid[0], k->grid[1]},
					    {k->block[0], k->block[1]},
					    k->smem,
					    args});
	if (t_launch(&g, &l))
		printf("%s: %s\n", k->name, g.fault.text);
	for (int i = 0; i < k->n_arrays; i++) {
		gpu_copy_out(theirs, on_gpu[i], BUFFER_BYTES);
		n_words += differing_words(i, theirs, ours[i]);
	}
	if (n_words)
		printf("kernel %s: %" PRIu64 " words differ\n", k->name, n_words);
	total.n_kernels++;
	total.n_kernels_differ += n_words > 0;
	t_gpu_finish(&g);
	gpu_unload(module);
}

/* ---- random programs ---- */

#define PROGRAM_THREADS (RANDOM_N_BLOCKS * 96)
#define PROGRAM_BYTES	(2 * RANDOM_THREAD_BYTES * PROGRAM_THREADS + RANDOM_COUNTER_BYTES)

/* The first words that differ; what lies at which byte of a thread's output, random_program.c says at its end. */
static void show_program(const unsigned char *ours, const unsigned char *theirs, size_t output)
{
	unsigned long left = n_examples;

	for (size_t i = output; i < PROGRAM_BYTES && left; i += 8) {
		uint64_t p, q;

		memcpy(&p, theirs + i, 8);
		memcpy(&q, ours + i, 8);
		if (p == q)
			continue;
		left--;
		printf("\tthread %zu byte %zu: gpu 0x%016" PRIx64 " ours 0x%016" PRIx64 "\n",
		       (i - output) / RANDOM_THREAD_BYTES, (i - output) % RANDOM_THREAD_BYTES, p,
		       q);
	}
}

static struct random_program program;
static char program_text[RANDOM_MAX_LINES * 100];

/* On both sides, without some lines: 1 when they differ, 0 when they do not, -1 when the driver refuses it. */
static int try_program(uint64_t seed, const bool *dropped, bool show)
{
	static unsigned char theirs[PROGRAM_BYTES];
	/* one array: input of all threads, their output, the counters */
	const size_t at[3] = {0, (size_t)RANDOM_THREAD_BYTES * PROGRAM_THREADS,
			      PROGRAM_BYTES - RANDOM_COUNTER_BYTES};
	uint64_t ours[3], on_gpu[3], state = seed;
	void *args[3] = {&on_gpu[0], &on_gpu[1], &on_gpu[2]};
	struct t_launch l = {.kernel = "k",
			     .grid = {RANDOM_N_BLOCKS},
			     .block = {program.threads},
			     .args = {&ours[0], &ours[1], &ours[2]}};
	char log[LOG_BYTES];
	unsigned char *bytes;
	CUdeviceptr base;
	CUmodule module;
	struct t_gpu g;
	int differs;

	random_program_text(&program, dropped, program_text, sizeof(program_text));
	if (!gpu_compile(program_text, &module, log, sizeof(log))) {
		printf("program %" PRIu64 ": refused: %s\n", seed, log);
		return -1;
	}
	t_gpu_init(&g, program_text);
	bytes = t_alloc(&g, PROGRAM_BYTES);
	for (size_t i = 0; i + 8 <= PROGRAM_BYTES; i += 8) {
		uint64_t v = i >= at[1] && i < at[2] ? 0 : random_next(&state);

		memcpy(bytes + i, &v, 8);
	}
	base = gpu_copy_in(bytes, PROGRAM_BYTES);
	for (int i = 0; i < 3; i++) {
		ours[i] = (uintptr_t)bytes + at[i];
		on_gpu[i] = base + at[i];
	}
	gpu_call(module,
		 &(struct gpu_call){"k", {RANDOM_N_BLOCKS, 1}, {program.threads, 1}, 0, args});
	gpu_copy_out(theirs, base, PROGRAM_BYTES);
	if (t_launch(&g, &l))
		printf("program %" PRIu64 ": %s\n", seed, g.fault.text);
	differs = memcmp(bytes, theirs, PROGRAM_BYTES) != 0;
	if (differs && show)
		show_program(bytes, theirs, at[1]);
	t_gpu_finish(&g);
	gpu_unload(module);
	return differs;
}

static bool drop_lines(uint64_t seed, bool *dropped, unsigned int first, unsigned int end)
{
	bool kept[RANDOM_MAX_LINES], any = false;

	memcpy(kept, dropped, sizeof(kept));
	for (unsigned int i = first; i < end; i++) {
		any |= !dropped[i];
		dropped[i] = true;
	}
	if (any && try_program(seed, dropped, false) == 1)
		return true;
	memcpy(dropped, kept, sizeof(kept));
	return false;
}

/* What is left of a program when all has gone that can go, and it still differs. */
static void reduce_program(uint64_t seed)
{
	static bool dropped[RANDOM_MAX_LINES];

	random_program_make(&program, seed);
	memset(dropped, 0, sizeof(dropped));
	for (int pass = 0; pass < 2; pass++) {
		for (unsigned int i = program.n_blocks; i-- > 0;)
			drop_lines(seed, dropped, program.blocks[i].first, program.blocks[i].end);
		for (unsigned int i = program.n_lines; i-- > 0;) {
			if (program.may_drop[i])
				drop_lines(seed, dropped, i, i + 1);
		}
	}
	printf("program %" PRIu64 ", made smaller:\n", seed);
	if (try_program(seed, dropped, true) == 1)
		printf("%s", program_text);
	fflush(stdout);
}

static uint64_t differing[MAX_REDUCED];

static void run_program(uint64_t seed)
{
	int outcome;

	random_program_make(&program, seed);
	outcome = try_program(seed, NULL, false);
	total.n_refused += outcome < 0;
	total.n_programs += outcome >= 0;
	if (outcome != 1)
		return;
	printf("program %" PRIu64 " of %u threads differs\n", seed, program.threads);
	if (total.n_programs_differ < MAX_REDUCED)
		differing[total.n_programs_differ] = seed;
	total.n_programs_differ++;
}

int main(int argc, char **argv)
{
	const struct t_row *rows;
	size_t n;

	if (argc > 1)
		n_examples = strtoul(argv[1], NULL, 10);
	gpu_start("");
	rows = t_rows_load(&n);
	for (size_t i = 0; i < n; i++) {
		if (argc < 3 || strstr(rows[i].forms, argv[2]))
			run_row(&rows[i]);
	}
	for (size_t i = 0; i < GSB_ARRAY_LEN(kernels); i++)
		run_kernel(&kernels[i]);
	for (uint64_t seed = 1; seed <= N_PROGRAMS && argc < 3; seed++)
		run_program(seed);
	printf("# %u rows: %u refused, %u approximations differ, %u others differ, %u in NaN patterns only; "
	       "%u are not as their rows say\n",
	       total.n_rows, total.n_refused, total.n_near, total.n_differ, total.n_nan_only,
	       total.n_wrong);
	printf("# %" PRIu64 " results: %" PRIu64 " other values, %" PRIu64 " other NaN patterns\n",
	       total.n_results, total.n_values, total.n_nans);
	printf("# %u kernels: %u differ\n", total.n_kernels, total.n_kernels_differ);
	printf("# %u random programs: %u differ\n", total.n_programs, total.n_programs_differ);
	fflush(stdout);
	for (unsigned int i = 0; i < MAX_REDUCED && i < total.n_programs_differ; i++)
		reduce_program(differing[i]);
	return 0;
}
