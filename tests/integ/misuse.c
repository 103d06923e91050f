/*
 * misuse.c - a tenant that misbehaves on purpose, as a plain program of the driver API.
 *
 *   misuse illegal-address          a kernel writes where nothing is; prints what each call then says
 *   misuse wait-then-allocate       prints "ready", waits for a line on stdin, allocates, prints the result
 *
 * Exits 0 when the calls could be made, whatever they returned; 2 when the set-up failed.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "gsb/cuabi.h"

static const char kernel_ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	".visible .entry store(.param .u64 p)\n{\n\t.reg .b64 %a;\n\tld.param.u64 %a, [p];\n"
	"\tst.global.u32 [%a], 1;\n\tret;\n}\n";

static struct {
	CUresult (*init)(unsigned);
	CUresult (*retain)(CUcontext *, CUdevice);
	CUresult (*set)(CUcontext);
	CUresult (*load)(CUmodule *, const void *);
	CUresult (*function)(CUfunction *, CUmodule, const char *);
	CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			   unsigned, CUstream, void **, void **);
	CUresult (*synchronize)(void);
	CUresult (*alloc)(CUdeviceptr *, size_t);
	CUresult (*error_name)(CUresult, const char **);
} cu;

static const struct {
	const char *symbol;
	void *slot;
} symbols[] = {
	{"cuInit", &cu.init},
	{"cuDevicePrimaryCtxRetain", &cu.retain},
	{"cuCtxSetCurrent", &cu.set},
	{"cuModuleLoadData", &cu.load},
	{"cuModuleGetFunction", &cu.function},
	{"cuLaunchKernel", &cu.launch},
	{"cuCtxSynchronize", &cu.synchronize},
	{"cuMemAlloc_v2", &cu.alloc},
	{"cuGetErrorName", &cu.error_name},
};

static void say(const char *what, CUresult r)
{
	const char *name = "?";

	cu.error_name(r, &name);
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

static CUfunction set_up(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	CUcontext ctx;
	CUmodule module;
	CUfunction f;

	for (unsigned i = 0; i < GSB_ARRAY_LEN(symbols); i++) {
		void *p = lib ? dlsym(lib, symbols[i].symbol) : NULL;

		if (!p) {
			fprintf(stderr, "misuse: no libcuda.so.1 with %s\n", symbols[i].symbol);
			exit(2);
		}
		memcpy(symbols[i].slot, &p, sizeof(p));
	}
	need("cuInit", cu.init(0));
	need("context", cu.retain(&ctx, 0));
	need("context", cu.set(ctx));
	need("module", cu.load(&module, kernel_ptx));
	need("function", cu.function(&f, module, "store"));
	return f;
}

static void write_where_nothing_is(CUfunction f)
{
	CUdeviceptr p;
	void *params[] = {&p};
	CUresult r;

	need("memory", cu.alloc(&p, 4096));
	p += 1ull << 30;
	r = cu.launch(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL);
	say("launch, then synchronize", r ? r : cu.synchronize());
	say("next call", cu.alloc(&p, 4096));
}

static void wait_then_allocate(void)
{
	CUdeviceptr p;

	printf("ready\n");
	fflush(stdout);
	getchar();
	say("allocate", cu.alloc(&p, 4096));
}

int main(int argc, char **argv)
{
	CUfunction f;

	if (argc != 2)
		return 2;
	f = set_up();
	if (!strcmp(argv[1], "illegal-address"))
		write_where_nothing_is(f);
	else if (!strcmp(argv[1], "wait-then-allocate"))
		wait_then_allocate();
	else
		return 2;
	return 0;
}
