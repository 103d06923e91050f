/*
 * test_admission.c - who may come in, control and see, rule by rule; totals of those that left; limits of the
 * log; the order of a loop's timers and what an outbox keeps.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "broker/supervisor/admission.h"
#include "broker/supervisor/loop.h"
#include "broker/supervisor/outbox.h"
#include "broker/supervisor/query.h"
#include "broker/supervisor/totals.h"
#include "broker/supervisor/uid_limits.h"
#include "tests/unit/failing_send.h"

#define UID   1000
#define GID   1000
#define OTHER 2000

static void list_add(struct gsb_id_list *l, uint32_t lo, uint32_t hi)
{
	l->at[l->n].lo = lo;
	l->at[l->n++].hi = hi;
}

static const gid_t groups[] = {44, 55};

static struct gsb_admission_request request(void)
{
	return (struct gsb_admission_request){.peer = {.pid = 1, .uid = UID, .gid = GID},
					      .groups = groups,
					      .n_groups = GSB_ARRAY_LEN(groups)};
}

static struct gsb_admission_config rules(void)
{
	return (struct gsb_admission_config){.max_tenants = 10, .max_tenants_per_uid = 2};
}

static void expect(const struct gsb_admission_config *a, const struct gsb_admission_request *r,
		   int want)
{
	char why[GSB_REASON_MAX] = "";

	assert_int_equal(gsb_admission_check(a, r, why), want);
	assert_int_equal(*why != 0, want != 0);
}

static void test_admission_without_lists_is_open(void **state)
{
	struct gsb_admission_config a = rules();
	struct gsb_admission_request r = request();

	expect(&a, &r, 0);
}

static void test_admission_allow_uid_bars_all_others(void **state)
{
	struct gsb_admission_config a = rules();
	struct gsb_admission_request r = request();

	list_add(&a.allow_uid, OTHER, OTHER + 10);
	expect(&a, &r, -EACCES);
	r.peer.uid = OTHER + 10;
	expect(&a, &r, 0);
}

static void test_admission_allow_gid_counts_supplementary_groups(void **state)
{
	struct gsb_admission_config a = rules();
	struct gsb_admission_request r = request();

	list_add(&a.allow_gid, 55, 55);
	expect(&a, &r, 0);
	r.n_groups = 1;
	expect(&a, &r, -EACCES);
	r.peer.gid = 55;
	expect(&a, &r, 0);
}

static void test_admission_deny_goes_before_allow(void **state)
{
	struct gsb_admission_config a = rules();
	struct gsb_admission_request r = request();

	list_add(&a.allow_uid, UID, UID);
	list_add(&a.deny_gid, 44, 44);
	expect(&a, &r, -EACCES);
	r.n_groups = 0;
	expect(&a, &r, 0);
	list_add(&a.deny_uid, UID, UID);
	expect(&a, &r, -EACCES);
}

static void test_admission_counts_tenants_in_all_and_of_a_user(void **state)
{
	struct gsb_admission_config a = rules();
	struct gsb_admission_request r = request();

	r.n_tenants = 9;
	r.n_tenants_of_uid = 1;
	expect(&a, &r, 0);
	r.n_tenants = 10;
	expect(&a, &r, -EUSERS);
	r.n_tenants = 9;
	r.n_tenants_of_uid = 2;
	expect(&a, &r, -EUSERS);
}

static void test_control_is_for_root_own_user_and_control_gid(void **state)
{
	struct gsb_admission_config a = rules();
	struct gsb_admission_request r = request();

	assert_false(gsb_admission_may_control(&a, &r, OTHER));
	assert_true(gsb_admission_may_control(&a, &r, UID));
	list_add(&a.control_gid, 44, 44);
	assert_true(gsb_admission_may_control(&a, &r, OTHER));
	r.n_groups = 0;
	assert_false(gsb_admission_may_control(&a, &r, OTHER));
	r.peer.uid = 0;
	assert_true(gsb_admission_may_control(&a, &r, OTHER));
}

/* ---- loop ---- */

struct probe {
	struct gsb_timer timer;
	struct gsb_loop *loop;
	struct gsb_timer *victim; /* cleared by the handler */
	char name, *order;
};

