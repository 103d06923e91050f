/*
 * function.c - see function.h.
 */
#include "interpose/cu/function.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct gsb_object_table gsb_cu_functions =
	GSB_OBJECT_TABLE(GSB_HANDLE_FUNCTION, GSB_N_FUNCTIONS, struct gsb_cu_function, 0, NULL);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all lists */

static CUresult set_name(struct gsb_cu_function *f, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	free(f->name);
	f->name = copy;
	return CUDA_SUCCESS;
}

/* What its predecessor left is overwritten in place: a racing launch with a stale handle may still look at it. */
static CUresult make_info(struct gsb_cu_function *f)
{
	if (!f->info)
		f->info = malloc(sizeof(*f->info));
	return f->info ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gsb_cu_function_take(const char *name, uint64_t owner, struct gsb_cu_function **out)
{
	struct gsb_cu_function *f = gsb_object_take(&gsb_cu_functions, owner);
	CUresult result = f ? set_name(f, name) : CUDA_ERROR_OUT_OF_MEMORY;

	if (!result && owner)
		result = make_info(f);
	if (result) {
		if (f)
			gsb_object_release(&gsb_cu_functions, f);
		return result;
	}
	f->library = NULL;
	f->module = NULL;
	f->guard = (struct gsb_guard){0};
	memset(f->is_set, 0, sizeof(f->is_set));
	atomic_store_explicit(&f->is_ready, false, memory_order_relaxed);
	atomic_store_explicit(&f->bound, 0, memory_order_relaxed);
	*out = f;
	return CUDA_SUCCESS;
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

/* ---- lists ---- */

static struct gsb_cu_function *find(struct gsb_cu_function *list, const char *name)
{
	while (list && strcmp(list->name, name))
		list = list->next;
	return list;
}

struct gsb_cu_function *gsb_cu_function_find(struct gsb_cu_function **list, const char *name)
{
	struct gsb_cu_function *f;

	pthread_mutex_lock(&lock);
	f = find(*list, name);
	pthread_mutex_unlock(&lock);
	return f;
}

/*
 * Another thread may have made one of this name meanwhile: then that is the one. The engine knows ours as well, for as
 * long as the module is loaded, so its index stays taken until then: behind the first, where nobody finds it.
 */
struct gsb_cu_function *gsb_cu_function_enlist(struct gsb_cu_function **list,
					       struct gsb_cu_function *f)
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

void gsb_cu_functions_drop(struct gsb_cu_function **list)
{
	struct gsb_cu_function *f, *next;

	pthread_mutex_lock(&lock);
	f = *list;
	*list = NULL;
	pthread_mutex_unlock(&lock);
	for (; f; f = next) {
		next = f->next;
		if (gsb_object_retire(f, gsb_object_name(f)))
			gsb_object_release(&gsb_cu_functions, f);
	}
}

/* ---- in the engine ---- */

CUresult gsb_cu_function_prepare(struct gsb_cu_function *f)
{
	const struct gsb_rec_object body = {.handle = gsb_object_name(f)};
	const void *text = "";
	uint32_t bytes = 0;
	CUresult result = gsb_call(&(struct gsb_call){.type = GSB_REC_FUNCTION_PREPARE,
						      .guard = f->guard,
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
	CUresult result = gsb_post_if(GSB_REC_FUNCTION_SET, &f->guard, &body, sizeof(body));

	if (!result)
		f->info->attrs[attr] = value;
	return result;
}
