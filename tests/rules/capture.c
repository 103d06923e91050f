/*
 * capture.c - what a stream that captures allows, what breaks a capture, and who is drawn in. (tests/integ/graphs.c has more of
 * graphs.)
 */
#include "rules.h"

static void nothing(CUstream s, CUresult status, void *data)
{
	(void)s, (void)status, (void)data;
}

static void begin(CUstream s, CUstreamCaptureMode mode)
{
	must(cu.cuStreamBeginCapture_v2(s, mode));
}

static void say_status(CUstream s)
{
	CUstreamCaptureStatus status = (CUstreamCaptureStatus)9;

	ask("capturing", cuStreamIsCapturing(s, &status));
	say_n("status", (int)status);
}

/* How it ends: the code, and whether there is a graph. */
static CUgraph end(CUstream s)
{
	CUgraph g = NULL;

	ask("end", cuStreamEndCapture(s, &g));
	say_n("graph", g != NULL);
	return g;
}

PROGRAM(capture_modes)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING);

	ask("global", cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	ask("again", cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	say_status(s);
	end(s);
	ask("mode-3", cuStreamBeginCapture_v2(s, (CUstreamCaptureMode)3));
	ask("null", cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_RELAXED));
	ask("per-thread",
	    cuStreamBeginCapture_v2(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED));
	end(CU_STREAM_PER_THREAD);
	ask("end-of-none", cuStreamEndCapture(s, &(CUgraph){0}));
	ask("status-nowhere", cuStreamIsCapturing(s, NULL));
}

/* Each such call in a capture of its own: what it says, and what becomes of the capture. */
#define WHILE_CAPTURING(name, mode, step, call)              \
	PROGRAM(name)                                        \
	{                                                    \
		CUstream s = stream(CU_STREAM_NON_BLOCKING); \
		CUevent e = event(0);                        \
		CUdeviceptr w = words(1);                    \
		uint32_t *p = pinned(1);                     \
                                                             \
		must(cu.cuEventRecord(e, NULL));             \
		settle();                                    \
		begin(s, mode);                              \
		must(add(s, w, 1));                          \
		ask(step, call);                             \
		(void)e, (void)p;                            \
		say_status(s);                               \
		end(s);                                      \
		ask("then", cuStreamSynchronize(s));         \
	}

WHILE_CAPTURING(capture_and_stream_query, CU_STREAM_CAPTURE_MODE_RELAXED, "query", cuStreamQuery(s))
WHILE_CAPTURING(capture_and_stream_synchronize, CU_STREAM_CAPTURE_MODE_RELAXED, "synchronize",
		cuStreamSynchronize(s))
WHILE_CAPTURING(capture_and_context_synchronize, CU_STREAM_CAPTURE_MODE_RELAXED, "synchronize",
		cuCtxSynchronize())
WHILE_CAPTURING(capture_and_legacy, CU_STREAM_CAPTURE_MODE_RELAXED, "query", cuStreamQuery(NULL))
WHILE_CAPTURING(capture_and_callback, CU_STREAM_CAPTURE_MODE_RELAXED, "add",
		cuStreamAddCallback(s, nothing, NULL, 0))
WHILE_CAPTURING(capture_and_alloc_global, CU_STREAM_CAPTURE_MODE_GLOBAL, "alloc",
		cuMemAlloc_v2(&w, 4))
WHILE_CAPTURING(capture_and_alloc_relaxed, CU_STREAM_CAPTURE_MODE_RELAXED, "alloc",
		cuMemAlloc_v2(&w, 4))
WHILE_CAPTURING(capture_and_free_global, CU_STREAM_CAPTURE_MODE_GLOBAL, "free", cuMemFree_v2(w))
WHILE_CAPTURING(capture_and_copy_global, CU_STREAM_CAPTURE_MODE_GLOBAL, "copy",
		cuMemcpyHtoD_v2(w, p, 4))
