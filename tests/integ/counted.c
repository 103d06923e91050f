/*
 * counted.c - a tenant that does so much and no more: counted LAUNCHES BYTES [hold].
 *
 * That many launches of 3 blocks, a copy of so many bytes each way and one on the device, one fill, and one allocation
 * that is larger than any device. With hold it then says "done" and stays until its standard input ends.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/tenant.h"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry count(.param .u64 p)\n{\n"
			  "\t.reg .b64 %a;\n\t.reg .b32 %v;\n"
			  "\tld.param.u64 %a, [p];\n\tcvta.to.global.u64 %a, %a;\n"
			  "\tatom.global.add.u32 %v, [%a], 1;\n\tret;\n}\n";

static struct cu cu;

static void need(CUresult r, const char *what)
{
	if (!r)
		return;
	fprintf(stderr, "counted: %s: %d\n", what, (int)r);
	exit(1);
}

static CUfunction load(void)
{
	CUmodule module;
	CUfunction fn;

	need(cu.cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	need(cu.cuModuleGetFunction(&fn, module, "count"), "cuModuleGetFunction");
	return fn;
}

static void work(CUfunction fn, unsigned launches, size_t bytes)
{
	uint8_t *host = calloc(1, bytes);
	CUdeviceptr a, b, nowhere;
	void *params[] = {&a};

	need(cu.cuMemAlloc_v2(&a, bytes), "cuMemAlloc");
	need(cu.cuMemAlloc_v2(&b, bytes), "cuMemAlloc");
	need(cu.cuMemcpyHtoD_v2(a, host, bytes), "cuMemcpyHtoD");
	need(cu.cuMemsetD8_v2(b, 0, bytes), "cuMemsetD8");
	while (launches--)
		need(cu.cuLaunchKernel(fn, 3, 1, 1, 64, 1, 1, 0, NULL, params, NULL),
		     "cuLaunchKernel");
	need(cu.cuMemcpyDtoD_v2(b, a, bytes), "cuMemcpyDtoD");
	need(cu.cuMemcpyDtoH_v2(host, b, bytes), "cuMemcpyDtoH");
	if (cu.cuMemAlloc_v2(&nowhere, (size_t)1 << 50) != CUDA_ERROR_OUT_OF_MEMORY)
		exit(1);
	free(host);
}

int main(int argc, char **argv)
{
	CUcontext ctx;

	if (argc < 3)
		return 2;
	cu_load(&cu);
	need(cu.cuInit(0), "cuInit");
	need(cu.cuDevicePrimaryCtxRetain(&ctx, 0), "cuDevicePrimaryCtxRetain");
	need(cu.cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
	work(load(), (unsigned)strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));
	printf("done\n");
	fflush(stdout);
	while (argc > 3 && getchar() != EOF)
		;
	return 0;
}
