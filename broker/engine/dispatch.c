/*
 * dispatch.c - see dispatch.h. One handler a record type, in the order of wire_records.def.
 */
#include "broker/engine/dispatch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "broker/engine/dismissal.h"
#include "broker/engine/code/code.h"
#include "broker/engine/context.h"
#include "broker/engine/engine.h"
#include "broker/engine/event_ipc.h"
#include "broker/engine/memory/kept.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/memory/share.h"
#include "broker/engine/memory/virtual.h"
#include "broker/engine/order/shared.h"
#include "broker/engine/order/stream.h"
#include "broker/engine/precede.h"
#include "broker/engine/tell.h"

#define GSB_REC(NAME, Name, class, body)                                      \
	static int on_##Name(struct gsb_tenant *t, const struct gsb_rec *rec, \
			     const struct gsb_rec_##body *b);
#include "gsb/wire_records.def"

static int no_memory(struct gsb_tenant *t)
{
	gsb_violation(t, "the engine is out of memory");
	return -ENOMEM;
}

static int bad_handle(struct gsb_tenant *t, const struct gsb_rec *rec, int err, uint64_t h)
{
	if (err == -ENOMEM)
		return no_memory(t);
	return gsb_violation(t, "%s with new handle %#" PRIx64 ", which is %s",
			     gsb_rec_name(rec->type), h,
			     err == -EEXIST ? "in use" : "no such handle");
}

/* ---- contexts, streams, events ---- */

static int on_Pad(struct gsb_tenant *t, const struct gsb_rec *rec, const struct gsb_rec_none *b)
{
	return 0; /* the ring skips these */
}

static int on_CtxCreate(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_ctx_create *b)
{
	uint32_t index = gsb_handle_index(b->ctx);

	if (gsb_handle_kind(b->ctx) != GSB_HANDLE_CTX || index >= GSB_N_CTXS || t->ctxs[index])
		return bad_handle(t, rec, index < GSB_N_CTXS ? -EEXIST : -ERANGE, b->ctx);
	return gsb_ctx_create(t, rec, b);
}

static int on_CtxDestroy(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_object *b)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, b->handle);

	return ctx ? gsb_ctx_end(ctx, rec) : gsb_no_such(t, rec, "context", b->handle);
}

/* Of those that the device has: each costs it queues. */
static int32_t priority_of(struct gsb_tenant *t, int32_t asked)
{
	return gsb_clamp_priority(t->dev->ops->info(t->dev), asked);
}

static int on_StreamCreate(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_stream_create *b)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, b->ctx);
	struct gsb_stream *s;
	int err;

	if (!ctx)
		return gsb_no_such(t, rec, "context", b->ctx);
	err = gsb_stream_create(&ctx->order, b->stream, b->flags, priority_of(t, b->priority), &s);
	if (err)
		return bad_handle(t, rec, err, b->stream);
	gsb_tell_stream(s, false);
	return 0;
}

static int on_StreamDestroy(struct gsb_tenant *t, const struct gsb_rec *rec,
			    const struct gsb_rec_object *b)
{
	struct gsb_stream *s = gsb_stream_find(&t->queues, b->handle);

	if (!s || s->legacy)
		return gsb_no_such(t, rec, "stream", b->handle);
	gsb_stream_destroy(s);
	return 0;
}

static int on_EventCreate(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_event_create *b)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, b->ctx);
	int err;

	if (!ctx)
		return gsb_no_such(t, rec, "context", b->ctx);
	err = gsb_event_create(&ctx->order, b->event);
	if (!err && b->flags & CU_EVENT_INTERPROCESS)
		err = gsb_ipc_event_make(t, gsb_event_find(&t->queues, b->event));
	return err ? bad_handle(t, rec, err, b->event) : 0;
}

static int on_EventDestroy(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_object *b)
{
	struct gsb_event *e = gsb_event_find(&t->queues, b->handle);

	if (!e)
		return gsb_no_such(t, rec, "event", b->handle);
	gsb_event_destroy(e);
	return 0;
}

static int on_EventExport(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_object *b)
{
	struct gsb_event *e = gsb_event_find(&t->queues, b->handle);

	return e ? gsb_ipc_event_export(t, rec, e) : gsb_no_such(t, rec, "event", b->handle);
}

