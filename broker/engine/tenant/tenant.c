/*
 * tenant.c - see tenant.h.
 */
#include "broker/engine/tenant/tenant.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "broker/engine/dispatch.h"
#include "broker/engine/engine.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/trace/tp.h"
#include "shm/region.h"
#include "shm/wait.h"

#define CTX_WINDOW_MIN	   (64ull << 20)
#define STAGING_UNIT	   4096
#define QUEUED_BYTES_MIN   (2 * GSB_POOL_MAX)
#define FEATURES_SUPPORTED (GSB_FEATURE_STAGING | GSB_FEATURE_HOST_WINDOW)

/* ---- tables ---- */

void *gsb_table_find(const struct gsb_table *table, uint64_t handle)
{
	uint32_t index = gsb_handle_index(handle);
	uint64_t *object;

	if (!handle || index >= table->capacity)
		return NULL;
	object = table->items[index];
	return object && *object == handle ? object : NULL;
}

static int table_grow(struct gsb_table *table, uint32_t index)
{
	uint32_t capacity = table->capacity ? table->capacity : 16;
	void **items;

	while (capacity <= index)
		capacity *= 2;
	items = realloc(table->items, capacity * sizeof(*items));
	if (!items)
		return -ENOMEM;
	memset(items + table->capacity, 0, (capacity - table->capacity) * sizeof(*items));
	table->items = items;
	table->capacity = capacity;
	return 0;
}

int gsb_table_put(struct gsb_table *table, uint64_t handle, uint32_t max, void *object)
{
	uint32_t index = gsb_handle_index(handle);

	if (index >= max)
		return -ERANGE;
	if (index >= table->capacity && table_grow(table, index))
		return -ENOMEM;
	if (table->items[index])
		return -EEXIST;
	table->items[index] = object;
	return 0;
}

/* ---- contexts ---- */

struct gsb_ctx *gsb_ctx_find(struct gsb_tenant *t, uint64_t handle)
{
	uint32_t index = gsb_handle_index(handle);
	struct gsb_ctx *ctx = handle && index < GSB_N_CTXS ? t->ctxs[index] : NULL;

	return ctx && ctx->handle == handle ? ctx : NULL;
}

static bool window_is_free(const struct gsb_tenant *t, uint64_t base, uint64_t size)
{
	for (uint32_t i = 0; i < GSB_N_CTXS; i++) {
		const struct gsb_ctx *c = t->ctxs[i];

		if (c && c->window_base < base + size && base < c->window_base + c->window_size)
			return false;
	}
	return true;
}

/*
 * A power of two of the tenant's device window: enough for its limit if there is room, all that a device
 * may have for the first context, half of the largest free part for each further one, so that the next
 * finds some too.
 */
static int pick_window(struct gsb_ctx *ctx)
{
	struct gsb_tenant *t = ctx->tenant;
	uint64_t start = gsb_device_window_base(t->slot), end = start + GSB_DEVICE_WINDOW_SIZE;
	uint64_t limit = t->limits.device_mem_bytes, want = GSB_DEVICE_WINDOW_STRIDE / 2;
	bool is_first = window_is_free(t, start, GSB_DEVICE_WINDOW_SIZE);

	if (!limit)
		limit = t->engine->info->total_mem_bytes;
	while (want / 4 >= limit && want > CTX_WINDOW_MIN)
		want /= 2; /* twice the limit: gaps between allocations take numbers, too */
	for (; want >= CTX_WINDOW_MIN; want /= 2)
		for (uint64_t base = start; base + want <= end; base += want)
			if (window_is_free(t, base, want)) {
				ctx->window_base = base;
				ctx->window_size =
					is_first || want == CTX_WINDOW_MIN ? want : want / 2;
				return 0;
			}
	return -ENOMEM;
}

