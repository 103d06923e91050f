/*
 * test_law.c - the law of contention: what one H200 showed, what must hold for any mix, and the text form of a table.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "model/time/law.h"

#define N_SMS 132

static struct gsb_interference h200(void)
{
	struct gsb_interference f;

	gsb_interference_init(&f, "h200");
	return f;
}

static struct gsb_resident full(enum gsb_unit unit)
{
	struct gsb_resident r = {.in_flight = 1};

	r.demand[unit] = 1;
	return r;
}

static void speeds_of(const struct gsb_resident *r, unsigned int n, double *speeds)
{
	struct gsb_interference f = h200();

	assert_int_equal(gsb_law_speeds(&f, N_SMS, r, n, speeds), 0);
}

static void assert_speeds(const struct gsb_resident *r, unsigned int n, const double *want,
			  double within)
{
	double speeds[GSB_LAW_KERNELS_MAX];

	speeds_of(r, n, speeds);
	for (unsigned int i = 0; i < n; i++)
		if (!(fabs(speeds[i] - want[i]) <= within))
			fail_msg("kernel %u: %.4f, expected %.4f", i, speeds[i], want[i]);
}

#define ASSERT_SPEEDS(r, within, ...)                                              \
	do {                                                                       \
		const double want[] = {__VA_ARGS__};                               \
		assert_speeds(r, (unsigned int)GSB_ARRAY_LEN(want), want, within); \
	} while (0)

/* Some of the table, from the measurement and not from the code: first and second, both endless. */
static void test_law_two_kernels_are_as_measured(void **state)
{
	static const struct {
		enum gsb_unit first, second;
		double speeds[2];
	} rows[] = {
		{GSB_UNIT_DENSE, GSB_UNIT_DENSE, {.85, .14}},
		{GSB_UNIT_SHARED, GSB_UNIT_SHARED, {.99, .005}},
		{GSB_UNIT_SHARED, GSB_UNIT_DENSE, {.12, .88}},
		{GSB_UNIT_DENSE, GSB_UNIT_SFU, {.99, .05}},
		{GSB_UNIT_L2, GSB_UNIT_DENSE, {.99, .96}},
		{GSB_UNIT_SHARED, GSB_UNIT_SFU, {.97, .20}},
		{GSB_UNIT_SFU, GSB_UNIT_SHARED, {.75, .81}},
		{GSB_UNIT_DRAM, GSB_UNIT_DRAM, {.50, .49}},
		{GSB_UNIT_DRAM, GSB_UNIT_L2, {.59, .63}},
		{GSB_UNIT_BARRIER, GSB_UNIT_L2, {.06, .99}},
		{GSB_UNIT_CHAIN, GSB_UNIT_SFU, {1, .99}},
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(rows); i++) {
		struct gsb_resident r[2] = {full(rows[i].first), full(rows[i].second)};

		assert_speeds(r, 2, rows[i].speeds, 0.011);
	}
}

static void test_law_age_is_the_time_of_the_start(void **state)
{
	struct gsb_resident r[2] = {full(GSB_UNIT_SHARED), full(GSB_UNIT_SHARED)};

	r[0].started_ns = 7;
	r[1].started_ns = 6;
	ASSERT_SPEEDS(r, 0.006, .005, .99);
}

/* What does not need all of a unit leaves the rest, whoever is older. */
static void test_law_younger_has_what_the_older_leaves(void **state)
{
	struct gsb_resident r[2] = {full(GSB_UNIT_SHARED), full(GSB_UNIT_SHARED)};

	r[0].demand[GSB_UNIT_SHARED] = .3;
	ASSERT_SPEEDS(r, 0.01, 1, .69);
	r[1].demand[GSB_UNIT_SHARED] = .5;
	ASSERT_SPEEDS(r, 0.01, 1, 1);
	r[0].demand[GSB_UNIT_SHARED] = .8;
	ASSERT_SPEEDS(r, 0.02, 1, .39);
}