static void on_probe(struct gsb_timer *t)
{
	struct probe *p = gsb_container_of(t, struct probe, timer);

	strncat(p->order, &p->name, 1);
	if (p->victim)
		gsb_timer_clear(p->loop, p->victim);
	if (strlen(p->order) == 2)
		gsb_loop_stop(p->loop);
}

static void test_loop_timer_may_clear_another_that_is_due(void **state)
{
	char order[8] = "";
	struct gsb_loop loop;
	struct probe late = {{.on_time = on_probe}, &loop, NULL, 'c', order};
	struct probe victim = {{.on_time = on_probe}, &loop, NULL, 'b', order};
	struct probe first = {{.on_time = on_probe}, &loop, &victim.timer, 'a', order};

	assert_int_equal(gsb_loop_init(&loop), 0);
	gsb_timer_set(&loop, &late.timer, 2);
	gsb_timer_set(&loop, &first.timer, 0);
	gsb_timer_set(&loop, &victim.timer, 0);
	assert_int_equal(gsb_loop_run(&loop), 0);
	assert_string_equal(order, "ac");
	assert_int_equal(victim.timer.at_ns, 0);
	gsb_loop_finish(&loop);
}

/* ---- outbox ---- */

static unsigned drain(int fd)
{
	struct gsb_query q;
	unsigned n = 0;

	while (gsb_channel_recv(fd, &q, sizeof(q), NULL, NULL) > 0)
		assert_int_equal(q.what, n++);
	return n;
}

static void test_outbox_keeps_order_across_a_full_socket(void **state)
{
	struct gsb_outbox o = {0};
	struct gsb_query q = {0};
	unsigned n = 0, received;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	gsb_msg_init(&q.msg, GSB_MSG_CONTROL, sizeof(q));
	do {
		q.what = n++;
		assert_int_equal(gsb_outbox_push(&o, &q.msg, NULL, 0), 0);
	} while (gsb_outbox_flush(&o, pair[0]) == 0);
	q.what = n++;
	assert_int_equal(gsb_outbox_push(&o, &q.msg, NULL, 0), 0);
	assert_int_equal(gsb_outbox_flush(&o, pair[0]), -EAGAIN);
	received = drain(pair[1]);
	assert_int_equal(received, n - 2);
	assert_int_equal(gsb_outbox_flush(&o, pair[0]), 0);
	assert_true(gsb_outbox_is_empty(&o));
	close(pair[0]);
	close(pair[1]);
}

/* Else an engine would never hear of a client, which would wait for it in vain. */
static void test_outbox_keeps_what_the_kernel_has_no_memory_for(void **state)
{
	static const int passing[] = {ENOBUFS, ENOMEM, ETOOMANYREFS};
	struct gsb_outbox o = {0};
	struct gsb_query q = {0};
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	gsb_msg_init(&q.msg, GSB_MSG_CONTROL, sizeof(q));
	assert_int_equal(gsb_outbox_push(&o, &q.msg, NULL, 0), 0);
	for (size_t i = 0; i < GSB_ARRAY_LEN(passing); i++) {
		next_send_fails_with = passing[i];
		assert_int_equal(gsb_outbox_flush(&o, pair[0]), -EAGAIN);
	}
	next_send_fails_with = EPIPE;
	assert_int_equal(gsb_outbox_flush(&o, pair[0]), -EPIPE);
	assert_int_equal(gsb_outbox_flush(&o, pair[0]), 0);
	assert_int_equal(drain(pair[1]), 1);
	close(pair[0]);
	close(pair[1]);
}

static void test_outbox_clear_closes_descriptors(void **state)
{
	struct gsb_outbox o = {0};
	struct gsb_query q = {0};
	int fd = open("/dev/null", O_RDONLY);

	gsb_msg_init(&q.msg, GSB_MSG_CONTROL, sizeof(q));
	assert_int_equal(gsb_outbox_push(&o, &q.msg, &fd, 1), 0);
	gsb_outbox_clear(&o);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
}

static void test_admission_who_may_control_sees_all(void **state)
{
	struct gsb_admission_config a = rules();
	struct gsb_admission_request r = request();

	assert_false(gsb_admission_may_see_all(&a, &r, OTHER));
	assert_true(gsb_admission_may_see_all(&a, &r, UID));
	list_add(&a.status_gid, 55, 55);
	assert_true(gsb_admission_may_see_all(&a, &r, OTHER));
	assert_false(gsb_admission_may_control(&a, &r, OTHER));
	a = rules();
	list_add(&a.control_gid, 44, 44);
	assert_true(gsb_admission_may_see_all(&a, &r, OTHER));
}

