/*
 * policy.h - in which order ready work goes to the device: one pure function.
 *
 * The engine shows a policy what is ready and what runs (the view) and gets back what to issue now,
 * in order. A policy has no clock, no memory of its own and no side effect, so the same function
 * runs live, in a replay of a trace, and in tests. What it does not name is held, and it is asked again
 * when anything has become ready or has completed. Nothing may be held while the device is idle: then it is
 * asked once more, with must set, and if it still names nothing the oldest goes.
 *
 * Nothing that is ready is hidden from it, so that what is urgent need not wait for what is held. There may
 * be thousands: what looks at all of them does so only when it has to.
 *
 * Order inside a stream, events and barriers are not a policy's business: what it sees is free to
 * run at once, each entry beside all others.
 */
#ifndef GSB_BROKER_POLICY_POLICY_H
#define GSB_BROKER_POLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/arch.h"
#include "gsb/kernel.h"

#define GSB_N_QUEUES 32 /* commands on the device at a time: real GPUs have 32 connections */

enum gsb_work_kind { GSB_WORK_KERNEL, GSB_WORK_COPY, GSB_WORK_FILL };

struct gsb_work {
	enum gsb_work_kind kind;
	uint32_t tenant, stream;  /* tenant id; stream's index in it */
	int32_t priority;	  /* of its stream: lower is more urgent, as CUDA has it */
	bool cooperative;	  /* all blocks must be resident at once */
	struct gsb_kernel kernel; /* GSB_WORK_KERNEL */
	uint64_t bytes;		  /* GSB_WORK_COPY and _FILL */
	uint64_t since_ns;	  /* device time: ready since; for running work, issued at */
};

struct gsb_view {
	const struct gsb_arch *arch;
	uint64_t now_ns;		     /* device time */
	const struct gsb_work *const *ready; /* all of it, in the order in which it became ready */
	unsigned n_ready;
	const struct gsb_work *const *running;
	unsigned n_running;
	unsigned n_free_queues; /* at most GSB_N_QUEUES */
	bool must;		/* the device is idle and all was held: name what goes first */
};

struct gsb_decision {
	unsigned ready; /* index into view->ready */
};

struct gsb_policy {
	const char *name;
	/* Writes at most min(n_ready, n_free_queues) decisions, each index once; returns how many. */
	unsigned (*decide)(const struct gsb_view *view, struct gsb_decision *out);
};

extern const struct gsb_policy gsb_policy_fifo;

/* NULL when there is none of that name. */
const struct gsb_policy *gsb_policy_find(const char *name);
/* The i-th; NULL past the last. */
const struct gsb_policy *gsb_policy_at(uint64_t i);

#endif
