/*
 * test_policies.c - what each policy is there for, and what all of them promise whatever they are shown: legal decisions,
 * the same for the same view, and never an idle device beside work.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "broker/policy/bound.h"
#include "broker/policy/cap.h"
#include "broker/policy/hold.h"
#include "broker/policy/shape.h"
#include "model/gpu/arch.h"
#include "tests/unit/policy_kit.h"

static int setup(void **state)
{
	*state = policy_kit_create();
	return !*state;
}

static int teardown(void **state)
{
	policy_kit_destroy(*state);
	return 0;
}

static void expect_said(const struct policy_kit *k, unsigned i, enum gsb_verdict verdict,
			enum gsb_reason reason)
{
	const struct gsb_decision *d = policy_kit_said(k, i);

	assert_non_null(d);
	assert_int_equal(d->verdict, verdict);
	assert_int_equal(d->reason, reason);
}

/* ---- serial ---- */

static void test_serial_lets_all_streams_of_one_tenant_go(void **state)
{
	struct policy_kit *k = *state;

	policy_kit_tenant(k);
	policy_kit_tenant(k);
	policy_kit_kernel(k, 2, 10, 1);
	policy_kit_kernel(k, 1, 10, 1);
	policy_kit_copy(k, 1, 100);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_serial), 2);
	expect_said(k, 0, GSB_HOLD, GSB_REASON_TURN);
	expect_said(k, 1, GSB_ISSUE, GSB_REASON_ARRIVAL);
	expect_said(k, 2, GSB_ISSUE, GSB_REASON_ARRIVAL);
}

/* Also for the first of all: it would run beside it. */
static void test_serial_leaves_the_device_to_whoever_has_it(void **state)
{
	struct policy_kit *k = *state;

	policy_kit_tenant(k);
	policy_kit_tenant(k);
	policy_kit_kernel(k, 2, 10, 1);
	policy_kit_start(k, 0);
	policy_kit_kernel(k, 1, 10, 1);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_serial), 0);
	policy_kit_kernel(k, 2, 10, 1);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_serial), 1);
	expect_said(k, 1, GSB_ISSUE, GSB_REASON_ARRIVAL);
}

/* ---- multiqx ---- */

static void test_multiqx_has_one_kernel_at_a_time_and_copies_beside_it(void **state)
{
	struct policy_kit *k = *state;

	policy_kit_tenant(k);
	policy_kit_tenant(k);
	policy_kit_kernel(k, 1, 10, 1);
	policy_kit_kernel(k, 2, 10, 1);
	policy_kit_kernel(k, 1, 10, 1);
	policy_kit_copy(k, 2, 100);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_multiqx), 2);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_ARRIVAL);
	expect_said(k, 1, GSB_HOLD, GSB_REASON_TURN);
	expect_said(k, 2, GSB_HOLD, GSB_REASON_TURN);
	expect_said(k, 3, GSB_ISSUE, GSB_REASON_ARRIVAL);
	policy_kit_start(k, 0);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_multiqx), 1); /* the copy */
}

static void add_with_memory(struct policy_kit *k, uint64_t gib)
{
	struct gsb_claim *c = policy_kit_tenant(k);

	c->memory_bytes = gib << 30;
	policy_kit_copy(k, c->tenant, 100);
}

static void test_multiqx_postpones_what_does_not_fit_and_all_behind_it(void **state)
{
	struct policy_kit *k = *state;

	add_with_memory(k, 100);
	add_with_memory(k, 42); /* of 141 */
	add_with_memory(k, 1);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_multiqx), 1);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_ARRIVAL);
	expect_said(k, 1, GSB_HOLD, GSB_REASON_ADMISSION);
	expect_said(k, 2, GSB_HOLD, GSB_REASON_ADMISSION);
	k->claims[1].memory_bytes = 40ull << 30;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_multiqx), 3);
}

/* Its kernels used a tenth of what it once had. */
static void test_multiqx_goes_by_the_demand_over_time(void **state)
{
	struct policy_kit *k = *state;

	add_with_memory(k, 140);
	k->claims[0].n_issued = 7;
	k->claims[0].demand_bytes = 14ull << 30;
	k->claims[0].demand_ns = 1000;
	add_with_memory(k, 42);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_multiqx), 2);
	k->claims[0].demand_bytes = 100ull << 30;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_multiqx), 1);
	expect_said(k, 1, GSB_HOLD, GSB_REASON_ADMISSION);
}

static void test_multiqx_who_has_begun_stays_however_it_grows(void **state)
{
	struct policy_kit *k = *state;

	add_with_memory(k, 200);
	add_with_memory(k, 200);
	k->claims[0].n_issued = k->claims[1].n_issued = 1;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_multiqx), 2);
}

static void test_multiqx_idle_device_takes_the_first_that_was_postponed(void **state)
{
	struct policy_kit *k = *state;

	add_with_memory(k, 100);
	k->claims[0].n_issued = 1;
	policy_kit_start(k, 0);
	k->view.n_running = 0; /* it computes on its host */
	add_with_memory(k, 100);
	add_with_memory(k, 100);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_multiqx), 0);
	k->view.must = true;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_multiqx), 1);
	assert_int_equal(policy_kit_said(k, 0)->verdict, GSB_ISSUE);
}

/* ---- coreside ---- */

#define FILL (8 * 132) /* blocks that fill the device */

static void expect_order(const struct policy_kit *k, const unsigned *order, unsigned n)
{
	assert_int_equal(k->n, n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(k->out[i].verdict, GSB_ISSUE);
		assert_int_equal(k->out[i].ready, order[i]);
	}
}