static void test_law_blocks_that_end_share_by_their_length(void **state)
{
	struct gsb_resident r[3] = {full(GSB_UNIT_SFU), full(GSB_UNIT_SFU), full(GSB_UNIT_SFU)};

	r[0].block_ns = 100;
	r[1].block_ns = 400;
	ASSERT_SPEEDS(r, 0.01, .2, .8);
	r[1].started_ns = 5; /* ages turn over */
	ASSERT_SPEEDS(r, 0.01, .2, .8);
	r[1].block_ns = 0; /* endless, and so the older one in the end */
	ASSERT_SPEEDS(r, 0.01, .001, .99);
	r[0].block_ns = r[1].block_ns = r[2].block_ns = 50;
	ASSERT_SPEEDS(r, 0.01, .333, .333, .333);
}

/* A kernel on a soft unit that is done as the younger one never becomes the older. */
static void test_law_short_blocks_on_a_soft_unit_have_what_leaks(void **state)
{
	struct gsb_resident r[2] = {full(GSB_UNIT_DENSE), full(GSB_UNIT_DENSE)};

	r[0].block_ns = 1;
	r[1].block_ns = 1000;
	ASSERT_SPEEDS(r, 0.01, .14, .85);
	r[0].block_ns = 1000;
	r[1].block_ns = 1;
	ASSERT_SPEEDS(r, 0.01, .85, .14);
}

static void test_law_memory_goes_by_requests_under_way(void **state)
{
	struct gsb_resident r[2] = {full(GSB_UNIT_DRAM), full(GSB_UNIT_DRAM)};

	r[0].in_flight = .5;
	r[1].in_flight = 1.5;
	ASSERT_SPEEDS(r, 0.02, .25, .75);
}

static void test_law_disjoint_sms_meet_in_memory_alone(void **state)
{
	struct gsb_resident r[2] = {full(GSB_UNIT_SHARED), full(GSB_UNIT_SHARED)};

	r[0].sms = (struct gsb_sm_range){0, 64};
	r[1].sms = (struct gsb_sm_range){64, 68};
	ASSERT_SPEEDS(r, 1e-9, 1, 1);
	r[0] = r[1] = full(GSB_UNIT_DRAM);
	r[0].sms = (struct gsb_sm_range){0, 32};
	r[1].sms = (struct gsb_sm_range){32, 96};
	ASSERT_SPEEDS(r, 0.01, .25, .75);
	r[0].demand[GSB_UNIT_DRAM] = .2;
	ASSERT_SPEEDS(r, 0.01, 1, .8);
}

/* Half of the younger kernel's SMs are the older one's, too. */
static void test_law_overlapping_sms_meet_where_they_overlap(void **state)
{
	struct gsb_resident r[2] = {full(GSB_UNIT_SHARED), full(GSB_UNIT_SHARED)};

	r[0].sms = (struct gsb_sm_range){0, 64};
	r[1].sms = (struct gsb_sm_range){32, 64};
	ASSERT_SPEEDS(r, 0.04, .99, .5);
}

static void test_law_copies_share_their_direction(void **state)
{
	struct gsb_resident r[3] = {full(GSB_UNIT_UP), full(GSB_UNIT_DOWN), full(GSB_UNIT_UP)};

	ASSERT_SPEEDS(r, 0.01, .5, 1, .5);
}

/* ---- of whom requests are known ---- */

static struct gsb_resident asks(enum gsb_unit unit, double requests)
{
	struct gsb_resident r = full(unit);

	r.demand[GSB_UNIT_REQUESTS] = requests;
	r.backlog = 1;
	return r;
}

/* .3 of what the younger one has time for, and 1.4 of what the older one has, then two and a half to one of what there is. */
static void test_law_waits_behind_a_full_memory(void **state)
{
	struct gsb_resident r[2] = {asks(GSB_UNIT_L2, .01), asks(GSB_UNIT_L2, .01)};

	ASSERT_SPEEDS(r, 1e-6, 2.5 / 3.5, 1 / 3.5);
	r[1] = asks(GSB_UNIT_SHARED, .5); /* needs no memory */
	ASSERT_SPEEDS(r, 1e-6, 1, 1 / (1 + 1.4 * 50));
	r[0].started_ns = 1;
	ASSERT_SPEEDS(r, 1e-3, 1 / (1 + 200 * .01 / (1 + .3 * 50)), 1 / (1 + .3 * 50 / 3));
	r[0].started_ns = 0;
	r[0].backlog = 0;
	ASSERT_SPEEDS(r, 1e-9, 1, 1);
}

