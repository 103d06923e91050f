/*
 * pages.c - see pages.h.
 *
 * None of the driver's calls here waits for kernels. All memory is made so that a descriptor may stand for it in another process, which costs
 * nothing.
 */
#include "device/cuda/pages.h"

#include <stdlib.h>

#include "device/cuda/zero.h"

static CUmemAllocationHandleType handle_type(const struct cuda_device *dev)
{
	return dev->exports ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
}

static struct cuda_pages *new_pages(struct cuda_device *dev, uint64_t size)
{
	struct cuda_pages *p = malloc(sizeof(*p));

	if (p)
		*p = (struct cuda_pages){.dev = dev, .size = size, .n_users = 1};
	return p;
}

int cuda_pages_create(struct cuda_device *dev, uint64_t size, struct cuda_pages **out)
{
	const CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = handle_type(dev),
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, dev->id},
	};
	struct cuda_pages *p;

	if (size > dev->info.total_mem_bytes - dev->mapped_bytes)
		return -ENOMEM;
	p = new_pages(dev, size);
	if (!p)
		return -ENOMEM;
	if (cuda_note(dev, dev->cu.cuMemCreate(&p->handle, size, &prop, 0))) {
		free(p);
		return -ENOMEM;
	}
	dev->mapped_bytes += size;
	*out = p;
	return 0;
}

struct cuda_pages *cuda_pages_get(struct cuda_pages *p)
{
	p->n_users++;
	return p;
}

void cuda_pages_put(struct cuda_pages *p)
{
	struct cuda_device *dev = p->dev;

	if (--p->n_users)
		return;
	cuda_note(dev, dev->cu.cuMemRelease(p->handle));
	dev->mapped_bytes -= p->foreign ? 0 : p->size;
	dev->used_bytes -= p->used;
	free(p);
}

void cuda_pages_leave(struct cuda_pages *p)
{
	if (p->n_users == 1)
		return;
	p->used = p->size;
	p->dev->used_bytes += p->size;
}

int cuda_pages_map(const struct cuda_pages *p, uint64_t addr)
{
	struct cuda_device *dev = p->dev;
	const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, dev->id},
					CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	const struct cuda_driver *cu = &dev->cu;

	if (cuda_note(dev, cu->cuMemMap(addr, p->size, 0, p->handle, 0)))
		return -ENOMEM;
	if (!cuda_note(dev, cu->cuMemSetAccess(addr, p->size, &access, 1)))
		return 0;
	cu->cuMemUnmap(addr, p->size);
	return -ENOMEM;
}

int cuda_pages_zero(struct cuda_pages *p, uint64_t addr)
{
	int err = cuda_zero(p->dev, addr, p->size);

	if (err)
		return err;
	p->zeroed = true;
	p->n_zeroed = p->dev->n_zeroed;
	return 0;
}

bool cuda_pages_are_zeroed(const struct cuda_pages *p)
{
	return cuda_is_zeroed(p->dev, p->n_zeroed);
}

/* ---- for other processes ---- */

int cuda_pages_export(const struct cuda_pages *p, int *fd)
{
	struct cuda_device *dev = p->dev;

	if (!dev->exports)
		return -ENOTSUP;
	return cuda_refusal(dev,
			    dev->cu.cuMemExportToShareableHandle(
				    fd, p->handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
}

int cuda_pages_import(struct cuda_device *dev, int fd, uint64_t size, struct cuda_pages **out)
{
	struct cuda_pages *p = new_pages(dev, size);
	int err;

	if (!p)
		return -ENOMEM;
	err = cuda_refusal(dev, dev->cu.cuMemImportFromShareableHandle(
					&p->handle, (void *)(uintptr_t)fd,
					CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	if (err) {
		free(p);
		return err;
	}
	p->foreign = p->zeroed = true;
	*out = p;
	return 0;
}