static void test_coreside_takes_the_long_pole_first(void **state)
{
	struct policy_kit *k = *state;

	/* Measured on an H200: 30 ms as they come, 20 ms with the last one first. */
	policy_kit_tenant(k);
	policy_kit_kernel(k, 1, FILL, 5);
	policy_kit_kernel(k, 1, FILL, 5);
	policy_kit_kernel(k, 1, FILL / 4, 20);
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_order(k, (unsigned[]){2, 0, 1}, 3);
	expect_said(k, 2, GSB_ISSUE, GSB_REASON_RANK);
	assert_in_range(policy_kit_said(k, 2)->predicted_ns, 19900000, 20100000);
	assert_in_range(policy_kit_said(k, 2)->predicted_slowdown_ppm, 990000, 1010000);
}

/* Measured: 6 ms behind what does not fit, 1 ms before it; all end at the same time either way. */
static void test_coreside_puts_nothing_that_does_not_fit_before_what_does(void **state)
{
	struct policy_kit *k = *state;

	policy_kit_tenant(k);
	for (int i = 0; i < 2; i++)
		policy_kit_kernel(k, 1, 132, 5)->kernel.smem_bytes = 120 << 10;
	policy_kit_kernel(k, 1, 132, 1);
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_order(k, (unsigned[]){0, 2, 1}, 3);
}

static void test_coreside_without_gain_keeps_the_order_of_arrival(void **state)
{
	struct policy_kit *k = *state;

	policy_kit_tenant(k);
	policy_kit_kernel(k, 1, FILL, 5);
	policy_kit_kernel(k, 1, FILL, 5.1);
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_order(k, (unsigned[]){0, 1}, 2);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_ARRIVAL);
}

static void expect_distrust(struct policy_kit *k)
{
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_order(k, (unsigned[]){0, 1, 2}, 3);
	expect_said(k, 2, GSB_ISSUE, GSB_REASON_DISTRUST);
}

static void test_coreside_does_not_order_by_what_it_does_not_trust(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_work *w;

	policy_kit_tenant(k);
	policy_kit_kernel(k, 1, FILL, 5);
	policy_kit_kernel(k, 1, FILL, 5);
	w = policy_kit_kernel(k, 1, FILL / 4, 20);
	w->predicted.trust_ppm = 200000;
	expect_distrust(k);
	w->predicted = (struct gsb_prediction){0};
	expect_distrust(k);
}

/* What runs stands in the way for nobody knows how long. */
static void test_coreside_distrusts_beside_an_unknown_kernel(void **state)
{
	struct policy_kit *k = *state;

	policy_kit_tenant(k);
	policy_kit_kernel(k, 1, FILL, 5)->predicted.alone_ns = 0;
	policy_kit_start(k, 0);
	policy_kit_kernel(k, 1, FILL, 5);
	policy_kit_kernel(k, 1, FILL / 4, 20);
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_DISTRUST);
	expect_order(k, (unsigned[]){0, 1}, 2);
}

static void test_coreside_lets_copies_pass(void **state)
{
	struct policy_kit *k = *state;

	policy_kit_tenant(k);
	policy_kit_kernel(k, 1, FILL, 5);
	policy_kit_copy(k, 1, 100);
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_order(k, (unsigned[]){1, 0}, 2);
}

static void test_coreside_makes_no_plan_for_short_kernels_alone(void **state)
{
	struct policy_kit *k = *state;

	policy_kit_tenant(k);
	policy_kit_kernel(k, 1, FILL, 0.005);
	policy_kit_kernel(k, 1, FILL, 0.005);
	policy_kit_kernel(k, 1, FILL / 4, 0.019);
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_order(k, (unsigned[]){0, 1, 2}, 3);
	expect_said(k, 2, GSB_ISSUE, GSB_REASON_SHORT);
	k->ready[2].predicted.alone_ns = 21000;
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_order(k, (unsigned[]){2, 0, 1}, 3);
}

/* What runs began 1 ms ago of 5, though it was issued long before: a fifth of the device is free. Later four fifths are. */
static void test_coreside_counts_from_when_a_kernel_began(void **state)
{
	struct policy_kit *k = *state;

	policy_kit_tenant(k);
	policy_kit_kernel(k, 1, FILL, 5);
	policy_kit_start(k, 0);
	k->running[0].since_ns -= 40000000;
	k->running[0].predicted_start_ns = k->view.now_ns - 1000000;
	policy_kit_kernel(k, 1, FILL / 2, 5);
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_in_range(policy_kit_said(k, 0)->predicted_ns, 9000000, 10000000);
	k->running[0].predicted_start_ns = k->view.now_ns - 4000000;
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_in_range(policy_kit_said(k, 0)->predicted_ns, 4990000, 5010000);
}

static struct policy_kit *two_that_fill(struct policy_kit *k, uint64_t ahead_ns)
{
	policy_kit_tenant(k);
	policy_kit_tenant(k)->share_ns = ahead_ns;
	policy_kit_kernel(k, 1, FILL, 5);
	policy_kit_start(k, 0);
	policy_kit_kernel(k, 2, FILL, 5);
	policy_kit_kernel(k, 1, FILL, 5);
	policy_kit_ask(k, &gsb_policy_coreside);
	return k;
}

static void test_coreside_who_is_far_ahead_of_its_share_waits_for_room(void **state)
{
	struct policy_kit *k = two_that_fill(*state, 60000000ull * 132);

	assert_int_equal(k->out[0].ready, 1);
	assert_int_equal(k->out[0].verdict, GSB_ISSUE);
	expect_said(k, 0, GSB_HOLD, GSB_REASON_SHARE);
	k->ready[1].since_ns -= 300000000; /* as long as anything may */
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_STARVED);
	assert_int_equal(k->out[0].ready, 0);
}

/* Of all that is held none says nothing of when, or later than when it has waited for as long as anything may. */
static void test_coreside_holds_for_no_longer_than_anything_may_wait(void **state)
{
	struct policy_kit *k = two_that_fill(*state, 60000000ull * 132);

	policy_kit_ask(k, &gsb_policy_coreside);
	expect_said(k, 0, GSB_HOLD, GSB_REASON_SHARE);
	assert_int_equal(policy_kit_said(k, 0)->hold.not_before_ns,
			 k->ready_list[0]->since_ns + 1000000000);
	k->claims[1].max_wait_ns = 7000000;
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(policy_kit_said(k, 0)->hold.not_before_ns,
			 k->ready_list[0]->since_ns + 7000000);
	k->view.now_ns = policy_kit_said(k, 0)->hold.not_before_ns;
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_STARVED);
}

