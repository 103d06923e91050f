/*
 * test_parts.c - SMs of their own for tenants that keep the device full: by weight, by the knee of a kernel's speed, not where it loses,
 * and only for who comes again and again; tried within bounds, and undone when the partner is gone.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "broker/policy/claim.h"
#include "broker/policy/estimate.h"
#include "broker/policy/parts.h"
#include "tests/unit/policy_kit.h"

#define FILL	(8 * 132)
#define ALONE	125e6 /* ns, of every kernel here: too long to take turns with, */
#define SHORT	5e6   /* but for these */
#define N_SMS	132
#define PER_SM	(1.0 / N_SMS)
#define NO_KNEE N_SMS

/* ---- what was seen ---- */

static void saw(struct policy_kit *k, const struct gsb_work *w, struct gsb_sm_range sms, double ns,
		struct gsb_company company)
{
	struct gsb_work ran = *w;
	struct gsb_run run = {.work = &ran, .took_ns = (uint64_t)ns, .company = company};

	ran.sms = sms;
	for (int i = 0; i < 3; i++)
		gsb_estimates_note((struct gsb_estimates *)k->view.estimates, k->view.arch, &run);
}

static void saw_alone(struct policy_kit *k, const struct gsb_work *w)
{
	saw(k, w, GSB_ALL_SMS, ALONE, (struct gsb_company){0});
}

static void saw_sharing(struct policy_kit *k, const struct gsb_work *w, double ns)
{
	saw(k, w, GSB_ALL_SMS, ns,
	    (struct gsb_company){.shared = true, .met = true, .mixed = true});
}

static void saw_shared(struct policy_kit *k, const struct gsb_work *w, double speed)
{
	saw_sharing(k, w, ALONE / speed);
}

static void saw_on(struct policy_kit *k, const struct gsb_work *w, uint32_t n, double speed)
{
	saw(k, w, (struct gsb_sm_range){0, n}, ALONE / speed,
	    (struct gsb_company){.shared = true, .mixed = true});
}

/* On every part that there is: as fast as its SMs are many, up to the knee, of what it reaches there. */
static void saw_curve(struct policy_kit *k, const struct gsb_work *w, double knee, double most)
{
	for (uint32_t n = 8; n <= 128; n += 8) {
		saw_on(k, w, n, most * fmin(1, n / knee));
		saw_on(k, w, n + 4,
		       most * fmin(1, (n + 4) / knee)); /* the last has what is left over */
	}
}

static void comes_again(struct policy_kit *k, const struct gsb_work *w, unsigned n)
{
	while (n--)
		gsb_claim_note_habit(&k->claims[w->tenant - 1], k->view.arch, w, (uint64_t)ALONE,
				     k->view.now_ns);
}

/* Another tenant that has launched the same long kernel a hundred times, and did so again. */
static struct gsb_work *add_tenant(struct policy_kit *k, uint32_t weight)
{
	struct gsb_claim *c = policy_kit_tenant(k);
	struct gsb_work *w = policy_kit_kernel(k, c->tenant, FILL, ALONE / 1e6);

	c->weight = weight;
	comes_again(k, w, 100);
	return w;
}

/* Two of which all is known but how fast they are on parts. */
static void add_pair(struct policy_kit *k, uint32_t weight_b)
{
	struct gsb_work *a = add_tenant(k, 100), *b = add_tenant(k, weight_b);

	saw_alone(k, a);
	saw_alone(k, b);
	saw_shared(k, a, 0.5);
	saw_shared(k, b, 0.5);
}

/* ---- what is planned ---- */

static struct gsb_parts plan(const struct policy_kit *k)
{
	struct gsb_parts p;

	gsb_parts_plan(&k->view, GSB_ALL_SMS, false, &p);
	return p;
}

static void expect_split(const struct policy_kit *k, uint32_t n_first)
{
	struct gsb_parts p = plan(k);

	assert_int_equal(p.n, 2);
	assert_ptr_equal(p.of[0].claim, &k->claims[0]);
	assert_int_equal(p.of[0].sms.first, 0);
	assert_int_equal(p.of[0].sms.n, n_first);
	assert_int_equal(p.of[1].sms.first, n_first);
	assert_int_equal(p.of[1].sms.n, N_SMS - n_first);
}

static void expect_none(const struct policy_kit *k)
{
	struct gsb_parts p = plan(k);

	assert_int_equal(p.n, 0);
	assert_null(p.alone);
}

static void test_plan_kernel_bound_by_memory_has_what_it_needs_and_the_other_the_rest(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, 100);
	saw_curve(k, &k->ready[0], 48, 1);
	saw_curve(k, &k->ready[1], NO_KNEE, 1);
	expect_split(k, 48);
}

static void test_plan_without_gain_leaves_all_sms_to_all(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, 100);
	saw_curve(k, &k->ready[0], NO_KNEE, 1);
	saw_curve(k, &k->ready[1], NO_KNEE, 1);
	expect_none(k);
}

