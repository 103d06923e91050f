/*
 * test_inside.c - two on all SMs, one of them with a part of its blocks: tried where one lives on the memory and the other does not, in an order and
 * within bounds, kept where it is best, and undone where it turns out not to be.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "broker/policy/claim.h"
#include "broker/policy/estimate.h"
#include "broker/policy/parts.h"
#include "broker/policy/shape.h"
#include "broker/policy/share.h"
#include "tests/unit/policy_kit.h"

#define FILL	  (8 * 132)
#define ALONE	  125e6 /* ns, of both: too long to take turns with */
#define N_SMS	  132
#define KNEE	  48 /* SMs, of the one that lives on the memory */
#define WIDE_KNEE 100
#define LIMITS	  (GSB_N_OFFERED - GSB_N_LIMITS) /* of all shapes: no hint is among them */
#define MEMORY	  0				 /* tenants */
#define COMPUTE	  1

/* ---- what was seen ---- */

static void saw(struct policy_kit *k, struct gsb_work w, double speed, struct gsb_company company)
{
	struct gsb_run run = {.work = &w, .took_ns = (uint64_t)(ALONE / speed), .company = company};

	gsb_estimates_note((struct gsb_estimates *)k->view.estimates, k->view.arch, &run);
}

static void saw_on(struct policy_kit *k, const struct gsb_work *of, uint32_t n, double speed)
{
	struct gsb_work w = *of;

	w.sms = (struct gsb_sm_range){0, n};
	for (int i = 0; i < 3; i++)
		saw(k, w, speed, (struct gsb_company){.shared = true, .mixed = true});
}

/* Alone, beside another on all SMs, and on each part: as fast as its SMs are many, up to the knee. */
static void saw_curve(struct policy_kit *k, const struct gsb_work *w, double knee)
{
	for (int i = 0; i < 3; i++) {
		saw(k, *w, 1, (struct gsb_company){0});
		saw(k, *w, 0.5, (struct gsb_company){.shared = true, .met = true, .mixed = true});
	}
	for (uint32_t n = 8; n <= 128; n += 4)
		saw_on(k, w, n, fmin(1, n / knee));
}

/* Once, with one of both in so many eighths; of that one and of the other. */
static void saw_limited(struct policy_kit *k, unsigned who, uint32_t eighths, double speed)
{
	struct gsb_work w = k->ready[who];

	w.manner = eighths;
	saw(k, w, speed,
	    (struct gsb_company){.shared = true, .met = true, .code = k->ready[!who].code});
}

static void saw_beside(struct policy_kit *k, const struct gsb_work *of,
		       const struct gsb_work *limited, uint32_t eighths, double speed)
{
	struct gsb_work w = *of;

	w.sms = GSB_ALL_SMS;
	saw(k, w, speed,
	    (struct gsb_company){
		    .shared = true, .met = true, .code = limited->code, .manner = eighths});
}

static void saw_beside_limited(struct policy_kit *k, unsigned who, uint32_t eighths, double speed)
{
	saw_beside(k, &k->ready[!who], &k->ready[who], eighths, speed);
}

static void saw_inside(struct policy_kit *k, unsigned who, uint32_t eighths, double own,
		       double other)
{
	for (int i = 0; i < 2; i++) {
		saw_limited(k, who, eighths, own);
		saw_beside_limited(k, who, eighths, other);
	}
}

static void comes_again(struct policy_kit *k, const struct gsb_work *w, unsigned n)
{
	while (n--)
		gsb_claim_note_habit(&k->claims[w->tenant - 1], k->view.arch, w, (uint64_t)ALONE,
				     k->view.now_ns);
}

static void add_tenant(struct policy_kit *k, double knee)
{
	struct gsb_claim *c = policy_kit_tenant(k);
	struct gsb_work *w = policy_kit_kernel(k, c->tenant, FILL, ALONE / 1e6);

	w->shapes = gsb_shapes + LIMITS;
	w->n_shapes = GSB_N_OFFERED - LIMITS;
	comes_again(k, w, 100);
	saw_curve(k, w, knee);
}

