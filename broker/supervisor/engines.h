/*
 * engines.h - engines by key, and the tenants on their way to them.
 *
 * An engine belongs to a key: device and trust domain (a uid; with isolation = process or mps, one
 * process of it). It is started when the first tenant of its key is admitted, before any device call, and
 * stays until it has had no tenant for idle_timeout_ms. One that ended by itself is kept as DEAD for
 * as long, with its counts, and started anew for the next tenant; its tenants hear of its death by
 * their own pidfd of it.
 */
#ifndef GSB_BROKER_SUPERVISOR_ENGINES_H
#define GSB_BROKER_SUPERVISOR_ENGINES_H

#include "broker/supervisor/device_memory.h"
#include "broker/supervisor/engine_process.h"
#include "broker/supervisor/starts.h"
#include "broker/supervisor/tenants.h"
#include "broker/supervisor/totals.h"
#include "broker/supervisor/waiting_trace.h"
#include "shm/channel.h"

/*
 * An admission on its way: to an engine that is not ready yet, or handed to one that has not answered it. One that ends before it has, after a fault
 * of another, or passes it, has not taken it in, and the next one gets it: as if it came then, but for its number.
 */
struct gsb_arrival {
	struct gsb_ctl_admit admit;
	int client_fd, pid_fd; /* owned */
	uint64_t since_ns;
	unsigned n_handed; /* to so many engines */
	struct gsb_arrival *prev, *next;
};

struct gsb_served_engine {
	struct gsb_engines *all;
	struct gsb_served_engine *prev, *next;
	struct gsb_timer idle; /* set while it has no tenant */
	bool avoided;	       /* it said that it has orphans: nobody else comes to it */
	pid_t only_pid;	       /* isolation = process or mps: its only tenant; else 0 */
	struct gsb_engine_process process; /* with device and uid, the rest of the key */
	struct gsb_start start;
	struct gsb_arrival *arrivals; /* that wait until it is READY */
	struct gsb_arrival *handed;   /* that wait for its answer */
	uint64_t asked, heard; /* numbers of the last STATUS, and of its last answer; 0: none */
	struct gsb_ctl_status_reply seen; /* that answer, without its tenants: those have theirs */
};

struct gsb_engines {
	struct gsb_supervisor *s;
	struct gsb_served_engine *list;
	unsigned n;
	struct gsb_tenants tenants;
	struct gsb_totals totals; /* of those that have left */
	struct gsb_device_memory memory;
	struct gsb_mps_daemons mps;
	struct gsb_starts starts;
	struct gsb_timer patience; /* set while there are arrivals: those are told to wait */
	struct gsb_waiting_trace waiting_trace;
	struct gsb_lttng_wishes lttng_wishes;
	uint64_t last_survey; /* number of the last STATUS or TRACE */

	/* The survey's: an engine answered, or will not answer any more (status NULL, error), after
	 * which it may be gone. */
	void (*on_answer)(void *survey, struct gsb_served_engine *e,
			  const struct gsb_ctl_status_reply *status, int error);
	/* It has answered a TRACE. */
	void (*on_traced)(void *survey, struct gsb_served_engine *e,
			  const struct gsb_ctl_trace_reply *m);
	void *survey;
	/* The metrics': one has answered, or will not. NULL: nobody wants to know. */
	void (*on_heard)(void *metrics);
	void *metrics;
};

void gsb_engines_init(struct gsb_engines *all, struct gsb_supervisor *s);
void gsb_engines_finish(struct gsb_engines *all); /* the loop has ended */

/*
 * gsb_engines_deliver() - hand an arrival to the engine of its key, which is started if need be
 * @arrival: consumed; its limits are not set yet
 */
void gsb_engines_deliver(struct gsb_engines *all, struct gsb_arrival *arrival);
/*
 * gsb_engines_end_process() - a process says hello: end the tenant that it is already
 *
 * It has become another program, which knows nothing of the first one's memory and streams. That
 * the number is the process's own is sure, because both are watched by pidfd: a tenant of the same
 * number whose process has ended is about to leave anyway.
 */
void gsb_engines_end_process(struct gsb_engines *all, const struct gsb_peer *peer);
/* Ask all engines to stop; when none is left, the loop ends. */
void gsb_engines_stop(struct gsb_engines *all, enum gsb_shutdown_how how);
/* Put STATUS to all that are ready. Returns its number. */
uint64_t gsb_engines_ask(struct gsb_engines *all);
/* Whether all that it was put to have answered it, or are no more. */
bool gsb_engines_have_answered(const struct gsb_engines *all, uint64_t number);
/* Tell engines the limits of their tenants that a reload changed. */
void gsb_engines_relimit(struct gsb_engines *all);

#endif
