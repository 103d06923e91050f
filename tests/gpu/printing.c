/*
 * printing.c - what printf of many threads takes, natively or under a broker: `printing`, `gsbrun --device cuda:0 -- printing`.
 *
 * A row for each shape: blocks x threads x lines of each thread, how many lines came out of those that were printed, ms of the kernel
 * by events on both sides, and ms from its launch until cuCtxSynchronize() returns, when its text is there. Rows of "two lengths" are
 * lines of 8 to 24 characters and of some 100. The buffer has its first size. What comes out goes to a file in memory.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "tests/unit/tenant.h"

/* Each thread n times its block, itself and the turn; where far is not 0, every second turn at more length. */
static const char print_ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
	/* "%u.%u.%u\n" */
	".global .align 1 .b8 near[10] = {37, 117, 46, 37, 117, 46, 37, 117, 10, 0};\n"
	/* "%u.%u.%u%80s\n", of which the string is "." */
	".global .align 1 .b8 far[14] = {37, 117, 46, 37, 117, 46, 37, 117, 37, 56, 48, 115, 10, 0};\n"
	".global .align 1 .b8 dot[2] = {46, 0};\n"
	".visible .entry say(.param .u32 n, .param .u32 far_too)\n"
	"{\n"
	"	.local .align 8 .b8 args[24];\n"
	"	.param .b64 a, b;\n"
	"	.param .b32 r;\n"
	"	.reg .pred %p;\n"
	"	.reg .b32 %n, %far, %block, %thread, %turn;\n"
	"	.reg .b64 %args, %format, %long, %dot;\n"
	"	ld.param.u32 %n, [n];\n"
	"	ld.param.u32 %far, [far_too];\n"
	"	mov.u32 %block, %ctaid.x;\n"
	"	mov.u32 %thread, %tid.x;\n"
	"	mov.u32 %turn, 0;\n"
	"	mov.u64 %args, args;\n"
	"	cvta.local.u64 %args, %args;\n"
	"	mov.u64 %dot, dot;\n"
	"	cvta.global.u64 %dot, %dot;\n"
	"	mov.u64 %long, far;\n"
	"	cvta.global.u64 %long, %long;\n"
	"	st.local.u32 [args], %block;\n"
	"	st.local.u32 [args+4], %thread;\n"
	"	st.local.u64 [args+16], %dot;\n"
	"$again:\n"
	"	mov.u64 %format, near;\n"
	"	cvta.global.u64 %format, %format;\n"
	"	and.b32 %block, %turn, %far;\n"
	"	setp.ne.u32 %p, %block, 0;\n"
	"	@%p mov.u64 %format, %long;\n"
	"	st.local.u32 [args+8], %turn;\n"
	"	st.param.b64 [a], %format;\n"
	"	st.param.b64 [b], %args;\n"
	"	call (r), vprintf, (a, b);\n"
	"	add.u32 %turn, %turn, 1;\n"
	"	setp.lt.u32 %p, %turn, %n;\n"
	"	@%p bra $again;\n"
	"	ret;\n"
	"}\n";

struct shape {
	unsigned blocks, threads, lines;
	uint32_t two_lengths;
	unsigned kernels; /* behind each other, before anybody waits */
};

static struct cu cu;
static CUfunction say;
static CUevent begin, end;
static FILE *table;

static void need(const char *what, CUresult result)
{
	if (!result)
		return;
	fprintf(stderr, "printing: %s: %d\n", what, result);
	exit(1);
}

/* All that is printed, by the driver or by the library, goes to a file in memory; the table goes where it went. */
static int take_stdout(void)
{
	int text = memfd_create("text", MFD_CLOEXEC), was = dup(STDOUT_FILENO);

	table = was < 0 ? NULL : fdopen(was, "w");
	if (text < 0 || !table || dup2(text, STDOUT_FILENO) < 0) {
		perror("printing");
		exit(1);
	}
	return text;
}

/* Lines of the file, which is empty then. */
static unsigned count_lines(int text)
{
	char piece[65536];
	unsigned n = 0;
	ssize_t got;

	fflush(stdout);
	lseek(text, 0, SEEK_SET);
	while ((got = read(text, piece, sizeof(piece))) > 0)
		for (ssize_t i = 0; i < got; i++)
			n += piece[i] == '\n';
	if (ftruncate(text, 0) || lseek(text, 0, SEEK_SET) < 0)
		perror("printing");
	return n;
}

static void launch(const struct shape *s)
{
	uint32_t lines = s->lines, two_lengths = s->two_lengths;
	void *params[] = {&lines, &two_lengths};

	need("launch",
	     cu.cuLaunchKernel(say, s->blocks, 1, 1, s->threads, 1, 1, 0, NULL, params, NULL));
}

static void show(const struct shape *s, int text)
{
	const unsigned long n = (unsigned long)s->blocks * s->threads * s->lines * s->kernels;
	uint64_t from = gsb_clock_ns(), took;
	float kernel_ms;

	need("event", cu.cuEventRecord(begin, NULL));
	for (unsigned i = 0; i < s->kernels; i++)
		launch(s);
	need("event", cu.cuEventRecord(end, NULL));
	need("wait", cu.cuCtxSynchronize());
	took = gsb_clock_ns() - from;
	need("time", cu.cuEventElapsedTime(&kernel_ms, begin, end));
	fprintf(table, "%u of %u x %u x %u%s: %u of %lu lines, kernels %.2f ms, all %.2f ms\n",
		s->kernels, s->blocks, s->threads, s->lines, s->two_lengths ? " two lengths" : "",
		count_lines(text), n, kernel_ms, (double)took / 1e6);
	fflush(table);
}

static void prepare(void)
{
	CUcontext ctx;
	CUmodule module;

	cu_load(&cu);
	need("cuInit", cu.cuInit(0));
	need("context", cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	need("context", cu.cuCtxSetCurrent(ctx));
	need("module", cu.cuModuleLoadData(&module, print_ptx));
	need("function", cu.cuModuleGetFunction(&say, module, "say"));
	need("event", cu.cuEventCreate(&begin, 0));
	need("event", cu.cuEventCreate(&end, 0));
}

int main(void)
{
	static const struct shape shapes[] = {
		{1, 1, 20, 0, 1},     {1, 32, 20, 0, 1},    {64, 256, 5, 0, 1},
		{64, 256, 5, 1, 1},   {264, 1024, 1, 0, 1}, {264, 256, 20, 1, 1},
		{264, 256, 20, 1, 5}, {132, 1024, 8, 0, 1}, {1, 1, 20, 0, 1},
	};
	int text = take_stdout();

	prepare();
	for (unsigned i = 0; i < GSB_ARRAY_LEN(shapes); i++)
		show(&shapes[i], text);
	return 0;
}
