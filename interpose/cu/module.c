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
	GSB_OBJECT_TABLE(GSB_HANDLE_MODULE, GSB_N_MODULES, struct gsb_cu_module, NULL);

/* ---- loading ---- */

static CUresult ship_piece(struct gsb_rec_image_part *body, const uint8_t *bytes)
{
	struct gsb_chunk chunk;
	CUresult result = gsb_chunk_take(&chunk, 0);

	if (result)
		return result;
	memcpy(chunk.bytes, bytes, body->length);
	body->staging_offset = chunk.offset;
	result = gsb_call(&(struct gsb_call){.type = GSB_REC_IMAGE_PART,
					     .body = body,
					     .body_bytes = sizeof(*body)},
			  NULL);
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

/* Of a load that failed: the engine keeps what was shipped until it is loaded, or dropped. */
static void drop_image(uint64_t number)
{
	static const struct gsb_guard none;
	const struct gsb_rec_image_drop body = {.image = number};

	gsb_post_if(GSB_REC_IMAGE_DROP, &none, &body, sizeof(body));
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

/* Who compiled for a GPU alone has nothing to look at but this; other reasons are in the text that was compiled. */
static enum gsb_log_level level_of(CUresult result)
{
	return result == CUDA_ERROR_NO_BINARY_FOR_GPU ? GSB_LOG_ERROR : GSB_LOG_WARN;
}

static CUresult load(const struct gsb_rec_module_load *body, struct gsb_jit_logs *logs,
		     uint64_t *managed_bytes)
{
	const uint32_t before = offsetof(struct gsb_reply_module, text);
	struct gsb_reply_module answer = {0};
	struct gsb_reply_room room = {.bytes = &answer, .room = sizeof(answer)};
	CUresult result = gsb_call(&(struct gsb_call){.type = GSB_REC_MODULE_LOAD,
						      .guard = gsb_cu_wire_guard(body->ctx),
						      .body = body,
						      .body_bytes = sizeof(*body)},
				   &room);
	uint32_t bytes = room.n > before ? room.n - before : 0;

	fill_logs(logs, result != CUDA_SUCCESS, answer.text, bytes);
	if (result)
		gsb_log(level_of(result), "module", "the engine did not load an image: %.*s",
			(int)bytes, answer.text);
	*managed_bytes = answer.managed_bytes;
	return result;
}

static CUresult tell_unloaded(uint64_t module, uint64_t wire)
{
	const struct gsb_rec_object body = {.handle = module};

	return gsb_call(&(struct gsb_call){.type = GSB_REC_MODULE_UNLOAD,
					   .guard = gsb_cu_wire_guard(wire),
					   .body = &body,
					   .body_bytes = sizeof(body)},
			NULL);
}

/* Where its managed variables lie; without a place for them the module is of no use. */
static CUresult place(struct gsb_cu_module *m, const struct gsb_cu_load *what, uint64_t bytes,
		      struct gsb_jit_logs *logs)
{
	struct gsb_cu_managed *managed = what->library ? what->managed : &m->managed;
	uint64_t name = gsb_object_name(m);
	CUresult result =
		gsb_cu_managed_place(name, what->wire, what->library != 0, bytes, managed);
	char reason[160];

	if (!result) {
		m->managed = *managed;
		return CUDA_SUCCESS;
	}
	snprintf(reason, sizeof(reason),
		 "its managed variables take %llu bytes of pinned memory, and there is no room for "
		 "them (host_memory of the broker)",
		 (unsigned long long)bytes);
	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		gsb_jit_logs_fail(logs, reason);
	tell_unloaded(name, what->wire);
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

static CUresult make(const struct gsb_cu_load *what, uint64_t image, struct gsb_jit_logs *logs,
		     uint64_t *handle)
{
	struct gsb_cu_module *m = gsb_object_take(&gsb_cu_modules, what->wire, what->library);
	uint64_t name, managed_bytes;
	CUresult result;

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	gsb_cu_function_list_init(&m->functions);
	m->managed = (struct gsb_cu_managed){0};
	name = gsb_object_name(m);
	result = load(
		&(struct gsb_rec_module_load){.module = name, .ctx = what->wire, .image = image},
		logs, &managed_bytes);
	if (!result && managed_bytes)
		result = place(m, what, managed_bytes, logs);
	if (result) {
		gsb_object_release(&gsb_cu_modules, name);
		return result;
	}
	*handle = name;
	return gsb_object_publish(&gsb_cu_modules, m) ? CUDA_SUCCESS
						      : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult gsb_cu_module_load(const struct gsb_cu_load *what, struct gsb_jit_logs *logs,
			    uint64_t *handle)
{
	uint64_t number, start_ns = gsb_clock_ns();
	CUresult result = check_size(what->image, logs);

	if (result)
		return result;
	result = ship(what->image, &number);
	if (!result)
		result = make(what, number, logs, handle);
	if (result)
		drop_image(number);
	if (logs && logs->wall_time) {
		float ms = (float)(gsb_clock_ns() - start_ns) / 1e6f;

		memcpy(logs->wall_time, &ms, sizeof(ms));
	}
	return result;
}

/* ---- unloading ---- */

/* Everything of it goes stale before the engine is told, so that no record behind its end names it. */
CUresult gsb_cu_module_unload(uint64_t handle)
{
	struct gsb_cu_module *m = gsb_object_get(&gsb_cu_modules, handle);
	uint64_t wire = m ? gsb_object_owner(m) : 0;

	if (!m || !gsb_object_retire(&gsb_cu_modules, handle))
		return CUDA_ERROR_INVALID_HANDLE;
	gsb_object_children_retire(&gsb_cu_functions, handle);
	gsb_allocs_drop(handle);
	if (tell_unloaded(handle, wire) == CUDA_ERROR_CONTEXT_IS_DESTROYED)
		return CUDA_SUCCESS; /* it goes with its context, which releases it */
	if (m->managed.wire)
		gsb_cu_managed_free(&m->managed);
	gsb_object_children_release(&gsb_cu_functions, handle);
	gsb_object_release(&gsb_cu_modules, handle);
	return CUDA_SUCCESS;
}

/* ---- what is in it ---- */

static struct gsb_guard guard_of(uint64_t handle)
{
	return gsb_object_guard(&gsb_cu_modules, handle, CUDA_ERROR_INVALID_HANDLE);
}

static CUresult ask_name(uint64_t handle, unsigned i, struct gsb_reply_room *name)
{
	const struct gsb_rec_function_name body = {.module = handle, .index = i};

	return gsb_call(&(struct gsb_call){.type = GSB_REC_FUNCTION_NAME,
					   .guard = guard_of(handle),
					   .body = &body,
					   .body_bytes = sizeof(body)},
			name);
}

CUresult gsb_cu_module_kernel_name(uint64_t handle, unsigned i, char **name)
{
	struct gsb_reply_room answer = {.bytes = malloc(GSB_NAME_MAX + 1), .room = GSB_NAME_MAX};
	CUresult result = answer.bytes ? ask_name(handle, i, &answer) : CUDA_ERROR_OUT_OF_MEMORY;

	if (result == CUDA_ERROR_NOT_SUPPORTED)
		gsb_log(GSB_LOG_ERROR, "module",
			"kernel %u of a module has a name of over %d bytes, which is the limit: "
			"it cannot be used by a program under the broker",
			i, GSB_NAME_MAX);
	if (result) {
		free(answer.bytes);
		return result;
	}
	*name = answer.bytes;
	(*name)[answer.n] = 0;
	return CUDA_SUCCESS;
}

/* One whose name is too long is counted like the rest. */
CUresult gsb_cu_module_count(uint64_t handle, unsigned *count)
{
	unsigned n = 0;
	CUresult result;

	while (!(result = ask_name(handle, n, NULL)) || result == CUDA_ERROR_NOT_SUPPORTED)
		n++;
	if (result != CUDA_ERROR_NOT_FOUND)
		return result;
	*count = n;
	return CUDA_SUCCESS;
}

static CUresult check_name(const char *name)
{
	size_t bytes = strlen(name);

	if (bytes <= GSB_NAME_MAX)
		return CUDA_SUCCESS;
	gsb_log(GSB_LOG_ERROR, "module",
		"%.64s... is a name of %zu bytes, and the limit is %d: shorten it, for example by "
		"fewer template arguments",
		name, bytes, GSB_NAME_MAX);
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult fetch(uint64_t module, const char *name, struct gsb_cu_function *f)
{
	const struct gsb_rec_function_get body = {
		.function = gsb_object_name(f),
		.module = module,
		.name_bytes = (uint32_t)strlen(name),
	};
	struct gsb_function_info info;
	struct gsb_reply_room answer = {.bytes = &info, .room = sizeof(info)};
	CUresult result = gsb_call(&(struct gsb_call){.type = GSB_REC_FUNCTION_GET,
						      .guard = guard_of(module),
						      .body = &body,
						      .body_bytes = sizeof(body),
						      .extra = name,
						      .extra_bytes = body.name_bytes},
				   &answer);

	return result ? result : gsb_cu_function_fill(f, &info, answer.n);
}

CUresult gsb_cu_module_function(uint64_t handle, const char *name, uint64_t *function)
{
	struct gsb_cu_module *m = gsb_object_get(&gsb_cu_modules, handle);
	struct gsb_cu_function_place here;
	struct gsb_cu_function *f;
	CUresult result;

	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	here = (struct gsb_cu_function_place){
		.parent = m, .handle = handle, .owner = gsb_object_owner(m), .list = &m->functions};
	*function = gsb_cu_function_find(&here, name);
	if (*function)
		return CUDA_SUCCESS;
	result = check_name(name);
	if (!result)
		result = gsb_cu_function_take(&here, name, &f);
	if (result)
		return result;
	result = fetch(handle, name, f);
	if (result) {
		gsb_object_release(&gsb_cu_functions, gsb_object_name(f));
		return result;
	}
	*function = gsb_cu_function_publish(&here, f);
	return *function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Its module may be unloaded before the map knows of it: what was dropped by then is dropped again. */
static CUresult add_global(struct gsb_alloc *a, const struct gsb_guard *guard)
{
	CUresult result = gsb_alloc_add(a);

	if (!gsb_guard_holds(guard)) {
		gsb_allocs_drop(a->module);
		return guard->gone;
	}
	return result;
}

/* A managed variable is the library's, if there is one. Its memory is for streams of any context. */
static void make_managed(struct gsb_alloc *a, const struct gsb_cu_managed *place, uint64_t library)
{
	a->kind = GSB_ALLOC_MANAGED;
	a->flags = CU_MEMHOSTALLOC_PORTABLE;
	a->wire = place->wire;
	if (library)
		a->module = library;
}

static CUresult find_global(uint64_t module, const char *name, struct gsb_alloc *a)
{
	const struct gsb_rec_global_get body = {.module = module,
						.name_bytes = (uint32_t)strlen(name)};
	const struct gsb_cu_module *m = gsb_object_get(&gsb_cu_modules, module);
	const struct gsb_guard guard = guard_of(module);
	struct gsb_cu_managed place;
	struct gsb_reply_range range;
	uint64_t library;
	CUresult result;

	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	place = m->managed; /* the guard says whether it was that module's */
	library = gsb_object_parent(m);
	a->wire = gsb_object_owner(m);
	result = check_name(name);
	if (!result)
		result = gsb_cu_wire_error(a->wire);
	if (result)
		return result;
	result = gsb_call_into(&(struct gsb_call){.type = GSB_REC_GLOBAL_GET,
						  .guard = guard,
						  .body = &body,
						  .body_bytes = sizeof(body),
						  .extra = name,
						  .extra_bytes = body.name_bytes},
			       &range, sizeof(range));
	if (result)
		return result;
	a->addr = range.addr;
	a->size = range.size;
	if (gsb_cu_managed_has(&place, range.addr))
		make_managed(a, &place, library);
	return a->size ? add_global(a, &guard) : CUDA_SUCCESS;
}

static void give_range(const struct gsb_alloc *a, CUdeviceptr *ptr, size_t *bytes)
{
	if (ptr)
		*ptr = a->addr;
	if (bytes)
		*bytes = a->size;
}

CUresult gsb_cu_module_global(uint64_t handle, const char *name, CUdeviceptr *ptr, size_t *bytes)
{
	struct gsb_alloc a = {.kind = GSB_ALLOC_GLOBAL, .module = handle};
	CUresult result = find_global(handle, name, &a);

	if (!result)
		give_range(&a, ptr, bytes);
	return result;
}

CUresult gsb_cu_module_managed(uint64_t handle, const char *name, CUdeviceptr *ptr, size_t *bytes)
{
	struct gsb_alloc a = {.kind = GSB_ALLOC_GLOBAL, .module = handle};
	CUresult result = find_global(handle, name, &a);

	if (!result && a.kind != GSB_ALLOC_MANAGED)
		result = CUDA_ERROR_NOT_FOUND;
	if (!result)
		give_range(&a, ptr, bytes);
	return result;
}