static int on_EventOpen(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_event_open *b)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, b->ctx);
	struct gsb_shared *shared;
	int err;

	if (!ctx)
		return gsb_no_such(t, rec, "context", b->ctx);
	err = gsb_ipc_event_find(t, &b->handle, &shared);
	if (err)
		return gsb_tenant_fail_call(t, rec, err);
	err = gsb_event_create(&ctx->order, b->event);
	if (!err)
		err = gsb_event_share(gsb_event_find(&t->queues, b->event), shared);
	if (err)
		return bad_handle(t, rec, err, b->event);
	gsb_tenant_reply(t, rec, CUDA_SUCCESS, 0);
	return 0;
}

static int on_EventAwait(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_event_await *b)
{
	const struct gsb_event *e = gsb_event_find(&t->queues, b->event);

	if (!e || !e->sharer)
		return gsb_no_such(t, rec, "shared event", b->event);
	if (gsb_precede(t, e, rec))
		return -EAGAIN;
	if (!gsb_shared_is_done(e->sharer->of))
		return b->only_ask ? gsb_tenant_fail_call(t, rec, -EAGAIN)
				   : gsb_ipc_event_await(t, rec, e->sharer->of);
	gsb_tenant_reply(t, rec, CUDA_SUCCESS, 0);
	return 0;
}

/* ---- code ---- */

static int on_ImagePart(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_image_part *b)
{
	return gsb_code_image_part(t, rec, b);
}

static int on_ImageDrop(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_image_drop *b)
{
	return gsb_code_image_drop(t, b->image);
}

static int on_ModuleLoad(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_module_load *b)
{
	return gsb_code_module_load(t, rec, b);
}

static int on_ModulePlace(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_module_place *b)
{
	return gsb_code_module_place(t, rec, b);
}

static int on_ModuleUnload(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_object *b)
{
	return gsb_code_module_unload(t, rec, b->handle);
}

/* The name behind the body, NUL-terminated in out (GSB_NAME_MAX + 1 bytes). */
static int take_name(struct gsb_tenant *t, const struct gsb_rec *rec, uint32_t bytes, char *out)
{
	const char *name = (const char *)rec + gsb_rec_min_size(rec->type);

	if (!bytes || bytes > GSB_NAME_MAX || bytes > gsb_rec_tail_bytes(rec) ||
	    memchr(name, 0, bytes))
		return gsb_violation(t, "%s with a name of %u bytes in a record of %u",
				     gsb_rec_name(rec->type), bytes, rec->size);
	memcpy(out, name, bytes);
	out[bytes] = 0;
	return 0;
}

static int on_FunctionGet(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_function_get *b)
{
	char name[GSB_NAME_MAX + 1];

	return take_name(t, rec, b->name_bytes, name) ? -EPROTO
						      : gsb_code_function_get(t, rec, b, name);
}

static int on_FunctionPrepare(struct gsb_tenant *t, const struct gsb_rec *rec,
			      const struct gsb_rec_object *b)
{
	return gsb_code_function_prepare(t, rec, b->handle);
}

static int on_FunctionName(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_function_name *b)
{
	return gsb_code_function_name(t, rec, b);
}

static int on_FunctionSet(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_function_set *b)
{
	return gsb_code_function_set(t, rec, b);
}

static int on_GlobalGet(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_global_get *b)
{
	char name[GSB_NAME_MAX + 1];

	return take_name(t, rec, b->name_bytes, name) ? -EPROTO
						      : gsb_code_global_get(t, rec, b, name);
}

static int on_Occupancy(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_occupancy *b)
{
	return gsb_code_occupancy(t, rec, b);
}

static int on_TensorMap(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_tensor_map *b)
{
	return gsb_code_tensor_map(t, rec, b);
}

/* ---- memory ---- */

static int on_MemAlloc(struct gsb_tenant *t, const struct gsb_rec *rec,
		       const struct gsb_rec_mem_alloc *b)
{
	return gsb_memory_alloc(t, rec, b);
}

static int on_ArrayAlloc(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_array_alloc *b)
{
	return gsb_memory_alloc_array(t, rec, b);
}

static int on_TextureCreate(struct gsb_tenant *t, const struct gsb_rec *rec,
			    const struct gsb_rec_texture_create *b)
{
	return gsb_memory_create_texture(t, rec, b);
}

static int on_TextureDestroy(struct gsb_tenant *t, const struct gsb_rec *rec,
			     const struct gsb_rec_texture_destroy *b)
{
	return gsb_memory_destroy_texture(t, rec, b);
}

