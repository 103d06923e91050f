/*
 * launch.h - kernels as calls of the driver: launches, and how many clusters of blocks there is room for.
 */
#ifndef GSB_DEVICE_CUDA_LAUNCH_H
#define GSB_DEVICE_CUDA_LAUNCH_H

#include "device/cuda/device.h"

int cuda_send_launch(struct cuda_device *dev, CUstream stream, const struct gsb_cmd_launch *l);

/* Of ops.h. */
int cuda_cluster_room(struct gsb_device *dev, const struct gsb_cmd_launch *l, uint32_t *n);
int cuda_cluster_size(struct gsb_device *dev, const struct gsb_cmd_launch *l, uint32_t *n);

#endif
