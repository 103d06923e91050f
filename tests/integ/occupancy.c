/*
 * occupancy.c - what a driver answers about how much of an SM a kernel's blocks may have, as lines of "case step answer", which
 * occupancy.expected has, of an H200.
 *
 *   occupancy            all cases, each in a process of its own
 *   occupancy CASE       this one, here
 *   occupancy --list     their names
 *
 * An answer is a count, or the CUresult with a minus. The kernels use so few registers that these never count.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/integ/answers.h"
#include "tests/unit/tenant.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static const char ptx[] =
	".version 7.8\n.target sm_90\n.address_size 64\n"
	".visible .entry none(.param .u64 p)\n{\n\t.reg .b64 %a;\n"
	"\tld.param.u64 %a, [p];\n\tst.global.u32 [%a], 1;\n\tret;\n}\n"
	".visible .entry some(.param .u64 p)\n{\n\t.reg .b64 %a;\n\t.reg .b32 %v;\n\t.shared .align 4 .b8 s[1000];\n"
	"\tld.param.u64 %a, [p];\n\tst.volatile.shared.u32 [s+996], 1;\n\tld.volatile.shared.u32 %v, [s+996];\n"
	"\tst.global.u32 [%a], %v;\n\tret;\n}\n"
	".visible .entry most(.param .u64 p)\n{\n\t.reg .b64 %a;\n\t.reg .b32 %v;\n\t.shared .align 4 .b8 s[40000];\n"
	"\tld.param.u64 %a, [p];\n\tst.volatile.shared.u32 [s+39996], 1;\n\tld.volatile.shared.u32 %v, [s+39996];\n"
	"\tst.global.u32 [%a], %v;\n\tret;\n}\n"
	".visible .entry few(.param .u64 p)\n.maxntid 96, 1, 1\n{\n\t.reg .b64 %a;\n"
	"\tld.param.u64 %a, [p];\n\tst.global.u32 [%a], 1;\n\tret;\n}\n";

static struct cu cu;
static CUmodule module;

static void say(const char *step, int a, int b, long answer)
{
	printf("%s %s %d %d %ld\n", running, step, a, b, answer);
}

static void set_up(void)
{
	CUcontext ctx;

	cu_load(&cu);
	must(cu.cuInit(0));
	must(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	must(cu.cuCtxSetCurrent(ctx));
	must(cu.cuModuleLoadData(&module, ptx));
}

static CUfunction kernel(const char *name)
{
	CUfunction f;

	must(cu.cuModuleGetFunction(&f, module, name));
	return f;
}

/* ---- shared memory that so many blocks leave each ---- */

static void available(CUfunction f, const char *step)
{
	static const int blocks[] = {-1, 0, 1, 2, 3, 5, 8, 16, 17, 32, 33};
	static const int sizes[] = {0, 1, 96, 97, 128, 1024, 1025};

	for (unsigned i = 0; i < N(sizes); i++)
		for (unsigned j = 0; j < N(blocks); j++) {
			size_t bytes = 12345;
			CUresult result = cu.cuOccupancyAvailableDynamicSMemPerBlock(
				&bytes, f, blocks[j], sizes[i]);

			say(step, sizes[i], blocks[j], result ? -(long)result : (long)bytes);
		}
}

static void available_to(const char *name)
{
	static const int allowed[] = {0, 1024, 9152, 65536, 187000};
	CUfunction f = kernel(name);

	available(f, name);
	for (unsigned i = 0; i < N(allowed); i++) {
		char step[32];
		CUresult result = cu.cuFuncSetAttribute(
			f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, allowed[i]);

		say("allow", allowed[i], 0, result);
		snprintf(step, sizeof(step), "%s-%d", name, allowed[i]);
		available(f, step);
	}
}

static void available_none(void)
{
	available_to("none");
}

static void available_some(void)
{
	available_to("some");
}

