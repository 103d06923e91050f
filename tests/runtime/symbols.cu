/* Variables of the program: constant and device memory, parts of them, both ways; addresses, sizes, what is refused. */
#include "check.h"

struct settings {
	int scale;
	float weights[6];
};

__constant__ settings constants;
__device__ int counters[8];
__device__ float preset[3] = {1.5f, 2.5f, 3.5f};
static int not_on_the_device;

__global__ void use(float *out)
{
	int i = threadIdx.x;

	out[i] = constants.scale * constants.weights[i] + preset[i % 3];
	atomicAdd(&counters[i], i + 1);
}

int main()
{
	settings s = {3, {1, 2, 3, 4, 5, 6}};
	float out[6], *dev;
	int n[8], seven = 7;
	size_t bytes;
	void *at;

	CHECK(cudaMalloc(&dev, sizeof(out)));
	CHECK(cudaMemcpyToSymbol(constants, &s, sizeof(s)));
	CHECK(cudaMemcpyToSymbol(constants, &seven, sizeof(int), offsetof(settings, scale)));
	for (int i = 0; i < 3; i++)
		use<<<1, 6>>>(dev);
	CHECK(cudaMemcpy(out, dev, sizeof(out), cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpyFromSymbol(n, counters, sizeof(n)));
	for (int i = 0; i < 6; i++) {
		EXPECT(out[i] == 7 * (i + 1) + 1.5f + i % 3);
		EXPECT(n[i] == 3 * (i + 1));
	}
	EXPECT(n[6] == 0 && n[7] == 0);
	CHECK(cudaGetSymbolSize(&bytes, counters));
	EXPECT(bytes == sizeof(counters));
	CHECK(cudaGetSymbolAddress(&at, counters));
	CHECK(cudaMemcpy(n, (int *)at + 5, sizeof(int), cudaMemcpyDeviceToHost));
	EXPECT(n[0] == 18);
	CHECK(cudaMemcpyFromSymbolAsync(n, counters, sizeof(int), 2 * sizeof(int)));
	CHECK(cudaDeviceSynchronize());
	EXPECT(n[0] == 9);
	CHECK_IS(cudaMemcpyToSymbol(counters, n, sizeof(int), 8 * sizeof(int)), cudaErrorInvalidValue);
	CHECK_IS(cudaMemcpyToSymbol(counters, n, sizeof(n) + 1), cudaErrorInvalidValue);
	CHECK_IS(cudaMemcpyToSymbol(counters, n, sizeof(n), 0, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
	CHECK_IS(cudaMemcpyToSymbol(not_on_the_device, n, 4), cudaErrorInvalidSymbol);
	CHECK_IS(cudaGetLastError(), cudaErrorInvalidSymbol);
}
