/*
 * test_engine_policy.c - what a policy is shown and what the engine makes of its answer: nothing that is ready is
 * hidden from it, it is asked only when something has changed, and what it holds never stops an idle device.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "broker/engine/work/ready.h"
#include "tests/unit/engine_kit.h"

/* ---- a policy that holds all but the urgent ---- */

#define URGENT (-1) /* priority of its stream */

static unsigned n_asked, n_shown; /* of the last time */
static const struct gsb_work *oldest;

/* Of several, the one of the highest tenant and stream: not the oldest. */
static unsigned last_stream(const struct gsb_view *view)
{
	unsigned best = 0;

	for (unsigned i = 1; i < view->n_ready; i++)
		if (view->ready[i]->stream > view->ready[best]->stream)
			best = i;
	return best;
}

static unsigned urgent_only(const struct gsb_view *view, struct gsb_policy_area *area,
			    struct gsb_decision *out)
{
	unsigned n = 0;

	n_asked++;
	n_shown = view->n_ready;
	oldest = view->ready[0];
	for (unsigned i = 0; i < view->n_ready && n < view->n_free_queues; i++)
		if (view->ready[i]->priority <= URGENT)
			out[n++] = (struct gsb_decision){.ready = i};
	if (!n && view->must)
		out[n++] = (struct gsb_decision){.ready = last_stream(view)};
	return n;
}

static const struct gsb_policy urgent_policy = {.name = "urgent", .decide = urgent_only};

static unsigned nothing_at_all(const struct gsb_view *view, struct gsb_policy_area *area,
			       struct gsb_decision *out)
{
	n_asked++;
	n_shown = view->n_ready;
	return 0;
}

static const struct gsb_policy stubborn_policy = {.name = "stubborn", .decide = nothing_at_all};

/* One at a time until device time release_ns; then all of it. */
static uint64_t release_ns, went_ns; /* when it was asked last */

static unsigned one_until_then(const struct gsb_view *view, struct gsb_policy_area *area,
			       struct gsb_decision *out)
{
	unsigned n = 0;

	n_asked++;
	went_ns = view->now_ns;
	for (; n < view->n_ready && n < view->n_free_queues; n++) {
		out[n] = (struct gsb_decision){.ready = n};
		if ((!view->n_running && !n) || view->now_ns >= release_ns)
			continue;
		out[n].verdict = GSB_HOLD;
		out[n].hold.not_before_ns = release_ns;
	}
	return n;
}

static const struct gsb_policy timed_policy = {.name = "timed", .decide = one_until_then};

/* ---- an engine with it ---- */

struct fixture {
	struct kit_engine k;
	struct kit_tenant t;
	uint64_t mem;
};

static void begin(struct fixture *f, const struct gsb_policy *policy, bool virtual_clock)
{
	kit_engine_init_with(&f->k, virtual_clock, policy);
	kit_tenant_init(&f->t, &f->k, NULL);
	f->mem = kit_alloc(&f->t, 4096);
	n_asked = n_shown = 0;
}

static void end(struct fixture *f)
{
	kit_device_auto(f->k.dev);
	kit_settle(&f->k);
	kit_tenant_finish(&f->t);
	kit_engine_finish(&f->k);
}

static void urgent_stream(struct fixture *f, uint32_t index)
{
	struct gsb_rec_stream_create b = {
		.stream = kit_stream(index), .ctx = kit_ctx(0), .priority = URGENT};

	kit_post(&f->t, GSB_REC_STREAM_CREATE, 0, &b, sizeof(b), NULL, 0);
}

/* n heads in streams 1 .. n. */
static void post_heads(struct fixture *f, uint32_t n)
{
	for (uint32_t i = 1; i <= n; i++) {
		kit_stream_create(&f->t, i, 0);
		kit_fill(&f->t, i, f->mem + 4 * (i % 1024));
	}
	kit_settle(&f->k);
}

