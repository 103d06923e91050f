/*
 * test_cap.c - limits of slowdown: what a tenant's kernels are held to have been worth, who is owed, and what everybody else may do meanwhile.
 * What comes of it over a minute is in test_sim.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "broker/policy/cap.h"
#include "tests/unit/policy_kit.h"

#define MS 1000000ull

static struct gsb_estimates *notes_of(const struct policy_kit *k)
{
	return (struct gsb_estimates *)k->view.estimates;
}

/* ---- what has been had ---- */

/* A launch from @from to @to, issued at @issued; others were there, or not. */
static void note(const struct policy_kit *k, struct gsb_cap *c, uint64_t from_ms,
		 uint64_t issued_ms, uint64_t to_ms, bool others)
{
	const struct gsb_work w = {.launch = 7, .kernel.n_blocks = 1};
	const struct gsb_run run = {.work = &w,
				    .took_ns = (to_ms - issued_ms) * MS,
				    .stay_ns = (to_ms - issued_ms) * MS,
				    .ready_ns = from_ms * MS,
				    .company.others = others};

	gsb_cap_note(c, 1 + c->percent / 100.0, notes_of(k), &run, to_ms * MS);
}

static void know_alone(const struct policy_kit *k, uint64_t ms)
{
	const struct gsb_work w = {.launch = 7, .kernel.n_blocks = 1};

	gsb_estimates_note(notes_of(k), k->view.arch,
			   &(struct gsb_run){.work = &w, .took_ns = ms * MS, .stay_ns = ms * MS});
}

static void expect_ratio(const struct gsb_cap *c, double slowdown)
{
	double seen = (double)c->busy_ns / (double)c->alone_ns;

	if (seen < slowdown - 1e-6 || seen > slowdown + 1e-6)
		fail_msg("%.6f times as long, for %.6f", seen, slowdown);
}

static void test_cap_beside_nobody_all_of_the_time_is_worth_what_it_is(void **state)
{
	struct gsb_cap c = {.percent = 50};

	note(*state, &c, 100, 100, 140, false);
	note(*state, &c, 200, 200, 210, false);
	expect_ratio(&c, 1);
	assert_int_equal(c.busy_ns, 50 * MS);
}

static void test_cap_what_was_held_is_worth_nothing(void **state)
{
	struct gsb_cap c = {.percent = 50};

	note(*state, &c, 100, 130, 140, false);
	expect_ratio(&c, 4);
}

static void test_cap_beside_others_it_is_worth_what_it_takes_alone(void **state)
{
	struct gsb_cap c = {.percent = 50};

	note(*state, &c, 100, 100, 110, true);
	assert_int_equal(c.alone_ns, 0); /* nobody knows yet */
	know_alone(*state, 4);
	note(*state, &c, 110, 110, 120, true);
	expect_ratio(&c, 5);
}

static void test_cap_streams_side_by_side_are_busy_once(void **state)
{
	struct gsb_cap c = {.percent = 50};

	note(*state, &c, 120, 120, 140, false);
	note(*state, &c, 130, 130, 150, false);
	assert_int_equal(c.busy_ns, 30 * MS);
	assert_int_equal(c.alone_ns, 30 * MS); /* 20 and, after those, 10 */
}

static void test_cap_is_owed_from_the_slack_on_until_nothing_is_behind(void **state)
{
	struct gsb_cap c = {.percent = 100};

	know_alone(*state, 10);
	note(*state, &c, 0, 0, 21, true); /* 1 behind */
	assert_false(c.owed);
	note(*state, &c, 100, 100, 122, true);
	assert_true(c.owed);
	note(*state, &c, 200, 200, 202, false); /* 1 behind */
	assert_true(c.owed);
	note(*state, &c, 300, 300, 302, false);
	assert_false(c.owed);
}

static void test_cap_what_was_long_ago_counts_less(void **state)
{
	struct gsb_cap c = {.percent = 100};

	know_alone(*state, 1000);
	note(*state, &c, 0, 0, 5001, true);
	assert_int_equal(c.busy_ns, 5001 * MS / 2);
	assert_int_equal(c.alone_ns, 500 * MS);
}

/* ---- floors: who has no limit ---- */

#define THIRD 4.5 /* of the device: half as long again as its share comes to */

