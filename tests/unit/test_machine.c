/*
 * test_machine.c - the SM array: the phases that Li et al. 2014 print (GTX 680), the leftover cases
 * of Cruz et al., the rows measured on an H200, and random grids against every limit.
 *
 * Blocks have fixed lengths here; times are in microseconds of whatever the figure uses.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "model/gpu/arch.h"
#include "model/placement/machine.h"
#include "model/placement/place.h"

#define MAX_GRIDS 256

struct grid {
	struct gsb_machine_submit submit;
	uint64_t length; /* of each block */
	uint64_t first, last;
	uint64_t n_placed, n_ended;
	struct gsb_machine_grid *handle;
	int after; /* index of the grid that must have ended before this one is submitted; -1 = none */
	bool submitted, done;
};

struct run {
	struct gsb_machine *m;
	struct grid grids[MAX_GRIDS];
	unsigned n_grids;
	uint64_t now;
	uint64_t phases[64]; /* instants at which a block ended, distinct */
	unsigned n_phases;
};

static struct run *new_run(const char *arch)
{
	struct run *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	assert_int_equal(gsb_machine_create(gsb_arch_find(arch), &gsb_rules_hardware, &r->m), 0);
	return r;
}

static void end_run(struct run *r)
{
	gsb_machine_destroy(r->m);
	free(r);
}

struct shape {
	uint32_t threads, regs, smem;
	uint64_t length;
};

static struct grid *add(struct run *r, struct shape s, uint64_t n_blocks, int after)
{
	struct grid *g = &r->grids[r->n_grids++];

	g->submit.kernel = (struct gsb_kernel){s.threads, s.regs, s.smem, n_blocks};
	g->submit.owner = g;
	g->length = s.length;
	g->after = after;
	return g;
}

static void submit_ready(struct run *r)
{
	for (unsigned i = 0; i < r->n_grids; i++) {
		struct grid *g = &r->grids[i];

		if (g->submitted || (g->after >= 0 && !r->grids[g->after].done))
			continue;
		assert_int_equal(gsb_machine_submit(r->m, &g->submit, &g->handle), 0);
		g->submitted = true;
	}
}

static void place_all(struct run *r)
{
	struct gsb_machine_block b;

	while (gsb_machine_place(r->m, &b)) {
		struct grid *g = b.owner;

		assert_int_equal(b.index, g->n_placed);
		if (!g->n_placed++)
			g->first = r->now;
		gsb_machine_set_end(r->m, b.slot, r->now + g->length);
	}
}

static void take_ends(struct run *r)
{
	struct gsb_machine_block b;

	while (gsb_machine_end(r->m, r->now, &b)) {
		struct grid *g = b.owner;

		g->n_ended++;
		g->last = r->now;
		g->done = b.is_last;
	}
}

/* To the end; fills phases. */
static void play(struct run *r)
{
	for (;;) {
		submit_ready(r);
		place_all(r);
		assert_int_equal(gsb_machine_n_open(r->m), 0);
		if (!gsb_machine_next_end(r->m, &r->now))
			break;
		take_ends(r);
		r->phases[r->n_phases++] = r->now;
	}
	for (unsigned i = 0; i < r->n_grids; i++) {
		assert_true(r->grids[i].done);
		assert_int_equal(r->grids[i].n_ended, r->grids[i].submit.kernel.n_blocks);
	}
}

