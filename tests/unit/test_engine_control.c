/*
 * test_engine_control.c - an engine as gsbrokerd sees it: the messages of broker/control.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shm/channel.h"
#include "tests/unit/control_kit.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/failing_send.h"

struct fixture {
	struct kit_control c;
	int client, pidfd_write; /* a client's ends */
	int others[2];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	kit_control_init(&f->c, false);
	kit_control_grant_all(&f->c);
	kit_device_auto(f->c.k.dev);
	f->client = f->pidfd_write = -1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->client >= 0)
		close(f->client);
	if (f->pidfd_write >= 0)
		close(f->pidfd_write);
	for (int i = 0; i < GSB_N_SLOTS; i++) /* who failed held somebody up */
		if (f->c.k.engine->tenants[i])
			f->c.k.engine->tenants[i]->n_jobs = f->c.k.engine->tenants[i]->n_in_flight =
				0;
	kit_control_finish(&f->c);
	free(f);
	return 0;
}

/* A client that gsbrokerd admitted, handed over. */
static void hand_over_process(struct fixture *f, uint32_t pid, uint32_t id, uint64_t features)
{
	struct gsb_ctl_admit a = {.tenant_id = id, .pid = pid, .uid = 1000, .tenant = "etl"};
	int sockets[2], pipes[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets), 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	f->client = sockets[0];
	f->pidfd_write = pipes[1];
	a.hello.features_wanted = features;
	strcpy(a.hello.program, "gpu_db");
	gsb_msg_init(&a.msg, (enum gsb_msg_type)GSB_CTL_ADMIT, sizeof(a));
	assert_int_equal(
		gsb_channel_send(f->c.brokerd, &a.msg, (const int[]){sockets[1], pipes[0]}, 2), 0);
	close(sockets[1]);
	close(pipes[0]);
}

static void hand_over(struct fixture *f, uint32_t id, uint64_t features)
{
	hand_over_process(f, 1000 + id, id, features);
}

static void test_admitted_tenant_is_welcomed_shown_and_gone(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_admitted admitted;
	struct gsb_ctl_status ask = {.number = 5};
	struct gsb_ctl_gone gone;
	struct gsb_msg_welcome welcome;
	union {
		struct gsb_ctl_status_reply r;
		uint8_t room[GSB_CHANNEL_MSG_MAX];
	} status;
	int fds[GSB_CHANNEL_FDS_MAX];
	unsigned n_fds = GSB_CHANNEL_FDS_MAX;

	hand_over(f, 31, GSB_FEATURE_STAGING);
	kit_control_receive(&f->c, GSB_CTL_ADMITTED, &admitted, sizeof(admitted));
	assert_int_equal(admitted.tenant_id, 31);
	assert_int_equal(gsb_channel_recv(f->client, &welcome, sizeof(welcome), fds, &n_fds),
			 sizeof(welcome));
	assert_int_equal(welcome.tenant_id, 31);
	assert_int_equal(welcome.features, GSB_FEATURE_STAGING);
	assert_int_equal(n_fds, 4); /* no host window was asked for */
	while (n_fds)
		close(fds[--n_fds]);
	kit_control_send(&f->c, &ask.msg, GSB_CTL_STATUS, sizeof(ask));
	kit_control_receive(&f->c, GSB_CTL_STATUS_REPLY, &status, sizeof(status));
	assert_int_equal(status.r.number, 5);
	assert_int_equal(status.r.n_tenants, 1);
	assert_string_equal(status.r.policy, "fifo");
	assert_string_equal(status.r.tenants[0].tenant, "etl");
	assert_string_equal(status.r.tenants[0].program, "gpu_db");
	assert_int_equal(status.r.tenants[0].pid, 1031);
	close(f->pidfd_write);
	f->pidfd_write = -1;
	kit_control_receive(&f->c, GSB_CTL_GONE, &gone, sizeof(gone));
	assert_int_equal(gone.tenant_id, 31);
	assert_int_equal(gone.reason, GSB_GONE_EXITED);
}

static bool nobody_is_told(int client)
{
	struct gsb_msg_welcome welcome;

	return gsb_channel_recv(client, &welcome, sizeof(welcome), NULL, NULL) == -EAGAIN;
}