static void available_most(void)
{
	available_to("most");
}

static void available_few(void)
{
	available(kernel("few"), "few");
}

static void available_carved(void)
{
	static const int carved[] = {0, 25, 50, 100, -1};
	CUfunction f = kernel("some");

	for (unsigned i = 0; i < N(carved); i++) {
		char step[32];

		must(cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
					   carved[i]));
		snprintf(step, sizeof(step), "carved-%d", carved[i]);
		available(f, step);
	}
}

/* ---- blocks that an SM has room for ---- */

static void fit(const char *name, const char *step)
{
	static const int sizes[] = {-1, 0, 1, 33, 96, 97, 128, 1024, 1025};
	static const int bytes[] = {0, 1, 7000, 48152, 49152, 49153, 65536, 187000, 232448, 232449};
	CUfunction f = kernel(name);

	for (unsigned i = 0; i < N(sizes); i++)
		for (unsigned j = 0; j < N(bytes); j++) {
			int n = -12345;
			CUresult result = cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
				&n, f, sizes[i], (size_t)bytes[j]);

			say(step, sizes[i], bytes[j], result ? -(long)result : n);
		}
}

static void fit_any(void)
{
	fit("none", "none");
	fit("some", "some");
	fit("most", "most");
	fit("few", "few");
}

static void fit_allowed(void)
{
	must(cu.cuFuncSetAttribute(kernel("none"), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				   232448));
	fit("none", "none");
	must(cu.cuFuncSetAttribute(kernel("some"), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				   187000));
	fit("some", "some");
}

static void fit_carved(void)
{
	static const int carved[] = {0, 3, 25, 50, 86, 100};
	CUfunction f = kernel("some");

	for (unsigned i = 0; i < N(carved); i++) {
		char step[32];

		must(cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
					   carved[i]));
		snprintf(step, sizeof(step), "carved-%d", carved[i]);
		fit("some", step);
	}
	must(cu.cuFuncSetAttribute(kernel("none"),
				   CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 0));
	fit("none", "none-0");
}

/* ---- the best size ---- */

static void best(void)
{
	static const char *const names[] = {"none", "some", "most", "few"};
	static const int limits[] = {0, 1, 33, 96, 100, 800, 1024, 2000};
	static const int bytes[] = {0, 9152, 20000, 49152, 49153};

	for (unsigned k = 0; k < N(names); k++)
		for (unsigned i = 0; i < N(limits); i++)
			for (unsigned j = 0; j < N(bytes); j++) {
				int grid = 0, block = 0;
				CUresult result = cu.cuOccupancyMaxPotentialBlockSize(
					&grid, &block, kernel(names[k]), NULL, (size_t)bytes[j],
					limits[i]);

				say(names[k], limits[i], bytes[j], result ? -(long)result : block);
				if (!result)
					say("grid", limits[i], bytes[j], grid);
			}
}

static const struct answers_case cases[] = {
	{"available-none", available_none},
	{"available-some", available_some},
	{"available-most", available_most},
	{"available-few", available_few},
	{"available-carved", available_carved},
	{"fit", fit_any},
	{"fit-allowed", fit_allowed},
	{"fit-carved", fit_carved},
	{"best", best},
};

/* Blocks of 4 KiB, whatever is preferred. */
static void prefer(void)
{
	static const int carved[] = {-1, 0, 100};
	CUfunction f = kernel("none");

	for (unsigned i = 0; i < N(carved); i++) {
		int n = 0;

		must(cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
					   carved[i]));
		must(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 32, 4096));
		say("blocks", carved[i], 4096, n);
	}
}

static const struct answers_case others[] = {{"prefer", prefer}};

int main(int argc, char **argv)
{
	static const struct answers all = {.set_up = set_up,
					   .cases = cases,
					   .others = others,
					   .n_cases = N(cases),
					   .n_others = N(others)};

	return answers_main(&all, argc, argv);
}
