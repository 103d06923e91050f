/*
 * test_ptx_kernel.c - what a launch needs: shared memory, frames, callees, limits, refusals.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ptx/kernel.h"
#include "tests/unit/ptx_text.h"

#define SLOW_BLOCKS 2000 /* a fifth of what is allowed */

static struct gsb_arena arena;

static int setup(void **state)
{
	gsb_arena_init(&arena, 64 << 20);
	return 0;
}

static int teardown(void **state)
{
	gsb_arena_finish(&arena);
	return 0;
}

static struct gsb_ptx_kernel build(const struct gsb_ptx_module *m, const char *name)
{
	struct gsb_ptx_kernel k;

	assert_int_equal(gsb_ptx_kernel_build(m, func(m, name), &arena, &k), 0);
	return k;
}

static uint64_t shared_offset(const struct gsb_ptx_kernel *k, const char *name)
{
	for (uint32_t i = 0; i < k->n_shared; i++) {
		if (!strcmp(k->shared[i].var->name, name))
			return k->shared[i].offset;
	}
	fail_msg("%s is not in shared memory", name);
	return 0;
}

static void test_kernel_shared_memory_has_what_its_calls_reach(void **state)
{
	struct gsb_ptx_module *m = parse(
		HEAD
		".shared .b32 used; .shared .b64 other[9]; .extern .shared .align 32 .b8 dyn[];\n"
		".func f() { .reg .b32 r; .shared .align 8 .b8 own[10]; ld.shared.u32 r, [used]; ret; }\n"
		".entry k() { .reg .b64 d; mov.u64 d, dyn; call f; call f; ret; }\n"
		".entry plain() { ret; }");
	struct gsb_ptx_kernel k = build(m, "k"), plain = build(m, "plain");

	assert_int_equal(k.n_funcs, 2);
	assert_int_equal(k.n_shared, 3);
	assert_int_equal(shared_offset(&k, "own"), 0);
	assert_int_equal(shared_offset(&k, "used"), 12);
	assert_int_equal(k.static_shared_bytes, 16);
	assert_int_equal(k.dynamic_offset, 32);
	assert_int_equal(shared_offset(&k, "dyn"), 32);
	assert_int_equal(plain.static_shared_bytes, 0);
	assert_int_equal(plain.dynamic_offset, 0);
	gsb_ptx_module_destroy(m);
}

static void test_kernel_local_bytes_are_those_of_the_deepest_chain(void **state)
{
	struct gsb_ptx_module *m =
		parse(HEAD ".func a() { .local .b8 x[100]; ret; }\n"
			   ".func b() { .local .b8 x[40]; ret; }\n"
			   ".func c() { .local .b8 x[80]; call b; ret; }\n"
			   ".entry k() { .local .b8 x[8]; call a; call c; ret; }");
	struct gsb_ptx_kernel k = build(m, "k");

	assert_int_equal(k.local_bytes, 8 + 80 + 40);
	assert_false(k.recursive);
	assert_false(k.indirect);
	assert_int_equal(k.n_funcs, 4);
	assert_ptr_equal(k.funcs[0], k.entry);
	gsb_ptx_module_destroy(m);
}

/* A kernel that calls n functions, each of many blocks that jump far back. */
static char *slow_text(unsigned n_funcs)
{
	const unsigned n = SLOW_BLOCKS;
	char *text = malloc((size_t)n_funcs * (n + 10) * 80 + 1000), *p = text;

	p += sprintf(p, "%s", HEAD);
	for (unsigned f = 0; f < n_funcs; f++) {
		p += sprintf(p,
			     ".func f%u() { .reg .b32 %%r<%u>; .reg .pred %%p;\n"
			     "setp.eq.u32 %%p, %%r0, 1;\n",
			     f, n);
		for (unsigned b = 0; b < n; b++)
			p += sprintf(p, "L%u: add.u32 %%r%u, %%r%u, 1; @%%p bra L%u;\n", b, b,
				     (b * 7 + 1) % n, b * 37 % n);
		p += sprintf(p, "ret; }\n");
	}
	p += sprintf(p, ".entry k() {\n");
	for (unsigned f = 0; f < n_funcs; f++)
		p += sprintf(p, "call f%u;\n", f);
	sprintf(p, "ret; }\n");
	return text;
}