/* Else an engine that is killed in between would leave a client that is served twice: gsbrokerd hands it on. */
static void test_gsbrokerd_hears_of_an_admission_before_the_client(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_admitted admitted;
	struct gsb_ctl_refused refused;

	hand_over(f, 31, GSB_FEATURE_STAGING);
	close(f->client); /* so the welcome fails */
	f->client = -1;
	kit_control_receive(&f->c, GSB_CTL_ADMITTED, &admitted, sizeof(admitted));
	assert_int_equal(admitted.tenant_id, 31);
	kit_control_receive(&f->c, GSB_CTL_REFUSED, &refused, sizeof(refused));
	assert_int_equal(refused.tenant_id, 31);
	assert_int_equal(refused.error, -EPIPE);
	assert_int_equal(f->c.k.engine->n_tenants, 0);
}

/* The client's socket is lost then: only gsbrokerd can tell it so. */
static void test_engine_without_descriptors_passes_who_comes(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_admitted admitted;
	struct gsb_ctl_refused passed;
	rlim_t limit;

	hand_over(f, 31, GSB_FEATURE_STAGING);
	limit = limit_descriptors(0);
	kit_control_receive(&f->c, GSB_CTL_PASSED, &passed, sizeof(passed));
	limit_descriptors(limit);
	assert_int_equal(passed.tenant_id, 31);
	assert_int_equal(passed.error, -EMFILE);
	assert_non_null(strstr(passed.reason, "a higher ulimit -n"));
	close(f->client);
	close(f->pidfd_write);
	hand_over(f, 32, GSB_FEATURE_STAGING);
	kit_control_receive(&f->c, GSB_CTL_ADMITTED, &admitted, sizeof(admitted));
	assert_int_equal(admitted.tenant_id, 32);
}

/* Else who asked would hear after some seconds that the engine is busy. */
static void test_recording_whose_file_is_lost_on_its_way_is_answered(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_trace m = {.number = 5, .what = GSB_TRACE_WHAT_RECORD};
	struct gsb_ctl_trace_reply reply;
	rlim_t limit;

	gsb_msg_init(&m.msg, GSB_CTL_TRACE, sizeof(m));
	assert_int_equal(gsb_channel_send(f->c.brokerd, &m.msg, &f->c.brokerd, 1), 0);
	limit = limit_descriptors(0);
	kit_control_receive(&f->c, GSB_CTL_TRACE_REPLY, &reply, sizeof(reply));
	limit_descriptors(limit);
	assert_int_equal(reply.number, 5);
	assert_int_equal(reply.error, -EMFILE);
	assert_non_null(strstr(reply.reason, "start gsbrokerd with a higher ulimit -n"));
	kit_control_send(&f->c, &m.msg, GSB_CTL_TRACE, sizeof(m)); /* and now there are some */
	kit_control_receive(&f->c, GSB_CTL_TRACE_REPLY, &reply, sizeof(reply));
	assert_int_equal(reply.error, -EMFILE);
}

static struct gsb_ctl_tenant shown(struct fixture *f)
{
	struct gsb_ctl_status ask = {.number = 6};
	union {
		struct gsb_ctl_status_reply r;
		uint8_t room[GSB_CHANNEL_MSG_MAX];
	} status;

	kit_control_send(&f->c, &ask.msg, GSB_CTL_STATUS, sizeof(ask));
	kit_control_receive(&f->c, GSB_CTL_STATUS_REPLY, &status, sizeof(status));
	assert_int_equal(status.r.n_tenants, 1);
	return status.r.tenants[0];
}

static uint64_t ran_for_a_second(struct gsb_queue *queue)
{
	return 1000000000;
}

static void test_what_runs_is_shown_and_in_the_end_what_ran(void **state)
{
	struct fixture *f = *state;
	struct kit_device *d = f->c.k.dev;
	struct gsb_ctl_gone gone;
	struct kit_tenant t;
	uint64_t p;

	kit_tenant_init(&t, &f->c.k, NULL);
	kit_load_inc(&t, 0, 0);
	p = kit_alloc(&t, 64);
	d->automatic = false;
	kit_stream_create(&t, 1, GSB_STREAM_NON_BLOCKING);
	kit_fill(&t, 1, p);
	assert_string_equal(shown(f).running_kernel, ""); /* a fill is no kernel */
	assert_int_equal(shown(f).in_flight, 1);
	kit_launch_inc(&t, 0, 0, p, 1);
	kit_settle(&f->c.k);
	d->now_ns += 2500;
	assert_int_equal(shown(f).in_flight, 2);
	assert_string_equal(shown(f).running_kernel, "inc");
	assert_int_equal(shown(f).running_ns, 2500);
	d->ops.ran_ns = ran_for_a_second;
	assert_int_equal(shown(f).running_ns, 1000000000);
	kit_complete(d, 1, CUDA_SUCCESS, d->now_ns);
	assert_string_equal(shown(f).running_kernel, "");
	assert_int_equal(shown(f).running_ns, 0);
	kit_complete(d, 0, CUDA_SUCCESS, d->now_ns);
	kit_tenant_finish(&t);
	kit_control_receive(&f->c, GSB_CTL_GONE, &gone, sizeof(gone));
	assert_string_equal(gone.last.tenant, "kit");
	assert_int_equal(gone.last.kernels, 1);
	assert_int_equal(gone.last.fills, 1);
}

