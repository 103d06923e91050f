/* Launches by configuration, with attributes; kernels by handle and by pointer; templates; arguments of all sizes. */
#include "check.h"

struct wide {
	double d[12];
	char tag;
};

template <typename T> __global__ void combine(T *out, wide w, char c, const T *in, short s)
{
	extern __shared__ char memory[];
	T *staged = (T *)memory;
	int i = threadIdx.x;

	staged[i] = in[i];
	__syncthreads();
	out[i] = staged[blockDim.x - 1 - i] + (T)w.d[i % 12] + c + s + w.tag;
}

template <typename T> static void run(cudaStream_t stream)
{
	const int n = 48;
	T host[n], *in, *out;
	wide w;
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attribute[3] = {};
	cudaFunction_t fn;
	cudaKernel_t kernel;

	for (int i = 0; i < 12; i++)
		w.d[i] = 100 + i;
	w.tag = 3;
	for (int i = 0; i < n; i++)
		host[i] = (T)(1000 * i);
	CHECK(cudaMalloc(&in, sizeof(host)));
	CHECK(cudaMalloc(&out, sizeof(host)));
	CHECK(cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice));
	config.gridDim = dim3(1);
	config.blockDim = dim3(n);
	config.dynamicSmemBytes = sizeof(host);
	config.stream = stream;
	attribute[0].id = cudaLaunchAttributePriority;
	attribute[1].id = cudaLaunchAttributeCooperative;
	attribute[1].val.cooperative = 0;
	config.attrs = attribute;
	attribute[2].id = cudaLaunchAttributeClusterDimension;
	attribute[2].val.clusterDim.x = attribute[2].val.clusterDim.y = attribute[2].val.clusterDim.z = 1;
	config.numAttrs = 3;
	CHECK(cudaLaunchKernelEx(&config, combine<T>, out, w, (char)7, (const T *)in, (short)-9));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		EXPECT(host[i] == (T)(1000 * (n - 1 - i)) + (T)(100 + i % 12) + 7 - 9 + 3);
	CHECK(cudaGetFuncBySymbol(&fn, (const void *)combine<T>));
	CHECK(cudaGetKernel(&kernel, combine<T>));
	EXPECT(fn && kernel);
	CHECK(cudaFree(in));
	CHECK(cudaFree(out));
}

__global__ void mark(int *word)
{
	*word = 7;
	__threadfence_system();
}

/* Events that a launch itself records; where an event behind it is as good, that is what they are. */
static void run_with_events(cudaStream_t stream)
{
	cudaLaunchAttribute attribute[2] = {};
	cudaLaunchConfig_t config = {};
	cudaEvent_t events[2];
	int *host, *word;

	CHECK(cudaHostAlloc((void **)&host, sizeof(*host), cudaHostAllocMapped));
	CHECK(cudaHostGetDevicePointer((void **)&word, host, 0));
	for (int i = 0; i < 2; i++)
		CHECK(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
	attribute[0].id = cudaLaunchAttributeProgrammaticEvent;
	attribute[0].val.programmaticEvent.event = events[0];
	attribute[0].val.programmaticEvent.triggerAtBlockStart = 0;
	attribute[1].id = cudaLaunchAttributeLaunchCompletionEvent;
	attribute[1].val.launchCompletionEvent.event = events[1];
	config.gridDim = config.blockDim = dim3(1);
	config.stream = stream;
	config.attrs = attribute;
	config.numAttrs = 2;
	for (int i = 0; i < 2; i++) {
		*host = 0;
		CHECK(cudaLaunchKernelEx(&config, mark, word));
		CHECK(cudaEventSynchronize(events[i]));
		EXPECT(*(volatile int *)host == 7);
		CHECK(cudaStreamSynchronize(stream));
	}
	CHECK(cudaFreeHost(host));
}

int main()
{
	cudaStream_t s;

	CHECK(cudaStreamCreate(&s));
	run<int>(s);
	run<float>(s);
	run<double>(0);
	run<long long>(cudaStreamPerThread);
	run_with_events(s);
	CHECK(cudaStreamDestroy(s));
}
