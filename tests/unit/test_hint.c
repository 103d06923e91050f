/*
 * test_hint.c - two on SMs of their own, one of them launched so that it leaves the L2 to the other: tried where one streams, on the best split that there
 * is, kept where both together are better for it, and given up where they are not.
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
#include "tests/unit/policy_kit.h"

#define FILL   (8 * 132)
#define ALONE  125e6 /* ns, of both: too long to take turns with */
#define KNEE   48    /* SMs that the one has enough of that streams: then the other one has 84 */
#define REST   84
#define STREAM 0 /* tenants */
#define TABLE  1
#define HALF   0.5 /* of the speed of its SMs has the other one beside that */

/* ---- what was seen ---- */

static void saw(struct policy_kit *k, struct gsb_work w, double speed, struct gsb_company company)
{
	struct gsb_run run = {.work = &w, .took_ns = (uint64_t)(ALONE / speed), .company = company};

	gsb_estimates_note((struct gsb_estimates *)k->view.estimates, k->view.arch, &run);
}

/* So often beside the other one on its own SMs, in that manner beside that manner. */
static void saw_on(struct policy_kit *k, unsigned i, uint32_t n_sms, struct gsb_manners in,
		   unsigned times, double speed)
{
	struct gsb_work w = k->ready[i];

	w.sms = (struct gsb_sm_range){0, n_sms};
	w.manner = in.own;
	while (times--)
		saw(k, w, speed,
		    (struct gsb_company){.shared = true,
					 .code = k->ready[!i].code,
					 .manner = (uint8_t)in.others});
}

/* Of both, where one is launched so on the best split. */
static void saw_hint(struct policy_kit *k, unsigned who, unsigned times, double stream,
		     double table)
{
	const double speeds[] = {stream, table};
	const uint32_t sms[] = {KNEE, REST};

	for (unsigned i = 0; i < 2; i++)
		if (speeds[i] > 0)
			saw_on(k, i, sms[i],
			       (struct gsb_manners){i == who ? GSB_MANNER_HINT : 0,
						    i == who ? 0 : GSB_MANNER_HINT},
			       times, speeds[i]);
}

/* On four other splits it gains nothing, and then there is no other to be tried. */
static void saw_no_gain_elsewhere(struct policy_kit *k, unsigned who, double most)
{
	for (uint32_t n = 8; n <= 32; n += 8)
		for (unsigned i = 0; i < 2; i++)
			saw_on(k, i, i == STREAM ? n : 132 - n,
			       (struct gsb_manners){i == who ? GSB_MANNER_HINT : 0,
						    i == who ? 0 : GSB_MANNER_HINT},
			       2, i == STREAM ? n / (double)KNEE : most * (132 - n) / 132);
}

/* Alone, on all SMs beside the other one, and on each part: in proportion to its SMs up to a knee, and of that so much. */
static void saw_curve(struct policy_kit *k, unsigned i, double knee, double most, double shared,
		      unsigned times)
{
	for (unsigned n = 0; n < 3; n++) {
		saw(k, k->ready[i], 1, (struct gsb_company){0});
		saw(k, k->ready[i], shared,
		    (struct gsb_company){.shared = true, .met = true, .code = k->ready[!i].code});
	}
	for (uint32_t n = 8; n <= 128; n += 4)
		saw_on(k, i, n, (struct gsb_manners){0}, times, fmin(1, n / knee) * most);
}

static void comes_again(struct policy_kit *k, unsigned i, unsigned n)
{
	const struct gsb_work *w = &k->ready[i];

	while (n--)
		gsb_claim_note_habit(&k->claims[w->tenant - 1], k->view.arch, w, (uint64_t)ALONE,
				     k->view.now_ns);
}

static void add_tenant(struct policy_kit *k, bool hints)
{
	struct gsb_claim *c = policy_kit_tenant(k);
	struct gsb_work *w = policy_kit_kernel(k, c->tenant, FILL, ALONE / 1e6);

	w->shapes = gsb_shapes + GSB_N_OFFERED - GSB_N_BESIDE;
	w->n_shapes = hints; /* it is the first of these */
	comes_again(k, c->tenant - 1, 100);
}

/* @table: of the speed of its SMs. */
static void add_pair(struct policy_kit *k, double table)
{
	add_tenant(k, true);
	add_tenant(k, false);
	saw_curve(k, STREAM, KNEE, 1, 0.75, 8);
	saw_curve(k, TABLE, 132, table, 0.25, 8);
}

/* ---- what is planned ---- */

