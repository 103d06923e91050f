/*
 * test_emu_exec.c - ordinary kernels, as nvcc and clang compile them, on the interpreter: results are
 * compared with the same computation here. Divergence, waiting and faults are in test_emu_warp.c,
 * single instructions in test_emu_ops.c.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "tests/unit/emu_harness.h"

static uint64_t rng;

static uint32_t rnd(void)
{
	rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(rng >> 33) * 2 + (uint32_t)(rng >> 63);
}

/* A test runs on what each compiler made: its state is the file. */
static void start(struct t_gpu *g, void **state)
{
	rng = 1;
	t_gpu_init_file(g, *state);
}

/* Launch with grid and block along x; the arguments' addresses follow. */
#define RUN(g, name, n_blocks, n_threads, ...)                                   \
	assert_int_equal(t_launch(g, &(struct t_launch){.kernel = name,          \
							.grid = {n_blocks},      \
							.block = {n_threads},    \
							.args = {__VA_ARGS__}}), \
			 CUDA_SUCCESS)

/* An array of the device with random elements. */
#define RANDOM(g, type, n) ((type *)random_bytes(g, (n) * sizeof(type)))

static void *random_bytes(struct t_gpu *g, size_t n)
{
	uint8_t *p = t_alloc(g, n);

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(rnd() >> 8);
	return p;
}

static void test_vadd_of_a_partial_last_block_writes_n(void **state)
{
	struct t_gpu g;
	int n = 1000;
	float *a, *b, *c;

	start(&g, state);
	a = t_alloc(&g, 4 * 1000);
	b = t_alloc(&g, 4 * 1000);
	c = t_alloc(&g, 4 * 1024);
	for (int i = 0; i < n; i++) {
		a[i] = (float)i;
		b[i] = 0.25f * (float)(int)rnd();
	}
	RUN(&g, "vadd", 8, 128, &a, &b, &c, &n);
	for (int i = 0; i < n; i++)
		assert_true(c[i] == a[i] + b[i]);
	for (int i = n; i < 1024; i++)
		assert_true(c[i] == 0);
	t_gpu_finish(&g);
}

static void test_saxpy_with_a_grid_stride_covers_all(void **state)
{
	struct t_gpu g;
	int n = 5000;
	float alpha = 0.5f, *x, *y, *was;

	start(&g, state);
	x = t_alloc(&g, 4 * 5000);
	y = t_alloc(&g, 4 * 5000);
	was = t_alloc(&g, 4 * 5000);
	for (int i = 0; i < n; i++) {
		x[i] = (float)(rnd() % 4096);
		y[i] = was[i] = (float)(rnd() % 4096);
	}
	RUN(&g, "saxpy", 3, 96, &n, &alpha, &x, &y);
	for (int i = 0; i < n; i++)
		assert_true(y[i] == alpha * x[i] + was[i]);
	t_gpu_finish(&g);
}

static void test_narrow_types_and_a_struct_by_value(void **state)
{
	struct {
		int64_t mul;
		int32_t add;
		int16_t shift;
		uint8_t flip;
	} s = {-7, 1000, 3, 0x5a};
	struct t_gpu g;
	int n = 333;
	uint8_t *bytes, was8[333];
	int16_t *shorts, was16[333];
	int64_t *longs, was64[333];

	start(&g, state);
	memcpy(was8, RANDOM(&g, uint8_t, 333), sizeof(was8));
	bytes = t_copy(&g, was8, sizeof(was8));
	memcpy(was16, RANDOM(&g, int16_t, 333), sizeof(was16));
	shorts = t_copy(&g, was16, sizeof(was16));
	memcpy(was64, RANDOM(&g, int64_t, 333), sizeof(was64));
	longs = t_copy(&g, was64, sizeof(was64));
	RUN(&g, "scale_mixed", 3, 128, &bytes, &shorts, &longs, &s, &n);
	for (int i = 0; i < n; i++) {
		assert_int_equal(bytes[i], was8[i] ^ s.flip);
		assert_int_equal(shorts[i], (int16_t)((was16[i] + s.add) >> s.shift));
		assert_int_equal((uint64_t)longs[i],
				 (uint64_t)was64[i] * (uint64_t)s.mul + (uint64_t)s.add);
	}
	t_gpu_finish(&g);
}

