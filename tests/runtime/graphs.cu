/* A reduction as a graph by hand, with a pageable result and a host function; the same captured; changed; nested. */
#include "check.h"

static const int n = 1 << 16, blocks = 32, threads = 256;

__global__ void partial(const float *in, double *out, int count)
{
	__shared__ double sums[256];
	double sum = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
		sum += in[i];
	sums[threadIdx.x] = sum;
	for (int half = blockDim.x / 2; half; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			sums[threadIdx.x] += sums[threadIdx.x + half];
	}
	if (!threadIdx.x)
		out[blockIdx.x] = sums[0];
}

__global__ void total(const double *in, double *out, int count)
{
	for (int i = 0; i < count; i++)
		*out += in[i];
}

struct accumulated {
	double *result, sum;
	int n_calls;
};

static void CUDART_CB accumulate(void *data)
{
	accumulated *a = (accumulated *)data;

	a->sum += *a->result;
	a->n_calls++;
}

static float *host, *device;
static double *parts, *out;

static cudaGraph_t by_hand(accumulated *a, cudaGraphNode_t *first)
{
	cudaGraph_t g;
	cudaGraphNode_t copy, clear, reduce, sum, back, call, both[2];
	cudaMemcpy3DParms p = {};
	cudaMemsetParams fill = {};
	cudaKernelNodeParams k = {};
	cudaHostNodeParams h = {accumulate, a};
	int count = n, n_parts = blocks;
	void *reduce_args[] = {&device, &parts, &count}, *sum_args[] = {&parts, &out, &n_parts};

	CHECK(cudaGraphCreate(&g, 0));
	p.srcPtr = make_cudaPitchedPtr(host, n * sizeof(float), n, 1);
	p.dstPtr = make_cudaPitchedPtr(device, n * sizeof(float), n, 1);
	p.extent = make_cudaExtent(n * sizeof(float), 1, 1);
	p.kind = cudaMemcpyHostToDevice;
	CHECK(cudaGraphAddMemcpyNode(&copy, g, NULL, 0, &p));
	fill.dst = out;
	fill.elementSize = 4;
	fill.width = 2;
	fill.height = 1;
	CHECK(cudaGraphAddMemsetNode(&clear, g, NULL, 0, &fill));
	k.func = (void *)partial;
	k.gridDim = dim3(blocks);
	k.blockDim = dim3(threads);
	k.kernelParams = reduce_args;
	CHECK(cudaGraphAddKernelNode(&reduce, g, &copy, 1, &k));
	both[0] = reduce;
	both[1] = clear;
	k.func = (void *)total;
	k.gridDim = k.blockDim = dim3(1);
	k.kernelParams = sum_args;
	CHECK(cudaGraphAddKernelNode(&sum, g, both, 2, &k));
	CHECK(cudaGraphAddMemcpyNode1D(&back, g, &sum, 1, a->result, out, sizeof(double), cudaMemcpyDeviceToHost));
	CHECK(cudaGraphAddHostNode(&call, g, &back, 1, &h));
	*first = copy;
	return g;
}

static cudaGraph_t captured(accumulated *a)
{
	cudaStream_t s, t;
	cudaEvent_t fork, join;
	cudaGraph_t g, none;
	cudaStreamCaptureStatus status;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaStreamCreate(&t));
	CHECK(cudaEventCreate(&fork));
	CHECK(cudaEventCreate(&join));
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	CHECK(cudaEventRecord(fork, s));
	CHECK(cudaStreamWaitEvent(t, fork, 0));
	CHECK(cudaMemcpyAsync(device, host, n * sizeof(float), cudaMemcpyDefault, s));
	CHECK(cudaMemsetAsync(out, 0, sizeof(double), t));
	CHECK(cudaEventRecord(join, t));
	partial<<<blocks, threads, 0, s>>>(device, parts, n);
	CHECK(cudaStreamWaitEvent(s, join, 0));
	total<<<1, 1, 0, s>>>(parts, out, blocks);
	CHECK(cudaMemcpyAsync(a->result, out, sizeof(double), cudaMemcpyDefault, s));
	CHECK(cudaLaunchHostFunc(s, accumulate, a));
	CHECK(cudaStreamIsCapturing(t, &status));
	EXPECT(status == cudaStreamCaptureStatusActive);
	CHECK(cudaStreamEndCapture(s, &g));
	CHECK_IS(cudaStreamEndCapture(s, &none), cudaErrorIllegalState);
	CHECK(cudaStreamDestroy(s));
	CHECK(cudaStreamDestroy(t));
	return g;
}

static size_t n_nodes(cudaGraph_t g)
{
	size_t count;

	CHECK(cudaGraphGetNodes(g, NULL, &count));
	return count;
}

#if CUDART_VERSION < 13000
#define cudaGraphAddNode cudaGraphAddNode_v2
#endif

