/*
 * races.c - threads that make, use and end the same things at once: contexts, streams, events, modules, libraries and
 * memory. Every call gets an answer of the driver's, nobody is cut off, and at the end a context works. Run under
 * gsbrun by programs.sh.
 *
 *   races [N]   N times the usual number of calls
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tests/unit/tenant.h"

#define assert_cu(call) assert_int_equal(call, CUDA_SUCCESS)

#define N_THREADS 6
#define N_CALLS	  3000 /* of each thread, in each case */
#define N_SHARED  6    /* things of a kind that all threads use */
#define COPY_MAX  8192 /* bytes: some copies go in the record, some through staging */

static const char ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n.global .u32 word;\n"
	".visible .entry nothing()\n{\n\tret;\n}\n"
	".visible .entry store(.param .u64 p)\n{\n\t.reg .b64 %a;\n\tld.param.u64 %a, [p];\n"
	"\tst.global.u32 [%a], 7;\n\tret;\n}\n";

static struct cu cu;
static unsigned times = 1;

/* Handles that any thread may replace, use or end at any time. */
typedef _Atomic(void *) shared[N_SHARED];
static shared contexts, streams, events, modules, functions, libraries;
static _Atomic CUdeviceptr memory[N_SHARED];

/* What a driver may say of a thing that another thread is ending. */
static bool is_answer(CUresult r)
{
	switch (r) {
	case CUDA_SUCCESS:
	case CUDA_ERROR_NOT_READY:
	case CUDA_ERROR_INVALID_VALUE: /* of memory that is freed */
	case CUDA_ERROR_INVALID_HANDLE:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
	case CUDA_ERROR_NOT_FOUND: return true;
	default: return false;
	}
}

struct thread {
	pthread_t thread;
	unsigned index, seed;
	void (*step)(struct thread *t, unsigned what);
	unsigned n_steps;
	unsigned n_ok;	 /* calls that succeeded */
	CUresult bad;	 /* the first result that is none of the above */
	unsigned bad_at; /* the step that got it */
	unsigned now;
};

static void note(struct thread *t, CUresult r)
{
	t->n_ok += r == CUDA_SUCCESS;
	if (!is_answer(r) && !t->bad) {
		t->bad = r;
		t->bad_at = t->now;
	}
}

static unsigned pick(struct thread *t, unsigned n)
{
	return (unsigned)rand_r(&t->seed) % n;
}

#define any(t, things) (things[pick(t, N_SHARED)])

/* ---- what they do ---- */

static void make_stream(struct thread *t)
{
	CUstream s;
	CUresult r = cu.cuStreamCreate(&s, pick(t, 2));

	note(t, r);
	if (!r)
		s = atomic_exchange(&any(t, streams), s);
	if (!r && s)
		note(t, cu.cuStreamDestroy_v2(s));
}

static void make_event(struct thread *t)
{
	CUevent e;
	CUresult r = cu.cuEventCreate(&e, 0);

	note(t, r);
	if (!r)
		e = atomic_exchange(&any(t, events), e);
	if (!r && e)
		note(t, cu.cuEventDestroy_v2(e));
}

static void make_memory(struct thread *t)
{
	CUdeviceptr p;
	CUresult r = cu.cuMemAlloc_v2(&p, COPY_MAX);

	note(t, r);
	if (!r)
		p = atomic_exchange(&any(t, memory), p);
	if (!r && p)
		note(t, cu.cuMemFree_v2(p)); /* waits for whoever uses it */
}

/* Nobody else's: work of other streams would not be waited for. */
static void make_own_memory(struct thread *t)
{
	CUdeviceptr p;
	CUstream s = any(t, streams);
	CUresult r = cu.cuMemAllocAsync(&p, COPY_MAX, s);

	note(t, r);
	if (r)
		return;
	note(t, cu.cuMemsetD8Async(p, 1, COPY_MAX, s));
	note(t, cu.cuMemFreeAsync(p, s));
}

static void make_module(struct thread *t)
{
	CUmodule m;
	CUresult r = cu.cuModuleLoadData(&m, ptx);

	note(t, r);
	if (!r)
		m = atomic_exchange(&any(t, modules), m);
	if (!r && m)
		note(t, cu.cuModuleUnload(m));
}

