/*
 * hooks/mem.c - device memory, pinned and managed host memory, and questions about pointers.
 */
#include <string.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/log.h"
#include "interpose/cu/alloc.h"
#include "interpose/cu/capture.h"
#include "interpose/cu/ctx.h"
#include "interpose/cu/kept.h"
#include "interpose/hooks/graph.h"
#include "interpose/hooks/hooks.h"
#include "interpose/core/post.h"
#include "interpose/cu/pool.h"
#include "interpose/cu/registered.h"
#include "interpose/cu/stream.h"
#include "interpose/cu/virtual.h"

#define VIRTUAL_ID  (1ull << 62) /* that of an allocation never comes so far */
#define PITCH_ALIGN 512u	 /* bytes; what devices of this decade give */

/* Its context may end before the map knows of it: what was dropped by then is dropped again. */
static CUresult add(struct gsb_alloc *a, const struct gsb_guard *guard)
{
	CUresult result = gsb_alloc_add(a);

	if (!gsb_guard_holds(guard)) {
		gsb_allocs_drop(a->wire);
		return guard->gone;
	}
	return result;
}

static CUresult may_allocate(const struct gsb_alloc *a)
{
	return a->kind == GSB_ALLOC_GRAPH || a->kind == GSB_ALLOC_WORDS ? CUDA_SUCCESS
									: gsb_capture_unsafe();
}

CUresult gsb_mem_take_range(const struct gsb_call *call, uint64_t size, uint64_t wire,
			    struct gsb_alloc *a)
{
	const struct gsb_guard guard = gsb_cu_wire_guard(wire);
	struct gsb_reply_range range;
	struct gsb_call c = *call;
	CUresult result = may_allocate(a);

	c.guard = guard;
	if (!result)
		result = gsb_call_into(&c, &range, sizeof(range));
	if (result)
		return result;
	if (range.size < size)
		return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
	a->addr = range.addr;
	/* What was asked for is what may be used, whatever the engine rounds up to. */
	a->size = size ? size : range.size;
	a->wire = wire;
	return add(a, &guard);
}

static CUresult allocate(enum gsb_rec_type type, uint64_t size, uint64_t wire, struct gsb_alloc *a)
{
	const struct gsb_rec_mem_alloc body = {.ctx = wire, .size = size, .flags = a->flags};

	return gsb_mem_take_range(
		&(struct gsb_call){.type = type, .body = &body, .body_bytes = sizeof(body)}, size,
		wire, a);
}

/* Memory of the device: what was freed before, or else as the engine answers. */
static CUresult allocate_device(uint64_t size, uint64_t wire, struct gsb_alloc *a)
{
	const struct gsb_guard guard = gsb_cu_wire_guard(wire);
	CUresult result = may_allocate(a);

	if (result)
		return result;
	a->may_keep = true;
	a->size = size;
	a->wire = wire;
	return gsb_cu_kept_take(a) ? add(a, &guard) : allocate(GSB_REC_MEM_ALLOC, size, wire, a);
}

CUresult gsb_mem_alloc_array(const struct gsb_array *array, uint64_t wire, CUdeviceptr *addr)
{
	const struct gsb_rec_array_alloc body = {.ctx = wire, .array = *array};
	struct gsb_alloc a = {.kind = GSB_ALLOC_DEVICE};
	CUresult result = gsb_mem_take_range(&(struct gsb_call){.type = GSB_REC_ARRAY_ALLOC,
								.body = &body,
								.body_bytes = sizeof(body)},
					     gsb_array_bytes(array), wire, &a);

	if (!result)
		*addr = a.addr;
	return result;
}

CUresult gsb_mem_free_host(const struct gsb_alloc *a)
{
	const struct gsb_rec_mem_free body = {.ctx = a->wire, .addr = a->addr};

	return gsb_call(&(struct gsb_call){.type = GSB_REC_HOST_FREE,
					   .guard = gsb_cu_wire_guard(a->wire),
					   .body = &body,
					   .body_bytes = sizeof(body)},
			NULL);
}

/* ---- device memory ---- */

