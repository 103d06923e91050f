/*
 * test_engine_run.c - which launches, copies and fills go to the device behind one that is there, and what their program is told and when.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "tests/unit/engine_kit.h"

#define US 1000ull

struct fixture {
	struct kit_engine k;
	struct kit_tenant t;
	uint64_t mem;
	struct gsb_policy policy;
	bool holds; /* the policy lets nothing of stream 2 go */
};

static struct fixture *current;

/* A fault would end all of it. */
static CUresult nothing_lost(struct gsb_device *dev)
{
	return CUDA_SUCCESS;
}

static unsigned decide(const struct gsb_view *v, struct gsb_policy_area *area,
		       struct gsb_decision *out)
{
	unsigned n = gsb_policy_fifo.decide(v, area, out);

	for (unsigned i = 0; i < n; i++)
		if (current->holds && v->ready[out[i].ready]->stream == 2)
			out[i].verdict = GSB_HOLD;
	return n;
}

/* What the scheduler finds of its device and its policy when it begins. */
static void look_again(struct fixture *f)
{
	struct gsb_scheduler *s = &f->k.engine->scheduler;

	s->runs = gsb_run_is_possible(s);
}

static int setup_on(void **state, bool is_virtual, bool is_lost_whole)
{
	struct fixture *f = current = calloc(1, sizeof(*f));

	f->policy = (struct gsb_policy){.name = "test", .runs = true, .decide = decide};
	kit_engine_init_with(&f->k, is_virtual, &f->policy);
	if (is_lost_whole)
		f->k.dev->ops.lost = nothing_lost;
	look_again(f);
	kit_tenant_init(&f->t, &f->k, NULL);
	kit_stream_create(&f->t, 1, 0);
	kit_stream_create(&f->t, 2, 0);
	kit_event_create(&f->t, 0);
	kit_load_inc(&f->t, 1, 1);
	f->mem = kit_alloc(&f->t, 8 << 20);
	kit_settle(&f->k);
	kit_device_forget(f->k.dev);
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return setup_on(state, false, true);
}

static int setup_virtual(void **state)
{
	return setup_on(state, true, true);
}

static int setup_faulty(void **state)
{
	return setup_on(state, false, false);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kit_tenant_finish(&f->t);
	kit_engine_finish(&f->k);
	free(f);
	return 0;
}

static void launch(struct fixture *f, uint32_t stream, unsigned n)
{
	while (n--)
		kit_launch_inc(&f->t, stream, 1, f->mem, 1);
	kit_settle(&f->k);
}

/* The i-th command on the device ends; it took so long. */
static void end(struct fixture *f, unsigned i, uint64_t took_ns)
{
	kit_complete_run(f->k.dev, i, CUDA_SUCCESS, f->k.dev->now_ns, f->k.dev->now_ns + took_ns);
	kit_settle(&f->k);
}

/* From now on the kernel is known to take so long. */
static void teach(struct fixture *f, uint64_t took_ns)
{
	launch(f, 1, 1);
	assert_int_equal(f->k.dev->n_issued, 1);
	end(f, 0, took_ns);
	kit_device_forget(f->k.dev);
}

/* ---- which go ---- */

static void test_short_launches_go_one_behind_another(void **state)
{
	struct fixture *f = *state;
	struct kit_device *d = f->k.dev;

	teach(f, 5 * US);
	launch(f, 1, 4);
	assert_int_equal(d->n_issued, 4);
	for (unsigned i = 1; i < 4; i++) {
		assert_ptr_equal(d->log[i].queue, d->log[0].queue);
		assert_int_equal(d->log[i].cookie, d->log[0].cookie);
	}
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(kit_done(&f->t, 1), 1 + i);
		end(f, i, 5 * US);
	}
	assert_int_equal(kit_done(&f->t, 1), 5);
}

static void test_what_comes_later_goes_behind_what_runs(void **state)
{
	struct fixture *f = *state;

	teach(f, 5 * US);
	launch(f, 1, 1);
	launch(f, 1, 1);
	end(f, 0, 5 * US);
	launch(f, 1, 1);
	assert_int_equal(f->k.dev->n_issued, 3);
	assert_int_equal(f->k.dev->n_open, 2);
	end(f, 1, 5 * US);
	end(f, 2, 5 * US);
	assert_int_equal(kit_done(&f->t, 1), 4);
	launch(f, 1, 1); /* a flight of its own */
	assert_int_equal(f->k.dev->n_issued, 4);
	end(f, 3, 5 * US);
}

