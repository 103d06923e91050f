/*
 * policy.h - what goes to the device next, beside what, and where: one pure function.
 *
 * The engine shows a policy what is ready, what runs and who wants it (the view) and gets back what to issue now, in
 * order, and on which SMs and at which priority each. A policy has no clock, no memory of its own and no side effect: what
 * there is to remember, the time that each tenant has had and how long kernels took, stands in the view. So the same
 * function runs live, in a replay of a load, and in tests; the same view gives the same decision. It allocates nothing: what it
 * needs to think is the caller's struct gsb_policy_area.
 *
 * What it does not name is held, and it is asked again when anything has become ready or has completed, and at the times that it
 * says itself: a decision to hold names a time until which the work does not go, or what on the device it waits for, or both,
 * and then the first counts. So what depends on time alone, a longest wait, needs no event to be seen to. Nothing may be held
 * while the device is idle: then it is asked once more, with must set, and lets go what it ranks first; if it still names
 * nothing, the oldest goes.
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
#include "gsb/sm_range.h"

#define GSB_N_QUEUES 32 /* commands on the device at a time: real GPUs have 32 connections */

struct gsb_estimates;
struct gsb_shape;

enum gsb_work_kind { GSB_WORK_KERNEL, GSB_WORK_COPY, GSB_WORK_FILL };

/* Which way a copy goes: each way has an engine of its own. */
enum gsb_direction { GSB_COPY_UP, GSB_COPY_DOWN, GSB_COPY_ACROSS, GSB_N_DIRECTIONS };

#define GSB_WEIGHT_USUAL 100
#define GSB_WEIGHT_MAX	 10000

/*
 * What a tenant does again and again: the long launches that it has come back to, with nothing new between them. What will come
 * nobody knows; who has come so often is expected to come as often again. But what stood in its stream from the beginning it
 * asked for once: a program that asks for all it wants and waits is done when its stream is empty.
 */
#define GSB_N_HABITS 4

struct gsb_habits {
	uint64_t launch[GSB_N_HABITS]; /* as of struct gsb_work, last seen first */
	uint32_t n;	  /* of these were seen since there was a new one, itself included */
	uint32_t n_again; /* long kernels since then, */
	uint32_t
		n_came; /* and so many of them came while others ran: the rest stood in the stream */
	uint32_t stream, n_queued; /* of the last: its stream, and what was in that when it ended */
	uint64_t code;		   /* of all of them; 0: they are of several kernels */
	float filled;		   /* the part of the device that the last had blocks for, 0 .. 1 */
	float rounds;		   /* so many times the device: of the last; 0: not known */
	bool limits,
		hints; /* the last may be launched with a part of its blocks, and so that it leaves the L2 to others: shape.h */
	uint64_t ended_ns; /* device time when the last had ended */
};

/* How much longer its kernels may take beside others than alone, and how much longer they did: cap.h. */
struct gsb_cap {
	uint32_t percent; /* so much longer; 0: there is no limit, and nothing else is kept */
	bool owed;	  /* it was behind, and still is */
	uint64_t
		until_ns; /* device time when the last of its kernels had ended, which are in these: */
	uint64_t busy_ns, alone_ns;
};

/* Of a critical tenant: which SMs it is in want of, and how long others have waited for it. bound.h */
struct gsb_yield {
	uint64_t
		wide_ns; /* device time when a kernel of it had ended that had blocks for more SMs than are kept free; 0: none has */
	uint64_t
		until_ns; /* device time when the last of its kernels had ended, which is in these: */
	uint64_t span_ns, yielded_ns; /* time, and what others have waited of it */
};

/* What a tenant may claim of the device, and what it has had of it. */
struct gsb_claim {
	uint32_t
		tenant; /* its number: ascending in the order of arrival, or of names behind a start line */
	uint32_t weight; /* of its share beside others that want the device, 1 .. GSB_WEIGHT_MAX */
	bool critical;	 /* its launches are to begin at once */
	uint64_t max_wait_ns; /* what is ready for so long goes first; 0: no limit of its own */
	uint64_t
		deadline_ns; /* its kernels are to have ended so long after they became ready; 0: none */
	uint64_t asked_ns; /* device time when something of it became ready last */
	uint64_t
		share_ns; /* SM time that it has had, by its weight; moved up where it asked for none */
	uint64_t memory_bytes; /* of the device, that it has now */
	uint64_t demand_bytes; /* the same, over the time of its kernels so far: gsb_claim_note() */
	uint64_t demand_ns;    /* that time */
	uint64_t n_issued;     /* commands, ever */
	uint32_t n_ready, n_running;
	bool apart; /* its last kernel was issued on a part of the SMs */
	/* where the policy predicts */
	struct gsb_habits habits;
	struct gsb_cap cap;
	struct gsb_yield yield;
};

