/*
 * state.h - a run under way: what the files of this room share.
 */
#ifndef GSB_SIM_STATE_H
#define GSB_SIM_STATE_H

#include "base/compiler.h"
#include "broker/policy/company.h"
#include "model/gpu/interference.h"
#include "broker/policy/shape.h"
#include "model/placement/machine.h"
#include "sim/sim.h"

#define GSB_SIM_NONE	  UINT32_MAX
#define GSB_SIM_NEVER	  UINT64_MAX
#define GSB_SIM_N_ENGINES 3 /* for copies, as the emulated device has */

enum gsb_sim_state {
	GSB_SIM_ABSENT, /* of a tenant that does not take part */
	GSB_SIM_UNPOSTED,
	GSB_SIM_POSTED,
	GSB_SIM_READY,
	GSB_SIM_ISSUED,
	GSB_SIM_DONE
};

/* An operation of the load; both have the same index. */
struct gsb_sim_item {
	const struct gsb_workload_op *op;
	enum gsb_sim_state state;
	uint32_t next_in_stream, next_in_thread;
	uint64_t post_ns, ready_ns, issued_ns, start_ns, done_ns;
	struct gsb_work work;	    /* for the device */
	uint64_t block_ns;	    /* launch: one block beside none of others */
	uint64_t block_insns;	    /* likewise: of its warps; 0: not known */
	uint32_t tiles;		    /* likewise: that a block on the device does of those */
	uint64_t n_placed, n_ended; /* likewise: blocks on the device, */
	uint64_t n_done;	    /* and of those of the launch, that they were for */
	uint64_t blocks_ns;	    /* likewise: their times, summed */
};

/* The head of a stream is the first of it that is not done. */
struct gsb_sim_stream {
	uint32_t head, tail;
	uint32_t n_queued; /* posted and not done */
};

struct gsb_sim_thread {
	uint32_t tenant_at, number;
	uint32_t next, tail; /* of its operations, the next to be posted */
};

/* Of each tenant: the first operation that is not done in the legacy stream, and in those that wait for it. */
struct gsb_sim_side {
	uint32_t blocking, legacy;
};

/* A block on an SM. */
struct gsb_sim_block {
	uint32_t slot; /* of the machine */
	uint64_t from_ns;
	double end_work; /* of its flight's work, when it ends */
};

/* The launches of a kernel: one, or in a shape several, of which two are on the device at a time. */
struct gsb_sim_course {
	uint64_t total, done;	       /* blocks of the launch; of them those that were launched */
	uint64_t each;		       /* that one takes at most */
	bool in_turn;		       /* one after the other, not beside each other */
	unsigned n_open;	       /* on the device */
	struct gsb_machine_grid *last; /* the one that was launched last; NULL: it has ended */
};

/* A command on the device. */
struct gsb_sim_flight {
	struct gsb_sim_item *item; /* NULL: free */
	struct gsb_sim_course course;
	struct gsb_company company;
	uint64_t seq;	   /* of issue */
	uint64_t begin_ns; /* may start from then on; NEVER: has started */
	uint64_t end_ns;   /* copies; NEVER: not known */
	/* kernels: all of its blocks work at one speed, so they end in the order in which they were placed */
	double speed, work;		/* against alone; the sum of it over time, in ns */
	uint32_t first_block, n_blocks; /* a ring of them */
};

struct gsb_sim_sm {
	uint32_t threads, blocks;
	uint64_t smem_bytes;
};

struct gsb_sim {
	const struct gsb_workload *load;
	const struct gsb_sim_params *p;
	uint64_t now_ns;
	struct gsb_sim_item *items;
	struct gsb_sim_stream *streams;
	struct gsb_sim_thread *threads;
	struct gsb_sim_side *sides;
	struct gsb_claim *claims;	/* by tenant */
	const struct gsb_claim **there; /* those that have come and are not done */
	uint32_t *n_left_of;		/* by tenant: its operations that are not done */
	uint32_t n_threads;
	uint64_t n_left; /* operations that are not done */
	/* view.c */
	const struct gsb_work **ready;
	unsigned n_ready, n_running;
	unsigned n_copying[GSB_N_DIRECTIONS];
	uint64_t share_ns; /* of the tenant that was served last */
	uint32_t
		order_at; /* those before it have been issued, of the order there is instead of a policy */
	struct gsb_policy_area area;
	bool changed;
	uint64_t
		held_until_ns; /* the first that is held is to be decided on anew then; 0: none has such */
	uint64_t
		yields_until_ns; /* the policy says that launches in short forms go no further until then */
	struct gsb_sim_flight flights[GSB_N_QUEUES];
	uint64_t next_seq;
	/* device.c */
	struct gsb_machine *machine;
	struct gsb_interference law;  /* of this GPU */
	struct gsb_sim_block *blocks; /* a row of n_slots for each flight */
	uint32_t n_slots;
	bool moved; /* blocks were placed or have ended since speeds were found */
	unsigned n_copies;
	struct gsb_sim_sm *sms; /* check.c: what is on them */
	double thread_ns;	/* of blocks, summed */
	struct gsb_sim_result *out;
	char *why; /* of the failure */
	size_t why_size;
};

