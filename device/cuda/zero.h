/*
 * zero.h - fresh memory is zeroed on a stream of its own, of high priority; who issues the next command lets its queue
 * wait for that (queue.c), nobody else does.
 */
#ifndef GSB_DEVICE_CUDA_ZERO_H
#define GSB_DEVICE_CUDA_ZERO_H

#include "device/cuda/device.h"

/* Zero it, on the stream for that: it has come to zero when cuda_is_zeroed(dev->n_zeroed) as it is then. -ENOMEM, -EIO. */
int cuda_zero(struct cuda_device *dev, uint64_t addr, uint64_t size);
bool cuda_is_zeroed(struct cuda_device *dev, uint64_t n_zeroed);
/* Wait for what is being zeroed, and for nothing else. */
void cuda_finish_zeroing(struct cuda_device *dev);

/* Behind what was zeroed last on its stream: who uses it waits for that. -EIO: nobody could tell when. */
int cuda_zero_mark(struct cuda_device *dev);

/* Memory of an owner is being zeroed: the next commands of all his spaces wait for that. */
void cuda_zero_note(struct cuda_device *dev, uint64_t owner);

#endif
