/* Textures that are more than rows: volumes, layers of one and two dimensions, cubes and layers of cubes. */
#include <cmath>
#include <vector>

#include "check.h"

static const int N = 2048;

enum shape { VOLUME, ROWS, LAYERS, CUBE, CUBES };

__global__ void sample(cudaTextureObject_t t, enum shape shape, const float4 *at, float *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float4 p = at[i];

	switch (shape) {
	case VOLUME: out[i] = tex3D<float>(t, p.x, p.y, p.z); break;
	case ROWS: out[i] = tex1DLayered<float>(t, p.x, (int)p.w); break;
	case LAYERS: out[i] = tex2DLayered<float>(t, p.x, p.y, (int)p.w); break;
	case CUBE: out[i] = texCubemap<float>(t, p.x, p.y, p.z); break;
	case CUBES: out[i] = texCubemapLayered<float>(t, p.x, p.y, p.z, (int)p.w); break;
	}
}

static unsigned seed = 1;

static int below(int n)
{
	seed = seed * 1664525 + 1013904223;
	return (int)((unsigned long long)(seed >> 4) * n >> 28);
}

struct texels {
	int w, h, d;
	std::vector<float> v;

	float at(int x, int y, int z) const
	{
		x = x < 0 ? 0 : x >= w ? w - 1 : x;
		y = y < 0 ? 0 : y >= h ? h - 1 : y;
		z = z < 0 ? 0 : z >= d ? d - 1 : z;
		return v[(z * h + y) * w + x];
	}
};

static struct texels random_texels(int w, int h, int d)
{
	struct texels t = {w, h, d, std::vector<float>(w * h * d)};

	for (float &f : t.v)
		f = below(1 << 20) / 65536.0f - 8;
	return t;
}

/* extent as cudaMalloc3DArray is told it; texels lie slice by slice, whatever a slice is called. */
static cudaArray_t array_of(const struct texels &t, cudaExtent extent, unsigned flags)
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<float>();
	cudaMemcpy3DParms p = {};
	cudaArray_t a;

	CHECK(cudaMalloc3DArray(&a, &c, extent, flags));
	p.srcPtr = make_cudaPitchedPtr((void *)t.v.data(), t.w * sizeof(float), t.w, t.h);
	p.dstArray = a;
	p.extent = make_cudaExtent(t.w, t.h, t.d);
	p.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&p));
	return a;
}

static std::vector<float> read(cudaArray_t a, cudaTextureFilterMode filter, enum shape shape,
			       const std::vector<float4> &at)
{
	cudaResourceDesc r = {};
	cudaTextureDesc d = {};
	cudaTextureObject_t t;
	std::vector<float> out(N);
	float4 *d_at;
	float *d_out;

	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	d.addressMode[0] = d.addressMode[1] = d.addressMode[2] = cudaAddressModeClamp;
	d.filterMode = filter;
	d.normalizedCoords = shape >= CUBE;
	CHECK(cudaCreateTextureObject(&t, &r, &d, NULL));
	CHECK(cudaMalloc(&d_at, N * sizeof(float4)));
	CHECK(cudaMalloc(&d_out, N * sizeof(float)));
	CHECK(cudaMemcpy(d_at, at.data(), N * sizeof(float4), cudaMemcpyHostToDevice));
	sample<<<N / 128, 128>>>(t, shape, d_at, d_out);
	CHECK(cudaMemcpy(out.data(), d_out, N * sizeof(float), cudaMemcpyDeviceToHost));
	CHECK(cudaDestroyTextureObject(t));
	CHECK(cudaFree(d_at));
	CHECK(cudaFree(d_out));
	return out;
}

/* Around the array, on no edge, and never in the middle between two of the filter's 256 places in a texel. */
static float place(int n)
{
	return (2 * below(1024 * n) - 512 * n + 1) / 1024.0f;
}

/*
 * A GPU has 8 bits for each weight of a linear filter, too few for products of fractions. An H200 divides the whole by z,
 * each part by x, and each of these by y. What is left of it is rounded; a half goes right, then up on the right, down on
 * the left.
 */
static void find_weights(const int f[3], int w[8])
{
	for (int corner = 0; corner < 8; corner++) {
		bool right = corner & 1, up = corner & 2;
		int z = corner & 4 ? f[2] : 256 - f[2];
		int x = (int)floor(z * f[0] / 256.0 + 0.5);
		int y = right ? (int)floor(x * f[1] / 256.0 + 0.5) : (int)ceil((z - x) * f[1] / 256.0 - 0.5);

		w[corner] = up ? y : (right ? x : z - x) - y;
	}
}