static int create_space(struct gsb_ctx *ctx)
{
	struct gsb_tenant *t = ctx->tenant;
	struct gsb_space_params p = {
		.device_base = ctx->window_base,
		.device_size = ctx->window_size,
		.mem_limit_bytes = t->limits.device_mem_bytes,
	};
	int err;

	if (t->features & GSB_FEATURE_HOST_WINDOW) {
		p.host_base = gsb_host_window_base(t->slot);
		p.host_size = t->limits.host_mem_bytes;
		gsb_ranges_init(&ctx->host_owned, p.host_base, p.host_size);
	}
	err = t->engine->ops->space_create(t->engine->dev, &p, &ctx->space);
	if (err == -EEXIST)
		gsb_log(GSB_LOG_ERROR, "tenant",
			"%u (%s, pid %u): no context: addresses from %#" PRIx64
			" are in use in the engine: GSB_DEVICE_WINDOW_BASE does not suit this machine",
			t->id, t->name, t->pid, ctx->window_base);
	if (err)
		return err == -EEXIST ? -ENOMEM
				      : err; /* -EEXIST is the tenant's fault, this is not */
	gsb_ranges_init(&ctx->device_taken, ctx->window_base, ctx->window_size);
	gsb_ranges_init(&ctx->device_live, ctx->window_base, ctx->window_size);
	err = gsb_memory_pin_all(ctx);
	if (err)
		t->engine->ops->space_destroy(ctx->space);
	return err;
}

int gsb_ctx_create(struct gsb_tenant *t, const struct gsb_rec_ctx_create *body,
		   struct gsb_ctx **out)
{
	struct gsb_ctx *ctx = calloc(1, sizeof(*ctx));
	int err;

	if (!ctx)
		return -ENOMEM;
	ctx->tenant = t;
	ctx->index = gsb_handle_index(body->ctx);
	err = pick_window(ctx);
	if (err)
		goto err_window;
	err = create_space(ctx);
	if (err)
		goto err_window;
	err = gsb_order_init(&ctx->order, t);
	if (err)
		goto err_space;
	err = gsb_stream_create(ctx, body->legacy, 0, 0, &ctx->legacy);
	if (err)
		goto err_order;
	ctx->legacy->legacy = true;
	ctx->handle = body->ctx;
	t->ctxs[ctx->index] = ctx;
	t->stats.n_ctxs++;
	atomic_store_explicit(&t->region->ctxs[ctx->index].error, 0, memory_order_release);
	*out = ctx;
	return 0;
err_order:
	gsb_pool_free(&t->pool, ctx->order.bucket_last);
err_space:
	t->engine->ops->space_destroy(ctx->space);
err_window:
	free(ctx);
	return err;
}

static void forget_objects(struct gsb_ctx *ctx)
{
	struct gsb_tenant *t = ctx->tenant;

	for (uint32_t i = 0; i < GSB_N_STREAMS; i++)
		if (t->streams[i] && t->streams[i]->ctx == ctx) {
			t->stats.n_streams -= t->streams[i]->handle != 0;
			t->streams[i]->handle = 0;
			t->streams[i]->ctx = NULL;
		}
	for (uint32_t i = 0; i < t->n_events_seen; i++)
		if (t->events[i].handle && t->events[i].ctx == ctx) {
			gsb_point_release(t, t->events[i].latest);
			t->events[i].latest = NULL;
			t->events[i].handle = 0;
			t->stats.n_events--;
		}
	for (uint32_t i = 0; i < t->modules.capacity; i++) {
		struct gsb_code_module *m = t->modules.items[i];

		if (m && m->ctx == ctx)
			gsb_code_module_destroy(t, m);
	}
}

void gsb_ctx_destroy(struct gsb_ctx *ctx)
{
	struct gsb_tenant *t = ctx->tenant;

	forget_objects(ctx);
	gsb_memory_host_free_all(ctx);
	for (size_t i = 0; i < ctx->device_taken.n_items; i++)
		t->device_used_bytes -= ctx->device_taken.items[i].size;
	t->engine->ops->space_destroy(ctx->space);
	gsb_ranges_finish(&ctx->device_taken);
	gsb_ranges_finish(&ctx->device_live);
	for (struct gsb_bucket *b = ctx->order.bucket_first, *next; b; b = next) {
		next = b->next;
		gsb_pool_free(&t->pool, b);
	}
	t->ctxs[ctx->index] = NULL;
	t->stats.n_ctxs--;
	free(ctx);
}

