/*
 * Arrays: what they say of themselves, and copies to, from and between them in one, two and three dimensions, parts of them,
 * in a stream and not.
 */
#include <atomic>
#include <cstring>
#include <sched.h>
#include <vector>

#include "check.h"

/* So that what is deprecated is tested without a word from the compiler. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma nv_diag_suppress 1444, 1215

static void information()
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<short2>(), got = {};
	cudaExtent extent;
	unsigned flags = 99;
	cudaArray_t a;

	EXPECT(c.x == 16 && c.y == 16 && !c.z && !c.w && c.f == cudaChannelFormatKindSigned);
	CHECK(cudaMallocArray(&a, &c, 30, 20, cudaArraySurfaceLoadStore));
	CHECK(cudaGetChannelDesc(&got, a));
	EXPECT(!memcmp(&got, &c, sizeof(c)));
	CHECK(cudaArrayGetInfo(&got, &extent, &flags, a));
	EXPECT(extent.width == 30 && extent.height == 20 && extent.depth == 0);
	EXPECT(flags == cudaArraySurfaceLoadStore && !memcmp(&got, &c, sizeof(c)));
	CHECK(cudaArrayGetInfo(NULL, &extent, NULL, a));
	CHECK(cudaFreeArray(a));
	c = cudaCreateChannelDesc(16, 16, 16, 16, cudaChannelFormatKindFloat);
	CHECK(cudaMallocArray(&a, &c, 100));
	CHECK(cudaArrayGetInfo(&got, &extent, &flags, a));
	EXPECT(extent.width == 100 && extent.height == 0 && extent.depth == 0 && flags == 0);
	EXPECT(!memcmp(&got, &c, sizeof(c)));
	CHECK(cudaFreeArray(a));
	CHECK(cudaFreeArray(NULL));
}

static cudaArray_t bytes(int w, int h)
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<unsigned char>();
	cudaArray_t a;

	CHECK(cudaMallocArray(&a, &c, w, h));
	return a;
}

static std::vector<unsigned char> contents(cudaArray_t a, int w, int h)
{
	std::vector<unsigned char> v(w * h);

	CHECK(cudaMemcpy2DFromArray(v.data(), w, a, 0, 0, w, h, cudaMemcpyDeviceToHost));
	return v;
}

static std::vector<unsigned char> pattern(int n, int first)
{
	std::vector<unsigned char> v(n);

	for (int i = 0; i < n; i++)
		v[i] = (unsigned char)(first + i * 7 + i / 200);
	return v;
}

static cudaArray_t filled(const std::vector<unsigned char> &v, int w, int h)
{
	cudaArray_t a = bytes(w, h);

	CHECK(cudaMemcpy2DToArray(a, 0, 0, v.data(), w, w, h, cudaMemcpyHostToDevice));
	return a;
}

/* A rectangle of 20x6 to (5, 3) in an array, from there to (9, 1) in another, and back in pitched rows. */
static void rectangles()
{
	const int w = 40, h = 12;
	std::vector<unsigned char> zeros(w * h), in = pattern(w * h, 1), all;
	cudaArray_t a = filled(zeros, w, h), b = filled(zeros, w, h);
	unsigned char back[6][32];
	cudaStream_t s;

	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CHECK(cudaMemcpy2DToArrayAsync(a, 5, 3, in.data(), w, 20, 6, cudaMemcpyHostToDevice, s));
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaMemcpy2DArrayToArray(b, 9, 1, a, 5, 3, 20, 6));
	CHECK(cudaDeviceSynchronize()); /* no copy within the device is waited for, by the stream neither */
	memset(back, 0xee, sizeof(back));
	CHECK(cudaMemcpy2DFromArrayAsync(back, 32, b, 9, 1, 20, 6, cudaMemcpyDefault, s));
	CHECK(cudaStreamSynchronize(s));
	for (int y = 0; y < 6; y++)
		for (int x = 0; x < 32; x++)
			EXPECT(back[y][x] == (x < 20 ? in[y * w + x] : 0xee));
	all = contents(b, w, h);
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++) {
			bool inside = x >= 9 && x < 29 && y >= 1 && y < 7;

			EXPECT(all[y * w + x] == (inside ? in[(y - 1) * w + x - 9] : 0));
		}
	CHECK(cudaStreamDestroy(s));
	CHECK(cudaFreeArray(a));
	CHECK(cudaFreeArray(b));
}

