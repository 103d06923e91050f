/*
 * test_emu_ops.c - every row of tests/oracle/rows on the interpreter: by whole rows and by masked ones, on every
 * instruction set that this processor has, bit by bit against what the generator computed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/emu/exec/isa.h"
#include "tests/unit/emu_harness.h"
#include "tests/unit/emu_rows.h"

static void check_results(const struct t_row *r, const void *results, const char *isa,
			  const char *kernel)
{
	for (uint32_t i = 0; i < t_row_threads(r); i++) {
		uint64_t got = t_value_at(results, t_row_result_bytes(r), i),
			 in[T_MAX_INPUTS] = {0};

		if (t_row_agrees(r, got, t_row_result(r, i)))
			continue;
		for (unsigned int k = 0; k < r->n_inputs; k++)
			in[k] = t_row_input(r, k, i);
		fail_msg(
			"%s (%s, %s): a 0x%llx b 0x%llx c 0x%llx e 0x%llx gives 0x%llx, not 0x%llx",
			r->text, isa, kernel, (unsigned long long)in[0], (unsigned long long)in[1],
			(unsigned long long)in[2], (unsigned long long)in[3],
			(unsigned long long)got, (unsigned long long)t_row_result(r, i));
	}
}

static void run_row(const struct t_row *r)
{
	static const char *const kernels[] = {"full", "split"};
	uint32_t n = t_row_threads(r);
	char text[T_TEXT_BYTES];
	void *args[T_ROW_ARGS];
	struct t_gpu g;

	t_row_text(r, text, sizeof(text));
	t_gpu_init(&g, text);
	for (int k = 0; k < T_ROW_ARGS; k++)
		args[k] = t_alloc(&g, (uint64_t)n * T_SCRATCH_BYTES);
	for (unsigned int k = 0; k < r->n_inputs; k++) {
		for (uint32_t i = 0; i < n; i++)
			t_value_put(args[k + 1], r->inputs[k]->bytes, i, t_row_input(r, k, i));
	}
	for (g.isa = 0; gsb_emu_isa_nth(g.isa); g.isa++) {
		for (int k = 0; k < 2; k++) {
			struct t_launch l = {.kernel = kernels[k],
					     .grid = {n / T_ROW_THREADS},
					     .block = {T_ROW_THREADS}};

			for (int i = 0; i < T_ROW_ARGS; i++)
				l.args[i] = &args[i];
			memset(args[0], 0xa5, (size_t)n * T_SCRATCH_BYTES);
			if (t_launch(&g, &l))
				fail_msg("%s: %s", r->text, g.fault.text);
			check_results(r, args[0], gsb_emu_isa_nth(g.isa)->name, kernels[k]);
		}
	}
	t_gpu_finish(&g);
}

static void test_row(void **state)
{
	run_row(*state);
}

int main(void)
{
	size_t n;
	const struct t_row *rows = t_rows_load(&n);
	struct CMUnitTest *tests = calloc(n, sizeof(*tests));
	int failed;

	if (!tests)
		return 1;
	for (size_t i = 0; i < n; i++)
		tests[i] = (struct CMUnitTest){rows[i].forms, test_row, NULL, NULL,
					       (void *)(uintptr_t)&rows[i]};
	failed = _cmocka_run_group_tests("rows", tests, n, NULL, NULL);
	free(tests);
	return failed;
}