/* The reason, and err for the caller to return. */
int gsb_sim_fail(struct gsb_sim *s, int err, const char *fmt, ...) GSB_PRINTF(3, 4);

/* ---- program.c ---- */
int gsb_sim_program_init(struct gsb_sim *s); /* -ENOMEM */
bool gsb_sim_post(struct gsb_sim *s);	     /* what is due; whether anything was */
uint64_t gsb_sim_come_ns(const struct gsb_sim *s, uint32_t tenant_at);
uint64_t gsb_sim_next_post_ns(const struct gsb_sim *s);

/* ---- stream.c ---- */
int gsb_sim_streams_init(struct gsb_sim *s); /* -ENOMEM */
void gsb_sim_settle(struct gsb_sim *s);	     /* heads that may run do */
void gsb_sim_done(struct gsb_sim *s, struct gsb_sim_item *item);

/* ---- view.c ---- */
int gsb_sim_view_init(struct gsb_sim *s); /* -ENOMEM */
void gsb_sim_view_add(struct gsb_sim *s, struct gsb_sim_item *item);
void gsb_sim_view_landed(struct gsb_sim *s, struct gsb_sim_flight *f); /* its command has ended */
/* Those that have come and are not done, into there; returns how many. */
unsigned gsb_sim_list_there(const struct gsb_sim *s);
uint32_t gsb_sim_n_reserved(const struct gsb_sim *s); /* SMs */

/* decide.c */
int gsb_sim_decide(struct gsb_sim *s); /* what the policy says, until it has nothing more to say */
uint64_t gsb_sim_next_decision_ns(const struct gsb_sim *s); /* for a time that it says itself */

/* ---- course.c ---- */
void gsb_sim_course_begin(struct gsb_sim *s, struct gsb_sim_flight *f,
			  const struct gsb_shape *shape);
int gsb_sim_course_go_on(struct gsb_sim *s, struct gsb_sim_flight *f); /* -EPROTO, -ENOMEM */
void gsb_sim_course_placed(struct gsb_sim_flight *f);		       /* a block of one */
bool gsb_sim_course_ended(struct gsb_sim_flight *f); /* one has; whether it was the last */

/* ---- device.c ---- */
int gsb_sim_device_init(struct gsb_sim *s); /* -EINVAL, -ENOMEM */
/* @shape: NULL: as its program asked */
struct gsb_sim_flight *gsb_sim_issue(struct gsb_sim *s, struct gsb_sim_item *item,
				     const struct gsb_shape *shape);
bool gsb_sim_device_ends(struct gsb_sim *s);  /* of this instant; whether a command has ended */
int gsb_sim_device_starts(struct gsb_sim *s); /* of this instant */
uint64_t gsb_sim_next_event_ns(struct gsb_sim *s);
void gsb_sim_pass_to(struct gsb_sim *s, uint64_t ns); /* time */

/* ---- speed.c ---- */
int gsb_sim_find_speeds(struct gsb_sim *s); /* -EINVAL; of all kernels with blocks on the SMs */

/* ---- check.c ---- */
int gsb_sim_check_decisions(struct gsb_sim *s, const struct gsb_decision *d, unsigned n);
int gsb_sim_check_placed(struct gsb_sim *s, const struct gsb_machine_block *b);
void gsb_sim_check_ended(struct gsb_sim *s, const struct gsb_machine_block *b);
int gsb_sim_check_idle(struct gsb_sim *s); /* after decisions: nothing waits for an idle device */
int gsb_sim_check_all(struct gsb_sim *s);  /* at the end */

/* ---- result.c ---- */
void gsb_sim_count_block(struct gsb_sim *s, const struct gsb_sim_item *item, uint64_t ns);
void gsb_sim_count_transfer(struct gsb_sim *s, uint64_t ns);
int gsb_sim_result_make(struct gsb_sim *s); /* -ENOMEM */

static inline struct gsb_claim *gsb_sim_claim_of(struct gsb_sim *s, const struct gsb_sim_item *item)
{
	return &s->claims[item->op->tenant_at];
}

static inline bool gsb_sim_is_for_device(const struct gsb_workload_op *op)
{
	return op->kind <= GSB_WORKLOAD_FILL;
}

#endif
