/*
 * watch.c - see watch.h.
 */
#include "broker/engine/watch.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/hurry.h"

#define EPOLL_BATCH 64
#define NS_PER_MS   1000000

int gsb_watches_init(struct gsb_watches *all)
{
	int err = gsb_hurry_init();

	if (err)
		return err;
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

/*
 * epoll counts in milliseconds, so what is shorter than two of them is waited for by ppoll, and of the rest the whole ones by epoll: who comes back
 * early comes again.
 */
static int wait_for_events(const struct gsb_watches *all, struct epoll_event *events,
			   uint64_t timeout_ns)
{
	struct pollfd any = {.fd = all->epoll_fd, .events = POLLIN};
	const struct timespec t = {.tv_nsec = (long)timeout_ns};
	uint64_t ms = timeout_ns / NS_PER_MS;

	if (timeout_ns == UINT64_MAX)
		return epoll_wait(all->epoll_fd, events, EPOLL_BATCH, -1);
	if (ms >= 2)
		return epoll_wait(all->epoll_fd, events, EPOLL_BATCH,
				  ms < INT32_MAX ? (int)ms : INT32_MAX);
	if (timeout_ns && ppoll(&any, 1, &t, NULL) <= 0)
		return 0;
	return epoll_wait(all->epoll_fd, events, EPOLL_BATCH, 0);
}

void gsb_watches_listen(struct gsb_watches *all, uint64_t timeout_ns)
{
	struct epoll_event events[EPOLL_BATCH];
	int n = wait_for_events(all, events, timeout_ns);

	for (int i = 0; i < n; i++) {
		struct gsb_watch *w = events[i].data.ptr;

		w->on_event(w, events[i].events);
	}
}
