/*
 * shared_events.c - two programs that have the same events: what one records the other waits for. They talk by pipes, as such programs do,
 * and see the order of their work by host functions, which write to memory that both have.
 *
 *   shared_events MODE   exit status 0: all was as it should be; else a line says what was not
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tests/unit/tenant.h"

#define N_ROUNDS 400
#define N_AHEAD	 16 /* rounds after which both wait for their work */

#define check(what)                                               \
	do {                                                      \
		if (!(what)) {                                    \
			printf("line %d: %s\n", __LINE__, #what); \
			fflush(stdout);                           \
			_exit(1);                                 \
		}                                                 \
	} while (0)
#define must(call)                                                      \
	do {                                                            \
		CUresult must_result = (call);                          \
		if (must_result) {                                      \
			printf("line %d: %d\n", __LINE__, must_result); \
			fflush(stdout);                                 \
			_exit(1);                                       \
		}                                                       \
	} while (0)

/* It runs for n turns of a loop. */
static const char ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	".visible .entry spin(.param .u64 n)\n{\n\t.reg .b64 %i;\n\t.reg .pred %p;\n"
	"\tld.param.u64 %i, [n];\nagain:\n\tsub.u64 %i, %i, 1;\n\tsetp.ne.u64 %p, %i, 0;\n"
	"\t@%p bra again;\n\tret;\n}\n";

/* Of one side. */
struct side {
	struct cu cu;
	CUstream stream;
	CUfunction spin;
	int in, out; /* pipes from and to the other */
};

static struct board {
	_Atomic unsigned done[2]; /* the round whose work each side has done */
	_Atomic unsigned n_wrong;
} * board;

static struct side me;

/* ---- talk ---- */

static void say(const void *what, size_t n)
{
	check(write(me.out, what, n) == (ssize_t)n);
}

static void hear(void *what, size_t n)
{
	check(read(me.in, what, n) == (ssize_t)n);
}

static void nod(void)
{
	say("", 1);
}

static void await_nod(void)
{
	char c;

	hear(&c, 1);
}

/* ---- work ---- */

static void begin(void)
{
	CUcontext ctx;
	CUmodule module;

	cu_load(&me.cu);
	must(me.cu.cuInit(0));
	must(me.cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	must(me.cu.cuCtxSetCurrent(ctx));
	must(me.cu.cuStreamCreate(&me.stream, CU_STREAM_NON_BLOCKING));
	must(me.cu.cuModuleLoadData(&module, ptx));
	must(me.cu.cuModuleGetFunction(&me.spin, module, "spin"));
}

static void spin(uint64_t n)
{
	void *params[] = {&n};

	must(me.cu.cuLaunchKernel(me.spin, 1, 1, 1, 32, 1, 1, 0, me.stream, params, NULL));
}

static CUevent make_event(void)
{
	CUipcEventHandle handle;
	CUevent e;

	must(me.cu.cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	must(me.cu.cuIpcGetEventHandle(&handle, e));
	say(&handle, sizeof(handle));
	return e;
}

static CUevent open_event(void)
{
	CUipcEventHandle handle;
	CUevent e;

	hear(&handle, sizeof(handle));
	must(me.cu.cuIpcOpenEventHandle(&e, handle));
	return e;
}

static void do_round(void *round)
{
	board->done[0] = (unsigned)(uintptr_t)round;
}

static void do_answer(void *round)
{
	board->n_wrong += board->done[0] != (unsigned)(uintptr_t)round;
	board->done[1] = (unsigned)(uintptr_t)round;
}

static void see_answer(void *round)
{
	board->n_wrong += board->done[1] != (unsigned)(uintptr_t)round;
}

static void host(CUhostFn fn, unsigned round)
{
	must(me.cu.cuLaunchHostFunc(me.stream, fn, (void *)(uintptr_t)round));
}

static void record(CUevent e)
{
	must(me.cu.cuEventRecord(e, me.stream));
}

static void wait_for(CUevent e)
{
	must(me.cu.cuStreamWaitEvent(me.stream, e, 0));
}

static void synchronize(void)
{
	must(me.cu.cuStreamSynchronize(me.stream));
}

/* ---- rounds: each does its part when the other has done its own; nobody's host waits for a device but now and then ---- */

static void rounds_a(void)
{
	CUevent mine = make_event(), other = open_event();

	for (unsigned i = 1; i <= N_ROUNDS; i++) {
		spin(100 + i % 7 * 50);
		host(do_round, i);
		record(mine);
		nod();
		await_nod();
		wait_for(other);
		host(see_answer, i);
		if (i % N_AHEAD == 0)
			synchronize();
	}
	synchronize();
}

static void rounds_b(void)
{
	CUevent other = open_event(), mine = make_event();

	for (unsigned i = 1; i <= N_ROUNDS; i++) {
		await_nod();
		wait_for(other);
		spin(100 + i % 5 * 50);
		host(do_answer, i);
		record(mine);
		nod();
		if (i % N_AHEAD == 0)
			synchronize();
	}
	synchronize();
}

/* ---- one-event: the same, by one event that both record ---- */

static void one_event_a(void)
{
	CUevent e = make_event();

	for (unsigned i = 1; i <= N_ROUNDS; i++) {
		spin(100 + i % 7 * 50);
		host(do_round, i);
		record(e);
		nod();
		await_nod();
		wait_for(e);
		host(see_answer, i);
		if (i % N_AHEAD == 0)
			synchronize();
	}
	synchronize();
}

static void one_event_b(void)
{
	CUevent e = open_event();

	for (unsigned i = 1; i <= N_ROUNDS; i++) {
		await_nod();
		wait_for(e);
		spin(100 + i % 5 * 50);
		host(do_answer, i);
		record(e);
		nod();
		if (i % N_AHEAD == 0)
			synchronize();
	}
	synchronize();
}

/* ---- ask: the other asks and waits without a stream ---- */

static void ask_a(void)
{
	CUevent e = make_event();

	await_nod();
	for (unsigned i = 1; i <= 3; i++) {
		spin(20000);
		host(do_round, i);
		record(e);
		nod();
		synchronize();
		await_nod();
	}
}

static void ask_b(void)
{
	CUevent e = open_event();
	unsigned n = 0;
	float ms;

	must(me.cu.cuEventQuery(e));
	must(me.cu.cuEventSynchronize(e));
	nod();
	await_nod();
	must(me.cu.cuEventSynchronize(e));
	check(board->done[0] == 1);
	nod();
	await_nod();
	while (me.cu.cuEventQuery(e) == CUDA_ERROR_NOT_READY)
		n++;
	check(board->done[0] == 2);
	check(n < 100); /* one that fails waits for what comes next */
	nod();
	await_nod();
	wait_for(e);
	synchronize();
	check(board->done[0] == 3);
	record(e);
	must(me.cu.cuEventSynchronize(e));
	check(me.cu.cuEventElapsedTime(&ms, e, e) == CUDA_ERROR_INVALID_HANDLE);
	nod();
}

/* ---- destroyed: who made the event is done with it before the work is ---- */

static void destroyed_a(void)
{
	CUevent e = make_event();

	await_nod();
	spin(20000);
	host(do_round, 1);
	record(e);
	must(me.cu.cuEventDestroy(e));
	nod();
	synchronize();
	await_nod();
}

static void destroyed_b(void)
{
	CUevent e = open_event();

	nod();
	await_nod();
	wait_for(e);
	synchronize();
	check(board->done[0] == 1);
	spin(1000);
	record(e);
	must(me.cu.cuEventSynchronize(e));
	must(me.cu.cuEventQuery(e));
	must(me.cu.cuEventDestroy(e));
	nod();
}

/* ---- killed: who records is no more before the work is done ---- */

static void killed_a(void)
{
	CUevent e = make_event();

	await_nod();
	spin(1ull << 40);
	host(do_round, 1);
	record(e);
	nod();
	must(me.cu.cuEventSynchronize(e));
}

static void killed_b(void)
{
	CUevent e = open_event();

	nod();
	await_nod();
	wait_for(e);
	check(me.cu.cuEventQuery(e) == CUDA_ERROR_NOT_READY);
	puts("waiting");
	fflush(stdout);
	must(me.cu.cuEventSynchronize(e));
	synchronize();
	check(board->done[0] == 0);
	record(e);
	must(me.cu.cuEventSynchronize(e));
}

/* ---- captured: graphs whose nodes are about events that programs share ---- */

static void captured_a(void)
{
	CUevent e = make_event();
	CUgraphExec exec;
	CUgraph graph;

	await_nod();
	must(me.cu.cuStreamBeginCapture_v2(me.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	spin(20000);
	host(do_round, 1);
	must(me.cu.cuEventRecordWithFlags(e, me.stream, CU_EVENT_RECORD_EXTERNAL));
	must(me.cu.cuStreamEndCapture(me.stream, &graph));
	must(me.cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
	must(me.cu.cuGraphLaunch(exec, me.stream));
	nod();
	synchronize();
	await_nod();
}

static void captured_b(void)
{
	CUevent e = open_event();
	CUgraphExec exec;
	CUgraph graph;

	must(me.cu.cuStreamBeginCapture_v2(me.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	check(me.cu.cuStreamWaitEvent(me.stream, e, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	check(me.cu.cuStreamEndCapture(me.stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	must(me.cu.cuStreamBeginCapture_v2(me.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	must(me.cu.cuStreamWaitEvent(me.stream, e, CU_EVENT_WAIT_EXTERNAL));
	host(do_answer, 1);
	must(me.cu.cuStreamEndCapture(me.stream, &graph));
	must(me.cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
	nod();
	await_nod();
	must(me.cu.cuGraphLaunch(exec, me.stream));
	synchronize();
	nod();
}

/* ---- runtime: the same by the runtime that stands in for NVIDIA's ---- */

static void *runtime(const char *name)
{
	void *library = dlopen("libcudart.so.12", RTLD_NOW), *fn;

	check(library);
	fn = dlsym(library, name);
	check(fn);
	return fn;
}

static void runtime_a(void)
{
	int (*create)(CUevent * e, unsigned flags) = runtime("cudaEventCreateWithFlags");
	int (*get)(CUipcEventHandle * h, CUevent e) = runtime("cudaIpcGetEventHandle");
	CUipcEventHandle handle;
	CUevent e;

	check(create(&e, CU_EVENT_INTERPROCESS) == 1);
	check(!create(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	check(!get(&handle, e));
	spin(20000);
	host(do_round, 1);
	record(e);
	say(&handle, sizeof(handle));
	synchronize();
	await_nod();
}

static void runtime_b(void)
{
	int (*open)(CUevent * e, CUipcEventHandle h) = runtime("cudaIpcOpenEventHandle");
	CUipcEventHandle handle;
	CUevent e;

	hear(&handle, sizeof(handle));
	check(!open(&e, handle));
	wait_for(e);
	host(do_answer, 1);
	synchronize();
	handle.reserved[30] ^= 1;
	check(open(&e, handle) == 205);
	nod();
}

/* ---- errors: what is no handle, and what has none ---- */

static void errors_a(void)
{
	CUevent e = make_event(), plain, other;
	CUipcEventHandle handle, rubbish;
	CUevent timed;

	memset(&rubbish, 7, sizeof(rubbish));
	must(me.cu.cuIpcGetEventHandle(&handle, e));
	must(me.cu.cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
	check(me.cu.cuEventCreate(&timed, CU_EVENT_INTERPROCESS) == CUDA_ERROR_INVALID_VALUE);
	check(me.cu.cuIpcGetEventHandle(&handle, plain) == CUDA_ERROR_INVALID_HANDLE);
	check(me.cu.cuIpcGetEventHandle(&handle, NULL) == CUDA_ERROR_INVALID_VALUE);
	check(me.cu.cuIpcGetEventHandle(NULL, e) == CUDA_ERROR_INVALID_VALUE);
	check(me.cu.cuIpcOpenEventHandle(&other, handle) == CUDA_ERROR_INVALID_CONTEXT);
	check(me.cu.cuIpcOpenEventHandle(&other, rubbish) == CUDA_ERROR_MAP_FAILED);
	check(me.cu.cuIpcOpenEventHandle(NULL, handle) == CUDA_ERROR_INVALID_VALUE);
	await_nod();
	must(me.cu.cuEventDestroy(e));
	/* what the engine answers is behind that: then it knows */
	must(me.cu.cuEventCreate(&other, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	must(me.cu.cuIpcGetEventHandle(&handle, other));
	nod();
	await_nod();
}

static void errors_b(void)
{
	CUipcEventHandle handle, forged;
	CUevent e, again, other;

	hear(&handle, sizeof(handle));
	must(me.cu.cuIpcOpenEventHandle(&e, handle));
	must(me.cu.cuIpcOpenEventHandle(&again, handle));
	check(e != again);
	forged = handle;
	forged.reserved[30] ^= 1; /* of the secret */
	check(me.cu.cuIpcOpenEventHandle(&other, forged) == CUDA_ERROR_MAP_FAILED);
	must(me.cu.cuEventDestroy(again));
	must(me.cu.cuEventDestroy(e));
	nod();
	await_nod();
	check(me.cu.cuIpcOpenEventHandle(&other, handle) == CUDA_ERROR_MAP_FAILED);
	nod();
}

/* ---- */

static const struct mode {
	const char *name;
	void (*a)(void), (*b)(void);
	bool is_killed; /* a: when b has said that it waits */
} modes[] = {
	{"rounds", rounds_a, rounds_b},
	{"one-event", one_event_a, one_event_b},
	{"ask", ask_a, ask_b},
	{"destroyed", destroyed_a, destroyed_b},
	{"killed", killed_a, killed_b, true},
	{"captured", captured_a, captured_b},
	{"runtime", runtime_a, runtime_b},
	{"errors", errors_a, errors_b},
};

/* Each end of a pipe is one process's, so that who ends is noticed. */
static pid_t start(void (*run)(void), const int in[2], const int out[2])
{
	pid_t pid = fork();

	if (pid)
		return pid;
	close(in[1]);
	close(out[0]);
	me.in = in[0];
	me.out = out[1];
	begin();
	run();
	_exit(0);
}

static int run(const struct mode *m)
{
	int to_a[2], to_b[2], status_a, status_b;
	pid_t a, b;

	check(!pipe(to_a) && !pipe(to_b));
	a = start(m->a, to_a, to_b);
	b = start(m->b, to_b, to_a);
	for (int i = 0; i < 2; i++) {
		close(to_a[i]);
		close(to_b[i]);
	}
	if (m->is_killed)
		printf("%d\n", a);
	fflush(stdout);
	waitpid(a, &status_a, 0);
	waitpid(b, &status_b, 0);
	if (board->n_wrong)
		printf("%u times one did not wait for the other\n", board->n_wrong);
	return (status_a && !m->is_killed) || status_b || board->n_wrong;
}

int main(int argc, char **argv)
{
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	for (unsigned i = 0; argc == 2 && i < GSB_ARRAY_LEN(modes); i++)
		if (!strcmp(argv[1], modes[i].name))
			return run(&modes[i]);
	return 2;
}
