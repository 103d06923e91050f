/*
 * module.h - images of code: modules, libraries, and the functions in them.
 *
 * A module is one load of an image into one context. A library is an image that is loaded into a context
 * when it is first used there; its kernels are names that stand for the function of that name in whichever
 * context asks. Functions and kernels share one table, because a program may pass either to a launch.
 */
#ifndef GSB_INTERPOSE_MODULE_H
#define GSB_INTERPOSE_MODULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"
#include "gsb/device_info.h"
#include "interpose/object.h"
#include "ptx/image.h"

#define GSB_N_MODULES	16384
#define GSB_N_LIBRARIES 16384
#define GSB_N_FUNCTIONS (1u << 20)

struct gsb_cu_ctx;

struct gsb_cu_function {
	struct gsb_object obj;
	struct gsb_cu_library *library; /* of a kernel; NULL: a function */
	struct gsb_cu_module *module;	/* of a function */
	uint64_t wire_ctx;		/* of a function; 0: a kernel */
	_Atomic bool is_ready;		/* of a function: the engine has it ready to run */
	_Atomic uint64_t bound; /* of a kernel: handle of the function it was last resolved to */
	struct gsb_cu_function *next; /* in its module or library */
	char *name;
	struct gsb_function_info *info;	   /* of a function; its last members may be cut off */
	bool is_set[GSB_N_FUNCTION_ATTRS]; /* of a kernel: what cuKernelSetAttribute has set, */
	int32_t set[GSB_N_FUNCTION_ATTRS]; /* for functions that it is resolved to later */
};

struct gsb_cu_module {
	struct gsb_object obj;
	struct gsb_cu_ctx *ctx;
	uint64_t wire_ctx;
	struct gsb_cu_library *library; /* NULL: loaded by itself */
	struct gsb_cu_function *functions;
};

struct gsb_cu_library {
	struct gsb_object obj;
	struct gsb_image image;
	bool is_copy;	    /* image.bytes is ours to free */
	bool holds_primary; /* a reference to the primary context, for want of a current one */
	struct gsb_cu_function *kernels;
};

extern struct gsb_object_table gsb_cu_modules, gsb_cu_functions, gsb_cu_libraries;

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

/* A list of functions or kernels becomes stale. */
void gsb_cu_functions_release(struct gsb_cu_function *list);

/* Name of the i-th kernel, at most GSB_NAME_MAX + 1 bytes with NUL. CUDA_ERROR_NOT_FOUND behind the last. */
CUresult gsb_cu_module_kernel_name(const struct gsb_cu_module *m, unsigned i, char *name);
CUresult gsb_cu_module_count(const struct gsb_cu_module *m, unsigned *count);

/* The function of that name, the same object each time. */
CUresult gsb_cu_module_function(struct gsb_cu_module *m, const char *name,
				struct gsb_cu_function **out);
CUresult gsb_cu_module_global(const struct gsb_cu_module *m, const char *name, CUdeviceptr *ptr,
			      size_t *bytes);

/* The module of a library in the current context, or in the primary one when there is none. Loads it. */
CUresult gsb_cu_library_module(struct gsb_cu_library *lib, struct gsb_cu_module **out);
CUresult gsb_cu_library_module_in(struct gsb_cu_library *lib, struct gsb_cu_ctx *ctx,
				  struct gsb_jit_logs *logs, struct gsb_cu_module **out);
CUresult gsb_cu_library_kernel(struct gsb_cu_library *lib, const char *name,
			       struct gsb_cu_function **out);

/* The function that a kernel stands for in ctx; a function stands for itself in its own context. */
CUresult gsb_cu_function_in(struct gsb_cu_function *f, struct gsb_cu_ctx *ctx,
			    struct gsb_cu_function **out);
/* Likewise wherever the calling thread is, also without a current context. */
CUresult gsb_cu_function_here(struct gsb_cu_function *f, struct gsb_cu_function **out);
/* Before the first launch. What the device cannot run is refused here, with its log line, and harms no context. */
CUresult gsb_cu_function_prepare(struct gsb_cu_function *f);
CUresult gsb_cu_function_set(struct gsb_cu_function *f, CUfunction_attribute attr, int value);

static inline struct gsb_cu_function *gsb_cu_function_get(const void *handle)
{
	return gsb_object_get(&gsb_cu_functions, (uint64_t)handle);
}

#endif
