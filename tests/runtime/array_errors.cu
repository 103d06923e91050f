/* What is wrong with arrays, textures and surfaces is said at once, by the call that is wrong. */
#include "check.h"

static const cudaExtent cube_that_is_none = {8, 4, 6};

static void making()
{
	cudaChannelFormatDesc three = cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindUnsigned);
	cudaChannelFormatDesc mixed = cudaCreateChannelDesc(8, 16, 0, 0, cudaChannelFormatKindUnsigned);
	cudaChannelFormatDesc small_float = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindFloat);
	cudaChannelFormatDesc good = cudaCreateChannelDesc<float>();
	cudaArray_t a;

	CHECK_IS(cudaMallocArray(&a, &three, 8, 8), cudaErrorInvalidChannelDescriptor);
	CHECK_IS(cudaMallocArray(&a, &mixed, 8, 8), cudaErrorInvalidChannelDescriptor);
	CHECK_IS(cudaMallocArray(&a, &small_float, 8, 8), cudaErrorInvalidChannelDescriptor);
	CHECK_IS(cudaMallocArray(&a, &good, 1 << 20, 8), cudaErrorInvalidValue);
	CHECK_IS(cudaMalloc3DArray(&a, &good, cube_that_is_none, cudaArrayCubemap), cudaErrorInvalidValue);
}

static cudaError_t make(cudaExtent extent, unsigned flags)
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<unsigned char>();
	cudaArray_t a;
	cudaError_t error = cudaMalloc3DArray(&a, &c, extent, flags);

	return error ? error : cudaFreeArray(a);
}

/* Of a volume's two sets of limits either will do, but for a surface, which has one. */
static void volumes(const int n[3], const int alt[3], int surface)
{
	EXPECT(alt[2] > n[2] && alt[0] < n[0] && surface == n[2]);
	CHECK(make(make_cudaExtent(2, 2, n[2]), 0));
	CHECK(make(make_cudaExtent(n[0], 2, 2), 0));
	CHECK(make(make_cudaExtent(2, n[1], 2), 0));
	CHECK(make(make_cudaExtent(alt[0], 2, alt[2]), 0));
	CHECK(make(make_cudaExtent(2, alt[1], n[2] + 1), 0));
	CHECK_IS(make(make_cudaExtent(n[0] + 1, 2, 2), 0), cudaErrorInvalidValue);
	CHECK_IS(make(make_cudaExtent(2, n[1] + 1, 2), 0), cudaErrorInvalidValue);
	CHECK_IS(make(make_cudaExtent(2, 2, alt[2] + 1), 0), cudaErrorInvalidValue);
	CHECK_IS(make(make_cudaExtent(alt[0] + 1, 2, n[2] + 1), 0), cudaErrorInvalidValue);
	CHECK_IS(make(make_cudaExtent(2, alt[1] + 1, n[2] + 1), 0), cudaErrorInvalidValue);
	CHECK(make(make_cudaExtent(2, 2, surface), cudaArraySurfaceLoadStore));
	CHECK_IS(make(make_cudaExtent(2, 2, surface + 1), cudaArraySurfaceLoadStore), cudaErrorInvalidValue);
	CHECK_IS(make(make_cudaExtent(8, 8, 8), cudaArrayTextureGather), cudaErrorInvalidValue);
	CHECK_IS(make(make_cudaExtent(8, 8, 4), cudaArrayTextureGather | cudaArrayLayered), cudaErrorInvalidValue);
	CHECK_IS(make(make_cudaExtent(8, 0, 0), cudaArrayTextureGather), cudaErrorInvalidValue);
}

/* What the device says that it can do, it does, and no more. */
static void limits()
{
	cudaDeviceProp p;

	CHECK(cudaGetDeviceProperties(&p, 0));
	EXPECT(p.texturePitchAlignment > 0 && p.textureAlignment > 0 && p.surfaceAlignment > 0);
	CHECK(make(make_cudaExtent(p.maxTexture1D, 0, 0), 0));
	CHECK_IS(make(make_cudaExtent(p.maxTexture1D + 1, 0, 0), 0), cudaErrorInvalidValue);
	CHECK_IS(make(make_cudaExtent(p.maxSurface1D + 1, 0, 0), cudaArraySurfaceLoadStore), cudaErrorInvalidValue);
	CHECK(make(make_cudaExtent(p.maxTexture2D[0], 2, 0), 0));
	CHECK(make(make_cudaExtent(p.maxSurface2D[0], 2, 0), cudaArraySurfaceLoadStore));
	CHECK(make(make_cudaExtent(2, p.maxTexture2D[1], 0), 0));
	CHECK_IS(make(make_cudaExtent(p.maxTexture2D[0] + 1, 2, 0), 0), cudaErrorInvalidValue);
	CHECK_IS(make(make_cudaExtent(2, p.maxTexture2D[1] + 1, 0), 0), cudaErrorInvalidValue);
	CHECK_IS(make(make_cudaExtent(p.maxTexture2DGather[0] + 1, 2, 0), cudaArrayTextureGather),
		 cudaErrorInvalidValue);
	volumes(p.maxTexture3D, p.maxTexture3DAlt, p.maxSurface3D[2]);
	CHECK(make(make_cudaExtent(2, 2, p.maxTexture2DLayered[2]), cudaArrayLayered));
	CHECK_IS(make(make_cudaExtent(2, 2, p.maxTexture2DLayered[2] + 1), cudaArrayLayered), cudaErrorInvalidValue);
	CHECK(make(make_cudaExtent(2, 2, p.maxTextureCubemapLayered[1]), cudaArrayCubemap | cudaArrayLayered));
}

