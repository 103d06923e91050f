/*
 * backing.c - see backing.h.
 *
 * The area is reserved once, when the first backing is made. A backing is a handle of the driver's; the rest are its own calls, none
 * of which waits for kernels.
 *
 * The driver gives memory as somebody has left it, in this process maybe another tenant. It is zeroed when a mapping is first given
 * access.
 */
#include "device/cuda/backing.h"

#include <stdlib.h>
#include <utlist.h>

#include "base/checked.h"
#include "base/log.h"
#include "device/cuda/memory.h"
#include "device/cuda/send.h"

struct gsb_backing {
	struct cuda_device *dev;
	uint64_t owner, size;
	CUmemGenericAllocationHandle handle;
	bool zeroed;
	uint64_t n_zeroed; /* of dev->n_zeroed, when it will have come to zero */
};

static CUmemLocation location(const struct cuda_device *dev)
{
	return (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, dev->id};
}

/* ---- the area ---- */

static int reserve(struct cuda_device *dev)
{
	const struct cuda_driver *cu = &dev->cu;
	CUdeviceptr got = 0;

	if (dev->has_area)
		return 0;
	if (!dev->virtual_size)
		return -ENOTSUP;
	if (cuda_note(dev,
		      cu->cuMemAddressReserve(&got, dev->virtual_size, 0, dev->virtual_base, 0)))
		return -ENOMEM;
	if (got == dev->virtual_base) {
		dev->has_area = true;
		return 0;
	}
	cuda_note(dev, cu->cuMemAddressFree(got, dev->virtual_size));
	gsb_log(GSB_LOG_ERROR, "cuda", "addresses from %#llx are in use: nothing is mapped",
		(unsigned long long)dev->virtual_base);
	return -ENOMEM;
}

void cuda_backings_finish(struct cuda_device *dev)
{
	if (dev->has_area)
		cuda_note(dev, dev->cu.cuMemAddressFree(dev->virtual_base, dev->virtual_size));
	dev->has_area = false;
}

/* ---- backings ---- */

static int create(struct gsb_backing *b)
{
	struct cuda_device *dev = b->dev;
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = location(dev)};

	if (b->size > dev->info.total_mem_bytes - dev->mapped_bytes ||
	    cuda_note(dev, dev->cu.cuMemCreate(&b->handle, b->size, &prop, 0)))
		return -ENOMEM;
	return 0;
}

int cuda_backing_create(struct gsb_device *base, uint64_t owner, uint64_t size,
			struct gsb_backing **out)
{
	struct cuda_device *dev = to_cuda(base);
	struct gsb_backing *b;
	int err;

	if (!size || size % GSB_BACKING_UNIT)
		return -EINVAL;
	err = reserve(dev);
	if (err)
		return err;
	if (size > dev->info.total_mem_bytes - dev->used_bytes)
		return -ENOMEM;
	b = malloc(sizeof(*b));
	if (!b)
		return -ENOMEM;
	*b = (struct gsb_backing){.dev = dev, .owner = owner, .size = size};
	err = create(b);
	if (err && cuda_mem_make_room(dev))
		err = create(b);
	if (err) {
		free(b);
		return err;
	}
	dev->used_bytes += size;
	dev->mapped_bytes += size;
	*out = b;
	return 0;
}

void cuda_backing_destroy(struct gsb_backing *b)
{
	struct cuda_device *dev = b->dev;

	cuda_note(dev, dev->cu.cuMemRelease(b->handle));
	dev->used_bytes -= b->size;
	dev->mapped_bytes -= b->size;
	free(b);
}

/* ---- mappings ---- */

int cuda_backing_map(struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	struct cuda_device *dev = b->dev;

	if (addr % GSB_BACKING_UNIT ||
	    !gsb_range_ok(addr - dev->virtual_base, b->size, dev->virtual_size))
		return -EINVAL;
	return cuda_note(dev, dev->cu.cuMemMap(addr, b->size, 0, b->handle, 0)) ? -ENOMEM : 0;
}

static int set_access(struct gsb_backing *b, uint64_t addr, CUmemAccess_flags access)
{
	const CUmemAccessDesc desc = {location(b->dev), access};

	return cuda_refusal(b->dev, b->dev->cu.cuMemSetAccess(addr, b->size, &desc, 1));
}

/* What somebody else has left there is nobody's to read: as if it had been mapped just now. */
static void take_access_back(struct gsb_backing *b, uint64_t addr)
{
	const struct cuda_driver *cu = &b->dev->cu;

	cuda_note(b->dev, cu->cuMemUnmap(addr, b->size));
	cuda_note(b->dev, cu->cuMemMap(addr, b->size, 0, b->handle, 0));
}

/* Whoever works with it in a space of its owner waits for that. */
static int zero(struct gsb_backing *b, uint64_t addr)
{
	struct cuda_device *dev = b->dev;
	int err = set_access(b, addr, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

	if (err)
		return err;
	err = cuda_zero(dev, addr, b->size);
	if (err) {
		take_access_back(b, addr);
		return err;
	}
	b->zeroed = true;
	b->n_zeroed = dev->n_zeroed;
	cuda_zero_note(dev, b->owner);
	return 0;
}

/* Nothing is taken away from the zeroing. */
static void let_zero(struct gsb_backing *b)
{
	if (!cuda_is_zeroed(b->dev, b->n_zeroed))
		cuda_finish_zeroing(b->dev);
}

int cuda_backing_access(struct gsb_backing *b, uint64_t owner, uint64_t addr,
			CUmemAccess_flags access)
{
	int err = 0;

	if (access != CU_MEM_ACCESS_FLAGS_PROT_NONE && !b->zeroed) {
		err = zero(b, addr);
		if (err || access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			return err;
	}
	if (access != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
		let_zero(b);
	return set_access(b, addr, access);
}

void cuda_backing_unmap(struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	let_zero(b);
	cuda_note(b->dev, b->dev->cu.cuMemUnmap(addr, b->size));
}