static void test_device_is_told_which_come_together(void **state)
{
	struct fixture *f = *state;
	struct kit_device *d = f->k.dev;

	teach(f, 1 * US);
	launch(f, 1, 36);
	assert_int_equal(d->n_issued, 36);
	/* the first; then thirty-two of which one tells, then three */
	for (unsigned i = 0; i < 36; i++)
		assert_int_equal(d->log[i].more, i && i != 32 && i != 35);
	for (unsigned i = 0; i < 36; i++)
		end(f, i, 1 * US);
}

static int (*issue)(struct gsb_queue *queue, const struct gsb_cmd *cmd); /* as the device does it */
static unsigned n_beside[4]; /* what the commands said, in the order in which they came */

static int note_beside(struct gsb_queue *queue, const struct gsb_cmd *cmd)
{
	const struct kit_device *d = current->k.dev;

	assert_in_range(d->n_issued, 0, GSB_ARRAY_LEN(n_beside) - 1);
	n_beside[d->n_issued] = cmd->n_beside;
	return issue(queue, cmd);
}

static void launch_three(struct fixture *f)
{
	struct kit_device *d = f->k.dev;

	teach(f, 1 * US);
	issue = d->ops.issue;
	d->ops.issue = note_beside;
	kit_stream_create(&f->t, 3, 0);
	for (uint32_t i = 1; i <= 3; i++)
		kit_launch_inc(&f->t, i, 1, f->mem, 1);
	kit_settle(&f->k);
	assert_int_equal(d->n_issued, 3);
}

/* One that does not end may keep all, unless there is a limit to that. */
static void test_device_is_told_of_none_beside_others_without_a_limit(void **state)
{
	struct fixture *f = *state;

	launch_three(f);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(n_beside[i], 0);
		end(f, i, 1 * US);
	}
}

/* And which of several streams: the last of them is waited for by nobody. */
static void test_device_is_told_which_begin_beside_others(void **state)
{
	struct fixture *f = *state;
	struct kit_device *d = f->k.dev;

	f->k.engine->scheduler.kernel_limit_ns = 1000 * 1000000ull;
	launch_three(f);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(n_beside[i], 2 - i);
	end(f, 0, 1 * US);
	launch(f, 1, 1); /* alone, though others are there */
	assert_int_equal(d->n_issued, 4);
	assert_int_equal(n_beside[3], 0);
	for (unsigned i = 1; i < 4; i++)
		end(f, i, 1 * US);
}

static void test_kernel_of_unknown_or_long_time_waits(void **state)
{
	struct fixture *f = *state;

	launch(f, 1, 2);
	assert_int_equal(f->k.dev->n_issued, 1);
	end(f, 0, 51 * US);
	assert_int_equal(f->k.dev->n_issued, 2);
	launch(f, 1, 1);
	assert_int_equal(f->k.dev->n_issued, 2);
	end(f, 1, 51 * US);
	end(f, 2, 51 * US);
}

static void test_all_that_are_behind_are_short_together(void **state)
{
	struct fixture *f = *state;

	teach(f, 40 * US);
	launch(f, 1, 6);
	assert_int_equal(f->k.dev->n_issued, 3);
	end(f, 0, 40 * US);
	assert_int_equal(f->k.dev->n_issued, 4);
	for (unsigned i = 1; i < 6; i++)
		end(f, i, 40 * US);
	assert_int_equal(f->k.dev->n_issued, 6);
}

static void test_so_many_go_and_no_more(void **state)
{
	struct fixture *f = *state;

	teach(f, 1);
	launch(f, 1, 100);
	assert_int_equal(f->k.dev->n_issued, 1 + 64);
	for (unsigned i = 0; i < 100; i++)
		end(f, i, 1);
	assert_int_equal(f->k.dev->n_issued, 100);
}

static void test_nothing_passes_by_what_is_held(void **state)
{
	struct fixture *f = *state;

	teach(f, 5 * US);
	f->holds = true;
	launch(f, 1, 1);
	launch(f, 2, 1);
	launch(f, 1, 1);
	assert_int_equal(f->k.dev->n_issued, 1);
	f->holds = false;
	end(f, 0, 5 * US);
	assert_int_equal(f->k.dev->n_issued, 3);
	end(f, 1, 5 * US);
	end(f, 2, 5 * US);
}

