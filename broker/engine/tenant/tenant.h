/*
 * tenant.h - one process that the engine serves, and its contexts: what the rooms above share of them.
 *
 *   ADMITTED --first record--> ACTIVE --pidfd, cut, shutdown--> LEAVING --nothing in flight--> freed
 *
 * All that a tenant names is looked up in tables that only the engine can write. A LEAVING tenant's
 * queues are dropped at once; its memory is freed when the device no longer works on it. Nothing that
 * one tenant does reaches another's struct. admission.c makes and frees tenants, context.c contexts.
 */
#ifndef GSB_BROKER_ENGINE_TENANT_TENANT_H
#define GSB_BROKER_ENGINE_TENANT_TENANT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/log.h"
#include "broker/control.h"
#include "broker/engine/order/clock.h"
#include "broker/engine/order/order.h"
#include "broker/engine/tenant/later.h"
#include "broker/engine/tenant/table.h"
#include "broker/engine/trace/trace.h"
#include "broker/engine/watch.h"
#include "broker/policy/policy.h"
#include "device/ops.h"
#include "device/range.h"
#include "gsb/wire.h"
#include "shm/ring.h"

struct gsb_addresses;
struct gsb_code_module;
struct gsb_engine;
struct gsb_event_call;
struct gsb_exports;
struct gsb_grant;
struct gsb_kept_memory;
struct gsb_loader;
struct gsb_mailbox;
struct gsb_pinner;
struct gsb_resizing;
struct gsb_scheduler;
struct gsb_shared_memory;
struct gsb_uploads;
struct gsb_virtual;

struct gsb_ctx {
	uint64_t handle; /* 0: being destroyed */
	struct gsb_tenant *tenant;
	struct gsb_space *space;
	struct gsb_order order;
	struct gsb_ranges device_taken;	  /* allocations */
	struct gsb_ranges device_live;	  /* not freed, and globals: what copies may name */
	struct gsb_ranges host_owned;	  /* pinned memory that goes with it */
	struct gsb_shared_memory *shared; /* memory/share.h; by address */
	struct gsb_code_module *modules;  /* those that can be named, oldest first */
	uint64_t window_base, window_size;
	uint64_t
		device_used_bytes; /* as the device counts: allocations, variables of modules, heap */
	uint64_t heap_bytes;	   /* of it, for malloc of its kernels; 0: no module calls it yet */
	bool heap_grows;	   /* waits for a grant, or for the device */
	uint64_t scratch;	   /* device address of the engine's own memory there; 0: none */
	bool scratch_asked;
	bool counting; /* a launch uses the part of it for counts */
	uint32_t index;
	CUresult error;		 /* sticky; its word in the region says the same */
	bool printed;		 /* a kernel of it has said something */
	struct gsb_rec end_call; /* being destroyed: whom to answer */
};

/* What of other tenants' rings comes before the record at the head of one's own (precede.h). */
struct gsb_precedence {
	uint64_t at;	/* position of the record for which they were looked through last */
	uint64_t slots; /* a bit for each whose ring is to be read first, */
	uint64_t until[GSB_N_SLOTS]; /* to this position */
	uint64_t
		plain_to; /* of its own ring: no record from its head to there is about events that are shared */
};

struct gsb_tenant {
	struct gsb_engine *engine;
	struct gsb_device *dev;
	struct gsb_watches *watches;
	struct gsb_loader *loader;
	struct gsb_pinner *pinner;
	struct gsb_mailbox *mailbox;
	struct gsb_laters *laters;
	struct gsb_scheduler *scheduler;
	struct gsb_grant *grant;
	struct gsb_addresses *addresses;
	struct gsb_exports *exports;
	const struct gsb_clock *clock;
	const struct gsb_resizing *resizing;

