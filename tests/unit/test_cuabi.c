/*
 * test_cuabi.c - our declarations of the driver's interface against the toolkit's cuda.h: sizes, offsets, values,
 * prototypes. And the list of entry points against the toolkit's stub of the driver, its headers for graphics, and
 * its version tables.
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

static const struct entry *entry_of(const char *name, int since, bool per_thread)
{
	for (size_t i = 0; i < N_ENTRIES; i++)
		if (!strcmp(entries[i].name, name) && entries[i].since == since &&
		    entries[i].per_thread == per_thread)
			return &entries[i];
	return NULL;
}

/* A header of typedefs names each (name, version, form) once, as PFN_name_vVERSION[_ptsz|_ptds]. `each` gets its entry, NULL: none. */
static void typedefs_of(const char *header, void (*each)(const char *name, const struct entry *e))
{
	char name[200], line[4096];
	FILE *f = fopen(header, "r");
	int version;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		for (const char *at = line; (at = strstr(at, "PFN_")); at++) {
			const char *v = strstr(at, "_v");
			int used = 0;

			if (!v || sscanf(v, "_v%d%n", &version, &used) != 1 || version < 1000)
				continue;
			snprintf(name, sizeof(name), "%.*s", (int)(v - at - 4), at + 4);
			each(name, entry_of(name, version,
					    !strncmp(v + used, "_pts", 4) ||
						    !strncmp(v + used, "_ptd", 4)));
		}
	}
	fclose(f);
}

/* What the driver exports for OpenGL, EGL and VDPAU is in no stub, but in headers of its own. */
static const char *const graphics_headers[] = {GSB_CUDA_INCLUDE "/cudaGLTypedefs.h",
					       GSB_CUDA_INCLUDE "/cudaEGLTypedefs.h",
					       GSB_CUDA_INCLUDE "/cudaVDPAUTypedefs.h"};
#define N_GRAPHICS_HEADERS (sizeof(graphics_headers) / sizeof(graphics_headers[0]))

static bool found[N_ENTRIES];

static void mark_found(const char *name, const struct entry *e)
{
	if (e)
		found[e - entries] = true;
}

static void expect_entry(const char *name, const struct entry *e)
{
	if (!e && strncmp(name, "cuWGL", 5)) /* Windows' */
		fail_msg("%s is missing", name);
	mark_found(name, e);
}

static size_t n_found(void)
{
	size_t n = 0;

	for (size_t i = 0; i < N_ENTRIES; i++)
		n += found[i];
	return n;
}

static void test_entries_are_the_symbols_of_stub_and_graphics_headers(void **state)
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
	memset(found, 0, sizeof(found));
	for (size_t h = 0; h < N_GRAPHICS_HEADERS; h++)
		typedefs_of(graphics_headers[h], expect_entry);
	assert_int_equal(n + n_found(), N_ENTRIES);
}

static void test_entries_have_the_toolkits_versions(void **state)
{
	memset(found, 0, sizeof(found));
	typedefs_of(GSB_CUDA_INCLUDE "/cudaTypedefs.h", mark_found);
	typedefs_of(GSB_CUDA_INCLUDE "/cudaProfilerTypedefs.h", mark_found);
	for (size_t h = 0; h < N_GRAPHICS_HEADERS; h++)
		typedefs_of(graphics_headers[h], mark_found);
	for (size_t i = 0; i < N_ENTRIES; i++)
		if (!found[i])
			fail_msg("%s: the toolkit has no %s of version %d", entries[i].symbol,
				 entries[i].name, entries[i].since);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuabi_sizes_offsets_and_values_are_the_toolkits),
		cmocka_unit_test(test_entries_are_the_symbols_of_stub_and_graphics_headers),
		cmocka_unit_test(test_entries_have_the_toolkits_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
