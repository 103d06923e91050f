/*
 * function.h - functions and kernels: what a program may launch.
 *
 * A function is one kernel of one module. A kernel, as CUDA calls it, is a name of a library that stands for the
 * function of that name in whichever context asks. Both are in one table, because a program may pass either to a
 * launch; each is in the list of its module or library, in which it is found by name.
 */
#ifndef GSB_INTERPOSE_CU_FUNCTION_H
#define GSB_INTERPOSE_CU_FUNCTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"
#include "gsb/device_info.h"
#include "interpose/core/object.h"
#include "interpose/core/post.h"

#define GSB_N_FUNCTIONS (1u << 20)

/* Its parent is the module or library; a kernel has no owner. */
struct gsb_cu_function {
	struct gsb_object obj;
	_Atomic bool is_ready;	/* of a function: the engine has it ready to run */
	_Atomic uint64_t bound; /* of a kernel: handle of the function it was last resolved to */
	struct gsb_cu_function *next; /* in its module or library */
	char *name;
	struct gsb_function_info *info; /* of a function; its last members may be cut off */
	/* Of a function: which cluster it requires was set, not compiled, and each launch is to say so. */
	_Atomic bool sets_cluster;
	/* Of a kernel: what cuKernelSetAttribute has set, for functions that it is resolved to later. */
	_Atomic bool is_set[GSB_N_FUNCTION_ATTRS];
	_Atomic int32_t set[GSB_N_FUNCTION_ATTRS];
};

/* The functions of a module or the kernels of a library. */
struct gsb_cu_function_list {
	struct gsb_cu_function *first;
};

extern struct gsb_object_table gsb_cu_functions;

/* Where functions of one kind are found: in a module, which goes with a context, or in a library. */
struct gsb_cu_function_place {
	const void *parent; /* an object, live while it has this handle: */
	uint64_t handle;
	uint64_t owner; /* wire handle of its context; 0: of a library */
	struct gsb_cu_function_list *list;
};

/* For a new module or library. */
void gsb_cu_function_list_init(struct gsb_cu_function_list *list);

/* The one of that name; 0: there is none. */
uint64_t gsb_cu_function_find(const struct gsb_cu_function_place *where, const char *name);

/* An object of that name, not to be found yet. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult gsb_cu_function_take(const struct gsb_cu_function_place *where, const char *name,
			      struct gsb_cu_function **out);

/* The one that is found by its name from now on: another thread may have been first. 0: the parent has ended. */
uint64_t gsb_cu_function_publish(const struct gsb_cu_function_place *where,
				 struct gsb_cu_function *f);

/* A copy of its name, for the caller to free; NULL when it is stale, or there is no memory. */
char *gsb_cu_function_name(uint64_t handle);

/* What the engine said about a function; CUDA_ERROR_SYSTEM_DRIVER_MISMATCH for what is no such answer. */
CUresult gsb_cu_function_fill(struct gsb_cu_function *f, const void *reply, uint32_t bytes);

/* Before the first launch. What the device cannot run is refused here, with its log line, and harms no context. */
CUresult gsb_cu_function_prepare(uint64_t handle);
CUresult gsb_cu_function_set(uint64_t handle, CUfunction_attribute attr, int value);

/* For records that name a function. */
static inline struct gsb_guard gsb_cu_function_guard(uint64_t handle)
{
	return gsb_object_guard(&gsb_cu_functions, handle, CUDA_ERROR_INVALID_HANDLE);
}

/* Of a function. Another thread may be setting it. */
static inline int gsb_cu_function_attr(const struct gsb_cu_function *f, CUfunction_attribute attr)
{
	return __atomic_load_n(&f->info->attrs[attr], __ATOMIC_RELAXED);
}

static inline bool gsb_cu_function_is_kernel(const struct gsb_cu_function *f)
{
	return !gsb_object_owner(f);
}

static inline struct gsb_cu_function *gsb_cu_function_get(uint64_t handle)
{
	return gsb_object_get(&gsb_cu_functions, handle);
}

#endif