static void add_pair(struct policy_kit *k)
{
	add_tenant(k, KNEE);
	add_tenant(k, N_SMS);
}

/* It comes with shapes no more. */
static void take_shapes(struct policy_kit *k, unsigned i)
{
	k->ready[i].n_shapes = 0;
	comes_again(k, &k->ready[i], 1);
}

/* ---- what is planned ---- */

static struct gsb_parts plan(const struct policy_kit *k)
{
	struct gsb_parts p;

	gsb_parts_plan(&k->view, GSB_ALL_SMS, false, &p);
	return p;
}

static void expect_inside(const struct policy_kit *k, unsigned who, uint32_t eighths)
{
	struct gsb_parts p = plan(k);

	assert_int_equal(p.n, 2);
	assert_true(p.inside);
	for (unsigned i = 0; i < 2; i++) {
		assert_ptr_equal(p.of[i].claim, &k->claims[i]);
		assert_int_equal(p.of[i].sms.n, 0);
		assert_int_equal(p.of[i].manner, i == who ? eighths : 0);
	}
}

static void expect_parts(const struct policy_kit *k)
{
	struct gsb_parts p = plan(k);

	assert_int_equal(p.n, 2);
	assert_false(p.inside);
	assert_int_equal(p.of[MEMORY].sms.n, KNEE);
	assert_int_equal(p.of[MEMORY].manner + p.of[COMPUTE].manner, 0);
}

static void test_plan_tries_half_of_who_lives_on_the_memory_first(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	expect_inside(k, MEMORY, 4);
}

static void test_plan_tries_who_lives_on_the_memory_whoever_came_first(void **state)
{
	struct policy_kit *k = *state;

	add_tenant(k, N_SMS);
	add_tenant(k, KNEE);
	expect_inside(k, 1, 4);
}

/* Of one of the two a second value is to come: until then nothing else is tried, however good that might be. */
static void test_plan_stays_until_both_are_measured(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	saw_limited(k, MEMORY, 4, 0.9);
	saw_limited(k, MEMORY, 4, 0.9);
	expect_inside(k, MEMORY, 4);
	saw_beside_limited(k, MEMORY, 4, 0.85);
	expect_inside(k, MEMORY, 4);
	saw_beside_limited(k, MEMORY, 4, 0.85);
	expect_inside(k, COMPUTE, 4);
}

static void test_plan_keeps_what_is_best(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	saw_inside(k, MEMORY, 4, 0.95, 0.99);
	expect_inside(k, MEMORY, 4);
	saw_inside(k, MEMORY, 4, 0.95, 0.99);
	expect_inside(k, MEMORY, 4);
}

/* One value is enough. */
static void test_plan_gives_up_at_the_first_launch_that_is_too_slow(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	saw_beside_limited(k, MEMORY, 4, 0.4);
	expect_inside(k, COMPUTE, 4);
}

/* L1 beside atomics on an H100: it would be so in another part, too. */
static void test_plan_tries_nothing_else_where_one_starved(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	saw_beside_limited(k, MEMORY, 4, 0.24);
	expect_parts(k);
}

/* It is not waited for until it has ended. */
static void test_plan_ends_a_trial_while_one_starves(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	policy_kit_start(k, COMPUTE);
	k->claims[COMPUTE].habits.n_came = 100;
	k->view.now_ns += 4 * (uint64_t)ALONE;
	expect_inside(k, MEMORY, 4);
	k->view.now_ns++;
	expect_parts(k);
}

/* What was measured says nothing of a launch that is held up now, and that one is measured only when it has ended. */
static void test_plan_that_is_known_ends_while_one_starves(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	saw_inside(k, MEMORY, 4, 0.95, 0.99);
	policy_kit_start(k, COMPUTE);
	k->claims[COMPUTE].habits.n_came = 100;
	k->view.now_ns += 4 * (uint64_t)ALONE;
	expect_inside(k, MEMORY, 4);
	k->view.now_ns++;
	expect_parts(k);
}

