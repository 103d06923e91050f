/*
 * context.h - the device of each thread, and the primary contexts that the runtime works in.
 *
 * A primary context is retained at the first call that needs one and kept until the process ends. A thread that
 * has a context of its own (made with the driver's interface) works in that.
 */
#ifndef GSB_CUDART_CONTEXT_H
#define GSB_CUDART_CONTEXT_H

#include "cudart/abi.h"

#define GSB_RT_MAX_DEVICES 64

/* The driver is there, and this thread has a context. What a call checks first. */
cudaError_t gsb_rt_enter_ctx(void);

/* cudaSuccess, cudaErrorInvalidDevice. The driver must be open. */
cudaError_t gsb_rt_check_device(int device);

/* The device of the current context, else what was chosen, else 0. */
int gsb_rt_device(void);

/* This thread works on device from now on; its context begins. */
cudaError_t gsb_rt_device_choose(int device);

/* The context of device begins, and is nobody's current one yet. */
cudaError_t gsb_rt_device_start(int device);

/* The end of all that this thread's device has; the next call makes its context anew. */
cudaError_t gsb_rt_device_reset(void);

#endif
