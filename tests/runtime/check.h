/*
 * check.h - what the programs here share: they are ordinary programs of the CUDA runtime that check their own results,
 * end with 0 when all are right, and know nothing of the broker.
 */
#ifndef GSB_TESTS_RUNTIME_CHECK_H
#define GSB_TESTS_RUNTIME_CHECK_H

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)	     check_is((call), cudaSuccess, #call, __LINE__)
#define CHECK_IS(call, want) check_is((call), (want), #call, __LINE__)
#define EXPECT(condition)    expect((condition), #condition, __LINE__)

static inline void check_is(cudaError_t got, cudaError_t want, const char *what, int line)
{
	if (got == want)
		return;
	fprintf(stderr, "line %d: %s: %s (%d), not %s\n", line, what, cudaGetErrorName(got), got,
		cudaGetErrorName(want));
	exit(1);
}

static inline void expect(bool holds, const char *what, int line)
{
	if (holds)
		return;
	fprintf(stderr, "line %d: not so: %s\n", line, what);
	exit(1);
}

#endif
