/* The instructions of dynamic programming: each intrinsic is one opcode or a few, by target. nvcc alone knows them. */
extern "C" __global__ void dpx(const int *a, const int *b, const int *c, int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	bool high, low;

	if (i >= n)
		return;
	out[8 * i] = __vimax3_s32(a[i], b[i], c[i]);
	out[8 * i + 1] = __vimin3_s32_relu(a[i], b[i], c[i]);
	out[8 * i + 2] = (int)__vimax3_u16x2(a[i], b[i], c[i]);
	out[8 * i + 3] = (int)__vimin3_s16x2_relu(a[i], b[i], c[i]);
	out[8 * i + 4] = (int)__viaddmax_s16x2_relu(a[i], b[i], c[i]);
	out[8 * i + 5] = (int)__viaddmin_u32(a[i], b[i], c[i]);
	out[8 * i + 6] = (int)__vibmax_s16x2(a[i], b[i], &high, &low);
	out[8 * i + 7] = (int)(high * 2 + low) + (int)(__vabsdiffu4(a[i], b[i]) & 0xfffffffc);
}
