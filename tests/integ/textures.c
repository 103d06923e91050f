/*
 * textures.c - a program that reads textures of every kind and writes surfaces, and checks each texel against what the
 * programming guide says, worked out here in plain C from the same texels.
 *
 *   textures PTX [LIBRARY]    tests/ptx/texture.nvcc.ptx; the library is ours, or another driver's to compare with
 *   textures PTX --forge N    a handle that is none, the N-th of four
 *
 * Prints a line a case, "NAME: N places, worst X of Y", where Y is what may differ: nothing where a texel is read as it is,
 * and the hardware's 8 bits of weight where the filter is linear. Exits 1 when a case is worse than it may be.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "gsb/texture.h"
#include "tests/unit/tenant.h"

#define N	4096
#define WIDTH	37
#define HEIGHT	19
#define DEPTH	5
#define SIDE	8 /* of a cube's face */
#define THREADS 128

static struct cu cu;
static CUmodule module;
static char *ptx;
static int n_wrong;

struct vec4 {
	float c[4];
};

static void need(CUresult r, const char *what)
{
	const char *name = "?";

	if (!r)
		return;
	cu.cuGetErrorName(r, &name);
	printf("%s: %s\n", what, name);
	exit(1);
}

static uint32_t rng = 1;

static float uniform(float low, float high)
{
	rng = rng * 1664525 + 1013904223;
	return low + (high - low) * (float)(rng >> 8) / (1 << 24);
}

/* ---- what a texture holds, and what it should give ---- */

enum kind { ROWS, LAYERS, VOLUME, CUBE };

struct texture {
	const char *name, *kernel;
	enum kind kind;
	int width, height, depth; /* height 0: one row, as cuArrayCreate takes it */
	CUarray_format format;
	unsigned n_channels;
	CUaddress_mode mode;
	CUfilter_mode filter;
	unsigned flags;
	CUresourcetype resource;
	int gather; /* channel + 1 */
};

static unsigned channel_bytes(CUarray_format f)
{
	switch (f) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8: return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF: return 2;
	default: return 4;
	}
}

static uint8_t *texels;

static double stored(const struct texture *t, int x, int y, int z, unsigned c)
{
	size_t rows = (size_t)(t->height ? t->height : 1);
	const uint8_t *p =
		texels +
		((((size_t)z * rows + (size_t)y) * (size_t)t->width + (size_t)x) * t->n_channels +
		 c) * channel_bytes(t->format);
	uint32_t u32;
	uint16_t u16;
	float f;

	switch (t->format) {
	case CU_AD_FORMAT_UNSIGNED_INT8: return *p;
	case CU_AD_FORMAT_SIGNED_INT8: return (int8_t)*p;
	case CU_AD_FORMAT_UNSIGNED_INT16: memcpy(&u16, p, 2); return u16;
	case CU_AD_FORMAT_SIGNED_INT16: memcpy(&u16, p, 2); return (int16_t)u16;
	case CU_AD_FORMAT_SIGNED_INT32: memcpy(&u32, p, 4); return (int32_t)u32;
	case CU_AD_FORMAT_HALF: /* only powers of two and their halves are stored: see fill() */
		memcpy(&u16, p, 2);
		return ldexp(1024 + (u16 & 1023), (u16 >> 10 & 31) - 25);
	default: memcpy(&f, p, 4); return f;
	}
}

static double read_as(const struct texture *t, double v)
{
	if (t->flags & CU_TRSF_READ_AS_INTEGER)
		return v;
	switch (t->format) {
	case CU_AD_FORMAT_UNSIGNED_INT8: return v / 255;
	case CU_AD_FORMAT_UNSIGNED_INT16: return v / 65535;
	case CU_AD_FORMAT_SIGNED_INT8: return fmax(v / 127, -1);
	case CU_AD_FORMAT_SIGNED_INT16: return fmax(v / 32767, -1);
	default: return v;
	}
}

static const float border[4] = {0.25f, 0.5f, 0.75f, 1};

