/*
 * state.c - see state.h and fake.h.
 */
#include "tests/fake/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "device/cuda/threads.h"

#define THREAD_NAME_BYTES 16

struct fake_call {
	const char *name;
	unsigned threads;	   /* that may make it */
	unsigned n_calls, fail_at; /* of n_calls; 0: never */
	CUresult result;
	void (*seen)(void *arg);
	void *arg;
};

static struct fake_call calls[] = {
#define GSB_DRIVER(name, parameters, threads) {#name, threads, 0, 0, CUDA_SUCCESS, NULL, NULL},
#include "device/cuda/driver.def"
};

struct fake fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static struct fake_call *find_call(const char *name)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(calls); i++)
		if (!strcmp(calls[i].name, name))
			return &calls[i];
	abort(); /* a test names what there is not */
}

/* ---- calls ---- */

/* What has no name of the engine's is a test, which plays the engine and the threads that this makes. */
static unsigned role_of(const char *thread)
{
	const unsigned engine = CUDA_START | CUDA_ENGINE | CUDA_RARELY;
	static const struct {
		const char *name;
		unsigned role;
	} helpers[] = {
		{GSB_LOADER_NAME, CUDA_LOADER},
		{GSB_PINNER_NAME, CUDA_PINNER},
		{CUDA_UNLOADER_NAME, CUDA_UNLOADER},
		{CUDA_REGISTRAR_NAME, CUDA_REGISTRAR},
		{"gsb-engine", engine},
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(helpers); i++)
		if (!strcmp(thread, helpers[i].name))
			return helpers[i].role;
	return engine | CUDA_LOADER | CUDA_PINNER;
}

/* A thread that makes what is another's ends the process: no test passes by that. */
static void check_thread(const struct fake_call *c)
{
	char name[THREAD_NAME_BYTES] = "";

	pthread_getname_np(pthread_self(), name, sizeof(name));
	if (c->threads & role_of(name))
		return;
	fprintf(stderr,
		"fake driver: thread %s makes %s: device/cuda/driver.def gives it to others\n",
		name, c->name);
	abort();
}

static CUresult count(const char *name)
{
	struct fake_call *c = find_call(name);

	check_thread(c);
	if (c->seen)
		c->seen(c->arg);
	c->n_calls++;
	if (c->n_calls == c->fail_at)
		return c->result;
	return CUDA_SUCCESS;
}

void fake_lock(void)
{
	pthread_mutex_lock(&fake.lock);
}

CUresult fake_leave(CUresult result)
{
	pthread_mutex_unlock(&fake.lock);
	return result;
}

CUresult fake_enter(const char *name)
{
	CUresult result;

	fake_lock();
	result = count(name);
	if (!result)
		result = fake.lost;
	return result ? fake_leave(result) : CUDA_SUCCESS;
}

CUresult fake_leave_anyway(const char *name, CUresult result)
{
	CUresult injected = count(name);

	if (injected)
		result = injected;
	else if (!result)
		result = fake.lost;
	return fake_leave(result);
}

/* ---- objects ---- */

struct fake_object *fake_find(enum fake_kind kind, uint64_t at)
{
	struct fake_object o = {.key = {kind, at}}, *found;

	HASH_FIND(hh, fake.objects, &o.key, sizeof(o.key), found);
	return found;
}

void fake_add(enum fake_kind kind, uint64_t at, uint64_t size)
{
	struct fake_object *o = calloc(1, sizeof(*o));

	if (!o)
		abort();
	o->key.kind = kind;
	o->key.at = at;
	o->size = size;
	HASH_ADD(hh, fake.objects, key, sizeof(o->key), o);
}

CUresult fake_remove(enum fake_kind kind, uint64_t at)
{
	struct fake_object *o = fake_find(kind, at);

	if (!o)
		return CUDA_ERROR_INVALID_HANDLE;
	HASH_DELETE(hh, fake.objects, o);
	free(o);
	return CUDA_SUCCESS;
}

bool fake_within(enum fake_kind kind, uint64_t at, uint64_t size)
{
	for (struct fake_object *o = fake.objects; o; o = o->hh.next)
		if (o->key.kind == (uint64_t)kind && at - o->key.at < o->size &&
		    size <= o->size - (at - o->key.at))
			return true;
	return false;
}

bool fake_cuts(enum fake_kind kind, uint64_t at, uint64_t size)
{
	for (struct fake_object *o = fake.objects; o; o = o->hh.next)
		if (o->key.kind == (uint64_t)kind && at < o->key.at + o->size &&
		    o->key.at < at + size && (at < o->key.at || at + size > o->key.at + o->size))
			return true;
	return false;
}

/* ---- what tests ask ---- */

void fake_fail(const char *name, unsigned nth, CUresult result)
{
	struct fake_call *c;

	fake_lock();
	c = find_call(name);
	c->fail_at = c->n_calls + nth;
	c->result = result;
	fake_leave(CUDA_SUCCESS);
}

void fake_watch(const char *name, void (*seen)(void *arg), void *arg)
{
	struct fake_call *c;

	fake_lock();
	c = find_call(name);
	c->seen = seen;
	c->arg = arg;
	fake_leave(CUDA_SUCCESS);
}

unsigned fake_calls(const char *name)
{
	unsigned n;

	fake_lock();
	n = find_call(name)->n_calls;
	fake_leave(CUDA_SUCCESS);
	return n;
}

unsigned fake_live(enum fake_kind kind)
{
	unsigned n = 0;

	fake_lock();
	for (struct fake_object *o = fake.objects; o; o = o->hh.next)
		n += o->key.kind == (uint64_t)kind;
	fake_leave(CUDA_SUCCESS);
	return n;
}

unsigned fake_early(void)
{
	unsigned n;

	fake_lock();
	n = fake.n_early;
	fake_leave(CUDA_SUCCESS);
	return n;
}

void fake_no_descriptors(void)
{
	fake_lock();
	fake.no_descriptors = true;
	fake_leave(CUDA_SUCCESS);
}

bool fake_reset(void)
{
	struct fake_object *o, *next;
	bool clean = !fake.objects;

	fake_run(true);
	fake_work_stop();
	fake_lock();
	HASH_ITER (hh, fake.objects, o, next) {
		HASH_DELETE(hh, fake.objects, o);
		free(o);
	}
	for (unsigned i = 0; i < GSB_ARRAY_LEN(calls); i++)
		calls[i] = (struct fake_call){.name = calls[i].name, .threads = calls[i].threads};
	fake.n_early = 0;
	fake.no_descriptors = false;
	fake.heap_bytes = 0;
	fake.lost = fake.told_next = CUDA_SUCCESS;
	fake_leave(CUDA_SUCCESS);
	return clean;
}
