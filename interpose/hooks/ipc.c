/*
 * hooks/ipc.c - memory and events of one process in another one: handles of allocations and of events, and descriptors of memory without an
 * address and of pools.
 *
 * What was opened lies in this process's own window, as an allocation that another process pays for.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "interpose/core/post.h"
#include "interpose/cu/alloc.h"
#include "interpose/cu/ctx.h"
#include "interpose/cu/ctx_life.h"
#include "interpose/cu/descriptor.h"
#include "interpose/cu/event.h"
#include "interpose/cu/pool.h"
#include "interpose/cu/virtual.h"
#include "interpose/hooks/hooks.h"

static_assert(sizeof(CUipcMemHandle) == sizeof(struct gsb_ipc_handle), "one is the other");
static_assert(sizeof(CUmemPoolPtrExportData) == sizeof(struct gsb_ipc_handle), "likewise");

/* The result; whose cause only the engine's log has is said to the program's user as well, once. */
static CUresult tell_opened(CUresult result, const char *what)
{
	static _Atomic bool said;

	if (result == CUDA_ERROR_MAP_FAILED && !atomic_exchange(&said, true))
		gsb_log_say("%s of a process that another engine serves is not opened "
			    "(CUDA_ERROR_MAP_FAILED): processes that share are of one user, with "
			    "isolation = shared or lanes, 64 of them at most",
			    what);
	return result;
}

/* ---- allocations ---- */

static CUresult export_memory(const struct gsb_alloc *a, void *out)
{
	const struct gsb_rec_mem_free body = {.ctx = a->wire, .addr = a->addr};
	struct gsb_reply_ipc answer;
	CUresult result = gsb_call_into(&(struct gsb_call){.type = GSB_REC_MEM_EXPORT,
							   .guard = gsb_cu_wire_guard(a->wire),
							   .body = &body,
							   .body_bytes = sizeof(body)},
					&answer, sizeof(answer));

	if (!result)
		memcpy(out, &answer.handle, sizeof(answer.handle));
	return result;
}

/* Any address in an allocation is good for all of it. */
CUresult hook_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
	struct gsb_cu_ctx_life life;
	struct gsb_alloc a;
	CUresult result = gsb_cu_ctx_live(&life);

	if (result)
		return result;
	if (!handle || !gsb_alloc_export(ptr, 0, &a))
		return CUDA_ERROR_INVALID_VALUE;
	return export_memory(&a, handle);
}

/* It is one allocation of the context, however often it is opened there. */
static CUresult open_memory(const void *from, uint64_t wire, struct gsb_alloc *a, CUdeviceptr *ptr)
{
	struct gsb_rec_mem_open body;
	CUresult result;

	memcpy(&body.handle, from, sizeof(body.handle));
	if (body.handle.magic != GSB_IPC_MAGIC || body.handle.kind != GSB_IPC_MEMORY)
		return CUDA_ERROR_INVALID_VALUE;
	body.ctx = wire;
	a->export_id = body.handle.id;
	if (gsb_alloc_reopen(a, wire, ptr))
		return CUDA_SUCCESS;
	result = gsb_mem_take_range(&(struct gsb_call){.type = GSB_REC_MEM_OPEN,
						       .body = &body,
						       .body_bytes = sizeof(body)},
				    0, wire, a);
	if (!result)
		*ptr = a->addr;
	return tell_opened(result, "memory");
}

CUresult hook_cuIpcOpenMemHandle(CUdeviceptr *ptr, const CUipcMemHandle *handle, unsigned flags)
{
	struct gsb_alloc a = {.kind = GSB_ALLOC_OPENED, .is_shared = true};
	struct gsb_cu_ctx_life life;
	CUresult result = gsb_cu_ctx_live(&life);

	if (result)
		return result;
	return ptr && flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
		       ? open_memory(handle, life.wire, &a, ptr)
		       : CUDA_ERROR_INVALID_VALUE;
}

CUresult hook_cuIpcCloseMemHandle(CUdeviceptr ptr)
{
	struct gsb_alloc a;
	struct gsb_cu_ctx *ctx;
	bool last = false;
	CUresult result = gsb_cu_ctx_current(&ctx);

	if (!result)
		result = gsb_alloc_close(ptr, &a, &last);
	return last ? gsb_mem_free_device(&a) : result;
}

/* ---- events ---- */

CUresult hook_cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
	const struct gsb_cu_event *e = gsb_object_get(&gsb_cu_events, (uint64_t)event);
	const struct gsb_rec_object body = {.handle = (uint64_t)event};
	const struct gsb_call call = {
		.type = GSB_REC_EVENT_EXPORT,
		.guard = gsb_object_guard(&gsb_cu_events, (uint64_t)event,
					  CUDA_ERROR_INVALID_HANDLE),
		.body = &body,
		.body_bytes = sizeof(body),
	};
	struct gsb_reply_ipc reply;
	CUresult result;

	if (!handle || !event)
		return CUDA_ERROR_INVALID_VALUE;
	if (!e || !gsb_cu_event_is_shared(e))
		return CUDA_ERROR_INVALID_HANDLE;
	result = gsb_cu_error_of(e);
	if (!result)
		result = gsb_call_into(&call, &reply, sizeof(reply));
	if (!result)
		memcpy(handle, &reply.handle, sizeof(*handle));
	return result;
}

