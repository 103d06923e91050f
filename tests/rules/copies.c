/*
 * copies.c - when a copy has read its source, what it waits for, and how its ends are checked; fills; copies of two and three
 * dimensions.
 */
#include "rules.h"

#define N_LARGE (1u << 20)

static uint32_t *pageable(size_t n, uint32_t value)
{
	uint32_t *p = malloc(4 * n);

	if (!p)
		abort();
	for (size_t i = 0; i < n; i++)
		p[i] = value;
	return p;
}

static void fill(uint32_t *p, size_t n, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		p[i] = value;
}

/* The first and the last word, and whether all between are as the first. */
static void say_words(const char *step, const uint32_t *p, size_t n)
{
	size_t same = 0;

	for (size_t i = 0; i < n; i++)
		same += p[i] == p[0];
	say_n(step, p[0]);
	say_n("same", same == n);
}

static void say_device(const char *step, CUdeviceptr d, size_t n)
{
	uint32_t *back = pageable(n, 99);

	must(cu.cuMemcpyDtoH_v2(back, d, 4 * n));
	say_words(step, back, n);
	free(back);
}

/* From pageable memory the source is the program's again when the call returns, in the asynchronous form, too. */
static void overwritten(const char *step, size_t n)
{
	CUdeviceptr d = words(n);
	CUstream s = stream(0);
	uint32_t *from = pageable(n, 1);

	must(cu.cuMemcpyHtoDAsync_v2(d, from, 4 * n, s));
	fill(from, n, 2);
	must(cu.cuStreamSynchronize(s));
	say_device(step, d, n);
}

PROGRAM(source_overwritten_small)
{
	overwritten("4-bytes", 1);
	overwritten("64-kib", 16384);
}

PROGRAM(source_overwritten_large)
{
	overwritten("over-64-kib", 16385);
	overwritten("4-mib", N_LARGE);
}

PROGRAM(source_overwritten_synchronous)
{
	CUdeviceptr d = words(N_LARGE);
	uint32_t *from = pageable(N_LARGE, 1);

	ask("copy", cuMemcpyHtoD_v2(d, from, 4 * N_LARGE));
	fill(from, N_LARGE, 2);
	say_device("is", d, N_LARGE);
}

/* Behind a held stream a pinned source is read when its turn comes. */
PROGRAM(source_overwritten_pinned)
{
	CUdeviceptr d = words(1);
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	uint32_t *from = pinned(1);

	*from = 1;
	hold(s);
	ask("copy", cuMemcpyHtoDAsync_v2(d, from, 4, s));
	*from = 2;
	let_go();
	settle();
	say_n("is", word(d));
}

/* A small pageable source behind a held stream. */
PROGRAM(source_overwritten_behind_held)
{
	CUdeviceptr d = words(16);
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	uint32_t from[16] = {7};

	hold(s);
	ask("copy", cuMemcpyHtoDAsync_v2(d, from, sizeof(from), s));
	from[0] = 8;
	let_go();
	settle();
	say_n("is", word(d));
}

PROGRAM(copy_to_pageable_is_complete)
{
	CUdeviceptr d = words(N_LARGE);
	CUstream s = stream(0);
	uint32_t *to = pageable(N_LARGE, 9);

	must(cu.cuMemsetD32Async(d, 5, N_LARGE, s));
	ask("copy", cuMemcpyDtoHAsync_v2(to, d, 4 * N_LARGE, s));
	say_words("at-return", to, N_LARGE);
}

PROGRAM(copy_to_pinned_is_asynchronous)
{
	CUdeviceptr d = words(1);
	CUstream s = stream(0);
	uint32_t *to = pinned(1);

	must(cu.cuMemsetD32_v2(d, 5, 1));
	hold(s);
	ask("copy", cuMemcpyDtoHAsync_v2(to, d, 4, s));
	say_n("held", *to);
	let_go();
	ask("synchronize", cuStreamSynchronize(s));
	say_n("then", *to);
}

PROGRAM(copy_beside_nonblocking)
{
	CUdeviceptr d = words(1), e = words(1);
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	uint32_t one = 1, back = 9;

	hold(s);
	ask("to-device", cuMemcpyHtoD_v2(d, &one, 4));
	ask("in-device", cuMemcpyDtoD_v2(e, d, 4));
	ask("to-host", cuMemcpyDtoH_v2(&back, e, 4));
	say_n("is", back);
	ask("stream", cuStreamQuery(s));
	let_go();
}

