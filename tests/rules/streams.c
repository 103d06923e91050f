/*
 * streams.c - who waits for whom: the legacy stream, blocking and non-blocking ones, those of threads; and what streams are
 * made of.
 */
#include "rules.h"

/* The second has work that waits for what holds the first. */
static void say_waits(const char *step, CUstream first, CUstream second)
{
	CUdeviceptr w = words(1);

	hold(first);
	must(add(second, w, 1));
	say(step, cu.cuStreamQuery(second));
	let_go();
	settle();
	say_n("then", word(w));
	must(cu.cuMemFree_v2(w));
}

/* The second's work ends while the first is held. */
static void say_passes(const char *step, CUstream first, CUstream second)
{
	CUdeviceptr w = words(1);

	hold(first);
	must(add(second, w, 1));
	say(step, cu.cuStreamSynchronize(second));
	say("first", cu.cuStreamQuery(first));
	let_go();
	settle();
	say_n("then", word(w));
	must(cu.cuMemFree_v2(w));
}

PROGRAM(legacy_after_blocking)
{
	say_waits("query", stream(CU_STREAM_DEFAULT), NULL);
}

PROGRAM(blocking_after_legacy)
{
	say_waits("query", NULL, stream(CU_STREAM_DEFAULT));
}

PROGRAM(legacy_beside_nonblocking)
{
	say_passes("legacy", stream(CU_STREAM_NON_BLOCKING), NULL);
}

PROGRAM(nonblocking_beside_legacy)
{
	say_passes("nonblocking", NULL, stream(CU_STREAM_NON_BLOCKING));
}

PROGRAM(blocking_beside_blocking)
{
	say_passes("second", stream(CU_STREAM_DEFAULT), stream(CU_STREAM_DEFAULT));
}

PROGRAM(per_thread_after_legacy)
{
	say_waits("query", NULL, CU_STREAM_PER_THREAD);
}

PROGRAM(legacy_after_per_thread)
{
	say_waits("query", CU_STREAM_PER_THREAD, CU_STREAM_LEGACY);
}

PROGRAM(per_thread_beside_blocking)
{
	say_passes("per-thread", stream(CU_STREAM_DEFAULT), CU_STREAM_PER_THREAD);
}

PROGRAM(legacy_between_blocking)
{
	CUstream a = stream(0), b = stream(0);
	CUdeviceptr w = words(1);

	hold(a);
	must(add(NULL, w, 1));
	must(add(b, w, 1));
	ask("behind", cuStreamQuery(b));
	let_go();
	settle();
	say_n("then", word(w));
}

static void *adds(void *data)
{
	CUdeviceptr *w = data;

	must(cu.cuCtxSetCurrent(ctx));
	must(add(CU_STREAM_PER_THREAD, *w, 1));
	say("own", cu.cuStreamSynchronize(CU_STREAM_PER_THREAD));
	return NULL;
}

PROGRAM(per_thread_of_each_thread)
{
	CUdeviceptr w = words(1);

	hold(CU_STREAM_PER_THREAD);
	on_thread(adds, &w);
	ask("main", cuStreamQuery(CU_STREAM_PER_THREAD));
	let_go();
	settle();
	say_n("then", word(w));
}

PROGRAM(null_by_form)
{
	hold(CU_STREAM_PER_THREAD);
	ask("legacy", cuStreamQuery(NULL));
	ask("ptsz", cuStreamQuery_ptsz(NULL));
	ask("ptsz-legacy", cuStreamQuery_ptsz(CU_STREAM_LEGACY));
	let_go();
	ask("ptsz-sync", cuStreamSynchronize_ptsz(NULL));
}

static unsigned long long id_of(CUstream s)
{
	unsigned long long id = 0;

	must(cu.cuStreamGetId(s, &id));
	return id;
}

static void *id_here(void *data)
{
	must(cu.cuCtxSetCurrent(ctx));
	*(unsigned long long *)data = id_of(CU_STREAM_PER_THREAD);
	return NULL;
}

PROGRAM(stream_ids)
{
	CUstream a = stream(0), b = stream(0);
	unsigned long long of_thread = 0, ptsz = 0;

	say_n("null-is-legacy", id_of(NULL) == id_of(CU_STREAM_LEGACY));
	say_n("per-thread-is-legacy", id_of(CU_STREAM_PER_THREAD) == id_of(NULL));
	say_n("differ", id_of(a) != id_of(b));
	on_thread(id_here, &of_thread);
	say_n("thread-differs", of_thread != id_of(CU_STREAM_PER_THREAD));
	must(cu.cuStreamGetId_ptsz(NULL, &ptsz));
	say_n("ptsz-null-is-per-thread", ptsz == id_of(CU_STREAM_PER_THREAD));
	ask("nowhere", cuStreamGetId(a, NULL));
}