CUresult hook_cuIpcOpenEventHandle(CUevent *event, const CUipcEventHandle *handle)
{
	struct gsb_cu_ctx_life life;
	struct gsb_ipc_handle from;
	uint64_t opened;
	CUresult result;

	static_assert(sizeof(from) == sizeof(*handle), "a handle is one of CUDA's");
	if (!event)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&from, handle, sizeof(from));
	result = gsb_cu_ctx_live(&life);
	if (!result)
		result = gsb_cu_event_open(life.wire, &from, &opened);
	if (from.magic == GSB_IPC_MAGIC && from.kind == GSB_IPC_EVENT)
		tell_opened(result, "an event");
	if (!result)
		*event = (CUevent)opened;
	return result;
}

/* ---- memory without an address ---- */

CUresult hook_cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
					   CUmemAllocationHandleType type, unsigned long long flags)
{
	if (!out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	return gsb_cu_virtual_export(handle, type, out);
}

CUresult hook_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *from,
					     CUmemAllocationHandleType type)
{
	struct gsb_ipc_handle brought;
	uint64_t made;
	CUresult result;

	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!gsb_descriptor_read((int)(intptr_t)from, GSB_IPC_BACKING, &brought))
		return CUDA_ERROR_UNKNOWN;
	result = tell_opened(gsb_cu_virtual_import(&brought, &made), "memory");
	if (!result)
		*handle = made;
	return result;
}

/* ---- pools ---- */

static struct gsb_cu_pool *find_pool(CUmemoryPool pool)
{
	return gsb_cu_pool_get((uint64_t)(uintptr_t)pool);
}

/* Of the pool itself another process needs nothing but that there is one: its allocations are handed over one by one. */
CUresult hook_cuMemPoolExportToShareableHandle(void *out, CUmemoryPool pool,
					       CUmemAllocationHandleType type,
					       unsigned long long flags)
{
	const struct gsb_cu_pool *p = find_pool(pool);
	const struct gsb_ipc_handle handle = {
		.magic = GSB_IPC_MAGIC, .kind = GSB_IPC_POOL, .id = (uint64_t)(uintptr_t)pool};
	struct gsb_descriptor kept;
	CUresult result;

	if (!out || !p || flags || !type || (p->handle_types & type) != type)
		return CUDA_ERROR_INVALID_VALUE;
	result = gsb_descriptor_make(&handle, &kept, out);
	if (!result)
		gsb_descriptor_close(&kept);
	return result;
}

CUresult hook_cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *from,
						 CUmemAllocationHandleType type,
						 unsigned long long flags)
{
	struct gsb_ipc_handle brought;
	uint64_t made;
	CUresult result;

	if (!pool || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!gsb_descriptor_read((int)(intptr_t)from, GSB_IPC_POOL, &brought))
		return CUDA_ERROR_UNKNOWN;
	result = gsb_cu_pool_create(0, &made);
	if (result)
		return result;
	gsb_cu_pool_get(made)->is_imported = true;
	*pool = (CUmemoryPool)made;
	return CUDA_SUCCESS;
}

CUresult hook_cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr ptr)
{
	struct gsb_alloc a;
	const struct gsb_cu_pool *p;

	if (!data || !gsb_alloc_find(ptr, &a) || a.addr != ptr || !a.pool)
		return CUDA_ERROR_INVALID_VALUE;
	p = gsb_cu_pool_get(a.pool);
	if (!p || !p->handle_types || !gsb_alloc_export(ptr, a.pool, &a))
		return CUDA_ERROR_INVALID_VALUE;
	return export_memory(&a, data);
}

/* A pool's memory is of no context, natively: where there is none yet, it comes into the primary one, which then stays. */
static CUresult find_home(uint64_t *wire)
{
	struct gsb_cu_ctx_life life;
	CUresult result = gsb_cu_ctx_live(&life);

	if (result == CUDA_ERROR_INVALID_CONTEXT)
		return gsb_cu_ctx_primary_retain(wire);
	*wire = life.wire;
	return result;
}

CUresult hook_cuMemPoolImportPointer(CUdeviceptr *ptr, CUmemoryPool pool,
				     const CUmemPoolPtrExportData *data)
{
	const struct gsb_cu_pool *p = find_pool(pool);
	struct gsb_alloc a = {
		.kind = GSB_ALLOC_DEVICE, .is_shared = true, .pool = (uint64_t)(uintptr_t)pool};
	uint64_t wire;
	CUresult result;

	if (!ptr || !p || !p->is_imported || !data)
		return CUDA_ERROR_INVALID_VALUE;
	result = find_home(&wire);
	if (!result)
		result = open_memory(data, wire, &a, ptr);
	if (!result && a.addr)
		gsb_cu_pool_take(a.pool, a.size);
	return result;
}
