/*
 * driver.h - NVIDIA's driver as a table of functions, opened at run time: nothing of CUDA is linked or needed to build.
 */
#ifndef GSB_DEVICE_CUDA_DRIVER_H
#define GSB_DEVICE_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "gsb/cuabi.h"

struct cuda_driver {
#define GSB_DRIVER(name, parameters, threads) CUresult(*name) parameters;
#include "device/cuda/driver.def"
};

struct gsb_device_params;

/*
 * @p: whether it is for one process, and where compiled code goes: what the driver takes from the environment
 * 0, -ENODEV: none is there, it lacks a call, or its cuInit failed, -EBUSY: it has no room for another process now; @err then has
 * one line that says which.
 */
int cuda_driver_open(struct cuda_driver *d, const struct gsb_device_params *p, char *err,
		     size_t err_size);

/* An error of who is one too many, until another ends: -EBUSY; else -ENODEV. */
int cuda_no_start(CUresult result);

/* "CUDA_ERROR_OUT_OF_MEMORY", or some words for a code without a name. */
const char *cuda_name(CUresult result);

/* -errno of a call that refuses a command: -ENOMEM, -E2BIG, -ENOTSUP; -EIO, it is fatal; -EINVAL. */
int cuda_errno(CUresult result);

/* The context that returned it is of no use any more, and so is the process: docs of each code say so. */
bool cuda_is_fatal(CUresult result);

#endif
