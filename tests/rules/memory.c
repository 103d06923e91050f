/*
 * memory.c - allocations of all kinds: sizes, what is freed and when, what is asked of addresses.
 */
#include "rules.h"

#include <sys/mman.h>

PROGRAM(alloc_sizes)
{
	CUdeviceptr p = 1;

	ask("0", cuMemAlloc_v2(&p, 0));
	ask("nowhere", cuMemAlloc_v2(NULL, 4));
	ask("huge", cuMemAlloc_v2(&p, (size_t)1 << 60));
	ask("max", cuMemAlloc_v2(&p, ~(size_t)0));
	ask("1", cuMemAlloc_v2(&p, 1));
	say_n("aligned", p % 256 == 0);
	ask("free", cuMemFree_v2(p));
}

PROGRAM(free_misuse)
{
	CUdeviceptr p = words(64);

	ask("null", cuMemFree_v2(0));
	ask("inside", cuMemFree_v2(p + 4));
	ask("nothing", cuMemFree_v2(64));
	ask("free", cuMemFree_v2(p));
	ask("twice", cuMemFree_v2(p));
	ask("pinned", cuMemFree_v2(at(pinned(1))));
	ask("host-null", cuMemFreeHost(NULL));
	ask("host-device", cuMemFreeHost((void *)(uintptr_t)words(1)));
	ask("host-stack", cuMemFreeHost(&p));
	ask("after", cuCtxSynchronize());
}

static void *frees(void *data)
{
	must(cu.cuCtxSetCurrent(ctx));
	return (void *)(uintptr_t)(unsigned)cu.cuMemFree_v2(*(CUdeviceptr *)data);
}

static void let_go_now(void *data)
{
	(void)data;
	let_go();
}

/* A free waits for the work that may use it, or lets it end: either way the work is right. */
PROGRAM(free_in_use)
{
	CUdeviceptr p = words(1), out = words(1);
	CUstream s = stream(CU_STREAM_NON_BLOCKING);

	hold(s);
	must(add(s, p, 7));
	must(look(s, p, out));
	must(cu.cuLaunchHostFunc(stream(CU_STREAM_NON_BLOCKING), let_go_now, NULL));
	say("free", (CUresult)(uintptr_t)on_thread(frees, &p));
	ask("synchronize", cuCtxSynchronize());
	say_n("then", word(out));
}

PROGRAM(pinned_free_in_use)
{
	CUdeviceptr d = words(1);
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	uint32_t *p = pinned(1);

	*p = 6;
	must(cu.cuMemcpyHtoDAsync_v2(d, p, 4, s));
	ask("free", cuMemFreeHost(p));
	ask("synchronize", cuStreamSynchronize(s));
	say_n("then", word(d));
}

PROGRAM(free_of_another_context)
{
	CUcontext other = other_context();
	CUdeviceptr p;

	must(cu.cuCtxPushCurrent_v2(other));
	p = words(4);
	must(cu.cuCtxPopCurrent_v2(&other));
	ask("free", cuMemFree_v2(p));
	ask("twice", cuMemFree_v2(p));
	ask("no-current", cuCtxSetCurrent(NULL));
	ask("without-context", cuMemFree_v2(p));
}

PROGRAM(alloc_without_context)
{
	CUdeviceptr p = words(4);
	void *h;

	must(cu.cuCtxSetCurrent(NULL));
	ask("alloc", cuMemAlloc_v2(&p, 4));
	ask("free", cuMemFree_v2(p));
	ask("host", cuMemAllocHost_v2(&h, 4));
	ask("copy", cuMemcpyDtoH_v2(&h, p, 4));
	ask("memset", cuMemsetD8_v2(p, 0, 4));
	ask("info", cuMemGetInfo_v2(&(size_t){0}, &(size_t){0}));
}

PROGRAM(pitch)
{
	CUdeviceptr p;
	size_t pitch = 0;

	ask("4", cuMemAllocPitch_v2(&p, &pitch, 100, 2, 4));
	say_n("pitch", (long long)pitch);
	ask("8", cuMemAllocPitch_v2(&p, &pitch, 513, 2, 8));
	say_n("pitch-8", (long long)pitch);
	ask("16", cuMemAllocPitch_v2(&p, &pitch, 512, 1, 16));
	say_n("pitch-16", (long long)pitch);
	ask("3", cuMemAllocPitch_v2(&p, &pitch, 100, 2, 3));
	ask("0", cuMemAllocPitch_v2(&p, &pitch, 100, 2, 0));
	ask("width-0", cuMemAllocPitch_v2(&p, &pitch, 0, 2, 4));
	ask("height-0", cuMemAllocPitch_v2(&p, &pitch, 4, 0, 4));
	ask("nowhere", cuMemAllocPitch_v2(NULL, &pitch, 4, 4, 4));
	ask("no-pitch", cuMemAllocPitch_v2(&p, NULL, 4, 4, 4));
}