/*
 * As the driver's it returns when the work of the context is done, and says what has become of that. The words of the streams tell; to wait for the
 * engine as well, which only takes a note of it then, would be two wake-ups for nothing. But other processes, which are told of it by other
 * ways, must not be before it there.
 */
CUresult gsb_mem_free_device(const struct gsb_alloc *a)
{
	const struct gsb_rec_mem_free body = {.ctx = a->wire, .addr = a->addr};
	const struct gsb_guard guard = gsb_cu_wire_guard(a->wire);
	CUresult result = gsb_cu_streams_wait_all(a->wire), posted;

	if (!result && gsb_cu_kept_keep(a))
		return CUDA_SUCCESS;
	posted = a->is_shared ? gsb_call(&(struct gsb_call){.type = GSB_REC_MEM_FREE,
							    .guard = guard,
							    .body = &body,
							    .body_bytes = sizeof(body)},
					 NULL)
			      : gsb_post_if(GSB_REC_MEM_FREE, &guard, &body, sizeof(body));
	return result ? result : posted;
}

CUresult hook_cuMemAlloc(CUdeviceptr *ptr, size_t n)
{
	struct gsb_alloc a = {.kind = GSB_ALLOC_DEVICE};
	struct gsb_cu_ctx_life life;
	CUresult result = ptr && n ? gsb_cu_ctx_live(&life) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = allocate_device(n, life.wire, &a);
	if (!result)
		*ptr = a.addr;
	return result;
}