static void assert_phases(const struct run *r, const uint64_t *want, unsigned n)
{
	assert_int_equal(r->n_phases, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(r->phases[i] - (i ? r->phases[i - 1] : 0), want[i]);
}

#define ASSERT_PHASES(r, ...)                                          \
	do {                                                           \
		const uint64_t want[] = {__VA_ARGS__};                 \
		assert_phases(r, want, (unsigned)GSB_ARRAY_LEN(want)); \
	} while (0)

/* ---- Li et al. 2014, Table IV, §IV.B ---- */

static const struct shape li_a = {1024, 11, 0, 14}, li_b = {1024, 33, 0, 20};

static void test_li_fig5_four_of_eight_streams_run_at_once(void **state)
{
	struct run *r = new_run("gtx680");

	for (unsigned i = 0; i < 8; i++)
		add(r, li_a, 4, -1);
	play(r);
	ASSERT_PHASES(r, 14, 14);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(r->grids[i].first, i < 4 ? 0 : 14);
	end_run(r);
}

static void test_li_fig6_breadth_first_starts_three_streams(void **state)
{
	struct run *r = new_run("gtx680");

	add(r, li_a, 8, -1);
	add(r, li_b, 5, -1);
	add(r, li_b, 5, -1);
	play(r);
	assert_int_equal(r->grids[1].first, 0);
	assert_int_equal(r->grids[2].first, 0);
	ASSERT_PHASES(r, 14, 6, 20);
	end_run(r);
}

static void test_li_fig8_refills_at_once(void **state)
{
	struct run *r = new_run("gtx680");

	add(r, li_a, 8, -1);
	add(r, li_b, 8, -1);
	add(r, li_a, 8, -1);
	play(r);
	assert_int_equal(r->grids[2].first, 14);
	ASSERT_PHASES(r, 14, 6, 8);
	end_run(r);
}

/* The same from the order of the streams alone: all is submitted at once, stream by stream, A before B. */
static void test_li_fig9_follows_from_one_queue(void **state)
{
	struct run *r = new_run("gtx680");

	for (unsigned i = 0; i < 4; i++) {
		struct grid *a = add(r, li_a, 8, -1), *b;

		submit_ready(r);
		b = add(r, li_b, 6, -1);
		b->submit.after = a->handle;
		submit_ready(r);
	}
	play(r);
	ASSERT_PHASES(r, 14, 14, 6, 14, 6, 14, 6, 14);
	end_run(r);
}

/* One hardware queue: what stands behind a kernel that waits for its stream waits too, until that
 * kernel's blocks are placed. So B of stream i and A of stream i + 1 enter when A of stream i ends. */
static void test_li_fig9_eight_phases(void **state)
{
	struct run *r = new_run("gtx680");
	int last_a = -1;

	for (unsigned i = 0; i < 4; i++) {
		if (i)
			add(r, li_b, 6, last_a);
		add(r, li_a, 8, last_a);
		last_a = (int)r->n_grids - 1;
	}
	add(r, li_b, 6, last_a);
	play(r);
	ASSERT_PHASES(r, 14, 14, 6, 14, 6, 14, 6, 14);
	end_run(r);
}

static void test_li_fig10_all_a_before_any_b(void **state)
{
	struct run *r = new_run("k40");

	for (unsigned i = 0; i < 8; i++)
		add(r, li_a, 1, -1);
	for (unsigned i = 0; i < 8; i++)
		add(r, li_b, 1, (int)i);
	play(r);
	ASSERT_PHASES(r, 14, 20);
	end_run(r);
}

/* ---- Cruz et al., Algorithm 1 ---- */

static void test_leftover_case_a_both_from_the_beginning(void **state)
{
	struct run *r = new_run("k40");

	add(r, (struct shape){256, 0, 1024, 100}, 110, -1);
	add(r, (struct shape){256, 0, 0, 100}, 10, -1); /* S1 leaves room for 10 blocks of S2 */
	play(r);
	ASSERT_PHASES(r, 100);
	end_run(r);
}

static void test_leftover_case_b_in_the_last_round(void **state)
{
	struct run *r = new_run("k40");

	add(r, (struct shape){256, 0, 0, 100}, 180, -1); /* 8 an SM: one round and a half */
	add(r, (struct shape){256, 0, 0, 100}, 60, -1);
	play(r);
	assert_int_equal(r->grids[1].first, 100);
	ASSERT_PHASES(r, 100, 100);
	end_run(r);
}

static void test_leftover_case_c_one_after_the_other(void **state)
{
	struct run *r = new_run("k40");

	add(r, (struct shape){256, 0, 0, 100}, 240, -1); /* two full rounds */
	add(r, (struct shape){256, 0, 0, 100}, 1, -1);
	play(r);
	assert_int_equal(r->grids[1].first, 200);
	ASSERT_PHASES(r, 100, 100, 100);
	end_run(r);
}

/* ---- measured on an H200, times in ms ---- */

#define KB 1024u

static void test_h200_fitting_pair_runs_together(void **state)
{
	struct run *r = new_run("h200");

	add(r, (struct shape){1024, 16, 0, 5}, 132, -1);
	add(r, (struct shape){1024, 16, 0, 5}, 132, -1);
	play(r);
	ASSERT_PHASES(r, 5);
	end_run(r);
}

static void test_h200_full_gpu_then_second(void **state)
{
	struct run *r = new_run("h200");

	add(r, (struct shape){1024, 16, 0, 5}, 264, -1);
	add(r, (struct shape){1024, 16, 0, 5}, 132, -1);
	play(r);
	ASSERT_PHASES(r, 5, 5);
	end_run(r);
}

static void test_h200_second_in_tail_of_first(void **state)
{
	struct run *r = new_run("h200");

	add(r, (struct shape){1024, 16, 0, 5}, 396, -1);
	add(r, (struct shape){1024, 16, 0, 5}, 132, -1);
	play(r);
	assert_int_equal(r->grids[1].first, 5);
	ASSERT_PHASES(r, 5, 5);
	end_run(r);
}

static void test_h200_shared_memory_with_reserve(void **state)
{
	struct run *r = new_run("h200");

	add(r, (struct shape){128, 16, 120 * KB, 5}, 132, -1);
	add(r, (struct shape){128, 16, 120 * KB, 5}, 132, -1);
	play(r);
	ASSERT_PHASES(r, 5, 5);
	end_run(r);
	r = new_run("h200");
	add(r, (struct shape){128, 16, 120 * KB, 5}, 132, -1);
	add(r, (struct shape){128, 16, 100 * KB, 5}, 132, -1);
	play(r);
	ASSERT_PHASES(r, 5);
	end_run(r);
}

static void test_h200_block_slots(void **state)
{
	struct run *r = new_run("h200");

	add(r, (struct shape){32, 16, 0, 5}, 31 * 132, -1);
	add(r, (struct shape){32, 16, 0, 5}, 132, -1);
	play(r);
	ASSERT_PHASES(r, 5);
	end_run(r);
	r = new_run("h200");
	add(r, (struct shape){32, 16, 0, 5}, 32 * 132, -1);
	add(r, (struct shape){32, 16, 0, 5}, 132, -1);
	play(r);
	ASSERT_PHASES(r, 5, 5);
	end_run(r);
}

static void test_h200_order_decides_makespan(void **state)
{
	const struct shape full = {1024, 16, 0, 5}, longer = {1024, 16, 0, 20};
	struct run *r = new_run("h200");

	add(r, full, 264, -1);
	add(r, full, 264, -1);
	add(r, longer, 66, -1);
	play(r);
	assert_int_equal(r->now, 30);
	end_run(r);
	r = new_run("h200");
	add(r, longer, 66, -1);
	add(r, full, 264, -1);
	add(r, full, 264, -1);
	play(r);
	assert_int_equal(r->now, 20);
	end_run(r);
}

static void test_h200_head_of_line_blocks_what_would_fit(void **state)
{
	const struct shape big = {128, 16, 120 * KB, 50}, small = {128, 16, 0, 10}; /* 0.1 ms */
	struct run *r = new_run("h200");

	add(r, big, 132, -1);
	add(r, big, 132, -1);
	add(r, small, 132, -1);
	play(r);
	assert_int_equal(r->grids[2].last, 60);
	end_run(r);
	r = new_run("h200");
	add(r, big, 132, -1);
	add(r, big, 132, -1);
	add(r, small, 132, -1)->submit.priority = -5;
	r->grids[2].after = -1;
	play(r);
	assert_int_equal(r->grids[2].last, 10);
	end_run(r);
	r = new_run("h200");
	add(r, big, 132, -1);
	add(r, small, 132, -1);
	add(r, big, 132, -1);
	play(r);
	assert_int_equal(r->grids[1].last, 10);
	assert_int_equal(r->now, 100);
	end_run(r);
}

static void test_h200_holds_128_grids(void **state)
{
	struct run *r = new_run("h200");

	for (unsigned i = 0; i < 129; i++)
		add(r, (struct shape){32, 16, 0, 10}, 1, -1);
	play(r);
	ASSERT_PHASES(r, 10, 10);
	assert_int_equal(r->grids[127].first, 0);
	assert_int_equal(r->grids[128].first, 10);
	end_run(r);
}

/* Eight rounds of 5 ms on 64 SMs, and a small grid: on SMs that the first does not have, wholly or in part, it runs at
 * once; on the same ones after all eight rounds, or with priority after one. Times in 0.1 ms. */
static void play_beside_partition(struct gsb_sm_range sms, int priority, uint64_t first)
{
	struct run *r = new_run("h200");
	struct grid *g = add(r, (struct shape){1024, 16, 0, 50}, 8 * 128, -1);

	g->submit.sms = (struct gsb_sm_range){0, 64};
	submit_ready(r);
	place_all(r);
	g = add(r, (struct shape){32, 16, 0, 1}, 4, -1);
	g->submit.sms = sms;
	g->submit.priority = priority;
	play(r);
	assert_int_equal(g->first, first);
	assert_int_equal(g->last, first + 1);
	end_run(r);
}

static void test_h200_partition_keeps_nobody_from_other_sms(void **state)
{
	play_beside_partition((struct gsb_sm_range){64, 68}, 0, 0);
	play_beside_partition((struct gsb_sm_range){32, 96}, 0, 0);
	play_beside_partition(GSB_ALL_SMS, 0, 0);
	play_beside_partition((struct gsb_sm_range){0, 64}, 0, 400);
}

static void test_h200_priority_in_a_partition_waits_for_one_block(void **state)
{
	play_beside_partition((struct gsb_sm_range){0, 64}, -5, 50);
}

/* ---- more rules ---- */

static uint32_t sms_used(struct run *r, uint32_t first, uint32_t n)
{
	uint32_t used = 0;

	for (uint32_t sm = first; sm < first + n; sm++)
		used += gsb_machine_sm_blocks(r->m, sm) > 0;
	return used;
}

static void test_blocks_stay_in_their_range(void **state)
{
	struct run *r = new_run("h200");
	struct grid *g = add(r, (struct shape){1024, 16, 0, 5}, 1000, -1);

	g->submit.sms = (struct gsb_sm_range){120, 12};
	submit_ready(r);
	place_all(r);
	assert_int_equal(g->n_placed, 24);
	assert_int_equal(sms_used(r, 120, 12), 12);
	assert_int_equal(sms_used(r, 0, 120), 0);
	end_run(r);
}

/* Two queues of blocks on SMs of their own, and one grid behind both: it goes where it comes first, and when one
 * queue is through, there too. */
static void test_wide_grid_takes_the_sms_on_which_it_is_first(void **state)
{
	struct run *r = new_run("h200");
	struct grid *wide;

	add(r, (struct shape){1024, 16, 0, 10}, 2 * 2 * 16, -1)->submit.sms =
		(struct gsb_sm_range){0, 16};
	add(r, (struct shape){1024, 16, 0, 20}, 2 * 2 * 16, -1)->submit.sms =
		(struct gsb_sm_range){16, 16};
	wide = add(r, (struct shape){1024, 16, 0, 60}, 2 * 132, -1);
	submit_ready(r);
	place_all(r);
	assert_int_equal(wide->n_placed, 2 * 100);
	play(r);
	assert_int_equal(r->grids[0].last, 20);
	assert_int_equal(r->grids[1].last, 40);
	ASSERT_PHASES(r, 10, 10, 20, 20, 20, 20);
	end_run(r);
}

static void test_priority_closes_only_its_own_sms(void **state)
{
	const struct shape full = {1024, 16, 0, 5};
	struct run *r = new_run("h200");

	add(r, full, 2 * 32, -1)->submit.sms = (struct gsb_sm_range){0, 32};
	submit_ready(r);
	place_all(r);
	add(r, full, 2 * 32, -1)->submit.sms = (struct gsb_sm_range){16, 32};
	add(r, full, 2 * 16, -1)->submit.sms = (struct gsb_sm_range){16, 16};
	r->grids[2].submit.priority = -1;
	submit_ready(r);
	place_all(r);
	assert_int_equal(r->grids[2].n_placed, 0);
	assert_int_equal(r->grids[1].n_placed, 2 * 16); /* on 32 to 47 */
	play(r);
	assert_int_equal(r->grids[2].first, 5);
	ASSERT_PHASES(r, 5, 5);
	end_run(r);
}

static void test_dropped_grid_gives_its_place_in_line_to_each_behind_it(void **state)
{
	const struct shape full = {1024, 16, 0, 5};
	struct run *r = new_run("h200");

	add(r, full, 2 * 132 + 1, -1);
	submit_ready(r);
	place_all(r);
	add(r, full, 1000, -1);
	add(r, full, 2 * 8 - 1, -1)->submit.sms = (struct gsb_sm_range){0, 8};
	add(r, full, 2 * 16, -1)->submit.sms = (struct gsb_sm_range){0, 16};
	submit_ready(r);
	assert_true(gsb_machine_drop(r->m, r->grids[1].handle));
	r->grids[1].submit.kernel.n_blocks = 0;
	r->grids[1].done = true;
	play(r);
	assert_int_equal(r->grids[2].last, 10);
	assert_int_equal(r->grids[3].first, 5);
	end_run(r);
}

static void test_cooperative_grid_waits_for_its_own_sms_alone(void **state)
{
	const struct shape full = {1024, 16, 0, 5};
	struct gsb_machine_grid *handle = NULL;
	struct run *r = new_run("h200");
	struct grid *coop;

	add(r, full, 3 * 2 * 64, -1)->submit.sms = (struct gsb_sm_range){0, 64};
	coop = add(r, full, 2 * 68, -1);
	coop->submit.sms = (struct gsb_sm_range){64, 68};
	coop->submit.cooperative = true;
	add(r, full, 1, -1)->submit.sms = (struct gsb_sm_range){64, 68};
	play(r);
	assert_int_equal(coop->first, 0);
	assert_int_equal(r->grids[2].first, 5);
	coop->submit.kernel.n_blocks++;
	assert_int_equal(gsb_machine_check(r->m, &coop->submit), -ENOSPC);
	assert_int_equal(gsb_machine_submit(r->m, &coop->submit, &handle), -ENOSPC);
	coop->submit.sms = GSB_ALL_SMS;
	assert_int_equal(gsb_machine_check(r->m, &coop->submit), 0);
	end_run(r);
}

/* Room on SMs that another still fills is not room for it, though a block would fit. */
static void test_cooperative_grid_does_not_start_on_sms_of_a_queue(void **state)
{
	struct run *r = new_run("h200");
	struct grid *coop;

	add(r, (struct shape){128, 16, 120 * KB, 5}, 2 * 8, -1)->submit.sms =
		(struct gsb_sm_range){0, 8};
	coop = add(r, (struct shape){1024, 16, 0, 5}, 2 * 124 + 2, -1);
	coop->submit.cooperative = true;
	play(r);
	assert_int_equal(coop->first, 5);
	ASSERT_PHASES(r, 5, 5);
	end_run(r);
}

/* One more is to be had, and two that are first in line, each on its own SMs. */
static void test_h200_holds_128_grids_in_all_partitions_together(void **state)
{
	struct run *r = new_run("h200");

	for (unsigned i = 0; i < 127; i++)
		add(r, (struct shape){32, 16, 0, 10}, 1, -1);
	submit_ready(r);
	place_all(r);
	for (uint32_t i = 0; i < 2; i++)
		add(r, (struct shape){32, 16, 0, 10}, 2, -1)->submit.sms =
			(struct gsb_sm_range){8 - 8 * i, 8};
	play(r);
	assert_int_equal(r->grids[127].first, 0);
	assert_int_equal(r->grids[128].first, 10);
	end_run(r);
}

static void test_submit_refuses_a_range_that_the_gpu_cannot_give(void **state)
{
	static const struct gsb_sm_range bad[] = {{4, 8}, {0, 4}, {8, 0}, {132, 8}, {128, 8}};
	struct run *r = new_run("h200");
	struct gsb_machine_submit s = {.kernel = {32, 16, 0, 1}};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(bad); i++) {
		s.sms = bad[i];
		assert_int_equal(gsb_machine_check(r->m, &s), -EINVAL);
	}
	end_run(r);
}

