/*
 * room.h - what was given back and is kept for a moment: chunks that are being zeroed, the spare one (chunk.h), and arrays (array_pool.h).
 */
#ifndef GSB_DEVICE_CUDA_ROOM_H
#define GSB_DEVICE_CUDA_ROOM_H

#include "device/cuda/device.h"

/* Memory is short: what is kept for a moment goes now, whatever that stops. False: nothing is. */
bool cuda_room_make(struct cuda_device *dev);

/* Give back what has been kept long enough; returns for how long the rest may be kept yet, 0: there is none. */
uint64_t cuda_room_tidy(struct cuda_device *dev, uint64_t now);

#endif