static void note_floor(const struct policy_kit *k, struct gsb_cap *c, uint64_t from_ms,
		       uint64_t issued_ms, uint64_t to_ms)
{
	const struct gsb_work w = {.launch = 7, .kernel.n_blocks = 1};
	const struct gsb_run run = {.work = &w,
				    .took_ns = (to_ms - issued_ms) * MS,
				    .stay_ns = (to_ms - issued_ms) * MS,
				    .ready_ns = from_ms * MS,
				    .company.others = 1};

	gsb_cap_note(c, THIRD, notes_of(k), &run, to_ms * MS);
}

static void test_floor_of_what_nobody_knows_only_waiting_counts(void **state)
{
	struct gsb_cap c = {0};

	note_floor(*state, &c, 100, 190, 200);
	assert_int_equal(c.busy_ns, 100 * MS);
	assert_int_equal(c.alone_ns, 10 * MS);
	know_alone(*state, 2);
	note_floor(*state, &c, 200, 290, 300);
	assert_int_equal(c.alone_ns, 12 * MS);
}

/* Of a second in which it has nothing for 900 ms it has had nine tenths, whatever the rest took. */
static void test_floor_what_it_thinks_counts_on_both_sides(void **state)
{
	struct gsb_cap c = {0};

	know_alone(*state, 1);
	note_floor(*state, &c, 100, 100, 150);
	note_floor(*state, &c, 160, 160, 260);
	assert_int_equal(c.busy_ns, (50 + 10 + 100) * MS);
	assert_int_equal(c.alone_ns, (1 + 10 + 1) * MS);
	note_floor(*state, &c, 361, 361, 401); /* that long it wanted nothing */
	assert_int_equal(c.busy_ns, (50 + 10 + 100 + 40) * MS);
	assert_int_equal(c.alone_ns, (1 + 10 + 1 + 1) * MS);
}

static void test_floor_more_than_it_is_due_makes_up_for_nothing(void **state)
{
	struct gsb_cap c = {0};

	know_alone(*state, 10);
	note_floor(*state, &c, 100, 100, 145);
	assert_int_equal(c.busy_ns + c.alone_ns, 0);
	note_floor(*state, &c, 145, 145, 191); /* 1 behind */
	assert_int_equal(c.busy_ns, 46 * MS);
	assert_false(c.owed);
	note_floor(*state, &c, 191, 191, 437); /* 202 */
	assert_true(c.owed);
	note_floor(*state, &c, 437, 437, 447); /* 167 */
	assert_true(c.owed);
}

static void expect_limit(const struct policy_kit *k, unsigned i, double times)
{
	double seen = gsb_cap_limit(&k->claims[i], k->claim_list, k->view.n_claims, k->view.now_ns);

	if (seen < 0.999999 * times || seen > 1.000001 * times)
		fail_msg("%.6f times as long, for %.6f", seen, times);
}

/* By weight, of those that want the device, and of what limits leave. */
static void test_floor_is_two_thirds_of_the_share(void **state)
{
	struct policy_kit *k = *state;

	for (unsigned i = 1; i <= 4; i++) {
		policy_kit_tenant(k);
		policy_kit_kernel(k, i, 8 * 132, 5);
	}
	expect_limit(k, 0, 6);
	k->claims[3].weight = 500;
	expect_limit(k, 0, 12);
	expect_limit(k, 3, 2.4);
	k->claims[3].cap.percent = 100; /* half is its, and the rest have the other */
	expect_limit(k, 3, 2);
	expect_limit(k, 0, 9);
	k->claims[3].cap.percent = 4;
	assert_true(gsb_cap_limit(&k->claims[0], k->claim_list, 4, k->view.now_ns) > 1e6);
}

static void test_floor_is_of_those_that_want_the_device(void **state)
{
	struct policy_kit *k = *state;

	policy_kit_tenant(k);
	policy_kit_tenant(k);
	policy_kit_kernel(k, 1, 8 * 132, 5);
	assert_true(gsb_cap_limit(&k->claims[0], k->claim_list, 2, k->view.now_ns) > 1e6);
	k->claims[1].cap.until_ns = k->view.now_ns - 100 * MS;
	expect_limit(k, 0, 3);
	k->claims[1].cap.until_ns--;
	assert_true(gsb_cap_limit(&k->claims[0], k->claim_list, 2, k->view.now_ns) > 1e6);
}

/* ---- who is owed ---- */

/* Four tenants with a kernel each that fills the device. The second has had 100 ms of what takes 50 alone, and may be slowed by half. */
static struct gsb_claim *make_four(struct policy_kit *k)
{
	for (unsigned i = 1; i <= 4; i++) {
		policy_kit_tenant(k);
		policy_kit_kernel(k, i, 8 * 132, 5);
	}
	k->claims[1].cap.percent = 50;
	k->claims[1].cap.busy_ns = 100 * MS;
	k->claims[1].cap.alone_ns = 50 * MS;
	return &k->claims[1];
}

