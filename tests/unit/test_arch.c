/*
 * test_arch.c - the table of GPUs and its text form.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/gpu/arch.h"

static int parse(const char *text, struct gsb_arch *out, struct gsb_text_error *err)
{
	return gsb_arch_parse(text, strlen(text), out, err);
}

static void test_arch_table_every_entry_passes_the_check(void **state)
{
	size_t n = 0;

	while (gsb_arch_at(n)) {
		assert_int_equal(gsb_arch_check(gsb_arch_at(n)), 0);
		assert_ptr_equal(gsb_arch_find(gsb_arch_at(n)->name), gsb_arch_at(n));
		n++;
	}
	assert_int_equal(n, 10);
}

static void test_arch_find_ignores_case_and_refuses_strangers(void **state)
{
	assert_string_equal(gsb_arch_find("K40")->name, "k40");
	assert_null(gsb_arch_find("k41"));
	assert_null(gsb_arch_find(""));
	assert_null(gsb_arch_find(NULL));
}

static void test_arch_parse_base_takes_over_and_overrides(void **state)
{
	struct gsb_text_error err;
	struct gsb_arch arch;

	assert_int_equal(
		parse("# ours\nbase = k40\n name = mine\t\n\nn_sms = 7 # fused off\n", &arch, &err),
		0);
	assert_string_equal(arch.name, "mine");
	assert_int_equal(arch.n_sms, 7);
	assert_int_equal(arch.regs, 65536);
}

/* What was written before there were parts of GPUs still describes one. */
static void test_arch_parse_without_a_group_gives_any_sms(void **state)
{
	struct gsb_text_error err;
	struct gsb_arch arch;

	assert_int_equal(
		parse("name = mine\ncc_major = 9\nn_sms = 7\nmax_warps = 64\nmax_blocks = 32\n"
		      "max_threads_per_block = 1024\nregs = 65536\nmax_regs_per_block = 65536\n"
		      "max_regs_per_thread = 255\nreg_unit = 256\nwarp_unit = 4\n"
		      "smem_unit_bytes = 128\nissue_width = 4\nclock_khz = 1000000\n"
		      "mem_bandwidth_bytes_per_s = 1000000000\nmem_bytes = 1000000000\n"
		      "max_resident_grids = 128\n",
		      &arch, &err),
		0);
	assert_int_equal(arch.sm_group, 1);
	assert_int_equal(arch.gpc_sms, 0);
	assert_int_equal(parse("base = h200\ngpc_sms = 64\n", &arch, &err), -EINVAL);
	assert_int_equal(parse("base = h200\nsm_group = 0\n", &arch, &err), -EINVAL);
	assert_int_equal(parse("base = h200\nsm_group = 4\n", &arch, &err), 0);
	assert_int_equal(arch.sm_group, 4);
}

static struct gsb_arch_rates rates_of(const char *cc, const char *more)
{
	struct gsb_text_error err;
	struct gsb_arch arch;
	char text[1024];

	snprintf(text, sizeof(text),
		 "name = mine\n%s\nn_sms = 7\nmax_warps = 64\nmax_blocks = 32\n"
		 "max_threads_per_block = 1024\nregs = 65536\nmax_regs_per_block = 65536\n"
		 "max_regs_per_thread = 255\nreg_unit = 256\nwarp_unit = 4\n"
		 "smem_unit_bytes = 128\nissue_width = 4\nclock_khz = 1000000\n"
		 "mem_bandwidth_bytes_per_s = 1000000000\nmem_bytes = 1000000000\n"
		 "max_resident_grids = 128\n%s",
		 cc, more);
	if (parse(text, &arch, &err))
		fail_msg("%s: line %u: %s", cc, err.line, err.what);
	return arch.per_cycle;
}

