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
 * A stream for commands of a queue. The first of a part makes it, 1 ms and 3 MB of the device; it stays.
 *
 * Return: 0, -EINVAL (not a part that can be had), -ENOTSUP (there are no parts), -ENOMEM.
 */
int cuda_partition_stream(struct cuda_device *dev, struct gsb_sm_range sms, int priority,
			  CUstream *out);

#endif
