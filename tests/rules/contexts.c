/*
 * contexts.c - which context is current, what a thread and a handle know of it, and what is left of one that is destroyed.
 */
#include "rules.h"

static void say_current(const char *step, CUcontext wanted)
{
	CUcontext is = NULL;

	must(cu.cuCtxGetCurrent(&is));
	say_n(step, is == wanted);
}

PROGRAM(context_stack)
{
	CUcontext a, b, popped = NULL;

	ask("create", cuCtxCreate_v2(&a, 0, 0));
	say_current("is-current", a);
	ask("second", cuCtxCreate_v2(&b, 0, 0));
	ask("pop", cuCtxPopCurrent_v2(&popped));
	say_n("popped-second", popped == b);
	say_current("first-again", a);
	ask("push", cuCtxPushCurrent_v2(b));
	ask("push-again", cuCtxPushCurrent_v2(b));
	ask("set", cuCtxSetCurrent(ctx));
	ask("pop-set", cuCtxPopCurrent_v2(&popped));
	say_n("popped-primary", popped == ctx);
	say_current("second-below", b);
	ask("pop-nowhere", cuCtxPopCurrent_v2(NULL));
	say_current("first-below", a);
	ask("pop-3", cuCtxPopCurrent_v2(&popped));
	say_current("primary-below", ctx);
	ask("pop-4", cuCtxPopCurrent_v2(&popped));
	say_current("none", NULL);
	ask("pop-5", cuCtxPopCurrent_v2(&popped));
	ask("push-null", cuCtxPushCurrent_v2(NULL));
}

PROGRAM(context_set_null)
{
	CUcontext a = other_context(), popped = NULL;

	ask("push", cuCtxPushCurrent_v2(a));
	ask("set-null", cuCtxSetCurrent(NULL));
	say_current("below", ctx);
	ask("set-null-again", cuCtxSetCurrent(NULL));
	say_current("none", NULL);
	ask("set-null-of-none", cuCtxSetCurrent(NULL));
	ask("pop-of-none", cuCtxPopCurrent_v2(&popped));
	ask("set", cuCtxSetCurrent(a));
	ask("pop", cuCtxPopCurrent_v2(&popped));
	say_current("then", NULL);
}