void gsb_ctx_fail(struct gsb_ctx *ctx, CUresult result, const char *detail)
{
	struct gsb_tenant *t = ctx->tenant;
	const char *name = gsb_cuda_error_name(result);

	if (ctx->error)
		return;
	ctx->error = result;
	t->stats.n_errors++;
	t->stats.last_error = result;
	gsb_log(GSB_LOG_WARN, "tenant",
		"%u (%s, pid %u): context %u failed with %s%s%s; its later calls return this",
		t->id, t->name, t->pid, ctx->index, name ? name : "an unknown error",
		detail && *detail ? ": " : "", detail ? detail : "");
	atomic_store_explicit(&t->region->ctxs[ctx->index].error, (uint32_t)result,
			      memory_order_release);
	gsb_tenant_touch(t);
	gsb_ctx_drop(ctx);
}

/* ---- streams and events: their tables ---- */

struct gsb_stream *gsb_stream_find(struct gsb_tenant *t, uint64_t handle)
{
	uint32_t index = gsb_handle_index(handle);
	struct gsb_stream *s = handle && index < GSB_N_STREAMS ? t->streams[index] : NULL;

	return s && s->handle == handle && s->ctx->handle ? s : NULL;
}

static int new_stream(struct gsb_tenant *t, uint32_t index)
{
	struct gsb_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (gsb_issue_reserve(t->engine)) {
		free(s);
		return -ENOMEM;
	}
	s->tenant = t;
	s->index = index;
	t->streams[index] = s;
	return 0;
}

int gsb_stream_create(struct gsb_ctx *ctx, uint64_t handle, uint32_t flags, int32_t priority,
		      struct gsb_stream **out)
{
	struct gsb_tenant *t = ctx->tenant;
	uint32_t index = gsb_handle_index(handle);
	struct gsb_stream *s;

	if (gsb_handle_kind(handle) != GSB_HANDLE_STREAM || index >= GSB_N_STREAMS)
		return -ERANGE;
	if (!t->streams[index] && new_stream(t, index))
		return -ENOMEM;
	s = t->streams[index];
	if (s->handle || s->first)
		return -EEXIST;
	s->handle = handle;
	s->ctx = ctx;
	s->priority = priority;
	s->legacy = false;
	s->blocking = !(flags & GSB_STREAM_NON_BLOCKING);
	t->stats.n_streams++;
	*out = s;
	return 0;
}

struct gsb_event *gsb_event_find(struct gsb_tenant *t, uint64_t handle)
{
	uint32_t index = gsb_handle_index(handle);
	struct gsb_event *e = handle && index < GSB_N_EVENTS ? &t->events[index] : NULL;

	return e && e->handle == handle && e->ctx->handle ? e : NULL;
}

/* ---- answers ---- */

void gsb_tenant_reply(struct gsb_tenant *t, const struct gsb_rec *call, CUresult result,
		      uint32_t bytes)
{
	gsb_gate_note_answer(t, call->thread);
	gsb_reply(t->region, call->thread, call->call, result, bytes);
	gsb_tenant_touch(t);
}

void gsb_tenant_reply_with(struct gsb_tenant *t, const struct gsb_rec *call, const void *answer,
			   uint32_t bytes)
{
	memcpy(t->region->replies[call->thread], answer, bytes);
	gsb_tenant_reply(t, call, CUDA_SUCCESS, bytes);
}

int gsb_violation(struct gsb_tenant *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->why, sizeof(t->why), fmt, ap);
	va_end(ap);
	return -EPROTO;
}

/* ---- its descriptors ---- */

/*
 * Only a wake-up: what there is to do stands in the ring. It is watched for edges and never read, because
 * the tenant shares its status flags: one that made it blocking and emptied it would catch us in read(2).
 */