CUresult hook_cuMemAllocPitch(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
			      unsigned element)
{
	size_t row, bytes;
	CUresult result;

	if (!ptr || !pitch || !width || !height ||
	    (element != 4 && element != 8 && element != 16) ||
	    gsb_add_overflows(width, PITCH_ALIGN - 1, &row))
		return CUDA_ERROR_INVALID_VALUE;
	row -= row % PITCH_ALIGN;
	if (gsb_mul_overflows(row, height, &bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = hook_cuMemAlloc(ptr, bytes);
	if (!result)
		*pitch = row;
	return result;
}

/*
 * What streams have yet to free is memory for who allocates in their order: a driver makes the allocation wait for it, in the
 * stream. Here its thread waits, and only if there is nothing else.
 */
static CUresult allocate_behind_frees(size_t n, uint64_t wire, struct gsb_alloc *a)
{
	CUresult result = allocate_device(n, wire, a);
	uint32_t from = 0;

	while (result == CUDA_ERROR_OUT_OF_MEMORY && gsb_cu_streams_await_free(&from)) {
		result = gsb_cu_wire_error(wire); /* what has failed frees nothing more */
		if (!result)
			result = allocate_device(n, wire, a);
	}
	/* It has failed meanwhile, and its engine may be gone: that is what the program is told. */
	return result == CUDA_ERROR_OUT_OF_MEMORY && (gsb_cu_wire_error(wire) || !gsb_is_alive())
		       ? allocate_device(n, wire, a)
		       : result;
}

/* The memory is there when this returns, which is earlier than the stream's order asks for. */
CUresult gsb_mem_alloc_in_pool(size_t n, uint64_t wire, struct gsb_alloc *a)
{
	CUresult result = gsb_cu_pool_take(a->pool, n);

	if (result)
		return result;
	result = allocate_behind_frees(n, wire, a);
	if (result && !a->id) /* else the map had it, and has given it back */
		gsb_cu_pool_give(a->pool, n);
	return result;
}

/* Under the ring's lock: nobody may see it in the map once its end is in the ring, nor miss it when it is not. */
CUresult gsb_mem_post_free(const struct gsb_cu_stream_ref *s, enum gsb_alloc_kind kind,
			   CUdeviceptr ptr)
{
	const struct gsb_rec_mem_free body = {.ctx = s->wire, .addr = ptr};
	struct gsb_alloc ignored;
	struct gsb_post p;
	CUresult result = gsb_cu_stream_begin(s, &p, GSB_REC_MEM_FREE_ASYNC, sizeof(body));

	if (result)
		return result;
	result = gsb_alloc_remove(ptr, kind, s->wire, &ignored);
	if (result) {
		gsb_post_cancel();
		return result;
	}
	memcpy(p.body, &body, sizeof(body));
	atomic_store_explicit(&s->s->freed,
			      atomic_load_explicit(&s->s->post.posted, memory_order_relaxed) + 1,
			      memory_order_release);
	gsb_post_end(&p);
	return CUDA_SUCCESS;
}

CUresult hook_cuMemGetInfo(size_t *free_bytes, size_t *total)
{
	struct gsb_reply_mem_info info;
	struct gsb_cu_ctx_life life;
	struct gsb_rec_ctx body;
	CUresult result = gsb_cu_ctx_live(&life);

	if (result)
		return result;
	body.ctx = life.wire;
	result = gsb_call_into(&(struct gsb_call){.type = GSB_REC_MEM_INFO,
						  .guard = gsb_cu_wire_guard(body.ctx),
						  .body = &body,
						  .body_bytes = sizeof(body)},
			       &info, sizeof(info));
	if (result)
		return result;
	if (free_bytes)
		*free_bytes = info.free_bytes;
	if (total)
		*total = info.total_bytes;
	return CUDA_SUCCESS;
}

/* ---- pinned host memory: at the same address in the engine, so its device pointer is itself ---- */

/* A limit of ours: natively the whole machine's memory can be had, and the code alone does not say what to change. */
void gsb_mem_say_no_host_room(size_t n)
{
	static _Atomic bool said;

	if (!atomic_exchange(&said, true))
		gsb_log_say(
			"there is no room for %zu bytes of pinned, managed or registered memory: "
			"CUDA_ERROR_OUT_OF_MEMORY; this program may have %llu in all, and host_memory in gsbroker.conf "
			"(gsbrun --config) gives more; if it has less than that, the machine or its driver has no more",
			n, (unsigned long long)gsb_proc.host_bytes);
}

CUresult gsb_mem_alloc_host(size_t n, struct gsb_alloc *a)
{
	struct gsb_cu_ctx_life life;
	CUresult result = gsb_cu_ctx_live(&life);

	if (result)
		return result;
	result = gsb_proc.host_bytes ? allocate(GSB_REC_HOST_ALLOC, n, life.wire, a)
				     : CUDA_ERROR_OUT_OF_MEMORY;
	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		gsb_mem_say_no_host_room(n);
	return result;
}

/* What was freed before, with zeros in it as new pages have them; or else as the engine answers. */
static CUresult take_or_alloc_host(size_t n, struct gsb_alloc *a)
{
	struct gsb_cu_ctx_life life;
	struct gsb_guard guard;
	CUresult result = gsb_cu_ctx_live(&life);

	if (!result)
		result = may_allocate(a);
	if (result)
		return result;
	guard = gsb_cu_wire_guard(life.wire);
	a->may_keep = true;
	a->size = n;
	a->wire = life.wire;
	if (!gsb_cu_kept_take(a))
		return gsb_mem_alloc_host(n, a);
	memset((void *)a->addr, 0, n);
	return add(a, &guard);
}

/* Nothing is had of it for the asking. */
CUresult hook_cuMemHostAlloc(void **ptr, size_t n, unsigned flags)
{
	struct gsb_alloc a = {.kind = GSB_ALLOC_HOST, .flags = flags};
	struct gsb_cu_ctx *ctx;
	CUresult result;

	if (!ptr || flags & ~(unsigned)(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
					CU_MEMHOSTALLOC_WRITECOMBINED))
		return CUDA_ERROR_INVALID_VALUE;
	result = n ? take_or_alloc_host(n, &a) : gsb_cu_ctx_current(&ctx);
	if (!result)
		*ptr = (void *)a.addr;
	return result;
}

CUresult gsb_mem_take_words(size_t n, void **ptr)
{
	struct gsb_alloc a = {.kind = GSB_ALLOC_WORDS, .flags = CU_MEMHOSTALLOC_PORTABLE};
	CUresult result = gsb_mem_alloc_host(n, &a);

	if (!result)
		*ptr = (void *)a.addr;
	return result;
}

/* Managed memory never leaves the host: what hooks/managed.c is told of where it should be changes nothing. */
CUresult hook_cuMemAllocManaged(CUdeviceptr *ptr, size_t n, unsigned flags)
{
	struct gsb_alloc a = {.kind = GSB_ALLOC_MANAGED, .flags = CU_MEMHOSTALLOC_PORTABLE};
	CUresult result;

	if (!ptr || !n || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	result = gsb_mem_alloc_host(n, &a);
	if (!result)
		*ptr = a.addr;
	return result;
}

CUresult hook_cuMemFreeHost(void *ptr)
{
	struct gsb_alloc a;
	struct gsb_cu_ctx *ctx;
	CUresult result = gsb_cu_ctx_current(&ctx);

	if (!result)
		result = gsb_capture_unsafe();
	if (result || !ptr)
		return result;
	result = gsb_alloc_remove((uint64_t)ptr, GSB_ALLOC_HOST, 0, &a);
	if (result)
		return result;
	return !gsb_cu_wire_error(a.wire) && gsb_cu_kept_keep(&a) ? CUDA_SUCCESS
								  : gsb_mem_free_host(&a);
}

/* Pinned memory, or registered: where the device sees it, and with which flags. */
static CUresult find_host(const void *ptr, uint64_t *device, uint32_t *flags)
{
	struct gsb_registered r;
	struct gsb_alloc a;

	if (gsb_alloc_find((uint64_t)ptr, &a) && a.kind == GSB_ALLOC_HOST) {
		*device = (uint64_t)ptr;
		*flags = a.flags;
		return CUDA_SUCCESS;
	}
	if (!gsb_registered_find((uint64_t)ptr, 1, &r))
		return CUDA_ERROR_INVALID_VALUE;
	*device = r.device + ((uint64_t)ptr - r.addr);
	*flags = r.flags;
	return CUDA_SUCCESS;
}

CUresult hook_cuMemHostGetDevicePointer(CUdeviceptr *dev, void *ptr, unsigned flags)
{
	uint64_t device;
	uint32_t ignored;
	CUresult result =
		dev && !flags ? find_host(ptr, &device, &ignored) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*dev = device;
	return result;
}

/* Pinned memory is always mapped for the device, as with unified addressing, and the driver says so. */
CUresult hook_cuMemHostGetFlags(unsigned *flags, void *ptr)
{
	uint64_t ignored;
	uint32_t found;
	CUresult result = flags ? find_host(ptr, &ignored, &found) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*flags = found | CU_MEMHOSTALLOC_DEVICEMAP;
	return result;
}

/* ---- questions about pointers ---- */

CUresult hook_cuMemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr ptr)
{
	struct gsb_cu_virtual_place place;
	struct gsb_alloc a;

	if (gsb_cu_virtual_find(ptr, &place) && place.size) {
		a.addr = place.addr;
		a.size = place.size;
	} else if (!gsb_alloc_find(ptr, &a)) {
		return CUDA_ERROR_NOT_FOUND;
	} else if (a.wire && gsb_cu_wire_error(a.wire)) {
		return gsb_cu_wire_error(a.wire);
	}
	if (base)
		*base = a.addr;
	if (size)
		*size = a.size;
	return CUDA_SUCCESS;
}

static bool is_host_memory(const struct gsb_alloc *a)
{
	return a->kind == GSB_ALLOC_HOST || a->kind == GSB_ALLOC_MIRROR ||
	       a->kind == GSB_ALLOC_WORDS;
}

/* What is known of an address. Registered memory is that of its mirror, but for where the program sees it. */
static bool find_pointer(CUdeviceptr *ptr, struct gsb_alloc *a, uint64_t *host)
{
	struct gsb_registered r;

	*host = *ptr;
	if (gsb_registered_find(*ptr, 1, &r))
		*ptr = r.device + (*ptr - r.addr);
	else if (gsb_registered_find_device(*ptr, &r))
		*host = r.addr + (*ptr - r.device);
	return gsb_alloc_find(*ptr, a);
}

/* What is true or false is written as four bytes: NVIDIA's runtime reads as many. */
static CUresult pointer_attribute(void *data, CUpointer_attribute attr, CUdeviceptr ptr,
				  const struct gsb_alloc *a, uint64_t host)
{
	switch (attr) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data =
			a->pool || !a->wire ? NULL : gsb_cu_ctx_public(gsb_cu_wire_ctx(a->wire));
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)data = is_host_memory(a) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)data = ptr; break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!is_host_memory(a) && a->kind != GSB_ALLOC_MANAGED)
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)data = (void *)host;
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: *(unsigned *)data = 0; break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)data = a->id; break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned *)data = a->kind == GSB_ALLOC_MANAGED;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)data = 0; break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(unsigned *)data = a->kind == GSB_ALLOC_DEVICE && a->wire && !a->pool;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)data = a->addr; break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)data = a->size; break;
	case CU_POINTER_ATTRIBUTE_MAPPED: *(unsigned *)data = 1; break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(uint64_t *)data = gsb_cu_pool_handle_types(a->pool);
		break;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: *(unsigned *)data = 0; break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: *(int *)data = 3; break; /* read and write */
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data = a->kind != GSB_ALLOC_GRAPH && gsb_cu_pool_get(a->pool)
						? (CUmemoryPool)a->pool
						: NULL;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: /* of what is mapped at reserved addresses */
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: *(uint64_t *)data = 0; break;
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: *(uint64_t *)data = a->id; break;
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: /* the memory, not the GPU */
		*(unsigned *)data = a->kind == GSB_ALLOC_DEVICE && !a->pool;
		break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