static void test_cooperative_grid_waits_until_all_fit(void **state)
{
	struct run *r = new_run("h200");

	add(r, (struct shape){1024, 16, 0, 5}, 132, -1);
	add(r, (struct shape){1024, 16, 0, 5}, 264, -1)->submit.cooperative = true;
	play(r);
	assert_int_equal(r->grids[1].first, 5);
	ASSERT_PHASES(r, 5, 5);
	end_run(r);
}

/* ---- clusters ---- */

/* One block an SM. */
static const struct shape whole = {1024, 64, 0, 5};

static uint64_t clusters_of(struct run *r, uint32_t threads, uint32_t n)
{
	struct gsb_machine_submit s = {.kernel = {threads, 16, 0, n}, .cluster = n};
	uint64_t found = 0;

	assert_int_equal(gsb_machine_clusters(r->m, &s, &found), 0);
	return found;
}

/* Eight GPCs, six of 16 SMs and two of 18. */
static void test_clusters_are_counted_by_gpc(void **state)
{
	struct run *r = new_run("h200");

	assert_int_equal(clusters_of(r, 1024, 1), 264);
	assert_int_equal(clusters_of(r, 1024, 2), 132);
	assert_int_equal(clusters_of(r, 1024, 8), 32);
	assert_int_equal(clusters_of(r, 1024, 16), 16);
	assert_int_equal(clusters_of(r, 1024, 5), 6 * (32 / 5) + 2 * (36 / 5));
	end_run(r);
}