static int wrap_index(const struct texture *t, int i, int n)
{
	bool normalized = t->flags & CU_TRSF_NORMALIZED_COORDINATES;

	if (t->mode == CU_TR_ADDRESS_MODE_WRAP && normalized)
		return (i % n + n) % n;
	if (t->mode == CU_TR_ADDRESS_MODE_MIRROR && normalized) {
		i = (i % (2 * n) + 2 * n) % (2 * n);
		return i < n ? i : 2 * n - 1 - i;
	}
	if (t->mode == CU_TR_ADDRESS_MODE_BORDER)
		return i < 0 || i >= n ? -1 : i;
	return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static double texel(const struct texture *t, int x, int y, int z, unsigned c)
{
	if (x < 0 || y < 0 || z < 0)
		return border[c];
	if (c >= t->n_channels)
		return c == 3;
	return read_as(t, stored(t, x, y, z, c));
}

/* The exact value of a linear filter; that of the texel where it is none. */
static double expect(const struct texture *t, const double at[3], int n_axes, int slice, unsigned c)
{
	const int size[3] = {t->width, t->height ? t->height : 1, t->depth ? t->depth : 1};
	bool linear = t->filter == CU_TR_FILTER_MODE_LINEAR;
	double low[3], share[3] = {0}, sum = 0;

	for (int i = 0; i < n_axes; i++) {
		low[i] = floor(linear ? at[i] - 0.5 : at[i]);
		share[i] = linear ? at[i] - 0.5 - low[i] : 0;
	}
	for (int corner = 0; corner < 1 << n_axes; corner++) {
		int p[3] = {0, 0, slice};
		double w = 1;

		for (int i = 0; i < n_axes; i++) {
			p[i] = wrap_index(t, (int)low[i] + (corner >> i & 1), size[i]);
			w *= corner >> i & 1 ? share[i] : 1 - share[i];
		}
		if (w)
			sum += w * texel(t, p[0], p[1], p[2], c);
	}
	return sum;
}

static double expect_gather(const struct texture *t, const double at[3], int k)
{
	static const int dx[4] = {0, 1, 1, 0}, dy[4] = {1, 1, 0, 0};
	int x = (int)floor(at[0] - 0.5) + dx[k], y = (int)floor(at[1] - 0.5) + dy[k];

	return texel(t, wrap_index(t, x, t->width), wrap_index(t, y, t->height), 0,
		     (unsigned)t->gather - 1);
}

/* ---- the device's side ---- */

static CUarray array_of(const struct texture *t, unsigned more)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {(size_t)t->width,
				     (size_t)t->height,
				     (size_t)t->depth,
				     t->format,
				     t->n_channels,
				     (t->kind == LAYERS ? CUDA_ARRAY3D_LAYERED : 0u) |
					     (t->kind == CUBE ? CUDA_ARRAY3D_CUBEMAP : 0u) |
					     (t->gather ? CUDA_ARRAY3D_TEXTURE_GATHER : 0u) | more};
	size_t row = (size_t)t->width * t->n_channels * channel_bytes(t->format);
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			      .srcHost = texels,
			      .srcPitch = row,
			      .srcHeight = (size_t)(t->height ? t->height : 1),
			      .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			      .WidthInBytes = row,
			      .Height = (size_t)(t->height ? t->height : 1),
			      .Depth = (size_t)(t->depth ? t->depth : 1)};
	CUarray a;

	if (t->kind == CUBE && t->depth > 6)
		d.Flags |= CUDA_ARRAY3D_LAYERED;
	need(cu.cuArray3DCreate_v2(&a, &d), "cuArray3DCreate");
	copy.dstArray = a;
	need(cu.cuMemcpy3D_v2(&copy), "cuMemcpy3D");
	return a;
}

static CUtexObject object_of(const struct texture *t, CUDA_RESOURCE_DESC *r)
{
	CUDA_TEXTURE_DESC d = {.addressMode = {t->mode, t->mode, t->mode},
			       .filterMode = t->filter,
			       .flags = t->flags};
	size_t row = (size_t)t->width * t->n_channels * channel_bytes(t->format), pitch;
	CUDA_MEMCPY2D copy;
	CUtexObject object;

	memcpy(d.borderColor, border, sizeof(border));
	*r = (CUDA_RESOURCE_DESC){.resType = t->resource};
	if (t->resource == CU_RESOURCE_TYPE_ARRAY) {
		r->res.array.hArray = array_of(t, 0);
	} else if (t->resource == CU_RESOURCE_TYPE_LINEAR) {
		r->res.linear.format = t->format;
		r->res.linear.numChannels = t->n_channels;
		r->res.linear.sizeInBytes = row;
		need(cu.cuMemAlloc_v2(&r->res.linear.devPtr, row), "cuMemAlloc");
		need(cu.cuMemcpyHtoD_v2(r->res.linear.devPtr, texels, row), "cuMemcpyHtoD");
	} else {
		need(cu.cuMemAllocPitch_v2(&r->res.pitch2D.devPtr, &pitch, row, (size_t)t->height,
					   4),
		     "cuMemAllocPitch");
		copy = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
				       .srcHost = texels,
				       .srcPitch = row,
				       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				       .dstDevice = r->res.pitch2D.devPtr,
				       .dstPitch = pitch,
				       .WidthInBytes = row,
				       .Height = (size_t)t->height};
		need(cu.cuMemcpy2D_v2(&copy), "cuMemcpy2D");
		r->res.pitch2D.format = t->format;
		r->res.pitch2D.numChannels = t->n_channels;
		r->res.pitch2D.width = (size_t)t->width;
		r->res.pitch2D.height = (size_t)t->height;
		r->res.pitch2D.pitchInBytes = pitch;
	}
	need(cu.cuTexObjectCreate(&object, r, &d, NULL), "cuTexObjectCreate");
	return object;
}

static void release(const struct texture *t, CUtexObject object, const CUDA_RESOURCE_DESC *r)
{
	need(cu.cuTexObjectDestroy(object), "cuTexObjectDestroy");
	if (t->resource == CU_RESOURCE_TYPE_ARRAY)
		need(cu.cuArrayDestroy(r->res.array.hArray), "cuArrayDestroy");
	else
		need(cu.cuMemFree_v2(t->resource == CU_RESOURCE_TYPE_LINEAR
					     ? r->res.linear.devPtr
					     : r->res.pitch2D.devPtr),
		     "cuMemFree");
}

static void launch(const char *kernel, unsigned gx, unsigned gy, unsigned bx, unsigned by,
		   void **params)
{
	CUfunction f;

	need(cu.cuModuleGetFunction(&f, module, kernel), kernel);
	need(cu.cuLaunchKernel(f, gx, gy, 1, bx, by, 1, 0, NULL, params, NULL), kernel);
	need(cu.cuCtxSynchronize(), kernel);
}

