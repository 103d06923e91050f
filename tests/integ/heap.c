/*
 * heap.c - a program whose kernels allocate: what its limits say, and what copies of such memory are.
 *
 *   heap PTX limits    prints what cuCtxGetLimit and cuCtxSetLimit say before and after the first launch
 *   heap PTX copy      copies from memory that a kernel has allocated
 *   heap PTX quota     asks for a heap of 1 GiB
 *   heap PTX foreign   a kernel frees what malloc has not given
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/tenant.h"

static struct cu cu;
static CUmodule module;
static CUdeviceptr slot;

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
	fprintf(stderr, "heap: %s\n", name_of(r));
	exit(2);
}

static void load(const char *path)
{
	static char text[1 << 17];
	FILE *f = fopen(path, "r");

	if (!f || !fread(text, 1, sizeof(text) - 1, f))
		exit(2);
	fclose(f);
	need(cu.cuModuleLoadData(&module, text));
}

static CUresult run(const char *kernel, uint64_t size)
{
	void *params[] = {&slot, &size};
	CUfunction f;

	need(cu.cuModuleGetFunction(&f, module, kernel));
	need(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	return cu.cuCtxSynchronize();
}

static CUdeviceptr taken(void)
{
	CUdeviceptr p = 0;

	need(cu.cuMemcpyDtoH_v2(&p, slot, sizeof(p)));
	return p;
}

static void show(const char *when)
{
	size_t heap, stack;

	need(cu.cuCtxGetLimit(&heap, CU_LIMIT_MALLOC_HEAP_SIZE));
	need(cu.cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE));
	printf("%s: heap %zu, stack %zu\n", when, heap, stack);
}

static void limits(void)
{
	show("at first");
	need(cu.cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 40000001));
	need(cu.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 5001));
	show("set");
	need(run("take", 30000000));
	printf("took %d\n", taken() != 0);
	printf("set too late: %s\n", name_of(cu.cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 1 << 20)));
	show("at last");
}

static void copy(void)
{
	uint64_t word = 1;

	need(run("take", 64));
	printf("from the heap: %s\n", name_of(cu.cuMemcpyDtoH_v2(&word, taken(), 8)));
	printf("to the heap: %s\n", name_of(cu.cuMemcpyHtoD_v2(taken(), &word, 8)));
	printf("free: %s\n", name_of(cu.cuMemFree_v2(taken())));
	printf("afterwards: %s\n", name_of(run("give", 0)));
}

static void foreign(void)
{
	need(cu.cuMemcpyHtoD_v2(slot, &slot, sizeof(slot)));
	printf("free of what malloc has not given: %s\n", name_of(run("give", 0)));
}

int main(int argc, char **argv)
{
	CUcontext ctx;

	if (argc != 3)
		return 2;
	cu_load(&cu);
	need(cu.cuInit(0));
	need(cu.cuCtxCreate_v2(&ctx, 0, 0));
	need(cu.cuMemAlloc_v2(&slot, sizeof(slot)));
	load(argv[1]);
	if (!strcmp(argv[2], "limits"))
		limits();
	else if (!strcmp(argv[2], "copy"))
		copy();
	else if (!strcmp(argv[2], "quota"))
		printf("1 GiB: %s\n",
		       name_of(cu.cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 1 << 30)));
	else
		foreign();
	return 0;
}
