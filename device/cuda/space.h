/*
 * space.h - spaces of device/cuda: windows of addresses, with all that lies in them. The functions are those of ops.h.
 */
#ifndef GSB_DEVICE_CUDA_SPACE_H
#define GSB_DEVICE_CUDA_SPACE_H

#include "device/cuda/device.h"

int cuda_space_create(struct gsb_device *dev, const struct gsb_space_params *p,
		      struct gsb_space **out);
void cuda_space_limit(struct gsb_space *space, uint64_t mem_limit_bytes);
void cuda_space_destroy(struct gsb_space *space);

/* Memory, or an array with all that views it. */
int cuda_mem_free(struct gsb_space *space, uint64_t addr);

#endif