static void sample(const struct texture *t, CUtexObject object, const struct vec4 *at,
		   struct vec4 *out)
{
	CUdeviceptr d_at, d_out;
	int n = N;
	void *params[] = {&object, &d_out, &d_at, &n};

	need(cu.cuMemAlloc_v2(&d_at, N * sizeof(*at)), "cuMemAlloc");
	need(cu.cuMemAlloc_v2(&d_out, N * sizeof(*out)), "cuMemAlloc");
	need(cu.cuMemcpyHtoD_v2(d_at, at, N * sizeof(*at)), "cuMemcpyHtoD");
	launch(t->kernel, N / THREADS, 1, THREADS, 1, params);
	need(cu.cuMemcpyDtoH_v2(out, d_out, N * sizeof(*out)), "cuMemcpyDtoH");
	need(cu.cuMemFree_v2(d_at), "cuMemFree");
	need(cu.cuMemFree_v2(d_out), "cuMemFree");
}

/* ---- a case ---- */

static void fill(const struct texture *t)
{
	size_t n = (size_t)t->width * (size_t)(t->height ? t->height : 1) *
		   (size_t)(t->depth ? t->depth : 1) * t->n_channels;

	texels = malloc(n * channel_bytes(t->format));
	for (size_t i = 0; texels && i < n; i++) {
		float f = uniform(-2, 2);
		uint32_t bits = (uint32_t)uniform(0, 1 << 24) * 2654435761u;
		uint16_t half = (uint16_t)(0x3000 + (bits & 0xfff)); /* 0.125 to 2 */

		if (t->format == CU_AD_FORMAT_FLOAT)
			memcpy(texels + i * 4, &f, 4);
		else if (t->format == CU_AD_FORMAT_HALF)
			memcpy(texels + i * 2, &half, 2);
		else if (channel_bytes(t->format) == 4)
			memcpy(texels + i * 4, &bits, 4);
		else if (channel_bytes(t->format) == 2)
			memcpy(texels + i * 2, &bits, 2);
		else
			texels[i] = (uint8_t)(bits >> 8);
	}
}

static int axes_of(const struct texture *t)
{
	return t->kind == VOLUME ? 3 : t->height ? 2 : 1;
}

/* Where the kernel looks; the place in texels goes to @at for the reference. */
static struct vec4 place(const struct texture *t, double at[3], int *slice)
{
	const int size[3] = {t->width, t->height ? t->height : 1, t->depth ? t->depth : 1};
	struct vec4 v = {{0, 0, 0, 0}};

	*slice = 0;
	for (int i = 0; i < axes_of(t); i++) {
		/* quarters of a texel, whose weights are exact, and never on the edge of two texels */
		int quarter = (int)uniform(-2.0f * size[i], 6.0f * size[i]) - 2 * size[i] / 4;

		at[i] = quarter * 0.5 + 0.25;
		v.c[i] = (float)at[i];
		if (t->flags & CU_TRSF_NORMALIZED_COORDINATES)
			v.c[i] = (float)(at[i] / size[i]);
	}
	if (t->kind == LAYERS) {
		*slice = (int)uniform(0, (float)t->depth);
		v.c[3] = (float)*slice;
	}
	return v;
}

/* Faces in the order +x -x +y -y +z -z, and how a direction lies on each. */
static struct vec4 cube_place(const struct texture *t, double at[3], int *slice)
{
	static const int major[6][3] = {{1, 0, 0},  {-1, 0, 0}, {0, 1, 0},
					{0, -1, 0}, {0, 0, 1},	{0, 0, -1}};
	static const int right[6][3] = {{0, 0, -1}, {0, 0, 1}, {1, 0, 0},
					{1, 0, 0},  {1, 0, 0}, {-1, 0, 0}};
	static const int down[6][3] = {{0, -1, 0}, {0, -1, 0}, {0, 0, 1},
				       {0, 0, -1}, {0, -1, 0}, {0, -1, 0}};
	int face = (int)uniform(0, 6),
	    cube = t->depth > 6 ? (int)uniform(0, (float)(t->depth / 6)) : 0;
	struct vec4 v = {{0, 0, 0, (float)cube}};

	for (int i = 0; i < 2; i++)
		at[i] = (int)uniform(1, 4 * SIDE - 1) * 0.25 + 0.125;
	for (int i = 0; i < 3; i++)
		v.c[i] = (float)(major[face][i] + right[face][i] * (2 * at[0] / SIDE - 1) +
				 down[face][i] * (2 * at[1] / SIDE - 1));
	*slice = 6 * cube + face;
	return v;
}

static double tolerance(const struct texture *t)
{
	return t->filter == CU_TR_FILTER_MODE_LINEAR ? 1e-6 * 8
	       : t->flags & CU_TRSF_READ_AS_INTEGER  ? 0
						     : 1e-7;
}

