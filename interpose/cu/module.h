/*
 * module.h - modules: one load of an image into one context each, and what is found in it by name.
 */
#ifndef GSB_INTERPOSE_CU_MODULE_H
#define GSB_INTERPOSE_CU_MODULE_H

#include <stdint.h>

#include "gsb/cuabi.h"
#include "interpose/core/object.h"
#include "interpose/core/post.h"
#include "interpose/cu/function.h"
#include "interpose/cu/managed.h"
#include "ptx/image.h"

#define GSB_N_MODULES 16384

/* Its parent is the library of which it is a load, or 0. */
struct gsb_cu_module {
	struct gsb_object obj;
	struct gsb_cu_function_list functions;
	struct gsb_cu_managed managed; /* its own, or its library's */
};

extern struct gsb_object_table gsb_cu_modules;

/* Where a program wants the compiler's words; all may be NULL. */
struct gsb_jit_logs {
	char *info, *error;
	size_t info_room, error_room;
	void **info_used, **error_used, **wall_time; /* option values to be written back */
};

/* The reason of a failed load into the program's error log. */
void gsb_jit_logs_fail(struct gsb_jit_logs *logs, const char *reason);

struct gsb_cu_load {
	uint64_t wire; /* context */
	const struct gsb_image *image;
	uint64_t library;		/* handle of the one of which it is a load, or 0 */
	struct gsb_cu_managed *managed; /* that library's */
};

CUresult gsb_cu_module_load(const struct gsb_cu_load *what, struct gsb_jit_logs *logs,
			    uint64_t *handle);
CUresult gsb_cu_module_unload(uint64_t handle);

/*
 * What is asked of a module by its handle returns CUDA_ERROR_INVALID_HANDLE when it is none.
 */

/*
 * Name of the i-th kernel, for the caller to free. CUDA_ERROR_NOT_FOUND behind the last, CUDA_ERROR_NOT_SUPPORTED for a
 * name over GSB_NAME_MAX, which is said. So do the two that find a name.
 */
CUresult gsb_cu_module_kernel_name(uint64_t handle, unsigned i, char **name);
CUresult gsb_cu_module_count(uint64_t handle, unsigned *count);

/* The function of that name, the same handle each time. */
CUresult gsb_cu_module_function(uint64_t handle, const char *name, uint64_t *function);
CUresult gsb_cu_module_global(uint64_t handle, const char *name, CUdeviceptr *ptr, size_t *bytes);
/* The same of a managed variable; CUDA_ERROR_NOT_FOUND for any other. */
CUresult gsb_cu_module_managed(uint64_t handle, const char *name, CUdeviceptr *ptr, size_t *bytes);

#endif