/* Of addresses that the program has reserved: whose range is the reservation, whether anything is mapped there or not. */
static CUresult virtual_attribute(void *data, CUpointer_attribute attr, CUdeviceptr ptr,
				  const struct gsb_cu_virtual_place *place)
{
	const struct gsb_alloc a = {.kind = place->is_of_host ? GSB_ALLOC_HOST : GSB_ALLOC_DEVICE,
				    .addr = place->reserved_addr,
				    .size = place->reserved_size,
				    .id = place->id | VIRTUAL_ID};

	switch (attr) {
	case CU_POINTER_ATTRIBUTE_MAPPED:
		if (!place->size)
			return CUDA_ERROR_INVALID_VALUE;
		*(unsigned *)data = 1;
		break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: *(int *)data = (int)place->access; break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: *(uint64_t *)data = place->types; break;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return CUDA_ERROR_INVALID_VALUE;
	default: return pointer_attribute(data, attr, ptr, &a, ptr);
	}
	return CUDA_SUCCESS;
}

CUresult hook_cuPointerGetAttribute(void *data, CUpointer_attribute attr, CUdeviceptr ptr)
{
	struct gsb_cu_virtual_place place;
	struct gsb_alloc a;
	uint64_t host;

	if (data && gsb_cu_virtual_find(ptr, &place))
		return virtual_attribute(data, attr, ptr, &place);
	if (!data || !find_pointer(&ptr, &a, &host))
		return CUDA_ERROR_INVALID_VALUE;
	return pointer_attribute(data, attr, ptr, &a, host);
}

