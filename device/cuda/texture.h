/*
 * texture.h - texture and surface objects of device/cuda: the driver's own, each of one space.
 *
 * Tenants of a context share the driver's table of them as they share its addresses. The functions of the engine are those of ops.h.
 */
#ifndef GSB_DEVICE_CUDA_TEXTURE_H
#define GSB_DEVICE_CUDA_TEXTURE_H

#include "device/cuda/device.h"

struct cuda_array;

int cuda_texture_create(struct gsb_space *space, const struct gsb_texture *view, bool is_surface,
			uint64_t *handle);
int cuda_texture_destroy(struct gsb_space *space, uint64_t handle, bool is_surface);

/* Nothing views the array any more: the objects that do are the driver's no longer. */
void cuda_textures_forget(struct gsb_space *space, const struct cuda_array *array);
void cuda_textures_free(struct gsb_space *space);

#endif
