/*
 * test_resize_diff.c - kernels against their variants on the interpreter: the sample database's, those of tests/kernels, and
 * some made to be hard. Each with several inputs, and with ways of running that a number chooses; a failure says the
 * numbers.
 *
 * GSB_CHECK_LONG runs 40 times as many.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/emu/exec/watch.h"
#include "tests/unit/resize_kit.h"

#define N_INPUTS 3

static unsigned int n_ways = 16; /* of each input */
static uint64_t n_runs, n_launches;

static const struct kit_subject subjects[] = {
#define E0 GSB_RESIZE_E0
#define E1 GSB_RESIZE_E1
#define UNPACK(...)         \
	{                   \
		__VA_ARGS__ \
	}
#define GSB_SUBJECT(file, kernel, early, grid, block, smem, args) \
	{file, kernel, early, UNPACK grid, UNPACK block, smem, args},
#include "tests/unit/resize_subjects.def"
};

static void run_subject(const struct kit_subject *s, uint64_t nth)
{
	struct gsb_ptx_module *m = kit_parse_file(s->file);
	static struct kit kit;
	struct diff *d = &kit.diff;

	kit_open(&kit, m, s, KIT_ALL);
	for (uint64_t input = 1; input <= N_INPUTS; input++) {
		kit_expect(&kit, s, input);
		for (uint64_t way = 0; way < n_ways; way++, n_runs++)
			kit_try(&kit, s, input, nth * 1000003 + input * 1009 + way);
	}
	n_launches += d->n_launches;
	kit_close(&kit);
	gsb_ptx_module_destroy(m);
}

static void test_variants_of_each_kernel_give_what_it_gives(void **state)
{
	(void)state;
	for (size_t i = 0; i < GSB_ARRAY_LEN(subjects); i++)
		run_subject(&subjects[i], i);
	print_message("%zu kernels, %" PRIu64 " runs, %" PRIu64 " launches\n",
		      GSB_ARRAY_LEN(subjects), n_runs, n_launches);
}

/* A tile fetched out of order, or a batch of them, would wait for one that nobody has. */
static void test_look_back_in_slices_and_tiles_ends(void **state)
{
	const struct kit_subject s = {
		"tests/resize/hard.ptx", "look_back", GSB_RESIZE_E0, {40}, {32}, 0,
		"buf:u32:40 buf:u32:40"};
	struct gsb_ptx_module *m = kit_parse_file(s.file);
	static struct kit kit;
	struct diff *d = &kit.diff;

	(void)state;
	kit_open(&kit, m, &s, 1u << GSB_REWRITE_SLICE | 1u << GSB_REWRITE_PERSISTENT);
	d->ascending = true;
	kit_expect(&kit, &s, 1);
	for (uint64_t way = 0; way < 10 * n_ways; way++)
		kit_try(&kit, &s, 1, way);
	kit_close(&kit);
	gsb_ptx_module_destroy(m);
}

/* ---- counting ---- */

static void profile_of(struct diff *d, struct gsb_emu_profile *out)
{
	struct gsb_emu_watch watch = {.what = GSB_EMU_WATCH_PROFILE};
	struct grid_launch l = {.params = d->params,
				.params_bytes = DIFF_PARAM_BYTES,
				.smem_bytes = d->smem_bytes,
				.watch = &watch};
	struct gsb_emu_fault fault;

	pthread_mutex_init(&watch.lock, NULL);
	memcpy(l.grid, d->grid, sizeof(l.grid));
	memcpy(l.block, d->block, sizeof(l.block));
	memcpy((void *)(uintptr_t)d->machine.memory.device.base, d->before, d->bytes);
	assert_int_equal(grid_run(&d->machine, &d->kernels[GSB_N_REWRITE_FORMS], &l, &fault), 0);
	pthread_mutex_destroy(&watch.lock);
	*out = watch.profile;
}

/* How often warps came to instructions under a guard, but for branches: the device counts those that no lane passes not. */
static uint64_t guarded(const struct diff *d)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < d->sites.n_sites; i++) {
		const struct gsb_count_site *s = &d->sites.sites[i];

		for (uint32_t k = s->first; k < s->first + s->n_insns; k++)
			if (s->func->insns[k].guard != GSB_PTX_NONE &&
			    s->func->insns[k].op != GSB_PTX_OP_BRA)
				n += d->words[1 + 3 * (uint64_t)i];
	}
	return n;
}

static void same_count(const struct kit_subject *s, const char *what, uint64_t got, uint64_t want,
		       uint64_t more)
{
	if (got < want || got - want > more)
		fail_msg("%s %s: %s: counted %" PRIu64 ", the device did %" PRIu64, s->file,
			 s->kernel, what, got, want);
}

static void compare_counts(const struct kit_subject *s, const struct gsb_count *c,
			   const struct gsb_emu_profile *p, uint64_t more)
{
	static const char *const units[] = {"ALU", "FMA", "FP64", "XU",	  "LSU",
					    "TEX", "ADU", "CBU",  "other"};
	const struct gsb_emu_traffic *t = p->traffic[GSB_EMU_MEMORY_GLOBAL];

	same_count(s, "instructions", c->n_insns, p->n_insns, more);
	same_count(s, "lanes", c->n_lane_insns, p->n_lane_insns, 32 * more);
	for (int i = 0; i < GSB_PTX_N_UNITS; i++)
		same_count(s, units[i], c->n_by_unit[i], p->n_by_unit[i], more);
	for (int i = 0; i < GSB_COUNT_N_TRAFFICS; i++) {
		same_count(s, "requests", c->global[i].n_requests, t[i].n_requests, 0);
		same_count(s, "lanes of requests", c->global[i].n_lanes, t[i].n_lanes, 0);
		same_count(s, "bytes", c->global[i].n_bytes, t[i].n_bytes, 0);
		same_count(s, "sectors", c->global[i].n_sectors, t[i].n_sectors, 0);
	}
}

static void count_subject(const struct kit_subject *s)
{
	struct diff_way way = {.form = GSB_REWRITE_COUNT, .every = 1, .resident = 1};
	struct gsb_ptx_module *m = kit_parse_file(s->file);
	struct gsb_emu_profile profile;
	static struct kit kit;
	struct diff *d = &kit.diff;

	kit_open(&kit, m, s, 1u << GSB_REWRITE_COUNT);
	kit_expect(&kit, s, 1);
	assert_int_equal(diff_try(d, &way), 0);
	profile_of(d, &profile);
	compare_counts(s, &d->counted, &profile, guarded(d));
	kit_close(&kit);
	gsb_ptx_module_destroy(m);
}

static void test_counts_of_all_warps_are_the_devices(void **state)
{
	(void)state;
	for (size_t i = 0; i < GSB_ARRAY_LEN(subjects); i++)
		count_subject(&subjects[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variants_of_each_kernel_give_what_it_gives),
		cmocka_unit_test(test_look_back_in_slices_and_tiles_ends),
		cmocka_unit_test(test_counts_of_all_warps_are_the_devices),
	};

	if (getenv("GSB_CHECK_LONG"))
		n_ways *= 40;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
