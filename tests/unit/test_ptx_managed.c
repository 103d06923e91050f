/*
 * test_ptx_managed.c - managed variables of a cubin: what is read of them, and what the driver gets afterwards; and cubins that lie.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

#include "base/compiler.h"
#include "ptx/cubin.h"
#include "ptx/managed.h"
#include "tests/unit/cubin.h"

#define MANAGED GSB_ELF_STO_MANAGED
#define G64	4

static struct gsb_arena arena;
static struct gsb_managed out;
static char text[512];
static uint8_t *cubin;
static size_t size;
static uint32_t n_plain, n_pointer, n_array, n_zero;

/* As ptxas has them for int plain = 3; __managed__ int *pointer = &plain + 1, array[2] = {1, 2}, and 100 bytes of zeros at 64. */
static void write_cubin(void)
{
	static const uint32_t plain = 3, values[2] = {1, 2};
	static const uint64_t null;
	struct cubin_writer w = {.text = "", .text_bytes = 1};

	free(cubin);
	n_plain = cubin_add(&w, "plain", STT_OBJECT, 0, 4, 4, &plain);
	n_pointer = cubin_add(&w, "pointer", STT_OBJECT, MANAGED, 8, 8, &null);
	n_array = cubin_add(&w, "array", STT_OBJECT, MANAGED, 8, 4, values);
	cubin_add(&w, "little", STT_OBJECT, 0, 1, 1, NULL);
	n_zero = cubin_add(&w, "zero", STT_OBJECT, MANAGED, 100, 64, NULL);
	cubin_add(&w, "kernel", STT_FUNC, 0, 16, 1, "the code of it.");
	cubin_point(&w, 8, G64, n_plain, 4);
	cubin_point(&w, 24, G64, n_array, 0); /* of what is no managed variable */
	cubin = cubin_finish(&w, &size);
}

static int setup(void **state)
{
	gsb_arena_init(&arena, 1 << 20);
	write_cubin();
	return 0;
}

static int teardown(void **state)
{
	gsb_arena_finish(&arena);
	return 0;
}

static int read_it(void)
{
	text[0] = 0;
	return gsb_managed_read(cubin, size, &arena, &out, text, sizeof(text));
}

static Elf64_Sym *symbol(uint32_t i)
{
	return (Elf64_Sym *)(cubin + cubin_headers(cubin)[CUBIN_SYMBOLS].sh_offset) + i;
}

static Elf64_Rela *rela(uint32_t i)
{
	return (Elf64_Rela *)(cubin + cubin_headers(cubin)[CUBIN_RELA].sh_offset) + i;
}

static void test_read_lists_variables_by_name(void **state)
{
	static const uint32_t values[2] = {1, 2};
	const struct gsb_managed_var *v;

	assert_int_equal(read_it(), 0);
	assert_int_equal(out.n_vars, 3);
	assert_string_equal(out.vars[0].name, "array");
	v = gsb_managed_find(&out, "array");
	assert_ptr_equal(v, out.vars);
	assert_int_equal(v->size, 8);
	assert_memory_equal(v->first, values, 8);
	v = gsb_managed_find(&out, "zero");
	assert_int_equal(v->size, 100);
	assert_null(v->first);
	assert_null(gsb_managed_find(&out, "plain"));
	assert_null(gsb_managed_find(&out, "arra"));
}

static void test_read_keeps_the_alignment_that_the_section_gives(void **state)
{
	assert_int_equal(read_it(), 0);
	assert_int_equal(gsb_managed_find(&out, "pointer")->align, 8);
	assert_int_equal(gsb_managed_find(&out, "zero")->align, 64);
	cubin_headers(cubin)[CUBIN_GLOBAL].sh_addralign = 0;
	symbol(n_zero)->st_value = 0;
	assert_int_equal(read_it(), 0);
	assert_int_equal(gsb_managed_find(&out, "zero")->align, 1);
}

static void test_read_lists_what_points_to_variables(void **state)
{
	assert_int_equal(read_it(), 0);
	assert_int_equal(out.n_pointers, 1);
	assert_string_equal(out.vars[out.pointers[0].var].name, "pointer");
	assert_int_equal(out.pointers[0].offset, 0);
	assert_string_equal(out.pointers[0].target, "plain");
	assert_int_equal(out.pointers[0].addend, 4);
}