static void test_kernel_that_was_issued_first_is_shown(void **state)
{
	struct fixture *f = *state;
	struct kit_device *d = f->c.k.dev;
	struct kit_tenant t;
	uint64_t p;

	kit_tenant_init(&t, &f->c.k, NULL);
	kit_load_inc(&t, 0, 0);
	p = kit_alloc(&t, 64);
	d->automatic = false;
	for (uint32_t i = 1; i < 4; i++) {
		kit_stream_create(&t, i, GSB_STREAM_NON_BLOCKING);
		kit_launch_inc(&t, i, 0, p, 1);
		kit_settle(&f->c.k);
		d->now_ns += 100;
	}
	kit_complete(d, 0, CUDA_SUCCESS, d->now_ns);
	kit_launch_inc(&t, 1, 0, p, 1); /* in the place of the first */
	kit_settle(&f->c.k);
	assert_int_equal(shown(f).running_ns, 200);
	kit_device_auto(d);
	for (unsigned i = 1; i < 4; i++)
		kit_complete(d, i, CUDA_SUCCESS, d->now_ns);
	kit_tenant_finish(&t);
}

static void test_library_of_another_build_is_refused_with_the_remedy(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_refused refused;
	struct gsb_msg_refused told;

	hand_over(f, 32, GSB_FEATURE_STAGING | 1ull << 40);
	kit_control_receive(&f->c, GSB_CTL_REFUSED, &refused, sizeof(refused));
	assert_int_equal(refused.error, -EPROTONOSUPPORT);
	assert_int_equal(gsb_channel_recv(f->client, &told, sizeof(told), NULL, NULL),
			 sizeof(told));
	assert_int_equal(told.msg.type, GSB_MSG_REFUSED);
	assert_non_null(strstr(told.reason, "of different builds; install one of both"));
}

static void test_draining_engine_refuses_and_says_so(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_shutdown down = {.how = GSB_SHUTDOWN_DRAIN};
	struct gsb_ctl_refused refused;

	kit_control_send(&f->c, &down.msg, GSB_CTL_SHUTDOWN, sizeof(down));
	kit_settle(&f->c.k);
	assert_false(f->c.control.stop);
	hand_over(f, 33, GSB_FEATURE_STAGING);
	kit_control_receive(&f->c, GSB_CTL_REFUSED, &refused, sizeof(refused));
	assert_int_equal(refused.error, -ESHUTDOWN);
}

static void test_shutdown_now_and_end_of_file_stop_the_engine(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_shutdown down = {.how = GSB_SHUTDOWN_NOW};

	kit_control_send(&f->c, &down.msg, GSB_CTL_SHUTDOWN, sizeof(down));
	kit_settle(&f->c.k);
	assert_true(f->c.control.stop);
	f->c.control.stop = false;
	shutdown(f->c.brokerd, SHUT_WR);
	kit_settle(&f->c.k);
	assert_true(f->c.control.stop);
}

#define N_ASKED 400

/* Ask for status until the engine's answers find no room, and go on. */
static void fill_socket(struct fixture *f)
{
	struct gsb_ctl_status ask = {0};

	for (ask.number = 0; ask.number < N_ASKED; ask.number++) {
		kit_control_send(&f->c, &ask.msg, GSB_CTL_STATUS, sizeof(ask));
		kit_settle(&f->c.k);
	}
	assert_non_null(f->c.control.kept);
}

union any_message {
	struct gsb_msg msg;
	struct gsb_ctl_status_reply reply;
	struct gsb_ctl_gone gone;
	uint8_t room[GSB_CHANNEL_MSG_MAX];
};