static void copying()
{
	cudaChannelFormatDesc byte = cudaCreateChannelDesc<unsigned char>(), word = cudaCreateChannelDesc<int>();
	unsigned char host[64 * 4] = {};
	cudaMemcpy3DParms p = {};
	cudaArray_t a, b;

	CHECK(cudaMallocArray(&a, &byte, 16, 4));
	CHECK(cudaMallocArray(&b, &word, 16, 4));
	CHECK_IS(cudaMemcpy2DToArray(a, 1, 0, host, 16, 16, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	CHECK_IS(cudaMemcpy2DToArray(a, 0, 1, host, 16, 16, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	CHECK_IS(cudaMemcpy2DToArray(a, 0, 0, host, 15, 16, 4, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
	CHECK_IS(cudaMemcpy2DFromArray(host, 15, a, 0, 0, 16, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
	CHECK_IS(cudaMemcpy2DToArray(a, 0, 0, host, 16, 16, 4, cudaMemcpyDeviceToHost),
		 cudaErrorInvalidMemcpyDirection);
	CHECK_IS(cudaMemcpy2DFromArray(host, 16, a, 0, 0, 16, 4, cudaMemcpyHostToDevice),
		 cudaErrorInvalidMemcpyDirection);
	p.srcArray = a;
	p.dstArray = b;
	p.extent = make_cudaExtent(4, 4, 1);
	p.kind = cudaMemcpyDeviceToDevice;
	CHECK_IS(cudaMemcpy3D(&p), cudaErrorInvalidValue); /* texels of two sizes */
	p.dstArray = NULL;
	CHECK_IS(cudaMemcpy3D(&p), cudaErrorInvalidValue); /* to nowhere */
	p.dstArray = a;
	p.srcPtr = make_cudaPitchedPtr(host, 16, 16, 4);
	CHECK_IS(cudaMemcpy3D(&p), cudaErrorInvalidValue); /* from two places */
	p.srcArray = NULL;
	p.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&p));
	p.srcPos.x = 13;
	CHECK_IS(cudaMemcpy3D(&p), cudaErrorInvalidValue); /* past the end of its rows */
	p.srcPos = make_cudaPos(0, 1, 0);
	CHECK_IS(cudaMemcpy3D(&p), cudaErrorInvalidValue); /* past the last of them */
	p.extent = make_cudaExtent(16, 1, 1);
	p.srcPtr = make_cudaPitchedPtr(host, 15, 16, 4);
	CHECK_IS(cudaMemcpy3D(&p), cudaErrorInvalidValue);
	p.srcPtr = make_cudaPitchedPtr(host, 0, 0, 0);
	CHECK(cudaMemcpy3D(&p)); /* one row has no pitch */
	p.extent.height = 2;
	CHECK_IS(cudaMemcpy3D(&p), cudaErrorInvalidPitchValue);
	CHECK(cudaFreeArray(b));
	CHECK(cudaMalloc3DArray(&b, &byte, make_cudaExtent(16, 4, 2)));
	p.dstArray = b;
	p.srcPtr = make_cudaPitchedPtr(host, 16, 16, 3);
	p.srcPos = make_cudaPos(0, 0, 0);
	p.extent = make_cudaExtent(16, 4, 2);
	CHECK_IS(cudaMemcpy3D(&p), cudaErrorInvalidPitchValue); /* slices that lie in each other */
	CHECK(cudaFreeArray(a));
	CHECK(cudaFreeArray(b));
}

static void reading()
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<int>();
	cudaResourceDesc r = {};
	cudaTextureDesc d = {};
	cudaTextureObject_t t;
	cudaSurfaceObject_t s;
	cudaArray_t a;

	CHECK(cudaMallocArray(&a, &c, 16, 4));
	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	CHECK_IS(cudaCreateTextureObject(&t, &r, NULL, NULL), cudaErrorInvalidResourceHandle);
	d.filterMode = cudaFilterModeLinear;
	CHECK_IS(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidFilterSetting);
	d.readMode = cudaReadModeNormalizedFloat;
	CHECK_IS(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidFilterSetting);
	d.filterMode = cudaFilterModePoint;
	CHECK_IS(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidNormSetting); /* too wide */
	d.readMode = cudaReadModeElementType;
	d.seamlessCubemap = 1;
	CHECK_IS(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidValue); /* no cube */
	d.seamlessCubemap = 0;
	CHECK(cudaDestroyTextureObject(0));
	CHECK(cudaDestroySurfaceObject(0));
	CHECK(cudaCreateSurfaceObject(&s, &r)); /* although not made for one */
	CHECK(cudaDestroySurfaceObject(s));
	r.resType = cudaResourceTypeLinear;
	r.res.linear.desc = c;
	r.res.linear.desc.x = 24;
	CHECK(cudaMalloc(&r.res.linear.devPtr, 64));
	r.res.linear.sizeInBytes = 64;
	CHECK_IS(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidChannelDescriptor);
	CHECK(cudaFree(r.res.linear.devPtr));
	CHECK(cudaFreeArray(a));
}

int main()
{
	making();
	limits();
	copying();
	reading();
	CHECK_IS(cudaGetLastError(), cudaErrorInvalidChannelDescriptor);
}
