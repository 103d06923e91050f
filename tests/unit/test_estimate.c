/*
 * test_estimate.c - what is remembered of kernels that ended, and what is said of those that come: alone before shared,
 * trust by count and spread, bounded memory; and what tenants have had.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "broker/policy/claim.h"
#include "broker/policy/estimate.h"
#include "broker/policy/shape.h"
#include "model/gpu/arch.h"

struct fixture {
	const struct gsb_arch *arch;
	struct gsb_estimates *e;
};

static int setup(void **state)
{
	static struct fixture f;

	f.arch = gsb_arch_find("h200");
	*state = &f;
	return gsb_estimates_create(&f.e);
}

static int teardown(void **state)
{
	gsb_estimates_destroy(((struct fixture *)*state)->e);
	return 0;
}

/* 8 blocks of 256 threads fit an SM. */
static struct gsb_work kernel(uint64_t code, uint64_t n_blocks)
{
	return (struct gsb_work){
		.kind = GSB_WORK_KERNEL,
		.kernel = {.threads_per_block = 256, .n_blocks = n_blocks},
		.code = code,
		.launch = code << 32 | n_blocks,
		.blocks_per_sm = 8,
	};
}

static void ran(struct fixture *f, const struct gsb_work *w, uint64_t ns)
{
	gsb_estimates_note(f->e, f->arch, &(struct gsb_run){.work = w, .took_ns = ns});
}

static struct gsb_prediction say(struct fixture *f, const struct gsb_work *w)
{
	return gsb_estimates_predict(f->e, f->arch, w);
}

/* ---- predictions ---- */

static void test_predict_unknown_kernel_says_nothing(void **state)
{
	struct gsb_work w = kernel(1, 100);

	assert_int_equal(say(*state, &w).alone_ns, 0);
	assert_int_equal(say(*state, &w).trust_ppm, 0);
}

static void test_predict_is_the_mean_and_trust_grows_with_the_count(void **state)
{
	struct gsb_work w = kernel(1, 100);
	uint32_t before = 0;

	for (int i = 0; i < 12; i++) {
		ran(*state, &w, 1000);
		assert_int_equal(say(*state, &w).alone_ns, 1000);
		assert_true(say(*state, &w).trust_ppm > before);
		before = say(*state, &w).trust_ppm;
	}
	assert_int_equal(before, 857142); /* 12 / 14 */
}

static void test_predict_trusts_less_what_spreads(void **state)
{
	struct gsb_work even = kernel(1, 100), uneven = kernel(2, 100);

	for (int i = 0; i < 40; i++) {
		ran(*state, &even, 1000);
		ran(*state, &uneven, i % 2 ? 500 : 1500);
	}
	assert_in_range(say(*state, &uneven).alone_ns, 900, 1100);
	assert_true(say(*state, &uneven).trust_ppm < say(*state, &even).trust_ppm / 2);
}

static void test_predict_follows_what_changes(void **state)
{
	struct gsb_work w = kernel(1, 100);

	for (int i = 0; i < 1000; i++)
		ran(*state, &w, 1000);
	for (int i = 0; i < 64; i++)
		ran(*state, &w, 3000);
	assert_in_range(say(*state, &w).alone_ns, 2900, 3000);
}

/* A program that tries itself out with little, and then works. */
static void test_predict_soon_forgets_what_was_something_else(void **state)
{
	struct gsb_work w = kernel(1, 100);

	for (int i = 0; i < 100; i++)
		ran(*state, &w, 1000);
	for (int i = 0; i < 8; i++)
		ran(*state, &w, 5000);
	assert_in_range(say(*state, &w).alone_ns, 4500, 5000);
	for (int i = 0; i < 8; i++)
		ran(*state, &w, 1000);
	assert_in_range(say(*state, &w).alone_ns, 1000, 1500);
}

