/*
 * test_entries.c - the list of entry points and what cuGetProcAddress makes of it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/tenant.h"

struct row {
	const char *symbol, *name;
	int since, pt;
	bool carried;
};

static const struct row rows[] = {
#define GSB_CU(class, symbol, name, since, pt, params, call) {#symbol, #name, since, pt, true},
#define GSB_CU_REFUSED(symbol, name, since, pt)		     {#symbol, #name, since, pt, false},
#include "interpose/entries.def"
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static struct cu cu;

static int compare(const struct row *a, const struct row *b)
{
	int c = strcmp(a->name, b->name);

	if (c)
		return c;
	return a->pt != b->pt ? a->pt - b->pt : a->since - b->since;
}

static void test_entries_are_sorted_and_unique(void **state)
{
	for (size_t i = 1; i < N_ROWS; i++)
		if (compare(&rows[i - 1], &rows[i]) >= 0)
			fail_msg("%s stands before %s", rows[i - 1].symbol, rows[i].symbol);
	for (size_t i = 0; i < N_ROWS; i++)
		for (size_t j = i + 1; j < N_ROWS; j++)
			assert_string_not_equal(rows[i].symbol, rows[j].symbol);
}

static void test_entries_are_all_of_cuda_13_0(void **state)
{
	assert_int_equal(N_ROWS, 672);
}

static void test_entries_are_all_exported(void **state)
{
	void *library = dlopen(GSB_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; i < N_ROWS; i++)
		if (!dlsym(library, rows[i].symbol))
			fail_msg("%s is not exported", rows[i].symbol);
}

static CUresult ask(const char *name, int version, uint64_t flags, void **fn, int *status)
{
	CUdriverProcAddressQueryResult s;
	CUresult result = cu.cuGetProcAddress_v2(name, fn, version, flags, &s);

	*status = (int)s;
	return result;
}

/* Every row is found at its own version and at every one up to the next row's. */
static void test_proc_address_gives_greatest_version_not_above(void **state)
{
	void *library = dlopen(GSB_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; i < N_ROWS; i++) {
		const struct row *r = &rows[i], *next = i + 1 < N_ROWS ? r + 1 : NULL;
		bool has_next = next && !strcmp(next->name, r->name) && next->pt == r->pt;
		void *fn;
		int status;

		assert_int_equal(ask(r->name, r->since, r->pt ? 2 : 0, &fn, &status), CUDA_SUCCESS);
		assert_ptr_equal(fn, dlsym(library, r->symbol));
		assert_int_equal(status, 0);
		assert_int_equal(ask(r->name, has_next ? next->since - 1 : 99999, r->pt ? 2 : 0,
				     &fn, &status),
				 CUDA_SUCCESS);
		assert_ptr_equal(fn, dlsym(library, r->symbol));
	}
}

static void test_proc_address_below_first_version_is_not_sufficient(void **state)
{
	void *fn = &cu;
	int status;

	assert_int_equal(ask("cuLaunchKernelEx", 11050, 0, &fn, &status), CUDA_SUCCESS);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	assert_null(fn);
}

static void test_proc_address_of_unknown_name_is_not_found(void **state)
{
	static const char *const names[] = {"",	  "cuNoSuchCall", "cuInit2", "cuWGLGetDevice",
					    "zz", "cuMemAlloc_v2"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *fn = &cu;
		int status;

		assert_int_equal(ask(names[i], 13000, 0, &fn, &status), CUDA_SUCCESS);
		assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
		assert_null(fn);
	}
}

static void test_proc_address_per_thread_falls_back_to_only_form(void **state)
{
	void *fn;
	int status;

	assert_int_equal(ask("cuMemAlloc", 13000, 2, &fn, &status), CUDA_SUCCESS);
	assert_ptr_equal(fn, cu.cuMemAlloc_v2);
	assert_int_equal(ask("cuStreamQuery", 13000, 2, &fn, &status), CUDA_SUCCESS);
	assert_ptr_equal(fn, cu.cuStreamQuery_ptsz);
	assert_int_equal(ask("cuStreamQuery", 13000, 1, &fn, &status), CUDA_SUCCESS);
	assert_ptr_equal(fn, cu.cuStreamQuery);
}