PROGRAM(stream_flags)
{
	CUstream s = NULL;
	unsigned flags = 9;

	ask("2", cuStreamCreate(&s, 2));
	ask("max", cuStreamCreate(&s, ~0u));
	ask("nowhere", cuStreamCreate(NULL, 0));
	ask("of-blocking", cuStreamGetFlags(stream(0), &flags));
	say_n("blocking", flags);
	ask("of-nonblocking", cuStreamGetFlags(stream(1), &flags));
	say_n("nonblocking", flags);
	ask("of-null", cuStreamGetFlags(NULL, &flags));
	say_n("null", flags);
	ask("of-per-thread", cuStreamGetFlags(CU_STREAM_PER_THREAD, &flags));
	say_n("per-thread", flags);
	ask("of-null-ptsz", cuStreamGetFlags_ptsz(NULL, &flags));
	say_n("null-ptsz", flags);
	ask("flags-nowhere", cuStreamGetFlags(NULL, NULL));
}

static void say_priority(const char *step, int asked)
{
	CUstream s;
	int priority = 99;
	CUresult r = cu.cuStreamCreateWithPriority(&s, 0, asked);

	say(step, r);
	if (r)
		return;
	must(cu.cuStreamGetPriority(s, &priority));
	say_n("is", priority);
}

PROGRAM(stream_priorities)
{
	CUstream s;
	int least = 9, greatest = 9, priority = 9;

	ask("range", cuCtxGetStreamPriorityRange(&least, &greatest));
	say_n("least", least);
	say_n("greatest", greatest);
	ask("range-least", cuCtxGetStreamPriorityRange(&least, NULL));
	ask("range-nowhere", cuCtxGetStreamPriorityRange(NULL, NULL));
	say_priority("highest", greatest);
	say_priority("middle", -1);
	say_priority("higher", greatest - 1);
	say_priority("lower", least + 1);
	ask("flags", cuStreamCreateWithPriority(&s, 2, 0));
	ask("nowhere", cuStreamCreateWithPriority(NULL, 0, 0));
	ask("of-null", cuStreamGetPriority(NULL, &priority));
	say_n("null", priority);
	ask("of-per-thread", cuStreamGetPriority(CU_STREAM_PER_THREAD, &priority));
	say_n("per-thread", priority);
	ask("priority-nowhere", cuStreamGetPriority(NULL, NULL));
}

PROGRAM(stream_destroyed_busy)
{
	CUdeviceptr w = words(1);
	CUstream s = stream(0);

	hold(s);
	must(add(s, w, 5));
	ask("destroy", cuStreamDestroy_v2(s));
	let_go();
	settle();
	say_n("then", word(w));
}

PROGRAM(stream_destroy_special)
{
	ask("null", cuStreamDestroy_v2(NULL));
	ask("legacy", cuStreamDestroy_v2(CU_STREAM_LEGACY));
	ask("per-thread", cuStreamDestroy_v2(CU_STREAM_PER_THREAD));
	ask("after", cuStreamSynchronize(NULL));
}

PROGRAM(stream_context)
{
	CUcontext other = other_context(), of = NULL;
	CUstream s, here = stream(0);
	CUdevice device = 9;

	must(cu.cuCtxPushCurrent_v2(other));
	s = stream(0);
	ask("of-other", cuStreamGetCtx(here, &of));
	say_n("is-first", of == ctx);
	ask("of-own", cuStreamGetCtx(s, &of));
	say_n("is-own", of == other);
	ask("of-null", cuStreamGetCtx(NULL, &of));
	say_n("null-is-current", of == other);
	ask("nowhere", cuStreamGetCtx(s, NULL));
	ask("device", cuStreamGetDevice(s, &device));
	say_n("device-is", device);
	must(cu.cuCtxPopCurrent_v2(&of));
	ask("popped", cuStreamGetCtx(s, &of));
	say_n("still-own", of == other);
}

