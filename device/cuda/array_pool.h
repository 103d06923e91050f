/*
 * array_pool.h - the driver's arrays.
 *
 * To give one back waits for all kernels and stops launches, so it is done while nothing runs, or when memory is short; until then
 * it is for whoever wants one that is just like it.
 */
#ifndef GSB_DEVICE_CUDA_ARRAY_POOL_H
#define GSB_DEVICE_CUDA_ARRAY_POOL_H

#include "device/cuda/device.h"

struct cuda_array {
	uint64_t start, size; /* of the window */
	struct gsb_space *space;
	struct gsb_array is;
	CUmipmappedArray mipmap; /* NULL: it is none */
	CUarray levels[GSB_TEXTURE_LEVELS_MAX];
	struct cuda_array *prev, *next; /* of the dead, oldest first */
	UT_hash_handle hh;
};

/* One that is just like it, whoever has had it, or another one; only @is is set, with what the driver has for it. -ENOMEM, -EINVAL, -ENOTSUP, -EIO. */
int cuda_array_make(struct cuda_device *dev, const struct gsb_array *is, struct cuda_array **out);
/* It is nobody's, and stands nowhere. */
void cuda_array_keep(struct cuda_device *dev, struct cuda_array *a);

/* Give back what has been kept long enough; returns for how long the rest may be kept yet, 0: there is none. */
uint64_t cuda_arrays_tidy(struct cuda_device *dev, uint64_t now);
void cuda_arrays_bury(struct cuda_device *dev);

#endif
