/*
 * refuse.h - a client that is not let in: one sentence for it, and one line in the log, if its user
 * has not caused too many.
 */
#ifndef GSB_BROKER_SUPERVISOR_REFUSE_H
#define GSB_BROKER_SUPERVISOR_REFUSE_H

#include "broker/supervisor/supervisor.h"
#include "shm/channel.h"

/* REFUSED with -errno and reason, and a log line. fd stays the caller's. */
void gsb_refuse(struct gsb_supervisor *s, int fd, const struct gsb_peer *peer, int error,
		const char *reason);

/* Count the refusal of one of uid's, and log the line that says it. */
void gsb_refuse_note(struct gsb_supervisor *s, uid_t uid, const char *line);

#endif