PROGRAM(context_calls_without_one)
{
	CUdevice device;
	CUstream s;
	CUevent e;
	CUmodule m;
	size_t limit;
	unsigned flags;
	int least;

	must(cu.cuCtxSetCurrent(NULL));
	ask("device", cuCtxGetDevice(&device));
	ask("synchronize", cuCtxSynchronize());
	ask("flags", cuCtxGetFlags(&flags));
	ask("limit", cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
	ask("range", cuCtxGetStreamPriorityRange(&least, NULL));
	ask("stream", cuStreamCreate(&s, 0));
	ask("event", cuEventCreate(&e, 0));
	ask("module", cuModuleLoadData(&m, rules_ptx));
	ask("query-null", cuStreamQuery(NULL));
	ask("synchronize-null", cuStreamSynchronize(NULL));
	ask("launch", cuLaunchKernel(k_trap, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	ask("version", cuCtxGetApiVersion(NULL, &flags));
}

PROGRAM(handles_without_context)
{
	CUstream s = stream(0);
	CUevent e = event(0);
	CUdeviceptr w = words(1), got;
	size_t bytes;
	CUfunction f;

	must(cu.cuCtxSetCurrent(NULL));
	ask("stream-query", cuStreamQuery(s));
	ask("record", cuEventRecord(e, s));
	ask("event-synchronize", cuEventSynchronize(e));
	ask("event-query", cuEventQuery(e));
	ask("wait", cuStreamWaitEvent(s, e, 0));
	ask("stream-synchronize", cuStreamSynchronize(s));
	ask("memset", cuMemsetD32Async(w, 1, 1, s));
	say("launch", add(s, w, 1));
	ask("function", cuModuleGetFunction(&f, module, "add"));
	ask("global", cuModuleGetGlobal_v2(&got, &bytes, module, "counter"));
	ask("event-destroy", cuEventDestroy_v2(e));
	ask("stream-destroy", cuStreamDestroy_v2(s));
	ask("unload", cuModuleUnload(module));
}

PROGRAM(context_flags)
{
	static const struct {
		const char *step;
		unsigned flags;
	} all[] = {{"0", 0},	 {"spin", 1},  {"yield", 2}, {"3", 3},	       {"blocking", 4},
		   {"5", 5},	 {"map", 8},   {"lmem", 16}, {"coredump", 32}, {"64", 64},
		   {"128", 128}, {"256", 256}, {"all", ~0u}};
	unsigned flags;
	CUcontext c;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		CUresult r = cu.cuCtxCreate_v2(&c, all[i].flags, 0);

		say(all[i].step, r);
		if (r)
			continue;
		must(cu.cuCtxGetFlags(&flags));
		say_n("flags", flags);
		must(cu.cuCtxDestroy_v2(c));
	}
	ask("no-device", cuCtxCreate_v2(&c, 0, 99));
	ask("negative-device", cuCtxCreate_v2(&c, 0, -1));
	ask("nowhere", cuCtxCreate_v2(NULL, 0, 0));
}

PROGRAM(context_set_flags)
{
	CUcontext c;
	unsigned flags = 99;

	must(cu.cuCtxCreate_v2(&c, 0, 0));
	ask("spin", cuCtxSetFlags(1));
	must(cu.cuCtxGetFlags(&flags));
	say_n("spin-is", flags);
	ask("blocking-lmem", cuCtxSetFlags(4 | 16));
	must(cu.cuCtxGetFlags(&flags));
	say_n("blocking-lmem-is", flags);
	ask("3", cuCtxSetFlags(3));
	ask("256", cuCtxSetFlags(256));
	ask("nowhere", cuCtxGetFlags(NULL));
}

PROGRAM(context_destroy_current)
{
	CUcontext c, is = NULL;
	CUdeviceptr w;

	must(cu.cuCtxCreate_v2(&c, 0, 0));
	ask("destroy", cuCtxDestroy_v2(c));
	must(cu.cuCtxGetCurrent(&is));
	say_n("below-is-current", is == ctx);
	ask("alloc", cuMemAlloc_v2(&w, 4));
	ask("null", cuCtxDestroy_v2(NULL));
}

PROGRAM(context_destroyed_twice)
{
	CUcontext c = other_context();

	ask("first", cuCtxDestroy_v2(c));
	ask("second", cuCtxDestroy_v2(c));
}

PROGRAM(context_destroyed_then_used)
{
	CUcontext c = other_context();
	unsigned version = 0;

	must(cu.cuCtxDestroy_v2(c));
	ask("set", cuCtxSetCurrent(c));
	ask("push", cuCtxPushCurrent_v2(c));
	ask("version", cuCtxGetApiVersion(c, &version));
}

struct turns {
	CUcontext c;
	CUdeviceptr w;
	CUstream s;
};

/* It is current in this thread when another destroys it. */
static void *destroys(void *data)
{
	struct turns *t = data;

	say("destroy", cu.cuCtxDestroy_v2(t->c));
	return NULL;
}

PROGRAM(context_destroyed_by_another_thread)
{
	struct turns t = {0};
	CUcontext is = NULL;
	CUdevice device = 9;
	CUevent e;
	CUstream s;

	must(cu.cuCtxCreate_v2(&t.c, 0, 0));
	t.w = words(1);
	on_thread(destroys, &t);
	ask("current", cuCtxGetCurrent(&is));
	say_n("still", is == t.c);
	ask("device", cuCtxGetDevice(&device));
	ask("synchronize", cuCtxSynchronize());
	ask("alloc", cuMemAlloc_v2(&t.w, 4));
	ask("stream", cuStreamCreate(&s, 0));
	ask("event", cuEventCreate(&e, 0));
	ask("query-null", cuStreamQuery(NULL));
	ask("memset", cuMemsetD32_v2(t.w, 0, 1));
	ask("pop", cuCtxPopCurrent_v2(&is));
	must(cu.cuCtxGetCurrent(&is));
	say_n("below", is == ctx);
}

PROGRAM(handles_of_a_destroyed_context)
{
	CUcontext c;
	CUstream s;
	CUevent e;
	CUmodule m;
	CUfunction f;
	CUdeviceptr w;
	uint32_t got = 0;

	must(cu.cuCtxCreate_v2(&c, 0, 0));
	s = stream(0), e = event(0), w = words(1);
	must(cu.cuModuleLoadData(&m, rules_ptx));
	must(cu.cuModuleGetFunction(&f, m, "trap"));
	must(cu.cuCtxDestroy_v2(c));
	ask("copy", cuMemcpyDtoH_v2(&got, w, 4));
	ask("free", cuMemFree_v2(w));
	ask("after", cuCtxSynchronize());
	ask("stream-query", cuStreamQuery(s));
	ask("stream-synchronize", cuStreamSynchronize(s));
	ask("event-query", cuEventQuery(e));
	ask("event-synchronize", cuEventSynchronize(e));
}

#define DESTROYED(name, step, call)                          \
	PROGRAM(name)                                        \
	{                                                    \
		CUcontext c;                                 \
		CUstream s;                                  \
		CUevent e;                                   \
		CUmodule m;                                  \
		CUfunction f;                                \
                                                             \
		must(cu.cuCtxCreate_v2(&c, 0, 0));           \
		s = stream(0), e = event(0);                 \
		must(cu.cuModuleLoadData(&m, rules_ptx));    \
		must(cu.cuModuleGetFunction(&f, m, "trap")); \
		must(cu.cuCtxDestroy_v2(c));                 \
		(void)s, (void)e, (void)m, (void)f;          \
		ask(step, call);                             \
		ask("after", cuCtxSynchronize());            \
	}

/* Each in a process of its own: such a call may be the last. */
DESTROYED(stream_destroy_of_a_destroyed_context, "destroy", cuStreamDestroy_v2(s))
DESTROYED(event_destroy_of_a_destroyed_context, "destroy", cuEventDestroy_v2(e))
DESTROYED(unload_of_a_destroyed_context, "unload", cuModuleUnload(m))
DESTROYED(function_of_a_destroyed_context, "get", cuModuleGetFunction(&f, m, "add"))
DESTROYED(launch_of_a_destroyed_context, "launch",
	  cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL))
DESTROYED(attribute_of_a_destroyed_context, "get",
	  cuFuncGetAttribute(&(int){0}, CU_FUNC_ATTRIBUTE_NUM_REGS, f))
DESTROYED(record_in_a_destroyed_context, "record", cuEventRecord(e, s))
DESTROYED(wait_in_a_destroyed_context, "wait", cuStreamWaitEvent(s, e, 0))
DESTROYED(memset_in_a_destroyed_context, "memset", cuMemsetD8Async(8, 0, 1, s))
DESTROYED(flags_of_a_destroyed_context, "flags", cuStreamGetFlags(s, &(unsigned){0}))
DESTROYED(context_of_a_destroyed_contexts_stream, "context", cuStreamGetCtx(s, &c))
DESTROYED(capture_in_a_destroyed_context, "begin",
	  cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED))
