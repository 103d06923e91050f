/*
 * library.c - see library.h.
 */
#include "interpose/cu/library.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/cu/alloc.h"
#include "interpose/cu/ctx_life.h"

struct gsb_object_table gsb_cu_libraries =
	GSB_OBJECT_TABLE(GSB_HANDLE_LIBRARY, GSB_N_LIBRARIES, struct gsb_cu_library, NULL);

/*
 * One load at a time, so that two threads do not load the same library into the same context. A library ends under
 * it, so that no image goes away while it is loaded.
 */
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. */
static CUresult load(uint64_t handle, uint64_t wire, struct gsb_jit_logs *logs, uint64_t *module)
{
	struct gsb_cu_library *lib = gsb_object_get(&gsb_cu_libraries, handle);

	if (!lib)
		return CUDA_ERROR_INVALID_HANDLE;
	*module = gsb_object_find_child(&gsb_cu_modules, handle, wire);
	if (*module)
		return CUDA_SUCCESS;
	return gsb_cu_module_load(&(struct gsb_cu_load){.wire = wire,
							.image = &lib->image,
							.library = handle,
							.managed = &lib->managed},
				  logs, module);
}

CUresult gsb_cu_library_module_in(uint64_t handle, uint64_t wire, struct gsb_jit_logs *logs,
				  uint64_t *module)
{
	CUresult result;

	pthread_mutex_lock(&load_lock);
	result = load(handle, wire, logs, module);
	pthread_mutex_unlock(&load_lock);
	return result;
}

/* Without a current context the primary one serves, for as long as the library stays loaded. */
static CUresult context_for(struct gsb_cu_library *lib, uint64_t *wire)
{
	struct gsb_cu_ctx_life life = {0};
	CUresult result = gsb_cu_ctx_live(&life);

	*wire = life.wire;
	if (result != CUDA_ERROR_INVALID_CONTEXT)
		return result;
	*wire = atomic_load(&gsb_cu_ctx_primary()->wire);
	if (lib->holds_primary && *wire)
		return CUDA_SUCCESS;
	result = gsb_cu_ctx_primary_retain(wire);
	if (!result && lib->holds_primary)
		gsb_cu_ctx_primary_release(); /* it was reset: made anew by this, and one reference is enough */
	lib->holds_primary |= !result;
	return result;
}

CUresult gsb_cu_library_module(uint64_t handle, uint64_t *module)
{
	struct gsb_cu_library *lib = gsb_object_get(&gsb_cu_libraries, handle);
	uint64_t wire;
	CUresult result = lib ? context_for(lib, &wire) : CUDA_ERROR_INVALID_HANDLE;

	return result ? result : gsb_cu_library_module_in(handle, wire, NULL, module);
}

static char *copy_image(const struct gsb_image *image)
{
	char *copy = malloc(image->size + 1);

	if (copy) {
		memcpy(copy, image->bytes, image->size);
		copy[image->size] = 0;
	}
	return copy;
}

