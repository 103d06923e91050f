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
#include "ptx/image.h"

#define GSB_N_MODULES 16384

struct gsb_cu_ctx;
struct gsb_cu_library;

struct gsb_cu_module {
	struct gsb_object obj;
	struct gsb_cu_ctx *ctx;
	struct gsb_guard guard;		/* of ctx */
	struct gsb_cu_library *library; /* NULL: loaded by itself */
	struct gsb_cu_function *functions;
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

/* lib: of which it is a load, or NULL. */
CUresult gsb_cu_module_load(struct gsb_cu_ctx *ctx, struct gsb_cu_library *lib,
			    const struct gsb_image *image, struct gsb_jit_logs *logs,
			    struct gsb_cu_module **out);
void gsb_cu_module_unload(struct gsb_cu_module *m);

/* Name of the i-th kernel, at most GSB_NAME_MAX + 1 bytes with NUL. CUDA_ERROR_NOT_FOUND behind the last. */
CUresult gsb_cu_module_kernel_name(const struct gsb_cu_module *m, unsigned i, char *name);
CUresult gsb_cu_module_count(const struct gsb_cu_module *m, unsigned *count);

/* The function of that name, the same object each time. */
CUresult gsb_cu_module_function(struct gsb_cu_module *m, const char *name,
				struct gsb_cu_function **out);
CUresult gsb_cu_module_global(const struct gsb_cu_module *m, const char *name, CUdeviceptr *ptr,
			      size_t *bytes);

#endif
