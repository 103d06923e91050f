/*
 * callbacks.c - functions of the host in a stream: when they run, what may be called there, and what they see of errors.
 */
#include "rules.h"

struct seen {
	CUstream stream;
	CUresult status, called;
	int n;
	uint32_t *word, was;
};

static void look_at_word(struct seen *seen)
{
	if (seen->word)
		seen->was = *seen->word;
	seen->n++;
}

static void called(CUstream s, CUresult status, void *data)
{
	struct seen *seen = data;

	seen->stream = s;
	seen->status = status;
	look_at_word(seen);
}

static void function(void *data)
{
	look_at_word(data);
}

static void releases(void *data)
{
	(void)data;
	let_go();
}

PROGRAM(callback)
{
	struct seen seen = {.status = 9};
	CUstream s = stream(0);

	hold(s);
	ask("add", cuStreamAddCallback(s, called, &seen, 0));
	say_n("held", __atomic_load_n(&seen.n, __ATOMIC_ACQUIRE));
	let_go();
	ask("synchronize", cuStreamSynchronize(s));
	say_n("n", seen.n);
	say("status", seen.status);
	say_n("its-stream", seen.stream == s);
	ask("flags", cuStreamAddCallback(s, called, &seen, 1));
	ask("no-function", cuStreamAddCallback(s, NULL, &seen, 0));
}

PROGRAM(callback_stream_handle)
{
	struct seen seen = {0};

	must(cu.cuStreamAddCallback(NULL, called, &seen, 0));
	settle();
	say_n("null-as", (long long)(uintptr_t)seen.stream);
	must(cu.cuStreamAddCallback(CU_STREAM_LEGACY, called, &seen, 0));
	settle();
	say_n("legacy-as", (long long)(uintptr_t)seen.stream);
	must(cu.cuStreamAddCallback(CU_STREAM_PER_THREAD, called, &seen, 0));
	settle();
	say_n("per-thread-as", (long long)(uintptr_t)seen.stream);
	must(cu.cuStreamAddCallback_ptsz(NULL, called, &seen, 0));
	settle();
	say_n("ptsz-null-as", (long long)(uintptr_t)seen.stream);
}

PROGRAM(host_function)
{
	struct seen seen = {.word = pinned(1)};
	CUstream s = stream(0);

	must(add(s, at(seen.word), 3));
	ask("launch", cuLaunchHostFunc(s, function, &seen));
	must(add(s, at(seen.word), 4));
	ask("synchronize", cuStreamSynchronize(s));
	say_n("was", seen.was);
	say_n("is", *seen.word);
	ask("no-function", cuLaunchHostFunc(s, NULL, &seen));
}

/* What is behind a function waits for its end. */
PROGRAM(host_function_holds_its_stream)
{
	struct seen seen = {.word = pinned(1)};
	CUstream s = stream(0), other = stream(0);

	must(cu.cuLaunchHostFunc(s, releases, NULL));
	hold(other);
	must(cu.cuLaunchHostFunc(s, releases, NULL));
	must(add(s, at(seen.word), 1));
	ask("stream", cuStreamSynchronize(s));
	ask("other", cuStreamSynchronize(other));
	say_n("word", *seen.word);
}

/* Calls of the driver are not allowed there. */
static void calls(void *data)
{
	struct seen *seen = data;
	CUdeviceptr w;

	seen->called = cu.cuMemAlloc_v2(&w, 4);
}

static void calls_back(CUstream s, CUresult status, void *data)
{
	struct seen *seen = data;

	(void)s, (void)status;
	seen->called = cu.cuStreamQuery(NULL);
}

PROGRAM(calls_in_host_function)
{
	struct seen seen = {.called = 9};

	must(cu.cuLaunchHostFunc(stream(0), calls, &seen));
	settle();
	say("alloc", seen.called);
	seen.called = 9;
	must(cu.cuStreamAddCallback(stream(0), calls_back, &seen, 0));
	settle();
	say("query-in-callback", seen.called);
}

static void queries(void *data)
{
	struct seen *seen = data;
	CUcontext current;

	seen->called = cu.cuCtxGetCurrent(&current);
	seen->was = current != NULL;
}

PROGRAM(context_in_host_function)
{
	struct seen seen = {.called = 9};

	must(cu.cuLaunchHostFunc(stream(0), queries, &seen));
	settle();
	say("current", seen.called);
	say_n("has-one", seen.was);
}

PROGRAM(host_functions_in_order)
{
	uint32_t *w = pinned(1);
	struct seen seen[100];
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	int wrong = 0;

	for (int i = 0; i < 100; i++) {
		seen[i] = (struct seen){.word = w};
		must(add(s, at(w), 1));
		must(cu.cuLaunchHostFunc(s, function, &seen[i]));
	}
	settle();
	for (int i = 0; i < 100; i++)
		wrong += seen[i].was != (uint32_t)i + 1 || seen[i].n != 1;
	say_n("wrong", wrong);
}

PROGRAM(legacy_waits_for_host_function)
{
	struct seen seen = {.word = pinned(1)};
	CUstream s = stream(CU_STREAM_DEFAULT);

	hold(s);
	must(cu.cuLaunchHostFunc(s, function, &seen));
	must(add(NULL, at(seen.word), 1));
	ask("query", cuStreamQuery(NULL));
	let_go();
	settle();
	say_n("before-the-kernel", seen.was == 0);
}

PROGRAM(event_behind_host_function)
{
	struct seen seen = {0};
	CUevent e = event(0);
	CUstream s = stream(0);

	hold(s);
	must(cu.cuLaunchHostFunc(s, function, &seen));
	must(cu.cuEventRecord(e, s));
	let_go();
	ask("synchronize", cuEventSynchronize(e));
	say_n("ran", seen.n);
}

PROGRAM(callbacks_after_fault)
{
	struct seen back = {.status = 9}, func = {0};
	CUstream s = stream(0);

	must(store(s, 8));
	must(cu.cuStreamAddCallback(s, called, &back, 0));
	must(cu.cuLaunchHostFunc(s, function, &func));
	ask("synchronize", cuStreamSynchronize(s));
	say_n("function-ran", func.n);
}
