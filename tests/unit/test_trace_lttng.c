/*
 * test_trace_lttng.c - when sessions of LTTng are told whose events they have: in front of the first that they hear, and again
 * before that can be out of sight.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "broker/engine/trace/provider.h"
#include "broker/engine/trace/trace.h"

/* What the provider was given since it was asked last. */
static struct {
	bool heard; /* a session has begun */
	unsigned n_events, n_abouts;
	unsigned first; /* type */
	struct gsb_trace_about about;
} session;

static uint64_t now_ns, device_ns;

static void emit(const struct gsb_trace_head *record)
{
	if (!session.n_events && !session.n_abouts)
		session.first = record->type;
	if (record->type == GSB_TRACE_ABOUT) {
		memcpy(&session.about, record, sizeof(session.about));
		session.n_abouts++;
	} else {
		session.n_events++;
	}
}

static bool is_about_heard(void)
{
	return session.heard;
}

int __wrap_gsb_trace_load_provider(const struct gsb_trace_provider **out);
int __wrap_gsb_trace_load_provider(const struct gsb_trace_provider **out)
{
	static const struct gsb_trace_provider provider = {emit, is_about_heard};

	*out = &provider;
	return 0;
}

uint64_t __wrap_gsb_stamp_clock_ns(struct gsb_stamp_clock *c);
uint64_t __wrap_gsb_stamp_clock_ns(struct gsb_stamp_clock *c)
{
	return now_ns;
}

static uint64_t device_clock(struct gsb_device *dev)
{
	return device_ns;
}

/* An engine without a session. */
static int begin(void **state)
{
	const struct gsb_trace_header about = {.pid = 17,
					       .n_sms = 132,
					       .is_virtual = 1,
					       .device = "a device",
					       .policy = "a policy",
					       .version = "1.2"};

	memset(&session, 0, sizeof(session));
	device_ns = 5;
	return gsb_trace_offer_lttng(&about, device_clock, NULL);
}

static void tell(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		gsb_trace(LINES_DROPPED, lines_dropped, 0, .n_lines = 1);
}

static void begin_session(void)
{
	session.heard = true;
	tell(1);
	session.n_events = session.n_abouts = 0;
}

static void test_about_says_what_a_file_does(void **state)
{
	device_ns = 77;
	session.heard = true;
	tell(1);
	assert_int_equal(session.about.head.type, GSB_TRACE_ABOUT);
	assert_int_equal(session.about.head.bytes, sizeof(session.about));
	assert_int_equal(session.about.device_ns, 77);
	assert_int_equal(session.about.pid, 17);
	assert_int_equal(session.about.n_sms, 132);
	assert_int_equal(session.about.is_virtual, 1);
	assert_string_equal(session.about.device, "a device");
	assert_string_equal(session.about.policy, "a policy");
	assert_string_equal(session.about.version, "1.2");
}

static void test_about_is_told_in_front_of_the_first_event_that_is_heard(void **state)
{
	tell(10);
	assert_int_equal(session.n_abouts, 0); /* nobody would have it */
	session.n_events = 0;
	session.heard = true;
	tell(10);
	assert_int_equal(session.first, GSB_TRACE_ABOUT);
	assert_int_equal(session.n_abouts, 1);
	assert_int_equal(session.n_events, 10);
}

static void test_about_is_told_to_the_next_session(void **state)
{
	begin_session();
	session.heard = false;
	tell(1);
	session.heard = true;
	session.n_events = 0;
	tell(1);
	assert_int_equal(session.n_abouts, 1);
	assert_int_equal(session.first, GSB_TRACE_ABOUT);
}

static void test_about_is_told_again_behind_many_events(void **state)
{
	begin_session();
	tell(1023);
	assert_int_equal(session.n_abouts, 0);
	tell(1);
	assert_int_equal(session.n_abouts, 1);
	tell(4096);
	assert_int_equal(session.n_abouts, 5);
}

static void test_about_is_told_again_each_second(void **state)
{
	begin_session();
	now_ns += 999999999;
	tell(1);
	assert_int_equal(session.n_abouts, 0);
	now_ns += 1;
	tell(10);
	assert_int_equal(session.n_abouts, 1);
	now_ns += 1000000000;
	tell(10);
	assert_int_equal(session.n_abouts, 2);
}

static void test_about_is_told_in_front_of_each_tenant(void **state)
{
	begin_session();
	gsb_trace(TENANT_COME, tenant_come, 1, .pid = 3);
	gsb_trace(TENANT_COME, tenant_come, 2, .pid = 4);
	assert_int_equal(session.n_abouts, 2);
	assert_int_equal(session.n_events, 2);
}

#define CASE(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_about_says_what_a_file_does),
		CASE(test_about_is_told_in_front_of_the_first_event_that_is_heard),
		CASE(test_about_is_told_to_the_next_session),
		CASE(test_about_is_told_again_behind_many_events),
		CASE(test_about_is_told_again_each_second),
		CASE(test_about_is_told_in_front_of_each_tenant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
