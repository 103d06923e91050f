/*
 * test_entries.c - the list of entry points and what cuGetProcAddress makes of it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
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
	assert_int_equal(N_ROWS, 637);
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

	assert_int_equal(ask("cuLaunchKernelEx", 11050, 0, &fn, &status), CUDA_ERROR_NOT_FOUND);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	assert_null(fn);
}

static void test_proc_address_of_unknown_name_is_not_found(void **state)
{
	static const char *const names[] = {"",		"cuNoSuchCall", "cuInit2",
					    "cuGLInit", "zz",		"cuMemAlloc_v2"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *fn = &cu;
		int status;

		assert_int_equal(ask(names[i], 13000, 0, &fn, &status), CUDA_ERROR_NOT_FOUND);
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
}

static void test_refused_entry_is_not_supported(void **state)
{
	assert_int_equal(cu.cuMipmappedArrayGetMemoryRequirements(), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cu.cuGraphConditionalHandleCreate(), CUDA_ERROR_NOT_SUPPORTED);
}

/* The program that said_under() runs: what a caller of refused entries says. */
static int call_refused(void)
{
	const CUuuid unknown = {{0x12, 0x34, 0x56, 0x78, 0x9a}};
	const void *table;
	void *fn;
	int n = 0, n_devices;

	n += cu.cuGetProcAddress_v2("cuStreamBeginCapture", &fn, 13000, 0, NULL) != CUDA_SUCCESS;
	n += cu.cuGetProcAddress_v2("cuNothing", &fn, 13000, 0, NULL) != CUDA_ERROR_NOT_FOUND;
	for (int i = 0; i < 3; i++)
		n += cu.cuGraphConditionalHandleCreate() != CUDA_ERROR_NOT_SUPPORTED;
	n += cu.cuMipmappedArrayGetMemoryRequirements() != CUDA_ERROR_NOT_SUPPORTED;
	n += cu.cuDeviceGetCount(&n_devices) != CUDA_ERROR_NOT_INITIALIZED;
	n += cu.cuGetExportTable(&table, &unknown) != CUDA_ERROR_NOT_SUPPORTED;
	return n;
}

/* Its standard error with this GSB_DEBUG, NULL for none: the library reads it once, when it is loaded. */
static void said_under(const char *debug, char *said, size_t size)
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
		execl("/proc/self/exe", "test_entries", "call", NULL);
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

static void test_refused_entry_is_named_once_when_called(void **state)
{
	char said[1024];

	said_under(NULL, said, sizeof(said));
	assert_string_equal(
		said, "gsbroker: cuGraphConditionalHandleCreate is not carried: it returns "
		      "CUDA_ERROR_NOT_SUPPORTED (said once; GSB_DEBUG=quiet silences this)\n"
		      "gsbroker: cuMipmappedArrayGetMemoryRequirements is not carried: it returns "
		      "CUDA_ERROR_NOT_SUPPORTED (said once; GSB_DEBUG=quiet silences this)\n");
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

static void test_refused_entry_is_not_named_when_quiet(void **state)
{
	char said[1024];

	said_under("quiet", said, sizeof(said));
	assert_string_equal(said, "");
	said_under("off", said, sizeof(said));
	assert_string_equal(said, "");
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
		cmocka_unit_test(test_refused_entry_is_not_supported),
		cmocka_unit_test(test_refused_entry_is_named_once_when_called),
		cmocka_unit_test(test_refused_entry_is_not_named_when_quiet),
		cmocka_unit_test(
			test_call_that_fails_and_table_that_is_refused_are_named_to_who_debugs),
		cmocka_unit_test(test_calls_before_init_are_not_initialized),
		cmocka_unit_test(test_error_names_are_the_drivers),
		cmocka_unit_test(test_export_table_of_unknown_uuid_is_refused),
	};

	cu_load(&cu);
	if (argc > 1)
		return call_refused();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
