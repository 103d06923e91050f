/*
 * test_sim.c - loads run again offline: CUDA's order and the programs' waits are kept, time comes from the load, and what a
 * policy may not do is found.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "broker/policy/estimate.h"
#include "broker/policy/shape.h"
#include "model/gpu/arch.h"
#include "model/time/command_time.h"
#include "sim/compare.h"
#include "sim/best.h"
#include "sim/random.h"

#define LATENCY	 GSB_LAUNCH_LATENCY_NS
#define N_RANDOM 60

/* One SM of 2,048 threads. */
static struct gsb_arch one_sm(void)
{
	struct gsb_arch a = *gsb_arch_find("h200");

	a.n_sms = 1;
	return a;
}

/* ---- policies that only tests have ---- */

static unsigned one_at_a_time(const struct gsb_view *v, struct gsb_policy_area *area,
			      struct gsb_decision *out)
{
	out[0] = (struct gsb_decision){.ready = 0};
	return v->n_running ? 0 : 1;
}

static unsigned nothing(const struct gsb_view *v, struct gsb_policy_area *area,
			struct gsb_decision *out)
{
	return 0;
}

static unsigned beyond(const struct gsb_view *v, struct gsb_policy_area *area,
		       struct gsb_decision *out)
{
	out[0] = (struct gsb_decision){.ready = v->n_ready};
	return 1;
}

static unsigned twice(const struct gsb_view *v, struct gsb_policy_area *area,
		      struct gsb_decision *out)
{
	out[0] = out[1] = (struct gsb_decision){.ready = 0};
	return v->n_ready > 1 ? 2 : 0;
}

/* One goes, and what is ready beside it is held until that time. */
static uint64_t release_ns;

static unsigned one_until_then(const struct gsb_view *v, struct gsb_policy_area *area,
			       struct gsb_decision *out)
{
	out[0] = (struct gsb_decision){.ready = 0};
	if (v->n_running && v->now_ns != release_ns) {
		out[0].verdict = GSB_HOLD;
		out[0].hold.not_before_ns = release_ns;
	}
	return 1;
}

static const struct gsb_policy policy_timed = {.name = "timed", .decide = one_until_then};
static const struct gsb_policy policy_one = {.name = "one", .decide = one_at_a_time},
			       policy_nothing = {.name = "nothing", .decide = nothing},
			       policy_beyond = {.name = "beyond", .decide = beyond},
			       policy_twice = {.name = "twice", .decide = twice};

/* ---- loads ---- */

static struct gsb_workload parse(const char *lines)
{
	struct gsb_text_error err = {0};
	struct gsb_workload l;
	char *text = NULL;
	unsigned n = 2;

	for (const char *c = lines; *c; c++)
		n += *c == '\n';
	if (asprintf(&text,
		     "gsb-load version=1\ndevice name=emu:h200 policy=fifo sms=1 clock=virtual\n%s"
		     "end lines=%u\n",
		     lines, n) < 0)
		abort();
	if (gsb_workload_parse(text, strlen(text), &l, &err))
		fail_msg("line %u: %s", err.line, err.what);
	free(text);
	return l;
}

static void run(const struct gsb_workload *l, const struct gsb_policy *policy,
		struct gsb_sim_result *r)
{
	struct gsb_arch arch = one_sm();
	const struct gsb_sim_params p = {.arch = &arch, .policy = policy};
	char why[200];

	if (gsb_sim_run(l, &p, r, why, sizeof(why)))
		fail_msg("%s", why);
}

/* The makespan of the lines under a policy. */
static uint64_t makespan(const char *lines, const struct gsb_policy *policy)
{
	struct gsb_workload l = parse(lines);
	struct gsb_sim_result r;
	uint64_t ns;

	run(&l, policy, &r);
	ns = r.makespan_ns;
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
	return ns;
}

static int error_of(const char *lines, const struct gsb_policy *policy, char why[200])
{
	struct gsb_workload l = parse(lines);
	struct gsb_arch arch = one_sm();
	const struct gsb_sim_params p = {.arch = &arch, .policy = policy};
	struct gsb_sim_result r;
	int err = gsb_sim_run(&l, &p, &r, why, 200);

	gsb_workload_finish(&l);
	return err;
}

#define TENANTS                \
	"tenant id=1 name=a\n" \
	"tenant id=2 name=b\n"
#define STREAMS                      \
	"stream tenant=1 number=1\n" \
	"stream tenant=1 number=2\n" \
	"stream tenant=2 number=1\n"
#define KERNELS                                 \
	"kernel id=1 tenant=1 name=k regs=16\n" \
	"kernel id=2 tenant=2 name=k regs=16\n"
#define HEAD		 TENANTS STREAMS KERNELS
#define LAUNCH(s, t, st) "op serial=" #s " tenant=" #t " stream=" #st " kind=launch kernel=" #t " "
/* 1,024 threads: half of the SM for 1,000 ns */
#define HALF "grid=1x1x1 block=1024x1x1 alone=1000"
/* all of it */
#define FULL "grid=2x1x1 block=1024x1x1 alone=1000"

static void test_run_of_one_launch_takes_what_the_load_says(void **state)
{
	assert_int_equal(makespan(HEAD LAUNCH(1, 1, 1) HALF "\n", &gsb_policy_fifo),
			 LATENCY + 1000);
	/* three rounds of two blocks each */
	assert_int_equal(makespan(HEAD LAUNCH(1, 1, 1) "grid=6x1x1 block=1024x1x1 alone=3000\n",
				  &gsb_policy_fifo),
			 LATENCY + 3000);
}

static void test_run_keeps_the_order_of_a_stream(void **state)
{
	assert_int_equal(makespan(HEAD LAUNCH(1, 1, 1) HALF "\n" LAUNCH(2, 1, 1) HALF "\n",
				  &gsb_policy_fifo),
			 2 * (LATENCY + 1000));
}

static void test_run_of_two_streams_is_side_by_side_as_far_as_they_fit(void **state)
{
	static const char two[] = HEAD LAUNCH(1, 1, 1) HALF "\n" LAUNCH(2, 1, 2) HALF "\n",
			  full[] = HEAD LAUNCH(1, 1, 1) FULL "\n" LAUNCH(2, 1, 2) FULL "\n";

	assert_int_equal(makespan(two, &gsb_policy_fifo), LATENCY + 1000);
	assert_int_equal(makespan(two, &policy_one), 2 * (LATENCY + 1000));
	assert_int_equal(makespan(full, &gsb_policy_fifo), LATENCY + 2000);
}

static void test_run_waits_for_the_event_that_another_stream_records(void **state)
{
	assert_int_equal(makespan(HEAD LAUNCH(1, 1, 1) HALF
				  "\n"
				  "op serial=2 tenant=1 stream=1 kind=event_record\n"
				  "op serial=3 tenant=1 stream=2 kind=event_wait on=2\n" LAUNCH(
					  4, 1, 2) HALF "\n",
				  &gsb_policy_fifo),
			 2 * (LATENCY + 1000));
}

/* Before it, beside nothing of it, after it. */
static void test_run_keeps_the_legacy_stream_apart_from_blocking_ones(void **state)
{
	static const char streams[] =
		TENANTS "stream tenant=1 number=0 blocking=1 legacy=1\n"
			"stream tenant=1 number=1 blocking=1\n"
			"stream tenant=1 number=2\n"
			"stream tenant=2 number=0 blocking=1 legacy=1\n" KERNELS;
	char *text;

	if (asprintf(&text, "%s%s", streams,
		     LAUNCH(1, 1, 1) HALF "\n" LAUNCH(2, 1, 0) HALF "\n" LAUNCH(3, 1, 1) HALF
		     "\n") < 0)
		abort();
	assert_int_equal(makespan(text, &gsb_policy_fifo), 3 * (LATENCY + 1000));
	free(text);
	/* a stream that does not block, and another tenant's */
	if (asprintf(&text, "%s%s", streams, LAUNCH(1, 1, 0) HALF "\n" LAUNCH(2, 1, 2) HALF "\n") <
	    0)
		abort();
	assert_int_equal(makespan(text, &gsb_policy_fifo), LATENCY + 1000);
	free(text);
	if (asprintf(&text, "%s%s", streams, LAUNCH(1, 1, 1) HALF "\n" LAUNCH(2, 2, 0) HALF "\n") <
	    0)
		abort();
	assert_int_equal(makespan(text, &gsb_policy_fifo), LATENCY + 1000);
	free(text);
}

static void test_run_thinks_as_long_as_the_program_did(void **state)
{
	assert_int_equal(makespan(HEAD LAUNCH(1, 1, 1) "think=300 " HALF "\n" LAUNCH(
					  2, 1, 2) "after=1 think=500 " HALF "\n",
				  &gsb_policy_fifo),
			 300 + LATENCY + 1000 + 500 + LATENCY + 1000);
}

/* The second is posted behind the first by the same thread, so it cannot be ready before it. */
static void test_run_keeps_the_order_of_a_thread(void **state)
{
	assert_int_equal(makespan(HEAD LAUNCH(1, 1, 1) "think=700 " HALF
						       "\n" LAUNCH(2, 1, 2) "think=100 " HALF "\n",
				  &gsb_policy_fifo),
			 700 + LATENCY + 1000);
	assert_int_equal(makespan(HEAD LAUNCH(1, 1, 1) "think=700 " HALF "\n" LAUNCH(
					  2, 1, 2) "thread=1 think=900 " HALF "\n",
				  &gsb_policy_fifo),
			 900 + LATENCY + 1000);
}

