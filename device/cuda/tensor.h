/*
 * tensor.h - tensor maps, as the driver encodes them.
 */
#ifndef GSB_DEVICE_CUDA_TENSOR_H
#define GSB_DEVICE_CUDA_TENSOR_H

#include "device/ops.h"

/* Of ops.h. */
int cuda_tensor_map(struct gsb_device *dev, uint64_t owner, const struct gsb_tensor_map *m,
		    uint64_t *words);

#endif
