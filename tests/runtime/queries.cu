/* A kernel that waits for its host, and a host that asks how it is: it is not ready, and that is said soon. */
#include "check.h"

__global__ void serve(volatile int *request, volatile int *answer)
{
	for (int last = 0, now;; last = now) {
		while ((now = *request) == last)
			;
		if (now < 0)
			return;
		answer[1] = now * now;
		__threadfence_system();
		answer[0] = now;
	}
}

static void ask(volatile int *words, int number)
{
	words[0] = number;
	while (words[64] != number)
		;
	EXPECT(words[65] == number * number);
}

int main()
{
	volatile int *words;
	cudaStream_t stream;
	cudaEvent_t event;
	int *device;

	CHECK(cudaHostAlloc((void **)&words, 4096, cudaHostAllocMapped));
	CHECK(cudaHostGetDevicePointer((void **)&device, (void *)words, 0));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&event));
	for (int round = 0; round < 3; round++) {
		words[0] = words[64] = words[65] = 0;
		serve<<<1, 1, 0, stream>>>(device, device + 64);
		CHECK(cudaEventRecord(event, stream));
		CHECK_IS(cudaStreamQuery(stream), cudaErrorNotReady);
		for (int i = 1; i <= 20; i++) {
			ask(words, i);
			if (i % 5 == 0)
				CHECK_IS(cudaEventQuery(event), cudaErrorNotReady);
		}
		words[0] = -1;
		CHECK(cudaStreamSynchronize(stream));
		CHECK(cudaEventQuery(event));
	}
}
