/*
 * share.c - see share.h.
 */
#include "device/emu/memory/share.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <uthash.h>

#include "base/log.h"
#include "device/emu/memory/backing.h"
#include "device/emu/memory/heap.h"

/* An allocation that others may have, by its place in the file. */
struct emu_share {
	uint64_t at, size;
	unsigned n; /* backings */
	bool freed; /* it is theirs alone */
	UT_hash_handle hh;
};

struct emu_opened {
	uint64_t start;
	struct gsb_backing *backing;
	UT_hash_handle hh;
};

/* ---- what is shared; vram->lock held ---- */

static struct emu_share *find_share(const struct emu_file *f, uint64_t at)
{
	struct emu_share *s;

	HASH_FIND(hh, f->shares, &at, sizeof(at), s);
	return s;
}

/* By one more. */
static struct emu_share *take_share(struct emu_heap *heap, const struct gsb_range *r)
{
	uint64_t at = r->start - heap->device.base;
	struct emu_share *s = find_share(heap->file, at);

	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return NULL;
		s->at = at;
		s->size = r->size;
		HASH_ADD(hh, heap->file->shares, at, sizeof(s->at), s);
	}
	s->n++;
	return s;
}

static void end_share(struct gsb_backing *b)
{
	struct emu_file *f = b->file;
	struct emu_share *s = find_share(f, b->at);
	struct gsb_ranges *device = f->heap ? &f->heap->device : NULL;
	uint64_t start = device ? device->base + s->at : 0;
	struct gsb_range was;

	if (--s->n)
		return;
	if (s->freed) {
		b->vram->used_bytes -= s->size;
		if (!emu_sweep_part(b->vram, f, s->at, s->size, device, start) &&
		    emu_file_scrub(f, s->at, s->size) && device)
			gsb_ranges_remove(device, start, &was);
	}
	HASH_DELETE(hh, f->shares, s);
	free(s);
}

static struct emu_opened *find_opened(const struct emu_heap *heap, uint64_t start)
{
	struct emu_opened *o;

	HASH_FIND(hh, heap->opened, &start, sizeof(start), o);
	return o;
}

static int share(struct emu_heap *heap, uint64_t addr, struct gsb_backing *b)
{
	const struct gsb_range *r = gsb_ranges_find(&heap->device, addr);

	if (!r || r->start != addr || !r->used || find_opened(heap, addr))
		return -EINVAL;
	if (!take_share(heap, r))
		return -ENOMEM;
	*b = (struct gsb_backing){.vram = heap->vram,
				  .file = heap->file,
				  .at = addr - heap->device.base,
				  .size = r->size,
				  .n_users = 1,
				  .end = end_share};
	emu_file_get(b->file);
	return 0;
}

int emu_heap_share(struct emu_heap *heap, uint64_t addr, struct gsb_backing **out, uint64_t *offset,
		   uint64_t *size)
{
	struct gsb_backing *b = malloc(sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	pthread_mutex_lock(&heap->vram->lock);
	err = share(heap, addr, b);
	pthread_mutex_unlock(&heap->vram->lock);
	if (err) {
		free(b);
		return err;
	}
	*out = b;
	*offset = 0;
	*size = b->size;
	return 0;
}

bool emu_share_outlives(struct emu_heap *heap, const struct gsb_range *r)
{
	struct emu_share *s = find_share(heap->file, r->start - heap->device.base);

	if (!s)
		return false;
	s->freed = true;
	heap->used_bytes -= s->size;
	return true;
}

/* ---- what is opened; vram->lock held ---- */

static void forget_opened(struct emu_heap *heap, struct emu_opened *o)
{
	emu_backing_put(o->backing);
	HASH_DELETE(hh, heap->opened, o);
	free(o);
}

int emu_share_open(struct emu_heap *heap, struct gsb_backing *b, uint64_t start)
{
	struct emu_opened *o = malloc(sizeof(*o));
	int err;

	if (!o)
		return -ENOMEM;
	err = emu_file_map(b->file, b->at, b->size, start, PROT_READ | PROT_WRITE);
	if (err) {
		free(o);
		return err;
	}
	o->start = start;
	o->backing = b;
	b->n_users++;
	HASH_ADD(hh, heap->opened, start, sizeof(o->start), o);
	return 0;
}

int emu_share_close(struct emu_heap *heap, const struct gsb_range *r)
{
	struct emu_opened *o = find_opened(heap, r->start);
	int err;

	if (!o)
		return -ENOENT;
	err = emu_file_map(heap->file, r->start - heap->device.base, r->size, r->start, PROT_NONE);
	if (err)
		gsb_log(GSB_LOG_ERROR, "emu", "%#llx stays mapped: %m",
			(unsigned long long)r->start);
	forget_opened(heap, o);
	return err;
}

/* ---- the end of a heap; vram->lock held ---- */

/* All but what others have. */
static void scrub_rest(const struct emu_heap *heap)
{
	for (size_t i = 0; i < heap->device.n_items; i++) {
		const struct gsb_range *r = &heap->device.items[i];
		uint64_t at = r->start - heap->device.base;

		if (!find_share(heap->file, at))
			emu_file_scrub(heap->file, at, r->size);
	}
}

void emu_share_part(struct emu_heap *heap)
{
	struct emu_opened *o, *next;
	struct emu_share *s;

	for (o = heap->opened; o; o = next) {
		next = o->hh.next;
		forget_opened(heap, o);
	}
	for (s = heap->file->shares; s; s = s->hh.next) {
		heap->used_bytes -= s->freed ? 0 : s->size;
		s->freed = true;
	}
	if (heap->file->shares)
		scrub_rest(heap);
	heap->file->heap = NULL;
	emu_sweep_put(heap->vram, heap->file, heap->used_bytes);
}