static void test_run_begins_when_tenants_come_or_together(void **state)
{
	struct gsb_workload l =
		parse("tenant id=1 name=a come=100\n"
		      "tenant id=2 name=b come=5000\n" STREAMS KERNELS LAUNCH(1, 1, 1) HALF
		      "\n" LAUNCH(2, 2, 1) HALF "\n");
	struct gsb_arch arch = one_sm();
	struct gsb_sim_params p = {.arch = &arch, .policy = &gsb_policy_fifo};
	struct gsb_sim_result r;
	char why[200];

	assert_int_equal(gsb_sim_run(&l, &p, &r, why, sizeof(why)), 0);
	assert_int_equal(r.makespan_ns, 4900 + LATENCY + 1000);
	assert_int_equal(r.tenants[1].come_ns, 5000);
	gsb_sim_finish(&r);
	p.together = true;
	assert_int_equal(gsb_sim_run(&l, &p, &r, why, sizeof(why)), 0);
	assert_int_equal(r.makespan_ns, LATENCY + 1000);
	gsb_sim_finish(&r);
	p.tenant = 2;
	assert_int_equal(gsb_sim_run(&l, &p, &r, why, sizeof(why)), 0);
	assert_int_equal(r.n_launches, 1);
	assert_int_equal(r.tenants[0].n_launches, 0);
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
}

#define COPY(s, st) "op serial=" #s " tenant=1 stream=" #st " kind=copy bytes=55000 from=host\n"

static void test_run_has_three_engines_for_copies(void **state)
{
	static const char streams[] = "tenant id=1 name=a\n"
				      "stream tenant=1 number=1\n"
				      "stream tenant=1 number=2\n"
				      "stream tenant=1 number=3\n"
				      "stream tenant=1 number=4\n";
	uint64_t one = gsb_transfer_time_ns(gsb_arch_find("h200"), GSB_TRANSFER_HOST, 55000);
	char *text;

	if (asprintf(&text, "%s%s", streams, COPY(1, 1) COPY(2, 2) COPY(3, 3)) < 0)
		abort();
	assert_int_equal(makespan(text, &gsb_policy_fifo), one);
	free(text);
	if (asprintf(&text, "%s%s", streams, COPY(1, 1) COPY(2, 2) COPY(3, 3) COPY(4, 4)) < 0)
		abort();
	assert_int_equal(makespan(text, &gsb_policy_fifo), 2 * one);
	free(text);
}

/* The makespan of two kernels side by side, each of which asks for so many percent of the issue slots. */
static uint64_t beside_each_other(unsigned percent)
{
	const struct gsb_arch arch = one_sm();
	uint64_t n =
		(uint64_t)arch.clock_khz * arch.issue_width / 1000 * percent / 100; /* of 1 us */
	char *text;
	uint64_t ns;

	if (asprintf(&text,
		     HEAD LAUNCH(1, 1, 1) HALF " instructions=%" PRIu64 "\n" LAUNCH(2, 1, 2) HALF
		     " instructions=%" PRIu64 "\n",
		     n, n) < 0)
		abort();
	ns = makespan(text, &gsb_policy_fifo);
	free(text);
	return ns - LATENCY;
}

static void test_run_shares_the_issue_slots(void **state)
{
	assert_in_range(beside_each_other(5), 1000, 1060);
	assert_in_range(beside_each_other(90), 1500, 3000);
}

static void test_run_on_a_slower_clock_takes_longer(void **state)
{
	struct gsb_workload l = parse(HEAD LAUNCH(1, 1, 1) HALF "\n");
	struct gsb_arch fast = one_sm(), slow = one_sm();
	struct gsb_sim_params p = {.arch = &slow, .recorded = &fast, .policy = &gsb_policy_fifo};
	struct gsb_sim_result r;
	char why[200];

	slow.clock_khz /= 3;
	assert_int_equal(gsb_sim_run(&l, &p, &r, why, sizeof(why)), 0);
	assert_int_equal(r.makespan_ns, LATENCY + 3000);
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
}

/* ---- shapes ---- */

static struct gsb_shape wanted;
static bool has_to_wait;

static unsigned in_shape(const struct gsb_view *v, struct gsb_policy_area *area,
			 struct gsb_decision *out)
{
	out[0] = (struct gsb_decision){.ready = 0};
	for (unsigned i = 0; i < v->ready[0]->n_shapes; i++)
		if (!memcmp(&v->ready[0]->shapes[i], &wanted, sizeof(wanted)))
			out[0].shape = i + 1;
	return 1;
}

/* Nothing goes on while two kernels are on the device. */
static uint64_t wait_for_two(const struct gsb_view *v)
{
	return has_to_wait && v->n_running == 2 ? UINT64_MAX : 0;
}

static const struct gsb_policy policy_shape = {
	.name = "shape", .reshapes = true, .decide = in_shape, .yields_until = wait_for_two};

static uint64_t makespan_of_shape(struct gsb_shape shape, const char *lines, bool resizes)
{
	struct gsb_workload l = parse(lines);
	struct gsb_arch arch = one_sm();
	const struct gsb_sim_params p = {
		.arch = &arch, .policy = &policy_shape, .resizes = resizes};
	struct gsb_sim_result r;
	char why[200];
	uint64_t ns;

	wanted = shape;
	if (gsb_sim_run(&l, &p, &r, why, sizeof(why)))
		fail_msg("%s", why);
	ns = r.makespan_ns;
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
	return ns;
}

static uint64_t makespan_in(const char *text, const char *lines, bool resizes)
{
	struct gsb_shape shape;

	assert_int_equal(gsb_shape_parse(text, &shape), 0);
	return makespan_of_shape(shape, lines, resizes);
}

/* Sixteen blocks, of which two fit: eight rounds. To fetch a block costs 400 ns. */
#define EIGHT "grid=16x1x1 block=1024x1x1 alone=8000"

static void test_run_of_slices_is_one_after_the_other(void **state)
{
	static const char one[] = HEAD LAUNCH(1, 1, 1) EIGHT "\n";

	assert_int_equal(makespan_in("slice:8", one, true), LATENCY + 8000);
	assert_int_equal(makespan_in("slice:32", one, true), LATENCY + 16000);
	assert_int_equal(makespan_in("slice:32", one, false), LATENCY + 8000);
}

static void test_run_of_persistent_blocks_has_two_launches_at_a_time(void **state)
{
	static const char one[] = HEAD LAUNCH(1, 1, 1) EIGHT "\n",
			  odd[] = HEAD LAUNCH(1, 1, 1) "grid=14x1x1 block=1024x1x1 alone=7000\n";

	assert_int_equal(makespan_in("persistent:0:2", one, true), LATENCY + 8 * 1400);
	assert_int_equal(makespan_in("persistent:0:4", one, true), LATENCY + 8 * 1400);
	assert_int_equal(makespan_in("persistent:0:4", odd, true), LATENCY + 8 * 1400);
}

/* Half of two places is one, and three quarters are two. */
static void test_run_of_limited_blocks_has_fewer_places(void **state)
{
	static const char one[] = HEAD LAUNCH(1, 1, 1) EIGHT "\n";
	struct gsb_shape shape = {.form = GSB_SHAPE_PERSISTENT, .eighths = 4};

	assert_int_equal(makespan_of_shape(shape, one, true), LATENCY + 16 * 1400);
	shape.eighths = 6;
	assert_int_equal(makespan_of_shape(shape, one, true), LATENCY + 8 * 1400);
	assert_int_equal(makespan_of_shape(shape, one, false), LATENCY + 8 * 1000);
}

/* The second has one block, and comes when twelve of the first's fifteen are done, or launched. */
static void test_run_of_parts_waits_where_the_policy_says_so(void **state)
{
	static const char two[] =
		HEAD LAUNCH(1, 1, 1) "grid=15x1x1 block=1024x1x1 alone=8000\n" LAUNCH(
			2, 2, 1) "grid=1x1x1 block=1024x1x1 alone=1000 think=6000\n";

	has_to_wait = false;
	assert_int_equal(makespan_in("persistent:0:1", two, true), LATENCY + 8 * 1400);
	has_to_wait = true;
	assert_int_equal(makespan_in("persistent:0:1", two, true), LATENCY + 9 * 1400);
	has_to_wait = false;
}

static void test_run_of_a_policy_that_holds_all_is_forced_on(void **state)
{
	struct gsb_workload l = parse(HEAD LAUNCH(1, 1, 1) HALF "\n" LAUNCH(2, 1, 2) HALF "\n");
	struct gsb_sim_result r;

	run(&l, &policy_nothing, &r);
	assert_int_equal(r.n_forced, 2);
	assert_int_equal(r.makespan_ns, 2 * (LATENCY + 1000));
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
}

/* In between nothing comes or ends. */
static void test_run_decides_when_a_hold_ends(void **state)
{
	static const char two[] = HEAD LAUNCH(1, 1, 1) HALF "\n" LAUNCH(2, 1, 2) HALF "\n";

	release_ns = 300;
	assert_int_equal(makespan(two, &policy_timed), 300 + LATENCY + 1000);
	release_ns = 2 * LATENCY + 1000; /* it has ended before */
	assert_int_equal(makespan(two, &policy_timed), 2 * (LATENCY + 1000));
}

static void test_run_finds_a_hold_until_what_is_past(void **state)
{
	char why[200];

	release_ns = 499;
	assert_int_equal(error_of(HEAD LAUNCH(1, 1, 1) HALF "\n" LAUNCH(2, 2, 1) "think=500 " HALF
										 "\n",
				  &policy_timed, why),
			 -EPROTO);
	assert_string_equal(why, "timed holds number 0 until a time that is past");
}

static void test_run_finds_decisions_that_name_nothing(void **state)
{
	static const char two[] = HEAD LAUNCH(1, 1, 1) HALF "\n" LAUNCH(2, 1, 2) HALF "\n";
	char why[200];

	assert_int_equal(error_of(two, &policy_beyond, why), -EPROTO);
	assert_string_equal(why, "beyond names number 2 of 2");
	assert_int_equal(error_of(two, &policy_twice, why), -EPROTO);
	assert_string_equal(why, "twice names number 0 twice");
}

static void test_run_names_the_launch_that_does_not_fit(void **state)
{
	char why[200];

	assert_int_equal(
		error_of(HEAD LAUNCH(7, 1, 1) "smem=300000 " HALF "\n", &gsb_policy_fifo, why),
		-EINVAL);
	assert_non_null(strstr(why, "serial 7 (k) cannot run on h200"));
}

static void expect_near(double value, double expected)
{
	if (value < expected - 0.001 || value > expected + 0.001)
		fail_msg("%f, expected %f", value, expected);
}

