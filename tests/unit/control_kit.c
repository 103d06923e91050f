/*
 * control_kit.c - see control_kit.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shm/channel.h"
#include "tests/unit/control_kit.h"

void kit_control_receive(struct kit_control *c, enum gsb_ctl_type type, void *m, size_t size)
{
	struct gsb_msg *msg = m;

	kit_settle(&c->k);
	assert_true(gsb_channel_recv(c->brokerd, m, size, NULL, NULL) > 0);
	assert_int_equal(msg->type, type);
}

void kit_control_receive_nothing(struct kit_control *c)
{
	union {
		struct gsb_msg msg;
		uint8_t room[GSB_CHANNEL_MSG_MAX];
	} m;

	kit_settle(&c->k);
	assert_int_equal(gsb_channel_recv(c->brokerd, &m, sizeof(m), NULL, NULL), -EAGAIN);
}

void kit_control_send(struct kit_control *c, struct gsb_msg *m, enum gsb_ctl_type type, size_t size)
{
	gsb_msg_init(m, type, (uint32_t)size);
	assert_int_equal(gsb_channel_send(c->brokerd, m, NULL, 0), 0);
}

void kit_control_expect_ask(struct kit_control *c, uint64_t bytes)
{
	struct gsb_ctl_memory m;

	kit_control_receive(c, GSB_CTL_MEMORY_ASK, &m, sizeof(m));
	assert_int_equal(m.bytes, bytes);
}

void kit_control_expect_return(struct kit_control *c, uint64_t bytes, bool is_recalled)
{
	struct gsb_ctl_memory_return m;

	kit_control_receive(c, GSB_CTL_MEMORY_RETURN, &m, sizeof(m));
	assert_int_equal(m.bytes, bytes);
	assert_int_equal(m.recall, is_recalled);
}

void kit_control_answer(struct kit_control *c, uint64_t bytes, uint64_t free_bytes, int error)
{
	struct gsb_ctl_memory_grant m = {
		.bytes = bytes,
		.free_bytes = free_bytes,
		.total_bytes = c->k.dev->info.total_mem_bytes,
		.answer = 1,
		.error = error,
	};

	kit_control_send(c, &m.msg, GSB_CTL_MEMORY_GRANT, sizeof(m));
	kit_settle(&c->k);
}

void kit_control_grant_all(struct kit_control *c)
{
	struct gsb_ctl_memory_grant m = {
		.bytes = c->k.dev->info.total_mem_bytes,
		.total_bytes = c->k.dev->info.total_mem_bytes,
		.keep = 1,
	};

	kit_control_send(c, &m.msg, GSB_CTL_MEMORY_GRANT, sizeof(m));
	kit_settle(&c->k);
}

void kit_control_init(struct kit_control *c, bool virtual_clock)
{
	struct gsb_ctl_memory open;
	struct gsb_ctl_ready ready;
	int s[2];

	kit_engine_init(&c->k, virtual_clock);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s), 0);
	fcntl(s[0], F_SETFL, O_NONBLOCK);
	c->brokerd = s[0];
	assert_int_equal(gsb_control_init(&c->control, c->k.engine, s[1]), 0);
	kit_control_receive(c, GSB_CTL_MEMORY_OPEN, &open, sizeof(open));
	assert_int_equal(open.bytes, c->k.dev->info.total_mem_bytes);
	kit_control_receive(c, GSB_CTL_READY, &ready, sizeof(ready));
	assert_int_equal(ready.device.total_mem_bytes, c->k.dev->info.total_mem_bytes);
}

void kit_control_finish(struct kit_control *c)
{
	kit_engine_finish(&c->k);
	close(c->brokerd);
	close(c->control.watch.fd);
}