/* One row has no pitch. */
static void one_row()
{
	const int w = 40;
	std::vector<unsigned char> zeros(w * 2), in = pattern(w, 4), back(w);
	cudaArray_t a = filled(zeros, w, 2);

	CHECK(cudaMemcpy2DToArray(a, 0, 1, in.data(), 0, w, 1, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy2DFromArray(back.data(), 0, a, 0, 1, w, 1, cudaMemcpyDeviceToHost));
	EXPECT(back == in);
	CHECK(cudaFreeArray(a));
}

/* Between an array and memory of the device. */
static void device_memory()
{
	const int w = 33, h = 9;
	std::vector<unsigned char> in = pattern(w * h, 3), out(w * h);
	cudaArray_t a = bytes(w, h);
	unsigned char *p;
	size_t pitch;

	CHECK(cudaMallocPitch(&p, &pitch, w, h));
	CHECK(cudaMemcpy2D(p, pitch, in.data(), w, w, h, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy2DToArray(a, 0, 0, p, pitch, w, h, cudaMemcpyDeviceToDevice));
	CHECK(cudaMemset2D(p, pitch, 0, w, h));
	CHECK(cudaMemcpy2DFromArray(p, pitch, a, 0, 0, w, h, cudaMemcpyDeviceToDevice));
	CHECK(cudaMemcpy2D(out.data(), w, p, pitch, w, h, cudaMemcpyDeviceToHost));
	EXPECT(in == out);
	CHECK(cudaFree(p));
	CHECK(cudaFreeArray(a));
}

/* Bytes in one run begin in the middle of a row and go on in the next. */
static void runs()
{
	const int w = 17, h = 8, first = 2 * w + 5, n = 3 * w + 1, v = 23;
	std::vector<unsigned char> zeros(w * h), in = pattern(n, 9), all, back(n);
	cudaArray_t a = filled(zeros, w, h), b = bytes(v, h);

	CHECK(cudaMemcpyToArray(a, 5, 2, in.data(), n, cudaMemcpyHostToDevice));
	all = contents(a, w, h);
	for (int i = 0; i < w * h; i++)
		EXPECT(all[i] == (i >= first && i < first + n ? in[i - first] : 0));
	CHECK(cudaMemcpyFromArray(back.data(), a, 5, 2, n, cudaMemcpyDeviceToHost));
	EXPECT(back == in);
	CHECK(cudaMemcpyArrayToArray(b, 20, 1, a, 5, 2, n));
	all = contents(b, v, h);
	for (int i = 0; i < n; i++)
		EXPECT(all[v + 20 + i] == in[i]);
	CHECK(cudaFreeArray(a));
	CHECK(cudaFreeArray(b));
}

static void CUDART_CB wait_for(void *flag)
{
	while (!*(std::atomic<bool> *)flag)
		sched_yield();
}

/* A copy waits for what is before it in its stream. */
static void in_order()
{
	const int w = 16, h = 4;
	std::vector<unsigned char> zeros(w * h), in = pattern(w * h, 5);
	cudaArray_t a = filled(zeros, w, h), b = filled(zeros, w, h);
	std::atomic<bool> go(false);
	cudaMemcpy3DParms p = {};
	unsigned char *pinned;
	cudaStream_t s;

	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CHECK(cudaMallocHost(&pinned, w * h));
	memcpy(pinned, in.data(), w * h);
	CHECK(cudaLaunchHostFunc(s, wait_for, &go));
	CHECK(cudaMemcpy2DToArrayAsync(a, 0, 0, pinned, w, w, h, cudaMemcpyHostToDevice, s));
	p.srcPtr = make_cudaPitchedPtr(pinned, w, w, h);
	p.dstArray = b;
	p.extent = make_cudaExtent(w, h, 1);
	p.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3DAsync(&p, s));
	EXPECT(contents(a, w, h) == zeros && contents(b, w, h) == zeros);
	go = true;
	CHECK(cudaStreamSynchronize(s));
	EXPECT(contents(a, w, h) == in && contents(b, w, h) == in);
	CHECK(cudaStreamDestroy(s));
	CHECK(cudaFreeHost(pinned));
	CHECK(cudaFreeArray(a));
	CHECK(cudaFreeArray(b));
}

/* ---- three dimensions ---- */

typedef int volume[5][6][7];

static void expect_box(const volume &got, const volume &in, const int from[3], const int to[3], const int size[3])
{
	for (int z = 0; z < 5; z++)
		for (int y = 0; y < 6; y++)
			for (int x = 0; x < 7; x++) {
				int i = x - to[0], j = y - to[1], k = z - to[2];
				bool inside = i >= 0 && i < size[0] && j >= 0 && j < size[1] && k >= 0 && k < size[2];

				EXPECT(got[z][y][x] == (inside ? in[k + from[2]][j + from[1]][i + from[0]] : 0));
			}
}

static cudaArray_t volume_of_zeros()
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<int>();
	cudaMemcpy3DParms p = {};
	static volume zeros;
	cudaArray_t a;

	CHECK(cudaMalloc3DArray(&a, &c, make_cudaExtent(7, 6, 5)));
	p.srcPtr = make_cudaPitchedPtr(zeros, 7 * sizeof(int), 7, 6);
	p.dstArray = a;
	p.extent = make_cudaExtent(7, 6, 5);
	p.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&p));
	return a;
}

