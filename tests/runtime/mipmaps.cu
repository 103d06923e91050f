/*
 * Mipmapped arrays: their levels, and what is read at a level of detail and between two. The texels of level l are l * 1000 +
 * y * 37 + x, x, y and l; the numbers that are expected are an H200's (doc/results/2026-11-22-mipmaps-h200.txt).
 */
#include <cstring>
#include <vector>

#include "check.h"

static const int W = 64, H = 32;

__global__ void at_level(cudaTextureObject_t t, float u, float v, float level, float4 *out)
{
	*out = tex2DLod<float4>(t, u, v, level);
}

__global__ void at_no_level(cudaTextureObject_t t, float u, float v, float4 *out)
{
	*out = tex2D<float4>(t, u, v);
}

__global__ void by_gradients(cudaTextureObject_t t, float2 dx, float2 dy, float4 *out)
{
	*out = tex2DGrad<float4>(t, 0.37f, 0.41f, dx, dy);
}

__global__ void in_layer(cudaTextureObject_t t, float u, float v, int layer, float level, float4 *out)
{
	*out = tex2DLayeredLod<float4>(t, u, v, layer, level);
}

__global__ void in_volume(cudaTextureObject_t t, float u, float v, float w, float level, float4 *out)
{
	*out = tex3DLod<float4>(t, u, v, w, level);
}

__global__ void write_level(cudaSurfaceObject_t s, int x, int y, float4 value)
{
	surf2Dwrite(value, s, x * (int)sizeof(value), y);
}

static float4 *result; /* on the device */

static float4 get()
{
	float4 v;

	CHECK(cudaMemcpy(&v, result, sizeof(v), cudaMemcpyDeviceToHost));
	return v;
}

static void expect_texel(float4 got, float x, float y, float z, float w, int line)
{
	if (got.x == x && got.y == y && got.z == z && got.w == w)
		return;
	fprintf(stderr, "line %d: %.9g %.9g %.9g %.9g, not %.9g %.9g %.9g %.9g\n", line, got.x, got.y, got.z, got.w, x,
		y, z, w);
	exit(1);
}
#define EXPECT_TEXEL(got, x, y, z, w) expect_texel((got), x, y, z, w, __LINE__)

static cudaArray_t level_of(cudaMipmappedArray_t m, unsigned level)
{
	cudaArray_t a;

	CHECK(cudaGetMipmappedArrayLevel(&a, m, level));
	return a;
}

/* Slices are told apart by the hundred thousands. */
static void fill(cudaMipmappedArray_t m, unsigned level, int w, int h, int depth)
{
	std::vector<float4> v((size_t)w * h * depth);
	cudaMemcpy3DParms p = {};

	for (int z = 0; z < depth; z++)
		for (int y = 0; y < h; y++)
			for (int x = 0; x < w; x++)
				v[((size_t)z * h + y) * w + x] =
					make_float4(z * 100000 + level * 1000 + y * 37 + x, x, y, level);
	p.srcPtr = make_cudaPitchedPtr(v.data(), w * sizeof(float4), w, h);
	p.dstArray = level_of(m, level);
	p.extent = make_cudaExtent(w, h, depth);
	p.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&p));
}

static cudaMipmappedArray_t make(int w, int h, unsigned levels)
{
	cudaChannelFormatDesc d = cudaCreateChannelDesc<float4>();
	cudaMipmappedArray_t m;

	CHECK(cudaMallocMipmappedArray(&m, &d, make_cudaExtent(w, h, 0), levels));
	for (unsigned l = 0; l < levels; l++)
		fill(m, l, w >> l ? w >> l : 1, h >> l ? h >> l : 1, 1);
	return m;
}

struct reading {
	cudaTextureFilterMode filter, between;
	float bias, least, most;
};

static const reading plain = {cudaFilterModePoint, cudaFilterModePoint, 0, 0, 6};
static const reading smooth = {cudaFilterModeLinear, cudaFilterModeLinear, 0, 0, 6};

static cudaTextureObject_t texture(cudaMipmappedArray_t m, const reading &how,
				   cudaTextureAddressMode mode = cudaAddressModeClamp, bool normalized = true)
{
	cudaResourceDesc r = {};
	cudaTextureDesc d = {};
	cudaTextureObject_t t;

	r.resType = cudaResourceTypeMipmappedArray;
	r.res.mipmap.mipmap = m;
	d.normalizedCoords = normalized;
	d.addressMode[0] = d.addressMode[1] = d.addressMode[2] = mode;
	d.filterMode = how.filter;
	d.mipmapFilterMode = how.between;
	d.mipmapLevelBias = how.bias;
	d.minMipmapLevelClamp = how.least;
	d.maxMipmapLevelClamp = how.most;
	CHECK(cudaCreateTextureObject(&t, &r, &d, nullptr));
	return t;
}

static float4 read(cudaTextureObject_t t, float level, float u = 0.37f, float v = 0.41f)
{
	at_level<<<1, 1>>>(t, u, v, level, result);
	return get();
}

/* ---- arrays ---- */

