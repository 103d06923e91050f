/*
 * rogue_linger.c - attacks by sockets whose last close() waits longer than anybody has patience, see rogue.h: they go with a
 * message that does not want them, and gsbrokerd or the engine is who closes them last. A newcomer must be served all the same, while we
 * live: what lingers has its end when we end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "broker/supervisor/query.h"
#include "shm/channel.h"
#include "tests/integ/rogue.h"

#define LINGER_S 600 /* ten times what a rogue may take */
#define N_FDS	 (GSB_CHANNEL_FDS_MAX + 2)

/* It has sent more than its peer takes, which reads nothing and stays open. */
static int make_lingering(struct rogue *r)
{
	const struct linger linger = {1, LINGER_S};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(a);
	static char bytes[65536];
	int door = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(door, (struct sockaddr *)&a, size) || listen(door, 1) ||
	    getsockname(door, (struct sockaddr *)&a, &size) ||
	    connect(fd, (struct sockaddr *)&a, size) || accept(door, NULL, NULL) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)))
		rogue_fail(r, "no connection that lingers");
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	return fd;
}

/* A message with what lingers as the last of n descriptors; of that there is no copy then but the message's. */
static void send_lingering(struct rogue *r, int socket, const struct gsb_msg *msg, unsigned n)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * N_FDS)];
	} room = {.header = {CMSG_LEN(sizeof(int) * n), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)msg, .iov_len = msg->size};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &room,
			   .msg_controllen = CMSG_SPACE(sizeof(int) * n)};
	int fds[N_FDS] = {0}, fd = make_lingering(r);

	for (unsigned i = 0; i < n; i++)
		fds[i] = i + 1 < n ? socket : fd;
	memcpy(CMSG_DATA(&room.header), fds, sizeof(int) * n);
	if (sendmsg(socket, &m, MSG_NOSIGNAL) < 0)
		rogue_fail(r, "a message could not be sent");
	close(fd);
}

/*
 * That process stands still while n messages are sent: all are there when it looks, of which it hangs up because of the first, and by
 * then we have closed what we sent.
 */
static void send_all(struct rogue *r, int process, int socket, const struct gsb_msg *msg,
		     unsigned n, unsigned n_fds)
{
	syscall(SYS_pidfd_send_signal, process, SIGSTOP, NULL, 0);
	while (n--)
		send_lingering(r, socket, msg, n_fds);
	syscall(SYS_pidfd_send_signal, process, SIGCONT, NULL, 0);
}

/* ---- at the door ---- */

static int knock(struct rogue *r)
{
	int fd;

	if (gsb_channel_connect(r->path, &fd))
		rogue_fail(r, "no connection to the broker");
	return fd;
}

static void send_hellos(struct rogue *r, int broker, unsigned n, unsigned n_fds)
{
	struct gsb_msg_hello m = {.features_wanted = GSB_FEATURE_STAGING};

	gsb_msg_init(&m.msg, GSB_MSG_HELLO, sizeof(m));
	send_all(r, broker, knock(r), &m.msg, n, n_fds);
}

/* The file of a trace of an engine that there is not. */
static void send_file(struct rogue *r, int broker)
{
	struct gsb_query q = {.what = GSB_QUERY_TRACE_RECORD, .how = UINT32_MAX};

	gsb_msg_init(&q.msg, GSB_MSG_CONTROL, sizeof(q));
	send_all(r, broker, knock(r), &q.msg, 1, 1);
}

static int find_broker(struct rogue *r)
{
	struct gsb_peer broker;
	int process;

	if (gsb_channel_peer(knock(r), &broker) || gsb_pidfd_open(broker.pid, &process))
		rogue_fail(r, "no descriptor of the broker");
	return process;
}

/* A newcomer is told at once that this is no hello. */
static void expect_refusal(struct rogue *r)
{
	struct gsb_msg_refused m;
	int fd = knock(r);

	if (send(fd, "x", 1, MSG_NOSIGNAL) != 1 ||
	    gsb_channel_recv(fd, &m, sizeof(m), NULL, NULL) != sizeof(m) ||
	    m.msg.type != GSB_MSG_REFUSED)
		rogue_fail(r, "a newcomer was not refused");
	rogue_end(r, ROGUE_REFUSED, m.reason);
}

static void attack_door(struct rogue *r)
{
	int broker = find_broker(r);

	r->allowed = ROGUE_MAY(ROGUE_REFUSED);
	switch (r->seed % 4) {
	case 0: send_hellos(r, broker, 1, 1); break;
	case 1: send_hellos(r, broker, 1, N_FDS); break; /* the last has no room */
	case 2: send_hellos(r, broker, 2, 1); break;
	default: send_file(r, broker);
	}
	expect_refusal(r);
}

/* ---- of a tenant ---- */

/* Until the engine says why it has cut us off, which then has to close our socket. */
static void await_reason(struct rogue *r, char reason[sizeof(((struct gsb_msg_cut *)0)->reason)])
{
	struct gsb_msg_cut m;
	ssize_t n;

	do
		n = gsb_channel_recv(r->kt.socket, &m, sizeof(m), NULL, NULL);
	while (n == -ECONNRESET ||
	       (n > 0 && m.msg.type != GSB_MSG_CUT)); /* it left something unread */
	if (n <= 0)
		rogue_fail(r, "cut off without a word");
	memcpy(reason, m.reason, sizeof(m.reason));
}

/* It says hello again: the engine takes it in when nothing is left of what it was, and serves it. */
static void attack_engine(struct rogue *r)
{
	char reason[sizeof(((struct gsb_msg_cut *)0)->reason)];
	struct gsb_msg_host_func m = {.cookie = 1};
	unsigned way = r->seed % 3; /* as at the door */

	r->allowed = ROGUE_MAY(ROGUE_CUT);
	gsb_msg_init(&m.msg, GSB_MSG_HOST_FUNC, sizeof(m));
	send_all(r, r->fds[ROGUE_FD_ENGINE], r->kt.socket, &m.msg, 1 + (way == 2),
		 way == 1 ? N_FDS : 1);
	await_reason(r, reason);
	r->kt = (struct kit_tenant){0};
	rogue_enter(r);
	rogue_settle_in(r);
	rogue_probe(r);
	rogue_end(r, ROGUE_CUT, reason);
}

const struct rogue_kind rogue_linger_kinds[] = {
	{"linger", ROGUE_INSIDE, attack_engine},
	{"linger_door", ROGUE_OUTSIDE, attack_door},
	{NULL},
};