static void test_plan_splits_by_weight_what_is_slower_in_proportion(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, 300);
	saw_curve(k, &k->ready[0], NO_KNEE, 1);
	saw_curve(k, &k->ready[1], NO_KNEE, 1);
	expect_split(k, 32); /* a quarter, in whole pieces */
}

/* Shares were a tenth and nine tenths, as long as their blocks. */
static void test_plan_ends_starvation(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_work *a = add_tenant(k, 100), *b = add_tenant(k, 100);

	saw_alone(k, a);
	saw_alone(k, b);
	saw_shared(k, a, 0.1);
	saw_shared(k, b, 0.9);
	saw_curve(k, a, NO_KNEE, 1);
	saw_curve(k, b, NO_KNEE, 1);
	expect_split(k, 64);
}

/* Grids of few rounds: fairness has a price, and it is paid. */
static void test_plan_fairness_may_cost_a_little_in_sum(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_work *a = add_tenant(k, 100), *b = add_tenant(k, 100);

	saw_alone(k, a);
	saw_alone(k, b);
	saw_shared(k, a, 0.1);
	saw_shared(k, b, 0.9);
	saw_curve(k, a, NO_KNEE, 0.97);
	saw_curve(k, b, NO_KNEE, 0.97);
	expect_split(k, 64);
}

/* As above, but the first gains little by its part, and the second loses much. */
static void test_plan_fairness_costs_not_much_in_sum(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_work *a = add_tenant(k, 100), *b = add_tenant(k, 100);

	saw_alone(k, a);
	saw_alone(k, b);
	saw_shared(k, a, 0.1);
	saw_shared(k, b, 0.9);
	saw_curve(k, a, 48, 0.2);
	saw_curve(k, b, NO_KNEE, 1);
	expect_none(k);
}

/* Two that live on the memory: together on parts 0.8 of what they are in turn. */
static void test_plan_does_not_part_what_loses_by_it(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, 300);
	saw_curve(k, &k->ready[0], 48, 0.4);
	saw_curve(k, &k->ready[1], 48, 0.4);
	expect_none(k);
}

/* What was seen beside this partner counts, not what was seen beside another. */
static void test_plan_goes_by_what_was_seen_in_this_company(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, 100);
	saw_curve(k, &k->ready[0], 48, 1);
	saw_curve(k, &k->ready[1], NO_KNEE, 1);
	for (uint32_t n = 8; n <= 128; n += 8)
		saw(k, &k->ready[0], (struct gsb_sm_range){0, n}, ALONE / fmin(0.45, n * PER_SM),
		    (struct gsb_company){.shared = true, .code = k->ready[1].code});
	expect_none(k);
}

static void test_plan_four_tenants_have_a_part_each(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_parts p;
	uint32_t next = 0;

	for (int i = 0; i < 4; i++) {
		struct gsb_work *w = add_tenant(k, 100);

		saw_alone(k, w);
		saw_shared(k, w, i ? 0.3 : 0.02);
		saw_curve(k, w, NO_KNEE, 1);
	}
	p = plan(k);
	assert_int_equal(p.n, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(p.of[i].sms.first, next);
		assert_int_equal(p.of[i].sms.n, i < 3 ? 32 : 36);
		next += p.of[i].sms.n;
	}
}

/* ---- turns ---- */

/* Two that share the SMs alike, though the second is to have three times as much; parts would be no better than turns. */
static void add_short_pair(struct policy_kit *k, double sharing)
{
	for (uint32_t weight = 100; weight <= 300; weight += 200) {
		struct gsb_work *w = add_tenant(k, weight);

		saw(k, w, GSB_ALL_SMS, SHORT, (struct gsb_company){0});
		saw_sharing(k, w, SHORT / sharing);
		for (uint32_t n = 8; n <= 128; n += 4)
			saw(k, w, (struct gsb_sm_range){0, n}, SHORT * N_SMS / n,
			    (struct gsb_company){.shared = true, .mixed = true});
	}
}

static void expect_turn(struct policy_kit *k, unsigned n_first, unsigned n_second)
{
	struct gsb_parts p = plan(k);

	assert_true(p.turns);
	assert_int_equal(p.n, 2);
	assert_int_equal(p.of[0].sms.n, 0);
	assert_int_equal(p.of[0].n_go, n_first);
	assert_int_equal(p.of[1].n_go, n_second);
}

static void test_plan_takes_turns_by_what_each_has_had_of_its_share(void **state)
{
	struct policy_kit *k = *state;

	add_short_pair(k, 0.5);
	k->claims[0].share_ns = 1000;
	expect_turn(k, 0, 1);
	k->claims[1].share_ns = 2000;
	expect_turn(k, 1, 0);
}

