/*
 * stream.c - see stream.h. Nothing here calls itself: what a completion sets free goes on the
 * engine's settling list, and gsb_streams_settle() works it off, so that a chain of ten thousand
 * waits costs no stack.
 */
#include "broker/engine/order/stream.h"

#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "base/err.h"
#include "broker/engine/engine.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/tenant/tenant.h"

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- lists of streams ---- */

static void put_on(struct gsb_stream *s, struct gsb_stream **list, enum gsb_stream_state state)
{
	DL_APPEND(*list, s);
	s->parked_on = list;
	s->state = state;
}

static void take_off(struct gsb_stream *s)
{
	DL_DELETE(*s->parked_on, s);
	s->parked_on = NULL;
	s->state = GSB_STREAM_EMPTY;
}

void gsb_stream_settle_later(struct gsb_stream *s)
{
	put_on(s, &s->tenant->engine->settling, GSB_STREAM_SETTLING);
}

void gsb_stream_wake_list(struct gsb_stream **list)
{
	while (*list) {
		struct gsb_stream *s = *list;

		take_off(s);
		gsb_stream_settle_later(s);
	}
}

/* ---- points ---- */

struct gsb_point *gsb_point_create(struct gsb_tenant *t)
{
	struct gsb_point *p = gsb_pool_alloc(&t->pool, sizeof(*p));

	if (p)
		*p = (struct gsb_point){.refs = 1};
	return p;
}

struct gsb_point *gsb_point_hold(struct gsb_point *p)
{
	if (p)
		p->refs++;
	return p;
}

void gsb_point_release(struct gsb_tenant *t, struct gsb_point *p)
{
	if (p && !--p->refs)
		gsb_pool_free(&t->pool, p);
}

/* ---- epochs ---- */

/* The epoch that a new item of s belongs to; *out NULL for a non-blocking stream. */
static int join_epoch(struct gsb_stream *s, struct gsb_epoch **out)
{
	struct gsb_order *o = &s->ctx->order;
	struct gsb_epoch *last = o->epoch_last;

	*out = NULL;
	if (!s->legacy && !s->blocking)
		return 0;
	if (!last || last->legacy != s->legacy) {
		last = gsb_pool_alloc(&s->tenant->pool, sizeof(*last));
		if (!last)
			return -EAGAIN;
		*last = (struct gsb_epoch){.legacy = s->legacy};
		*(o->epoch_last ? &o->epoch_last->next : &o->epoch_first) = last;
		o->epoch_last = last;
	}
	last->n_open++;
	*out = last;
	return 0;
}

/*
 * An item has completed; when it was the last of the first epoch, the next one may start. In a
 * failed context items pass out of order, so a later epoch may be empty before it is the first.
 */
static void leave_epoch(struct gsb_ctx *ctx, struct gsb_epoch *epoch, uint64_t time_ns)
{
	struct gsb_order *o = &ctx->order;

	o->epoch_ns = max_u64(o->epoch_ns, time_ns);
	epoch->n_open--;
	while (o->epoch_first && !o->epoch_first->n_open) {
		epoch = o->epoch_first;
		o->barrier_ns = o->epoch_ns;
		o->epoch_first = epoch->next;
		gsb_pool_free(&ctx->tenant->pool, epoch);
	}
	if (!o->epoch_first)
		o->epoch_last = NULL;
	else
		gsb_stream_wake_list(&o->epoch_first->waiters);
}

/* ---- buckets ---- */

struct gsb_bucket *gsb_bucket_reserve(struct gsb_tenant *t)
{
	struct gsb_bucket *b = gsb_pool_alloc(&t->pool, sizeof(*b));

	if (b)
		*b = (struct gsb_bucket){0};
	return b;
}

int gsb_order_init(struct gsb_order *o, struct gsb_tenant *t)
{
	struct gsb_bucket *b = gsb_bucket_reserve(t);

	if (!b)
		return -ENOMEM;
	*o = (struct gsb_order){.bucket_first = b, .bucket_last = b};
	return 0;
}

/* Do the calls of all closed buckets at the front that are empty. The last one may free ctx. */
static void flush_buckets(struct gsb_ctx *ctx)
{
	struct gsb_tenant *t = ctx->tenant;

	for (;;) {
		struct gsb_bucket *b = ctx->order.bucket_first;
		struct gsb_bucket copy = *b;

		if (b->n_open || !b->closed)
			return;
		ctx->order.bucket_first = b->next;
		gsb_pool_free(&t->pool, b);
		if (gsb_memory_fence_done(ctx, &copy.call, copy.object))
			return; /* ctx is no more */
	}
}

