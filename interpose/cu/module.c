/*
 * module.c - see module.h: loading an image into a context, and finding functions and variables in it.
 *
 * The engine reads images; here they are only bytes, shipped in pieces through the staging memory. No lock
 * is held while the engine works: a load may compile, an unload waits for running kernels.
 */
#include "interpose/cu/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "interpose/cu/alloc.h"
#include "interpose/cu/ctx.h"
#include "interpose/core/post.h"
#include "interpose/cu/staging.h"

struct gsb_object_table gsb_cu_modules =
	GSB_OBJECT_TABLE(GSB_HANDLE_MODULE, GSB_N_MODULES, struct gsb_cu_module, 0, NULL);

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
		.module = gsb_object_name(m), .ctx = gsb_object_owner(m), .image = image};
	const void *text = "";
	uint32_t bytes = 0;
	CUresult result = gsb_call(&(struct gsb_call){.type = GSB_REC_MODULE_LOAD,
						      .guard = m->guard,
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

static CUresult make(struct gsb_cu_ctx *ctx, struct gsb_cu_library *lib, uint64_t image,
		     struct gsb_jit_logs *logs, struct gsb_cu_module **out)
{
	uint64_t wire = atomic_load_explicit(&ctx->wire, memory_order_acquire);
	struct gsb_cu_module *m = gsb_object_take(&gsb_cu_modules, wire);
	CUresult result;

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->ctx = ctx;
	m->guard = gsb_cu_ctx_guard(ctx, wire);
	m->library = lib;
	m->functions = NULL;
	result = load(m, image, logs);
	if (result) {
		gsb_object_release(&gsb_cu_modules, m);
		return result;
	}
	gsb_object_publish(m);
	*out = m;
	return CUDA_SUCCESS;
}

CUresult gsb_cu_module_load(struct gsb_cu_ctx *ctx, struct gsb_cu_library *lib,
			    const struct gsb_image *image, struct gsb_jit_logs *logs,
			    struct gsb_cu_module **out)
{
	uint64_t number, start_ns = gsb_clock_ns();
	CUresult result = check_size(image, logs);

	if (!result)
		result = ship(image, &number);
	if (!result)
		result = make(ctx, lib, number, logs, out);
	if (logs && logs->wall_time) {
		float ms = (float)(gsb_clock_ns() - start_ns) / 1e6f;

		memcpy(logs->wall_time, &ms, sizeof(ms));
	}
	return result;
}

/* ---- unloading ---- */

void gsb_cu_module_unload(struct gsb_cu_module *m)
{
	const struct gsb_rec_object body = {.handle = gsb_object_name(m)};

	/* Its variables first: once the engine has unloaded them, their addresses may be somebody else's. */
	gsb_allocs_drop(body.handle);
	if (gsb_call(&(struct gsb_call){.type = GSB_REC_MODULE_UNLOAD,
					.guard = m->guard,
					.body = &body,
					.body_bytes = sizeof(body)},
		     NULL, NULL) == CUDA_ERROR_CONTEXT_IS_DESTROYED)
		return; /* it went with its context */
	gsb_cu_functions_drop(&m->functions);
	if (gsb_object_retire(m, gsb_object_name(m)))
		gsb_object_release(&gsb_cu_modules, m);
}

/* ---- functions ---- */

CUresult gsb_cu_module_kernel_name(const struct gsb_cu_module *m, unsigned i, char *name)
{
	const struct gsb_rec_function_name body = {.module = gsb_object_name(m), .index = i};
	const void *reply = NULL;
	uint32_t bytes = 0;
	CUresult result = gsb_call(&(struct gsb_call){.type = GSB_REC_FUNCTION_NAME,
						      .guard = m->guard,
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

static CUresult fetch(const struct gsb_cu_module *m, struct gsb_cu_function *f)
{
	const struct gsb_rec_function_get body = {
		.function = gsb_object_name(f),
		.module = gsb_object_name(m),
		.name_bytes = (uint32_t)strlen(f->name),
	};
	const void *reply = NULL;
	uint32_t bytes = 0;
	CUresult result = gsb_call(&(struct gsb_call){.type = GSB_REC_FUNCTION_GET,
						      .guard = m->guard,
						      .body = &body,
						      .body_bytes = sizeof(body),
						      .extra = f->name,
						      .extra_bytes = body.name_bytes},
				   &reply, &bytes);

	return result ? result : gsb_cu_function_fill(f, reply, bytes);
}

CUresult gsb_cu_module_function(struct gsb_cu_module *m, const char *name,
				struct gsb_cu_function **out)
{
	struct gsb_cu_function *f = gsb_cu_function_find(&m->functions, name);
	CUresult result;

	if (f) {
		*out = f;
		return CUDA_SUCCESS;
	}
	if (strlen(name) > GSB_NAME_MAX)
		return CUDA_ERROR_NOT_FOUND;
	result = gsb_cu_function_take(name, gsb_object_owner(m), &f);
	if (result)
		return result;
	f->module = m;
	f->guard = m->guard;
	result = fetch(m, f);
	if (result) {
		gsb_object_release(&gsb_cu_functions, f);
		return result;
	}
	*out = gsb_cu_function_enlist(&m->functions, f);
	return CUDA_SUCCESS;
}

CUresult gsb_cu_module_global(const struct gsb_cu_module *m, const char *name, CUdeviceptr *ptr,
			      size_t *bytes)
{
	const struct gsb_rec_global_get body = {.module = gsb_object_name(m),
						.name_bytes = (uint32_t)strlen(name)};
	struct gsb_alloc a = {.kind = GSB_ALLOC_GLOBAL,
			      .ctx = m->ctx,
			      .wire_ctx = gsb_object_owner(m),
			      .module = body.module};
	struct gsb_reply_range range;
	CUresult result;

	if (body.name_bytes > GSB_NAME_MAX)
		return CUDA_ERROR_NOT_FOUND;
	result = gsb_call_into(&(struct gsb_call){.type = GSB_REC_GLOBAL_GET,
						  .guard = m->guard,
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