/* As long before its deadline as it takes and as the longest of others takes, which cannot be taken off the device. */
static void test_coreside_what_has_a_deadline_goes_when_it_comes_near(void **state)
{
	struct policy_kit *k = two_that_fill(*state, 60000000ull * 132);

	k->ready[2].predicted.alone_ns = 7000000; /* of the other tenant */
	k->claims[1].deadline_ns = 30000000;
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_said(k, 0, GSB_HOLD, GSB_REASON_SHARE);
	assert_int_equal(policy_kit_said(k, 0)->hold.not_before_ns,
			 k->ready_list[0]->since_ns + 30000000 - 5000000 - 7000000);
	k->view.now_ns = policy_kit_said(k, 0)->hold.not_before_ns;
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_DEADLINE);
	assert_int_equal(k->out[0].ready, 0);
}

/* There is no time to lose: it takes longer than it may. And a longest wait that ends before counts as ever. */
static void test_coreside_deadline_that_cannot_be_kept_is_due_at_once(void **state)
{
	struct policy_kit *k = two_that_fill(*state, 60000000ull * 132);

	k->claims[1].deadline_ns = 1;
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_DEADLINE);
	k->claims[1].deadline_ns = 900000000;
	k->claims[1].max_wait_ns = 7000000;
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(policy_kit_said(k, 0)->hold.not_before_ns,
			 k->ready_list[0]->since_ns + 7000000);
}

static void test_coreside_the_earliest_deadline_goes_first(void **state)
{
	struct policy_kit *k = *state;

	for (unsigned i = 0; i < 4; i++) {
		policy_kit_tenant(k)->deadline_ns = i ? (5 - i) * 1000000 : 0;
		policy_kit_kernel(k, i + 1, FILL, 5);
	}
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(k->n, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(k->out[i].ready, 3 - i);
		assert_int_equal(k->out[i].verdict, GSB_ISSUE);
		assert_int_equal(k->out[i].reason == GSB_REASON_DEADLINE, i < 3);
	}
}

/* Nobody waits for ever for a tenant whose kernels are always late: what has starved goes, a kernel of its and the longest later. */
static void test_coreside_deadline_that_cannot_be_kept_starves_nobody(void **state)
{
	struct policy_kit *k = *state;

	policy_kit_tenant(k)->deadline_ns = 1;
	policy_kit_tenant(k);
	policy_kit_kernel(k, 1, FILL, 5);
	policy_kit_kernel(k, 2, FILL, 7);
	k->view.now_ns = k->ready[0].since_ns = 1000000000;
	k->ready[1].since_ns = k->view.now_ns - 200000000;
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(k->out[0].ready, 0);
	assert_int_equal(k->out[0].reason, GSB_REASON_DEADLINE);
	k->ready[1].since_ns -= 5000000 + 7000000;
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(k->out[0].ready, 1);
	assert_int_equal(k->out[0].reason, GSB_REASON_STARVED);
}

/* There is room to say of 32 what they are held for; of the fortieth the time counts all the same. */
static void test_coreside_says_the_first_end_of_more_holds_than_there_is_room_for(void **state)
{
	struct policy_kit *k = *state;

	policy_kit_tenant(k)->cap = (struct gsb_cap){
		.percent = 10, .owed = true, .until_ns = k->view.now_ns, .busy_ns = 1000000000};
	policy_kit_tenant(k);
	policy_kit_tenant(k)->max_wait_ns = 5000000;
	policy_kit_kernel(k, 1, FILL, 5);
	policy_kit_start(k, 0);
	for (int i = 0; i < 40; i++)
		policy_kit_kernel(k, i < 39 ? 2 : 3, FILL, 5);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 0);
	assert_int_equal(k->n, GSB_N_DECISIONS - GSB_N_QUEUES);
	assert_int_equal(gsb_hold_first_ns(k->out, k->n), k->ready_list[39]->since_ns + 5000000);
}

/* Who is owed and thinks is waited for 2 ms, as far as others run. */
static void test_coreside_waits_for_who_is_owed_until_it_has_thought_too_long(void **state)
{
	struct policy_kit *k = *state;

	policy_kit_tenant(k)->cap = (struct gsb_cap){
		.percent = 10, .owed = true, .until_ns = k->view.now_ns, .busy_ns = 1000000000};
	policy_kit_tenant(k);
	policy_kit_kernel(k, 2, FILL, 5);
	policy_kit_start(k, 0);
	policy_kit_kernel(k, 2, FILL, 5);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 0);
	expect_said(k, 0, GSB_HOLD, GSB_REASON_CAP);
	assert_int_equal(policy_kit_said(k, 0)->hold.not_before_ns, k->view.now_ns + 2000001);
	k->view.now_ns = policy_kit_said(k, 0)->hold.not_before_ns;
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1);
}

static void test_multiqx_holds_until_the_kernel_that_runs_has_ended(void **state)
{
	struct policy_kit *k = *state;

	policy_kit_tenant(k);
	policy_kit_copy(k, 1, 100);
	policy_kit_start(k, 0);
	policy_kit_kernel(k, 1, 10, 1);
	policy_kit_start(k, 0);
	policy_kit_kernel(k, 1, 10, 1);
	policy_kit_ask(k, &gsb_policy_multiqx);
	expect_said(k, 0, GSB_HOLD, GSB_REASON_TURN);
	assert_ptr_equal(policy_kit_said(k, 0)->hold.until, &k->running[1]);
}

static void test_coreside_within_the_lag_all_tenants_are_equal(void **state)
{
	expect_order(two_that_fill(*state, 40000000ull * 132), (unsigned[]){0, 1}, 2);
}

