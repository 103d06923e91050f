// tensors.cu - tiles of a matrix by the TMA unit: maps that the driver encodes, by cudaGetDriverEntryPointByVersion; two stages of tiles on
// their way at once, with swizzle, over the edges of the matrix; tiles back, and sums of them; maps as parameters and in
// constant memory.
#include <cstdint>
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <vector>

#include "check.h"

namespace ptx = cuda::ptx;

constexpr int TILE = 32; // floats: a row is what is swizzled together
constexpr int STAGES = 2;

// What lies at (row, column) of a tile: pieces of 16 bytes are exchanged by the row's number.
static __device__ int swizzled(int row, int column)
{
	return row * TILE + ((column / 4 ^ row % 8) * 4 | column % 4);
}

static __device__ void load(const CUtensorMap *map, float *tile, uint64_t *full, int x, int y)
{
	const int32_t at[2] = {x * TILE, y * TILE};

	ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, full,
				       TILE * TILE * sizeof(float));
	ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, map, at, full);
}

static __device__ void store(const CUtensorMap *map, const float *tile, int x, int y)
{
	const int32_t at[2] = {x * TILE, y * TILE};

	ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, map, at, tile);
	ptx::cp_async_bulk_commit_group();
	ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

// A block has a column of tiles, and puts each where its mirror image is.
static __global__ void transpose(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to, int rows)
{
	__shared__ alignas(1024) float tiles[STAGES][TILE * TILE], turned[TILE * TILE];
	__shared__ uint64_t full[STAGES];
	const int32_t me = threadIdx.x;

	if (me == 0)
		for (int i = 0; i < STAGES; i++)
			ptx::mbarrier_init(&full[i], 1);
	ptx::fence_proxy_async(ptx::space_shared);
	__syncthreads();
	for (int i = 0; me == 0 && i < STAGES && i < rows; i++)
		load(&from, tiles[i], &full[i], blockIdx.x, i);
	for (int i = 0; i < rows; i++) {
		const int stage = i % STAGES;

		while (!ptx::mbarrier_try_wait_parity(&full[stage], i / STAGES % 2))
			;
		for (int k = me; k < TILE * TILE; k += blockDim.x)
			turned[swizzled(k % TILE, k / TILE)] = tiles[stage][swizzled(k / TILE, k % TILE)];
		ptx::fence_proxy_async(ptx::space_shared);
		__syncthreads();
		if (me == 0) {
			store(&to, turned, i, blockIdx.x);
			if (i + STAGES < rows)
				load(&from, tiles[stage], &full[stage], blockIdx.x, i + STAGES);
		}
		__syncthreads();
	}
}

__constant__ CUtensorMap sums;

static __global__ void add(int columns)
{
	__shared__ alignas(1024) float tile[TILE * TILE];
	const int32_t at[2] = {(int)blockIdx.x % columns * TILE, (int)blockIdx.x / columns * TILE};

	for (int k = threadIdx.x; k < TILE * TILE; k += blockDim.x)
		tile[k] = 1;
	ptx::fence_proxy_async(ptx::space_shared);
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_add, &sums, at, tile);
	ptx::cp_async_bulk_commit_group();
	ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

typedef CUresult encode_fn(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
			   const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
			   CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static encode_fn *encoder()
{
	cudaDriverEntryPointQueryResult found;
	void *f = nullptr;

	CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &found));
	return (encode_fn *)f;
}

static CUresult make(CUtensorMap *map, float *matrix, cuuint64_t width, cuuint64_t height, cuuint32_t box)
{
	const cuuint64_t dims[] = {width, height}, strides[] = {width * sizeof(float)};
	const cuuint32_t tile[] = {box, box}, ones[] = {1, 1};

	return encoder()(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, matrix, dims, strides, tile, ones,
			 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
			 CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

int main()
{
	const int width = 100, height = 140; // no multiples of a tile
	const int columns = (width + TILE - 1) / TILE, rows = (height + TILE - 1) / TILE;
	std::vector<float> before(width * height), after(width * height);
	const size_t bytes = before.size() * sizeof(float);
	CUtensorMap from, to, refused;
	float *a, *b;

	for (int i = 0; i < width * height; i++)
		before[i] = (float)i;
	CHECK(cudaMalloc(&a, bytes));
	CHECK(cudaMalloc(&b, bytes));
	CHECK(cudaMemcpy(a, before.data(), bytes, cudaMemcpyHostToDevice));
	CHECK(cudaMemset(b, 0xff, bytes));
	if (make(&from, a, width, height, TILE) || make(&to, b, height, width, TILE))
		return fprintf(stderr, "a map is refused\n"), 1;
	if (make(&refused, b, height, width, TILE * 2) != CUDA_ERROR_INVALID_VALUE)
		return fprintf(stderr, "a row longer than what is swizzled is taken\n"), 1;
	transpose<<<columns, 128>>>(from, to, rows);
	CHECK(cudaMemcpyToSymbol(sums, &to, sizeof(to)));
	add<<<columns * rows, 64>>>(rows);
	CHECK(cudaMemcpy(after.data(), b, bytes, cudaMemcpyDeviceToHost));
	for (int i = 0; i < width * height; i++)
		if (after[i % width * height + i / width] != before[i] + 1)
			return fprintf(stderr, "element %d: %g\n", i, after[i % width * height + i / width]), 1;
	return 0;
}