/* Twice the blocks that fill the GPU: twice as long. */
static void test_predict_new_grid_goes_by_rounds(void **state)
{
	struct fixture *f = *state;
	uint64_t fill = 8ull * f->arch->n_sms;
	struct gsb_work one = kernel(1, fill), three = kernel(1, 2 * fill + 1);

	ran(f, &one, 1000);
	assert_int_equal(say(f, &three).alone_ns, 3000);
	assert_true(say(f, &three).trust_ppm < say(f, &one).trust_ppm);
	three.kernel.threads_per_block = 512; /* and in other blocks it is another kernel */
	assert_int_equal(say(f, &three).alone_ns, 0);
}

static void test_predict_prefers_alone_to_shared(void **state)
{
	struct fixture *f = *state;
	struct gsb_work w = kernel(1, 100);
	struct gsb_run shared = {
		.work = &w, .took_ns = 9000, .company = {.shared = true, .met = true}};
	uint32_t trust;

	for (int i = 0; i < 10; i++)
		gsb_estimates_note(f->e, f->arch, &shared);
	assert_int_equal(say(f, &w).alone_ns, 9000);
	trust = say(f, &w).trust_ppm;
	for (int i = 0; i < 10; i++)
		ran(f, &w, 1000);
	assert_int_equal(say(f, &w).alone_ns, 1000);
	assert_true(trust < say(f, &w).trust_ppm / 2);
}

/* Its blocks waited for room behind others: their own time says more than the kernel's. */
static void test_predict_shared_goes_by_block_time_where_it_is_known(void **state)
{
	struct fixture *f = *state;
	struct gsb_work w = kernel(1, 16ull * f->arch->n_sms);
	struct gsb_run r = {.work = &w,
			    .took_ns = 90000,
			    .block_ns = 700,
			    .company = {.shared = true, .met = true}};

	gsb_estimates_note(f->e, f->arch, &r);
	assert_int_equal(say(f, &w).alone_ns, 1400);
}

/* ---- parts of the SMs, and company ---- */

static double on(struct fixture *f, const struct gsb_work *w, uint32_t n_sms,
		 enum gsb_sharing sharing, uint64_t beside)
{
	return gsb_estimates_on(f->e, f->arch, w->launch, n_sms, sharing, beside).mean;
}

static void test_on_part_is_kept_apart_from_the_whole(void **state)
{
	struct fixture *f = *state;
	struct gsb_work w = kernel(1, 5000), part = w;

	part.sms = (struct gsb_sm_range){0, f->arch->n_sms / 2};
	ran(f, &w, 1000);
	ran(f, &part, 1900);
	assert_int_equal(say(f, &w).alone_ns, 1000);
	assert_true(gsb_estimates_alone(f->e, w.launch).mean == 1000);
	assert_true(on(f, &w, f->arch->n_sms / 2, GSB_SMS_OWN, 0) == 1900);
	assert_true(on(f, &w, f->arch->n_sms / 4, GSB_SMS_OWN, 0) == 0);
	assert_true(on(f, &w, f->arch->n_sms / 2, GSB_SMS_SHARED, 0) == 0);
}

/* Blocks are on an SM for as long whatever part of the device there is; who does not say so may have waited between the parts of a launch. */
static void test_block_is_what_it_was_there_or_at_most_its_round(void **state)
{
	struct fixture *f = *state;
	struct gsb_work plain = kernel(1, 16ull * f->arch->n_sms), w = plain;
	struct gsb_run run = {.work = &w, .took_ns = 8000, .company.met = true};

	ran(f, &plain, 8000);
	assert_int_equal(gsb_estimates_block(f->e, plain.launch).n, 0); /* nobody would ask */
	w.n_shapes = 1;
	w.sms = (struct gsb_sm_range){0, f->arch->n_sms / 2};
	gsb_estimates_note(f->e, f->arch, &run);
	assert_true(gsb_estimates_block(f->e, w.launch).mean == 2000);
	run.in_parts = true;
	gsb_estimates_note(f->e, f->arch, &run);
	assert_int_equal(gsb_estimates_block(f->e, w.launch).n, 1);
	run.block_ns = 1000;
	gsb_estimates_note(f->e, f->arch, &run);
	assert_true(gsb_estimates_block(f->e, w.launch).mean == 1500);
}

