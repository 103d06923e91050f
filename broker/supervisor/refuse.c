/*
 * refuse.c - see refuse.h.
 */
#include "broker/supervisor/refuse.h"

#include <stdio.h>

#include "base/log.h"

#define TOPIC "client"

void gsb_refuse_note(struct gsb_supervisor *s, uid_t uid, const char *line)
{
	s->n_refused++;
	gsb_uid_log(&s->refusals, uid, GSB_LOG_WARN, TOPIC, "%s", line);
}

void gsb_refuse(struct gsb_supervisor *s, int fd, const struct gsb_peer *peer, int error,
		const char *reason)
{
	struct gsb_msg_refused m = {.error = error};
	char line[sizeof(m.reason) + 64];

	gsb_msg_init(&m.msg, GSB_MSG_REFUSED, sizeof(m));
	snprintf(m.reason, sizeof(m.reason), "%s", reason);
	gsb_channel_send(fd, &m.msg, NULL, 0); /* a client that is gone need not hear it */
	snprintf(line, sizeof(line), "pid %d of uid %u refused: %s", (int)peer->pid, peer->uid,
		 m.reason);
	gsb_refuse_note(s, peer->uid, line);
}
