/*
 * Textures of rows: every address and filter mode, small integers as fractions, pitched and linear memory, gathering. What
 * each place should give is worked out here from the same texels, as the programming guide says it.
 */
#include <cmath>
#include <cstring>
#include <vector>

#include "check.h"

static const int W = 64, H = 32, N = 2048; /* powers of two: normalised places are exact */

__global__ void sample(cudaTextureObject_t t, const float2 *at, float4 *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex2D<float4>(t, at[i].x, at[i].y);
}

__global__ void sample_one(cudaTextureObject_t t, const float2 *at, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex2D<float>(t, at[i].x, at[i].y);
}

__global__ void gather(cudaTextureObject_t t, const float2 *at, float4 *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex2Dgather<float4>(t, at[i].x, at[i].y, 0);
}

__global__ void fetch(cudaTextureObject_t t, const int *at, int2 *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex1Dfetch<int2>(t, at[i]);
}

static unsigned seed = 1;

static int below(int n)
{
	seed = seed * 1664525 + 1013904223;
	return (int)((unsigned long long)(seed >> 4) * n >> 28);
}

/* Places between half a texture before and half a one behind it; their weights are eighths, and no place is on an edge. */
static std::vector<float2> places(bool normalized)
{
	std::vector<float2> at(N);

	for (float2 &p : at) {
		p.x = (below(8 * W) - 2 * W) / 4.0f + 0.125f;
		p.y = (below(8 * H) - 2 * H) / 4.0f + 0.125f;
		if (normalized)
			p = make_float2(p.x / W, p.y / H);
	}
	return at;
}

/* ---- what is right ---- */

/* The texel that a row or column stands for; -1: the border. Only normalised coordinates wrap. */
static int address(int i, int n, cudaTextureAddressMode mode, bool normalized)
{
	if (mode == cudaAddressModeBorder)
		return i < 0 || i >= n ? -1 : i;
	if (mode == cudaAddressModeWrap && normalized)
		return (i % n + n) % n;
	if (mode == cudaAddressModeMirror && normalized) {
		i = (i % (2 * n) + 2 * n) % (2 * n);
		return i < n ? i : 2 * n - 1 - i;
	}
	return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static double texel(const std::vector<float> &v, const cudaTextureDesc &d, int x, int y)
{
	x = address(x, W, d.addressMode[0], d.normalizedCoords);
	y = address(y, H, d.addressMode[1], d.normalizedCoords);
	return x < 0 || y < 0 ? d.borderColor[0] : v[y * W + x];
}

static double expected(const std::vector<float> &v, const cudaTextureDesc &d, float2 at)
{
	double x = d.normalizedCoords ? (double)at.x * W : at.x, y = d.normalizedCoords ? (double)at.y * H : at.y;
	double fx, fy;

	if (d.filterMode == cudaFilterModePoint)
		return texel(v, d, (int)floor(x), (int)floor(y));
	fx = x - 0.5 - floor(x - 0.5), fy = y - 0.5 - floor(y - 0.5);
	x = floor(x - 0.5), y = floor(y - 0.5);
	return (1 - fy) * ((1 - fx) * texel(v, d, (int)x, (int)y) + fx * texel(v, d, (int)x + 1, (int)y)) +
	       fy * ((1 - fx) * texel(v, d, (int)x, (int)y + 1) + fx * texel(v, d, (int)x + 1, (int)y + 1));
}

/* ---- cases ---- */

static cudaTextureObject_t texture_of(const cudaResourceDesc &r, const cudaTextureDesc &d)
{
	cudaTextureObject_t t;

	CHECK(cudaCreateTextureObject(&t, &r, &d, NULL));
	return t;
}

static cudaResourceDesc resource_of(cudaArray_t a)
{
	cudaResourceDesc r = {};

	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	return r;
}

static cudaTextureDesc description(cudaTextureAddressMode mode, cudaTextureFilterMode filter, bool normalized)
{
	cudaTextureDesc d = {};

	d.addressMode[0] = d.addressMode[1] = mode;
	d.filterMode = filter;
	d.normalizedCoords = normalized;
	d.borderColor[0] = 0.75f;
	return d;
}

template <typename T, typename F>
static std::vector<T> run(F kernel, cudaTextureObject_t t, const std::vector<float2> &at)
{
	std::vector<T> out(N);
	float2 *d_at;
	T *d_out;

	CHECK(cudaMalloc(&d_at, N * sizeof(float2)));
	CHECK(cudaMalloc(&d_out, N * sizeof(T)));
	CHECK(cudaMemcpy(d_at, at.data(), N * sizeof(float2), cudaMemcpyHostToDevice));
	kernel<<<N / 128, 128>>>(t, d_at, d_out, N);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(out.data(), d_out, N * sizeof(T), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(d_at));
	CHECK(cudaFree(d_out));
	return out;
}

static std::vector<float> random_floats()
{
	std::vector<float> v(W * H);

	for (float &f : v)
		f = below(1 << 20) / 65536.0f - 8;
	return v;
}

static cudaArray_t array_of(const std::vector<float> &v, unsigned flags)
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<float>();
	cudaArray_t a;

	CHECK(cudaMallocArray(&a, &c, W, H, flags));
	CHECK(cudaMemcpy2DToArray(a, 0, 0, v.data(), W * sizeof(float), W * sizeof(float), H,
				  cudaMemcpyHostToDevice));
	return a;
}