static void test_matmul_in_tiles_gives_the_products(void **state)
{
	enum { N = 50 };
	struct t_gpu g;
	int n = N;
	float *a, *b, *c;

	start(&g, state);
	a = t_alloc(&g, 4 * N * N);
	b = t_alloc(&g, 4 * N * N);
	c = t_alloc(&g, 4 * N * N);
	for (int i = 0; i < N * N; i++) {
		a[i] = (float)(rnd() % 64);
		b[i] = (float)(rnd() % 64) - 32;
	}
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "matmul",
							 .grid = {4, 4},
							 .block = {16, 16},
							 .args = {&a, &b, &c, &n}}),
			 CUDA_SUCCESS);
	for (int i = 0; i < N * N; i++) {
		float sum = 0;

		for (int k = 0; k < N; k++)
			sum += a[i / N * N + k] * b[k * N + i % N];
		assert_true(c[i] == sum);
	}
	t_gpu_finish(&g);
}

static void test_reduce_by_shuffles_and_by_a_tree(void **state)
{
	struct t_gpu g;
	int n = 10000, *in, *out, *parts;
	int64_t want = 0, sum = 0;

	start(&g, state);
	in = t_alloc(&g, 40000);
	out = t_alloc(&g, 4);
	parts = t_alloc(&g, 4 * 40);
	for (int i = 0; i < n; i++) {
		in[i] = (int)(rnd() % 2000) - 1000;
		want += in[i];
	}
	RUN(&g, "reduce_shfl", 5, 160, &in, &out, &n);
	assert_int_equal(*out, want);
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "reduce_tree",
							 .grid = {40},
							 .block = {256},
							 .smem_bytes = 1024,
							 .args = {&in, &parts, &n}}),
			 CUDA_SUCCESS);
	for (int i = 0; i < 40; i++)
		sum += parts[i];
	assert_int_equal(sum, want);
	t_gpu_finish(&g);
}

static void test_scan_gives_prefix_sums_of_blocks(void **state)
{
	struct t_gpu g;
	int n = 1000, *in, *out, sum = 0;

	start(&g, state);
	in = t_alloc(&g, 4 * 1024);
	out = t_alloc(&g, 4 * 1024);
	for (int i = 0; i < n; i++)
		in[i] = (int)(rnd() % 100);
	RUN(&g, "scan_block", 4, 256, &in, &out, &n);
	for (int i = 0; i < n; i++) {
		sum = i % 256 ? sum + in[i] : in[i];
		assert_int_equal(out[i], sum);
	}
	t_gpu_finish(&g);
}

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void test_bitonic_sorts_each_block(void **state)
{
	struct t_gpu g;
	uint32_t *keys, want[4 * 512];

	start(&g, state);
	keys = RANDOM(&g, uint32_t, 4 * 512);
	memcpy(want, keys, sizeof(want));
	RUN(&g, "bitonic", 4, 256, &keys);
	for (int i = 0; i < 4; i++)
		qsort(want + 512 * i, 512, 4, by_value);
	assert_memory_equal(keys, want, sizeof(want));
	t_gpu_finish(&g);
}

static void test_histogram_counts_every_byte(void **state)
{
	struct t_gpu g;
	int n = 20001;
	uint8_t *in;
	uint32_t *counts, want[256] = {0};

	start(&g, state);
	in = RANDOM(&g, uint8_t, 20001);
	counts = t_alloc(&g, 1024);
	for (int i = 0; i < n; i++)
		want[in[i]]++;
	RUN(&g, "histogram", 3, 192, &in, &counts, &n);
	assert_memory_equal(counts, want, sizeof(want));
	t_gpu_finish(&g);
}

static uint32_t reversed(uint32_t v)
{
	uint32_t r = 0;

	for (int i = 0; i < 32; i++)
		r |= (v >> i & 1) << (31 - i);
	return r;
}

