/*
 * provoke.c - a tenant that does one thing that goes wrong, and its neighbour that must not notice: plain programs of the driver's
 * API, so that they run under the broker, natively and under MPS alike. tests/gpu/faults runs them.
 *
 *   provoke steady              verified rounds until standard input ends: copy, kernel, copy back
 *   provoke once                one such round
 *   provoke KIND [N]            see kinds[]; N: ms of a kernel (slow), MiB of a piece (hog)
 *
 * Each line begins with the ms of the machine's monotonic clock, so that lines of several processes compare:
 *
 *   MS ready | MS begins | MS CALL RESULT | MS rounds N wrong N longest MS result RESULT
 *
 * Exit status: 0 all was said, whatever the calls returned; 1 a result is wrong; 2 the set-up failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "tests/unit/tenant.h"

#define N_WORDS	   65536u
#define N_BYTES	   (N_WORDS * sizeof(uint32_t))
#define N_PIECES   4096
#define N_POSTED   20000
#define COPY_BYTES (64u << 20)
#define N_COPIES   16
#define FAR	   (1ull << 35) /* behind an allocation: nobody's */
#define FIRST_FD   3

/* `fill` numbers words; `spin` says that it runs and does so for n ns; `hit` writes where it is told; `halt` and `check` give up. */
static const char ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
	".global .align 1 .b8 what[6] = {110, 32, 62, 32, 50, 0};\n"
	".visible .entry fill(.param .u64 p, .param .u32 n, .param .u32 v)\n{\n"
	"\t.reg .pred %p;\n\t.reg .b32 %r<5>;\n\t.reg .b64 %a, %o;\n"
	"\tld.param.u64 %a, [p];\n\tld.param.u32 %r0, [n];\n\tld.param.u32 %r1, [v];\n"
	"\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n\tmov.u32 %r4, %tid.x;\n"
	"\tmad.lo.u32 %r2, %r2, %r3, %r4;\n\tsetp.ge.u32 %p, %r2, %r0;\n\t@%p ret;\n"
	"\tmul.wide.u32 %o, %r2, 4;\n\tadd.u64 %a, %a, %o;\n\tld.global.u32 %r3, [%a];\n"
	"\tadd.u32 %r3, %r3, %r1;\n\tadd.u32 %r3, %r3, %r2;\n\tst.global.u32 [%a], %r3;\n\tret;\n}\n"
	".visible .entry spin(.param .u64 p, .param .u64 n)\n{\n"
	"\t.reg .pred %p;\n\t.reg .b64 %a, %n, %t, %u;\n"
	"\tld.param.u64 %a, [p];\n\tld.param.u64 %n, [n];\n\tst.volatile.global.u32 [%a], 1;\n"
	"\tmov.u64 %t, %globaltimer;\nL:\n\tmov.u64 %u, %globaltimer;\n\tsub.u64 %u, %u, %t;\n"
	"\tsetp.lt.u64 %p, %u, %n;\n\t@%p bra L;\n\tret;\n}\n"
	".visible .entry hit(.param .u64 p)\n{\n\t.reg .b64 %a;\n\tld.param.u64 %a, [p];\n"
	"\tst.global.u32 [%a], 1;\n\tret;\n}\n"
	".visible .entry halt()\n{\n\ttrap;\n\tret;\n}\n"
	".visible .entry check()\n{\n\t.reg .b64 %a;\n\t.param .b64 a;\n\t.param .b64 b;\n\t.param .b32 c;\n"
	"\t.param .b64 d;\n\t.param .b64 e;\n\tmov.u64 %a, what;\n\tcvta.global.u64 %a, %a;\n"
	"\tst.param.b64 [a], %a;\n\tst.param.b64 [b], %a;\n\tst.param.b32 [c], 17;\n"
	"\tst.param.b64 [d], %a;\n\tst.param.b64 [e], 1;\n"
	"\tcall.uni __assertfail, (a, b, c, d, e);\n\tret;\n}\n";

static struct cu cu;
static CUcontext ctx;
static CUmodule module;
static CUdeviceptr words;
static uint32_t *host;	   /* N_WORDS */
static volatile int *flag; /* pinned, for `spin` */

static double now_ms(void)
{
	return (double)gsb_clock_ns() / 1e6;
}