/* ---- what is shown ---- */

static void test_urgent_head_behind_a_hundred_held_ones_goes_at_once(void **state)
{
	struct fixture f;

	begin(&f, &urgent_policy, false);
	post_heads(&f, 100);
	assert_int_equal(f.k.dev->n_issued, 1); /* the device was idle */
	urgent_stream(&f, 200);
	kit_fill(&f.t, 200, f.mem + 8);
	kit_settle(&f.k);
	assert_int_equal(f.k.dev->n_issued, 2);
	assert_int_equal(f.k.dev->log[1].addr, f.mem + 8);
	end(&f);
}

static void set_priority(struct fixture *f, uint32_t stream, int32_t priority)
{
	const struct gsb_rec_stream_priority b = {.priority = priority};

	kit_post(&f->t, GSB_REC_STREAM_PRIORITY, kit_stream(stream), &b, sizeof(b), NULL, 0);
}

/* Whatever a tenant's words say, a stream has a priority that the device has. */
static void test_priority_that_no_device_has_is_the_nearest_that_it_has(void **state)
{
	const struct gsb_rec_stream_create b = {
		.stream = kit_stream(10), .ctx = kit_ctx(0), .priority = INT32_MIN};
	const struct gsb_device_info *d;
	struct gsb_stream *s = NULL;
	struct fixture f;

	begin(&f, &urgent_policy, false);
	d = f.k.engine->ops->info(f.k.engine->dev);
	kit_post(&f.t, GSB_REC_STREAM_CREATE, 0, &b, sizeof(b), NULL, 0);
	kit_settle(&f.k);
	gsb_for_each_tenant (f.k.engine, t)
		s = gsb_stream_find(&t->queues, kit_stream(10));
	assert_non_null(s);
	assert_int_equal(s->priority, d->priority_greatest);
	set_priority(&f, 10, INT32_MAX);
	kit_settle(&f.k);
	assert_int_equal(s->priority, d->priority_least);
	set_priority(&f, 10, INT32_MIN);
	kit_settle(&f.k);
	assert_int_equal(s->priority, d->priority_greatest);
	end(&f);
}

/* What was posted before the priority was set keeps its own. */
static void test_priority_that_is_set_is_that_of_what_comes_after(void **state)
{
	struct fixture f;

	begin(&f, &urgent_policy, false);
	post_heads(&f, 10); /* the last goes, for the device was idle; the others are held */
	kit_fill(&f.t, 10, f.mem + 1024);
	set_priority(&f, 10, URGENT);
	kit_stream_create(&f.t, 200, 0);
	set_priority(&f, 200, URGENT);
	kit_fill(&f.t, 200, f.mem + 2048);
	kit_settle(&f.k);
	assert_int_equal(f.k.dev->n_issued, 2);
	assert_int_equal(f.k.dev->log[1].addr, f.mem + 2048);
	assert_int_equal(kit_done(&f.t, 200), 1);
	kit_complete(f.k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f.k);
	assert_int_equal(kit_done(&f.t, 10), 1);
	assert_int_equal(f.k.dev->n_issued, 2);
	end(&f);
}

static void test_several_urgent_heads_among_held_ones_are_those_that_go(void **state)
{
	struct fixture f;

	begin(&f, &urgent_policy, false);
	post_heads(&f, 10);
	for (uint32_t i = 100; i < 108; i++)
		if (i % 2)
			urgent_stream(&f, i);
		else
			kit_stream_create(&f.t, i, 0);
	kit_settle(&f.k);
	for (uint32_t i = 100; i < 108; i++)
		kit_fill(&f.t, i, f.mem + 4 * i);
	kit_settle(&f.k);
	assert_int_equal(f.k.dev->n_issued, 5);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(f.k.dev->log[1 + i].addr, f.mem + 4 * (101 + 2 * i));
	end(&f);
}

