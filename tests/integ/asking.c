/*
 * asking.c - all that a program can ask of the kernels in a folder of PTX files: asking FOLDER.
 *
 * A line an answer, without addresses: what two brokers say of the same code has to be the same. A name that no program
 * gave a kernel must not be found.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/tenant.h"

#define N_FUNCTIONS 256

static struct cu cu;

static const char *const forms[] = {"slice", "persistent", "count", "hint"};

static void ask_attributes(CUfunction f, const char *name)
{
	int value;

	for (int i = 0; i < 16; i++) {
		CUresult r = cu.cuFuncGetAttribute(&value, (CUfunction_attribute)i, f);

		printf("%s attribute %d: %d %d\n", name, i, (int)r, r ? 0 : value);
	}
}

static void ask_occupancy(CUfunction f, const char *name)
{
	for (int threads = 32; threads <= 1024; threads *= 2) {
		int blocks = -1;
		CUresult r =
			cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, threads, 4096);

		printf("%s %d threads: %d %d\n", name, threads, (int)r, blocks);
	}
}

static void ask_params(CUfunction f, const char *name)
{
	size_t offset, size;

	for (size_t i = 0; !cu.cuFuncGetParamInfo(f, i, &offset, &size); i++)
		printf("%s parameter %zu: %zu %zu\n", name, i, offset, size);
}

static void ask_for_ours(CUmodule module, const char *kernel)
{
	char name[4096];
	CUfunction f;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		snprintf(name, sizeof(name), "%s$%s", kernel, forms[i]);
		if (cu.cuModuleGetFunction(&f, module, name) != CUDA_ERROR_NOT_FOUND)
			printf("%s is there\n", name);
	}
}

static void ask_kernel(CUmodule module, CUfunction listed)
{
	const char *name = "?";
	CUfunction f;

	if (cu.cuFuncGetName(&name, listed) || cu.cuModuleGetFunction(&f, module, name))
		printf("%s is listed and not found\n", name);
	ask_attributes(listed, name);
	ask_occupancy(listed, name);
	ask_params(listed, name);
	ask_for_ours(module, name);
}

static void ask_module(const char *path)
{
	CUfunction fns[N_FUNCTIONS];
	CUmodule module;
	unsigned n = 0;
	CUresult r = cu.cuModuleLoad(&module, path);

	printf("%s: %d\n", strrchr(path, '/'), (int)r);
	if (r)
		return;
	r = cu.cuModuleGetFunctionCount(&n, module);
	printf("%u kernels: %d\n", n, (int)r);
	if (n > N_FUNCTIONS)
		n = N_FUNCTIONS;
	r = cu.cuModuleEnumerateFunctions(fns, n, module);
	for (unsigned i = 0; !r && i < n; i++)
		ask_kernel(module, fns[i]);
	cu.cuModuleUnload(module);
}

static int is_ptx(const struct dirent *e)
{
	const char *end = strrchr(e->d_name, '.');

	return end && !strcmp(end, ".ptx");
}

int main(int argc, char **argv)
{
	struct dirent **files;
	CUcontext ctx;
	char path[4096];
	int n;

	if (argc != 2)
		return 2;
	cu_load(&cu);
	if (cu.cuInit(0) || cu.cuCtxCreate_v2(&ctx, 0, 0))
		return 1;
	n = scandir(argv[1], &files, is_ptx, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", argv[1], files[i]->d_name);
		ask_module(path);
		free(files[i]);
	}
	if (n > 0)
		free(files);
	return n > 0 ? 0 : 1;
}