static void run(const struct texture *t)
{
	struct vec4 *at = calloc(N, sizeof(*at)), *out = calloc(N, sizeof(*out));
	double(*where)[3] = calloc(N, sizeof(*where)), worst = 0;
	int *slice = calloc(N, sizeof(*slice));
	CUDA_RESOURCE_DESC r;
	CUtexObject object;

	fill(t);
	if (!at || !out || !where || !slice || !texels)
		exit(1);
	object = object_of(t, &r);
	for (int i = 0; i < N; i++)
		at[i] = t->kind == CUBE ? cube_place(t, where[i], &slice[i])
					: place(t, where[i], &slice[i]);
	sample(t, object, at, out);
	for (int i = 0; i < N; i++)
		for (unsigned c = 0; c < 4; c++) {
			double want =
				t->gather ? expect_gather(t, where[i], (int)c)
					  : expect(t, where[i], t->kind == CUBE ? 2 : axes_of(t),
						   slice[i], c);
			int32_t whole;
			double got = out[i].c[c];

			memcpy(&whole, &out[i].c[c], 4);
			if (t->flags & CU_TRSF_READ_AS_INTEGER)
				got = whole;
			if (c < t->n_channels || t->gather)
				worst = fmax(worst, fabs(got - want));
		}
	printf("%s: %d places, worst %.3g of %.3g\n", t->name, N, worst, tolerance(t));
	n_wrong += !(worst <= tolerance(t));
	release(t, object, &r);
	free(texels);
	free(at);
	free(out);
	free(where);
	free(slice);
}

#define NORM	CU_TRSF_NORMALIZED_COORDINATES
#define INTS	CU_TRSF_READ_AS_INTEGER
#define F32	CU_AD_FORMAT_FLOAT
#define MODE(m) CU_TR_ADDRESS_MODE_##m
#define POINT	CU_TR_FILTER_MODE_POINT
#define LINEAR	CU_TR_FILTER_MODE_LINEAR
#define ARRAY	CU_RESOURCE_TYPE_ARRAY

static const struct texture cases[] = {
	{"1D, clamp", "sample_1d", ROWS, WIDTH, 0, 0, F32, 1, MODE(CLAMP), POINT, 0, ARRAY, 0},
	{"1D, linear", "sample_1d", ROWS, WIDTH, 0, 0, F32, 4, MODE(CLAMP), LINEAR, 0, ARRAY, 0},
	{"2D, clamp", "sample_2d", ROWS, WIDTH, HEIGHT, 0, F32, 4, MODE(CLAMP), POINT, 0, ARRAY, 0},
	{"2D, border", "sample_2d", ROWS, WIDTH, HEIGHT, 0, F32, 4, MODE(BORDER), POINT, 0, ARRAY,
	 0},
	{"2D, linear", "sample_2d", ROWS, WIDTH, HEIGHT, 0, F32, 2, MODE(CLAMP), LINEAR, 0, ARRAY,
	 0},
	{"2D, linear, border", "sample_2d", ROWS, WIDTH, HEIGHT, 0, F32, 4, MODE(BORDER), LINEAR, 0,
	 ARRAY, 0},
	{"2D, wrap", "sample_2d", ROWS, 64, 32, 0, F32, 4, MODE(WRAP), POINT, NORM, ARRAY, 0},
	{"2D, mirror", "sample_2d", ROWS, 64, 32, 0, F32, 4, MODE(MIRROR), POINT, NORM, ARRAY, 0},
	{"2D, linear, wrap", "sample_2d", ROWS, 64, 32, 0, F32, 4, MODE(WRAP), LINEAR, NORM, ARRAY,
	 0},
	{"2D, linear, mirror", "sample_2d", ROWS, 64, 32, 0, F32, 4, MODE(MIRROR), LINEAR, NORM,
	 ARRAY, 0},
	{"2D, wrap without normalized", "sample_2d", ROWS, WIDTH, HEIGHT, 0, F32, 4, MODE(WRAP),
	 POINT, 0, ARRAY, 0},
	{"2D, bytes as fractions", "sample_2d", ROWS, WIDTH, HEIGHT, 0, CU_AD_FORMAT_UNSIGNED_INT8,
	 4, MODE(CLAMP), POINT, 0, ARRAY, 0},
	{"2D, signed bytes as fractions", "sample_2d", ROWS, WIDTH, HEIGHT, 0,
	 CU_AD_FORMAT_SIGNED_INT8, 2, MODE(CLAMP), POINT, 0, ARRAY, 0},
	{"2D, words as fractions, linear", "sample_2d", ROWS, WIDTH, HEIGHT, 0,
	 CU_AD_FORMAT_UNSIGNED_INT16, 4, MODE(CLAMP), LINEAR, 0, ARRAY, 0},
	{"2D, signed words as fractions", "sample_2d", ROWS, WIDTH, HEIGHT, 0,
	 CU_AD_FORMAT_SIGNED_INT16, 1, MODE(CLAMP), POINT, 0, ARRAY, 0},
	{"2D, half", "sample_2d", ROWS, WIDTH, HEIGHT, 0, CU_AD_FORMAT_HALF, 4, MODE(CLAMP), POINT,
	 0, ARRAY, 0},
	{"2D, bytes", "sample_2d_i", ROWS, WIDTH, HEIGHT, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4,
	 MODE(CLAMP), POINT, INTS, ARRAY, 0},
	{"2D, signed bytes", "sample_2d_i", ROWS, WIDTH, HEIGHT, 0, CU_AD_FORMAT_SIGNED_INT8, 4,
	 MODE(CLAMP), POINT, INTS, ARRAY, 0},
	{"2D, signed words", "sample_2d_i", ROWS, WIDTH, HEIGHT, 0, CU_AD_FORMAT_SIGNED_INT16, 2,
	 MODE(CLAMP), POINT, INTS, ARRAY, 0},
	{"2D, integers", "sample_2d_i", ROWS, WIDTH, HEIGHT, 0, CU_AD_FORMAT_SIGNED_INT32, 4,
	 MODE(CLAMP), POINT, INTS, ARRAY, 0},
	{"2D, level", "level_2d", ROWS, WIDTH, HEIGHT, 0, F32, 4, MODE(CLAMP), LINEAR, 0, ARRAY, 0},
	{"2D, gradients", "grad_2d", ROWS, WIDTH, HEIGHT, 0, F32, 4, MODE(CLAMP), LINEAR, 0, ARRAY,
	 0},
	{"2D, gather x", "gather_x", ROWS, WIDTH, HEIGHT, 0, F32, 4, MODE(CLAMP), POINT, 0, ARRAY,
	 1},
	{"2D, gather w", "gather_w", ROWS, WIDTH, HEIGHT, 0, F32, 4, MODE(CLAMP), POINT, 0, ARRAY,
	 4},
	{"3D, clamp", "sample_3d", VOLUME, WIDTH, HEIGHT, DEPTH, F32, 4, MODE(CLAMP), POINT, 0,
	 ARRAY, 0},
	{"3D, linear", "sample_3d", VOLUME, WIDTH, HEIGHT, DEPTH, F32, 4, MODE(CLAMP), LINEAR, 0,
	 ARRAY, 0},
	{"1D layers", "sample_a1d", LAYERS, WIDTH, 0, DEPTH, F32, 2, MODE(CLAMP), LINEAR, 0, ARRAY,
	 0},
	{"2D layers", "sample_a2d", LAYERS, WIDTH, HEIGHT, DEPTH, F32, 4, MODE(CLAMP), LINEAR, 0,
	 ARRAY, 0},
	{"cube", "sample_cube", CUBE, SIDE, SIDE, 6, F32, 4, MODE(CLAMP), POINT, NORM, ARRAY, 0},
	{"cube layers", "sample_acube", CUBE, SIDE, SIDE, 18, F32, 4, MODE(CLAMP), POINT, NORM,
	 ARRAY, 0},
	{"pitched memory", "sample_2d", ROWS, WIDTH, HEIGHT, 0, F32, 4, MODE(CLAMP), LINEAR, 0,
	 CU_RESOURCE_TYPE_PITCH2D, 0},
};

