/*
 * partition.h - streams on a part of the SMs.
 */
#ifndef GSB_DEVICE_CUDA_PARTITION_H
#define GSB_DEVICE_CUDA_PARTITION_H

#include "device/cuda/device.h"

/* Learn what parts there are: dev->info.sm_group, 0 where there are none. The info is filled. */
void cuda_partitions_init(struct cuda_device *dev);
void cuda_partitions_finish(struct cuda_device *dev); /* no stream is left */

/*
 * Have this part made: 5 MiB of the device, and 1 ms of a helper, or 13 ms while kernels run. It stays.
 * Return: -EAGAIN: it is being made; else as below.
 */
int cuda_partition_prepare(struct gsb_device *dev, struct gsb_sm_range sms);

/*
 * A stream for commands of a queue, 20 us; waits for its part.
 *
 * Return: 0, -EINVAL (not a part that can be had), -ENOTSUP (there are no parts), -ENOMEM.
 */
int cuda_partition_stream(struct cuda_device *dev, struct gsb_sm_range sms, int priority,
			  CUstream *out);

#endif
