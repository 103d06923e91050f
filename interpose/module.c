/*
 * module.c - see module.h: loading an image into a context, and finding functions and variables in it.
 *
 * The engine reads images; here they are only bytes, shipped in pieces through the staging memory. No lock
 * is held while the engine works: a load may compile, an unload waits for running kernels.
 */
#include "interpose/module.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "interpose/alloc.h"
#include "interpose/ctx.h"
#include "interpose/post.h"
#include "interpose/staging.h"

struct gsb_object_table gsb_cu_modules =
	GSB_OBJECT_TABLE_IN_CTX(GSB_HANDLE_MODULE, GSB_N_MODULES, struct gsb_cu_module, NULL);
struct gsb_object_table gsb_cu_functions =
	GSB_OBJECT_TABLE_IN_CTX(GSB_HANDLE_FUNCTION, GSB_N_FUNCTIONS, struct gsb_cu_function, NULL);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the lists of functions */

/* ---- loading ---- */

static CUresult ship_piece(struct gsb_rec_image_part *body, const uint8_t *bytes)
{
	struct gsb_chunk chunk;
	CUresult result = gsb_chunk_take(&chunk);

	if (result)
		return result;
	memcpy(chunk.bytes, bytes, body->length);
	body->staging_offset = chunk.offset;
	result = gsb_call(&(struct gsb_call){.type = GSB_REC_IMAGE_PART,
					     .body = body,
					     .body_bytes = sizeof(*body)},
			  NULL, NULL);
	gsb_chunk_give_back(&chunk);
	return result;
}

static CUresult ship(const struct gsb_image *image, uint64_t *number)
{
	static _Atomic uint64_t last;
	struct gsb_rec_image_part body = {.image = ++last, .total = image->size};
	uint64_t most = gsb_chunk_bytes();
	CUresult result = CUDA_SUCCESS;

	for (; !result && body.offset < image->size; body.offset += body.length) {
		body.length = image->size - body.offset;
		if (body.length > most)
			body.length = most;
		result = ship_piece(&body, (const uint8_t *)image->bytes + body.offset);
	}
	*number = body.image;
	return result;
}

/* The size option's value is how much room there is; it comes back as how much was written, with NUL. */
static void fill_log(char *to, size_t room, void **used, const char *text, uint32_t bytes)
{
	size_t n = bytes;

	if (!to || !room)
		return;
	if (n > room - 1)
		n = room - 1;
	memcpy(to, text, n);
	to[n] = 0;
	if (used)
		*used = (void *)(n ? n + 1 : 0);
}

static void fill_logs(struct gsb_jit_logs *logs, bool failed, const char *text, uint32_t bytes)
{
	if (!logs)
		return;
	fill_log(logs->error, logs->error_room, logs->error_used, text, failed ? bytes : 0);
	fill_log(logs->info, logs->info_room, logs->info_used, text, failed ? 0 : bytes);
}

void gsb_jit_logs_fail(struct gsb_jit_logs *logs, const char *reason)
{
	gsb_log(GSB_LOG_WARN, "module", "an image is not loaded: %s", reason);
	fill_logs(logs, true, reason, (uint32_t)strlen(reason));
}

static CUresult load(struct gsb_cu_module *m, uint64_t image, struct gsb_jit_logs *logs)
{
	const struct gsb_rec_module_load body = {
		.module = gsb_object_name(m), .ctx = m->wire_ctx, .image = image};
	const void *text = "";
	uint32_t bytes = 0;
	CUresult result = gsb_call(&(struct gsb_call){.type = GSB_REC_MODULE_LOAD,
						      .ctx = m->ctx,
						      .wire_ctx = m->wire_ctx,
						      .body = &body,
						      .body_bytes = sizeof(body)},
				   &text, &bytes);

	fill_logs(logs, result != CUDA_SUCCESS, text, bytes);
	if (result)
		gsb_log(GSB_LOG_WARN, "module", "the engine did not load an image: %.*s",
			(int)bytes, (const char *)text);
	return result;
}

