/*
 * backing.c - see backing.h.
 *
 * The area is reserved once, when the first backing is made. A backing is a handle of the driver's; the rest are its own calls, none
 * of which waits for kernels.
 *
 * The driver gives memory as somebody has left it, in this process maybe another tenant. It is zeroed when a mapping is first given
 * access, or before another process has it.
 *
 * A backing of the host is none of the driver's: a part of a file, mapped there by the kernel and registered (host.c).
 */
#include "device/cuda/backing.h"

#include <stdlib.h>
#include <utlist.h>

#include "base/checked.h"
#include "base/log.h"
#include "device/cuda/host.h"
#include "device/cuda/pages.h"
#include "device/cuda/room.h"
#include "device/cuda/zero.h"
#include "device/host_file.h"

struct gsb_backing {
	struct cuda_device *dev;
	struct cuda_pages *pages; /* NULL: of the host */
	uint64_t size;
	struct gsb_host_file *file; /* of the host: the file, its descriptor, and where in it */
	int fd;
	uint64_t at;
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

/* Consumes the pages, also if it fails. */
static int wrap(struct cuda_pages *pages, struct gsb_backing **out)
{
	struct gsb_backing *b = malloc(sizeof(*b));

	if (!b) {
		cuda_pages_put(pages);
		return -ENOMEM;
	}
	*b = (struct gsb_backing){.dev = pages->dev, .pages = pages, .size = pages->size, .fd = -1};
	*out = b;
	return 0;
}

int cuda_backing_of(struct cuda_pages *pages, struct gsb_backing **out)
{
	return wrap(cuda_pages_get(pages), out);
}

struct cuda_pages *cuda_backing_pages(const struct gsb_backing *b)
{
	return b->pages;
}

int cuda_backing_create(struct gsb_device *base, uint64_t owner, uint64_t size,
			struct gsb_backing **out)
{
	struct cuda_device *dev = to_cuda(base);
	struct cuda_pages *pages;
	int err;

	if (!size || size % GSB_BACKING_UNIT)
		return -EINVAL;
	err = reserve(dev);
	if (err)
		return err;
	if (size > dev->info.total_mem_bytes - dev->used_bytes)
		return -ENOMEM;
	err = cuda_pages_create(dev, size, &pages);
	if (err && cuda_room_make(dev))
		err = cuda_pages_create(dev, size, &pages);
	if (err)
		return err;
	pages->used = size;
	dev->used_bytes += size;
	return wrap(pages, out);
}

static bool is_of_host(const struct gsb_backing *b)
{
	return !b->pages;
}

int cuda_backing_of_host(struct gsb_device *base, uint64_t owner, int fd, uint64_t at,
			 uint64_t size, struct gsb_backing **out)
{
	struct cuda_device *dev = to_cuda(base);
	struct gsb_host_file *file;
	struct gsb_backing *b;
	int err;

	if (!size || (at | size) % GSB_BACKING_UNIT)
		return -EINVAL;
	err = reserve(dev);
	if (!err)
		err = gsb_host_file_get(&dev->host_files, owner, fd, &file);
	if (err)
		return err;
	b = malloc(sizeof(*b));
	if (!b) {
		gsb_host_file_put(file);
		return -ENOMEM;
	}
	*b = (struct gsb_backing){.dev = dev, .size = size, .file = file, .fd = file->fd, .at = at};
	dev->n_host_backings++;
	*out = b;
	return 0;
}

void cuda_backing_destroy(struct gsb_backing *b)
{
	if (is_of_host(b)) {
		gsb_host_file_put(b->file);
		b->dev->n_host_backings--;
	} else {
		cuda_pages_put(b->pages);
	}
	free(b);
}

/* ---- mappings ---- */

int cuda_backing_map(struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	struct cuda_device *dev = b->dev;
	int err;

	if (addr % GSB_BACKING_UNIT ||
	    !gsb_range_ok(addr - dev->virtual_base, b->size, dev->virtual_size))
		return -EINVAL;
	err = reserve(dev);
	if (err)
		return err;
	if (cuda_host_is_going(dev, addr, b->size))
		return -EINPROGRESS;
	if (is_of_host(b))
		return cuda_host_map(dev, b->fd, b->at, addr, b->size);
	return cuda_note(dev, dev->cu.cuMemMap(addr, b->size, 0, b->pages->handle, 0)) ? -ENOMEM
										       : 0;
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
	cuda_note(b->dev, cu->cuMemMap(addr, b->size, 0, b->pages->handle, 0));
}

static int zero(struct gsb_backing *b, uint64_t addr)
{
	int err = set_access(b, addr, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

	if (err)
		return err;
	err = cuda_pages_zero(b->pages, addr);
	if (err)
		take_access_back(b, addr);
	return err;
}

/* Nothing is taken away from the zeroing. */
static void let_zero(const struct gsb_backing *b)
{
	if (!cuda_pages_are_zeroed(b->pages))
		cuda_finish_zeroing(b->dev);
}

static int host_access(struct gsb_backing *b, uint64_t addr, CUmemAccess_flags access)
{
	if (access != CU_MEM_ACCESS_FLAGS_PROT_NONE)
		return cuda_host_expose(b->dev, addr, b->size);
	cuda_host_hide(b->dev, addr);
	return 0;
}

/* Whoever works with it in a space of that owner waits for the zeroing. */
int cuda_backing_access(struct gsb_backing *b, uint64_t owner, uint64_t addr,
			CUmemAccess_flags access)
{
	int err = 0;

	if (is_of_host(b))
		return host_access(b, addr, access);
	if (access != CU_MEM_ACCESS_FLAGS_PROT_NONE && !b->pages->zeroed)
		err = zero(b, addr);
	if (err)
		return err;
	if (access != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
		let_zero(b);
	else if (!cuda_pages_are_zeroed(b->pages))
		cuda_zero_note(b->dev, owner);
	return set_access(b, addr, access);
}

void cuda_backing_unmap(struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	if (is_of_host(b)) {
		cuda_host_unmap(b->dev, addr, b->size);
		return;
	}
	let_zero(b);
	cuda_note(b->dev, b->dev->cu.cuMemUnmap(addr, b->size));
}

/* ---- for other processes ---- */

/* Somewhere, for as long as that takes. */
static int zero_anywhere(struct gsb_backing *b)
{
	const struct cuda_driver *cu = &b->dev->cu;
	CUdeviceptr at;
	int err;

	if (cuda_note(b->dev, cu->cuMemAddressReserve(&at, b->size, 0, 0, 0)))
		return -ENOMEM;
	err = cuda_pages_map(b->pages, at);
	if (!err) {
		err = cuda_pages_zero(b->pages, at);
		let_zero(b);
		cuda_note(b->dev, cu->cuMemUnmap(at, b->size));
	}
	cuda_note(b->dev, cu->cuMemAddressFree(at, b->size));
	return err;
}

int cuda_backing_export(struct gsb_backing *b, int *fd, uint64_t *at)
{
	int err = b->pages->zeroed ? 0 : zero_anywhere(b);

	if (err)
		return err;
	let_zero(b);
	err = cuda_pages_export(b->pages, fd);
	if (!err)
		*at = 0;
	return err;
}

int cuda_backing_import(struct gsb_device *base, int fd, uint64_t at, uint64_t size,
			struct gsb_backing **out)
{
	struct cuda_pages *pages;
	int err;

	if (at || !size || size % GSB_BACKING_UNIT)
		return -EINVAL;
	err = cuda_pages_import(to_cuda(base), fd, size, &pages);
	return err ? err : wrap(pages, out);
}
