/*
 * engine.h - the process that owns a device and serves the tenants of one trust domain.
 *
 * Data flows one way, and each step has its room:
 *
 *   ring -> dispatch.c (check a record) -> order/ (queue it; CUDA's order) -> work/ (policy, device
 *   queues) -> device -> work/complete.c -> order/ (words) -> tenant
 *
 * tenant/ holds what the other rooms share of a tenant, memory/ and code/ own its objects. Here, above all
 * of them: admission.c lets tenants come and go, start_line.c begin together, context.c makes and ends contexts,
 * gate.c lets virtual time go on, control.c talks to gsbrokerd, loop.c is the turn. One thread runs all of it in turns (gsb_engine_turn), so no
 * step needs a lock; what may be slow is the loader's (code/loader.h). A turn never waits for anything; only
 * gsb_engine_sleep does, for everything at once.
 */
#ifndef GSB_BROKER_ENGINE_ENGINE_H
#define GSB_BROKER_ENGINE_ENGINE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"
#include "broker/control.h"
#include "broker/engine/code/loader.h"
#include "broker/engine/code/resizing.h"
#include "broker/engine/memory/addresses.h"
#include "broker/engine/memory/grant.h"
#include "broker/engine/memory/pinner.h"
#include "broker/engine/start_line.h"
#include "broker/engine/tenant/export.h"
#include "broker/engine/tenant/mailbox.h"
#include "broker/engine/orphan.h"
#include "broker/engine/tenant/tenant.h"
#include "broker/engine/watch.h"
#include "broker/engine/work/scheduler.h"
#include "broker/policy/policy.h"
#include "device/ops.h"

#define GSB_TURN_RECORDS 64 /* of one tenant's ring in one turn: fairness */

struct gsb_engine_params {
	const struct gsb_policy *policy;
	uint64_t host_call_ns;	   /* virtual clock: the host work of one record */
	uint64_t gate_timeout_ns;  /* virtual clock: real time until a running tenant is charged */
	uint64_t kernel_limit_ns;  /* real time; 0 = none */
	uint64_t orphan_limit_ns;  /* real time; 0 = none */
	uint64_t critical_wait_ns; /* as struct gsb_view has it */
	unsigned critical_sms_percent; /* of the SMs, kept free for critical tenants */
	unsigned start_line;	       /* tenants that begin together; 0, 1: each for itself */
	uint64_t start_line_ns;	       /* real time that they wait for each other */
	struct gsb_resizing resizing;
};

#define GSB_DEFAULT_HOST_CALL_NS    500
#define GSB_DEFAULT_GATE_TIMEOUT_NS 100000000ull

struct gsb_engine {
	struct gsb_device *dev;
	const struct gsb_device_ops *ops;
	const struct gsb_device_info *info;
	struct gsb_engine_params params;

	struct gsb_tenant *tenants[GSB_N_SLOTS]; /* by slot */
	uint64_t occupied;			 /* a bit for each slot that has one */
	unsigned n_tenants;
	uint64_t preceded;   /* a bit for each whose ring waits for another's: precede.h */
	unsigned first_slot; /* whose ring is read first in the next turn */
	struct gsb_loader loader;
	struct gsb_pinner pinner;
	struct gsb_mailbox mailbox;
	struct gsb_laters laters;
	struct gsb_grant grant;
	struct gsb_addresses addresses;
	struct gsb_exports exports;
	uint64_t age_ns;	      /* real clock: when what tenants keep grows older */
	struct gsb_stream *unsettled; /* streams whose head is to be looked at */
	struct gsb_scheduler scheduler;

	struct gsb_watches watches;
	struct gsb_watch device_watch, mailbox_watch;
	struct gsb_start_line line;
	struct gsb_orphans orphans;
	bool draining; /* admits nobody; stop when the last tenant has left */
	void (*on_gone)(struct gsb_engine *e, const struct gsb_tenant *t);
	void (*on_orphans)(struct gsb_engine *e,
			   bool any); /* there are some now, or none any more */
	void *owner;

	uint64_t lost_ns;    /* real time when the device was seen to have ended; 0: it has not */
	uint64_t started_ns; /* real time */
	uint64_t n_admitted, n_refused, n_cut;
	struct gsb_log_limit cuts, leavings; /* that are logged: dismissal.h */
	uint64_t gone_records, gone_launches, gone_kernels, gone_device_ns;
	_Alignas(64) uint8_t record[GSB_RECORD_MAX]; /* the record at hand */
};

static_assert(GSB_N_SLOTS == 64, "a bit for each");

/* Each tenant t of e, by slots; one that comes or goes meanwhile may be missed. */
#define gsb_for_each_tenant(e, t)                                       \
	for (uint64_t left_ = (e)->occupied; left_; left_ &= left_ - 1) \
		for (struct gsb_tenant *t = (e)->tenants[__builtin_ctzll(left_)]; t; t = NULL)

/* Device time now. */
static inline uint64_t gsb_engine_now_ns(struct gsb_engine *e)
{
	return e->ops->now_ns(e->dev);
}

#endif
