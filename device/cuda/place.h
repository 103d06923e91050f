/*
 * place.h - what lies at an address.
 */
#ifndef GSB_DEVICE_CUDA_PLACE_H
#define GSB_DEVICE_CUDA_PLACE_H

#include "device/cuda/device.h"

enum cuda_place {
	CUDA_PLACE_NOWHERE, /* the window, but nothing is allocated there */
	CUDA_PLACE_DEVICE,
	CUDA_PLACE_ARRAY, /* addresses that stand for its texels */
	CUDA_PLACE_HOST,  /* that the driver knows */
	CUDA_PLACE_PLAIN  /* of this process */
};

/* Where these bytes lie: in this space or another one of its owner. */
enum cuda_place cuda_place_of(struct gsb_space *space, uint64_t addr, uint64_t bytes);

/* How many of these bytes the driver takes for memory of one kind, registered at once or not: no call of it takes more. O(log n). */
uint64_t cuda_piece(const struct cuda_device *dev, uint64_t addr, uint64_t bytes);

#endif
