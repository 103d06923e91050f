/*
 * resize_device.c - see resize.h.
 */
#include "tests/gpu/resize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "device/cuda/driver.h"
#include "ptx/print.h"
#include "tests/unit/resize_kit.h"

#define JIT_ERROR_LOG	5 /* CUjit_option */
#define JIT_ERROR_BYTES 6
#define PARAM_POINTER	((void *)1) /* CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE */
#define PARAM_SIZE	((void *)2)
#define HANG_NS		10000000000u /* nothing here takes a second */
#define GROUP_SMS	8
#define MAX_GROUPS	128

struct cu cu;

void need(const char *what, CUresult result)
{
	if (!result)
		return;
	fflush(stdout);
	fprintf(stderr, "resize: %s: driver error %d\n", what, result);
	exit(1);
}

void device_open(void)
{
	CUcontext ctx;

	cu_load(&cu);
	need("cuInit", cu.cuInit(0));
	need("context", cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	need("context", cu.cuCtxSetCurrent(ctx));
}

static bool is_one_of(const struct gsb_ptx_func *f, struct gsb_ptx_func *const *of, size_t n)
{
	while (n && of[n - 1] != f)
		n--;
	return n;
}

struct gsb_ptx_module *device_text_of(const struct gsb_ptx_module *m,
				      struct gsb_ptx_func *const *entries, size_t n)
{
	struct gsb_ptx_func **kept = calloc(m->n_funcs, sizeof(struct gsb_ptx_func *));
	struct gsb_ptx_module part = *m, *out;
	char *text;
	size_t len;

	if (!kept)
		exit(1);
	part.funcs = kept;
	part.n_funcs = 0;
	for (uint32_t i = 0; i < m->n_funcs; i++)
		if (!m->funcs[i]->is_entry || is_one_of(m->funcs[i], entries, n))
			kept[part.n_funcs++] = m->funcs[i];
	if (gsb_ptx_print(&part, &text, &len))
		exit(1);
	out = kit_parse(text);
	free(text);
	free(kept);
	return out;
}

CUmodule device_load(const struct gsb_ptx_module *m, char *log, size_t size)
{
	CUjit_option options[] = {JIT_ERROR_LOG, JIT_ERROR_BYTES};
	void *values[] = {log, (void *)(uintptr_t)size};
	CUmodule module = NULL;
	char *text;
	size_t len;

	log[0] = 0;
	if (gsb_ptx_print(m, &text, &len))
		exit(1);
	if (cu.cuModuleLoadDataEx(&module, text, GSB_ARRAY_LEN(options), options, values))
		module = NULL;
	free(text);
	return module;
}

CUfunction device_find(CUmodule module, const char *name)
{
	CUfunction f;

	need(name, cu.cuModuleGetFunction(&f, module, name));
	return f;
}

CUfunction device_find_form(CUmodule module, const char *kernel, unsigned int form)
{
	char name[4096];

	if (form == GSB_N_REWRITE_FORMS)
		return device_find(module, kernel);
	if (!gsb_rewrite_variant_name(kernel, form, name, sizeof(name)))
		need("a variant's name", CUDA_ERROR_INVALID_VALUE);
	return device_find(module, name);
}

void device_fire(const struct shot *s, CUstream stream)
{
	size_t bytes = s->bytes;
	void *extra[] = {PARAM_POINTER, s->params, PARAM_SIZE, &bytes, NULL};

	need("launch",
	     cu.cuLaunchKernel(s->function, s->grid[0], s->grid[1], s->grid[2], s->block[0],
			       s->block[1], s->block[2], s->smem, stream, NULL, extra));
}

int device_attribute(CUfunction f, int which)
{
	int value;

	need("attribute", cu.cuFuncGetAttribute(&value, which, f));
	return value;
}

int device_resident(CUfunction f, int threads, size_t smem)
{
	int blocks;

	need("occupancy",
	     cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, threads, smem));
	return blocks;
}

CUdeviceptr device_alloc(size_t bytes)
{
	CUdeviceptr p;

	need("memory", cu.cuMemAlloc_v2(&p, bytes));
	need("memory", cu.cuMemsetD8_v2(p, 0, bytes));
	return p;
}

void device_await(CUstream stream, const char *kernel, const char *what)
{
	const uint64_t late = gsb_clock_ns() + HANG_NS;
	CUresult state;

	while ((state = cu.cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY) {
		if (gsb_clock_ns() < late)
			continue;
		printf("hangs\t%s\t%s\n", kernel, what);
		fflush(stdout);
		_exit(1);
	}
	need(kernel, state);
}

/* ---- parts of the SMs ---- */

static CUstream stream_on(const struct cuda_driver *d, CUdevResource *groups, unsigned n)
{
	CUdevResourceDesc desc;
	CUgreenCtx green;
	CUstream stream;

	need("part", d->cuDevResourceGenerateDesc(&desc, groups, n));
	need("part", d->cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	need("part", d->cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
	return stream;
}

/* The library refuses these calls, so that it declares them without parameters. */
static struct cuda_driver green_calls(void)
{
	struct cuda_driver d = {0};

	memcpy(&d.cuDeviceGetDevResource, &cu.cuDeviceGetDevResource, sizeof(void *));
	memcpy(&d.cuDevSmResourceSplitByCount, &cu.cuDevSmResourceSplitByCount, sizeof(void *));
	memcpy(&d.cuDevResourceGenerateDesc, &cu.cuDevResourceGenerateDesc, sizeof(void *));
	memcpy(&d.cuGreenCtxCreate, &cu.cuGreenCtxCreate, sizeof(void *));
	memcpy(&d.cuGreenCtxStreamCreate, &cu.cuGreenCtxStreamCreate, sizeof(void *));
	return d;
}

static uint32_t sms_of(const CUdevResource *groups, unsigned n)
{
	uint32_t sms = 0;

	for (unsigned i = 0; i < n; i++)
		sms += groups[i].sm.smCount;
	return sms;
}

void device_split(uint32_t want, CUstream *low, uint32_t *n_low, CUstream *high, uint32_t *n_high)
{
	const struct cuda_driver d = green_calls();
	CUdevResource groups[MAX_GROUPS + 1], all, rest;
	unsigned n = MAX_GROUPS, n_first = want / GROUP_SMS;

	need("SMs", d.cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	need("SMs", d.cuDevSmResourceSplitByCount(groups, &n, &all, &rest,
						  CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING,
						  GROUP_SMS));
	if (rest.type == CU_DEV_RESOURCE_TYPE_SM && rest.sm.smCount)
		groups[n++] = rest;
	*n_low = sms_of(groups, n_first);
	*n_high = sms_of(groups + n_first, n - n_first);
	*low = stream_on(&d, groups, n_first);
	*high = stream_on(&d, groups + n_first, n - n_first);
}
