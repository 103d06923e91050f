/*
 * admission.c - see admission.h.
 */
#include "broker/engine/admission.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/hurry.h"
#include "broker/engine/code/code.h"
#include "broker/engine/context.h"
#include "broker/engine/dismissal.h"
#include "broker/engine/engine.h"
#include "broker/engine/memory/kept.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/memory/puncher.h"
#include "broker/engine/memory/virtual.h"
#include "broker/engine/precede.h"
#include "broker/engine/start_line.h"
#include "broker/engine/tell.h"
#include "shm/region.h"

/* Real clock: a waiting thread spins this long before it sleeps, from which it takes some 20 us to wake. */
#define TENANT_SPIN_NS	 50000
#define CRITICAL_SPIN_NS 1000000
#define STAGING_UNIT	 4096
#define QUEUED_BYTES_MIN (2 * GSB_POOL_MAX)
#define FEATURES_ALWAYS	 (GSB_FEATURE_STAGING | GSB_FEATURE_HOST_WINDOW)

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
	gsb_tenant_charge_host(t);
	if (gsb_host_func_done(t, m->cookie))
		return gsb_violation(t, "host function %#" PRIx64 " done, which was not asked for",
				     m->cookie);
	return 0;
}

/*
 * Nobody holds the other end: the process is ending, closed it, or executes a program that may never call CUDA.
 * All of the library's descriptors end with an execve; a child that still holds them keeps the tenant as it is.
 */
static void on_hangup(struct gsb_tenant *t)
{
	gsb_tenant_dismiss(t, CUDA_ERROR_SYSTEM_NOT_READY,
			   "the program has closed its connection to the broker");
}

