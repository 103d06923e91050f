/*
 * tensor.h - tensor maps for programs.
 */
#ifndef GSB_DEVICE_EMU_TENSOR_H
#define GSB_DEVICE_EMU_TENSOR_H

#include "device/ops.h"

/* Of ops.h. -ENOTSUP: interleaved. */
int emu_tensor_map(struct gsb_device *dev, uint64_t owner, const struct gsb_tensor_map *m,
		   uint64_t words[GSB_TENSOR_MAP_WORDS]);

#endif