/* How long a kernel takes, in this geometry. */
struct gsb_prediction {
	uint64_t alone_ns;  /* with all SMs to itself; 0: nothing is known */
	uint32_t trust_ppm; /* in that: 1000000 is certain */
};

struct gsb_work {
	enum gsb_work_kind kind;
	uint32_t tenant, stream; /* the tenant's number; stream's index in it */
	int32_t priority; /* of its stream: lower is more urgent, as CUDA has it; running: its queue's */
	const struct gsb_claim *claim;
	const uint32_t *n_queued; /* operations in its stream now, this one included */
	uint64_t since_ns;	  /* device time: ready since; for running work, issued at */

	/* GSB_WORK_KERNEL */
	struct gsb_kernel kernel;
	bool cooperative;	/* all blocks must be resident at once, or those of a cluster */
	uint64_t code;		/* what it is: a hash of its image and its name; 0: not known */
	uint64_t launch;	/* what it is in this geometry, likewise */
	uint32_t blocks_per_sm; /* of it an empty SM has room for; 0: not known */
	const struct gsb_shape *shapes; /* other geometries that it may be launched in, */
	unsigned n_shapes;		/* so many */
	struct gsb_prediction predicted;
	struct gsb_sm_range sms; /* running: where, */
	uint32_t manner;	 /* and in what manner: shape.h; 0: as it asked */
	/* Running: device times when its first block was thought to start, and its last to end; 0: not known. */
	uint64_t predicted_start_ns, predicted_end_ns;

	/* GSB_WORK_COPY, GSB_WORK_FILL */
	uint64_t bytes;
	enum gsb_direction direction;
};

struct gsb_view {
	const struct gsb_arch *arch;
	uint32_t sm_group; /* ranges are multiples of it; 0: the device has none but the whole */
	int32_t priority_least, priority_greatest; /* of queues; 0 and 0: there are none */
	uint64_t now_ns;			   /* device time */
	const struct gsb_claim *const *claims; /* of all tenants, in the order in which they came */
	unsigned n_claims;
	const struct gsb_work *const *ready; /* all of it, in the order in which it became ready */
	unsigned n_ready;
	const struct gsb_work *const *running;
	unsigned n_running;
	unsigned n_copies[GSB_N_DIRECTIONS];   /* of n_running */
	unsigned n_free_queues;		       /* at most GSB_N_QUEUES */
	uint64_t memory_bytes;		       /* of the device */
	const struct gsb_estimates *estimates; /* what was measured before; NULL: nothing */
	uint32_t n_reserved; /* SMs that are kept free for critical tenants: gsb_reserved_sms() */
	uint64_t
		critical_wait_ns; /* SMs are to come free for a critical tenant within this; 0: as they do */
	bool must;		  /* the device is idle and all was held: name what goes first */
};

/* Why. Those of trace/events.def, in its order: what they say to people stands there. */
enum gsb_reason {
	GSB_REASON_POLICY,    /* no more than that it says so */
	GSB_REASON_FORCED,    /* the device was idle: the engine's */
	GSB_REASON_QUEUES,    /* no queue is free: the engine's */
	GSB_REASON_ARRIVAL,   /* in the order in which it became ready */
	GSB_REASON_TURN,      /* one tenant at a time */
	GSB_REASON_ADMISSION, /* the device's memory would not do for those that run and it */
	GSB_REASON_SHORT,     /* it is over before a plan would be */
	GSB_REASON_DISTRUST,  /* too little is known to do better than the order of arrival */
	GSB_REASON_SHARE,     /* by what its tenant has had of its share */
	GSB_REASON_RANK,      /* fits beside what runs, and the longest first */
	GSB_REASON_NO_ROOM,   /* what stands behind it fits now, and it does not */
	GSB_REASON_PARTITION, /* on SMs of its own */
	GSB_REASON_APART,     /* beside what runs both would lose */
	GSB_REASON_STARVED,   /* it has waited as long as anything may */
	GSB_REASON_CRITICAL,  /* its tenant is */
	GSB_REASON_RESERVED,  /* kept off the SMs of a critical tenant */
	GSB_REASON_RUN,	      /* short, and behind such of its stream: the engine's */
	GSB_REASON_CAP, /* one tenant is slowed more than it may be, and has the device to itself */
	GSB_REASON_BOUNDED,   /* in parts that end soon, so that a critical tenant has all SMs */
	GSB_REASON_UNBOUNDED, /* as RESERVED: it cannot be had in parts that end soon */
	GSB_REASON_YIELDED,   /* a critical tenant has all SMs */
	GSB_REASON_DEADLINE,  /* it would end behind its deadline if others went before it */
	GSB_REASON_INSIDE,    /* on all SMs beside another, one of them with a part of its blocks */
	GSB_N_REASONS
};