static void test_coreside_own_longest_wait_counts(void **state)
{
	struct policy_kit *k = two_that_fill(*state, 60000000ull * 132);

	k->ready[1].since_ns -= 10000000;
	k->claims[1].max_wait_ns = 10000000;
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_STARVED);
}

static void note_pair(struct gsb_estimates *e, const struct policy_kit *k, const struct gsb_work *w,
		      const struct gsb_work *beside, double slowdown, unsigned n)
{
	struct gsb_run alone = {.work = w, .took_ns = 5000000};
	struct gsb_run both = {.work = w,
			       .took_ns = (uint64_t)(5e6 * slowdown),
			       .company = {.shared = true, .met = true, .code = beside->code}};

	gsb_estimates_note(e, k->view.arch, &alone);
	while (n--)
		gsb_estimates_note(e, k->view.arch, &both);
}

static void test_coreside_keeps_apart_what_loses_together_and_nothing_else(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_estimates *e;

	assert_int_equal(gsb_estimates_create(&e), 0);
	k->view.estimates = e;
	policy_kit_tenant(k);
	policy_kit_kernel(k, 1, 100, 5)->code = 1000;
	policy_kit_start(k, 0);
	policy_kit_kernel(k, 1, 100, 5);
	note_pair(e, k, k->running_list[0], k->ready_list[0], 2.4, 1);
	note_pair(e, k, k->ready_list[0], k->running_list[0], 2.4, 4);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside),
			 1); /* the half of it was seen once */
	note_pair(e, k, k->running_list[0], k->ready_list[0], 2.4, 3);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 0);
	expect_said(k, 0, GSB_HOLD, GSB_REASON_APART);
	note_pair(e, k, k->ready_list[0], k->running_list[0], 1.2, 160);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_coreside), 1); /* 1/2.4 + 1/1.2 */
	gsb_estimates_destroy(e);
}

/* ---- priority ---- */

static void expect_range(const struct policy_kit *k, unsigned i, uint32_t first, uint32_t n)
{
	assert_int_equal(policy_kit_said(k, i)->verdict, GSB_ISSUE);
	assert_int_equal(policy_kit_said(k, i)->sms.first, first);
	assert_int_equal(policy_kit_said(k, i)->sms.n, n);
}

static void add_critical_beside_batch(struct policy_kit *k)
{
	policy_kit_tenant(k);
	policy_kit_tenant(k)->critical = true;
	policy_kit_kernel(k, 1, FILL, 5);
	policy_kit_kernel(k, 2, 100, 0.1);
}

/* The second is critical, and goes before anything is thought of the first. */
static void ask_critical(struct policy_kit *k)
{
	assert_int_equal(policy_kit_ask(k, &gsb_policy_priority), 1);
	assert_int_equal(k->n, 1);
	expect_said(k, 1, GSB_ISSUE, GSB_REASON_CRITICAL);
}

static void test_priority_keeps_sms_free_for_an_active_critical_tenant(void **state)
{
	struct policy_kit *k = *state;

	add_critical_beside_batch(k);
	ask_critical(k);
	assert_int_equal(policy_kit_said(k, 1)->priority, -5);
	expect_range(k, 1, 0, 16);
	policy_kit_start(k, 1);
	policy_kit_ask(k, &gsb_policy_priority);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_RESERVED);
	expect_range(k, 0, 16, 116);
}

/* Of a critical tenant, with blocks for @n_blocks, beside a batch or by itself. */
static void expect_critical_range(struct policy_kit *k, uint64_t n_blocks, bool alone,
				  uint32_t first, uint32_t n)
{
	const unsigned i = alone ? 0 : 1;

	policy_kit_tenant(k);
	policy_kit_tenant(k)->critical = true;
	if (!alone)
		policy_kit_kernel(k, 1, FILL, 5);
	policy_kit_kernel(k, 2, n_blocks, 0.1);
	assert_int_equal(policy_kit_ask(k, &gsb_policy_priority), 1);
	expect_said(k, i, GSB_ISSUE, GSB_REASON_CRITICAL);
	expect_range(k, i, first, n);
}

static void test_priority_keeps_a_critical_kernel_off_the_sms_of_others(void **state)
{
	expect_critical_range(*state, 128, false, 0, 16);
}

static void test_priority_gives_all_sms_to_a_critical_kernel_without_room(void **state)
{
	expect_critical_range(*state, 129, false, 0, 0);
}

static void test_priority_gives_all_sms_to_a_critical_kernel_by_itself(void **state)
{
	expect_critical_range(*state, 128, true, 0, 0);
}

static void test_priority_without_critical_tenants_uses_the_whole_device(void **state)
{
	struct policy_kit *k = *state;

	add_critical_beside_batch(k);
	k->claims[1].n_ready = 0;
	k->claims[1].n_issued = 1;
	k->claims[1].asked_ns = k->view.now_ns - 99000000;
	k->view.n_ready = 1;
	policy_kit_ask(k, &gsb_policy_priority);
	expect_range(k, 0, 16, 116); /* it was there just now */
	k->claims[1].asked_ns = k->view.now_ns - 101000000;
	policy_kit_ask(k, &gsb_policy_priority);
	expect_range(k, 0, 0, 0);
}

static void test_priority_cooperative_kernels_and_plain_devices_have_all_sms(void **state)
{
	struct policy_kit *k = *state;

	add_critical_beside_batch(k);
	policy_kit_start(k, 1);
	k->ready[0].cooperative = true;
	policy_kit_ask(k, &gsb_policy_priority);
	expect_range(k, 0, 0, 0);
	k->ready[0].cooperative = false;
	k->view.sm_group = 0;
	policy_kit_ask(k, &gsb_policy_priority);
	expect_range(k, 0, 0, 0);
}

static void test_priority_keeps_as_many_sms_free_as_it_is_told(void **state)
{
	struct policy_kit *k = *state;

	add_critical_beside_batch(k);
	policy_kit_start(k, 1);
	k->view.n_reserved = 64;
	policy_kit_ask(k, &gsb_policy_priority);
	expect_range(k, 0, 64, 68);
	k->view.n_reserved = 0;
	policy_kit_ask(k, &gsb_policy_priority);
	expect_range(k, 0, 0, 0);
}