/* The answers to all that fill_socket asked, in order. */
static void read_answers(struct fixture *f, union any_message *m)
{
	for (unsigned i = 0; i < N_ASKED; i++) {
		assert_true(gsb_channel_recv(f->c.brokerd, m, sizeof(*m), NULL, NULL) > 0);
		assert_int_equal(m->msg.type, GSB_CTL_STATUS_REPLY);
		assert_int_equal(m->reply.number, i);
		kit_settle(&f->c.k);
	}
}

/* Else who asked beside many others would wait in vain: gsbrun for a second, before the program begins. */
static void test_everybody_who_asks_at_once_is_answered(void **state)
{
	struct fixture *f = *state;
	union any_message m;

	fill_socket(f);
	read_answers(f, &m);
	kit_control_receive_nothing(&f->c);
}

/* Else it would count against its user's limit, and keep its engine from being idle, until somebody asks. */
static void test_gone_is_said_when_the_socket_has_room_again(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_admitted admitted;
	union any_message m;

	hand_over(f, 34, GSB_FEATURE_STAGING);
	kit_control_receive(&f->c, GSB_CTL_ADMITTED, &admitted, sizeof(admitted));
	fill_socket(f);
	close(f->pidfd_write);
	f->pidfd_write = -1;
	kit_settle(&f->c.k);
	assert_int_equal(f->c.k.engine->n_tenants, 0);
	read_answers(f, &m);
	assert_true(gsb_channel_recv(f->c.brokerd, &m, sizeof(m), NULL, NULL) > 0);
	assert_int_equal(m.msg.type, GSB_CTL_GONE);
	assert_int_equal(m.gone.tenant_id, 34);
	kit_control_receive_nothing(&f->c);
}

/* Else an engine that is killed before there is room would leave a client that is served twice, too. */
static void test_client_is_welcomed_when_gsbrokerd_can_hear_of_it(void **state)
{
	struct fixture *f = *state;
	union any_message m;

	fill_socket(f);
	hand_over(f, 34, GSB_FEATURE_STAGING);
	kit_settle(&f->c.k);
	assert_true(nobody_is_told(f->client));
	assert_int_equal(f->c.k.engine->n_tenants, 0);
	read_answers(f, &m);
	assert_true(gsb_channel_recv(f->c.brokerd, &m, sizeof(m), NULL, NULL) > 0);
	assert_int_equal(m.msg.type, GSB_CTL_ADMITTED);
	assert_false(nobody_is_told(f->client));
	assert_int_equal(f->c.k.engine->n_tenants, 1);
	assert_null(f->c.control.waiting);
	kit_control_receive_nothing(&f->c);
}

/* A request that no engine knows: it is answered. */
static void ask_for_nothing(struct fixture *f)
{
	struct gsb_ctl_trace m = {.number = 5, .what = UINT32_MAX};

	kit_control_send(&f->c, &m.msg, GSB_CTL_TRACE, sizeof(m));
}

/* Of what the kernel has no memory for, too; and what comes then, comes behind it. */
static void test_what_the_kernel_has_no_memory_for_is_said_later(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_trace_reply reply;
	struct gsb_ctl_admitted admitted;

	ask_for_nothing(f);
	hand_over(f, 34, GSB_FEATURE_STAGING);
	next_send_fails_with = ENOBUFS;
	kit_settle(&f->c.k);
	kit_control_receive(&f->c, GSB_CTL_TRACE_REPLY, &reply, sizeof(reply));
	assert_int_equal(reply.number, 5);
	kit_control_receive(&f->c, GSB_CTL_ADMITTED, &admitted, sizeof(admitted));
	kit_control_receive_nothing(&f->c);
}

static void end_tenant(struct fixture *f, uint32_t id)
{
	struct gsb_ctl_end m = {.tenant_id = id};

	kit_control_send(&f->c, &m.msg, GSB_CTL_END, sizeof(m));
}

/* Its process lives on, as another program. */
static void test_tenant_whose_process_executed_another_program_ends(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_admitted admitted;
	struct gsb_ctl_gone gone;

	hand_over(f, 34, GSB_FEATURE_STAGING);
	kit_control_receive(&f->c, GSB_CTL_ADMITTED, &admitted, sizeof(admitted));
	end_tenant(f, 35); /* has left already */
	end_tenant(f, 34);
	kit_control_receive(&f->c, GSB_CTL_GONE, &gone, sizeof(gone));
	assert_int_equal(gone.tenant_id, 34);
	assert_int_equal(gone.reason, GSB_GONE_EXITED);
	assert_int_equal(f->c.k.engine->n_tenants, 0);
}

