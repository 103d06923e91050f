/*
 * err.h - the one idiom for errors: int, 0 or -errno. The driver's result codes are made from it in
 * exactly one function, here.
 */
#ifndef GSB_BASE_ERR_H
#define GSB_BASE_ERR_H

#include "gsb/cuabi.h"

/* The driver's code for a -errno: 0 CUDA_SUCCESS, -EINVAL CUDA_ERROR_INVALID_VALUE, ... */
CUresult gsb_cuda_result(int err);

/* "CUDA_ERROR_INVALID_VALUE" and a sentence about it; NULL for a code that CUDA 13.0 does not have.
 */
const char *gsb_cuda_error_name(CUresult result);
const char *gsb_cuda_error_string(CUresult result);

#endif
