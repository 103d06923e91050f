/*
 * info.h - what a real device says of itself.
 */
#ifndef GSB_DEVICE_CUDA_INFO_H
#define GSB_DEVICE_CUDA_INFO_H

#include "device/cuda/device.h"

/*
 * Fill dev->info; its context is current. What this device does not carry yet (textures, managed memory, clusters) is told as
 * what the GPU does not have, so that a program that asks does not try.
 *
 * Return: 0, -ENODEV: with a line in @err.
 */
int cuda_info_fill(struct cuda_device *dev, char *err, size_t err_size);

#endif