/* The same, each node described in the one form for all kinds; its end is a graph of its own. */
static cudaGraph_t generic(accumulated *a, cudaGraphNode_t *copy)
{
	cudaGraph_t g, inner;
	cudaGraphNode_t clear, reduce, sum, both[2], nested, within;
	cudaGraphNodeParams p = {}, end = {};
	int count = n, n_parts = blocks;
	void *reduce_args[] = {&device, &parts, &count}, *sum_args[] = {&parts, &out, &n_parts};

	CHECK(cudaGraphCreate(&g, 0));
	CHECK(cudaGraphCreate(&inner, 0));
	p.type = cudaGraphNodeTypeMemcpy;
	p.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(host, n * sizeof(float), n, 1);
	p.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(device, n * sizeof(float), n, 1);
	p.memcpy.copyParams.extent = make_cudaExtent(n * sizeof(float), 1, 1);
	p.memcpy.copyParams.kind = cudaMemcpyHostToDevice;
	CHECK(cudaGraphAddNode(copy, g, NULL, NULL, 0, &p));
	p = {};
	p.type = cudaGraphNodeTypeMemset;
	p.memset.dst = out;
	p.memset.elementSize = 4;
	p.memset.width = 2;
	p.memset.height = 1;
	CHECK(cudaGraphAddNode(&clear, g, NULL, NULL, 0, &p));
	p = {};
	p.type = cudaGraphNodeTypeKernel;
	p.kernel.func = (void *)partial;
	p.kernel.gridDim = dim3(blocks);
	p.kernel.blockDim = dim3(threads);
	p.kernel.kernelParams = reduce_args;
	CHECK(cudaGraphAddNode(&reduce, g, copy, NULL, 1, &p));
	p.kernel.func = (void *)total;
	p.kernel.gridDim = p.kernel.blockDim = dim3(1);
	p.kernel.kernelParams = sum_args;
	both[0] = reduce;
	both[1] = clear;
	CHECK(cudaGraphAddNode(&sum, g, both, NULL, 2, &p));
	CHECK(cudaGraphAddMemcpyNode1D(&within, inner, NULL, 0, a->result, out, sizeof(double), cudaMemcpyDeviceToHost));
	end.type = cudaGraphNodeTypeHost;
	end.host.fn = accumulate;
	end.host.userData = a;
	CHECK(cudaGraphAddNode(&within, inner, &within, NULL, 1, &end));
	end = {};
	end.type = cudaGraphNodeTypeGraph;
	end.graph.graph = inner;
	CHECK(cudaGraphAddNode(&nested, g, &sum, NULL, 1, &end));
	EXPECT(end.graph.graph == inner); /* whoever wants the node's copy asks for it */
	CHECK(cudaGraphDestroy(inner));
	return g;
}

/* Changed before it is instantiated, and in the executable graph. */
static void run_generic(cudaStream_t s)
{
	double result, want = 0;
	accumulated a = {&result, 0, 0};
	cudaGraphNode_t copy;
	cudaGraph_t g = generic(&a, &copy);
	cudaGraphExec_t x;
	cudaGraphNodeParams p = {};

	for (int i = 0; i < n; i++)
		host[i] = (float)(i % 11);
	CHECK(cudaMemset(device, 0, n * sizeof(float)));
	p.type = cudaGraphNodeTypeMemcpy;
	p.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(host, n * sizeof(float), n, 1);
	p.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(device, n * sizeof(float), n, 1);
	p.memcpy.copyParams.extent = make_cudaExtent(100 * sizeof(float), 1, 1);
	p.memcpy.copyParams.kind = cudaMemcpyHostToDevice;
	CHECK(cudaGraphNodeSetParams(copy, &p));
	CHECK(cudaGraphInstantiate(&x, g, 0));
	CHECK(cudaGraphLaunch(x, s));
	CHECK(cudaStreamSynchronize(s));
	for (int i = 0; i < 100; i++)
		want += i % 11;
	EXPECT(a.n_calls == 1 && result == want);
	p.memcpy.copyParams.extent.width = 200 * sizeof(float);
	CHECK(cudaGraphExecNodeSetParams(x, copy, &p));
	CHECK(cudaGraphLaunch(x, s));
	CHECK(cudaStreamSynchronize(s));
	for (int i = 100; i < 200; i++)
		want += i % 11;
	EXPECT(a.n_calls == 2 && result == want);
	CHECK(cudaGraphExecDestroy(x));
	CHECK(cudaGraphDestroy(g));
}

