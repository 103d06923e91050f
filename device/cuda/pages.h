/*
 * pages.h - memory of the driver's by its handle, for all who have it: where it is mapped, and backings.
 */
#ifndef GSB_DEVICE_CUDA_PAGES_H
#define GSB_DEVICE_CUDA_PAGES_H

#include "device/cuda/device.h"

struct cuda_pages {
	struct cuda_device *dev;
	CUmemGenericAllocationHandle handle;
	uint64_t size;
	unsigned n_users;
	bool foreign;	   /* made by another process, which counts it */
	bool zeroed;	   /* somebody has seen to that */
	bool shared;	   /* others may have it, be it in another process */
	uint64_t n_zeroed; /* of dev->n_zeroed, when it will have come to zero */
	uint64_t used;	   /* that dev->used_bytes has of it, and no space */
};

/* As somebody has left it, for its first user. -ENOMEM. */
int cuda_pages_create(struct cuda_device *dev, uint64_t size, struct cuda_pages **out);
struct cuda_pages *cuda_pages_get(struct cuda_pages *p);
void cuda_pages_put(struct cuda_pages *p);

/* Whoever has allocated there has gone: as long as others have it, it is counted for them. Before his put. */
void cuda_pages_leave(struct cuda_pages *p);

/* At these addresses, for reading and writing. -ENOMEM. */
int cuda_pages_map(const struct cuda_pages *p, uint64_t addr);

/* Zero it, mapped there: cuda_zero(). */
int cuda_pages_zero(struct cuda_pages *p, uint64_t addr);
bool cuda_pages_are_zeroed(const struct cuda_pages *p);

/* As ops.h says of backing_export and backing_import; it has come to zero. */
int cuda_pages_export(const struct cuda_pages *p, int *fd);
int cuda_pages_import(struct cuda_device *dev, int fd, uint64_t size, struct cuda_pages **out);

#endif