CUresult gsb_cu_library_create(const struct gsb_image *image, bool is_preserved, uint64_t *handle)
{
	char *copy = is_preserved ? NULL : copy_image(image);
	struct gsb_cu_library *lib;

	if (!is_preserved && !copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	lib = gsb_object_take(&gsb_cu_libraries, 0, 0);
	if (!lib) {
		free(copy);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	lib->image = *image;
	if (copy)
		lib->image.bytes = copy;
	lib->is_copy = copy != NULL;
	lib->holds_primary = false;
	lib->managed = (struct gsb_cu_managed){0};
	gsb_cu_function_list_init(&lib->kernels);
	*handle = gsb_object_name(lib);
	gsb_object_publish(&gsb_cu_libraries, lib);
	return CUDA_SUCCESS;
}

static bool retire(uint64_t handle)
{
	bool is_ours;

	pthread_mutex_lock(&load_lock);
	is_ours = gsb_object_retire(&gsb_cu_libraries, handle);
	pthread_mutex_unlock(&load_lock);
	return is_ours;
}

CUresult gsb_cu_library_destroy(uint64_t handle)
{
	struct gsb_cu_library *lib = gsb_object_get(&gsb_cu_libraries, handle);
	uint64_t module;

	if (!lib || !retire(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	gsb_object_children_retire(&gsb_cu_functions, handle);
	while ((module = gsb_object_find_child(&gsb_cu_modules, handle, 0)))
		gsb_cu_module_unload(module);
	gsb_allocs_drop(handle);
	gsb_cu_managed_free(&lib->managed);
	if (lib->is_copy)
		free((void *)lib->image.bytes);
	if (lib->holds_primary)
		gsb_cu_ctx_primary_release();
	gsb_object_children_release(&gsb_cu_functions, handle);
	gsb_object_release(&gsb_cu_libraries, handle);
	return CUDA_SUCCESS;
}

/* ---- kernels ---- */

static void apply_settings(const struct gsb_cu_function *kernel, uint64_t function)
{
	const struct gsb_cu_function *f = gsb_cu_function_get(function);

	for (CUfunction_attribute i = 0; f && i < GSB_N_FUNCTION_ATTRS; i++)
		if (kernel->is_set[i] && gsb_cu_function_attr(f, i) != kernel->set[i])
			gsb_cu_function_set(function, i, kernel->set[i]);
}

static CUresult bind(struct gsb_cu_function *kernel, uint64_t handle, uint64_t module,
		     uint64_t *function)
{
	char *name = gsb_cu_function_name(handle);
	CUresult result =
		name ? gsb_cu_module_function(module, name, function) : CUDA_ERROR_INVALID_HANDLE;

	free(name);
	if (result)
		return result;
	apply_settings(kernel, *function);
	atomic_store_explicit(&kernel->bound, *function, memory_order_release);
	return CUDA_SUCCESS;
}

static uint64_t bound_in(const struct gsb_cu_function *kernel, uint64_t wire)
{
	uint64_t function = atomic_load_explicit(&kernel->bound, memory_order_acquire);
	const struct gsb_cu_function *f = gsb_cu_function_get(function);

	return f && gsb_object_owner(f) == wire ? function : 0;
}

CUresult gsb_cu_function_in(uint64_t handle, uint64_t wire, uint64_t *function)
{
	struct gsb_cu_function *k = gsb_cu_function_get(handle);
	uint64_t module;
	CUresult result;

	if (!k || (!gsb_cu_function_is_kernel(k) && gsb_object_owner(k) != wire))
		return CUDA_ERROR_INVALID_HANDLE;
	*function = gsb_cu_function_is_kernel(k) ? bound_in(k, wire) : handle;
	if (*function)
		return CUDA_SUCCESS;
	result = gsb_cu_library_module_in(gsb_object_parent(k), wire, NULL, &module);
	return result ? result : bind(k, handle, module, function);
}

CUresult gsb_cu_function_here(uint64_t handle, uint64_t *function)
{
	struct gsb_cu_function *k = gsb_cu_function_get(handle);
	uint64_t module;
	CUresult result;

	if (!k)
		return CUDA_ERROR_INVALID_HANDLE;
	*function = handle;
	if (!gsb_cu_function_is_kernel(k))
		return CUDA_SUCCESS;
	result = gsb_cu_library_module(gsb_object_parent(k), &module);
	return result ? result : bind(k, handle, module, function);
}

static CUresult make_kernel(const struct gsb_cu_function_place *here, const char *name,
			    uint64_t *kernel)
{
	struct gsb_cu_function *k;
	CUresult result = gsb_cu_function_take(here, name, &k);

	if (result)
		return result;
	*kernel = gsb_cu_function_publish(here, k);
	return *kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* The name is looked up where the caller is, so that a wrong one fails here and not at the first launch. */
CUresult gsb_cu_library_kernel(uint64_t handle, const char *name, uint64_t *kernel)
{
	struct gsb_cu_library *lib = gsb_object_get(&gsb_cu_libraries, handle);
	struct gsb_cu_function_place here;
	uint64_t module, function;
	CUresult result;

	if (!lib)
		return CUDA_ERROR_INVALID_HANDLE;
	here = (struct gsb_cu_function_place){
		.parent = lib, .handle = handle, .list = &lib->kernels};
	*kernel = gsb_cu_function_find(&here, name);
	if (*kernel)
		return CUDA_SUCCESS;
	result = gsb_cu_library_module(handle, &module);
	if (!result)
		result = gsb_cu_module_function(module, name, &function);
	return result ? result : make_kernel(&here, name, kernel);
}

CUresult gsb_cu_function_kernel(uint64_t handle, uint64_t *kernel)
{
	const struct gsb_cu_function *f = gsb_cu_function_get(handle);
	const struct gsb_cu_module *m =
		f ? gsb_object_get(&gsb_cu_modules, gsb_object_parent(f)) : NULL;
	uint64_t library = m ? gsb_object_parent(m) : 0;
	char *name = library ? gsb_cu_function_name(handle) : NULL;
	CUresult result = m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;

	*kernel = 0;
	if (library)
		result = name ? gsb_cu_library_kernel(library, name, kernel)
			      : CUDA_ERROR_OUT_OF_MEMORY;
	free(name);
	return result;
}