/* The one node that launches func. */
static cudaGraphNode_t node_of(cudaGraph_t g, const void *func)
{
	cudaGraphNode_t nodes[8];
	cudaGraphNodeType type;
	cudaKernelNodeParams p;
	size_t count = 8;

	CHECK(cudaGraphGetNodes(g, nodes, &count));
	for (size_t i = 0; i < count; i++) {
		CHECK(cudaGraphNodeGetType(nodes[i], &type));
		if (type != cudaGraphNodeTypeKernel)
			continue;
		CHECK(cudaGraphKernelNodeGetParams(nodes[i], &p));
		if (p.func == func)
			return nodes[i];
	}
	EXPECT(!"a kernel node of this function");
	return NULL;
}

/* A program tells captured kernels by the names that it launched, and gives back what it got, or a handle. */
static void functions(cudaStream_t s)
{
	accumulated a = {};
	double result;
	cudaGraph_t g;
	cudaGraphExec_t x;
	cudaGraphNode_t node;
	cudaKernelNodeParams p;
	cudaKernel_t kernel;

	a.result = &result;
	g = captured(&a);
	node_of(g, (void *)partial);
	node = node_of(g, (void *)total);
	CHECK(cudaGraphKernelNodeGetParams(node, &p));
	CHECK(cudaGraphInstantiate(&x, g, 0));
	CHECK(cudaGraphExecKernelNodeSetParams(x, node, &p));
	CHECK(cudaGetKernel(&kernel, (void *)total));
	p.func = (void *)kernel;
	CHECK(cudaGraphExecKernelNodeSetParams(x, node, &p));
	CHECK(cudaGraphLaunch(x, s));
	CHECK(cudaStreamSynchronize(s));
	EXPECT(a.n_calls == 1 && a.sum > 0);
	CHECK(cudaGraphExecDestroy(x));
	CHECK(cudaGraphDestroy(g));
}

__device__ int counters[4];

/* A copy's node says what it copies, by which the same is copied elsewhere. */
static void told(cudaGraphNode_t node, cudaMemcpy3DParms *p)
{
	memset(p, 0xa5, sizeof(*p));
	CHECK(cudaGraphMemcpyNodeGetParams(node, p));
}

