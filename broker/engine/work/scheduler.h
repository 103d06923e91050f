/*
 * scheduler.h - from heads that are free to run to the device, and back.
 *
 *   item.c        a record of a launch, copy or fill becomes an item: an operation with a command
 *   ready.c       items whose turn has come, described for the policy
 *   issue.c       the policy says which of them go to the device now
 *   queue_pool.c  on what: queues by priority and SMs
 *   run.c         short items that go to the device one behind another
 *   course.c      the commands that an item takes in its shape, and their joint completion
 *   shadow.c      a launch that is run both ways
 *   complete.c    what the device reports: counts, errors, and the next head of the stream
 *
 * An item on the device is a flight, with the short items of its stream that may follow it at once. A device queue holds one
 * flight at a time: so it never holds work that waits for other work than its own, and no two streams ever wait for each other
 * in the device.
 */
#ifndef GSB_BROKER_ENGINE_WORK_SCHEDULER_H
#define GSB_BROKER_ENGINE_WORK_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/engine/order/clock.h"
#include "broker/engine/order/stream.h"
#include "broker/engine/work/course.h"
#include "broker/engine/work/queue_pool.h"
#include "broker/engine/work/ready.h"
#include "broker/engine/work/run.h"
#include "broker/policy/company.h"
#include "broker/policy/hold.h"
#include "broker/policy/policy.h"
#include "device/ops.h"

struct gsb_item;
struct gsb_kernel_fn;
struct gsb_tenant;

/* An item on the device. */
struct gsb_flight {
	struct gsb_item *item; /* NULL: there is none */
	struct gsb_pooled_queue *queue;
	uint64_t cookie;
	uint64_t since_run_ns; /* the scheduler's run_ns when it was issued */
	bool abandoned;	       /* it ran past the limit */

	struct gsb_company company; /* of a kernel, where the policy predicts */
	struct gsb_course course;
	struct gsb_behind run;
};

struct gsb_scheduler {
	struct gsb_device *dev;
	const struct gsb_device_ops *ops;
	const struct gsb_policy *policy;
	struct gsb_clock clock;

	const struct gsb_device_info *info;
	struct gsb_policy_area area;
	const struct gsb_claim *claims[GSB_N_SLOTS]; /* of all tenants, by their numbers */
	unsigned n_claims;
	uint64_t
		share_ns; /* what the tenant that was served last had had: who asks anew begins there */

	struct gsb_ready ready; /* clock.n_ready of them */
	unsigned n_untold;	/* of them, in the trace; 0 between turns */
	bool changed;		/* something became ready or ended since the policy was asked */
	uint64_t
		held_until_ns; /* device time at which the first that is held is to be decided on anew; 0: none has such */
	bool moved; /* an item has come to the device or left it since policy.yields_until was asked: */
	uint64_t yields_until_ns; /* what it said */
	uint32_t
		over; /* a bit for each flight that had to wait, and of which no more goes to the device */
	uint32_t n_reserved; /* as the view has it, and this */
	uint64_t critical_wait_ns;
	bool runs;	      /* gsb_run_is_possible() */
	unsigned extend_from; /* with which of those to begin */
	unsigned may_follow;  /* that many more in this turn */
	unsigned together;    /* of a stream, by the last decision that said so of any */
	uint32_t to_extend;   /* a bit for each flight behind which more may go */
	struct gsb_flight flights[GSB_N_QUEUES]; /* clock.n_in_flight of them */
	uint32_t free_flights;			 /* a bit for each of the others */
	unsigned n_copies[GSB_N_DIRECTIONS];	 /* of those in flight */
	struct gsb_estimates *estimates;	 /* NULL: the policy does not predict */
	struct gsb_queue_pool pool;
	uint64_t next_cookie;
	uint64_t n_decisions;
	bool rang; /* the device must be polled, whatever is in flight: only that silences it */

	uint64_t kernel_limit_ns; /* real time that a kernel may run; 0 = no limit */
	uint64_t run_ns;	  /* real time that the device was allowed to run */
	uint64_t run_from_ns;	  /* real time from which it is counted on */
	const char *stuck; /* what does not end, and the device cannot abandon; NULL: nothing */
	bool lost;	   /* the device is, and with it the engine */
	_Alignas(16) uint8_t
		params[GSB_PARAMS_BYTES_MAX + 64]; /* of the command at hand, with what is ours */
};

