/*
 * partition.h - streams on a part of the SMs.
 */
#ifndef GSB_DEVICE_CUDA_PARTITION_H
#define GSB_DEVICE_CUDA_PARTITION_H

#include "device/cuda/device.h"

/* Learn what parts there are: dev->info.sm_group, 0 where there are none. The info is filled. */
void cuda_partitions_init(struct cuda_device *dev);
void cuda_partitions_finish(struct cuda_device *dev); /* no stream is left */

/* Make all parts there are, where more than one process may have them. 0, -ENOTSUP, -ENOMEM: some. */
int cuda_partitions_prepare(struct gsb_device *dev);

/*
 * A stream for commands of a queue, 20 us; the first of a part that was not made before makes it, for which it waits until nothing
 * runs.
 *
 * Return: 0, -EINVAL (not a part that can be had), -ENOTSUP (there are no parts), -ENOMEM.
 */
int cuda_partition_stream(struct cuda_device *dev, struct gsb_sm_range sms, int priority,
			  CUstream *out);

#endif
