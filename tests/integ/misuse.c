/*
 * misuse.c - a tenant that misbehaves on purpose, as a plain program of the driver API.
 *
 *   misuse illegal-address          a kernel writes where nothing is; prints what each call then says
 *   misuse wait-then-allocate       prints "ready", waits for a line on stdin, allocates, prints the result
 *   misuse cancel-init              a thread that is to end meanwhile calls cuInit; prints what the next thread's says
 *   misuse cancel-print             the same of a thread that writes what a kernel has printed
 *   misuse run-for-ever             a kernel that never ends; prints "ready" when it runs, and waits for a line
 *   misuse run-until-told           the same; then waits for the kernel, and prints what that says, and the next call
 *
 * Exits 0 when the calls could be made, whatever they returned; 2 when the set-up failed.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/tenant.h"

static const char kernel_ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	".visible .entry store(.param .u64 p)\n{\n\t.reg .b64 %a;\n\tld.param.u64 %a, [p];\n"
	"\tst.global.u32 [%a], 1;\n\tret;\n}\n"
	".visible .entry spin(.param .u64 p)\n{\n\t.reg .b64 %a;\n\tld.param.u64 %a, [p];\n"
	"\tst.volatile.global.u32 [%a], 1;\nL:\n\tbra L;\n}\n";

/* By itself: natively a wrong address has another code in a module that prints. */
static const char print_ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
	".global .align 1 .b8 text[9] = {112, 114, 105, 110, 116, 101, 100, 10, 0};\n"
	".visible .entry print()\n{\n\t.reg .b64 %f, %g;\n\t.reg .b32 %r;\n"
	"\tmov.u64 %g, text;\n\tcvta.global.u64 %f, %g;\n\tmov.u64 %g, 0;\n\t{\n"
	"\t.param .b64 p0;\n\tst.param.b64 [p0], %f;\n\t.param .b64 p1;\n\tst.param.b64 [p1], %g;\n"
	"\t.param .b32 q;\n\tcall.uni (q), vprintf, (p0, p1);\n\tld.param.b32 %r, [q];\n\t}\n\tret;\n}\n";

static struct cu cu;

static void say(const char *what, CUresult r)
{
	const char *name = "?";

	cu.cuGetErrorName(r, &name);
	printf("%s: %s\n", what, name);
	fflush(stdout);
}

static void need(const char *what, CUresult r)
{
	if (!r)
		return;
	say(what, r);
	exit(2);
}

static CUfunction set_up(const char *ptx, const char *kernel)
{
	CUcontext ctx;
	CUmodule module;
	CUfunction f;

	cu_load(&cu);
	need("cuInit", cu.cuInit(0));
	need("context", cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	need("context", cu.cuCtxSetCurrent(ctx));
	need("module", cu.cuModuleLoadData(&module, ptx));
	need("function", cu.cuModuleGetFunction(&f, module, kernel));
	return f;
}

static void write_where_nothing_is(CUfunction f)
{
	CUdeviceptr p;
	void *params[] = {&p};
	CUresult r;

	need("memory", cu.cuMemAlloc_v2(&p, 4096));
	p += 1ull << 30;
	r = cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL);
	say("launch, then synchronize", r ? r : cu.cuCtxSynchronize());
	say("next call", cu.cuMemAlloc_v2(&p, 4096));
}

static void wait_for_line(void)
{
	printf("ready\n");
	fflush(stdout);
	setvbuf(stdin, NULL, _IONBF, 0); /* others may wait for their line at the same pipe */
	getchar();
}

static void run_for_ever(CUfunction f)
{
	void *host, *params[] = {&host};

	need("memory", cu.cuMemHostAlloc(&host, 4096, 0));
	need("launch", cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	while (!*(volatile int *)host)
		sched_yield();
	wait_for_line();
}

static void run_until_told(CUfunction f)
{
	CUdeviceptr p;

	run_for_ever(f);
	say("synchronize", cu.cuCtxSynchronize());
	say("next call", cu.cuMemAlloc_v2(&p, 4096));
}

static void wait_then_allocate(void)
{
	CUdeviceptr p;

	wait_for_line();
	say("allocate", cu.cuMemAlloc_v2(&p, 4096));
}

/* Whatever it waits in first would end it. */
static void *call_while_ending(void *call)
{
	pthread_cancel(pthread_self());
	((void (*)(void))call)();
	pthread_testcancel();
	return NULL;
}

static void call_on_ending_thread(void (*call)(void))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, call_while_ending, (void *)call))
		exit(2);
	pthread_join(thread, NULL);
	alarm(60);
}

static void init(void)
{
	cu.cuInit(0);
}

static void cancel_init(void)
{
	cu_load(&cu);
	call_on_ending_thread(init);
	say("cuInit", cu.cuInit(0));
}

static CUcontext context;

static void wait_and_print(void)
{
	cu.cuCtxSetCurrent(context);
	cu.cuCtxSynchronize();
}

static void print_once(CUfunction f)
{
	need("launch", cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

static void cancel_print(CUfunction f)
{
	need("context", cu.cuCtxGetCurrent(&context));
	print_once(f);
	call_on_ending_thread(wait_and_print);
	print_once(f);
	say("synchronize", cu.cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	CUfunction f;

	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "cancel-init")) {
		cancel_init();
		return 0;
	}
	if (!strcmp(argv[1], "cancel-print")) {
		cancel_print(set_up(print_ptx, "print"));
		return 0;
	}
	f = set_up(kernel_ptx, strncmp(argv[1], "run-", 4) ? "store" : "spin");
	if (!strcmp(argv[1], "run-for-ever"))
		run_for_ever(f);
	else if (!strcmp(argv[1], "run-until-told"))
		run_until_told(f);
	else if (!strcmp(argv[1], "illegal-address"))
		write_where_nothing_is(f);
	else if (!strcmp(argv[1], "wait-then-allocate"))
		wait_then_allocate();
	else
		return 2;
	return 0;
}
