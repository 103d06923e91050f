/*
 * rogue_socket.c - attacks by messages: on the socket of a tenant that was let in, and at gsbrokerd's door,
 * see rogue.h.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compiler.h"
#include "broker/supervisor/query.h"
#include "shm/channel.h"
#include "tests/integ/rogue.h"

#define N_FDS_MAX  253 /* of one message: SCM_MAX_FD of the kernel */
#define N_SILENT   200 /* more than pending_max */
#define BYTES_HUGE 150000

static uint8_t room[BYTES_HUGE];

/* Bytes as they are, with as many descriptors as one likes. */
static void send_raw(struct rogue *r, int fd, const void *bytes, size_t size, unsigned n_fds)
{
	static _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * N_FDS_MAX)];
	struct iovec iov = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c = (struct cmsghdr *)control;

	if (n_fds) {
		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		*c = (struct cmsghdr){CMSG_LEN(sizeof(int) * n_fds), SOL_SOCKET, SCM_RIGHTS};
		for (unsigned i = 0; i < n_fds; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
	}
	if (sendmsg(fd, &m, MSG_NOSIGNAL) < 0)
		rogue_fail(r, "a message could not be sent");
}

/* ---- of a tenant ---- */

static void send_garbage(struct rogue *r)
{
	size_t size = 1 + rogue_random(r) % 4096;

	rogue_random_bytes(r, room, size);
	send_raw(r, r->kt.socket, room, size, 0);
}

static void send_huge(struct rogue *r)
{
	gsb_msg_init((struct gsb_msg *)room, GSB_MSG_HOST_FUNC, BYTES_HUGE);
	send_raw(r, r->kt.socket, room, BYTES_HUGE, 0);
}

/* A message that would be right without its descriptors, or is wrong in the header that all messages have. */
static void send_host_func(struct rogue *r, unsigned type, unsigned n_fds, size_t size)
{
	struct gsb_msg_host_func m = {.cookie = rogue_random(r)};

	gsb_msg_init(&m.msg, type, sizeof(m));
	send_raw(r, r->kt.socket, &m, size, n_fds);
}

static void send_full(struct rogue *r)
{
	send_host_func(r, GSB_MSG_HOST_FUNC, N_FDS_MAX, sizeof(struct gsb_msg_host_func));
}

static void send_one_fd(struct rogue *r)
{
	send_host_func(r, GSB_MSG_HOST_FUNC, 1, sizeof(struct gsb_msg_host_func));
}

static void send_part(struct rogue *r)
{
	size_t size = 1 + rogue_random(r) % (sizeof(struct gsb_msg_host_func) - 1);

	send_host_func(r, GSB_MSG_HOST_FUNC, 0, size);
	shutdown(r->kt.socket, SHUT_WR);
}

static void send_other_type(struct rogue *r)
{
	send_host_func(r, (unsigned)rogue_random(r) % 65536 | 8, 0,
		       sizeof(struct gsb_msg_host_func));
}

static void send_unasked(struct rogue *r)
{
	send_host_func(r, GSB_MSG_HOST_FUNC, 0, sizeof(struct gsb_msg_host_func));
}

static void send_other_version(struct rogue *r)
{
	struct gsb_msg_host_func m = {.cookie = 1};

	gsb_msg_init(&m.msg, GSB_MSG_HOST_FUNC, sizeof(m));
	m.msg.major++;
	send_raw(r, r->kt.socket, &m, sizeof(m), 0);
}

static void send_second_hello(struct rogue *r)
{
	struct gsb_msg_hello m = {.features_wanted = GSB_FEATURES_KNOWN};

	gsb_msg_init(&m.msg, GSB_MSG_HELLO, sizeof(m));
	send_raw(r, r->kt.socket, &m, sizeof(m), 0);
}

static void attack_socket(struct rogue *r)
{
	static void (*const sends[])(struct rogue *) = {
		send_garbage,	 send_huge,    send_full,	   send_one_fd,	      send_part,
		send_other_type, send_unasked, send_other_version, send_second_hello,
	};

	r->allowed = ROGUE_MAY(ROGUE_CUT);
	sends[r->seed % GSB_ARRAY_LEN(sends)](r);
	rogue_await_cut(r);
}

