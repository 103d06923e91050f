/*
 * test_calibrate_measure.c - the pairs of a calibration (tools/calibrate/measure.h) on a device that is made up: kernels take what their passes
 * say, and have beside each other the speeds of a table, but for what a test disturbs.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/calibrate/measure.h"

#define assert_near(value, wanted, far) assert_true(fabs((value) - (wanted)) <= (far))

#define PASS_NS	 1000 /* on half of an SM, of eight blocks: a full unit */
#define LAUNCHES 256
#define A	 GSB_UNIT_SFU
#define B	 GSB_UNIT_DRAM

struct launch {
	uint64_t cookie, not_before_ns;
	double ns;
	enum gsb_unit unit;
};

/* The device and what goes wrong there. */
static struct {
	struct gsb_device base;
	struct gsb_device_info info;
	struct launch launches[LAUNCHES];
	unsigned n, n_done, n_pairs, n_alone;
	struct cal_span spans[2];
	uint64_t now_ns;
	double speeds[2][2][2]; /* by A or B, of the older and the younger one */
	unsigned
		odd_pair; /* this run of a pair (1: the first) differs: the younger one's speed is so much more */
	double odd;
	double unsteady; /* A and then B: every other time the younger one's speed is so much more */
	unsigned n_unsteady;
	unsigned odd_alone; /* likewise a run alone: it takes so many times as long */
	double odd_factor;
	bool takes_turns;
	CUresult
		result; /* of grids that are not alone on the device: all that are in flight have to be waited for */
} d;

static int index_of(enum gsb_unit unit)
{
	return unit == B;
}

static int on_issue(struct gsb_queue *queue, const struct gsb_cmd *cmd)
{
	const uint32_t *params = cmd->launch.params;
	double sm_blocks = (double)cmd->launch.grid[0] / d.info.arch.n_sms;

	(void)queue;
	assert_true(d.n < LAUNCHES);
	d.launches[d.n++] = (struct launch){
		.cookie = cmd->cookie,
		.not_before_ns = cmd->not_before_ns,
		.ns = params[4] * PASS_NS * sm_blocks / 4,
		.unit = (enum gsb_unit)((uintptr_t)cmd->launch.function - 1),
	};
	return 0;
}

/* When all has been sent, it is known how it goes. */
static void play(void)
{
	double work[2] = {0, 0}, both, x, y;
	enum gsb_unit units[2] = {A, A};
	uint64_t later = 0;

	for (unsigned i = 0; i < d.n; i++) {
		work[d.launches[i].cookie] += d.launches[i].ns;
		units[d.launches[i].cookie] = d.launches[i].unit;
		later = d.launches[i].cookie ? d.launches[i].not_before_ns : later;
	}
	if (work[1] <= 0) {
		if (++d.n_alone == d.odd_alone)
			work[0] *= d.odd_factor;
		d.spans[0] = (struct cal_span){d.now_ns, d.now_ns + (uint64_t)work[0]};
		d.now_ns = d.spans[0].end_ns;
		return;
	}
	x = d.speeds[index_of(units[0])][index_of(units[1])][0];
	y = d.speeds[index_of(units[0])][index_of(units[1])][1];
	if (++d.n_pairs == d.odd_pair)
		y += d.odd;
	if (d.unsteady && units[0] == A && units[1] == B && ++d.n_unsteady % 2)
		y += d.unsteady;
	if (d.takes_turns)
		later = d.now_ns + (uint64_t)work[0];
	work[0] -= (double)(later - d.now_ns);
	both = fmin(work[0] / x, work[1] / fmax(y, 1e-9));
	d.spans[0] = (struct cal_span){d.now_ns, later + (uint64_t)(both + work[0] - both * x)};
	d.spans[1] = (struct cal_span){later, later + (uint64_t)(both + work[1] - both * y)};
	d.now_ns = d.spans[0].end_ns + d.spans[1].end_ns;
}