static void test_result_says_how_full_the_gpu_was(void **state)
{
	struct gsb_workload l = parse(HEAD LAUNCH(1, 1, 1) HALF "\n");
	struct gsb_sim_result r;

	run(&l, &gsb_policy_fifo, &r);
	/* half of the threads for 1,000 of 2,500 ns */
	assert_true(r.coresidency > 0.1999 && r.coresidency < 0.2001);
	expect_near(r.unit_ns[GSB_SIM_WARPS], 500);
	expect_near(r.unit_ns[GSB_SIM_ENGINES], 0);
	assert_int_equal(r.n_blocks, 1);
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
}

/* ---- side by side against alone ---- */

static void compare(const struct gsb_workload *l, const struct gsb_policy *policy,
		    struct gsb_sim_comparison *c)
{
	struct gsb_arch arch = one_sm();
	const struct gsb_sim_params p = {.arch = &arch, .policy = policy};
	char why[200];

	if (gsb_sim_compare(l, &p, false, c, why, sizeof(why)))
		fail_msg("%s", why);
}

static void test_compare_of_twins_is_fair_only_if_both_run(void **state)
{
	struct gsb_workload l = parse(HEAD LAUNCH(1, 1, 1) HALF "\n" LAUNCH(2, 2, 1) HALF "\n");
	struct gsb_sim_comparison c;

	compare(&l, &gsb_policy_fifo, &c);
	expect_near(c.figures.speedup, 2);
	expect_near(c.figures.fairness, 1);
	expect_near(c.figures.worst_slowdown, 1);
	expect_near(c.figures.throughput, 2);
	expect_near(c.figures.of_bound, 1);
	gsb_sim_comparison_finish(&c);
	compare(&l, &policy_one, &c);
	expect_near(c.figures.speedup, 1);
	expect_near(c.figures.worst_slowdown, 2);
	expect_near(c.figures.mean_slowdown, 1.5);
	expect_near(c.figures.fairness, 1.5 * 1.5 / (2 * 1.25));
	expect_near(c.figures.of_bound, 0.5);
	gsb_sim_comparison_finish(&c);
	gsb_workload_finish(&l);
}

/* ---- loads that nobody recorded ---- */

static char *text_of(const struct gsb_workload *l)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	gsb_workload_write(to, l);
	fclose(to);
	return text;
}

static char *random_text(uint64_t seed)
{
	const struct gsb_random_load p = {.seed = seed, .n_tenants = 3, .n_kernels = 4};
	struct gsb_workload l;
	char *text;

	assert_int_equal(gsb_workload_random(gsb_arch_find("h200"), &p, &l), 0);
	assert_int_equal(l.n_ops, 3 * (4 + 2));
	text = text_of(&l);
	gsb_workload_finish(&l);
	return text;
}

static void test_random_load_is_a_function_of_its_seed(void **state)
{
	char *a = random_text(1), *b = random_text(1), *c = random_text(2);

	assert_string_equal(a, b);
	assert_string_not_equal(a, c);
	free(a);
	free(b);
	free(c);
}

static void test_random_load_of_impossible_size_is_refused(void **state)
{
	const struct gsb_random_load none = {.n_tenants = 0, .n_kernels = 1},
				     many = {.n_tenants = 65, .n_kernels = 1};
	struct gsb_workload l;

	assert_int_equal(gsb_workload_random(gsb_arch_find("h200"), &none, &l), -EINVAL);
	assert_int_equal(gsb_workload_random(gsb_arch_find("h200"), &many, &l), -EINVAL);
}

/* Every invariant holds, each run repeats, and nobody beats what no order can beat. */
static void check_policy(const struct gsb_workload *l, const struct gsb_policy *policy, bool cold)
{
	const struct gsb_sim_params p = {.arch = gsb_arch_find("h200"), .policy = policy};
	struct gsb_sim_comparison c, again;
	char why[200];

	if (gsb_sim_compare(l, &p, cold, &c, why, sizeof(why)) ||
	    gsb_sim_compare(l, &p, cold, &again, why, sizeof(why)))
		fail_msg("%s: %s", policy->name, why);
	assert_int_equal(c.mix.makespan_ns, again.mix.makespan_ns);
	for (unsigned u = 0; u < GSB_SIM_N_UNITS; u++)
		assert_true((double)c.mix.makespan_ns >= c.mix.unit_ns[u]);
	assert_true(c.figures.fairness > 0 && c.figures.fairness <= 1.000001);
	assert_int_equal(again.mix.n_launches, l->n_kernels);
	gsb_sim_comparison_finish(&again);
	gsb_sim_comparison_finish(&c);
}

static void test_random_loads_run_under_every_policy(void **state)
{
	for (uint64_t seed = 0; seed < N_RANDOM; seed++) {
		const struct gsb_random_load p = {
			.seed = seed, .n_tenants = 1 + seed % 6, .n_kernels = 1 + seed % 5};
		const struct gsb_policy *policy;
		struct gsb_workload l;

		assert_int_equal(gsb_workload_random(gsb_arch_find("h200"), &p, &l), 0);
		for (uint64_t i = 0; (policy = gsb_policy_at(i)); i++)
			check_policy(&l, policy, seed % 2);
		check_policy(&l, &policy_one, seed % 2);
		gsb_workload_finish(&l);
	}
}

static double makespan_of(const struct gsb_workload *l, const struct gsb_policy *policy)
{
	const struct gsb_sim_params p = {.arch = gsb_arch_find("h200"), .policy = policy};
	struct gsb_sim_comparison c;
	char why[200];
	double ns;

	if (gsb_sim_compare(l, &p, false, &c, why, sizeof(why)))
		fail_msg("%s", why);
	ns = (double)c.mix.makespan_ns;
	gsb_sim_comparison_finish(&c);
	return ns;
}

/*
 * Each of these was behind once: a trial outlived its tenants; turns cost more than sharing; turns were taken for what two
 * launches had said; parts, and turns, for what was seen when others were there.
 */
static void test_coreside_is_not_behind_fifo_on_loads_that_repeat(void **state)
{
	static const uint64_t seeds[] = {6, 35, 63, 104, 124, 2, 51};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(seeds); i++) {
		const struct gsb_random_load p = {.seed = seeds[i],
						  .n_tenants = 2 + seeds[i] % 4,
						  .n_kernels = 1,
						  .n_times = 120,
						  .units = true};
		struct gsb_workload l;

		assert_int_equal(gsb_workload_random(gsb_arch_find("h200"), &p, &l), 0);
		assert_true(makespan_of(&l, &gsb_policy_coreside) <=
			    1.01 * makespan_of(&l, &gsb_policy_fifo));
		gsb_workload_finish(&l);
	}
}

/*
 * So were these, with up to eight tenants: the device was given to who fills half of it; lanes and turns were tried for a fairness that
 * nobody would have seen; a trial made the longest wait, or was cheap by chance, or for rounds that a part of the SMs does not do.
 */
static void test_coreside_is_not_behind_fifo_with_up_to_eight_tenants(void **state)
{
	static const uint64_t seeds[] = {199, 206, 266, 433};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(seeds); i++) {
		const struct gsb_random_load p = {.seed = seeds[i],
						  .n_tenants = 2 + seeds[i] % 7,
						  .n_kernels = 1,
						  .n_times = 120,
						  .units = true};
		struct gsb_workload l;

		assert_int_equal(gsb_workload_random(gsb_arch_find("h200"), &p, &l), 0);
		assert_true(makespan_of(&l, &gsb_policy_coreside) <=
			    1.01 * makespan_of(&l, &gsb_policy_fifo));
		gsb_workload_finish(&l);
	}
}

/* What gains much by parts has them, however brief it is. */
static void test_coreside_is_ahead_of_fifo_where_parts_pay(void **state)
{
	const struct gsb_random_load p = {
		.seed = 497, .n_tenants = 2, .n_kernels = 1, .n_times = 120, .units = true};
	struct gsb_workload l;

	assert_int_equal(gsb_workload_random(gsb_arch_find("h200"), &p, &l), 0);
	assert_true(makespan_of(&l, &gsb_policy_coreside) <=
		    0.89 * makespan_of(&l, &gsb_policy_fifo));
	gsb_workload_finish(&l);
}

/* ---- the best order ---- */

static struct gsb_sim_best best_of(const struct gsb_workload *l, const struct gsb_arch *arch)
{
	const struct gsb_sim_params p = {.arch = arch};
	struct gsb_sim_best best;
	char why[200];

	if (gsb_sim_best(l, &p, &best, why, sizeof(why)))
		fail_msg("%s", why);
	return best;
}

static void expect_best(const char *lines, uint64_t about_ns, uint64_t n_orders)
{
	struct gsb_workload l = parse(lines);
	struct gsb_arch arch = one_sm();
	struct gsb_sim_best best = best_of(&l, &arch);

	assert_int_equal(best.n_orders, n_orders);
	assert_in_range(best.makespan_ns, about_ns, about_ns + 4 * LATENCY);
	gsb_workload_finish(&l);
}

#define ONE_PLACE(ns) "grid=1x1x1 block=1024x1x1 alone=" #ns "\n"
#define BOTH(ns)      "grid=2x1x1 block=1024x1x1 alone=" #ns "\n"
#define FOUR_STREAMS  TENANTS STREAMS "stream tenant=2 number=2\n" KERNELS

/* Two places. As they come the long one is third. */
static const char long_last[] = FOUR_STREAMS LAUNCH(1, 1, 1) ONE_PLACE(100000) LAUNCH(2, 1, 2)
	ONE_PLACE(100000) LAUNCH(3, 2, 1) ONE_PLACE(300000) LAUNCH(4, 1, 1) ONE_PLACE(100000);

/* The one that wants both is ready, and better not issued before the last one, which is not. */
static const char wide_second[] = FOUR_STREAMS LAUNCH(1, 1, 1) ONE_PLACE(200000) LAUNCH(2, 1, 2)
	BOTH(100000) LAUNCH(3, 2, 1) ONE_PLACE(100000) LAUNCH(4, 2, 1) ONE_PLACE(100000);

