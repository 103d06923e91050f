/*
 * printer.c - a program whose kernels say something, and which says something itself: in which order does it come out?
 *
 *   printer PTX sync      the kernel "say" of that file prints; then cuCtxSynchronize, then the host prints
 *   printer PTX exit      no call that synchronises
 *   printer PTX destroy   the context is destroyed
 *   printer PTX overflow  more than the buffer holds: the least there is; prints what cuCtxGetLimit says
 *   printer PTX fault     a kernel that writes where nothing is; prints what cuCtxSynchronize says
 *   printer PTX late      the same, seen first by a call that does not wait
 *   printer PTX assert    a kernel whose assertion fails; prints what cuCtxSynchronize says
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/tenant.h"

#define N 3

static const char assert_ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
	".global .align 1 .b8 what[6] = {110, 32, 62, 32, 50, 0};\n"
	".global .align 1 .b8 file[7] = {113, 117, 46, 99, 117, 0, 0};\n"
	".global .align 1 .b8 where[4] = {114, 117, 110, 0};\n"
	".visible .entry run()\n{\n\t.reg .b64 %a;\n\t.param .b64 a;\n\t.param .b64 b;\n\t.param .b32 c;\n"
	"\t.param .b64 d;\n\t.param .b64 e;\n"
	"\tmov.u64 %a, what;\n\tcvta.global.u64 %a, %a;\n\tst.param.b64 [a], %a;\n"
	"\tmov.u64 %a, file;\n\tcvta.global.u64 %a, %a;\n\tst.param.b64 [b], %a;\n"
	"\tst.param.b32 [c], 17;\n"
	"\tmov.u64 %a, where;\n\tcvta.global.u64 %a, %a;\n\tst.param.b64 [d], %a;\n"
	"\tst.param.b64 [e], 1;\n"
	"\tcall.uni __assertfail, (a, b, c, d, e);\n\tret;\n}\n";

static struct cu cu;
static CUcontext ctx;

static const char *name_of(CUresult r)
{
	const char *name = "?";

	cu.cuGetErrorName(r, &name);
	return name;
}

static void need(CUresult r)
{
	if (!r)
		return;
	fprintf(stderr, "printer: %s\n", name_of(r));
	exit(2);
}

static CUfunction load(const char *path)
{
	static char text[1 << 16];
	FILE *f = fopen(path, "r");
	CUmodule module;
	CUfunction fn;

	if (!f || !fread(text, 1, sizeof(text) - 1, f))
		exit(2);
	fclose(f);
	need(cu.cuModuleLoadData(&module, text));
	need(cu.cuModuleGetFunction(&fn, module, "say"));
	return fn;
}

static void say(CUfunction f, unsigned times)
{
	int in[N] = {10, 20, 30}, n = N;
	CUdeviceptr p;
	void *params[] = {&p, &n};

	need(cu.cuMemAlloc_v2(&p, sizeof(in)));
	need(cu.cuMemcpyHtoD_v2(p, in, sizeof(in)));
	while (times--)
		need(cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
}

static void overflow(CUfunction f)
{
	size_t bytes;

	need(cu.cuCtxGetLimit(&bytes, CU_LIMIT_PRINTF_FIFO_SIZE));
	printf("buffer of %zu\n", bytes);
	need(cu.cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1));
	need(cu.cuCtxGetLimit(&bytes, CU_LIMIT_PRINTF_FIFO_SIZE));
	say(f, 6000);
	need(cu.cuCtxSynchronize());
	printf("buffer of %zu, to be set before: %s\n", bytes,
	       name_of(cu.cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20)));
}

static void fail_assertion(void)
{
	CUmodule module;
	CUfunction f;

	need(cu.cuModuleLoadData(&module, assert_ptx));
	need(cu.cuModuleGetFunction(&f, module, "run"));
	need(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	printf("host: %s\n", name_of(cu.cuCtxSynchronize()));
}

/* The place for an argument is not what matters: the page behind the buffer has nothing. */
static const char fault_ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n.file 1 \"stray\033[1m.cu\"\n"
	".visible .entry stray(.param .u64 p)\n{\n\t.reg .b64 %a;\n\tld.param.u64 %a, [p];\n"
	"\t.loc 1 40 2\n\tst.global.u32 [%a+4096], 1;\n\tret;\n}\n";

static void stray(bool late)
{
	CUresult r = CUDA_SUCCESS;
	CUdeviceptr p, q;
	CUmodule module;
	CUfunction f;
	void *params[] = {&p};

	need(cu.cuModuleLoadData(&module, fault_ptx));
	need(cu.cuModuleGetFunction(&f, module, "stray"));
	need(cu.cuMemAlloc_v2(&p, 4096));
	need(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	while (late && !r)
		r = cu.cuMemAlloc_v2(&q, 4096);
	printf("host: %s\n", name_of(late ? r : cu.cuCtxSynchronize()));
	printf("host: %s\n", name_of(cu.cuCtxSynchronize()));
}

int main(int argc, char **argv)
{
	CUfunction f;

	if (argc != 3)
		return 2;
	cu_load(&cu);
	need(cu.cuInit(0));
	need(cu.cuCtxCreate_v2(&ctx, 0, 0));
	f = load(argv[1]);
	printf("host: before\n");
	if (!strcmp(argv[2], "overflow")) {
		overflow(f);
	} else if (!strcmp(argv[2], "assert")) {
		fail_assertion();
	} else if (!strcmp(argv[2], "fault") || !strcmp(argv[2], "late")) {
		stray(!strcmp(argv[2], "late"));
	} else {
		say(f, 1);
		if (!strcmp(argv[2], "sync"))
			need(cu.cuCtxSynchronize());
		else if (!strcmp(argv[2], "destroy"))
			need(cu.cuCtxDestroy_v2(ctx));
		printf("host: after\n");
	}
	return 0;
}