/* Apart it counts from its first block on, together from its issue: who has to wait for room is slower for it. */
static void test_on_is_of_the_company_and_of_what_is_shared(void **state)
{
	struct fixture *f = *state;
	struct gsb_work w = kernel(1, 500);
	struct gsb_run run = {.work = &w,
			      .took_ns = 1200,
			      .stay_ns = 2000,
			      .company = {.shared = true, .code = 2}};

	w.sms = (struct gsb_sm_range){0, 64};
	gsb_estimates_note(f->e, f->arch, &run);
	run.company = (struct gsb_company){.shared = true, .mixed = true};
	run.took_ns = 1400;
	gsb_estimates_note(f->e, f->arch, &run);
	run.company.met = true;
	gsb_estimates_note(f->e, f->arch, &run);
	assert_true(on(f, &w, 64, GSB_SMS_OWN, 2) == 1200);
	assert_true(on(f, &w, 64, GSB_SMS_OWN, 0) == 1300);
	assert_true(on(f, &w, 64, GSB_SMS_OWN, 3) == 0);
	assert_true(on(f, &w, 64, GSB_SMS_SHARED, 0) == 2000);
}

static struct gsb_estimated inside(struct fixture *f, const struct gsb_work *w, uint32_t own,
				   uint32_t others, uint64_t beside)
{
	return gsb_estimates_in(f->e, f->arch, w->launch, 0, GSB_SMS_SHARED,
				(struct gsb_manners){own, others}, beside);
}

/* With a part of its blocks, or beside one with such, it is another thing: it says nothing of the launch as asked. */
static void test_inside_is_of_the_parts_of_both(void **state)
{
	struct fixture *f = *state;
	struct gsb_work w = kernel(1, 500);
	struct gsb_run run = {.work = &w,
			      .took_ns = 1200,
			      .stay_ns = 1500,
			      .block_ns = 10,
			      .company = {.shared = true, .met = true, .code = 2}};

	w.n_shapes = 1;
	w.manner = 4;
	gsb_estimates_note(f->e, f->arch, &run);
	run.company.mixed = true;
	run.company.code = 0;
	run.stay_ns = 2500;
	gsb_estimates_note(f->e, f->arch, &run);
	assert_true(inside(f, &w, 4, 0, 2).mean == 1500);
	assert_true(inside(f, &w, 4, 0, 0).mean == 2000);
	assert_int_equal(inside(f, &w, 4, 0, 3).n, 0);
	assert_int_equal(inside(f, &w, 2, 0, 2).n, 0);
	w.manner = 0;
	run.company = (struct gsb_company){.shared = true, .met = true, .code = 2, .manner = 4};
	gsb_estimates_note(f->e, f->arch, &run);
	assert_true(inside(f, &w, 0, 4, 2).mean == 2500);
	run.company.varied = true; /* it was beside both */
	gsb_estimates_note(f->e, f->arch, &run);
	assert_int_equal(inside(f, &w, 0, 4, 2).n, 1);
	run.company.manner = 0;
	gsb_estimates_note(f->e, f->arch, &run);
	w.manner = 4;
	run.company = (struct gsb_company){0};
	gsb_estimates_note(f->e, f->arch, &run);
	assert_int_equal(inside(f, &w, 4, 0, 0).n, 2); /* met nobody */
	assert_int_equal(gsb_estimates_alone(f->e, w.launch).n, 0);
	assert_int_equal(gsb_estimates_block(f->e, w.launch).n, 0);
	assert_true(on(f, &w, 0, GSB_SMS_SHARED, 0) == 0);
	assert_true(on(f, &w, 0, GSB_SMS_SHARED, 2) == 0);
	assert_int_equal(say(f, &w).alone_ns, 0);
	assert_int_equal(gsb_estimates_worth(f->e, f->arch, &run), 0);
}

