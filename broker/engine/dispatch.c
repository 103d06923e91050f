/*
 * dispatch.c - see dispatch.h. One handler a record type, in the order of wire_records.def.
 */
#include "broker/engine/dispatch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "broker/engine/code/code.h"
#include "broker/engine/engine.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/tenant/tenant.h"
#include "broker/engine/trace/tp.h"

#define GSB_REC(NAME, Name, class, body)                                      \
	static int on_##Name(struct gsb_tenant *t, const struct gsb_rec *rec, \
			     const struct gsb_rec_##body *b);
#include "gsb/wire_records.def"

/* Bytes behind the body. */
static uint32_t tail_bytes(const struct gsb_rec *rec)
{
	return rec->size - gsb_rec_min_size(rec->type);
}

static int no_such(struct gsb_tenant *t, const struct gsb_rec *rec, const char *what, uint64_t h)
{
	return gsb_violation(t, "%s with %s %#" PRIx64 ", which it does not have",
			     gsb_rec_name(rec->type), what, h);
}

static int bad_handle(struct gsb_tenant *t, const struct gsb_rec *rec, int err, uint64_t h)
{
	if (err == -ENOMEM)
		gsb_violation(t, "the engine is out of memory");
	else
		gsb_violation(t, "%s with new handle %#" PRIx64 ", which is %s",
			      gsb_rec_name(rec->type), h,
			      err == -EEXIST ? "in use" : "no such handle");
	return err == -ENOMEM ? err : -EPROTO;
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
	struct gsb_ctx *ctx;
	int err;

	if (gsb_handle_kind(b->ctx) != GSB_HANDLE_CTX || index >= GSB_N_CTXS || t->ctxs[index])
		return bad_handle(t, rec, index < GSB_N_CTXS ? -EEXIST : -ERANGE, b->ctx);
	err = gsb_ctx_create(t, b, &ctx);
	if (err == -ERANGE || err == -EEXIST)
		return bad_handle(t, rec, err, b->legacy);
	gsb_tenant_reply(t, rec, gsb_cuda_result(err), 0);
	return 0;
}

static int on_CtxDestroy(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_object *b)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, b->handle);
	struct gsb_bucket *fresh;

	if (!ctx)
		return no_such(t, rec, "context", b->handle);
	fresh = gsb_bucket_reserve(t);
	if (!fresh)
		return -EAGAIN;
	ctx->handle = 0; /* nothing of it can be named any more */
	gsb_bucket_close(ctx, fresh, rec, 0);
	return 0;
}

static int on_StreamCreate(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_stream_create *b)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, b->ctx);
	struct gsb_stream *s;
	int err;

	if (!ctx)
		return no_such(t, rec, "context", b->ctx);
	err = gsb_stream_create(ctx, b->stream, b->flags, b->priority, &s);
	return err ? bad_handle(t, rec, err, b->stream) : 0;
}

static int on_StreamDestroy(struct gsb_tenant *t, const struct gsb_rec *rec,
			    const struct gsb_rec_object *b)
{
	struct gsb_stream *s = gsb_stream_find(t, b->handle);

	if (!s || s->legacy)
		return no_such(t, rec, "stream", b->handle);
	s->handle = 0; /* what is queued goes on */
	t->stats.n_streams--;
	return 0;
}

static int on_EventCreate(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_event_create *b)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, b->ctx);
	uint32_t index = gsb_handle_index(b->event);

	if (!ctx)
		return no_such(t, rec, "context", b->ctx);
	if (gsb_handle_kind(b->event) != GSB_HANDLE_EVENT || index >= GSB_N_EVENTS ||
	    t->events[index].handle)
		return bad_handle(t, rec, index < GSB_N_EVENTS ? -EEXIST : -ERANGE, b->event);
	t->events[index].handle = b->event;
	t->events[index].done_ns = 0;
	t->events[index].ctx = ctx;
	if (index >= t->n_events_seen)
		t->n_events_seen = index + 1;
	t->stats.n_events++;
	return 0;
}

static int on_EventDestroy(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_object *b)
{
	struct gsb_event *e = gsb_event_find(t, b->handle);

	if (!e)
		return no_such(t, rec, "event", b->handle);
	gsb_point_release(t, e->latest);
	e->latest = NULL;
	e->handle = 0;
	t->stats.n_events--;
	return 0;
}

/* ---- code ---- */

static int on_ImagePart(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_image_part *b)
{
	return gsb_code_image_part(t, rec, b);
}

