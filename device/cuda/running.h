/*
 * running.h - what is in flight, as another thread than the engine's sees it.
 */
#ifndef GSB_DEVICE_CUDA_RUNNING_H
#define GSB_DEVICE_CUDA_RUNNING_H

#include "device/cuda/device.h"

/* Whether nothing is in flight now; any thread. */
bool cuda_is_quiet(struct cuda_device *dev);
/*
 * cuda_wait_for_running() - until what is in flight now has ended, or the context is lost; any thread
 *
 * For calls in which the driver would wait for it, and let nobody launch meanwhile: here it is this thread alone that waits. What
 * comes after is not waited for, or this would not end where kernels follow each other.
 */
void cuda_wait_for_running(struct cuda_device *dev);

/* Numbers of what is sent to a queue: is it this one, or a later one? They come round. */
static inline bool cuda_is_up_to(uint32_t number, uint32_t other)
{
	return (int32_t)(number - other) >= 0;
}

#endif