/* Else 64 MiB of text would keep the loader for an hour. */
static void test_kernel_of_many_slow_functions_is_refused(void **state)
{
	char *one = slow_text(1), *many = slow_text(8);
	struct gsb_ptx_module *m = parse(one), *n = parse(many);
	struct gsb_ptx_kernel k;

	build(m, "k");
	assert_int_equal(gsb_ptx_kernel_build(n, func(n, "k"), &arena, &k), -E2BIG);
	gsb_ptx_module_destroy(m);
	gsb_ptx_module_destroy(n);
	free(one);
	free(many);
}

/* Entries that reach the same code, and one behind them whose shared memory is too much. */
static char *shared_behind(unsigned n_entries, unsigned n_insns)
{
	char *text = malloc((size_t)n_insns * 16 + n_entries * 40 + 1000), *p = text;

	p += sprintf(p, "%s.func all() { .reg .b32 r;\n", HEAD);
	for (unsigned i = 0; i < n_insns; i++)
		p += sprintf(p, "mov.u32 r, 1;\n");
	p += sprintf(p, "ret; }\n");
	for (unsigned i = 0; i < n_entries; i++)
		p += sprintf(p, ".entry e%u() { call all; ret; }\n", i);
	sprintf(p, ".entry last() { .shared .b8 x[300000]; ret; }\n");
	return text;
}

/* Else they would keep the loader for minutes; it is refused when it is launched. */
static void test_check_shared_of_entries_made_to_be_slow_ends(void **state)
{
	char *few = shared_behind(100, 1000), *many = shared_behind(1500, 50000), log[200];
	struct gsb_ptx_module *m = parse(few), *n = parse(many);

	assert_int_equal(gsb_ptx_check_shared(m, log, sizeof(log)), -EILSEQ);
	assert_non_null(strstr(log, "kernel last: "));
	assert_int_equal(gsb_ptx_check_shared(n, log, sizeof(log)), 0);
	gsb_ptx_module_destroy(m);
	gsb_ptx_module_destroy(n);
	free(few);
	free(many);
}

static void test_kernel_recursion_is_found(void **state)
{
	struct gsb_ptx_module *m =
		parse(HEAD ".func b();\n.func a() { call b; ret; }\n.func b() { call a; ret; }\n"
			   ".entry k() { call a; ret; }\n.entry plain() { ret; }");

	assert_true(build(m, "k").recursive);
	assert_false(build(m, "plain").recursive);
	gsb_ptx_module_destroy(m);
}

static void test_kernel_indirect_call_reaches_functions_whose_address_is_taken(void **state)
{
	struct gsb_ptx_module *m = parse(
		HEAD
		".func a() { .local .b8 x[16]; ret; }\n.func b() { ret; }\n.func never() { .local .b8 x[99]; ret; }\n"
		".global .u64 table[1] = {a};\n"
		".entry k() { .reg .b64 d; p: .callprototype _ (); mov.u64 d, b; call d, p; ret; }\n"
		".entry one() { .reg .b64 d; t: .calltargets b; mov.u64 d, b; call d, t; ret; }");
	struct gsb_ptx_kernel k = build(m, "k"), one = build(m, "one");

	assert_true(k.indirect);
	assert_int_equal(k.n_funcs, 3);
	assert_int_equal(k.local_bytes, 16);
	assert_true(one.indirect);
	assert_int_equal(one.n_funcs, 2);
	gsb_ptx_module_destroy(m);
}

