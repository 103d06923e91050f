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

/* ---- all of them ---- */

static uint64_t rng_state;

static uint32_t rng(uint32_t n)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng_state >> 33) % n;
}

static void draw_tenants(struct policy_kit *k)
{
	for (unsigned n = 1 + rng(8); n; n--) {
		struct gsb_claim *c = policy_kit_tenant(k);

		c->weight = 1 + rng(300);
		c->critical = !rng(6);
		c->max_wait_ns = rng(4) ? 0 : rng(1000000000);
		c->share_ns = (uint64_t)rng(1000000) * 1000;
		c->memory_bytes = (uint64_t)rng(80) << 30;
		c->demand_ns = rng(3);
		c->demand_bytes = (uint64_t)rng(80) << 30;
		c->asked_ns = k->view.now_ns - rng(300000000);
		c->n_issued = rng(3);
	}
}

static void draw_kernel(struct policy_kit *k, uint32_t tenant)
{
	static const uint32_t threads[] = {32, 128, 256, 1024};
	struct gsb_work *w = policy_kit_kernel(k, tenant, 1 + rng(rng(2) ? 3000 : 100), 0);

	w->kernel.threads_per_block = threads[rng(4)];
	w->blocks_per_sm = 2048 / w->kernel.threads_per_block;
	if (w->blocks_per_sm > 32)
		w->blocks_per_sm = 32;
	w->code = rng(12) + 1;
	w->launch = w->code << 8 | rng(3);
	w->cooperative = !rng(20);
	w->predicted.alone_ns = rng(5) ? (uint64_t)rng(20000) * (1 + rng(1000)) : 0;
	w->predicted.trust_ppm = w->predicted.alone_ns ? rng(1000000) : 0;
}

static void draw_work(struct policy_kit *k)
{
	uint32_t tenant = 1 + rng(k->view.n_claims);
	struct gsb_work *w;

	if (rng(4))
		draw_kernel(k, tenant);
	else
		policy_kit_copy(k, tenant, 1 + rng(1 << 30))->direction = rng(GSB_N_DIRECTIONS);
	w = &k->ready[k->view.n_ready - 1];
	w->priority = rng(5) ? 0 : -(int32_t)rng(6);
	w->since_ns -= rng(2000000000) % k->view.now_ns;
}

/* What ran before has left notes. */
static void draw_estimates(struct policy_kit *k, struct gsb_estimates *e)
{
	k->view.estimates = e;
	for (unsigned i = 0; i + 1 < k->view.n_ready; i++) {
		struct gsb_run r = {
			.work = &k->ready[i], .took_ns = 1 + rng(1000000), .shared = rng(2)};

		if (r.work->kind != GSB_WORK_KERNEL)
			continue;
		if (r.shared && k->ready[i + 1].kind == GSB_WORK_KERNEL)
			r.beside = &k->ready[i + 1];
		gsb_estimates_note(e, k->view.arch, &r);
	}
}

static void draw(struct policy_kit *k, uint64_t seed)
{
	rng_state = seed;
	draw_tenants(k);
	for (unsigned n = rng(GSB_N_QUEUES + 1); n; n--) {
		draw_work(k);
		policy_kit_start(k, 0);
	}
	if (!rng(3)) /* nothing at all */
		k->view.n_running = 0;
	k->view.n_free_queues = GSB_N_QUEUES - k->view.n_running;
	for (unsigned n = 1 + rng(rng(50) ? 40 : 400); n; n--)
		draw_work(k);
	k->view.sm_group = rng(3) ? 8 : 0;
	k->view.priority_greatest = -5;
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

static void test_all_policies_keep_their_promises_on_random_views(void **state)
{
	uint64_t n = getenv("GSB_CHECK_LONG") ? 100000 : 5000;
	struct gsb_estimates *e;

	assert_int_equal(gsb_estimates_create(&e), 0);
	for (uint64_t seed = 1; seed <= n; seed++) {
		struct policy_kit *k = policy_kit_create();

		draw(k, seed);
		draw_estimates(k, e);
		for (unsigned i = 0; gsb_policy_at(i); i++)
			if (k->view.n_free_queues)
				hold_promises(k, gsb_policy_at(i), seed);
		policy_kit_destroy(k);
	}
	gsb_estimates_destroy(e);
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
		cmocka_unit_test(test_all_policies_keep_their_promises_on_random_views),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