static void test_levels()
{
	cudaChannelFormatDesc d = cudaCreateChannelDesc<float4>();
	cudaMipmappedArray_t m;
	cudaExtent e;
	cudaArray_t a;
	unsigned flags;

	CHECK(cudaMallocMipmappedArray(&m, &d, make_cudaExtent(W, H, 0), 20));
	CHECK(cudaArrayGetInfo(nullptr, &e, &flags, level_of(m, 0)));
	EXPECT(e.width == 64 && e.height == 32 && e.depth == 0 && flags == 0);
	CHECK(cudaArrayGetInfo(&d, &e, nullptr, level_of(m, 5)));
	EXPECT(e.width == 2 && e.height == 1 && e.depth == 0 && d.w == 32);
	CHECK(cudaArrayGetInfo(nullptr, &e, nullptr, level_of(m, 6)));
	EXPECT(e.width == 1 && e.height == 1);
	CHECK_IS(cudaGetMipmappedArrayLevel(&a, m, 7), cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK(cudaFreeMipmappedArray(m));
}

/* ---- reading ---- */

static void test_nearest_level(cudaMipmappedArray_t m)
{
	cudaTextureObject_t t = texture(m, plain);

	for (float level : {-1.0f, 0.0f, 0.1f, 0.4999f})
		EXPECT_TEXEL(read(t, level), 504, 23, 13, 0);
	for (float level : {0.5f, 1.0f, 1.49f})
		EXPECT_TEXEL(read(t, level), 1233, 11, 6, 1);
	EXPECT_TEXEL(read(t, 1.5f), 2116, 5, 3, 2);
	for (float level : {5.7f, 6.0f, 9.0f, 1e9f})
		EXPECT_TEXEL(read(t, level), 6000, 0, 0, 6);
	CHECK(cudaDestroyTextureObject(t));
}

static void test_between_levels(cudaMipmappedArray_t m)
{
	reading how = plain;
	cudaTextureObject_t t;

	how.between = cudaFilterModeLinear;
	t = texture(m, how);
	EXPECT_TEXEL(read(t, 0.002f), 504, 23, 13, 0);
	EXPECT_TEXEL(read(t, 0.1f), 575.191406f, 21.828125f, 12.3164062f, 0.09765625f);
	EXPECT_TEXEL(read(t, 0.4999f), 865.652344f, 17.046875f, 9.52734375f, 0.49609375f);
	EXPECT_TEXEL(read(t, 1.49f), 1664.15234f, 8.0703125f, 4.53515625f, 1.48828125f);
	EXPECT_TEXEL(read(t, 5.7f), 5699.21875f, 0, 0, 5.69921875f);
	EXPECT_TEXEL(read(t, 6.5f), 6000, 0, 0, 6);
	CHECK(cudaDestroyTextureObject(t));
	t = texture(m, smooth);
	EXPECT_TEXEL(read(t, 0), 490.160156f, 23.1796875f, 12.6210938f, 0);
	EXPECT_TEXEL(read(t, 0.1f), 562.8125f, 22.0234375f, 11.9765625f, 0.09765625f);
	EXPECT_TEXEL(read(t, 0.25f), 676.5f, 20.2226562f, 10.9804688f, 0.25f);
	EXPECT_TEXEL(read(t, 0.4999f), 859.984375f, 17.3046875f, 9.3671875f, 0.49609375f);
	EXPECT_TEXEL(read(t, 0.75f), 1049.02734f, 14.3007812f, 7.6953125f, 0.75f);
	EXPECT_TEXEL(read(t, 1.51f), 1678.89062f, 8.3359375f, 4.3984375f, 1.5078125f);
	EXPECT_TEXEL(read(t, 2.3f), 2386.25781f, 4.54296875f, 2.29296875f, 2.296875f);
	EXPECT_TEXEL(read(t, 5.7f), 5699.28906f, 0.0703125f, 0, 5.69921875f);
	CHECK(cudaDestroyTextureObject(t));
}

/* The last channel is the level. */
static void test_bias_and_limits(cudaMipmappedArray_t m)
{
	reading how = smooth;
	cudaTextureObject_t t;

	how.bias = 0.5f;
	t = texture(m, how);
	EXPECT(read(t, -1).w == 0);
	EXPECT(read(t, 0.1f).w == 0.59765625f);
	EXPECT(read(t, 5.7f).w == 6);
	at_no_level<<<1, 1>>>(t, 0.37f, 0.41f, result);
	EXPECT(get().w == 0);
	how = {cudaFilterModeLinear, cudaFilterModeLinear, -0.7f, 1, 3};
	t = texture(m, how);
	EXPECT(read(t, 0).w == 1);
	EXPECT(read(t, 2.3f).w == 1.59765625f);
	EXPECT(read(t, 9).w == 3);
	how = {cudaFilterModeLinear, cudaFilterModeLinear, 0, 4, 2};
	EXPECT(read(texture(m, how), 0).w == 4);
	EXPECT(read(texture(m, how), 9).w == 4);
	how = {cudaFilterModePoint, cudaFilterModePoint, 0, 0.6f, 1.4f};
	EXPECT(read(texture(m, how), 0).w == 1);
	EXPECT(read(texture(m, how), 9).w == 1);
	how = {cudaFilterModeLinear, cudaFilterModeLinear, 0, 2, 6};
	at_no_level<<<1, 1>>>(texture(m, how), 0.37f, 0.41f, result);
	EXPECT(get().w == 2);
}

static float by(cudaTextureObject_t t, float dx, float dy, float ex, float ey)
{
	by_gradients<<<1, 1>>>(t, make_float2(dx, dy), make_float2(ex, ey), result);
	return get().w;
}

/* A step of n texels is level log2 n. */
static void test_gradients(cudaMipmappedArray_t m)
{
	cudaTextureObject_t t = texture(m, smooth);

	EXPECT(by(t, 0, 0, 0, 0) == 0);
	EXPECT(by(t, 1.0f / 128, 0, 0, 0) == 0);
	EXPECT(by(t, 1.0f / 32, 0, 0, 0) == 1);
	EXPECT(by(t, 0, 1.0f / 32, 0, 0) == 0);
	EXPECT(by(t, 0, 0, 1.0f / 32, 0) == 1);
	EXPECT(by(t, -1.0f / 32, 0, 0, 1.0f / 64) == 1);
	EXPECT(by(t, 0, 0, 0, 1) == 5);
	EXPECT(by(t, 4, 0, 0, 4) == 6);
}

/* Coordinates count from 0 to 1 whatever is asked for; levels of odd extents are rounded down. */
static void test_other_shapes(cudaMipmappedArray_t m)
{
	cudaMipmappedArray_t few = make(20, 7, 3);
	cudaTextureObject_t t = texture(few, {cudaFilterModeLinear, cudaFilterModeLinear, 0, 0, 9}, cudaAddressModeWrap);

	EXPECT_TEXEL(read(t, 0), 94.6289062f, 6.8984375f, 2.37109375f, 0);
	EXPECT_TEXEL(read(t, 0.75f), 796.328125f, 4.125f, 1.140625f, 0.75f);
	EXPECT_TEXEL(read(t, 1.51f), 1523.37109f, 2.26171875f, 0.359375f, 1.5078125f);
	EXPECT_TEXEL(read(t, 5), 2001.35156f, 1.3515625f, 0, 2);
	t = texture(m, plain, cudaAddressModeClamp, false);
	EXPECT_TEXEL(read(t, 1, 3, 2), 1586, 31, 15, 1);
	CHECK(cudaFreeMipmappedArray(few));
}

static void test_layers_and_volumes()
{
	cudaChannelFormatDesc d = cudaCreateChannelDesc<float4>();
	cudaMipmappedArray_t m;

	CHECK(cudaMallocMipmappedArray(&m, &d, make_cudaExtent(16, 8, 3), 2, cudaArrayLayered));
	fill(m, 0, 16, 8, 3);
	fill(m, 1, 8, 4, 3);
	in_layer<<<1, 1>>>(texture(m, plain), 0.8f, 0.8f, 2, 1, result);
	EXPECT_TEXEL(get(), 201000 + 3 * 37 + 6, 6, 3, 1);
	CHECK(cudaFreeMipmappedArray(m));
	CHECK(cudaMallocMipmappedArray(&m, &d, make_cudaExtent(16, 8, 4), 3));
	fill(m, 0, 16, 8, 4);
	fill(m, 1, 8, 4, 2);
	fill(m, 2, 4, 2, 1);
	in_volume<<<1, 1>>>(texture(m, plain), 0.8f, 0.8f, 0.8f, 1, result);
	EXPECT_TEXEL(get(), 101000 + 3 * 37 + 6, 6, 3, 1);
	CHECK(cudaFreeMipmappedArray(m));
}

/* What a kernel writes to a level is read there. */
static void test_surface_of_a_level(cudaMipmappedArray_t m)
{
	cudaTextureObject_t t = texture(m, plain);
	cudaResourceDesc r = {};
	cudaSurfaceObject_t s;

	r.resType = cudaResourceTypeArray;
	r.res.array.array = level_of(m, 2);
	CHECK(cudaCreateSurfaceObject(&s, &r));
	write_level<<<1, 1>>>(s, 5, 3, make_float4(1, 2, 3, 4));
	EXPECT_TEXEL(read(t, 2), 1, 2, 3, 4);
	EXPECT_TEXEL(read(t, 1), 1233, 11, 6, 1);
	CHECK(cudaDestroySurfaceObject(s));
}

int main()
{
	cudaMipmappedArray_t m = make(W, H, 7);

	CHECK(cudaMalloc(&result, sizeof(*result)));
	test_levels();
	test_nearest_level(m);
	test_between_levels(m);
	test_bias_and_limits(m);
	test_gradients(m);
	test_other_shapes(m);
	test_layers_and_volumes();
	test_surface_of_a_level(m);
	CHECK(cudaFreeMipmappedArray(m));
	CHECK(cudaDeviceSynchronize());
	return 0;
}
