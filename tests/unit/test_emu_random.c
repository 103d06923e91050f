/*
 * test_emu_random.c - random programs (tests/random/random_program.h) on the interpreter and on a reference that shares nothing with it
 * (tests/random/reference.h): every byte of memory must be the same.
 *
 * A program that comes out differently is made smaller by leaving out statements and lines as long as it still does, and
 * written to a file. Each one runs on one instruction set, with slices of some length and with one or two resident blocks, which its
 * seed chooses. The reference runs it twice, its threads forwards and backwards: a program whose result depends on
 * their order would prove nothing.
 *
 * Usage: test_emu_random [SEED [COUNT]]; GSB_CHECK_LONG=1 runs 10,000.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/emu/exec/isa.h"
#include "tests/random/random_program.h"
#include "tests/random/reference.h"
#include "tests/unit/emu_harness.h"

#define TEXT_BYTES   (RANDOM_MAX_LINES * 100)
#define MAX_THREADS  (RANDOM_N_BLOCKS * 96)
#define MEMORY_BYTES (2 * RANDOM_THREAD_BYTES * MAX_THREADS + RANDOM_COUNTER_BYTES)

enum outcome { SAME, DIFFERENT, NO_PROGRAM };

static uint64_t first_seed = 1;
static unsigned long n_programs = 300;

/* One program at work. */
static struct trial {
	struct random_program program;
	struct ref_program parsed;
	uint64_t seed;
	struct gsb_emu_combiner *combiner;
	unsigned long n_combined; /* programs of which it held something in the end */
	char text[TEXT_BYTES], what[512];
	unsigned char input[MEMORY_BYTES], expected[MEMORY_BYTES], backwards[MEMORY_BYTES];
} trial;

/* Half of the words are small or near to the edges, so that programs compute with numbers as programs have them. */
static void fill(uint64_t seed)
{
	uint64_t state = seed ^ UINT64_C(0x5851f42d4c957f2d), v;

	memset(trial.input, 0, sizeof(trial.input));
	for (size_t i = 0; i + 8 <= (size_t)RANDOM_THREAD_BYTES * MAX_THREADS; i += 8) {
		v = random_next(&state);
		if (v & 1)
			v = (v & 2 ? v : ~v) >> (v >> 2 & 63);
		memcpy(trial.input + i, &v, 8);
	}
	for (size_t i = MEMORY_BYTES - RANDOM_COUNTER_BYTES; i < MEMORY_BYTES; i += 8) {
		v = random_next(&state);
		memcpy(trial.input + i, &v, 8);
	}
}

static void set_args(uint64_t args[3], const void *base)
{
	args[0] = (uintptr_t)base;
	args[1] = args[0] + (uint64_t)RANDOM_THREAD_BYTES * MAX_THREADS;
	args[2] = args[0] + MEMORY_BYTES - RANDOM_COUNTER_BYTES;
}

static bool run_reference(unsigned char *memory, bool backwards)
{
	struct ref_launch l = {.blocks = RANDOM_N_BLOCKS,
			       .threads = trial.program.threads,
			       .base = memory,
			       .size = MEMORY_BYTES,
			       .backwards = backwards};

	memcpy(memory, trial.input, MEMORY_BYTES);
	set_args(l.args, memory);
	return ref_run(&trial.parsed, &l, trial.what, sizeof(trial.what));
}

static enum outcome run_emulator(unsigned char *memory, struct t_gpu *g)
{
	struct t_launch l = {
		.kernel = "k", .grid = {RANDOM_N_BLOCKS}, .block = {trial.program.threads}};
	unsigned int n_isas = 0;
	uint64_t args[3];

	while (gsb_emu_isa_nth(n_isas))
		n_isas++;
	g->isa = (unsigned int)(trial.seed % n_isas);
	g->quantum = trial.seed % 2 ? 7 + trial.seed % 90 : 0;
	g->resident = 1 + (uint32_t)(trial.seed / 2 % 2);
	g->combiner = trial.combiner;
	memcpy(memory, trial.input, MEMORY_BYTES);
	set_args(args, memory);
	for (int i = 0; i < 3; i++)
		l.args[i] = &args[i];
	if (t_launch(g, &l)) {
		snprintf(trial.what, sizeof(trial.what), "a fault: %s", g->fault.text);
		return DIFFERENT;
	}
	trial.n_combined += gsb_emu_combiner_holds(trial.combiner);
	gsb_emu_combiner_flush(trial.combiner);
	return SAME;
}

