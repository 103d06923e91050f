/*
 * Thread block clusters: a histogram whose bins lie in the shared memory of all blocks of a cluster, pointers to shared
 * memory that blocks hand each other, barriers of the cluster in two halves, launches by attribute and by the kernel's
 * own size, and what is refused.
 */
#include <cooperative_groups.h>
#include <vector>

#include "check.h"

namespace cg = cooperative_groups;

#define N_BINS	 1000
#define N_VALUES 100000

static unsigned value_of(unsigned i)
{
	return i * 2654435761u >> 7;
}

/* Each block has a part of the bins, and counts in the parts of all. */
__global__ void histogram(const unsigned *values, int n, unsigned *bins, int bins_of_block)
{
	extern __shared__ unsigned mine[];
	cg::cluster_group cluster = cg::this_cluster();

	for (int i = threadIdx.x; i < bins_of_block; i += blockDim.x)
		mine[i] = 0;
	cluster.sync();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		int bin = values[i] % N_BINS;

		atomicAdd(cluster.map_shared_rank(mine, bin / bins_of_block) + bin % bins_of_block, 1);
	}
	cluster.sync();
	for (int i = threadIdx.x; i < bins_of_block; i += blockDim.x) {
		int bin = cluster.block_rank() * bins_of_block + i;

		if (bin < N_BINS)
			atomicAdd(&bins[bin], mine[i]);
	}
}

/* A block says where its words are; the one before it reads them there, as they are told, and whose they are. */
__global__ void __cluster_dims__(2, 2, 1) ring(int *out)
{
	__shared__ int word[64], *told;
	cg::cluster_group cluster = cg::this_cluster();
	unsigned rank = cluster.block_rank(), n = cluster.num_blocks(), next = (rank + 1) % n;
	int block = blockIdx.y * gridDim.x + blockIdx.x, at = block * blockDim.x + threadIdx.x;

	word[threadIdx.x] = block * 100 + threadIdx.x;
	if (threadIdx.x == 0)
		*cluster.map_shared_rank(&told, next) = word;
	cluster.sync();
	out[2 * at] = told[threadIdx.x];
	out[2 * at + 1] = cluster.query_shared_rank(told) * 1000 + cluster.dim_blocks().y * 100 +
			  cluster.block_index().y * 10 + cluster.block_index().x;
	cluster.sync();
}

/* What is written before the arrival is there after the wait; in between there is time for something else. */
__global__ void halves(unsigned long long *out, int turns)
{
	__shared__ unsigned long long sums[2];
	cg::cluster_group cluster = cg::this_cluster();
	unsigned long long sum = cluster.block_rank() + 1, busy = 0;

	for (int t = 0; t < turns; t++) {
		unsigned long long next = 0;

		if (threadIdx.x == 0)
			sums[t % 2] = sum;
		auto token = cluster.barrier_arrive();

		for (int i = 0; i < (int)(threadIdx.x + cluster.block_rank()) % 7; i++)
			busy += i;
		cluster.barrier_wait(static_cast<decltype(token) &&>(token));
		for (unsigned r = 0; r < cluster.num_blocks(); r++)
			next += *cluster.map_shared_rank(&sums[t % 2], r) * (r + 1);
		sum = next % 1000003;
	}
	cluster.sync();
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum + 0 * busy;
}

struct launch {
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attribute = {};

	launch(int grid, int block, int cluster, size_t smem)
	{
		config.gridDim = grid;
		config.blockDim = block;
		config.dynamicSmemBytes = smem;
		attribute.id = cudaLaunchAttributeClusterDimension;
		attribute.val.clusterDim.x = cluster;
		attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
		config.attrs = &attribute;
		config.numAttrs = 1;
	}
};

static void count(const unsigned *values, unsigned *bins, const std::vector<unsigned> &want, int cluster)
{
	int bins_of_block = (N_BINS + cluster - 1) / cluster, clusters = 0;
	launch l(4 * cluster, 128, cluster, bins_of_block * sizeof(unsigned));
	std::vector<unsigned> got(N_BINS);

	CHECK(cudaMemset(bins, 0, N_BINS * sizeof(unsigned)));
	CHECK(cudaOccupancyMaxActiveClusters(&clusters, histogram, &l.config));
	EXPECT(clusters > 0 && clusters <= 132 * 32 / cluster);
	CHECK(cudaLaunchKernelEx(&l.config, histogram, values, (int)N_VALUES, bins, bins_of_block));
	CHECK(cudaMemcpy(got.data(), bins, N_BINS * sizeof(unsigned), cudaMemcpyDeviceToHost));
	EXPECT(got == want);
}