static unsigned on_poll(struct gsb_device *dev, struct gsb_completion *out, unsigned max)
{
	const struct launch *l = &d.launches[d.n_done];

	(void)dev;
	if (d.n_done == d.n || !max)
		return 0;
	if (!d.n_done)
		play();
	*out = (struct gsb_completion){
		.cookie = l->cookie,
		.result = d.n > 1 ? d.result : CUDA_SUCCESS,
		.start_ns = d.spans[l->cookie].start_ns,
		.end_ns = d.spans[l->cookie].end_ns,
	};
	if (++d.n_done == d.n)
		d.n = d.n_done = 0;
	return 1;
}

static uint64_t on_now(struct gsb_device *dev)
{
	(void)dev;
	return d.now_ns;
}

static int on_event_fd(struct gsb_device *dev)
{
	(void)dev;
	return -1;
}

static const struct gsb_device_ops ops = {
	.issue = on_issue, .poll = on_poll, .now_ns = on_now, .event_fd = on_event_fd};

static struct cal_rig rig;
static struct cal_result result;
static struct gsb_interference law;

static const struct cal_plan plan = {.rounds = 3, .n_grids = 64, .grid_ns = 100000};

static int set_up(void **state)
{
	static const double speeds[2][2][2] = {{{0.99, 0}, {1, 0.7}}, {{0.9, 0.8}, {0.5, 0.4}}};

	(void)state;
	memset(&d, 0, sizeof(d));
	d.base.ops = &ops;
	d.info.arch.n_sms = 4;
	d.info.clock_is_virtual = 1;
	strcpy(d.info.name, "GPU");
	memcpy(d.speeds, speeds, sizeof(speeds));
	rig = (struct cal_rig){
		.dev = &d.base, .info = &d.info, .units = 1u << A | 1u << B, .sm_blocks = 8};
	for (int part = 0; part < CAL_N_PARTS; part++)
		for (int u = 0; u < GSB_N_UNITS; u++)
			rig.functions[part][u] = (struct gsb_function *)(uintptr_t)(u + 1);
	gsb_interference_init(&law, "a100");
	return 0;
}

static void test_measure_finds_the_speeds_of_all_ordered_pairs(void **state)
{
	static const enum gsb_unit units[2] = {A, B};

	(void)state;
	assert_int_equal(cal_measure(&rig, &plan, &law, &result), 0);
	for (int a = 0; a < 2; a++)
		for (int b = 0; b < 2; b++) {
			const struct gsb_beside *found = &law.beside[units[a]][units[b]];

			assert_near((double)found->older, d.speeds[a][b][0], 1e-3);
			assert_near((double)found->younger, d.speeds[a][b][1], 1e-3);
			assert_int_equal(result.pairs[units[a]][units[b]].older.n, plan.rounds);
		}
	assert_int_equal(d.n_pairs, 4 * plan.rounds);
	assert_false(law.is_assumed);
	assert_near(result.spread.value, 0, 1e-3);
}

static void test_measure_leaves_what_was_not_measured(void **state)
{
	struct gsb_interference before = law;

	(void)state;
	assert_int_equal(cal_measure(&rig, &plan, &law, &result), 0);
	assert_memory_equal(&law.beside[GSB_UNIT_L2], &before.beside[GSB_UNIT_L2],
			    sizeof(law.beside[GSB_UNIT_L2]));
}

/* The runs of a round: A A, A B, B A, B B. */
static void test_measure_says_how_far_repeats_are_apart(void **state)
{
	(void)state;
	d.odd_pair = 6;
	d.odd = 0.06;
	assert_int_equal(cal_measure(&rig, &plan, &law, &result), 0);
	assert_near(result.spread.value, 0.06, 1e-3);
	assert_int_equal(result.spread.older, A);
	assert_int_equal(result.spread.younger, B);
	assert_near((double)law.beside[A][B].younger, 0.7, 1e-3);
}

/* One of them is odd: that pair is measured again. */
static void test_measure_repeats_what_is_too_far_apart(void **state)
{
	(void)state;
	d.odd_pair = 6;
	d.odd = 0.15;
	assert_int_equal(cal_measure(&rig, &plan, &law, &result), 0);
	assert_int_equal(d.n_pairs, 4 * plan.rounds + 1);
	assert_near((double)law.beside[A][B].younger, 0.7, 1e-3);
}

