/*
 * array.h - arrays of device/cuda: the driver's own, and addresses of the window that stand for them.
 *
 * Nothing is mapped at those addresses, so a kernel that takes them for memory faults as it would natively. The functions of the
 * engine are those of ops.h.
 */
#ifndef GSB_DEVICE_CUDA_ARRAY_H
#define GSB_DEVICE_CUDA_ARRAY_H

#include "device/cuda/device.h"
#include "device/cuda/place.h"

struct cuda_array;

int cuda_array_alloc(struct gsb_space *space, const struct gsb_array *is, uint64_t *addr);
uint64_t cuda_array_bytes(struct gsb_device *dev, const struct gsb_array *is);

/* The array that begins there; NULL: none does. */
struct cuda_array *cuda_array_at(struct gsb_space *space, uint64_t addr);
/* Nothing views it. Returns what cuda_array_bytes() said. */
uint64_t cuda_array_free(struct cuda_array *a);
void cuda_arrays_free(struct gsb_space *space);

/* The array that these addresses stand for texels of, all of them; NULL: none. */
struct cuda_array *cuda_array_find(struct gsb_space *space, uint64_t addr, uint64_t bytes);

/* For views: the driver's array of the level that begins there, NULL: none does; and the mipmapped array, NULL: it is none. */
CUarray cuda_array_level(const struct cuda_array *a, uint64_t addr);
CUmipmappedArray cuda_array_mipmap(const struct cuda_array *a, uint64_t addr);

/* A copy of which one end is an array, or both, that cuda_place_of() has looked at. -errno; -EIO: nobody could tell what of it is made. */
int cuda_array_copy(struct gsb_space *space, CUstream stream, const struct gsb_cmd_copy *c,
		    enum cuda_place dst, enum cuda_place src);

#endif