/* Of an older form: what is added stands where the address comes to. */
static void test_read_of_a_relocation_without_addend_takes_that_of_the_place(void **state)
{
	const Elf64_Rel rel = {.r_offset = 8, .r_info = ELF64_R_INFO((uint64_t)n_array, 2)};
	Elf64_Shdr *sh = cubin_headers(cubin);

	sh[CUBIN_RELA].sh_type = SHT_REL;
	sh[CUBIN_RELA].sh_size = sizeof(rel);
	memcpy(rela(0), &rel, sizeof(rel));
	cubin[sh[CUBIN_INIT].sh_offset + 8] = 12;
	assert_int_equal(read_it(), 0);
	assert_int_equal(out.n_pointers, 1);
	assert_string_equal(out.pointers[0].target, "array");
	assert_int_equal(out.pointers[0].addend, 12);
}

static void test_undefined_variables_are_global_and_nowhere(void **state)
{
	const uint32_t managed[] = {n_pointer, n_array, n_zero};
	Elf64_Sym plain = *symbol(n_plain);
	struct gsb_cubin all;

	gsb_managed_undefine(cubin, size);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(managed); i++) {
		const Elf64_Sym *s = symbol(managed[i]);

		assert_int_equal(s->st_info, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT));
		assert_int_equal(s->st_other, 0);
		assert_int_equal(s->st_shndx, SHN_UNDEF);
		assert_int_equal(s->st_value, 0);
	}
	assert_memory_equal(symbol(n_plain), &plain, sizeof(plain));
	assert_int_equal(gsb_cubin_read(cubin, size, &arena, &all), 0);
	assert_false(all.has_managed);
	assert_int_equal(read_it(), 0);
	assert_int_equal(out.n_vars, 0);
	assert_null(gsb_managed_find(&out, "array"));
}

/* Each is refused with those words, and the next begins with a cubin that is right. */
static void expect(int err, const char *why)
{
	int got = read_it();

	if (got != err || !strstr(text, why))
		fail_msg("%d instead of %d for '%s': %s", got, err, why, text);
	write_cubin();
}

static void test_variables_that_lie_are_refused(void **state)
{
	symbol(n_array)->st_shndx = CUBIN_N_SECTIONS;
	expect(-EBADMSG, "array lies in no section of variables");
	symbol(n_array)->st_shndx = SHN_ABS;
	expect(-EBADMSG, "array lies in no section of variables");
	symbol(n_array)->st_shndx = CUBIN_TEXT;
	expect(-EBADMSG, "array lies in no section of variables");
	cubin_headers(cubin)[CUBIN_INIT].sh_type = SHT_STRTAB;
	expect(-EBADMSG, "lies in no section of variables");
	symbol(n_array)->st_size = 1000;
	expect(-EBADMSG, "array lies outside its section");
	symbol(n_array)->st_size = UINT64_MAX - 8;
	expect(-EBADMSG, "array lies outside its section");
	symbol(n_zero)->st_value = UINT64_MAX - 63;
	expect(-EBADMSG, "zero lies outside its section");
	symbol(n_array)->st_size = 0;
	expect(-EBADMSG, "array lies outside its section");
	symbol(n_array)->st_shndx = SHN_UNDEF;
	expect(-EILSEQ, "array is declared and nowhere defined");
	symbol(n_pointer)->st_size = 16;
	expect(-EBADMSG, "array lies in another");
	assert_int_equal(read_it(), 0);
}

static void test_names_that_lie_are_refused(void **state)
{
	Elf64_Shdr *strings = &cubin_headers(cubin)[CUBIN_STRINGS];

	symbol(n_array)->st_name = symbol(n_zero)->st_name;
	expect(-EBADMSG, "zero is there twice");
	symbol(n_plain)->st_name = symbol(n_zero)->st_name;
	expect(-EBADMSG, "zero has another's name");
	symbol(n_array)->st_name = 0;
	expect(-EBADMSG, "has no name, or one without an end");
	symbol(n_array)->st_name = UINT32_MAX;
	expect(-EBADMSG, "has no name, or one without an end");
	strings = &cubin_headers(cubin)[CUBIN_STRINGS];
	strings->sh_size = symbol(n_zero)->st_name + 2;
	expect(-EBADMSG, "has no name, or one without an end");
	cubin_headers(cubin)[CUBIN_SYMBOLS].sh_offset = size;
	expect(-EBADMSG, "cut off or damaged");
}