static void test_sms_are_reserved_in_whole_groups(void **state)
{
	assert_int_equal(gsb_reserved_sms(132, 16, 12), 16);
	assert_int_equal(gsb_reserved_sms(132, 8, 12), 16);
	assert_int_equal(gsb_reserved_sms(132, 16, 50), 64);
	assert_int_equal(gsb_reserved_sms(132, 16, 90), 112);
	assert_int_equal(gsb_reserved_sms(132, 0, 50), 66);
	assert_int_equal(gsb_reserved_sms(28, 1, 12), 3);
	assert_int_equal(gsb_reserved_sms(4, 1, 12), 1); /* as few as there can be */
	assert_int_equal(gsb_reserved_sms(132, 16, 1), 16);
	assert_int_equal(gsb_reserved_sms(132, 16, 0), 0); /* none was asked for */
}

/* ---- priority: parts ---- */

#define NARROW	 16 /* blocks: one on each SM that is kept free */
#define WAIT_NS	 50000
#define PLACES	 1056 /* for blocks of the kit's kernels */
#define N_ROUNDS 400

/* A batch of blocks of @us each, behind whom a critical tenant comes that has blocks for @n_blocks. */
static struct gsb_work *add_wide_beside_batch(struct policy_kit *k, double us, uint64_t n_blocks)
{
	struct gsb_work *w;

	policy_kit_tenant(k);
	policy_kit_tenant(k)->critical = true;
	w = policy_kit_kernel(k, 1, N_ROUNDS * PLACES, N_ROUNDS * us / 1e3);
	w->shapes = gsb_shapes;
	w->n_shapes = GSB_N_OFFERED;
	k->view.critical_wait_ns = WAIT_NS;
	k->claims[1].asked_ns = k->view.now_ns;
	k->claims[1].n_issued = 1;
	gsb_yield_note(&k->claims[1].yield, k->view.n_reserved,
		       &(struct gsb_work){.kernel.n_blocks = n_blocks,
					  .since_ns = k->view.now_ns - 100000,
					  .claim = &k->claims[1]},
		       true, k->view.now_ns);
	return w;
}

static void expect_shape(const struct policy_kit *k, unsigned i, enum gsb_shape_form form,
			 uint32_t number, uint64_t part_ns)
{
	const struct gsb_decision *d = policy_kit_said(k, i);
	const struct gsb_shape *s = &k->view.ready[i]->shapes[d->shape - 1];

	expect_said(k, i, GSB_ISSUE, GSB_REASON_BOUNDED);
	assert_in_range(d->shape, 1, GSB_N_OFFERED);
	assert_int_equal(s->form, form);
	assert_int_equal(form == GSB_SHAPE_SLICE ? s->n_slices : s->max_tiles, number);
	assert_in_range(part_ns, d->part_ns, d->part_ns + 1);
	expect_range(k, i, 0, 0);
}

/* One part is there, and one more comes as it ends: so each takes half of the wait. */
static void test_priority_has_others_in_parts_where_a_critical_tenant_is_wide(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_work *w = add_wide_beside_batch(k, 6, NARROW + 1);

	policy_kit_ask(k, &gsb_policy_priority);
	expect_shape(k, 0, GSB_SHAPE_PERSISTENT, 4, 24000);
	w->predicted.alone_ns = 40000ull * N_ROUNDS;
	policy_kit_ask(k, &gsb_policy_priority);
	expect_shape(k, 0, GSB_SHAPE_PERSISTENT, 1, 40000);
	w->predicted.alone_ns = WAIT_NS; /* it is short as it is */
	policy_kit_ask(k, &gsb_policy_priority);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_BOUNDED);
	assert_int_equal(policy_kit_said(k, 0)->shape, 0);
	expect_range(k, 0, 0, 0);
}

/* With four of them a part of each may be there. */
static void test_priority_has_shorter_parts_of_more_tenants(void **state)
{
	struct policy_kit *k = *state;

	add_wide_beside_batch(k, 6, NARROW + 1);
	for (unsigned i = 3; i < 6; i++) {
		policy_kit_tenant(k);
		policy_kit_kernel(k, i, PLACES, 1);
	}
	policy_kit_ask(k, &gsb_policy_priority);
	expect_shape(k, 0, GSB_SHAPE_PERSISTENT, 2, 12000);
	expect_said(k, 1, GSB_ISSUE, GSB_REASON_UNBOUNDED);
}

/* To fetch blocks of 2 us one by one would take nearly as long as they do. */
static void test_priority_slices_what_has_short_blocks_and_what_does_not_loop(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_work *w = add_wide_beside_batch(k, 2, NARROW + 1);

	policy_kit_ask(k, &gsb_policy_priority);
	expect_shape(k, 0, GSB_SHAPE_SLICE, 32, 25000);
	w->n_shapes = 6; /* slices alone */
	w->predicted.alone_ns = 6000ull * N_ROUNDS;
	policy_kit_ask(k, &gsb_policy_priority);
	expect_shape(k, 0, GSB_SHAPE_SLICE, 128, 18750);
}

/* Of what is not proven, not known, cooperative, or longer in one block, nothing is asked but other SMs. */
static void test_priority_keeps_what_has_no_parts_off_the_free_sms(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_work *w = add_wide_beside_batch(k, 51, NARROW + 1);

	policy_kit_ask(k, &gsb_policy_priority);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_UNBOUNDED);
	expect_range(k, 0, 16, 116);
	assert_int_equal(policy_kit_said(k, 0)->shape, 0);
	w->predicted.alone_ns = 6000ull * N_ROUNDS;
	w->n_shapes = 0;
	policy_kit_ask(k, &gsb_policy_priority);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_UNBOUNDED);
	w->n_shapes = GSB_N_OFFERED;
	w->predicted.trust_ppm = 90000;
	policy_kit_ask(k, &gsb_policy_priority);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_UNBOUNDED);
	w->predicted.trust_ppm = 900000;
	w->cooperative = true;
	policy_kit_ask(k, &gsb_policy_priority);
	expect_range(k, 0, 0, 0);
	assert_int_equal(policy_kit_said(k, 0)->shape, 0);
}