/* ---- linear memory: what is outside reads as 0, and nobody looks where it ends ---- */

static void make_longer(const CUDA_RESOURCE_DESC *r)
{
	const CUDA_TEXTURE_DESC d = {.flags = CU_TRSF_READ_AS_INTEGER};
	CUDA_RESOURCE_DESC longer = *r;
	CUtexObject object;

	longer.res.linear.sizeInBytes *= 2;
	need(cu.cuTexObjectCreate(&object, &longer, &d, NULL), "cuTexObjectCreate, past the end");
	need(cu.cuTexObjectDestroy(object), "cuTexObjectDestroy");
}

static void run_linear(void)
{
	const struct texture t = {"linear memory",
				  "fetch_i",
				  ROWS,
				  WIDTH * 4,
				  0,
				  0,
				  CU_AD_FORMAT_SIGNED_INT16,
				  4,
				  MODE(CLAMP),
				  POINT,
				  INTS,
				  CU_RESOURCE_TYPE_LINEAR,
				  0};
	static struct vec4 at[N], out[N];
	CUDA_RESOURCE_DESC r;
	CUtexObject object;
	int wrong = 0;

	fill(&t);
	object = object_of(&t, &r);
	for (int i = 0; i < N; i++)
		at[i].c[0] = (float)((int)uniform(-20, t.width + 20));
	sample(&t, object, at, out);
	for (int i = 0; i < N; i++)
		for (unsigned c = 0; c < 4; c++) {
			int x = (int)at[i].c[0], got;

			memcpy(&got, &out[i].c[c], 4);
			wrong += got != (x < 0 || x >= t.width ? 0 : (int)stored(&t, x, 0, 0, c));
		}
	printf("%s: %d places, %d channels wrong\n", t.name, N, wrong);
	n_wrong += wrong != 0;
	make_longer(&r);
	release(&t, object, &r);
	free(texels);
}

/* ---- surfaces ---- */

static CUsurfObject surface_of(CUarray a)
{
	CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a};
	CUsurfObject s;

	need(cu.cuSurfObjectCreate(&s, &r), "cuSurfObjectCreate");
	return s;
}

static uint8_t *read_array(const struct texture *t, CUarray a)
{
	size_t row = (size_t)t->width * t->n_channels * channel_bytes(t->format);
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
			      .srcArray = a,
			      .dstMemoryType = CU_MEMORYTYPE_HOST,
			      .dstPitch = row,
			      .dstHeight = (size_t)t->height,
			      .WidthInBytes = row,
			      .Height = (size_t)t->height,
			      .Depth = (size_t)(t->depth ? t->depth : 1)};
	uint8_t *bytes = calloc((size_t)(t->height * (t->depth ? t->depth : 1)), row);

	copy.dstHost = bytes;
	need(cu.cuMemcpy3D_v2(&copy), "cuMemcpy3D");
	return bytes;
}

static void say(const char *name, int wrong)
{
	printf("%s: %d wrong\n", name, wrong);
	n_wrong += wrong != 0;
}