static void expect_volume(cudaArray_t a, const volume &in, const int from[3], const int to[3], const int size[3])
{
	cudaMemcpy3DParms p = {};
	volume got;

	p.srcArray = a;
	p.dstPtr = make_cudaPitchedPtr(got, 7 * sizeof(int), 7, 6);
	p.extent = make_cudaExtent(7, 6, 5);
	p.kind = cudaMemcpyDeviceToHost;
	CHECK(cudaMemcpy3D(&p));
	expect_box(got, in, from, to, size);
}

/*
 * A box of 3x2x4, from the host to pitched memory, to one array, to another, and back, each time to another place. Places
 * and lengths are texels as soon as an array takes part, also those in memory, and bytes otherwise.
 */
static void boxes()
{
	const int size[3] = {3, 2, 4}, from[3] = {2, 3, 1}, there[3] = {1, 2, 0}, last[3] = {4, 0, 1};
	const size_t word = sizeof(int);
	cudaArray_t a = volume_of_zeros(), b = volume_of_zeros();
	cudaMemcpy3DParms p = {};
	cudaPitchedPtr dev;
	volume in, out = {};

	for (int i = 0; i < 5 * 6 * 7; i++)
		(&in[0][0][0])[i] = i + 1;
	CHECK(cudaMalloc3D(&dev, make_cudaExtent(7 * word, 6, 5)));
	CHECK(cudaMemset3D(dev, 0, make_cudaExtent(7 * word, 6, 5)));
	p.srcPtr = make_cudaPitchedPtr(in, 7 * word, 7, 6);
	p.srcPos = make_cudaPos(2 * word, 3, 1);
	p.dstPtr = dev;
	p.dstPos = make_cudaPos(4 * word, 1, 1);
	p.extent = make_cudaExtent(3 * word, 2, 4);
	p.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&p));
	p = {};
	p.srcPtr = dev;
	p.srcPos = make_cudaPos(4, 1, 1);
	p.dstArray = a;
	p.dstPos = make_cudaPos(1, 2, 0);
	p.extent = make_cudaExtent(3, 2, 4);
	p.kind = cudaMemcpyDeviceToDevice;
	CHECK(cudaMemcpy3DAsync(&p, 0));
	expect_volume(a, in, from, there, size);
	p = {};
	p.srcArray = a;
	p.srcPos = make_cudaPos(1, 2, 0);
	p.dstArray = b;
	p.dstPos = make_cudaPos(4, 0, 1);
	p.extent = make_cudaExtent(3, 2, 4);
	p.kind = cudaMemcpyDeviceToDevice;
	CHECK(cudaMemcpy3D(&p));
	expect_volume(b, in, from, last, size);
	p = {};
	p.srcArray = b;
	p.srcPos = make_cudaPos(4, 0, 1);
	p.dstPtr = make_cudaPitchedPtr(out, 7 * word, 7, 6);
	p.dstPos = make_cudaPos(2, 3, 1);
	p.extent = make_cudaExtent(3, 2, 4);
	p.kind = cudaMemcpyDeviceToHost;
	CHECK(cudaMemcpy3D(&p));
	expect_box(out, in, from, from, size);
	CHECK(cudaFreeArray(a));
	CHECK(cudaFreeArray(b));
	CHECK(cudaFree(dev.ptr));
}

/* From one device to itself: as any other copy. */
static void peers()
{
	const int all[3] = {7, 6, 5}, zero[3] = {0, 0, 0};
	cudaArray_t a = volume_of_zeros(), b = volume_of_zeros();
	cudaMemcpy3DPeerParms peer = {};
	cudaMemcpy3DParms p = {};
	volume in;

	for (int i = 0; i < 5 * 6 * 7; i++)
		(&in[0][0][0])[i] = i * i;
	p.srcPtr = make_cudaPitchedPtr(in, 7 * sizeof(int), 7, 6);
	p.dstArray = a;
	p.extent = make_cudaExtent(7, 6, 5);
	p.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&p));
	peer.srcArray = a;
	peer.dstArray = b;
	peer.extent = make_cudaExtent(7, 6, 5);
	CHECK(cudaMemcpy3DPeer(&peer));
	expect_volume(b, in, zero, zero, all);
	CHECK(cudaFreeArray(a));
	CHECK(cudaFreeArray(b));
}

int main()
{
	information();
	rectangles();
	one_row();
	device_memory();
	runs();
	in_order();
	boxes();
	peers();
}
