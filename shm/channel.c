/*
 * channel.c - see channel.h.
 */
#include "shm/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* newer than the C library of Debian 12 */
#endif

static int copy_path(char *path, size_t size, const char *a, const char *b)
{
	int n = snprintf(path, size, "%s%s", a, b);

	return n < 0 || (size_t)n >= size ||
			       (size_t)n >= sizeof(((struct sockaddr_un *)0)->sun_path)
		       ? -ENAMETOOLONG
		       : 0;
}

int gsb_channel_path(const char *arg, char *path, size_t size)
{
	const char *env = arg ? arg : secure_getenv("GSB_SOCKET");

	if (env && *env)
		return copy_path(path, size, env, "");
	env = geteuid() ? secure_getenv("XDG_RUNTIME_DIR") : NULL;
	if (env && *env)
		return copy_path(path, size, env, "/gsbroker/socket");
	return copy_path(path, size, GSB_SOCKET_DEFAULT, "");
}

static int make_address(const char *path, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	return copy_path(addr->sun_path, sizeof(addr->sun_path), path, "");
}

static int open_socket(int *fd)
{
	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	return *fd < 0 ? -errno : 0;
}

/* What is left until a deadline, at least 1 us: 0 would mean for ever. False: nothing is. */
static bool time_left(uint64_t deadline_ns, struct timeval *left)
{
	uint64_t now = gsb_clock_ns(), us;

	if (now >= deadline_ns)
		return false;
	us = (deadline_ns - now) / 1000 + 1;
	*left = (struct timeval){.tv_sec = (time_t)(us / 1000000),
				 .tv_usec = (suseconds_t)(us % 1000000)};
	return true;
}

/* With a deadline each attempt has what is left, also after a signal. */
static int connect_until(int s, const struct sockaddr_un *addr, uint64_t deadline_ns)
{
	struct timeval left;

	for (;;) {
		if (deadline_ns != UINT64_MAX) {
			if (!time_left(deadline_ns, &left))
				return -ETIMEDOUT;
			setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof(left));
		}
		if (connect(s, (const struct sockaddr *)addr, sizeof(*addr)) == 0)
			return 0;
		if (errno != EINTR)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
	}
}

int gsb_channel_connect_until(const char *path, uint64_t deadline_ns, int *fd)
{
	const struct timeval none = {0};
	struct sockaddr_un addr;
	int s, r = make_address(path, &addr);

	if (r)
		return r;
	r = open_socket(&s);
	if (r)
		return r;
	r = connect_until(s, &addr, deadline_ns);
	if (r) {
		close(s);
		return r;
	}
	setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
	*fd = s;
	return 0;
}

int gsb_channel_connect(const char *path, int *fd)
{
	return gsb_channel_connect_until(path, UINT64_MAX, fd);
}

int gsb_channel_await(int fd, uint64_t deadline_ns)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct timeval left;
	struct timespec t;
	int n;

	do {
		if (!time_left(deadline_ns, &left))
			return -ETIMEDOUT;
		t = (struct timespec){left.tv_sec, left.tv_usec * 1000};
		n = ppoll(&p, 1, &t, NULL);
	} while (n == 0 || (n < 0 && errno == EINTR));
	return n < 0 ? -errno : 0;
}

/*
 * A socket file whose owner is gone answers connect with ECONNREFUSED: only then is it removed. So
 * does a file that is no socket, which is not ours to remove.
 */
