/*
 * hooks/module.c - modules and libraries: loading, unloading, and what is in them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "interpose/cu/ctx.h"
#include "interpose/hooks/hooks.h"
#include "interpose/hooks/input.h"
#include "interpose/cu/library.h"
#include "interpose/cu/module.h"

/* The driver's own default is lazy; the two do not differ here but in what a runtime does with the answer. */
CUresult hook_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	const char *wanted = getenv("CUDA_MODULE_LOADING");

	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = wanted && !strcmp(wanted, "EAGER") ? CU_MODULE_EAGER_LOADING
						   : CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

/* An option may come without a value: cuBLAS gives no array of them. Whether the image stays where it is, is not said then. */
static CUresult library_options(const struct gsb_load_options *o, bool *is_preserved)
{
	if (o->n && !o->options)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < o->n; i++) {
		if (o->options[i] >= CU_LIBRARY_NUM_OPTIONS) {
			gsb_log(GSB_LOG_DEBUG, "call", "option %d of a library is not known",
				(int)o->options[i]);
			return CUDA_ERROR_INVALID_VALUE;
		}
		if (o->options[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
			*is_preserved = o->values && o->values[i];
	}
	return CUDA_SUCCESS;
}

/* What is no image at all never reaches the engine. */
static CUresult refuse_image(struct gsb_jit_logs *logs)
{
	gsb_jit_logs_fail(logs, "it is neither PTX text nor a fatbin nor a cubin, or its header "
				"is broken");
	return CUDA_ERROR_INVALID_IMAGE;
}

static CUresult gather(const void *image, struct gsb_image *out, void **made,
		       struct gsb_jit_logs *logs)
{
	int err = gsb_image_gather(image, out, made);

	if (err == -ENOMEM)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return err ? refuse_image(logs) : CUDA_SUCCESS;
}

/* ---- modules ---- */

static CUresult load_module(CUmodule *mod, const struct gsb_image *image, struct gsb_jit_logs *logs)
{
	struct gsb_cu_ctx_life life;
	uint64_t handle;
	CUresult result = gsb_cu_ctx_live(&life);

	if (!result)
		result = gsb_cu_module_load(
			&(struct gsb_cu_load){.wire = life.wire, .image = image}, logs, &handle);
	if (!result)
		*mod = (CUmodule)handle;
	return result;
}

CUresult hook_cuModuleLoadDataEx(CUmodule *mod, const void *image, unsigned n,
				 CUjit_option *options, void **values)
{
	struct gsb_jit_logs logs = {0};
	struct gsb_image where;
	void *made;
	CUresult result = mod && image ? gsb_input_options(n, options, values, &logs)
				       : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = gather(image, &where, &made, &logs);
	if (result)
		return result;
	result = load_module(mod, &where, &logs);
	free(made);
	return result;
}

CUresult hook_cuModuleLoad(CUmodule *mod, const char *path)
{
	struct gsb_image image;
	CUresult result = mod && path ? gsb_input_file(path, &image) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	result = image.kind == GSB_IMAGE_NONE ? refuse_image(NULL) : load_module(mod, &image, NULL);
	free((void *)image.bytes);
	return result;
}

CUresult hook_cuModuleUnload(CUmodule mod)
{
	const struct gsb_cu_module *m = gsb_object_get(&gsb_cu_modules, (uint64_t)mod);

	CUresult result, error;

	if (!m || gsb_object_parent(m))
		return CUDA_ERROR_INVALID_HANDLE;
	error = gsb_cu_error_of(m);
	result = gsb_cu_module_unload((uint64_t)mod);
	return result ? result : error;
}

CUresult hook_cuModuleGetFunction(CUfunction *fn, CUmodule mod, const char *name)
{
	const struct gsb_cu_module *m = gsb_object_get(&gsb_cu_modules, (uint64_t)mod);
	uint64_t handle;
	CUresult result;

	if (!fn || !name || !*name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	result = gsb_cu_error_of(m);
	if (!result)
		result = gsb_cu_module_function((uint64_t)mod, name, &handle);
	if (!result)
		*fn = (CUfunction)handle;
	return result;
}

CUresult hook_cuModuleGetFunctionCount(unsigned *count, CUmodule mod)
{
	return count ? gsb_cu_module_count((uint64_t)mod, count) : CUDA_ERROR_INVALID_VALUE;
}

CUresult hook_cuModuleEnumerateFunctions(CUfunction *fns, unsigned n, CUmodule mod)
{
	CUresult result = fns && n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	for (unsigned i = 0; !result && i < n; i++) {
		char *name = NULL;

		result = gsb_cu_module_kernel_name((uint64_t)mod, i, &name);
		if (!result)
			result = hook_cuModuleGetFunction(&fns[i], mod, name);
		free(name);
	}
	return result == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : result;
}

/* A name that is there, but a function's, is not one that is not there. */
CUresult hook_cuModuleGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUmodule mod, const char *name)
{
	CUfunction fn;
	CUresult result = name && *name && (ptr || bytes)
				  ? gsb_cu_module_global((uint64_t)mod, name, ptr, bytes)
				  : CUDA_ERROR_INVALID_VALUE;

	return result == CUDA_ERROR_NOT_FOUND && !hook_cuModuleGetFunction(&fn, mod, name)
		       ? CUDA_ERROR_INVALID_VALUE
		       : result;
}

/* ---- libraries ---- */

/* With a current context the image is loaded there now, so that a bad one fails here. */
static CUresult load_library(CUlibrary *out, const struct gsb_image *image, bool is_preserved,
			     struct gsb_jit_logs *logs)
{
	struct gsb_cu_ctx_life life;
	uint64_t handle, module;
	CUresult result = gsb_cu_library_create(image, is_preserved, &handle);

	if (result)
		return result;
	result = gsb_cu_ctx_live(&life);
	if (!result)
		result = gsb_cu_library_module_in(handle, life.wire, logs, &module);
	else if (result == CUDA_ERROR_INVALID_CONTEXT)
		result = CUDA_SUCCESS;
	if (result)
		gsb_cu_library_destroy(handle);
	else
		*out = (CUlibrary)handle;
	return result;
}

CUresult hook_cuLibraryLoadData(CUlibrary *lib, const void *image, const struct gsb_load_options *o)
{
	struct gsb_jit_logs logs = {0};
	struct gsb_image where;
	bool is_preserved = false;
	void *made;
	CUresult result = lib && image ? gsb_input_options(o->n_jit, o->jit, o->jit_values, &logs)
				       : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = library_options(o, &is_preserved);
	if (!result)
		result = gather(image, &where, &made, &logs);
	if (result)
		return result;
	result = load_library(lib, &where, is_preserved && !made, &logs);
	free(made);
	return result;
}

CUresult hook_cuLibraryLoadFromFile(CUlibrary *lib, const char *path,
				    const struct gsb_load_options *o)
{
	struct gsb_jit_logs logs = {0};
	struct gsb_image image;
	bool ignored;
	CUresult result = lib && path ? gsb_input_options(o->n_jit, o->jit, o->jit_values, &logs)
				      : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = library_options(o, &ignored);
	if (!result)
		result = gsb_input_file(path, &image);
	if (result)
		return result;
	result = image.kind == GSB_IMAGE_NONE ? refuse_image(&logs)
					      : load_library(lib, &image, false, &logs);
	free((void *)image.bytes);
	return result;
}

CUresult hook_cuLibraryUnload(CUlibrary lib)
{
	return gsb_cu_library_destroy((uint64_t)lib);
}

CUresult hook_cuLibraryGetKernel(CUkernel *kernel, CUlibrary lib, const char *name)
{
	uint64_t handle;
	CUresult result = kernel && name && *name
				  ? gsb_cu_library_kernel((uint64_t)lib, name, &handle)
				  : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*kernel = (CUkernel)handle;
	return result;
}

CUresult hook_cuLibraryGetModule(CUmodule *mod, CUlibrary lib)
{
	uint64_t handle;
	CUresult result =
		mod ? gsb_cu_library_module((uint64_t)lib, &handle) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*mod = (CUmodule)handle;
	return result;
}

CUresult hook_cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUlibrary lib, const char *name)
{
	uint64_t module;
	CUresult result = name && *name && (ptr || bytes)
				  ? gsb_cu_library_module((uint64_t)lib, &module)
				  : CUDA_ERROR_INVALID_VALUE;

	return result ? result : gsb_cu_module_global(module, name, ptr, bytes);
}