/* With more of its places it may be faster, by as many at most; with fewer of them it is not. */
static void test_plan_goes_to_where_more_may_be_hoped_for(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	take_shapes(k, COMPUTE);
	saw_inside(k, MEMORY, 4, 0.7, 0.95);
	expect_inside(k, MEMORY, 6);
	saw_inside(k, MEMORY, 6, 0.95, 0.75);
	expect_inside(k, MEMORY, 6);
}

/* A third of its speed beside half of the other's blocks is not enough beside a quarter of them. */
static void test_plan_hopes_for_no_wonder_of_fewer_blocks(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	take_shapes(k, COMPUTE);
	saw_beside_limited(k, MEMORY, 4, 0.33);
	expect_parts(k);
}

/* Its gain is not to be paid for by the other, whose speed is below what it has beside it as asked. */
static void test_plan_leaves_nobody_less_than_it_had(void **state)
{
	struct policy_kit *k = *state;

	add_tenant(k, WIDE_KNEE);
	add_tenant(k, N_SMS);
	take_shapes(k, COMPUTE);
	for (int i = 0; i < 60; i++)
		saw(k, k->ready[COMPUTE], 0.62,
		    (struct gsb_company){.shared = true, .met = true, .mixed = true});
	for (int i = 0; i < 2; i++) {
		saw_inside(k, MEMORY, 4, 1, 0.58);
		saw_inside(k, MEMORY, 2, 1, 0.58);
		saw_inside(k, MEMORY, 6, 1, 0.58);
	}
	assert_false(plan(k).inside);
}

static void test_plan_with_fewer_blocks_where_the_other_has_too_little(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	take_shapes(k, COMPUTE);
	saw_inside(k, MEMORY, 4, 0.99, 0.7);
	expect_inside(k, MEMORY, 2);
	saw_inside(k, MEMORY, 2, 0.9, 0.95);
	expect_inside(k, MEMORY, 2);
}

/* A third of the places more is worth a third of its speed at most: that would not be better than parts. */
static void test_plan_hopes_for_no_more_than_in_proportion(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	take_shapes(k, COMPUTE);
	saw_inside(k, MEMORY, 4, 0.45, 1);
	expect_parts(k);
}

/* Of the fifth as much might be hoped. */
static void test_plan_tries_four_at_most(void **state)
{
	struct policy_kit *k = *state;
	static const struct {
		unsigned who;
		uint32_t eighths;
		double other;
	} tries[] = {{MEMORY, 4, 0.75}, {COMPUTE, 4, 0.75}, {MEMORY, 6, 0.7}, {COMPUTE, 6, 0.7}};

	add_pair(k);
	for (unsigned i = 0; i < 4; i++) {
		expect_inside(k, tries[i].who, tries[i].eighths);
		saw_inside(k, tries[i].who, tries[i].eighths, 0.8, tries[i].other);
	}
	expect_parts(k);
}

/* It was good, and is so no more. */
static void test_plan_ends_when_it_turns_out_worse(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	take_shapes(k, COMPUTE);
	saw_inside(k, MEMORY, 4, 0.95, 0.95);
	expect_inside(k, MEMORY, 4);
	for (int i = 0; i < 10; i++)
		saw_inside(k, MEMORY, 4, 0.8, 0.3);
	saw_inside(k, MEMORY, 2, 0.5, 0.9);
	expect_parts(k);
}

/* Of what is about as good there stays what is there: parts have a product of 0.64. */
static void test_plan_inside_must_be_better_than_parts(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	take_shapes(k, COMPUTE);
	saw_inside(k, MEMORY, 4, 0.8, 0.79);
	saw_inside(k, MEMORY, 2, 0.8, 0.7);
	saw_inside(k, MEMORY, 6, 0.8, 0.7);
	expect_inside(k, MEMORY, 4);
	policy_kit_start(k, COMPUTE);
	k->running[0].sms = (struct gsb_sm_range){KNEE, N_SMS - KNEE};
	expect_parts(k);
	for (int i = 0; i < 60; i++)
		saw_beside(k, &k->running[0], &k->ready[MEMORY], 4, 0.85);
	expect_inside(k, MEMORY, 4);
	k->running[0].sms = GSB_ALL_SMS;
	expect_inside(k, MEMORY, 4);
	for (int i = 0; i < 60; i++)
		saw_beside(k, &k->running[0], &k->ready[MEMORY], 4, 0.75);
	expect_parts(k);
}