static void on_doorbell(struct gsb_watch *w, uint32_t events)
{
}

static void on_pidfd(struct gsb_watch *w, uint32_t events)
{
	gsb_tenant_leave(gsb_container_of(w, struct gsb_tenant, pidfd));
}

/* What gsb_channel_recv says of bytes that no library sends. */
static bool is_garbage(ssize_t n)
{
	return n == -EPROTO || n == -EPROTONOSUPPORT || n == -EMSGSIZE;
}

/* What was received, -EPROTO when it breaks the protocol. */
static int take_message(struct gsb_tenant *t, const struct gsb_msg_host_func *m, ssize_t n)
{
	if (is_garbage(n))
		return gsb_violation(t, "%s on its socket",
				     n == -EMSGSIZE ? "a message too long, or with descriptors,"
						    : "what is no message of this version");
	if (m->msg.type != GSB_MSG_HOST_FUNC || n != sizeof(*m))
		return gsb_violation(t, "message of type %u on its socket", m->msg.type);
	gsb_dispatch_charge_host(t);
	if (gsb_stream_host_done(t, m->cookie))
		return gsb_violation(t, "host function %#" PRIx64 " done, which was not asked for",
				     m->cookie);
	return 0;
}

static void read_socket(struct gsb_tenant *t)
{
	struct gsb_msg_host_func m;
	ssize_t n;

	for (;;) {
		n = gsb_channel_recv(t->socket.fd, &m, sizeof(m), NULL, NULL);
		if (n == -EAGAIN)
			return;
		if (n <= 0 && !is_garbage(n))
			break;
		if (take_message(t, &m, n)) {
			gsb_tenant_cut(t, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
			return;
		}
	}
	/* The end of file is no death (a child may hold the other end): the pidfd tells. */
	gsb_engine_unwatch(t->engine, &t->socket);
}

static void on_socket(struct gsb_watch *w, uint32_t events)
{
	struct gsb_tenant *t = gsb_container_of(w, struct gsb_tenant, socket);

	if (t->state == GSB_TENANT_LEAVING)
		return;
	if (events & EPOLLOUT && t->socket_full) {
		t->socket_full = false;
		gsb_engine_watch(t->engine, &t->socket, EPOLLIN);
		gsb_stream_wake_list(&t->socket_waiters);
	}
	read_socket(t);
}

void gsb_tenant_want_socket(struct gsb_tenant *t)
{
	if (t->socket_full)
		return;
	t->socket_full = true;
	gsb_engine_watch(t->engine, &t->socket, EPOLLIN | EPOLLOUT);
}

/* ---- admission ---- */

static void apply_defaults(struct gsb_tenant_limits *l)
{
	if (!l->host_mem_bytes)
		l->host_mem_bytes = GSB_DEFAULT_HOST_MEM_BYTES;
	if (!l->staging_bytes)
		l->staging_bytes = GSB_DEFAULT_STAGING_BYTES;
	if (!l->image_max_bytes)
		l->image_max_bytes = GSB_DEFAULT_IMAGE_MAX_BYTES;
	if (!l->queued_bytes)
		l->queued_bytes = GSB_DEFAULT_QUEUED_BYTES;
	if (!l->queued_records)
		l->queued_records = GSB_DEFAULT_QUEUED_RECORDS;
	if (l->queued_bytes < QUEUED_BYTES_MIN)
		l->queued_bytes = QUEUED_BYTES_MIN; /* the largest record must fit */
	if (l->host_mem_bytes > GSB_HOST_WINDOW_STRIDE / 2)
		l->host_mem_bytes = GSB_HOST_WINDOW_STRIDE / 2;
	l->host_mem_bytes = gsb_round_up(l->host_mem_bytes, STAGING_UNIT);
	l->staging_bytes = gsb_round_up(l->staging_bytes, STAGING_UNIT);
}

static int find_slot(const struct gsb_engine *e)
{
	for (int i = 0; i < GSB_N_SLOTS; i++)
		if (!e->tenants[i])
			return i;
	return -EUSERS;
}

static int make_staging(struct gsb_tenant *t)
{
	void *p = NULL;
	int err = gsb_memfd_create("gsb-staging", t->limits.staging_bytes, &t->staging_fd);

	if (!err)
		err = gsb_memfd_map(t->staging_fd, t->limits.staging_bytes, &p);
	t->staging = p;
	return err;
}

static int make_host_window(struct gsb_tenant *t)
{
	uint64_t base = gsb_host_window_base(t->slot), size = t->limits.host_mem_bytes;
	int err;

	if (!(t->features & GSB_FEATURE_HOST_WINDOW))
		return 0;
	err = gsb_memfd_create("gsb-host", size, &t->host_fd);
	if (!err)
		err = gsb_window_map(t->host_fd, base, size);
	if (err)
		return err;
	gsb_ranges_init(&t->host_taken, base, size);
	gsb_ranges_init(&t->host_live, base, size);
	return 0;
}

static int make_memory(struct gsb_tenant *t)
{
	int err = gsb_region_create(t->features, &t->region, &t->region_fd);

	if (!err)
		err = make_staging(t);
	if (!err)
		err = make_host_window(t);
	if (!err)
		err = gsb_pool_init(&t->pool, t->limits.queued_bytes);
	if (err)
		return err;
	t->events = calloc(GSB_N_EVENTS, sizeof(*t->events));
	t->doorbell.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	gsb_ring_consumer_init(&t->ring, t->region);
	return t->events ? t->doorbell.fd < 0 ? -errno : 0 : -ENOMEM;
}

static int send_welcome(struct gsb_tenant *t)
{
	struct gsb_msg_welcome w = {
		.features = t->features,
		.slot = t->slot,
		.spin_ns = t->engine->virtual_clock ? 0 : GSB_TENANT_SPIN_NS,
		.staging_bytes = t->limits.staging_bytes,
		.host_window_bytes = t->host_fd >= 0 ? t->limits.host_mem_bytes : 0,
		.image_max_bytes = t->limits.image_max_bytes,
		.tenant_id = t->id,
		.device = *t->engine->info,
	};
	int fds[5], n = 0, self = -1, err;

	if (t->limits.device_mem_bytes && t->limits.device_mem_bytes < w.device.total_mem_bytes)
		w.device.total_mem_bytes = t->limits.device_mem_bytes;
	err = gsb_pidfd_open(getpid(), &self);
	if (err)
		return err;
	fds[n++] = t->region_fd;
	fds[n++] = t->staging_fd;
	if (t->host_fd >= 0)
		fds[n++] = t->host_fd;
	fds[n++] = t->doorbell.fd;
	fds[n++] = self;
	gsb_msg_init(&w.msg, GSB_MSG_WELCOME, sizeof(w));
	err = gsb_channel_send(t->socket.fd, &w.msg, fds, (unsigned)n);
	close(self);
	return err;
}

static int watch_tenant(struct gsb_tenant *t)
{
	int err = gsb_engine_watch(t->engine, &t->doorbell, EPOLLIN | EPOLLET);

	if (!err)
		err = gsb_engine_watch(t->engine, &t->socket, EPOLLIN);
	if (!err)
		err = gsb_engine_watch(t->engine, &t->pidfd, EPOLLIN);
	return err;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Everything that admission made, in any state of completion, but not socket and pidfd. */
static void free_tenant(struct gsb_tenant *t)
{
	gsb_engine_unwatch(t->engine, &t->doorbell);
	gsb_engine_unwatch(t->engine, &t->socket);
	gsb_engine_unwatch(t->engine, &t->pidfd);
	gsb_code_finish(t);
	for (uint32_t i = 0; i < GSB_N_STREAMS; i++) {
		t->engine->n_streams -= t->streams[i] != NULL;
		free(t->streams[i]);
	}
	free(t->events);
	gsb_pool_finish(&t->pool);
	gsb_ranges_finish(&t->host_taken);
	gsb_ranges_finish(&t->host_live);
	if (t->host_fd >= 0)
		gsb_window_unmap(gsb_host_window_base(t->slot), t->limits.host_mem_bytes);
	if (t->staging)
		munmap(t->staging, t->limits.staging_bytes);
	if (t->region)
		munmap(t->region, sizeof(*t->region));
	close_fd(t->region_fd);
	close_fd(t->staging_fd);
	close_fd(t->host_fd);
	close_fd(t->doorbell.fd);
	free(t);
}

static struct gsb_tenant *create_tenant(struct gsb_engine *e, const struct gsb_admission *a,
					uint32_t slot)
{
	struct gsb_tenant *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->engine = e;
	t->slot = slot;
	t->id = a->id;
	t->pid = a->pid;
	t->uid = a->uid;
	snprintf(t->name, sizeof(t->name), "%s", a->tenant);
	snprintf(t->program, sizeof(t->program), "%s", a->program);
	t->limits = a->limits;
	apply_defaults(&t->limits);
	t->features = a->features_wanted & FEATURES_SUPPORTED;
	t->region_fd = t->staging_fd = t->host_fd = -1;
	t->doorbell = (struct gsb_watch){-1, on_doorbell};
	t->socket = (struct gsb_watch){a->socket, on_socket};
	t->pidfd = (struct gsb_watch){a->pidfd, on_pidfd};
	return t;
}

static int refuse(char *why, size_t size, int err, const char *what)
{
	snprintf(why, size, "%s: %s", what, strerror(-err));
	return err;
}

int gsb_tenant_admit(struct gsb_engine *e, const struct gsb_admission *a, struct gsb_tenant **out,
		     char *why, size_t why_size)
{
	struct gsb_tenant *t;
	int slot = find_slot(e), err;

	if (slot < 0)
		return refuse(why, why_size, slot,
			      "all 64 places of this engine are taken; wait for a process to end");
	if (!(a->features_wanted & GSB_FEATURE_STAGING) ||
	    a->features_wanted & ~(uint64_t)GSB_FEATURES_KNOWN)
		return refuse(why, why_size, -EPROTONOSUPPORT,
			      "library and engine are of different builds; install one of both");
	t = create_tenant(e, a, (uint32_t)slot);
	err = t ? make_memory(t) : -ENOMEM;
	if (!err)
		err = watch_tenant(t);
	if (!err)
		err = send_welcome(t);
	if (err) {
		if (t)
			free_tenant(t);
		return refuse(why, why_size, err,
			      "the engine cannot make the tenant's shared memory");
	}
	e->tenants[slot] = t;
	e->n_tenants++;
	e->n_admitted++;
	gsb_tp(admit, t->id, t->pid, t->slot, t->name);
	*out = t;
	return 0;
}

/* ---- its records ---- */

static int consume_one(struct gsb_tenant *t)
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
	r = t->n_jobs < GSB_N_JOBS_MAX ? gsb_dispatch(t, rec) : -EAGAIN;
	if (r)
		return r;
	gsb_ring_advance(&t->ring, rec);
	t->stats.records++;
	return 1;
}

unsigned gsb_tenant_consume(struct gsb_tenant *t, unsigned max)
{
	unsigned n = 0;
	int r = 1;

	if (t->state == GSB_TENANT_LEAVING || t->stalled)
		return 0;
	while (n < max && (r = consume_one(t)) > 0)
		n++;
	if (n) {
		t->state = GSB_TENANT_ACTIVE;
		gsb_tenant_touch(t); /* the ring has room again */
	}
	if (r == -EAGAIN)
		t->stalled = true;
	else if (r < 0)
		gsb_tenant_cut(t, r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY
					       : CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
	return n;
}

void gsb_tenant_relimit(struct gsb_tenant *t, const struct gsb_tenant_limits *limits)
{
	const struct gsb_device_ops *ops = t->engine->ops;

	t->limits.device_mem_bytes = limits->device_mem_bytes;
	for (uint32_t i = 0; i < GSB_N_CTXS; i++)
		if (t->ctxs[i] && ops->space_limit)
			ops->space_limit(t->ctxs[i]->space, limits->device_mem_bytes);
	if (limits->queued_records)
		t->limits.queued_records = limits->queued_records;
	t->stalled = false;
}

/* ---- the end ---- */

/* A host function of it may never be reported done: its stream goes on without. */
static void drop_host_funcs(struct gsb_tenant *t)
{
	for (uint32_t i = 0; t->n_host_funcs && i < GSB_N_STREAMS; i++)
		if (t->streams[i] && t->streams[i]->state == GSB_STREAM_HOST) {
			t->n_host_funcs--;
			gsb_stream_pop(t->streams[i], t->streams[i]->ready_ns);
		}
}

void gsb_tenant_leave(struct gsb_tenant *t)
{
	if (t->state == GSB_TENANT_LEAVING)
		return;
	t->state = GSB_TENANT_LEAVING;
	t->leaving_since_ns = gsb_clock_ns();
	gsb_engine_unwatch(t->engine, &t->pidfd);
	for (uint32_t i = 0; i < GSB_N_CTXS; i++) {
		struct gsb_ctx *ctx = t->ctxs[i];

		if (!ctx)
			continue;
		if (!ctx->error)
			ctx->error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
		gsb_ctx_drop(ctx);
		if (t->engine->ops->space_cancel)
			t->engine->ops->space_cancel(ctx->space);
	}
	drop_host_funcs(t);
}

void gsb_tenant_dismiss(struct gsb_tenant *t, CUresult result, const char *why)
{
	struct gsb_msg_cut m = {.result = result};

	if (t->state == GSB_TENANT_LEAVING)
		return;
	snprintf(m.reason, sizeof(m.reason), "%s", why);
	atomic_store_explicit(&t->region->header.fatal, (uint32_t)result, memory_order_release);
	gsb_wake_waiters(t->region);
	gsb_msg_init(&m.msg, GSB_MSG_CUT, sizeof(m));
	gsb_channel_send(t->socket.fd, &m.msg, NULL, 0); /* courtesy: fatal says it, too */
	gsb_tenant_leave(t);
}

void gsb_tenant_cut(struct gsb_tenant *t, CUresult result)
{
	if (t->state == GSB_TENANT_LEAVING)
		return;
	t->cut = true;
	t->engine->n_cut++;
	gsb_log(GSB_LOG_ERROR, "tenant", "%u (%s, pid %u) is cut off: %s", t->id, t->name, t->pid,
		t->why);
	gsb_tenant_dismiss(t, result, t->why);
}

static void account_gone(struct gsb_engine *e, const struct gsb_tenant *t)
{
	e->gone_records += t->stats.records;
	e->gone_launches += t->stats.launches;
	e->gone_kernels += t->stats.kernels;
	e->gone_device_ns += t->stats.device_ns;
}

bool gsb_tenant_reap(struct gsb_tenant *t)
{
	struct gsb_engine *e = t->engine;
	int socket = t->socket.fd, pidfd = t->pidfd.fd;

	if (t->state != GSB_TENANT_LEAVING || t->n_in_flight || t->n_jobs || t->n_queued)
		return false;
	for (uint32_t i = 0; i < GSB_N_CTXS; i++)
		if (t->ctxs[i])
			gsb_ctx_destroy(t->ctxs[i]);
	account_gone(e, t);
	gsb_tp(gone, t->id, t->cut);
	e->tenants[t->slot] = NULL;
	e->n_tenants--;
	gsb_log(GSB_LOG_INFO, "tenant", "%u (%s, pid %u) has left", t->id, t->name, t->pid);
	if (e->on_gone)
		e->on_gone(e, t);
	free_tenant(t);
	close_fd(socket);
	close_fd(pidfd);
	return true;
}