static void expect_rates(struct gsb_arch_rates r, unsigned alu, unsigned imul, unsigned sfu,
			 unsigned fp64)
{
	assert_int_equal(r.alu, alu);
	assert_int_equal(r.imul, imul);
	assert_int_equal(r.sfu, sfu);
	assert_int_equal(r.fp64, fp64);
}

/* Who does not say what an SM gives a cycle has what NVIDIA prints for the compute capability, or for the last one before it. */
static void test_arch_parse_without_rates_has_those_of_the_compute_capability(void **state)
{
	char text[64];
	const struct gsb_arch *a;

	expect_rates(rates_of("cc_major = 9", ""), 64, 64, 16, 64);
	expect_rates(rates_of("cc_major = 6\ncc_minor = 1", ""), 128, 42, 32, 4);
	expect_rates(rates_of("cc_major = 6\ncc_minor = 2", ""), 128, 42, 32, 4);
	expect_rates(rates_of("cc_major = 7\ncc_minor = 5", ""), 64, 64, 16, 2);
	expect_rates(rates_of("cc_major = 8", ""), 64, 64, 16, 32);
	expect_rates(rates_of("cc_major = 1", ""), 32, 16, 4, 16);
	expect_rates(rates_of("cc_major = 3\ncc_minor = 2", ""), 160, 32, 32, 8);
	expect_rates(rates_of("cc_major = 9", "fp64_per_cycle = 5\nalu_per_cycle = 7\n"), 7, 64, 16,
		     5);
	for (size_t i = 0; (a = gsb_arch_at(i)); i++) {
		const struct gsb_arch_rates *r = &a->per_cycle;

		snprintf(text, sizeof(text), "cc_major = %u\ncc_minor = %u", a->cc_major,
			 a->cc_minor);
		expect_rates(rates_of(text, ""), r->alu, r->imul, r->sfu, r->fp64);
	}
}

