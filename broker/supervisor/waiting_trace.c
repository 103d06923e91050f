/*
 * waiting_trace.c - see waiting_trace.h.
 */
#include "broker/supervisor/waiting_trace.h"

#include <errno.h>
#include <poll.h>

#include "base/hurry.h"

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
		gsb_hurry_close(fd);
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
	gsb_hurry_close(w->fd);
	w->fd = -1;
}

/* ---- LTTng ---- */

/* n: he has none. */
static unsigned place_of(const struct gsb_lttng_wishes *w, uid_t uid)
{
	unsigned i = 0;

	while (i < w->n && w->at[i].uid != uid)
		i++;
	return i;
}

int gsb_lttng_wishes_add(struct gsb_lttng_wishes *w, uid_t uid, bool any)
{
	unsigned i = place_of(w, uid);

	if (i == GSB_LTTNG_WISHES_MAX)
		return -ENOSPC;
	w->n += i == w->n;
	w->at[i] = (struct gsb_lttng_wish){uid, any};
	return 0;
}

bool gsb_lttng_wishes_remove(struct gsb_lttng_wishes *w, uid_t uid)
{
	unsigned i = place_of(w, uid);

	if (i == w->n)
		return false;
	w->at[i] = w->at[--w->n];
	return true;
}

bool gsb_lttng_wishes_has(const struct gsb_lttng_wishes *w, uid_t uid)
{
	return place_of(w, uid) < w->n;
}

bool gsb_lttng_wishes_want(const struct gsb_lttng_wishes *w, uid_t uid)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->at[i].any || w->at[i].uid == uid)
			return true;
	return false;
}
