/* Surfaces: kernels that read and write arrays, what lies outside, and textures of what they wrote. */
#include <cstring>
#include <vector>

#include "check.h"

static const int W = 50, H = 21, D = 6;

__global__ void flip(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	uchar4 v;

	if (x >= w || y >= h)
		return;
	surf2Dread(&v, from, x * sizeof(v), y);
	surf2Dwrite(v, to, (w - 1 - x) * sizeof(v), h - 1 - y);
}

/* The texel to the right: at the edge itself, or nothing. */
__global__ void shift(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int w, bool is_zero)
{
	int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
	float v = is_zero ? surf3Dread<float>(from, (x + 1) * sizeof(v), y, z, cudaBoundaryModeZero)
			  : surf3Dread<float>(from, (x + 1) * sizeof(v), y, z, cudaBoundaryModeClamp);

	surf3Dwrite(v, to, x * sizeof(v), y, z);
	surf3Dwrite(1e9f, to, (x + w) * sizeof(v), y, z, cudaBoundaryModeZero); /* outside: dropped */
}

__global__ void add_layer(cudaSurfaceObject_t s)
{
	int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;

	surf2DLayeredwrite((short)(surf2DLayeredread<short>(s, x * sizeof(short), y, z) + 100 * z), s,
			   x * sizeof(short), y, z);
}

__global__ void double_row(cudaSurfaceObject_t s)
{
	int x = threadIdx.x;

	surf1Dwrite(2 * surf1Dread<int>(s, x * sizeof(int)), s, x * sizeof(int));
}

__global__ void transpose(cudaTextureObject_t t, float *out, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < w && y < h)
		out[x * h + y] = tex2D<float>(t, x + 0.5f, y + 0.5f);
}

__global__ void square(cudaSurfaceObject_t s, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < w && y < h)
		surf2Dwrite((float)(x * x - y), s, x * sizeof(float), y);
}

static cudaResourceDesc resource_of(cudaArray_t a)
{
	cudaResourceDesc r = {};

	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	return r;
}

static cudaSurfaceObject_t surface_of(cudaArray_t a)
{
	cudaResourceDesc r = resource_of(a), got;
	cudaSurfaceObject_t s;

	CHECK(cudaCreateSurfaceObject(&s, &r));
	CHECK(cudaGetSurfaceObjectResourceDesc(&got, s));
	EXPECT(got.resType == cudaResourceTypeArray && got.res.array.array == a);
	return s;
}

static void rows()
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<uchar4>();
	std::vector<uchar4> in(W * H), out(W * H);
	cudaSurfaceObject_t from, to;
	cudaArray_t a, b;

	for (int i = 0; i < W * H; i++)
		in[i] = make_uchar4(i, i >> 8, 3 * i, 255 - i);
	CHECK(cudaMallocArray(&a, &c, W, H, cudaArraySurfaceLoadStore));
	CHECK(cudaMallocArray(&b, &c, W, H, cudaArraySurfaceLoadStore));
	CHECK(cudaMemcpy2DToArray(a, 0, 0, in.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
	from = surface_of(a);
	to = surface_of(b);
	flip<<<dim3(2, 3), dim3(32, 8)>>>(from, to, W, H);
	CHECK(cudaMemcpy2DFromArray(out.data(), W * 4, b, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
	for (int i = 0; i < W * H; i++)
		EXPECT(!memcmp(&out[i], &in[W * H - 1 - i], 4));
	CHECK(cudaDestroySurfaceObject(from));
	CHECK(cudaDestroySurfaceObject(to));
	CHECK(cudaFreeArray(a));
	CHECK(cudaFreeArray(b));
}

template <typename T> static cudaArray_t box_of(const std::vector<T> &v, int w, int h, int d, unsigned flags)
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<T>();
	cudaMemcpy3DParms p = {};
	cudaArray_t a;

	CHECK(cudaMalloc3DArray(&a, &c, make_cudaExtent(w, h, d), flags | cudaArraySurfaceLoadStore));
	p.srcPtr = make_cudaPitchedPtr((void *)v.data(), w * sizeof(T), w, h);
	p.dstArray = a;
	p.extent = make_cudaExtent(w, h, d);
	p.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&p));
	return a;
}

