/*
 * backing.h - memory without an address of its own, and where it is mapped: as ops.h says of the backings.
 */
#ifndef GSB_DEVICE_CUDA_BACKING_H
#define GSB_DEVICE_CUDA_BACKING_H

#include "device/cuda/device.h"

int cuda_backing_create(struct gsb_device *dev, uint64_t owner, uint64_t size,
			struct gsb_backing **out);
int cuda_backing_of_host(struct gsb_device *dev, uint64_t owner, int fd, uint64_t at, uint64_t size,
			 struct gsb_backing **out);
void cuda_backing_destroy(struct gsb_backing *b);
int cuda_backing_map(struct gsb_backing *b, uint64_t owner, uint64_t addr);
int cuda_backing_access(struct gsb_backing *b, uint64_t owner, uint64_t addr,
			CUmemAccess_flags access);
void cuda_backing_unmap(struct gsb_backing *b, uint64_t owner, uint64_t addr);

int cuda_backing_export(struct gsb_backing *b, int *fd, uint64_t *at);
int cuda_backing_import(struct gsb_device *dev, int fd, uint64_t at, uint64_t size,
			struct gsb_backing **out);

/* One more of these pages; and those of one. */
int cuda_backing_of(struct cuda_pages *pages, struct gsb_backing **out);
struct cuda_pages *cuda_backing_pages(const struct gsb_backing *b);

/* No backing is left. */
void cuda_backings_finish(struct cuda_device *dev);

#endif
