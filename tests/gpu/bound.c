/*
 * bound.c - a tenant that memory bounds, or arithmetic: as many kernels as take a time alone, for pairs of such tenants.
 *
 * Usage: bound scan|spin N      N kernels of about a millisecond alone on an H200, behind each other
 *
 * Prints the ms from the first launch to the last end.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tests/gpu/bound_kernels.h"
#include "tests/unit/tenant.h"

#define SMS	    132
#define BLOCK	    256
#define SCAN_BLOCKS (8 * SMS)
#define SPIN_BLOCKS (32 * SMS)
#define SCAN_UNIT   (64ull * BLOCK * SCAN_BLOCKS)
#define SCAN_BYTES  ((4ull << 30) / SCAN_UNIT * SCAN_UNIT)
#define SPIN_TURNS  6000

static struct cu cu;

static void need(const char *what, CUresult result)
{
	if (!result)
		return;
	fprintf(stderr, "bound: %s: %d\n", what, result);
	exit(1);
}

int main(int argc, char **argv)
{
	bool scan = argc == 3 && !strcmp(argv[1], "scan");
	unsigned long n = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	uint64_t turns = scan ? SCAN_BYTES : SPIN_TURNS, begin;
	void *params[2];
	CUdeviceptr memory;
	CUcontext ctx;
	CUmodule module;
	CUfunction f;

	if (!n || (!scan && strcmp(argv[1], "spin"))) {
		fprintf(stderr, "usage: bound scan|spin N\n");
		return 2;
	}
	cu_load(&cu);
	need("cuInit", cu.cuInit(0));
	need("context", cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	need("context", cu.cuCtxSetCurrent(ctx));
	need("memory", cu.cuMemAlloc_v2(&memory, scan ? SCAN_BYTES : 4096));
	need("module", cu.cuModuleLoadData(&module, bound_ptx));
	need("function", cu.cuModuleGetFunction(&f, module, argv[1]));
	params[0] = &memory;
	params[1] = &turns;
	begin = gsb_clock_ns();
	for (unsigned long i = 0; i < n; i++)
		need("launch", cu.cuLaunchKernel(f, scan ? SCAN_BLOCKS : SPIN_BLOCKS, 1, 1, BLOCK,
						 1, 1, 0, NULL, params, NULL));
	need("wait", cu.cuCtxSynchronize());
	printf("%s %lu %.1f\n", argv[1], n, (double)(gsb_clock_ns() - begin) / 1e6);
	return 0;
}