static void test_pointers_that_nobody_can_write_are_refused(void **state)
{
	rela(0)->r_info = ELF64_R_INFO((uint64_t)n_plain, 1);
	expect(-ENOTSUP, "pointer begins with a part of an address");
	rela(0)->r_info = ELF64_R_INFO((uint64_t)(n_zero + 1), G64);
	expect(-ENOTSUP, "pointer begins with the address of what is no variable");
	rela(0)->r_info = ELF64_R_INFO((uint64_t)1000, G64);
	expect(-EBADMSG, "pointer begins with the address of a symbol that is not there");
	rela(0)->r_offset = 12;
	expect(-EBADMSG, "pointer begins with an address that is longer than it is");
	symbol(n_plain)->st_name = UINT32_MAX;
	expect(-EBADMSG, "pointer begins with the address of a symbol without a name");
	symbol(n_plain)->st_name = 0;
	expect(-ENOTSUP, "pointer begins with the address of what is no variable");
}

/* Those of bytes that no managed variable has are the driver's. */
static void test_relocations_elsewhere_are_passed_over(void **state)
{
	static const uint64_t elsewhere[] = {0, 4, 7, 24, 1000, UINT64_MAX};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(elsewhere); i++) {
		rela(0)->r_offset = elsewhere[i];
		assert_int_equal(read_it(), 0);
		assert_int_equal(out.n_pointers, 0);
	}
	rela(0)->r_offset = 8;
	cubin_headers(cubin)[CUBIN_RELA].sh_info = CUBIN_GLOBAL;
	assert_int_equal(read_it(), 0);
	assert_int_equal(out.n_pointers, 0);
	cubin_headers(cubin)[CUBIN_RELA].sh_info = UINT32_MAX;
	assert_int_equal(read_it(), 0);
	assert_int_equal(out.n_pointers, 0);
}

static void test_read_past_the_arena_says_no_memory(void **state)
{
	for (size_t limit = 0; limit < 512; limit += 16) {
		struct gsb_arena small;
		int err;

		gsb_arena_init(&small, limit);
		err = gsb_managed_read(cubin, size, &small, &out, text, sizeof(text));
		assert_true(err == -ENOMEM || !err);
		assert_true(err || limit > 256);
		gsb_arena_finish(&small);
	}
}

static void test_cut_or_mutated_never_crashes(void **state)
{
	uint64_t seed = 7;

	for (int round = 0; round < 20000; round++) {
		struct gsb_arena small;
		size_t n = size;
		uint8_t *copy;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		n -= round % 4 == 0 ? (seed >> 40) % size : 0;
		copy = malloc(n + 1);
		assert_non_null(copy);
		memcpy(copy, cubin, n);
		for (uint32_t i = 0; i < 3 && n; i++)
			copy[(seed >> (17 + 9 * i)) % n] = (uint8_t)(seed >> (20 + 7 * i));
		gsb_arena_init(&small, 1 << 20);
		gsb_managed_read(copy, n, &small, &out, text, sizeof(text));
		gsb_managed_undefine(copy, n);
		gsb_arena_finish(&small);
		free(copy);
	}
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_read_lists_variables_by_name),
		CASE(test_read_keeps_the_alignment_that_the_section_gives),
		CASE(test_read_lists_what_points_to_variables),
		CASE(test_read_of_a_relocation_without_addend_takes_that_of_the_place),
		CASE(test_undefined_variables_are_global_and_nowhere),
		CASE(test_variables_that_lie_are_refused),
		CASE(test_names_that_lie_are_refused),
		CASE(test_pointers_that_nobody_can_write_are_refused),
		CASE(test_relocations_elsewhere_are_passed_over),
		CASE(test_read_past_the_arena_says_no_memory),
		CASE(test_cut_or_mutated_never_crashes),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(cubin);
	return failed;
}
