/* Streams and events: order between streams by events, blocking and non-blocking ones, priorities, queries, times. */
#include "check.h"

/* Appends id to a log: a count, then as many ids. */
__global__ void mark(int *log, int id, int spins)
{
	for (volatile int i = 0; i < spins; i++)
		;
	log[1 + atomicAdd(log, 1)] = id;
}

static int *dev, host[64];

static void fetch_log(int n)
{
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(host, dev, sizeof(host), cudaMemcpyDeviceToHost));
	EXPECT(host[0] == n);
	CHECK(cudaMemset(dev, 0, sizeof(host)));
}

static void order_by_events()
{
	cudaStream_t a, b;
	cudaEvent_t e;

	CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	mark<<<1, 1, 0, a>>>(dev, 1, 3000);
	CHECK(cudaEventRecord(e, a));
	CHECK(cudaStreamWaitEvent(b, e, 0));
	mark<<<1, 1, 0, b>>>(dev, 2, 0);
	fetch_log(2);
	EXPECT(host[1] == 1 && host[2] == 2);
	CHECK(cudaEventQuery(e));
	CHECK(cudaEventDestroy(e));
	CHECK(cudaStreamDestroy(a));
	CHECK(cudaStreamDestroy(b));
}

static void order_by_the_default_stream()
{
	cudaStream_t a;

	CHECK(cudaStreamCreate(&a));
	mark<<<1, 1, 0, a>>>(dev, 1, 3000);
	mark<<<1, 1>>>(dev, 2, 2000);
	mark<<<1, 1, 0, a>>>(dev, 3, 0);
	fetch_log(3);
	EXPECT(host[1] == 1 && host[2] == 2 && host[3] == 3);
	CHECK(cudaStreamDestroy(a));
}

static void times_and_queries()
{
	cudaEvent_t start, end;
	float ms = -1;

	CHECK(cudaEventCreate(&start));
	CHECK(cudaEventCreate(&end));
	CHECK(cudaEventRecord(start));
	mark<<<1, 1>>>(dev, 1, 5000);
	CHECK(cudaEventRecord(end));
	CHECK(cudaEventSynchronize(end));
	CHECK(cudaEventElapsedTime(&ms, start, end));
	EXPECT(ms > 0);
	CHECK(cudaEventDestroy(start));
	CHECK(cudaEventDestroy(end));
	fetch_log(1);
}

static void settings()
{
	cudaStream_t s;
	unsigned flags;
	int least, greatest, priority, device;

	CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	EXPECT(greatest <= least);
	CHECK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, greatest));
	CHECK(cudaStreamGetFlags(s, &flags));
	CHECK(cudaStreamGetPriority(s, &priority));
	CHECK(cudaStreamGetDevice(s, &device));
	EXPECT(flags == cudaStreamNonBlocking && priority == greatest && device == 0);
	CHECK(cudaStreamDestroy(s));
}

/* Kept and told again, and copied; the priority as well. */
static void attributes()
{
	cudaStream_t a, b;
	cudaStreamAttrValue value = {};

	CHECK(cudaStreamCreate(&a));
	CHECK(cudaStreamCreate(&b));
	value.accessPolicyWindow.base_ptr = dev;
	value.accessPolicyWindow.num_bytes = sizeof(host);
	value.accessPolicyWindow.hitRatio = 0.5f;
	value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
	value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
	CHECK(cudaStreamSetAttribute(a, cudaStreamAttributeAccessPolicyWindow, &value));
	value.priority = -2;
	CHECK(cudaStreamSetAttribute(a, cudaStreamAttributePriority, &value));
	CHECK(cudaStreamCopyAttributes(b, a));
	CHECK(cudaStreamGetAttribute(b, cudaStreamAttributeAccessPolicyWindow, &value));
	EXPECT(value.accessPolicyWindow.base_ptr == dev && value.accessPolicyWindow.num_bytes == sizeof(host));
	CHECK(cudaStreamGetAttribute(b, cudaStreamAttributePriority, &value));
	EXPECT(value.priority == -2);
	mark<<<1, 1, 0, b>>>(dev, 1, 10);
	fetch_log(1);
	EXPECT(cudaStreamGetAttribute(b, cudaLaunchAttributeCooperative, &value) == cudaErrorInvalidValue);
	(void)cudaGetLastError();
	CHECK(cudaStreamDestroy(a));
	CHECK(cudaStreamDestroy(b));
}

/* A query of unfinished work is no error. */
static void not_ready_is_not_kept()
{
	mark<<<1, 1>>>(dev, 1, 100000);
	while (cudaStreamQuery(0) == cudaErrorNotReady)
		CHECK(cudaPeekAtLastError());
	CHECK(cudaGetLastError());
	fetch_log(1);
}

int main()
{
	CHECK(cudaMalloc(&dev, sizeof(host)));
	CHECK(cudaMemset(dev, 0, sizeof(host)));
	order_by_events();
	order_by_the_default_stream();
	times_and_queries();
	settings();
	attributes();
	not_ready_is_not_kept();
}