static void test_beside_is_of_the_pair_on_the_same_sms(void **state)
{
	struct fixture *f = *state;
	struct gsb_work a = kernel(1, 500), b = kernel(2, 500);
	struct gsb_run run = {.work = &a,
			      .took_ns = 1200,
			      .stay_ns = 1500,
			      .company = {.shared = true, .met = true, .code = 2}};

	ran(f, &a, 1000);
	gsb_estimates_note(f->e, f->arch, &run);
	assert_true(gsb_estimates_beside(f->e, &a, &b).mean == 1.5);
	assert_int_equal(gsb_estimates_beside(f->e, &b, &a).n, 0);
	run.company.met = false;
	run.stay_ns = 9000;
	gsb_estimates_note(f->e, f->arch, &run);
	assert_true(gsb_estimates_beside(f->e, &a, &b).mean == 1.5);
}

/* ---- company ---- */

static struct gsb_work on_sms(uint64_t code, uint32_t first, uint32_t n)
{
	struct gsb_work w = kernel(code, 500);

	w.sms = (struct gsb_sm_range){first, n};
	return w;
}

static void test_meet_on_other_sms_is_company_that_is_not_met(void **state)
{
	struct gsb_work a = on_sms(1, 0, 64), b = on_sms(2, 64, 68), c = on_sms(3, 56, 8),
			all = on_sms(4, 0, 0);
	struct gsb_company of_a = {0}, of_b = {0}, of_c = {0}, of_all = {0};

	gsb_company_meet(&of_a, &a, &of_b, &b);
	assert_true(of_a.shared && of_b.shared && !of_a.met && !of_b.met);
	gsb_company_meet(&of_b, &b, &of_c, &c);
	assert_false(of_b.met);
	gsb_company_meet(&of_a, &a, &of_c, &c);
	assert_true(of_a.met && of_c.met);
	gsb_company_meet(&of_b, &b, &of_all, &all);
	assert_true(of_b.met && of_all.met);
}

static void test_meet_one_kernel_from_the_beginning_is_named(void **state)
{
	struct gsb_work a = on_sms(1, 0, 0), b = on_sms(2, 0, 0), c = on_sms(3, 0, 0);
	struct gsb_company of_a = {0}, of_b = {0}, again = {0}, of_c = {0};

	gsb_company_meet(&of_a, &a, &of_b, &b);
	assert_int_equal(of_b.code, 1);
	assert_true(of_a.mixed && !of_a.code); /* it began alone */
	gsb_company_meet(&of_b, &b, &again, &a);
	assert_int_equal(of_b.code, 1); /* its next launch */
	gsb_company_meet(&of_b, &b, &of_c, &c);
	assert_true(of_b.mixed && !of_b.code);
}

/* Launches of one kernel, of which one had all of its blocks and the next a part of them. */
static void test_meet_another_part_of_the_blocks_is_varied(void **state)
{
	struct gsb_work a = on_sms(1, 0, 0), limited = a, b = on_sms(2, 0, 0);
	struct gsb_company of_a = {0}, of_b = {0}, of_limited = {0};

	limited.manner = 4;
	gsb_company_meet(&of_a, &limited, &of_b, &b);
	assert_int_equal(of_b.manner, 4);
	gsb_company_meet(&of_b, &b, &of_limited, &limited);
	assert_true(!of_b.varied && of_b.code == 1 && !of_limited.manner);
	gsb_company_meet(&of_b, &b, &of_a, &a);
	assert_true(of_b.varied);
	assert_int_equal(of_b.manner, 4); /* with which it began */
}

