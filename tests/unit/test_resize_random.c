/*
 * test_resize_random.c - random kernels (tests/random) with barriers, exits before them, shared memory, atomics, nested control
 * flow, and reads of their ids: each against its variants, in ways that its seed chooses. What comes out does not depend
 * on the order of threads or blocks by the form of these programs, so every byte of memory must be the same.
 *
 * Usage: test_resize_random [SEED [COUNT]]; GSB_CHECK_LONG=1 runs 50,000 programs.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/random/random_program.h"
#include "tests/unit/resize_kit.h"

#define TEXT_BYTES (RANDOM_MAX_LINES * 100)
#define N_WAYS	   5
#define SIZES                      \
	(1u << GSB_REWRITE_SLICE | \
	 1u << GSB_REWRITE_PERSISTENT) /* counts and hints: one program of four */

static uint64_t first_seed = 1;
static unsigned long n_programs = 2000;
static uint64_t n_early;

static void place(struct diff *d, const struct random_program *p, uint64_t seed)
{
	const uint64_t threads = (uint64_t)p->grid[0] * p->grid[1] * p->grid[2] * p->threads;
	const uint64_t sizes[3] = {threads * RANDOM_THREAD_BYTES, threads * RANDOM_THREAD_BYTES,
				   RANDOM_COUNTER_BYTES};
	uint64_t state = seed ^ UINT64_C(0x5851f42d4c957f2d);

	for (int i = 0; i < 3; i++) {
		uint64_t *at = diff_alloc(d, sizes[i], DIFF_BYTES);

		assert_non_null(at);
		memcpy(d->params + 8 * i, &at, 8);
		for (uint64_t k = 0; i != 1 && k < sizes[i] / 8; k++)
			at[k] = random_next(&state);
	}
}

static void keep(const char *text, uint64_t seed)
{
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "resize-%" PRIu64 ".ptx", seed);
	f = fopen(name, "w");
	if (!f)
		return;
	fputs(text, f);
	fclose(f);
}

static void try_program(const struct random_program *p, const char *text, uint64_t seed)
{
	struct gsb_ptx_module *m = kit_parse(text);
	const struct gsb_ptx_func *k = gsb_ptx_find_func(m, "k");
	static struct diff d;
	struct diff_way way;
	char what[256];

	if (diff_open(&d, m, k, kit_forms(m, k, seed % 4 ? SIZES : KIT_ALL),
		      p->leaves_early ? GSB_RESIZE_E1 : GSB_RESIZE_E0))
		fail_msg("seed %" PRIu64 ": %s", seed, d.text);
	for (int i = 0; i < 3; i++) {
		d.grid[i] = p->grid[i];
		d.block[i] = i ? 1 : p->threads;
	}
	d.max_insns = 50000000;
	place(&d, p, seed);
	if (diff_expect(&d))
		fail_msg("seed %" PRIu64 ": %s", seed, d.text);
	for (uint64_t i = 0; i < N_WAYS; i++) {
		diff_choose(&d, seed * 16 + i, &way);
		if (!diff_try(&d, &way))
			continue;
		keep(text, seed);
		diff_say_way(&way, what, sizeof(what));
		fail_msg("seed %" PRIu64 ", way %" PRIu64 " (%s): %s; resize-%" PRIu64 ".ptx", seed,
			 i, what, d.text, seed);
	}
	diff_close(&d);
	gsb_ptx_module_destroy(m);
}

static void test_random_kernels_give_the_same_in_all_forms(void **state)
{
	static struct random_program p;
	static char text[TEXT_BYTES];

	(void)state;
	for (unsigned long i = 0; i < n_programs; i++) {
		random_program_make_grid(&p, first_seed + i);
		assert_true(p.n_lines < RANDOM_MAX_LINES);
		random_program_text(&p, NULL, text, sizeof(text));
		n_early += p.leaves_early;
		try_program(&p, text, first_seed + i);
	}
	print_message("%lu programs, %" PRIu64 " with early exits, seeds from %" PRIu64 "\n",
		      n_programs, n_early, first_seed);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_kernels_give_the_same_in_all_forms),
	};

	if (getenv("GSB_CHECK_LONG"))
		n_programs = 50000;
	if (argc > 1)
		first_seed = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		n_programs = strtoul(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
