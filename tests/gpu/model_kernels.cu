/*
 * model_kernels.cu - kernels on which the models of model/ are measured (model_measure.c, doc/model.md).
 *
 * synth: the synthetic kernels of Cruz et al. §6.3: arithmetic on registers and nothing else. One warp of each
 * block works, by a chain in which each step waits for the last; the others wait at the barrier. So a
 * block takes the same time whoever shares its SM, as long as it is resident: residency is all that a pair competes for.
 *
 * The others are eight kernels of our own with the resource profiles (threads, shared memory, scaled grids, and
 * registers as far as ptxas gives them) of Table 4 there, and four with the shapes of Li et al. 2014, Table II.
 *
 * Every kernel raises *started (mapped host memory) when its first block runs, so that the host submits the
 * second of a pair only then.
 */

static __device__ __forceinline__ void tell_started(volatile unsigned *started)
{
	if (started && threadIdx.x == 0 && blockIdx.x == 0)
		*started = 1;
}

extern "C" __global__ void synth(volatile unsigned *started, unsigned *sm_of_block, unsigned steps)
{
	unsigned warp = threadIdx.x / 32, n_warps = blockDim.x / 32, sm;
	float x = (float)threadIdx.x;

	tell_started(started);
	asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
	if (threadIdx.x == 0)
		sm_of_block[blockIdx.x] = sm;
	if (warp == (blockIdx.x * 2654435761u >> 16) % n_warps) {
#pragma unroll 8
		for (unsigned i = 0; i < steps; i++)
			x = fmaf(__shfl_xor_sync(0xffffffffu, x, 1), 0.999f, 0.001f);
		if (x == -1.0f)
			sm_of_block[blockIdx.x] = 0;
	}
	__syncthreads();
}

/* ---- profiles of Table 4; n is a power of two, data holds n floats, work is the number of passes ---- */

/*
 * PFL: each thread looks for the last entry of a table of 16,384 that is not below its value, from a place of its
 * block's own: all at one entry would measure one slice of the L2 cache. Past L1, as the K40 loads. 13 registers.
 */
extern "C" __global__ void find_index(volatile unsigned *started, const float *table, float *out, unsigned n,
				      unsigned work)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, at = 0, from = blockIdx.x * 2654435761u;
	float value = 2.0f + (float)(i % 97);

	tell_started(started);
#pragma unroll 1
	for (unsigned k = 0; k < work; k++)
		if (__ldcg(&table[(k + from) & 16383]) >= value)
			at = k;
	out[i & (n - 1)] = (float)at;
}

/* kNN: distance of each record to a point; streaming. 8 registers (16 on sm_90). */
extern "C" __global__ void euclid(volatile unsigned *started, const float2 *records, float *out, unsigned n,
				  unsigned work)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	tell_started(started);
#pragma unroll 1
	for (unsigned k = 0; k < work; k++) {
		float2 r = __ldcg(&records[(i + k * 8650752u) & (n / 2 - 1)]);

		sum += sqrtf(r.x * r.x + r.y * r.y);
	}
	out[i & (n - 1)] = sum;
}

/* PF: rows of a dynamic program in shared memory, a barrier a row. 13 registers (24 is the least that sm_90 gives), 2,048 bytes. */
extern "C" __global__ void path_rows(volatile unsigned *started, const float *wall, float *out, unsigned n,
				     unsigned work)
{
	__shared__ float row[2][256];
	unsigned t = threadIdx.x, i = blockIdx.x * 256 + t;

	tell_started(started);
	row[0][t] = wall[i & (n - 1)];
	__syncthreads();
	for (unsigned k = 0; k < work; k++) {
		const float *from = row[k & 1];
		float least = fminf(from[t], fminf(from[t ? t - 1 : 0], from[t < 255 ? t + 1 : 255]));

		row[(k + 1) & 1][t] = least + (float)(k & 7);
		__syncthreads();
	}
	out[i & (n - 1)] = row[work & 1][t];
}

/* HS3: seven-point stencil that walks down the planes, with coefficients of each column; memory-bound. 36
 * registers. */
extern "C" __global__ void __launch_bounds__(256, 6)
	stencil_3d(volatile unsigned *started, const float *in, float *out, unsigned n, unsigned work)
{
	const unsigned plane = 1u << 20, mask = n - 1;
	unsigned i = blockIdx.x * 256 + threadIdx.x;
	float below, here, above, c[16];

	tell_started(started);
	below = in[i & mask];
	here = below;
	above = in[(i + plane) & mask];
#pragma unroll
	for (unsigned j = 0; j < 16; j++)
		c[j] = 0.1f * in[(i + j * 64) & mask];
#pragma unroll 1
	for (unsigned k = 0; k < work; k++) {
		unsigned at = i + k * plane;
		float v = c[0] * here + c[1] * below + c[2] * above;

		v += c[3] * in[(at + 1) & mask] + c[4] * in[(at - 1) & mask] + c[5] * in[(at + 1024) & mask] +
		     c[6] * in[(at - 1024) & mask];
		out[at & mask] = fmaf(fmaf(fmaf(fmaf(v, c[7], c[8]), v, c[9]), c[10] * v + c[11], c[12]), c[13] * v, c[14] + c[15] * v);
		below = here;
		here = above;
		above = in[(at + 2 * plane) & mask];
	}
}

