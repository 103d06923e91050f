/*
 * Errors: what is refused at once and with what, what a kernel breaks, and what stays broken.
 * Usage: errors [PART]: one of the parts below, by its name.
 */
#include <cstring>
#include <thread>

#include "check.h"

__global__ void write(int *x, int value)
{
	x[threadIdx.x] = value;
}

static void at_once()
{
	int *x, value, device;

	CHECK_IS(cudaSetDevice(99), cudaErrorInvalidDevice);
	CHECK_IS(cudaMalloc(&x, (size_t)1 << 50), cudaErrorMemoryAllocation);
	CHECK_IS(cudaMemcpy(&value, &value, 4, (cudaMemcpyKind)17), cudaErrorInvalidMemcpyDirection);
	CHECK_IS(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)100000, 0), cudaErrorInvalidValue);
	CHECK_IS(cudaEventRecord(NULL), cudaErrorInvalidResourceHandle); /* no made-up handle: NVIDIA's driver looks behind it */
	CHECK_IS(cudaGetLastError(), cudaErrorInvalidResourceHandle);
	CHECK(cudaGetLastError());
	CHECK(cudaMalloc(&x, 0));
	EXPECT(!x);
	CHECK(cudaFree(x));
	CHECK(cudaGetDevice(&device));
	EXPECT(device == 0);
}

static void launches()
{
	const cudaError_t impossible = CUDART_VERSION < 13000 ? cudaErrorInvalidConfiguration : cudaErrorInvalidValue;
	cudaError_t none;
	int *x;

	CHECK(cudaMalloc(&x, 4096));
	write<<<1, 2048>>>(x, 1);
	CHECK_IS(cudaPeekAtLastError(), impossible);
	CHECK_IS(cudaGetLastError(), impossible);
	write<<<0, 1>>>(x, 1);
	CHECK_IS(cudaGetLastError(), impossible);
	write<<<1, 1, 1 << 20>>>(x, 1);
	CHECK_IS(cudaGetLastError(), cudaErrorInvalidValue);
	/* what is no function may be called an unknown handle of one */
	none = cudaLaunchKernel((const void *)launches, dim3(1), dim3(1), NULL, 0, 0);
	EXPECT(none == cudaErrorInvalidDeviceFunction || none == cudaErrorInvalidResourceHandle);
	CHECK_IS(cudaGetLastError(), none);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaFree(x));
}

/* Each thread has its own last error. */
static void per_thread()
{
	CHECK_IS(cudaSetDevice(-1), cudaErrorInvalidDevice);
	std::thread([] { CHECK(cudaGetLastError()); }).join();
	CHECK_IS(cudaGetLastError(), cudaErrorInvalidDevice);
}

static void names()
{
	EXPECT(!strcmp(cudaGetErrorName(cudaErrorInvalidConfiguration), "cudaErrorInvalidConfiguration"));
	EXPECT(!strcmp(cudaGetErrorString(cudaSuccess), "no error"));
	EXPECT(!strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument"));
	EXPECT(!strcmp(cudaGetErrorName((cudaError_t)-7), "unrecognized error code"));
}

/* A bad address breaks the context for all calls; the last error is told once, as any other. */
static void broken()
{
	size_t room, total;
	int *x = NULL;

	CHECK(cudaMemGetInfo(&room, &total));
	CHECK(cudaMallocAsync(&x, room / 3 * 2, 0));
	write<<<1, 1>>>((int *)0x10, 1);
	CHECK(cudaGetLastError());
	cudaFreeAsync(x, 0); /* either of these may find the error */
	EXPECT(cudaMallocAsync(&x, room / 3 * 2, 0) != cudaErrorMemoryAllocation);
	cudaGetLastError();
	CHECK_IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	for (int i = 0; i < 2; i++) {
		CHECK_IS(cudaMalloc(&x, 4), cudaErrorIllegalAddress);
		CHECK_IS(cudaGetLastError(), cudaErrorIllegalAddress);
		CHECK(cudaGetLastError());
	}
	write<<<1, 1>>>(x, 1);
	CHECK_IS(cudaGetLastError(), cudaErrorIllegalAddress);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)();
	} parts[] = {{"at_once", at_once}, {"launches", launches}, {"per_thread", per_thread},
		     {"names", names}, {"broken", broken}};

	for (const auto &part : parts) {
		if (argc < 2 || !strcmp(argv[1], part.name))
			part.run();
	}
}
