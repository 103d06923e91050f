/*
 * handle.h - names for things that a tenant owns: index, generation and kind in 64 bits, never a
 * pointer.
 *
 *   bits 63..56  0x67, so that no small number and no canonical user pointer is a handle
 *   bits 55..48  kind
 *   bits 47..24  generation: differs each time an index is used again
 *   bits 23..0   index into the owner's table of that kind
 *
 * The library makes the handles (so that a create needs no answer); the engine keeps a private
 * table for each tenant and compares all of it.
 */
#ifndef GSB_HANDLE_H
#define GSB_HANDLE_H

#include <stdint.h>

enum gsb_handle_kind {
	GSB_HANDLE_NONE,
	GSB_HANDLE_CTX,
	GSB_HANDLE_MODULE,   /* one load of an image into one context */
	GSB_HANDLE_FUNCTION, /* CUfunction and CUkernel */
	GSB_HANDLE_STREAM,
	GSB_HANDLE_EVENT,
	GSB_HANDLE_LIBRARY, /* the library's own: never on the wire */
	GSB_HANDLE_POOL,    /* likewise */
	GSB_HANDLE_LINK,    /* likewise */
	GSB_HANDLE_ARRAY,   /* likewise */
	GSB_HANDLE_TEXTURE, /* likewise; the program's handle is an address */
	GSB_HANDLE_MIPMAP,  /* likewise */
	GSB_HANDLE_GRAPH,   /* likewise */
	GSB_HANDLE_NODE,    /* likewise */
	GSB_HANDLE_EXEC,    /* likewise */
	GSB_HANDLE_USER,    /* likewise */
	GSB_N_HANDLE_KINDS
};

#define GSB_HANDLE_MARK	     0x67
#define GSB_HANDLE_INDEX_MAX 0xffffffu
#define GSB_HANDLE_GEN_MAX   0xffffffu

static inline uint64_t gsb_handle_make(enum gsb_handle_kind kind, uint32_t index,
				       uint32_t generation)
{
	return (uint64_t)GSB_HANDLE_MARK << 56 | (uint64_t)kind << 48 |
	       (uint64_t)(generation & GSB_HANDLE_GEN_MAX) << 24 | (index & GSB_HANDLE_INDEX_MAX);
}

static inline uint32_t gsb_handle_index(uint64_t h)
{
	return h & GSB_HANDLE_INDEX_MAX;
}

static inline uint32_t gsb_handle_generation(uint64_t h)
{
	return h >> 24 & GSB_HANDLE_GEN_MAX;
}

/* GSB_HANDLE_NONE for what is no handle at all. */
static inline enum gsb_handle_kind gsb_handle_kind(uint64_t h)
{
	unsigned kind = h >> 48 & 0xff;

	return h >> 56 == GSB_HANDLE_MARK && kind < GSB_N_HANDLE_KINDS ? (enum gsb_handle_kind)kind
								       : GSB_HANDLE_NONE;
}

#endif