static void test_every_ready_head_of_4095_streams_is_shown(void **state)
{
	const uint32_t n = GSB_N_STREAMS - 1;
	const struct gsb_work *first;
	struct fixture f;

	begin(&f, &urgent_policy, false);
	post_heads(&f, n);
	assert_int_equal(f.k.dev->n_issued, 1);
	assert_int_equal(n_shown, n - 1);
	first = oldest;
	assert_int_equal(first->stream, 1);
	kit_complete(f.k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f.k);
	assert_int_equal(f.k.dev->n_issued, 2);
	assert_int_equal(n_shown, n - 2);
	assert_ptr_equal(oldest, first); /* described once, shown again */
	end(&f);
}

/* A turn that brings nothing new asks nobody, whatever is held. */
static void test_policy_is_asked_only_when_something_changed(void **state)
{
	struct fixture f;
	unsigned before;

	begin(&f, &urgent_policy, false);
	post_heads(&f, 100);
	before = n_asked;
	for (int i = 0; i < 100; i++)
		gsb_engine_turn(f.k.engine);
	assert_int_equal(n_asked, before);
	kit_nop(&f.t, 0); /* waits behind them */
	kit_settle(&f.k);
	assert_int_equal(n_asked, before);
	urgent_stream(&f, 200);
	kit_fill(&f.t, 200, f.mem);
	kit_settle(&f.k);
	assert_in_range(n_asked, before, before + 2);
	end(&f);
}

static void test_fifo_names_no_more_than_there_are_queues(void **state)
{
	const struct gsb_work *ready[3] = {&(struct gsb_work){0}, &(struct gsb_work){0},
					   &(struct gsb_work){0}};
	struct gsb_view view = {.ready = ready, .n_ready = 100000, .n_free_queues = 3};
	struct gsb_decision out[GSB_N_DECISIONS];

	assert_int_equal(gsb_policy_fifo.decide(&view, NULL, out), 3); /* and looks at no more */
	assert_int_equal(out[2].ready, 2);
	view.n_ready = 2;
	assert_int_equal(gsb_policy_fifo.decide(&view, NULL, out), 2);
}

/* ---- where it goes ---- */

static struct gsb_sm_range made[8];
static unsigned n_made;
static int (*real_queue_create)(struct gsb_device *dev, int priority, struct gsb_sm_range sms,
				struct gsb_queue **out);

static int note_queue_create(struct gsb_device *dev, int priority, struct gsb_sm_range sms,
			     struct gsb_queue **out)
{
	assert_in_range(n_made, 0, 7);
	made[n_made++] = sms;
	return real_queue_create(dev, priority, sms, out);
}

/* A stream with an odd number has the first 8 SMs, one with an even number the next. */
static unsigned by_stream(const struct gsb_view *view, struct gsb_policy_area *area,
			  struct gsb_decision *out)
{
	out[0] = (struct gsb_decision){.sms = {view->ready[0]->stream % 2 ? 0 : 8, 8}};
	return 1;
}

static const struct gsb_policy by_stream_policy = {.name = "by stream", .decide = by_stream};

static void test_queues_are_made_once_for_each_range_that_a_policy_names(void **state)
{
	struct fixture f;

	n_made = 0;
	begin(&f, &by_stream_policy, false);
	real_queue_create = f.k.dev->ops.queue_create;
	f.k.dev->ops.queue_create = note_queue_create;
	for (uint32_t i = 1; i <= 6; i++) {
		kit_stream_create(&f.t, i, 0);
		kit_fill(&f.t, i, f.mem);
		kit_settle(&f.k);
		kit_complete(f.k.dev, i - 1, CUDA_SUCCESS, 0);
		kit_settle(&f.k);
	}
	assert_int_equal(n_made, 2);
	assert_int_equal(made[0].first, 0);
	assert_int_equal(made[1].first, 8);
	assert_ptr_equal(f.k.dev->log[0].queue, f.k.dev->log[4].queue);
	assert_ptr_not_equal(f.k.dev->log[0].queue, f.k.dev->log[5].queue);
	end(&f);
}