/* Else its first allocation could be refused for what is just being given back. */
static void test_process_that_executed_another_program_waits_for_its_own_end(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_admitted admitted;
	struct gsb_ctl_gone gone;
	struct gsb_tenant *was;

	hand_over_process(f, 77, 34, GSB_FEATURE_STAGING);
	kit_control_receive(&f->c, GSB_CTL_ADMITTED, &admitted, sizeof(admitted));
	close(f->client);
	close(f->pidfd_write);
	was = f->c.k.engine->tenants[admitted.slot];
	was->n_jobs++; /* so it cannot be gone yet */
	end_tenant(f, 34);
	hand_over_process(f, 77, 35, GSB_FEATURE_STAGING);
	kit_control_receive_nothing(&f->c);
	was->n_jobs--;
	kit_control_receive(&f->c, GSB_CTL_GONE, &gone, sizeof(gone));
	assert_int_equal(gone.tenant_id, 34);
	kit_control_receive(&f->c, GSB_CTL_ADMITTED, &admitted, sizeof(admitted));
	assert_int_equal(admitted.tenant_id, 35);
}

/* The process goes on and on: who waits for its own end may be over before it has begun. */
static void test_who_waits_for_its_own_end_may_end_itself(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_limits limits = {.tenant_id = 36, .limits = {.device_mem_bytes = 4096}};
	struct gsb_ctl_admitted admitted = {0};
	struct gsb_ctl_gone gone;
	struct gsb_tenant *was;

	for (uint32_t id = 34; id <= 36; id++) {
		hand_over_process(f, 77, id, GSB_FEATURE_STAGING);
		if (id == 34)
			kit_control_receive(&f->c, GSB_CTL_ADMITTED, &admitted, sizeof(admitted));
		was = f->c.k.engine->tenants[admitted.slot];
		was->n_jobs = 1; /* so it cannot be gone yet */
		if (id < 36) {
			f->others[id - 34] = f->client; /* a child has it still */
			close(f->pidfd_write);
			end_tenant(f, id);
			kit_settle(&f->c.k);
		}
	}
	kit_control_send(&f->c, &limits.msg, GSB_CTL_LIMITS, sizeof(limits));
	kit_control_receive(&f->c, GSB_CTL_GONE, &gone, sizeof(gone));
	assert_int_equal(gone.tenant_id, 35);
	assert_int_equal(gone.reason, GSB_GONE_EXITED);
	was->n_jobs = 0;
	kit_control_receive(&f->c, GSB_CTL_GONE, &gone, sizeof(gone));
	assert_int_equal(gone.tenant_id, 34);
	kit_control_receive(&f->c, GSB_CTL_ADMITTED, &admitted, sizeof(admitted));
	assert_int_equal(admitted.tenant_id, 36);
	assert_int_equal(f->c.k.engine->tenants[admitted.slot]->limits.device_mem_bytes, 4096);
	kit_control_receive_nothing(&f->c);
	close(f->others[0]);
	close(f->others[1]);
}

/* Else who executes another program, and leaves a kernel that does not end, waits for as long as a neighbour lives. */
static void test_who_waits_for_an_orphan_is_passed(void **state)
{
	struct fixture *f = *state;
	struct gsb_engine *e = f->c.k.engine;
	struct gsb_ctl_admitted admitted;
	struct gsb_ctl_orphans orphans;
	struct gsb_ctl_refused passed;
	struct gsb_tenant *was;

	f->c.k.dev->ops.space_cancel = NULL;
	hand_over_process(f, 77, 34, GSB_FEATURE_STAGING);
	kit_control_receive(&f->c, GSB_CTL_ADMITTED, &admitted, sizeof(admitted));
	close(f->client);
	close(f->pidfd_write);
	was = e->tenants[admitted.slot];
	was->n_in_flight++;
	end_tenant(f, 34);
	hand_over_process(f, 77, 35, GSB_FEATURE_STAGING);
	kit_control_receive_nothing(&f->c);
	assert_true(nobody_is_told(f->client));
	e->on_orphans(e, true);
	e->orphans.any = true;
	kit_control_receive(&f->c, GSB_CTL_ORPHANS, &orphans, sizeof(orphans));
	kit_control_receive(&f->c, GSB_CTL_PASSED, &passed, sizeof(passed));
	assert_int_equal(passed.tenant_id, 35);
	close(f->client);
	close(f->pidfd_write);
	hand_over_process(f, 77, 36, GSB_FEATURE_STAGING); /* it was on its way */
	kit_control_receive(&f->c, GSB_CTL_PASSED, &passed, sizeof(passed));
	assert_int_equal(passed.tenant_id, 36);
	assert_int_equal(e->n_refused, 0);
	was->n_in_flight--;
}