/* Beside another stream what begins takes with it what stands behind it: but not past who is held. */
static void test_nothing_begins_with_others_while_one_is_held(void **state)
{
	struct fixture *f = *state;
	struct kit_device *d = f->k.dev;

	teach(f, 1 * US);
	kit_stream_create(&f->t, 3, 0);
	f->holds = true;
	launch(f, 1, 1);
	launch(f, 2, 1);
	launch(f, 3, 5);
	assert_int_equal(d->n_issued, 2);
	assert_false(d->log[1].more);
	f->holds = false;
	end(f, 0, 1 * US);
	for (unsigned i = 1; i < 7; i++)
		end(f, i, 1 * US);
	assert_int_equal(d->n_issued, 7);
	assert_int_equal(kit_done(&f->t, 3), 5);
	assert_int_equal(kit_done(&f->t, 2), 1);
}

static void test_policy_without_runs_is_asked_each_time(void **state)
{
	struct fixture *f = *state;

	teach(f, 5 * US);
	f->policy.runs = false;
	look_again(f);
	launch(f, 1, 2);
	assert_int_equal(f->k.dev->n_issued, 1);
	end(f, 0, 5 * US);
	end(f, 1, 5 * US);
}

static void test_none_where_a_fault_ends_one_command_alone(void **state)
{
	struct fixture *f = *state;

	teach(f, 5 * US);
	launch(f, 1, 2);
	assert_int_equal(f->k.dev->n_issued, 1);
	end(f, 0, 5 * US);
	end(f, 1, 5 * US);
}

static void test_none_in_virtual_time(void **state)
{
	struct fixture *f = *state;
	const struct kit_cmd *log = f->k.dev->log;

	assert_false(f->k.engine->scheduler.runs);
	for (unsigned i = 0; i < 3; i++)
		kit_launch_inc(&f->t, 1, 1, f->mem, 1);
	kit_block(&f->t, GSB_WAIT_STREAM, 1, 3);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->t, 1), 3);
	assert_int_not_equal(log[0].cookie, log[1].cookie); /* flights of their own */
	assert_int_not_equal(log[1].cookie, log[2].cookie);
}

/* ---- CUDA's order ---- */

static uint64_t recorded(const struct fixture *f)
{
	return atomic_load(&f->t.region->events[0].done);
}

/* It is there when what is before it has ended, with that time, though what is behind it is on the device. */
static void test_recorded_event_ends_no_run(void **state)
{
	struct fixture *f = *state;

	teach(f, 5 * US);
	launch(f, 1, 1);
	kit_record(&f->t, 1, 0);
	kit_record(&f->t, 1, 0);
	launch(f, 1, 2);
	kit_record(&f->t, 1, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 3);
	assert_int_equal(recorded(f), 0);
	end(f, 0, 5 * US);
	assert_int_equal(recorded(f), 2);
	assert_int_equal(f->t.region->events[0].time_ns, f->k.dev->now_ns);
	assert_int_equal(kit_done(&f->t, 1), 1 + 3);
	end(f, 1, 7 * US);
	assert_int_equal(recorded(f), 2);
	end(f, 2, 9 * US);
	assert_int_equal(recorded(f), 3);
	assert_int_equal(f->t.region->events[0].time_ns, f->k.dev->now_ns);
	assert_int_equal(kit_done(&f->t, 1), 1 + 6);
}

static void test_run_with_an_event_that_ends_at_once_is_told_in_order(void **state)
{
	struct fixture *f = *state;
	struct kit_device *d = f->k.dev;

	teach(f, 5 * US);
	launch(f, 1, 1);
	kit_record(&f->t, 1, 0);
	launch(f, 1, 1);
	kit_complete_run(d, 0, CUDA_SUCCESS, d->now_ns, d->now_ns + 5 * US);
	kit_complete_run(d, 1, CUDA_SUCCESS, d->now_ns, d->now_ns + 9 * US);
	kit_settle(&f->k);
	assert_int_equal(recorded(f), 1);
	assert_int_equal(kit_done(&f->t, 1), 1 + 3);
	launch(f, 1, 1);
	assert_int_equal(d->n_issued, 3);
	end(f, 2, 5 * US);
}

static void test_event_that_is_waited_for_ends_a_run(void **state)
{
	struct fixture *f = *state;

	teach(f, 5 * US);
	launch(f, 2, 1);
	kit_record(&f->t, 2, 0);
	launch(f, 1, 1);
	kit_wait(&f->t, 1, 0);
	launch(f, 1, 1);
	assert_int_equal(f->k.dev->n_issued, 2);
	end(f, 1, 5 * US);
	assert_int_equal(f->k.dev->n_issued, 2);
	end(f, 0, 5 * US);
	assert_int_equal(f->k.dev->n_issued, 3);
	end(f, 2, 5 * US);
}