/* A launch of the second is charged a third, so two of three go before the first is due. */
static void test_plan_lets_nobody_in_before_the_turn_has_ended(void **state)
{
	struct policy_kit *k = *state;
	uint64_t launch = (uint64_t)SHORT * N_SMS;

	add_short_pair(k, 0.5);
	policy_kit_kernel(k, 2, FILL, SHORT / 1e6);
	policy_kit_kernel(k, 2, FILL, SHORT / 1e6);
	k->claims[0].share_ns = launch / 2;
	expect_turn(k, 0, 2);
	policy_kit_start(k, 0);
	expect_turn(k, 0, 0); /* the second is due, and the first has the device */
}

/* Of parts nothing is known: two kernels are tried on them, and one is not. */
static void test_plan_tries_no_parts_for_one_kernel(void **state)
{
	struct policy_kit *k = *state;

	for (uint32_t weight = 100; weight <= 300; weight += 200) {
		struct gsb_work *w = add_tenant(k, weight);

		saw(k, w, GSB_ALL_SMS, SHORT, (struct gsb_company){0});
		saw_sharing(k, w, SHORT / 0.5);
	}
	k->claims[0].habits.code = 1;
	k->claims[1].habits.code = 2;
	expect_split(k, 32);
	k->claims[1].habits.code = 1;
	expect_turn(k, 1, 0);
}

static void test_plan_takes_no_turns_where_nobody_starves(void **state)
{
	struct policy_kit *k = *state;

	add_short_pair(k, 0.5);
	k->claims[1].weight = 100;
	expect_none(k);
}

/* Beside each other they fill what each leaves of its last round: turns cost that. */
static void test_plan_takes_turns_that_cost_twins_a_little(void **state)
{
	struct policy_kit *k = *state;

	for (unsigned i = 0; i < 2; i++) {
		struct gsb_work *w = add_tenant(k, 100);

		saw(k, w, GSB_ALL_SMS, SHORT, (struct gsb_company){0});
		saw_sharing(k, w, SHORT / (i ? 0.2 : 0.9));
		k->claims[i].habits.code = 1;
		k->claims[i].habits.n_came = 5; /* too few to come for parts */
	}
	expect_turn(k, 1, 0);
	k->claims[1].habits.code = 2; /* what another kernel leaves may be of real use */
	expect_none(k);
}

/* They gain more from each other than turns would make fair. */
static void test_plan_takes_no_turns_where_all_would_lose(void **state)
{
	struct policy_kit *k = *state;

	add_short_pair(k, 0.6);
	expect_none(k);
}

static void test_plan_takes_no_turns_beside_strangers(void **state)
{
	struct policy_kit *k = *state;

	add_short_pair(k, 0.5);
	policy_kit_kernel(k, policy_kit_tenant(k)->tenant, 10, 1);
	assert_false(plan(k).turns);
}

static void test_coreside_holds_who_is_not_due_but_not_for_ever(void **state)
{
	struct policy_kit *k = *state;

	add_short_pair(k, 0.5);
	k->claims[0].share_ns = 1000;
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(policy_kit_said(k, 0)->verdict, GSB_HOLD);
	assert_int_equal(policy_kit_said(k, 0)->reason, GSB_REASON_SHARE);
	assert_int_equal(policy_kit_said(k, 1)->verdict, GSB_ISSUE);
	assert_int_equal(policy_kit_said(k, 1)->sms.n, 0);
	k->claims[0].deadline_ns = 1;
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(policy_kit_said(k, 0)->verdict, GSB_ISSUE);
	assert_int_equal(policy_kit_said(k, 0)->reason, GSB_REASON_DEADLINE);
	k->claims[0].deadline_ns = 0;
	k->claims[0].max_wait_ns = 1;
	k->ready[0].since_ns = 0;
	k->view.now_ns = 2;
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(policy_kit_said(k, 0)->verdict, GSB_ISSUE);
	assert_int_equal(policy_kit_said(k, 0)->reason, GSB_REASON_STARVED);
}

/* ---- lanes ---- */

/* A tenant that is as fast as its SMs are many, up to the knee; of three and more each has its share beside the others. */
static struct gsb_work *add_laner(struct policy_kit *k, uint32_t weight)
{
	struct gsb_work *w = add_tenant(k, weight);

	saw(k, w, GSB_ALL_SMS, SHORT, (struct gsb_company){0});
	for (unsigned i = 0; i < 3; i++)
		saw_sharing(k, w, SHORT * 4);
	return w;
}

static void saw_lane(struct policy_kit *k, const struct gsb_work *w, uint32_t n, double speed)
{
	saw(k, w, (struct gsb_sm_range){0, n}, SHORT / speed,
	    (struct gsb_company){.shared = true, .mixed = true});
}

static void saw_lanes(struct policy_kit *k, const struct gsb_work *w, double knee)
{
	for (uint32_t n = 8; n <= 128; n += 4) {
		saw_lane(k, w, n, fmin(1, n / knee));
		saw_lane(k, w, n, fmin(1, n / knee));
	}
}