/* It keeps what it is owed: claim.h. */
static void test_who_has_sms_of_its_own_is_known_to_have_them(void **state)
{
	static const struct gsb_policy policy = {
		.name = "by stream", .predicts = true, .decide = by_stream};
	struct fixture f;

	begin(&f, &policy, false);
	kit_device_auto(f.k.dev);
	kit_load_inc(&f.t, 1, 1);
	kit_stream_create(&f.t, 1, 0);
	assert_false(f.t.t->claim.apart);
	kit_launch_inc(&f.t, 1, 1, f.mem, 1);
	kit_settle(&f.k);
	assert_true(f.t.t->claim.apart);
	end(&f);
}

/* ---- ranges ---- */

static unsigned n_prepared;

static int note_prepare(struct gsb_device *dev)
{
	assert_int_equal(((struct kit_device *)dev)->n_issued, 0);
	n_prepared++;
	return -ENOMEM; /* then they are made when they are asked for */
}

/* To make one later would hold up everybody. */
static void test_ranges_are_there_before_anything_runs(void **state)
{
	static const struct gsb_policy *const policies[] = {&gsb_policy_fifo, &gsb_policy_coreside,
							    &gsb_policy_priority};

	(void)state;
	for (size_t i = 0; i < GSB_ARRAY_LEN(policies); i++) {
		struct kit_device *d = kit_device_create(false);
		struct gsb_scheduler s;

		d->ops.prepare = note_prepare;
		n_prepared = 0;
		assert_int_equal(gsb_scheduler_init(&s, &d->base, policies[i], 0), 0);
		assert_int_equal(n_prepared, policies[i] != &gsb_policy_fifo);
		gsb_scheduler_finish(&s);
		kit_device_destroy(d);
	}
}

/* ---- an idle device ---- */

static void test_idle_device_gets_what_the_policy_ranks_first_and_no_more(void **state)
{
	struct fixture f;

	begin(&f, &urgent_policy, true); /* a virtual clock: all are there before one goes */
	for (uint32_t i = 1; i <= 40; i++)
		kit_stream_create(&f.t, i, 0);
	kit_settle(&f.k);
	for (uint32_t i = 1; i <= 40; i++)
		kit_fill(&f.t, i, f.mem + 4 * i);
	f.k.engine->params.gate_timeout_ns = 0; /* its thread runs: it is charged */
	while (!f.k.dev->n_issued)
		gsb_engine_turn(f.k.engine);
	assert_int_equal(f.k.dev->n_issued, 1);
	assert_int_equal(f.k.dev->log[0].addr, f.mem + 4 * 40);
	end(&f);
}

static void test_policy_that_never_names_anything_still_lets_the_oldest_go(void **state)
{
	struct fixture f;

	begin(&f, &stubborn_policy, false);
	post_heads(&f, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(f.k.dev->n_issued, i + 1);
		assert_int_equal(f.k.dev->log[i].addr, f.mem + 4 * (i + 1));
		kit_complete(f.k.dev, i, CUDA_SUCCESS, 0);
		kit_settle(&f.k);
	}
	end(&f);
}

/* ---- what is held until a time ---- */

/* Nothing comes or ends meanwhile: virtual time stands there, and goes on to the completion. */
static void test_virtual_time_stands_where_a_hold_ends(void **state)
{
	struct fixture f;

	begin(&f, &timed_policy, true);
	for (uint32_t i = 1; i <= 2; i++)
		kit_stream_create(&f.t, i, 0);
	kit_settle(&f.k);
	for (uint32_t i = 1; i <= 2; i++)
		kit_fill(&f.t, i, f.mem + 4 * i);
	release_ns = f.k.dev->now_ns + 300;
	f.k.engine->params.gate_timeout_ns = 0; /* its thread runs: it is charged */
	n_asked = 0;
	while (f.k.dev->n_issued < 2)
		gsb_engine_turn(f.k.engine);
	assert_int_equal(went_ns, release_ns);
	assert_int_equal(n_asked, 3); /* one goes, and one beside it does not; then it does */
	end(&f);
}

