/*
 * channel.h - messages and file descriptors over a SOCK_SEQPACKET unix socket.
 */
#ifndef GSB_SHM_CHANNEL_H
#define GSB_SHM_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gsb/wire.h"

#define GSB_CHANNEL_FDS_MAX 8
#define GSB_CHANNEL_MSG_MAX 65536 /* bytes of one message */

struct gsb_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
};

/* The path to use: arg if not NULL, $GSB_SOCKET, when not root $XDG_RUNTIME_DIR/gsbroker/socket, the
 * default. */
int gsb_channel_path(const char *arg, char *path, size_t size);

/*
 * gsb_channel_listen() - bind and listen, mode 0660 until the caller changes it
 * A socket file that nobody answers is replaced. -EADDRINUSE: a live process listens there.
 */
int gsb_channel_listen(const char *path, int *fd);
int gsb_channel_connect(const char *path,
			int *fd); /* -ENOENT, -ECONNREFUSED, -EACCES: broker absent or barred */

/*
 * gsb_channel_connect_until() - the same, but no longer than to a time of gsb_clock_ns() (UINT64_MAX: any)
 * -ETIMEDOUT: somebody listens there and accepts nobody.
 */
int gsb_channel_connect_until(const char *path, uint64_t deadline_ns, int *fd);
/* Until something can be received. 0, -ETIMEDOUT, -errno. */
int gsb_channel_await(int fd, uint64_t deadline_ns);
int gsb_channel_peer(int fd, struct gsb_peer *peer);
int gsb_pidfd_open(pid_t pid, int *fd);

/*
 * gsb_channel_peer_pidfd() - a pidfd of the process that connected
 * @pid: of it, as gsb_channel_peer() says    @pidfd: CLOEXEC, the caller's
 *
 * Exact where the kernel tells it (SO_PEERPIDFD, Linux 6.5). Before, the process is looked up by its
 * number: call this as soon as the connection is accepted, because a process that ends in between,
 * having left its socket to another, may see its number used again.
 * Return: 0, -ESRCH, -EINVAL (it has ended, or is of a pid namespace that we cannot see), -errno.
 */
int gsb_channel_peer_pidfd(int fd, pid_t pid, int *pidfd);

/* Fill a message's header in place; type is a gsb_msg_type, or one of broker/control.h. */
void gsb_msg_init(struct gsb_msg *msg, unsigned type, uint32_t size);

/* Send one message with n_fds descriptors, which stay the caller's. Never SIGPIPE. -EAGAIN: full. */
int gsb_channel_send(int fd, const struct gsb_msg *msg, const int *fds, unsigned n_fds);

/* Whether a send that failed so may go through later: it was full, the kernel had no memory, or too many descriptors are under way. */
bool gsb_channel_may_retry(int err);

/*
 * gsb_channel_recv() - one message and its descriptors
 * @buf, @size: room for it; a longer message is -EMSGSIZE
 * @fds, @n_fds: in: room; out: received, CLOEXEC, now the caller's. More than room: all closed,
 *               -EMSGSIZE. Some that this process has no numbers left for: all closed, -EMFILE, and
 *               buf has the message
 * Return: bytes received (a header at least, magic and size checked), 0 on end of file, -EPROTO for
 * what is no message of ours, -EPROTONOSUPPORT for another major version (buf has the header), -errno.
 */
ssize_t gsb_channel_recv(int fd, void *buf, size_t size, int *fds, unsigned *n_fds);

#endif