/* BFS: each thread follows edges to places all over the graph. 19 registers. */
extern "C" __global__ void follow_edges(volatile unsigned *started, const float *graph, float *out, unsigned n,
					unsigned work)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, node = i * 2654435761u;
	float cost = 0, c[6];

	tell_started(started);
#pragma unroll
	for (unsigned j = 0; j < 6; j++)
		c[j] = graph[(i + j) & (n - 1)];
#pragma unroll 1
	for (unsigned k = 0; k < work; k++) {
		float edge = graph[node & (n - 1)];

		cost += fmaf(fmaf(edge, c[0], c[1]), edge * c[2], c[3]) * c[4] + c[5];
		node = node * 1664525u + 1013904223u + (unsigned)(cost < 0);
	}
	out[i & (n - 1)] = cost;
}

/* HS2: a tile is iterated in shared memory, each cell with conductivities of its own; arithmetic-bound. 38
 * registers, 3,072 bytes. */
extern "C" __global__ void __launch_bounds__(256, 6)
	heat_tile(volatile unsigned *started, const float *in, float *out, unsigned n, unsigned work)
{
	__shared__ float tile[2][18][20], power[18][2];
	unsigned x = threadIdx.x % 16 + 1, y = threadIdx.x / 16 + 1, i = blockIdx.x * 256 + threadIdx.x;
	float p = in[i & (n - 1)] * 0.01f, c[14];

	tell_started(started);
	tile[0][y][x] = p;
	tile[1][y][x] = p;
	if (x == 1)
		power[y][0] = p;
#pragma unroll
	for (unsigned j = 0; j < 14; j++)
		c[j] = 0.01f * in[(i + j) & (n - 1)];
	__syncthreads();
#pragma unroll 1
	for (unsigned k = 0; k < work; k++) {
		float(*from)[20] = tile[k & 1], (*to)[20] = tile[(k + 1) & 1];
		float t = from[y][x], d = p + (power[y][0] - t) * 0.05f;

		d += c[0] * (from[y - 1][x] - t) + c[1] * (from[y + 1][x] - t) + c[2] * (from[y][x - 1] - t) +
		     c[3] * (from[y][x + 1] - t) + c[4] * (from[y - 1][x - 1] - t) +
		     c[5] * (from[y - 1][x + 1] - t) + c[6] * (from[y + 1][x - 1] - t) +
		     c[7] * (from[y + 1][x + 1] - t);
#pragma unroll
		for (unsigned j = 8; j < 14; j++)
			d = fmaf(d, c[j], t);
		to[y][x] = t + 0.5f * d;
		__syncthreads();
	}
	out[i & (n - 1)] = tile[work & 1][y][x];
}

/* SRAD: neighbours through shared memory, then a streamed update. 21 registers, 5,120 bytes. */
extern "C" __global__ void __maxnreg__(24) diffuse(volatile unsigned *started, const float *in, float *out, unsigned n,
				   unsigned work)
{
	__shared__ float c[256], s[256], e[256], north[256], west[256];
	unsigned t = threadIdx.x;

	tell_started(started);
#pragma unroll 1
	for (unsigned k = 0; k < work; k++) {
		unsigned i = (blockIdx.x + k * gridDim.x) * 256 + t;

		c[t] = in[i & (n - 1)];
		s[t] = c[t] * 0.5f;
		e[t] = c[t] * 0.25f;
		north[t] = c[t] * 2.0f;
		west[t] = c[t] - 1.0f;
		__syncthreads();
		out[i & (n - 1)] = c[t] + 0.25f * (s[(t + 16) & 255] + e[(t + 1) & 255] + north[(t - 16) & 255] +
						   west[(t - 1) & 255]);
		__syncthreads();
	}
}

/* LUD: one block of 16 threads factors a 16 x 16 tile. 32 registers there (one block: they limit nothing), 1,024
 * bytes. */
