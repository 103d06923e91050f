/*
 * test_cuabi.c - our declarations of the driver's interface against the toolkit's cuda.h: sizes, offsets, values,
 * prototypes. And the list of entry points against the toolkit's stub of the driver and its version table.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gsb/cuabi.h"
#include "tests/unit/cuabi.h"

static const struct abi_row our_rows[] = {
#define ABI_SIZE(type)		ABI_SIZE_ROW(type)
#define ABI_FIELD(type, member) ABI_FIELD_ROW(type, member)
#define ABI_VALUE(name)		{#name, (long)(name)},
#include "tests/unit/cuabi_list.def"
};

static const struct entry {
	const char *symbol, *name;
	int since;
	bool per_thread;
} entries[] = {
#define GSB_CU(class, symbol, name, since, pt, params, call) {#symbol, #name, since, pt},
#define GSB_CU_REFUSED(symbol, name, since, pt)		     {#symbol, #name, since, pt},
#include "interpose/entries.def"
};
#define N_ENTRIES (sizeof(entries) / sizeof(entries[0]))

static void test_cuabi_sizes_offsets_and_values_are_the_toolkits(void **state)
{
	assert_int_equal(sizeof(our_rows) / sizeof(our_rows[0]), n_toolkit_rows);
	for (size_t i = 0; i < n_toolkit_rows; i++) {
		assert_string_equal(our_rows[i].what, toolkit_rows[i].what);
		if (our_rows[i].value != toolkit_rows[i].value)
			fail_msg("%s: %ld here, %ld in cuda.h", our_rows[i].what, our_rows[i].value,
				 toolkit_rows[i].value);
	}
}

static bool is_entry(const char *symbol)
{
	for (size_t i = 0; i < N_ENTRIES; i++)
		if (!strcmp(entries[i].symbol, symbol))
			return true;
	return false;
}

static void test_entries_are_the_stubs_symbols(void **state)
{
	char line[512];
	size_t n = 0;
	FILE *nm = popen("nm -D --defined-only --format=posix " GSB_CUDA_STUB, "r");

	assert_non_null(nm);
	while (fgets(line, sizeof(line), nm)) {
		line[strcspn(line, " \n")] = 0;
		if (!is_entry(line))
			fail_msg("%s is missing", line);
		n++;
	}
	assert_int_equal(pclose(nm), 0);
	assert_int_equal(n, N_ENTRIES);
}

/* The toolkit's header of typedefs names each (name, version, form) once, as PFN_name_vVERSION[_ptsz|_ptds]. */
static void test_entries_have_the_toolkits_versions(void **state)
{
	static const char *const headers[] = {GSB_CUDA_INCLUDE "/cudaTypedefs.h",
					      GSB_CUDA_INCLUDE "/cudaProfilerTypedefs.h"};
	bool found[N_ENTRIES] = {false};
	char name[200], line[4096];
	int version;

	for (size_t h = 0; h < 2; h++) {
		FILE *f = fopen(headers[h], "r");

		assert_non_null(f);
		while (fgets(line, sizeof(line), f)) {
			for (const char *at = line; (at = strstr(at, "PFN_")); at++) {
				const char *v = strstr(at, "_v");
				int used = 0;
				bool pt;

				if (!v || sscanf(v, "_v%d%n", &version, &used) != 1 ||
				    version < 1000)
					continue;
				snprintf(name, sizeof(name), "%.*s", (int)(v - at - 4), at + 4);
				pt = !strncmp(v + used, "_pts", 4) || !strncmp(v + used, "_ptd", 4);
				for (size_t i = 0; i < N_ENTRIES; i++)
					if (!strcmp(entries[i].name, name) &&
					    entries[i].since == version &&
					    entries[i].per_thread == pt)
						found[i] = true;
			}
		}
		fclose(f);
	}
	for (size_t i = 0; i < N_ENTRIES; i++)
		if (!found[i])
			fail_msg("%s: the toolkit has no %s of version %d", entries[i].symbol,
				 entries[i].name, entries[i].since);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuabi_sizes_offsets_and_values_are_the_toolkits),
		cmocka_unit_test(test_entries_are_the_stubs_symbols),
		cmocka_unit_test(test_entries_have_the_toolkits_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
