/* Managed memory: one pointer for host and device, while a kernel runs too; hints, attributes, and what is refused. */
#include <cstdint>

#include "check.h"

__global__ void scale(float *x, int n, float by)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] *= by;
}

__global__ void answer(volatile int *asked, volatile int *answered)
{
	while (!*asked)
		;
	__threadfence_system();
	*answered = 42;
}

static void expect_hints(void *x, size_t bytes, cudaStream_t s)
{
	cudaMemRangeAttribute ids[] = {cudaMemRangeAttributeReadMostly, cudaMemRangeAttributeLastPrefetchLocation};
	int mostly = 9, last = 9, preferred = 9, where[2] = {9, 9};
	void *data[] = {&mostly, &last};
	size_t sizes[] = {4, 4};

#if CUDART_VERSION >= 13000
	cudaMemLocation device = {cudaMemLocationTypeDevice, {0}}, host = {cudaMemLocationTypeHost, {0}};
	CHECK(cudaMemPrefetchAsync(x, bytes, device, 0, s));
	CHECK(cudaMemPrefetchAsync(x, bytes, host, 0, s));
	CHECK(cudaMemAdvise(x, bytes, cudaMemAdviseSetPreferredLocation, device));
#else
	CHECK(cudaMemPrefetchAsync(x, bytes, 0, s));
	CHECK(cudaMemPrefetchAsync(x, bytes, cudaCpuDeviceId, s));
	CHECK(cudaMemAdvise(x, bytes, cudaMemAdviseSetPreferredLocation, 0));
#endif
	CHECK(cudaMemRangeGetAttributes(data, sizes, ids, 2, x, bytes));
	EXPECT(mostly == 0 && last == cudaCpuDeviceId);
	CHECK(cudaMemRangeGetAttribute(&preferred, 4, cudaMemRangeAttributePreferredLocation, x, bytes));
	EXPECT(preferred == 0);
	CHECK(cudaMemRangeGetAttribute(where, sizeof(where), cudaMemRangeAttributeAccessedBy, x, bytes));
	EXPECT(where[0] == cudaInvalidDeviceId && where[1] == cudaInvalidDeviceId);
#if CUDART_VERSION >= 13000
	CHECK(cudaMemAdvise(x, bytes / 2, cudaMemAdviseSetReadMostly, device));
	CHECK(cudaMemAdvise(x, bytes, cudaMemAdviseSetAccessedBy, device));
	CHECK(cudaMemPrefetchAsync(x, 1, device, 0, s));
#else
	CHECK(cudaMemAdvise(x, bytes / 2, cudaMemAdviseSetReadMostly, 0));
	CHECK(cudaMemAdvise(x, bytes, cudaMemAdviseSetAccessedBy, 0));
	CHECK(cudaMemPrefetchAsync(x, 1, 0, s));
#endif
	CHECK(cudaMemRangeGetAttributes(data, sizes, ids, 2, x, bytes));
	EXPECT(mostly == 0 && last == cudaInvalidDeviceId);
	CHECK(cudaMemRangeGetAttributes(data, sizes, ids, 2, x, 1));
	EXPECT(mostly == 1 && last == 0);
	CHECK(cudaMemRangeGetAttribute(where, sizeof(where), cudaMemRangeAttributeAccessedBy, x, bytes));
	EXPECT(where[0] == 0 && where[1] == cudaInvalidDeviceId);
	CHECK(cudaStreamAttachMemAsync(s, x, 0, cudaMemAttachSingle));
	CHECK(cudaStreamAttachMemAsync(s, x, bytes, cudaMemAttachGlobal));
}

int main()
{
	const int n = 100000;
	cudaPointerAttributes attributes;
	cudaStream_t s;
	float *x, *plain, *copy = new float[n];
	int managed = 0, *words;

	CHECK(cudaDeviceGetAttribute(&managed, cudaDevAttrManagedMemory, 0));
	EXPECT(managed == 1);
	CHECK(cudaStreamCreate(&s));
	CHECK(cudaMallocManaged(&x, n * sizeof(float)));
	expect_hints(x, n * sizeof(float), s);
	for (int i = 0; i < n; i++)
		x[i] = i;
	scale<<<(n + 255) / 256, 256, 0, s>>>(x, n, 2);
	CHECK(cudaStreamSynchronize(s));
	for (int i = 0; i < n; i++)
		EXPECT(x[i] == 2.0f * i);

	CHECK(cudaMalloc(&plain, n * sizeof(float)));
	CHECK(cudaMemcpy(plain, x, n * sizeof(float), cudaMemcpyDefault));
	CHECK(cudaMemset(x, 0, n * sizeof(float)));
	EXPECT(x[n - 1] == 0);
	CHECK(cudaMemcpy(x + 1, plain + 1, (n - 1) * sizeof(float), cudaMemcpyDeviceToDevice));
	CHECK(cudaMemcpy(copy, x, n * sizeof(float), cudaMemcpyDeviceToHost));
	EXPECT(copy[0] == 0 && copy[n - 1] == 2.0f * (n - 1));

	CHECK(cudaPointerGetAttributes(&attributes, x + 5));
	EXPECT(attributes.type == cudaMemoryTypeManaged);
	EXPECT(attributes.devicePointer == x + 5 && attributes.hostPointer == x + 5);

	CHECK(cudaMallocManaged(&words, 2 * sizeof(int), cudaMemAttachGlobal));
	words[0] = words[1] = 0;
	answer<<<1, 1, 0, s>>>(words, words + 1);
	*(volatile int *)words = 1; /* while the kernel looks */
	CHECK(cudaStreamSynchronize(s));
	EXPECT(words[1] == 42);

	EXPECT(cudaMallocManaged(&plain, 64, 77) == cudaErrorInvalidValue);
	EXPECT(cudaFreeHost(x) == cudaErrorInvalidValue);
	CHECK(cudaFree(words));
	CHECK(cudaFree(x));
	EXPECT(cudaFree(x) == cudaErrorInvalidValue);
	delete[] copy;
}