/* How long its blocks were there beside others says as much as how long it took alone. */
static void test_priority_knows_blocks_that_were_never_alone(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_work *w = add_wide_beside_batch(k, 6, NARROW + 1);
	struct gsb_run r = {.work = w,
			    .took_ns = 90000000,
			    .block_ns = 6000,
			    .company = {.shared = true, .met = true}};

	assert_int_equal(gsb_estimates_create((struct gsb_estimates **)&k->view.estimates), 0);
	w->predicted = (struct gsb_prediction){0};
	policy_kit_ask(k, &gsb_policy_priority);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_UNBOUNDED);
	w->sms = (struct gsb_sm_range){16, 116};
	gsb_estimates_note((struct gsb_estimates *)k->view.estimates, k->view.arch, &r);
	policy_kit_ask(k, &gsb_policy_priority);
	expect_shape(k, 0, GSB_SHAPE_PERSISTENT, 4, 24000);
	gsb_estimates_destroy((struct gsb_estimates *)k->view.estimates);
}

static void expect_as_before(struct policy_kit *k)
{
	policy_kit_ask(k, &gsb_policy_priority);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_RESERVED);
	expect_range(k, 0, 16, 116);
	assert_int_equal(policy_kit_said(k, 0)->shape, 0);
}

static void test_priority_leaves_launches_whole_where_the_free_sms_do(void **state)
{
	struct policy_kit *k = *state;

	add_wide_beside_batch(k, 6, NARROW);
	expect_as_before(k);
	k->claims[1].yield.wide_ns = k->view.now_ns;
	k->view.critical_wait_ns = 0;
	expect_as_before(k);
	k->view.critical_wait_ns = WAIT_NS;
	k->claims[1].yield.wide_ns = k->view.now_ns - 101000000;
	expect_as_before(k);
	k->claims[1].critical = false;
	k->claims[1].yield.wide_ns = k->view.now_ns;
	policy_kit_ask(k, &gsb_policy_priority);
	expect_range(k, 0, 0, 0);
	assert_int_equal(policy_kit_said(k, 0)->shape, 0);
}

/* In the decision that lets it go, and for as long as it is there. */
static void test_priority_holds_what_has_parts_while_a_critical_kernel_is_there(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_work *w = add_wide_beside_batch(k, 6, NARROW + 1);

	policy_kit_kernel(k, 2, 64, 0.1);
	ask_critical(k);
	assert_false(gsb_policy_priority.yields_until(&k->view));
	policy_kit_start(k, 1);
	policy_kit_ask(k, &gsb_policy_priority);
	expect_said(k, 0, GSB_HOLD, GSB_REASON_YIELDED);
	assert_ptr_equal(policy_kit_said(k, 0)->hold.until, &k->running[0]);
	assert_int_equal(policy_kit_said(k, 0)->hold.not_before_ns, k->view.now_ns + 2000000);
	assert_true(gsb_policy_priority.yields_until(&k->view));
	w->predicted.alone_ns = 51000ull * N_ROUNDS; /* it has none */
	policy_kit_ask(k, &gsb_policy_priority);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_UNBOUNDED);
	w->predicted.alone_ns = 6000ull * N_ROUNDS;
	w->cooperative = true;
	policy_kit_ask(k, &gsb_policy_priority);
	assert_int_equal(policy_kit_said(k, 0)->verdict, GSB_ISSUE);
	w->cooperative = false;
	w->since_ns = k->view.now_ns - 200000000;
	policy_kit_ask(k, &gsb_policy_priority);
	expect_said(k, 0, GSB_ISSUE, GSB_REASON_BOUNDED);
}

/* Who is critical goes before who has a deadline, and that is decided anew when it is over. */
static void test_priority_deadline_does_not_end_what_a_critical_tenant_has(void **state)
{
	struct policy_kit *k = *state;

	add_wide_beside_batch(k, 6, NARROW + 1);
	policy_kit_kernel(k, 2, 64, 0.1);
	ask_critical(k);
	policy_kit_start(k, 1);
	k->claims[0].deadline_ns = 1;
	k->claims[1].deadline_ns = 1;
	policy_kit_ask(k, &gsb_policy_priority);
	expect_said(k, 0, GSB_HOLD, GSB_REASON_YIELDED);
	assert_int_equal(policy_kit_said(k, 0)->hold.not_before_ns, k->view.now_ns + 2000000);
}

/* Of nobody is known when it would end, or it is far off. */
static void test_priority_waits_for_no_long_or_unknown_critical_kernel(void **state)
{
	struct policy_kit *k = *state;

	add_wide_beside_batch(k, 6, NARROW + 1);
	policy_kit_kernel(k, 2, 64, 2.1);
	policy_kit_start(k, 1);
	assert_false(gsb_policy_priority.yields_until(&k->view));
	k->running[0].predicted.alone_ns = 0;
	assert_false(gsb_policy_priority.yields_until(&k->view));
	k->running[0].predicted.alone_ns = 100000;
	assert_int_equal(gsb_policy_priority.yields_until(&k->view), k->view.now_ns + 2000000);
	k->running[0].since_ns -= 1999999;
	assert_int_equal(gsb_policy_priority.yields_until(&k->view), k->view.now_ns + 1);
	k->running[0].since_ns--; /* it takes much longer than it ever did */
	assert_false(gsb_policy_priority.yields_until(&k->view));
	k->running[0].since_ns = k->view.now_ns;
	k->view.critical_wait_ns = 0;
	assert_false(gsb_policy_priority.yields_until(&k->view));
}