static void test_best_has_the_long_one_first(void **state)
{
	assert_true(makespan(long_last, &gsb_policy_fifo) >= 400000);
	expect_best(long_last, 300000, 12);
}

static void test_best_waits_for_what_will_come(void **state)
{
	assert_true(makespan(wide_second, &gsb_policy_fifo) >= 400000);
	expect_best(wide_second, 300000, 12);
}

/* fifo's order is one of them. */
static void test_best_is_never_behind_fifo(void **state)
{
	const struct gsb_arch *arch = gsb_arch_find("h200");

	for (uint64_t seed = 1; seed <= 12; seed++) {
		const struct gsb_random_load p = {.seed = seed,
						  .n_tenants = 2 + seed % 2,
						  .n_kernels = 4 - 2 * (seed % 2),
						  .units = seed % 3};
		struct gsb_sim_best best;
		struct gsb_workload l;

		assert_int_equal(gsb_workload_random(arch, &p, &l), 0);
		best = best_of(&l, arch);
		assert_true(best.n_orders == gsb_sim_orders(&l));
		assert_int_equal(best.n_orders, seed % 2 ? 90 : 70);
		assert_true((double)best.makespan_ns <= makespan_of(&l, &gsb_policy_fifo));
		gsb_workload_finish(&l);
	}
}

/* ---- kernels that live on a unit, again and again ---- */

#define N_AGAIN	   100
#define LAUNCH_NS  1000000
#define BLOCKS	   (8 * 132 * 4)
#define MEMORY	   "unit=dram want=2700000" /* full with 49 SMs */
#define ARITHMETIC "unit=dense want=950000"

/* What a tenant launches again and again, all of it asked for at the beginning. */
struct loop {
	const char *unit;
	unsigned n, n_blocks, ns;
	unsigned think_ns; /* not 0: each is asked for so long after the one before it has ended */
	unsigned threads;  /* of a block; 0: 256 */
};

/* A tenant for each. */
static struct gsb_workload loops_of(const struct loop *of, unsigned n)
{
	char *text = NULL;
	struct gsb_workload l;
	size_t size = 0;
	unsigned serial = 0;
	FILE *f = open_memstream(&text, &size);

	for (unsigned t = 1; t <= n; t++)
		fprintf(f, "tenant id=%u name=t%u\n", t, t);
	for (unsigned t = 1; t <= n; t++)
		fprintf(f, "stream tenant=%u number=1\n", t);
	for (unsigned t = 1; t <= n; t++)
		fprintf(f, "kernel id=%u tenant=%u name=k%u regs=32 %s\n", t, t, t, of[t - 1].unit);
	for (unsigned t = 1; t <= n; t++)
		for (unsigned i = 0; i < of[t - 1].n; i++) {
			fprintf(f,
				"op serial=%u tenant=%u stream=1 kind=launch kernel=%u grid=%ux1x1 "
				"block=%ux1x1 alone=%u",
				++serial, t, t, of[t - 1].n_blocks,
				of[t - 1].threads ? of[t - 1].threads : 256, of[t - 1].ns);
			if (i && of[t - 1].think_ns)
				fprintf(f, " after=%u think=%u", serial - 1, of[t - 1].think_ns);
			fputc('\n', f);
		}
	fclose(f);
	l = parse(text);
	free(text);
	return l;
}

/* Two that fill the device. */
static struct gsb_workload loops(const char *a, const char *b, unsigned n)
{
	const struct loop of[] = {{a, n, BLOCKS, LAUNCH_NS}, {b, n, BLOCKS, LAUNCH_NS}};

	return loops_of(of, 2);
}

/* Together, against one after the other. The policy has seen nothing before. */
static double speedup_of(const struct loop of[2], const struct gsb_policy *policy, bool resizes)
{
	struct gsb_workload l = loops_of(of, 2);
	struct gsb_sim_params p = {
		.arch = gsb_arch_find("h200"), .policy = policy, .resizes = resizes};
	struct gsb_sim_result r;
	char why[200];
	double x;

	assert_int_equal(gsb_estimates_create(&p.estimates), 0);
	if (gsb_sim_run(&l, &p, &r, why, sizeof(why)))
		fail_msg("%s", why);
	x = ((double)of[0].n * of[0].ns + (double)of[1].n * of[1].ns) / (double)r.makespan_ns;
	gsb_estimates_destroy(p.estimates);
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
	return x;
}

static double speedup(const char *a, const char *b, const struct gsb_policy *policy)
{
	const struct loop of[] = {{a, N_AGAIN, BLOCKS, LAUNCH_NS}, {b, N_AGAIN, BLOCKS, LAUNCH_NS}};

	return speedup_of(of, policy, false);
}

static void test_coreside_parts_memory_from_arithmetic(void **state)
{
	assert_true(speedup(MEMORY, ARITHMETIC, &gsb_policy_fifo) < 1.01);
	assert_true(speedup(MEMORY, ARITHMETIC, &gsb_policy_coreside) > 1.3);
}

static void test_coreside_without_anything_to_gain_is_not_behind(void **state)
{
	assert_true(speedup(ARITHMETIC, ARITHMETIC, &gsb_policy_coreside) > 0.99);
	assert_true(speedup(MEMORY, MEMORY, &gsb_policy_coreside) > 0.99);
}

/* ---- inside the SMs ---- */

#define CHASE  "unit=chain want=2600000"
#define GATHER "unit=l2 want=2200000"
#define SFU    "unit=sfu want=1900000" /* with half of its blocks as fast */
#define FMA    "unit=dense want=1900000"

/* Two of which each keeps the device full for two seconds, where launches may be had with a part of their blocks against where they may not. */
static void inside(const char *a, const char *b, double *with, double *without)
{
	const struct loop of[] = {{a, 600, BLOCKS, 3500000}, {b, 600, BLOCKS, 3500000}};

	*with = speedup_of(of, &gsb_policy_coreside, true);
	*without = speedup_of(of, &gsb_policy_coreside, false);
	printf("    %s beside %s: %.3f inside the SMs, %.3f on parts\n", a, b, *with, *without);
}

static void test_coreside_shares_inside_the_sms_where_units_differ(void **state)
{
	static const char *const pairs[][2] = {{GATHER, FMA}, {CHASE, SFU}, {MEMORY, SFU}};
	double with, without;

	for (unsigned i = 0; i < GSB_ARRAY_LEN(pairs); i++) {
		inside(pairs[i][0], pairs[i][1], &with, &without);
		assert_true(with >= 1.8);
		assert_true(without < 1.5);
	}
}

/* Arithmetic starves who reads the memory, and the L1 who reads the L2: it is tried, and left. */
static void test_coreside_leaves_the_sms_where_that_loses(void **state)
{
	static const char *const pairs[][2] = {
		{MEMORY, FMA}, {MEMORY, ARITHMETIC}, {GATHER, "unit=l1 want=1900000"}};
	double with, without;

	for (unsigned i = 0; i < GSB_ARRAY_LEN(pairs); i++) {
		inside(pairs[i][0], pairs[i][1], &with, &without);
		assert_true(with != without); /* it was tried, */
		assert_true(with > 0.99 * without);
		assert_true(with > 1.25);
	}
}

/* Nothing else becomes of those that want the same unit, nor of what is brief. */
static void test_coreside_tries_nothing_inside_the_sms_for_one_unit(void **state)
{
	const struct loop brief[] = {{GATHER, 50, BLOCKS, 3500000}, {FMA, 50, BLOCKS, 3500000}};
	double with, without;

	inside(SFU, SFU, &with, &without);
	assert_true(with == without);
	inside(MEMORY, MEMORY, &with, &without);
	assert_true(with == without);
	assert_true(speedup_of(brief, &gsb_policy_coreside, true) ==
		    speedup_of(brief, &gsb_policy_coreside, false));
}

/* Until the first of them ends, each against alone. Launches may be had in every shape, and the policy has seen nothing before. */
static void speeds_beside(const struct loop of[2], const uint32_t weights[2], double speeds[2])
{
	struct gsb_workload l = loops_of(of, 2);
	struct gsb_sim_params p = {.arch = gsb_arch_find("h200"),
				   .policy = &gsb_policy_coreside,
				   .weights = weights,
				   .resizes = true};
	struct gsb_sim_result r;
	unsigned last;
	double end;
	char why[200];

	assert_int_equal(gsb_estimates_create(&p.estimates), 0);
	if (gsb_sim_run(&l, &p, &r, why, sizeof(why)))
		fail_msg("%s", why);
	last = r.tenants[1].end_ns > r.tenants[0].end_ns;
	end = (double)r.tenants[!last].end_ns;
	for (unsigned i = 0; i < 2; i++)
		speeds[i] = (double)of[i].n * of[i].ns / end;
	speeds[last] -= ((double)r.tenants[last].end_ns - end) / end; /* by itself */
	gsb_estimates_destroy(p.estimates);
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
}

/* Who has three times the other's weight is owed three quarters, and who has a third of it a quarter: both have more there. */
static void test_sharing_inside_the_sms_holds_weights(void **state)
{
	static const char *const pairs[][2] = {{GATHER, FMA}, {CHASE, SFU}, {MEMORY, SFU}};
	static const uint32_t weights[][2] = {{100, 300}, {300, 100}};
	double speeds[2];

	for (unsigned i = 0; i < GSB_ARRAY_LEN(pairs); i++)
		for (unsigned k = 0; k < 2; k++) {
			const struct loop of[] = {{pairs[i][0], 600, BLOCKS, 3500000},
						  {pairs[i][1], 600, BLOCKS, 3500000}};

			speeds_beside(of, weights[k], speeds);
			printf("    %s beside %s, weights %u to %u: %.3f and %.3f\n", of[0].unit,
			       of[1].unit, weights[k][0], weights[k][1], speeds[0], speeds[1]);
			assert_true(speeds[0] > 0.7 && speeds[1] > 0.7);
			assert_true(speeds[k ? 0 : 1] > 0.75);
		}
}

/* ---- weights ---- */

#define ROUNDS(n) ((n)*132 * 8) /* blocks; ALU kernels of 32 registers have 8 an SM */