/* The first and the third live on the memory. */
static void add_four(struct policy_kit *k)
{
	for (unsigned i = 0; i < 4; i++)
		saw_lanes(k, add_laner(k, 100), i % 2 ? NO_KNEE : 48);
}

static void expect_lane(const struct gsb_part *p, uint32_t first, uint32_t n, unsigned n_go)
{
	assert_int_equal(p->sms.first, first);
	assert_int_equal(p->sms.n, n);
	assert_int_equal(p->n_go, n_go);
}

static void test_plan_keeps_those_apart_that_live_on_memory(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_parts p;

	add_four(k);
	k->claims[0].share_ns = 1;
	p = plan(k);
	assert_int_equal(p.n, 4);
	assert_true(p.turns);
	expect_lane(&p.of[0], 0, 48, 0);
	expect_lane(&p.of[1], 48, 84, 1);
	expect_lane(&p.of[2], 0, 48, 1);
	expect_lane(&p.of[3], 48, 84, 0);
}

/* What one has of the memory is little of its share, so it needs no more SMs than that. */
static void test_plan_has_a_lane_as_wide_as_is_fair(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_parts p;

	for (unsigned i = 0; i < 4; i++)
		saw_lanes(k, add_laner(k, 100), i ? NO_KNEE : 48);
	p = plan(k);
	assert_int_equal(p.n, 4);
	expect_lane(&p.of[0], 0, 32, 1);
	expect_lane(&p.of[1], 32, 100, 1);
	expect_lane(&p.of[2], 32, 100, 0);
}

/* On the other lane somebody runs on: this one is free all the same; but not while one of its own is there. */
static void test_plan_has_turns_in_each_lane_for_itself(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_parts p;

	add_four(k);
	policy_kit_start(k, 1);
	k->running[0].sms = (struct gsb_sm_range){48, 84};
	p = plan(k);
	expect_lane(&p.of[0], 0, 48, 1);
	expect_lane(&p.of[3], 48, 84, 0);
	k->running[0].sms = (struct gsb_sm_range){0, 48}; /* it was tested there */
	p = plan(k);
	expect_lane(&p.of[0], 0, 48, 1);
	expect_lane(&p.of[3], 48, 84, 1);
}

static void test_plan_without_memory_or_without_others_has_no_lanes(void **state)
{
	struct policy_kit *k = *state;

	for (unsigned i = 0; i < 4; i++)
		saw_lanes(k, add_laner(k, 100), NO_KNEE);
	expect_none(k);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned n = 0; n < 9; n++)
			saw_lanes(k, &k->ready[i], 48);
	expect_none(k);
}

static void test_plan_tests_one_after_the_other_on_a_narrow_lane(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_parts p;

	for (unsigned i = 0; i < 4; i++)
		add_laner(k, 100);
	p = plan(k);
	assert_int_equal(p.n, 4);
	expect_lane(&p.of[0], 0, 48, 1);
	for (unsigned i = 1; i < 4; i++)
		expect_lane(&p.of[i], 48, 84, i == 1);
	saw_lane(k, &k->ready[0], 48, 48 * PER_SM);
	p = plan(k);
	expect_lane(&p.of[0], 48, 84, 1);
	expect_lane(&p.of[1], 0, 48, 1);
	policy_kit_start(k, 2); /* it is there, so it stays */
	k->running[0].sms = (struct gsb_sm_range){0, 48};
	p = plan(k);
	expect_lane(&p.of[1], 48, 84, 0);
	expect_lane(&p.of[2], 0, 48, 0);
}

/* It is not to be slowed by what it may be of a kind with. */
static void test_plan_tests_beside_those_that_live_on_the_sms(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_parts p;

	for (unsigned i = 0; i < 4; i++)
		add_laner(k, 100);
	saw_lane(k, &k->ready[0], 48, 1);
	p = plan(k);
	expect_lane(&p.of[0], 0, 48, 0);
	expect_lane(&p.of[1], 0, 48, 1);
	expect_lane(&p.of[2], 48, 84, 1);
	saw_lane(k, &k->ready[1], 48,
		 48 * PER_SM); /* that may have been beside one of the others, */
	expect_lane(&plan(k).of[1], 0, 48, 1);
	saw_lane(k, &k->ready[1], 48, 48 * PER_SM); /* but now it is known */
	expect_lane(&plan(k).of[1], 48, 84, 1);
}

/* Whose kernels have all SMs are in the way of what is to be measured. */
static void test_plan_begins_lanes_when_the_device_is_empty(void **state)
{
	struct policy_kit *k = *state;

	add_four(k);
	policy_kit_start(k, 1);
	assert_int_equal(plan(k).n, 4);
	expect_lane(&plan(k).of[0], 0, 48, 0);
	expect_lane(&plan(k).of[3], 48, 84, 0);
}

