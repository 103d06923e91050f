/*
 * loop.c - see loop.h.
 */
#include "broker/supervisor/loop.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/hurry.h"

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull

/* The timerfd at the earliest time, or off. A time that has passed fires at once. */
static void arm(struct gsb_loop *l)
{
	struct itimerspec spec = {{0}};
	uint64_t first = UINT64_MAX;
	struct gsb_timer *t;

	DL_FOREACH (l->timers, t)
		if (t->at_ns < first)
			first = t->at_ns;
	if (l->timers) {
		spec.it_value.tv_sec = (time_t)(first / NS_PER_S);
		spec.it_value.tv_nsec = (long)(first % NS_PER_S);
	}
	timerfd_settime(l->clock.fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* One expired timer a call: its handler may clear others. The timerfd fires again for the rest. */
static void on_clock(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsb_loop *l = gsb_container_of(w, struct gsb_loop, clock);
	uint64_t now = gsb_clock_ns(), ticks;
	struct gsb_timer *t;

	if (read(w->fd, &ticks, sizeof(ticks)) < 0)
		return;
	DL_FOREACH (l->timers, t)
		if (t->at_ns <= now)
			break;
	if (!t) {
		arm(l);
		return;
	}
	gsb_timer_clear(l, t);
	t->on_time(t);
}

int gsb_loop_init(struct gsb_loop *l)
{
	int err, fd;

	err = gsb_hurry_init();
	if (err)
		return err;
	*l = (struct gsb_loop){.clock = {.fd = -1, .on_ready = on_clock}};
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0)
		return -errno;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0) {
		err = -errno;
		goto err_epoll;
	}
	err = gsb_loop_watch_start(l, &l->clock, fd, EPOLLIN);
	if (err)
		goto err_timer;
	return 0;
err_timer:
	close(fd);
err_epoll:
	close(l->epoll_fd);
	return err;
}

void gsb_loop_finish(struct gsb_loop *l)
{
	close(l->clock.fd);
	close(l->epoll_fd);
}

int gsb_loop_run(struct gsb_loop *l)
{
	while (!l->stopped) {
		struct epoll_event e;
		int n = epoll_wait(l->epoll_fd, &e, 1, -1);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 1) {
			struct gsb_loop_watch *w = e.data.ptr;

			w->on_ready(w, e.events);
		}
	}
	return 0;
}

void gsb_loop_stop(struct gsb_loop *l)
{
	l->stopped = true;
}

int gsb_loop_watch_start(struct gsb_loop *l, struct gsb_loop_watch *w, int fd, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = w};

	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0)
		return -errno;
	w->fd = fd;
	return 0;
}

int gsb_loop_watch_change(struct gsb_loop *l, struct gsb_loop_watch *w, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = w};

	return epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, w->fd, &e) < 0 ? -errno : 0;
}

void gsb_loop_watch_stop(struct gsb_loop *l, struct gsb_loop_watch *w)
{
	if (w->fd < 0)
		return;
	epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
	w->fd = -1;
}

void gsb_timer_set(struct gsb_loop *l, struct gsb_timer *t, uint64_t after_ms)
{
	if (!t->at_ns)
		DL_APPEND(l->timers, t);
	t->at_ns = gsb_clock_ns() + after_ms * NS_PER_MS;
	arm(l);
}

void gsb_timer_clear(struct gsb_loop *l, struct gsb_timer *t)
{
	if (!t->at_ns)
		return;
	DL_DELETE(l->timers, t);
	t->at_ns = 0;
	arm(l);
}