/* Right in every word, but without end: its own queue is what fills. Then it hangs up, which is no crime. */
static void attack_flood(struct rogue *r)
{
	r->allowed = ROGUE_MAY(ROGUE_LET_GO);
	for (uint64_t round = 0; round < 4; round++) {
		for (uint64_t i = 0; i < 500; i++)
			kit_host_func(&r->kt, 0, i);
		for (uint64_t i = 0; i < 500; i++)
			rogue_answer_host_func(r, i);
		rogue_drain(r);
	}
	if (r->seed % 2)
		shutdown(r->kt.socket, SHUT_RDWR);
	else
		send_raw(r, r->kt.socket, "", 0, 0);
	rogue_await_farewell(r);
}

/* ---- at the door ---- */

static int knock(struct rogue *r)
{
	int fd;

	if (gsb_channel_connect(r->path, &fd))
		rogue_fail(r, "no connection to the broker");
	return fd;
}

/* What the door says; whatever is said before it closes is read. */
static _Noreturn void await_refusal(struct rogue *r, int fd)
{
	union {
		struct gsb_msg msg;
		struct gsb_msg_refused refused;
		struct gsb_msg_welcome welcome;
	} m;
	ssize_t n = gsb_channel_recv(fd, &m, sizeof(m), NULL, NULL);

	if (n > 0 && m.msg.type == GSB_MSG_REFUSED)
		rogue_end(r, ROGUE_REFUSED, m.refused.reason);
	if (n > 0)
		rogue_fail(r, "it was let in");
	rogue_end(r, ROGUE_REFUSED, "without a word");
}

static void knock_with_garbage(struct rogue *r, int fd)
{
	size_t size = 1 + rogue_random(r) % 4096;

	rogue_random_bytes(r, room, size);
	send_raw(r, fd, room, size, 0);
}

static void knock_with_too_much(struct rogue *r, int fd)
{
	gsb_msg_init((struct gsb_msg *)room, GSB_MSG_HELLO, BYTES_HUGE);
	send_raw(r, fd, room, BYTES_HUGE, 0);
}

static void send_hello(struct rogue *r, int fd, uint64_t features, size_t size, unsigned n_fds)
{
	struct gsb_msg_hello m = {.features_wanted = features, .tenant = "rogue"};

	gsb_msg_init(&m.msg, GSB_MSG_HELLO, sizeof(m));
	send_raw(r, fd, &m, size, n_fds);
}

static void knock_with_descriptors(struct rogue *r, int fd)
{
	send_hello(r, fd, GSB_FEATURE_STAGING, sizeof(struct gsb_msg_hello), N_FDS_MAX);
}

static void knock_with_half_a_hello(struct rogue *r, int fd)
{
	size_t size = 1 + rogue_random(r) % (sizeof(struct gsb_msg_hello) - 1);

	send_hello(r, fd, GSB_FEATURE_STAGING, size, 0);
	shutdown(fd, SHUT_WR);
}

static void knock_with_unknown_features(struct rogue *r, int fd)
{
	send_hello(r, fd, rogue_random(r) | 1ull << 63, sizeof(struct gsb_msg_hello), 0);
}

/* Questions that nobody waits for the answers of. */
static void knock_with_questions(struct rogue *r, int fd)
{
	struct gsb_query q = {.what = GSB_QUERY_STATUS};

	gsb_msg_init(&q.msg, GSB_MSG_CONTROL, sizeof(q));
	for (int i = 0; i < 50; i++) {
		int asking = knock(r);

		send_raw(r, asking, &q, sizeof(q), 0);
		if (i % 2) /* it may have hung up by now */
			send(asking, &q, sizeof(q), MSG_NOSIGNAL);
		close(asking);
	}
	knock_with_garbage(r, fd);
}

/* All stay silent until the last has spoken; the oldest go first. */
static void knock_with_a_crowd(struct rogue *r, int fd)
{
	for (int i = 0; i < N_SILENT; i++)
		knock(r);
	send(fd, "x", 1, MSG_NOSIGNAL); /* it is one of the oldest */
}

static void attack_door(struct rogue *r)
{
	static void (*const knocks[])(struct rogue *, int fd) = {
		knock_with_garbage,	 knock_with_too_much,	      knock_with_descriptors,
		knock_with_half_a_hello, knock_with_unknown_features, knock_with_questions,
		knock_with_a_crowd,
	};
	int fd = knock(r);

	r->allowed = ROGUE_MAY(ROGUE_REFUSED);
	knocks[r->seed % GSB_ARRAY_LEN(knocks)](r, fd);
	await_refusal(r, fd);
}

const struct rogue_kind rogue_socket_kinds[] = {
	{"socket", ROGUE_INSIDE, attack_socket},
	{"flood", ROGUE_INSIDE, attack_flood},
	{"door", ROGUE_OUTSIDE, attack_door},
	{NULL},
};
