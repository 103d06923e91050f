/*
 * What most programs are made of: a vector added, matrices multiplied by tiles in shared memory, more streams than most have, each with
 * copies and kernels of its own, and memory of malloc that is registered and then copied from and to asynchronously.
 */
#include <vector>

#include "check.h"

static const int TILE = 16, N_STREAMS = 32;

__global__ void add(const float *a, const float *b, float *sum, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		sum[i] = a[i] + b[i];
}

/* c = a b, row by row: n x inner by inner x m, whose sizes need not be whole tiles. */
__global__ void multiply(const float *a, const float *b, float *c, int n, int inner, int m)
{
	__shared__ float of_a[TILE][TILE], of_b[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int at = 0; at < inner; at += TILE) {
		int right = at + threadIdx.x, down = at + threadIdx.y;

		of_a[threadIdx.y][threadIdx.x] = row < n && right < inner ? a[row * inner + right] : 0;
		of_b[threadIdx.y][threadIdx.x] = down < inner && column < m ? b[down * m + column] : 0;
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += of_a[threadIdx.y][k] * of_b[k][threadIdx.x];
		__syncthreads();
	}
	if (row < n && column < m)
		c[row * m + column] = sum;
}

__global__ void step(unsigned *x, int n, unsigned by)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = 3 * x[i] + by;
}

/* On the device, with these contents. */
static float *upload(const std::vector<float> &from)
{
	float *dev;

	CHECK(cudaMalloc(&dev, from.size() * sizeof(float)));
	CHECK(cudaMemcpy(dev, from.data(), from.size() * sizeof(float), cudaMemcpyHostToDevice));
	return dev;
}

static void vectors()
{
	const int n = 10007;
	std::vector<float> a(n), b(n), sum(n);
	float *dev_a, *dev_b, *dev_sum;

	for (int i = 0; i < n; i++) {
		a[i] = (float)i;
		b[i] = (float)(7 * i % 1013);
	}
	dev_a = upload(a);
	dev_b = upload(b);
	dev_sum = upload(sum);
	add<<<(n + 255) / 256, 256>>>(dev_a, dev_b, dev_sum, n);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(sum.data(), dev_sum, n * sizeof(float), cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		EXPECT(sum[i] == a[i] + b[i]);
	for (float *dev : {dev_a, dev_b, dev_sum})
		CHECK(cudaFree(dev));
}

/* Of small whole numbers, so that each sum is exact in whatever order. */
static void matrices()
{
	const int n = 50, inner = 37, m = 61;
	std::vector<float> a(n * inner), b(inner * m), c(n * m);
	dim3 tiles((m + TILE - 1) / TILE, (n + TILE - 1) / TILE), tile(TILE, TILE);
	float *dev_a, *dev_b, *dev_c;

	for (int i = 0; i < n * inner; i++)
		a[i] = (float)(i % 19 - 9);
	for (int i = 0; i < inner * m; i++)
		b[i] = (float)(i % 23 - 11);
	dev_a = upload(a);
	dev_b = upload(b);
	dev_c = upload(c);
	multiply<<<tiles, tile>>>(dev_a, dev_b, dev_c, n, inner, m);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(c.data(), dev_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
	for (int row = 0; row < n; row++)
		for (int column = 0; column < m; column++) {
			float sum = 0;

			for (int k = 0; k < inner; k++)
				sum += a[row * inner + k] * b[k * m + column];
			EXPECT(c[row * m + column] == sum);
		}
	for (float *dev : {dev_a, dev_b, dev_c})
		CHECK(cudaFree(dev));
}

/* Up, two kernels and down in each stream, twice over; what a stream does is another thing than what its neighbours do. */
static void work_in_streams(unsigned *host, int n)
{
	cudaStream_t streams[N_STREAMS];
	unsigned *dev;

	CHECK(cudaMalloc(&dev, N_STREAMS * n * sizeof(unsigned)));
	for (cudaStream_t &s : streams)
		CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	for (int i = 0; i < N_STREAMS * n; i++)
		host[i] = i;
	for (int round = 0; round < 2; round++)
		for (int s = 0; s < N_STREAMS; s++) {
			unsigned *at = dev + s * n, *here = host + s * n;
			size_t bytes = n * sizeof(unsigned);

			CHECK(cudaMemcpyAsync(at, here, bytes, cudaMemcpyHostToDevice, streams[s]));
			step<<<(n + 127) / 128, 128, 0, streams[s]>>>(at, n, s);
			step<<<(n + 127) / 128, 128, 0, streams[s]>>>(at, n, 2 * s);
			CHECK(cudaMemcpyAsync(here, at, bytes, cudaMemcpyDeviceToHost, streams[s]));
		}
	for (cudaStream_t &s : streams) {
		CHECK(cudaStreamSynchronize(s));
		CHECK(cudaStreamDestroy(s));
	}
	for (int s = 0; s < N_STREAMS; s++)
		for (int i = 0; i < n; i++) {
			unsigned want = s * n + i;

			for (int round = 0; round < 2; round++)
				want = 3 * (3 * want + s) + 2 * s;
			EXPECT(host[s * n + i] == want);
		}
	CHECK(cudaFree(dev));
}

/* The same with memory that is registered and then not, which lies where malloc has put it, on no boundary of a page. */
static void streams()
{
	const int n = 1000;
	size_t bytes = N_STREAMS * n * sizeof(unsigned);
	unsigned *host = (unsigned *)malloc(bytes);
	cudaPointerAttributes attributes;

	EXPECT(host != nullptr);
	CHECK(cudaHostRegister(host, bytes, cudaHostRegisterDefault));
	CHECK(cudaPointerGetAttributes(&attributes, host + n));
	EXPECT(attributes.type == cudaMemoryTypeHost);
	CHECK_IS(cudaHostRegister(host, bytes, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
	CHECK_IS(cudaGetLastError(), cudaErrorHostMemoryAlreadyRegistered);
	work_in_streams(host, n);
	CHECK(cudaHostUnregister(host));
	CHECK(cudaPointerGetAttributes(&attributes, host + n));
	EXPECT(attributes.type == cudaMemoryTypeUnregistered);
	work_in_streams(host, n);
	free(host);
}

int main()
{
	vectors();
	matrices();
	streams();
	puts("everyday: right");
}
