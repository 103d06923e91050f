/*
 * tenant.h - one process that the engine serves: its shared memory, its tables, its counts.
 *
 *   ADMITTED --first record--> ACTIVE --pidfd, cut, shutdown--> LEAVING --nothing in flight--> freed
 *
 * All that a tenant names is looked up in tables that only the engine can write. A LEAVING tenant's
 * queue is dropped at once; its memory is freed when the device no longer works on it. Nothing that
 * one tenant does reaches another's struct.
 */
#ifndef GSB_BROKER_ENGINE_TENANT_TENANT_H
#define GSB_BROKER_ENGINE_TENANT_TENANT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "broker/engine/code/code.h"
#include "broker/control.h"
#include "broker/engine/order/pool.h"
#include "broker/engine/order/stream.h"
#include "device/ops.h"
#include "device/range.h"
#include "gsb/wire.h"
#include "shm/ring.h"

struct gsb_engine;

#define GSB_TENANT_SPIN_NS 20000 /* real clock: a waiting thread spins this long before it sleeps */

/* What epoll reports: each descriptor has one of these in its owner's struct. */
struct gsb_watch {
	int fd; /* -1: none */
	void (*on_event)(struct gsb_watch *w, uint32_t events);
};

struct gsb_ctx {
	uint64_t handle; /* 0: being destroyed */
	struct gsb_tenant *tenant;
	struct gsb_space *space;
	struct gsb_stream *legacy;
	struct gsb_order order;
	struct gsb_ranges device_taken; /* allocations */
	struct gsb_ranges
		device_live;	      /* what copies may name: allocations not freed, and globals */
	struct gsb_ranges host_owned; /* pinned memory that goes with it */
	uint64_t used_bytes;
	uint64_t window_base, window_size;
	uint32_t index;
	CUresult error; /* sticky; the tenant's word says the same */
};

struct gsb_event {
	uint64_t handle; /* 0: none */
	struct gsb_ctx *ctx;
	struct gsb_point *latest; /* NULL: never recorded, or done at done_ns */
	uint64_t done_ns;
	uint64_t number;    /* of the latest record, of all owners of this index */
	uint64_t published; /* the done word */
};

/* Objects by handle index; each object begins with its handle. */
struct gsb_table {
	void **items;
	uint32_t capacity;
};

struct gsb_tenant {
	struct gsb_engine *engine;
	uint32_t id, slot;
	uint32_t pid, uid;
	char name[GSB_TENANT_NAME_MAX], program[GSB_TENANT_NAME_MAX];
	enum gsb_tenant_state state;
	bool cut;     /* it left because it broke the protocol */
	bool stalled; /* its next record does not fit into its queues now */
	bool dirty;   /* words changed since its threads were last looked at */
	struct gsb_tenant_limits limits;
	uint64_t features;
	enum gsb_copy_mode copy_mode;

	struct gsb_region *region;
	uint8_t *staging;
	struct gsb_ranges host_taken, host_live; /* pinned memory: allocated; may be named */
	int region_fd, staging_fd, host_fd;
	struct gsb_watch doorbell, socket, pidfd;
	struct gsb_ring_consumer ring;
	bool socket_full; /* waiting for room: socket_waiters */
	struct gsb_stream *socket_waiters;

	struct gsb_pool pool;
	struct gsb_ctx *ctxs[GSB_N_CTXS];
	struct gsb_stream *streams[GSB_N_STREAMS];
	struct gsb_event *events; /* GSB_N_EVENTS */
	uint32_t n_events_seen;	  /* no index from here on was ever used */
	struct gsb_table modules, functions;
	struct gsb_upload images[GSB_N_IMAGES];

	uint32_t n_queued, n_in_flight, n_jobs, n_host_funcs;
	uint64_t queued_bytes;
	uint64_t loader_round; /* of its last job */
	uint64_t n_completed;  /* what the region says */
	uint64_t device_used_bytes, host_used_bytes;
	uint64_t host_ns; /* virtual clock: when its last record was posted */
	uint64_t
		running_since_ns; /* real time since when it holds up virtual time; 0: it does not */
	bool charged; /* it did so for too long: time goes on without it until it blocks */
	uint64_t leaving_since_ns;   /* real time */
	char why[256];		     /* why it is cut off */
	struct gsb_ctl_tenant stats; /* counts only; gsb_status_row fills in the rest */
};

