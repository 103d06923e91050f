/*
 * arena.c - see arena.h. Chunks double up to 1 MiB; a large request gets a chunk of its own.
 */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define CHUNK_MIN_BYTES ((size_t)4096)
#define CHUNK_MAX_BYTES ((size_t)1 << 20)
#define ALIGNMENT	((size_t)16)

struct gsb_arena_chunk {
	struct gsb_arena_chunk *next;
	size_t size, used;
	_Alignas(16) unsigned char bytes[];
};

void gsb_arena_init(struct gsb_arena *a, size_t limit_bytes)
{
	*a = (struct gsb_arena){.limit_bytes = limit_bytes};
}

void gsb_arena_finish(struct gsb_arena *a)
{
	struct gsb_arena_chunk *c, *next;

	if (!a)
		return;
	for (c = a->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	*a = (struct gsb_arena){0};
}

static struct gsb_arena_chunk *add_chunk(struct gsb_arena *a, size_t need)
{
	size_t size = a->chunks ? a->chunks->size * 2 : CHUNK_MIN_BYTES;
	struct gsb_arena_chunk *c;

	if (size > CHUNK_MAX_BYTES)
		size = CHUNK_MAX_BYTES;
	if (size < need)
		size = need;
	c = calloc(1, sizeof(*c) + size);
	if (!c)
		return NULL;
	c->size = size;
	c->next = a->chunks;
	a->chunks = c;
	return c;
}

void *gsb_arena_alloc(struct gsb_arena *a, size_t size)
{
	struct gsb_arena_chunk *c = a->chunks;
	size_t need, total;
	void *p;

	if (gsb_add_overflows(size, ALIGNMENT - 1, &need))
		return NULL;
	need &= ~(ALIGNMENT - 1);
	if (gsb_add_overflows(a->used_bytes, need, &total) || total > a->limit_bytes)
		return NULL;
	if (!c || c->size - c->used < need)
		c = add_chunk(a, need);
	if (!c)
		return NULL;
	p = c->bytes + c->used;
	c->used += need;
	a->used_bytes = total;
	return p;
}

void *gsb_arena_alloc_array(struct gsb_arena *a, size_t n, size_t size)
{
	size_t total;

	if (gsb_mul_overflows(n, size, &total))
		return NULL;
	return gsb_arena_alloc(a, total);
}

char *gsb_arena_strndup(struct gsb_arena *a, const char *s, size_t len)
{
	size_t size;
	char *p;

	if (gsb_add_overflows(len, (size_t)1, &size))
		return NULL;
	p = gsb_arena_alloc(a, size);
	if (p)
		memcpy(p, s, len);
	return p;
}
