/*
 * waiting_trace.c - see waiting_trace.h.
 */
#include "broker/supervisor/waiting_trace.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

/* Of a socket: nobody reads it any more. */
static bool is_dead(int fd)
{
	struct pollfd p = {.fd = fd};

	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

int gsb_waiting_trace_set(struct gsb_waiting_trace *w, int fd, uid_t uid, bool any)
{
	if (w->fd >= 0 && is_dead(w->fd))
		gsb_waiting_trace_drop(w);
	if (w->fd >= 0) {
		close(fd);
		return -EBUSY;
	}
	*w = (struct gsb_waiting_trace){fd, uid, any};
	return 0;
}

int gsb_waiting_trace_take(struct gsb_waiting_trace *w, uid_t uid)
{
	int fd = w->fd;

	if (fd < 0 || (!w->any && w->uid != uid))
		return -1;
	w->fd = -1;
	return fd;
}

void gsb_waiting_trace_drop(struct gsb_waiting_trace *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}