static void run_flip(void)
{
	const struct texture t = {.name = "surface, upside down",
				  .kind = ROWS,
				  .width = WIDTH,
				  .height = HEIGHT,
				  .format = CU_AD_FORMAT_SIGNED_INT16,
				  .n_channels = 2};
	int width = WIDTH, height = HEIGHT, wrong = 0;
	CUsurfObject from, to;
	void *params[] = {&from, &to, &width, &height};
	uint8_t *got;
	CUarray a, b;

	fill(&t);
	a = array_of(&t, CUDA_ARRAY3D_SURFACE_LDST);
	b = array_of(&t, CUDA_ARRAY3D_SURFACE_LDST);
	from = surface_of(a);
	to = surface_of(b);
	launch("flip_2d", 1, HEIGHT, 64, 1, params);
	got = read_array(&t, b);
	for (int y = 0; y < HEIGHT; y++)
		wrong += memcmp(got + y * WIDTH * 4, texels + (HEIGHT - 1 - y) * WIDTH * 4,
				WIDTH * 4) != 0;
	say(t.name, wrong);
	need(cu.cuSurfObjectDestroy(from), "cuSurfObjectDestroy");
	need(cu.cuSurfObjectDestroy(to), "cuSurfObjectDestroy");
	need(cu.cuArrayDestroy(a), "cuArrayDestroy");
	need(cu.cuArrayDestroy(b), "cuArrayDestroy");
	free(got);
	free(texels);
}

static void run_shift(void)
{
	const struct texture t = {.name = "surface, 3D, clamped",
				  .kind = VOLUME,
				  .width = 32,
				  .height = 4,
				  .depth = DEPTH,
				  .format = F32,
				  .n_channels = 4};
	int n = 0, wrong = 0;
	CUsurfObject from, to;
	void *params[] = {&from, &to, &n};
	uint8_t *got;
	CUarray a, b;

	fill(&t);
	a = array_of(&t, CUDA_ARRAY3D_SURFACE_LDST);
	b = array_of(&t, CUDA_ARRAY3D_SURFACE_LDST);
	from = surface_of(a);
	to = surface_of(b);
	launch("shift_3d", DEPTH, 1, 32, 4, params);
	got = read_array(&t, b);
	for (int i = 0; i < 32 * 4 * DEPTH; i++)
		wrong += memcmp(got + i * 16, texels + (i % 32 == 31 ? i : i + 1) * 16, 16) != 0;
	say(t.name, wrong);
	free(got);
	free(texels);
}

static void run_layers(void)
{
	const struct texture t = {.name = "surface, layers",
				  .kind = LAYERS,
				  .width = 64,
				  .height = 8,
				  .depth = DEPTH,
				  .format = CU_AD_FORMAT_UNSIGNED_INT8,
				  .n_channels = 1};
	int n = 0, wrong = 0;
	CUsurfObject s;
	void *params[] = {&s, &n};
	uint8_t *got;
	CUarray a;

	fill(&t);
	a = array_of(&t, CUDA_ARRAY3D_SURFACE_LDST);
	s = surface_of(a);
	launch("layers", DEPTH, 1, 64, 8, params);
	got = read_array(&t, a);
	for (int i = 0; i < 64 * 8 * DEPTH; i++)
		wrong += got[i] != (uint8_t)(texels[i] + i / (64 * 8) + 1);
	say(t.name, wrong);
	free(got);
	free(texels);
}

/* ---- queries ---- */

static int ask(const struct texture *t, const unsigned want[11])
{
	CUarray a = array_of(t, CUDA_ARRAY3D_SURFACE_LDST);
	CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a};
	CUDA_TEXTURE_DESC d = {.flags = t->flags};
	unsigned got[11];
	CUtexObject texture;
	CUsurfObject surface = surface_of(a);
	CUdeviceptr out;
	void *params[] = {&texture, &surface, &out};
	int wrong = 0;

	need(cu.cuTexObjectCreate(&texture, &r, &d, NULL), "cuTexObjectCreate");
	need(cu.cuMemAlloc_v2(&out, sizeof(got)), "cuMemAlloc");
	launch("queries", 1, 1, 40, 1, params);
	need(cu.cuMemcpyDtoH_v2(got, out, sizeof(got)), "cuMemcpyDtoH");
	for (int i = 0; i < 11; i++) {
		if (got[i] != want[i])
			printf("%s: word %d is %u, not %u\n", t->name, i, got[i], want[i]);
		wrong += got[i] != want[i];
	}
	need(cu.cuMemFree_v2(out), "cuMemFree");
	need(cu.cuTexObjectDestroy(texture), "cuTexObjectDestroy");
	need(cu.cuSurfObjectDestroy(surface), "cuSurfObjectDestroy");
	need(cu.cuArrayDestroy(a), "cuArrayDestroy");
	return wrong;
}

static void run_queries(void)
{
	static const struct {
		struct texture t;
		unsigned want
			[11]; /* width, height, depth, layers; normalised, levels, width; of the surface the first four */
	} rows[] = {
		{{.name = "query of rows",
		  .kind = ROWS,
		  .width = 37,
		  .height = 19,
		  .flags = CU_TRSF_NORMALIZED_COORDINATES},
		 {37, 19, 1, 1, 1, 1, 37, 37, 19, 1, 1}},
		{{.name = "query of a line", .kind = ROWS, .width = 50},
		 {50, 1, 1, 1, 0, 1, 50, 50, 1, 1, 1}},
		{{.name = "query of layers", .kind = LAYERS, .width = 64, .height = 8, .depth = 5},
		 {64, 8, 1, 5, 0, 1, 64, 64, 8, 1, 5}},
		{{.name = "query of slices", .kind = VOLUME, .width = 12, .height = 9, .depth = 3},
		 {12, 9, 3, 1, 0, 1, 12, 12, 9, 3, 1}},
	};
	int wrong = 0;

	for (size_t i = 0; i < GSB_ARRAY_LEN(rows); i++) {
		struct texture t = rows[i].t;

		t.format = F32;
		t.n_channels = 1;
		fill(&t);
		wrong += ask(&t, rows[i].want);
		free(texels);
	}
	say("queries", wrong);
}