/* An operation for the device. */
struct gsb_item {
	struct gsb_op op;
	struct gsb_scheduler *scheduler;
	struct gsb_kernel_fn *fn;     /* LAUNCH */
	struct gsb_head *head;	      /* NULL: not started */
	bool ready;		      /* waits for the policy; else not started, or in flight */
	uint8_t src_place, dst_place; /* COPY */
	uint64_t
		code_wait_from_ns; /* real time since when it waits for its kernel; 0: it does not */
	uint64_t issued_ns;	   /* device time when it went to its queue */
	struct gsb_flight *flight; /* whose item it is; NULL: none's */
	uint64_t run_ns;	   /* what it was taken to take when it went behind another */
	struct gsb_cmd cmd;
	_Alignas(16) uint8_t payload[]; /* parameters, inline bytes */
};

/* Of an operation. */
static inline bool gsb_item_is(const struct gsb_op *op)
{
	return op->class->kind <= GSB_TRACE_OP_FILL;
}

/* LAUNCH: of the grid that its program asked for. */
static inline uint64_t gsb_item_n_blocks(const struct gsb_item *item)
{
	const uint32_t *grid = item->cmd.launch.grid;

	return (uint64_t)grid[0] * grid[1] * grid[2];
}

int gsb_scheduler_init(struct gsb_scheduler *s, struct gsb_device *dev,
		       const struct gsb_policy *policy, uint64_t kernel_limit_ns); /* -ENOMEM */
void gsb_scheduler_finish(struct gsb_scheduler *s); /* nothing is in flight */

/* A tenant comes and goes. */
void gsb_scheduler_join(struct gsb_scheduler *s, const struct gsb_claim *c);
void gsb_scheduler_part(struct gsb_scheduler *s, const struct gsb_claim *c);

/* ---- item.c: handlers of records, as dispatch.h has them ---- */

int gsb_item_launch(struct gsb_tenant *t, const struct gsb_rec *rec,
		    const struct gsb_rec_launch *body);
int gsb_item_copy(struct gsb_tenant *t, const struct gsb_rec *rec, const struct gsb_rec_copy *body);
int gsb_item_fill(struct gsb_tenant *t, const struct gsb_rec *rec, const struct gsb_rec_fill *body);

/* The same as gsb_item_launch(), and told. */
int gsb_item_launch_told(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_launch *body);

/* ---- issue.c ---- */

void gsb_issue_ready(struct gsb_item *item);   /* it may run now */
void gsb_issue_unready(struct gsb_item *item); /* it was ready and never will run */
void gsb_issue_landed(struct gsb_scheduler *s, struct gsb_flight *f); /* it is off the device, */
/* and what was behind it is the flight's item now, from device time @now_ns; */
void gsb_issue_follow(struct gsb_scheduler *s, struct gsb_flight *f, struct gsb_item *next,
		      uint64_t now_ns);
/* For the trace: it was sent when the one before it was, or while that ran; for whoever looks it comes to the device now. */
void gsb_issue_tell_follow(struct gsb_scheduler *s, const struct gsb_flight *f);
void gsb_issue_ended(struct gsb_item *item);	/* and is no more */
void gsb_issue_ranked(struct gsb_scheduler *s); /* ranks of tenants have changed */
bool gsb_issue_all(struct gsb_scheduler *s);	/* what the policy lets go; whether any */
/* The end of a turn, for the trace: that they are ready is told of all that are and have not gone. */
void gsb_issue_tell_rest(struct gsb_scheduler *s);

/* ---- complete.c ---- */

/* Take the device's completions; whether there were any. */
bool gsb_complete_poll(struct gsb_scheduler *s);
/* What ran until now is counted to whoever was on the device, not to those that come to it in this turn. */
void gsb_complete_begin_turn(struct gsb_scheduler *s);
/* Count the device's running time; abandon a kernel that is past the limit. */
void gsb_complete_overdue(struct gsb_scheduler *s);
/* Nanoseconds until a kernel is, as things are, or the time is to be counted; UINT64_MAX for never. */
uint64_t gsb_complete_due_ns(struct gsb_scheduler *s);

/* Device time now; with a real clock as of the beginning of the turn. */
static inline uint64_t gsb_scheduler_now_ns(const struct gsb_scheduler *s)
{
	return s->clock.is_virtual ? s->ops->now_ns(s->dev) : s->clock.turn_ns;
}

/* Device time at which the policy is to be asked anew, whatever comes before; UINT64_MAX: there is none. */
static inline uint64_t gsb_scheduler_alarm_ns(const struct gsb_scheduler *s)
{
	uint64_t ns = gsb_hold_sooner_ns(s->held_until_ns, s->yields_until_ns);

	return ns ? ns : UINT64_MAX;
}

#endif
