/*
 * async.cu - threads that wait for copies and for each other through objects: cuda::barrier, cuda::pipeline,
 * cooperative_groups::memcpy_async. From sm_80 on these are cp.async and mbarrier, on sm_90 a bulk copy too.
 */
#ifdef __CUDACC__
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#pragma nv_diag_suppress 20054

namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;

/* Each round adds the neighbour's value. */
extern "C" __global__ void barrier_ring(int *out, const int *in, int rounds)
{
	__shared__ barrier b;
	__shared__ int buf[256];
	int v = in[blockIdx.x * blockDim.x + threadIdx.x];

	if (threadIdx.x == 0)
		init(&b, blockDim.x);
	__syncthreads();
	for (int i = 0; i < rounds; i++) {
		buf[threadIdx.x] = v;
		auto token = b.arrive();
		b.wait(std::move(token));
		v += buf[(threadIdx.x + 1) % blockDim.x];
		b.arrive_and_wait();
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

/* Thread t takes part in t % rounds phases; out: how many took part in each. */
extern "C" __global__ void barrier_drop(int *out, int rounds)
{
	__shared__ barrier b;
	int i;

	if (threadIdx.x == 0)
		init(&b, blockDim.x);
	__syncthreads();
	for (i = 0; i < (int)threadIdx.x % rounds; i++) {
		atomicAdd(&out[i], 1);
		b.arrive_and_wait();
	}
	b.arrive_and_drop();
}

/* One warp produces, the others consume, two stages. */
extern "C" __global__ void barrier_roles(int *out, const int *in, int n)
{
	__shared__ barrier ready[2], free_[2];
	__shared__ int stage[2][32];
	int sum = 0;

	if (threadIdx.x < 2) {
		init(&ready[threadIdx.x], blockDim.x);
		init(&free_[threadIdx.x], blockDim.x);
	}
	__syncthreads();
	if (threadIdx.x < 32) {
		for (int i = 0; i < n; i++) {
			free_[i % 2].arrive_and_wait();
			stage[i % 2][threadIdx.x] = in[i * 32 + threadIdx.x];
			(void)ready[i % 2].arrive();
		}
	} else {
		(void)free_[0].arrive();
		(void)free_[1].arrive();
		for (int i = 0; i < n; i++) {
			ready[i % 2].arrive_and_wait();
			sum += stage[i % 2][threadIdx.x % 32] * (int)(threadIdx.x / 32);
			(void)free_[i % 2].arrive();
		}
	}
	out[threadIdx.x] = sum;
}

/* A block's pipeline of two stages over batches of blockDim.x ints. */
extern "C" __global__ void pipeline_block(int *out, const int *in, int batches)
{
	extern __shared__ int sh[];
	constexpr int stages = 2;
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
	auto block = cg::this_thread_block();
	auto pipe = cuda::make_pipeline(block, &state);
	int n = block.size(), sum = 0, fetch = 0;

	for (int c = 0; c < batches; c++) {
		for (; fetch < batches && fetch < c + stages; fetch++) {
			pipe.producer_acquire();
			cuda::memcpy_async(block, sh + (fetch % stages) * n, in + fetch * n,
					   sizeof(int) * n, pipe);
			pipe.producer_commit();
		}
		pipe.consumer_wait();
		sum = sum * 3 + sh[(c % stages) * n + (threadIdx.x + c) % n];
		pipe.consumer_release();
	}
	out[threadIdx.x] = sum;
}

/* A thread's pipeline: cp.async with commit_group and wait_group. */
extern "C" __global__ void pipeline_thread(int *out, const int4 *in, int batches)
{
	__shared__ int4 sh[2][128];
	auto pipe = cuda::make_pipeline();
	constexpr cuda::aligned_size_t<16> size(sizeof(int4));
	int sum = 0, t = threadIdx.x;

	for (int c = 0; c < 2; c++) {
		pipe.producer_acquire();
		cuda::memcpy_async(&sh[c][t], &in[c * 128 + t], size, pipe);
		pipe.producer_commit();
	}
	for (int c = 0; c < batches; c++) {
		pipe.consumer_wait();
		int4 v = sh[c % 2][t];
		sum = sum * 5 + v.x + 2 * v.y + 3 * v.z + 4 * v.w;
		pipe.consumer_release();
		pipe.producer_acquire();
		if (c + 2 < batches)
			cuda::memcpy_async(&sh[c % 2][t], &in[(c + 2) * 128 + t], size, pipe);
		pipe.producer_commit();
	}
	out[t] = sum;
}

/* Both give: sum of in[n - 1 - i] over i = t, t + blockDim.x, ... */
extern "C" __global__ void group_copy(int *out, const int *in, int n)
{
	extern __shared__ int sh[];
	auto block = cg::this_thread_block();
	int sum = 0;

	cg::memcpy_async(block, sh, in, sizeof(int) * n);
	cg::wait(block);
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		sum += sh[n - 1 - i];
	out[threadIdx.x] = sum;
}

extern "C" __global__ void barrier_copy(int *out, const int *in, int n)
{
	extern __shared__ int sh[];
	__shared__ barrier b;
	auto block = cg::this_thread_block();
	int sum = 0;

	if (block.thread_rank() == 0)
		init(&b, block.size());
	block.sync();
	cuda::memcpy_async(block, sh, in, cuda::aligned_size_t<16>(sizeof(int) * n), b);
	b.arrive_and_wait();
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		sum += sh[n - 1 - i];
	out[threadIdx.x] = sum;
}
#endif