static struct gsb_parts plan(const struct policy_kit *k)
{
	struct gsb_parts p;

	gsb_parts_plan(&k->view, GSB_ALL_SMS, false, &p);
	return p;
}

/* The split is as without. @who: of nobody, 2. */
static void expect_hint(const struct policy_kit *k, unsigned who)
{
	struct gsb_parts p = plan(k);

	assert_int_equal(p.n, 2);
	assert_false(p.inside);
	assert_int_equal(p.of[STREAM].sms.n, KNEE);
	assert_int_equal(p.of[TABLE].sms.n, REST);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(p.of[i].manner, i == who ? GSB_MANNER_HINT : 0);
}

#define NOBODY 2

static void test_plan_tries_it_of_who_streams(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, HALF);
	expect_hint(k, STREAM);
}

static void test_plan_keeps_what_gains(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, HALF);
	saw_no_gain_elsewhere(k, STREAM, HALF);
	saw_hint(k, STREAM, 2, 1, HALF * REST / 132 * 1.2);
	expect_hint(k, STREAM);
	saw_hint(k, STREAM, 8, 1, HALF * REST / 132 * 1.2);
	expect_hint(k, STREAM);
}

/* A twentieth for the mean tenant, or it is as well without. */
static void test_plan_gives_up_what_gains_little(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, HALF);
	saw_no_gain_elsewhere(k, STREAM, HALF);
	saw_hint(k, STREAM, 2, 1, HALF * REST / 132 * 1.09);
	expect_hint(k, NOBODY);
}

/* Who gains may not take it from the other. */
static void test_plan_leaves_nobody_less_than_it_had(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, HALF);
	saw_no_gain_elsewhere(k, STREAM, HALF);
	saw_hint(k, STREAM, 2, 0.45, 0.9);
	expect_hint(k, NOBODY);
}

static void test_plan_undoes_what_has_become_worse(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, HALF);
	saw_no_gain_elsewhere(k, STREAM, HALF);
	saw_hint(k, STREAM, 2, 1, HALF * REST / 132 * 1.2);
	expect_hint(k, STREAM);
	saw_hint(k, STREAM, 40, 1, HALF * REST / 132);
	expect_hint(k, NOBODY);
}

/* Two values of each; and one is enough to see that nothing will come of it. */
static void test_plan_ends_a_trial_when_it_knows(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, HALF);
	saw_hint(k, STREAM, 2, 1, 0);
	expect_hint(k, STREAM);
	saw_hint(k, STREAM, 1, 0, HALF * REST / 132);
	saw_no_gain_elsewhere(k, STREAM, HALF);
	expect_hint(k, NOBODY);
}

/* Of whom it is known on one split, it is not faster on fewer SMs on another, nor by more than in proportion on more. */
static void test_plan_goes_on_to_where_more_may_be_hoped_for(void **state)
{
	struct policy_kit *k = *state;
	struct gsb_parts p;

	add_pair(k, HALF);
	saw_hint(k, STREAM, 2, 1, HALF * REST / 132 * 1.2);
	p = plan(k);
	assert_int_equal(p.of[STREAM].sms.n,
			 32); /* as fast as it may be there, and the other has more */
	assert_int_equal(p.of[STREAM].manner, GSB_MANNER_HINT);
	for (unsigned i = 0; i < 2; i++)
		saw_on(k, i, i == STREAM ? 32 : 100,
		       (struct gsb_manners){i == STREAM ? GSB_MANNER_HINT : 0,
					    i == STREAM ? 0 : GSB_MANNER_HINT},
		       2, i == STREAM ? 0.95 : 0.42);
	p = plan(k);
	assert_int_equal(p.of[STREAM].sms.n, 24);
	for (unsigned i = 0; i < 2; i++)
		saw_on(k, i, i == STREAM ? 24 : 108,
		       (struct gsb_manners){i == STREAM ? GSB_MANNER_HINT : 0,
					    i == STREAM ? 0 : GSB_MANNER_HINT},
		       2, i == STREAM ? 0.7 : 0.45);
	p = plan(k); /* what is left may be better, but not by a twentieth */
	assert_int_equal(p.of[STREAM].sms.n, 32);
	assert_int_equal(p.of[STREAM].manner, GSB_MANNER_HINT);
}

static void test_plan_has_one_value_for_not_enough(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, HALF);
	saw_hint(k, STREAM, 1, 1, HALF * REST / 132 * 1.2);
	k->claims[STREAM].habits.n_came = k->claims[TABLE].habits.n_came = 40;
	expect_hint(k, NOBODY); /* there is no time to go on */
	saw_hint(k, STREAM, 1, 1, HALF * REST / 132 * 1.2);
	expect_hint(k, STREAM); /* but what is known is kept */
}

