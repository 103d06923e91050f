/*
 * backing.h - memory without an address of its own, and where it is mapped: as ops.h says of the backings.
 */
#ifndef GSB_DEVICE_CUDA_BACKING_H
#define GSB_DEVICE_CUDA_BACKING_H

#include "device/cuda/device.h"

int cuda_backing_create(struct gsb_device *dev, uint64_t owner, uint64_t size,
			struct gsb_backing **out);
void cuda_backing_destroy(struct gsb_backing *b);
int cuda_backing_map(struct gsb_backing *b, uint64_t owner, uint64_t addr);
int cuda_backing_access(struct gsb_backing *b, uint64_t owner, uint64_t addr,
			CUmemAccess_flags access);
void cuda_backing_unmap(struct gsb_backing *b, uint64_t owner, uint64_t addr);

/* No backing is left. */
void cuda_backings_finish(struct cuda_device *dev);

#endif
