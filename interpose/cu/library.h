/*
 * library.h - libraries: images that are loaded into a context when they are first used there, and their kernels.
 */
#ifndef GSB_INTERPOSE_CU_LIBRARY_H
#define GSB_INTERPOSE_CU_LIBRARY_H

#include <stdbool.h>

#include "interpose/cu/module.h"

#define GSB_N_LIBRARIES 16384

struct gsb_cu_library {
	struct gsb_object obj;
	struct gsb_image image;
	bool is_copy;	    /* image.bytes is ours to free */
	bool holds_primary; /* a reference to the primary context, for want of a current one */
	struct gsb_cu_function *kernels;
};

extern struct gsb_object_table gsb_cu_libraries;

/* is_preserved: the program keeps the image where it is until the library is unloaded; else it is copied. */
CUresult gsb_cu_library_create(const struct gsb_image *image, bool is_preserved,
			       struct gsb_cu_library **out);
void gsb_cu_library_destroy(struct gsb_cu_library *lib);

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

#endif
