/*
 * function.c - see function.h.
 *
 * Names and lists change under the lock only, so that a search may run while the parent ends and its objects are used
 * again.
 */
#include "interpose/cu/function.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct gsb_object_table gsb_cu_functions =
	GSB_OBJECT_TABLE(GSB_HANDLE_FUNCTION, GSB_N_FUNCTIONS, struct gsb_cu_function, NULL);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* names and lists */

void gsb_cu_function_list_init(struct gsb_cu_function_list *list)
{
	pthread_mutex_lock(&lock);
	list->first = NULL;
	pthread_mutex_unlock(&lock);
}

/* Under the lock. */
static uint64_t find(const struct gsb_cu_function_place *where, const char *name)
{
	const struct gsb_cu_function *f = NULL;

	if (gsb_object_is(where->parent, where->handle))
		f = where->list->first;
	while (f && strcmp(f->name, name))
		f = f->next;
	return f ? gsb_object_name(f) : 0;
}

uint64_t gsb_cu_function_find(const struct gsb_cu_function_place *where, const char *name)
{
	uint64_t handle;

	pthread_mutex_lock(&lock);
	handle = find(where, name);
	pthread_mutex_unlock(&lock);
	return handle;
}

static CUresult set_name(struct gsb_cu_function *f, const char *name)
{
	char *copy = strdup(name), *old;

	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	old = f->name;
	f->name = copy;
	pthread_mutex_unlock(&lock);
	free(old);
	return CUDA_SUCCESS;
}

/* What its predecessor left is overwritten in place: a racing launch with a stale handle may still look at it. */
static CUresult make_info(struct gsb_cu_function *f)
{
	if (!f->info)
		f->info = malloc(sizeof(*f->info));
	return f->info ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gsb_cu_function_take(const struct gsb_cu_function_place *where, const char *name,
			      struct gsb_cu_function **out)
{
	struct gsb_cu_function *f = gsb_object_take(&gsb_cu_functions, where->owner, where->handle);
	CUresult result = f ? set_name(f, name) : CUDA_ERROR_OUT_OF_MEMORY;

	if (!result && where->owner)
		result = make_info(f);
	if (result) {
		if (f)
			gsb_object_release(&gsb_cu_functions, gsb_object_name(f));
		return result;
	}
	for (int i = 0; i < GSB_N_FUNCTION_ATTRS; i++)
		atomic_store_explicit(&f->is_set[i], false, memory_order_relaxed);
	atomic_store_explicit(&f->is_ready, false, memory_order_relaxed);
	atomic_store_explicit(&f->sets_cluster, false, memory_order_relaxed);
	atomic_store_explicit(&f->bound, 0, memory_order_relaxed);
	*out = f;
	return CUDA_SUCCESS;
}

/* The engine knows one that came second as well, for as long as its module is loaded: nobody finds it. */
uint64_t gsb_cu_function_publish(const struct gsb_cu_function_place *where,
				 struct gsb_cu_function *f)
{
	uint64_t handle;

	pthread_mutex_lock(&lock);
	handle = find(where, f->name);
	if (handle) {
		gsb_object_hide(&gsb_cu_functions, f);
	} else {
		handle = gsb_object_name(f);
		f->next = where->list->first;
		if (gsb_object_publish(&gsb_cu_functions, f))
			where->list->first = f;
		else
			handle = 0;
	}
	pthread_mutex_unlock(&lock);
	return handle;
}

char *gsb_cu_function_name(uint64_t handle)
{
	const struct gsb_cu_function *f = gsb_cu_function_get(handle);
	char *copy = NULL;

	pthread_mutex_lock(&lock);
	if (f && gsb_object_is(f, handle))
		copy = strdup(f->name);
	pthread_mutex_unlock(&lock);
	return copy;
}

CUresult gsb_cu_function_fill(struct gsb_cu_function *f, const void *reply, uint32_t bytes)
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

/* ---- in the engine ---- */

CUresult gsb_cu_function_prepare(uint64_t handle)
{
	const struct gsb_rec_object body = {.handle = handle};
	struct gsb_cu_function *f = gsb_cu_function_get(handle);
	char text[GSB_LOG_TEXT_MAX];
	struct gsb_reply_room log = {.bytes = text, .room = sizeof(text)};
	CUresult result = gsb_call(&(struct gsb_call){.type = GSB_REC_FUNCTION_PREPARE,
						      .guard = gsb_cu_function_guard(handle),
						      .body = &body,
						      .body_bytes = sizeof(body)},
				   &log);

	if (result && log.n)
		gsb_log(GSB_LOG_ERROR, "module", "a launch is refused: %.*s", (int)log.n, text);
	if (!result && f)
		atomic_store_explicit(&f->is_ready, true, memory_order_relaxed);
	return result;
}

static bool is_required_cluster(CUfunction_attribute attr)
{
	return attr >= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH &&
	       attr <= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH;
}

/* Libraries set these for all of their kernels. Launches in clusters alone look at them, and it is those that are refused. */
static bool is_of_clusters(CUfunction_attribute attr)
{
	return is_required_cluster(attr) ||
	       attr == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED ||
	       attr == CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
}

CUresult gsb_cu_function_set(uint64_t handle, CUfunction_attribute attr, int value)
{
	const struct gsb_rec_function_set body = {
		.function = handle, .attribute = attr, .value = value};
	const struct gsb_guard guard = gsb_cu_function_guard(handle);
	struct gsb_cu_function *f = gsb_cu_function_get(handle);
	CUresult result = f ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;

	if (!result && !is_of_clusters(attr))
		result = gsb_post_if(GSB_REC_FUNCTION_SET, &guard, &body, sizeof(body));
	if (!result && is_required_cluster(attr))
		atomic_store_explicit(&f->sets_cluster, true, memory_order_relaxed);
	if (!result)
		__atomic_store_n(&f->info->attrs[attr], value, __ATOMIC_RELAXED);
	return result;
}
