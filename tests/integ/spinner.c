/*
 * spinner.c - a tenant whose kernels touch no memory, so that how long each block takes follows from its instructions and from
 * what stands beside it alone: spinner SEED LAUNCHES. Grids of all sizes, some with much shared memory, on streams of two
 * priorities, copies between; now and then it waits for a stream.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/tenant.h"

#define N_STREAMS 4
#define BYTES	  65536

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry spin(.param .u32 n)\n{\n"
	"\t.reg .b32 %r;\n\t.reg .pred %p;\n\tld.param.u32 %r, [n];\n"
	"again: sub.u32 %r, %r, 1;\n\tsetp.ne.u32 %p, %r, 0;\n\t@%p bra again;\n\tret;\n}\n"
	".visible .entry wide(.param .u32 n)\n{\n"
	"\t.shared .align 4 .b8 room[30000];\n"
	"\t.reg .b32 %r, %a;\n\t.reg .pred %p;\n\tld.param.u32 %r, [n];\n\tmov.u32 %a, room;\n"
	"again: sub.u32 %r, %r, 1;\n\tsetp.ne.u32 %p, %r, 0;\n\t@%p bra again;\n"
	"\tst.shared.u32 [%a], %r;\n\tret;\n}\n";

static struct cu cu;
static uint64_t state;

static uint32_t below(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

static void need(CUresult r, const char *what)
{
	if (!r)
		return;
	fprintf(stderr, "spinner: %s: %d\n", what, (int)r);
	exit(1);
}

static void work(const CUfunction fns[2], const CUstream streams[N_STREAMS], unsigned launches)
{
	static uint8_t host[BYTES];
	CUdeviceptr there;

	need(cu.cuMemAlloc_v2(&there, BYTES), "cuMemAlloc");
	while (launches--) {
		uint32_t n = 1 + below(300), blocks = 1 + below(launches % 3 ? 40 : 600);
		CUstream s = streams[below(N_STREAMS)];
		void *params[] = {&n};

		need(cu.cuLaunchKernel(fns[below(2)], blocks, 1, 1, 32 * (1 + below(12)), 1, 1,
				       below(2) * 4096, s, params, NULL),
		     "cuLaunchKernel");
		if (!below(5))
			need(cu.cuMemcpyHtoD_v2(there, host, 1 + below(BYTES)), "cuMemcpyHtoD");
		if (!below(6))
			need(cu.cuStreamSynchronize(s), "cuStreamSynchronize");
	}
	need(cu.cuCtxSynchronize(), "cuCtxSynchronize");
}

int main(int argc, char **argv)
{
	CUstream streams[N_STREAMS];
	CUfunction fns[2];
	CUmodule module;
	CUcontext ctx;

	if (argc < 3)
		return 2;
	state = strtoul(argv[1], NULL, 10);
	cu_load(&cu);
	need(cu.cuInit(0), "cuInit");
	need(cu.cuDevicePrimaryCtxRetain(&ctx, 0), "cuDevicePrimaryCtxRetain");
	need(cu.cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
	need(cu.cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	need(cu.cuModuleGetFunction(&fns[0], module, "spin"), "cuModuleGetFunction");
	need(cu.cuModuleGetFunction(&fns[1], module, "wide"), "cuModuleGetFunction");
	for (int i = 0; i < N_STREAMS; i++)
		need(cu.cuStreamCreateWithPriority(&streams[i], 1, i % 2 ? -1 : 0),
		     "cuStreamCreateWithPriority");
	work(fns, streams, (unsigned)strtoul(argv[2], NULL, 10));
	return 0;
}
