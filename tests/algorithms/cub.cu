/*
 * cub.cu - CUB's device-wide algorithms, each held against the same on the host, bit by bit.
 */
#include <algorithm>
#include <numeric>

#include <cub/cub.cuh>

#include "check.cuh"

/* Runs a CUB call twice, as it wants it: for the size of its storage, then in earnest. */
#define CUB(call)                                                        \
	do {                                                             \
		void *temp = nullptr;                                    \
		size_t bytes = 0;                                        \
		CUDA(call);                                              \
		CUDA(cudaMalloc(&temp, bytes + 1));                      \
		CUDA(call);                                              \
		CUDA(cudaDeviceSynchronize());                           \
		CUDA(cudaFree(temp));                                    \
	} while (0)

struct is_even {
	__host__ __device__ bool operator()(uint32_t v) const { return v % 2 == 0; }
};

static void run_exclusive_sum(size_t n)
{
	std::vector<uint32_t> in = random_values<uint32_t>(n, 1000), want(n);
	on_device<uint32_t> d(in), out(n);

	CUB(cub::DeviceScan::ExclusiveSum(temp, bytes, d.p, out.p, (int)n));
	std::exclusive_scan(in.begin(), in.end(), want.begin(), 0u);
	compare("exclusive_sum", out.host(), want);
}

/* 64-bit values: flag and value of the look-back need 16 bytes. */
static void run_inclusive_sum64(size_t n)
{
	std::vector<uint64_t> in = random_values<uint64_t>(n, 1u << 31), want(n);
	on_device<uint64_t> d(in), out(n);

	CUB(cub::DeviceScan::InclusiveSum(temp, bytes, d.p, out.p, (int)n));
	std::inclusive_scan(in.begin(), in.end(), want.begin());
	compare("inclusive_sum64", out.host(), want);
}

static void run_inclusive_max(size_t n)
{
	std::vector<uint32_t> in = random_values<uint32_t>(n, 1u << 31), want(n);
	on_device<uint32_t> d(in), out(n);
	auto larger = [] __host__ __device__(uint32_t a, uint32_t b) { return a > b ? a : b; };

	CUB(cub::DeviceScan::InclusiveScan(temp, bytes, d.p, out.p, larger, (int)n));
	std::inclusive_scan(in.begin(), in.end(), want.begin(), larger);
	compare("inclusive_max", out.host(), want);
}

static void run_select_if(size_t n)
{
	std::vector<uint32_t> in = random_values<uint32_t>(n, 1u << 30), want;
	on_device<uint32_t> d(in), out(n);
	on_device<int> count(1);

	CUB(cub::DeviceSelect::If(temp, bytes, d.p, out.p, count.p, (int)n, is_even()));
	std::copy_if(in.begin(), in.end(), std::back_inserter(want), is_even());
	compare("select_if", out.host((size_t)count.host()[0]), want);
}

static void run_select_flagged(size_t n)
{
	std::vector<uint32_t> in = random_values<uint32_t>(n, 1u << 30), want;
	std::vector<uint8_t> flags = random_values<uint8_t>(n, 2);
	on_device<uint32_t> d(in), out(n);
	on_device<uint8_t> f(flags);
	on_device<int> count(1);

	CUB(cub::DeviceSelect::Flagged(temp, bytes, d.p, f.p, out.p, count.p, (int)n));
	for (size_t i = 0; i < n; i++)
		if (flags[i])
			want.push_back(in[i]);
	compare("select_flagged", out.host((size_t)count.host()[0]), want);
}

static void run_select_unique(size_t n)
{
	std::vector<uint32_t> in = random_runs(n, 5), want(in);
	on_device<uint32_t> d(in), out(n);
	on_device<int> count(1);

	CUB(cub::DeviceSelect::Unique(temp, bytes, d.p, out.p, count.p, (int)n));
	want.erase(std::unique(want.begin(), want.end()), want.end());
	compare("select_unique", out.host((size_t)count.host()[0]), want);
}

static void run_partition_if(size_t n)
{
	std::vector<uint32_t> in = random_values<uint32_t>(n, 1u << 30), want, others;
	on_device<uint32_t> d(in), out(n);
	on_device<int> count(1);

	CUB(cub::DevicePartition::If(temp, bytes, d.p, out.p, count.p, (int)n, is_even()));
	for (uint32_t v : in)
		(v % 2 ? others : want).push_back(v);
	compare("partition_if", std::vector<int>{count.host()[0]}, std::vector<int>{(int)want.size()});
	want.insert(want.end(), others.rbegin(), others.rend()); /* which come from the end */
	compare("partition_if", out.host(), want);
}

static void run_run_length_encode(size_t n)
{
	std::vector<uint32_t> in = random_runs(n, 9), keys;
	std::vector<int> lengths;
	on_device<uint32_t> d(in), unique(n);
	on_device<int> counts(n), count(1);

	CUB(cub::DeviceRunLengthEncode::Encode(temp, bytes, d.p, unique.p, counts.p, count.p, (int)n));
	for (uint32_t v : in) {
		if (keys.empty() || keys.back() != v) {
			keys.push_back(v);
			lengths.push_back(0);
		}
		lengths.back()++;
	}
	compare("run_length_encode", unique.host((size_t)count.host()[0]), keys);
	compare("run_length_encode", counts.host((size_t)count.host()[0]), lengths);
}