DESTROYED(host_function_in_a_destroyed_context, "launch", cuLaunchHostFunc(s, free, NULL))

PROGRAM(primary_context)
{
	CUcontext again = NULL;
	unsigned flags = 99;
	int active = 9;

	ask("retain", cuDevicePrimaryCtxRetain(&again, 0));
	say_n("same", again == ctx);
	ask("state", cuDevicePrimaryCtxGetState(0, &flags, &active));
	say_n("flags", flags);
	say_n("active", active);
	ask("release", cuDevicePrimaryCtxRelease_v2(0));
	must(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
	say_n("still-active", active);
	ask("destroy", cuCtxDestroy_v2(ctx));
	ask("release-last", cuDevicePrimaryCtxRelease_v2(0));
	must(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
	say_n("no-longer", active);
	ask("release-too-often", cuDevicePrimaryCtxRelease_v2(0));
	ask("release-too-often-by-the-older-entry", cuDevicePrimaryCtxRelease(0));
	must(cu.cuDevicePrimaryCtxRetain(&again, 0));
	ask("release-by-the-older-entry", cuDevicePrimaryCtxRelease(0));
	must(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
	say_n("then-active", active);
	ask("no-device", cuDevicePrimaryCtxRetain(&again, 99));
	ask("nowhere", cuDevicePrimaryCtxRetain(NULL, 0));
}

PROGRAM(primary_context_released)
{
	CUcontext again = NULL;
	CUdeviceptr w = words(1), x;
	CUdevice device;

	must(cu.cuDevicePrimaryCtxRelease_v2(0));
	ask("device", cuCtxGetDevice(&device));
	ask("alloc", cuMemAlloc_v2(&x, 4));
	ask("free", cuMemFree_v2(w));
	ask("synchronize", cuCtxSynchronize());
	ask("retain", cuDevicePrimaryCtxRetain(&again, 0));
	say_n("same", again == ctx);
	ask("alloc-again", cuMemAlloc_v2(&x, 4));
	ask("free-old", cuMemFree_v2(w));
	ask("set", cuCtxSetCurrent(again));
	ask("alloc-then", cuMemAlloc_v2(&x, 4));
}

PROGRAM(primary_context_reset)
{
	CUdeviceptr w = words(1), x;
	unsigned flags;
	int active = 9;

	ask("reset", cuDevicePrimaryCtxReset_v2(0));
	ask("state", cuDevicePrimaryCtxGetState(0, &flags, &active));
	say_n("active", active);
	ask("free", cuMemFree_v2(w));
	ask("alloc", cuMemAlloc_v2(&x, 4));
	ask("synchronize", cuCtxSynchronize());
	ask("release", cuDevicePrimaryCtxRelease_v2(0));
	ask("reset-again", cuDevicePrimaryCtxReset_v2(0));
	ask("retain", cuDevicePrimaryCtxRetain(&ctx, 0));
	ask("alloc-then", cuMemAlloc_v2(&x, 4));
}

/* The name of a step that is asked more than once. */
static const char *step_of(const char *how, const char *what)
{
	static char names[4][64];
	static unsigned i;

	i = (i + 1) % 4;
	snprintf(names[i], sizeof(names[i]), "%s-%s", how, what);
	return names[i];
}

/* What a primary context is asked that has ended, and is current. */
static void ask_ended(const char *how)
{
	CUcontext current = NULL;
	unsigned long long id;
	unsigned flags = 99, version;
	int active = 9, least, greatest;
	size_t value, all;
	CUdevice device;

	ask(step_of(how, "state"), cuDevicePrimaryCtxGetState(0, &flags, &active));
	say_n(step_of(how, "state-flags"), flags);
	say_n(step_of(how, "active"), active);
	ask(step_of(how, "current"), cuCtxGetCurrent(&current));
	say_n(step_of(how, "is-current"), current == ctx);
	ask(step_of(how, "device"), cuCtxGetDevice(&device));
	ask(step_of(how, "version"), cuCtxGetApiVersion(ctx, &version));
	ask(step_of(how, "version-of-current"), cuCtxGetApiVersion(NULL, &version));
	ask(step_of(how, "flags"), cuCtxGetFlags(&flags));
	say_n(step_of(how, "flags-are"), flags);
	ask(step_of(how, "id"), cuCtxGetId(ctx, &id));
	ask(step_of(how, "id-of-current"), cuCtxGetId(NULL, &id));
	ask(step_of(how, "limit"), cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
	ask(step_of(how, "priorities"), cuCtxGetStreamPriorityRange(&least, &greatest));
	ask(step_of(how, "memory"), cuMemGetInfo_v2(&value, &all));
	ask(step_of(how, "set"), cuCtxSetCurrent(ctx));
}

PROGRAM(primary_context_ended)
{
	must(cu.cuDevicePrimaryCtxSetFlags_v2(0, 4));
	must(cu.cuDevicePrimaryCtxReset_v2(0));
	ask_ended("reset");
	must(cu.cuDevicePrimaryCtxSetFlags_v2(0, 1));
	must(cu.cuDevicePrimaryCtxRelease_v2(0));
	ask_ended("released");
	must(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	must(cu.cuDevicePrimaryCtxSetFlags_v2(0, 2));
	must(cu.cuDevicePrimaryCtxRelease_v2(0));
	ask_ended("let-go");
}

PROGRAM(primary_context_flags)
{
	CUcontext c;
	unsigned flags = 99;
	int active = 9;

	must(cu.cuInit(0));
	ask("set", cuDevicePrimaryCtxSetFlags_v2(0, 4));
	ask("state", cuDevicePrimaryCtxGetState(0, &flags, &active));
	say_n("flags", flags);
	say_n("active", active);
	must(cu.cuDevicePrimaryCtxRetain(&c, 0));
	must(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
	say_n("retained", flags);
	ask("set-active", cuDevicePrimaryCtxSetFlags_v2(0, 1));
	must(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
	say_n("then", flags);
	must(cu.cuCtxSetCurrent(c));
	ask("current", cuCtxGetFlags(&flags));
	say_n("current-is", flags);
	ask("3", cuDevicePrimaryCtxSetFlags_v2(0, 3));
	ask("64", cuDevicePrimaryCtxSetFlags_v2(0, 64));
	ask("256", cuDevicePrimaryCtxSetFlags_v2(0, 256));
	ask("no-device", cuDevicePrimaryCtxSetFlags_v2(99, 0));
}

static void *looks(void *data)
{
	CUcontext is = ctx;

	(void)data;
	must(cu.cuCtxGetCurrent(&is));
	say_n("thread-has-none", is == NULL);
	say("thread-alloc", cu.cuMemAlloc_v2(&(CUdeviceptr){0}, 4));
	return NULL;
}

PROGRAM(context_of_a_new_thread)
{
	on_thread(looks, NULL);
	say_current("main", ctx);
}

PROGRAM(context_ids)
{
	CUcontext a = other_context(), b;
	unsigned long long id_a = 0, id_b = 0, id = 0;
	unsigned version = 0;

	ask("id", cuCtxGetId(a, &id_a));
	ask("id-of-current", cuCtxGetId(NULL, &id));
	must(cu.cuCtxDestroy_v2(a));
	b = other_context();
	must(cu.cuCtxGetId(b, &id_b));
	say_n("never-again", id_a != id_b && id != id_a);
	ask("version", cuCtxGetApiVersion(b, &version));
	say_n("version-is", version);
	ask("version-primary", cuCtxGetApiVersion(ctx, &version));
	say_n("primary-is", version);
	ask("nowhere", cuCtxGetId(b, NULL));
	ask("version-nowhere", cuCtxGetApiVersion(b, NULL));
}

PROGRAM(context_attach)
{
	CUcontext c = NULL, made;

	ask("attach", cuCtxAttach(&c, 0));
	ask("flags", cuCtxAttach(&c, 1));
	ask("detach-primary", cuCtxDetach(ctx));
	must(cu.cuCtxCreate_v2(&made, 0, 0));
	ask("attach-made", cuCtxAttach(&c, 0));
	say_n("is", c == made);
	ask("detach", cuCtxDetach(made));
	ask("detach-again", cuCtxDetach(made));
}

PROGRAM(context_work_ends_with_it)
{
	CUcontext c;
	uint32_t *p = pinned(1);
	CUfunction f;
	CUstream s;

	must(cu.cuCtxCreate_v2(&c, 0, 0));
	f = kernel_here("add");
	s = stream(0);
	for (int i = 0; i < 100; i++)
		must(launch(f, s, (void *[]){&(CUdeviceptr){at(p)}, &(uint32_t){1}}));
	ask("destroy", cuCtxDestroy_v2(c));
	say_n("done", *p);
}

PROGRAM(contexts_are_apart)
{
	CUcontext c = other_context();
	CUdeviceptr w = words(1);
	CUstream s = stream(0);

	hold(s);
	must(cu.cuCtxPushCurrent_v2(c));
	ask("synchronize", cuCtxSynchronize());
	ask("null", cuStreamSynchronize(NULL));
	must(cu.cuCtxPopCurrent_v2(&c));
	ask("held", cuStreamQuery(s));
	let_go();
	must(add(s, w, 1));
	settle();
	say_n("then", word(w));
}

PROGRAM(context_synchronize_of_another)
{
	CUcontext c = other_context();

	ask("other", cuCtxSynchronize_v2(c));
	ask("none", cuCtxSynchronize_v2(NULL));
	must(cu.cuCtxSetCurrent(NULL));
	ask("without-current", cuCtxSynchronize_v2(c));
	ask("device", cuCtxGetDevice_v2(&(CUdevice){0}, c));
}
