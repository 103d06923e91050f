/* Copies and fills in two and three dimensions: pitched memory, parts of it, every kind. */
#include <cstring>
#include <vector>

#include "check.h"

__global__ void transpose(const unsigned char *in, size_t in_pitch, unsigned char *out, size_t out_pitch, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < w && y < h)
		out[x * out_pitch + y] = in[y * in_pitch + x];
}

static void two_dimensions()
{
	const int w = 77, h = 50;
	std::vector<unsigned char> in(w * h), back(h * w, 0xee);
	unsigned char *a, *b;
	size_t pa, pb;

	for (int i = 0; i < w * h; i++)
		in[i] = (unsigned char)(i * 7 + i / 256);
	CHECK(cudaMallocPitch(&a, &pa, w, h));
	CHECK(cudaMallocPitch(&b, &pb, h, w));
	EXPECT(pa >= w && pb >= h);
	CHECK(cudaMemcpy2D(a, pa, in.data(), w, w, h, cudaMemcpyHostToDevice));
	CHECK(cudaMemset2D(b, pb, 0, h, w));
	transpose<<<dim3(3, 7), dim3(32, 8)>>>(a, pa, b, pb, w, h);
	CHECK(cudaMemcpy2DAsync(back.data(), h, b, pb, h, w, cudaMemcpyDefault, 0));
	CHECK(cudaDeviceSynchronize());
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++)
			EXPECT(back[x * h + y] == in[y * w + x]);
	CHECK_IS(cudaMemcpy2D(a, pa, in.data(), w - 1, w, h, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
	CHECK(cudaMemcpy2D(a, pa, in.data(), w - 1, w, 0, cudaMemcpyHostToDevice)); /* of no rows */
	CHECK_IS(cudaMemcpy2D(a, w - 1, in.data(), w, w, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	CHECK_IS(cudaMemcpy2D(a, pa, in.data(), w, w, h, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
}

/* A box of 3x4x5 out of one of 8x6x7 elements, there and back to another place. */
static void three_dimensions()
{
	const int w = 8, h = 6, d = 7;
	int in[d][h][w], out[d][h][w];
	cudaPitchedPtr dev;
	cudaMemcpy3DParms p = {};

	for (int i = 0; i < d * h * w; i++)
		(&in[0][0][0])[i] = i;
	memset(out, 0, sizeof(out));
	CHECK(cudaMalloc3D(&dev, make_cudaExtent(w * sizeof(int), h, d)));
	EXPECT(dev.xsize == w * sizeof(int) && dev.ysize == h);
	CHECK(cudaMemset3D(dev, 0, make_cudaExtent(w * sizeof(int), h, d)));
	p.srcPtr = make_cudaPitchedPtr(in, w * sizeof(int), w, h);
	p.srcPos = make_cudaPos(2 * sizeof(int), 1, 1);
	p.dstPtr = dev;
	p.dstPos = make_cudaPos(4 * sizeof(int), 2, 2);
	p.extent = make_cudaExtent(3 * sizeof(int), 4, 5);
	p.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&p));
	p = {};
	p.srcPtr = dev;
	p.dstPtr = make_cudaPitchedPtr(out, w * sizeof(int), w, h);
	p.extent = make_cudaExtent(w * sizeof(int), h, d);
	p.kind = cudaMemcpyDeviceToHost;
	CHECK(cudaMemcpy3DAsync(&p, 0));
	CHECK(cudaDeviceSynchronize());
	for (int z = 0; z < d; z++)
		for (int y = 0; y < h; y++)
			for (int x = 0; x < w; x++) {
				bool inside = x >= 4 && x < 7 && y >= 2 && y < 6 && z >= 2;

				EXPECT(out[z][y][x] == (inside ? in[z - 1][y - 1][x - 2] : 0));
			}
	CHECK(cudaFree(dev.ptr));
}

/* There and back in one stream, each of two rows by a batch; the pieces of a box by another. */
static void batches()
{
	int in[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, out[2][4] = {}, box[2][2] = {}, *dev;
	cudaMemcpyAttributes attrs = {cudaMemcpySrcAccessOrderStream};
	cudaMemcpy3DBatchOp op = {};
	cudaStream_t s;

	CHECK(cudaMalloc(&dev, sizeof(in)));
	CHECK(cudaStreamCreate(&s));
	{
		const void *host[] = {in[0], in[1]}, *from[] = {dev, dev + 4};
		void *to[] = {dev, dev + 4}, *back[] = {out[0], out[1]};
		size_t sizes[] = {sizeof(in[0]), sizeof(in[1])}, first = 0;

		CHECK(cudaMemcpyBatchAsync(to, host, sizes, 2, &attrs, &first, 1, s));
		CHECK(cudaMemcpyBatchAsync(back, from, sizes, 2, &attrs, &first, 1, s));
		EXPECT(cudaMemcpyBatchAsync(back, from, sizes, 2, &attrs, &first, 1, 0) == cudaErrorInvalidValue);
		(void)cudaGetLastError();
	}
	op.src.type = op.dst.type = cudaMemcpyOperandTypePointer;
	op.src.op.ptr.ptr = dev + 1;
	op.src.op.ptr.rowLength = sizeof(in[0]);
	op.dst.op.ptr.ptr = box;
	op.extent = make_cudaExtent(sizeof(box[0]), 2, 1);
	op.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
	CHECK(cudaMemcpy3DBatchAsync(1, &op, 0, s));
	CHECK(cudaStreamSynchronize(s));
	EXPECT(!memcmp(in, out, sizeof(in)));
	EXPECT(box[0][0] == 2 && box[0][1] == 3 && box[1][0] == 6 && box[1][1] == 7);
	CHECK(cudaStreamDestroy(s));
	CHECK(cudaFree(dev));
}

int main()
{
	two_dimensions();
	three_dimensions();
	batches();
}