PROGRAM(address_range)
{
	CUdeviceptr p = words(256), base = 0;
	uint32_t *h = pinned(256);
	size_t bytes = 0;

	ask("inside", cuMemGetAddressRange_v2(&base, &bytes, p + 100));
	say_n("base", base == p);
	say_n("bytes", (long long)bytes);
	ask("base-only", cuMemGetAddressRange_v2(&base, NULL, p));
	ask("bytes-only", cuMemGetAddressRange_v2(NULL, &bytes, p));
	ask("neither", cuMemGetAddressRange_v2(NULL, NULL, p));
	ask("end", cuMemGetAddressRange_v2(&base, &bytes, p + 1023));
	ask("pinned", cuMemGetAddressRange_v2(&base, &bytes, at(h) + 8));
	say_n("pinned-base", base == at(h));
	ask("pageable", cuMemGetAddressRange_v2(&base, &bytes, at(&p)));
	ask("null", cuMemGetAddressRange_v2(&base, &bytes, 0));
}

PROGRAM(host_alloc)
{
	void *h = NULL;
	CUdeviceptr d = 0;
	unsigned flags = 99;

	ask("0", cuMemHostAlloc(&h, 0, 0));
	ask("flags-8", cuMemHostAlloc(&h, 64, 8));
	ask("flags-all", cuMemHostAlloc(&h, 64, 7));
	ask("flags", cuMemHostGetFlags(&flags, h));
	say_n("is", flags);
	ask("plain", cuMemAllocHost_v2(&h, 64));
	ask("plain-flags", cuMemHostGetFlags(&flags, h));
	say_n("plain-is", flags);
	ask("pointer", cuMemHostGetDevicePointer_v2(&d, h, 0));
	say_n("same", d == at(h));
	ask("pointer-inside", cuMemHostGetDevicePointer_v2(&d, (char *)h + 8, 0));
	say_n("inside", d == at(h) + 8);
	ask("pointer-flags", cuMemHostGetDevicePointer_v2(&d, h, 1));
	ask("pointer-stack", cuMemHostGetDevicePointer_v2(&d, &h, 0));
	ask("flags-stack", cuMemHostGetFlags(&flags, &h));
	ask("nowhere", cuMemHostAlloc(NULL, 64, 0));
	ask("huge", cuMemHostAlloc(&h, (size_t)1 << 60, 0));
	ask("free", cuMemFreeHost(h));
}

PROGRAM(host_register)
{
	size_t bytes = 1 << 20;
	uint32_t *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CUdeviceptr d;
	unsigned flags = 99;

	*p = 5;
	ask("0", cuMemHostRegister_v2(p, 0, 0));
	ask("null", cuMemHostRegister_v2(NULL, bytes, 0));
	ask("flags-16", cuMemHostRegister_v2(p, bytes, 16));
	ask("register", cuMemHostRegister_v2(p, bytes, 0));
	ask("again", cuMemHostRegister_v2(p, bytes, 0));
	ask("part", cuMemHostRegister_v2(p + 1024, 4096, 0));
	ask("flags", cuMemHostGetFlags(&flags, p));
	say_n("flags-are", flags);
	ask("pointer", cuMemHostGetDevicePointer_v2(&d, p, 0));
	say_n("same", d == at(p));
	say("kernel", add(NULL, d, 4));
	settle();
	say_n("is", *p);
	ask("free-host", cuMemFreeHost(p));
	ask("unregister-inside", cuMemHostUnregister(p + 1));
	ask("unregister", cuMemHostUnregister(p));
	ask("twice", cuMemHostUnregister(p));
	ask("unregister-null", cuMemHostUnregister(NULL));
	ask("pinned", cuMemHostRegister_v2(pinned(4096), 4096, 0));
	say_n("still", *p);
}

PROGRAM(pointer_attributes)
{
	CUdeviceptr d = words(4), got = 0;
	uint32_t *h = pinned(4), stack = 0, type = 9;
	CUcontext of = NULL;
	int ordinal = 9;
	void *host = NULL;

	ask("device-type", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d + 4));
	say_n("device", type);
	ask("host-type", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at(h)));
	say_n("host", type);
	ask("stack-type",
	    cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at(&stack)));
	ask("null-type", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0));
	ask("context", cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, d));
	say_n("context-is", of == ctx);
	ask("ordinal", cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, d));
	say_n("ordinal-is", ordinal);
	ask("device-pointer",
	    cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at(h)));
	say_n("device-pointer-is", got == at(h));
	ask("host-pointer", cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, at(h)));
	say_n("host-pointer-is", host == h);
	ask("host-pointer-of-device",
	    cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, d));
	ask("nowhere", cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_CONTEXT, d));
	ask("no-such", cuPointerGetAttribute(&type, (CUpointer_attribute)999, d));
	must(cu.cuMemFree_v2(d));
	ask("freed", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d));
	must(cu.cuCtxSetCurrent(NULL));
	ask("without-context",
	    cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at(h)));
}