PROGRAM(copy_in_device_is_asynchronous)
{
	CUdeviceptr d = words(2);

	must(cu.cuMemsetD32_v2(d, 3, 1));
	settle();
	hold(NULL);
	ask("copy", cuMemcpyDtoD_v2(d + 4, d, 4));
	ask("null", cuStreamQuery(NULL));
	let_go();
	settle();
	say_n("then", word(d + 4));
}

PROGRAM(memset_is_asynchronous)
{
	CUdeviceptr d = words(1);

	hold(NULL);
	ask("memset", cuMemsetD32_v2(d, 3, 1));
	ask("null", cuStreamQuery(NULL));
	let_go();
	settle();
	say_n("then", word(d));
}

PROGRAM(memset_pinned)
{
	uint32_t *p = pinned(4);

	ask("memset", cuMemsetD32_v2(at(p), 7, 4));
	settle();
	say_n("is", p[3]);
	ask("async", cuMemsetD8Async(at(p), 1, 16, NULL));
	settle();
	say_n("bytes", p[0]);
}

PROGRAM(copy_host_to_host)
{
	uint32_t a[4] = {1, 2, 3, 4}, b[4] = {0}, *p = pinned(4);

	ask("pageable", cuMemcpy(at(b), at(a), sizeof(a)));
	say_n("is", b[3]);
	ask("to-pinned", cuMemcpy(at(p), at(a), sizeof(a)));
	settle();
	say_n("pinned", p[3]);
	ask("async", cuMemcpyAsync(at(b), at(p), 4, NULL));
	settle();
	say_n("async-is", b[0]);
	ask("htod-of-pageable", cuMemcpyHtoD_v2(at(b), a, 4));
	ask("htod-of-pinned", cuMemcpyHtoD_v2(at(p), a, 4));
	ask("dtoh-of-pageable", cuMemcpyDtoH_v2(b, at(a), 4));
}

PROGRAM(copy_by_any_direction)
{
	CUdeviceptr d = words(2);
	uint32_t a = 6, b = 0;

	ask("to-device", cuMemcpy(d, at(&a), 4));
	ask("in-device", cuMemcpy(d + 4, d, 4));
	ask("to-host", cuMemcpy(at(&b), d + 4, 4));
	say_n("is", b);
	ask("htod-from-device", cuMemcpyHtoD_v2(d, (void *)(uintptr_t)(d + 4), 4));
	ask("dtoh-to-device", cuMemcpyDtoH_v2((void *)(uintptr_t)d, d + 4, 4));
}

PROGRAM(copy_nothing)
{
	CUdeviceptr d = words(1);
	uint32_t w = 0;

	ask("to-device", cuMemcpyHtoD_v2(d, &w, 0));
	ask("from-null", cuMemcpyHtoD_v2(d, NULL, 0));
	ask("to-null", cuMemcpyHtoD_v2(0, &w, 0));
	ask("both-null", cuMemcpy(0, 0, 0));
	ask("to-bad", cuMemcpyDtoD_v2(64, d, 0));
	ask("memset", cuMemsetD8_v2(d, 1, 0));
	ask("memset-null", cuMemsetD8_v2(0, 1, 0));
	ask("async", cuMemcpyAsync(d, d, 0, NULL));
}

PROGRAM(copy_of_bad_addresses)
{
	CUdeviceptr d = words(4);
	uint32_t w[4] = {0};

	ask("htod-null", cuMemcpyHtoD_v2(0, w, 4));
	ask("htod-from-null", cuMemcpyHtoD_v2(d, NULL, 4));
	ask("dtoh-null", cuMemcpyDtoH_v2(NULL, d, 4));
	ask("dtoh-from-null", cuMemcpyDtoH_v2(w, 0, 4));
	ask("dtod-null", cuMemcpyDtoD_v2(0, d, 4));
	ask("dtod-from-null", cuMemcpyDtoD_v2(d, 0, 4));
	ask("dtoh-from-64", cuMemcpyDtoH_v2(w, 64, 4));
	ask("dtod-from-64", cuMemcpyDtoD_v2(d, 64, 4));
	ask("async-dtoh-from-64", cuMemcpyDtoHAsync_v2(w, 64, 4, NULL));
	ask("memset-64", cuMemsetD32_v2(64, 0, 1));
	ask("memset-null", cuMemsetD32_v2(0, 0, 1));
	ask("after", cuCtxSynchronize());
}