/* Requests alternate in the queue, so who needs more of them for a unit of work does less of it. */
static void test_law_memory_goes_by_requests_queued(void **state)
{
	struct gsb_resident r[2] = {asks(GSB_UNIT_DRAM, .01), asks(GSB_UNIT_DRAM, .02)};

	r[0].backlog = r[1].backlog = 0;
	ASSERT_SPEEDS(r, 1e-6, 5. / 6, 1. / 6);
	r[1].started_ns = 0;
	r[0].in_flight = .5;
	r[1].in_flight = 1.25;
	ASSERT_SPEEDS(r, 1e-6, 2. / 3, 1. / 3);
}

/* Of a full unit of the SM the younger one has one turn in 200, and who wants little of it is done with that. */
static void test_law_younger_has_a_turn_at_a_full_unit(void **state)
{
	struct gsb_resident r[3] = {asks(GSB_UNIT_SFU, .01), asks(GSB_UNIT_SFU, .01),
				    asks(GSB_UNIT_SFU, .01)};

	ASSERT_SPEEDS(((struct gsb_resident[]){r[0], r[1]}), 1e-4, .995, .005);
	r[1].demand[GSB_UNIT_SFU] = .001;
	ASSERT_SPEEDS(((struct gsb_resident[]){r[0], r[1]}), 1e-3, .999, 1 / 1.2);
	r[1] = r[0];
	for (unsigned int i = 0; i < 3; i++)
		r[i].block_ns = 50;
	ASSERT_SPEEDS(((struct gsb_resident[]){r[0], r[1]}), 1e-6, .5, .5);
	ASSERT_SPEEDS(r, 0.02, .333, .333, .333);
	r[1].block_ns = 150;
	ASSERT_SPEEDS(((struct gsb_resident[]){r[0], r[1]}), 0.02, .25, .75);
}

/* Neither loads nor units of other SMs are in the way, nor is a copy. */
static void test_law_waits_for_who_is_on_its_sms(void **state)
{
	struct gsb_resident r[2] = {asks(GSB_UNIT_L2, .01), asks(GSB_UNIT_SHARED, .5)};

	r[0].sms = (struct gsb_sm_range){0, 64};
	r[1].sms = (struct gsb_sm_range){64, 68};
	ASSERT_SPEEDS(r, 1e-9, 1, 1);
	r[1].sms = (struct gsb_sm_range){0, 128};
	ASSERT_SPEEDS(r, 1e-6, 1, 1 / (1 + .5 * 1.4 * 50));
	r[1] = full(GSB_UNIT_UP);
	ASSERT_SPEEDS(r, 1e-9, 1, 1);
	r[0] = full(GSB_UNIT_UP);
	ASSERT_SPEEDS(r, 1e-6, .5, .5);
}

/* Never stalling is as good as being older. */
static void test_law_slots_go_to_who_never_stalls(void **state)
{
	struct gsb_resident r[2] = {asks(GSB_UNIT_ISSUE, .01), asks(GSB_UNIT_DENSE, .01)};

	r[0].demand[GSB_UNIT_ISSUE] = .5;
	r[0].backlog = 0;
	ASSERT_SPEEDS(r, 1e-6, 4. / 7, 5. / 7);
	r[0].demand[GSB_UNIT_ISSUE] = .1;
	ASSERT_SPEEDS(r, 1e-6, 1 / 1.1, 1 - .1 / 1.1);
}