/* For so long the engine sleeps, and asks nobody; by the kernel's timers of milliseconds and of less. */
static void test_engine_sleeps_until_a_hold_ends(void **state)
{
	static const uint64_t after_ns[] = {1500000, 3000000};
	struct fixture f;
	unsigned before;

	begin(&f, &timed_policy, false);
	for (uint32_t s = 1; s <= 2; s++)
		kit_stream_create(&f.t, s, 0);
	for (unsigned i = 0; i < 2; i++) {
		release_ns = f.k.dev->now_ns + after_ns[i];
		kit_device_forget(f.k.dev);
		for (uint32_t s = 1; s <= 2; s++)
			kit_fill(&f.t, s, f.mem);
		kit_settle(&f.k);
		assert_int_equal(f.k.dev->n_issued, 1);
		before = n_asked;
		gsb_engine_sleep(f.k.engine); /* it ends */
		kit_settle(&f.k);
		assert_int_equal(n_asked, before);
		f.k.dev->now_ns = release_ns;
		kit_settle(&f.k);
		assert_int_equal(n_asked, before + 1);
		assert_int_equal(f.k.dev->n_issued, 2);
		kit_complete(f.k.dev, 0, CUDA_SUCCESS, release_ns);
		kit_complete(f.k.dev, 1, CUDA_SUCCESS, release_ns);
		kit_settle(&f.k);
	}
	end(&f);
}

/* Other work that ends is reason enough to ask; and then nothing is left to wake for. */
static void test_hold_that_ended_sooner_wakes_nobody(void **state)
{
	struct fixture f;

	begin(&f, &timed_policy, false);
	release_ns = f.k.dev->now_ns + 1000000000000;
	post_heads(&f, 2);
	assert_int_equal(gsb_scheduler_alarm_ns(&f.k.engine->scheduler), release_ns);
	kit_complete(f.k.dev, 0, CUDA_SUCCESS, f.k.dev->now_ns);
	kit_settle(&f.k);
	assert_int_equal(f.k.dev->n_issued, 2);
	assert_int_equal(gsb_scheduler_alarm_ns(&f.k.engine->scheduler), UINT64_MAX);
	end(&f);
}

/* ---- what is held and fails ---- */

static void test_held_heads_of_a_failed_context_are_shown_no_more(void **state)
{
	struct kit_tenant other;
	struct fixture f;
	uint64_t mem;

	begin(&f, &urgent_policy, false);
	kit_tenant_init(&other, &f.k, NULL);
	mem = kit_alloc(&other, 64);
	kit_fill(&f.t, 0, f.mem); /* on the device */
	kit_settle(&f.k);
	for (uint32_t i = 1; i <= 40; i++) { /* by turns */
		kit_stream_create(&f.t, i, GSB_STREAM_NON_BLOCKING);
		kit_stream_create(&other, i, GSB_STREAM_NON_BLOCKING);
		kit_fill(&f.t, i, f.mem);
		kit_fill(&other, i, mem);
		kit_settle(&f.k);
	}
	assert_int_equal(n_shown, 80);
	kit_complete(f.k.dev, 0, CUDA_ERROR_ILLEGAL_ADDRESS, 0);
	kit_settle(&f.k);
	assert_int_equal(kit_done(&f.t, 40), 1);
	assert_int_equal(f.k.dev->n_issued, 2); /* the device was idle, and got the other's */
	assert_int_equal(n_shown, 39);
	assert_int_equal(oldest->tenant, other.id);
	kit_device_auto(f.k.dev);
	kit_complete(f.k.dev, 1, CUDA_SUCCESS, 0);
	kit_settle(&f.k);
	assert_int_equal(f.k.dev->n_issued, 41);
	kit_tenant_finish(&other);
	end(&f);
}