static CUresult check_size(const struct gsb_image *image, struct gsb_jit_logs *logs)
{
	char reason[128];

	if (image->size <= gsb_proc.image_max_bytes)
		return CUDA_SUCCESS;
	snprintf(reason, sizeof(reason),
		 "%llu bytes are over this tenant's limit of %llu (image_max of the broker)",
		 (unsigned long long)image->size, (unsigned long long)gsb_proc.image_max_bytes);
	gsb_jit_logs_fail(logs, reason);
	return CUDA_ERROR_INVALID_IMAGE;
}

CUresult gsb_cu_module_load(struct gsb_cu_ctx *ctx, struct gsb_cu_library *lib,
			    const struct gsb_image *image, struct gsb_jit_logs *logs,
			    struct gsb_cu_module **out)
{
	uint64_t number, start_ns = gsb_clock_ns();
	struct gsb_cu_module *m;
	CUresult result = check_size(image, logs);

	if (!result)
		result = ship(image, &number);
	if (result)
		return result;
	m = gsb_object_take(&gsb_cu_modules);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->ctx = ctx;
	m->wire_ctx = atomic_load_explicit(&ctx->wire, memory_order_acquire);
	m->library = lib;
	m->functions = NULL;
	result = load(m, number, logs);
	if (logs && logs->wall_time) {
		float ms = (float)(gsb_clock_ns() - start_ns) / 1e6f;

		memcpy(logs->wall_time, &ms, sizeof(ms));
	}
	if (result) {
		gsb_object_release(&gsb_cu_modules, m);
		return result;
	}
	gsb_object_publish(m);
	*out = m;
	return CUDA_SUCCESS;
}

/* ---- unloading ---- */

void gsb_cu_functions_release(struct gsb_cu_function *list)
{
	struct gsb_cu_function *next;

	for (; list; list = next) {
		next = list->next;
		if (gsb_object_retire(list, gsb_object_name(list)))
			gsb_object_release(&gsb_cu_functions, list);
	}
}

static void drop_functions(struct gsb_cu_module *m)
{
	struct gsb_cu_function *list;

	pthread_mutex_lock(&lock);
	list = m->functions;
	m->functions = NULL;
	pthread_mutex_unlock(&lock);
	gsb_cu_functions_release(list);
}

static void drop(struct gsb_cu_module *m)
{
	drop_functions(m);
	if (gsb_object_retire(m, gsb_object_name(m)))
		gsb_object_release(&gsb_cu_modules, m);
}

void gsb_cu_module_unload(struct gsb_cu_module *m)
{
	const struct gsb_rec_object body = {.handle = gsb_object_name(m)};

	/* Its variables first: once the engine has unloaded them, their addresses may be somebody else's. */
	gsb_allocs_drop(body.handle);
	if (gsb_call(&(struct gsb_call){.type = GSB_REC_MODULE_UNLOAD,
					.ctx = m->ctx,
					.wire_ctx = m->wire_ctx,
					.body = &body,
					.body_bytes = sizeof(body)},
		     NULL, NULL) != CUDA_ERROR_CONTEXT_IS_DESTROYED)
		drop(m); /* else it went with its context */
}

/* ---- functions ---- */

CUresult gsb_cu_module_kernel_name(const struct gsb_cu_module *m, unsigned i, char *name)
{
	const struct gsb_rec_function_name body = {.module = gsb_object_name(m), .index = i};
	const void *reply = NULL;
	uint32_t bytes = 0;
	CUresult result = gsb_call(&(struct gsb_call){.type = GSB_REC_FUNCTION_NAME,
						      .ctx = m->ctx,
						      .wire_ctx = m->wire_ctx,
						      .body = &body,
						      .body_bytes = sizeof(body)},
				   &reply, &bytes);

	if (result)
		return result;
	if (bytes > GSB_NAME_MAX)
		return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
	memcpy(name, reply, bytes);
	name[bytes] = 0;
	return CUDA_SUCCESS;
}

CUresult gsb_cu_module_count(const struct gsb_cu_module *m, unsigned *count)
{
	char name[GSB_NAME_MAX + 1];
	unsigned n = 0;
	CUresult result;

	while (!(result = gsb_cu_module_kernel_name(m, n, name)))
		n++;
	if (result != CUDA_ERROR_NOT_FOUND)
		return result;
	*count = n;
	return CUDA_SUCCESS;
}