static void expect_held(const struct policy_kit *k, unsigned i)
{
	const struct gsb_decision *d = policy_kit_said(k, i);

	assert_non_null(d);
	assert_int_equal(d->verdict, GSB_HOLD);
	assert_int_equal(d->reason, GSB_REASON_CAP);
}

static void expect_gone(const struct policy_kit *k, unsigned i, enum gsb_reason reason)
{
	const struct gsb_decision *d = policy_kit_said(k, i);

	assert_non_null(d);
	assert_int_equal(d->verdict, GSB_ISSUE);
	assert_int_equal(d->reason, reason);
}

static void test_coreside_gives_the_device_to_who_is_owed(void **state)
{
	struct policy_kit *k = *state;

	make_four(k);
	policy_kit_copy(k, 3, 100);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 2);
	expect_gone(k, 1, GSB_REASON_CAP);
	assert_int_equal(policy_kit_said(k, 1)->sms.n, 0);
	expect_gone(k, 4, GSB_REASON_ARRIVAL); /* copies are in nobody's way */
	expect_held(k, 0);
	expect_held(k, 2);
	expect_held(k, 3);
}

static void test_coreside_within_the_slack_nobody_is_owed(void **state)
{
	struct policy_kit *k = *state;

	make_four(k)->cap.busy_ns = 76 * MS;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 4);
	k->claims[1].cap.owed = true; /* it was, and is behind by 1 */
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
}

/* It waits for longer than it may, and nothing of it has ended since. */
static void test_coreside_who_gets_nothing_is_owed_by_and_by(void **state)
{
	struct policy_kit *k = *state;

	make_four(k)->cap.busy_ns = 75 * MS;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 4);
	k->ready[1].since_ns -= 3 * MS;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
}

/* Also while it runs, as long as that is slower than it may be. */
static void test_coreside_who_runs_too_slowly_is_owed(void **state)
{
	struct policy_kit *k = *state;

	make_four(k)->cap.busy_ns = 75 * MS;
	policy_kit_start(k, 1);
	k->view.now_ns += 3 * MS;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 0);
	k->claims[1].cap.until_ns = k->view.now_ns - MS; /* another of its kernels ended then */
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 3);
}

static void test_coreside_who_is_slowed_most_for_his_limit_goes_first(void **state)
{
	struct policy_kit *k = *state;

	make_four(k);
	k->claims[2].cap = k->claims[1].cap;
	k->claims[2].cap.percent = 80;
	k->claims[2].cap.busy_ns = 130 * MS;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
	expect_gone(k, 2, GSB_REASON_CAP);
	k->claims[2].cap.busy_ns = 110 * MS;
	k->claims[2].cap.owed = true;
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_gone(k, 1, GSB_REASON_CAP);
}

static void test_coreside_what_waited_for_a_second_goes_whoever_is_owed(void **state)
{
	struct policy_kit *k = *state;

	make_four(k);
	k->ready[2].since_ns -= 999 * MS;
	k->ready[3].since_ns -= 1000 * MS;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 2);
	expect_held(k, 2);
	expect_gone(k, 3, GSB_REASON_STARVED);
}

/* Between two of its launches the device is not left idle; but the next is to find room. */
static void test_coreside_lets_one_go_on_sms_that_may_be_missed(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_claim *c = make_four(k);

	c->n_ready = 0;
	c->cap.until_ns = k->view.now_ns - MS;
	k->ready_list[1] = k->ready_list[3];
	k->view.n_ready = 3;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 0);
	k->view.must = true;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
	expect_gone(k, 0, GSB_REASON_CAP);
	assert_int_equal(policy_kit_said(k, 0)->sms.first, 88); /* two thirds are its own */
	assert_int_equal(policy_kit_said(k, 0)->sms.n, 44);
	expect_held(k, 1);
	k->ready[0].cooperative = true;
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(policy_kit_said(k, 0)->sms.n, 0);
	k->ready[0].cooperative = false;
	k->view.sm_group = 0;
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(policy_kit_said(k, 0)->sms.n, 0);
	k->view.must = false;
	c->cap.until_ns = k->view.now_ns - 3 * MS; /* it is not waited for any more */
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 3);
}

