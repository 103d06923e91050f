/*
 * interpose.h - what the test programs of the library share: one tenant of one fake engine.
 */
#ifndef GSB_TESTS_INTERPOSE_H
#define GSB_TESTS_INTERPOSE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "tests/unit/fake_engine.h"
#include "tests/unit/tenant.h"

#define assert_cu(call)		 assert_int_equal(call, CUDA_SUCCESS)
#define assert_cu_is(want, call) assert_int_equal(call, want)

static struct cu cu;
static struct fake_engine *engine;
static CUcontext context;
static unsigned mark; /* log index at the start of the test */

/* One engine and one context for the program; each test has the log from `mark` on. */
static inline void start_tenant(void)
{
	if (!engine)
		engine = fake_engine_create();
	fake_engine_start(engine);
	cu_load(&cu);
	if (cu.cuInit(0) || cu.cuCtxCreate_v2(&context, 0, 0)) {
		fprintf(stderr, "no tenant\n");
		exit(1);
	}
}

/* All posts so far are in the log: a call's answer comes after them. */
static inline void flush(void)
{
	size_t a, b;

	assert_cu(cu.cuMemGetInfo_v2(&a, &b));
}

static inline unsigned count(enum gsb_rec_type type)
{
	flush();
	return fake_count(engine, mark, type);
}

static inline const struct fake_record *last(enum gsb_rec_type type)
{
	flush();
	return fake_last(engine, type);
}

#define last_body(TYPE, name) ((const struct gsb_rec_##name *)last(GSB_REC_##TYPE)->body)

/* Before each test: the same context is current, nothing is held, and what the one before has posted is in the log. */
static inline int set_up(void **state)
{
	engine->hold = false;
	cu.cuCtxSetCurrent(context);
	cu.cuCtxSynchronize();
	flush();
	mark = engine->n_logged;
	return 0;
}

static inline CUmodule load_module(void)
{
	CUmodule mod;

	assert_cu(cu.cuModuleLoadData(&mod, ".version 8.0\n.target sm_75\n.address_size 64\n"));
	return mod;
}

static inline CUfunction load_function(void)
{
	CUfunction fn;

	assert_cu(cu.cuModuleGetFunction(&fn, load_module(), FAKE_KERNEL));
	return fn;
}

/* A call in another thread, to be looked at while it waits. */
struct waiter {
	pthread_t thread;
	CUresult (*call)(void *arg);
	void *arg;
	CUresult result;
	_Atomic bool is_back;
};

static inline void *waiter_main(void *arg)
{
	struct waiter *w = arg;

	cu.cuCtxSetCurrent(context);
	w->result = w->call(w->arg);
	w->is_back = true;
	return NULL;
}

static inline void waiter_start(struct waiter *w, CUresult (*call)(void *), void *arg)
{
	*w = (struct waiter){.call = call, .arg = arg};
	assert_int_equal(pthread_create(&w->thread, NULL, waiter_main, w), 0);
}

/*
 * The engine takes what is in the ring, and then looks at who waits, again and again. Until it has made a look that began behind this
 * call: all that was posted before is taken by then, if it takes anything.
 */
static inline void await_look(void)
{
	unsigned n = engine->n_looks;

	while (engine->n_looks - n < 2)
		sched_yield();
}

/* A look of before may still count this thread for its last call. */
static inline void await_nobody_blocked(void)
{
	await_look();
	while (engine->n_blocked)
		sched_yield();
}

/* Until the engine has the record that the waiter waits for. */
static inline void await_record(enum gsb_rec_type type, unsigned n)
{
	while (fake_count(engine, mark, type) < n)
		sched_yield();
}

static inline CUresult waiter_join(struct waiter *w)
{
	pthread_join(w->thread, NULL);
	return w->result;
}

#endif