	uint32_t id, slot;
	bool at_start; /* it has come to the start line */
	uint32_t pid, uid;
	char name[GSB_TENANT_NAME_MAX], program[GSB_TENANT_NAME_MAX];
	enum gsb_tenant_state state;
	uint64_t left_ns; /* LEAVING: real time since when */
	bool cut;	  /* it left because it broke the protocol */
	CUresult error;	  /* what a context of it has failed with, and so have all */
	struct gsb_tenant_limits limits;
	uint64_t features;

	struct gsb_region *region;
	uint8_t *staging;
	struct gsb_ranges host_taken, host_live; /* pinned memory: allocated; may be named */
	struct gsb_ranges host_owned;		 /* of that, what goes with no context */
	struct gsb_ranges host_kept;	/* of what goes with one, what is freed, and pinned still */
	struct gsb_ranges host_freed;	/* taken, and of no use but that its pages are to go */
	struct gsb_ranges host_aliases; /* pages of it that are others' pages: memory/alias.h */
	bool punching;			/* those of what was freed before it are going */
	struct gsb_virtual *virtual;	/* memory/virtual.h; NULL: it has none */
	struct gsb_kept_memory *kept;	/* memory/kept.h; NULL: it has never kept any */
	int region_fd, staging_fd, host_fd;
	struct gsb_later *pinning; /* who pins in its contexts, or makes one: one at a time */
	struct gsb_ctx *making;	   /* the context that is made meanwhile; NULL: none */
	struct gsb_watch doorbell, socket, pidfd;
	struct gsb_ring_consumer ring;
	bool socket_full; /* waiting for room: socket_waiters */
	struct gsb_stream *socket_waiters;

	struct gsb_queues queues;
	struct gsb_precedence precedence;
	struct gsb_event_call *event_calls; /* event_ipc.c: calls that wait for events */
	uint32_t n_event_calls;
	struct gsb_ctx *ctxs[GSB_N_CTXS];
	struct gsb_table modules, functions;
	struct gsb_code_module *unloaded; /* to be freed, a part each turn: code/code.h */
	struct gsb_uploads *uploads;	  /* under way: code/upload.h */

	bool shadowing; /* a launch of it is run both ways: its streams wait */
	struct gsb_stream *shadow_waiters;

	uint32_t n_in_flight, n_host_funcs;
	uint32_t n_jobs;	 /* calls that others work on: the loader, gsbrokerd, the device */
	uint32_t n_printed;	 /* what the region says */
	uint32_t n_printed_read; /* the same when it had read all of it last */
	uint64_t loader_round;	 /* of its last job */
	struct gsb_claim claim;	 /* of the device, for the policy */
	uint64_t device_used_bytes; /* of its contexts */
	uint64_t host_used_bytes;
	uint64_t code_used_bytes;  /* host memory of its modules and functions */
	uint64_t host_ns;	   /* virtual clock: when its last record was posted */
	uint64_t running_since_ns; /* real time; since then it holds up virtual time; 0: not */
	bool charged; /* it did so for too long: time goes on without it until it blocks */
	struct gsb_log_limit log;    /* of what it causes */
	char why[256];		     /* why it is cut off */
	struct gsb_ctl_tenant stats; /* counts only; gsb_status_make fills in the rest */
};

/* ---- contexts ---- */

/* NULL: no such context, or it is being destroyed. */
struct gsb_ctx *gsb_ctx_find(struct gsb_tenant *t, uint64_t handle);

/* The context of an order, which it embeds. */
struct gsb_ctx *gsb_ctx_of(struct gsb_order *o);

/* A sticky error, of all contexts of the tenant as of a process on a GPU: their later calls return it, their queues pass without effect, and
 * no context is made any more. */
void gsb_ctx_fail(struct gsb_ctx *ctx, CUresult result, const char *detail);

/* ---- answers ---- */

/* Answer a CALL. bytes: already in the reply slot. */
void gsb_tenant_reply(struct gsb_tenant *t, const struct gsb_rec *call, CUresult result,
		      uint32_t bytes);