WHILE_CAPTURING(capture_and_copy_relaxed, CU_STREAM_CAPTURE_MODE_RELAXED, "copy",
		cuMemcpyHtoD_v2(w, p, 4))
WHILE_CAPTURING(capture_and_memset_relaxed, CU_STREAM_CAPTURE_MODE_RELAXED, "memset",
		cuMemsetD8_v2(w, 0, 4))
WHILE_CAPTURING(capture_and_event_query, CU_STREAM_CAPTURE_MODE_GLOBAL, "query", cuEventQuery(e))
WHILE_CAPTURING(capture_and_event_synchronize, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, "synchronize",
		cuEventSynchronize(e))
WHILE_CAPTURING(capture_and_wait_uncaptured, CU_STREAM_CAPTURE_MODE_RELAXED, "wait",
		cuStreamWaitEvent(s, e, 0))
WHILE_CAPTURING(capture_and_wait_external, CU_STREAM_CAPTURE_MODE_RELAXED, "wait",
		cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL))
WHILE_CAPTURING(capture_and_record_external, CU_STREAM_CAPTURE_MODE_RELAXED, "record",
		cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL))
WHILE_CAPTURING(capture_and_destroy, CU_STREAM_CAPTURE_MODE_RELAXED, "other-destroyed",
		cuStreamDestroy_v2(stream(0)))
WHILE_CAPTURING(capture_and_create, CU_STREAM_CAPTURE_MODE_GLOBAL, "stream",
		cuStreamCreate(&(CUstream){0}, 0))
WHILE_CAPTURING(capture_and_event_create, CU_STREAM_CAPTURE_MODE_GLOBAL, "event",
		cuEventCreate(&(CUevent){0}, 0))
WHILE_CAPTURING(capture_and_module_load, CU_STREAM_CAPTURE_MODE_GLOBAL, "load",
		cuModuleLoadData(&(CUmodule){0}, rules_ptx))
WHILE_CAPTURING(capture_and_host_alloc, CU_STREAM_CAPTURE_MODE_GLOBAL, "alloc",
		cuMemAllocHost_v2((void **)&p, 4))
WHILE_CAPTURING(capture_and_pageable, CU_STREAM_CAPTURE_MODE_GLOBAL, "copy",
		cuMemcpyHtoDAsync_v2(w, &(uint32_t){1}, 4, s))
WHILE_CAPTURING(capture_and_priority, CU_STREAM_CAPTURE_MODE_GLOBAL, "get",
		cuStreamGetPriority(s, &(int){0}))
WHILE_CAPTURING(capture_and_launch_refused, CU_STREAM_CAPTURE_MODE_GLOBAL, "launch",
		cuLaunchKernel(k_trap, 0, 1, 1, 1, 1, 1, 0, s, NULL, NULL))
WHILE_CAPTURING(capture_and_event_destroy, CU_STREAM_CAPTURE_MODE_GLOBAL, "destroy",
		cuEventDestroy_v2(e))
WHILE_CAPTURING(capture_and_info, CU_STREAM_CAPTURE_MODE_GLOBAL, "info",
		cuMemGetInfo_v2(&(size_t){0}, &(size_t){0}))

PROGRAM(capture_destroyed)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr w = words(1);

	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	must(add(s, w, 1));
	ask("destroy", cuStreamDestroy_v2(s));
	ask("after", cuCtxSynchronize());
}

PROGRAM(capture_forks_and_joins)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING), t = stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr w = words(1);
	CUevent e = event(0), f = event(0);
	CUgraphExec x;
	CUgraph g;

	begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	must(add(s, w, 1));
	ask("record", cuEventRecord(e, s));
	ask("wait", cuStreamWaitEvent(t, e, 0));
	say_status(t);
	must(add(t, w, 2));
	ask("query-captured-event", cuEventQuery(e));
	say_status(s);
	end(s);
	begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	must(add(s, w, 1));
	must(cu.cuEventRecord(e, s));
	must(cu.cuStreamWaitEvent(t, e, 0));
	must(add(t, w, 2));
	must(cu.cuEventRecord(f, t));
	must(cu.cuStreamWaitEvent(s, f, 0));
	g = end(s);
	ask("instantiate", cuGraphInstantiateWithFlags(&x, g, 0));
	ask("launch", cuGraphLaunch(x, s));
	ask("launch-in-null", cuGraphLaunch(x, NULL));
	settle();
	say_n("is", word(w));
}