/* Speeds until the second ends, each against alone: the first does the rest by itself. The policy has seen nothing before. */
static void speeds_of(const struct loop of[2], const uint32_t weights[2], double speeds[2])
{
	struct gsb_workload l = loops_of(of, 2);
	struct gsb_sim_params p = {
		.arch = gsb_arch_find("h200"), .policy = &gsb_policy_coreside, .weights = weights};
	struct gsb_sim_result r;
	double left, end;
	char why[200];

	assert_int_equal(gsb_estimates_create(&p.estimates), 0);
	if (gsb_sim_run(&l, &p, &r, why, sizeof(why)))
		fail_msg("%s", why);
	end = (double)r.tenants[1].end_ns;
	assert_true(end < (double)r.tenants[0].end_ns);
	left = (double)r.tenants[0].end_ns - end;
	speeds[0] = ((double)of[0].n * of[0].ns - left) / end;
	speeds[1] = (double)of[1].n * of[1].ns / end;
	gsb_estimates_destroy(p.estimates);
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
}

static void expect_shares(const struct loop of[2], uint32_t weight)
{
	const uint32_t weights[] = {100, weight};
	double share = 100.0 / (100 + weight), speeds[2];

	speeds_of(of, weights, speeds);
	assert_true(speeds[0] > 0.9 * share && speeds[0] < 1.1 * share);
	assert_true(speeds[1] > 0.9 * (1 - share) && speeds[1] < 1.1 * (1 - share));
	assert_true(speeds[0] + speeds[1] >= 0.95);
}

/* Two of a kind, with grids of many rounds and of few, which a part of the SMs would slow by more than its share. */
static void test_coreside_holds_weights_of_two_of_a_kind(void **state)
{
	for (unsigned rounds = 1; rounds <= 4; rounds *= 2) {
		const struct loop of[] = {{ARITHMETIC, 160, ROUNDS(rounds), 3000000},
					  {ARITHMETIC, 155, ROUNDS(rounds), 3000000}};

		expect_shares(of, 300);
		expect_shares(of, 100);
	}
}

/* A launch of one is as long as ten of the other, and both are due half of the time. */
static void test_coreside_shares_by_time_not_by_launches(void **state)
{
	const struct loop of[] = {{ARITHMETIC, 70, ROUNDS(2), 15000000},
				  {ARITHMETIC, 550, ROUNDS(2), 1500000}};

	expect_shares(of, 100);
}

/* Long launches of one round, which halves of the SMs would make three: under fifo the other has a twentieth. */
static void test_coreside_does_not_starve_short_launches_beside_long_ones(void **state)
{
	const struct loop of[] = {{ARITHMETIC, 60, ROUNDS(1), 60000000},
				  {ARITHMETIC, 800, ROUNDS(2), 3500000}};

	expect_shares(of, 100);
}

/* Too long to wait for: then on parts. */
static void test_coreside_holds_weights_of_long_launches_by_parts(void **state)
{
	const struct loop of[] = {{ARITHMETIC, 120, ROUNDS(8), 120000000},
				  {ARITHMETIC, 115, ROUNDS(8), 120000000}};

	expect_shares(of, 300);
}

/* Each has work by its weight, so all end together if their shares are held; and nothing is lost. */
static void expect_end_together(unsigned n)
{
	const uint32_t weights[] = {100, 300, 100, 200, 100, 400, 100, 100};
	struct loop of[GSB_ARRAY_LEN(weights)];
	struct gsb_sim_params p = {
		.arch = gsb_arch_find("h200"), .policy = &gsb_policy_coreside, .weights = weights};
	uint64_t work_ns = 0, least = UINT64_MAX;
	struct gsb_sim_result r;
	struct gsb_workload l;
	char why[200];

	for (unsigned i = 0; i < n; i++) {
		of[i] = (struct loop){ARITHMETIC, weights[i], ROUNDS(1), 2000000};
		work_ns += (uint64_t)of[i].n * of[i].ns;
	}
	l = loops_of(of, n);
	assert_int_equal(gsb_estimates_create(&p.estimates), 0);
	if (gsb_sim_run(&l, &p, &r, why, sizeof(why)))
		fail_msg("%s", why);
	for (unsigned i = 0; i < n; i++)
		least = r.tenants[i].end_ns < least ? r.tenants[i].end_ns : least;
	assert_true((double)r.makespan_ns <= 1.03 * (double)work_ns);
	assert_true((double)least >= 0.9 * (double)r.makespan_ns);
	gsb_estimates_destroy(p.estimates);
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
}

static void test_coreside_holds_weights_of_many(void **state)
{
	expect_end_together(3);
	expect_end_together(4);
	expect_end_together(8);
}

/* ---- limits of slowdown ---- */

/* How many times as long each takes as alone, without what it thinks. Under coreside, which has seen nothing before. */
static void slowdowns_of(const struct loop *of, unsigned n, const uint32_t *percents,
			 double *slowdowns)
{
	struct gsb_workload l = loops_of(of, n);
	struct gsb_sim_params p = {.arch = gsb_arch_find("h200"),
				   .policy = &gsb_policy_coreside,
				   .slowdown_percents = percents};
	struct gsb_sim_result r;
	char why[200];

	assert_int_equal(gsb_estimates_create(&p.estimates), 0);
	if (gsb_sim_run(&l, &p, &r, why, sizeof(why)))
		fail_msg("%s", why);
	for (unsigned i = 0; i < n; i++)
		slowdowns[i] = ((double)r.tenants[i].end_ns - (double)of[i].n * of[i].think_ns) /
			       ((double)of[i].n * of[i].ns);
	gsb_estimates_destroy(p.estimates);
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
}

/* Most of a minute beside others of all kinds. Without a limit it would take more than four times as long as alone. */
static void test_coreside_holds_a_limit_of_slowdown(void **state)
{
	static const uint32_t percents[][4] = {{0}, {20}, {50}, {100}};
	const struct loop of[] = {{ARITHMETIC, 1200, ROUNDS(1), 25000000},
				  {ARITHMETIC, 1000, ROUNDS(1), 50000000},
				  {MEMORY, 1500, ROUNDS(1), 40000000},
				  {ARITHMETIC, 1500, 132, 40000000}};
	double slowdowns[4];

	for (unsigned i = 0; i < GSB_ARRAY_LEN(percents); i++) {
		double limit = 1 + percents[i][0] / 100.0;

		slowdowns_of(of, 4, percents[i], slowdowns);
		if (i)
			assert_true(slowdowns[0] > 0.95 * limit && slowdowns[0] < 1.05 * limit);
		else
			assert_true(slowdowns[0] > 4);
	}
}

/* One launch at a time, each sixth of the length of the others': those find it gone and the device idle. */
static void test_coreside_holds_a_limit_of_who_asks_for_one_at_a_time(void **state)
{
	static const uint32_t none[3], twice[] = {100, 0, 0};
	const struct loop of[] = {{ARITHMETIC, 1500, ROUNDS(1), 3000000, 30000},
				  {ARITHMETIC, 600, ROUNDS(1), 18000000},
				  {ARITHMETIC, 600, ROUNDS(1), 18000000}};
	double slowdowns[3];

	slowdowns_of(of, 3, none, slowdowns);
	assert_true(slowdowns[0] > 4);
	slowdowns_of(of, 3, twice, slowdowns);
	assert_true(slowdowns[0] < 2.1);
}

/* Both, where both can be; else the one is missed as far as the other. */
static void test_coreside_misses_limits_alike(void **state)
{
	static const uint32_t fits[] = {100, 200, 0}, too_much[] = {20, 50, 0};
	const struct loop of[] = {{ARITHMETIC, 600, ROUNDS(1), 25000000},
				  {ARITHMETIC, 480, ROUNDS(1), 25000000},
				  {ARITHMETIC, 800, ROUNDS(1), 50000000}};
	double slowdowns[3], first, second;

	slowdowns_of(of, 3, fits, slowdowns);
	assert_true(slowdowns[0] < 2.1 && slowdowns[1] < 3.1);
	slowdowns_of(of, 3, too_much, slowdowns);
	first = slowdowns[0] / 1.2;
	second = slowdowns[1] / 1.5;
	assert_true(first > 1.1 && first < 1.1 * second && second < 1.1 * first);
}

/* ---- deadlines ---- */

#define N_SMALL	    60
#define DEADLINE_NS 45000000

/* The longest that a launch of a tenant took which has next to no share, beside two that take turns; in ms. */
static double longest_of_small(const uint64_t *deadlines_ns, double *makespan_ms)
{
	static const uint32_t weights[] = {100, 100, 1};
	static uint64_t took_ns[2 * 160 + N_SMALL];
	const struct loop of[] = {{ARITHMETIC, 160, ROUNDS(1), 17500000},
				  {ARITHMETIC, 160, ROUNDS(1), 17500000},
				  {ARITHMETIC, N_SMALL, ROUNDS(1), 3500000, 10000000}};
	struct gsb_workload l = loops_of(of, 3);
	struct gsb_sim_params p = {.arch = gsb_arch_find("h200"),
				   .policy = &gsb_policy_coreside,
				   .weights = weights,
				   .deadlines_ns = deadlines_ns,
				   .took_ns = took_ns};
	struct gsb_sim_result r;
	uint64_t longest = 0;
	char why[200];

	assert_int_equal(gsb_estimates_create(&p.estimates), 0);
	if (gsb_sim_run(&l, &p, &r, why, sizeof(why)))
		fail_msg("%s", why);
	for (unsigned i = N_SMALL / 2; i < N_SMALL; i++) /* when turns have begun */
		if (took_ns[2 * 160 + i] > longest)
			longest = took_ns[2 * 160 + i];
	*makespan_ms = (double)r.makespan_ns / 1e6;
	gsb_estimates_destroy(p.estimates);
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
	return (double)longest / 1e6;
}