static void test_kernel_limits_come_from_directives(void **state)
{
	struct gsb_ptx_module *m =
		parse(HEAD ".const .b32 c[3]; .const .b64 d;\n"
			   ".entry a() .maxntid 128, 2 { ret; }\n"
			   ".entry b() .maxntid 1024 .reqntid 64 { ret; }\n"
			   ".entry c1() .maxntid 4294967295, 4294967295 { ret; }\n"
			   ".entry plain() { ret; }");

	assert_int_equal(build(m, "a").max_threads, 256);
	assert_int_equal(build(m, "b").max_threads, 64);
	assert_int_equal(build(m, "c1").max_threads, UINT32_MAX);
	assert_int_equal(build(m, "plain").max_threads, 0);
	assert_int_equal(build(m, "plain").const_bytes, 24);
	assert_int_equal(build(m, "plain").regs, 8);
	gsb_ptx_module_destroy(m);
}

static void test_kernel_with_unknown_opcode_in_a_callee_names_it(void **state)
{
	struct gsb_ptx_module *m =
		parse(HEAD ".func f() {\nwmma.mma.sync x;\nret; }\n"
			   ".entry k() { call f; ret; }\n.entry plain() { ret; }");
	struct gsb_ptx_kernel k = build(m, "k");

	assert_ptr_equal(k.refused_in, func(m, "f"));
	assert_string_equal(k.refused->spelling, "wmma.mma.sync x");
	assert_int_equal(k.refused->line, 5);
	assert_null(build(m, "plain").refused);
	gsb_ptx_module_destroy(m);
}

static void test_kernel_build_wants_an_entry_with_a_body(void **state)
{
	struct gsb_ptx_module *m = parse(HEAD ".func f() { ret; }\n.entry e();");
	struct gsb_ptx_kernel k;

	assert_int_equal(gsb_ptx_kernel_build(m, func(m, "f"), &arena, &k), -EINVAL);
	assert_int_equal(gsb_ptx_kernel_build(m, func(m, "e"), &arena, &k), -EINVAL);
	gsb_ptx_module_destroy(m);
}

static void check_sample(const char *path, const char *text, size_t len)
{
	struct gsb_ptx_module *m = parse_len(text, len);

	for (uint32_t i = 0; i < m->n_funcs; i++) {
		struct gsb_ptx_kernel k;

		if (!m->funcs[i]->is_entry)
			continue;
		assert_int_equal(gsb_ptx_kernel_build(m, m->funcs[i], &arena, &k), 0);
		assert_null(k.refused);
		if (k.regs < 8 || k.regs > 255 || k.regs % 8)
			fail_msg("%s: %s: %u registers", path, m->funcs[i]->name, k.regs);
	}
	gsb_ptx_module_destroy(m);
}

static void test_kernel_of_every_sample_has_sane_registers(void **state)
{
	each_sample("*.ptx", check_sample);
}

/* What nvcc's own assembler says of these kernels for sm_90: registers, static shared memory. */
static void check_known(const char *path, const char *text, size_t len)
{
	struct gsb_ptx_module *m = parse_len(text, len);
	struct gsb_ptx_kernel k = build(m, "matmul");

	assert_int_equal(k.static_shared_bytes, 2048);
	assert_int_equal(k.max_threads, 256);
	assert_in_range(k.regs, 24, 40); /* ptxas: 32 */
	gsb_ptx_module_destroy(m);
}

static void test_kernel_matmul_is_close_to_the_assembler(void **state)
{
	each_sample("matmul.nvcc.ptx", check_known);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_kernel_shared_memory_has_what_its_calls_reach),
		CASE(test_kernel_local_bytes_are_those_of_the_deepest_chain),
		CASE(test_kernel_of_many_slow_functions_is_refused),
		CASE(test_check_shared_of_entries_made_to_be_slow_ends),
		CASE(test_kernel_recursion_is_found),
		CASE(test_kernel_indirect_call_reaches_functions_whose_address_is_taken),
		CASE(test_kernel_limits_come_from_directives),
		CASE(test_kernel_with_unknown_opcode_in_a_callee_names_it),
		CASE(test_kernel_build_wants_an_entry_with_a_body),
		CASE(test_kernel_of_every_sample_has_sane_registers),
		CASE(test_kernel_matmul_is_close_to_the_assembler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