/* A critical tenant that has kernels of 100 us for @busy_us of 1 ms: how much of the time others have waited. */
static double waited(unsigned busy_us, unsigned n)
{
	struct gsb_claim c = {.critical = true};
	uint64_t now_ns = 1000000, waited_ns = 0;

	for (unsigned i = 0; i < n; i++) {
		struct gsb_work w = {.claim = &c,
				     .kernel.n_blocks = 64,
				     .since_ns = now_ns,
				     .predicted = {.alone_ns = 100000}};

		now_ns += busy_us * 1000ull;
		if (gsb_yield_is_due(&w, now_ns))
			waited_ns += busy_us * 1000ull;
		gsb_yield_note(&c.yield, NARROW, &w, true, now_ns);
		now_ns += 1000000 - busy_us * 1000ull;
	}
	return (double)waited_ns / (n * 1e6);
}

static void test_priority_has_others_wait_for_an_eighth_of_the_time(void **state)
{
	assert_true(waited(100, 10000) > 0.099);
	assert_true(waited(500, 10000) > 0.115 && waited(500, 10000) < 0.13);
	assert_true(waited(1000, 10000) > 0.115 && waited(1000, 10000) < 0.13);
	assert_true(waited(1000, 20) < 0.3); /* nor much more at first */
}

/* Who waits for nobody has not waited; and what two of its kernels are there at once counts once. */
static void test_yield_note_counts_time_in_which_others_were_there(void **state)
{
	struct gsb_claim c = {.critical = true, .yield.wide_ns = 1000};
	struct gsb_work w = {.claim = &c,
			     .kernel.n_blocks = 64,
			     .since_ns = 1000,
			     .predicted = {.alone_ns = 100}};

	gsb_yield_note(&c.yield, NARROW, &w, false, 1100);
	assert_int_equal(c.yield.yielded_ns, 0);
	assert_int_equal(c.yield.span_ns, 100);
	w.since_ns = 1200;
	gsb_yield_note(&c.yield, NARROW, &w, true, 1300);
	w.since_ns = 1250;
	gsb_yield_note(&c.yield, NARROW, &w, true, 1350);
	assert_int_equal(c.yield.yielded_ns, 150);
	assert_int_equal(c.yield.span_ns, 350);
}

static void test_coreside_knows_no_critical_tenants(void **state)
{
	struct policy_kit *k = *state;

	add_critical_beside_batch(k);
	policy_kit_ask(k, &gsb_policy_coreside);
	expect_range(k, 0, 0, 0);
	assert_int_equal(policy_kit_said(k, 1)->priority, 0);
}

/* ---- all of them ---- */

/* Over all views: what is never decided is not tested. */
static unsigned n_seen[GSB_N_REASONS], n_shaped, n_holds;

static void count_reasons(const struct policy_kit *k)
{
	for (unsigned i = 0; i < k->n; i++) {
		n_seen[k->out[i].reason] += !k->out[i].shape;
		n_shaped += k->out[i].shape > 0;
	}
}

/* Policies that share the device out say of all that they hold when it will have waited too long, if not sooner. */
static void expect_holds_to_end(const struct policy_kit *k)
{
	for (unsigned i = 0; i < k->n; i++) {
		const struct gsb_decision *d = &k->out[i];
		const struct gsb_claim *c = k->ready_list[d->ready]->claim;
		uint64_t most = c->max_wait_ns ? c->max_wait_ns : GSB_CAP_STARVED_NS;

		if (d->verdict != GSB_HOLD)
			continue;
		assert_in_range(d->hold.not_before_ns, k->view.now_ns + 1,
				k->ready_list[d->ready]->since_ns + most);
		n_holds++;
	}
}

static void hold_promises(struct policy_kit *k, const struct gsb_policy *policy, uint64_t seed)
{
	struct gsb_decision first[GSB_N_DECISIONS];
	unsigned n, n_issued = policy_kit_ask(k, policy);

	n = k->n;
	if (policy_kit_wrong(k))
		fail_msg("%s, view %llu: %s", policy->name, (unsigned long long)seed,
			 policy_kit_wrong(k));
	memcpy(first, k->out, n * sizeof(*first));
	count_reasons(k);
	if (policy == &gsb_policy_coreside || policy == &gsb_policy_priority)
		expect_holds_to_end(k);
	memset(&k->area, 0x5a, sizeof(k->area)); /* it remembers nothing */
	assert_int_equal(policy_kit_ask(k, policy), n_issued);
	assert_int_equal(k->n, n);
	for (unsigned i = 0; i < n; i++)
		assert_memory_equal(&first[i], &k->out[i], sizeof(first[i]));
	if (n_issued || k->view.n_running)
		return;
	k->view.must = true;
	if (!policy_kit_ask(k, policy) || policy_kit_wrong(k))
		fail_msg("%s, view %llu: the device is left idle", policy->name,
			 (unsigned long long)seed);
	k->view.must = false;
}

/* Every other tenant may be slowed only so much, and some have been slowed by more. */
static void draw_limits(struct policy_kit *k, uint64_t seed)
{
	for (unsigned i = 0; i < k->view.n_claims; i += 2)
		k->claims[i].cap = (struct gsb_cap){
			.percent = 1 + (uint32_t)(seed * 37 % 500),
			.until_ns = k->view.now_ns - seed % 4 * 1000000,
			.busy_ns = (seed + i) * 7919 % 3000 * 1000000,
			.alone_ns = 1000000000,
		};
}

