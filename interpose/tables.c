/*
 * tables.c - cuGetExportTable: what NVIDIA's runtime needs besides the documented interface.
 *
 * A table is an array of pointers; word 0 is its size in bytes, except in the one that begins with a
 * function. Tables about the current context and about profilers are ours, because contexts are. The two
 * that establish that the driver is genuine are only ever the genuine driver's own: nothing here computes
 * or imitates their answers. Every other UUID is refused: a library that is refused goes without, while one
 * that is given a table of the wrong shape computes nonsense.
 */
#include "interpose/tables.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "interpose/entries.h"
#include "interpose/cu/ctx.h"
#include "interpose/hooks/hooks.h"

#define N_HOOKS		 7
#define N_TLS		 3
#define N_CHECKS	 15
#define N_TOOLS_CONTEXT	 93
#define N_TOOLS_MODULE	 99
#define N_PLACES	 17
#define BYTES(n)	 ((const void *)((uintptr_t)(n) * sizeof(void *)))
#define CALLBACK_WORDS	 1024
#define CALLBACK_DOMAINS 16

static CUresult refuse(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- values that a runtime keeps with each context: asked for at nearly every call ---- */

static struct gsb_cu_ctx *storage_ctx(CUcontext handle)
{
	if (gsb_enter())
		return NULL;
	return handle ? gsb_cu_ctx_find(handle) : gsb_self.top.ctx;
}

static CUresult storage_set(CUcontext handle, void *key, void *value, gsb_cu_ctx_dtor *dtor)
{
	struct gsb_cu_ctx *ctx = storage_ctx(handle);

	return ctx && key ? gsb_cu_ctx_value_set(ctx, key, value, dtor)
			  : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult storage_remove(CUcontext handle, void *key)
{
	struct gsb_cu_ctx *ctx = storage_ctx(handle);

	return ctx && key && gsb_cu_ctx_value_remove(ctx, key) ? CUDA_SUCCESS
							       : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult storage_get(void **value, CUcontext handle, void *key)
{
	struct gsb_cu_ctx *ctx = storage_ctx(handle);

	*value = ctx && key ? gsb_cu_ctx_value_get(ctx, key) : NULL;
	return *value ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static const void *const storage[] = {storage_set, storage_remove, storage_get, NULL};

/* ---- profiler callbacks: the arrays say which are wanted, and none ever is ---- */

static void no_callback(void)
{
}

static void callback_words(void **words, size_t *n)
{
	static uint32_t none[CALLBACK_WORDS];

	*words = none;
	*n = CALLBACK_WORDS;
}

static void callback_domains(void **words, size_t *n)
{
	static uint32_t none[CALLBACK_DOMAINS];

	*words = none;
	*n = CALLBACK_DOMAINS - 2;
}

static const void *const hooks[N_HOOKS] = {
	BYTES(N_HOOKS), no_callback, callback_words,   no_callback,
	no_callback,	no_callback, callback_domains,
};

/* ---- checks and tools ---- */

static CUresult context_check(CUcontext ctx, uint32_t *flags, const void **more)
{
	*flags = 0;
	return CUDA_SUCCESS;
}

static uint32_t nothing_to_check(void)
{
	return 0;
}

static const void *const checks[N_CHECKS] = {
	BYTES(N_CHECKS), refuse, context_check, nothing_to_check, [4 ... N_CHECKS - 1] = refuse,
};

static CUresult tool_current(CUcontext *ctx)
{
	CUresult result = gsb_enter();

	return result ? result : hook_cuCtxGetCurrent(ctx);
}

static const void *const tls[N_TLS] = {BYTES(N_TLS), refuse, tool_current};

static CUresult tool_context_id(CUcontext ctx, unsigned long long *id)
{
	CUresult result = gsb_enter();

	return result ? result : hook_cuCtxGetId(ctx, id);
}

/* A tool has a name of its own for a stream; here it is the same, which no stream of the program lacks. */
static CUresult tool_stream(CUcontext ctx, CUstream stream, CUstream *out)
{
	*out = stream ? stream : CU_STREAM_LEGACY;
	return CUDA_SUCCESS;
}

/* By this cuBLAS and cuSOLVER know whether their last work was in the same stream. */
static CUresult tool_stream_id(CUcontext ctx, CUstream stream, uint64_t *id)
{
	unsigned long long number;
	CUresult result = gsb_enter();

	if (!result)
		result = hook_cuStreamGetId(stream, &number);
	if (!result)
		*id = number;
	return result;
}

static const void *const tools_context[N_TOOLS_CONTEXT] = {
	BYTES(N_TOOLS_CONTEXT),
	[1 ... 3] = refuse,
	tool_context_id,
	[5 ... 38] = refuse,
	tool_stream_id,
	[40 ... 50] = refuse,
	tool_stream,
	[52 ... N_TOOLS_CONTEXT - 1] = refuse,
};

/*
 * cuFFT is shown each function of a module, with its name, and keeps what it wants. As seen of the genuine table: that returns 1,
 * and what the visitor returns counts up from call to call.
 */
typedef int function_visitor(void *user, CUfunction fn, const char *name);

static bool visit_functions(CUfunction *fns, unsigned n, CUmodule mod, function_visitor *visit,
			    void *user)
{
	const char *name;

	if (hook_cuModuleEnumerateFunctions(fns, n, mod))
		return false;
	for (unsigned i = 0; i < n; i++)
		if (!hook_cuFuncGetName(&name, fns[i]))
			visit(user, fns[i], name);
	return true;
}

static int module_functions(CUcontext ctx, CUmodule mod, function_visitor *visit, void *user)
{
	CUfunction *fns;
	bool done;
	unsigned n;

	if (gsb_enter_engine() || hook_cuModuleGetFunctionCount(&n, mod) || !n)
		return 0;
	fns = malloc(n * sizeof(*fns));
	done = fns && visit_functions(fns, n, mod, visit, user);
	free(fns);
	return done;
}

static const void *const tools_module[N_TOOLS_MODULE] = {
	BYTES(N_TOOLS_MODULE),
	[1 ... 6] = refuse,
	module_functions,
	[8 ... N_TOOLS_MODULE - 1] = refuse,
};

/*
 * cuBLAS asks by slot 4 how the SMs lie in the GPU, and gives back what it was told by slot 13. It calls them without a look whether
 * there is a table; the genuine one's, without a context, answers with this error, and cuBLAS goes on without.
 */
static CUresult no_place(void)
{
	return CUDA_ERROR_INVALID_CONTEXT;
}

static const void *const places[N_PLACES] = {BYTES(N_PLACES), [1 ... N_PLACES - 1] = no_place};

/* ---- by UUID ---- */

static const struct {
	uint8_t id[16];
	const void *const *table; /* NULL: the genuine driver's */
} tables[] = {
	/* context local storage */
	{{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95,
	  0x93},
	 storage},
	/* runtime callback hooks */
	{{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a,
	  0x66},
	 hooks},
	/* context checks */
	{{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa,
	  0x7e},
	 checks},
	/* tools TLS */
	{{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec,
	  0xdc},
	 tls},
	/* tools context */
	{{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8,
	  0xf2},
	 tools_context},
	/* tools module */
	{{0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99,
	  0x1e},
	 tools_module},
	/* runtime interface */
	{{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d,
	  0xf9},
	 NULL},
	/* places of the SMs */
	{{0x17, 0x34, 0xdc, 0x26, 0x80, 0x0d, 0x47, 0x45, 0x87, 0x26, 0xc0, 0xf1, 0xe7, 0xdd, 0x8b,
	  0xca},
	 places},
	/* integrity check */
	{{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1,
	  0xf2},
	 NULL},
};

static void say_refused(const CUuuid *id)
{
	const uint8_t *b = (const uint8_t *)id->bytes;

	gsb_log(GSB_LOG_DEBUG, "table",
		"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x is refused",
		b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
		b[13], b[14], b[15]);
}

/* Before CUDA 12 a runtime loads its kernels by functions of the genuine driver's table, and in that driver nothing has a context. */
static void say_old_runtime(void)
{
	static _Atomic bool said;

	if (!gsb_entry_asked_for_libraries() && !atomic_exchange(&said, true))
		gsb_log_say(
			"a program or library here has NVIDIA's runtime of CUDA 11 or older, which is not carried: its kernels fail with error 201 (invalid device context); "
			"build it with CUDA 12 or later (said once; GSB_DEBUG=quiet silences this)");
}

/* Who cannot have it hears another reason. */
static CUresult genuine_table(const void **table, const CUuuid *id, const void *asker)
{
	CUresult result = gsb_genuine_table(table, id, asker);

	if (!result)
		say_old_runtime();
	return result;
}

CUresult hook_cuGetExportTable(const void **table, const CUuuid *id, const void *asker)
{
	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*table = NULL;
	for (unsigned i = 0; i < GSB_ARRAY_LEN(tables); i++) {
		if (memcmp(tables[i].id, id->bytes, sizeof(id->bytes)))
			continue;
		if (!tables[i].table)
			return genuine_table(table, id, asker);
		*table = tables[i].table;
		return CUDA_SUCCESS;
	}
	say_refused(id);
	return CUDA_ERROR_NOT_SUPPORTED;
}