static void make_library(struct thread *t)
{
	CUlibrary lib;
	CUresult r = cu.cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0);

	note(t, r);
	if (!r)
		lib = atomic_exchange(&any(t, libraries), lib);
	if (!r && lib)
		note(t, cu.cuLibraryUnload(lib));
}

static void find_function(struct thread *t)
{
	void *f = NULL;

	note(t, pick(t, 2) ? cu.cuModuleGetFunction((CUfunction *)&f, any(t, modules), "nothing")
			   : cu.cuLibraryGetKernel((CUkernel *)&f, any(t, libraries), "nothing"));
	if (f)
		any(t, functions) = f;
}

static void find_variable(struct thread *t)
{
	CUdeviceptr p;
	size_t n;

	note(t, cu.cuModuleGetGlobal_v2(&p, &n, any(t, modules), "word"));
}

static void launch(struct thread *t)
{
	CUfunction f = any(t, functions);
	CUstream s = pick(t, 3) ? any(t, streams) : NULL;

	note(t, cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
}

static void ask_function(struct thread *t)
{
	CUfunction f = any(t, functions);
	int n;

	note(t, pick(t, 2) ? cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 32, 0)
			   : cu.cuFuncSetAttribute(
				     f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024));
}

static void copy(struct thread *t)
{
	static uint8_t host[N_THREADS][COPY_MAX]; /* what lands there is nobody's business */
	uint8_t *mine = host[t->index];
	CUdeviceptr p = any(t, memory), q = any(t, memory);
	CUstream s = pick(t, 2) ? any(t, streams) : NULL;
	size_t n = pick(t, 2) ? 64 : COPY_MAX;

	switch (pick(t, 4)) {
	case 0: note(t, cu.cuMemcpyHtoDAsync_v2(p, mine, n, s)); break;
	case 1: note(t, cu.cuMemcpyDtoHAsync_v2(mine, p, n, s)); break;
	case 2: note(t, cu.cuMemcpyDtoDAsync_v2(p, q, n, s)); break;
	default: note(t, cu.cuMemsetD8Async(p, 1, n, s)); break;
	}
}

static void nothing(void *arg)
{
}

static void use_stream(struct thread *t)
{
	CUstream s = any(t, streams);
	CUevent e = any(t, events);

	switch (pick(t, 6)) {
	case 0: note(t, cu.cuEventRecord(e, s)); break;
	case 1: note(t, cu.cuStreamWaitEvent(s, e, 0)); break;
	case 2: note(t, cu.cuStreamQuery(s)); break;
	case 3: note(t, cu.cuEventQuery(e)); break;
	case 4: note(t, cu.cuStreamSynchronize(s)); break;
	default: note(t, cu.cuLaunchHostFunc(s, nothing, NULL)); break;
	}
}

static void ask_memory(struct thread *t)
{
	size_t a, b;

	note(t, cu.cuMemGetInfo_v2(&a, &b));
}

static void use(struct thread *t, unsigned what)
{
	switch (what % 12) {
	case 0: make_stream(t); break;
	case 1: make_event(t); break;
	case 2: make_memory(t); break;
	case 3: make_module(t); break;
	case 4: find_function(t); break;
	case 5: find_variable(t); break;
	case 6: ask_function(t); break;
	case 7: pick(t, 2) ? ask_memory(t) : make_own_memory(t); break;
	case 8: copy(t); break;
	case 9: use_stream(t); break;
	default: launch(t); break;
	}
}

/* ---- cases ---- */

/* Streams, events, memory and modules of one context that stays. */
static void step_things(struct thread *t, unsigned what)
{
	if (what == 3)
		make_library(t);
	else
		use(t, what);
}

/* One thread ends the primary context again and again, whoever uses it. */
static void step_primary(struct thread *t, unsigned what)
{
	CUcontext primary;

	if (t->index || what % 8)
		use(t, what);
	else
		note(t, cu.cuDevicePrimaryCtxReset_v2(0));
	if (cu.cuCtxSynchronize() != CUDA_ERROR_CONTEXT_IS_DESTROYED)
		return;
	note(t, cu.cuDevicePrimaryCtxRetain(&primary, 0));
	note(t, cu.cuDevicePrimaryCtxRelease_v2(0)); /* one reference for all of us stays */
}

