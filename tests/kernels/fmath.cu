/* Float and double arithmetic whose results are exact to the bit: each operation rounds once. */
#include "cuda_words.h"

KERNEL fma_poly(const float *x, float *y, const double *u, double *v, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i >= n)
		return;
	y[i] = ((0.25f * x[i] + 1.5f) * x[i] - 3.0f) * x[i] + 0.125f;
	v[i] = (0.1 * u[i] + 2.5) * u[i] - 1e-3;
}

KERNEL convert(const float *x, int *i32, unsigned int *u32, double *d, int64_t *i64, uint8_t *u8, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i >= n)
		return;
	i32[i] = (int)x[i];
	u32[i] = (unsigned int)x[i];
	d[i] = (double)x[i] + (double)i32[i];
	i64[i] = (int64_t)d[i];
	u8[i] = (uint8_t)i32[i];
}

KERNEL compare(const float *a, const float *b, int *out, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i < n)
		out[i] = (a[i] < b[i]) | (a[i] <= b[i]) << 1 | (a[i] == b[i]) << 2 | (a[i] != b[i]) << 3 |
			 !(a[i] > b[i]) << 4;
}

#ifdef __CUDACC__
KERNEL rounding(const float *a, const float *b, float *out, const double *c, const double *d,
		double *out64, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i >= n)
		return;
	float x = a[i], y = b[i];
	double u = c[i], v = d[i];

	out[8 * i + 0] = __fadd_rz(x, y);
	out[8 * i + 1] = __fadd_ru(x, y);
	out[8 * i + 2] = __fmul_rd(x, y);
	out[8 * i + 3] = __fdiv_rn(x, y);
	out[8 * i + 4] = __fsqrt_rn(x);
	out[8 * i + 5] = __fmaf_rz(x, y, x);
	out[8 * i + 6] = __frcp_rn(y);
	out[8 * i + 7] = rintf(x) + truncf(y) + floorf(x) + ceilf(y);
	out64[4 * i + 0] = __dadd_rd(u, v);
	out64[4 * i + 1] = __dmul_ru(u, v);
	out64[4 * i + 2] = __ddiv_rn(u, v);
	out64[4 * i + 3] = __dsqrt_rn(u) + fmin(u, v) + fabs(v);
}

/* Library functions: not exact, but every opcode of nvcc's mathematics is in here. */
KERNEL transcendental(const float *x, float *y, const double *u, double *v, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i >= n)
		return;
	y[i] = sinf(x[i]) + cosf(x[i]) * expf(x[i]) + logf(x[i]) + __expf(x[i]) + rsqrtf(x[i]) +
	       powf(x[i], 1.5f) + tanhf(x[i]);
	v[i] = sin(u[i]) + exp(u[i]) + log(u[i]) + pow(u[i], 0.3) + u[i] / v[i] + sqrt(u[i]);
}
#endif