/* Three launches that are over while one of the fourth runs may all have met that one. */
static void test_plan_tests_for_longer_than_the_others_take(void **state)
{
	struct policy_kit *k = *state;

	for (unsigned i = 0; i < 4; i++)
		add_laner(k, 100);
	for (unsigned i = 0; i < 20; i++) {
		saw(k, &k->ready[3], GSB_ALL_SMS, 4 * SHORT, (struct gsb_company){0});
		saw_sharing(k, &k->ready[3], 16 * SHORT);
	}
	saw_lane(k, &k->ready[0], 48, 48 * PER_SM);
	expect_lane(&plan(k).of[0], 0, 48, 1);
	saw_lane(k, &k->ready[0], 48, 48 * PER_SM);
	expect_lane(&plan(k).of[0], 48, 84, 1);
}

static void test_plan_gives_up_who_is_never_by_itself(void **state)
{
	struct policy_kit *k = *state;

	for (unsigned i = 0; i < 4; i++)
		add_laner(k, 100);
	for (unsigned i = 0; i < 3; i++)
		saw(k, &k->ready[0], (struct gsb_sm_range){0, 48}, SHORT * 3,
		    (struct gsb_company){.shared = true, .met = true, .mixed = true});
	expect_lane(&plan(k).of[0], 48, 84, 1);
}

static void test_plan_tests_nothing_where_it_would_not_pay(void **state)
{
	struct policy_kit *k = *state;
	static const uint32_t one = 1;

	for (unsigned i = 0; i < 4; i++)
		add_laner(k, 100);
	assert_int_equal(plan(k).n, 4);
	k->ready[3].cooperative = true; /* it can have no lane */
	expect_none(k);
	k->ready[3].cooperative = false;
	k->claims[3].habits.filled = 0.5;
	expect_none(k); /* the rest of a lane would be nobody's */
	k->claims[3].habits.filled = 1;
	for (unsigned i = 0; i < 4; i++)
		k->claims[i].habits.n_came = 40;
	k->ready[0].n_queued = &one;
	expect_none(k); /* too few to come */
	for (unsigned i = 0; i < 4; i++) {
		k->claims[i].habits.n_came = 100;
		k->claims[i].habits.launch[0] = k->claims[0].habits.launch[0];
	}
	expect_none(k); /* all launch one kernel */
}

static void test_plan_has_no_lanes_beside_strangers(void **state)
{
	struct policy_kit *k = *state;

	add_four(k);
	policy_kit_kernel(k, policy_kit_tenant(k)->tenant, 10, 1);
	assert_false(plan(k).turns);
}

/* Who shares a lane would have to wait for longer than anything may. */
static void test_plan_has_no_lanes_for_launches_that_are_too_long(void **state)
{
	struct policy_kit *k = *state;

	add_four(k);
	for (unsigned n = 0; n < 9; n++)
		saw(k, &k->ready[1], GSB_ALL_SMS, 12 * SHORT, (struct gsb_company){0});
	assert_false(plan(k).turns);
}

static void test_coreside_puts_each_on_its_lane_in_its_turn(void **state)
{
	struct policy_kit *k = *state;

	add_four(k);
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(policy_kit_said(k, 0)->verdict, GSB_ISSUE);
	assert_int_equal(policy_kit_said(k, 0)->reason, GSB_REASON_PARTITION);
	assert_int_equal(policy_kit_said(k, 0)->sms.n, 48);
	assert_int_equal(policy_kit_said(k, 1)->sms.first, 48);
	assert_int_equal(policy_kit_said(k, 2)->verdict, GSB_HOLD);
	assert_int_equal(policy_kit_said(k, 2)->reason, GSB_REASON_SHARE);
	k->claims[2].max_wait_ns = 1;
	k->ready[2].since_ns = 0;
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(policy_kit_said(k, 2)->verdict, GSB_ISSUE);
	assert_int_equal(policy_kit_said(k, 2)->sms.n, 48);
}

/* ---- trying ---- */

static void test_plan_tries_by_weight_first_and_stays_until_both_are_measured(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, 100);
	expect_split(k, 64);
	saw_on(k, &k->ready[0], 64, 1);
	policy_kit_start(k, 0);
	k->running[0].sms = (struct gsb_sm_range){0, 64};
	expect_split(k, 64);
	saw_on(k, &k->ready[1], 68, 68 * PER_SM);
	expect_split(k, 32); /* as fast on half of them as on all: less may do */
	k->running[0].sms = (struct gsb_sm_range){0, 32};
	saw_on(k, &k->ready[0], 32, 0.7);
	saw_on(k, &k->ready[1], 100, 100 * PER_SM);
	expect_split(k, 48);
}