static void test_coreside_keeps_a_deadline_that_shares_would_not(void **state)
{
	const uint64_t deadlines_ns[] = {0, 0, DEADLINE_NS};
	double all, all_in_time, without = longest_of_small(NULL, &all),
				 with = longest_of_small(deadlines_ns, &all_in_time);

	printf("    without a deadline %.1f ms at most, of %.0f; with one of %.0f %.1f, of %.0f\n",
	       without, all, DEADLINE_NS / 1e6, with, all_in_time);
	assert_true(without > 1.3 * DEADLINE_NS / 1e6);
	assert_true(with <= DEADLINE_NS / 1e6);
	assert_true(all_in_time <= 1.02 * all);
}

/* ---- nobody starves ---- */

#define SECOND	  1000000000ull
#define N_SAMPLES 200000
#define N_SEEN	  12 /* tenants */

/* How many launches of each tenant had ended whenever the policy was asked. */
static struct {
	const struct gsb_policy *policy;
	unsigned n, n_claims;
	uint64_t now_ns[N_SAMPLES], n_done[N_SAMPLES][N_SEEN];
} seen;

static unsigned watch(const struct gsb_view *v, struct gsb_policy_area *area,
		      struct gsb_decision *out)
{
	if (seen.n < N_SAMPLES && v->n_claims == seen.n_claims) {
		seen.now_ns[seen.n] = v->now_ns;
		for (unsigned i = 0; i < v->n_claims; i++)
			seen.n_done[seen.n][i] = v->claims[i]->n_issued - v->claims[i]->n_running;
		seen.n++;
	}
	return seen.policy->decide(v, area, out);
}

/* Together, against one after the other, as long as all are there. */
static double sum_of_speeds(const struct loop *of)
{
	double sum = 0;

	for (unsigned i = 0; i < seen.n_claims; i++)
		sum += (double)seen.n_done[seen.n - 1][i] * of[i].ns;
	return sum / (double)seen.now_ns[seen.n - 1];
}

/* The least that anybody got done over a second, while all were there, of its share of what it does alone. */
static double least_share(const struct loop *of)
{
	const double fair = (double)SECOND / seen.n_claims;
	double least = INFINITY;

	for (unsigned from = 0, to = 0; from < seen.n; from++) {
		while (to < seen.n && seen.now_ns[to] < seen.now_ns[from] + SECOND)
			to++;
		for (unsigned i = 0; to < seen.n && i < seen.n_claims; i++)
			least = fmin(least, (double)(seen.n_done[to][i] - seen.n_done[from][i]) *
						    of[i].ns / fair);
	}
	return least;
}

static void watch_loops(const struct loop *of, unsigned n, const struct gsb_policy *under,
			const uint32_t *weights)
{
	static const struct gsb_policy policy = {
		.name = "watched", .predicts = true, .runs = true, .decide = watch};
	struct gsb_sim_params p = {
		.arch = gsb_arch_find("h200"), .policy = &policy, .weights = weights};
	struct gsb_workload l = loops_of(of, n);
	struct gsb_sim_result r;
	char why[200];

	seen.policy = under;
	seen.n = 0;
	seen.n_claims = n;
	assert_int_equal(gsb_estimates_create(&p.estimates), 0);
	if (gsb_sim_run(&l, &p, &r, why, sizeof(why)))
		fail_msg("%s", why);
	assert_true(r.makespan_ns > 2 * SECOND && seen.n < N_SAMPLES);
	gsb_estimates_destroy(p.estimates);
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
}

static double least_share_of(const struct loop *of, unsigned n, const struct gsb_policy *under)
{
	watch_loops(of, n, under, NULL);
	return least_share(of);
}

/* Kernels on all SMs that never wait, one behind the other for seconds; the longer the launch the more fifo gives it. */
static void test_coreside_leaves_everybody_half_of_its_share_over_any_second(void **state)
{
	const struct loop two[] = {{ARITHMETIC, 40, ROUNDS(1), 60000000},
				   {ARITHMETIC, 600, ROUNDS(2), 3500000}};
	const struct loop three[] = {{ARITHMETIC, 40, ROUNDS(1), 50000000},
				     {ARITHMETIC, 500, ROUNDS(4), 4000000},
				     {"unit=sfu want=950000", 1500, ROUNDS(2), 1200000}};
	const struct loop four[] = {{ARITHMETIC, 45, ROUNDS(1), 50000000},
				    {ARITHMETIC, 500, ROUNDS(4), 4000000},
				    {ARITHMETIC, 1500, ROUNDS(2), 1000000},
				    {"unit=shared want=950000", 700, ROUNDS(1), 2000000}};

	assert_true(least_share_of(two, 2, &gsb_policy_fifo) < 0.2);
	assert_true(least_share_of(two, 2, &gsb_policy_coreside) >= 0.5);
	assert_true(least_share_of(three, 3, &gsb_policy_coreside) >= 0.5);
	assert_true(least_share_of(four, 4, &gsb_policy_coreside) >= 0.5);
}

/* Turns would cost all together too much here, and long launches leave short ones little. */
static void test_coreside_leaves_everybody_half_where_sharing_pays(void **state)
{
	const struct loop three[] = {{MEMORY, 300, ROUNDS(1), 17500000},
				     {ARITHMETIC, 300, ROUNDS(1), 17500000},
				     {"unit=shared want=950000", 3000, ROUNDS(8), 700000}};
	const struct loop four[] = {{MEMORY, 150, ROUNDS(2), 17500000},
				    {ARITHMETIC, 150, ROUNDS(2), 17500000},
				    {"unit=sfu want=950000", 150, ROUNDS(2), 17500000},
				    {"unit=shared want=950000", 3000, ROUNDS(4), 300000}};

	assert_true(least_share_of(three, 3, &gsb_policy_fifo) < 0.1);
	assert_true(least_share_of(three, 3, &gsb_policy_coreside) >= 0.5);
	assert_true(least_share_of(four, 4, &gsb_policy_fifo) < 0.1);
	assert_true(least_share_of(four, 4, &gsb_policy_coreside) >= 0.5);
}

/* ---- who beside whom ---- */

#define RANDOM	"unit=l2 want=2200000"
#define CHAIN	"unit=chain want=2600000"
#define SPECIAL "unit=sfu want=950000"
#define SHARED	"unit=shared want=950000"
#define NEAR	"unit=l1 want=950000"

#define WIDE_ROUNDS(n) ((n)*132 * 2) /* of blocks of 1,024 threads */

/* Launches of 3.5 ms; a tenant does for so long what each of the units is for. */
static void mix_of(struct loop *of, const char *const *units, unsigned n, double seconds,
		   unsigned rounds)
{
	for (unsigned i = 0; i < n; i++)
		of[i] = (struct loop){.unit = units[i],
				      .n = (unsigned)(seconds * 1e9 / 3500000),
				      .n_blocks = WIDE_ROUNDS(rounds),
				      .ns = 3500000,
				      .threads = 1024};
}

static uint32_t part_n;

static unsigned on_the_first_sms(const struct gsb_view *v, struct gsb_policy_area *area,
				 struct gsb_decision *out)
{
	out[0] = (struct gsb_decision){.sms = {part_n % 8 ? 132 - part_n : 0, part_n}};
	return 1;
}

/* On so many SMs of its own, against alone. */
static double speed_on_part(const struct loop *of, uint32_t n)
{
	static const struct gsb_policy policy = {.name = "part", .decide = on_the_first_sms};
	const struct gsb_sim_params p = {.arch = gsb_arch_find("h200"), .policy = &policy};
	struct loop once = *of;
	struct gsb_workload l;
	struct gsb_sim_result r;
	char why[200];
	double speed;

	once.n = 1;
	part_n = n;
	l = loops_of(&once, 1);
	assert_int_equal(gsb_sim_run(&l, &p, &r, why, sizeof(why)), 0);
	speed = (double)once.ns / (double)(r.makespan_ns - LATENCY);
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
	return speed;
}

static bool lives_on_memory(const struct loop *l)
{
	return l->unit[5] == 'd' ? l->unit[6] == 'r' : l->unit[6] == '2' || l->unit[5] == 'c';
}

/* The speeds of two on the split whose product is largest. Two of the memory have what one has. */
static double best_pair(const struct loop *a, const struct loop *b)
{
	double best = 0.25, sum = 1;

	if (lives_on_memory(a) == lives_on_memory(b))
		return 1;
	if (lives_on_memory(b))
		return best_pair(b, a);
	for (uint32_t n = 8; n <= 96; n += 8) {
		double x = speed_on_part(a, n), y = speed_on_part(b, 132 - n);

		if (x * y <= best)
			continue;
		best = x * y;
		sum = x + y;
	}
	return sum;
}

/* The best of all matchings of those that are not in @taken, all pairs in turn: the sum of what its pairs have. */
static double best_matching(double pairs[N_SEEN][N_SEEN], unsigned n, unsigned taken)
{
	double best = 0;
	unsigned i = 0;

	while (taken >> i & 1)
		i++;
	for (unsigned j = i + 1; i < n && j < n; j++)
		if (!(taken >> j & 1))
			best = fmax(best, pairs[i][j] + best_matching(pairs, n,
								      taken | 1u << i | 1u << j));
	return best;
}

static double best_matching_of(const struct loop *of, unsigned n)
{
	double pairs[N_SEEN][N_SEEN];

	for (unsigned i = 0; i < n; i++)
		for (unsigned j = i + 1; j < n; j++)
			pairs[i][j] = best_pair(&of[i], &of[j]);
	return best_matching(pairs, n, 0) / (n / 2);
}

/* One of four lives on the memory: it has most of that, and nobody else less than without. */
static void test_coreside_puts_memory_beside_three_others(void **state)
{
	static const char *const units[] = {SHARED, SPECIAL, ARITHMETIC, MEMORY};
	struct loop of[4];

	mix_of(of, units, 4, 2, 32);
	watch_loops(of, 4, &gsb_policy_fifo, NULL);
	assert_true(sum_of_speeds(of) < 1.01);
	watch_loops(of, 4, &gsb_policy_coreside, NULL);
	printf("    4 tenants: %.3f in sum, least share %.2f\n", sum_of_speeds(of),
	       least_share(of));
	assert_true(sum_of_speeds(of) > 1.3 && least_share(of) >= 0.9);
}