CUresult hook_cuLibraryGetManaged(CUdeviceptr *ptr, size_t *bytes, CUlibrary lib, const char *name)
{
	uint64_t module;
	CUresult result = name && *name && (ptr || bytes)
				  ? gsb_cu_library_module((uint64_t)lib, &module)
				  : CUDA_ERROR_INVALID_VALUE;

	return result ? result : gsb_cu_module_managed(module, name, ptr, bytes);
}

CUresult hook_cuLibraryGetKernelCount(unsigned *count, CUlibrary lib)
{
	uint64_t module;
	CUresult result =
		count ? gsb_cu_library_module((uint64_t)lib, &module) : CUDA_ERROR_INVALID_VALUE;

	return result ? result : gsb_cu_module_count(module, count);
}

CUresult hook_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned n, CUlibrary lib)
{
	uint64_t module;
	CUresult result = kernels && n ? gsb_cu_library_module((uint64_t)lib, &module)
				       : CUDA_ERROR_INVALID_VALUE;

	for (unsigned i = 0; !result && i < n; i++) {
		char *name = NULL;

		result = gsb_cu_module_kernel_name(module, i, &name);
		if (!result)
			result = hook_cuLibraryGetKernel(&kernels[i], lib, name);
		free(name);
	}
	return result == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : result;
}
