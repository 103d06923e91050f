/*
 * watch.h - descriptors that the engine waits for, all of them at once.
 */
#ifndef GSB_BROKER_ENGINE_WATCH_H
#define GSB_BROKER_ENGINE_WATCH_H

#include <stdint.h>

/* Each descriptor has one of these in its owner's struct. */
struct gsb_watch {
	int fd; /* -1: none */
	void (*on_event)(struct gsb_watch *w, uint32_t events);
};

struct gsb_watches {
	int epoll_fd;
};

int gsb_watches_init(struct gsb_watches *all); /* -errno */
void gsb_watches_finish(struct gsb_watches *all);

/* Have w->on_event called for these EPOLL* events of w->fd; again: change them. -errno. */
int gsb_watches_add(struct gsb_watches *all, struct gsb_watch *w, uint32_t events);
void gsb_watches_remove(struct gsb_watches *all, struct gsb_watch *w); /* fd may be -1 */

/* Wait at most timeout_ns (UINT64_MAX: for ever) and call who has events. It may be over a little early, never late by more than the
 * kernel makes it. */
void gsb_watches_listen(struct gsb_watches *all, uint64_t timeout_ns);

#endif
