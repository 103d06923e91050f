/*
 * stub_engine.c - an engine without a device, whose behaviour is the name of its device, for the
 * tests of gsbrokerd: what a real engine does only when something is broken.
 *
 *   emu:/ok       READY; WELCOMEs each client; GONE when its process ends
 *   emu:/refuse   READY; refuses each client
 *   emu:/fail     FAILED "the device is on fire", exits 1
 *   emu:/crash    dies before READY
 *   emu:/hang     never READY, ignores SHUTDOWN
 *   emu:/slow     as ok, but not READY before there is a file TMPDIR/go
 *   emu:/full     FAILED for want of room while there is a file TMPDIR/full, then as ok
 *   emu:/faint    as ok, but at an ADMIT it takes away a file TMPDIR/faint, and dies if there was one
 *   emu:/faints   READY; dies at an ADMIT
 *   emu:/sated    as slow, but the first client is all it takes: it stops gsbrokerd, welcomes that one, and dies with the
 *                 next ADMIT unread; when it is started again it is as ok
 *   emu:/passes   as ok, but while there is a file TMPDIR/pass it passes whom it gets
 *   emu:/burdened as ok, but while there is no file TMPDIR/go it says that it has orphans, and answers nobody
 *   emu:/pensive  as ok, but it answers an ADMIT only with the first STATUS after there is a file TMPDIR/go
 *   emu:/mute     READY and WELCOME, then ignores STATUS and SHUTDOWN
 *   emu:/forget   as ok, but never says GONE: gsbrokerd must find out by STATUS
 *   emu:/memory   as ok, on a device of 1,000 MiB: each tenant takes its device_memory before its
 *                 WELCOME, or is refused; a tenant called hoard makes it deaf to RECALL, and one called
 *                 last has it say that it ends, before it is
 *
 * On each a tenant called stuck has a kernel that does not end: STUCK.
 *
 * It prints its arguments and environment on standard error as lines "stub: ...".
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/control.h"

#define CONTROL_FD  3
#define TENANTS_MAX 64

struct stub_tenant {
	uint32_t id, pid;
	int client_fd, pid_fd;
	uint64_t bytes;
};

/* Device memory, as control.h has it; the head of the queue is an ADMIT that waits. */
static struct {
	bool keep, hoards, waits;
	uint64_t grant, used;
	struct gsb_ctl_admit admit;
	int fds[2];
} memory;

static const char *device = "";
static struct stub_tenant tenants[TENANTS_MAX];
static unsigned n_tenants;

static bool is(const char *behaviour)
{
	return !strcmp(device, behaviour);
}

/* In a folder of the test's. */
static bool is_there(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", getenv("TMPDIR"), name);
	return !access(path, F_OK);
}

/* As is_there(); it is not any more. */
static bool take_away(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", getenv("TMPDIR"), name);
	return !unlink(path);
}

static void say_ready(void)
{
	struct gsb_ctl_ready m = {0};

	gsb_msg_init(&m.msg, GSB_CTL_READY, sizeof(m));
	gsb_channel_send(CONTROL_FD, &m.msg, NULL, 0);
}

static void say_failed(int error, const char *reason)
{
	struct gsb_ctl_failed m = {.error = error};

	snprintf(m.reason, sizeof(m.reason), "%s", reason);
	gsb_msg_init(&m.msg, GSB_CTL_FAILED, sizeof(m));
	gsb_channel_send(CONTROL_FD, &m.msg, NULL, 0);
}

static void say_gone(uint32_t id)
{
	struct gsb_ctl_gone m = {.tenant_id = id,
				 .reason = GSB_GONE_EXITED,
				 .last = {.kernels = 7, .device_ns = 1500000}};

	gsb_msg_init(&m.msg, GSB_CTL_GONE, sizeof(m));
	gsb_channel_send(CONTROL_FD, &m.msg, NULL, 0);
}

static void refuse(const struct gsb_ctl_admit *a, int client_fd)
{
	struct gsb_msg_refused r = {.error = -ENOSPC, .reason = "the stub has no room"};
	struct gsb_ctl_refused c = {.tenant_id = a->tenant_id, .error = -ENOSPC};

	gsb_msg_init(&r.msg, GSB_MSG_REFUSED, sizeof(r));
	gsb_channel_send(client_fd, &r.msg, NULL, 0);
	strcpy(c.reason, r.reason);
	gsb_msg_init(&c.msg, GSB_CTL_REFUSED, sizeof(c));
	gsb_channel_send(CONTROL_FD, &c.msg, NULL, 0);
}

static void welcome(const struct gsb_ctl_admit *a, const int fds[2])
{
	struct gsb_msg_welcome w = {.tenant_id = a->tenant_id};
	struct gsb_ctl_admitted m = {.tenant_id = a->tenant_id};

	tenants[n_tenants++] = (struct stub_tenant){a->tenant_id, a->pid, fds[0], fds[1],
						    a->limits.device_mem_bytes};
	gsb_msg_init(&w.msg, GSB_MSG_WELCOME, sizeof(w));
	snprintf(w.device.name, sizeof(w.device.name), "stub for %s, %llu bytes", a->tenant,
		 (unsigned long long)a->limits.staging_bytes);
	gsb_channel_send(fds[0], &w.msg, NULL, 0);
	gsb_msg_init(&m.msg, GSB_CTL_ADMITTED, sizeof(m));
	gsb_channel_send(CONTROL_FD, &m.msg, NULL, 0);
}