static void expect_part(struct policy_kit *k, uint32_t percent, uint32_t first)
{
	k->claims[1].cap.percent = percent;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
	assert_int_equal(policy_kit_said(k, 0)->sms.first, first);
	assert_int_equal(policy_kit_said(k, 0)->sms.n, k->view.arch->n_sms - first);
}

/* Whole groups, one at least for each. */
static void test_coreside_sms_that_may_be_missed_are_groups(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_claim *c = make_four(k);

	c->n_ready = 0;
	c->cap.until_ns = k->view.now_ns;
	c->cap.busy_ns = 10000 * MS;
	k->view.n_ready = 1;
	k->view.must = true;
	expect_part(k, 1, 120);
	expect_part(k, 20, 112);
	expect_part(k, 400, 32);
	expect_part(k, 5000, 8);
}

/* Four that are due a sixth at least. The second has had a tenth of a second's work in one. */
static void test_coreside_owes_half_a_share_to_who_has_no_limit(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_cap *c = &make_four(k)->cap;

	*c = (struct gsb_cap){
		.busy_ns = 1000 * MS, .alone_ns = 100 * MS, .until_ns = k->view.now_ns};
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
	expect_gone(k, 1, GSB_REASON_CAP);
	expect_held(k, 0);
	c->busy_ns = 800 * MS; /* within the slack */
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 4);
	c->until_ns -= 50 * MS; /* and a moment later no more, if it could have run meanwhile */
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 4);
	k->ready[1].since_ns -= 50 * MS;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
	c->owed = true;
	c->until_ns = k->view.now_ns - MS / 5; /* it is waited for from one launch to the next */
	k->claims[1].n_ready = 0;
	k->ready_list[1] = k->ready_list[3];
	k->view.n_ready = 3;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 0);
	c->until_ns--;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 3);
}

/* Else it would be as far behind again at once. */
static void test_coreside_a_floor_is_owed_until_nothing_is_behind(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_cap *c = &make_four(k)->cap;

	*c = (struct gsb_cap){
		.busy_ns = 601 * MS, .alone_ns = 100 * MS, .until_ns = k->view.now_ns};
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 4);
	c->owed = true; /* it was, and is behind by 1 */
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
	expect_gone(k, 1, GSB_REASON_CAP);
}

/* To hold everybody for blocks that leave half of the device idle would make the last of all end later: so they go between the others'. */
static void test_coreside_holds_nobody_for_a_floor_of_who_leaves_room(void **state)
{
	struct policy_kit *k = *state;

	make_four(k)->cap = (struct gsb_cap){.busy_ns = 1000 * MS,
					     .alone_ns = 100 * MS,
					     .until_ns = k->view.now_ns,
					     .owed = true};
	k->ready[1].kernel.n_blocks = 4 * 132;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 4);
	expect_gone(k, 1, GSB_REASON_SHARE);
	assert_int_equal(policy_kit_said(k, 1)->priority, k->view.priority_greatest);
	assert_int_equal(policy_kit_said(k, 0)->priority, 0);
	k->claims[1].cap.owed = false;
	k->claims[1].cap.busy_ns = 0;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 4);
	assert_int_equal(policy_kit_said(k, 1)->priority, 0);
}

/* A last round of a few blocks leaves as much. */
static void test_coreside_holds_nobody_for_a_floor_of_who_begins_a_round(void **state)
{
	struct policy_kit *k = *state;

	make_four(k)->cap = (struct gsb_cap){.busy_ns = 1000 * MS,
					     .alone_ns = 100 * MS,
					     .until_ns = k->view.now_ns,
					     .owed = true};
	k->ready[1].kernel.n_blocks = 8 * 132 + 1;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 4);
	k->ready[1].kernel.n_blocks = 16 * 132;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
	expect_gone(k, 1, GSB_REASON_CAP);
}

/* Who fills the device is not held up by who is owed more and goes between. */
static void test_coreside_gives_the_device_to_who_fills_it(void **state)
{
	struct policy_kit *k = *state;

	make_four(k)->cap = (struct gsb_cap){.busy_ns = 1100 * MS,
					     .alone_ns = 100 * MS,
					     .until_ns = k->view.now_ns,
					     .owed = true};
	k->ready[1].kernel.n_blocks = 132;
	k->claims[2].cap = (struct gsb_cap){
		.busy_ns = 1000 * MS, .alone_ns = 100 * MS, .until_ns = k->view.now_ns};
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
	expect_gone(k, 2, GSB_REASON_CAP);
}