static void test_bits_are_counted_and_shifted(void **state)
{
	struct t_gpu g;
	int n = 300;
	uint32_t *in, *out;
	uint64_t *in64, *out64;

	start(&g, state);
	in = RANDOM(&g, uint32_t, 300);
	in[7] = 0;
	in64 = RANDOM(&g, uint64_t, 300);
	out = t_alloc(&g, 1200);
	out64 = t_alloc(&g, 2400);
	RUN(&g, "bits", 3, 128, &in, &out, &in64, &out64, &n);
	for (int i = 0; i < n; i++) {
		uint32_t v = in[i], want;
		uint64_t w = in64[i];

		want = (uint32_t)__builtin_popcount(v) + (v ? (uint32_t)__builtin_clz(v) : 32) +
		       (v << 7 | v >> 25) + (v >> 5 & 0x3ff);
		assert_int_equal(out[i], want ^ reversed(v));
		assert_int_equal(out64[i], w << v % 64 ^ w >> v % 61 ^ (w << 1 | v >> 31));
	}
	t_gpu_finish(&g);
}

static void test_wide_products_have_all_bits(void **state)
{
	struct t_gpu g;
	int n = 200;
	uint64_t *a, *b, *lo, *hi;
	int64_t *out;

	start(&g, state);
	a = RANDOM(&g, uint64_t, 200);
	b = RANDOM(&g, uint64_t, 200);
	lo = t_alloc(&g, 1600);
	hi = t_alloc(&g, 1600);
	out = t_alloc(&g, 3200);
	RUN(&g, "mul_wide", 2, 128, &a, &b, &lo, &hi, &n);
	RUN(&g, "dot128", 2, 128, &a, &b, &out, &n);
	for (int i = 0; i < n; i++) {
		unsigned __int128 p = (unsigned __int128)a[i] * b[i];
		__int128 x = (int64_t)a[i], y = (int64_t)b[i];
		unsigned __int128 s = (unsigned __int128)(x * y) + (unsigned __int128)(y * y) -
				      (unsigned __int128)x;

		assert_int_equal(lo[i], (uint64_t)p);
		assert_int_equal(hi[i], (uint64_t)(p >> 64));
		assert_int_equal(out[2 * i], (int64_t)s);
		assert_int_equal(out[2 * i + 1], (int64_t)(s >> 64));
	}
	t_gpu_finish(&g);
}

static void test_divisions_by_data_and_by_constants(void **state)
{
	struct t_gpu g;
	int n = 300, *a, *b, *q, *r, *days, *y, *m, *d;
	uint64_t *c, *e, *q64, *r64;

	start(&g, state);
	a = RANDOM(&g, int, 300);
	b = RANDOM(&g, int, 300);
	c = RANDOM(&g, uint64_t, 300);
	e = RANDOM(&g, uint64_t, 300);
	q = t_alloc(&g, 1200);
	r = t_alloc(&g, 1200);
	q64 = t_alloc(&g, 2400);
	r64 = t_alloc(&g, 2400);
	for (int i = 0; i < n; i++) {
		b[i] >>= i % 31;
		b[i] += b[i] == 0;
		e[i] = (e[i] >> i % 63) | 1;
	}
	RUN(&g, "divmod", 3, 128, &a, &b, &q, &r, &c, &e, &q64, &r64, &n);
	for (int i = 0; i < n; i++) {
		assert_int_equal(q[i], (int64_t)a[i] / b[i]);
		assert_int_equal(r[i], (int64_t)a[i] % b[i]);
		assert_int_equal(q64[i], c[i] / e[i]);
		assert_int_equal(r64[i], c[i] % e[i]);
	}
	days = t_alloc(&g, 1200);
	y = t_alloc(&g, 1200);
	m = t_alloc(&g, 1200);
	d = t_alloc(&g, 1200);
	days[1] = 59;	 /* 1 March 1970 */
	days[2] = 19782; /* 29 February 2024 */
	RUN(&g, "date_parts", 3, 128, &days, &y, &m, &d, &n);
	assert_int_equal(y[0] * 10000 + m[0] * 100 + d[0], 19700101);
	assert_int_equal(y[1] * 10000 + m[1] * 100 + d[1], 19700301);
	assert_int_equal(y[2] * 10000 + m[2] * 100 + d[2], 20240229);
	t_gpu_finish(&g);
}

