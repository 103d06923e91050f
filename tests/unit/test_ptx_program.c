/*
 * test_ptx_program.c - fatbins out of the file of a program: found in order, and no byte outside of the file read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/program.h"
#include "tests/unit/fatbin.h"

#define FIRST  ".version 7.0\n"
#define SECOND ".version 8.0\n.target sm_90\n"
#define NAMES  "\0.shstrtab\0.nv_fatbin\0__nv_relfatbin"

struct elf {
	uint8_t bytes[4096];
	size_t size, first, second; /* where the fatbins are */
	Elf64_Ehdr *head;
	Elf64_Shdr *sections;
};

/* Head, two fatbins with zeroes between, names, sections: one of zeroes first, as everywhere. */
static void make(struct elf *e)
{
	size_t at = sizeof(Elf64_Ehdr), names;

	memset(e, 0, sizeof(*e));
	e->head = (void *)e->bytes;
	memcpy(e->head->e_ident, ELFMAG, SELFMAG);
	e->head->e_ident[EI_CLASS] = ELFCLASS64;
	e->head->e_ident[EI_DATA] = ELFDATA2LSB;
	e->head->e_machine = EM_X86_64;
	e->first = at;
	at += make_fatbin(e->bytes + at, FIRST);
	e->second = at += 5;
	at += make_fatbin(e->bytes + at, SECOND);
	names = at += 3;
	memcpy(e->bytes + at, NAMES, sizeof(NAMES));
	at = (at + sizeof(NAMES) + 7) / 8 * 8;
	e->sections = (void *)(e->bytes + at);
	e->sections[1] = (Elf64_Shdr){
		.sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = names, .sh_size = sizeof(NAMES)};
	e->sections[2] = (Elf64_Shdr){.sh_name = 11,
				      .sh_type = SHT_PROGBITS,
				      .sh_offset = e->first,
				      .sh_size = names - e->first};
	e->head->e_shoff = at;
	e->head->e_shentsize = sizeof(Elf64_Shdr);
	e->head->e_shnum = 3;
	e->head->e_shstrndx = 1;
	e->size = at + 3 * sizeof(Elf64_Shdr);
}

/* How many fatbins there are, or the error. */
static int count(const void *bytes, size_t size)
{
	struct gsb_image image;
	uint64_t at = 0;
	int n = 0, got;

	while ((got = gsb_program_next(bytes, size, &at, &image)) > 0) {
		assert_true((const uint8_t *)image.bytes >= (const uint8_t *)bytes);
		assert_true((const uint8_t *)image.bytes + image.size <=
			    (const uint8_t *)bytes + size);
		n++;
	}
	return got ? got : n;
}

static void test_program_next_gives_each_fatbin(void **state)
{
	struct gsb_image image;
	uint64_t at = 0;
	struct elf e;

	make(&e);
	assert_true(gsb_program_is(e.bytes, e.size));
	assert_int_equal(gsb_program_next(e.bytes, e.size, &at, &image), 1);
	assert_int_equal(image.kind, GSB_IMAGE_FATBIN);
	assert_ptr_equal(image.bytes, e.bytes + e.first);
	assert_int_equal(image.size, 16 + 64 + sizeof(FIRST));
	assert_int_equal(gsb_program_next(e.bytes, e.size, &at, &image), 1);
	assert_ptr_equal(image.bytes, e.bytes + e.second);
	assert_int_equal(gsb_program_next(e.bytes, e.size, &at, &image), 0);
}

