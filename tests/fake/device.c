/*
 * device.c - calls of the fake driver about devices, contexts and code.
 *
 * An image is a module of the emulated device; a CUkernel is also the CUfunction of it, as with NVIDIA's runtime.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "device/emu/module.h"
#include "ptx/ptx.h"
#include "ptx/texts.h"
#include "tests/fake/code.h"
#include "tests/fake/cubin.h"
#include "tests/fake/state.h"

/* ---- devices and contexts ---- */

CUresult cuInit(unsigned flags)
{
	return fake_enter(__func__) ?: fake_leave(fake_work_start());
}

CUresult cuDeviceGetCount(int *n)
{
	*n = 1;
	return fake_enter(__func__) ?: fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return fake_enter(__func__)
		       ?: fake_leave(ordinal ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS);
}

static const struct gsb_device_info *info(void)
{
	return fake.device->ops->info(fake.device);
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	snprintf(name, (size_t)length, "%s", info()->arch.marketing_name);
	return fake_leave(CUDA_SUCCESS);
}

/* Of no test of device/cuda, so not counted. */
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	*bytes = info()->total_mem_bytes;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	memcpy(uuid->bytes, info()->uuid, sizeof(uuid->bytes));
	return fake_leave(CUDA_SUCCESS);
}

bool fake_is_client(void)
{
	const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
	char path[256];

	snprintf(path, sizeof(path), "%s/control", folder ? folder : "");
	return access(path, F_OK) == 0;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	*value = (unsigned)attribute < GSB_N_DEVICE_ATTRS ? info()->attrs[attribute] : 0;
	if (attribute == CU_DEVICE_ATTRIBUTE_MPS_ENABLED)
		*value = fake_is_client();
	if (attribute == CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH ||
	    attribute == CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED)
		*value = 1;
	if (attribute == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)
		*value = !fake.no_descriptors;
	return fake_leave(CUDA_SUCCESS);
}

static int primary;

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	fake_add(FAKE_PRIMARY, (uint64_t)device, 0);
	*ctx = (CUcontext)&primary;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	fake_lock();
	return fake_leave_anyway(__func__, fake_remove(FAKE_PRIMARY, (uint64_t)device));
}

CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned flags, CUdevice device)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	*ctx = malloc(1);
	fake_add(FAKE_CONTEXT, fake_handle(*ctx), 0);
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	CUresult result;

	fake_lock();
	result = fake_remove(FAKE_CONTEXT, fake_handle(ctx));
	if (!result)
		free(ctx);
	return fake_leave_anyway(__func__, result);
}