struct gsb_admission {
	uint32_t id, pid, uid;
	const char *tenant, *program; /* NUL-terminated, shorter than GSB_TENANT_NAME_MAX */
	uint64_t features_wanted;
	struct gsb_tenant_limits limits;
	int socket, pidfd; /* consumed on success */
};

/*
 * gsb_tenant_admit() - make a tenant and send it WELCOME
 * @why: on failure one sentence with the remedy
 *
 * Context: the engine's thread.
 * Return:  0, -EUSERS (no slot), -ENOMEM, -EPROTONOSUPPORT (features), -EEXIST (address window),
 *          -errno of a system call. The descriptors are then still the caller's.
 */
int gsb_tenant_admit(struct gsb_engine *e, const struct gsb_admission *a, struct gsb_tenant **out,
		     char *why, size_t why_size);

/* Consume at most max records of its ring. Returns how many; cuts the tenant off when it must. */
unsigned gsb_tenant_consume(struct gsb_tenant *t, unsigned max);

/* No more of it: drop its queue, have its running kernels abandoned. */
void gsb_tenant_leave(struct gsb_tenant *t);

/* The same, and the tenant is told why: every later call of it returns result. */
void gsb_tenant_dismiss(struct gsb_tenant *t, CUresult result, const char *why);

/* The same for one that broke the protocol, as gsb_violation() noted; goes to the log, too. */
void gsb_tenant_cut(struct gsb_tenant *t, CUresult result);

/* What a reload of the configuration changes of a tenant that is there. */
void gsb_tenant_relimit(struct gsb_tenant *t, const struct gsb_tenant_limits *limits);

/* Free it if nothing of it is in flight; true when it is gone. */
bool gsb_tenant_reap(struct gsb_tenant *t);

/* Note why the tenant breaks the protocol; returns -EPROTO for the handler to return. */
int gsb_violation(struct gsb_tenant *t, const char *fmt, ...) GSB_PRINTF(2, 3);

/* Words of the region changed: its threads are looked at before the turn ends. */
static inline void gsb_tenant_touch(struct gsb_tenant *t)
{
	t->dirty = true;
}

/* Answer a CALL. bytes: already in the reply slot. */
void gsb_tenant_reply(struct gsb_tenant *t, const struct gsb_rec *call, CUresult result,
		      uint32_t bytes);
/* The same with an answer to copy there. */
void gsb_tenant_reply_with(struct gsb_tenant *t, const struct gsb_rec *call, const void *answer,
			   uint32_t bytes);

/* Have the socket's waiters looked at again once it can be written to. */
void gsb_tenant_want_socket(struct gsb_tenant *t);

/* An entry by handle; NULL when the handle is of another kind, stale, or was never made. */
void *gsb_table_find(const struct gsb_table *table, uint64_t handle);
int gsb_table_put(struct gsb_table *table, uint64_t handle, uint32_t max, void *object);

int gsb_ctx_create(struct gsb_tenant *t, const struct gsb_rec_ctx_create *body,
		   struct gsb_ctx **out);
void gsb_ctx_destroy(struct gsb_ctx *ctx); /* nothing of it is queued or in flight */
struct gsb_ctx *gsb_ctx_find(struct gsb_tenant *t, uint64_t handle);

/* A sticky error: every later call of the context returns it, its queue passes without effect. */
void gsb_ctx_fail(struct gsb_ctx *ctx, CUresult result, const char *detail);

struct gsb_stream *gsb_stream_find(struct gsb_tenant *t, uint64_t handle);
int gsb_stream_create(struct gsb_ctx *ctx, uint64_t handle, uint32_t flags, int32_t priority,
		      struct gsb_stream **out);
struct gsb_event *gsb_event_find(struct gsb_tenant *t, uint64_t handle);

#endif
