/* Element-wise sums: the plainest kernels there are. */
#include "cuda_words.h"

KERNEL vadd(const float *a, const float *b, float *c, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i < n)
		c[i] = a[i] + b[i];
}

/* Grid-stride, any launch geometry. */
KERNEL saxpy(int n, float alpha, const float *x, float *y)
{
	for (int i = CTA_X * NTID_X + TID_X; i < n; i += NCTA_X * NTID_X)
		y[i] = alpha * x[i] + y[i];
}

/* Widths other than 4 bytes, and a structure by value. */
struct scale {
	int64_t mul;
	int32_t add;
	int16_t shift;
	uint8_t flip;
};

KERNEL scale_mixed(uint8_t *bytes, int16_t *shorts, int64_t *longs, struct scale s, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i >= n)
		return;
	bytes[i] = (uint8_t)(bytes[i] ^ s.flip);
	shorts[i] = (int16_t)((shorts[i] + s.add) >> s.shift);
	longs[i] = longs[i] * s.mul + s.add;
}