static _Thread_local CUcontext current;

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	bool known;

	fake_lock();
	known = ctx == (CUcontext)&primary || fake_find(FAKE_CONTEXT, fake_handle(ctx));
	if (known)
		current = ctx;
	return fake_leave_anyway(__func__, known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

bool fake_is_elsewhere(void)
{
	return current && current != (CUcontext)&primary;
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	*value = fake.heap_bytes ? fake.heap_bytes : 8 << 20;
	return fake_leave(limit == CU_LIMIT_MALLOC_HEAP_SIZE ? CUDA_SUCCESS
							     : CUDA_ERROR_UNSUPPORTED_LIMIT);
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	if (limit == CU_LIMIT_PRINTF_FIFO_SIZE)
		fake.fifo_bytes = value;
	else if (limit == CU_LIMIT_MALLOC_HEAP_SIZE)
		fake.heap_bytes = (value + (1 << 20) - 1) >> 20 << 20;
	else
		return fake_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	*least = info()->priority_least;
	*greatest = info()->priority_greatest;
	return fake_leave(CUDA_SUCCESS);
}

/* ---- code ---- */

static CUresult error_of_image(int err)
{
	switch (err) {
	case 0: return CUDA_SUCCESS;
	case -EILSEQ: return CUDA_ERROR_INVALID_PTX;
	case -ENOEXEC: return CUDA_ERROR_NO_BINARY_FOR_GPU;
	default: return fake_work_error(err);
	}
}

static void free_library(struct fake_library *l)
{
	for (unsigned i = 0; i < l->n_kernels; i++)
		free(l->kernels[i]);
	free(l->kernels);
	if (l->module)
		fake.device->ops->module_unload(l->module);
	free(l);
}

static CUresult add_kernel(struct fake_library *l, const char *name)
{
	struct fake_kernel *k = calloc(1, sizeof(*k));

	k->name = name;
	l->kernels = realloc(l->kernels, (l->n_kernels + 1) * sizeof(CUkernel));
	l->kernels[l->n_kernels++] = k;
	return fake_work_error(
		fake.device->ops->function_get(l->module, name, &k->function, &k->info));
}

static CUresult list_kernels(struct fake_library *l)
{
	const struct gsb_device_ops *ops = fake.device->ops;
	CUresult result = CUDA_SUCCESS;
	const char *name;

	for (unsigned i = 0; !result && !ops->function_name(l->module, i, &name); i++)
		result = add_kernel(l, name);
	return result;
}

static bool has_managed(const struct fake_library *l)
{
	return fake.device->ops->module_managed(l->module);
}

/* Managed variables that are left to the driver are this process's, and the program does not see them: no test passes by that. */
static void check_managed(const struct fake_library *l, const char *cubin)
{
	const struct gsb_ptx_module *ptx = gsb_code_module(l->module->code);

	for (uint32_t i = 0; i < ptx->n_vars; i++) {
		if (!ptx->vars[i]->managed ||
		    (cubin && fake_cubin_has(cubin, ptx->vars[i]->name, false)))
			continue;
		fprintf(stderr, "fake driver: managed variable %s is left to the driver\n",
			ptx->vars[i]->name);
		abort();
	}
}

static CUresult load(struct fake_library *l, const char *text, const char *cubin, char *log,
		     size_t log_size)
{
	CUresult result = error_of_image(fake.device->ops->module_load(
		fake.space, text, strlen(text), &l->module, log, log_size));

	if (result)
		return result;
	if (!has_managed(l))
		return list_kernels(l);
	check_managed(l, cubin);
	l->cubin = cubin;
	return CUDA_SUCCESS;
}

static const void *address_of(const struct fake_library *l, const char *name)
{
	for (unsigned i = 0; i < l->n_names; i++)
		if (!strcmp(l->names[i], name))
			return l->addrs[i];
	return NULL;
}

/* What the cubin leaves undefined gets the addresses that came with it: the interpreter has a place for all, which is split here. */
static CUresult place(struct fake_library *l)
{
	const struct gsb_ptx_module *ptx = gsb_code_module(l->module->code);

	if (!l->cubin)
		return CUDA_SUCCESS;
	if (memcmp(l->cubin, ELFMAG, SELFMAG))
		return CUDA_ERROR_NOT_FOUND; /* it is there no more */
	for (uint32_t i = 0; i < ptx->n_vars; i++) {
		const void *addr;

		if (!ptx->vars[i]->managed)
			continue;
		addr = address_of(l, ptx->vars[i]->name);
		if (!addr || !fake_cubin_has(l->cubin, ptx->vars[i]->name, false))
			return CUDA_ERROR_NOT_FOUND;
		l->module->var_addr[i] = fake_handle(addr);
	}
	l->cubin = NULL;
	fake.device->ops->module_place(l->module, 0, false);
	return list_kernels(l);
}

static void *jit_value(CUjit_option wanted, const CUjit_option *options, void **values, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (options[i] == wanted)
			return values[i];
	return NULL;
}

struct CUlinkState_st {
	struct gsb_ptx_texts texts;
	char *log; /* who links keeps it until it is done */
	size_t log_size;
	void *cubin;
};

static char no_log[256];

CUresult cuLinkCreate_v2(unsigned n, CUjit_option *options, void **values, CUlinkState *state)
{
	CUresult result = fake_enter(__func__);
	char *log;

	if (result)
		return result;
	log = jit_value(CU_JIT_ERROR_LOG_BUFFER, options, values, n);
	*state = calloc(1, sizeof(**state));
	(*state)->log = log ? log : no_log;
	(*state)->log_size = log ? (size_t)(uintptr_t)jit_value(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
								options, values, n)
				 : sizeof(no_log);
	fake_add(FAKE_LINK, fake_handle(*state), 0);
	return fake_leave(CUDA_SUCCESS);
}

/* NULL: another made it. */
static const char *object_text(const void *object, size_t *size)
{
	const char *text = fake_cubin_text(object);

	if (text)
		*size = strlen(text) + 1;
	return text;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
			  const char *name, unsigned n, CUjit_option *options, void **values)
{
	const char *text = data;
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	if (!fake_find(FAKE_LINK, fake_handle(state)))
		return fake_leave(CUDA_ERROR_INVALID_HANDLE);
	if (type == CU_JIT_INPUT_CUBIN)
		text = object_text(data, &size);
	else if (type != CU_JIT_INPUT_PTX || !size || text[size - 1] ||
		 gsb_ptx_next_unit(text, size - 1))
		text = NULL;
	if (!text)
		return fake_leave(CUDA_ERROR_INVALID_PTX);
	return fake_leave(fake_work_error(gsb_ptx_texts_add(&state->texts, text, size)));
}

CUresult cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	state->cubin = fake_cubin_make(state->texts.text, state->texts.n, size, state->log,
				       state->log_size);
	*cubin = state->cubin;
	return fake_leave(state->cubin ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX);
}