PROGRAM(copy_over_the_end)
{
	CUdeviceptr d = words(1 << 20), e = words(1 << 20);
	static char host[(4 << 20) + 64];

	ask("htod", cuMemcpyHtoD_v2(d, host, (4 << 20) + 4));
	ask("dtoh", cuMemcpyDtoH_v2(host, d, (4 << 20) + 4));
	ask("from-inside", cuMemcpyDtoH_v2(host, d + 4, 4 << 20));
	ask("dtod", cuMemcpyDtoD_v2(d, e, (4 << 20) + 4));
	ask("memset", cuMemsetD8_v2(d, 0, (4 << 20) + 1));
	ask("huge", cuMemcpyDtoH_v2(host, d, ~(size_t)0));
	ask("huge-memset", cuMemsetD32_v2(d, 0, ~(size_t)0 / 4));
	ask("async", cuMemcpyHtoDAsync_v2(d, host, (4 << 20) + 4, NULL));
	ask("after", cuCtxSynchronize());
}

PROGRAM(copy_of_freed)
{
	CUdeviceptr d = words(1 << 20);
	uint32_t w = 0;

	must(cu.cuMemFree_v2(d));
	ask("htod", cuMemcpyHtoD_v2(d, &w, 4));
	ask("dtoh", cuMemcpyDtoH_v2(&w, d, 4));
	ask("memset", cuMemsetD32_v2(d, 0, 1));
	ask("after", cuCtxSynchronize());
}

PROGRAM(memset_alignment)
{
	CUdeviceptr d = words(16);

	ask("d16-odd", cuMemsetD16_v2(d + 1, 1, 1));
	ask("d32-odd", cuMemsetD32_v2(d + 2, 1, 1));
	ask("d8-odd", cuMemsetD8_v2(d + 3, 1, 1));
	ask("d2d16-odd", cuMemsetD2D16_v2(d + 1, 16, 1, 1, 1));
	ask("d2d32-odd", cuMemsetD2D32_v2(d + 2, 16, 1, 1, 1));
	ask("d2d16-odd-pitch", cuMemsetD2D16_v2(d, 15, 1, 1, 2));
	ask("d2d32-odd-pitch", cuMemsetD2D32_v2(d, 14, 1, 1, 2));
	ask("after", cuCtxSynchronize());
}

PROGRAM(memset_2d)
{
	CUdeviceptr d = words(16);
	uint32_t w[16] = {0};

	ask("set", cuMemsetD2D8_v2(d + 16, 16, 0xff, 4, 2));
	must(cu.cuMemcpyDtoH_v2(w, d, sizeof(w)));
	say_n("inside", w[4]);
	say_n("right", w[5]);
	say_n("next-row", w[8]);
	ask("wider-than-pitch", cuMemsetD2D8_v2(d, 4, 1, 8, 2));
	ask("one-row-wider", cuMemsetD2D8_v2(d, 4, 1, 8, 1));
	ask("pitch-0", cuMemsetD2D32_v2(d, 0, 1, 1, 1));
	ask("pitch-0-rows", cuMemsetD2D32_v2(d, 0, 1, 1, 2));
	ask("width-0", cuMemsetD2D8_v2(d, 16, 1, 0, 2));
	ask("height-0", cuMemsetD2D8_v2(d, 16, 1, 4, 0));
	ask("async", cuMemsetD2D16Async(d, 16, 1, 2, 2, stream(0)));
	ask("after", cuCtxSynchronize());
}

static CUDA_MEMCPY2D host_to_device(const void *from, CUdeviceptr to)
{
	return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = from,
			       .srcPitch = 16,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = to,
			       .dstPitch = 16,
			       .WidthInBytes = 8,
			       .Height = 2};
}