static enum outcome compare(const unsigned char *got)
{
	const size_t output = (size_t)RANDOM_THREAD_BYTES * MAX_THREADS;

	for (size_t i = 0; i < MEMORY_BYTES; i++) {
		if (got[i] == trial.expected[i])
			continue;
		snprintf(trial.what, sizeof(trial.what),
			 "thread %zu, byte %zu of its output: 0x%02x, not 0x%02x",
			 (i - output) / RANDOM_THREAD_BYTES, (i - output) % RANDOM_THREAD_BYTES,
			 got[i], trial.expected[i]);
		return DIFFERENT;
	}
	return SAME;
}

/* Of the program without some lines; what it came to is in trial.what. */
static enum outcome try_text(const bool *dropped)
{
	enum outcome outcome;
	unsigned char *memory;
	struct t_gpu g;

	random_program_text(&trial.program, dropped, trial.text, sizeof(trial.text));
	if (!ref_parse(trial.text, &trial.parsed)) {
		snprintf(trial.what, sizeof(trial.what), "%s", trial.parsed.error);
		return NO_PROGRAM;
	}
	if (!run_reference(trial.expected, false) || !run_reference(trial.backwards, true))
		return NO_PROGRAM;
	if (memcmp(trial.expected, trial.backwards, MEMORY_BYTES) != 0) {
		snprintf(trial.what, sizeof(trial.what), "the order of threads counts");
		return NO_PROGRAM;
	}
	t_gpu_init(&g, trial.text);
	memory = t_alloc(&g, MEMORY_BYTES);
	outcome = run_emulator(memory, &g);
	if (outcome == SAME)
		outcome = compare(memory);
	t_gpu_finish(&g);
	return outcome;
}

/* ---- making it smaller ---- */

static bool drop(bool *dropped, unsigned int first, unsigned int end)
{
	bool kept[RANDOM_MAX_LINES];
	bool any = false;

	memcpy(kept, dropped, sizeof(kept));
	for (unsigned int i = first; i < end; i++) {
		any |= !dropped[i];
		dropped[i] = true;
	}
	if (any && try_text(dropped) == DIFFERENT)
		return true;
	memcpy(dropped, kept, sizeof(kept));
	return false;
}

static void shrink(bool *dropped)
{
	const struct random_program *p = &trial.program;
	bool smaller = true;

	while (smaller) {
		smaller = false;
		for (unsigned int i = p->n_blocks; i-- > 0;)
			smaller |= drop(dropped, p->blocks[i].first, p->blocks[i].end);
		for (unsigned int i = p->n_lines; i-- > 0;)
			smaller |= p->may_drop[i] && drop(dropped, i, i + 1);
	}
}

static void __attribute__((noreturn)) report(void)
{
	static bool dropped[RANDOM_MAX_LINES];
	char name[64];
	FILE *f;

	shrink(dropped);
	try_text(dropped);
	snprintf(name, sizeof(name), "random-%" PRIu64 ".ptx", trial.seed);
	f = fopen(name, "w");
	if (f) {
		fprintf(f, "// seed %" PRIu64 ", %u threads: %s\n%s", trial.seed,
			trial.program.threads, trial.what, trial.text);
		fclose(f);
	}
	fail_msg("seed %" PRIu64 ": %s; the program, made smaller, is in %s", trial.seed,
		 trial.what, name);
	abort();
}

static void test_random_programs_give_what_the_reference_gives(void **state)
{
	(void)state;
	trial.combiner = gsb_emu_combiner_create();
	assert_non_null(trial.combiner);
	for (unsigned long i = 0; i < n_programs; i++) {
		trial.seed = first_seed + i;
		random_program_make(&trial.program, trial.seed);
		assert_true(trial.program.n_lines < RANDOM_MAX_LINES);
		fill(trial.seed);
		switch (try_text(NULL)) {
		case SAME: break;
		case DIFFERENT: report();
		default: fail_msg("seed %" PRIu64 ": %s", trial.seed, trial.what);
		}
	}
	gsb_emu_combiner_destroy(trial.combiner);
	print_message("%lu programs, %lu with reductions kept back, seeds from %" PRIu64 "\n",
		      n_programs, trial.n_combined, first_seed);
	assert_true(n_programs < 300 || trial.n_combined);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_programs_give_what_the_reference_gives),
	};

	if (getenv("GSB_CHECK_LONG"))
		n_programs = 10000;
	if (argc > 1)
		first_seed = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		n_programs = strtoul(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
