/*
 * rules.c - see rules.h: what the programs share, and main().
 */
#include "rules.h"

#include <pthread.h>
#include <signal.h>

#include "base/err.h"

struct cu cu;
CUcontext ctx;
CUmodule module;
CUfunction k_add, k_hold, k_store, k_look, k_trap, k_assert;
const char *asking = "first";
static uint32_t *gate, n_held;

const char rules_ptx[] =
	".version 6.4\n.target sm_52\n.address_size 64\n"
	".visible .global .align 4 .u32 counter = 7;\n"
	".visible .const .align 4 .u32 fixed = 9;\n"
	".visible .global .align 8 .b8 room[24];\n"
	".global .align 1 .b8 said[4] = {110, 111, 33, 0};\n"
	".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);\n"
	".visible .entry add(.param .u64 word, .param .u32 n)\n{\n"
	"\t.reg .b32 %n, %old;\n\t.reg .b64 %word;\n"
	"\tld.param.u64 %word, [word];\n\tld.param.u32 %n, [n];\n"
	"\tld.volatile.global.u32 %old, [%word];\n\tadd.u32 %old, %old, %n;\n"
	"\tst.volatile.global.u32 [%word], %old;\n\tret;\n}\n"
	".visible .entry hold(.param .u64 gate, .param .u32 n)\n{\n"
	"\t.reg .pred %p;\n\t.reg .b32 %n, %now;\n\t.reg .b64 %gate;\n"
	"\tld.param.u64 %gate, [gate];\n\tld.param.u32 %n, [n];\n"
	"L:\n\tld.volatile.global.u32 %now, [%gate];\n\tsetp.lt.u32 %p, %now, %n;\n\t@%p bra L;\n\tret;\n}\n"
	".visible .entry store(.param .u64 at)\n{\n"
	"\t.reg .b64 %at;\n\tld.param.u64 %at, [at];\n\tst.global.u32 [%at], 1;\n\tret;\n}\n"
	".visible .entry look(.param .u64 from, .param .u64 to)\n{\n"
	"\t.reg .b32 %v;\n\t.reg .b64 %from, %to;\n"
	"\tld.param.u64 %from, [from];\n\tld.param.u64 %to, [to];\n"
	"\tld.global.u32 %v, [%from];\n\tst.global.u32 [%to], %v;\n\tret;\n}\n"
	".visible .entry trap()\n{\n\ttrap;\n\tret;\n}\n"
	".visible .entry fails()\n{\n\t.reg .b64 %g, %s;\n"
	"\tmov.u64 %g, said;\n\tcvta.global.u64 %s, %g;\n\t{\n"
	"\t.param .b64 m;\n\t.param .b64 f;\n\t.param .b32 l;\n\t.param .b64 n;\n\t.param .b64 s;\n"
	"\tst.param.b64 [m], %s;\n\tst.param.b64 [f], %s;\n\tst.param.b32 [l], 1;\n"
	"\tst.param.b64 [n], %s;\n\tst.param.b64 [s], 1;\n"
	"\tcall.uni __assertfail, (m, f, l, n, s);\n\t}\n\tret;\n}\n";

/* ---- lines ---- */

static const char *name_of(CUresult result)
{
	const char *name = gsb_cuda_error_name(result), *rest;

	if (!name)
		return "?";
	rest = strncmp(name, "CUDA_ERROR_", 11) ? name + 5 : name + 11;
	return rest;
}

void say(const char *step, CUresult result)
{
	printf("%s.%s = %s\n", running, step, name_of(result));
}

void say_n(const char *step, long long n)
{
	printf("%s.%s = %lld\n", running, step, n);
}

/* The process may hold locks of the driver: nothing more can be asked. */
static void crashed(int sig)
{
	(void)sig;
	printf("%s.%s = CRASH\n", running, asking);
	fflush(stdout);
	_exit(0);
}

/* ---- things ---- */

CUstream stream(unsigned flags)
{
	CUstream s;

	must(cu.cuStreamCreate(&s, flags));
	return s;
}

CUevent event(unsigned flags)
{
	CUevent e;

	must(cu.cuEventCreate(&e, flags));
	return e;
}