void gsb_bucket_close(struct gsb_ctx *ctx, struct gsb_bucket *fresh, const struct gsb_rec *call,
		      uint64_t object)
{
	struct gsb_bucket *b = ctx->order.bucket_last;

	b->closed = true;
	b->call = *call;
	b->object = object;
	b->next = fresh;
	ctx->order.bucket_last = fresh;
	flush_buckets(ctx);
}

struct gsb_bucket *gsb_bucket_hold(struct gsb_ctx *ctx)
{
	ctx->order.bucket_last->n_open++;
	return ctx->order.bucket_last;
}

void gsb_bucket_release(struct gsb_ctx *ctx, struct gsb_bucket *b)
{
	b->n_open--;
	flush_buckets(ctx);
}

/* ---- items ---- */

struct gsb_item *gsb_item_create(struct gsb_tenant *t, uint16_t type, uint32_t payload)
{
	uint32_t bytes = (uint32_t)sizeof(struct gsb_item) + payload;
	struct gsb_item *item;

	if (t->n_queued >= t->limits.queued_records ||
	    (t->n_queued && t->queued_bytes + bytes > t->limits.queued_bytes))
		return NULL;
	item = gsb_pool_alloc(&t->pool, bytes);
	if (!item)
		return NULL;
	memset(item, 0, sizeof(*item));
	item->type = type;
	item->bytes = bytes;
	t->n_queued++;
	t->queued_bytes += bytes;
	return item;
}

void gsb_item_discard(struct gsb_tenant *t, struct gsb_item *item)
{
	t->n_queued--;
	t->queued_bytes -= item->bytes;
	gsb_pool_free(&t->pool, item);
}

int gsb_stream_push(struct gsb_stream *s, struct gsb_item *item)
{
	if (join_epoch(s, &item->epoch))
		return -EAGAIN;
	item->ctx = s->ctx;
	item->bucket = gsb_bucket_hold(s->ctx);
	if (s->last)
		s->last->next = item;
	else
		s->first = item;
	s->last = item;
	if (s->state == GSB_STREAM_EMPTY)
		gsb_stream_settle_later(s);
	return 0;
}

/* The record of an event is done: its word never goes back, whatever the order of records was. */
static void finish_record(struct gsb_tenant *t, struct gsb_item *item, uint64_t time_ns)
{
	struct gsb_event_word *w = &t->region->events[item->event];
	struct gsb_event *event = &t->events[item->event];
	struct gsb_point *p = item->point;

	if (event->published < item->number) {
		event->published = item->number;
		w->time_ns = time_ns;
		atomic_store_explicit(&w->done, item->number, memory_order_release);
	}
	p->done = true;
	p->time_ns = time_ns;
	gsb_stream_wake_list(&p->waiters);
	if (event->latest == p) { /* an event that rests holds nothing of the pool */
		event->latest = NULL;
		event->done_ns = time_ns;
		gsb_point_release(t, p);
	}
}

static void publish(struct gsb_stream *s)
{
	struct gsb_tenant *t = s->tenant;

	atomic_store_explicit(&t->region->streams[s->index], ++s->n_done, memory_order_release);
	atomic_store_explicit(&t->region->header.n_completed, ++t->n_completed,
			      memory_order_release);
	gsb_tenant_touch(t);
}

void gsb_stream_pop(struct gsb_stream *s, uint64_t time_ns)
{
	struct gsb_item *item = s->first;
	struct gsb_ctx *ctx = item->ctx;
	struct gsb_tenant *t = s->tenant;
	struct gsb_bucket *bucket = item->bucket;

	s->time_ns = max_u64(s->time_ns, time_ns);
	s->first = item->next;
	if (!s->first)
		s->last = NULL;
	s->state = GSB_STREAM_EMPTY;
	if (s->first)
		gsb_stream_settle_later(s);
	if (item->type == GSB_REC_EVENT_RECORD)
		finish_record(t, item, time_ns);
	if (item->type == GSB_REC_EVENT_RECORD || item->type == GSB_REC_STREAM_WAIT_EVENT)
		gsb_point_release(t, item->point);
	publish(s);
	if (item->epoch)
		leave_epoch(ctx, item->epoch, time_ns);
	gsb_item_discard(t, item);
	t->stalled = false;
	gsb_bucket_release(ctx, bucket);
}

/* ---- heads ---- */

/* When the head of s may start, as far as its own stream and its context's barrier say. */
static uint64_t start_ns(const struct gsb_stream *s, const struct gsb_item *item)
{
	uint64_t t = max_u64(item->post_ns, s->time_ns);

	return item->epoch ? max_u64(t, item->ctx->order.barrier_ns) : t;
}

static void start_wait(struct gsb_stream *s, struct gsb_item *item)
{
	struct gsb_point *p = item->point;

	if (p && !p->done)
		put_on(s, &p->waiters, GSB_STREAM_PARKED);
	else
		gsb_stream_pop(s, max_u64(start_ns(s, item), p ? p->time_ns : 0));
}

