/*
 * watch.c - see watch.h.
 */
#include "broker/engine/watch.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EPOLL_BATCH 64

int gsb_watches_init(struct gsb_watches *all)
{
	all->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return all->epoll_fd < 0 ? -errno : 0;
}

void gsb_watches_finish(struct gsb_watches *all)
{
	close(all->epoll_fd);
}

int gsb_watches_add(struct gsb_watches *all, struct gsb_watch *w, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = w};

	if (!epoll_ctl(all->epoll_fd, EPOLL_CTL_ADD, w->fd, &ev))
		return 0;
	if (errno == EEXIST && !epoll_ctl(all->epoll_fd, EPOLL_CTL_MOD, w->fd, &ev))
		return 0;
	return -errno;
}

void gsb_watches_remove(struct gsb_watches *all, struct gsb_watch *w)
{
	if (w->fd >= 0)
		epoll_ctl(all->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
}

void gsb_watches_listen(struct gsb_watches *all, int timeout_ms)
{
	struct epoll_event events[EPOLL_BATCH];
	int n = epoll_wait(all->epoll_fd, events, EPOLL_BATCH, timeout_ms);

	for (int i = 0; i < n; i++) {
		struct gsb_watch *w = events[i].data.ptr;

		w->on_event(w, events[i].events);
	}
}