/* It was refused before it ran. Beside one launch alone it is known which; of several it need not have been the first. */
static void test_launch_that_goes_as_asked_in_the_end_is_not_limited(void **state)
{
	struct gsb_work limited = on_sms(1, 0, 0), b = on_sms(2, 0, 0);
	struct gsb_company of_b = {0}, of_limited = {0};

	limited.manner = 4;
	gsb_company_meet(&of_b, &b, &of_limited, &limited);
	gsb_company_as_asked(&of_b, GSB_MANNER_HINT);
	assert_int_equal(of_b.manner, 4);
	gsb_company_as_asked(&of_b, 4);
	assert_true(!of_b.manner && !of_b.varied);
	of_b = (struct gsb_company){0};
	gsb_company_meet(&of_b, &b, &of_limited, &limited);
	gsb_company_meet(&of_b, &b, &of_limited, &limited);
	gsb_company_as_asked(&of_b, 4);
	assert_true(!of_b.manner && of_b.varied);
}

static struct gsb_estimated on_in(struct fixture *f, const struct gsb_work *w, uint32_t n_sms,
				  struct gsb_manners in, uint64_t beside)
{
	return gsb_estimates_in(f->e, f->arch, w->launch, n_sms, GSB_SMS_OWN, in, beside);
}

/* So it is of a hint on SMs of its own, from its first block on; and who is beside that has not starved, however long it takes there. */
static void test_hint_is_of_its_sms(void **state)
{
	const struct gsb_manners own = {GSB_MANNER_HINT, 0}, others = {0, GSB_MANNER_HINT};
	struct fixture *f = *state;
	struct gsb_work w = kernel(1, 500);
	struct gsb_run run = {.work = &w,
			      .took_ns = 1200,
			      .stay_ns = 1500,
			      .company = {.shared = true, .code = 2}};

	ran(f, &w, 100);
	w.sms = (struct gsb_sm_range){64, 68};
	w.manner = GSB_MANNER_HINT;
	gsb_estimates_note(f->e, f->arch, &run);
	assert_true(on_in(f, &w, 68, own, 2).mean == 1200);
	assert_true(on_in(f, &w, 68, own, 0).mean == 1200);
	assert_int_equal(on_in(f, &w, 64, own, 2).n, 0);
	assert_int_equal(on_in(f, &w, 68, others, 2).n, 0);
	assert_true(on(f, &w, 68, GSB_SMS_OWN, 2) == 0);
	assert_int_equal(inside(f, &w, GSB_MANNER_HINT, 0, 2).n, 0);
	w.manner = 0;
	run.company.manner = GSB_MANNER_HINT;
	gsb_estimates_note(f->e, f->arch, &run);
	assert_true(on_in(f, &w, 68, others, 2).mean == 1200);
	run.company.varied = true;
	gsb_estimates_note(f->e, f->arch, &run);
	assert_int_equal(on_in(f, &w, 68, others, 2).n, 1);
	assert_true(on(f, &w, 68, GSB_SMS_OWN, 2) == 0);
	w.manner = GSB_MANNER_HINT;
	run.company = (struct gsb_company){0};
	gsb_estimates_note(f->e, f->arch, &run); /* beside nobody */
	assert_int_equal(on_in(f, &w, 68, own, 0).n, 1);
	assert_int_equal(gsb_estimates_alone(f->e, w.launch).n, 1);
}

/* For its sake the other one had all of its blocks again: so long was it there that it does not matter how it ended. */
static void test_inside_is_known_of_who_starved_and_was_let_go(void **state)
{
	struct fixture *f = *state;
	struct gsb_work w = kernel(1, 500);
	struct gsb_run run = {
		.work = &w,
		.took_ns = 1000,
		.stay_ns = 3000,
		.company = {.shared = true, .met = true, .varied = true, .code = 2, .manner = 4}};

	gsb_estimates_note(f->e, f->arch, &run);
	run.stay_ns = 4000;
	gsb_estimates_note(f->e, f->arch, &run); /* how long is long is not known */
	ran(f, &w, 1000);
	run.stay_ns = 3000;
	gsb_estimates_note(f->e, f->arch, &run);
	assert_int_equal(inside(f, &w, 0, 4, 2).n, 0);
	run.stay_ns = 3001;
	gsb_estimates_note(f->e, f->arch, &run);
	assert_true(inside(f, &w, 0, 4, 2).mean == 3001);
	run.company.manner = 0; /* before, it was beside all of the other's */
	gsb_estimates_note(f->e, f->arch, &run);
	assert_int_equal(inside(f, &w, 0, 0, 2).n, 0);
}