static void test_cluster_is_placed_at_once_in_one_gpc(void **state)
{
	struct run *r = new_run("h200");
	const struct gsb_arch *arch = gsb_arch_find("h200");
	struct grid *g = add(r, whole, 64, -1);
	struct gsb_machine_block b;

	g->submit.cluster = 8;
	submit_ready(r);
	for (uint32_t i = 0; i < 64; i++) {
		static bool taken[8][132];
		static uint32_t first;

		assert_true(gsb_machine_place(r->m, &b));
		assert_int_equal(b.index, i);
		first = i % 8 ? first : b.sm;
		assert_int_equal(gsb_arch_gpc(arch, b.sm).first, gsb_arch_gpc(arch, first).first);
		assert_false(taken[i / 8][b.sm]);
		taken[i / 8][b.sm] = true;
	}
	assert_false(gsb_machine_place(r->m, &b));
	end_run(r);
}

/* There is room for sixteen blocks, but in two GPCs: of each the SMs from the tenth on, of one the ninth, too. */
static void test_cluster_waits_for_room_in_one_gpc(void **state)
{
	struct run *r = new_run("h200");
	struct grid *all = add(r, whole, 132, -1), *g;
	struct gsb_machine_block b;
	uint32_t slot_of[132];

	submit_ready(r);
	for (uint32_t i = 0; i < 132; i++) {
		assert_true(gsb_machine_place(r->m, &b));
		slot_of[b.sm] = b.slot;
	}
	g = add(r, whole, 8, -1);
	g->submit.cluster = 8;
	submit_ready(r);
	for (uint32_t sm = 9; sm < 16; sm++) {
		gsb_machine_set_end(r->m, slot_of[sm], 1);
		gsb_machine_set_end(r->m, slot_of[sm + 16], 1);
	}
	while (gsb_machine_end(r->m, 1, &b))
		;
	assert_false(gsb_machine_place(r->m, &b));
	/* What comes behind it waits, too. */
	add(r, whole, 1, -1);
	submit_ready(r);
	assert_false(gsb_machine_place(r->m, &b));
	gsb_machine_set_end(r->m, slot_of[16], 2);
	assert_true(gsb_machine_end(r->m, 2, &b));
	for (uint32_t i = 0; i < 8; i++) {
		assert_true(gsb_machine_place(r->m, &b));
		assert_ptr_equal(b.owner, g);
		assert_in_range(b.sm, 16, 31);
	}
	assert_true(gsb_machine_place(r->m, &b));
	assert_ptr_not_equal(b.owner, g);
	assert_ptr_equal(all->submit.owner, all);
	end_run(r);
}

