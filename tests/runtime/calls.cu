/* Made with -G, so that nothing is inlined: lanes of a warp in different functions, virtual ones and such that call each other. */
#include "check.h"

struct shape {
	__device__ virtual float area() const = 0;
	__device__ virtual ~shape() {}
};

struct circle : shape {
	float r;
	__device__ circle(float r) : r(r) {}
	__device__ float area() const override { return 3 * r * r; }
};

struct box : shape {
	float a, b;
	__device__ box(float a, float b) : a(a), b(b) {}
	__device__ float area() const override { return a * b; }
};

__global__ void areas(float *out)
{
	int i = threadIdx.x;
	shape *s = i % 3 ? (shape *)new circle(i) : (shape *)new box(i, 2);

	out[i] = s->area();
	delete s;
}

__host__ __device__ double halves(int n);

__host__ __device__ int steps(int n)
{
	int twice = 2 * n, more = n + 7;

	return n <= 0 ? 1 : (int)halves(n - 1) + twice * more;
}

__host__ __device__ double halves(int n)
{
	double half = n / 2.0, quarter = n / 4.0;

	return n <= 0 ? 2 : steps(n - 2) + half - quarter;
}

__global__ void walks(double *out)
{
	int i = threadIdx.x;

	out[i] = i % 2 ? steps(i % 11) : halves(i % 7);
}

int main()
{
	const int n = 96;
	float *area;
	double *walk;

	CHECK(cudaMallocManaged(&area, n * sizeof(*area)));
	CHECK(cudaMallocManaged(&walk, n * sizeof(*walk)));
	CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
	areas<<<1, n>>>(area);
	walks<<<1, n>>>(walk);
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < n; i++) {
		EXPECT(area[i] == (i % 3 ? 3.f * i * i : 2.f * i));
		EXPECT(walk[i] == (i % 2 ? steps(i % 11) : halves(i % 7)));
	}
	CHECK(cudaFree(area));
	CHECK(cudaFree(walk));
}