/* Some kernels have shapes, and some critical tenants want more SMs than are kept free. */
static void draw_parts(struct policy_kit *k, uint64_t seed)
{
	k->view.critical_wait_ns = seed % 4 * 50000;
	for (unsigned i = 0; i < k->n_made; i++) {
		struct gsb_work *w = &k->ready[i];

		if (w->kind != GSB_WORK_KERNEL || w->cooperative || (seed + i) % 3 == 0)
			continue;
		w->shapes = gsb_shapes + (seed + i) % 2 * 6; /* all, or all but slices */
		w->n_shapes = GSB_N_OFFERED - (unsigned)((seed + i) % 2 * 6);
		if ((seed + i) % 5)
			continue;
		w->kernel.n_blocks = 100000;
		w->predicted = (struct gsb_prediction){1000000, 800000};
	}
	for (unsigned i = 0; i < k->view.n_claims; i++) {
		k->claims[i].habits.limits = (seed + i) % 3;
		k->claims[i].yield = (struct gsb_yield){
			.wide_ns = seed % 3 ? k->view.now_ns - (seed + i) % 5 * 30000000 : 0,
			.span_ns = 1000000,
			.yielded_ns = seed % 7 * 1000000,
		};
	}
}

/* Of others nothing is decided while it could go. */
static void start_critical(struct policy_kit *k)
{
	for (unsigned i = 0; i < k->view.n_ready && k->view.n_free_queues > 1;)
		if (k->ready_list[i]->claim->critical)
			policy_kit_start(k, i);
		else
			i++;
}

static void test_all_policies_keep_their_promises_on_random_views(void **state)
{
	uint64_t n = getenv("GSB_CHECK_LONG") ? 100000 : 5000;
	struct gsb_estimates *e;

	assert_int_equal(gsb_estimates_create(&e), 0);
	for (uint64_t seed = 1; seed <= n; seed++) {
		struct policy_kit *k = policy_kit_create();

		policy_kit_draw(k, seed, 0, GSB_N_QUEUES + 1);
		draw_parts(k, seed);
		if (seed % 2)
			start_critical(k);
		policy_kit_remember(k, e);
		if (seed % 4 == 0)
			draw_limits(k, seed);
		for (unsigned i = 0; gsb_policy_at(i); i++)
			if (k->view.n_free_queues)
				hold_promises(k, gsb_policy_at(i), seed);
		policy_kit_destroy(k);
	}
	gsb_estimates_destroy(e);
	assert_true(n_shaped > 100 && n_seen[GSB_REASON_BOUNDED] > 100);
	assert_true(n_holds > 1000);
	assert_true(n_seen[GSB_REASON_UNBOUNDED] > 100 && n_seen[GSB_REASON_YIELDED] > 100);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_serial_lets_all_streams_of_one_tenant_go),
		CASE(test_serial_leaves_the_device_to_whoever_has_it),
		CASE(test_multiqx_has_one_kernel_at_a_time_and_copies_beside_it),
		CASE(test_multiqx_postpones_what_does_not_fit_and_all_behind_it),
		CASE(test_multiqx_goes_by_the_demand_over_time),
		CASE(test_multiqx_who_has_begun_stays_however_it_grows),
		CASE(test_multiqx_idle_device_takes_the_first_that_was_postponed),
		CASE(test_coreside_takes_the_long_pole_first),
		CASE(test_coreside_puts_nothing_that_does_not_fit_before_what_does),
		CASE(test_coreside_without_gain_keeps_the_order_of_arrival),
		CASE(test_coreside_does_not_order_by_what_it_does_not_trust),
		CASE(test_coreside_distrusts_beside_an_unknown_kernel),
		CASE(test_coreside_lets_copies_pass),
		CASE(test_coreside_makes_no_plan_for_short_kernels_alone),
		CASE(test_coreside_counts_from_when_a_kernel_began),
		CASE(test_coreside_who_is_far_ahead_of_its_share_waits_for_room),
		CASE(test_coreside_holds_for_no_longer_than_anything_may_wait),
		CASE(test_coreside_says_the_first_end_of_more_holds_than_there_is_room_for),
		CASE(test_coreside_waits_for_who_is_owed_until_it_has_thought_too_long),
		CASE(test_multiqx_holds_until_the_kernel_that_runs_has_ended),
		CASE(test_coreside_within_the_lag_all_tenants_are_equal),
		CASE(test_coreside_own_longest_wait_counts),
		CASE(test_coreside_what_has_a_deadline_goes_when_it_comes_near),
		CASE(test_coreside_deadline_that_cannot_be_kept_is_due_at_once),
		CASE(test_coreside_the_earliest_deadline_goes_first),
		CASE(test_coreside_deadline_that_cannot_be_kept_starves_nobody),
		CASE(test_coreside_keeps_apart_what_loses_together_and_nothing_else),
		CASE(test_priority_keeps_sms_free_for_an_active_critical_tenant),
		CASE(test_priority_keeps_a_critical_kernel_off_the_sms_of_others),
		CASE(test_priority_gives_all_sms_to_a_critical_kernel_without_room),
		CASE(test_priority_gives_all_sms_to_a_critical_kernel_by_itself),
		CASE(test_priority_without_critical_tenants_uses_the_whole_device),
		CASE(test_priority_cooperative_kernels_and_plain_devices_have_all_sms),
		CASE(test_priority_keeps_as_many_sms_free_as_it_is_told),
		cmocka_unit_test(test_sms_are_reserved_in_whole_groups),
		CASE(test_priority_has_others_in_parts_where_a_critical_tenant_is_wide),
		CASE(test_priority_has_shorter_parts_of_more_tenants),
		CASE(test_priority_slices_what_has_short_blocks_and_what_does_not_loop),
		CASE(test_priority_keeps_what_has_no_parts_off_the_free_sms),
		CASE(test_priority_knows_blocks_that_were_never_alone),
		CASE(test_priority_leaves_launches_whole_where_the_free_sms_do),
		CASE(test_priority_holds_what_has_parts_while_a_critical_kernel_is_there),
		CASE(test_priority_deadline_does_not_end_what_a_critical_tenant_has),
		CASE(test_priority_waits_for_no_long_or_unknown_critical_kernel),
		cmocka_unit_test(test_priority_has_others_wait_for_an_eighth_of_the_time),
		cmocka_unit_test(test_yield_note_counts_time_in_which_others_were_there),
		CASE(test_coreside_knows_no_critical_tenants),
		cmocka_unit_test(test_all_policies_keep_their_promises_on_random_views),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