/* A million kernels that come once each do not push out one that comes always. */
static void test_note_of_a_million_kernels_keeps_what_is_used(void **state)
{
	struct gsb_work often = kernel(1, 77);

	ran(*state, &often, 1000);
	for (uint64_t i = 2; i < 1000000; i++) {
		struct gsb_work w = kernel(i, 100);

		ran(*state, &w, i);
		if (i % 100 == 0)
			ran(*state, &often, 1000);
	}
	assert_in_range(say(*state, &often).trust_ppm, 990000,
			1000000); /* it was never learnt anew */
}

/* ---- claims ---- */

static void test_claim_share_goes_by_weight(void **state)
{
	struct gsb_claim one = {.weight = GSB_WEIGHT_USUAL},
			 three = {.weight = 3 * GSB_WEIGHT_USUAL};

	gsb_claim_note(&one, 10, 3000, 0);
	gsb_claim_note(&three, 10, 3000, 0);
	assert_int_equal(one.share_ns, 3000);
	assert_int_equal(three.share_ns, 1000);
}

static void test_claim_demand_is_memory_over_time(void **state)
{
	struct gsb_claim c = {.weight = 1};

	gsb_claim_note(&c, 0, 0, 1 << 30); /* that took no time */
	assert_int_equal(c.demand_bytes, 0);
	gsb_claim_note(&c, 1000, 0, 1000);
	gsb_claim_note(&c, 3000, 0, 2000);
	assert_int_equal(c.demand_bytes, 1750);
}

static void test_claim_gathers_nothing_while_it_asks_for_nothing(void **state)
{
	struct gsb_claim idle = {.share_ns = 5}, busy = {.share_ns = 5, .n_running = 1};

	gsb_claim_begin(&idle, 1000, 7);
	gsb_claim_begin(&busy, 1000, 7);
	assert_int_equal(idle.share_ns, 1000);
	assert_int_equal(busy.share_ns, 5);
	gsb_claim_begin(&idle, 10, 7); /* nor is anything given back */
	assert_int_equal(idle.share_ns, 1000);
}

/* On another's SMs things went at another pace. Who was away for long is as new as anybody. */
static void test_claim_on_sms_of_its_own_keeps_its_share_from_one_kernel_to_the_next(void **state)
{
	struct gsb_claim c = {.share_ns = 5, .apart = true, .habits.ended_ns = 1000};

	gsb_claim_begin(&c, 1000, 1000 + GSB_CLAIM_PAUSE_NS);
	assert_int_equal(c.share_ns, 5);
	gsb_claim_begin(&c, 1000, 1001 + GSB_CLAIM_PAUSE_NS);
	assert_int_equal(c.share_ns, 1000);
	c = (struct gsb_claim){.share_ns = 5, .habits.ended_ns = 1000};
	gsb_claim_begin(&c, 1000, 1000);
	assert_int_equal(c.share_ns, 1000);
}

/* ---- habits ---- */

static void did_from(struct fixture *f, struct gsb_claim *c, uint64_t code, uint32_t stream,
		     uint32_t n_queued)
{
	struct gsb_work w = kernel(code, 528);

	w.stream = stream;
	w.n_queued = &n_queued;
	gsb_claim_note_habit(c, f->arch, &w, 1000000, 7);
}