static void test_plan_is_for_different_units(void **state)
{
	struct policy_kit *k = *state;

	add_tenant(k, WIDE_KNEE); /* so that parts are not as good as can be */
	add_tenant(k, WIDE_KNEE);
	assert_false(plan(k).inside);
}

static void test_plan_is_for_different_units_of_which_one_is_the_memory(void **state)
{
	struct policy_kit *k = *state;

	add_tenant(k, N_SMS);
	add_tenant(k, N_SMS);
	assert_false(plan(k).inside);
}

static void test_plan_is_for_who_may_have_a_part_of_its_blocks(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	take_shapes(k, MEMORY);
	expect_inside(k, COMPUTE, 4);
	take_shapes(k, COMPUTE);
	expect_parts(k);
}

/* What is to be measured is one launch, and of these only the last is known to admit it. */
static void test_plan_is_for_one_launch_of_each(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_work other;

	add_pair(k);
	take_shapes(k, COMPUTE);
	other = k->ready[MEMORY];
	other.launch = 99;
	comes_again(k, &other, 1);
	comes_again(k, &k->ready[MEMORY], 1);
	comes_again(k, &other, 40);
	comes_again(k, &k->ready[MEMORY], 40);
	saw_curve(k, &other, KNEE);
	assert_int_equal(k->claims[MEMORY].habits.n, 2);
	assert_false(plan(k).inside);
}

static void test_plan_tries_only_where_enough_is_to_come(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	k->claims[COMPUTE].habits.n_came = 62;
	expect_parts(k);
	k->claims[COMPUTE].habits.n_came = 63; /* and one is ready */
	expect_inside(k, MEMORY, 4);
	k->claims[COMPUTE].habits.n_came = 40;
	saw_inside(k, MEMORY, 4, 0.95, 0.95); /* known, it is taken for fewer */
	expect_inside(k, MEMORY, 4);
}

static void test_plan_is_not_beside_strangers(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	policy_kit_kernel(k, policy_kit_tenant(k)->tenant, 1, 0.1);
	assert_false(plan(k).inside);
}

static void test_plan_is_not_on_the_sms_that_a_critical_tenant_leaves(void **state)
{
	struct policy_kit *k = *state;
	const struct gsb_sm_range rest = {16, 116};
	struct gsb_parts p;

	add_pair(k);
	for (unsigned i = 0; i < 2; i++) {
		struct gsb_work w = k->ready[i];

		w.sms = rest;
		for (int n = 0; n < 3; n++)
			saw(k, w, 0.45,
			    (struct gsb_company){.shared = true, .met = true, .mixed = true});
	}
	gsb_parts_plan(&k->view, rest, false, &p);
	assert_int_equal(p.n, 2);
	assert_false(p.inside);
}

static void test_plan_is_not_with_cooperative_kernels(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	k->ready[COMPUTE].cooperative = true;
	assert_false(plan(k).inside);
}

/* ---- what becomes of it ---- */

static void test_coreside_has_the_limited_one_first_in_its_shape(void **state)
{
	struct policy_kit *k = *state;
	const struct gsb_decision *d;

	add_pair(k);
	saw_inside(k, MEMORY, 4, 0.95, 0.8);
	saw_inside(k, COMPUTE, 4, 0.5, 0.5);
	saw_inside(k, MEMORY, 2, 0.95, 0.8);
	saw_inside(k, MEMORY, 6, 0.95, 0.8);
	expect_inside(k, MEMORY, 4);
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_null(policy_kit_wrong(k));
	d = policy_kit_said(k, MEMORY);
	assert_int_equal(d->verdict, GSB_ISSUE);
	assert_int_equal(d->reason, GSB_REASON_INSIDE);
	assert_int_equal(k->ready[MEMORY].shapes[d->shape - 1].form, GSB_SHAPE_PERSISTENT);
	assert_int_equal(k->ready[MEMORY].shapes[d->shape - 1].eighths, 4);
	assert_int_equal(d->priority, -5);
	assert_int_equal(d->sms.n, 0);
	assert_int_equal(d->predicted_slowdown_ppm, 1052631);
	d = policy_kit_said(k, COMPUTE);
	assert_int_equal(d->reason, GSB_REASON_INSIDE);
	assert_int_equal(d->shape, 0);
	assert_int_equal(d->priority, 0);
	assert_int_equal(d->predicted_slowdown_ppm, 1250000);
	k->ready[MEMORY].n_shapes = 0; /* this one has none */
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(policy_kit_said(k, MEMORY)->shape, 0);
	assert_int_equal(policy_kit_said(k, MEMORY)->priority, 0);
}

