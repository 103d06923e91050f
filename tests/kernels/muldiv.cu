/* Wide and long integer arithmetic: 64 x 64 -> 128 bit products, divisions with run-time divisors. */
#include "cuda_words.h"

KERNEL mul_wide(const uint64_t *a, const uint64_t *b, uint64_t *lo, uint64_t *hi, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i < n) {
		unsigned __int128 p = (unsigned __int128)a[i] * b[i];

		lo[i] = (uint64_t)p;
		hi[i] = (uint64_t)(p >> 64);
	}
}

/* (a * b + c * d) in 128 bits, as a decimal column sums its products. */
KERNEL dot128(const int64_t *a, const int64_t *b, int64_t *out, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i < n) {
		__int128 s = (__int128)a[i] * b[i] + (__int128)b[i] * b[i] - a[i];

		out[2 * i] = (int64_t)s;
		out[2 * i + 1] = (int64_t)(s >> 64);
	}
}

KERNEL divmod(const int *a, const int *b, int *q, int *r, const uint64_t *c, const uint64_t *d,
	      uint64_t *q64, uint64_t *r64, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i >= n)
		return;
	q[i] = a[i] / b[i];
	r[i] = a[i] % b[i];
	q64[i] = c[i] / d[i];
	r64[i] = c[i] % d[i];
}

/* Division by constants: multiplications by magic numbers. */
KERNEL date_parts(const int *days, int *year, int *month, int *day, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i >= n)
		return;
	int z = days[i] + 719468, era = z / 146097, doe = z % 146097;
	int yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;

	day[i] = doy - (153 * mp + 2) / 5 + 1;
	month[i] = mp < 10 ? mp + 3 : mp - 9;
	year[i] = yoe + era * 400 + (mp >= 10);
}
