/*
 * texture.cu - textures and surfaces of all geometries, read at places that the host names.
 */
#include "cuda_words.h"

#ifdef __CUDACC__
#define SAMPLER(name, type, expr)                                                                    \
	KERNEL name(cudaTextureObject_t t, type *out, const float4 *at, int n)                        \
	{                                                                                             \
		int i = CTA_X * NTID_X + TID_X;                                                       \
		if (i < n) {                                                                          \
			float4 a = at[i];                                                             \
			out[i] = expr;                                                                \
		}                                                                                     \
	}

SAMPLER(fetch_f, float4, tex1Dfetch<float4>(t, (int)a.x))
SAMPLER(fetch_i, int4, tex1Dfetch<int4>(t, (int)a.x))
SAMPLER(sample_1d, float4, tex1D<float4>(t, a.x))
SAMPLER(sample_2d, float4, tex2D<float4>(t, a.x, a.y))
SAMPLER(sample_2d_i, int4, tex2D<int4>(t, a.x, a.y))
SAMPLER(sample_3d, float4, tex3D<float4>(t, a.x, a.y, a.z))
SAMPLER(sample_a1d, float4, tex1DLayered<float4>(t, a.x, (int)a.w))
SAMPLER(sample_a2d, float4, tex2DLayered<float4>(t, a.x, a.y, (int)a.w))
SAMPLER(sample_cube, float4, texCubemap<float4>(t, a.x, a.y, a.z))
SAMPLER(sample_acube, float4, texCubemapLayered<float4>(t, a.x, a.y, a.z, (int)a.w))
SAMPLER(gather_x, float4, tex2Dgather<float4>(t, a.x, a.y, 0))
SAMPLER(gather_w, float4, tex2Dgather<float4>(t, a.x, a.y, 3))
SAMPLER(level_2d, float4, tex2DLod<float4>(t, a.x, a.y, 0.0f))
SAMPLER(grad_2d, float4, tex2DGrad<float4>(t, a.x, a.y, make_float2(0, 0), make_float2(0, 0)))

/* Each thread turns a pixel upside down; what is outside reads as 0 and is not written. */
KERNEL flip_2d(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width, int height)
{
	int x = CTA_X * NTID_X + TID_X - 2, y = CTA_Y;
	short2 v = surf2Dread<short2>(from, x * 4, height - 1 - y, cudaBoundaryModeZero);

	surf2Dwrite(v, to, x * 4, y, cudaBoundaryModeZero);
}

/* All slices; what is outside is the edge. */
KERNEL shift_3d(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int n)
{
	float4 v = surf3Dread<float4>(from, (int)(TID_X + 1) * 16, TID_Y, CTA_X, cudaBoundaryModeClamp);

	surf3Dwrite(v, to, TID_X * 16, TID_Y, CTA_X);
}

KERNEL layers(cudaSurfaceObject_t s, int n)
{
	unsigned char v = surf2DLayeredread<unsigned char>(s, TID_X, TID_Y, CTA_X);

	surf2DLayeredwrite((unsigned char)(v + CTA_X + 1), s, TID_X, TID_Y, CTA_X);
}

/* What the objects are; CUDA C++ has no words for it. */
#define ASK(what, object)                                                        \
	({                                                                        \
		unsigned int v;                                                   \
		asm volatile(what ".b32 %0, [%1];" : "=r"(v) : "l"(object));       \
		v;                                                                \
	})

KERNEL queries(cudaTextureObject_t t, cudaSurfaceObject_t s, unsigned int *out)
{
	unsigned int width;

	out[0] = ASK("txq.width", t);
	out[1] = ASK("txq.height", t);
	out[2] = ASK("txq.depth", t);
	out[3] = ASK("txq.array_size", t);
	out[4] = ASK("txq.normalized_coords", t);
	out[5] = ASK("txq.num_mipmap_levels", t);
	asm volatile("txq.level.width.b32 %0, [%1], %2;" : "=r"(width) : "l"(t), "r"(0));
	out[6] = width;
	out[7] = ASK("suq.width", s);
	out[8] = ASK("suq.height", s);
	out[9] = ASK("suq.depth", s);
	out[10] = ASK("suq.array_size", s);
}

KERNEL trap_1d(cudaSurfaceObject_t s, int x)
{
	surf1Dwrite(1.0f, s, x * 4);
}
#endif