static void expect_no_worse_than_matching(const char *const *units, unsigned n, unsigned rounds)
{
	struct loop of[N_SEEN];
	double matching;

	mix_of(of, units, n, 24.0 / n, rounds);
	matching = best_matching_of(of, n);
	watch_loops(of, n, &gsb_policy_coreside, NULL);
	printf("    %u tenants: %.3f in sum, the best matching of pairs %.3f, least share %.2f\n",
	       n, sum_of_speeds(of), matching, least_share(of));
	assert_true(sum_of_speeds(of) >= 0.98 * matching && least_share(of) >= 0.5);
}

/* Of eight and of twelve, with all that has to be learnt, where half, a quarter and five of twelve live on the memory. Where few do, the others' lane is wide, and few rounds fill it badly. */
static void test_coreside_is_no_worse_than_the_best_matching_of_pairs(void **state)
{
	static const char *const half[] = {MEMORY,     MEMORY,	CHAIN,	CHAIN,
					   ARITHMETIC, SPECIAL, SHARED, NEAR},
				 *const few[] = {ARITHMETIC, MEMORY,  SPECIAL, SHARED,
						 RANDOM,     SPECIAL, NEAR,    ARITHMETIC},
				 *const twelve[] = {MEMORY, SPECIAL, SHARED,	 RANDOM,
						    NEAR,   CHAIN,   ARITHMETIC, SHARED,
						    CHAIN,  SPECIAL, MEMORY,	 NEAR};

	expect_no_worse_than_matching(half, 8, 16);
	expect_no_worse_than_matching(few, 8, 32);
	expect_no_worse_than_matching(twelve, 12, 16);
}

/* In each lane those of unlike weight have one and three; and nobody has less than his share of the whole. */
static void test_coreside_holds_weights_in_lanes(void **state)
{
	static const char *const units[] = {MEMORY, CHAIN, ARITHMETIC, SPECIAL};
	static const uint32_t weights[] = {100, 300, 100, 300};
	struct loop of[4];
	double done[4];

	mix_of(of, units, 4, 3, 16);
	watch_loops(of, 4, &gsb_policy_coreside, weights);
	assert_true(sum_of_speeds(of) > 1.3);
	for (unsigned i = 0; i < 4; i++) {
		done[i] = (double)seen.n_done[seen.n - 1][i] * of[i].ns /
			  (double)seen.now_ns[seen.n - 1];
		assert_true(done[i] >= 0.9 * weights[i] / 800);
	}
	for (unsigned i = 0; i < 4; i += 2)
		assert_true(done[i + 1] > 0.9 * 3 * done[i] && done[i + 1] < 1.1 * 3 * done[i]);
}

/* ---- a critical tenant ---- */

/* A batch that fills the device, and who asks three times for a tenth of a millisecond: at once, 20 ms later, and 280 ms after that. */
static struct gsb_workload batch_and_critical(uint32_t n_batch, uint32_t n_blocks)
{
	char *text = NULL;
	struct gsb_workload l;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	fprintf(f, "tenant id=1 name=batch\ntenant id=2 name=critical\n"
		   "stream tenant=1 number=1\nstream tenant=2 number=1\n"
		   "kernel id=1 tenant=1 name=a regs=32 " ARITHMETIC "\n"
		   "kernel id=2 tenant=2 name=b regs=32 " ARITHMETIC "\n");
	for (uint32_t i = 1; i <= n_batch; i++)
		fprintf(f,
			"op serial=%u tenant=1 stream=1 kind=launch kernel=1 grid=%ux1x1 "
			"block=256x1x1 alone=2000000\n",
			i, (uint32_t)ROUNDS(4));
	for (uint32_t i = 0; i < 3; i++) {
		fprintf(f,
			"op serial=%u tenant=2 stream=1 kind=launch kernel=2 grid=%ux1x1 "
			"block=256x1x1 alone=100000",
			n_batch + 1 + i, n_blocks);
		if (i)
			fprintf(f, " after=%u think=%u", n_batch + i,
				i == 1 ? 20000000u : 280000000u);
		fputc('\n', f);
	}
	fclose(f);
	l = parse(text);
	free(text);
	return l;
}

static void run_critical(uint32_t n_batch, uint32_t n_blocks, const struct gsb_policy *policy,
			 uint64_t *batch_ns, uint64_t *end_ns, uint64_t *queued_ns)
{
	struct gsb_workload l = batch_and_critical(n_batch, n_blocks);
	struct gsb_sim_params p = {.arch = gsb_arch_find("h200"), .policy = policy, .critical = 2};
	struct gsb_sim_result r;
	char why[200];

	assert_int_equal(gsb_estimates_create(&p.estimates), 0);
	if (gsb_sim_run(&l, &p, &r, why, sizeof(why)))
		fail_msg("%s", why);
	*batch_ns = r.tenants[0].end_ns;
	*end_ns = r.tenants[1].end_ns;
	*queued_ns = r.tenants[1].queued_ns;
	gsb_estimates_destroy(p.estimates);
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
}

/* A batch's launch is five rounds for four while SMs are kept free, so the difference is seen. */
static void test_priority_gives_the_reserved_sms_back_and_keeps_them_free_meanwhile(void **state)
{
	uint64_t batch_ns, end_ns, queued_ns;

	run_critical(240, 16 * 8, &gsb_policy_priority, &batch_ns, &end_ns, &queued_ns);
	assert_in_range(batch_ns, 480000000, 480000000 * 1.12);
	assert_true(queued_ns <
		    700000); /* once, when they had been given back: a block of the batch */
	run_critical(240, 16 * 8, &gsb_policy_coreside, &batch_ns, &end_ns, &queued_ns);
	assert_true(queued_ns > 1500000);
}

/* On the SMs that are kept free it would take nine rounds. */
static void test_priority_lets_the_critical_tenant_have_all_that_is_free(void **state)
{
	uint64_t batch_ns, end_ns, queued_ns;

	run_critical(1, ROUNDS(1), &gsb_policy_priority, &batch_ns, &end_ns, &queued_ns);
	assert_in_range(end_ns, 300000000, 300000000 + 100000 + 2 * 200000);
}

/* Four of all kinds with launches of 2 ms in blocks of @block_us, and a critical tenant that asks for 90 us of the device a millisecond. */
#define N_ANSWERS    340
#define N_OF_BATCH   35
#define PLACES_WIDE  (2 * 132) /* for blocks of 1,024 threads */
#define BATCH_NS     2000000
#define ALL_BATCH_NS (4.0 * N_OF_BATCH * BATCH_NS)

struct critical_load {
	double block_us;
	uint32_t n_blocks; /* of a critical launch, one round */
	uint32_t n_answers;
	bool alike;		   /* the batch is of one kind, arithmetic */
	uint32_t reserved_percent; /* as struct gsb_sim_params has it */
};

static struct gsb_workload four_and_critical(const struct critical_load *c)
{
	static const char *const units[] = {MEMORY, ARITHMETIC, "unit=shared want=950000",
					    "unit=sfu want=950000", "unit=shared want=950000"};
	char *text = NULL;
	struct gsb_workload l;
	size_t size = 0;
	unsigned serial = 0;
	FILE *f = open_memstream(&text, &size);

	for (unsigned t = 1; t <= 5; t++)
		fprintf(f, "tenant id=%u name=t%u\n", t, t);
	for (unsigned t = 1; t <= 5; t++)
		fprintf(f, "stream tenant=%u number=1\n", t);
	for (unsigned t = 1; t <= 5; t++)
		fprintf(f, "kernel id=%u tenant=%u name=k%u regs=32 %s\n", t, t, t,
			c->alike && t < 5 ? ARITHMETIC : units[t - 1]);
	for (unsigned i = 0; i < 4 * N_OF_BATCH; i++) {
		unsigned t = 1 + i / N_OF_BATCH;

		fprintf(f,
			"op serial=%u tenant=%u stream=1 kind=launch kernel=%u grid=%ux1x1 "
			"block=1024x1x1 alone=%d\n",
			++serial, t, t, (unsigned)(BATCH_NS / c->block_us / 1000) * PLACES_WIDE,
			BATCH_NS);
	}
	for (unsigned i = 0; i < c->n_answers; i++) {
		fprintf(f,
			"op serial=%u tenant=5 stream=1 kind=launch kernel=5 grid=%ux1x1 "
			"block=1024x1x1 alone=90000",
			++serial, c->n_blocks);
		fprintf(f, i ? " after=%u think=1000000\n" : "\n", serial - 1);
	}
	fclose(f);
	l = parse(text);
	free(text);
	return l;
}

struct critical_outcome {
	double batch;		  /* its speed, against with nobody else */
	double median_us, p99_us; /* answers */
};

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct critical_outcome run_four(const struct critical_load *c, bool resizes)
{
	static uint64_t took_ns[4 * N_OF_BATCH + 2 * N_ANSWERS];
	struct gsb_workload l = four_and_critical(c);
	struct gsb_sim_params p = {.arch = gsb_arch_find("h200"),
				   .policy = &gsb_policy_priority,
				   .critical = 5,
				   .reserved_percent = c->reserved_percent,
				   .critical_wait_ns = 50000,
				   .resizes = resizes,
				   .took_ns = took_ns};
	struct critical_outcome out = {0};
	uint64_t *answers = took_ns + 4 * N_OF_BATCH, end_ns = 0;
	struct gsb_sim_result r;
	char why[200];

	assert_int_equal(gsb_estimates_create(&p.estimates), 0);
	if (gsb_sim_run(&l, &p, &r, why, sizeof(why)))
		fail_msg("%s", why);
	for (unsigned i = 0; i < 4; i++)
		end_ns = r.tenants[i].end_ns > end_ns ? r.tenants[i].end_ns : end_ns;
	assert_true(!c->n_answers || r.tenants[4].end_ns > end_ns);
	qsort(answers, c->n_answers, sizeof(*answers), by_time);
	out.batch = ALL_BATCH_NS / (double)end_ns;
	out.median_us = (double)answers[c->n_answers / 2] / 1e3;
	out.p99_us = (double)answers[c->n_answers * 99 / 100] / 1e3;
	printf("    %s in blocks of %.0f us, %s, %u blocks of the critical tenant's: batch %.3f, answers %.1f us "
	       "(%.1f)\n",
	       c->alike ? "one kind" : "four kinds", c->block_us, resizes ? "in parts" : "whole",
	       c->n_blocks, out.batch, out.median_us, out.p99_us);
	gsb_estimates_destroy(p.estimates);
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
	return out;
}