/* The same section as nvcc names it when it has linked. */
static void test_program_parts_are_one_image_behind_an_empty_fatbin(void **state)
{
	const size_t first = 16 + 64 + sizeof(FIRST), second = 16 + 64 + sizeof(SECOND);
	struct gsb_image image;
	const uint8_t *p;
	struct elf e;
	void *made;

	make(&e);
	assert_int_equal(gsb_program_parts(e.bytes, e.size, &image, &made), 0);
	assert_null(made);
	e.sections[2].sh_name = 22;
	assert_int_equal(count(e.bytes, e.size), 0);
	assert_int_equal(gsb_program_parts(e.bytes, e.size, &image, &made), 1);
	assert_int_equal(image.kind, GSB_IMAGE_FATBIN);
	assert_int_equal(image.size, 16 + first + second);
	p = image.bytes;
	assert_memory_equal(p, "\x50\xed\x55\xba\1\0\x10\0\0\0\0\0\0\0\0\0", 16);
	assert_memory_equal(p + 16, e.bytes + e.first, first);
	assert_memory_equal(p + 16 + first, e.bytes + e.second, second);
	free(made);
	e.bytes[e.second] ^= 1;
	assert_int_equal(gsb_program_parts(e.bytes, e.size, &image, &made), -EBADMSG);
	assert_null(made);
}

static void test_program_without_device_code_has_none(void **state)
{
	struct elf e;

	make(&e);
	e.sections[2].sh_name = 1;
	assert_int_equal(count(e.bytes, e.size), 0);
	e.sections[2] = (Elf64_Shdr){.sh_name = 11, .sh_type = SHT_NOBITS, .sh_size = UINT64_MAX};
	assert_int_equal(count(e.bytes, e.size), 0);
	e.head->e_shnum = 0;
	assert_int_equal(count(e.bytes, e.size), 0);
}

static void test_program_is_no_cubin_and_no_text(void **state)
{
	struct elf e;

	make(&e);
	e.head->e_machine = 190;
	assert_false(gsb_program_is(e.bytes, e.size));
	assert_int_equal(count(e.bytes, e.size), -EBADMSG);
	assert_false(gsb_program_is(".version 7.0\n", 13));
	make(&e);
	assert_false(gsb_program_is(e.bytes, sizeof(Elf64_Ehdr) - 1));
}

static void test_program_that_lies_is_refused(void **state)
{
	uint64_t huge = UINT64_MAX - 8;
	struct elf e;

	make(&e);
	e.sections[2].sh_size = e.size;
	assert_int_equal(count(e.bytes, e.size), -EBADMSG);
	make(&e);
	e.head->e_shoff = huge;
	assert_int_equal(count(e.bytes, e.size), -EBADMSG);
	make(&e);
	e.head->e_shstrndx = 9;
	assert_int_equal(count(e.bytes, e.size), -EBADMSG);
	make(&e);
	memcpy(e.bytes + e.second + 8, &huge, 8);
	assert_int_equal(count(e.bytes, e.size), -EBADMSG);
	make(&e);
	e.bytes[e.second] = 1;
	assert_int_equal(count(e.bytes, e.size), -EBADMSG);
}

/* Each cut, each byte changed: in memory of its own, so that a sanitizer sees what is read. */
static void test_program_spoilt_anywhere_is_read_in_bounds(void **state)
{
	struct elf e;

	make(&e);
	for (size_t i = 0; i <= e.size; i++) {
		uint8_t *cut = malloc(i + 1);

		assert_non_null(cut);
		memcpy(cut, e.bytes, i);
		assert_true(count(cut, i) <= 2);
		free(cut);
	}
	for (size_t i = 0; i < e.size; i++) {
		uint8_t was = e.bytes[i];

		for (unsigned bit = 0; bit < 8; bit++) {
			e.bytes[i] = was ^ (uint8_t)(1u << bit);
			assert_true(count(e.bytes, e.size) <= 2);
		}
		e.bytes[i] = was;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program_next_gives_each_fatbin),
		cmocka_unit_test(test_program_parts_are_one_image_behind_an_empty_fatbin),
		cmocka_unit_test(test_program_without_device_code_has_none),
		cmocka_unit_test(test_program_is_no_cubin_and_no_text),
		cmocka_unit_test(test_program_that_lies_is_refused),
		cmocka_unit_test(test_program_spoilt_anywhere_is_read_in_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