/* The limited one, which has been there for too long: on a part of its SMs the other would keep it there. */
static void test_coreside_lets_the_limited_one_end_that_starves(void **state)
{
	struct policy_kit *k = *state;
	const struct gsb_decision *d;

	add_pair(k);
	policy_kit_start(k, MEMORY);
	k->claims[MEMORY].habits.n_came = 100;
	k->running[0].manner = 4;
	k->running[0].predicted.alone_ns = (uint64_t)ALONE;
	k->view.now_ns += 4 * (uint64_t)ALONE + 1;
	k->ready[COMPUTE].since_ns = k->view.now_ns;
	expect_parts(k);
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_null(policy_kit_wrong(k));
	d = policy_kit_said(k, 0);
	assert_int_equal(d->verdict, GSB_HOLD);
	assert_int_equal(d->reason, GSB_REASON_APART);
	assert_ptr_equal(d->hold.until, &k->running[0]);
	k->running[0].manner = 0; /* who has all his blocks ends */
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(policy_kit_said(k, 0)->reason, GSB_REASON_PARTITION);
	k->running[0].manner = 4;
	k->view.now_ns += GSB_STARVED_NS;
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_int_equal(policy_kit_said(k, 0)->verdict, GSB_ISSUE);
}

static void test_priority_has_it_behind_critical_tenants(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k);
	policy_kit_ask(k, &gsb_policy_priority);
	assert_null(policy_kit_wrong(k));
	assert_int_equal(policy_kit_said(k, MEMORY)->reason, GSB_REASON_INSIDE);
	assert_int_equal(policy_kit_said(k, MEMORY)->priority, -4);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, policy_kit_setup, policy_kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_plan_tries_half_of_who_lives_on_the_memory_first),
		CASE(test_plan_tries_who_lives_on_the_memory_whoever_came_first),
		CASE(test_plan_stays_until_both_are_measured),
		CASE(test_plan_keeps_what_is_best),
		CASE(test_plan_gives_up_at_the_first_launch_that_is_too_slow),
		CASE(test_plan_tries_nothing_else_where_one_starved),
		CASE(test_plan_ends_a_trial_while_one_starves),
		CASE(test_plan_that_is_known_ends_while_one_starves),
		CASE(test_plan_goes_to_where_more_may_be_hoped_for),
		CASE(test_plan_with_fewer_blocks_where_the_other_has_too_little),
		CASE(test_plan_hopes_for_no_wonder_of_fewer_blocks),
		CASE(test_plan_leaves_nobody_less_than_it_had),
		CASE(test_plan_hopes_for_no_more_than_in_proportion),
		CASE(test_plan_tries_four_at_most),
		CASE(test_plan_ends_when_it_turns_out_worse),
		CASE(test_plan_inside_must_be_better_than_parts),
		CASE(test_plan_is_for_different_units),
		CASE(test_plan_is_for_different_units_of_which_one_is_the_memory),
		CASE(test_plan_is_for_who_may_have_a_part_of_its_blocks),
		CASE(test_plan_is_for_one_launch_of_each),
		CASE(test_plan_tries_only_where_enough_is_to_come),
		CASE(test_plan_is_not_beside_strangers),
		CASE(test_plan_is_not_on_the_sms_that_a_critical_tenant_leaves),
		CASE(test_plan_is_not_with_cooperative_kernels),
		CASE(test_coreside_has_the_limited_one_first_in_its_shape),
		CASE(test_coreside_lets_the_limited_one_end_that_starves),
		CASE(test_priority_has_it_behind_critical_tenants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
