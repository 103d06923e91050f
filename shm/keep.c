/*
 * keep.c - see keep.h.
 */
#include "shm/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define HIGH	   1000 /* below FD_SETSIZE, and no page more for the kernel's table */
#define N_KEPT_MAX 16

/* From which number on to look for a free one. */
static int lowest(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= HIGH + N_KEPT_MAX)
		return HIGH;
	return limit.rlim_cur > N_KEPT_MAX ? (int)limit.rlim_cur - N_KEPT_MAX : 0;
}

/* A process that has no number left up there keeps the one that it has. */
static void move_up(int *fd)
{
	int high = fcntl(*fd, F_DUPFD_CLOEXEC, lowest());

	if (high < 0)
		return;
	close(*fd);
	*fd = high;
}

int gsb_keep_init(struct gsb_keep *k)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0)
		return -errno;
	move_up(&fd);
	k->epoll_fd = fd;
	return 0;
}

int gsb_keep_add(struct gsb_keep *k, int *fd)
{
	struct epoll_event nothing = {0};

	move_up(fd);
	return epoll_ctl(k->epoll_fd, EPOLL_CTL_ADD, *fd, &nothing) < 0 ? -errno : 0;
}
