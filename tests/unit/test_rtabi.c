/*
 * test_rtabi.c - the runtime that gsbrun puts in place: its symbols against the toolkit's library, one by one with their
 * version, and its declarations against the toolkit's headers (rtabi_toolkit.c).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudart/abi.h"
#include "tests/unit/cuabi.h"

static const struct abi_row our_rows[] = {
#define ABI_SIZE(type)		ABI_SIZE_ROW(type)
#define ABI_FIELD(type, member) ABI_FIELD_ROW(type, member)
#define ABI_VALUE(name)		{#name, (long)(name)},
#include "tests/unit/rtabi_list.def"
};

static void test_rtabi_sizes_offsets_and_values_are_the_toolkits(void **state)
{
	assert_int_equal(sizeof(our_rows) / sizeof(our_rows[0]), n_toolkit_rows);
	for (size_t i = 0; i < n_toolkit_rows; i++) {
		assert_string_equal(our_rows[i].what, toolkit_rows[i].what);
		if (our_rows[i].value != toolkit_rows[i].value)
			fail_msg("%s: %ld here, %ld in the toolkit", our_rows[i].what,
				 our_rows[i].value, toolkit_rows[i].value);
	}
}

/* The symbols of a library that begin with cuda or __cuda, with their versions, sorted; for free(). */
static char *symbols_of(const char *path, size_t *n)
{
	char command[1024], line[512], *all = NULL;
	size_t bytes;
	FILE *nm, *out = open_memstream(&all, &bytes);

	snprintf(
		command, sizeof(command),
		"nm -D --defined-only --format=posix '%s' | sed -n 's/^\\(_*cuda[^ ]*\\) T .*/\\1/p' | "
		"LC_ALL=C sort",
		path);
	nm = popen(command, "r");
	assert_non_null(nm);
	for (*n = 0; fgets(line, sizeof(line), nm); ++*n)
		fputs(line, out);
	assert_int_equal(pclose(nm), 0);
	fclose(out);
	return all;
}

static void test_rtabi_symbols_and_versions_are_the_toolkits(void **state)
{
	size_t n_ours, n_theirs;
	char *ours = symbols_of(GSB_CUDART_13, &n_ours),
	     *theirs = symbols_of(GSB_CUDA_CUDART, &n_theirs);

	assert_true(n_theirs > 400);
	assert_non_null(strstr(ours, "cudaLaunchKernel@@libcudart.so.13\n"));
	assert_string_equal(ours, theirs);
	free(ours);
	free(theirs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rtabi_sizes_offsets_and_values_are_the_toolkits),
		cmocka_unit_test(test_rtabi_symbols_and_versions_are_the_toolkits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
