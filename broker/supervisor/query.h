/*
 * query.h - what gsbctl (and gsbrun) asks gsbrokerd, on the socket that tenants use.
 *
 * One GSB_MSG_CONTROL a connection. The answer is a run of GSB_MSG_CONTROL_REPLY messages: for
 * STATUS a BROKER and one ENGINE for each engine, for TOTALS one TOTAL for each name, for what is asked of a
 * trace one TRACE, and at the end always one END with the result. Both ends are of one version (wire.h's major and minor); sizes are
 * still checked.
 *
 * Who asks sees his own tenants. Those of others he sees only as root, gsbrokerd's own user, or one of
 * control_gid or status_gid; else an engine of another user has neither pid nor uid nor tenants, and
 * the totals of all others are one sum.
 */
#ifndef GSB_BROKER_SUPERVISOR_QUERY_H
#define GSB_BROKER_SUPERVISOR_QUERY_H

#include <assert.h>
#include <stdint.h>

#include "broker/control.h"

enum gsb_query_what {
	GSB_QUERY_STATUS, /* anybody who can open the socket */
	GSB_QUERY_RELOAD, /* this and SHUTDOWN: root, gsbrokerd's own user, control_gid */
	GSB_QUERY_SHUTDOWN,
	GSB_QUERY_TOTALS, /* anybody, as STATUS */
	/* Of one engine: its own user, and who may SHUTDOWN. RECORD comes with the file, open for writing. */
	GSB_QUERY_TRACE_RECORD,
	GSB_QUERY_TRACE_STOP,
	GSB_QUERY_TRACE_LTTNG,	 /* without a pid: also of those that start later, until NO_LTTNG */
	GSB_QUERY_TRACE_NO_LTTNG /* anybody, his own wish; of no engine */
};

#define GSB_HIDDEN UINT32_MAX /* a pid or uid that is not for who asks */

struct gsb_query {
	struct gsb_msg msg;
	uint32_t what; /* enum gsb_query_what */
	uint32_t
		how; /* SHUTDOWN: enum gsb_shutdown_how; TRACE_*: pid of the engine, 0: the only one */
};

enum gsb_answer_kind {
	GSB_ANSWER_BROKER = 1,
	GSB_ANSWER_ENGINE,
	GSB_ANSWER_END,
	GSB_ANSWER_TOTAL,
	GSB_ANSWER_TRACE
};

struct gsb_answer {
	struct gsb_msg msg;
	uint32_t kind; /* enum gsb_answer_kind */
	uint32_t zero;
};

struct gsb_answer_broker {
	struct gsb_answer answer;
	uint32_t pid, uid;
	uint64_t up_ns;			/* real time since it listens */
	uint64_t n_admitted, n_refused; /* clients, since then */
	uint64_t n_engines_died;	/* ended without being asked to */
	uint64_t n_reloads;
	uint32_t n_tenants, n_pending; /* now */
	uint32_t trace_waits;	       /* 1: the next engine is recorded from its beginning */
	uint32_t
		lttng_waits; /* 1: engines that start offer their events to LTTng: who asks has asked for it */
	char version[32], socket[108];
	char device[128], policy[32]; /* of a tenant without a section of its own */
};

/*
 *                     no tenant for idle_timeout_ms
 *   STARTING ---> READY ---> STOPPING ---> (gone)
 *      |            |
 *      +------------+---> DEAD ---> STARTING, at the next tenant of its key
 *        ended by itself   |
 *                          +------> (gone), without one for as long
 */
enum gsb_engine_state {
	GSB_ENGINE_STARTING,
	GSB_ENGINE_READY,
	GSB_ENGINE_STOPPING,
	GSB_ENGINE_DEAD,
	GSB_N_ENGINE_STATES
};

struct gsb_answer_engine {
	struct gsb_answer answer;
	uint32_t pid;		     /* 0: dead */
	uint32_t uid;		     /* whose tenants it serves */
	uint32_t state;		     /* enum gsb_engine_state */
	uint32_t n_waiting;	     /* admitted, and not yet handed over */
	uint32_t n_starts, n_deaths; /* deaths: ended without being asked to */
	int32_t error;		     /* 0: status follows; else why it does not, -errno */
	uint32_t clock;		     /* enum gsb_clock_kind */
	uint32_t n_tenants;	     /* in it, by its status; also those that are hidden */
	uint32_t is_hidden;	     /* 1: it is another user's */
	char device[128], policy[32], isolation[32];
	struct gsb_ctl_status_reply status; /* with its tenants; not sent when error */
};
static_assert(sizeof(struct gsb_answer_engine) + GSB_N_SLOTS * sizeof(struct gsb_ctl_tenant) <=
		      GSB_CHANNEL_MSG_MAX,
	      "the status of a full engine is one message");

/* Tenants of one name and user that have left; the counts are sums of those of struct gsb_ctl_tenant. */
struct gsb_total {
	char tenant[GSB_TENANT_NAME_MAX]; /* "": of all others */
	uint32_t uid;			  /* GSB_HIDDEN: likewise */
	uint32_t zero;
	uint64_t n_left;
	uint64_t n_lost; /* of them: what they did since gsbrokerd last heard of it is not known */
	uint64_t n_refused; /* that were not let in */
	uint64_t records, launches, kernels, copies, fills;
	uint64_t bytes_h2d, bytes_d2h, bytes_d2d;
	uint64_t device_ns, copy_ns, sm_ns, instructions;
	uint64_t wait_ns[GSB_N_WAITED];
	uint64_t device_mem_peak_bytes, host_mem_peak_bytes; /* of one tenant, the largest */
	uint64_t n_late, n_resized, n_shadowed, n_differed;
	uint64_t n_mem_refused, n_errors, charged_ns;
	uint64_t error_ppm, n_predicted, known_ns, alone_ns;
};

struct gsb_answer_total {
	struct gsb_answer answer;
	struct gsb_total total;
};

struct gsb_answer_trace {
	struct gsb_answer answer;
	uint32_t pid; /* of the engine; 0: none yet, it is of the next one */
	uint32_t zero;
	struct gsb_ctl_trace_state state;
};

struct gsb_answer_end {
	struct gsb_answer answer;
	int32_t error; /* -errno */
	uint32_t zero;
	char text[512]; /* a sentence, when there is something to say */
};

#endif
