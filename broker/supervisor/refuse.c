/*
 * refuse.c - see refuse.h.
 */
#include "broker/supervisor/refuse.h"

#include <stdio.h>

#include "base/log.h"
#include "shm/channel.h"

void gsb_refuse(struct gsb_supervisor *s, int fd, pid_t pid, int error, const char *reason)
{
	struct gsb_msg_refused m = {.error = error};

	gsb_msg_init(&m.msg, GSB_MSG_REFUSED, sizeof(m));
	snprintf(m.reason, sizeof(m.reason), "%s", reason);
	gsb_channel_send(fd, &m.msg, NULL, 0); /* a client that is gone need not hear it */
	gsb_log(GSB_LOG_WARN, "client", "pid %d refused: %s", (int)pid, m.reason);
	s->n_refused++;
}