static int on_ModuleLoad(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_module_load *b)
{
	return gsb_code_module_load(t, rec, b);
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

	if (!bytes || bytes > GSB_NAME_MAX || bytes > tail_bytes(rec) || memchr(name, 0, bytes))
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
	struct gsb_kernel_fn *fn = gsb_code_find_function(t, b->function);

	if (!fn)
		return no_such(t, rec, "function", b->function);
	if (b->attribute == GSB_ATTR_MAX_DYNAMIC_SMEM)
		fn->max_dynamic_smem_bytes = b->value;
	return 0; /* the others are hints, which the device has no use for yet */
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

/* ---- memory ---- */

static int on_MemAlloc(struct gsb_tenant *t, const struct gsb_rec *rec,
		       const struct gsb_rec_mem_alloc *b)
{
	return gsb_memory_alloc(t, rec, b);
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

static int on_HostFree(struct gsb_tenant *t, const struct gsb_rec *rec,
		       const struct gsb_rec_mem_free *b)
{
	return gsb_memory_host_free(t, rec, b);
}

/* ---- stream records ---- */

/* When the tenant posted the record that is being consumed; a real clock is read only for events. */
static uint64_t post_ns(struct gsb_tenant *t, uint16_t type)
{
	if (t->engine->virtual_clock)
		return t->host_ns;
	return type == GSB_REC_EVENT_RECORD ? gsb_engine_now_ns(t->engine) : 0;
}

/* The record's stream and a new item for it, of another type if the record means less than it says. */
static int begin_item(struct gsb_tenant *t, const struct gsb_rec *rec, uint32_t payload,
		      struct gsb_stream **s, struct gsb_item **item)
{
	*item = NULL;
	*s = gsb_stream_find(t, rec->stream);
	if (!*s)
		return no_such(t, rec, "stream", rec->stream);
	*item = gsb_item_create(t, rec->type, payload);
	if (!*item)
		return -EAGAIN;
	(*item)->post_ns = post_ns(t, rec->type);
	(*item)->cmd.space = (*s)->ctx->space;
	return 0;
}

static int push(struct gsb_stream *s, struct gsb_item *item)
{
	int err = gsb_stream_push(s, item);

	if (err)
		gsb_item_discard(s->tenant, item);
	return err;
}

static int check_launch(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_launch *b, const struct gsb_kernel_fn *fn,
			const struct gsb_stream *s)
{
	if (!fn || (s && fn->module->ctx != s->ctx))
		return no_such(t, rec, "function", b->function);
	if (b->params_bytes != fn->params_bytes || b->params_bytes > tail_bytes(rec))
		return gsb_violation(t,
				     "Launch with %u bytes of parameters in a record of %u; the "
				     "kernel takes %u",
				     b->params_bytes, rec->size, fn->params_bytes);
	for (int i = 0; i < 3; i++)
		if (!b->grid[i] || !b->block[i])
			return gsb_violation(t, "Launch of a grid without threads");
	return b->flags & ~GSB_LAUNCH_COOPERATIVE
		       ? gsb_violation(t, "Launch with flags %#x", b->flags)
		       : 0;
}

static int on_Launch(struct gsb_tenant *t, const struct gsb_rec *rec,
		     const struct gsb_rec_launch *b)
{
	struct gsb_kernel_fn *fn = gsb_code_find_function(t, b->function);
	struct gsb_stream *s;
	struct gsb_item *item;
	int err = check_launch(t, rec, b, fn, gsb_stream_find(t, rec->stream));

	if (!err && fn->state == GSB_FN_NEW)
		err = gsb_code_prepare(t, fn);
	if (!err)
		err = begin_item(t, rec, b->params_bytes, &s, &item);
	if (err)
		return err;
	memcpy(item->payload, b + 1, b->params_bytes);
	item->fn = fn;
	item->cmd.kind = GSB_CMD_LAUNCH;
	item->cmd.launch = (struct gsb_cmd_launch){
		.function = fn->function,
		.grid = {b->grid[0], b->grid[1], b->grid[2]},
		.block = {b->block[0], b->block[1], b->block[2]},
		.smem_bytes = b->smem_bytes,
		.cooperative = b->flags & GSB_LAUNCH_COOPERATIVE,
		.params = item->payload,
		.params_bytes = b->params_bytes,
	};
	err = push(s, item);
	t->stats.launches += !err;
	return err;
}

/* Copies of nothing are ordered like others. */
static int push_nothing(struct gsb_tenant *t, const struct gsb_rec *rec)
{
	struct gsb_stream *s;
	struct gsb_item *item;
	int err = begin_item(t, rec, 0, &s, &item);

	if (err)
		return err;
	item->type = GSB_REC_NOP;
	return push(s, item);
}

static int on_Copy(struct gsb_tenant *t, const struct gsb_rec *rec, const struct gsb_rec_copy *b)
{
	bool is_inline = b->src_place == GSB_PLACE_INLINE;
	uint32_t payload = is_inline ? tail_bytes(rec) : 0;
	struct gsb_stream *s;
	struct gsb_item *item;
	int err;

	if (!b->width || !b->height)
		return push_nothing(t, rec);
	err = begin_item(t, rec, payload, &s, &item);
	if (err)
		return err;
	item->cmd.kind = GSB_CMD_COPY;
	item->src_place = (uint8_t)b->src_place;
	item->dst_place = (uint8_t)b->dst_place;
	err = gsb_memory_check_copy(s->ctx, b, payload, &item->cmd.copy);
	if (err) {
		gsb_item_discard(t, item);
		return err;
	}
	if (is_inline) {
		memcpy(item->payload, b + 1, payload);
		item->cmd.copy.src = (uint64_t)(uintptr_t)item->payload;
	}
	return push(s, item);
}

static int on_Fill(struct gsb_tenant *t, const struct gsb_rec *rec, const struct gsb_rec_fill *b)
{
	struct gsb_stream *s;
	struct gsb_item *item;
	int err;

	if (!b->width || !b->height)
		return push_nothing(t, rec);
	err = begin_item(t, rec, 0, &s, &item);
	if (err)
		return err;
	item->cmd.kind = GSB_CMD_FILL;
	err = gsb_memory_check_fill(s->ctx, b, &item->cmd.fill);
	if (err) {
		gsb_item_discard(t, item);
		return err;
	}
	return push(s, item);
}

static int on_MemFreeAsync(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_mem_free *b)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, b->ctx);
	struct gsb_stream *s;
	struct gsb_item *item;
	int err;

	s = gsb_stream_find(t, rec->stream);
	if (!ctx || (s && s->ctx != ctx))
		return no_such(t, rec, "context", b->ctx);
	err = begin_item(t, rec, 0, &s, &item);
	if (err)
		return err;
	item->addr = b->addr;
	err = push(s, item);
	/* Queued first: a record that is offered again must find the allocation as it was. */
	return err ? err : gsb_memory_retire(t, ctx, b->addr);
}