PROGRAM(stream_of_another_context)
{
	CUcontext other = other_context();
	CUdeviceptr w = words(1);
	CUevent e = event(0);
	CUstream s = stream(0);
	CUfunction f;

	must(cu.cuCtxSetCurrent(other));
	ask("query", cuStreamQuery(s));
	ask("synchronize", cuStreamSynchronize(s));
	ask("wait", cuStreamWaitEvent(s, e, 0));
	ask("record", cuEventRecord(e, s));
	say("kernel-of-first", add(s, w, 1));
	f = kernel_here("add");
	say("kernel-of-current", launch(f, s, (void *[]){&w, &(uint32_t){1}}));
	say("kernel-of-first-in-null", launch(k_add, NULL, (void *[]){&w, &(uint32_t){1}}));
	ask("memset", cuMemsetD32Async(w + 4 - 4, 3, 1, s));
	ask("destroy", cuStreamDestroy_v2(s));
	must(cu.cuCtxSetCurrent(ctx));
	settle();
}

PROGRAM(wait_flags)
{
	CUevent e = event(0);
	CUstream s = stream(0);

	must(cu.cuEventRecord(e, NULL));
	ask("external", cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
	ask("2", cuStreamWaitEvent(s, e, 2));
	ask("max", cuStreamWaitEvent(s, e, ~0u));
	ask("no-event", cuStreamWaitEvent(s, NULL, 0));
	ask("legacy", cuStreamWaitEvent(NULL, e, 0));
	ask("per-thread", cuStreamWaitEvent(CU_STREAM_PER_THREAD, e, 0));
}

PROGRAM(stream_attributes)
{
	CUstreamAttrValue v = {.syncPolicy = CU_SYNC_POLICY_SPIN}, got = {0};
	CUstream s = stream(0), t = stream(0);

	ask("set", cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
	ask("get", cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &got));
	say_n("policy", got.syncPolicy);
	ask("copy", cuStreamCopyAttributes(t, s));
	ask("get-copied",
	    cuStreamGetAttribute(t, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &got));
	say_n("copied", got.syncPolicy);
	v.syncPolicy = 9;
	ask("policy-9", cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
	ask("cooperative", cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v));
	ask("get-cooperative", cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &got));
	ask("nowhere", cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, NULL));
	ask("of-null", cuStreamGetAttribute(NULL, CU_LAUNCH_ATTRIBUTE_PRIORITY, &got));
	say_n("priority", got.priority);
}

PROGRAM(query_when_done)
{
	CUdeviceptr w = words(1);
	CUstream s = stream(CU_STREAM_NON_BLOCKING);

	ask("fresh", cuStreamQuery(s));
	must(add(s, w, 1));
	ask("synchronize", cuStreamSynchronize(s));
	ask("done", cuStreamQuery(s));
	hold(s);
	ask("held", cuStreamQuery(s));
	ask("null", cuStreamQuery(NULL));
	ask("last-is-not-sticky", cuStreamQuery(NULL));
	let_go();
	ask("let-go", cuStreamSynchronize(s));
}

PROGRAM(context_synchronize_waits_for_all)
{
	CUdeviceptr w = words(1);

	must(add(stream(0), w, 1));
	settle();
	must(add(stream(CU_STREAM_NON_BLOCKING), w, 1));
	settle();
	must(add(CU_STREAM_PER_THREAD, w, 1));
	ask("synchronize", cuCtxSynchronize());
	say_n("sum", word(w));
}

/* 1000 additions in turns of two streams, each behind the other by an event. */
PROGRAM(ping_pong)
{
	CUstream s[2] = {stream(CU_STREAM_NON_BLOCKING), stream(CU_STREAM_NON_BLOCKING)};
	CUevent e[2] = {event(CU_EVENT_DISABLE_TIMING), event(CU_EVENT_DISABLE_TIMING)};
	CUdeviceptr w = words(1);

	for (int i = 0; i < 1000; i++) {
		must(add(s[i % 2], w, 1));
		must(cu.cuEventRecord(e[i % 2], s[i % 2]));
		must(cu.cuStreamWaitEvent(s[(i + 1) % 2], e[i % 2], 0));
	}
	settle();
	say_n("sum", word(w));
}

PROGRAM(many_streams)
{
	CUstream s[200];
	CUdeviceptr w = words(200);
	uint32_t got[200], sum = 0;

	for (int i = 0; i < 200; i++)
		s[i] = stream(i % 2);
	for (int i = 0; i < 200; i++)
		must(add(s[i], w + 4ull * (unsigned)i, 1));
	settle();
	must(cu.cuMemcpyDtoH_v2(got, w, sizeof(got)));
	for (int i = 0; i < 200; i++)
		sum += got[i];
	say_n("sum", sum);
}