/* All that is known of a table is for those of whom requests are not known. */
static void test_law_needs_no_table_where_requests_are_known(void **state)
{
	struct gsb_interference f = h200();
	struct gsb_resident r[3] = {asks(GSB_UNIT_L2, .01), asks(GSB_UNIT_SFU, .001),
				    full(GSB_UNIT_SFU)};
	double speeds[3];

	for (unsigned a = 0; a < GSB_N_UNITS; a++)
		for (unsigned b = 0; b < GSB_N_UNITS; b++)
			f.beside[a][b] = (struct gsb_beside){.3f, .1f};
	assert_int_equal(gsb_law_speeds(&f, N_SMS, r, 2, speeds), 0);
	assert_true(speeds[0] == 1 && speeds[1] > .8);
	r[1].demand[GSB_UNIT_REQUESTS] = 0;
	assert_int_equal(gsb_law_speeds(&f, N_SMS, r, 2, speeds), 0);
	assert_true(speeds[0] + speeds[1] < .7);
}

/* Two that are as the table's kernels have what it says of them, whatever they ask for; as far as one of them is not, the queues count. */
static void test_law_goes_by_the_table_as_far_as_all_are_like_it(void **state)
{
	struct gsb_resident r[3] = {asks(GSB_UNIT_SHARED, 1), asks(GSB_UNIT_SFU, .01),
				    asks(GSB_UNIT_L2, .01)};

	ASSERT_SPEEDS(((struct gsb_resident[]){r[0], r[1]}), 1e-6, 1, 1. / 3);
	r[0].alike = r[1].alike = 1;
	ASSERT_SPEEDS(((struct gsb_resident[]){r[0], r[1]}), .011, .97, .20);
	r[1].alike = .25;
	ASSERT_SPEEDS(((struct gsb_resident[]){r[0], r[1]}), .003, pow(.97, .25),
		      pow(.20, .25) * pow(1. / 3, .75));
	r[0].alike = 0;
	ASSERT_SPEEDS(((struct gsb_resident[]){r[0], r[1]}), 1e-6, 1, 1. / 3);
}

/* What they want besides is in the table's figures: a stream has bytes of the L2, too, which are not loads at random. */
static void test_law_takes_the_tables_kernels_by_their_unit(void **state)
{
	struct gsb_resident r[2] = {asks(GSB_UNIT_DRAM, .04), asks(GSB_UNIT_SHARED, 1)};

	r[0].alike = r[1].alike = 1;
	r[0].demand[GSB_UNIT_L2] = .5;
	r[0].demand[GSB_UNIT_ISSUE] = .1;
	r[1].demand[GSB_UNIT_ISSUE] = .3;
	ASSERT_SPEEDS(r, .011, .99, .90);
	r[0].demand[GSB_UNIT_REQUESTS] = r[1].demand[GSB_UNIT_REQUESTS] =
		0; /* nobody knows whether they are such */
	ASSERT_SPEEDS(r, .03, 1, .51);
}

/* Who wants nothing is in nobody's way, and says nothing of the law of the others. */
static void test_law_asks_those_that_want_something(void **state)
{
	struct gsb_resident r[3] = {
		asks(GSB_UNIT_SHARED, 1), asks(GSB_UNIT_SHARED, 1), {.backlog = 1}};

	r[0].alike = r[1].alike = 1;
	r[2].demand[GSB_UNIT_REQUESTS] = 1e-9;
	r[0].demand[GSB_UNIT_SHARED] = r[1].demand[GSB_UNIT_SHARED] = .9;
	ASSERT_SPEEDS(((struct gsb_resident[]){r[0], r[1]}), .001, 1, .1055);
	ASSERT_SPEEDS(r, .001, 1, .1055, 1);
	r[2].demand[GSB_UNIT_BARRIER] = .01;
	ASSERT_SPEEDS(r, .001, 1, 1 / 201., 1);
}

/* Of every other mix all requests are known, and all are as much like the table's kernels. */
static void random_mix(struct gsb_resident *r, unsigned int n)
{
	bool known = rand() % 2;
	double alike = rand() % 3 / 2.0;

	memset(r, 0, n * sizeof(*r));
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int u = 0; u < 3; u++)
			r[i].demand[rand() % GSB_N_UNITS] = rand() % 101 / 100.0;
		r[i].in_flight = rand() % 4;
		r[i].backlog = rand() % 101 / 100.0;
		if (known)
			r[i].demand[GSB_UNIT_REQUESTS] = (1 + rand() % 100) / 100.0;
		r[i].alike = alike;
		r[i].started_ns = (uint64_t)rand() % 100;
		r[i].block_ns = rand() % 2 ? rand() % 1000 : 0;
		if (rand() % 2)
			r[i].sms = (struct gsb_sm_range){8 * (uint32_t)(rand() % 8), 64};
	}
}