static void variables(cudaStream_t s)
{
	int in[4] = {1, 2, 3, 4}, back[4] = {0};
	cudaGraphNode_t to, from, none;
	cudaGraphExec_t x;
	cudaMemcpy3DParms p;
	cudaGraph_t g;
	void *at;

	CHECK(cudaGetSymbolAddress(&at, counters));
	CHECK(cudaGraphCreate(&g, 0));
	CHECK(cudaGraphAddMemcpyNodeToSymbol(&to, g, NULL, 0, counters, in, 8, 4, cudaMemcpyHostToDevice));
	CHECK(cudaGraphAddMemcpyNodeFromSymbol(&from, g, &to, 1, back, counters, 16, 0, cudaMemcpyDeviceToHost));
	CHECK_IS(cudaGraphAddMemcpyNodeToSymbol(&none, g, NULL, 0, counters, in, 16, 4, cudaMemcpyHostToDevice),
		 cudaErrorInvalidValue);
	CHECK_IS(cudaGraphAddMemcpyNodeToSymbol(&none, g, NULL, 0, in, in, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
	told(to, &p);
	EXPECT(p.srcPtr.ptr == in && p.dstPtr.ptr == (char *)at + 4 && p.extent.width == 8);
	CHECK(cudaGraphInstantiate(&x, g, 0));
	CHECK(cudaGraphLaunch(x, s));
	CHECK(cudaStreamSynchronize(s));
	EXPECT(back[0] == 0 && back[1] == 1 && back[2] == 2 && back[3] == 0);
	CHECK(cudaGraphExecMemcpyNodeSetParamsToSymbol(x, to, counters, in + 2, 8, 8, cudaMemcpyHostToDevice));
	CHECK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(x, from, back, counters, 8, 8, cudaMemcpyDeviceToHost));
	CHECK(cudaGraphLaunch(x, s));
	CHECK(cudaStreamSynchronize(s));
	EXPECT(back[0] == 3 && back[1] == 4);
	CHECK(cudaGraphMemcpyNodeSetParamsToSymbol(to, counters, in, 4, 0, cudaMemcpyHostToDevice));
	CHECK(cudaGraphMemcpyNodeSetParamsFromSymbol(from, back, counters, 4, 0, cudaMemcpyDeviceToHost));
	told(from, &p);
	EXPECT(p.srcPtr.ptr == at && p.dstPtr.ptr == back && p.extent.width == 4);
	p.dstPtr.ptr = back + 3;
	CHECK(cudaGraphMemcpyNodeSetParams(from, &p));
	CHECK(cudaGraphExecDestroy(x));
	CHECK(cudaGraphInstantiate(&x, g, 0));
	CHECK(cudaGraphLaunch(x, s));
	CHECK(cudaStreamSynchronize(s));
	EXPECT(back[0] == 3 && back[3] == 1);
	CHECK(cudaGraphExecDestroy(x));
	CHECK(cudaGraphDestroy(g));
	cudaGetLastError();
}

/* Of an array lengths and places count its texels. */
static void boxes()
{
	cudaChannelFormatDesc pair = cudaCreateChannelDesc<float2>();
	cudaMemcpy3DParms p = {}, got;
	cudaArray_t array;
	cudaGraphNode_t node;
	cudaGraph_t g;
	float2 from[3][8] = {};

	CHECK(cudaMallocArray(&array, &pair, 6, 4));
	CHECK(cudaGraphCreate(&g, 0));
	p.srcPtr = make_cudaPitchedPtr(from, sizeof(from[0]), 8, 3);
	p.srcPos = make_cudaPos(2, 1, 0);
	p.dstArray = array;
	p.dstPos = make_cudaPos(1, 2, 0);
	p.extent = make_cudaExtent(5, 2, 1);
	p.kind = cudaMemcpyHostToDevice;
	CHECK(cudaGraphAddMemcpyNode(&node, g, NULL, 0, &p));
	told(node, &got);
	EXPECT(got.dstArray == array && !got.srcArray && !got.dstPtr.ptr && got.srcPtr.ptr == from);
	EXPECT(got.srcPos.x == 2 && got.srcPos.y == 1 && got.dstPos.x == 1 && got.dstPos.y == 2);
	EXPECT(got.extent.width == 5 && got.extent.height == 2 && got.extent.depth == 1);
	EXPECT(got.srcPtr.pitch == sizeof(from[0]));
	CHECK(cudaGraphMemcpyNodeSetParams(node, &got));
	CHECK(cudaGraphDestroy(g));
	CHECK(cudaFreeArray(array));
}

int main()
{
	double result, want = 0;
	accumulated a = {&result, 0, 0};
	cudaGraph_t made, taken, nest;
	cudaGraphNode_t first, nested;
	cudaGraphExec_t x, y, z;
	cudaStream_t s;
	cudaGraphExecUpdateResultInfo info;

	CHECK(cudaMallocHost(&host, n * sizeof(float)));
	CHECK(cudaMalloc(&device, n * sizeof(float)));
	CHECK(cudaMalloc(&parts, blocks * sizeof(double)));
	CHECK(cudaMalloc(&out, sizeof(double)));
	CHECK(cudaStreamCreate(&s));
	for (int i = 0; i < n; i++)
		want += host[i] = (float)(i % 97);
	made = by_hand(&a, &first);
	taken = captured(&a);
	EXPECT(n_nodes(made) == 6);
	EXPECT(n_nodes(taken) == 6);
	CHECK(cudaGraphInstantiate(&x, made, 0));
	for (int i = 0; i < 3; i++)
		CHECK(cudaGraphLaunch(x, s));
	CHECK(cudaStreamSynchronize(s));
	EXPECT(a.n_calls == 3 && a.sum == 3 * want);
	CHECK(cudaGraphInstantiate(&y, taken, 0));
	CHECK(cudaGraphLaunch(y, s));
	CHECK(cudaStreamSynchronize(s));
	EXPECT(a.n_calls == 4 && a.sum == 4 * want);
	CHECK(cudaGraphMemcpyNodeSetParams1D(first, device, host, n / 2 * sizeof(float), cudaMemcpyHostToDevice));
	CHECK(cudaGraphExecUpdate(x, made, &info));
	for (int i = 0; i < n; i++)
		host[i] = 1;
	CHECK(cudaGraphLaunch(x, s));
	CHECK(cudaStreamSynchronize(s));
	for (int i = n / 2; i < n; i++)
		want -= i % 97;
	for (int i = 0; i < n / 2; i++)
		want -= i % 97;
	for (int i = n / 2; i < n; i++)
		want += i % 97;
	EXPECT(result == want + n / 2); /* half of it is new */
	CHECK(cudaGraphCreate(&nest, 0));
	CHECK(cudaGraphAddChildGraphNode(&nested, nest, NULL, 0, made));
	CHECK(cudaGraphInstantiate(&z, nest, 0));
	CHECK(cudaGraphLaunch(z, s));
	CHECK(cudaStreamSynchronize(s));
	EXPECT(a.n_calls == 6);
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	CHECK_IS(cudaStreamSynchronize(s), cudaErrorStreamCaptureUnsupported);
	CHECK_IS(cudaStreamEndCapture(s, &nest), cudaErrorStreamCaptureInvalidated);
	CHECK(cudaGraphExecDestroy(x));
	CHECK(cudaGraphExecDestroy(y));
	CHECK(cudaGraphDestroy(made));
	CHECK(cudaGraphDestroy(taken));
	run_generic(s);
	functions(s);
	variables(s);
	boxes();
}
