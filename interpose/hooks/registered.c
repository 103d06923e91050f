/*
 * registered.c - memory of the program's own that is pinned: its pages lie in the window, and so does the device's address of it (cu/registered.h).
 */
#include "base/checked.h"
#include "interpose/core/post.h"
#include "interpose/core/process.h"
#include "interpose/cu/alloc.h"
#include "interpose/cu/capture.h"
#include "interpose/cu/ctx.h"
#include "interpose/cu/registered.h"
#include "interpose/cu/stream.h"
#include "interpose/cu/virtual.h"
#include "interpose/hooks/hooks.h"

#define MIRROR_MINOR 5 /* of the engine, from which on a page may lie twice in the window */

/* Pages of the window. The first or the last of them may be one that lies there already. */
static CUresult allocate_mirror(const struct gsb_registered *r, const uint64_t shared[2],
				struct gsb_alloc *a)
{
	const struct gsb_rec_host_mirror body = {
		.ctx = r->wire, .size = gsb_registered_pages(r), .shared = {shared[0], shared[1]}};
	CUresult result;

	if (!shared[0] && !shared[1])
		return gsb_mem_alloc_host(body.size, a);
	if (gsb_proc.region->header.minor < MIRROR_MINOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	result = gsb_mem_take_range(&(struct gsb_call){.type = GSB_REC_HOST_MIRROR,
						       .body = &body,
						       .body_bytes = sizeof(body)},
				    body.size, r->wire, a);
	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		gsb_mem_say_no_host_room(body.size);
	return result;
}

static CUresult free_mirror(uint64_t mirror)
{
	struct gsb_alloc a;

	return gsb_alloc_remove(mirror, GSB_ALLOC_MIRROR, 0, &a) ? CUDA_SUCCESS
								 : gsb_mem_free_host(&a);
}

static CUresult unregister(uint64_t addr)
{
	uint64_t gone[GSB_MIRRORS_GONE];
	unsigned n;
	CUresult result = gsb_registered_remove(addr, gone, &n);

	for (unsigned i = 0; !result && i < n; i++)
		result = free_mirror(gone[i]);
	return result;
}

static CUresult register_pages(const struct gsb_registered *r)
{
	struct gsb_alloc a = {.kind = GSB_ALLOC_MIRROR};
	uint64_t shared[2];
	CUresult result = gsb_registered_begin(r, shared);

	if (result)
		return result;
	result = allocate_mirror(r, shared, &a);
	if (!result) {
		result = gsb_registered_add(r, a.addr);
		if (result ==
		    CUDA_ERROR_MAP_FAILED) /* the program's bytes are there: freed with the context */
			result = CUDA_ERROR_OUT_OF_MEMORY;
		else if (result)
			free_mirror(a.addr);
	}
	if (result)
		unregister(r->addr);
	return result;
}

/* Ordinary memory is none of a device on the bus; the device's right to write where it need not is harmless. */
CUresult hook_cuMemHostRegister(void *ptr, size_t n, unsigned flags)
{
	struct gsb_registered r = {.addr = (uint64_t)ptr, .size = n, .flags = flags};
	struct gsb_cu_ctx_life life;
	uint64_t end;
	CUresult result = gsb_cu_ctx_live(&life);

	if (result)
		return result;
	if (!ptr || !n || gsb_add_overflows(r.addr, n + 4095, &end) || gsb_in_host_window(r.addr) ||
	    gsb_cu_virtual_has(r.addr) || /* pinned already */
	    flags & ~(unsigned)(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
				CU_MEMHOSTREGISTER_READ_ONLY))
		return CUDA_ERROR_INVALID_VALUE;
	r.wire = life.wire;
	result = gsb_capture_unsafe();
	return result ? result : register_pages(&r);
}

/* The device may still be at it: its work ends first. */
CUresult hook_cuMemHostUnregister(void *ptr)
{
	struct gsb_registered r = {0};
	struct gsb_cu_ctx *ctx;
	CUresult result = ptr ? gsb_cu_ctx_current(&ctx) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = gsb_registered_at((uint64_t)ptr, &r);
	if (!result)
		result = gsb_capture_unsafe();
	if (!result)
		result = gsb_cu_streams_wait_all(r.wire);
	return result ? result : unregister(r.addr);
}