static void check_modes(const cudaResourceDesc &r, const std::vector<float> &v)
{
	for (int mode = cudaAddressModeWrap; mode <= cudaAddressModeBorder; mode++)
		for (int filter = cudaFilterModePoint; filter <= cudaFilterModeLinear; filter++)
			for (int normalized = 0; normalized < 2; normalized++) {
				cudaTextureDesc d = description((cudaTextureAddressMode)mode,
								(cudaTextureFilterMode)filter, normalized);
				cudaTextureObject_t t = texture_of(r, d);
				std::vector<float2> at = places(normalized);
				std::vector<float> out = run<float>(sample_one, t, at);

				for (int i = 0; i < N; i++)
					EXPECT(fabs(out[i] - expected(v, d, at[i])) <= (filter ? 1e-5 : 0));
				CHECK(cudaDestroyTextureObject(t));
			}
}

static void modes_of_arrays()
{
	std::vector<float> v = random_floats();
	cudaArray_t a = array_of(v, 0);

	check_modes(resource_of(a), v);
	CHECK(cudaFreeArray(a));
}

static void modes_of_pitched_memory()
{
	std::vector<float> v = random_floats();
	cudaResourceDesc r = {};
	size_t pitch;
	void *p;

	CHECK(cudaMallocPitch(&p, &pitch, W * sizeof(float), H));
	CHECK(cudaMemcpy2D(p, pitch, v.data(), W * sizeof(float), W * sizeof(float), H, cudaMemcpyHostToDevice));
	r.resType = cudaResourceTypePitch2D;
	r.res.pitch2D.devPtr = p;
	r.res.pitch2D.desc = cudaCreateChannelDesc<float>();
	r.res.pitch2D.width = W;
	r.res.pitch2D.height = H;
	r.res.pitch2D.pitchInBytes = pitch;
	check_modes(r, v);
	CHECK(cudaFree(p));
}