static void test_killed_grid_places_no_more_of_a_cluster(void **state)
{
	struct run *r = new_run("h200");
	struct grid *g = add(r, whole, 16, -1);
	struct gsb_machine_block b;

	g->submit.cluster = 8;
	submit_ready(r);
	assert_true(gsb_machine_place(r->m, &b));
	assert_false(gsb_machine_kill(r->m, g->handle, 0));
	assert_false(gsb_machine_place(r->m, &b));
	assert_true(gsb_machine_end(r->m, 0, &b));
	assert_true(b.is_last);
	end_run(r);
}

static void test_cluster_that_no_gpc_has_room_for_is_refused(void **state)
{
	struct run *r = new_run("h200"), *old = new_run("k40");
	struct gsb_machine_submit s = {.kernel = {1024, 64, 0, 17}, .cluster = 17};

	assert_int_equal(gsb_machine_check(r->m, &s), -EINVAL);
	s.kernel.n_blocks = 20;
	s.cluster = 16;
	assert_int_equal(gsb_machine_check(r->m, &s), -EINVAL);
	s.kernel.n_blocks = 32;
	assert_int_equal(gsb_machine_check(r->m, &s), 0);
	s.sms = (struct gsb_sm_range){0, 8};
	assert_int_equal(gsb_machine_check(r->m, &s), -ENOSPC);
	s = (struct gsb_machine_submit){.kernel = {64, 16, 0, 4}, .cluster = 2};
	assert_int_equal(gsb_machine_check(old->m, &s), -EINVAL);
	end_run(r);
	end_run(old);
}

static void test_submit_refuses_what_never_fits(void **state)
{
	struct run *r = new_run("h200");
	struct gsb_machine_grid *g = NULL;
	struct gsb_machine_submit s = {.kernel = {1024, 16, 0, 265}, .cooperative = true};

	assert_int_equal(gsb_machine_submit(r->m, &s, &g), -ENOSPC);
	s.kernel.n_blocks = 0;
	assert_int_equal(gsb_machine_submit(r->m, &s, &g), -EINVAL);
	s.kernel = (struct gsb_kernel){1025, 16, 0, 1};
	assert_int_equal(gsb_machine_submit(r->m, &s, &g), -EINVAL);
	assert_null(g);
	end_run(r);
}

static void test_drop_ends_with_running_blocks(void **state)
{
	struct run *r = new_run("h200");
	struct grid *g = add(r, (struct shape){1024, 16, 0, 5}, 1000, -1);
	struct gsb_machine_block b;

	submit_ready(r);
	place_all(r);
	assert_int_equal(g->n_placed, 264);
	assert_false(gsb_machine_drop(r->m, g->handle));
	r->now = 5;
	take_ends(r);
	assert_true(g->done);
	assert_int_equal(g->n_ended, 264);
	assert_false(gsb_machine_place(r->m, &b));
	end_run(r);
}

static void test_kill_ends_known_and_open_blocks_now(void **state)
{
	struct run *r = new_run("h200");
	struct grid *g = add(r, (struct shape){1024, 16, 0, 5}, 3, -1);
	struct grid *other = add(r, (struct shape){1024, 16, 0, 7}, 1, -1);
	struct gsb_machine_block b;

	submit_ready(r);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(gsb_machine_place(r->m, &b));
		if (i < 2)
			gsb_machine_set_end(r->m, b.slot, 5 + i);
	}
	assert_int_equal(gsb_machine_n_open(r->m), 1);
	place_all(r);
	assert_false(gsb_machine_kill(r->m, g->handle, 2));
	assert_int_equal(gsb_machine_n_open(r->m), 0);
	r->now = 2;
	take_ends(r);
	assert_int_equal(g->n_ended, 3);
	assert_true(g->done);
	assert_int_equal(other->n_ended, 0);
	assert_true(gsb_machine_next_end(r->m, &r->now));
	assert_int_equal(r->now, 7);
	end_run(r);
}