static void copy(struct fixture *f, uint32_t stream, uint64_t bytes)
{
	const struct gsb_rec_copy c = {.dst = f->mem,
				       .src = f->mem + (4 << 20),
				       .width = bytes,
				       .height = 1,
				       .dst_place = GSB_PLACE_DEVICE,
				       .src_place = GSB_PLACE_DEVICE};

	kit_post(&f->t, GSB_REC_COPY, kit_stream(stream), &c, sizeof(c), NULL, 0);
	kit_settle(&f->k);
}

static void test_short_copies_and_fills_go_with_launches(void **state)
{
	struct fixture *f = *state;
	const struct gsb_ctl_tenant *stats = &f->k.engine->tenants[0]->stats;
	struct kit_device *d = f->k.dev;

	teach(f, 5 * US);
	copy(f, 1, 65536);
	launch(f, 1, 1);
	kit_fill(&f->t, 1, f->mem);
	copy(f, 1, 65536);
	launch(f, 1, 1);
	assert_int_equal(d->n_issued, 5);
	assert_int_equal(d->log[0].kind, GSB_CMD_COPY);
	assert_int_equal(d->log[2].kind, GSB_CMD_FILL);
	assert_int_equal(d->log[3].kind, GSB_CMD_COPY);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(d->log[i].cookie, d->log[0].cookie);
		assert_int_equal(kit_done(&f->t, 1), 1 + i);
		end(f, i, 5 * US);
	}
	assert_int_equal(kit_done(&f->t, 1), 6);
	assert_int_equal(stats->copies, 2);
	assert_int_equal(stats->fills, 1);
	for (unsigned i = 0; i < GSB_N_DIRECTIONS; i++)
		assert_int_equal(f->k.engine->scheduler.n_copies[i], 0);
}

/* As those are that a large copy is made of: as many as take 100 us. */
static void test_pieces_of_a_copy_go_one_behind_another(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 12; i++)
		copy(f, 1, 256 << 10);
	assert_int_equal(f->k.dev->n_issued, 1 + 8);
	end(f, 0, 8 * US);
	assert_int_equal(f->k.dev->n_issued, 1 + 9);
	for (unsigned i = 1; i < 12; i++)
		end(f, i, 8 * US);
	assert_int_equal(kit_done(&f->t, 1), 12);
}

static void test_long_copy_waits_for_its_turn(void **state)
{
	struct fixture *f = *state;

	teach(f, 5 * US);
	launch(f, 1, 1);
	copy(f, 1, 2 << 20);
	assert_int_equal(f->k.dev->n_issued, 1);
	end(f, 0, 5 * US);
	launch(f, 1, 1); /* behind it there is a way */
	assert_int_equal(f->k.dev->n_issued, 3);
	end(f, 1, 500 * US);
	end(f, 2, 5 * US);
}

static void test_work_of_the_legacy_stream_ends_a_run(void **state)
{
	struct fixture *f = *state;

	teach(f, 5 * US);
	launch(f, 1, 2);
	kit_fill(&f->t, 0, f->mem);
	launch(f, 1, 2);
	assert_int_equal(f->k.dev->n_issued, 2);
	end(f, 0, 5 * US);
	end(f, 1, 5 * US);
	assert_int_equal(f->k.dev->n_issued, 3);
	assert_int_equal(f->k.dev->log[2].kind, GSB_CMD_FILL);
	end(f, 2, 5 * US);
	assert_int_equal(f->k.dev->n_issued, 5);
	end(f, 3, 5 * US);
	end(f, 4, 5 * US);
}

static void test_streams_have_runs_of_their_own(void **state)
{
	struct fixture *f = *state;
	struct kit_device *d = f->k.dev;

	teach(f, 5 * US);
	launch(f, 1, 2);
	launch(f, 2, 2);
	assert_int_equal(d->n_issued, 4);
	assert_ptr_not_equal(d->log[0].queue, d->log[2].queue);
	end(f, 2, 5 * US);
	end(f, 3, 5 * US);
	assert_int_equal(kit_done(&f->t, 2), 2);
	assert_int_equal(kit_done(&f->t, 1), 1);
	end(f, 0, 5 * US);
	end(f, 1, 5 * US);
}

