/*
 * faults.c - what is sticky: after a fault each call gives it, until the process ends; what is refused at once is not.
 */
#include "rules.h"

/* What each call gives that has to do with the device. */
static void say_all(CUstream s, CUevent e, CUdeviceptr w)
{
	uint32_t *p = NULL, got = 0;
	CUdeviceptr other;
	CUdevice device;
	CUcontext is;
	CUmodule m;
	CUfunction f;
	size_t bytes;
	unsigned flags;

	ask("synchronize", cuCtxSynchronize());
	ask("synchronize-again", cuCtxSynchronize());
	ask("stream-query", cuStreamQuery(s));
	ask("stream-synchronize", cuStreamSynchronize(s));
	ask("stream-query-null", cuStreamQuery(NULL));
	ask("event-query", cuEventQuery(e));
	ask("event-synchronize", cuEventSynchronize(e));
	ask("event-record", cuEventRecord(e, s));
	ask("wait", cuStreamWaitEvent(s, e, 0));
	say("launch", add(s, w, 1));
	ask("alloc", cuMemAlloc_v2(&other, 4));
	ask("alloc-host", cuMemAllocHost_v2((void **)&p, 4));
	ask("alloc-async", cuMemAllocAsync(&other, 4, s));
	ask("copy-to", cuMemcpyHtoD_v2(w, &got, 4));
	ask("copy-from", cuMemcpyDtoH_v2(&got, w, 4));
	ask("memset", cuMemsetD32_v2(w, 0, 1));
	ask("memset-async", cuMemsetD32Async(w, 0, 1, s));
	ask("host-function", cuLaunchHostFunc(s, free, NULL));
	ask("stream-create", cuStreamCreate(&(CUstream){0}, 0));
	ask("event-create", cuEventCreate(&(CUevent){0}, 0));
	ask("module-load", cuModuleLoadData(&m, rules_ptx));
	ask("module-function", cuModuleGetFunction(&f, module, "add"));
	ask("module-global", cuModuleGetGlobal_v2(&other, &bytes, module, "counter"));
	ask("function-attribute", cuFuncGetAttribute(&(int){0}, CU_FUNC_ATTRIBUTE_NUM_REGS, k_add));
	ask("info", cuMemGetInfo_v2(&bytes, &bytes));
	ask("range", cuMemGetAddressRange_v2(&other, &bytes, w));
	ask("pointer", cuPointerGetAttribute(&flags, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, w));
	ask("limit", cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE));
	ask("flags", cuCtxGetFlags(&flags));
	ask("device", cuCtxGetDevice(&device));
	ask("current", cuCtxGetCurrent(&is));
	ask("stream-flags", cuStreamGetFlags(s, &flags));
	ask("device-count", cuDeviceGetCount(&device));
	ask("begin-capture", cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	ask("graph", cuGraphCreate(&(CUgraph){0}, 0));
	ask("free", cuMemFree_v2(w));
	ask("event-destroy", cuEventDestroy_v2(e));
	ask("stream-destroy", cuStreamDestroy_v2(s));
	ask("unload", cuModuleUnload(module));
}

#define FAULT(name, ...)                                     \
	PROGRAM(name)                                        \
	{                                                    \
		CUstream s = stream(CU_STREAM_NON_BLOCKING); \
		CUdeviceptr w = words(2);                    \
		CUevent e = event(0);                        \
                                                             \
		must(cu.cuEventRecord(e, s));                \
		__VA_ARGS__;                                 \
		say_all(s, e, w);                            \
	}

FAULT(fault_null, must(store(s, 0)))
FAULT(fault_illegal_address, must(store(s, 1ull << 44)))
FAULT(fault_misaligned, must(store(s, w + 1)))
FAULT(fault_trap, must(launch(k_trap, s, NULL)))
FAULT(fault_assert, must(launch(k_assert, s, NULL)))

