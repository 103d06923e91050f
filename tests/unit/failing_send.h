/*
 * failing_send.h - sends of a thread that fail once, as the kernel's may.
 */
#ifndef GSB_TESTS_UNIT_FAILING_SEND_H
#define GSB_TESTS_UNIT_FAILING_SEND_H

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Thread_local int next_send_fails_with; /* an errno; 0: none */

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	errno = next_send_fails_with;
	next_send_fails_with = 0;
	return errno ? -1 : syscall(SYS_sendmsg, fd, m, flags);
}

#endif
