/*
 * space.c - see space.h.
 *
 * A space reserves its window's addresses once; memory is mapped there (chunk.h), or stands for arrays (array.h).
 */
#include "device/cuda/space.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "device/cuda/array.h"
#include "device/cuda/chunk.h"
#include "device/cuda/fifo.h"
#include "device/cuda/host.h"
#include "device/cuda/memory.h"
#include "device/cuda/module.h"
#include "device/cuda/print.h"
#include "device/cuda/said.h"
#include "device/cuda/texture.h"

static int reserve(struct gsb_space *space)
{
	struct cuda_driver *cu = &space->dev->cu;
	CUdeviceptr got = 0;

	if (cuda_note(space->dev, cu->cuMemAddressReserve(&got, space->size, 0, space->base, 0)))
		return -ENOMEM;
	if (got == space->base)
		return 0;
	cu->cuMemAddressFree(got, space->size);
	return -EEXIST;
}

int cuda_space_create(struct gsb_device *dev, const struct gsb_space_params *p,
		      struct gsb_space **out)
{
	uint64_t size = p->device_size;
	struct gsb_space *space;
	int err;

	if (size < CUDA_CHUNK_BYTES || size & (size - 1) || p->device_base & (size - 1))
		return -EINVAL;
	space = calloc(1, sizeof(*space));
	if (!space)
		return -ENOMEM;
	space->dev = to_cuda(dev);
	space->owner = p->owner;
	space->said_at = cuda_said_bytes();
	space->base = p->device_base;
	space->size = size;
	cuda_space_limit(space, p->mem_limit_bytes);
	err = reserve(space);
	if (err) {
		free(space);
		return err;
	}
	gsb_ranges_init(&space->window, p->device_base, size);
	gsb_ranges_init(&space->host, p->host_base, p->host_size);
	gsb_ranges_init(&space->globals, 0, UINT64_MAX);
	space->n_zeroed = space->dev->n_zeroed; /* of its owner's backings */
	DL_APPEND(space->dev->spaces, space);
	*out = space;
	return 0;
}

void cuda_space_limit(struct gsb_space *space, uint64_t mem_limit_bytes)
{
	space->limit_bytes = mem_limit_bytes ? mem_limit_bytes : UINT64_MAX;
}

void cuda_space_destroy(struct gsb_space *space)
{
	if (!space)
		return;
	DL_DELETE(space->dev->spaces, space);
	while (space->modules)
		cuda_module_unload(space->modules);
	cuda_print_destroy(space);
	cuda_fifo_forget(space);
	cuda_host_unpin_all(space);
	cuda_textures_free(space);
	cuda_arrays_free(space);
	cuda_chunks_remove_all(space);
	space->dev->used_bytes -= space->used_bytes;
	cuda_note(space->dev, space->dev->cu.cuMemAddressFree(space->base, space->size));
	gsb_ranges_finish(&space->window);
	gsb_ranges_finish(&space->host);
	gsb_ranges_finish(&space->globals);
	free(space);
}

/* ---- what is given back ---- */

static int free_array(struct gsb_space *space, uint64_t addr, uint64_t *cost)
{
	struct cuda_array *a = cuda_array_at(space, addr);

	if (!a)
		return -EINVAL;
	cuda_textures_forget(space, a);
	*cost = cuda_array_free(a);
	return 0;
}

int cuda_mem_free(struct gsb_space *space, uint64_t addr)
{
	uint64_t cost;

	if (cuda_mem_give_back(space, addr, &cost) && free_array(space, addr, &cost))
		return -EINVAL;
	space->used_bytes -= cost;
	space->dev->used_bytes -= cost;
	return 0;
}