/* Ends move as often as one likes; they come by what was said last, those of one instant in the order of placement. */
static void test_ends_come_as_said_last(void **state)
{
	struct run *r = new_run("h200");
	struct gsb_machine_block b[64], out;
	uint64_t said[64], last = 0;

	add(r, (struct shape){1024, 16, 0, 5}, 64, -1);
	submit_ready(r);
	for (unsigned i = 0; i < 64; i++)
		assert_true(gsb_machine_place(r->m, &b[i]));
	srand(3);
	for (unsigned i = 0; i < 1000; i++) {
		unsigned k = i < 64 ? i : (unsigned)rand() % 64;

		said[k] = (unsigned)rand() % 40;
		gsb_machine_set_end(r->m, b[k].slot, said[k]);
	}
	assert_int_equal(gsb_machine_n_open(r->m), 0);
	for (unsigned i = 0; i < 64; i++) {
		assert_true(gsb_machine_next_end(r->m, &r->now));
		assert_true(gsb_machine_end(r->m, r->now, &out));
		assert_int_equal(r->now, said[out.index]);
		assert_true(!i || r->now * 64 + out.index > last);
		last = r->now * 64 + out.index;
	}
	end_run(r);
}

static void test_kill_of_waiting_grid_is_gone_at_once(void **state)
{
	struct run *r = new_run("h200");
	struct grid *g = add(r, (struct shape){1024, 16, 0, 5}, 3, -1);

	submit_ready(r);
	assert_true(gsb_machine_kill(r->m, g->handle, 2));
	place_all(r);
	assert_int_equal(g->n_placed, 0);
	end_run(r);
}

/* Grids that are still waiting and running are freed; the leak checker watches. */
static void test_destroy_with_work_left_frees_it(void **state)
{
	struct run *r = new_run("h200");

	add(r, (struct shape){1024, 16, 0, 5}, 1000, -1);
	add(r, (struct shape){1024, 16, 0, 5}, 10, -1);
	submit_ready(r);
	place_all(r);
	end_run(r);
	gsb_machine_destroy(NULL);
}

/* ---- random grids: no limit is passed, each block runs once, order of rank ---- */

struct load {
	uint64_t warps, regs, smem, blocks;
};

static uint64_t up(uint64_t x, uint64_t unit)
{
	return (x + unit - 1) / unit * unit;
}

/* What a block takes, from the programming guide and without the code under test. */
static struct load load_of(const struct gsb_arch *a, const struct gsb_kernel *k)
{
	struct load l = {.warps = (k->threads_per_block + 31) / 32, .blocks = 1};

	l.regs = l.warps * up(k->regs_per_thread * 32ull, a->reg_unit);
	if (k->smem_bytes || a->smem_reserved_bytes)
		l.smem = up(k->smem_bytes + a->smem_reserved_bytes, a->smem_unit_bytes);
	return l;
}

static void add_load(struct load *to, struct load l, int sign)
{
	to->warps += (uint64_t)sign * l.warps;
	to->regs += (uint64_t)sign * l.regs;
	to->smem += (uint64_t)sign * l.smem;
	to->blocks += (uint64_t)sign * l.blocks;
}

static void check_load(const struct gsb_arch *a, const struct load *l)
{
	assert_true(l->warps <= a->max_warps);
	assert_true(l->regs <= a->regs);
	assert_true(l->smem <= a->smem_bytes);
	assert_true(l->blocks <= a->max_blocks);
}

static struct gsb_sm_range random_sms(const struct gsb_arch *a)
{
	uint32_t n_groups = (a->n_sms + a->sm_group - 1) / a->sm_group;
	uint32_t from = (uint32_t)rand() % n_groups, to = from + 1;
	struct gsb_sm_range sms = {from * a->sm_group, 0};

	to += (uint32_t)rand() % (n_groups - from);
	sms.n = (to == n_groups ? a->n_sms : to * a->sm_group) - sms.first;
	return sms;
}

static void random_grid(struct run *r, const struct gsb_arch *a)
{
	static const uint32_t threads[] = {32, 64, 96, 128, 256, 512, 1000};
	uint32_t regs = a->max_regs_per_block / a->max_threads_per_block; /* so many always fit */
	struct shape s = {threads[rand() % 7], 8 + (uint32_t)rand() % (regs - 8), 0,
			  1 + (uint64_t)rand() % 20};
	struct grid *g;

	if (rand() % 2)
		s.smem = (uint32_t)rand() % a->smem_per_block_bytes;
	g = add(r, s, 1 + (uint64_t)rand() % 300, -1);
	g->submit.priority = -(rand() % 3);
	if (rand() % 3)
		g->submit.sms = random_sms(a);
}

/* The rules' SM for a block, by a look at all of them; n_sms: it fits nowhere. */
static uint32_t choose_naively(const struct gsb_arch *a, const struct gsb_rules *rules,
			       const struct gsb_sm_room *rooms, const struct gsb_block_need *need)
{
	uint32_t best = a->n_sms;

	for (uint32_t sm = 0; sm < a->n_sms; sm++) {
		if (!gsb_sm_room_fit(&rooms[sm], need))
			continue;
		if (rules->placement == GSB_DEPTH_FIRST)
			return sm;
		if (best == a->n_sms || rooms[sm].warps > rooms[best].warps)
			best = sm;
	}
	return best;
}