/* The error is told once it has happened, to whoever asks first; calls before it are none the worse. */
PROGRAM(fault_is_asynchronous)
{
	CUstream s = stream(0), t = stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr w = words(1);
	CUevent before = event(0), behind = event(0);

	must(cu.cuEventRecord(before, s));
	say("launch", store(s, 0));
	must(add(s, w, 1));
	must(cu.cuEventRecord(behind, s));
	ask("other-stream", cuStreamSynchronize(t));
	ask("behind", cuEventSynchronize(behind));
	ask("before", cuEventQuery(before));
}

static void *creates(void *data)
{
	CUcontext c = NULL;

	(void)data;
	say("thread-current", cu.cuCtxSetCurrent(ctx));
	say("thread-synchronize", cu.cuCtxSynchronize());
	say("thread-create", cu.cuCtxCreate_v2(&c, 0, 0));
	return NULL;
}

PROGRAM(fault_is_the_threads_too)
{
	must(store(NULL, 0));
	ask("synchronize", cuCtxSynchronize());
	on_thread(creates, NULL);
}

/* All contexts of the process have ended. */
PROGRAM(fault_and_other_contexts)
{
	CUcontext other = other_context(), third = NULL, popped;
	CUdeviceptr w;
	CUstream s;
	CUmodule m;

	must(cu.cuCtxSetCurrent(other));
	w = words(1), s = stream(0);
	must(cu.cuCtxSetCurrent(ctx));
	must(store(NULL, 0));
	ask("guilty", cuCtxSynchronize());
	ask("set-other", cuCtxSetCurrent(other));
	ask("synchronize", cuCtxSynchronize());
	ask("stream", cuStreamQuery(s));
	ask("alloc", cuMemAlloc_v2(&w, 4));
	ask("load", cuModuleLoadData(&m, rules_ptx));
	ask("create-stream", cuStreamCreate(&s, 0));
	ask("create", cuCtxCreate_v2(&third, 0, 0));
	ask("set-first", cuCtxSetCurrent(ctx));
	ask("push", cuCtxPushCurrent_v2(other));
	ask("pop", cuCtxPopCurrent_v2(&popped));
	ask("destroy-other", cuCtxDestroy_v2(other));
	ask("retain", cuDevicePrimaryCtxRetain(&third, 0));
	ask("init", cuInit(0));
}

PROGRAM(fault_in_another_context)
{
	CUcontext other = other_context();
	CUdeviceptr w = words(1);
	CUfunction f;

	must(cu.cuCtxPushCurrent_v2(other));
	f = kernel_here("store");
	must(launch(f, NULL, (void *[]){&(CUdeviceptr){0}}));
	ask("guilty", cuCtxSynchronize());
	ask("destroy", cuCtxDestroy_v2(other));
	ask("primary", cuCtxSynchronize());
	say("launch", add(NULL, w, 1));
	ask("alloc", cuMemAlloc_v2(&w, 4));
	ask("query", cuStreamQuery(NULL));
}

PROGRAM(fault_then_reset)
{
	CUdeviceptr w;
	unsigned flags;
	int active = 9;

	must(store(NULL, 0));
	ask("synchronize", cuCtxSynchronize());
	ask("state", cuDevicePrimaryCtxGetState(0, &flags, &active));
	ask("reset", cuDevicePrimaryCtxReset_v2(0));
	ask("retain", cuDevicePrimaryCtxRetain(&ctx, 0));
	ask("set", cuCtxSetCurrent(ctx));
	ask("alloc", cuMemAlloc_v2(&w, 4));
	ask("synchronize-again", cuCtxSynchronize());
	ask("release", cuDevicePrimaryCtxRelease_v2(0));
}

/* Whether the device can be worked with in the current context. */
static void say_works(void)
{
	CUdeviceptr w = 0;
	uint32_t got = 0;
	CUmodule m;
	CUfunction f;
	CUresult result = cu.cuMemAlloc_v2(&w, 4);

	say("works-alloc", result);
	if (result)
		return;
	ask("works-load", cuModuleLoadData(&m, rules_ptx));
	ask("works-function", cuModuleGetFunction(&f, m, "add"));
	ask("works-set", cuMemsetD32_v2(w, 6, 1));
	say("works-launch", launch(f, NULL, (void *[]){&w, &(uint32_t){1}}));
	ask("works-synchronize", cuCtxSynchronize());
	ask("works-copy", cuMemcpyDtoH_v2(&got, w, 4));
	say_n("works-then", got);
}