/* The device has ended: it is gsbrokerd's to have the next engine take it in. */
static void test_who_comes_after_a_fault_is_not_answered(void **state)
{
	struct fixture *f = *state;
	struct gsb_engine *e = f->c.k.engine;
	struct gsb_ctl_memory last;
	uint8_t byte;

	e->lost_ns = 1;
	hand_over(f, 34, GSB_FEATURE_STAGING);
	kit_control_receive_nothing(&f->c);
	assert_int_equal(e->n_tenants, 0);
	e->scheduler.lost = true;
	gsb_control_finish(&f->c.control);
	assert_int_equal(read(f->client, &byte, 1),
			 0); /* nor told anything: it is only closed here */
	assert_null(f->c.control.waiting);
	kit_control_receive(&f->c, GSB_CTL_MEMORY_LAST, &last, sizeof(last));
	kit_control_receive_nothing(&f->c);
	e->scheduler.lost = false;
}

struct ends {
	int client, pidfd_write;
};

static struct ends take_ends(struct fixture *f)
{
	struct ends e = {f->client, f->pidfd_write};

	f->client = f->pidfd_write = -1;
	return e;
}

/* Every place is taken, and one who comes takes that of one who is about to go: but only that. */
static void test_who_comes_waits_for_the_place_of_who_leaves(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_admitted admitted;
	struct gsb_ctl_refused refused;
	struct gsb_ctl_gone gone;
	struct ends ends[GSB_N_SLOTS + 2];

	for (uint32_t i = 0; i < GSB_N_SLOTS; i++) {
		hand_over(f, i, GSB_FEATURE_STAGING);
		ends[i] = take_ends(f);
		kit_control_receive(&f->c, GSB_CTL_ADMITTED, &admitted, sizeof(admitted));
	}
	end_tenant(f, 7);
	for (uint32_t i = GSB_N_SLOTS; i < GSB_N_SLOTS + 2; i++) {
		hand_over(f, i, GSB_FEATURE_STAGING);
		ends[i] = take_ends(f);
	}
	kit_control_receive(&f->c, GSB_CTL_GONE, &gone, sizeof(gone));
	assert_int_equal(gone.tenant_id, 7);
	kit_control_receive(&f->c, GSB_CTL_ADMITTED, &admitted, sizeof(admitted));
	assert_int_equal(admitted.tenant_id, GSB_N_SLOTS);
	assert_int_equal(admitted.slot, 7);
	kit_control_receive(&f->c, GSB_CTL_REFUSED, &refused, sizeof(refused));
	assert_int_equal(refused.tenant_id, GSB_N_SLOTS + 1);
	assert_int_equal(refused.error, -EUSERS);
	for (uint32_t i = 0; i < GSB_N_SLOTS + 2; i++) {
		close(ends[i].client);
		close(ends[i].pidfd_write);
	}
	kit_settle(&f->c.k);
	assert_int_equal(f->c.k.engine->n_tenants, 0);
}

static void test_who_waits_for_a_place_is_refused_when_the_engine_ends(void **state)
{
	struct fixture *f = *state;
	struct ends ends[GSB_N_SLOTS + 1];
	struct gsb_msg_refused told;
	struct gsb_tenant *t;

	for (uint32_t i = 0; i <= GSB_N_SLOTS; i++) {
		if (i == GSB_N_SLOTS) {
			t = f->c.k.engine->tenants[0];
			t->n_jobs++; /* so it does not get away */
			end_tenant(f, 0);
		}
		hand_over(f, i, GSB_FEATURE_STAGING);
		ends[i] = take_ends(f);
		kit_settle(&f->c.k);
	}
	assert_int_equal(
		gsb_channel_recv(ends[GSB_N_SLOTS].client, &told, sizeof(told), NULL, NULL),
		-EAGAIN);
	gsb_control_finish(&f->c.control);
	assert_int_equal(
		gsb_channel_recv(ends[GSB_N_SLOTS].client, &told, sizeof(told), NULL, NULL),
		sizeof(told));
	assert_int_equal(told.error, -ESHUTDOWN);
	t->n_jobs--;
	for (uint32_t i = 0; i <= GSB_N_SLOTS; i++) {
		close(ends[i].client);
		close(ends[i].pidfd_write);
	}
}