enum gsb_verdict { GSB_ISSUE, GSB_HOLD };

/* For how long: until the first of these, and then it is decided on anew. Without any, until anything changes. */
struct gsb_hold_end {
	uint64_t not_before_ns;	      /* device time, to come; 0: there is none */
	const struct gsb_work *until; /* running: until it has ended; NULL: none */
};

struct gsb_decision {
	unsigned ready; /* index into view->ready */
	enum gsb_verdict verdict;
	unsigned shape;		    /* 0: as asked; else shapes[shape - 1] of the work */
	uint64_t predicted_wait_ns; /* until its first block starts */
	struct gsb_hold_end hold;   /* of GSB_HOLD */
	/* From here on the trace takes them as they lie. */
	enum gsb_reason reason;
	int32_t priority;		 /* of the queue: lower is more urgent */
	struct gsb_sm_range sms;	 /* where, GSB_ALL_SMS: anywhere */
	uint32_t predicted_slowdown_ppm; /* of its time alone; 0: it does not say */
	uint32_t trust_ppm;		 /* in these */
	uint64_t predicted_ns;		 /* how long it will take; 0: it does not say */
	uint64_t
		part_ns; /* in a shape: its blocks, or slices, take so long each; 0: it does not say */
};

/* Work has gone to the device as it was decided: what the view shows of it from now on. */
static inline void gsb_work_issued(struct gsb_work *w, const struct gsb_decision *d,
				   uint64_t now_ns)
{
	w->since_ns = now_ns;
	w->priority = d->priority;
	w->sms = d->sms;
	w->predicted_start_ns = now_ns + d->predicted_wait_ns;
	w->predicted_end_ns = d->predicted_ns ? w->predicted_start_ns + d->predicted_ns : 0;
}

/* It may say of all that it lets go and of as many that it holds. */
#define GSB_N_DECISIONS (2 * GSB_N_QUEUES)

/* Where a policy thinks. Nothing in it is kept from one question to the next. */
struct gsb_policy_area {
	_Alignas(16) uint8_t bytes[8192];
};

/* What a tenant may be given that a policy goes by. */
enum gsb_heed {
	GSB_HEEDS_WEIGHT = 1,
	GSB_HEEDS_WAIT = 2,
	GSB_HEEDS_SLOWDOWN = 4,
	GSB_HEEDS_CRITICAL = 8,
	GSB_HEEDS_DEADLINE = 16
};

struct gsb_policy {
	const char *name;
	unsigned heeds; /* enum gsb_heed, together; others have no effect under it */
	bool predicts;	/* it wants estimates: kernels are timed */
	bool runs; /* short launches behind one that it let go may follow that at once: work/run.h */
	bool splits;   /* it gives launches parts of the SMs */
	bool reshapes; /* it wants to be told which shapes a launch admits, and may name one */
	bool beside; /* likewise of long launches the shapes that are for the sake of others beside them */
	/*
	 * Writes at most GSB_N_DECISIONS decisions, each index once; returns how many. With the verdict ISSUE at most
	 * n_free_queues; they are issued in this order. What it does not say anything of is held.
	 */
	unsigned (*decide)(const struct gsb_view *view, struct gsb_policy_area *area,
			   struct gsb_decision *out);
	/* Until then what goes to the device in parts, and is not a critical tenant's, goes no further, if nothing comes or ends
	 * before; 0: it goes on. NULL: it always does. */
	uint64_t (*yields_until)(const struct gsb_view *view);
};

extern const struct gsb_policy gsb_policy_fifo, gsb_policy_serial, gsb_policy_multiqx,
	gsb_policy_coreside, gsb_policy_priority;

/* NULL when there is none of that name. */
const struct gsb_policy *gsb_policy_find(const char *name);
/* The i-th; NULL past the last. */
const struct gsb_policy *gsb_policy_at(uint64_t i);

#endif