static void test_proc_address_asked_at_two_versions_gives_two_symbols(void **state)
{
	void *fn;
	int status;

	ask("cuCtxGetDevice", 2000, 0, &fn, &status);
	assert_ptr_equal(fn, cu.cuCtxGetDevice);
	ask("cuCtxGetDevice", 13000, 0, &fn, &status);
	assert_ptr_equal(fn, cu.cuCtxGetDevice_v2);
	ask("cuGetProcAddress", 11030, 0, &fn, &status);
	assert_ptr_equal(fn, cu.cuGetProcAddress);
}

static void test_proc_address_with_bad_arguments_is_refused(void **state)
{
	void *fn;

	assert_int_equal(cu.cuGetProcAddress_v2(NULL, &fn, 13000, 0, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cu.cuGetProcAddress_v2("cuInit", NULL, 13000, 0, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cu.cuGetProcAddress_v2("cuInit", &fn, 13000, 4, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cu.cuGetProcAddress_v2("cuInit", &fn, 13000, 0, NULL), CUDA_SUCCESS);
	assert_int_equal(cu.cuGetProcAddress("cuInit", NULL, 13000, 0), CUDA_ERROR_INVALID_VALUE);
}

/* As an H200's driver answers: the first form fails and leaves what was there, the second says NULL and why. */
static void test_proc_address_of_nothing_is_an_error_of_the_old_form_alone(void **state)
{
	void *fn = &state;
	int status;

	assert_int_equal(cu.cuGetProcAddress("cuNothing", &fn, 13000, 0), CUDA_ERROR_NOT_FOUND);
	assert_ptr_equal(fn, &state);
	assert_int_equal(cu.cuGetProcAddress("cuInit", &fn, 13000, 0), CUDA_SUCCESS);
	assert_ptr_equal(fn, cu.cuInit);
	assert_int_equal(ask("cuNothing", 13000, 0, &fn, &status), CUDA_SUCCESS);
	assert_null(fn);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

static void test_refused_entry_is_not_supported(void **state)
{
	assert_int_equal(cu.cuMipmappedArrayGetMemoryRequirements(), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cu.cuGraphBatchMemOpNodeGetParams(), CUDA_ERROR_NOT_SUPPORTED);
}

/* The program that said_under() runs: what a caller of refused entries says. */
static int call_refused(void)
{
	const CUuuid unknown = {{0x12, 0x34, 0x56, 0x78, 0x9a}};
	const void *table;
	void *fn;
	int n = 0, n_devices;

	n += cu.cuGetProcAddress_v2("cuStreamBeginCapture", &fn, 13000, 0, NULL) != CUDA_SUCCESS;
	n += cu.cuGetProcAddress("cuNothing", &fn, 13000, 0) != CUDA_ERROR_NOT_FOUND;
	for (int i = 0; i < 3; i++)
		n += cu.cuGraphBatchMemOpNodeGetParams() != CUDA_ERROR_NOT_SUPPORTED;
	n += cu.cuMipmappedArrayGetMemoryRequirements() != CUDA_ERROR_NOT_SUPPORTED;
	n += cu.cuDeviceGetCount(&n_devices) != CUDA_ERROR_NOT_INITIALIZED;
	n += cu.cuGetExportTable(&table, &unknown) != CUDA_ERROR_NOT_SUPPORTED;
	return n;
}

/* As runtimes ask for the table of their interface, before CUDA 12 and since. */
static int call_as_runtime(bool old)
{
	const CUuuid interface = {{0x6b, (char)0xd5, (char)0xfb, 0x6c, 0x5b, (char)0xf4, (char)0xe7,
				   0x4a, (char)0x89, (char)0x87, (char)0xd9, 0x39, 0x12, (char)0xfd,
				   (char)0x9d, (char)0xf9}};
	const void *table;
	void *fn;

	cu.cuGetProcAddress_v2("cuModuleLoadData", &fn, 11080, 0, NULL);
	if (!old)
		cu.cuGetProcAddress_v2("cuLibraryLoadData", &fn, 12000, 0, NULL);
	cu.cuGetExportTable(&table, &interface);
	cu.cuGetExportTable(&table, &interface);
	return 0;
}

/* All that are refused. */
static int call_all_refused(void)
{
	int n = 0;

#define GSB_CU(class, symbol, name, since, pt, params, call)
#define GSB_CU_REFUSED(symbol, name, since, pt) n += cu.symbol() != CUDA_ERROR_NOT_SUPPORTED;
#include "interpose/entries.def"
	return n;
}

/* All descriptors that it may have are open; afterwards not, for a sanitizer that looks at the process when it ends. */
static int init_without_descriptors(void)
{
	struct rlimit was, standard_ones;
	CUresult result;

	if (getrlimit(RLIMIT_NOFILE, &was))
		return 1;
	standard_ones = (struct rlimit){3, was.rlim_max};
	if (setrlimit(RLIMIT_NOFILE, &standard_ones))
		return 1;
	result = cu.cuInit(0);
	return setrlimit(RLIMIT_NOFILE, &was) || result != CUDA_ERROR_SYSTEM_NOT_READY;
}

/* The standard error of who calls `what`, with this GSB_DEBUG, NULL for none: the library reads it once, when it is loaded. */
static void said_by(const char *what, const char *debug, char *said, size_t size)
{
	int ends[2], status = -1;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		unsetenv("GSB_DEBUG");
		if (debug)
			setenv("GSB_DEBUG", debug, 1);
		execl("/proc/self/exe", "test_entries", what, NULL);
		_exit(127);
	}
	close(ends[1]);
	while (n < size - 1 && (got = read(ends[0], said + n, size - 1 - n)) > 0)
		n += (size_t)got;
	said[n] = 0;
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void said_under(const char *debug, char *said, size_t size)
{
	said_by("call", debug, said, size);
}

/* ---- doc/driver-coverage.md ---- */

#define SAID_BYTES (256 << 10)

/* The reason that the library gives for a call; NULL: none. end: behind it. */
static const char *reason_of(const char *said, const char *symbol, const char **end)
{
	char head[160];
	const char *at;

	snprintf(head, sizeof(head),
		 "gsbroker: %s is not carried, it returns CUDA_ERROR_NOT_SUPPORTED: ", symbol);
	at = strstr(said, head);
	if (!at)
		return NULL;
	at += strlen(head);
	*end = strstr(at, " (said once; ");
	return *end ? at : NULL;
}

static bool is_same(const char *said, size_t i, size_t j)
{
	const char *end_a, *end_b, *a = reason_of(said, rows[i].symbol, &end_a),
				   *b = reason_of(said, rows[j].symbol, &end_b);

	return a && b && end_a - a == end_b - b && !memcmp(a, b, (size_t)(end_a - a));
}

/* A line for each reason, with all calls of which it is given. */
static void put_refused(FILE *f, const char *said)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		const char *end, *why = reason_of(said, rows[i].symbol, &end);
		size_t first = 0;

		while (first < i && !is_same(said, first, i))
			first++;
		if (!why || first < i)
			continue;
		fprintf(f, "| %s", rows[i].symbol);
		for (size_t j = i + 1; j < N_ROWS; j++)
			if (is_same(said, i, j))
				fprintf(f, ", %s", rows[j].symbol);
		fprintf(f, " | %.*s |\n", (int)(end - why), why);
	}
}

static void put_carried(FILE *f)
{
	int column = 0;

	for (size_t i = 0; i < N_ROWS; i++) {
		int length = (int)strlen(rows[i].symbol) + 1;

		if (!rows[i].carried)
			continue;
		column += length;
		fprintf(f, "%s%s",
			column == length ? ""
			: column > 120	 ? "\n"
					 : " ",
			rows[i].symbol);
		if (column > 120)
			column = length + 1;
	}
	fputs("\n", f);
}

static void put_page(FILE *f, const char *said)
{
	unsigned n = 0;

	for (size_t i = 0; i < N_ROWS; i++)
		n += rows[i].carried;
	fprintf(f,
		"# What of the CUDA driver interface is carried\n\n"
		"Made from interpose/entries.def and what the library says by `build/tests/unit/test_entries --page "
		">doc/driver-coverage.md`;\na test says that it is up to date. Of the %u entry points of CUDA 13.0 %u are "
		"carried. Each of the others returns\nCUDA_ERROR_NOT_SUPPORTED and says once why on stderr.\n\n"
		"## Not carried\n\n| calls | why, and what to do |\n| --- | --- |\n",
		(unsigned)N_ROWS, n);
	put_refused(f, said);
	fputs("\n## Carried\n\nWhat a device cannot do it refuses all the same: doc/real-gpu.md and doc/emulated-device.md.\n\n",
	      f);
	put_carried(f);
}

static void test_each_refused_entry_says_why(void **state)
{
	char *said = calloc(1, SAID_BYTES);
	const char *end;

	assert_non_null(said);
	said_by("all", NULL, said, SAID_BYTES);
	for (size_t i = 0; i < N_ROWS; i++)
		if (!rows[i].carried && !reason_of(said, rows[i].symbol, &end))
			fail_msg("%s does not say why", rows[i].symbol);
	assert_null(strstr(said, "nobody has needed it"));
	free(said);
}

static void test_coverage_page_is_up_to_date(void **state)
{
	char *said = calloc(1, SAID_BYTES), *page = NULL, *shipped, path[512];
	const char *dir = getenv("srcdir");
	size_t size = 0;
	FILE *f = open_memstream(&page, &size);

	assert_true(said && f);
	said_by("all", NULL, said, SAID_BYTES);
	put_page(f, said);
	assert_int_equal(fclose(f), 0);
	snprintf(path, sizeof(path), "%s/doc/driver-coverage.md", dir ? dir : ".");
	shipped = calloc(1, size + 2);
	f = fopen(path, "r");
	if (!shipped || !f)
		fail_msg("%s: no such file", path);
	if (fread(shipped, 1, size + 1, f) != size || memcmp(shipped, page, size))
		fail_msg("%s is not what its head says how to make", path);
	fclose(f);
	free(shipped);
	free(page);
	free(said);
}

static void test_refused_entry_is_named_once_when_called(void **state)
{
	char said[1024];

	said_under(NULL, said, sizeof(said));
	assert_string_equal(
		said,
		"gsbroker: cuGraphBatchMemOpNodeGetParams is not carried, it returns "
		"CUDA_ERROR_NOT_SUPPORTED: the engine orders by events, and cannot see a wait for memory "
		"(said once; GSB_DEBUG=quiet silences this)\n"
		"gsbroker: cuMipmappedArrayGetMemoryRequirements is not carried, it returns "
		"CUDA_ERROR_NOT_SUPPORTED: arrays are whole: there are no sparse ones, and no "
		"planes (said once; GSB_DEBUG=quiet silences this)\n");
}

static void test_call_that_fails_and_table_that_is_refused_are_named_to_who_debugs(void **state)
{
	char said[4096];

	said_under("debug", said, sizeof(said));
	assert_non_null(strstr(said, "gsbroker: debug: call: cuDeviceGetCount returns "
				     "CUDA_ERROR_NOT_INITIALIZED\n"));
	assert_non_null(strstr(said, "gsbroker: debug: table: 12345678-9a00-0000-0000-000000000000 "
				     "is refused\n"));
	assert_null(strstr(said, "cuGetProcAddress"));
}

/* Where no driver works there is one reason, and it is said by who looks for the driver. */
static void test_runtime_without_a_driver_is_not_called_old(void **state)
{
	char said[4096];

	said_by("runtime-11", NULL, said, sizeof(said));
	assert_null(strstr(said, "CUDA 11"));
	said_by("runtime-12", NULL, said, sizeof(said));
	assert_null(strstr(said, "CUDA 11"));
}

static void test_refused_entry_is_not_named_when_quiet(void **state)
{
	char said[1024];

	said_under("quiet", said, sizeof(said));
	assert_string_equal(said, "");
	said_under("off", said, sizeof(said));
	assert_string_equal(said, "");
}

static void test_init_without_descriptors_says_what_to_do(void **state)
{
	char said[1024];

	said_by("init", NULL, said, sizeof(said));
	assert_non_null(strstr(said, "cannot reach the broker at "));
	assert_non_null(strstr(said, "start this program with a higher ulimit -n"));
}

static void test_calls_before_init_are_not_initialized(void **state)
{
	CUdeviceptr ptr;
	CUcontext ctx;
	int n;

	assert_int_equal(cu.cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
	assert_int_equal(cu.cuMemAlloc_v2(&ptr, 4), CUDA_ERROR_NOT_INITIALIZED);
	assert_int_equal(cu.cuCtxGetCurrent(&ctx), CUDA_ERROR_NOT_INITIALIZED);
	assert_int_equal(cu.cuDriverGetVersion(&n), CUDA_SUCCESS);
	assert_int_equal(n, 13000);
}

static void test_error_names_are_the_drivers(void **state)
{
	const char *text;

	assert_int_equal(cu.cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS);
	assert_string_equal(text, "CUDA_ERROR_INVALID_VALUE");
	assert_int_equal(cu.cuGetErrorString(CUDA_SUCCESS, &text), CUDA_SUCCESS);
	assert_string_equal(text, "no error");
	assert_int_equal(cu.cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
	assert_null(text);
}

static void test_export_table_of_unknown_uuid_is_refused(void **state)
{
	const CUuuid unknown = {{1, 2, 3}};
	const void *table = &cu;

	assert_int_equal(cu.cuGetExportTable(&table, &unknown), CUDA_ERROR_NOT_SUPPORTED);
	assert_null(table);
}

static int print_page(void)
{
	static char said[SAID_BYTES];

	said_by("all", NULL, said, sizeof(said));
	put_page(stdout, said);
	return 0;
}

static int call_as_told(const char *how)
{
	if (!strncmp(how, "runtime", 7))
		return call_as_runtime(!strcmp(how, "runtime-11"));
	return strcmp(how, "all") ? call_refused() : call_all_refused();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries_are_sorted_and_unique),
		cmocka_unit_test(test_entries_are_all_of_cuda_13_0),
		cmocka_unit_test(test_entries_are_all_exported),
		cmocka_unit_test(test_proc_address_gives_greatest_version_not_above),
		cmocka_unit_test(test_proc_address_below_first_version_is_not_sufficient),
		cmocka_unit_test(test_proc_address_of_unknown_name_is_not_found),
		cmocka_unit_test(test_proc_address_per_thread_falls_back_to_only_form),
		cmocka_unit_test(test_proc_address_asked_at_two_versions_gives_two_symbols),
		cmocka_unit_test(test_proc_address_with_bad_arguments_is_refused),
		cmocka_unit_test(test_proc_address_of_nothing_is_an_error_of_the_old_form_alone),
		cmocka_unit_test(test_refused_entry_is_not_supported),
		cmocka_unit_test(test_refused_entry_is_named_once_when_called),
		cmocka_unit_test(test_runtime_without_a_driver_is_not_called_old),
		cmocka_unit_test(test_refused_entry_is_not_named_when_quiet),
		cmocka_unit_test(
			test_call_that_fails_and_table_that_is_refused_are_named_to_who_debugs),
		cmocka_unit_test(test_each_refused_entry_says_why),
		cmocka_unit_test(test_coverage_page_is_up_to_date),
		cmocka_unit_test(test_init_without_descriptors_says_what_to_do),
		cmocka_unit_test(test_calls_before_init_are_not_initialized),
		cmocka_unit_test(test_error_names_are_the_drivers),
		cmocka_unit_test(test_export_table_of_unknown_uuid_is_refused),
	};

	cu_load(&cu);
	if (argc > 1 && !strcmp(argv[1], "--page"))
		return print_page();
	if (argc > 1 && !strcmp(argv[1], "init"))
		return init_without_descriptors();
	if (argc > 1)
		return call_as_told(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