static void histograms()
{
	std::vector<unsigned> values(N_VALUES), want(N_BINS);
	unsigned *on_device, *bins;
	launch large(32, 128, 16, 64), odd(9, 128, 2, 0), none(16, 128, 8, 64);
	int size = 0;

	for (unsigned i = 0; i < N_VALUES; i++)
		want[(values[i] = value_of(i)) % N_BINS]++;
	CHECK(cudaMalloc(&on_device, N_VALUES * sizeof(unsigned)));
	CHECK(cudaMalloc(&bins, N_BINS * sizeof(unsigned)));
	CHECK(cudaMemcpy(on_device, values.data(), N_VALUES * sizeof(unsigned), cudaMemcpyHostToDevice));
	for (int cluster = 1; cluster <= 8; cluster++)
		count(on_device, bins, want, cluster);
	CHECK(cudaOccupancyMaxPotentialClusterSize(&size, histogram, &none.config));
	EXPECT(size == 8);
	CHECK_IS(cudaLaunchKernelEx(&large.config, histogram, (const unsigned *)on_device, 0, bins, 1),
		 cudaErrorInvalidClusterSize);
	CHECK_IS(cudaLaunchKernelEx(&odd.config, histogram, (const unsigned *)on_device, 0, bins, 1),
		 cudaErrorInvalidClusterSize);
	CHECK_IS(cudaGetLastError(), cudaErrorInvalidClusterSize);
	CHECK(cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
	count(on_device, bins, want, 16);
	CHECK(cudaOccupancyMaxPotentialClusterSize(&size, histogram, &none.config));
	EXPECT(size == 16);
}

static void rings()
{
	const int x = 6, y = 4, n = 64;
	std::vector<int> got(2 * x * y * n);
	cudaFuncAttributes attributes;
	launch other(8, n, 8, 0);
	int *out;

	CHECK(cudaMalloc(&out, got.size() * sizeof(int)));
	ring<<<dim3(x, y), n>>>(out);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
	for (int b = 0; b < x * y; b++) {
		int bx = b % x, by = b / x, rank = by % 2 * 2 + bx % 2, before = (rank + 3) % 4;
		int other_block = (by - by % 2 + before / 2) * x + bx - bx % 2 + before % 2;

		for (int t = 0; t < n; t++) {
			EXPECT(got[2 * (b * n + t)] == other_block * 100 + t);
			EXPECT(got[2 * (b * n + t) + 1] == before * 1000 + 200 + by % 2 * 10 + bx % 2);
		}
	}
	CHECK(cudaFuncGetAttributes(&attributes, ring));
	EXPECT(attributes.requiredClusterWidth == 2 && attributes.requiredClusterHeight == 2 &&
	       attributes.requiredClusterDepth == 1);
	ring<<<dim3(3, 4), n>>>(out);
	CHECK_IS(cudaGetLastError(), cudaErrorInvalidClusterSize);
	CHECK_IS(cudaLaunchKernelEx(&other.config, ring, out), cudaErrorInvalidClusterSize);
	CHECK_IS(cudaGetLastError(), cudaErrorInvalidClusterSize);
}

static void turns()
{
	const int n = 96, cluster = 8, grid = 24;
	std::vector<unsigned long long> got(n * grid), sum(cluster);
	unsigned long long *out;
	launch l(grid, n, cluster, 0);

	CHECK(cudaMalloc(&out, got.size() * sizeof(*out)));
	CHECK(cudaLaunchKernelEx(&l.config, halves, out, 50));
	CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(*out), cudaMemcpyDeviceToHost));
	for (int r = 0; r < cluster; r++)
		sum[r] = r + 1;
	for (int t = 0; t < 50; t++) {
		unsigned long long next = 0;

		for (int r = 0; r < cluster; r++)
			next += sum[r] * (r + 1);
		for (int r = 0; r < cluster; r++)
			sum[r] = next % 1000003;
	}
	for (int i = 0; i < n * grid; i++)
		EXPECT(got[i] == sum[i / n % cluster]);
}

int main()
{
	int has = 0;

	CHECK(cudaDeviceGetAttribute(&has, cudaDevAttrClusterLaunch, 0));
	EXPECT(has == 1);
	histograms();
	rings();
	turns();
}