/* Contexts are made and destroyed while they are current in other threads. */
static void step_contexts(struct thread *t, unsigned what)
{
	CUcontext ctx = NULL;

	switch (what % 10) {
	case 0:
		note(t, cu.cuCtxCreate_v2(&ctx, 0, 0));
		ctx = atomic_exchange(&any(t, contexts), ctx);
		if (ctx)
			note(t, cu.cuCtxDestroy_v2(ctx));
		break;
	case 1:
	case 2: note(t, cu.cuCtxSetCurrent(any(t, contexts))); break;
	case 3: note(t, cu.cuCtxSynchronize()); break;
	default: use(t, pick(t, 24)); break;
	}
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	CUcontext primary;

	note(t, cu.cuDevicePrimaryCtxRetain(&primary, 0));
	note(t, cu.cuCtxSetCurrent(primary));
	for (t->now = 0; t->now < t->n_steps && !t->bad; t->now++)
		t->step(t, pick(t, 24));
	return NULL;
}

static void forget(shared things)
{
	for (int i = 0; i < N_SHARED; i++)
		things[i] = NULL;
}

/* All threads do so many steps; every answer is one, most are success, and nobody was cut off. */
static void race(void (*step)(struct thread *t, unsigned what), unsigned n_steps)
{
	struct thread threads[N_THREADS] = {0};
	unsigned n_ok = 0;

	for (unsigned i = 0; i < N_THREADS; i++) {
		threads[i].index = i;
		threads[i].seed = i + 4711;
		threads[i].step = step;
		threads[i].n_steps = n_steps * times;
		assert_int_equal(pthread_create(&threads[i].thread, NULL, thread_main, &threads[i]),
				 0);
	}
	for (unsigned i = 0; i < N_THREADS; i++)
		pthread_join(threads[i].thread, NULL);
	for (unsigned i = 0; i < N_THREADS; i++) {
		if (threads[i].bad)
			fail_msg("thread %u, step %u: result %d", i, threads[i].bad_at,
				 threads[i].bad);
		n_ok += threads[i].n_ok;
	}
	assert_true(n_ok > N_THREADS * n_steps * times / 4);
}

static void test_races_of_streams_events_memory_and_modules_are_answered(void **state)
{
	race(step_things, N_CALLS);
}

static void test_races_with_the_end_of_the_primary_context_are_answered(void **state)
{
	race(step_primary, N_CALLS);
}

static void test_races_with_contexts_made_and_destroyed_are_answered(void **state)
{
	race(step_contexts, N_CALLS);
}

/* A context works: after every case. */
static int check_alive(void **state)
{
	CUdeviceptr p;
	void *params[] = {&p};
	uint32_t value = 0;
	CUmodule module;
	CUfunction f;
	CUcontext ctx;

	forget(streams);
	forget(events);
	forget(modules);
	forget(functions);
	forget(libraries);
	for (int i = 0; i < N_SHARED; i++)
		memory[i] = 0;
	assert_cu(cu.cuCtxCreate_v2(&ctx, 0, 0));
	assert_cu(cu.cuModuleLoadData(&module, ptx));
	assert_cu(cu.cuModuleGetFunction(&f, module, "store"));
	assert_cu(cu.cuMemAlloc_v2(&p, 4));
	assert_cu(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	assert_cu(cu.cuMemcpyDtoH_v2(&value, p, 4));
	assert_int_equal(value, 7);
	assert_cu(cu.cuCtxDestroy_v2(ctx));
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			test_races_of_streams_events_memory_and_modules_are_answered, check_alive),
		cmocka_unit_test_teardown(
			test_races_with_the_end_of_the_primary_context_are_answered, check_alive),
		cmocka_unit_test_teardown(test_races_with_contexts_made_and_destroyed_are_answered,
					  check_alive),
	};

	if (argc > 1 && *argv[1])
		times = (unsigned)atoi(argv[1]);
	cu_load(&cu);
	if (cu.cuInit(0))
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