/* Both stream: of one it is no good, so the other one is tried. */
static void test_plan_tries_the_other_one_next(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, HALF);
	k->ready[TABLE].n_shapes = 1;
	comes_again(k, TABLE, 1);
	expect_hint(k, STREAM);
	saw_hint(k, STREAM, 2, 1, HALF * REST / 132);
	expect_hint(k, TABLE);
	saw_hint(k, TABLE, 2, 1, HALF * REST / 132);
	saw_no_gain_elsewhere(k, STREAM, HALF);
	expect_hint(k, NOBODY);
}

/* Without it no part is worth it, for the other one would pay; with it there may be one that is. */
static void test_plan_tries_it_where_no_part_is_good_without(void **state)
{
	struct policy_kit *k = *state;

	add_tenant(k, true);
	add_tenant(k, false);
	saw_curve(k, STREAM, KNEE, 1, 0.5, 8);
	saw_curve(k, TABLE, 132, HALF, 0.5, 8);
	expect_hint(k, STREAM);
	saw_no_gain_elsewhere(k, STREAM, HALF);
	saw_hint(k, STREAM, 2, 0.9, 0.45);
	assert_int_equal(plan(k).n, 0);
	saw_hint(k, STREAM, 8, 0.9, 0.55);
	expect_hint(k, STREAM);
}

/* The first launches on a part wait for what is there, and what comes next would look better beside them. No part is good here but for that. */
static void test_plan_has_the_same_without_first(void **state)
{
	struct policy_kit *k = *state;

	add_tenant(k, true);
	add_tenant(k, false);
	saw_curve(k, STREAM, KNEE, 1, 0.5, 7);
	saw_curve(k, TABLE, 132, HALF, 0.5, 8);
	expect_hint(k, NOBODY);
	saw_on(k, STREAM, KNEE, (struct gsb_manners){0}, 1, 1);
	expect_hint(k, STREAM);
}

/* A part that is good without is no reason for one. */
static void test_plan_counts_what_the_hint_gains(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, 1);
	saw_no_gain_elsewhere(k, STREAM, 1);
	saw_hint(k, STREAM, 2, 1, REST / 132.0 * 1.09);
	expect_hint(k, NOBODY);
	saw_hint(k, STREAM, 9, 1, REST / 132.0 * 1.13);
	expect_hint(k, STREAM);
}

/* Parts are not worth it, and all that a hint adds is less than a twentieth: that both together are is no reason. */
static void test_plan_counts_nothing_but_the_hint(void **state)
{
	struct policy_kit *k = *state;

	add_tenant(k, true);
	add_tenant(k, false);
	saw_curve(k, STREAM, KNEE, 0.52, 0.5, 8);
	saw_curve(k, TABLE, REST, 0.5, 0.5, 8);
	saw_no_gain_elsewhere(k, STREAM, HALF);
	saw_hint(k, STREAM, 9, 0.54, 0.513);
	assert_int_equal(plan(k).n, 0);
	saw_hint(k, STREAM, 30, 0.56, 0.53);
	expect_hint(k, STREAM);
}

/* Nor what is better than parts, but no better than all SMs for all. */
static void test_plan_leaves_what_is_as_good_without_parts(void **state)
{
	struct policy_kit *k = *state;

	add_tenant(k, true);
	add_tenant(k, false);
	saw_curve(k, STREAM, KNEE, 0.55, 0.6, 8);
	saw_curve(k, TABLE, REST, 0.55, 0.6, 8);
	saw_no_gain_elsewhere(k, STREAM, HALF);
	saw_hint(k, STREAM, 9, 0.6, 0.6);
	assert_int_equal(plan(k).n, 0);
}

static void test_plan_tries_nothing_that_is_not_offered(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, HALF);
	k->ready[STREAM].n_shapes = 0;
	comes_again(k, STREAM, 1);
	expect_hint(k, NOBODY);
}

/* The other launch may not admit it, and a trial would wait for it. */
static void test_plan_tries_it_of_one_launch_alone(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, HALF);
	k->claims[STREAM].habits.n = 2;
	k->claims[STREAM].habits.launch[1] = k->claims[STREAM].habits.launch[0];
	assert_int_equal(plan(k).of[STREAM].manner, 0);
}