PROGRAM(copy_2d)
{
	CUdeviceptr d = words(64);
	uint32_t from[64], back[64] = {0};
	CUDA_MEMCPY2D c = host_to_device(from, d);

	for (uint32_t i = 0; i < 64; i++)
		from[i] = i + 1;
	c.srcXInBytes = 4, c.srcY = 1, c.dstXInBytes = 8, c.dstY = 2;
	ask("copy", cuMemcpy2D_v2(&c));
	must(cu.cuMemcpyDtoH_v2(back, d, sizeof(back)));
	say_n("first", back[10]);
	say_n("second", back[11]);
	say_n("left", back[9]);
	say_n("row-below", back[14]);
	c.WidthInBytes = 0;
	ask("width-0", cuMemcpy2D_v2(&c));
	c = host_to_device(from, d), c.Height = 0;
	ask("height-0", cuMemcpy2D_v2(&c));
	c = host_to_device(from, d), c.WidthInBytes = 17;
	ask("wider-than-pitch", cuMemcpy2D_v2(&c));
	c = host_to_device(from, d), c.srcPitch = 0;
	ask("source-pitch-0", cuMemcpy2D_v2(&c));
	c = host_to_device(from, d), c.dstPitch = 0;
	ask("pitch-0", cuMemcpy2D_v2(&c));
	c = host_to_device(from, d), c.srcXInBytes = 12;
	ask("x-over-pitch", cuMemcpy2D_v2(&c));
	ask("nothing", cuMemcpy2D_v2(NULL));
}

PROGRAM(copy_2d_ends)
{
	CUdeviceptr d = words(64);
	uint32_t host[64] = {0};
	CUDA_MEMCPY2D c = host_to_device(host, d);

	c.srcMemoryType = (CUmemorytype)0;
	ask("source-type-0", cuMemcpy2D_v2(&c));
	c = host_to_device(host, d), c.dstMemoryType = (CUmemorytype)9;
	ask("type-9", cuMemcpy2D_v2(&c));
	c = host_to_device(NULL, d);
	ask("source-null", cuMemcpy2D_v2(&c));
	c = host_to_device(host, 0);
	ask("null", cuMemcpy2D_v2(&c));
	c = host_to_device(host, d), c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	ask("unified", cuMemcpy2D_v2(&c));
	c = host_to_device(host, d), c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
	ask("array-null", cuMemcpy2D_v2(&c));
	c = host_to_device(host, d), c.dstPitch = 1u << 31, c.Height = 1;
	ask("pitch-over-the-most", cuMemcpy2D_v2(&c));
	c = host_to_device(host, d), c.Height = 1u << 20;
	ask("over-the-end", cuMemcpy2D_v2(&c));
	ask("unaligned",
	    cuMemcpy2DUnaligned_v2(&(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
						    .srcHost = host,
						    .srcPitch = 7,
						    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
						    .dstDevice = d,
						    .dstPitch = 5,
						    .WidthInBytes = 5,
						    .Height = 3}));
	ask("async", cuMemcpy2DAsync_v2(&(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
							 .srcDevice = d,
							 .dstMemoryType = CU_MEMORYTYPE_HOST,
							 .dstHost = host,
							 .WidthInBytes = 4,
							 .Height = 1},
					stream(0)));
	ask("after", cuCtxSynchronize());
}

PROGRAM(copy_3d)
{
	CUdeviceptr d = words(64);
	uint32_t from[64], back[64] = {0};
	CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			   .srcHost = from,
			   .srcPitch = 16,
			   .srcHeight = 2,
			   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			   .dstDevice = d,
			   .dstPitch = 16,
			   .dstHeight = 4,
			   .WidthInBytes = 8,
			   .Height = 2,
			   .Depth = 2},
		      good = c;

	for (uint32_t i = 0; i < 64; i++)
		from[i] = i + 1;
	ask("copy", cuMemcpy3D_v2(&c));
	must(cu.cuMemcpyDtoH_v2(back, d, sizeof(back)));
	say_n("first", back[0]);
	say_n("row", back[4]);
	say_n("slice", back[16]);
	c.Depth = 0;
	ask("depth-0", cuMemcpy3D_v2(&c));
	c = good, c.srcHeight = 1;
	ask("source-height-small", cuMemcpy3D_v2(&c));
	c = good, c.dstHeight = 0;
	ask("height-0", cuMemcpy3D_v2(&c));
	c = good, c.srcLOD = 1;
	ask("lod", cuMemcpy3D_v2(&c));
	c = good, c.reserved0 = (void *)1;
	ask("reserved", cuMemcpy3D_v2(&c));
	c = good, c.srcZ = 1, c.Depth = 1;
	ask("z", cuMemcpy3D_v2(&c));
	c = good, c.srcPitch = 4;
	ask("pitch-small", cuMemcpy3D_v2(&c));
	ask("nothing", cuMemcpy3D_v2(NULL));
}

