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
	struct gsb_cu_function_list kernels;
	struct gsb_cu_managed managed; /* in all contexts */
};

extern struct gsb_object_table gsb_cu_libraries;

/* is_preserved: the program keeps the image where it is until the library is unloaded; else it is copied. */
CUresult gsb_cu_library_create(const struct gsb_image *image, bool is_preserved, uint64_t *handle);

/* The rest returns CUDA_ERROR_INVALID_HANDLE when the handle is none. */
CUresult gsb_cu_library_destroy(uint64_t handle);

/* Its module in the current context, or in the primary one when there is none. Loads it. */
CUresult gsb_cu_library_module(uint64_t handle, uint64_t *module);
/* The same in one context. */
CUresult gsb_cu_library_module_in(uint64_t handle, uint64_t wire, struct gsb_jit_logs *logs,
				  uint64_t *module);
CUresult gsb_cu_library_kernel(uint64_t handle, const char *name, uint64_t *kernel);

/* The function that a kernel stands for in a context; a function stands for itself in its own context. */
CUresult gsb_cu_function_in(uint64_t handle, uint64_t wire, uint64_t *function);
/* Likewise wherever the calling thread is, also without a current context. */
CUresult gsb_cu_function_here(uint64_t handle, uint64_t *function);
/* The kernel that stands for a function; 0: its module is of no library. */
CUresult gsb_cu_function_kernel(uint64_t handle, uint64_t *kernel);

#endif