/* Speeds are speeds; nobody uses more than all of a unit of the SM that two have to themselves; the same call says the same. */
static void test_law_random_mixes_stay_within_bounds(void **state)
{
	struct gsb_resident r[GSB_LAW_KERNELS_MAX];
	double speeds[GSB_LAW_KERNELS_MAX], again[GSB_LAW_KERNELS_MAX];

	srand(11);
	for (unsigned int round = 0; round < 20000; round++) {
		unsigned int n = 1 + (unsigned int)rand() % 16;
		double on_sfu = 0;

		random_mix(r, n);
		r[0].alike = rand() % 101 / 100.0;
		speeds_of(r, n, speeds);
		speeds_of(r, n, again);
		assert_memory_equal(speeds, again, n * sizeof(*speeds));
		for (unsigned int i = 0; i < n; i++) {
			assert_true(speeds[i] > 0 && speeds[i] <= 1);
			if (!r[i].sms.n && speeds[i] > 2 * GSB_STARVED)
				on_sfu += speeds[i] * r[i].demand[GSB_UNIT_SFU];
		}
		assert_true(on_sfu < 1.02);
		if (n == 1)
			assert_true(speeds[0] == 1);
	}
}

/* One more beside two never makes both faster. */
static void test_law_company_costs_somebody(void **state)
{
	struct gsb_resident r[3];
	double two[3], three[3];

	srand(12);
	for (unsigned int round = 0; round < 20000; round++) {
		random_mix(r, 3);
		speeds_of(r, 2, two);
		speeds_of(r, 3, three);
		assert_true(three[0] <= two[0] + 0.02 || three[1] <= two[1] + 0.02);
	}
}

static void test_law_refuses_what_is_no_kernel(void **state)
{
	struct gsb_interference f = h200();
	struct gsb_resident r[GSB_LAW_KERNELS_MAX + 1] = {full(GSB_UNIT_L1)};
	double speed = 7;

	r[0].demand[GSB_UNIT_SFU] = 1.5;
	assert_int_equal(gsb_law_speeds(&f, N_SMS, r, 1, &speed), -EINVAL);
	r[0].demand[GSB_UNIT_SFU] = NAN;
	assert_int_equal(gsb_law_speeds(&f, N_SMS, r, 1, &speed), -EINVAL);
	r[0] = full(GSB_UNIT_L1);
	r[0].block_ns = INFINITY;
	assert_int_equal(gsb_law_speeds(&f, N_SMS, r, 1, &speed), -EINVAL);
	r[0].block_ns = 0;
	r[0].backlog = 1.1;
	assert_int_equal(gsb_law_speeds(&f, N_SMS, r, 1, &speed), -EINVAL);
	r[0].backlog = 0;
	r[0].alike = -.1;
	assert_int_equal(gsb_law_speeds(&f, N_SMS, r, 1, &speed), -EINVAL);
	r[0].alike = 0;
	r[0].sms = (struct gsb_sm_range){128, 5};
	assert_int_equal(gsb_law_speeds(&f, N_SMS, r, 1, &speed), -EINVAL);
	assert_int_equal(gsb_law_speeds(&f, N_SMS, r, GSB_LAW_KERNELS_MAX + 1, &speed), -E2BIG);
	assert_true(speed == 7);
	assert_int_equal(gsb_law_speeds(&f, N_SMS, r, 0, &speed), 0);
}

/* ---- the table ---- */

static void test_interference_of_other_gpus_is_assumed(void **state)
{
	struct gsb_interference f;

	gsb_interference_init(&f, "H200");
	assert_false(f.is_assumed);
	gsb_interference_init(&f, "k40");
	assert_true(f.is_assumed);
	assert_true(f.beside[GSB_UNIT_SFU][GSB_UNIT_L1].younger == .77f);
}

