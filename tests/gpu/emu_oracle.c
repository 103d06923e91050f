/*
 * emu_oracle.c - the interpreter held against a real GPU: the rows of emu_ops.def and ordinary kernels run on
 * both, from the same PTX and the same bytes, and every result that is not the same bits is told.
 *
 * A row runs on its edge values and on random ones. What differs is sorted: another NaN pattern, another
 * value. For approximations the largest distance in units of the last place is printed, since a table in
 * hardware and a library function need not round alike. The C reference of the unit tests is held against
 * the GPU as well: it is what keeps the interpreter right where no GPU is.
 *
 * Usage: emu_oracle [EXAMPLES]: so many differing results are printed per run of a row. Needs to be started where
 * tests/ptx lies, or with srcdir set; without a driver it exits 77.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "gpu.h"
#include "tests/unit/emu_harness.h"
#include "tests/unit/emu_rows.h"

#define N_RANDOM     16384	/* values of a row; whole blocks of T_ROW_THREADS */
#define BUFFER_BYTES (1u << 18) /* of an array of an ordinary kernel: 65 words a thread */
#define LOG_BYTES    1024

static uint64_t rng = 1;
static unsigned long n_examples = 4;
static struct {
	unsigned int n_rows, n_refused, n_near, n_differ, n_nan_only, n_reference, n_kernels,
		n_kernels_differ;
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
	uint64_t n, n_values, n_nans, n_reference;
	uint64_t max_ulp;
	double max_off; /* the largest difference */
	union t_value ulp_at;
};

/* Every second one is of a size that programs compute with: bits alone are mostly huge or tiny, and seldom NaNs. */
static union t_value random_value(enum t_type t)
{
	uint64_t bits = rnd();
	union t_value v = {.u64 = bits};

	if (t_types[t].is_float && (bits >> 8 & 31) == 0)
		v.u64 |= t == T_F32 ? 0x7f800000 : UINT64_C(0x7ff) << 52;
	else if (bits & 1)
		return v;
	else if (t == T_F32)
		v.f32 = ldexpf((float)((int64_t)bits >> 32), (int)(bits >> 1 & 31) - 47);
	else if (t == T_F64)
		v.f64 = ldexp((double)(int64_t)bits, (int)(bits >> 1 & 31) - 79);
	else
		v.u64 = (bits >> 8 & 1 ? bits : ~bits) >> (bits >> 1 & 63);
	return v;
}

static void fill_random(const struct t_row *r, void *const column[4])
{
	for (uint32_t i = 0; i < N_RANDOM; i++) {
		for (int k = 1; k < 4; k++) {
			union t_value v = random_value(r->type[k]);
			unsigned int bytes = t_types[r->type[k]].bytes;

			memcpy((char *)column[k] + (size_t)i * bytes, &v, bytes);
		}
	}
}

static bool is_nan(enum t_type t, union t_value v)
{
	return (t == T_F32 && isnan(v.f32)) || (t == T_F64 && isnan(v.f64));
}

static double real(enum t_type t, union t_value v)
{
	return t == T_F32 ? (double)v.f32 : v.f64;
}

/* Floats in the order of their values: the distance counts those between. */
static uint64_t ulps(enum t_type t, union t_value p, union t_value q)
{
	int64_t i = t == T_F32 ? p.s32 : p.s64, j = t == T_F32 ? q.s32 : q.s64;
	int64_t low = t == T_F32 ? INT32_MIN : INT64_MIN;

	i = i < 0 ? (int64_t)((uint64_t)low - (uint64_t)i) : i;
	j = j < 0 ? (int64_t)((uint64_t)low - (uint64_t)j) : j;
	return i > j ? (uint64_t)i - (uint64_t)j : (uint64_t)j - (uint64_t)i;
}

static void note(const struct t_row *r, struct outcome *o, const union t_value v[4],
		 union t_value ours)
{
	enum t_type t = r->type[0];
	union t_value want = {.u64 = 0};
	bool nans = is_nan(t, v[0]) && is_nan(t, ours), differ = v[0].u64 != ours.u64;
	bool is_float = t_types[t].is_float && !is_nan(t, v[0]) && !is_nan(t, ours);

	r->expect(&v[1], &v[2], &v[3], &want);
	o->n_reference += !t_row_agrees(r, &v[0], &want);
	o->n++;
	if (!differ)
		return;
	o->n_nans += nans;
	o->n_values += !nans;
	if (!is_float)
		return;
	if (ulps(t, v[0], ours) > o->max_ulp) {
		o->max_ulp = ulps(t, v[0], ours);
		o->ulp_at = v[1];
	}
	o->max_off = fmax(o->max_off, fabs(real(t, v[0]) - real(t, ours)));
}