extern "C" __global__ void factor_tile(volatile unsigned *started, const float *in, float *out, unsigned n,
				       unsigned work)
{
	__shared__ float a[16][16];
	unsigned t = threadIdx.x;

	tell_started(started);
#pragma unroll 1
	for (unsigned k = 0; k < work; k++) {
#pragma unroll 1
		for (unsigned r = 0; r < 16; r++)
			a[r][t] = in[(r * 16 + t) & (n - 1)] + (r == t ? 16.0f : 0.0f);
		__syncwarp(0xffff);
#pragma unroll 1
		for (unsigned r = 0; r < 15; r++) {
			if (t > r)
				a[t][r] /= a[r][r];
			__syncwarp(0xffff);
#pragma unroll 1
			for (unsigned j = r + 1; t > r && j < 16; j++)
				a[t][j] -= a[t][r] * a[r][j];
			__syncwarp(0xffff);
		}
	}
#pragma unroll 1
	for (unsigned r = 0; r < 16; r++)
		out[r * 16 + t] = a[r][t];
}

/*
 * ---- shapes of Li et al. 2014: any block size; T x B is constant ----
 *
 * Rounds predict the time of a kernel that waits: each of these but the last waits for its own loads in every
 * pass, each block at a place of its own. nested_tiled is there for contrast: it keeps the SM's arithmetic busy at
 * any residency.
 */

/* I: radial distribution: distances of each point to a list of others, counted in the block's own histogram. */
extern "C" __global__ void radial(volatile unsigned *started, const float *points, unsigned *counts, unsigned n,
				  unsigned work)
{
	extern __shared__ unsigned bins[];
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, from = blockIdx.x * 2654435761u;
	float x = points[i & (n - 1)], y = points[(i + 7) & (n - 1)];

	tell_started(started);
	for (unsigned b = threadIdx.x; b < 2048; b += blockDim.x)
		bins[b] = 0;
	__syncthreads();
#pragma unroll 1
	for (unsigned k = 0; k < work; k++) {
		unsigned other = (unsigned)(__ldcg(&points[(k + from) & 16383]) * 1048576.0f);
		float2 p = __ldcg((const float2 *)points + other);
		float dx = x - p.x, dy = y - p.y, square = dx * dx + dy * dy + 1e-6f;

		atomicAdd(&bins[(unsigned)(square * rsqrtf(square) * 1400.0f) & 2047], 1);
	}
	__syncthreads();
	for (unsigned b = threadIdx.x; b < 2048; b += blockDim.x)
		atomicAdd(&counts[b], bins[b]);
}

/* II: histogram of a large column, private to the block first. */
extern "C" __global__ void column_histogram(volatile unsigned *started, const unsigned *column, unsigned *counts,
					    unsigned n, unsigned work)
{
	extern __shared__ unsigned bins[];
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;

	tell_started(started);
	for (unsigned b = threadIdx.x; b < 4096; b += blockDim.x)
		bins[b] = 0;
	__syncthreads();
#pragma unroll 1
	for (unsigned k = 0; k < work; k++)
		atomicAdd(&bins[column[(i + k * stride) & (n - 1)] >> 8 & 4095], 1);
	__syncthreads();
	for (unsigned b = threadIdx.x; b < 4096; b += blockDim.x)
		if (bins[b])
			atomicAdd(&counts[b], bins[b]);
}

/* III: nested-loop join: each thread holds a row and reads the inner table; its last match waits in shared memory. */
extern "C" __global__ void nested_loop(volatile unsigned *started, const unsigned *inner, unsigned *counts,
				       unsigned n, unsigned work)
{
	extern __shared__ unsigned last_match[];
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, key = inner[i & (n - 1)] >> 8, matches = 0;
	unsigned from = blockIdx.x * 2654435761u;

	tell_started(started);
	last_match[threadIdx.x] = 0;
#pragma unroll 1
	for (unsigned k = 0; k < work; k++)
		if (__ldcg(&inner[(k + from) & 16383]) >> 8 == key) {
			last_match[threadIdx.x] = k;
			matches++;
		}
	if (matches)
		atomicAdd(&counts[last_match[threadIdx.x] & 1023], matches);
}

/* III again, tiles of the inner table passing through shared memory. */
extern "C" __global__ void nested_tiled(volatile unsigned *started, const unsigned *inner, unsigned *counts,
					unsigned n, unsigned work)
{
	extern __shared__ unsigned tile[];
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, key = inner[i & (n - 1)], matches = 0;

	tell_started(started);
	for (unsigned base = 0; base < work; base += blockDim.x) {
		tile[threadIdx.x] = inner[(base + threadIdx.x) & (n - 1)];
		__syncthreads();
		for (unsigned k = 0; k < blockDim.x; k++)
			matches += (tile[k] ^ key) % 1021 == 0;
		__syncthreads();
	}
	if (matches)
		atomicAdd(&counts[key & 1023], matches);
}
