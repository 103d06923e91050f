/*
 * engine.h - the process that owns a device and serves the tenants of one trust domain.
 *
 * Data flows one way, and each step has its file:
 *
 *   ring -> dispatch.c (check a record) -> stream.c (queue it; CUDA's order) -> issue.c (policy,
 *   device queues) -> device -> complete.c (words, wake-ups) -> tenant
 *
 * tenant.c admits and frees tenants, memory.c and code.c answer calls, gate.c lets virtual time go
 * on. One thread runs all of it in turns (gsb_engine_turn), so no step needs a lock; what may be
 * slow is the loader's (code.h). A turn never waits for anything; only gsb_engine_sleep does, for
 * everything at once.
 */
#ifndef GSB_BROKER_ENGINE_ENGINE_H
#define GSB_BROKER_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/engine/code/code.h"
#include "broker/control.h"
#include "broker/policy/policy.h"
#include "broker/engine/order/stream.h"
#include "broker/engine/tenant/tenant.h"
#include "device/ops.h"

#define GSB_TURN_RECORDS 64 /* of one tenant's ring in one turn: fairness */

struct gsb_engine_params {
	const struct gsb_policy *policy;
	uint64_t host_call_ns; /* virtual clock: the host work of one record */
	uint64_t
		gate_timeout_ns; /* virtual clock: real time after which a running tenant is charged */
	uint64_t kernel_limit_ns; /* real time; 0 = none */
};

#define GSB_DEFAULT_HOST_CALL_NS    500
#define GSB_DEFAULT_GATE_TIMEOUT_NS 100000000ull

/* A command on the device. */
struct gsb_flight {
	struct gsb_stream *stream; /* NULL: the queue is free */
	struct gsb_queue *queue;   /* NULL: not made yet */
	int32_t queue_priority;
	uint64_t cookie;
	uint64_t since_run_ns; /* engine's run_ns when it was issued */
	bool abandoned;	       /* it ran past the limit */
	struct gsb_work work;
};

struct gsb_engine {
	struct gsb_device *dev;
	const struct gsb_device_ops *ops;
	const struct gsb_device_info *info;
	struct gsb_engine_params params;
	bool virtual_clock;

	struct gsb_tenant *tenants[GSB_N_SLOTS]; /* by slot */
	unsigned n_tenants;
	unsigned first_slot; /* whose ring is read first in the next turn */
	struct gsb_loader loader;

	struct gsb_stream *settling; /* streams whose head is to be looked at */
	struct gsb_stream **heap;    /* READY streams, next to issue first */
	unsigned n_ready, heap_capacity, n_streams;
	uint64_t ready_order;
	struct gsb_flight flights[GSB_N_QUEUES];
	unsigned n_in_flight;
	uint64_t next_cookie;

	bool advancing;	      /* virtual clock: time was let run and no completion came yet */
	uint64_t run_ns;      /* real time that the device was allowed to run */
	uint64_t run_from_ns; /* real time from which it is counted on */

	int epoll_fd;
	struct gsb_watch device_watch, loader_watch;
	bool device_rang; /* it must be polled, whatever is in flight: only that silences it */
	bool draining;	  /* admits nobody; stop when the last tenant has left */
	bool dead;	  /* the device is lost: leave with an error */
	void (*on_gone)(struct gsb_engine *e, const struct gsb_tenant *t);
	void *owner;

	uint64_t started_ns;
	uint64_t n_admitted, n_refused, n_cut;
	uint64_t gone_records, gone_launches, gone_kernels, gone_device_ns;
	_Alignas(64) uint8_t record[GSB_RECORD_MAX]; /* the record at hand */
};

/*
 * gsb_engine_create() - an engine on an open device
 * @dev: stays the caller's, who closes it after gsb_engine_destroy
 * Return: 0, -ENOMEM, -errno of a system call.
 */
int gsb_engine_create(struct gsb_device *dev, const struct gsb_engine_params *p,
		      struct gsb_engine **out);
/* Cuts off whoever is left, and waits until the device has let go of them. */
void gsb_engine_destroy(struct gsb_engine *e);

/* One turn: read rings, queue, issue, complete, wake. Returns whether there was anything to do. */
bool gsb_engine_turn(struct gsb_engine *e);

/* Wait until something may be there to do, and handle what the descriptors report. */
void gsb_engine_sleep(struct gsb_engine *e);

/* The same without waiting: what a busy engine does now and then. */
void gsb_engine_listen(struct gsb_engine *e, int timeout_ms);

/* Have w->on_event called for these EPOLL* events of w->fd; again: change them. -errno. */
int gsb_engine_watch(struct gsb_engine *e, struct gsb_watch *w, uint32_t events);
void gsb_engine_unwatch(struct gsb_engine *e, struct gsb_watch *w);

/* Device time now. */
static inline uint64_t gsb_engine_now_ns(struct gsb_engine *e)
{
	return e->ops->now_ns(e->dev);
}

/* ---- issue.c ---- */

/* The head of s may run now. */
void gsb_issue_ready(struct gsb_stream *s);
void gsb_issue_unready(struct gsb_stream *s); /* take it out of the heap again */
int gsb_issue_reserve(struct gsb_engine *e);  /* one stream more exists; -ENOMEM */
bool gsb_issue_all(struct gsb_engine *e);     /* what the policy lets go; whether any */
void gsb_issue_finish(struct gsb_engine *e);

/* ---- complete.c ---- */

/* Take the device's completions; whether there were any. */
bool gsb_complete_poll(struct gsb_engine *e);
/* Count the device's running time; abandon a kernel that is past the limit. */
void gsb_complete_overdue(struct gsb_engine *e);
/* Nanoseconds until a kernel is, as things are; UINT64_MAX for never. */
uint64_t gsb_complete_due_ns(struct gsb_engine *e);

/* ---- gate.c ---- */

/* Virtual clock: issue and let time go on if every tenant waits. Whether it did anything. */
bool gsb_gate_turn(struct gsb_engine *e);
/* Work waits for time, and time for tenants that run: they must say when they block. */
bool gsb_gate_is_waiting(const struct gsb_engine *e);
/* A thread of t is about to get its answer: if it was the only one that ran, t has just been blocked. */
void gsb_gate_note_answer(struct gsb_tenant *t, uint32_t thread);
/* No tenant runs, as far as its words say; those that were charged do not count. */
bool gsb_gate_is_open(struct gsb_engine *e);
/* Nanoseconds until a tenant has run for too long; UINT64_MAX when nothing waits for it. */
uint64_t gsb_gate_due_ns(const struct gsb_engine *e);

/* ---- status.c ---- */
struct gsb_ctl_status_reply *gsb_status_make(struct gsb_engine *e, uint64_t number);

#endif