static void run_reduce_by_key(size_t n)
{
	std::vector<uint32_t> in = random_runs(n, 9), keys;
	std::vector<uint64_t> values = random_values<uint64_t>(n, 1u << 31), sums;
	on_device<uint32_t> d(in), unique(n);
	on_device<uint64_t> v(values), out(n);
	on_device<int> count(1);

	CUB(cub::DeviceReduce::ReduceByKey(temp, bytes, d.p, unique.p, v.p, out.p, count.p,
					   cuda::std::plus<uint64_t>(), (int)n));
	for (size_t i = 0; i < n; i++) {
		if (keys.empty() || keys.back() != in[i]) {
			keys.push_back(in[i]);
			sums.push_back(0);
		}
		sums.back() += values[i];
	}
	compare("reduce_by_key", unique.host((size_t)count.host()[0]), keys);
	compare("reduce_by_key", out.host((size_t)count.host()[0]), sums);
}

static void run_reduce(size_t n)
{
	std::vector<uint64_t> in = random_values<uint64_t>(n, 1u << 31);
	on_device<uint64_t> d(in), out(2);

	CUB(cub::DeviceReduce::Sum(temp, bytes, d.p, out.p, (int)n));
	CUB(cub::DeviceReduce::Max(temp, bytes, d.p, out.p + 1, (int)n));
	compare("reduce", out.host(),
		{std::accumulate(in.begin(), in.end(), (uint64_t)0), *std::max_element(in.begin(), in.end())});
}

static void run_radix_sort_keys(size_t n)
{
	std::vector<uint32_t> in = random_values<uint32_t>(n, UINT32_MAX), want(in);
	on_device<uint32_t> d(in), out(n);

	CUB(cub::DeviceRadixSort::SortKeys(temp, bytes, d.p, out.p, (int)n));
	std::sort(want.begin(), want.end());
	compare("radix_sort_keys", out.host(), want);
}

static void run_radix_sort_pairs64(size_t n)
{
	std::vector<uint64_t> in = random_values<uint64_t>(n, 1u << 20);
	std::vector<uint32_t> values(n), want(n);
	on_device<uint64_t> d(in), keys(n);
	on_device<uint32_t> out(n);

	std::iota(values.begin(), values.end(), 0u);
	on_device<uint32_t> v(values);

	CUB(cub::DeviceRadixSort::SortPairsDescending(temp, bytes, d.p, keys.p, v.p, out.p, (int)n));
	want = values;
	std::stable_sort(want.begin(), want.end(), [&](uint32_t a, uint32_t b) { return in[a] > in[b]; });
	compare("radix_sort_pairs64", out.host(), want);
}

static void run_merge_sort(size_t n)
{
	std::vector<uint32_t> in = random_values<uint32_t>(n, 1u << 16), values(n), want(n);
	auto by_low_bits = [] __host__ __device__(uint32_t a, uint32_t b) { return (a & 0xfff) < (b & 0xfff); };

	std::iota(values.begin(), values.end(), 0u);
	on_device<uint32_t> d(in), v(values);
	CUB(cub::DeviceMergeSort::StableSortPairs(temp, bytes, d.p, v.p, (int)n, by_low_bits));
	want = values;
	std::stable_sort(want.begin(), want.end(),
			 [&](uint32_t a, uint32_t b) { return by_low_bits(in[a], in[b]); });
	compare("merge_sort", v.host(), want);
}

static void run_histogram(size_t n)
{
	std::vector<uint32_t> in = random_values<uint32_t>(n, 4096);
	std::vector<int> want(256);
	on_device<uint32_t> d(in);
	on_device<int> out(256);

	CUB(cub::DeviceHistogram::HistogramEven(temp, bytes, d.p, out.p, 257, 0u, 4096u, (int)n));
	for (uint32_t v : in)
		want[v / 16]++;
	compare("histogram", out.host(), want);
}

int main(int argc, char **argv)
{
	static const algorithm algorithms[] = {
		{"exclusive_sum", run_exclusive_sum},
		{"inclusive_sum64", run_inclusive_sum64},
		{"inclusive_max", run_inclusive_max},
		{"select_if", run_select_if},
		{"select_flagged", run_select_flagged},
		{"select_unique", run_select_unique},
		{"partition_if", run_partition_if},
		{"run_length_encode", run_run_length_encode},
		{"reduce_by_key", run_reduce_by_key},
		{"reduce", run_reduce},
		{"radix_sort_keys", run_radix_sort_keys},
		{"radix_sort_pairs64", run_radix_sort_pairs64},
		{"merge_sort", run_merge_sort},
		{"histogram", run_histogram},
	};

	return run_all(algorithms, argc, argv);
}