PROGRAM(capture_not_joined)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING), t = stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr w = words(1);
	CUevent e = event(0);

	begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	must(cu.cuEventRecord(e, s));
	must(cu.cuStreamWaitEvent(t, e, 0));
	must(add(t, w, 2));
	ask("end-of-the-other", cuStreamEndCapture(t, &(CUgraph){0}));
	end(s);
	say_status(t);
	ask("other", cuStreamSynchronize(t));
	say_n("nothing-ran", word(w));
}

PROGRAM(capture_of_two)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING), t = stream(CU_STREAM_NON_BLOCKING);
	CUevent e = event(0);

	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	begin(t, CU_STREAM_CAPTURE_MODE_RELAXED);
	must(cu.cuEventRecord(e, s));
	ask("merge", cuStreamWaitEvent(t, e, 0));
	say_status(s);
	end(s);
	end(t);
}

static void *ends(void *data)
{
	must(cu.cuCtxSetCurrent(ctx));
	say("other-thread", cu.cuStreamEndCapture(data, &(CUgraph){0}));
	return NULL;
}

PROGRAM(capture_ended_by_another_thread)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING), t = stream(CU_STREAM_NON_BLOCKING);

	begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	on_thread(ends, s);
	say_status(s);
	end(s);
	begin(t, CU_STREAM_CAPTURE_MODE_RELAXED);
	on_thread(ends, t);
}

static void *allocs(void *data)
{
	(void)data;
	must(cu.cuCtxSetCurrent(ctx));
	say("other-thread", cu.cuMemAlloc_v2(&(CUdeviceptr){0}, 4));
	return NULL;
}

PROGRAM(capture_and_alloc_of_another_thread)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING);

	begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	on_thread(allocs, NULL);
	end(s);
	begin(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	on_thread(allocs, NULL);
	end(s);
}

PROGRAM(capture_mode_exchanged)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr w;

	begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	ask("exchange", cuThreadExchangeStreamCaptureMode(&mode));
	say_n("was", (int)mode);
	ask("alloc", cuMemAlloc_v2(&w, 4));
	end(s);
	mode = (CUstreamCaptureMode)7;
	ask("mode-7", cuThreadExchangeStreamCaptureMode(&mode));
	ask("nowhere", cuThreadExchangeStreamCaptureMode(NULL));
}

PROGRAM(capture_runs_nothing)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr w = words(1);
	CUgraphExec x;
	CUgraph g;

	begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	must(add(s, w, 1));
	must(cu.cuMemsetD32Async(w, 9, 1, s));
	must(add(s, w, 1));
	g = end(s);
	say_n("before", word(w));
	must(cu.cuGraphInstantiateWithFlags(&x, g, 0));
	must(cu.cuGraphDestroy(g));
	must(cu.cuGraphLaunch(x, s));
	must(cu.cuGraphLaunch(x, s));
	must(cu.cuStreamSynchronize(s));
	say_n("then", word(w));
	ask("destroy", cuGraphExecDestroy(x));
	ask("upload-destroyed", cuGraphDestroy(NULL));
	ask("launch-null", cuGraphLaunch(NULL, s));
}

PROGRAM(capture_and_event_of_a_capture)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	CUevent e = event(0);

	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	must(cu.cuEventRecord(e, s));
	end(s);
	ask("query", cuEventQuery(e));
	ask("synchronize", cuEventSynchronize(e));
	ask("wait", cuStreamWaitEvent(s, e, 0));
	ask("record", cuEventRecord(e, s));
	ask("synchronize-then", cuEventSynchronize(e));
}
