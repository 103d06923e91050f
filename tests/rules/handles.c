/*
 * handles.c - handles that are no more, of another kind, or never were one. Each in a process of its own, since such a call may be
 * the last.
 */
#include "rules.h"

/* A stream, an event, an array and an executable graph, each destroyed. */
static CUstream no_stream(void)
{
	CUstream s = stream(0);

	must(cu.cuStreamDestroy_v2(s));
	return s;
}

static CUevent no_event(void)
{
	CUevent e = event(0);

	must(cu.cuEventDestroy_v2(e));
	return e;
}

#define ONE(name, step, call)    \
	PROGRAM(name)            \
	{                        \
		ask(step, call); \
	}

ONE(destroyed_stream_destroyed, "destroy", cuStreamDestroy_v2(no_stream()))
ONE(destroyed_stream_query, "query", cuStreamQuery(no_stream()))
ONE(destroyed_stream_synchronize, "synchronize", cuStreamSynchronize(no_stream()))
ONE(destroyed_stream_memset, "memset", cuMemsetD32Async(words(1), 1, 1, no_stream()))
ONE(destroyed_stream_launch, "launch",
    cuLaunchKernel(k_trap, 1, 1, 1, 1, 1, 1, 0, no_stream(), NULL, NULL))
ONE(destroyed_stream_record, "record", cuEventRecord(event(0), no_stream()))
ONE(destroyed_stream_wait, "wait", cuStreamWaitEvent(no_stream(), event(0), 0))
ONE(destroyed_stream_flags, "flags", cuStreamGetFlags(no_stream(), &(unsigned){0}))
ONE(destroyed_stream_function, "launch", cuLaunchHostFunc(no_stream(), free, NULL))
ONE(destroyed_stream_capture, "begin",
    cuStreamBeginCapture_v2(no_stream(), CU_STREAM_CAPTURE_MODE_RELAXED))
ONE(destroyed_stream_context, "context", cuStreamGetCtx(no_stream(), &(CUcontext){0}))
ONE(destroyed_event_destroyed, "destroy", cuEventDestroy_v2(no_event()))
ONE(destroyed_event_query, "query", cuEventQuery(no_event()))
ONE(destroyed_event_synchronize, "synchronize", cuEventSynchronize(no_event()))
ONE(destroyed_event_record, "record", cuEventRecord(no_event(), NULL))
ONE(destroyed_event_wait, "wait", cuStreamWaitEvent(NULL, no_event(), 0))
ONE(destroyed_event_elapsed, "elapsed", cuEventElapsedTime(&(float){0}, no_event(), event(0)))
ONE(event_as_stream, "query", cuStreamQuery((CUstream)event(0)))
ONE(stream_as_event, "query", cuEventQuery((CUevent)stream(0)))
ONE(context_as_stream, "query", cuStreamQuery((CUstream)ctx))
ONE(stream_as_context, "set", cuCtxSetCurrent((CUcontext)stream(0)))
ONE(module_as_function, "launch",
    cuLaunchKernel((CUfunction)module, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL))
ONE(stream_3, "query", cuStreamQuery((CUstream)3))
ONE(stream_at_no_address, "query", cuStreamQuery((CUstream)0x123456789000))
ONE(event_at_no_address, "query", cuEventQuery((CUevent)0x123456789000))
ONE(context_at_no_address, "set", cuCtxSetCurrent((CUcontext)0x123456789000))
ONE(module_at_no_address, "unload", cuModuleUnload((CUmodule)0x123456789000))
ONE(function_at_no_address, "launch",
    cuLaunchKernel((CUfunction)0x123456789000, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL))

PROGRAM(array_destroyed_twice)
{
	CUDA_ARRAY_DESCRIPTOR d = {
		.Width = 4, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	CUarray a;

	must(cu.cuArrayCreate_v2(&a, &d));
	ask("first", cuArrayDestroy(a));
	ask("second", cuArrayDestroy(a));
}

PROGRAM(arrays_made)
{
	CUDA_ARRAY_DESCRIPTOR d = {
		.Width = 4, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 3};
	CUarray a = NULL;

	ask("3-channels", cuArrayCreate_v2(&a, &d));
	d.NumChannels = 1, d.Width = 0;
	ask("width-0", cuArrayCreate_v2(&a, &d));
	d.Width = 1 << 20;
	ask("width-large", cuArrayCreate_v2(&a, &d));
	d.Width = 4, d.Format = (CUarray_format)0;
	ask("format-0", cuArrayCreate_v2(&a, &d));
	ask("nothing", cuArrayCreate_v2(&a, NULL));
	ask("destroy-null", cuArrayDestroy(NULL));
}

PROGRAM(graph_destroyed_twice)
{
	CUgraph g;

	must(cu.cuGraphCreate(&g, 0));
	ask("first", cuGraphDestroy(g));
	ask("second", cuGraphDestroy(g));
}