static struct gsb_cu_function *find(struct gsb_cu_function *list, const char *name)
{
	while (list && strcmp(list->name, name))
		list = list->next;
	return list;
}

/* What a former owner of this index left is overwritten in place: a racing launch with a stale handle may still
 * look at it. */
static CUresult make_info(struct gsb_cu_function *f)
{
	if (!f->info)
		f->info = malloc(sizeof(*f->info));
	return f->info ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult copy_info(const void *reply, uint32_t bytes, struct gsb_cu_function *f)
{
	const struct gsb_function_info *info = reply;
	size_t need = offsetof(struct gsb_function_info, params);

	if (bytes < need || info->n_params > GSB_N_PARAMS_MAX ||
	    info->params_bytes > GSB_PARAMS_BYTES_MAX)
		return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
	need += info->n_params * sizeof(info->params[0]);
	if (bytes < need)
		return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
	for (uint32_t i = 0; i < info->n_params; i++)
		if (info->params[i].offset + info->params[i].size > info->params_bytes)
			return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
	memcpy(f->info, info, need);
	return CUDA_SUCCESS;
}

static CUresult set_name(struct gsb_cu_function *f, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	free(f->name);
	f->name = copy;
	return CUDA_SUCCESS;
}

static CUresult fetch(struct gsb_cu_module *m, const char *name, struct gsb_cu_function *f)
{
	const struct gsb_rec_function_get body = {
		.function = gsb_object_name(f),
		.module = gsb_object_name(m),
		.name_bytes = (uint32_t)strlen(name),
	};
	const void *reply = NULL;
	uint32_t bytes = 0;
	CUresult result = make_info(f);

	/* What can fail here comes first: once the engine has the function, its index is not ours to give back. */
	if (!result)
		result = set_name(f, name);
	if (!result)
		result = gsb_call(&(struct gsb_call){.type = GSB_REC_FUNCTION_GET,
						     .ctx = m->ctx,
						     .wire_ctx = m->wire_ctx,
						     .body = &body,
						     .body_bytes = sizeof(body),
						     .extra = name,
						     .extra_bytes = body.name_bytes},
				  &reply, &bytes);
	return result ? result : copy_info(reply, bytes, f);
}

/*
 * Another thread may have fetched it meanwhile: then its object is the one. The engine knows ours as well, for as
 * long as the module is loaded, so its index stays taken until then: behind the first, where nobody finds it.
 */
static struct gsb_cu_function *enlist(struct gsb_cu_function **list, struct gsb_cu_function *f)
{
	struct gsb_cu_function *first;

	pthread_mutex_lock(&lock);
	first = find(*list, f->name);
	f->next = first ? first->next : *list;
	*(first ? &first->next : list) = f;
	gsb_object_publish(f);
	pthread_mutex_unlock(&lock);
	return first ? first : f;
}

static struct gsb_cu_function *find_locked(struct gsb_cu_function **list, const char *name)
{
	struct gsb_cu_function *f;

	pthread_mutex_lock(&lock);
	f = find(*list, name);
	pthread_mutex_unlock(&lock);
	return f;
}

CUresult gsb_cu_module_function(struct gsb_cu_module *m, const char *name,
				struct gsb_cu_function **out)
{
	struct gsb_cu_function *f = find_locked(&m->functions, name);
	CUresult result;

	if (f) {
		*out = f;
		return CUDA_SUCCESS;
	}
	if (strlen(name) > GSB_NAME_MAX)
		return CUDA_ERROR_NOT_FOUND;
	f = gsb_object_take(&gsb_cu_functions);
	if (!f)
		return CUDA_ERROR_OUT_OF_MEMORY;
	f->library = NULL;
	f->module = m;
	f->wire_ctx = m->wire_ctx;
	atomic_store_explicit(&f->is_ready, false, memory_order_relaxed);
	result = fetch(m, name, f);
	if (result) {
		gsb_object_release(&gsb_cu_functions, f);
		return result;
	}
	*out = enlist(&m->functions, f);
	return CUDA_SUCCESS;
}

CUresult gsb_cu_function_prepare(struct gsb_cu_function *f)
{
	const struct gsb_rec_object body = {.handle = gsb_object_name(f)};
	const void *text = "";
	uint32_t bytes = 0;
	CUresult result = gsb_call(&(struct gsb_call){.type = GSB_REC_FUNCTION_PREPARE,
						      .ctx = f->module->ctx,
						      .wire_ctx = f->wire_ctx,
						      .body = &body,
						      .body_bytes = sizeof(body)},
				   &text, &bytes);

	if (result)
		gsb_log(GSB_LOG_ERROR, "module", "a launch is refused: %.*s", (int)bytes,
			(const char *)text);
	else
		atomic_store_explicit(&f->is_ready, true, memory_order_relaxed);
	return result;
}

CUresult gsb_cu_function_set(struct gsb_cu_function *f, CUfunction_attribute attr, int value)
{
	const struct gsb_rec_function_set body = {
		.function = gsb_object_name(f), .attribute = attr, .value = value};
	CUresult result =
		gsb_post_in(GSB_REC_FUNCTION_SET, f->module->ctx, f->wire_ctx, &body, sizeof(body));

	if (!result)
		f->info->attrs[attr] = value;
	return result;
}

CUresult gsb_cu_module_global(const struct gsb_cu_module *m, const char *name, CUdeviceptr *ptr,
			      size_t *bytes)
{
	const struct gsb_rec_global_get body = {.module = gsb_object_name(m),
						.name_bytes = (uint32_t)strlen(name)};
	struct gsb_alloc a = {.kind = GSB_ALLOC_GLOBAL,
			      .ctx = m->ctx,
			      .wire_ctx = m->wire_ctx,
			      .module = body.module};
	struct gsb_reply_range range;
	CUresult result;

	if (body.name_bytes > GSB_NAME_MAX)
		return CUDA_ERROR_NOT_FOUND;
	result = gsb_call_into(&(struct gsb_call){.type = GSB_REC_GLOBAL_GET,
						  .ctx = m->ctx,
						  .wire_ctx = m->wire_ctx,
						  .body = &body,
						  .body_bytes = sizeof(body),
						  .extra = name,
						  .extra_bytes = body.name_bytes},
			       &range, sizeof(range));
	a.addr = range.addr;
	a.size = range.size;
	if (!result && a.size)
		result = gsb_alloc_add(&a);
	if (result)
		return result;
	if (ptr)
		*ptr = range.addr;
	if (bytes)
		*bytes = range.size;
	return CUDA_SUCCESS;
}

/* ---- kernels of libraries ---- */

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

static struct gsb_cu_function *bound_in(const struct gsb_cu_function *kernel, uint64_t wire_ctx)
{
	struct gsb_cu_function *f = gsb_object_get(
		&gsb_cu_functions, atomic_load_explicit(&kernel->bound, memory_order_acquire));

	return f && f->wire_ctx == wire_ctx ? f : NULL;
}

CUresult gsb_cu_function_in(struct gsb_cu_function *f, struct gsb_cu_ctx *ctx,
			    struct gsb_cu_function **out)
{
	uint64_t wire = atomic_load_explicit(&ctx->wire, memory_order_acquire);
	struct gsb_cu_module *m;
	CUresult result;

	if (!f->library) {
		*out = f;
		return f->wire_ctx == wire ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
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
	struct gsb_cu_function *k = gsb_object_take(&gsb_cu_functions);
	CUresult result;

	if (!k)
		return CUDA_ERROR_OUT_OF_MEMORY;
	k->library = lib;
	k->module = NULL;
	k->wire_ctx = 0;
	memset(k->is_set, 0, sizeof(k->is_set));
	atomic_store_explicit(&k->bound, 0, memory_order_relaxed);
	result = set_name(k, name);
	if (result) {
		gsb_object_release(&gsb_cu_functions, k);
		return result;
	}
	*out = enlist(&lib->kernels, k);
	return CUDA_SUCCESS;
}

/* The name is looked up where the caller is, so that a wrong one fails here and not at the first launch. */
CUresult gsb_cu_library_kernel(struct gsb_cu_library *lib, const char *name,
			       struct gsb_cu_function **out)
{
	struct gsb_cu_function *k = find_locked(&lib->kernels, name), *f;
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