static void test_interference_parse_reads_its_lines_alone(void **state)
{
	static const char text[] = "base = k40\n# measured\nbeside sfu  l1 = 0.5 0.25\nn_sms = 3\n"
				   "beside l1 l1 = 1 0\n";
	struct gsb_text_error err;
	struct gsb_interference f;

	gsb_interference_init(&f, "k40");
	assert_int_equal(gsb_interference_parse(text, strlen(text), &f, &err), 0);
	assert_false(f.is_assumed);
	assert_true(f.beside[GSB_UNIT_SFU][GSB_UNIT_L1].older == .5f);
	assert_true(f.beside[GSB_UNIT_SFU][GSB_UNIT_L1].younger == .25f);
	assert_true(f.beside[GSB_UNIT_L1][GSB_UNIT_SFU].younger == .44f);
	assert_true(f.beside[GSB_UNIT_L1][GSB_UNIT_L1].younger == GSB_STARVED);
}

static void test_interference_parse_faults_name_line_and_reason(void **state)
{
	static const struct {
		const char *text, *reason;
		unsigned int line;
	} rows[] = {
		{"\nbeside sfu = 1 1\n", "OLDER YOUNGER", 2},
		{"beside sfu sfo = 1 1\n", "OLDER YOUNGER", 1},
		{"beside sfu l1 l2 = 1 1\n", "OLDER YOUNGER", 1},
		{"beside sfu l1 = 1\n", "beside sfu l1: must be two shares", 1},
		{"beside sfu l1 = 1 -1\n", "two shares", 1},
		{"beside sfu l1 = 1 2\n", "two shares", 1},
		{"beside sfu l1 = 1 1 1\n", "two shares", 1},
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(rows); i++) {
		struct gsb_interference f, was;
		struct gsb_text_error err = {0};

		gsb_interference_init(&f, "h200");
		was = f;
		assert_int_equal(
			gsb_interference_parse(rows[i].text, strlen(rows[i].text), &f, &err),
			-EINVAL);
		assert_int_equal(err.line, rows[i].line);
		assert_non_null(strstr(err.what, rows[i].reason));
		assert_memory_equal(&f, &was, sizeof(f));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_law_two_kernels_are_as_measured),
		cmocka_unit_test(test_law_age_is_the_time_of_the_start),
		cmocka_unit_test(test_law_younger_has_what_the_older_leaves),
		cmocka_unit_test(test_law_blocks_that_end_share_by_their_length),
		cmocka_unit_test(test_law_short_blocks_on_a_soft_unit_have_what_leaks),
		cmocka_unit_test(test_law_memory_goes_by_requests_under_way),
		cmocka_unit_test(test_law_disjoint_sms_meet_in_memory_alone),
		cmocka_unit_test(test_law_overlapping_sms_meet_where_they_overlap),
		cmocka_unit_test(test_law_copies_share_their_direction),
		cmocka_unit_test(test_law_waits_behind_a_full_memory),
		cmocka_unit_test(test_law_memory_goes_by_requests_queued),
		cmocka_unit_test(test_law_younger_has_a_turn_at_a_full_unit),
		cmocka_unit_test(test_law_waits_for_who_is_on_its_sms),
		cmocka_unit_test(test_law_slots_go_to_who_never_stalls),
		cmocka_unit_test(test_law_needs_no_table_where_requests_are_known),
		cmocka_unit_test(test_law_goes_by_the_table_as_far_as_all_are_like_it),
		cmocka_unit_test(test_law_takes_the_tables_kernels_by_their_unit),
		cmocka_unit_test(test_law_asks_those_that_want_something),
		cmocka_unit_test(test_law_random_mixes_stay_within_bounds),
		cmocka_unit_test(test_law_company_costs_somebody),
		cmocka_unit_test(test_law_refuses_what_is_no_kernel),
		cmocka_unit_test(test_interference_of_other_gpus_is_assumed),
		cmocka_unit_test(test_interference_parse_reads_its_lines_alone),
		cmocka_unit_test(test_interference_parse_faults_name_line_and_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