static void pass(const struct gsb_ctl_admit *a, const int fds[2])
{
	struct gsb_ctl_refused m = {.tenant_id = a->tenant_id, .error = -EBUSY};

	strcpy(m.reason, "the stub has other things to do");
	gsb_msg_init(&m.msg, GSB_CTL_PASSED, sizeof(m));
	gsb_channel_send(CONTROL_FD, &m.msg, NULL, 0);
	close(fds[0]);
	close(fds[1]);
}

static void say_orphans(void)
{
	struct gsb_ctl_orphans m = {.any = 1};

	gsb_msg_init(&m.msg, GSB_CTL_ORPHANS, sizeof(m));
	gsb_channel_send(CONTROL_FD, &m.msg, NULL, 0);
}

static void say_stuck(void)
{
	struct gsb_msg m;

	gsb_msg_init(&m, GSB_CTL_STUCK, sizeof(m));
	gsb_channel_send(CONTROL_FD, &m, NULL, 0);
}

/* ---- device memory ---- */

static void say_memory(enum gsb_ctl_type type, uint64_t bytes)
{
	struct gsb_ctl_memory m = {.bytes = bytes};

	gsb_msg_init(&m.msg, type, sizeof(m));
	gsb_channel_send(CONTROL_FD, &m.msg, NULL, 0);
}

static void give_back(bool recall)
{
	struct gsb_ctl_memory_return m = {.bytes = memory.grant - memory.used, .recall = recall};

	if (memory.keep || (!m.bytes && !recall))
		return;
	memory.grant = memory.used;
	gsb_msg_init(&m.msg, GSB_CTL_MEMORY_RETURN, sizeof(m));
	gsb_channel_send(CONTROL_FD, &m.msg, NULL, 0);
}

static void try_head(void)
{
	uint64_t bytes = memory.admit.limits.device_mem_bytes;

	if (memory.used + bytes > memory.grant) {
		say_memory(GSB_CTL_MEMORY_ASK, bytes - (memory.grant - memory.used));
		return;
	}
	memory.waits = false;
	memory.used += bytes;
	memory.hoards = !strcmp(memory.admit.tenant, "hoard");
	if (!strcmp(memory.admit.tenant, "last")) {
		say_memory(GSB_CTL_MEMORY_LAST, memory.used);
		memory.hoards = true;
	}
	welcome(&memory.admit, memory.fds);
}

static void on_grant(const struct gsb_ctl_memory_grant *m)
{
	memory.grant += m->bytes;
	memory.keep = m->keep;
	if (m->answer && m->error) {
		fprintf(stderr, "stub: refused memory, %llu of %llu bytes are free\n",
			(unsigned long long)m->free_bytes, (unsigned long long)m->total_bytes);
		memory.waits = false;
		refuse(&memory.admit, memory.fds[0]);
	} else if (m->answer) {
		try_head();
	}
	give_back(false);
}

static void on_recall(void)
{
	if (memory.hoards)
		return;
	memory.keep = false;
	give_back(true);
}

static void on_admit(const struct gsb_ctl_admit *a, const int fds[2])
{
	if (is("emu:/memory")) {
		memory.admit = *a;
		memcpy(memory.fds, fds, sizeof(memory.fds));
		memory.waits = true;
		try_head();
		return;
	}
	if (is("emu:/burdened") && !is_there("go")) {
		say_orphans();
		return;
	}
	if (is("emu:/passes") && is_there("pass"))
		pass(a, fds);
	else if (is("emu:/refuse") || n_tenants == TENANTS_MAX)
		refuse(a, fds[0]);
	else
		welcome(a, fds);
	if (!strcmp(a->tenant, "stuck"))
		say_stuck();
}

static void on_status(uint64_t number)
{
	static _Alignas(16) char room[GSB_CHANNEL_MSG_MAX];
	struct gsb_ctl_status_reply *r = (struct gsb_ctl_status_reply *)room;
	size_t size = sizeof(*r) + n_tenants * sizeof(r->tenants[0]);

	memset(room, 0, size);
	r->number = number;
	strcpy(r->policy, "fifo");
	r->n_tenants = n_tenants;
	for (unsigned i = 0; i < n_tenants; i++) {
		r->tenants[i].tenant_id = tenants[i].id;
		r->tenants[i].pid = tenants[i].pid;
		snprintf(r->tenants[i].tenant, GSB_TENANT_NAME_MAX, "t%u", tenants[i].id);
		strcpy(r->tenants[i].program, "stub");
		strcpy(r->tenants[i].running_kernel, "busy_kernel");
		r->tenants[i].running_ns = 2500;
		r->tenants[i].in_flight = 3;
		r->tenants[i].kernels = 7;
		r->tenants[i].device_ns = 1500000;
	}
	gsb_msg_init(&r->msg, GSB_CTL_STATUS_REPLY, (uint32_t)size);
	gsb_channel_send(CONTROL_FD, &r->msg, NULL, 0);
}

