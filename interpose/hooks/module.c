/*
 * hooks/module.c - modules and libraries: loading, unloading, and what is in them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "interpose/cu/ctx.h"
#include "interpose/hooks/hooks.h"
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

/* ---- options ---- */

/*
 * Options that steer the compiler (registers, optimisation, targets) are its business, not the program's
 * correctness: they are accepted and not passed on. The logs are the program's and are filled.
 */
static CUresult read_option(CUjit_option option, void **value, struct gsb_jit_logs *logs)
{
	switch (option) {
	case CU_JIT_WALL_TIME: logs->wall_time = value; break;
	case CU_JIT_INFO_LOG_BUFFER: logs->info = *value; break;
	case CU_JIT_ERROR_LOG_BUFFER: logs->error = *value; break;
	case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
		logs->info_room = (unsigned)(uintptr_t)*value;
		logs->info_used = value;
		break;
	case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
		logs->error_room = (unsigned)(uintptr_t)*value;
		logs->error_used = value;
		break;
	default: return option < CU_JIT_NUM_OPTIONS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

static CUresult read_options(unsigned n, const CUjit_option *options, void **values,
			     struct gsb_jit_logs *logs)
{
	CUresult result = CUDA_SUCCESS;

	if (n && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; !result && i < n; i++)
		result = read_option(options[i], &values[i], logs);
	return result;
}

static CUresult read_library_options(const struct gsb_load_options *o, bool *is_preserved)
{
	if (o->n && (!o->options || !o->values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < o->n; i++) {
		if (o->options[i] >= CU_LIBRARY_NUM_OPTIONS)
			return CUDA_ERROR_INVALID_VALUE;
		if (o->options[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
			*is_preserved = o->values[i] != NULL;
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

/* ---- files ---- */

static int read_all(int fd, char *to, size_t size)
{
	while (size) {
		ssize_t n = read(fd, to, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		to += n;
		size -= (size_t)n;
	}
	return 0;
}

static CUresult read_open_file(int fd, struct gsb_image *out)
{
	char *bytes = NULL;
	struct stat st;
	int err = 0;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size > GSB_IMAGE_MAX_BYTES)
		err = -EINVAL;
	if (!err)
		bytes = malloc((size_t)st.st_size + 1);
	if (!err)
		err = bytes ? read_all(fd, bytes, (size_t)st.st_size) : -ENOMEM;
	if (err) {
		free(bytes);
		return err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_FILE_NOT_FOUND;
	}
	bytes[st.st_size] = 0;
	*out = (struct gsb_image){.kind = gsb_image_kind(bytes, (size_t)st.st_size),
				  .bytes = bytes,
				  .size = (size_t)st.st_size};
	return CUDA_SUCCESS;
}

/* The file's bytes and a NUL, to be freed by the caller. The program's errno is not ours to change. */
static CUresult read_file(const char *path, struct gsb_image *out)
{
	int saved = errno, fd = open(path, O_RDONLY | O_CLOEXEC);
	CUresult result = fd < 0 ? CUDA_ERROR_FILE_NOT_FOUND : read_open_file(fd, out);

	if (fd >= 0)
		close(fd);
	errno = saved;
	return result;
}

/* ---- modules ---- */

static CUresult load_module(CUmodule *mod, const struct gsb_image *image, struct gsb_jit_logs *logs)
{
	struct gsb_cu_ctx_life life;
	uint64_t handle;
	CUresult result = gsb_cu_ctx_live(&life);

	if (!result)
		result = gsb_cu_module_load(life.wire, 0, image, logs, &handle);
	if (!result)
		*mod = (CUmodule)handle;
	return result;
}

CUresult hook_cuModuleLoadDataEx(CUmodule *mod, const void *image, unsigned n,
				 CUjit_option *options, void **values)
{
	struct gsb_jit_logs logs = {0};
	struct gsb_image where;
	CUresult result =
		mod && image ? read_options(n, options, values, &logs) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	if (gsb_image_locate(image, &where))
		return refuse_image(&logs);
	return load_module(mod, &where, &logs);
}

CUresult hook_cuModuleLoad(CUmodule *mod, const char *path)
{
	struct gsb_image image;
	CUresult result = mod && path ? read_file(path, &image) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	result = image.kind == GSB_IMAGE_NONE ? refuse_image(NULL) : load_module(mod, &image, NULL);
	free((void *)image.bytes);
	return result;
}

CUresult hook_cuModuleUnload(CUmodule mod)
{
	const struct gsb_cu_module *m = gsb_object_get(&gsb_cu_modules, (uint64_t)mod);

	return m && !gsb_object_parent(m) ? gsb_cu_module_unload((uint64_t)mod)
					  : CUDA_ERROR_INVALID_HANDLE;
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

CUresult hook_cuModuleGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUmodule mod, const char *name)
{
	return name && *name && (ptr || bytes)
		       ? gsb_cu_module_global((uint64_t)mod, name, ptr, bytes)
		       : CUDA_ERROR_INVALID_VALUE;
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
	CUresult result = lib && image ? read_options(o->n_jit, o->jit, o->jit_values, &logs)
				       : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = read_library_options(o, &is_preserved);
	if (result)
		return result;
	if (gsb_image_locate(image, &where))
		return refuse_image(&logs);
	return load_library(lib, &where, is_preserved, &logs);
}

CUresult hook_cuLibraryLoadFromFile(CUlibrary *lib, const char *path,
				    const struct gsb_load_options *o)
{
	struct gsb_jit_logs logs = {0};
	struct gsb_image image;
	bool ignored;
	CUresult result = lib && path ? read_options(o->n_jit, o->jit, o->jit_values, &logs)
				      : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = read_library_options(o, &ignored);
	if (!result)
		result = read_file(path, &image);
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