static int on_MemFree(struct gsb_tenant *t, const struct gsb_rec *rec,
		      const struct gsb_rec_mem_free *b)
{
	return gsb_memory_free(t, rec, b);
}

static int on_MemInfo(struct gsb_tenant *t, const struct gsb_rec *rec, const struct gsb_rec_ctx *b)
{
	return gsb_memory_info(t, rec, b->ctx);
}

static int on_HostAlloc(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_mem_alloc *b)
{
	return gsb_memory_host_alloc(t, rec, b);
}

static int on_HostMirror(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_host_mirror *b)
{
	return gsb_memory_host_mirror(t, rec, b);
}

static int on_HostFree(struct gsb_tenant *t, const struct gsb_rec *rec,
		       const struct gsb_rec_mem_free *b)
{
	return gsb_memory_host_free(t, rec, b);
}

static int on_MemFreeAsync(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_mem_free *b)
{
	return gsb_memory_free_async(t, rec, b);
}

static int on_MemKeep(struct gsb_tenant *t, const struct gsb_rec *rec,
		      const struct gsb_rec_mem_keep *b)
{
	return gsb_kept_keep(t, rec, b);
}

static int on_MemTake(struct gsb_tenant *t, const struct gsb_rec *rec,
		      const struct gsb_rec_mem_keep *b)
{
	return gsb_kept_take(t, rec, b);
}

static int on_AddressReserve(struct gsb_tenant *t, const struct gsb_rec *rec,
			     const struct gsb_rec_address_reserve *b)
{
	return gsb_virtual_reserve(t, rec, b);
}

static int on_AddressFree(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_address *b)
{
	return gsb_virtual_free(t, rec, b->addr);
}

static int on_BackingCreate(struct gsb_tenant *t, const struct gsb_rec *rec,
			    const struct gsb_rec_backing_create *b)
{
	return gsb_virtual_create(t, rec, b->size);
}

static int on_BackingOfHost(struct gsb_tenant *t, const struct gsb_rec *rec,
			    const struct gsb_rec_backing_create *b)
{
	return gsb_virtual_create_of_host(t, rec, b->size);
}

static int on_BackingDestroy(struct gsb_tenant *t, const struct gsb_rec *rec,
			     const struct gsb_rec_object *b)
{
	return gsb_virtual_destroy(t, rec, b->handle);
}

static int on_BackingMap(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_backing_map *b)
{
	return gsb_virtual_map(t, rec, b);
}

static int on_BackingAccess(struct gsb_tenant *t, const struct gsb_rec *rec,
			    const struct gsb_rec_backing_range *b)
{
	return gsb_virtual_access(t, rec, b);
}

static int on_MemExport(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_mem_free *b)
{
	return gsb_share_export_memory(t, rec, b);
}

static int on_MemOpen(struct gsb_tenant *t, const struct gsb_rec *rec,
		      const struct gsb_rec_mem_open *b)
{
	return gsb_share_open_memory(t, rec, b);
}

static int on_BackingExport(struct gsb_tenant *t, const struct gsb_rec *rec,
			    const struct gsb_rec_object *b)
{
	return gsb_virtual_export(t, rec, b->handle);
}

static int on_BackingOpen(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_ipc *b)
{
	return gsb_virtual_open(t, rec, &b->handle);
}

static int on_BackingUnmap(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_backing_range *b)
{
	return gsb_virtual_unmap(t, rec, b);
}

/* ---- stream records ---- */

static int on_Launch(struct gsb_tenant *t, const struct gsb_rec *rec,
		     const struct gsb_rec_launch *b)
{
	return gsb_item_launch(t, rec, b);
}

static int on_Copy(struct gsb_tenant *t, const struct gsb_rec *rec, const struct gsb_rec_copy *b)
{
	return gsb_item_copy(t, rec, b);
}

static int on_Fill(struct gsb_tenant *t, const struct gsb_rec *rec, const struct gsb_rec_fill *b)
{
	return gsb_item_fill(t, rec, b);
}

static int on_EventRecord(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_event_record *b)
{
	struct gsb_event *e = gsb_event_find(&t->queues, b->event);
	struct gsb_stream *s = gsb_stream_find(&t->queues, rec->stream);
	int err;

	if (!e)
		return gsb_no_such(t, rec, "event", b->event);
	if (b->number != e->number + 1)
		return gsb_violation(t, "EventRecord number %" PRIu64 " after %" PRIu64, b->number,
				     e->number);
	if (!s)
		return gsb_no_such(t, rec, "stream", rec->stream);
	if (gsb_unlikely(e->sharer != NULL) && gsb_precede(t, e, rec))
		return -EAGAIN;
	err = gsb_event_record(e, s, gsb_tenant_now_ns(t));
	return err == -ENOMEM ? no_memory(t) : err;
}

