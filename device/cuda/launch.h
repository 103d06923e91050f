/*
 * launch.h - kernels as calls of the driver: launches, and how many clusters of blocks there is room for.
 */
#ifndef GSB_DEVICE_CUDA_LAUNCH_H
#define GSB_DEVICE_CUDA_LAUNCH_H

#include "device/cuda/device.h"

/* Parameters as one block, as the driver takes them. */
struct cuda_params {
	size_t size;
	void *extra[5];
};

/* The list for the driver, which refuses a block that is longer than the kernel's; NULL: there are none. */
void **cuda_params_of(struct cuda_params *p, const struct gsb_cmd_launch *l);

int cuda_send_launch(struct cuda_device *dev, CUstream stream, const struct gsb_cmd_launch *l);

/* Of ops.h. */
int cuda_cluster_room(struct gsb_device *dev, const struct gsb_cmd_launch *l, uint32_t *n);
int cuda_cluster_size(struct gsb_device *dev, const struct gsb_cmd_launch *l, uint32_t *n);

#endif