/* Blocks of three kernels that come, fill the GPU and end one by one, in any order. */
static void check_choices(const char *name, const struct gsb_rules *rules)
{
	const struct gsb_arch *a = gsb_arch_find(name);
	struct gsb_sm_room *rooms = calloc(a->n_sms, sizeof(*rooms));
	struct gsb_block_place places[4096];
	struct gsb_block_need needs[3];
	struct gsb_machine_block b;
	struct gsb_machine *m;
	uint64_t now = 0;

	assert_int_equal(gsb_machine_create(a, rules, &m), 0);
	for (uint32_t sm = 0; sm < a->n_sms; sm++)
		gsb_sm_room_init(&rooms[sm], a, rules);
	for (uint32_t i = 0; i < 3; i++) {
		struct gsb_machine_submit s = {.kernel = {.threads_per_block = 64u << i,
							  .regs_per_thread = 20 + 12 * i,
							  .smem_bytes = 1024 * i,
							  .n_blocks = 1500},
					       .owner = &needs[i]};
		struct gsb_machine_grid *grid;

		assert_int_equal(gsb_block_need(a, &s.kernel, rules, &needs[i]), 0);
		assert_int_equal(gsb_machine_submit(m, &s, &grid), 0);
	}
	do {
		while (gsb_machine_place(m, &b)) {
			assert_int_equal(b.sm, choose_naively(a, rules, rooms, b.owner));
			assert_true(b.slot < GSB_ARRAY_LEN(places));
			gsb_sm_room_take(&rooms[b.sm], b.owner, &places[b.slot]);
			gsb_machine_set_end(m, b.slot, now + 1 + (uint64_t)rand() % 1000);
		}
		if (!gsb_machine_next_end(m, &now))
			break;
		while (gsb_machine_end(m, now, &b))
			gsb_sm_room_give(&rooms[b.sm], b.owner, &places[b.slot]);
	} while (true);
	assert_int_equal(now > 0, true);
	gsb_machine_destroy(m);
	free(rooms);
}

static void test_each_block_goes_where_a_look_at_all_sms_would_put_it(void **state)
{
	static const char *const names[] = {"h200", "k40", "gtx680", "v100", "c2070"};
	struct gsb_rules deep = gsb_rules_hardware;

	deep.placement = GSB_DEPTH_FIRST;
	srand(43);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(names); i++) {
		check_choices(names[i], &gsb_rules_hardware);
		check_choices(names[i], &deep);
	}
}

static bool wants(const struct grid *g, uint32_t sm)
{
	const struct gsb_sm_range *s = &g->submit.sms;

	return g->n_placed < g->submit.kernel.n_blocks &&
	       (!s->n || (sm >= s->first && sm - s->first < s->n));
}

/* Of those that want the SM the one of best rank: a look at all. */
static struct grid *first_in_line(struct run *r, uint32_t sm)
{
	struct grid *best = NULL;

	for (struct grid *g = r->grids; g < r->grids + r->n_grids; g++)
		if (wants(g, sm) && (!best || g->submit.priority < best->submit.priority))
			best = g;
	return best;
}

/* Nothing idles for a rule: on no SM is there room for the first in line, unless there are too many grids. */
static void check_all_is_placed(struct run *r, const struct gsb_arch *a, const struct load *sms)
{
	unsigned n_resident = 0;

	for (struct grid *g = r->grids; g < r->grids + r->n_grids; g++)
		n_resident += g->n_placed && !g->done;
	assert_true(n_resident <= a->max_resident_grids);
	for (uint32_t sm = 0; sm < a->n_sms; sm++) {
		struct grid *g = first_in_line(r, sm);
		struct load l = sms[sm];

		if (!g || (!g->n_placed && n_resident == a->max_resident_grids))
			continue;
		add_load(&l, load_of(a, &g->submit.kernel), 1);
		/* Warps lie in partitions: sums that fit need not. */
		assert_true(l.warps > a->max_warps || l.smem > a->smem_bytes ||
			    l.blocks > a->max_blocks || l.regs > a->regs * 3 / 4);
	}
}

/* Fills the GPU and takes the next ends; false when nothing is left. */
static bool step_random(struct run *r, const struct gsb_arch *a, struct load *sms)
{
	struct gsb_machine_block b;

	while (gsb_machine_place(r->m, &b)) {
		struct grid *g = b.owner;

		assert_ptr_equal(g, first_in_line(r, b.sm));
		assert_int_equal(b.index, g->n_placed++);
		add_load(&sms[b.sm], load_of(a, &g->submit.kernel), 1);
		check_load(a, &sms[b.sm]);
		assert_int_equal(sms[b.sm].warps, gsb_machine_sm_warps(r->m, b.sm));
		assert_int_equal(sms[b.sm].blocks, gsb_machine_sm_blocks(r->m, b.sm));
		gsb_machine_set_end(r->m, b.slot, r->now + g->length);
	}
	check_all_is_placed(r, a, sms);
	if (!gsb_machine_next_end(r->m, &r->now))
		return false;
	while (gsb_machine_end(r->m, r->now, &b)) {
		struct grid *g = b.owner;

		add_load(&sms[b.sm], load_of(a, &g->submit.kernel), -1);
		g->n_ended++;
		g->done = b.is_last;
	}
	return true;
}

static void test_random_grids_stay_within_limits(void **state)
{
	static const char *const names[] = {"h200", "k40", "gtx680", "v100", "c2070"};
	unsigned seed = 42;

	print_message("seed %u\n", seed);
	srand(seed);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(names); i++) {
		const struct gsb_arch *a = gsb_arch_find(names[i]);
		struct run *r = new_run(names[i]);
		struct load *sms = calloc(a->n_sms, sizeof(*sms));

		for (unsigned g = 0; g < 40; g++)
			random_grid(r, a);
		submit_ready(r);
		while (step_random(r, a, sms))
			;
		for (unsigned g = 0; g < r->n_grids; g++) {
			assert_true(r->grids[g].done);
			assert_int_equal(r->grids[g].n_ended, r->grids[g].submit.kernel.n_blocks);
		}
		free(sms);
		end_run(r);
	}
}