/* To 24 bits, a half away from zero. All sums here are whole numbers of 2^-24. */
static double rounded(double sum)
{
	long long n = llround(fabs(sum) * 0x1p24), unit = 1;

	while (n >> 24 >= unit)
		unit *= 2;
	return copysign((n + unit / 2) / unit * unit * 0x1p-24, sum);
}

static double blend(const struct texels &t, float4 p, int n_axes, int z)
{
	const float at[3] = {p.x, p.y, p.z};
	const int size[3] = {t.w, t.h, t.d};
	int low[3] = {0, 0, z}, f[3] = {}, w[8];
	double sum = 0;

	for (int i = 0; i < n_axes; i++) {
		/* nothing is weighed beyond the middle of the last texel */
		double inside = fmin(fmax(at[i], 0.5), size[i] - 0.5), place = round((inside - 0.5) * 256) / 256;

		low[i] = (int)floor(place);
		f[i] = (int)((place - low[i]) * 256);
	}
	find_weights(f, w);
	for (int corner = 0; corner < 8; corner++)
		if (w[corner])
			sum += w[corner] / 256.0 *
			       t.at(low[0] + (corner & 1), low[1] + (corner >> 1 & 1), low[2] + (corner >> 2));
	return rounded(sum);
}

static void volumes()
{
	struct texels t = random_texels(13, 9, 7);
	cudaArray_t a = array_of(t, make_cudaExtent(13, 9, 7), cudaArrayDefault);
	std::vector<float4> at(N);
	std::vector<float> out;

	for (float4 &p : at)
		p = make_float4(place(13), place(9), place(7), 0);
	out = read(a, cudaFilterModePoint, VOLUME, at);
	for (int i = 0; i < N; i++)
		EXPECT(out[i] == t.at((int)floor(at[i].x), (int)floor(at[i].y), (int)floor(at[i].z)));
	out = read(a, cudaFilterModeLinear, VOLUME, at);
	for (int i = 0; i < N; i++)
		EXPECT(out[i] == blend(t, at[i], 3, 0));
	CHECK(cudaFreeArray(a));
}

/* Between layers nothing is filtered. */
static void layers(enum shape shape, int w, int h, int d)
{
	struct texels t = random_texels(w, h, d);
	cudaArray_t a = array_of(t, make_cudaExtent(w, shape == ROWS ? 0 : h, d), cudaArrayLayered);
	std::vector<float4> at(N);
	std::vector<float> out;
	cudaChannelFormatDesc c;
	cudaExtent extent;
	unsigned flags;

	for (float4 &p : at)
		p = make_float4(place(w), place(h), 0, below(d));
	out = read(a, cudaFilterModeLinear, shape, at);
	for (int i = 0; i < N; i++)
		EXPECT(out[i] == blend(t, at[i], shape == ROWS ? 1 : 2, (int)at[i].w));
	CHECK(cudaArrayGetInfo(&c, &extent, &flags, a));
	EXPECT(c.x == 32 && !c.y && c.f == cudaChannelFormatKindFloat && flags == cudaArrayLayered);
	EXPECT(extent.width == (size_t)w && extent.height == (size_t)(shape == ROWS ? 0 : h) &&
	       extent.depth == (size_t)d);
	CHECK(cudaFreeArray(a));
}

/* Faces in the order +x -x +y -y +z -z, and how a direction lies on each. */
static void cubes(enum shape shape, int n_cubes)
{
	static const int major[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
	static const int right[6][3] = {{0, 0, -1}, {0, 0, 1}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {-1, 0, 0}};
	static const int down[6][3] = {{0, -1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}, {0, -1, 0}, {0, -1, 0}};
	const int side = 8;
	struct texels t = random_texels(side, side, 6 * n_cubes);
	cudaArray_t a = array_of(t, make_cudaExtent(side, side, 6 * n_cubes),
				 cudaArrayCubemap | (shape == CUBES ? cudaArrayLayered : 0));
	std::vector<float4> at(N);
	std::vector<float> out, want(N);

	for (int i = 0; i < N; i++) {
		int face = below(6), cube = below(n_cubes), x = below(side), y = below(side);
		float p[3];

		for (int k = 0; k < 3; k++)
			p[k] = major[face][k] + right[face][k] * (2 * (x + 0.5f) / side - 1) +
			       down[face][k] * (2 * (y + 0.5f) / side - 1);
		at[i] = make_float4(p[0], p[1], p[2], cube);
		want[i] = t.at(x, y, 6 * cube + face);
	}
	out = read(a, cudaFilterModePoint, shape, at);
	for (int i = 0; i < N; i++)
		EXPECT(out[i] == want[i]);
	CHECK(cudaFreeArray(a));
}

int main()
{
	volumes();
	layers(ROWS, 40, 1, 5);
	layers(LAYERS, 20, 12, 6);
	cubes(CUBE, 1);
	cubes(CUBES, 3);
}