/* Runs a kernel of n values on both; @theirs gets what the GPU gave. */
static void run_both(struct t_gpu *g, CUmodule module, const char *kernel, void *const column[4],
		     uint32_t n, void *theirs)
{
	size_t bytes = sizeof(union t_value) * n;
	CUdeviceptr on_gpu[4];
	void *args[] = {&on_gpu[0], &on_gpu[1], &on_gpu[2], &on_gpu[3]};
	struct t_launch l = {.kernel = kernel,
			     .grid = {n / T_ROW_THREADS},
			     .block = {T_ROW_THREADS},
			     .args = {&column[0], &column[1], &column[2], &column[3]}};

	memset(column[0], 0xa5, bytes);
	for (int k = 0; k < 4; k++)
		on_gpu[k] = gpu_copy_in(column[k], bytes);
	gpu_call(module,
		 &(struct gpu_call){kernel, {n / T_ROW_THREADS, 1}, {T_ROW_THREADS, 1}, 0, args});
	gpu_copy_out(theirs, on_gpu[0], bytes);
	for (int k = 1; k < 4; k++)
		gpu_free(on_gpu[k]);
	if (t_launch(g, &l)) {
		fprintf(stderr, "emu_oracle: %s: %s\n", kernel, g->fault.text);
		exit(1);
	}
}

static struct outcome compare(const struct t_row *r, void *const column[4], const void *theirs,
			      uint32_t n)
{
	struct outcome o = {0};

	for (uint32_t i = 0; i < n; i++) {
		union t_value v[4] = {t_row_at(r, theirs, 0, i)};

		for (unsigned int k = 1; k < 4; k++)
			v[k] = t_row_at(r, column[k], k, i);
		note(r, &o, v, t_row_at(r, column[0], 0, i));
	}
	return o;
}

/* The first results that differ, those of other values apart from NaNs. */
static void show(const struct t_row *r, void *const column[4], const void *theirs, uint32_t n)
{
	unsigned long left[2] = {n_examples, n_examples};

	for (uint32_t i = 0; i < n && (left[0] || left[1]); i++) {
		union t_value gpu = t_row_at(r, theirs, 0, i), ours = t_row_at(r, column[0], 0, i);
		bool nans = is_nan(r->type[0], gpu) && is_nan(r->type[0], ours);

		if (gpu.u64 == ours.u64 || !left[nans])
			continue;
		left[nans]--;
		printf("\ta 0x%" PRIx64 " b 0x%" PRIx64 " c 0x%" PRIx64 ": gpu 0x%" PRIx64
		       " ours 0x%" PRIx64 "\n",
		       t_row_at(r, column[1], 1, i).u64, t_row_at(r, column[2], 2, i).u64,
		       t_row_at(r, column[3], 3, i).u64, gpu.u64, ours.u64);
	}
}

static void tell(const struct t_row *r, const char *run, const struct outcome *o)
{
	total.n_results += o->n;
	total.n_values += o->n_values;
	total.n_nans += o->n_nans;
	if (!o->n_values && !o->n_nans && !o->n_reference)
		return;
	printf("%s [%s]: of %" PRIu64 ": values %" PRIu64 ", NaN patterns %" PRIu64
	       ", not as the reference %" PRIu64,
	       r->text, run, o->n, o->n_values, o->n_nans, o->n_reference);
	if (o->max_ulp)
		printf("; at most %" PRIu64 " ulp (a 0x%" PRIx64 "), %.3g", o->max_ulp,
		       o->ulp_at.u64, o->max_off);
	putchar('\n');
}

static void run_row(const struct t_row *r)
{
	static const char *const runs[] = {"full", "split", "random"};
	char text[T_TEXT_BYTES], log[LOG_BYTES];
	struct outcome o, all = {0};
	void *column[4], *theirs;
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
	for (int k = 0; k < 4; k++)
		column[k] = t_alloc(&g, sizeof(union t_value) * N_RANDOM);
	theirs = t_alloc(&g, sizeof(union t_value) * N_RANDOM);
	t_row_fill_edges(r, column);
	for (int i = 0; i < 3; i++) {
		uint32_t n = i == 2 ? N_RANDOM : t_n_edges;

		if (i == 2)
			fill_random(r, column);
		run_both(&g, module, runs[i == 1], column, n, theirs);
		o = compare(r, column, theirs, n);
		tell(r, runs[i], &o);
		show(r, column, theirs, n);
		all.n_values += o.n_values;
		all.n_nans += o.n_nans;
		all.n_reference += o.n_reference;
	}
	total.n_near += r->near && all.n_values;
	total.n_differ += !r->near && all.n_values;
	total.n_nan_only += !all.n_values && all.n_nans;
	total.n_reference += !r->near && all.n_reference;
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

int main(int argc, char **argv)
{
	if (argc > 1)
		n_examples = strtoul(argv[1], NULL, 10);
	gpu_start("");
	for (size_t i = 0; i < t_n_rows; i++)
		run_row(&t_rows[i]);
	for (size_t i = 0; i < GSB_ARRAY_LEN(kernels); i++)
		run_kernel(&kernels[i]);
	printf("# %u rows: %u refused, %u approximations differ, %u others differ, %u in NaN patterns only; "
	       "%u of the others are not as the reference\n",
	       total.n_rows, total.n_refused, total.n_near, total.n_differ, total.n_nan_only,
	       total.n_reference);
	printf("# %" PRIu64 " results: %" PRIu64 " other values, %" PRIu64 " other NaN patterns\n",
	       total.n_results, total.n_values, total.n_nans);
	printf("# %u kernels: %u differ\n", total.n_kernels, total.n_kernels_differ);
	return 0;
}