/* The same with an answer to copy there. */
void gsb_tenant_reply_with(struct gsb_tenant *t, const struct gsb_rec *call, const void *answer,
			   uint32_t bytes);
/* A call that fails at once, for a handler to return. */
int gsb_tenant_fail_call(struct gsb_tenant *t, const struct gsb_rec *call, int err);

/* Note why the tenant breaks the protocol; returns -EPROTO for the handler to return. */
int gsb_violation(struct gsb_tenant *t, const char *fmt, ...) GSB_PRINTF(2, 3);

/* The record names something of that kind, by handle h, that there is not. */
int gsb_no_such(struct gsb_tenant *t, const struct gsb_rec *rec, const char *what, uint64_t h);

/* ---- the log ---- */

/* As gsb_log, for what the tenant can cause as often as it likes: GSB_LOG_BURST lines, then one a second. */
void gsb_tenant_log(struct gsb_tenant *t, enum gsb_log_level level, const char *topic,
		    const char *fmt, ...) GSB_PRINTF(4, 5);
void gsb_tenant_log_end(struct gsb_tenant *t); /* it leaves: say how many lines were held back */

/* ---- host functions ---- */

/* Queue one: the tenant is asked to run it when its turn has come. -EAGAIN: no room. */
int gsb_host_func_push(struct gsb_stream *s, uint64_t cookie, uint64_t post_ns);

/* The tenant says that it has run the host function. -ENOENT: it was not asked to. */
int gsb_host_func_done(struct gsb_tenant *t, uint64_t cookie);

/* One that is leaving may never say so: its streams go on without. */
void gsb_host_func_drop(struct gsb_tenant *t);

/* The socket can be written to again. */
void gsb_host_func_wake(struct gsb_tenant *t);

/* ---- what its kernels say ---- */

/* A command has said something: before its done word says that it is complete. */
void gsb_print_note(struct gsb_ctx *ctx);
/* CALLs, answered at once. */
int gsb_print_read(struct gsb_tenant *t, const struct gsb_rec *rec);
int gsb_print_limit(struct gsb_tenant *t, const struct gsb_rec *rec,
		    const struct gsb_rec_print_limit *body);

/* ---- small things ---- */

/* In virtual time: one call of the tenant's has taken its fixed time. */
void gsb_tenant_charge_host(struct gsb_tenant *t);
/* Not for this one: what is posted for who traces takes no virtual time. */
void gsb_tenant_refund_host(struct gsb_tenant *t);

/* Somebody else has a call of it in hand: until the end it is not freed, and virtual time waits. */
static inline void gsb_tenant_job_begin(struct gsb_tenant *t)
{
	t->n_jobs++;
}

static inline void gsb_tenant_job_end(struct gsb_tenant *t)
{
	t->n_jobs--;
	t->queues.stalled = false;
}

static inline struct gsb_tenant *gsb_tenant_of(struct gsb_queues *q)
{
	return gsb_container_of(q, struct gsb_tenant, queues);
}

/* What its memory is known by to the device. */
static inline uint64_t gsb_tenant_owner(const struct gsb_tenant *t)
{
	return (uint64_t)t->id + 1;
}

/* Bytes behind a record's body. */
static inline uint32_t gsb_rec_tail_bytes(const struct gsb_rec *rec)
{
	return rec->size - gsb_rec_min_size(rec->type);
}

/* Device time of what the tenant asks for at hand; with a real clock, when the turn that takes it began. */
static inline uint64_t gsb_tenant_post_ns(const struct gsb_tenant *t)
{
	return t->clock->is_virtual ? t->host_ns : t->clock->turn_ns;
}

/* The same exactly, for what the tenant measures. */
static inline uint64_t gsb_tenant_now_ns(const struct gsb_tenant *t)
{
	return t->clock->is_virtual ? t->host_ns : t->dev->ops->now_ns(t->dev);
}

#endif
