/*
 * supervisor.h - what the parts of gsbrokerd share, and which way they call each other.
 *
 *   gsbrokerd.c         the program: signals, reload, shutdown; wires the rest
 *     arguments.c         its command line
 *     paths.c             where its engine and its socket are
 *     service.c           giving up root; telling the service manager
 *     listen.c            the socket: its lock, owner and mode; who comes
 *     client.c            a connection until it is handed to an engine or to the survey, or dropped
 *       admission.c         who may come in: pure
 *     survey.c            answers to gsbctl
 *     metrics.c           answers to Prometheus
 *       exposition.c        their text: pure
 *       http.c              what was asked: pure
 *     engines.c           engines by device and trust domain; tenants on their way to them
 *       mps.c               the daemons of MPS, whose clients engines are with isolation = mps
 *         mps_command.c       telling one of them something
 *         mps_folder.c        where it lives
 *       device_memory.c     how much of a device's memory each engine may hold
 *         ledger.c            the rule of that: pure
 *       engine_process.c    one engine: start, messages, end
 *         spawn.c             its arguments
 *           child.c             another program as a child
 *       tenants.c           who was admitted and is not gone
 *       totals.c            what those had done who are: pure
 *       waiting_trace.c     traces of engines that start next
 *     refuse.c            telling a client, and the log, why it is not let in
 *       uid_limits.c        how often each user may cause a line of the log: pure
 *     outbox.c, loop.c    messages and events
 *
 * A file calls those below it; tests/rooms says which, and lint holds it. What goes up (a client has
 * connected, an engine has answered) goes through a function pointer that the file above has set.
 *
 * One thread, one loop (loop.h). Nothing here waits: not for a client, not for an engine.
 */
#ifndef GSB_BROKER_SUPERVISOR_SUPERVISOR_H
#define GSB_BROKER_SUPERVISOR_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "broker/config/config.h"
#include "broker/supervisor/loop.h"
#include "broker/supervisor/uid_limits.h"

#define GSB_REASON_MAX 256

struct gsb_supervisor {
	struct gsb_loop loop;
	struct gsb_config *config; /* a reload replaces it: keep no pointer into it */
	char socket[108];
	char engine_path[GSB_CONFIG_PATH_MAX];
	uid_t uid; /* after giving up root */
	bool stopping;

	uint64_t start_ns;
	uint64_t n_admitted, n_refused, n_engines_died, n_reloads;
	unsigned n_pending; /* connections without a hello */
	/* Lines of the log: whoever may come may come, break the protocol and come again without end. */
	struct gsb_uid_limits refusals, comings, goings;
};

#endif