/* ---- totals ---- */

static void test_totals_add_up_by_user_and_name(void **state)
{
	struct gsb_ctl_tenant last = {
		.kernels = 3, .device_ns = 10, .n_errors = 1, .device_mem_peak_bytes = 100};
	struct gsb_totals t = {.n = 0};

	gsb_totals_add(&t, UID, "a", &last, true);
	last.device_mem_peak_bytes = 50;
	gsb_totals_add(&t, UID, "a", &last, true);
	gsb_totals_add(&t, OTHER, "a", &last, true);
	gsb_totals_add(&t, UID, "a", &last, false);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.at[0].sum.n_left, 3);
	assert_int_equal(t.at[0].sum.n_lost, 1);
	assert_int_equal(t.at[0].sum.kernels, 9);
	assert_int_equal(t.at[0].sum.device_ns, 30);
	assert_int_equal(t.at[0].sum.n_errors, 3);
	assert_int_equal(t.at[0].sum.device_mem_peak_bytes, 100);
	assert_int_equal(t.at[1].sum.uid, OTHER);
	assert_int_equal(t.at[1].sum.n_lost, 0);
	assert_int_equal(t.at[1].sum.kernels, 3);
}

/* Each count has a value of its own: one that is added to another, or forgotten, shows. */
static void test_totals_of_every_count_add_up(void **state)
{
	const struct gsb_ctl_tenant row = {
		.records = 1,
		.launches = 2,
		.kernels = 3,
		.copies = 4,
		.fills = 5,
		.bytes_h2d = 6,
		.bytes_d2h = 7,
		.bytes_d2d = 8,
		.device_ns = 9,
		.copy_ns = 10,
		.sm_ns = 11,
		.instructions = 12,
		.wait_ns = {13, 14, 15, 16, 17},
		.n_late = 30,
		.n_resized = 23,
		.n_shadowed = 24,
		.n_differed = 25,
		.n_mem_refused = 18,
		.n_errors = 19,
		.charged_ns = 20,
		.device_mem_peak_bytes = 21,
		.host_mem_peak_bytes = 22,
		.error_ppm = 26,
		.n_predicted = 27,
		.known_ns = 28,
		.alone_ns = 29,
	};
	const struct gsb_total twice = {
		.uid = UID,
		.n_left = 2,
		.records = 2,
		.launches = 4,
		.kernels = 6,
		.copies = 8,
		.fills = 10,
		.bytes_h2d = 12,
		.bytes_d2h = 14,
		.bytes_d2d = 16,
		.device_ns = 18,
		.copy_ns = 20,
		.sm_ns = 22,
		.instructions = 24,
		.wait_ns = {26, 28, 30, 32, 34},
		.n_late = 60,
		.n_resized = 46,
		.n_shadowed = 48,
		.n_differed = 50,
		.n_mem_refused = 36,
		.n_errors = 38,
		.charged_ns = 40,
		.device_mem_peak_bytes = 21,
		.host_mem_peak_bytes = 22,
		.error_ppm = 52,
		.n_predicted = 54,
		.known_ns = 56,
		.alone_ns = 58,
	};
	struct gsb_totals t = {.n = 0};

	gsb_totals_add(&t, UID, "", &row, true);
	gsb_totals_add(&t, UID, "", &row, true);
	assert_int_equal(t.n, 1);
	assert_memory_equal(&t.at[0].sum, &twice, sizeof(twice));
}

static void test_totals_full_put_the_oldest_name_with_the_others(void **state)
{
	struct gsb_ctl_tenant last = {.kernels = 1};
	struct gsb_totals t = {.n = 0};
	unsigned n_left = 0;
	char name[16];

	for (unsigned i = 0; i < 2 * GSB_TOTALS_MAX; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		gsb_totals_add(&t, UID, "often", &last, true);
		gsb_totals_add(&t, UID, name, &last, true);
	}
	assert_int_equal(t.n, GSB_TOTALS_MAX);
	assert_int_equal(t.others.n_left, GSB_TOTALS_MAX + 1);
	for (unsigned i = 0; i < t.n; i++)
		n_left += (unsigned)t.at[i].sum.n_left;
	assert_int_equal(n_left + t.others.n_left, 4 * GSB_TOTALS_MAX);
	assert_string_equal(t.at[0].sum.tenant, "often");
	assert_int_equal(t.at[0].sum.kernels, 2 * GSB_TOTALS_MAX);
}