/* They gain from each other as it is, and could gain more; what stands there is over before a trial has paid. */
static void test_plan_tries_nothing_that_could_make_what_is_brief_longer(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_work *w[2];

	for (unsigned i = 0; i < 2; i++)
		w[i] = add_tenant(k, 100);
	for (unsigned i = 0; i < 2; i++) {
		saw(k, w[i], GSB_ALL_SMS, SHORT, (struct gsb_company){0});
		for (unsigned n = 0; n < 3; n++)
			saw(k, w[i], GSB_ALL_SMS, SHORT / 0.9,
			    (struct gsb_company){.shared = true, .met = true, .code = w[!i]->code});
	}
	expect_split(k, 64);
	for (unsigned i = 0; i < 2; i++)
		k->claims[i].habits.n_again = 45; /* of SHORT: less than half a second of both */
	expect_none(k);
}

/*
 * Two of which all stands there, and is over in less than a second but more than half of one. Each was seen alone, and @n times three beside the
 * other, at that speed.
 */
static void add_bounded(struct policy_kit *k, const double *speeds, const uint32_t *queued,
			unsigned n)
{
	struct gsb_work *w[2];

	for (unsigned i = 0; i < 2; i++) {
		w[i] = add_tenant(k, 100);
		w[i]->n_queued = &queued[i];
		k->claims[i].habits.n_again = 20;
		k->claims[i].habits.n_came = 0;
		saw(k, w[i], GSB_ALL_SMS, SHORT, (struct gsb_company){0});
	}
	for (unsigned i = 0; i < 2; i++)
		for (unsigned times = 0; times < n; times++)
			saw(k, w[i], GSB_ALL_SMS, SHORT / speeds[i],
			    (struct gsb_company){.shared = true, .met = true, .code = w[!i]->code});
}

static const uint32_t alike[] = {40, 40}, first_longer[] = {90, 33};

/* The least of a few values may be far off, and each launch is one more chance for it. */
static void test_plan_tries_nothing_for_what_few_launches_said(void **state)
{
	struct policy_kit *k = *state;

	add_bounded(k, (const double[]){0.5, 0.5}, alike, 1);
	expect_none(k);
	for (unsigned i = 0; i < 2; i++)
		saw(k, &k->ready[i], GSB_ALL_SMS, SHORT / 0.5,
		    (struct gsb_company){.shared = true, .met = true, .code = k->ready[!i].code});
	expect_split(k, 64);
}

/* The first is known there, and has too little: that it waits for the second to be known would make the end later. */
static void test_plan_gives_a_trial_up_where_somebody_has_too_little(void **state)
{
	struct policy_kit *k = *state;

	add_bounded(k, (const double[]){0.5, 0.5}, alike, 2);
	expect_split(k, 64);
	policy_kit_start(k, 0);
	k->running[0].sms = (struct gsb_sm_range){0, 64};
	expect_split(k, 64);
	saw(k, &k->ready[0], (struct gsb_sm_range){0, 64}, SHORT / 0.3,
	    (struct gsb_company){.shared = true, .mixed = true});
	expect_none(k);
}

/* Together they would lose nothing, but who has most to do would. */
static void test_plan_tries_nothing_that_makes_the_longest_wait(void **state)
{
	struct policy_kit *k = *state;

	add_bounded(k, (const double[]){0.98, 0.45}, first_longer, 2);
	expect_none(k);
}

static void test_plan_tries_what_the_longest_does_not_wait_for(void **state)
{
	struct policy_kit *k = *state;

	add_bounded(k, (const double[]){0.8, 0.45}, first_longer, 2);
	expect_split(k, 64);
}

/* What was done counts, too: more than half of a second is not brief, and what is hoped for may be ventured. */
static void test_plan_tries_what_may_pay_where_it_is_not_brief(void **state)
{
	struct policy_kit *k = *state;

	add_bounded(k, (const double[]){0.7, 0.7}, alike, 2);
	expect_split(k, 64);
}

/* The first needs a quarter of the SMs. On the rest a grid that fills the device once takes two rounds, and not four thirds of one. */
static void test_plan_counts_the_rounds_of_what_ends_soon(void **state)
{
	struct policy_kit *k = *state;

	add_bounded(k, (const double[]){0.65, 0.65}, alike, 1);
	saw(k, &k->ready[0], (struct gsb_sm_range){0, 32}, SHORT,
	    (struct gsb_company){.shared = true, .mixed = true});
	expect_none(k);
	k->claims[1].habits.rounds = 8;
	expect_split(k, 32);
}

/* The first is known there, and looks better elsewhere; the second has not ended its launch. */
static void test_plan_waits_for_the_slower_one_before_it_tries_another(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, 100);
	saw_on(k, &k->ready[0], 64, 64 * PER_SM);
	policy_kit_start(k, 0);
	k->running[0].sms = (struct gsb_sm_range){0, 64};
	expect_split(k, 64);
}

/* Slower in proportion on half of them: no split can be better than taking turns. */
static void test_plan_stops_trying_when_nothing_can_be_gained(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, 100);
	saw_on(k, &k->ready[0], 64, 64 * PER_SM);
	saw_on(k, &k->ready[1], 68, 68 * PER_SM);
	expect_none(k);
}