static void on_limits(const struct gsb_ctl_limits *m)
{
	fprintf(stderr, "stub: limits of %u: staging %llu\n", m->tenant_id,
		(unsigned long long)m->limits.staging_bytes);
}

static void leave(unsigned i)
{
	if (!is("emu:/forget"))
		say_gone(tenants[i].id);
	memory.used -= is("emu:/memory") ? tenants[i].bytes : 0;
	give_back(false);
	close(tenants[i].client_fd);
	close(tenants[i].pid_fd);
	tenants[i] = tenants[--n_tenants];
}

static void on_end(uint32_t id)
{
	for (unsigned i = 0; i < n_tenants; i++)
		if (tenants[i].id == id) {
			leave(i);
			return;
		}
}

static struct {
	struct gsb_ctl_admit admit;
	int fds[2];
	bool any;
} unanswered;

static void answer_at_last(void)
{
	if (!unanswered.any || !is_there("go"))
		return;
	welcome(&unanswered.admit, unanswered.fds);
	unanswered.any = false;
}

/* Until something more is there to be read. */
static void await_next(void)
{
	struct pollfd next = {.fd = CONTROL_FD, .events = POLLIN};

	poll(&next, 1, -1);
}

/* Return: false when it is time to end. */
static bool on_control(void)
{
	static _Alignas(16) char buf[GSB_CHANNEL_MSG_MAX];
	struct gsb_msg *m = (struct gsb_msg *)buf;
	int fds[2];
	unsigned n_fds = 2;
	ssize_t n = gsb_channel_recv(CONTROL_FD, buf, sizeof(buf), fds, &n_fds);

	if (n == -EAGAIN)
		return true;
	if (n <= 0)
		return false;
	if (m->type == GSB_CTL_ADMIT && is("emu:/sated") && n_fds == 2 && !take_away("fed")) {
		await_next();
		kill(getppid(), SIGSTOP);
		welcome((const void *)m, fds);
		return false;
	}
	if (m->type == GSB_CTL_ADMIT && is("emu:/pensive") && n_fds == 2) {
		unanswered.admit = *(const struct gsb_ctl_admit *)m;
		memcpy(unanswered.fds, fds, sizeof(fds));
		unanswered.any = true;
		return true;
	}
	if (m->type == GSB_CTL_STATUS)
		answer_at_last();
	if (m->type == GSB_CTL_ADMIT &&
	    (is("emu:/faints") || (is("emu:/faint") && take_away("faint"))))
		return false;
	if (m->type == GSB_CTL_ADMIT && n_fds == 2)
		on_admit((const void *)m, fds);
	else if (m->type == GSB_CTL_STATUS && !is("emu:/mute"))
		on_status(((const struct gsb_ctl_status *)m)->number);
	else if (m->type == GSB_CTL_LIMITS)
		on_limits((const void *)m);
	else if (m->type == GSB_CTL_END)
		on_end(((const struct gsb_ctl_end *)m)->tenant_id);
	else if (m->type == GSB_CTL_MEMORY_GRANT)
		on_grant((const void *)m);
	else if (m->type == GSB_CTL_MEMORY_RECALL)
		on_recall();
	else if (m->type == GSB_CTL_SHUTDOWN)
		return is("emu:/hang") || is("emu:/mute");
	return true;
}

static void serve(void)
{
	struct pollfd p[1 + TENANTS_MAX];

	for (;;) {
		p[0] = (struct pollfd){.fd = CONTROL_FD, .events = POLLIN};
		for (unsigned i = 0; i < n_tenants; i++)
			p[1 + i] = (struct pollfd){.fd = tenants[i].pid_fd, .events = POLLIN};
		if (poll(p, 1 + n_tenants, -1) < 0)
			return;
		for (unsigned i = n_tenants; i-- > 0;)
			if (p[1 + i].revents)
				leave(i);
		if (p[0].revents && !on_control())
			return;
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		fprintf(stderr, "stub: argument %s\n", argv[i]);
		if (!strncmp(argv[i], "--device=", 9))
			device = argv[i] + 9;
	}
	for (char **v = environ; *v; v++)
		fprintf(stderr, "stub: environment %s\n", *v);
	for (int fd = 4; fd < 64; fd++)
		if (lseek(fd, 0, SEEK_CUR) >= 0 || errno != EBADF)
			fprintf(stderr, "stub: inherited descriptor %d\n", fd);
	if (is("emu:/crash"))
		abort();
	if (is("emu:/fail")) {
		say_failed(-EIO, "the device is on fire");
		return 1;
	}
	if (is("emu:/full") && is_there("full")) {
		say_failed(-EBUSY, "the device is full");
		return 1;
	}
	while ((is("emu:/slow") || is("emu:/sated")) && !is_there("go"))
		poll(NULL, 0, 5);
	if (is("emu:/memory"))
		say_memory(GSB_CTL_MEMORY_OPEN, 1000ull << 20);
	if (!is("emu:/hang"))
		say_ready();
	serve();
	return 0;
}
