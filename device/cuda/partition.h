/*
 * partition.h - streams on a part of the SMs.
 */
#ifndef GSB_DEVICE_CUDA_PARTITION_H
#define GSB_DEVICE_CUDA_PARTITION_H

#include "device/cuda/device.h"

/* Learn what parts there are: dev->info.sm_group, 0 where there are none. The info is filled. */
void cuda_partitions_init(struct cuda_device *dev);
void cuda_partitions_finish(struct cuda_device *dev); /* no queue has a stream any more */

/* Streams of all SMs, where more than one process may have them: as many as are used at once. What is missing is made when it is asked for. */
void cuda_streams_prepare(struct cuda_device *dev);

/*
 * Make all parts there are, where more than one process may have them, and of each a stream of the least priority and of the two greatest. 0,
 * -ENOTSUP, -ENOMEM: some.
 */
int cuda_partitions_prepare(struct cuda_device *dev);

/*
 * cuda_stream_take() - a stream for commands of a queue, that nobody else has
 * One that is idle, if there is one. To make it takes 5 to 20 us of an idle GPU, and of one at work now and then until nothing runs; the first of a part that was
 * not made before makes that, too, for which it waits until nothing runs.
 *
 * Return: 0, -EINVAL (not a part that can be had), -ENOTSUP (there are no parts), -ENOMEM.
 */
struct cuda_stream;
int cuda_stream_take(struct cuda_device *dev, struct gsb_sm_range sms, int priority,
		     struct cuda_stream **out);
void cuda_stream_give(struct cuda_device *dev, struct cuda_stream *s); /* nothing is in flight */
CUstream cuda_stream_handle(const struct cuda_stream *s);

#endif
