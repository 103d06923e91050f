/*
 * test_emu_half.c - kernels of half precision, bfloat and dynamic programming, as nvcc compiles them for sm_90. What
 * they should give is found without arithmetic of that kind: a result is the encoding nearest to an exact value.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
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

static void start(struct t_gpu *g, const char *path)
{
	rng = 1;
	t_gpu_init_file(g, path);
}

/* Launch with grid and block along x; the arguments' addresses follow. */
#define RUN(g, name, n_blocks, n_threads, ...)                                   \
	assert_int_equal(t_launch(g, &(struct t_launch){.kernel = name,          \
							.grid = {n_blocks},      \
							.block = {n_threads},    \
							.args = {__VA_ARGS__}}), \
			 CUDA_SUCCESS)

#define HALF   10, 15 /* bits of fraction, bias */
#define BFLOAT 7, 127

/* Exact, and finite for what is not a number too, so that encodings are in the order of values. */
static double value_of(uint16_t bits, unsigned int n_man, int bias)
{
	int exp = bits >> n_man & (0x7fff >> n_man);
	double man = bits & ((1u << n_man) - 1);
	double mag = exp ? ldexp(man + (1 << n_man), exp - bias - (int)n_man)
			 : ldexp(man, 1 - bias - (int)n_man);

	return bits >> 15 ? -mag : mag;
}

/* The nearer of the two around an exact value; of two as near the even one. */
static uint16_t nearest(__float128 v, unsigned int n_man, int bias)
{
	__float128 mag = v < 0 ? -v : v, down, up;
	uint16_t low = 0, high = 0x7fff;

	while (high - low > 1) {
		uint16_t middle = (uint16_t)((low + high) / 2);

		if (value_of(middle, n_man, bias) <= mag)
			low = middle;
		else
			high = middle;
	}
	down = mag - value_of(low, n_man, bias);
	up = value_of(high, n_man, bias) - mag;
	return (uint16_t)((up < down || (up == down && low & 1) ? high : low) | (v < 0) << 15);
}

/* Of ordinary size, either sign; @n_man bits of fraction. */
static uint16_t ordinary(unsigned int n_man, int bias)
{
	return (uint16_t)((rnd() & 1) << 15 | ((uint32_t)bias - 4 + rnd() % 8) << n_man |
			  (rnd() & ((1u << n_man) - 1)));
}

static void test_half_axpy_rounds_once(void **state)
{
	enum { N = 700 };
	uint32_t *x, *y, was[N], a;
	int n = N;
	struct t_gpu g;

	start(&g, "tests/ptx/half.nvcc.ptx");
	x = t_alloc(&g, 4 * N);
	y = t_alloc(&g, 4 * N);
	a = ordinary(HALF) | (uint32_t)ordinary(HALF) << 16;
	for (int i = 0; i < N; i++) {
		x[i] = ordinary(HALF) | (uint32_t)ordinary(HALF) << 16;
		was[i] = y[i] = ordinary(HALF) | (uint32_t)ordinary(HALF) << 16;
	}
	RUN(&g, "half_axpy", 6, 128, &a, &x, &y, &n);
	for (int i = 0; i < 2 * N; i++) {
		const uint16_t *as = (void *)&a, *xs = (void *)x, *ys = (void *)y,
			       *ws = (void *)was;
		__float128 exact = (__float128)value_of(as[i % 2], HALF) * value_of(xs[i], HALF) +
				   value_of(ws[i], HALF);

		assert_int_equal(ys[i], nearest(exact, HALF));
	}
	t_gpu_finish(&g);
}

static void test_bfloat_axpy_rounds_once_and_cuts_what_is_negative(void **state)
{
	enum { N = 700 };
	uint32_t *x, *y, was[N], a;
	int n = N;
	struct t_gpu g;

	start(&g, "tests/ptx/half.nvcc.ptx");
	x = t_alloc(&g, 4 * N);
	y = t_alloc(&g, 4 * N);
	a = ordinary(BFLOAT) | (uint32_t)ordinary(BFLOAT) << 16;
	for (int i = 0; i < N; i++) {
		x[i] = ordinary(BFLOAT) | (uint32_t)ordinary(BFLOAT) << 16;
		was[i] = y[i] = ordinary(BFLOAT) | (uint32_t)ordinary(BFLOAT) << 16;
	}
	RUN(&g, "bfloat_axpy", 6, 128, &a, &x, &y, &n);
	for (int i = 0; i < 2 * N; i++) {
		const uint16_t *as = (void *)&a, *xs = (void *)x, *ys = (void *)y,
			       *ws = (void *)was;
		__float128 exact =
			(__float128)value_of(as[i % 2], BFLOAT) * value_of(xs[i], BFLOAT) +
			value_of(ws[i], BFLOAT);

		assert_int_equal(ys[i], exact > 0 ? nearest(exact, BFLOAT) : 0);
	}
	t_gpu_finish(&g);
}