/* ---- parts of arrays, and what is refused ---- */

static void run_parts(void)
{
	CUDA_ARRAY_DESCRIPTOR d = {256, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1}, asked;
	uint8_t bytes[256], back[256] = {0};
	CUarray a, b;
	CUdeviceptr p;
	int wrong = 0;

	for (int i = 0; i < 256; i++)
		bytes[i] = (uint8_t)(i * 7 + 1);
	need(cu.cuArrayCreate_v2(&a, &d), "cuArrayCreate");
	need(cu.cuArrayCreate_v2(&b, &d), "cuArrayCreate");
	need(cu.cuMemAlloc_v2(&p, 256), "cuMemAlloc");
	need(cu.cuArrayGetDescriptor_v2(&asked, a), "cuArrayGetDescriptor");
	wrong += memcmp(&asked, &d, sizeof(d)) != 0;
	need(cu.cuMemcpyHtoA_v2(a, 0, bytes, 256), "cuMemcpyHtoA");
	need(cu.cuMemcpyAtoA_v2(b, 16, a, 0, 240), "cuMemcpyAtoA");
	need(cu.cuMemcpyAtoD_v2(p, b, 16, 240), "cuMemcpyAtoD");
	need(cu.cuMemcpyDtoA_v2(b, 0, p, 240), "cuMemcpyDtoA");
	need(cu.cuMemcpyAtoH_v2(back, b, 0, 240), "cuMemcpyAtoH");
	wrong += memcmp(back, bytes, 240) != 0;
	wrong += cu.cuMemcpyHtoA_v2(a, 17, bytes, 240) != CUDA_ERROR_INVALID_VALUE;
	need(cu.cuArrayDestroy(a), "cuArrayDestroy");
	wrong += cu.cuArrayDestroy(a) == CUDA_SUCCESS;
	need(cu.cuArrayDestroy(b), "cuArrayDestroy");
	say("parts of arrays", wrong);
}

static void run_refusals(void)
{
	CUDA_ARRAY3D_DESCRIPTOR cube = {8, 4, 6, F32, 1, CUDA_ARRAY3D_CUBEMAP},
				three = {8, 8, 0, F32, 3, 0};
	CUDA_ARRAY_DESCRIPTOR narrow = {100, 2, CU_AD_FORMAT_UNSIGNED_INT8, 1};
	uint8_t bytes[100] = {0};
	CUDA_MEMCPY2D past_a_row = {.srcMemoryType = CU_MEMORYTYPE_HOST,
				    .srcHost = bytes,
				    .dstMemoryType = CU_MEMORYTYPE_ARRAY,
				    .dstXInBytes = 50,
				    .WidthInBytes = 51,
				    .Height = 1};
	CUDA_TEXTURE_DESC d = {0};
	CUtexObject t;
	CUarray a;
	int wrong = 0;

	need(cu.cuArrayCreate_v2(&a, &narrow), "cuArrayCreate");
	past_a_row.dstArray = a;
	wrong += cu.cuMemcpy2D_v2(&past_a_row) != CUDA_ERROR_INVALID_VALUE;
	wrong += cu.cuMemcpyHtoA_v2(a, 50, bytes, 51) != CUDA_ERROR_INVALID_VALUE;
	need(cu.cuArrayDestroy(a), "cuArrayDestroy");
	wrong += cu.cuArray3DCreate_v2(&a, &cube) != CUDA_ERROR_INVALID_VALUE;
	wrong += cu.cuArray3DCreate_v2(&a, &three) != CUDA_ERROR_INVALID_VALUE;
	wrong += cu.cuTexObjectCreate(&t, NULL, &d, NULL) != CUDA_ERROR_INVALID_VALUE;
	wrong +=
		cu.cuTexObjectDestroy(0) || cu.cuSurfObjectDestroy(0); /* none, which is no error */
	wrong += cu.cuTexObjectDestroy(4711) != CUDA_ERROR_INVALID_VALUE;
	say("refusals", wrong);
}

/* The levels of a mipmapped array live and die with it. */
static void run_levels(void)
{
	const CUDA_ARRAY3D_DESCRIPTOR square = {8, 8, 0, F32, 1, 0},
				      layers = {8, 8, 3, F32, 1, CUDA_ARRAY3D_LAYERED},
				      three = {8, 8, 0, F32, 3, 0};
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUmipmappedArray m;
	CUarray level;
	int wrong = 0;

	wrong += cu.cuMipmappedArrayCreate(&m, &three, 2) != CUDA_ERROR_INVALID_VALUE;
	need(cu.cuMipmappedArrayCreate(&m, &square, 2), "cuMipmappedArrayCreate");
	wrong += cu.cuMipmappedArrayGetLevel(&level, m, 2) != CUDA_ERROR_INVALID_VALUE;
	need(cu.cuMipmappedArrayGetLevel(&level, m, 1), "cuMipmappedArrayGetLevel");
	wrong += cu.cuArrayDestroy(level) == CUDA_SUCCESS;
	need(cu.cuArray3DGetDescriptor_v2(&d, level), "cuArray3DGetDescriptor");
	wrong += d.Width != 4 || d.Height != 4 || d.Depth != 0;
	need(cu.cuMipmappedArrayDestroy(m), "cuMipmappedArrayDestroy");
	need(cu.cuMipmappedArrayCreate(&m, &layers, 9), "cuMipmappedArrayCreate");
	need(cu.cuMipmappedArrayGetLevel(&level, m, 3), "cuMipmappedArrayGetLevel");
	need(cu.cuArray3DGetDescriptor_v2(&d, level), "cuArray3DGetDescriptor");
	wrong += d.Width != 1 || d.Height != 1 || d.Depth != 3;
	wrong += cu.cuMipmappedArrayGetLevel(&level, m, 4) != CUDA_ERROR_INVALID_VALUE;
	need(cu.cuMipmappedArrayDestroy(m), "cuMipmappedArrayDestroy");
	say("levels", wrong);
}