static void test_arch_parse_faults_name_line_and_reason(void **state)
{
	static const struct {
		const char *text;
		unsigned int line;
		const char *reason;
	} cases[] = {
		{"base = k40\nn_smz = 3\n", 2, "unknown key 'n_smz'"},
		{"base = k40\nn_sms = -3\n", 2, "whole number"},
		{"base = k40\nn_sms = 99999999999999999999999\n", 2, "whole number"},
		{"base = k40\nsfu_per_cycle = 0\n", 2, "from 1 to 4096"},
		{"base = k40\n\n# x\nn_sms 3\n", 4, "key = value"},
		{"base = k4000\n", 1, "unknown base GPU 'k4000'; there are c2070, gtx680, k40,"},
		{"name = x\nbase = k40\n", 2, "first key"},
		{"n_sms = 3\n", 0, "no 'name'"},
		{"name = x\nn_sms = 3\n", 0, "missing"},
		{"base = k40\nmax_regs_per_block = 70000\n", 0, "exceeds regs"},
		{"base = k40\nmax_threads_per_block = 4096\n", 0, "exceeds the SM's warps"},
		{"base = k40\nname = 0123456789012345678901234567890123456789\n", 2, "characters"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gsb_text_error err = {.line = 77};
		struct gsb_arch arch = {.n_sms = 4321};

		assert_int_equal(parse(cases[i].text, &arch, &err), -EINVAL);
		assert_int_equal(err.line, cases[i].line);
		assert_non_null(strstr(err.what, cases[i].reason));
		assert_int_equal(arch.n_sms, 4321);
	}
}

static void test_arch_parse_binary_and_long_lines_are_refused(void **state)
{
	static char text[5000];
	struct gsb_text_error err;
	struct gsb_arch arch;

	assert_int_equal(gsb_arch_parse("base\0= k40", 10, &arch, &err), -EINVAL);
	memset(text, 'a', sizeof(text));
	assert_int_equal(gsb_arch_parse(text, sizeof(text), &arch, &err), -EINVAL);
	assert_int_equal(err.line, 1);
	assert_int_equal(gsb_arch_parse("", 0, &arch, &err), -EINVAL);
}

static void test_arch_parse_mutated_text_never_yields_a_bad_arch(void **state)
{
	static const char seed[] =
		"base = h200\nname = a\nn_sms = 12\nregs = 65536\nl2_bytes = 7\n";
	unsigned int rng = 12345, accepted = 0;
	struct gsb_text_error err;

	for (int i = 0; i < 20000; i++) {
		char text[sizeof(seed)];
		struct gsb_arch arch;

		memcpy(text, seed, sizeof(seed));
		for (int k = 0; k < 3; k++) {
			rng = rng * 1103515245 + 12345;
			text[(rng >> 8) % (sizeof(seed) - 1)] = (char)(rng >> 24);
		}
		if (!gsb_arch_parse(text, sizeof(seed) - 1, &arch, &err)) {
			assert_int_equal(gsb_arch_check(&arch), 0);
			accepted++;
		}
	}
	assert_in_range(accepted, 1, 19999);
}

static void test_arch_names_are_all_of_the_table_and_cut_to_size(void **state)
{
	char names[GSB_ARCH_NAMES_MAX], few[9];
	size_t n = 0;

	(void)state;
	gsb_arch_names(names, sizeof(names));
	for (; gsb_arch_at(n); n++)
		assert_non_null(strstr(names, gsb_arch_at(n)->name));
	assert_true(n >= 10);
	assert_string_equal(names + strlen(names) - 5, " b200");
	gsb_arch_names(few, sizeof(few));
	assert_string_equal(few, "c2070, g");
}

static void test_arch_print_is_read_back_the_same(void **state)
{
	char text[GSB_ARCH_TEXT_MAX], few[100];
	struct gsb_text_error err;
	const struct gsb_arch *a;

	(void)state;
	for (size_t i = 0; (a = gsb_arch_at(i)); i++) {
		struct gsb_arch back;

		assert_int_equal(gsb_arch_print(a, text, sizeof(text)), 0);
		assert_int_equal(gsb_arch_parse(text, strlen(text), &back, &err), 0);
		assert_memory_equal(&back, a, sizeof(back));
	}
	assert_int_equal(gsb_arch_print(gsb_arch_at(0), few, sizeof(few)), -ENOSPC);
}

/* Side by side, in pairs, all SMs once, and none with more than may be. */
static void test_gpcs_share_the_sms_evenly(void **state)
{
	struct gsb_arch arch = *gsb_arch_find("h200");

	(void)state;
	for (arch.n_sms = 1; arch.n_sms < 300; arch.n_sms++) {
		uint32_t next = 0;

		while (next < arch.n_sms) {
			struct gsb_gpc gpc = gsb_arch_gpc(&arch, next);

			assert_int_equal(gpc.first, next);
			assert_in_range(gpc.end, next + 1, next + 18);
			for (uint32_t sm = gpc.first; sm < gpc.end; sm++)
				assert_int_equal(gsb_arch_gpc(&arch, sm).end, gpc.end);
			next = gpc.end;
		}
		assert_int_equal(next, arch.n_sms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpcs_share_the_sms_evenly),
		cmocka_unit_test(test_arch_table_every_entry_passes_the_check),
		cmocka_unit_test(test_arch_find_ignores_case_and_refuses_strangers),
		cmocka_unit_test(test_arch_parse_base_takes_over_and_overrides),
		cmocka_unit_test(test_arch_parse_without_a_group_gives_any_sms),
		cmocka_unit_test(test_arch_parse_without_rates_has_those_of_the_compute_capability),
		cmocka_unit_test(test_arch_parse_faults_name_line_and_reason),
		cmocka_unit_test(test_arch_parse_binary_and_long_lines_are_refused),
		cmocka_unit_test(test_arch_parse_mutated_text_never_yields_a_bad_arch),
		cmocka_unit_test(test_arch_names_are_all_of_the_table_and_cut_to_size),
		cmocka_unit_test(test_arch_print_is_read_back_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