#define ALONE_US 91.5 /* with what a launch costs */

/* Blocks make room for a critical kernel one by one in any case. But SMs need not be kept free of what goes in parts, and so the batch has more of them. */
static void test_priority_in_parts_leaves_the_batch_more_and_answers_in_time(void **state)
{
	const struct critical_load loads[] = {{12, PLACES_WIDE, N_ANSWERS, false},
					      {12, PLACES_WIDE, N_ANSWERS, true},
					      {12, PLACES_WIDE / 4, N_ANSWERS, false},
					      {20, PLACES_WIDE, N_ANSWERS, false},
					      {20, PLACES_WIDE, N_ANSWERS, true}};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(loads); i++) {
		struct critical_outcome whole = run_four(&loads[i], false),
					parts = run_four(&loads[i], true);

		assert_true(parts.batch >= 0.88 && parts.batch > whole.batch + 0.02);
		assert_true(parts.p99_us <= ALONE_US + loads[i].block_us + 1);
		assert_true(loads[i].block_us > 12 || parts.p99_us <= 1.15 * ALONE_US);
		assert_true(loads[i].n_blocks < PLACES_WIDE || whole.batch < 0.85);
	}
}

/* Parts of one block each would last longer than anybody is to wait: so all is as it was. */
static void test_priority_leaves_what_has_long_blocks_as_it_was(void **state)
{
	const struct critical_load load = {400, PLACES_WIDE, N_ANSWERS, false};
	struct critical_outcome whole = run_four(&load, false), parts = run_four(&load, true);

	assert_true(whole.batch == parts.batch && whole.median_us == parts.median_us &&
		    whole.p99_us == parts.p99_us);
	assert_true(whole.p99_us > 3 * ALONE_US);
}

/* Where there is a place for each of its blocks at once, it waits for nobody's, however long they are; and the batch has what is left. */
static void test_priority_answers_in_time_where_sms_are_kept_free_for_all_blocks(void **state)
{
	struct critical_load load = {400, PLACES_WIDE / 4, 2 * N_ANSWERS, false, 0};
	struct critical_outcome few = run_four(&load, false), half;

	load.reserved_percent = 50;
	half = run_four(&load, false);
	assert_true(few.p99_us > 2 * ALONE_US);
	assert_true(half.p99_us <= 1.05 * ALONE_US);
	assert_true(half.batch < few.batch - 0.2 && half.batch > 0.45);
}

static void test_priority_is_what_it_was_where_nobody_is_critical(void **state)
{
	const struct critical_load load = {12, PLACES_WIDE, 0, false};

	assert_true(run_four(&load, false).batch == run_four(&load, true).batch);
}

/* On 48 SMs of 132 as fast as on all: so a part of them has a knee. */
static unsigned on_48_sms(const struct gsb_view *v, struct gsb_policy_area *area,
			  struct gsb_decision *out)
{
	for (unsigned i = 0; i < v->n_ready; i++)
		out[i] = (struct gsb_decision){.ready = i, .sms = {0, 48}};
	return v->n_ready;
}

static uint64_t alone_on_48(const char *unit)
{
	static const struct gsb_policy policy = {.name = "48", .decide = on_48_sms};
	const struct gsb_sim_params p = {
		.arch = gsb_arch_find("h200"), .policy = &policy, .tenant = 1};
	struct gsb_workload l = loops(unit, unit, 1);
	struct gsb_sim_result r;
	char why[200];
	uint64_t ns;

	assert_int_equal(gsb_sim_run(&l, &p, &r, why, sizeof(why)), 0);
	ns = r.makespan_ns - LATENCY;
	gsb_sim_finish(&r);
	gsb_workload_finish(&l);
	return ns;
}

static void test_run_on_a_part_slows_what_lives_on_the_sms_and_not_on_memory(void **state)
{
	assert_in_range(alone_on_48(MEMORY), LAUNCH_NS, LAUNCH_NS * 1.03);
	assert_in_range(alone_on_48(ARITHMETIC), LAUNCH_NS * 2.7, LAUNCH_NS * 2.8);
}

static void test_random_load_repeats_its_kernels(void **state)
{
	const struct gsb_random_load p = {
		.n_tenants = 2, .n_kernels = 3, .n_times = 5, .units = true};
	struct gsb_workload l;

	assert_int_equal(gsb_workload_random(gsb_arch_find("h200"), &p, &l), 0);
	assert_int_equal(l.n_kernels, 6);
	assert_int_equal(l.n_ops, 2 * (3 * 5 + 2));
	for (uint32_t i = 0; i < l.n_kernels; i++)
		assert_true(l.kernels[i].unit && l.kernels[i].want_ppm);
	gsb_workload_finish(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_coreside_parts_memory_from_arithmetic),
		cmocka_unit_test(test_coreside_without_anything_to_gain_is_not_behind),
		cmocka_unit_test(test_coreside_shares_inside_the_sms_where_units_differ),
		cmocka_unit_test(test_coreside_leaves_the_sms_where_that_loses),
		cmocka_unit_test(test_coreside_tries_nothing_inside_the_sms_for_one_unit),
		cmocka_unit_test(test_sharing_inside_the_sms_holds_weights),
		cmocka_unit_test(test_best_has_the_long_one_first),
		cmocka_unit_test(test_best_waits_for_what_will_come),
		cmocka_unit_test(test_best_is_never_behind_fifo),
		cmocka_unit_test(test_coreside_holds_weights_of_two_of_a_kind),
		cmocka_unit_test(test_coreside_shares_by_time_not_by_launches),
		cmocka_unit_test(test_coreside_does_not_starve_short_launches_beside_long_ones),
		cmocka_unit_test(test_coreside_holds_weights_of_long_launches_by_parts),
		cmocka_unit_test(test_coreside_holds_weights_of_many),
		cmocka_unit_test(test_coreside_holds_a_limit_of_slowdown),
		cmocka_unit_test(test_coreside_holds_a_limit_of_who_asks_for_one_at_a_time),
		cmocka_unit_test(test_coreside_misses_limits_alike),
		cmocka_unit_test(test_coreside_leaves_everybody_half_of_its_share_over_any_second),
		cmocka_unit_test(test_coreside_leaves_everybody_half_where_sharing_pays),
		cmocka_unit_test(test_coreside_puts_memory_beside_three_others),
		cmocka_unit_test(test_coreside_is_no_worse_than_the_best_matching_of_pairs),
		cmocka_unit_test(test_coreside_holds_weights_in_lanes),
		cmocka_unit_test(test_coreside_keeps_a_deadline_that_shares_would_not),
		cmocka_unit_test(
			test_priority_gives_the_reserved_sms_back_and_keeps_them_free_meanwhile),
		cmocka_unit_test(test_priority_lets_the_critical_tenant_have_all_that_is_free),
		cmocka_unit_test(test_priority_in_parts_leaves_the_batch_more_and_answers_in_time),
		cmocka_unit_test(test_priority_leaves_what_has_long_blocks_as_it_was),
		cmocka_unit_test(
			test_priority_answers_in_time_where_sms_are_kept_free_for_all_blocks),
		cmocka_unit_test(test_priority_is_what_it_was_where_nobody_is_critical),
		cmocka_unit_test(test_run_on_a_part_slows_what_lives_on_the_sms_and_not_on_memory),
		cmocka_unit_test(test_random_load_repeats_its_kernels),
		cmocka_unit_test(test_run_of_one_launch_takes_what_the_load_says),
		cmocka_unit_test(test_run_keeps_the_order_of_a_stream),
		cmocka_unit_test(test_run_of_two_streams_is_side_by_side_as_far_as_they_fit),
		cmocka_unit_test(test_run_waits_for_the_event_that_another_stream_records),
		cmocka_unit_test(test_run_keeps_the_legacy_stream_apart_from_blocking_ones),
		cmocka_unit_test(test_run_thinks_as_long_as_the_program_did),
		cmocka_unit_test(test_run_keeps_the_order_of_a_thread),
		cmocka_unit_test(test_run_begins_when_tenants_come_or_together),
		cmocka_unit_test(test_run_has_three_engines_for_copies),
		cmocka_unit_test(test_run_shares_the_issue_slots),
		cmocka_unit_test(test_run_on_a_slower_clock_takes_longer),
		cmocka_unit_test(test_run_of_slices_is_one_after_the_other),
		cmocka_unit_test(test_run_of_persistent_blocks_has_two_launches_at_a_time),
		cmocka_unit_test(test_run_of_limited_blocks_has_fewer_places),
		cmocka_unit_test(test_run_of_parts_waits_where_the_policy_says_so),
		cmocka_unit_test(test_run_of_a_policy_that_holds_all_is_forced_on),
		cmocka_unit_test(test_run_decides_when_a_hold_ends),
		cmocka_unit_test(test_run_finds_a_hold_until_what_is_past),
		cmocka_unit_test(test_run_finds_decisions_that_name_nothing),
		cmocka_unit_test(test_run_names_the_launch_that_does_not_fit),
		cmocka_unit_test(test_result_says_how_full_the_gpu_was),
		cmocka_unit_test(test_compare_of_twins_is_fair_only_if_both_run),
		cmocka_unit_test(test_random_load_is_a_function_of_its_seed),
		cmocka_unit_test(test_random_load_of_impossible_size_is_refused),
		cmocka_unit_test(test_random_loads_run_under_every_policy),
		cmocka_unit_test(test_coreside_is_not_behind_fifo_on_loads_that_repeat),
		cmocka_unit_test(test_coreside_is_not_behind_fifo_with_up_to_eight_tenants),
		cmocka_unit_test(test_coreside_is_ahead_of_fifo_where_parts_pay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
