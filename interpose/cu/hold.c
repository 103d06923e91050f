/*
 * cu/hold.c - see cu/hold.h.
 */
#include "interpose/cu/hold.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers of Debian 12: 5.11, and write protection of a memfd, 5.19. */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

#define PAGE_BYTES 4096

/* Each has features of its own, and a descriptor that was refused some cannot be asked again. */
static int open_with(int flags, uint64_t features)
{
	struct uffdio_api api = {.api = UFFD_API, .features = features};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | flags);

	if (fd < 0 || !ioctl(fd, UFFDIO_API, &api))
		return fd;
	close(fd);
	return -1;
}

static int open_any(void)
{
	const uint64_t wp = UFFD_FEATURE_PAGEFAULT_FLAG_WP;
	int fd = open_with(0, wp | UFFD_FEATURE_WP_HUGETLBFS_SHMEM);

	if (fd < 0)
		fd = open_with(UFFD_USER_MODE_ONLY, wp | UFFD_FEATURE_WP_HUGETLBFS_SHMEM);
	return fd < 0 ? open_with(UFFD_USER_MODE_ONLY, wp) : fd;
}

void gsb_hold_begin(struct gsb_hold *h)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &h->signals);
	h->fd = open_any();
}

void gsb_hold_end(struct gsb_hold *h)
{
	if (h->fd >= 0)
		close(h->fd); /* whatever is still held is let go with it */
	pthread_sigmask(SIG_SETMASK, &h->signals, NULL);
}

/* A page that is not there cannot be protected: each is written to, and keeps what it has. */
__attribute__((no_sanitize_address)) static void touch(uint64_t addr, uint64_t bytes)
{
	for (uint64_t at = addr; at < addr + bytes; at += PAGE_BYTES)
		atomic_fetch_or((_Atomic uint8_t *)(uintptr_t)at, 0);
}

bool gsb_hold_writers(const struct gsb_hold *h, uint64_t addr, uint64_t bytes)
{
	struct uffdio_register reg = {.range = {addr, bytes}, .mode = UFFDIO_REGISTER_MODE_WP};
	struct uffdio_writeprotect wp = {.range = {addr, bytes},
					 .mode = UFFDIO_WRITEPROTECT_MODE_WP};

	if (h->fd < 0 || ioctl(h->fd, UFFDIO_REGISTER, &reg))
		return false;
	touch(addr, bytes);
	return !ioctl(h->fd, UFFDIO_WRITEPROTECT, &wp);
}

void gsb_hold_let_go(const struct gsb_hold *h, uint64_t addr, uint64_t bytes)
{
	struct uffdio_range range = {addr, bytes};

	if (h->fd >= 0)
		ioctl(h->fd, UFFDIO_WAKE, &range);
}