/* Four bytes a texel, each read as a fraction of 255 and filtered, which is done in steps of 1/65535. */
static void fractions()
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<uchar4>();
	cudaTextureDesc d = description(cudaAddressModeClamp, cudaFilterModeLinear, true);
	std::vector<unsigned char> bytes(W * H * 4);
	std::vector<float> channel[4];
	std::vector<float2> at = places(true);
	std::vector<float4> out;
	cudaTextureObject_t t;
	cudaArray_t a;

	for (int i = 0; i < W * H * 4; i++) {
		bytes[i] = below(256);
		channel[i % 4].push_back(bytes[i] * 257);
	}
	CHECK(cudaMallocArray(&a, &c, W, H));
	CHECK(cudaMemcpy2DToArray(a, 0, 0, bytes.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
	d.readMode = cudaReadModeNormalizedFloat;
	t = texture_of(resource_of(a), d);
	out = run<float4>(sample, t, at);
	for (int i = 0; i < N; i++)
		for (int k = 0; k < 4; k++)
			EXPECT((&out[i].x)[k] == (float)(round(expected(channel[k], d, at[i])) / 65535));
	CHECK(cudaDestroyTextureObject(t));
	CHECK(cudaFreeArray(a));
}

/* Filtered halves are halves: of 11 bits, a half of the last one rounded up. */
static void halves()
{
	cudaTextureDesc d = description(cudaAddressModeClamp, cudaFilterModeLinear, false);
	cudaChannelFormatDesc c = cudaCreateChannelDescHalf();
	std::vector<unsigned short> bits(W * H);
	std::vector<float> v, out;
	std::vector<float2> at = places(false);
	cudaTextureObject_t t;
	cudaArray_t a;

	for (unsigned short &b : bits) { /* 1 and what is behind it */
		b = 0x3c00 + below(1024);
		v.push_back(b - 0x3c00);
	}
	CHECK(cudaMallocArray(&a, &c, W, H));
	CHECK(cudaMemcpy2DToArray(a, 0, 0, bits.data(), W * 2, W * 2, H, cudaMemcpyHostToDevice));
	t = texture_of(resource_of(a), d);
	out = run<float>(sample_one, t, at);
	for (int i = 0; i < N; i++)
		EXPECT(out[i] == 1 + round(expected(v, d, at[i])) / 1024);
	CHECK(cudaDestroyTextureObject(t));
	CHECK(cudaFreeArray(a));
}

/* The four texels around a place, from the lower left against the clock. */
static void gathering()
{
	static const int dx[4] = {0, 1, 1, 0}, dy[4] = {1, 1, 0, 0};
	std::vector<float> v = random_floats();
	cudaArray_t a = array_of(v, cudaArrayTextureGather);
	cudaTextureDesc d = description(cudaAddressModeClamp, cudaFilterModePoint, false);
	cudaTextureObject_t t = texture_of(resource_of(a), d);
	std::vector<float2> at = places(false);
	std::vector<float4> out = run<float4>(gather, t, at);

	for (int i = 0; i < N; i++)
		for (int k = 0; k < 4; k++)
			EXPECT((&out[i].x)[k] == texel(v, d, (int)floor(at[i].x - 0.5) + dx[k],
						       (int)floor(at[i].y - 0.5) + dy[k]));
	CHECK(cudaDestroyTextureObject(t));
	CHECK(cudaFreeArray(a));
}

/* Linear memory is read by index, and is 0 outside. */
static void linear_memory()
{
	const int n = 1000;
	std::vector<short2> v(n);
	std::vector<int> at(N);
	std::vector<int2> out(N);
	cudaResourceDesc r = {};
	cudaTextureDesc d = {};
	cudaTextureObject_t t;
	int *d_at;
	int2 *d_out;
	short2 *p;

	for (short2 &s : v)
		s = make_short2(below(65536) - 32768, below(65536) - 32768);
	for (int &i : at)
		i = below(n + 200) - 100;
	CHECK(cudaMalloc(&p, n * sizeof(short2)));
	CHECK(cudaMalloc(&d_at, N * sizeof(int)));
	CHECK(cudaMalloc(&d_out, N * sizeof(int2)));
	CHECK(cudaMemcpy(p, v.data(), n * sizeof(short2), cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(d_at, at.data(), N * sizeof(int), cudaMemcpyHostToDevice));
	r.resType = cudaResourceTypeLinear;
	r.res.linear.devPtr = p;
	r.res.linear.desc = cudaCreateChannelDesc<short2>();
	r.res.linear.sizeInBytes = n * sizeof(short2);
	t = texture_of(r, d);
	fetch<<<N / 128, 128>>>(t, d_at, d_out, N);
	CHECK(cudaMemcpy(out.data(), d_out, N * sizeof(int2), cudaMemcpyDeviceToHost));
	for (int i = 0; i < N; i++) {
		bool inside = at[i] >= 0 && at[i] < n;

		EXPECT(out[i].x == (inside ? v[at[i]].x : 0) && out[i].y == (inside ? v[at[i]].y : 0));
	}
	CHECK(cudaDestroyTextureObject(t));
	CHECK(cudaFree(p));
	CHECK(cudaFree(d_at));
	CHECK(cudaFree(d_out));
}

/* An object says what it was made of, but for the colour of its border, which NVIDIA's runtime leaves out. */
static void descriptions()
{
	cudaArray_t a = array_of(random_floats(), 0);
	cudaTextureDesc d = description(cudaAddressModeMirror, cudaFilterModeLinear, true), got;
	cudaResourceDesc r = {}, got_r;
	cudaTextureObject_t t;
	char *p;

	d.addressMode[1] = cudaAddressModeBorder;
	t = texture_of(resource_of(a), d);
	CHECK(cudaGetTextureObjectTextureDesc(&got, t));
	EXPECT(got.addressMode[0] == cudaAddressModeMirror && got.addressMode[1] == cudaAddressModeBorder);
	EXPECT(got.filterMode == cudaFilterModeLinear && got.readMode == cudaReadModeElementType);
	EXPECT(got.normalizedCoords == 1);
	CHECK(cudaGetTextureObjectResourceDesc(&got_r, t));
	EXPECT(got_r.resType == cudaResourceTypeArray && got_r.res.array.array == a);
	CHECK(cudaDestroyTextureObject(t));
	CHECK(cudaFreeArray(a));
	CHECK(cudaMalloc(&p, 4096));
	r.resType = cudaResourceTypeLinear;
	r.res.linear.devPtr = p;
	r.res.linear.desc = cudaCreateChannelDesc<ushort4>();
	r.res.linear.sizeInBytes = 4096;
	d = description(cudaAddressModeClamp, cudaFilterModePoint, false);
	d.readMode = cudaReadModeNormalizedFloat;
	t = texture_of(r, d);
	CHECK(cudaGetTextureObjectTextureDesc(&got, t));
	EXPECT(got.readMode == cudaReadModeNormalizedFloat);
	CHECK(cudaGetTextureObjectResourceDesc(&got_r, t));
	EXPECT(got_r.resType == cudaResourceTypeLinear && got_r.res.linear.devPtr == p);
	EXPECT(got_r.res.linear.desc.x == 16 && got_r.res.linear.desc.w == 16);
	EXPECT(got_r.res.linear.desc.f == cudaChannelFormatKindUnsigned && got_r.res.linear.sizeInBytes == 4096);
	CHECK(cudaDestroyTextureObject(t));
	CHECK(cudaFree(p));
}

int main()
{
	modes_of_arrays();
	modes_of_pitched_memory();
	fractions();
	halves();
	gathering();
	linear_memory();
	descriptions();
}
