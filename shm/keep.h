/*
 * keep.h - descriptors that a library keeps in somebody else's process, which may close them without knowing.
 *
 * A number that the program has closed is soon another file's. So kept descriptors lie high up, where numbers are
 * used last, and each is asked after before something is written to it. An epoll instance knows the very file that
 * was registered under a number, and loses it when that file is closed, so it tells a descriptor from any other, even
 * of the same kind, which fstat() does not: all eventfds have one inode.
 */
#ifndef GSB_SHM_KEEP_H
#define GSB_SHM_KEEP_H

#include <stdbool.h>
#include <sys/epoll.h>

struct gsb_keep {
	int epoll_fd; /* kept like the rest; -1: nothing is, and whatever is asked after is there */
};

int gsb_keep_init(struct gsb_keep *k); /* -errno */

/* Move *fd to a high number and remember it. -errno; *fd is the caller's as before, under its old or its new number. */
int gsb_keep_add(struct gsb_keep *k, int *fd);

/* Whether fd is still the file that was added. Changes errno if not. */
static inline bool gsb_keep_has(struct gsb_keep k, int fd)
{
	static struct epoll_event
		nothing; /* only read; not on the stack, which would want a guard */

	return k.epoll_fd < 0 || !epoll_ctl(k.epoll_fd, EPOLL_CTL_MOD, fd, &nothing);
}

#endif