static void did(struct fixture *f, struct gsb_claim *c, uint64_t code, uint64_t ns)
{
	static const uint32_t one = 1;
	struct gsb_work w = kernel(code, 528);

	w.n_queued = &one;
	gsb_claim_note_habit(c, f->arch, &w, ns, 7);
}

static void test_habit_counts_what_comes_again_since_the_last_new_kernel(void **state)
{
	struct gsb_claim c = {0};

	did(*state, &c, 9, 1000000);
	for (int i = 0; i < 5; i++) {
		did(*state, &c, 1, 1000000);
		did(*state, &c, 2, 1000000);
	}
	assert_int_equal(c.habits.n_again, 8);
	assert_int_equal(c.habits.n, 2); /* 9 is none */
	assert_int_equal(c.habits.launch[0], kernel(2, 528).launch);
	assert_int_equal(c.habits.launch[1], kernel(1, 528).launch);
	assert_int_equal(c.habits.code, 0);
	assert_int_equal(c.habits.ended_ns, 7);
	assert_true(c.habits.filled == 0.5f);
	did(*state, &c, 3, 1000000);
	assert_int_equal(c.habits.n_again, 0);
	assert_int_equal(c.habits.n, 1);
	did(*state, &c, 3, 1000000);
	assert_int_equal(c.habits.code, 3);
}

/* What is asked for in advance is not expected a second time when it is done. */
static void test_habit_counts_what_came_apart_from_what_stood_there(void **state)
{
	struct gsb_claim c = {0};

	for (uint32_t left = 10; left > 5; left--)
		did_from(*state, &c, 1, 0, left);
	assert_int_equal(c.habits.n_again, 4);
	assert_int_equal(c.habits.n_came, 0);
	did_from(*state, &c, 1, 0, 5); /* one, for that which has ended */
	assert_int_equal(c.habits.n_came, 0);
	did_from(*state, &c, 1, 0, 5);
	assert_int_equal(c.habits.n_came, 1);
	did_from(*state, &c, 1, 0, 100); /* no more than it has done, whatever stands there */
	assert_int_equal(c.habits.n_came, 7);
	did_from(*state, &c, 1, 1, 3); /* of that stream this one is all that is known */
	assert_int_equal(c.habits.n_came, 8);
	did_from(*state, &c, 2, 1, 3);
	assert_int_equal(c.habits.n_came, 0);
}

