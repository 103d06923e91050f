/* A pipeline: chunks in pinned memory go up, are worked on and come back in four streams, twice over. */
#include "check.h"

__global__ void twice_and_one(float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = 2 * x[i] + 1;
}

int main()
{
	const int n_streams = 4, n_chunks = 16, n = 4096;
	cudaStream_t streams[n_streams];
	cudaPointerAttributes attributes;
	float *host, *dev;

	CHECK(cudaMallocHost(&host, n_chunks * n * sizeof(float)));
	CHECK(cudaMalloc(&dev, n_streams * n * sizeof(float)));
	CHECK(cudaPointerGetAttributes(&attributes, host + 5));
	EXPECT(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == host + 5);
	CHECK(cudaPointerGetAttributes(&attributes, dev));
	EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
	CHECK(cudaPointerGetAttributes(&attributes, streams));
	EXPECT(attributes.type == cudaMemoryTypeUnregistered);
	for (int i = 0; i < n_chunks * n; i++)
		host[i] = (float)i;
	for (cudaStream_t &s : streams)
		CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	for (int round = 0; round < 2; round++)
		for (int c = 0; c < n_chunks; c++) {
			cudaStream_t s = streams[c % n_streams];
			float *at = dev + c % n_streams * n;

			CHECK(cudaMemcpyAsync(at, host + c * n, n * sizeof(float), cudaMemcpyDefault, s));
			twice_and_one<<<n / 256, 256, 0, s>>>(at, n);
			CHECK(cudaMemcpyAsync(host + c * n, at, n * sizeof(float), cudaMemcpyDeviceToHost, s));
		}
	for (cudaStream_t &s : streams) {
		CHECK(cudaStreamSynchronize(s));
		CHECK(cudaStreamDestroy(s));
	}
	for (int i = 0; i < n_chunks * n; i++)
		EXPECT(host[i] == 4 * (float)i + 3);
	CHECK(cudaFreeHost(host));
	CHECK(cudaFree(dev));
}