/* Its blocks get in, and starve beside older ones: priority does not reach inside an SM. */
static void test_coreside_gives_the_device_to_who_is_not_helped_between(void **state)
{
	struct policy_kit *k = *state;

	make_four(k)->cap = (struct gsb_cap){.busy_ns = 1100 * MS,
					     .alone_ns = 100 * MS,
					     .until_ns = k->view.now_ns,
					     .owed = true};
	k->ready[1].kernel.n_blocks = 132;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 4);
	k->claims[1].cap.busy_ns += MS;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
	expect_gone(k, 1, GSB_REASON_CAP);
}

/* Its own limit is a promise, and without priorities nothing goes between. */
static void test_coreside_gives_the_device_for_a_limit_of_who_leaves_room(void **state)
{
	struct policy_kit *k = *state;

	make_four(k);
	k->ready[1].kernel.n_blocks = 132;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
	expect_gone(k, 1, GSB_REASON_CAP);
	k->claims[1].cap = (struct gsb_cap){
		.busy_ns = 1000 * MS, .alone_ns = 100 * MS, .until_ns = k->view.now_ns};
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 4);
	k->view.priority_greatest = 0;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
}

static void test_coreside_limits_come_before_floors(void **state)
{
	struct policy_kit *k = *state;

	make_four(k);
	k->claims[2].cap = (struct gsb_cap){
		.busy_ns = 5000 * MS, .alone_ns = MS, .until_ns = k->view.now_ns, .owed = true};
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
	expect_gone(k, 1, GSB_REASON_CAP);
	k->claims[1].cap.busy_ns = 70 * MS;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
	expect_gone(k, 2, GSB_REASON_CAP);
}

static void test_priority_critical_tenants_are_above_limits(void **state)
{
	struct policy_kit *k = *state;

	make_four(k);
	k->claims[3].critical = true;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_priority), 1);
	expect_gone(k, 3, GSB_REASON_CRITICAL);
	policy_kit_start(k, 3);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_priority), 1);
	expect_gone(k, 1, GSB_REASON_RESERVED); /* not on those that are kept for it */
	k->claims[1].critical = true;		/* it goes first anyway, and nobody waits for it */
	assert_int_equal(policy_kit_ask(k, &gsb_policy_priority), 1);
	expect_gone(k, 1, GSB_REASON_CRITICAL);
	policy_kit_start(k, 1);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_priority), 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, policy_kit_setup, policy_kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_cap_beside_nobody_all_of_the_time_is_worth_what_it_is),
		CASE(test_cap_what_was_held_is_worth_nothing),
		CASE(test_cap_beside_others_it_is_worth_what_it_takes_alone),
		CASE(test_cap_streams_side_by_side_are_busy_once),
		CASE(test_cap_is_owed_from_the_slack_on_until_nothing_is_behind),
		CASE(test_cap_what_was_long_ago_counts_less),
		CASE(test_floor_of_what_nobody_knows_only_waiting_counts),
		CASE(test_floor_what_it_thinks_counts_on_both_sides),
		CASE(test_floor_more_than_it_is_due_makes_up_for_nothing),
		CASE(test_floor_is_two_thirds_of_the_share),
		CASE(test_floor_is_of_those_that_want_the_device),
		CASE(test_coreside_gives_the_device_to_who_is_owed),
		CASE(test_coreside_within_the_slack_nobody_is_owed),
		CASE(test_coreside_who_gets_nothing_is_owed_by_and_by),
		CASE(test_coreside_who_runs_too_slowly_is_owed),
		CASE(test_coreside_who_is_slowed_most_for_his_limit_goes_first),
		CASE(test_coreside_what_waited_for_a_second_goes_whoever_is_owed),
		CASE(test_coreside_lets_one_go_on_sms_that_may_be_missed),
		CASE(test_coreside_sms_that_may_be_missed_are_groups),
		CASE(test_coreside_owes_half_a_share_to_who_has_no_limit),
		CASE(test_coreside_a_floor_is_owed_until_nothing_is_behind),
		CASE(test_coreside_holds_nobody_for_a_floor_of_who_leaves_room),
		CASE(test_coreside_holds_nobody_for_a_floor_of_who_begins_a_round),
		CASE(test_coreside_gives_the_device_to_who_fills_it),
		CASE(test_coreside_gives_the_device_to_who_is_not_helped_between),
		CASE(test_coreside_gives_the_device_for_a_limit_of_who_leaves_room),
		CASE(test_coreside_limits_come_before_floors),
		CASE(test_priority_critical_tenants_are_above_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
