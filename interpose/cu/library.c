/*
 * library.c - see library.h.
 */
#include "interpose/cu/library.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/cu/ctx_life.h"

struct gsb_object_table gsb_cu_libraries =
	GSB_OBJECT_TABLE(GSB_HANDLE_LIBRARY, GSB_N_LIBRARIES, struct gsb_cu_library, 0, NULL);

/* One load at a time, so that two threads do not load the same library into the same context. */
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;

static struct gsb_cu_module *find(const struct gsb_cu_library *lib, uint64_t wire_ctx)
{
	for (uint32_t i = 0; i < gsb_cu_modules.n_used; i++) {
		struct gsb_cu_module *m = gsb_object_at(&gsb_cu_modules, i);

		if (gsb_object_is_valid(m) && m->library == lib && gsb_object_owner(m) == wire_ctx)
			return m;
	}
	return NULL;
}

CUresult gsb_cu_library_module_in(struct gsb_cu_library *lib, struct gsb_cu_ctx *ctx,
				  struct gsb_jit_logs *logs, struct gsb_cu_module **out)
{
	uint64_t wire = atomic_load_explicit(&ctx->wire, memory_order_acquire);
	CUresult result = CUDA_SUCCESS;
	struct gsb_cu_module *m;

	pthread_mutex_lock(&load_lock);
	m = find(lib, wire);
	if (!m)
		result = gsb_cu_module_load(ctx, lib, &lib->image, logs, &m);
	pthread_mutex_unlock(&load_lock);
	if (!result)
		*out = m;
	return result;
}

/* Without a current context the primary one serves, for as long as the library stays loaded. */
static CUresult context_for(struct gsb_cu_library *lib, struct gsb_cu_ctx **out)
{
	CUresult result = gsb_cu_ctx_current(out);

	if (result != CUDA_ERROR_INVALID_CONTEXT)
		return result;
	if (lib->holds_primary && atomic_load(&gsb_cu_ctx_primary()->wire)) {
		*out = gsb_cu_ctx_primary();
		return CUDA_SUCCESS;
	}
	result = gsb_cu_ctx_primary_retain(out);
	if (!result && lib->holds_primary)
		gsb_cu_ctx_primary_release(); /* it was reset: made anew by this, and one reference is enough */
	lib->holds_primary |= !result;
	return result;
}

CUresult gsb_cu_library_module(struct gsb_cu_library *lib, struct gsb_cu_module **out)
{
	struct gsb_cu_ctx *ctx;
	CUresult result = context_for(lib, &ctx);

	return result ? result : gsb_cu_library_module_in(lib, ctx, NULL, out);
}

CUresult gsb_cu_library_create(const struct gsb_image *image, bool is_preserved,
			       struct gsb_cu_library **out)
{
	struct gsb_cu_library *lib;
	char *copy = NULL;

	if (!is_preserved) {
		copy = malloc(image->size + 1);
		if (!copy)
			return CUDA_ERROR_OUT_OF_MEMORY;
		memcpy(copy, image->bytes, image->size);
		copy[image->size] = 0;
	}
	lib = gsb_object_take(&gsb_cu_libraries, 0);
	if (!lib) {
		free(copy);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	lib->image = *image;
	if (copy)
		lib->image.bytes = copy;
	lib->is_copy = copy != NULL;
	lib->holds_primary = false;
	lib->kernels = NULL;
	gsb_object_publish(lib);
	*out = lib;
	return CUDA_SUCCESS;
}

void gsb_cu_library_destroy(struct gsb_cu_library *lib)
{
	if (!gsb_object_retire(lib, gsb_object_name(lib)))
		return;
	for (uint32_t i = 0; i < gsb_cu_modules.n_used; i++) {
		struct gsb_cu_module *m = gsb_object_at(&gsb_cu_modules, i);

		if (gsb_object_is_valid(m) && m->library == lib)
			gsb_cu_module_unload(m);
	}
	gsb_cu_functions_drop(&lib->kernels);
	if (lib->is_copy)
		free((void *)lib->image.bytes);
	if (lib->holds_primary)
		gsb_cu_ctx_primary_release();
	gsb_object_release(&gsb_cu_libraries, lib);
}

/* ---- kernels ---- */

static void apply_settings(const struct gsb_cu_function *kernel, struct gsb_cu_function *f)
{
	for (unsigned i = 0; i < GSB_N_FUNCTION_ATTRS; i++)
		if (kernel->is_set[i] && f->info->attrs[i] != kernel->set[i])
			gsb_cu_function_set(f, (CUfunction_attribute)i, kernel->set[i]);
}

static CUresult bind(struct gsb_cu_function *kernel, struct gsb_cu_module *m,
		     struct gsb_cu_function **out)
{
	CUresult result = gsb_cu_module_function(m, kernel->name, out);

	if (result)
		return result;
	apply_settings(kernel, *out);
	atomic_store_explicit(&kernel->bound, gsb_object_name(*out), memory_order_release);
	return CUDA_SUCCESS;
}

static struct gsb_cu_function *bound_in(const struct gsb_cu_function *kernel, uint64_t wire)
{
	struct gsb_cu_function *f = gsb_object_get(
		&gsb_cu_functions, atomic_load_explicit(&kernel->bound, memory_order_acquire));

	return f && gsb_object_owner(f) == wire ? f : NULL;
}

CUresult gsb_cu_function_in(struct gsb_cu_function *f, struct gsb_cu_ctx *ctx,
			    struct gsb_cu_function **out)
{
	uint64_t wire = atomic_load_explicit(&ctx->wire, memory_order_acquire);
	struct gsb_cu_module *m;
	CUresult result;

	if (!f->library) {
		*out = f;
		return gsb_object_owner(f) == wire ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
	}
	*out = bound_in(f, wire);
	if (*out)
		return CUDA_SUCCESS;
	result = gsb_cu_library_module_in(f->library, ctx, NULL, &m);
	return result ? result : bind(f, m, out);
}

CUresult gsb_cu_function_here(struct gsb_cu_function *f, struct gsb_cu_function **out)
{
	struct gsb_cu_module *m;
	CUresult result;

	if (!f->library) {
		*out = f;
		return CUDA_SUCCESS;
	}
	result = gsb_cu_library_module(f->library, &m);
	return result ? result : bind(f, m, out);
}

static CUresult make_kernel(struct gsb_cu_library *lib, const char *name,
			    struct gsb_cu_function **out)
{
	struct gsb_cu_function *k;
	CUresult result = gsb_cu_function_take(name, 0, &k);

	if (result)
		return result;
	k->library = lib;
	*out = gsb_cu_function_enlist(&lib->kernels, k);
	return CUDA_SUCCESS;
}

/* The name is looked up where the caller is, so that a wrong one fails here and not at the first launch. */
CUresult gsb_cu_library_kernel(struct gsb_cu_library *lib, const char *name,
			       struct gsb_cu_function **out)
{
	struct gsb_cu_function *k = gsb_cu_function_find(&lib->kernels, name), *f;
	struct gsb_cu_module *m;
	CUresult result;

	if (k) {
		*out = k;
		return CUDA_SUCCESS;
	}
	result = gsb_cu_library_module(lib, &m);
	if (!result)
		result = gsb_cu_module_function(m, name, &f);
	if (!result)
		result = make_kernel(lib, name, &k);
	if (!result)
		result = bind(k, m, &f);
	if (!result)
		*out = k;
	return result;
}
