/*
 * memory.h - spaces of device/cuda: windows of addresses, and the memory in them. The functions are those of ops.h.
 */
#ifndef GSB_DEVICE_CUDA_MEMORY_H
#define GSB_DEVICE_CUDA_MEMORY_H

#include "device/cuda/device.h"

int cuda_space_create(struct gsb_device *dev, const struct gsb_space_params *p,
		      struct gsb_space **out);
void cuda_space_limit(struct gsb_space *space, uint64_t mem_limit_bytes);
void cuda_space_destroy(struct gsb_space *space);
int cuda_mem_alloc(struct gsb_space *space, uint64_t size, uint64_t *addr);
uint64_t cuda_mem_cost(struct gsb_device *dev, uint64_t size);
int cuda_mem_free(struct gsb_space *space, uint64_t addr);
int cuda_mem_share(struct gsb_space *space, uint64_t addr, struct gsb_backing **out,
		   uint64_t *offset, uint64_t *size);
int cuda_mem_open(struct gsb_space *space, struct gsb_backing *b, uint64_t *addr);
void cuda_mem_info(struct gsb_device *dev, uint64_t *free_bytes, uint64_t *total_bytes);

/* As in ops.h. The heap of malloc() in kernels is the context's, and all spaces share it: it grows and never shrinks. */
int cuda_heap_size(struct gsb_space *space, uint64_t bytes, uint64_t *now);

/* Zero it, on the stream for that: it has come to zero when cuda_is_zeroed(dev->n_zeroed) as it is then. -ENOMEM, -EIO. */
int cuda_zero(struct cuda_device *dev, uint64_t addr, uint64_t size);
bool cuda_is_zeroed(struct cuda_device *dev, uint64_t n_zeroed);
/* Wait for what is being zeroed, and for nothing else. */
void cuda_finish_zeroing(struct cuda_device *dev);

/* Behind what was zeroed last on its stream: who uses it waits for that. -EIO: nobody could tell when. */
int cuda_zero_mark(struct cuda_device *dev);

/* Memory of an owner is being zeroed: the next commands of all his spaces wait for that. */
void cuda_zero_note(struct cuda_device *dev, uint64_t owner);

/* Memory is short: what is kept for a moment goes now, whatever that stops. False: nothing is. */
bool cuda_mem_make_room(struct cuda_device *dev);

/* Give back what has been kept long enough; returns for how long the rest may be kept yet, 0: there is none. */
uint64_t cuda_mem_tidy(struct cuda_device *dev, uint64_t now);

enum cuda_place {
	CUDA_PLACE_NOWHERE, /* the window, but nothing is allocated there */
	CUDA_PLACE_DEVICE,
	CUDA_PLACE_ARRAY, /* addresses that stand for its texels */
	CUDA_PLACE_HOST,  /* that the driver knows */
	CUDA_PLACE_PLAIN  /* of this process */
};

/* The space of its owner in whose window that is; itself, if it is in none. */
struct gsb_space *cuda_space_at(struct gsb_space *space, uint64_t addr);

/* Where these bytes lie: in this space or another one of its owner. */
enum cuda_place cuda_place_of(struct gsb_space *space, uint64_t addr, uint64_t bytes);

/* How many of these bytes the driver takes for memory of one kind, registered at once or not: no call of it takes more. O(log n). */
uint64_t cuda_piece(const struct cuda_device *dev, uint64_t addr, uint64_t bytes);

#endif