static const char *name_of(CUresult r)
{
	const char *name = "?";

	cu.cuGetErrorName(r, &name);
	return name;
}

static void say(const char *what)
{
	printf("%.1f %s\n", now_ms(), what);
	fflush(stdout);
}

static CUresult say_result(const char *call, CUresult r)
{
	printf("%.1f %s %s\n", now_ms(), call, name_of(r));
	fflush(stdout);
	return r;
}

static void need(const char *call, CUresult r)
{
	if (!r)
		return;
	say_result(call, r);
	exit(2);
}

static void set_up(void)
{
	cu_load(&cu);
	need("cuInit", cu.cuInit(0));
	need("cuDevicePrimaryCtxRetain", cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	need("cuCtxSetCurrent", cu.cuCtxSetCurrent(ctx));
	need("cuModuleLoadData", cu.cuModuleLoadData(&module, ptx));
	need("cuMemAlloc", cu.cuMemAlloc_v2(&words, N_BYTES));
	need("cuMemHostAlloc", cu.cuMemHostAlloc((void **)&flag, 4096, 0));
	host = malloc(N_BYTES);
	if (!host)
		exit(2);
}

static CUresult launch(const char *kernel, unsigned blocks, unsigned threads, void **params)
{
	CUfunction f;
	CUresult r = cu.cuModuleGetFunction(&f, module, kernel);

	return r ? r : cu.cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL);
}

/* ---- verified rounds ---- */

static CUresult fill(uint32_t v)
{
	uint32_t n = N_WORDS;
	void *params[] = {&words, &n, &v};

	return launch("fill", N_WORDS / 256, 256, params);
}

static bool is_right(uint32_t i)
{
	for (uint32_t k = 0; k < N_WORDS; k++)
		if (host[k] != 3 * i + i + k)
			return false;
	return true;
}

static CUresult round_trip(uint32_t i, bool *right)
{
	CUresult r;

	for (uint32_t k = 0; k < N_WORDS; k++)
		host[k] = 3 * i;
	r = cu.cuMemcpyHtoD_v2(words, host, N_BYTES);
	if (!r)
		r = fill(i);
	if (!r)
		r = cu.cuMemcpyDtoH_v2(host, words, N_BYTES);
	*right = r || is_right(i);
	return r;
}

static bool input_has_ended(void)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&in, 1, 0) != 0;
}

static int steady(void)
{
	unsigned n = 0, wrong = 0;
	double longest = 0;
	CUresult r;
	bool right;

	do {
		double from = now_ms();

		r = round_trip(n, &right);
		if (now_ms() - from > longest && n)
			longest = now_ms() - from;
		wrong += !right;
		n += !r;
		if (n == 1 && !r)
			say("ready");
	} while (!r && !input_has_ended());
	printf("%.1f rounds %u wrong %u longest %.1f result %s\n", now_ms(), n, wrong, longest,
	       name_of(r));
	return wrong != 0;
}

static int once(void)
{
	bool right;
	CUresult r = round_trip(7, &right);

	say_result("round", r);
	return r || !right;
}

/* ---- kernels that go wrong ---- */

/* What the wait for it says, and what the next call says. */
static int await(CUresult r)
{
	CUdeviceptr p;

	say_result("synchronize", r ? r : cu.cuCtxSynchronize());
	say_result("next-call", cu.cuMemAlloc_v2(&p, 4096));
	return 0;
}

static int hit(CUdeviceptr at)
{
	void *params[] = {&at};

	say("begins");
	return await(launch("hit", 1, 1, params));
}

static int illegal_address(unsigned long n)
{
	return hit(words + FAR);
}

static int misaligned(unsigned long n)
{
	return hit(words + 2);
}

static int halt(unsigned long n)
{
	say("begins");
	return await(launch("halt", 1, 1, NULL));
}

static int assertion(unsigned long n)
{
	say("begins");
	return await(launch("check", 1, 1, NULL));
}

/* Returns when the kernel runs. */
static void spin(uint64_t ns)
{
	uint64_t at = (uint64_t)(uintptr_t)flag;
	void *params[] = {&at, &ns};

	*flag = 0;
	need("launch", launch("spin", 1, 1, params));
	while (!*flag)
		usleep(100);
	say("begins");
}