/* Last: the context is over after it. */
static void run_trap(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {64, 0, 0, F32, 1, CUDA_ARRAY3D_SURFACE_LDST};
	CUsurfObject s;
	int x = 64;
	void *params[] = {&s, &x};
	CUfunction f;
	CUarray a;

	need(cu.cuArray3DCreate_v2(&a, &d), "cuArray3DCreate");
	s = surface_of(a);
	need(cu.cuModuleGetFunction(&f, module, "trap_1d"), "trap_1d");
	need(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "trap_1d");
	say("a surface's edge", cu.cuCtxSynchronize() == CUDA_SUCCESS);
}

/* Queries of memory that is no descriptor. */
static CUresult ask_nobody(void)
{
	CUdeviceptr p, handle;
	void *params[] = {&handle, &handle, &p};
	CUfunction f;
	CUcontext ctx;
	CUresult result;

	need(cu.cuCtxCreate_v2(&ctx, 0, 0), "cuCtxCreate");
	need(cu.cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	need(cu.cuMemAlloc_v2(&p, 4096), "cuMemAlloc");
	handle = p + 1024;
	need(cu.cuModuleGetFunction(&f, module, "queries"), "queries");
	need(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "queries");
	result = cu.cuCtxSynchronize();
	cu.cuCtxDestroy_v2(ctx);
	return result;
}

/*
 * A handle that is none: of nothing, of memory that is no descriptor but would be one of real texels, of a descriptor
 * whose texels are elsewhere.
 */
static CUresult sample_nobody(int which)
{
	CUDA_RESOURCE_DESC nowhere = {.resType = CU_RESOURCE_TYPE_LINEAR,
				      .res.linear = {4096, F32, 1, 1024}};
	CUDA_TEXTURE_DESC d = {0};
	struct gsb_texture view = {.mark = which == 2 ? GSB_TEXTURE_MARK : 0,
				   .base = 0x123456789000,
				   .pitch_bytes = 64,
				   .width = 4,
				   .height = 4,
				   .depth = 1,
				   .format = F32,
				   .n_channels = 1};
	CUdeviceptr p, handle;
	int n = 1;
	void *params[] = {&handle, &p, &p, &n};
	CUfunction f;
	CUcontext ctx;
	CUtexObject t;

	need(cu.cuCtxCreate_v2(&ctx, 0, 0), "cuCtxCreate");
	need(cu.cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	need(cu.cuMemAlloc_v2(&p, 4096), "cuMemAlloc");
	if (which == 1)
		view.base = p + 1024;
	need(cu.cuMemcpyHtoD_v2(p, &view, sizeof(view)), "cuMemcpyHtoD");
	if (cu.cuTexObjectCreate(&t, &nowhere, &d, NULL) != CUDA_ERROR_INVALID_VALUE)
		return CUDA_SUCCESS;
	handle = which ? p : 64;
	need(cu.cuModuleGetFunction(&f, module, "sample_2d"), "sample_2d");
	need(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "sample_2d");
	return cu.cuCtxSynchronize();
}

/* One of them: behind a fault the process has no context that works. */
static void run_forged(int which)
{
	say("forged", (which < 3 ? sample_nobody(which) : ask_nobody()) == CUDA_SUCCESS);
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1, 1 << 20);

	if (!f || !text || !fread(text, 1, (1 << 20) - 1, f)) {
		perror(path);
		exit(1);
	}
	fclose(f);
	return text;
}

int main(int argc, char **argv)
{
	const char *library = GSB_LIBRARY;
	bool forge = argc > 3 && !strcmp(argv[2], "--forge");
	CUcontext ctx;

	if (argc < 2)
		return 2;
	if (argc > 2 && !forge)
		library = argv[2];
	cu_load_from(&cu, library);
	ptx = read_file(argv[1]);
	need(cu.cuInit(0), "cuInit");
	if (forge) {
		run_forged(atoi(argv[3]));
		return n_wrong != 0;
	}
	need(cu.cuDevicePrimaryCtxRetain(&ctx, 0), "cuDevicePrimaryCtxRetain");
	need(cu.cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
	need(cu.cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	for (size_t i = 0; i < GSB_ARRAY_LEN(cases); i++)
		run(&cases[i]);
	run_linear();
	run_flip();
	run_shift();
	run_layers();
	run_queries();
	run_parts();
	run_refusals();
	run_levels();
	run_trap();
	printf("%d wrong\n", n_wrong);
	free(ptx);
	return n_wrong != 0;
}