CUdeviceptr words(size_t n)
{
	CUdeviceptr p;

	must(cu.cuMemAlloc_v2(&p, 4 * n));
	must(cu.cuMemsetD32_v2(p, 0, n));
	settle();
	return p;
}

uint32_t word(CUdeviceptr from)
{
	uint32_t w = 0;

	must(cu.cuMemcpyDtoH_v2(&w, from, sizeof(w)));
	return w;
}

uint32_t *pinned(size_t n)
{
	void *p;

	must(cu.cuMemHostAlloc(&p, 4 * n, CU_MEMHOSTALLOC_PORTABLE));
	memset(p, 0, 4 * n);
	return p;
}

CUcontext other_context(void)
{
	CUcontext other, popped;

	must(cu.cuCtxCreate_v2(&other, 0, 0));
	must(cu.cuCtxPopCurrent_v2(&popped));
	return other;
}

/* A first launch may wait for the device, which a held stream would keep: all that is used is launched here. */
CUfunction kernel_here(const char *name)
{
	CUmodule m;
	CUfunction f;

	must(cu.cuModuleLoadData(&m, rules_ptx));
	must(cu.cuModuleGetFunction(&f, m, name));
	return f;
}

void settle(void)
{
	must(cu.cuCtxSynchronize());
}

/* ---- work ---- */

CUresult launch(CUfunction f, CUstream s, void **params)
{
	return cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
}

CUresult add(CUstream s, CUdeviceptr to, uint32_t n)
{
	return launch(k_add, s, (void *[]){&to, &n});
}

CUresult look(CUstream s, CUdeviceptr from, CUdeviceptr to)
{
	return launch(k_look, s, (void *[]){&from, &to});
}

CUresult store(CUstream s, CUdeviceptr to)
{
	return launch(k_store, s, (void *[]){&to});
}

void hold(CUstream s)
{
	CUdeviceptr g = at(gate);
	uint32_t n = ++n_held;

	must(launch(k_hold, s, (void *[]){&g, &n}));
}

void let_go(void)
{
	__atomic_store_n(gate, n_held, __ATOMIC_RELEASE);
}

void *on_thread(void *(*f)(void *), void *data)
{
	pthread_t t;
	void *result = NULL;

	if (pthread_create(&t, NULL, f, data) || pthread_join(t, &result))
		abort();
	return result;
}

/* ---- the programs ---- */

static void begin(void)
{
	CUdeviceptr w;

	must(cu.cuInit(0));
	must(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	must(cu.cuCtxSetCurrent(ctx));
	must(cu.cuModuleLoadData(&module, rules_ptx));
	must(cu.cuModuleGetFunction(&k_add, module, "add"));
	must(cu.cuModuleGetFunction(&k_hold, module, "hold"));
	must(cu.cuModuleGetFunction(&k_store, module, "store"));
	must(cu.cuModuleGetFunction(&k_look, module, "look"));
	must(cu.cuModuleGetFunction(&k_trap, module, "trap"));
	must(cu.cuModuleGetFunction(&k_assert, module, "fails"));
	gate = pinned(1);
	w = words(2);
	must(add(NULL, w, 1));
	must(look(NULL, w, w + 4));
	must(store(NULL, w));
	hold(NULL);
	let_go();
	settle();
	must(cu.cuMemFree_v2(w));
}

#undef PROGRAM
#define PROGRAM(name)                \
	static void run_##name(void) \
	{                            \
		begin();             \
		rules_##name();      \
	}
#define BARE(name)                   \
	static void run_##name(void) \
	{                            \
		rules_##name();      \
	}
#include "programs.def"

static const struct answers_case cases[] = {
#define PROGRAM(name) {#name, run_##name},
#define BARE(name)    {#name, run_##name},
#include "programs.def"
};

static void set_up(void)
{
	signal(SIGSEGV, crashed);
	signal(SIGBUS, crashed);
	cu_load(&cu);
}

int main(int argc, char **argv)
{
	static const struct answers all = {
		.set_up = set_up,
		.cases = cases,
		.n_cases = sizeof(cases) / sizeof(cases[0]),
	};

	return answers_main(&all, argc, argv);
}