/* ---- the order of what is ready, against a plain array ---- */

#define N_HEADS 600
#define N_STEPS 20000

static uint64_t rng_state;

static uint32_t rng(uint32_t n)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng_state >> 33) % n;
}

static bool goes_before(const struct gsb_work *a, const struct gsb_work *b, bool by_time)
{
	if (by_time && a->since_ns != b->since_ns)
		return a->since_ns < b->since_ns;
	if (by_time)
		return a->stream < b->stream;
	return gsb_head_of(a)->number < gsb_head_of(b)->number;
}

static void compare(const struct gsb_ready *r, struct gsb_head *const *have, unsigned n)
{
	const struct gsb_work *const *works = gsb_ready_works(r);

	assert_int_equal(r->n, n);
	assert_in_range(r->first, 0, n); /* so that the window never leaves its array */
	for (unsigned i = 0; i < n; i++) {
		unsigned before = 0;

		for (unsigned k = 0; k < n; k++)
			before += goes_before(&have[k]->work, &have[i]->work, r->by_time);
		assert_ptr_equal(works[before], &have[i]->work);
	}
}

static void run_random(bool by_time)
{
	struct gsb_head *have[N_HEADS];
	struct gsb_ready r;
	unsigned n = 0;

	rng_state = 1 + by_time;
	assert_int_equal(gsb_ready_init(&r, by_time), 0);
	for (unsigned step = 0; step < N_STEPS; step++) {
		bool grows = step % 4000 < 2000;

		if (n < N_HEADS && (!n || rng(100) < (grows ? 60u : 40u))) {
			have[n] = gsb_head_create(&r, NULL);
			have[n]->work = (struct gsb_work){.stream = step, .since_ns = rng(50)};
			gsb_ready_add(&r, have[n++]);
		} else {
			unsigned i = rng(n);

			gsb_ready_remove(&r, have[i]);
			gsb_head_destroy(&r, have[i]);
			have[i] = have[--n];
		}
		if (step % 97 == 0)
			compare(&r, have, n);
	}
	assert_in_range(r.n_heads, 1, N_HEADS); /* as many as there were at a time */
	gsb_ready_finish(&r);
}

static void test_ready_heads_stand_in_order_whatever_comes_and_goes(void **state)
{
	run_random(false);
	run_random(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urgent_head_behind_a_hundred_held_ones_goes_at_once),
		cmocka_unit_test(test_priority_that_no_device_has_is_the_nearest_that_it_has),
		cmocka_unit_test(test_priority_that_is_set_is_that_of_what_comes_after),
		cmocka_unit_test(test_several_urgent_heads_among_held_ones_are_those_that_go),
		cmocka_unit_test(test_every_ready_head_of_4095_streams_is_shown),
		cmocka_unit_test(test_policy_is_asked_only_when_something_changed),
		cmocka_unit_test(test_fifo_names_no_more_than_there_are_queues),
		cmocka_unit_test(test_queues_are_made_once_for_each_range_that_a_policy_names),
		cmocka_unit_test(test_who_has_sms_of_its_own_is_known_to_have_them),
		cmocka_unit_test(test_ranges_are_there_before_anything_runs),
		cmocka_unit_test(test_idle_device_gets_what_the_policy_ranks_first_and_no_more),
		cmocka_unit_test(test_policy_that_never_names_anything_still_lets_the_oldest_go),
		cmocka_unit_test(test_virtual_time_stands_where_a_hold_ends),
		cmocka_unit_test(test_engine_sleeps_until_a_hold_ends),
		cmocka_unit_test(test_hold_that_ended_sooner_wakes_nobody),
		cmocka_unit_test(test_held_heads_of_a_failed_context_are_shown_no_more),
		cmocka_unit_test(test_ready_heads_stand_in_order_whatever_comes_and_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
