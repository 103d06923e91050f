/*
 * refuse.h - a client that is not let in: one sentence for it, and one line in the log.
 */
#ifndef GSB_BROKER_SUPERVISOR_REFUSE_H
#define GSB_BROKER_SUPERVISOR_REFUSE_H

#include "broker/supervisor/supervisor.h"

/* REFUSED with -errno and reason, and a log line. fd stays the caller's. */
void gsb_refuse(struct gsb_supervisor *s, int fd, pid_t pid, int error, const char *reason);

#endif
