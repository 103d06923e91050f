/* Memory that graphs allocate and free: by hand, in the form for all kinds, captured; freed inside, by the program, by another graph. */
#include <cstdint>
#include <cstring>

#include "check.h"

__global__ void fill(int *x, int n, int value)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = value + i;
}

static const int n = 10000;
static const size_t bytes = n * sizeof(int);
static int *host;

static cudaMemAllocNodeParams memory(void)
{
	cudaMemAllocNodeParams p = {};

	p.poolProps.allocType = cudaMemAllocationTypePinned;
	p.poolProps.location.type = cudaMemLocationTypeDevice;
	p.bytesize = bytes;
	return p;
}

static void expect_filled(int value)
{
	int wrong = 0;

	for (int i = 0; i < n; i++)
		wrong += host[i] != value + i;
	EXPECT(!wrong);
	memset(host, 0, bytes);
}

static cudaGraphNode_t add_fill(cudaGraph_t g, cudaGraphNode_t behind, int *x, int value)
{
	int count = n;
	void *args[] = {&x, &count, &value};
	cudaKernelNodeParams p = {};
	cudaGraphNode_t node;

	p.func = (void *)fill;
	p.gridDim = dim3((n + 255) / 256);
	p.blockDim = dim3(256);
	p.kernelParams = args;
	CHECK(cudaGraphAddKernelNode(&node, g, &behind, 1, &p));
	return node;
}

static void run(cudaGraphExec_t x, cudaStream_t s)
{
	CHECK(cudaGraphLaunch(x, s));
	CHECK(cudaStreamSynchronize(s));
}

/* All of it inside of one graph. */
static void inside(cudaStream_t s)
{
	cudaMemAllocNodeParams p = memory(), told;
	cudaGraphNode_t alloc, node;
	cudaGraphExec_t x, y;
	cudaGraph_t g, copy;
	void *freed;

	CHECK(cudaGraphCreate(&g, 0));
	CHECK(cudaGraphAddMemAllocNode(&alloc, g, NULL, 0, &p));
	CHECK(cudaGraphMemAllocNodeGetParams(alloc, &told));
	EXPECT(told.dptr == p.dptr && told.bytesize == bytes);
	node = add_fill(g, alloc, (int *)p.dptr, 3);
	CHECK(cudaGraphAddMemcpyNode1D(&node, g, &node, 1, host, p.dptr, bytes, cudaMemcpyDeviceToHost));
	CHECK(cudaGraphAddMemFreeNode(&node, g, &node, 1, p.dptr));
	CHECK(cudaGraphMemFreeNodeGetParams(node, &freed));
	EXPECT(freed == p.dptr);
	CHECK_IS(cudaGraphClone(&copy, g), cudaErrorNotSupported);
	CHECK(cudaGraphInstantiate(&x, g, 0));
	CHECK_IS(cudaGraphInstantiate(&y, g, 0), cudaErrorNotSupported);
	for (int i = 0; i < 3; i++) {
		run(x, s);
		expect_filled(3);
	}
	CHECK_IS(cudaFree(p.dptr), cudaErrorInvalidValue);
	CHECK(cudaGraphExecDestroy(x));
	CHECK(cudaGraphDestroy(g));
}

/* The program and another graph free what a graph has left. */
static void left(cudaStream_t s)
{
	cudaGraphNodeParams p = {};
	cudaGraphNode_t node;
	cudaGraphExec_t x, y;
	cudaGraph_t g, other;
	int *ptr;

	CHECK(cudaGraphCreate(&g, 0));
	CHECK(cudaGraphCreate(&other, 0));
	p.type = cudaGraphNodeTypeMemAlloc;
	p.alloc = {};
	p.alloc.poolProps = memory().poolProps;
	p.alloc.bytesize = bytes;
#if CUDART_VERSION < 13000
	CHECK(cudaGraphAddNode(&node, g, NULL, 0, &p));
#else
	CHECK(cudaGraphAddNode(&node, g, NULL, NULL, 0, &p));
#endif
	ptr = (int *)p.alloc.dptr;
	EXPECT(ptr != NULL);
	add_fill(g, node, ptr, 5);
	CHECK(cudaGraphInstantiate(&x, g, 0));
	run(x, s);
	CHECK_IS(cudaGraphLaunch(x, s), cudaErrorInvalidValue);
	CHECK(cudaMemcpy(host, ptr, bytes, cudaMemcpyDeviceToHost));
	expect_filled(5);
	CHECK(cudaFree(ptr));
	run(x, s);
	CHECK(cudaFreeAsync(ptr, s));
	CHECK(cudaGraphAddMemFreeNode(&node, other, NULL, 0, ptr));
	CHECK(cudaGraphInstantiate(&y, other, 0));
	CHECK(cudaGraphLaunch(x, s));
	CHECK(cudaGraphLaunch(y, s));
	CHECK_IS(cudaGraphLaunch(y, s), cudaErrorInvalidValue);
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaGraphExecDestroy(x));
	CHECK(cudaGraphExecDestroy(y));
	CHECK(cudaGraphDestroy(other));
	CHECK(cudaGraphInstantiate(&x, g, cudaGraphInstantiateFlagAutoFreeOnLaunch));
	for (int i = 0; i < 3; i++)
		run(x, s);
	CHECK(cudaFree(ptr));
	CHECK(cudaGraphExecDestroy(x));
	CHECK(cudaGraphDestroy(g));
}

/* As a stream does it, and as a graph that is captured from the stream. */
static void work(cudaStream_t s, int value)
{
	int *ptr;

	CHECK(cudaMallocAsync(&ptr, bytes, s));
	fill<<<(n + 255) / 256, 256, 0, s>>>(ptr, n, value);
	CHECK(cudaMemcpyAsync(host, ptr, bytes, cudaMemcpyDeviceToHost, s));
	CHECK(cudaFreeAsync(ptr, s));
}

static void captured(cudaStream_t s)
{
	cudaGraphExec_t x;
	cudaGraph_t g;
	size_t n_nodes;

	work(s, 7);
	CHECK(cudaStreamSynchronize(s));
	expect_filled(7);
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	work(s, 8);
	CHECK(cudaStreamEndCapture(s, &g));
	CHECK(cudaGraphGetNodes(g, NULL, &n_nodes));
	EXPECT(n_nodes == 4);
	CHECK(cudaGraphInstantiate(&x, g, 0));
	for (int i = 0; i < 3; i++) {
		run(x, s);
		expect_filled(8);
	}
	CHECK(cudaGraphExecDestroy(x));
	CHECK(cudaGraphDestroy(g));
}

int main()
{
	uint64_t used = 1, high = 0;
	cudaStream_t s;

	CHECK(cudaMallocHost(&host, bytes));
	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	inside(s);
	left(s);
	captured(s);
	CHECK(cudaDeviceGraphMemTrim(0));
	CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
	EXPECT(used == 0);
	CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &high));
	EXPECT(high >= bytes);
	CHECK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &used));
	CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &high));
	EXPECT(high == 0);
}
