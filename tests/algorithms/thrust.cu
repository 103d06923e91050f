/*
 * thrust.cu - thrust's algorithms on device vectors, each held against the same on the host.
 */
#include <algorithm>
#include <numeric>

#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

#include "check.cuh"

template <class T> std::vector<T> host(const thrust::device_vector<T> &v, size_t n)
{
	std::vector<T> out(n);

	thrust::copy(v.begin(), v.begin() + (long)n, out.begin());
	return out;
}

static void run_sort(size_t n)
{
	std::vector<uint32_t> in = random_values<uint32_t>(n, UINT32_MAX);
	thrust::device_vector<uint32_t> v(in.begin(), in.end());

	thrust::sort(v.begin(), v.end());
	std::sort(in.begin(), in.end());
	compare("sort", host(v, n), in);
}

struct pair {
	uint32_t key, nth;
};

/* No order that a radix sort could take. */
struct by_key_down {
	__host__ __device__ bool operator()(const pair &a, const pair &b) const { return a.key > b.key; }
};

static void run_stable_sort(size_t n)
{
	std::vector<pair> in(n);
	thrust::device_vector<pair> v;

	for (size_t i = 0; i < n; i++)
		in[i] = {rnd() % 5000, (uint32_t)i};
	v = in;
	thrust::stable_sort(v.begin(), v.end(), by_key_down());
	std::stable_sort(in.begin(), in.end(), by_key_down());
	compare("stable_sort", host(v, n), in);
}

static void run_unique(size_t n)
{
	std::vector<uint32_t> in = random_runs(n, 4);
	thrust::device_vector<uint32_t> v(in.begin(), in.end());
	size_t left = (size_t)(thrust::unique(v.begin(), v.end()) - v.begin());

	in.erase(std::unique(in.begin(), in.end()), in.end());
	compare("unique", host(v, left), in);
}

static void run_reduce_by_key(size_t n)
{
	std::vector<uint32_t> in = random_runs(n, 7), values = random_values<uint32_t>(n, 100), keys, sums;
	thrust::device_vector<uint32_t> k(in.begin(), in.end()), v(values.begin(), values.end()), ok(n), ov(n);
	auto end = thrust::reduce_by_key(k.begin(), k.end(), v.begin(), ok.begin(), ov.begin());
	size_t left = (size_t)(end.first - ok.begin());

	for (size_t i = 0; i < n; i++) {
		if (keys.empty() || keys.back() != in[i]) {
			keys.push_back(in[i]);
			sums.push_back(0);
		}
		sums.back() += values[i];
	}
	compare("reduce_by_key", host(ok, left), keys);
	compare("reduce_by_key", host(ov, left), sums);
}

int main(int argc, char **argv)
{
	static const algorithm algorithms[] = {
		{"sort", run_sort},
		{"stable_sort", run_stable_sort},
		{"unique", run_unique},
		{"reduce_by_key", run_reduce_by_key},
	};

	return run_all(algorithms, argc, argv);
}