static void test_limits_change_a_tenant_that_is_there(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_admitted admitted;
	struct gsb_ctl_limits m = {.tenant_id = 34,
				   .limits = {.device_mem_bytes = 4096, .queued_records = 7}};

	hand_over(f, 34, GSB_FEATURE_STAGING);
	kit_control_receive(&f->c, GSB_CTL_ADMITTED, &admitted, sizeof(admitted));
	kit_control_send(&f->c, &m.msg, GSB_CTL_LIMITS, sizeof(m));
	kit_settle(&f->c.k);
	assert_int_equal(f->c.k.engine->tenants[admitted.slot]->limits.device_mem_bytes, 4096);
	assert_int_equal(f->c.k.engine->tenants[admitted.slot]->limits.queued_records, 7);
}

/* Contexts were made with the limit of their time. */
static void test_raised_limit_reaches_contexts_that_are_there(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_alloc a = {.ctx = kit_ctx(0), .size = 8192};
	struct gsb_tenant_limits small = {.device_mem_bytes = 4096};
	struct gsb_ctl_limits m = {.limits = {.device_mem_bytes = 1 << 20}};
	struct kit_tenant t;

	kit_tenant_init(&t, &f->c.k, &small);
	assert_int_equal(kit_call(&t, GSB_REC_MEM_ALLOC, &a, sizeof(a), NULL, 0),
			 CUDA_ERROR_OUT_OF_MEMORY);
	m.tenant_id = t.id;
	kit_control_send(&f->c, &m.msg, GSB_CTL_LIMITS, sizeof(m));
	kit_settle(&f->c.k);
	assert_int_equal(kit_call(&t, GSB_REC_MEM_ALLOC, &a, sizeof(a), NULL, 0), CUDA_SUCCESS);
	kit_tenant_finish(&t);
}

static void test_message_of_a_wrong_size_is_dropped(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_admit a = {0};

	kit_control_send(&f->c, &a.msg, GSB_CTL_ADMIT, sizeof(struct gsb_ctl_status));
	kit_settle(&f->c.k);
	assert_int_equal(f->c.k.engine->n_tenants, 0);
	assert_false(f->c.control.stop);
}

#define control_test(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		control_test(test_admitted_tenant_is_welcomed_shown_and_gone),
		control_test(test_gsbrokerd_hears_of_an_admission_before_the_client),
		control_test(test_engine_without_descriptors_passes_who_comes),
		control_test(test_recording_whose_file_is_lost_on_its_way_is_answered),
		control_test(test_who_waits_for_an_orphan_is_passed),
		control_test(test_what_runs_is_shown_and_in_the_end_what_ran),
		control_test(test_kernel_that_was_issued_first_is_shown),
		control_test(test_library_of_another_build_is_refused_with_the_remedy),
		control_test(test_draining_engine_refuses_and_says_so),
		control_test(test_shutdown_now_and_end_of_file_stop_the_engine),
		control_test(test_gone_is_said_when_the_socket_has_room_again),
		control_test(test_everybody_who_asks_at_once_is_answered),
		control_test(test_client_is_welcomed_when_gsbrokerd_can_hear_of_it),
		control_test(test_what_the_kernel_has_no_memory_for_is_said_later),
		control_test(test_tenant_whose_process_executed_another_program_ends),
		control_test(test_process_that_executed_another_program_waits_for_its_own_end),
		control_test(test_who_comes_after_a_fault_is_not_answered),
		control_test(test_who_waits_for_its_own_end_may_end_itself),
		control_test(test_who_comes_waits_for_the_place_of_who_leaves),
		control_test(test_who_waits_for_a_place_is_refused_when_the_engine_ends),
		control_test(test_limits_change_a_tenant_that_is_there),
		control_test(test_raised_limit_reaches_contexts_that_are_there),
		control_test(test_message_of_a_wrong_size_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