static void test_habit_takes_no_short_kernels(void **state)
{
	struct gsb_claim c = {0};

	did(*state, &c, 1, GSB_LONG_NS);
	did(*state, &c, 2, GSB_LONG_NS - 1);
	did(*state, &c, 1, GSB_LONG_NS);
	assert_int_equal(c.habits.n_again, 1);
	assert_int_equal(c.habits.n, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- over restarts ---- */

static void test_kept_means_predict_the_same_with_no_more_trust(void **state)
{
	static struct gsb_kept_mean kept[GSB_N_ESTIMATES];
	struct fixture *f = *state;
	struct gsb_work w = kernel(1, 100), seldom = kernel(2, 100);
	struct gsb_estimates *next;
	size_t n;

	for (int i = 0; i < 1000; i++)
		ran(f, &w, 1000);
	ran(f, &seldom, 500);
	n = gsb_estimates_keep(f->e, kept);
	assert_int_equal(n, 4); /* of each alone, and of a round */
	assert_int_equal(gsb_estimates_create(&next), 0);
	gsb_estimates_restore(next, kept, n);
	assert_int_equal(gsb_estimates_alone(next, w.launch).n, GSB_KEPT_TRUST);
	assert_int_equal(gsb_estimates_alone(next, seldom.launch).n, 1);
	assert_int_equal(gsb_estimates_predict(next, f->arch, &w).alone_ns, 1000);
	assert_int_equal(gsb_estimates_predict(next, f->arch, &seldom).alone_ns, 500);
	gsb_estimates_destroy(next);
}

static void test_kept_nonsense_is_left_out(void **state)
{
	struct fixture *f = *state;
	const struct gsb_kept_mean bad[] = {
		{.key = 0, .n = 1, .mean = 1},
		{.key = 8, .n = 0, .mean = 1},
		{.key = 16, .n = 1, .mean = -1},
		{.key = 24, .n = 1, .mean = 0},
		{.key = 32, .n = 1, .mean = INFINITY},
		{.key = 40, .n = 1, .mean = NAN},
		{.key = 48, .n = 1, .mean = 1, .square = NAN},
		{.key = 56, .n = 1, .mean = 1, .square = -1},
	};
	static struct gsb_kept_mean kept[GSB_N_ESTIMATES];

	gsb_estimates_restore(f->e, bad, sizeof(bad) / sizeof(bad[0]));
	assert_int_equal(gsb_estimates_keep(f->e, kept), 0);
}

static void test_worth_is_its_own_time_alone_and_else_the_mean(void **state)
{
	struct fixture *f = *state;
	struct gsb_work w = kernel(1, 100);
	struct gsb_run shared = {.work = &w, .took_ns = 9000, .company = {.shared = true}};
	struct gsb_run alone = {.work = &w, .took_ns = 1001};

	assert_int_equal(gsb_estimates_worth(f->e, f->arch, &shared), 0);
	assert_int_equal(gsb_estimates_worth(f->e, f->arch, &alone), 1001);
	ran(f, &w, 1000);
	assert_int_equal(gsb_estimates_worth(f->e, f->arch, &shared), 1000);
	w.sms = (struct gsb_sm_range){0, 16}; /* nobody is there, but not all SMs are its own */
	assert_int_equal(gsb_estimates_worth(f->e, f->arch, &alone), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_predict_unknown_kernel_says_nothing),
		CASE(test_predict_is_the_mean_and_trust_grows_with_the_count),
		CASE(test_predict_trusts_less_what_spreads),
		CASE(test_predict_follows_what_changes),
		CASE(test_worth_is_its_own_time_alone_and_else_the_mean),
		CASE(test_predict_soon_forgets_what_was_something_else),
		CASE(test_predict_new_grid_goes_by_rounds),
		CASE(test_predict_prefers_alone_to_shared),
		CASE(test_predict_shared_goes_by_block_time_where_it_is_known),
		CASE(test_on_part_is_kept_apart_from_the_whole),
		CASE(test_block_is_what_it_was_there_or_at_most_its_round),
		CASE(test_on_is_of_the_company_and_of_what_is_shared),
		CASE(test_inside_is_of_the_parts_of_both),
		CASE(test_beside_is_of_the_pair_on_the_same_sms),
		CASE(test_meet_on_other_sms_is_company_that_is_not_met),
		CASE(test_meet_one_kernel_from_the_beginning_is_named),
		CASE(test_meet_another_part_of_the_blocks_is_varied),
		CASE(test_launch_that_goes_as_asked_in_the_end_is_not_limited),
		CASE(test_hint_is_of_its_sms),
		CASE(test_inside_is_known_of_who_starved_and_was_let_go),
		CASE(test_hint_is_of_its_sms),
		CASE(test_note_of_a_million_kernels_keeps_what_is_used),
		CASE(test_claim_share_goes_by_weight),
		CASE(test_claim_demand_is_memory_over_time),
		CASE(test_claim_gathers_nothing_while_it_asks_for_nothing),
		CASE(test_claim_on_sms_of_its_own_keeps_its_share_from_one_kernel_to_the_next),
		CASE(test_habit_counts_what_comes_again_since_the_last_new_kernel),
		CASE(test_habit_counts_what_came_apart_from_what_stood_there),
		CASE(test_habit_takes_no_short_kernels),
		CASE(test_kept_means_predict_the_same_with_no_more_trust),
		CASE(test_kept_nonsense_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