static int on_EventRecord(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_event_record *b)
{
	struct gsb_event *e = gsb_event_find(t, b->event);
	struct gsb_stream *s;
	struct gsb_item *item;
	int err;

	if (!e)
		return no_such(t, rec, "event", b->event);
	if (b->number != e->number + 1)
		return gsb_violation(t, "EventRecord number %" PRIu64 " after %" PRIu64, b->number,
				     e->number);
	err = begin_item(t, rec, 0, &s, &item);
	if (err)
		return err;
	item->point = gsb_point_create(t);
	item->event = gsb_handle_index(b->event);
	item->number = b->number;
	err = item->point ? gsb_stream_push(s, item) : -EAGAIN;
	if (err) {
		gsb_point_release(t, item->point);
		gsb_item_discard(t, item);
		return err;
	}
	gsb_point_release(t, e->latest);
	e->latest = gsb_point_hold(item->point);
	e->number = b->number;
	return 0;
}

static int on_StreamWaitEvent(struct gsb_tenant *t, const struct gsb_rec *rec,
			      const struct gsb_rec_object *b)
{
	struct gsb_event *e = gsb_event_find(t, b->handle);
	struct gsb_stream *s;
	struct gsb_item *item;
	int err;

	if (!e)
		return no_such(t, rec, "event", b->handle);
	err = begin_item(t, rec, 0, &s, &item);
	if (err)
		return err;
	item->point = gsb_point_hold(e->latest);
	if (!e->latest && e->done_ns > item->post_ns)
		item->post_ns = e->done_ns;
	err = gsb_stream_push(s, item);
	if (err) {
		gsb_point_release(t, item->point);
		gsb_item_discard(t, item);
	}
	return err;
}

static int on_HostFunc(struct gsb_tenant *t, const struct gsb_rec *rec,
		       const struct gsb_rec_host_func *b)
{
	struct gsb_stream *s;
	struct gsb_item *item;
	int err = begin_item(t, rec, 0, &s, &item);

	if (err)
		return err;
	item->cookie = b->cookie;
	return push(s, item);
}

static int on_HostFuncDone(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_host_func *b)
{
	if (gsb_stream_host_done(t, b->cookie))
		return gsb_violation(t, "host function %#" PRIx64 " done, which was not asked for",
				     b->cookie);
	return 0;
}

static int on_Nop(struct gsb_tenant *t, const struct gsb_rec *rec, const struct gsb_rec_none *b)
{
	return push_nothing(t, rec);
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

void gsb_dispatch_charge_host(struct gsb_tenant *t)
{
	uint64_t now = gsb_engine_now_ns(t->engine);

	if (!t->engine->virtual_clock)
		return;
	t->host_ns = (t->host_ns > now ? t->host_ns : now) + t->engine->params.host_call_ns;
}

int gsb_dispatch(struct gsb_tenant *t, const struct gsb_rec *rec)
{
	uint64_t host_ns = t->host_ns;
	int err;

	if (rec->thread >= GSB_N_THREADS)
		return gsb_violation(t, "%s of thread %u, which there is not",
				     gsb_rec_name(rec->type), rec->thread);
	gsb_dispatch_charge_host(t);
	err = handlers[rec->type](t, rec);
	if (err)
		t->host_ns = host_ns; /* it comes again */
	else
		gsb_tp(record, t->id, rec->type, gsb_handle_index(rec->stream));
	return err;
}