static int remove_stale(const char *path)
{
	struct stat st;
	int fd, r;

	if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	r = gsb_channel_connect(path, &fd);
	if (!r) {
		close(fd);
		return -EADDRINUSE;
	}
	if (r != -ECONNREFUSED)
		return r == -ENOENT ? 0 : -EADDRINUSE;
	return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

int gsb_channel_listen(const char *path, int *fd)
{
	struct sockaddr_un addr;
	int s, r = make_address(path, &addr);

	if (!r)
		r = open_socket(&s);
	if (r)
		return r;
	r = bind(s, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
	if (r == -EADDRINUSE) {
		r = remove_stale(path);
		if (!r && bind(s, (struct sockaddr *)&addr, sizeof(addr)) < 0)
			r = -errno;
	}
	if (!r && (chmod(path, 0660) < 0 || listen(s, SOMAXCONN) < 0))
		r = -errno;
	if (r) {
		close(s);
		return r;
	}
	*fd = s;
	return 0;
}

int gsb_channel_peer(int fd, struct gsb_peer *peer)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	*peer = (struct gsb_peer){.pid = cred.pid, .uid = cred.uid, .gid = cred.gid};
	return 0;
}

int gsb_pidfd_open(pid_t pid, int *fd)
{
	int f = (int)syscall(SYS_pidfd_open, pid, 0); /* CLOEXEC by itself */

	if (f < 0)
		return -errno;
	*fd = f;
	return 0;
}

int gsb_channel_peer_pidfd(int fd, pid_t pid, int *pidfd)
{
	socklen_t len = sizeof(*pidfd);
	int got;

	if (pid <= 0)
		return -EINVAL;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &got, &len) == 0) {
		*pidfd = got;
		return 0;
	}
	return errno == ENOPROTOOPT ? gsb_pidfd_open(pid, pidfd) : -errno;
}

void gsb_msg_init(struct gsb_msg *msg, unsigned type, uint32_t size)
{
	*msg = (struct gsb_msg){
		.magic = GSB_WIRE_MAGIC,
		.major = GSB_WIRE_MAJOR,
		.minor = GSB_WIRE_MINOR,
		.type = (uint16_t)type,
		.size = size,
	};
}

union fd_room {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int) * GSB_CHANNEL_FDS_MAX)];
};

int gsb_channel_send(int fd, const struct gsb_msg *msg, const int *fds, unsigned n_fds)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)msg, .iov_len = msg->size};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};
	union fd_room room = {0};
	ssize_t n;

	if (n_fds > GSB_CHANNEL_FDS_MAX)
		return -EINVAL;
	if (n_fds) {
		mh.msg_control = &room;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		room.header.cmsg_level = SOL_SOCKET;
		room.header.cmsg_type = SCM_RIGHTS;
		room.header.cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(&room.header), fds, sizeof(int) * n_fds);
	}
	do
		n = sendmsg(fd, &mh, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

bool gsb_channel_may_retry(int err)
{
	return err == -EAGAIN || err == -ENOBUFS || err == -ENOMEM || err == -ETOOMANYREFS;
}

static void close_all(const int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
}

/* All descriptors of a received message into out (room for GSB_CHANNEL_FDS_MAX); how many. */
static unsigned take_fds(struct msghdr *mh, int *out)
{
	unsigned n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		unsigned here;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		here = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		for (unsigned i = 0; i < here && n < GSB_CHANNEL_FDS_MAX; i++, n++)
			memcpy(&out[n], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
	}
	return n;
}

static int check_message(const struct gsb_msg *msg, size_t n)
{
	if (n < sizeof(*msg) || msg->magic != GSB_WIRE_MAGIC)
		return -EPROTO;
	if (msg->major != GSB_WIRE_MAJOR)
		return -EPROTONOSUPPORT;
	return msg->size == n ? 0 : -EPROTO;
}

static int check_received(const struct msghdr *mh, unsigned n_fds, unsigned max_fds, size_t n)
{
	int r;

	if (mh->msg_flags & MSG_TRUNC || n_fds > max_fds)
		return -EMSGSIZE;
	r = check_message(mh->msg_iov->iov_base, n);
	if (!r && mh->msg_flags & MSG_CTRUNC)
		r = max_fds ? -EMFILE : -EMSGSIZE;
	return r;
}

ssize_t gsb_channel_recv(int fd, void *buf, size_t size, int *fds, unsigned *n_fds)
{
	struct iovec iov = {.iov_base = buf, .iov_len = size};
	union fd_room room = {0};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &room,
			    .msg_controllen = sizeof(room)};
	unsigned got, max = n_fds ? *n_fds : 0;
	int all[GSB_CHANNEL_FDS_MAX], r = 0;
	ssize_t n;

	do
		n = recvmsg(fd, &mh, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	got = take_fds(&mh, all);
	if (n > 0)
		r = check_received(&mh, got, max, (size_t)n);
	if (r || n == 0) {
		close_all(all, got);
		return r;
	}
	if (n_fds) {
		for (unsigned i = 0; i < got; i++)
			fds[i] = all[i];
		*n_fds = got;
	}
	return n;
}