/* A turn takes so many, and who comes next in the next turn is another. */
static void test_runs_of_two_streams_take_turns(void **state)
{
	struct fixture *f = *state;
	struct kit_device *d = f->k.dev;
	unsigned n = 0;

	teach(f, 1);
	launch(f, 1, 1);
	launch(f, 2, 1);
	for (unsigned i = 0; i < 80; i++)
		kit_launch_inc(&f->t, 1 + i / 40, 1, f->mem, 1);
	gsb_engine_turn(f->k.engine); /* reads them, sends thirty-two */
	assert_int_equal(d->n_issued, 2 + 32);
	gsb_engine_turn(f->k.engine);
	assert_int_equal(d->n_issued, 2 + 64);
	for (unsigned i = 2; i < d->n_issued; i++)
		n += d->log[i].queue == d->log[0].queue;
	assert_int_equal(n, 32);
	kit_settle(&f->k);
	assert_int_equal(d->n_issued, 82);
	for (unsigned i = 0; i < 82; i++)
		end(f, i, 1);
}

/* ---- what goes wrong ---- */

static void test_fault_ends_what_was_behind_it(void **state)
{
	struct fixture *f = *state;

	teach(f, 5 * US);
	launch(f, 1, 3);
	for (unsigned i = 0; i < 3; i++)
		kit_complete(f->k.dev, i, CUDA_ERROR_ILLEGAL_ADDRESS, f->k.dev->now_ns);
	kit_settle(&f->k);
	assert_int_equal(kit_error(&f->t, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(kit_done(&f->t, 1), 4);
	assert_int_equal(f->k.dev->n_open, 0);
}

static void test_launch_that_is_refused_behind_another_is_told_in_its_turn(void **state)
{
	struct fixture *f = *state;

	teach(f, 5 * US);
	launch(f, 1, 1);
	f->k.dev->issue_err = -EINVAL;
	launch(f, 1, 1);
	assert_int_equal(kit_error(&f->t, 0), 0);
	end(f, 0, 5 * US);
	assert_int_equal(kit_error(&f->t, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(kit_done(&f->t, 1), 3);
}

static void test_program_that_dies_leaves_nothing_of_a_run(void **state)
{
	struct fixture *f = *state;

	teach(f, 5 * US);
	launch(f, 1, 5); /* what it leaves the device ends, and teardown looks */
	assert_int_equal(f->k.dev->n_open, 5);
}

/* ---- counts ---- */

static void test_each_of_a_run_counts_for_itself(void **state)
{
	struct fixture *f = *state;
	const struct gsb_ctl_tenant *stats = &f->k.engine->tenants[0]->stats;
	uint64_t kernels, ns, waited;

	teach(f, 5 * US);
	kernels = stats->kernels, ns = stats->device_ns, waited = stats->wait_ns[GSB_WAITED_DEVICE];
	launch(f, 1, 3);
	for (unsigned i = 0; i < 3; i++)
		end(f, i, 7 * US);
	assert_int_equal(stats->kernels, kernels + 3);
	assert_int_equal(stats->device_ns, ns + 21 * US);
	assert_int_equal(stats->wait_ns[GSB_WAITED_DEVICE],
			 waited); /* none but that of its stream */
}

#define ON(test, setup) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON(test_short_launches_go_one_behind_another, setup),
		ON(test_what_comes_later_goes_behind_what_runs, setup),
		ON(test_device_is_told_which_come_together, setup),
		ON(test_device_is_told_which_begin_beside_others, setup),
		ON(test_device_is_told_of_none_beside_others_without_a_limit, setup),
		ON(test_kernel_of_unknown_or_long_time_waits, setup),
		ON(test_all_that_are_behind_are_short_together, setup),
		ON(test_so_many_go_and_no_more, setup),
		ON(test_nothing_passes_by_what_is_held, setup),
		ON(test_nothing_begins_with_others_while_one_is_held, setup),
		ON(test_policy_without_runs_is_asked_each_time, setup),
		ON(test_none_where_a_fault_ends_one_command_alone, setup_faulty),
		ON(test_none_in_virtual_time, setup_virtual),
		ON(test_recorded_event_ends_no_run, setup),
		ON(test_run_with_an_event_that_ends_at_once_is_told_in_order, setup),
		ON(test_event_that_is_waited_for_ends_a_run, setup),
		ON(test_short_copies_and_fills_go_with_launches, setup),
		ON(test_pieces_of_a_copy_go_one_behind_another, setup),
		ON(test_long_copy_waits_for_its_turn, setup),
		ON(test_work_of_the_legacy_stream_ends_a_run, setup),
		ON(test_streams_have_runs_of_their_own, setup),
		ON(test_runs_of_two_streams_take_turns, setup),
		ON(test_fault_ends_what_was_behind_it, setup),
		ON(test_launch_that_is_refused_behind_another_is_told_in_its_turn, setup),
		ON(test_program_that_dies_leaves_nothing_of_a_run, setup),
		ON(test_each_of_a_run_counts_for_itself, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
