/*
 * loop.h - gsbrokerd's one thread: descriptors that became ready and times that have come.
 *
 * Events are taken from epoll one at a time. That costs a system call an event, which a supervisor
 * can afford, and buys that a handler may destroy any watch or timer, its own included: no event of
 * an earlier look is still to be delivered to it. Without events the thread sleeps; an idle
 * supervisor is never woken.
 */
#ifndef GSB_BROKER_SUPERVISOR_LOOP_H
#define GSB_BROKER_SUPERVISOR_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_loop_watch {
	int fd; /* the owner's; -1 = not watched */
	void (*on_ready)(struct gsb_loop_watch *w, uint32_t events); /* EPOLLIN, ... */
};

struct gsb_timer {
	uint64_t at_ns; /* CLOCK_MONOTONIC; 0 = not set */
	void (*on_time)(struct gsb_timer *t);
	struct gsb_timer *prev, *next;
};

struct gsb_loop {
	int epoll_fd;
	bool stopped;
	struct gsb_loop_watch clock; /* one timerfd for all timers */
	struct gsb_timer *timers;    /* unordered: there are few */
};

int gsb_loop_init(struct gsb_loop *l);
void gsb_loop_finish(struct gsb_loop *l);

/* Handle events until gsb_loop_stop(). Return: 0, -errno. */
int gsb_loop_run(struct gsb_loop *l);
void gsb_loop_stop(struct gsb_loop *l);

/* Begin to watch fd, which the owner closes after gsb_loop_watch_stop. */
int gsb_loop_watch_start(struct gsb_loop *l, struct gsb_loop_watch *w, int fd, uint32_t events);
int gsb_loop_watch_change(struct gsb_loop *l, struct gsb_loop_watch *w, uint32_t events);
/* Takes a watch that is not started too. */
void gsb_loop_watch_stop(struct gsb_loop *l, struct gsb_loop_watch *w);

/* Call on_time once, after_ms from now; a timer that is set is moved. */
void gsb_timer_set(struct gsb_loop *l, struct gsb_timer *t, uint64_t after_ms);
void gsb_timer_clear(struct gsb_loop *l, struct gsb_timer *t);

#endif
