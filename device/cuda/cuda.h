/*
 * cuda.h - a real GPU, through NVIDIA's driver in the engine's process.
 *
 *   driver   the driver's functions, one list        info     what the device says of itself
 *   memory   spaces: windows, allocations, zeroing   host     pinned memory and shared buffers
 *   module   images, kernels, variables              queue    streams, commands, completions
 *   link     PTX to a cubin                          managed  variables where the program has pinned memory
 *   pages    memory by its handle, counted           backing  the same without addresses
 *   partition  streams on a part of the SMs                   tensor   tensor maps
 *   helper   threads for what may wait
 *
 * All spaces share the device's primary context: kernels of different tenants run side by side, and trust each other as
 * threads of one process do. A fault of one is the end of the context, and so of the engine (lost of ops.h).
 *
 * What the driver does on measured hardware shapes it: memory comes from the calls of virtual memory management, which neither
 * wait for kernels nor stop launches; host memory is registered in a second context, made by a helper when the device works already, because in the first
 * that would stop its launches (those of one process alone may be); unloading waits for all kernels, so a helper does it.
 */
#ifndef GSB_DEVICE_CUDA_CUDA_H
#define GSB_DEVICE_CUDA_CUDA_H

#include "device/ops.h"

extern const struct gsb_device_ops gsb_cuda_ops;

#endif