static int32_t fib(int32_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static uint32_t ackermann(uint32_t m, uint32_t n)
{
	if (m == 0)
		return n + 1;
	return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

static void test_calls_direct_recursive_and_indirect(void **state)
{
	struct t_gpu g;
	int n = 100, *a, *b, *out, *which;

	start(&g, state);
	a = RANDOM(&g, int, 100);
	b = RANDOM(&g, int, 100);
	which = t_alloc(&g, 400);
	out = t_alloc(&g, 400);
	for (int i = 0; i < n; i++)
		which[i] = (int)(rnd() % 3);
	RUN(&g, "call_direct", 2, 64, &a, &out, &n);
	for (int i = 0; i < n; i++)
		assert_int_equal((uint32_t)out[i], (uint32_t)a[i] + 3u * (uint32_t)i +
							   ((uint32_t)i + (uint32_t)a[i]));
	RUN(&g, "call_recursive", 2, 64, &out, &n);
	for (int i = 0; i < n; i++)
		assert_int_equal(out[i],
				 fib(i % 12) + (int)ackermann((uint32_t)i % 3, (uint32_t)i % 4));
	RUN(&g, "call_indirect", 2, 64, &which, &a, &b, &out, &n);
	for (int i = 0; i < n; i++) {
		uint32_t x = (uint32_t)a[i], y = (uint32_t)b[i];

		assert_int_equal((uint32_t)out[i], which[i] == 0   ? x + y
						   : which[i] == 1 ? x - y
								   : x ^ y);
	}
	t_gpu_finish(&g);
}

static void test_local_arrays_sort_and_go_by_address(void **state)
{
	struct t_gpu g;
	int n = 70, *io, *out, *was;

	start(&g, state);
	io = RANDOM(&g, int, 70 * 24);
	RUN(&g, "local_sort", 3, 32, &io, &n);
	for (int i = 0; i < n * 24; i++)
		assert_true(i % 24 == 0 || io[i - 1] <= io[i]);
	out = RANDOM(&g, int, 70);
	was = t_copy(&g, out, 280);
	RUN(&g, "local_by_address", 3, 32, &out, &n);
	for (int i = 0; i < n; i++)
		assert_int_equal(out[i], i * (int)((uint32_t)was[i] % 16));
	t_gpu_finish(&g);
}

static void test_globals_are_initialised_and_shared_by_launches(void **state)
{
	static const float weights[4] = {0.5f, 1.0f, -2.0f, 0.25f};
	static const int codes[5] = {1, 2, 65535, 4, 0};
	static const char greeting[] = "hello";
	struct t_gpu g;
	int n = 60, *out, *count;
	float *fout;

	start(&g, state);
	out = t_alloc(&g, 240);
	fout = t_alloc(&g, 240);
	count = t_alloc(&g, 4);
	((int *)t_var(&g, "table"))[3] = 100;
	RUN(&g, "use_globals", 2, 64, &out, &fout, &n);
	for (int i = 0; i < n; i++) {
		assert_true(fout[i] == weights[i % 4] - 1.5f);
		assert_int_equal(out[i], (i % 8 == 3 ? 100 : 0) + codes[i % 5] + i % 6 * (i % 6) +
						 greeting[i % 6]);
	}
	RUN(&g, "read_counter", 1, 1, &count);
	assert_int_equal(*count, 5 + n);
	t_gpu_finish(&g);
}

static void test_globals_point_to_each_other(void **state)
{
	struct t_gpu g;
	int n = 8, *out;
	float *fout;

	start(&g, state);
	out = t_alloc(&g, 32);
	fout = t_alloc(&g, 32);
	RUN(&g, "use_pointers", 1, 32, &out, &fout, &n);
	for (int i = 0; i < n; i++) {
		int two = i % 4 + 2;

		assert_true(fout[i] == (i % 2 ? 2.5f : 1.0f));
		assert_int_equal(out[i], two * two + 'a' + i % 2 + (i % 2 ? 25 : 0));
	}
	t_gpu_finish(&g);
}

static void test_floats_are_exact_where_each_step_rounds_once(void **state)
{
	struct t_gpu g;
	int n = 200;
	float *x, *y;
	double *u, *v;

	start(&g, state);
	x = t_alloc(&g, 800);
	y = t_alloc(&g, 800);
	u = t_alloc(&g, 1600);
	v = t_alloc(&g, 1600);
	for (int i = 0; i < n; i++) {
		x[i] = (float)(int)rnd() / 65536;
		u[i] = (double)(int)rnd() / 977;
	}
	RUN(&g, "fma_poly", 2, 128, &x, &y, &u, &v, &n);
	for (int i = 0; i < n; i++) {
		float f = fmaf(fmaf(fmaf(0.25f, x[i], 1.5f), x[i], -3.0f), x[i], 0.125f);
		double d = fma(fma(0.1, u[i], 2.5), u[i], -1e-3);
		float f1 = ((0.25f * x[i] + 1.5f) * x[i] - 3.0f) * x[i] + 0.125f;
		double d1 = (0.1 * u[i] + 2.5) * u[i] - 1e-3;

		/* A compiler may fuse or not, but not give anything else. */
		assert_true(y[i] == f || y[i] == f1);
		assert_true(v[i] == d || v[i] == d1);
	}
	t_gpu_finish(&g);
}

static void test_conversions_saturate(void **state)
{
	static const float in[] = {0,	 -0.0f, 1.9f,	  -1.9f,     3e9f,  -3e9f,
				   5e9f, NAN,	INFINITY, -INFINITY, 255.5f};
	static const int i32[] = {0,	     0, 1,	   -1,	      INT32_MAX, INT32_MIN,
				  INT32_MAX, 0, INT32_MAX, INT32_MIN, 255};
	static const uint32_t u32[] = {0,	   0, 1,	  0, 3000000000u, 0,
				       UINT32_MAX, 0, UINT32_MAX, 0, 255};
	struct t_gpu g;
	int n = (int)GSB_ARRAY_LEN(in), *ints;
	float *x;
	uint32_t *uints;
	double *d;
	int64_t *longs;
	uint8_t *bytes;

	start(&g, state);
	x = t_copy(&g, in, sizeof(in));
	ints = t_alloc(&g, 64);
	uints = t_alloc(&g, 64);
	d = t_alloc(&g, 128);
	longs = t_alloc(&g, 128);
	bytes = t_alloc(&g, 64);
	RUN(&g, "convert", 1, 32, &x, &ints, &uints, &d, &longs, &bytes, &n);
	for (int i = 0; i < n; i++) {
		assert_int_equal(ints[i], i32[i]);
		assert_int_equal(uints[i], u32[i]);
		assert_true(d[i] == (double)in[i] + i32[i] || d[i] != d[i]);
		assert_int_equal(bytes[i], (uint8_t)i32[i]);
	}
	assert_int_equal(longs[7], INT64_MIN); /* NaN */
	assert_int_equal(longs[8], INT64_MAX);
	assert_int_equal(longs[9], INT64_MIN);
	assert_int_equal(longs[4], 3000000000 + INT32_MAX);
	t_gpu_finish(&g);
}

static void test_comparisons_know_nan(void **state)
{
	static const float in[] = {0, -0.0f, 1, -1, NAN, INFINITY};
	enum { N = GSB_ARRAY_LEN(in) };
	struct t_gpu g;
	int n = N * N, *out;
	float *a, *b;

	start(&g, state);
	a = t_alloc(&g, 4 * N * N);
	b = t_alloc(&g, 4 * N * N);
	out = t_alloc(&g, 4 * N * N);
	for (int i = 0; i < n; i++) {
		a[i] = in[i / N];
		b[i] = in[i % N];
	}
	RUN(&g, "compare", 2, 32, &a, &b, &out, &n);
	for (int i = 0; i < n; i++)
		assert_int_equal(out[i], (a[i] < b[i]) | (a[i] <= b[i]) << 1 | (a[i] == b[i]) << 2 |
						 (a[i] != b[i]) << 3 | !(a[i] > b[i]) << 4);
	t_gpu_finish(&g);
}

static bool near(double got, double want, double relative)
{
	return fabs(got - want) <= relative * fabs(want) || (got != got && want != want);
}

static void test_library_mathematics_is_near(void **state)
{
	struct t_gpu g;
	int n = 100;
	float *x, *y;
	double *u, *v, *was;

	start(&g, state);
	x = t_alloc(&g, 400);
	y = t_alloc(&g, 400);
	u = t_alloc(&g, 800);
	v = t_alloc(&g, 800);
	for (int i = 0; i < n; i++) {
		x[i] = 0.05f * (float)(i + 1);
		u[i] = 0.37 * (i + 1);
		v[i] = 1.5 + i;
	}
	was = t_copy(&g, v, 800);
	RUN(&g, "transcendental", 4, 32, &x, &y, &u, &v, &n);
	for (int i = 0; i < n; i++) {
		double f = x[i], d = u[i];

		f = sin(f) + cos(f) * exp(f) + log(f) + exp(f) + 1 / sqrt(f) + pow(f, 1.5) +
		    tanh(f);
		d = sin(d) + exp(d) + log(d) + pow(d, 0.3) + d / was[i] + sqrt(d);
		assert_true(near(y[i], f, 1e-5));
		assert_true(near(v[i], d, 1e-14));
	}
	t_gpu_finish(&g);
}

static void test_printf_takes_every_kind_of_argument(void **state)
{
	struct t_gpu g;
	int n = 3, *in;
	char want[1024];
	size_t len = 0;

	start(&g, state);
	in = t_alloc(&g, 12);
	for (int i = 0; i < n; i++) {
		in[i] = i * 1000 - 1;
		len += (size_t)snprintf(want + len, sizeof(want) - len,
					"%d: %5d %c %s %.3f %llx %%\n", i, in[i], 'a' + i, "word",
					in[i] * 0.5,
					(unsigned long long)((uint64_t)(int64_t)in[i] << 33));
	}
	snprintf(want + len, sizeof(want) - len, "no arguments\n");
	RUN(&g, "say", 1, 32, &in, &n);
	assert_string_equal(g.printed, want);
	t_gpu_finish(&g);
}

static void test_atomics_of_32_bits(void **state)
{
	struct t_gpu g;
	int n = 500;
	uint32_t *in, *cell, sum = 0, low = UINT32_MAX, high = 0, or = 0, xor = 0, and = UINT32_MAX;
	int32_t slow = INT32_MAX, shigh = INT32_MIN;
	float f = 0;

	start(&g, state);
	in = RANDOM(&g, uint32_t, 500);
	cell = t_alloc(&g, 4 * (16 + 512));
	cell[2] = UINT32_MAX;
	cell[4] = INT32_MAX;
	cell[5] = (uint32_t)INT32_MIN;
	cell[6] = UINT32_MAX;
	cell[12] = 1;
	for (int i = 0; i < n; i++) {
		sum += in[i];
		low = in[i] < low ? in[i] : low;
		high = in[i] > high ? in[i] : high;
		slow = (int32_t)in[i] < slow ? (int32_t)in[i] : slow;
		shigh = (int32_t)in[i] > shigh ? (int32_t)in[i] : shigh;
		and &= in[i] | 0xff;
		or |= in[i];
		xor ^= in[i];
	}
	RUN(&g, "atomics32", 4, 128, &cell, &in, &n);
	assert_int_equal(cell[0], sum);
	assert_int_equal(cell[1], 0 - sum);
	assert_int_equal(cell[2], low);
	assert_int_equal(cell[3], high);
	assert_int_equal((int32_t)cell[4], slow);
	assert_int_equal((int32_t)cell[5], shigh);
	assert_int_equal(cell[6], and);
	assert_int_equal(cell[7], or);
	assert_int_equal(cell[8], xor);
	assert_int_equal(cell[9], 500 % 101);
	assert_int_equal(cell[10], (101 - 500 % 101) % 101);
	memcpy(&f, &cell[11], 4);
	assert_true(f == 1000);
	for (int i = 0; i < n; i++)
		assert_int_equal(cell[16 + i], 1);
	t_gpu_finish(&g);
}

static void test_atomics_of_64_bits(void **state)
{
	struct t_gpu g;
	int n = 300;
	uint64_t *in, *cell, sum = 0, low = UINT64_MAX, or = 0;
	int64_t high = INT64_MIN;
	double d;

	start(&g, state);
	in = RANDOM(&g, uint64_t, 300);
	cell = t_alloc(&g, 64);
	cell[1] = UINT64_MAX;
	cell[2] = (uint64_t)INT64_MIN;
	for (int i = 0; i < n; i++) {
		sum += in[i];
		low = in[i] < low ? in[i] : low;
		high = (int64_t)in[i] > high ? (int64_t)in[i] : high;
		or |= in[i];
	}
	RUN(&g, "atomics64", 3, 128, &cell, &in, &n);
	assert_int_equal(cell[0], sum);
	assert_int_equal(cell[1], low);
	assert_int_equal((int64_t)cell[2], high);
	assert_int_equal(cell[3], or);
	memcpy(&d, &cell[4], 8);
	assert_true(d == 150);
	assert_int_equal(cell[5], sum);
	t_gpu_finish(&g);
}

static void test_switch_takes_each_arm(void **state)
{
	struct t_gpu g;
	int n = 13 * 9, *op, *io, was[13 * 9];

	start(&g, state);
	op = t_alloc(&g, sizeof(was));
	io = t_alloc(&g, sizeof(was));
	for (int i = 0; i < n; i++) {
		op[i] = i % 13;
		io[i] = was[i] = i % 3 ? (int)(rnd() % 10000) - 3000 : 5;
	}
	RUN(&g, "switch_dense", 4, 32, &op, &io, &n);
	for (int i = 0; i < n; i++) {
		int v = was[i];

		switch (op[i]) {
		case 0: v += 7; break;
		case 1: v *= v; break;
		case 2: v = v > 1000 ? v : 1000; break;
		case 3:
			for (int k = 0; k < v % 5; k++)
				v = (int)((uint32_t)v * 31 + (uint32_t)k);
			v -= 13;
			break;
		case 4: v -= 13; break;
		case 5: v = -v; break;
		case 6: v /= 7; break;
		case 7: v = v == 5 ? 6 : v; break;
		case 8: v = v * 31 + 100; break;
		case 9: v -= 4; break;
		case 10: v ^= 0x1234; break;
		case 11: v = __builtin_popcount((unsigned int)v); break;
		default: v = -1;
		}
		assert_int_equal(io[i], v);
	}
	t_gpu_finish(&g);
}

/* Written by hand: what compilers do not emit. */
static void test_branch_table_goes_to_each_label(void **state)
{
	struct t_gpu g;
	uint32_t n = 64, *op, *io, was[64];

	start(&g, state);
	op = t_alloc(&g, 256);
	io = t_alloc(&g, 256);
	for (uint32_t i = 0; i < n; i++) {
		op[i] = rnd() % 6;
		io[i] = was[i] = rnd();
	}
	RUN(&g, "brx", 2, 32, &op, &io, &n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = was[i];

		v = op[i] == 0 ? v + 100 : op[i] == 1 ? v * v : op[i] == 2 ? ~v ^ 0x55 : v ^ 0x55;
		assert_int_equal(io[i], v);
	}
	t_gpu_finish(&g);
}

static void test_indirect_calls_by_prototype_and_by_list(void **state)
{
	struct t_gpu g;
	int *io;

	start(&g, state);
	io = t_alloc(&g, 128);
	RUN(&g, "indirect", 1, 32, &io);
	for (int i = 0; i < 32; i++)
		assert_int_equal(io[i], 2 * (i % 2 ? i + 7 : i - 7));
	t_gpu_finish(&g);
}

static void test_named_barriers_hand_over(void **state)
{
	struct t_gpu g;
	uint32_t *io;

	start(&g, state);
	io = t_alloc(&g, 256);
	RUN(&g, "named_barriers", 1, 64, &io);
	for (int i = 0; i < 64; i++)
		assert_int_equal(io[i], 256 + 1); /* one lane has 31 > 30; others have not */
	t_gpu_finish(&g);
}

static void test_constants_and_vectors(void **state)
{
	struct t_gpu g;
	uint32_t *io;

	start(&g, state);
	io = (uint32_t *)t_alloc(&g, 64) + 2; /* 8 bytes further on it stores 16 */
	RUN(&g, "constants", 1, 1, &io);
	assert_int_equal(io[0], 7);
	assert_int_equal(io[1], 0x40300000); /* 2.75f */
	assert_int_equal((int)io[2], -1);
	assert_int_equal((int)io[3], -1);
	assert_int_equal(io[4], 0x40300000);
	assert_int_equal(io[5], 9);
	t_gpu_finish(&g);
}

#define FILE_OF(name, compiler) (void *)(uintptr_t)("tests/ptx/" name "." compiler ".ptx")
#define NVCC(test, file)                                                 \
	{                                                                \
#test " [nvcc]", test, NULL, NULL, FILE_OF(file, "nvcc") \
	}
#define CLANG(test, file)                                                  \
	{                                                                  \
#test " [clang]", test, NULL, NULL, FILE_OF(file, "clang") \
	}
#define HAND(test)                                                                    \
	{                                                                             \
#test, test, NULL, NULL, (void *)(uintptr_t) "tests/ptx/hand_brx.ptx" \
	}

#define BOTH(test, file) NVCC(test, file), CLANG(test, file)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_vadd_of_a_partial_last_block_writes_n, "vadd"),
		BOTH(test_saxpy_with_a_grid_stride_covers_all, "vadd"),
		BOTH(test_narrow_types_and_a_struct_by_value, "vadd"),
		BOTH(test_matmul_in_tiles_gives_the_products, "matmul"),
		BOTH(test_reduce_by_shuffles_and_by_a_tree, "reduce"),
		BOTH(test_scan_gives_prefix_sums_of_blocks, "scan"),
		BOTH(test_bitonic_sorts_each_block, "bitonic"),
		BOTH(test_histogram_counts_every_byte, "histogram"),
		BOTH(test_bits_are_counted_and_shifted, "bits"),
		BOTH(test_wide_products_have_all_bits, "muldiv"),
		BOTH(test_divisions_by_data_and_by_constants, "muldiv"),
		BOTH(test_calls_direct_recursive_and_indirect, "calls"),
		BOTH(test_local_arrays_sort_and_go_by_address, "local"),
		BOTH(test_globals_are_initialised_and_shared_by_launches, "globals"),
		NVCC(test_globals_point_to_each_other, "globals"),
		BOTH(test_floats_are_exact_where_each_step_rounds_once, "fmath"),
		BOTH(test_conversions_saturate, "fmath"),
		BOTH(test_comparisons_know_nan, "fmath"),
		NVCC(test_library_mathematics_is_near, "fmath"),
		NVCC(test_printf_takes_every_kind_of_argument, "print"),
		NVCC(test_atomics_of_32_bits, "atomics"),
		NVCC(test_atomics_of_64_bits, "atomics"),
		BOTH(test_switch_takes_each_arm, "switch"),
		HAND(test_branch_table_goes_to_each_label),
		HAND(test_indirect_calls_by_prototype_and_by_list),
		HAND(test_named_barriers_hand_over),
		HAND(test_constants_and_vectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