static int on_StreamWaitEvent(struct gsb_tenant *t, const struct gsb_rec *rec,
			      const struct gsb_rec_object *b)
{
	struct gsb_event *e = gsb_event_find(&t->queues, b->handle);
	struct gsb_stream *s = gsb_stream_find(&t->queues, rec->stream);

	if (!e)
		return gsb_no_such(t, rec, "event", b->handle);
	if (!s)
		return gsb_no_such(t, rec, "stream", rec->stream);
	if (gsb_unlikely(e->sharer != NULL) && gsb_precede(t, e, rec))
		return -EAGAIN;
	return gsb_event_wait(e, s, gsb_tenant_post_ns(t));
}

static int on_HostFunc(struct gsb_tenant *t, const struct gsb_rec *rec,
		       const struct gsb_rec_host_func *b)
{
	struct gsb_stream *s = gsb_stream_find(&t->queues, rec->stream);

	return s ? gsb_host_func_push(s, b->cookie, gsb_tenant_post_ns(t))
		 : gsb_no_such(t, rec, "stream", rec->stream);
}

static int on_Nop(struct gsb_tenant *t, const struct gsb_rec *rec, const struct gsb_rec_none *b)
{
	struct gsb_stream *s = gsb_stream_find(&t->queues, rec->stream);

	return s ? gsb_stream_push_nop(s, gsb_tenant_post_ns(t))
		 : gsb_no_such(t, rec, "stream", rec->stream);
}

static int on_StreamPriority(struct gsb_tenant *t, const struct gsb_rec *rec,
			     const struct gsb_rec_stream_priority *b)
{
	struct gsb_stream *s = gsb_stream_find(&t->queues, rec->stream);

	return s ? gsb_stream_push_priority(s, priority_of(t, b->priority), gsb_tenant_post_ns(t))
		 : gsb_no_such(t, rec, "stream", rec->stream);
}

/* ---- what kernels say ---- */

static int on_PrintRead(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_none *b)
{
	return gsb_print_read(t, rec);
}

static int on_PrintLimit(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_print_limit *b)
{
	return gsb_print_limit(t, rec, b);
}

static int on_KernelMemory(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_kernel_memory *b)
{
	return gsb_memory_of_kernels(t, rec, b);
}

/* ---- what programs say of their work ---- */

static void tell_range(const struct gsb_tenant *t, const struct gsb_rec *rec,
		       const struct gsb_rec_range *b)
{
	struct gsb_trace_range *e = gsb_trace_begin();

	static_assert(sizeof(e->name) > GSB_RANGE_TEXT_MAX, "a name ends with a NUL");
	*e = (struct gsb_trace_range){
		.head = {GSB_TRACE_RANGE, sizeof(*e), t->id, gsb_clock_stamp()},
		.posted_ns = rec->stamp,
		.device_ns = gsb_tenant_now_ns(t),
		.id = b->id,
		.thread = rec->thread,
		.step = (uint8_t)b->step,
	};
	memcpy(e->name, b + 1, b->text_bytes);
	gsb_trace_end(&e->head, e + 1);
}

static int on_Range(struct gsb_tenant *t, const struct gsb_rec *rec, const struct gsb_rec_range *b)
{
	if (b->step >= GSB_N_RANGE_STEPS || b->text_bytes > GSB_RANGE_TEXT_MAX ||
	    b->text_bytes > gsb_rec_tail_bytes(rec))
		return gsb_violation(t, "Range with step %" PRIu32 " and %" PRIu32 " bytes of name",
				     b->step, b->text_bytes);
	gsb_tenant_refund_host(t);
	if (gsb_trace_is_on())
		tell_range(t, rec, b);
	return 0;
}

/* ---- the table ---- */

typedef int handler(struct gsb_tenant *t, const struct gsb_rec *rec);

#define GSB_REC(NAME, Name, class, body)                                            \
	static int call_##Name(struct gsb_tenant *t, const struct gsb_rec *rec)     \
	{                                                                           \
		return on_##Name(t, rec, (const struct gsb_rec_##body *)(rec + 1)); \
	}
