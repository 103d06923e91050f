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
	CHECK_IS(cudaCreateTextureObject(&t, &r, NULL, NULL), cudaErrorInvalidValue);
	d.filterMode = cudaFilterModeLinear;
	CHECK_IS(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidFilterSetting);
	CHECK_IS(cudaCreateSurfaceObject(&s, &r), cudaErrorInvalidValue); /* not made for one */
	r.resType = cudaResourceTypeLinear;
	r.res.linear.desc = c;
	r.res.linear.devPtr = NULL;
	r.res.linear.sizeInBytes = 64;
	d.filterMode = cudaFilterModePoint;
	CHECK_IS(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidValue);
	r.res.linear.desc.x = 24;
	CHECK_IS(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidChannelDescriptor);
	CHECK(cudaFreeArray(a));
}

int main()
{
	making();
	copying();
	reading();
	CHECK_IS(cudaGetLastError(), cudaErrorInvalidChannelDescriptor);
}
