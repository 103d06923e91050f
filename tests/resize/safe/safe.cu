/* Ordinary kernels whose geometry may change, most of which are refused in some form: what the proofs do not reach yet. */
#define K extern "C" __global__ void
#define I (blockIdx.x * blockDim.x + threadIdx.x)

K by_float4(float4 *a, float s) { a[I].x *= s; }
K by_struct(int2 *a, int n)
{
	int i = I;

	if (i < n)
		a[i] = make_int2(a[i].y, a[i].x);
}
K strided(float *a, const float *b, long n)
{
	for (long i = I; i < n; i += (long)gridDim.x * blockDim.x)
		a[i] += b[i];
}
K four_a_thread(float *a, int n)
{
	int i = 4 * I;

	for (int k = 0; k < 4 && i + k < n; k++)
		a[i + k] += 1;
}
K rows_and_columns(float *a, int pitch, int w, int h)
{
	int x = I, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < w && y < h)
		a[y * pitch + x] += 1;
}
K volume(float *a, int w, int h)
{
	int z = blockIdx.z * blockDim.z + threadIdx.z, y = blockIdx.y * blockDim.y + threadIdx.y;

	a[(z * h + y) * w + I] += 1;
}
K gather(float *a, const float *b, const int *at, int n)
{
	if (I < n)
		a[I] = b[at[I]];
}
K counts(const int *a, unsigned *n, int limit)
{
	if (a[I] > limit)
		atomicAdd(n, 1u);
}
K largest(const int *a, int *most) { atomicMax(most, a[I]); }
K rows_of_csr(const int *row, const int *col, const float *v, const float *x, float *y, int n)
{
	if (I < n) {
		float s = 0;

		for (int k = row[I]; k < row[I + 1]; k++)
			s += v[k] * x[col[k]];
		y[I] = s;
	}
}
K probes(const unsigned *slot, const unsigned *key, unsigned *out, unsigned mask)
{
	unsigned k = key[I], at = k & mask;

	while (slot[2 * at] != k && slot[2 * at] != 0)
		at = (at + 1) & mask;
	out[I] = slot[2 * at + 1];
}
K groups_in_table(unsigned *slot, unsigned long long *sum, const unsigned *key, const unsigned *v, unsigned mask)
{
	unsigned at = key[I] & mask;

	for (;;) {
		unsigned old = atomicCAS(slot + at, 0u, key[I]);

		if (old == 0 || old == key[I])
			break;
		at = (at + 1) & mask;
	}
	atomicAdd(sum + at, (unsigned long long)v[I]);
}
K max_of_floats(float *most, const float *a)
{
	int *p = (int *)most, old = *p, expected;

	do {
		expected = old;
		old = atomicCAS(p, expected, __float_as_int(fmaxf(a[I], __int_as_float(expected))));
	} while (old != expected);
}
K descends(const int *child, const int *key, const int *what, int *out)
{
	int node = 0;

	while (child[2 * node] >= 0)
		node = child[2 * node + (what[I] > key[node])];
	out[I] = node;
}
K follows(int *next, int *last)
{
	int at = I;

	while (next[at] != at)
		at = next[at];
	last[I] = at;
}
K warp_sum(const int *a, int *sum)
{
	int v = a[I];

	for (int by = 16; by; by /= 2)
		v += __shfl_xor_sync(~0u, v, by);
	if ((threadIdx.x & 31) == 0)
		atomicAdd(sum, v);
}
K first_of_grid(int *a)
{
	if (blockIdx.x == 0 && threadIdx.x == 0)
		*a = 0;
}
K clears(int *a, int n)
{
	for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
		a[i] = 0;
}
K from_the_back(int *a, int n) { a[n - 1 - (int)I] = 1; }
K last_of_grid(unsigned *done, int *out)
{
	__threadfence();
	if (atomicAdd(done, 1u) == gridDim.x * blockDim.x - 1)
		*out = 1;
}
K lane_leaves_late(unsigned *a, int n)
{
	unsigned v = I < n ? a[I] : 0;

	v = __ballot_sync(~0u, v & 1);
	if (I < n)
		a[I] = v;
}
K thread_of_3d_block(float *a)
{
	unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;

	a[blockIdx.x * (blockDim.x * blockDim.y * blockDim.z) + t] += 1;
}
K flat_grid(float *a)
{
	unsigned b = blockIdx.y * gridDim.x + blockIdx.x;

	a[b * blockDim.x + threadIdx.x] += 1;
}
K waits_for_nobody(float *a, int n)
{
	extern __shared__ float s[];

	for (int base = 0; base < n; base += blockDim.x) {
		s[threadIdx.x] = base + threadIdx.x < n ? a[base + threadIdx.x] : 0;
		__syncthreads();
		for (int k = 0; k < blockDim.x; k++)
			a[n + I] += s[k];
		__syncthreads();
	}
}