/* What the driver writes for a pointer that it does not know, which may be the host's; 0: for what does not apply. */
static CUresult unknown_attribute(void *data, CUpointer_attribute attr, CUdeviceptr ptr)
{
	switch (attr) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *(unsigned *)data = 0; break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER: *(CUdeviceptr *)data = ptr; break;
	case CU_POINTER_ATTRIBUTE_CONTEXT:
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *(uint64_t *)data = 0; break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)data = -2; break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: *(int *)data = 0; break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: *(unsigned *)data = 0; break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

/* Unlike the single question this one succeeds for any pointer; what does not apply reads as nothing. */
CUresult hook_cuPointerGetAttributes(unsigned n, CUpointer_attribute *attrs, void **data,
				     CUdeviceptr ptr)
{
	struct gsb_cu_virtual_place place;
	struct gsb_alloc a;
	uint64_t host;
	bool is_virtual = gsb_cu_virtual_find(ptr, &place);
	bool known = is_virtual || find_pointer(&ptr, &a, &host);

	if (!n || !attrs || !data)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++)
		if ((!known ||
		     (is_virtual ? virtual_attribute(data[i], attrs[i], ptr, &place)
				 : pointer_attribute(data[i], attrs[i], ptr, &a, host))) &&
		    unknown_attribute(data[i], attrs[i], known ? 0 : ptr))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}
