/*
 * __managed__ variables: one memory for host and kernels, in a program of the runtime; and as the driver's interface has them, in modules and
 * libraries.
 */
#include <cstring>
#include <cuda.h>

#include "check.h"

struct pair {
	int n;
	double x;
};

__managed__ int counter = 5;
__managed__ pair both = {7, 2.5};
__managed__ __align__(512) char text[100000];
__managed__ int *pointer;
__device__ int step = 3;
__managed__ int *to_step = &step;
__managed__ int rows[4] = {1, 2, 3, 4};
__managed__ int squares[4096];
static __managed__ volatile int asked, answered;

__global__ void change()
{
	atomicAdd(&counter, step);
	both.x *= 2;
	text[sizeof(text) - 1] = 'z';
	*pointer += 100;
	rows[2] += 40;
}

/* In as many blocks as somebody likes. */
__global__ void square(int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		squares[i] = i * i;
}

__global__ void follow()
{
	rows[3] += *to_step;
}

__global__ void answer()
{
	while (!asked)
		;
	__threadfence_system();
	answered = 42;
}

/* Before any kernel, and while none runs. */
static void host_and_kernels()
{
	EXPECT(counter == 5 && both.n == 7 && both.x == 2.5 && text[0] == 0 && pointer == NULL);
	EXPECT((size_t)text % 512 == 0);
	EXPECT(rows[0] == 1 && rows[3] == 4);
	counter = 10;
	pointer = &both.n;
	change<<<1, 1>>>();
	follow<<<1, 1>>>();
	square<<<64, 64>>>(4000);
	CHECK(cudaDeviceSynchronize());
	EXPECT(counter == 13 && both.n == 107 && both.x == 5 && text[sizeof(text) - 1] == 'z');
	EXPECT(rows[1] == 2 && rows[2] == 43 && rows[3] == 7);
	EXPECT(squares[3999] == 3999 * 3999 && squares[4000] == 0);
	asked = 0;
	answer<<<1, 1>>>();
	asked = 1; /* while the kernel looks */
	CHECK(cudaDeviceSynchronize());
	EXPECT(answered == 42);
}

static void symbols()
{
	cudaPointerAttributes attributes;
	void *address = NULL;
	int value = 77;
	size_t bytes = 0;

	CHECK(cudaGetSymbolAddress(&address, counter));
	EXPECT(address == &counter);
	CHECK(cudaGetSymbolSize(&bytes, text));
	EXPECT(bytes == sizeof(text));
	CHECK(cudaMemcpyToSymbol(counter, &value, sizeof(value)));
	CHECK(cudaDeviceSynchronize());
	EXPECT(counter == 77);
	counter = 78;
	CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof(value)));
	EXPECT(value == 78);
	CHECK(cudaMemset(text, 'a', sizeof(text)));
	CHECK(cudaDeviceSynchronize());
	EXPECT(text[0] == 'a' && text[sizeof(text) - 1] == 'a');
	CHECK(cudaPointerGetAttributes(&attributes, &counter));
	EXPECT(attributes.type == cudaMemoryTypeManaged && attributes.devicePointer == &counter);
	EXPECT(cudaFree(&counter) == cudaErrorInvalidValue);
	EXPECT(cudaFree(&counter) == cudaErrorInvalidValue && cudaGetLastError() == cudaErrorInvalidValue);
}

static const char ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
			  ".visible .global .attribute(.managed) .align 4 .u32 held = 40;\n"
			  ".visible .global .align 4 .u32 plain = 2;\n"
			  ".visible .entry add()\n{\n\t.reg .u32 %r<3>;\n"
			  "\tld.global.u32 %r1, [held];\n\tld.global.u32 %r2, [plain];\n"
			  "\tadd.u32 %r1, %r1, %r2;\n\tst.global.u32 [held], %r1;\n\tret;\n}\n";

#define CU(call) EXPECT((call) == CUDA_SUCCESS)

static volatile int *held_of(CUmodule module)
{
	CUdeviceptr held;
	size_t bytes;
	unsigned managed = 0; /* the driver writes four bytes */

	CU(cuModuleGetGlobal(&held, &bytes, module, "held"));
	EXPECT(bytes == 4);
	CU(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, held));
	EXPECT(managed);
	return (volatile int *)held;
}

static void add(CUmodule module)
{
	CUfunction f;

	CU(cuModuleGetFunction(&f, module, "add"));
	CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CU(cuCtxSynchronize());
}

static void modules()
{
	CUmodule a, b;

	CU(cuModuleLoadData(&a, ptx));
	CU(cuModuleLoadData(&b, ptx));
	add(a);
	add(a);
	add(b);
	EXPECT(held_of(a) != held_of(b));
	EXPECT(*held_of(a) == 44 && *held_of(b) == 42);
	CU(cuModuleUnload(a));
	EXPECT(*held_of(b) == 42);
	CU(cuModuleUnload(b));
	CU(cuModuleLoadData(&a, ptx));
	EXPECT(*held_of(a) == 40);
	CU(cuModuleUnload(a));
}

/* A library's are there without a context, and the same in each. */
static void libraries()
{
	CUcontext ctx, other;
	CUdeviceptr held, plain;
	CUlibrary library;
	CUmodule module;
	size_t bytes;

	CU(cuCtxGetCurrent(&ctx));
	CU(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CU(cuLibraryGetManaged(&held, &bytes, library, "held"));
	EXPECT(bytes == 4 && *(volatile int *)held == 40);
	EXPECT(cuLibraryGetManaged(&plain, &bytes, library, "plain") == CUDA_ERROR_NOT_FOUND);
	CU(cuLibraryGetModule(&module, library));
	add(module);
#if CUDA_VERSION >= 13000
	CU(cuCtxCreate(&other, NULL, 0, 0));
#else
	CU(cuCtxCreate(&other, 0, 0));
#endif
	CU(cuLibraryGetModule(&module, library));
	EXPECT(held_of(module) == (volatile int *)held && *(volatile int *)held == 42);
	add(module);
	CU(cuCtxDestroy(other));
	CU(cuCtxSetCurrent(ctx));
	EXPECT(*(volatile int *)held == 44);
	*(volatile int *)held = 50;
	CU(cuLibraryGetModule(&module, library));
	add(module);
	EXPECT(*(volatile int *)held == 52);
	CU(cuLibraryUnload(library));
}

/* What the host has of a variable outlives the device's context. */
static void reset()
{
	counter = 1000;
	CHECK(cudaDeviceReset());
	EXPECT(counter == 1000);
	pointer = &both.n;
	change<<<1, 1>>>();
	CHECK(cudaDeviceSynchronize());
	EXPECT(counter == 1003);
}

int main()
{
	host_and_kernels();
	symbols();
	modules();
	libraries();
	reset();
	return 0;
}