static void test_totals_refused_take_no_name_its_place(void **state)
{
	struct gsb_ctl_tenant last = {.kernels = 1};
	struct gsb_totals t = {.n = 0};
	char name[16];

	gsb_totals_refused(&t, OTHER, "stranger");
	for (unsigned i = 1; i < GSB_TOTALS_MAX; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		gsb_totals_add(&t, UID, name, &last, true);
	}
	gsb_totals_refused(&t, OTHER, "stranger");
	gsb_totals_refused(&t, OTHER, "another");
	assert_int_equal(t.at[0].sum.n_refused, 2);
	assert_int_equal(t.others.n_refused, 1);
	assert_int_equal(t.others.n_left, 0);
	gsb_totals_add(&t, UID, "new", &last, true);
	assert_string_equal(t.at[0].sum.tenant, "new");
	assert_int_equal(t.others.n_refused, 3);
}

/* ---- limits of the log ---- */

static void test_uid_limits_hold_back_the_noisy_user_alone(void **state)
{
	struct gsb_uid_limits l = {0};
	unsigned held = 0, passed = 0;

	for (unsigned i = 0; i < 1000; i++)
		passed += gsb_uid_limits_pass(&l, UID, 5, &held);
	assert_int_equal(passed, GSB_LOG_BURST);
	assert_true(gsb_uid_limits_pass(&l, OTHER, 5, &held));
	assert_int_equal(held, 0);
	assert_true(gsb_uid_limits_pass(&l, UID, 5 + GSB_LOG_EVERY_NS, &held));
	assert_int_equal(held, 1000 - GSB_LOG_BURST);
}

static void test_uid_limits_full_forget_who_was_quiet_longest(void **state)
{
	struct gsb_uid_limits l = {0};
	unsigned held;

	for (unsigned i = 0; i < GSB_LOG_BURST + 1; i++) /* all but OTHER are at their limit */
		for (uid_t uid = 0; uid < GSB_UID_LIMITS_MAX - 1; uid++)
			gsb_uid_limits_pass(&l, uid, 0, &held);
	assert_true(gsb_uid_limits_pass(&l, OTHER, 0, &held));
	assert_true(gsb_uid_limits_pass(&l, OTHER + 1, 0, &held));
	for (uid_t uid = 0; uid < GSB_UID_LIMITS_MAX - 1; uid++)
		assert_false(gsb_uid_limits_pass(&l, uid, 0, &held));
	assert_int_equal(l.n, GSB_UID_LIMITS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_admission_without_lists_is_open),
		cmocka_unit_test(test_admission_allow_uid_bars_all_others),
		cmocka_unit_test(test_admission_allow_gid_counts_supplementary_groups),
		cmocka_unit_test(test_admission_deny_goes_before_allow),
		cmocka_unit_test(test_admission_counts_tenants_in_all_and_of_a_user),
		cmocka_unit_test(test_control_is_for_root_own_user_and_control_gid),
		cmocka_unit_test(test_loop_timer_may_clear_another_that_is_due),
		cmocka_unit_test(test_outbox_keeps_order_across_a_full_socket),
		cmocka_unit_test(test_outbox_keeps_what_the_kernel_has_no_memory_for),
		cmocka_unit_test(test_outbox_clear_closes_descriptors),
		cmocka_unit_test(test_admission_who_may_control_sees_all),
		cmocka_unit_test(test_totals_add_up_by_user_and_name),
		cmocka_unit_test(test_totals_of_every_count_add_up),
		cmocka_unit_test(test_totals_full_put_the_oldest_name_with_the_others),
		cmocka_unit_test(test_totals_refused_take_no_name_its_place),
		cmocka_unit_test(test_uid_limits_hold_back_the_noisy_user_alone),
		cmocka_unit_test(test_uid_limits_full_forget_who_was_quiet_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