/* ---- clones ---- */

struct history {
	uint64_t placed, ends; /* of all that happened, in order */
};

static uint64_t mix(uint64_t h, uint64_t x)
{
	return (h ^ x) * 0x100000001b3ull;
}

/* To the end; what happened, by its order. */
static struct history finish(struct gsb_machine *m, uint64_t now)
{
	struct history h = {0, 0};
	struct gsb_machine_block b;

	do {
		while (gsb_machine_place(m, &b)) {
			const struct grid *g = b.owner;

			h.placed = mix(mix(mix(h.placed, (uintptr_t)g), b.index), b.sm);
			gsb_machine_set_end(m, b.slot, now + g->length);
		}
		if (!gsb_machine_next_end(m, &now))
			break;
		while (gsb_machine_end(m, now, &b))
			h.ends = mix(mix(mix(h.ends, now), b.index), b.is_last);
	} while (true);
	return h;
}

static void test_clone_goes_on_as_the_original_would(void **state)
{
	const struct gsb_arch *a = gsb_arch_find("h200");

	srand(77);
	for (unsigned round = 0; round < 20; round++) {
		struct run *r = new_run("h200");
		struct load *sms = calloc(a->n_sms, sizeof(*sms));
		struct grid *first, *second;
		struct history was, then;
		struct gsb_machine *clone;

		for (unsigned g = 0; g < 40; g++)
			random_grid(r, a);
		submit_ready(r);
		for (unsigned i = 0; i < round * 4; i++)
			step_random(r, a, sms);
		first = add(r, (struct shape){64, 16, 0, 3}, 10, -1);
		first->submit.priority = -9;
		submit_ready(r);
		second = add(r, (struct shape){64, 16, 0, 3}, 10, -1);
		second->submit.after = first->handle;
		submit_ready(r);
		assert_int_equal(gsb_machine_clone(r->m, &clone), 0);
		then = finish(clone, r->now);
		was = finish(r->m, r->now);
		assert_memory_equal(&then, &was, sizeof(was));
		assert_true(was.ends != 0);
		gsb_machine_destroy(clone);
		assert_int_equal(gsb_machine_clone(r->m, &clone), 0);
		gsb_machine_destroy(clone);
		free(sms);
		end_run(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_li_fig5_four_of_eight_streams_run_at_once),
		cmocka_unit_test(test_li_fig6_breadth_first_starts_three_streams),
		cmocka_unit_test(test_li_fig8_refills_at_once),
		cmocka_unit_test(test_li_fig9_eight_phases),
		cmocka_unit_test(test_li_fig9_follows_from_one_queue),
		cmocka_unit_test(test_clone_goes_on_as_the_original_would),
		cmocka_unit_test(test_li_fig10_all_a_before_any_b),
		cmocka_unit_test(test_leftover_case_a_both_from_the_beginning),
		cmocka_unit_test(test_leftover_case_b_in_the_last_round),
		cmocka_unit_test(test_leftover_case_c_one_after_the_other),
		cmocka_unit_test(test_h200_fitting_pair_runs_together),
		cmocka_unit_test(test_h200_full_gpu_then_second),
		cmocka_unit_test(test_h200_second_in_tail_of_first),
		cmocka_unit_test(test_h200_shared_memory_with_reserve),
		cmocka_unit_test(test_h200_block_slots),
		cmocka_unit_test(test_h200_order_decides_makespan),
		cmocka_unit_test(test_h200_head_of_line_blocks_what_would_fit),
		cmocka_unit_test(test_h200_holds_128_grids),
		cmocka_unit_test(test_h200_partition_keeps_nobody_from_other_sms),
		cmocka_unit_test(test_h200_priority_in_a_partition_waits_for_one_block),
		cmocka_unit_test(test_blocks_stay_in_their_range),
		cmocka_unit_test(test_wide_grid_takes_the_sms_on_which_it_is_first),
		cmocka_unit_test(test_priority_closes_only_its_own_sms),
		cmocka_unit_test(test_dropped_grid_gives_its_place_in_line_to_each_behind_it),
		cmocka_unit_test(test_cooperative_grid_waits_for_its_own_sms_alone),
		cmocka_unit_test(test_cooperative_grid_does_not_start_on_sms_of_a_queue),
		cmocka_unit_test(test_h200_holds_128_grids_in_all_partitions_together),
		cmocka_unit_test(test_submit_refuses_a_range_that_the_gpu_cannot_give),
		cmocka_unit_test(test_cooperative_grid_waits_until_all_fit),
		cmocka_unit_test(test_clusters_are_counted_by_gpc),
		cmocka_unit_test(test_cluster_is_placed_at_once_in_one_gpc),
		cmocka_unit_test(test_cluster_waits_for_room_in_one_gpc),
		cmocka_unit_test(test_killed_grid_places_no_more_of_a_cluster),
		cmocka_unit_test(test_cluster_that_no_gpc_has_room_for_is_refused),
		cmocka_unit_test(test_submit_refuses_what_never_fits),
		cmocka_unit_test(test_drop_ends_with_running_blocks),
		cmocka_unit_test(test_kill_ends_known_and_open_blocks_now),
		cmocka_unit_test(test_ends_come_as_said_last),
		cmocka_unit_test(test_kill_of_waiting_grid_is_gone_at_once),
		cmocka_unit_test(test_destroy_with_work_left_frees_it),
		cmocka_unit_test(test_each_block_goes_where_a_look_at_all_sms_would_put_it),
		cmocka_unit_test(test_random_grids_stay_within_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