static void start_host_func(struct gsb_stream *s, struct gsb_item *item)
{
	struct gsb_tenant *t = s->tenant;
	struct gsb_msg_host_func m = {.cookie = item->cookie};
	int err;

	gsb_msg_init(&m.msg, GSB_MSG_HOST_FUNC, sizeof(m));
	err = gsb_channel_send(t->socket.fd, &m.msg, NULL, 0);
	if (err == -EAGAIN) {
		put_on(s, &t->socket_waiters, GSB_STREAM_PARKED);
		gsb_tenant_want_socket(t);
		return;
	}
	/* Another error: the process is gone, its pidfd will say so; the stream stays. */
	s->state = GSB_STREAM_HOST;
	t->n_host_funcs++;
}

static void start_launch(struct gsb_stream *s, struct gsb_item *item)
{
	struct gsb_kernel_fn *fn = item->fn;

	if (fn->state == GSB_FN_PREPARING)
		put_on(s, &fn->waiters, GSB_STREAM_PARKED);
	else if (fn->state == GSB_FN_READY)
		gsb_issue_ready(s);
	else {
		gsb_ctx_fail(item->ctx, gsb_cuda_result(fn->prepare_err),
			     "a kernel that the device cannot run was launched");
		gsb_stream_settle_later(s);
	}
}

static void start_free(struct gsb_stream *s, struct gsb_item *item)
{
	gsb_memory_release(item->ctx, item->addr);
	gsb_stream_pop(s, start_ns(s, item));
}

/* What a head does when nothing is before it; the state it leaves says what comes next. */
static void start_head(struct gsb_stream *s, struct gsb_item *item)
{
	s->ready_ns = start_ns(s, item);
	switch ((enum gsb_rec_type)item->type) {
	case GSB_REC_LAUNCH: start_launch(s, item); break;
	case GSB_REC_COPY:
	case GSB_REC_FILL: gsb_issue_ready(s); break;
	case GSB_REC_STREAM_WAIT_EVENT: start_wait(s, item); break;
	case GSB_REC_HOST_FUNC: start_host_func(s, item); break;
	case GSB_REC_MEM_FREE_ASYNC: start_free(s, item); break;
	default: gsb_stream_pop(s, s->ready_ns); break; /* EVENT_RECORD, NOP */
	}
}

/* In a failed context everything passes at once; memory is still given back, and callbacks are told. */
static void pass(struct gsb_stream *s, struct gsb_item *item)
{
	if (item->type == GSB_REC_HOST_FUNC && s->tenant->state != GSB_TENANT_LEAVING) {
		s->ready_ns = start_ns(s, item);
		start_host_func(s, item);
		return;
	}
	if (item->type == GSB_REC_MEM_FREE_ASYNC)
		gsb_memory_release(item->ctx, item->addr);
	gsb_stream_pop(s, start_ns(s, item));
}

static void settle(struct gsb_stream *s)
{
	struct gsb_item *item = s->first;

	if (!item)
		return;
	if (item->ctx->error)
		pass(s, item);
	else if (item->epoch && item->epoch != item->ctx->order.epoch_first)
		put_on(s, &item->epoch->waiters, GSB_STREAM_PARKED);
	else
		start_head(s, item);
}

void gsb_streams_settle(struct gsb_engine *e)
{
	while (e->settling) {
		struct gsb_stream *s = e->settling;

		take_off(s);
		settle(s);
	}
}

int gsb_stream_host_done(struct gsb_tenant *t, uint64_t cookie)
{
	for (uint32_t i = 0; t->n_host_funcs && i < GSB_N_STREAMS; i++) {
		struct gsb_stream *s = t->streams[i];

		if (!s || s->state != GSB_STREAM_HOST || s->first->cookie != cookie)
			continue;
		t->n_host_funcs--;
		gsb_stream_pop(s, max_u64(s->ready_ns, t->host_ns));
		return 0;
	}
	return -ENOENT;
}

/* The stream's head will never run: have it settled, unless device or tenant has it. */
static void unpark(struct gsb_stream *s)
{
	if (s->state == GSB_STREAM_PARKED)
		take_off(s);
	else if (s->state == GSB_STREAM_READY)
		gsb_issue_unready(s);
	else
		return;
	gsb_stream_settle_later(s);
}

void gsb_ctx_drop(struct gsb_ctx *ctx)
{
	for (uint32_t i = 0; i < GSB_N_STREAMS; i++) {
		struct gsb_stream *s = ctx->tenant->streams[i];

		if (s && s->first && s->first->ctx == ctx)
			unpark(s);
	}
}