static void test_plan_wants_to_know_how_fast_each_is_alone(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_work *a = add_tenant(k, 100), *b = add_tenant(k, 100);

	saw_alone(k, a);
	assert_ptr_equal(plan(k).alone, &k->claims[1]);
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(policy_kit_said(k, 0)->verdict, GSB_HOLD);
	assert_int_equal(policy_kit_said(k, 0)->reason, GSB_REASON_APART);
	assert_int_equal(policy_kit_said(k, 1)->verdict, GSB_ISSUE);
	policy_kit_start(k, 0);
	policy_kit_ask(k, &gsb_policy_coreside); /* the other one runs: it waits for its end */
	assert_int_equal(policy_kit_said(k, 0)->verdict, GSB_HOLD);
	saw_alone(k, b);
	assert_null(plan(k).alone);
}

/* It could never be alone, and all would wait for nothing. */
static void test_plan_measures_nobody_alone_who_is_about_to_leave(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_work *a = add_tenant(k, 100), *b;

	b = policy_kit_kernel(k, policy_kit_tenant(k)->tenant, FILL, ALONE / 1e6);
	saw_alone(k, a);
	comes_again(k, b, 20);
	assert_null(plan(k).alone);
	comes_again(k, b, 20);
	assert_ptr_equal(plan(k).alone, &k->claims[1]);
}

static void test_plan_measures_nobody_alone_beside_strangers(void **state)
{
	struct policy_kit *k = *state;

	add_tenant(k, 100);
	add_tenant(k, 100);
	policy_kit_kernel(k, policy_kit_tenant(k)->tenant, 10, 0.01);
	expect_none(k);
}

/* ---- who takes part ---- */

static void add_good_pair(struct policy_kit *k)
{
	add_pair(k, 100);
	saw_curve(k, &k->ready[0], 48, 1);
	saw_curve(k, &k->ready[1], NO_KNEE, 1);
}

static void test_plan_is_for_who_comes_again(void **state)
{
	struct policy_kit *k = *state;
	static const uint32_t one = 1, many = 100;

	add_good_pair(k);
	k->ready[1].n_queued = &many;
	k->claims[1].habits.n_again = 2;
	expect_none(k); /* whatever stands there, it was seen twice */
	k->ready[1].n_queued = &one;
	k->claims[1].habits.n_again = 100;
	k->claims[1].habits.n_came = 5; /* as many again are too few */
	expect_none(k);
	k->ready[1].n_queued = &many; /* but they stand there */
	expect_split(k, 48);
}

static void test_plan_is_not_for_what_has_room_beside_each_other(void **state)
{
	struct policy_kit *k = *state;

	add_good_pair(k);
	k->claims[0].habits.filled = k->claims[1].habits.filled = 0.5;
	expect_none(k);
}

static void test_plan_ends_when_the_partner_is_gone(void **state)
{
	struct policy_kit *k = *state;

	add_good_pair(k);
	k->claims[1].n_ready = 0;
	k->view.n_ready = 1;
	expect_split(k, 48); /* just now it was here */
	k->view.now_ns += (uint64_t)(ALONE / 4) + 1;
	expect_none(k);
}

static void test_plan_needs_parts_of_the_device(void **state)
{
	struct policy_kit *k = *state;

	add_good_pair(k);
	k->view.sm_group = 0;
	expect_none(k);
}

/* ---- what becomes of it ---- */

static void test_coreside_puts_each_on_its_part_and_lets_the_newcomer_in(void **state)
{
	struct policy_kit *k = *state;
	const struct gsb_decision *d;

	add_good_pair(k);
	policy_kit_start(k, 1); /* on all SMs */
	policy_kit_ask(k, &gsb_policy_coreside);
	d = policy_kit_said(k, 0);
	assert_int_equal(d->verdict, GSB_ISSUE);
	assert_int_equal(d->reason, GSB_REASON_PARTITION);
	assert_int_equal(d->sms.n, 48);
	assert_int_equal(d->priority, -5);
	assert_int_equal(d->predicted_ns, ALONE); /* as on so many SMs before */
	assert_int_equal(d->predicted_slowdown_ppm, 1000000);
	k->running[0].sms = (struct gsb_sm_range){48, 84};
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(policy_kit_said(k, 0)->priority, 0); /* nobody is in its way */
	k->ready[0].cooperative = true;
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(policy_kit_said(k, 0)->sms.n, 0);
}

static void test_coreside_says_nothing_of_a_part_that_is_new(void **state)
{
	struct policy_kit *k = *state;
	const struct gsb_decision *d;

	add_pair(k, 100);
	policy_kit_ask(k, &gsb_policy_coreside);
	d = policy_kit_said(k, 0);
	assert_int_equal(d->reason, GSB_REASON_PARTITION);
	assert_int_equal(d->predicted_ns, 0);
	assert_int_equal(d->predicted_slowdown_ppm, 0);
	assert_int_equal(d->trust_ppm, 0);
}

