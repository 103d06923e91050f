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

struct gsb_cu_library;
struct gsb_cu_module;

struct gsb_cu_function {
	struct gsb_object obj;		/* a kernel has no owner */
	struct gsb_cu_library *library; /* of a kernel; NULL: a function */
	struct gsb_cu_module *module;	/* of a function */
	struct gsb_guard guard;		/* of a function */
	_Atomic bool is_ready;		/* of a function: the engine has it ready to run */
	_Atomic uint64_t bound; /* of a kernel: handle of the function it was last resolved to */
	struct gsb_cu_function *next; /* in its module or library */
	char *name;
	struct gsb_function_info *info;	   /* of a function; its last members may be cut off */
	bool is_set[GSB_N_FUNCTION_ATTRS]; /* of a kernel: what cuKernelSetAttribute has set, */
	int32_t set[GSB_N_FUNCTION_ATTRS]; /* for functions that it is resolved to later */
};

extern struct gsb_object_table gsb_cu_functions;

/* An object of that name, in no list yet; owner: wire handle of its context, 0 for a kernel. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult gsb_cu_function_take(const char *name, uint64_t owner, struct gsb_cu_function **out);

/* What the engine said about a function; CUDA_ERROR_SYSTEM_DRIVER_MISMATCH for what is no such answer. */
CUresult gsb_cu_function_fill(struct gsb_cu_function *f, const void *reply, uint32_t bytes);

struct gsb_cu_function *gsb_cu_function_find(struct gsb_cu_function **list, const char *name);
/* Publish it. Returns the one that is found by its name from now on: another thread may have been first. */
struct gsb_cu_function *gsb_cu_function_enlist(struct gsb_cu_function **list,
					       struct gsb_cu_function *f);
/* All of a list become stale. */
void gsb_cu_functions_drop(struct gsb_cu_function **list);

/* Before the first launch. What the device cannot run is refused here, with its log line, and harms no context. */
CUresult gsb_cu_function_prepare(struct gsb_cu_function *f);
CUresult gsb_cu_function_set(struct gsb_cu_function *f, CUfunction_attribute attr, int value);

static inline struct gsb_cu_function *gsb_cu_function_get(const void *handle)
{
	return gsb_object_get(&gsb_cu_functions, (uint64_t)handle);
}

#endif