static void read_socket(struct gsb_tenant *t)
{
	struct gsb_msg_host_func m;
	ssize_t n;

	for (;;) {
		gsb_hurry_begin(); /* what descriptors come along are closed */
		n = gsb_channel_recv(t->socket.fd, &m, sizeof(m), NULL, NULL);
		gsb_hurry_end();
		if (n == -EAGAIN)
			return;
		if (n <= 0 && !is_garbage(n)) {
			on_hangup(t);
			return;
		}
		if (take_message(t, &m, n)) {
			gsb_tenant_cut(t, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
			return;
		}
	}
}

static void on_socket(struct gsb_watch *w, uint32_t events)
{
	struct gsb_tenant *t = gsb_container_of(w, struct gsb_tenant, socket);

	if (t->state == GSB_TENANT_LEAVING)
		return;
	if (events & EPOLLOUT)
		gsb_host_func_wake(t);
	read_socket(t);
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
	if (!l->code_mem_bytes)
		l->code_mem_bytes = GSB_DEFAULT_CODE_MEM_BYTES;
	if (!l->queued_bytes)
		l->queued_bytes = GSB_DEFAULT_QUEUED_BYTES;
	if (!l->queued_records)
		l->queued_records = GSB_DEFAULT_QUEUED_RECORDS;
	if (l->queued_bytes < QUEUED_BYTES_MIN)
		l->queued_bytes = QUEUED_BYTES_MIN; /* the largest record must fit */
	if (!l->weight)
		l->weight = GSB_DEFAULT_WEIGHT;
	if (l->host_mem_bytes > GSB_HOST_WINDOW_STRIDE / 2)
		l->host_mem_bytes = GSB_HOST_WINDOW_STRIDE / 2;
	l->host_mem_bytes = gsb_round_up(l->host_mem_bytes, STAGING_UNIT);
	l->staging_bytes = gsb_round_up(l->staging_bytes, STAGING_UNIT);
}

/* What a policy weighs of the limits. */
static void weigh(struct gsb_tenant *t)
{
	t->claim.weight = t->limits.weight;
	t->claim.critical = t->limits.critical;
	t->claim.max_wait_ns = t->limits.max_wait_ns;
	t->claim.deadline_ns = t->limits.deadline_ns;
	t->claim.cap.percent = t->limits.slowdown_percent;
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
	if (!err && t->dev->ops->buffer_share)
		t->dev->ops->buffer_share(t->dev, p, t->limits.staging_bytes, t->staging_fd);
	return err;
}

/* Where something else is mapped, that stays: there is no window to be unmapped. */
static int make_host_window(struct gsb_tenant *t)
{
	uint64_t base = gsb_host_window_base(t->slot), size = t->limits.host_mem_bytes;
	int fd, err;

	if (!(t->features & GSB_FEATURE_HOST_WINDOW))
		return 0;
	err = gsb_memfd_create("gsb-host", size, &fd);
	if (err)
		return err;
	err = gsb_window_map(fd, base, size);
	if (err) {
		close(fd);
		return err;
	}
	t->host_fd = fd;
	gsb_ranges_init(&t->host_taken, base, size);
	gsb_ranges_init(&t->host_freed, base, size);
	gsb_ranges_init(&t->host_aliases, base, size);
	gsb_ranges_init(&t->host_live, base, size);
	gsb_ranges_init(&t->host_owned, base, size);
	gsb_ranges_init(&t->host_kept, base, size);
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
		err = gsb_queues_init(&t->queues, t->region, t->limits.queued_bytes,
				      t->limits.queued_records, &t->engine->unsettled);
	if (!err)
		err = gsb_uploads_init(t);
	if (err)
		return err;
	t->doorbell.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	gsb_ring_consumer_init(&t->ring, t->region);
	return t->doorbell.fd < 0 ? -errno : 0;
}

static uint32_t spin_ns(const struct gsb_tenant *t)
{
	if (t->clock->is_virtual)
		return 0;
	return t->limits.critical ? CRITICAL_SPIN_NS : TENANT_SPIN_NS;
}

static int send_welcome(struct gsb_tenant *t)
{
	struct gsb_msg_welcome w = {
		.features = t->features,
		.slot = t->slot,
		.spin_ns = spin_ns(t),
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
	int err = gsb_watches_add(t->watches, &t->doorbell, EPOLLIN | EPOLLET);

	if (!err)
		err = gsb_watches_add(t->watches, &t->socket, EPOLLIN);
	if (!err)
		err = gsb_watches_add(t->watches, &t->pidfd, EPOLLIN);
	return err;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* What it shares with the process, which takes milliseconds if much of it was used: a thread's. */
static void release_memory(struct gsb_tenant *t)
{
	const struct gsb_device_ops *ops = t->dev->ops;
	bool is_kept = t->staging && ops->buffer_unshare && ops->buffer_unshare(t->dev, t->staging);
	const struct gsb_gone gone[] = {
		gsb_memory_host_leave(t),
		{is_kept ? NULL : t->staging, t->limits.staging_bytes, t->staging_fd},
		{t->region, sizeof(*t->region), t->region_fd},
	};

	static_assert(GSB_ARRAY_LEN(gone) <= GSB_N_GONE, "all of them are one job");
	gsb_puncher_sweep(t->mailbox, gone, GSB_ARRAY_LEN(gone));
}

/* Everything that admission made, in any state of completion, but not socket, pidfd and the struct itself. */
static void release_all(struct gsb_tenant *t)
{
	gsb_watches_remove(t->watches, &t->doorbell);
	gsb_watches_remove(t->watches, &t->socket);
	gsb_watches_remove(t->watches, &t->pidfd);
	gsb_uploads_finish(t);
	free(t->kept);
	gsb_table_finish(&t->modules);
	gsb_table_finish(&t->functions);
	gsb_queues_finish(&t->queues);
	release_memory(t);
	gsb_ranges_finish(&t->host_taken);
	gsb_ranges_finish(&t->host_freed);
	gsb_ranges_finish(&t->host_aliases);
	gsb_ranges_finish(&t->host_live);
	gsb_ranges_finish(&t->host_owned);
	gsb_ranges_finish(&t->host_kept);
	close_fd(t->doorbell.fd);
}

static uint64_t features_of(const struct gsb_device_ops *ops)
{
	return FEATURES_ALWAYS | (ops->may_keep ? GSB_FEATURE_KEEP : 0);
}

static struct gsb_tenant *create_tenant(struct gsb_engine *e, const struct gsb_admission *a,
					uint32_t slot)
{
	struct gsb_tenant *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->engine = e;
	t->dev = e->dev;
	t->watches = &e->watches;
	t->loader = &e->loader;
	t->resizing = &e->params.resizing;
	t->pinner = &e->pinner;
	t->mailbox = &e->mailbox;
	t->laters = &e->laters;
	t->scheduler = &e->scheduler;
	t->grant = &e->grant;
	t->addresses = &e->addresses;
	t->exports = &e->exports;
	t->clock = &e->scheduler.clock;
	t->slot = slot;
	t->id = t->queues.tenant_id = a->id;
	t->pid = a->pid;
	t->uid = a->uid;
	snprintf(t->name, sizeof(t->name), "%s", a->tenant);
	snprintf(t->program, sizeof(t->program), "%s", a->program);
	t->limits = a->limits;
	apply_defaults(&t->limits);
	t->claim.tenant = t->id;
	weigh(t);
	t->features = a->features_wanted & features_of(t->dev->ops);
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
	if (!err && a->before_welcome)
		err = a->before_welcome(e, t);
	if (!err)
		err = send_welcome(t);
	if (err) {
		if (t)
			release_all(t);
		free(t);
		return refuse(why, why_size, err,
			      err == -EPIPE || err == -ECONNRESET
				      ? "it had gone before it was taken in"
				      : "the engine cannot make the tenant's shared memory");
	}
	e->tenants[slot] = t;
	e->occupied |= 1ull << slot;
	e->n_tenants++;
	e->n_admitted++;
	gsb_scheduler_join(&e->scheduler, &t->claim);
	gsb_tell_tenant(t, false);
	gsb_tenant_trace(t);
	*out = t;
	return 0;
}

void gsb_tenant_trace(struct gsb_tenant *t)
{
	atomic_store_explicit(&t->region->header.is_traced, gsb_trace_is_on(),
			      memory_order_relaxed);
}

void gsb_tenant_relimit(struct gsb_tenant *t, const struct gsb_tenant_limits *limits)
{
	const struct gsb_device_ops *ops = t->dev->ops;

	t->limits.device_mem_bytes = limits->device_mem_bytes;
	for (uint32_t i = 0; i < GSB_N_CTXS; i++)
		if (t->ctxs[i] && ops->space_limit)
			ops->space_limit(t->ctxs[i]->space, limits->device_mem_bytes);
	if (limits->device_mem_bytes && t->device_used_bytes > limits->device_mem_bytes)
		gsb_kept_give_back(t);
	if (limits->queued_records)
		t->limits.queued_records = t->queues.max_queued = limits->queued_records;
	if (limits->weight)
		t->limits.weight = limits->weight;
	t->limits.critical = limits->critical;
	t->limits.max_wait_ns = limits->max_wait_ns;
	t->limits.deadline_ns = limits->deadline_ns;
	t->limits.slowdown_percent = limits->slowdown_percent;
	weigh(t);
	t->queues.stalled = false;
	gsb_trace(TENANT_LIMITS, tenant_limits, t->id,
		  .device_mem_limit_bytes = t->limits.device_mem_bytes,
		  .queued_limit = t->limits.queued_records);
}

/* ---- the end ---- */

static void account_gone(struct gsb_engine *e, const struct gsb_tenant *t)
{
	e->gone_records += t->stats.records;
	e->gone_launches += t->stats.launches;
	e->gone_kernels += t->stats.kernels;
	e->gone_device_ns += t->stats.device_ns;
}

/* Modules of its contexts, so many in a turn. True: none is left. */
static GSB_NOINLINE bool unload_some(struct gsb_tenant *t)
{
	unsigned left = GSB_UNLOADED_A_TURN;

	for (uint32_t i = 0; i < GSB_N_CTXS; i++)
		if (t->ctxs[i] && !gsb_code_unload_some(t->ctxs[i], &left))
			return false;
	return true;
}

bool gsb_tenant_reap(struct gsb_tenant *t)
{
	struct gsb_engine *e = t->engine;

	if (t->state != GSB_TENANT_LEAVING)
		return false;
	if (t->n_in_flight || t->n_jobs || t->queues.n_queued) {
		gsb_orphans_look(e);
		return false;
	}
	if (!unload_some(t))
		return true;
	if (t->n_jobs)
		return true; /* functions of their modules are freed in turns */
	for (uint32_t i = 0; i < GSB_N_CTXS; i++)
		if (t->ctxs[i])
			gsb_ctx_destroy(t->ctxs[i]);
	if (!gsb_virtual_finish(t))
		return true;
	account_gone(e, t);
	gsb_scheduler_part(&e->scheduler, &t->claim);
	gsb_precede_forget(t);
	e->tenants[t->slot] = NULL;
	e->occupied &= ~(1ull << t->slot);
	e->n_tenants--;
	gsb_orphans_forget(e);
	gsb_tenant_log_end(t);
	gsb_start_line_left(e, t);
	gsb_tell_gone(t);
	gsb_dismissal_log_left(t);
	release_all(t);
	gsb_hurry_close(t->socket.fd);
	close_fd(t->pidfd.fd);
	if (e->on_gone) /* its place is free: another may have it from here on */
		e->on_gone(e, t);
	free(t);
	if (!e->n_tenants)
		malloc_trim(0); /* who waits holds no more than who has just begun */
	return true;
}