/* What is there for who gives all contexts back, as a program does that wants to go on. */
static void say_goes_on(void)
{
	CUcontext created = NULL;

	ask("synchronize", cuCtxSynchronize());
	ask("reset", cuDevicePrimaryCtxReset_v2(0));
	ask("release", cuDevicePrimaryCtxRelease_v2(0));
	ask("retain", cuDevicePrimaryCtxRetain(&ctx, 0));
	ask("set", cuCtxSetCurrent(ctx));
	say_works();
	ask("create", cuCtxCreate_v2(&created, 0, 0));
}

#define GOES_ON(name, ...)     \
	PROGRAM(name)          \
	{                      \
		__VA_ARGS__;   \
		say_goes_on(); \
	}

GOES_ON(goes_on_without_fault, settle())
GOES_ON(goes_on_after_illegal_address, must(store(NULL, 1ull << 44)))
GOES_ON(goes_on_after_misaligned, must(store(NULL, words(1) + 1)))
GOES_ON(goes_on_after_trap, must(launch(k_trap, NULL, NULL)))
GOES_ON(goes_on_after_assert, must(launch(k_assert, NULL, NULL)))

/* The guilty context alone is destroyed, as is documented of an assertion. */
PROGRAM(goes_on_after_assert_in_another_context)
{
	CUcontext other = other_context(), third;

	must(cu.cuCtxPushCurrent_v2(other));
	must(launch(kernel_here("fails"), NULL, NULL));
	ask("guilty", cuCtxSynchronize());
	ask("destroy", cuCtxDestroy_v2(other));
	say_works();
	ask("create", cuCtxCreate_v2(&third, 0, 0));
}

PROGRAM(fault_and_names)
{
	const char *text = NULL;

	must(store(NULL, 0));
	(void)cu.cuCtxSynchronize();
	ask("name", cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
	ask("version", cuDriverGetVersion(&(int){0}));
	ask("device-name", cuDeviceGetName((char[64]){0}, 64, 0));
	ask("attribute", cuDeviceGetAttribute(&(int){0}, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
	ask("memory", cuDeviceTotalMem_v2(&(size_t){0}, 0));
}

/* What a call refuses of its own is no matter of the next. */
PROGRAM(refused_is_not_sticky)
{
	CUdeviceptr w = words(1);
	CUfunction f;

	ask("function", cuModuleGetFunction(&f, module, "none"));
	ask("alloc", cuMemAlloc_v2(&w, 0));
	ask("launch", cuLaunchKernel(k_trap, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	ask("block", cuLaunchKernel(k_trap, 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL));
	ask("free", cuMemFree_v2(64));
	ask("oom", cuMemAlloc_v2(&w, (size_t)1 << 50));
	ask("synchronize", cuCtxSynchronize());
	say("work", add(NULL, words(1), 1));
	ask("then", cuStreamSynchronize(NULL));
}

PROGRAM(fault_of_freed_memory)
{
	CUdeviceptr w = words(32 << 20);

	must(cu.cuMemFree_v2(w));
	settle();
	say("launch", add(NULL, w, 1));
	ask("synchronize", cuCtxSynchronize());
}

PROGRAM(fault_while_copying)
{
	CUstream s = stream(0);
	CUdeviceptr w = words(1);
	uint32_t got = 7, *p = pinned(1);

	must(store(s, 0));
	ask("copy", cuMemcpyDtoH_v2(&got, w, 4));
	ask("async", cuMemcpyDtoHAsync_v2(p, w, 4, s));
	say_n("untouched", got);
}

/* An address of the program that the device does not have. */
PROGRAM(fault_of_pageable_memory)
{
	static uint32_t w;

	say("launch", store(NULL, at(&w)));
	ask("synchronize", cuCtxSynchronize());
}