PROGRAM(copy_overlapping)
{
	CUdeviceptr d = words(1024);

	ask("same", cuMemcpyDtoD_v2(d, d, 4096));
	ask("overlap", cuMemcpyDtoD_v2(d + 4, d, 2048));
	ask("after", cuCtxSynchronize());
}

PROGRAM(copies_between_contexts)
{
	CUcontext other = other_context();
	CUdeviceptr here = words(4), there;
	uint32_t w = 5;

	must(cu.cuCtxSetCurrent(other));
	there = words(4);
	must(cu.cuCtxSetCurrent(ctx));
	ask("htod", cuMemcpyHtoD_v2(there, &w, 4));
	ask("dtod", cuMemcpyDtoD_v2(here, there, 4));
	say_n("is", word(here));
	w = 0;
	ask("dtoh", cuMemcpyDtoH_v2(&w, there, 4));
	say_n("back", w);
	ask("any", cuMemcpy(there + 4, here, 4));
	ask("async", cuMemcpyAsync(there + 8, here, 4, stream(0)));
	ask("memset", cuMemsetD32_v2(there + 12, 9, 1));
	settle();
	must(cu.cuCtxSetCurrent(other));
	settle();
	say_n("by-any", word(there + 4));
	say_n("by-async", word(there + 8));
	say_n("by-memset", word(there + 12));
	must(cu.cuCtxSetCurrent(ctx));
	say("kernel", add(NULL, there, 1));
	ask("after", cuCtxSynchronize());
}

PROGRAM(peer_copies_in_one_device)
{
	CUcontext other = other_context();
	CUdeviceptr here = words(4), there;
	CUDA_MEMCPY3D_PEER c = {.WidthInBytes = 4, .Height = 1, .Depth = 1};
	uint32_t w = 5;

	must(cu.cuCtxSetCurrent(other));
	there = words(4);
	must(cu.cuCtxSetCurrent(ctx));
	must(cu.cuMemcpyHtoD_v2(here, &w, 4));
	ask("peer", cuMemcpyPeer(there, other, here, ctx, 4));
	ask("async", cuMemcpyPeerAsync(there + 4, other, here, ctx, 4, stream(0)));
	ask("same", cuMemcpyPeer(here + 4, ctx, here, ctx, 4));
	ask("swapped", cuMemcpyPeer(there + 8, ctx, here, other, 4));
	ask("no-context", cuMemcpyPeer(there, NULL, here, ctx, 4));
	c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.srcDevice = here, c.srcContext = ctx, c.dstDevice = there + 12, c.dstContext = other;
	ask("3d", cuMemcpy3DPeer(&c));
	settle();
	must(cu.cuCtxSetCurrent(other));
	settle();
	say_n("is", word(there));
	say_n("async-is", word(there + 4));
	say_n("swapped-is", word(there + 8));
	say_n("3d-is", word(there + 12));
}

PROGRAM(peer_access)
{
	CUcontext other = other_context();
	int can = 9;

	ask("can", cuDeviceCanAccessPeer(&can, 0, 0));
	say_n("itself", can);
	ask("enable", cuCtxEnablePeerAccess(other, 0));
	ask("enable-itself", cuCtxEnablePeerAccess(ctx, 0));
	ask("enable-none", cuCtxEnablePeerAccess(NULL, 0));
	ask("disable", cuCtxDisablePeerAccess(other));
	ask("no-device", cuDeviceCanAccessPeer(&can, 0, 99));
}

PROGRAM(copy_to_a_kernels_memory)
{
	CUdeviceptr d = words(1);
	CUstream s = stream(0);
	uint32_t *p = pinned(1);

	*p = 3;
	for (int i = 0; i < 100; i++) {
		must(cu.cuMemcpyHtoDAsync_v2(d, p, 4, s));
		must(add(s, d, 1));
		must(cu.cuMemcpyDtoHAsync_v2(p, d, 4, s));
	}
	ask("synchronize", cuStreamSynchronize(s));
	say_n("is", *p);
}