/* Twins want the same. */
static void test_plan_tries_nothing_between_two_of_one_kernel(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, HALF);
	k->claims[TABLE].habits.code = k->claims[STREAM].habits.code;
	assert_int_equal(plan(k).of[STREAM].manner, 0);
}

static void test_plan_tries_nothing_of_who_leaves(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, HALF);
	k->claims[STREAM].habits.n_came = 62; /* and one stands there */
	expect_hint(k, NOBODY);
	k->claims[STREAM].habits.n_came = 63;
	expect_hint(k, STREAM);
}

static void test_plan_tries_nothing_beside_strangers(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, HALF);
	policy_kit_kernel(k, policy_kit_tenant(k)->tenant, 1, 1);
	assert_int_equal(plan(k).of[STREAM].manner, 0);
}

/* ---- what is launched ---- */

static void test_shapes_have_a_manner_each(void **state)
{
	assert_int_equal(gsb_shape_of_manner(gsb_shapes, GSB_N_OFFERED, GSB_MANNER_HINT), 14);
	assert_int_equal(gsb_shape_of_manner(gsb_shapes, GSB_N_OFFERED, GSB_LIMIT_HALF), 15);
	assert_int_equal(gsb_shape_of_manner(gsb_shapes, GSB_N_OFFERED, 3), 0);
	assert_int_equal(gsb_shape_of_manner(gsb_shapes, GSB_N_OFFERED, 0), 0); /* as asked */
	assert_false(gsb_manner_limits(GSB_MANNER_HINT) || gsb_manner_limits(0));
	assert_true(gsb_manner_limits(GSB_LIMIT_HALF));
}

static void test_coreside_launches_it_so(void **state)
{
	struct policy_kit *k = *state;
	const struct gsb_decision *d;

	add_pair(k, HALF);
	saw_hint(k, STREAM, 2, 0.8, 0.6);
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_null(policy_kit_wrong(k));
	d = policy_kit_said(k, STREAM);
	assert_int_equal(d->reason, GSB_REASON_PARTITION);
	assert_int_equal(d->sms.n, KNEE);
	assert_int_equal(k->ready[STREAM].shapes[d->shape - 1].form, GSB_SHAPE_HINT);
	assert_int_equal(d->priority, 0);
	assert_int_equal(d->predicted_slowdown_ppm, 1250000);
	d = policy_kit_said(k, TABLE);
	assert_int_equal(d->reason, GSB_REASON_PARTITION);
	assert_int_equal(d->shape, 0);
	assert_int_equal(d->predicted_slowdown_ppm, 1666666);
}

/* This one launch has none: it goes as asked. */
static void test_coreside_launches_as_asked_what_has_none(void **state)
{
	struct policy_kit *k = *state;

	add_pair(k, HALF);
	k->ready[STREAM].n_shapes = 0;
	policy_kit_ask(k, &gsb_policy_coreside);
	assert_null(policy_kit_wrong(k));
	assert_int_equal(policy_kit_said(k, STREAM)->sms.n, KNEE);
	assert_int_equal(policy_kit_said(k, STREAM)->shape, 0);
	assert_int_equal(policy_kit_said(k, STREAM)->predicted_slowdown_ppm, 1000000);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, policy_kit_setup, policy_kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_plan_tries_it_of_who_streams),
		CASE(test_plan_keeps_what_gains),
		CASE(test_plan_gives_up_what_gains_little),
		CASE(test_plan_leaves_nobody_less_than_it_had),
		CASE(test_plan_undoes_what_has_become_worse),
		CASE(test_plan_ends_a_trial_when_it_knows),
		CASE(test_plan_goes_on_to_where_more_may_be_hoped_for),
		CASE(test_plan_has_one_value_for_not_enough),
		CASE(test_plan_tries_the_other_one_next),
		CASE(test_plan_tries_it_where_no_part_is_good_without),
		CASE(test_plan_has_the_same_without_first),
		CASE(test_plan_counts_what_the_hint_gains),
		CASE(test_plan_counts_nothing_but_the_hint),
		CASE(test_plan_leaves_what_is_as_good_without_parts),
		CASE(test_plan_tries_nothing_that_is_not_offered),
		CASE(test_plan_tries_it_of_one_launch_alone),
		CASE(test_plan_tries_nothing_between_two_of_one_kernel),
		CASE(test_plan_tries_nothing_of_who_leaves),
		CASE(test_plan_tries_nothing_beside_strangers),
		CASE(test_shapes_have_a_manner_each),
		CASE(test_coreside_launches_it_so),
		CASE(test_coreside_launches_as_asked_what_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