static void test_measure_refuses_repeats_that_are_too_far_apart(void **state)
{
	(void)state;
	d.unsteady = 0.15;
	assert_int_equal(cal_measure(&rig, &plan, &law, &result), -1);
	assert_non_null(strstr(rig.why, "speed of dram in sfu, then dram: 0.700 to 0.850"));
	assert_non_null(strstr(rig.why, "end what else runs there"));
	assert_true(law.is_assumed);
}

/* What one takes alone counts for all its pairs of that round; where it is that of both, they change alike. */
static void test_measure_refuses_what_is_not_steady_alone(void **state)
{
	(void)state;
	assert_int_equal(cal_measure(&rig, &plan, &law, &result), 0);
	d.odd_alone = d.n_alone; /* of the last round, the last one: B as the younger one */
	d.n_alone = d.n_pairs = 0;
	d.odd_factor = 1.3;
	assert_int_equal(cal_measure(&rig, &plan, &law, &result), -1);
	assert_non_null(strstr(rig.why, "in the same setting"));
}

static void test_measure_refuses_kernels_that_take_turns(void **state)
{
	(void)state;
	d.takes_turns = true;
	assert_int_equal(cal_measure(&rig, &plan, &law, &result), -1);
	assert_non_null(strstr(rig.why, "sfu and then sfu were not on GPU together"));
}

static void test_measure_refuses_more_than_there_is(void **state)
{
	(void)state;
	d.speeds[1][0][1] = 1.4;
	assert_int_equal(cal_measure(&rig, &plan, &law, &result), -1);
	assert_non_null(strstr(rig.why, "speed of sfu in dram, then sfu: 1.400 to 1.400"));
}

static void test_measure_names_a_kernel_that_failed(void **state)
{
	(void)state;
	d.result = CUDA_ERROR_ILLEGAL_ADDRESS;
	assert_int_equal(cal_measure(&rig, &plan, &law, &result), -1);
	assert_non_null(strstr(rig.why, "the kernel of sfu ended with error 700"));
	assert_int_equal(d.n, 0);
}

/* Two settings with a quarter for one of them, and one in which ages turn over: all go by the table here, and the law says so of some. */
static void test_measure_checks_the_law_on_three_settings(void **state)
{
	struct cal_plan checked = plan;

	(void)state;
	checked.check = true;
	assert_int_equal(cal_measure(&rig, &checked, &law, &result), 0);
	assert_int_equal(d.n_pairs, 4 * plan.rounds + 3 * 4);
	assert_int_equal(result.n_checked, 2 * 3 * 4);
	assert_true(result.median > 0 && result.median < 0.3);
	assert_true(result.off.value >= result.median);
}

static void test_plan_of_a_virtual_clock_has_one_round(void **state)
{
	(void)state;
	assert_int_equal(cal_plan_of(&rig, false).rounds, 1);
	d.info.clock_is_virtual = 0;
	assert_int_equal(cal_plan_of(&rig, false).rounds, 3);
	assert_true(cal_plan_of(&rig, false).check);
	assert_int_equal(cal_plan_of(&rig, true).rounds, 2);
	assert_false(cal_plan_of(&rig, true).check);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_measure_finds_the_speeds_of_all_ordered_pairs, set_up),
		cmocka_unit_test_setup(test_measure_leaves_what_was_not_measured, set_up),
		cmocka_unit_test_setup(test_measure_says_how_far_repeats_are_apart, set_up),
		cmocka_unit_test_setup(test_measure_repeats_what_is_too_far_apart, set_up),
		cmocka_unit_test_setup(test_measure_refuses_repeats_that_are_too_far_apart, set_up),
		cmocka_unit_test_setup(test_measure_refuses_what_is_not_steady_alone, set_up),
		cmocka_unit_test_setup(test_measure_refuses_kernels_that_take_turns, set_up),
		cmocka_unit_test_setup(test_measure_refuses_more_than_there_is, set_up),
		cmocka_unit_test_setup(test_measure_names_a_kernel_that_failed, set_up),
		cmocka_unit_test_setup(test_measure_checks_the_law_on_three_settings, set_up),
		cmocka_unit_test_setup(test_plan_of_a_virtual_clock_has_one_round, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
