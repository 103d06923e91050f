/*
 * arena.h - bump allocator with a hard limit, freed at once.
 *
 * For data whose size a tenant decides (PTX text, decompressed images): the limit turns a hostile
 * input into -ENOMEM instead of an exhausted host. Not thread-safe; one owner.
 */
#ifndef GSB_BASE_ARENA_H
#define GSB_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct gsb_arena_chunk;

struct gsb_arena {
	struct gsb_arena_chunk *chunks; /* newest first */
	size_t used_bytes;		/* asked for so far, all chunks */
	size_t limit_bytes;		/* gsb_arena_alloc fails beyond this */
};

void gsb_arena_init(struct gsb_arena *a, size_t limit_bytes);
void gsb_arena_finish(struct gsb_arena *a); /* takes a zeroed arena too */

/* Zeroed memory aligned to 16; NULL past the limit or without memory. size 0 gives a valid pointer.
 */
void *gsb_arena_alloc(struct gsb_arena *a, size_t size);
/* As above for n items of size bytes each; NULL when n * size overflows. */
void *gsb_arena_alloc_array(struct gsb_arena *a, size_t n, size_t size);
/* NUL-terminated copy of len bytes. */
char *gsb_arena_strndup(struct gsb_arena *a, const char *s, size_t len);

#endif
