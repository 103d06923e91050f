/*
 * chunk.c - see chunk.h.
 */
#include "device/cuda/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/clock.h"
#include "device/cuda/pages.h"
#include "device/cuda/zero.h"

#define SPARE_MAX (256ull << 20)
#define SPARE_NS  200000000ull

/*
 * What is left of slabs counts, too: who keeps a little of each would have more than its limit. Slabs that are filled one behind
 * the other are half full at least, so that nobody meets this before his limit who frees nothing.
 */
static bool may_map(const struct gsb_space *space, uint64_t size)
{
	uint64_t limit = space->limit_bytes;

	return limit > UINT64_MAX / 4 || space->mapped_bytes + size <= 2 * limit + CUDA_CHUNK_BYTES;
}

int cuda_chunk_place(struct gsb_space *space, struct cuda_pages *pages, struct cuda_chunk **out)
{
	struct cuda_chunk *c = calloc(1, sizeof(*c));
	uint64_t size = pages->size;
	struct gsb_range was;
	int err = -ENOMEM;

	if (!c)
		goto err_chunk;
	c->pages = pages;
	c->size = size;
	c->space = space;
	/* A gap behind a large one: what runs off its end meets nothing. */
	err = gsb_ranges_alloc(&space->window, size, CUDA_CHUNK_BYTES,
			       size > CUDA_CHUNK_BYTES ? CUDA_CHUNK_BYTES : 0, &c->start);
	if (err)
		goto err_chunk;
	err = cuda_pages_map(pages, c->start);
	if (err)
		goto err_map;
	HASH_ADD(hh, space->chunks, start, sizeof(c->start), c);
	*out = c;
	return 0;
err_map:
	gsb_ranges_remove(&space->window, c->start, &was);
err_chunk:
	cuda_pages_put(pages);
	free(c);
	return err;
}

int cuda_chunk_add(struct gsb_space *space, uint64_t size, struct cuda_chunk **out)
{
	struct cuda_pages *pages;
	int err;

	if (!may_map(space, size))
		return -EDQUOT;
	err = cuda_pages_create(space->dev, size, &pages);
	if (!err)
		err = cuda_chunk_place(space, pages, out);
	if (!err)
		space->mapped_bytes += size;
	return err;
}

static void unmap_chunk(struct cuda_chunk *c)
{
	struct gsb_space *space = c->space;
	struct cuda_device *dev = space->dev;
	struct gsb_range was;

	cuda_note(dev, dev->cu.cuMemUnmap(c->start, c->size));
	cuda_pages_put(c->pages);
	gsb_ranges_remove(&space->window, c->start, &was);
	HASH_DELETE(hh, space->chunks, c);
	space->mapped_bytes -= c->opened ? 0 : c->size;
	free(c);
}

void cuda_chunks_bury(struct cuda_device *dev)
{
	struct cuda_chunk *c, *next;

	DL_FOREACH_SAFE (dev->dying, c, next) {
		if (!cuda_pages_are_zeroed(c->pages))
			continue;
		DL_DELETE(dev->dying, c);
		unmap_chunk(c);
	}
}

static void let_die(struct cuda_chunk *c)
{
	if (cuda_pages_are_zeroed(c->pages))
		unmap_chunk(c);
	else
		DL_APPEND(c->space->dev->dying, c);
}

void cuda_chunk_remove(struct cuda_chunk *c)
{
	if (!c->opened)
		cuda_pages_leave(c->pages);
	c->bytes = 0;
	gsb_ranges_finish(&c->parts);
	c->parts = (struct gsb_ranges){0};
	let_die(c);
}

/* ---- the spare chunk ---- */

void cuda_chunk_drop_spare(struct cuda_device *dev)
{
	struct cuda_chunk *c = dev->spare;

	dev->spare = NULL;
	if (c)
		let_die(c);
}

void cuda_chunk_spare(struct cuda_chunk *c)
{
	struct cuda_device *dev = c->space->dev;

	if (c->size > SPARE_MAX || c->pages->shared) {
		cuda_chunk_remove(c);
		return;
	}
	cuda_chunk_drop_spare(dev);
	c->bytes = 0;
	dev->spare = c;
	dev->spare_until_ns = gsb_clock_ns() + SPARE_NS;
}

struct cuda_chunk *cuda_chunk_take_spare(const struct gsb_space *space, uint64_t size)
{
	struct cuda_device *dev = space->dev;
	struct cuda_chunk *c = dev->spare;

	if (!c || c->space != space || c->size != size)
		return NULL;
	dev->spare = NULL;
	return c;
}

struct cuda_chunk *cuda_chunk_find(struct gsb_space *space, uint64_t addr)
{
	const struct gsb_range *r = gsb_ranges_find(&space->window, addr);
	struct cuda_chunk *c = NULL;

	if (r)
		HASH_FIND(hh, space->chunks, &r->start, sizeof(r->start), c);
	return c;
}

/* Its addresses are to be free when it has gone: this waits for what is being zeroed, and for nothing else. */
void cuda_chunks_remove_all(struct gsb_space *space)
{
	struct cuda_chunk *c, *next;

	if (space->dev->spare && space->dev->spare->space == space)
		cuda_chunk_drop_spare(space->dev);
	for (c = space->chunks; c; c = next) {
		next = c->hh.next;
		if (c->bytes || c->parts.base) /* it is not dying already */
			cuda_chunk_remove(c);
	}
	if (space->chunks)
		cuda_finish_zeroing(space->dev);
	cuda_chunks_bury(space->dev);
}