static void test_half_filter_counts_keeps_and_scales(void **state)
{
	enum { N = 333 };
	uint16_t *x, *out, *largest, limit = 0x3800, most = 0xfc00;
	uint32_t *count, want = 0;
	float scale = 1.7f;
	int n = N;
	struct t_gpu g;

	start(&g, "tests/ptx/half.nvcc.ptx");
	x = t_alloc(&g, 2 * N);
	out = t_alloc(&g, 2 * N);
	count = t_alloc(&g, 4);
	largest = t_alloc(&g, 2);
	for (int i = 0; i < N; i++) {
		x[i] = ordinary(HALF);
		want += value_of(x[i], HALF) > value_of(limit, HALF);
		most = most == 0xfc00 || value_of(x[i], HALF) > value_of(most, HALF) ? x[i] : most;
	}
	RUN(&g, "half_filter", 1, 32, &x, &limit, &scale, &out, &count, &largest, &n);
	assert_int_equal(*count, want);
	assert_int_equal(*largest, most);
	for (int i = 0; i < N; i++)
		assert_int_equal(out[i], nearest((float)value_of(x[i], HALF) * scale, HALF));
	t_gpu_finish(&g);
}

/* Small integers, whose sums are exact in whatever order they come. */
static void test_half_sums_lose_no_addition(void **state)
{
	enum { N = 512, SUMS = 3 };
	uint32_t *x, *sums;
	int want[2 * SUMS] = {0}, n_sums = SUMS;
	struct t_gpu g;

	start(&g, "tests/ptx/half.nvcc.ptx");
	x = t_alloc(&g, 4 * N);
	sums = t_alloc(&g, 4 * SUMS);
	for (int i = 0; i < N; i++) {
		int low = (int)(rnd() % 7) - 3, high = (int)(rnd() % 5) - 2;

		x[i] = nearest(low, HALF) | (uint32_t)nearest(high, HALF) << 16;
		want[i % SUMS * 2] += low;
		want[i % SUMS * 2 + 1] += high;
	}
	RUN(&g, "half_sum", N / 64, 64, &x, &sums, &n_sums);
	for (int i = 0; i < 2 * SUMS; i++)
		assert_int_equal(((uint16_t *)(void *)sums)[i], nearest(want[i], HALF));
	t_gpu_finish(&g);
}

static int pick(int a, int b, bool largest)
{
	return (a > b) == largest ? a : b;
}

/* One half of each, signed. */
static int part_of(int32_t v, int half)
{
	return (int16_t)((uint32_t)v >> 16 * half);
}

static void check_dpx(const int32_t *out, int32_t a, int32_t b, int32_t c)
{
	int three = pick(pick(a, b, false), c, false), flags = 0, bytes = 0;
	uint32_t sum = (uint32_t)a + (uint32_t)b;

	assert_int_equal(out[0], pick(pick(a, b, true), c, true));
	assert_int_equal(out[1], three < 0 ? 0 : three);
	assert_int_equal((uint32_t)out[5], sum < (uint32_t)c ? sum : (uint32_t)c);
	for (int h = 0; h < 2; h++) {
		int x = part_of(a, h), y = part_of(b, h), z = part_of(c, h);
		int least = pick(pick(x, y, false), z, false),
		    most = pick((int16_t)(x + y), z, true);

		assert_int_equal(part_of(out[2], h) & 0xffff,
				 pick(pick(x & 0xffff, y & 0xffff, true), z & 0xffff, true));
		assert_int_equal(part_of(out[3], h), least < 0 ? 0 : least);
		assert_int_equal(part_of(out[4], h), most < 0 ? 0 : most);
		assert_int_equal(part_of(out[6], h), pick(x, y, true));
		flags |= (x >= y) << h;
	}
	for (int k = 0; k < 4; k++) {
		int d = (int)((uint32_t)a >> 8 * k & 255) - (int)((uint32_t)b >> 8 * k & 255);

		bytes |= (int)((uint32_t)(d < 0 ? -d : d) << 8 * k);
	}
	assert_int_equal(out[7], flags + (bytes & ~3));
}

static void test_dynamic_programming_intrinsics(void **state)
{
	enum { N = 500 };
	int32_t *a, *b, *c, *out, n = N;
	struct t_gpu g;

	start(&g, "tests/ptx/dpx.nvcc.ptx");
	a = t_alloc(&g, 4 * N);
	b = t_alloc(&g, 4 * N);
	c = t_alloc(&g, 4 * N);
	for (int i = 0; i < N; i++) {
		a[i] = (int32_t)rnd();
		b[i] = (int32_t)rnd();
		c[i] = (int32_t)rnd();
	}
	out = t_alloc(&g, 32 * N);
	b[0] = a[0];
	c[1] = b[1] = a[1];
	RUN(&g, "dpx", 4, 128, &a, &b, &c, &out, &n);
	for (int i = 0; i < N; i++)
		check_dpx(&out[8 * i], a[i], b[i], c[i]);
	t_gpu_finish(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_half_axpy_rounds_once),
		cmocka_unit_test(test_bfloat_axpy_rounds_once_and_cuts_what_is_negative),
		cmocka_unit_test(test_half_filter_counts_keeps_and_scales),
		cmocka_unit_test(test_half_sums_lose_no_addition),
		cmocka_unit_test(test_dynamic_programming_intrinsics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
