/*
 * memory.h - plain memory of device/cuda: allocations in the window of a space. The functions are those of ops.h.
 */
#ifndef GSB_DEVICE_CUDA_MEMORY_H
#define GSB_DEVICE_CUDA_MEMORY_H

#include "device/cuda/device.h"

int cuda_mem_alloc(struct gsb_space *space, uint64_t size, uint64_t *addr);
uint64_t cuda_mem_cost(struct gsb_device *dev, uint64_t size);
/* -EINVAL: no allocation begins there; else *cost is what it has cost. */
int cuda_mem_give_back(struct gsb_space *space, uint64_t addr, uint64_t *cost);
/* Whether these bytes lie in one allocation. */
bool cuda_mem_is_allocated(struct gsb_space *space, uint64_t addr, uint64_t bytes);
int cuda_mem_share(struct gsb_space *space, uint64_t addr, struct gsb_backing **out,
		   uint64_t *offset, uint64_t *size);
int cuda_mem_open(struct gsb_space *space, struct gsb_backing *b, uint64_t *addr);
void cuda_mem_info(struct gsb_device *dev, uint64_t *free_bytes, uint64_t *total_bytes);

/* As in ops.h. The heap of malloc() in kernels is the context's, and all spaces share it: it grows and never shrinks. */
int cuda_heap_size(struct gsb_space *space, uint64_t bytes, uint64_t *now);

/* The space of its owner in whose window that is; itself, if it is in none. */
struct gsb_space *cuda_space_at(struct gsb_space *space, uint64_t addr);

#endif