#include "gsb/wire_records.def"

static handler *const handlers[GSB_N_RECS] = {
#define GSB_REC(NAME, Name, class, body) [GSB_REC_##NAME] = call_##Name,
#include "gsb/wire_records.def"
};

/* While somebody listens, instead of those: when a record was posted is a stamp, and what the tenant says. */
static int take_and_tell(struct gsb_tenant *t, const struct gsb_rec *rec)
{
	int err = handlers[rec->type](t, rec);

	if (!err)
		gsb_trace(TAKEN, taken, t->id, .posted_ns = rec->stamp, .thread = rec->thread,
			  .record = rec->type);
	return err;
}

/* The operation that such a record has queued: nothing has looked at it yet. */
static int queue_and_tell(struct gsb_tenant *t, const struct gsb_rec *rec)
{
	int err = handlers[rec->type](t, rec);
	struct gsb_op *op;

	if (err)
		return err;
	op = t->queues.streams[gsb_handle_index(rec->stream)]->last;
	gsb_op_number(op);
	gsb_op_tell(op, rec->stamp, rec->thread, 0);
	return 0;
}

/* The same of a launch. */
static int launch_and_tell(struct gsb_tenant *t, const struct gsb_rec *rec)
{
	return gsb_item_launch_told(t, rec, (const struct gsb_rec_launch *)(rec + 1));
}

#define TELL_POST   take_and_tell
#define TELL_CALL   take_and_tell
#define TELL_STREAM queue_and_tell

static handler *const tellers[GSB_N_RECS] = {
#define GSB_REC(NAME, Name, class, body) \
	[GSB_REC_##NAME] = GSB_REC_##NAME == GSB_REC_LAUNCH ? launch_and_tell : TELL_##class,
#include "gsb/wire_records.def"
};

static int dispatch(struct gsb_tenant *t, const struct gsb_rec *rec, handler *const *takers)
{
	uint64_t host_ns = t->host_ns;
	int err;

	if (rec->thread >= GSB_N_THREADS)
		return gsb_violation(t, "%s of thread %u, which there is not",
				     gsb_rec_name(rec->type), rec->thread);
	gsb_tenant_charge_host(t);
	err = takers[rec->type](t, rec);
	if (err)
		t->host_ns = host_ns; /* it comes again */
	return err;
}

static int dispatch_one(struct gsb_tenant *t, handler *const *takers)
{
	struct gsb_engine *e = t->engine;
	struct gsb_rec *rec = (struct gsb_rec *)e->record;
	int r = gsb_ring_peek(&t->ring, rec);

	if (r == 0)
		return 0;
	if (r < 0)
		return gsb_violation(t, "record with a bad type or length at position %" PRIu64,
				     t->ring.head);
	/* A well-behaved library waits for most of its calls; jobs are memory of the engine. */
	r = t->n_jobs < GSB_N_JOBS_MAX ? dispatch(t, rec, takers) : -EAGAIN;
	if (r)
		return r;
	gsb_ring_advance(&t->ring, rec);
	t->stats.records++;
	return 1;
}

static uint8_t why_stalled(const struct gsb_tenant *t)
{
	if (t->n_jobs >= GSB_N_JOBS_MAX)
		return GSB_TRACE_STALL_JOBS;
	return t->precedence.slots ? GSB_TRACE_STALL_OTHERS : GSB_TRACE_STALL_QUEUES;
}

unsigned gsb_dispatch_ring(struct gsb_tenant *t, unsigned max)
{
	handler *const *takers = gsb_trace_is_on() ? tellers : handlers;
	unsigned n = 0;
	int r = 1;

	if (t->state == GSB_TENANT_LEAVING || t->queues.stalled)
		return 0;
	while (n < max && (r = dispatch_one(t, takers)) > 0)
		n++;
	if (n) {
		t->state = GSB_TENANT_ACTIVE;
		gsb_queues_touch(&t->queues); /* the ring has room again */
	}
	if (r == -EAGAIN) {
		t->queues.stalled = true;
		gsb_trace(STALLED, stalled, t->id, .queued_bytes = t->queues.queued_bytes,
			  .n_queued = t->queues.n_queued, .n_jobs = (uint16_t)t->n_jobs,
			  .why = why_stalled(t));
	} else if (r < 0) {
		gsb_tenant_cut(t, r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY
					       : CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
	}
	return n;
}