template <typename T> static std::vector<T> back_from(cudaArray_t a, int w, int h, int d)
{
	std::vector<T> v(w * h * d);
	cudaMemcpy3DParms p = {};

	p.srcArray = a;
	p.dstPtr = make_cudaPitchedPtr(v.data(), w * sizeof(T), w, h);
	p.extent = make_cudaExtent(w, h, d);
	p.kind = cudaMemcpyDeviceToHost;
	CHECK(cudaMemcpy3D(&p));
	return v;
}

static void volumes(bool is_zero)
{
	const int w = 24, h = 4;
	std::vector<float> in(w * h * D), out;
	cudaArray_t a, b;
	cudaSurfaceObject_t from, to;

	for (size_t i = 0; i < in.size(); i++)
		in[i] = i * 1.5f + 1;
	a = box_of(in, w, h, D, 0);
	b = box_of(in, w, h, D, 0);
	from = surface_of(a);
	to = surface_of(b);
	shift<<<D, dim3(w, h)>>>(from, to, w, is_zero);
	out = back_from<float>(b, w, h, D);
	for (size_t i = 0; i < in.size(); i++)
		EXPECT(out[i] == (i % w < w - 1 ? in[i + 1] : is_zero ? 0 : in[i]));
	CHECK(cudaDestroySurfaceObject(from));
	CHECK(cudaDestroySurfaceObject(to));
	CHECK(cudaFreeArray(a));
	CHECK(cudaFreeArray(b));
}

static void layers()
{
	const int w = 32, h = 8;
	std::vector<short> in(w * h * D), out;
	cudaSurfaceObject_t s;
	cudaArray_t a;

	for (size_t i = 0; i < in.size(); i++)
		in[i] = i - 700;
	a = box_of(in, w, h, D, cudaArrayLayered);
	s = surface_of(a);
	add_layer<<<D, dim3(w, h)>>>(s);
	out = back_from<short>(a, w, h, D);
	for (size_t i = 0; i < in.size(); i++)
		EXPECT(out[i] == in[i] + 100 * (int)(i / (w * h)));
	CHECK(cudaDestroySurfaceObject(s));
	CHECK(cudaFreeArray(a));
}

static void one_row()
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<int>();
	int v[64];
	cudaSurfaceObject_t s;
	cudaArray_t a;

	for (int i = 0; i < 64; i++)
		v[i] = i * i;
	CHECK(cudaMallocArray(&a, &c, 64, 0, cudaArraySurfaceLoadStore));
	CHECK(cudaMemcpy2DToArray(a, 0, 0, v, sizeof(v), sizeof(v), 1, cudaMemcpyHostToDevice));
	s = surface_of(a);
	double_row<<<1, 64>>>(s);
	CHECK(cudaMemcpy2DFromArray(v, sizeof(v), a, 0, 0, sizeof(v), 1, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 64; i++)
		EXPECT(v[i] == 2 * i * i);
	CHECK(cudaDestroySurfaceObject(s));
	CHECK(cudaFreeArray(a));
}

/* One kernel writes, the next reads it as a texture. */
static void written_and_sampled()
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<float>();
	std::vector<float> out(W * H);
	cudaTextureDesc d = {};
	cudaResourceDesc r;
	cudaSurfaceObject_t s;
	cudaTextureObject_t t;
	cudaArray_t a;
	float *p;

	CHECK(cudaMallocArray(&a, &c, W, H, cudaArraySurfaceLoadStore));
	CHECK(cudaMalloc(&p, W * H * sizeof(float)));
	s = surface_of(a);
	r = resource_of(a);
	CHECK(cudaCreateTextureObject(&t, &r, &d, NULL));
	square<<<dim3(2, 3), dim3(32, 8)>>>(s, W, H);
	transpose<<<dim3(2, 3), dim3(32, 8)>>>(t, p, W, H);
	CHECK(cudaMemcpy(out.data(), p, W * H * sizeof(float), cudaMemcpyDeviceToHost));
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x++)
			EXPECT(out[x * H + y] == x * x - y);
	CHECK(cudaDestroyTextureObject(t));
	CHECK(cudaDestroySurfaceObject(s));
	CHECK(cudaFreeArray(a));
	CHECK(cudaFree(p));
}

int main()
{
	rows();
	volumes(false);
	volumes(true);
	layers();
	one_row();
	written_and_sampled();
}