PROGRAM(alloc_async)
{
	CUdeviceptr p = 0;
	CUstream s = stream(0), t = stream(0);

	ask("alloc", cuMemAllocAsync(&p, 64, s));
	ask("memset", cuMemsetD32Async(p, 1, 16, s));
	say("kernel", add(s, p, 2));
	must(cu.cuStreamSynchronize(s));
	say_n("is", word(p));
	ask("free", cuMemFreeAsync(p, s));
	ask("free-again", cuMemFreeAsync(p, s));
	ask("0", cuMemAllocAsync(&p, 0, s));
	ask("nowhere", cuMemAllocAsync(NULL, 4, s));
	ask("huge", cuMemAllocAsync(&p, (size_t)1 << 60, s));
	must(cu.cuMemAllocAsync(&p, 64, s));
	ask("free-in-another", cuMemFreeAsync(p, t));
	must(cu.cuMemAllocAsync(&p, 64, s));
	must(cu.cuStreamSynchronize(s));
	ask("plain-free", cuMemFree_v2(p));
	ask("free-null", cuMemFreeAsync(0, s));
	p = words(4);
	ask("free-of-plain", cuMemFreeAsync(p, s));
	ask("after", cuCtxSynchronize());
}

PROGRAM(managed)
{
	CUdeviceptr p = 0;
	int managed = 9;

	ask("global", cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL));
	*(uint32_t *)(uintptr_t)p = 4;
	say("kernel", add(NULL, p, 3));
	settle();
	say_n("is", *(uint32_t *)(uintptr_t)p);
	ask("attribute", cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
	say_n("managed", managed);
	ask("free-host", cuMemFreeHost((void *)(uintptr_t)p));
	ask("free", cuMemFree_v2(p));
	ask("0", cuMemAllocManaged(&p, 0, CU_MEM_ATTACH_GLOBAL));
	ask("flags-0", cuMemAllocManaged(&p, 4, 0));
	ask("flags-both", cuMemAllocManaged(&p, 4, 3));
	ask("single", cuMemAllocManaged(&p, 4, CU_MEM_ATTACH_SINGLE));
	ask("host", cuMemAllocManaged(&p, 4, CU_MEM_ATTACH_HOST));
	ask("nowhere", cuMemAllocManaged(NULL, 4, CU_MEM_ATTACH_GLOBAL));
}

PROGRAM(memory_info)
{
	size_t free_bytes = 0, total = 0;

	ask("info", cuMemGetInfo_v2(&free_bytes, &total));
	say_n("sane", free_bytes > 0 && free_bytes <= total);
	ask("free-only", cuMemGetInfo_v2(&free_bytes, NULL));
	ask("total-only", cuMemGetInfo_v2(NULL, &total));
	ask("neither", cuMemGetInfo_v2(NULL, NULL));
}

PROGRAM(pools)
{
	CUmemoryPool pool = NULL, dflt = NULL, got = NULL;
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	uint64_t threshold = 9;
	CUdeviceptr p;
	CUstream s = stream(0);

	ask("default", cuDeviceGetDefaultMemPool(&dflt, 0));
	ask("current", cuDeviceGetMemPool(&got, 0));
	say_n("is-default", got == dflt);
	ask("threshold",
	    cuMemPoolGetAttribute(dflt, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	say_n("threshold-is", (long long)threshold);
	ask("destroy-default", cuMemPoolDestroy(dflt));
	ask("create", cuMemPoolCreate(&pool, &props));
	ask("alloc", cuMemAllocFromPoolAsync(&p, 64, pool, s));
	ask("set", cuDeviceSetMemPool(0, pool));
	ask("destroy", cuMemPoolDestroy(pool));
	ask("free", cuMemFreeAsync(p, s));
	must(cu.cuDeviceGetMemPool(&got, 0));
	say_n("default-again", got == dflt);
	props.allocType = (CUmemAllocationType)0;
	ask("type-0", cuMemPoolCreate(&pool, &props));
	ask("no-props", cuMemPoolCreate(&pool, NULL));
	ask("destroy-null", cuMemPoolDestroy(NULL));
	ask("no-device", cuDeviceGetDefaultMemPool(&dflt, 99));
	ask("after", cuCtxSynchronize());
}
