/*
 * check.cuh - what the programs that run a library's algorithms share: inputs, and results held against the host's.
 */
#ifndef GSB_TESTS_ALGORITHMS_CHECK_CUH
#define GSB_TESTS_ALGORITHMS_CHECK_CUH

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#define CUDA(call)                                                                              \
	do {                                                                                    \
		cudaError_t err_ = (call);                                                      \
		if (err_ != cudaSuccess) {                                                      \
			printf("%s: %s\n", #call, cudaGetErrorString(err_));                    \
			exit(2);                                                                \
		}                                                                               \
	} while (0)

static uint64_t rng = 1;

static uint32_t rnd()
{
	rng = rng * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(rng >> 32);
}

template <class T> std::vector<T> random_values(size_t n, uint32_t below)
{
	std::vector<T> v(n);

	for (T &x : v)
		x = (T)(rnd() % below);
	return v;
}

/* Runs of equal keys of random length. */
static std::vector<uint32_t> random_runs(size_t n, uint32_t longest)
{
	std::vector<uint32_t> v(n);
	uint32_t key = 0, left = 0;

	for (uint32_t &x : v) {
		if (!left) {
			left = 1 + rnd() % longest;
			key += 1 + rnd() % 3;
		}
		left--;
		x = key;
	}
	return v;
}

static int n_wrong;

/* Says whether @got is @want, and where not. */
template <class T>
void compare(const char *name, const std::vector<T> &got, const std::vector<T> &want)
{
	size_t n = got.size() < want.size() ? got.size() : want.size();

	for (size_t i = 0; i < n; i++) {
		if (memcmp(&got[i], &want[i], sizeof(T))) {
			printf("WRONG %s: element %zu of %zu\n", name, i, want.size());
			n_wrong++;
			return;
		}
	}
	if (got.size() != want.size()) {
		printf("WRONG %s: %zu elements, not %zu\n", name, got.size(), want.size());
		n_wrong++;
	}
}

/* Device memory, as long as it is in scope. */
template <class T> struct on_device {
	T *p;
	size_t n;

	explicit on_device(size_t n) : n(n)
	{
		CUDA(cudaMalloc((void **)&p, n * sizeof(T) + 1));
		CUDA(cudaMemset(p, 0xa5, n * sizeof(T) + 1));
	}
	explicit on_device(const std::vector<T> &v) : on_device(v.size())
	{
		CUDA(cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice));
	}
	on_device(const on_device &) = delete;
	~on_device() { cudaFree(p); }
	std::vector<T> host(size_t k) const
	{
		std::vector<T> v(k);

		CUDA(cudaMemcpy(v.data(), p, k * sizeof(T), cudaMemcpyDeviceToHost));
		return v;
	}
	std::vector<T> host() const { return host(n); }
};

struct algorithm {
	const char *name;
	void (*run)(size_t n);
};

/* PROGRAM [ELEMENTS [RUNS [NAME...]]]: each algorithm so often; the last line says how many were wrong. */
template <size_t N> int run_all(const algorithm (&algorithms)[N], int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], nullptr, 0) : 1000000;
	int runs = argc > 2 ? atoi(argv[2]) : 1, done = 0;

	for (const algorithm &a : algorithms) {
		int before = n_wrong;
		bool asked = argc <= 3;

		for (int i = 3; i < argc; i++)
			asked |= !strcmp(argv[i], a.name);
		for (int i = 0; asked && i < runs; i++, done++)
			a.run(n);
		if (asked)
			printf("%s %s: %d of %d runs\n", n_wrong == before ? "right" : "wrong", a.name,
			       runs - (n_wrong - before), runs);
		fflush(stdout);
	}
	printf("%d runs, %d wrong\n", done, n_wrong);
	return n_wrong || !done;
}

#endif
