/*
 * test_emu_ops.c - each instruction of emu_ops.def on edge values, against C that knows nothing of the
 * interpreter: by whole rows and by masked ones, on every instruction set that this processor has.
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

static void check_results(const struct t_row *r, void *const column[4], const char *isa,
			  const char *kernel)
{
	for (uint32_t i = 0; i < t_n_edges; i++) {
		union t_value v[4], want = {.u64 = 0};

		for (unsigned int k = 0; k < 4; k++)
			v[k] = t_row_at(r, column[k], k, i);
		r->expect(&v[1], &v[2], &v[3], &want);
		if (!t_row_agrees(r, &v[0], &want))
			fail_msg("%s (%s, %s): a 0x%llx b 0x%llx c 0x%llx gives 0x%llx, not 0x%llx",
				 r->text, isa, kernel, (unsigned long long)v[1].u64,
				 (unsigned long long)v[2].u64, (unsigned long long)v[3].u64,
				 (unsigned long long)v[0].u64, (unsigned long long)want.u64);
	}
}

static void run_row(const struct t_row *r)
{
	static const char *const kernels[] = {"full", "split"};
	char text[T_TEXT_BYTES];
	void *column[4];
	struct t_gpu g;

	t_row_text(r, text, sizeof(text));
	t_gpu_init(&g, text);
	for (int k = 0; k < 4; k++)
		column[k] = t_alloc(&g, sizeof(union t_value) * t_n_edges);
	t_row_fill_edges(r, column);
	for (g.isa = 0; gsb_emu_isa_nth(g.isa); g.isa++) {
		for (int k = 0; k < 2; k++) {
			struct t_launch l = {
				.kernel = kernels[k],
				.grid = {t_n_edges / T_ROW_THREADS},
				.block = {T_ROW_THREADS},
				.args = {&column[0], &column[1], &column[2], &column[3]}};

			memset(column[0], 0xa5, sizeof(union t_value) * t_n_edges);
			if (t_launch(&g, &l))
				fail_msg("%s: %s", r->text, g.fault.text);
			check_results(r, column, gsb_emu_isa_nth(g.isa)->name, kernels[k]);
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
	struct CMUnitTest *tests = calloc(t_n_rows, sizeof(*tests));
	int failed;

	if (!tests)
		return 1;
	for (size_t i = 0; i < t_n_rows; i++)
		tests[i] = (struct CMUnitTest){t_rows[i].text, test_row, NULL, NULL,
					       (void *)(uintptr_t)&t_rows[i]};
	failed = _cmocka_run_group_tests("rows", tests, t_n_rows, NULL, NULL);
	free(tests);
	return failed;
}