static void test_priority_parts_leave_the_reserved_sms_and_the_highest_priority(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_claim *c;

	add_good_pair(k);
	for (int i = 0; i < 2; i++) /* on what is left by the reserve */
		saw(k, &k->ready[i], (struct gsb_sm_range){16, 116}, ALONE / 0.45,
		    (struct gsb_company){.shared = true, .met = true, .mixed = true});
	policy_kit_start(k, 1);
	c = policy_kit_tenant(k);
	c->critical = true;
	policy_kit_kernel(k, c->tenant, 10, 0.1);
	policy_kit_ask(k, &gsb_policy_priority);
	assert_int_equal(policy_kit_said(k, 1)->priority, -5);
	policy_kit_start(k, 1);
	policy_kit_ask(k, &gsb_policy_priority);
	assert_int_equal(policy_kit_said(k, 0)->reason, GSB_REASON_PARTITION);
	assert_int_equal(policy_kit_said(k, 0)->sms.first, 16);
	assert_int_equal(policy_kit_said(k, 0)->priority, -4);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, policy_kit_setup, policy_kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_plan_kernel_bound_by_memory_has_what_it_needs_and_the_other_the_rest),
		CASE(test_plan_without_gain_leaves_all_sms_to_all),
		CASE(test_plan_splits_by_weight_what_is_slower_in_proportion),
		CASE(test_plan_ends_starvation),
		CASE(test_plan_fairness_may_cost_a_little_in_sum),
		CASE(test_plan_fairness_costs_not_much_in_sum),
		CASE(test_plan_tries_nothing_that_could_make_what_is_brief_longer),
		CASE(test_plan_tries_nothing_for_what_few_launches_said),
		CASE(test_plan_gives_a_trial_up_where_somebody_has_too_little),
		CASE(test_plan_tries_nothing_that_makes_the_longest_wait),
		CASE(test_plan_tries_what_the_longest_does_not_wait_for),
		CASE(test_plan_tries_what_may_pay_where_it_is_not_brief),
		CASE(test_plan_counts_the_rounds_of_what_ends_soon),
		CASE(test_plan_waits_for_the_slower_one_before_it_tries_another),
		CASE(test_plan_does_not_part_what_loses_by_it),
		CASE(test_plan_goes_by_what_was_seen_in_this_company),
		CASE(test_plan_four_tenants_have_a_part_each),
		CASE(test_plan_takes_turns_by_what_each_has_had_of_its_share),
		CASE(test_plan_lets_nobody_in_before_the_turn_has_ended),
		CASE(test_plan_tries_no_parts_for_one_kernel),
		CASE(test_plan_takes_no_turns_where_nobody_starves),
		CASE(test_plan_takes_turns_that_cost_twins_a_little),
		CASE(test_plan_takes_no_turns_where_all_would_lose),
		CASE(test_plan_takes_no_turns_beside_strangers),
		CASE(test_coreside_holds_who_is_not_due_but_not_for_ever),
		CASE(test_plan_keeps_those_apart_that_live_on_memory),
		CASE(test_plan_has_a_lane_as_wide_as_is_fair),
		CASE(test_plan_has_turns_in_each_lane_for_itself),
		CASE(test_plan_without_memory_or_without_others_has_no_lanes),
		CASE(test_plan_tests_one_after_the_other_on_a_narrow_lane),
		CASE(test_plan_tests_beside_those_that_live_on_the_sms),
		CASE(test_plan_tests_for_longer_than_the_others_take),
		CASE(test_plan_begins_lanes_when_the_device_is_empty),
		CASE(test_plan_gives_up_who_is_never_by_itself),
		CASE(test_plan_tests_nothing_where_it_would_not_pay),
		CASE(test_plan_has_no_lanes_beside_strangers),
		CASE(test_plan_has_no_lanes_for_launches_that_are_too_long),
		CASE(test_coreside_puts_each_on_its_lane_in_its_turn),
		CASE(test_plan_tries_by_weight_first_and_stays_until_both_are_measured),
		CASE(test_plan_stops_trying_when_nothing_can_be_gained),
		CASE(test_plan_wants_to_know_how_fast_each_is_alone),
		CASE(test_plan_measures_nobody_alone_who_is_about_to_leave),
		CASE(test_plan_measures_nobody_alone_beside_strangers),
		CASE(test_plan_is_for_who_comes_again),
		CASE(test_plan_is_not_for_what_has_room_beside_each_other),
		CASE(test_plan_ends_when_the_partner_is_gone),
		CASE(test_plan_needs_parts_of_the_device),
		CASE(test_coreside_puts_each_on_its_part_and_lets_the_newcomer_in),
		CASE(test_coreside_says_nothing_of_a_part_that_is_new),
		CASE(test_priority_parts_leave_the_reserved_sms_and_the_highest_priority),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