CUresult cuLinkDestroy(CUlinkState state)
{
	CUresult result;

	fake_lock();
	result = fake_remove(FAKE_LINK, fake_handle(state));
	if (!result) {
		gsb_ptx_texts_finish(&state->texts);
		free(state->cubin);
		free(state);
	}
	return fake_leave_anyway(__func__, result);
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit_options,
			   void **jit_values, unsigned n_jit, CUlibraryOption *options,
			   void **values, unsigned n_options)
{
	CUresult result = fake_enter(__func__);
	char *log = jit_value(CU_JIT_ERROR_LOG_BUFFER, jit_options, jit_values, n_jit);
	size_t size = (size_t)(uintptr_t)jit_value(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, jit_options,
						   jit_values, n_jit);
	bool is_cubin = !memcmp(code, ELFMAG, SELFMAG);
	const char *text = is_cubin ? fake_cubin_text(code) : code;
	struct fake_library *l;

	if (result)
		return result;
	if (!text)
		return fake_leave(CUDA_ERROR_NO_BINARY_FOR_GPU); /* the interpreter reads PTX */
	if (!is_cubin && gsb_ptx_next_unit(text, strlen(text)))
		return fake_leave(CUDA_ERROR_INVALID_PTX); /* several modules, linked by nobody */
	l = calloc(1, sizeof(*l));
	l->names = jit_value(CU_JIT_GLOBAL_SYMBOL_NAMES, jit_options, jit_values, n_jit);
	l->addrs = jit_value(CU_JIT_GLOBAL_SYMBOL_ADDRESSES, jit_options, jit_values, n_jit);
	l->n_names = (unsigned)(uintptr_t)jit_value(CU_JIT_GLOBAL_SYMBOL_COUNT, jit_options,
						    jit_values, n_jit);
	result = load(l, text, is_cubin ? code : NULL, log ? log : no_log,
		      log ? size : sizeof(no_log));
	if (result) {
		free_library(l);
		return fake_leave(result);
	}
	fake_add(FAKE_LIBRARY, fake_handle(l), 0);
	*library = (CUlibrary)l;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuLibraryUnload(CUlibrary library)
{
	CUresult result;

	fake_lock();
	result = fake_remove(FAKE_LIBRARY, fake_handle(library));
	fake_wait_for_all();
	if (!result)
		free_library((struct fake_library *)library);
	return fake_leave_anyway(__func__, result);
}

/* NULL: it is none, or none any more. */
static struct fake_library *live(CUlibrary library)
{
	return fake_find(FAKE_LIBRARY, fake_handle(library)) ? (struct fake_library *)library
							     : NULL;
}

/* Code comes to a context while nothing runs there: the driver waits for that, and lets nothing begin. */
CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	if (!live(library))
		return fake_leave(CUDA_ERROR_INVALID_HANDLE);
	fake_wait_for_kernels();
	*module = (CUmodule)library;
	return fake_leave(fake.lost ? fake.lost : place((struct fake_library *)library));
}

static CUresult get_kernel(CUkernel *kernel, const struct fake_library *l, const char *name)
{
	for (unsigned i = 0; l && i < l->n_kernels; i++) {
		if (strcmp(l->kernels[i]->name, name))
			continue;
		*kernel = (CUkernel)l->kernels[i];
		return CUDA_SUCCESS;
	}
	return l ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	return fake_enter(__func__) ?: fake_leave(get_kernel(kernel, live(library), name));
}

CUresult cuLibraryGetKernelCount(unsigned *n, CUlibrary library)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	if (!live(library))
		return fake_leave(CUDA_ERROR_INVALID_HANDLE);
	*n = live(library)->n_kernels;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned n, CUlibrary library)
{
	CUresult result = fake_enter(__func__);
	struct fake_library *l;

	if (result)
		return result;
	l = live(library);
	if (!l || n > l->n_kernels)
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	memcpy(kernels, l->kernels, n * sizeof(*kernels));
	return fake_leave(CUDA_SUCCESS);
}

static CUresult get_global(CUdeviceptr *addr, size_t *size, const struct fake_library *l,
			   const char *name)
{
	const struct gsb_ptx_var *v;
	uint64_t at, bytes;

	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	v = gsb_ptx_find_var(gsb_code_module(l->module->code), name);
	if (v && v->managed)
		return CUDA_ERROR_INVALID_VALUE; /* the driver knows no more than where it is */
	if (fake.device->ops->global_get(l->module, name, &at, &bytes))
		return CUDA_ERROR_NOT_FOUND;
	*addr = at;
	*size = bytes;
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *addr, size_t *size, CUlibrary library, const char *name)
{
	return fake_enter(__func__) ?: fake_leave(get_global(addr, size, live(library), name));
}

CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
	*name = ((struct fake_kernel *)kernel)->name;
	return fake_enter(__func__) ?: fake_leave(CUDA_SUCCESS);
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	*function = (CUfunction)kernel;
	return fake_enter(__func__) ?: fake_leave(CUDA_SUCCESS);
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
			      CUdevice device)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	*value = ((struct fake_kernel *)kernel)->info.attrs[attribute];
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t i, size_t *offset, size_t *size)
{
	const struct gsb_function_info *f = &((struct fake_kernel *)kernel)->info;
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	if (i >= f->n_params)
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	*offset = f->params[i].offset;
	*size = f->params[i].size;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuFuncLoad(CUfunction function)
{
	struct fake_kernel *k = (struct fake_kernel *)function;
	CUresult result = fake_enter(__func__);
	char log[256];

	if (result)
		return result;
	return fake_leave(
		fake_work_error(fake.device->ops->function_prepare(k->function, log, sizeof(log))));
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	struct fake_kernel *k = (struct fake_kernel *)function;
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	k->info.attrs[attribute] = value;
	return fake_leave(CUDA_SUCCESS);
}
