/*
 * input.h - what loading and linking take alike: options of the compiler, and files.
 */
#ifndef GSB_INTERPOSE_HOOKS_INPUT_H
#define GSB_INTERPOSE_HOOKS_INPUT_H

#include "interpose/cu/module.h"

/* Where the logs go. The values are written back through logs, so that they must outlive it. */
CUresult gsb_input_options(unsigned n, const CUjit_option *options, void **values,
			   struct gsb_jit_logs *logs);

/* The file's bytes and a NUL, to be freed by the caller. */
CUresult gsb_input_file(const char *path, struct gsb_image *out);

#endif