static int slow(unsigned long ms)
{
	spin((ms ? ms : 2000) * 1000000ull);
	return await(CUDA_SUCCESS);
}

static int endless(unsigned long n)
{
	spin(UINT64_MAX);
	return await(CUDA_SUCCESS);
}

/* ---- memory ---- */

/* All that there is, which is kept until the input ends. */
static int hog(unsigned long mib)
{
	unsigned n = 0;
	CUdeviceptr p;
	CUresult r;

	say("begins");
	do
		r = cu.cuMemAlloc_v2(&p, (mib ? mib : 1024) << 20);
	while (!r && ++n < N_PIECES);
	printf("%.1f pieces %u\n", now_ms(), n);
	say_result("allocate", r);
	while (!input_has_ended())
		usleep(10000);
	return once();
}

/* ---- processes that do as they like ---- */

static void begin_copies(void)
{
	CUdeviceptr p;
	void *pinned;

	need("cuMemAlloc", cu.cuMemAlloc_v2(&p, COPY_BYTES));
	need("cuMemHostAlloc", cu.cuMemHostAlloc(&pinned, COPY_BYTES, 0));
	for (int i = 0; i < N_COPIES; i++) {
		need("copy", cu.cuMemcpyHtoDAsync_v2(p, pinned, COPY_BYTES, NULL));
		need("copy", cu.cuMemcpyDtoHAsync_v2(pinned, p, COPY_BYTES, NULL));
	}
	say("begins");
}

static int leave_in_copy(unsigned long n)
{
	begin_copies();
	_exit(0);
}

static int execute_in_copy(unsigned long n)
{
	begin_copies();
	execl("/bin/true", "true", NULL);
	return 2;
}

/* Much is posted, and nobody asks for any of it. */
static int deaf(unsigned long n)
{
	say("begins");
	for (uint32_t i = 0; i < N_POSTED; i++)
		need("fill", fill(i));
	say("posted");
	sleep(1);
	_exit(0);
}

static int fork_in_copy(unsigned long n)
{
	CUdeviceptr p;
	pid_t child;
	int status;

	begin_copies();
	child = fork();
	if (!child) {
		say_result("child", cu.cuMemAlloc_v2(&p, 4096));
		_exit(0);
	}
	waitpid(child, &status, 0);
	return once();
}

static int close_all(unsigned long n)
{
	CUdeviceptr p;

	say("begins");
	for (int fd = FIRST_FD; fd < 1 << 16; fd++)
		close(fd);
	say_result("next-call", cu.cuMemAlloc_v2(&p, 1 << 20));
	return 0;
}

static void *launch_for_ever(void *arg)
{
	cu.cuCtxSetCurrent(ctx);
	for (uint32_t i = 0; !fill(i); i++)
		;
	return NULL;
}

/* It stands still wherever its threads are, with the library's locks if they had them, until somebody continues it. */
static int stop(unsigned long n)
{
	pthread_t threads[4];

	for (unsigned i = 0; i < GSB_ARRAY_LEN(threads); i++)
		if (pthread_create(&threads[i], NULL, launch_for_ever, NULL))
			return 2;
	usleep(20000);
	say("begins");
	raise(SIGSTOP);
	say("continued");
	_exit(0);
}

static const struct {
	const char *name;
	int (*run)(unsigned long n);
} kinds[] = {
	{"illegal-address", illegal_address},
	{"misaligned", misaligned},
	{"trap", halt},
	{"assert", assertion},
	{"slow", slow},
	{"endless", endless},
	{"hog", hog},
	{"leave-in-copy", leave_in_copy},
	{"exec-in-copy", execute_in_copy},
	{"fork-in-copy", fork_in_copy},
	{"close-all", close_all},
	{"deaf", deaf},
	{"stop", stop},
};

static int provoke(const char *kind, unsigned long n)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(kinds); i++)
		if (!strcmp(kinds[i].name, kind)) {
			set_up();
			return kinds[i].run(n);
		}
	fprintf(stderr, "provoke: no kind '%s'; there are steady, once", kind);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(kinds); i++)
		fprintf(stderr, ", %s", kinds[i].name);
	fprintf(stderr, "\n");
	return 2;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "steady") && strcmp(argv[1], "once"))
		return provoke(argv[1], n);
	set_up();
	return strcmp(argv[1], "steady") ? once() : steady();
}
