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
}
