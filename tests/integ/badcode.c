/*
 * badcode.c - bad device code as a tenant of a real broker meets it: the driver's code, the reason in the log
 * that the program asked for, and a context that works on. Run under gsbrun by badcode.sh.
 *
 *   badcode            the cases below
 *   badcode left-out   what the emulated device does not carry, and a GPU does
 *   badcode oversized  a module over the limit of 64 KiB that the broker was given
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "tests/unit/fatbin.h"
#include "tests/unit/tenant.h"

#define assert_cu(call)		 assert_int_equal(call, CUDA_SUCCESS)
#define assert_cu_is(want, call) assert_int_equal(call, want)

#define HEAD ".version 8.0\n.target sm_75\n.address_size 64\n"
#define NEW_HEAD                                          \
	".version 8.6\n.target sm_90\n.address_size 64\n" \
	".extern .func cudaCDP2Launch();\n"
#define STORE_BODY(value)                                                \
	"(.param .u64 p)\n{\n\t.reg .b64 %a;\n\tld.param.u64 %a, [p];\n" \
	"\tst.global.u32 [%a], " value ";\n\tret;\n}\n"
#define STORE	".visible .entry store" STORE_BODY("7")
#define LONGEST 16384 /* bytes of a name */
#define STRANGE \
	".visible .entry strange(.param .u64 p)\n{\n\twgmma.fence.sync.aligned;\n\tret;\n}\n"

static struct cu cu;

/* Loads an image in each way that there is, wants that answer, and the words in the error log of those that
 * have one. */
static void expect_refused(const void *image, CUresult want, const char *words)
{
	char text[512] = "";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {text, (void *)sizeof(text)};
	CUmodule module;
	CUlibrary library;

	assert_cu_is(want, cu.cuModuleLoadData(&module, image));
	assert_cu_is(want, cu.cuModuleLoadDataEx(&module, image, 2, options, values));
	assert_non_null(strstr(text, words));
	assert_int_equal((uintptr_t)values[1], strlen(text) + 1);
	text[0] = 0;
	values[1] = (void *)sizeof(text);
	assert_cu_is(want,
		     cu.cuLibraryLoadData(&library, image, options, values, 2, NULL, NULL, 0));
	assert_non_null(strstr(text, words));
}

static CUfunction function(CUmodule *module, const char *text, const char *name)
{
	CUfunction f;

	assert_cu(cu.cuModuleLoadData(module, text));
	assert_cu(cu.cuModuleGetFunction(&f, *module, name));
	return f;
}

static CUresult launch(CUfunction f, CUdeviceptr p)
{
	void *params[] = {&p};

	return cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
}

/* The context works: after every case. */
static int check_alive(void **state)
{
	CUmodule module;
	CUfunction f = function(&module, HEAD STORE, "store");
	uint32_t value = 0;
	CUdeviceptr p;

	(void)state;
	assert_cu(cu.cuMemAlloc_v2(&p, 4));
	assert_cu(launch(f, p));
	assert_cu(cu.cuMemcpyDtoH_v2(&value, p, 4));
	assert_int_equal(value, 7);
	assert_cu(cu.cuMemFree_v2(p));
	assert_cu(cu.cuModuleUnload(module));
	return 0;
}

/* ---- text ---- */

static void test_badcode_text_that_is_no_ptx_is_no_image(void **state)
{
	(void)state;
	expect_refused("once upon a time", CUDA_ERROR_INVALID_IMAGE, "neither");
	expect_refused("", CUDA_ERROR_INVALID_IMAGE, "neither");
}

static void test_badcode_syntax_error_names_its_line(void **state)
{
	(void)state;
	expect_refused(
		HEAD
		".visible .entry f()\n{\n\t.reg .b32 %r;\n\tadd.u32 %r, %nobody, 1;\n\tret;\n}\n",
		CUDA_ERROR_INVALID_PTX, "7:");
	expect_refused(HEAD ".visible .entry f()\n{\n\tret\n}\n", CUDA_ERROR_INVALID_PTX, "7:");
}

/* What no PTX has, or not the one that the text says it is, or that nobody defines */
static void test_badcode_what_no_assembler_takes_is_refused_at_the_load(void **state)
{
	(void)state;
	expect_refused(HEAD STORE ".visible .entry f()\n{\n\tfrobnicate.sync.u32 1;\n\tret;\n}\n",
		       CUDA_ERROR_INVALID_PTX, "line 13: 'frobnicate' is no opcode of PTX");
	expect_refused(".version 99.0\n.target sm_75\n.address_size 64\n" STORE,
		       CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "PTX 99.0");
	expect_refused(HEAD
		       ".extern .func g();\n.visible .entry f()\n{\n\tcall.uni g;\n\tret;\n}\n",
		       CUDA_ERROR_INVALID_PTX, "function 'g' is called and nowhere defined");
	expect_refused(HEAD ".visible .entry f()\n{\n\tcp.async.wait_all;\n\tret;\n}\n",
		       CUDA_ERROR_INVALID_PTX, "needs .version 7.0 and .target sm_80");
}

/* The text of a fatbin is what a driver does not look at, where there is machine code: the kernel alone is refused. */
static void test_badcode_unknown_opcode_of_a_fatbin_is_refused_at_its_launch_only(void **state)
{
	static uint8_t fatbin[4096];
	CUmodule module;
	CUfunction f;
	CUdeviceptr p;

	(void)state;
	make_fatbin(fatbin, HEAD STORE
		    ".visible .entry f(.param .u64 p)\n{\n\tfrobnicate.sync.u32 1;\n\tret;\n}\n");
	assert_cu(cu.cuModuleLoadData(&module, fatbin));
	assert_cu(cu.cuMemAlloc_v2(&p, 4));
	assert_cu(cu.cuModuleGetFunction(&f, module, "f"));
	assert_cu_is(CUDA_ERROR_NOT_SUPPORTED, launch(f, p));
	assert_cu(cu.cuModuleGetFunction(&f, module, "store"));
	assert_cu(launch(f, p));
	assert_cu(cu.cuMemFree_v2(p));
	assert_cu(cu.cuModuleUnload(module));
}

/* As the driver's compiler says it, at the load; not at a launch, and not without a reason. */
static void test_badcode_too_much_static_shared_memory_is_refused_at_the_load(void **state)
{
	(void)state;
	expect_refused(HEAD ".visible .entry f()\n{\n\t.shared .b8 a[240000];\n\t.reg .b32 %r;\n"
			    "\tmov.u32 %r, a;\n\tret;\n}\n",
		       CUDA_ERROR_INVALID_PTX, "kernel f: line 4: too much static shared memory");
}

static void test_badcode_unknown_register_is_refused_at_its_launch_only(void **state)
{
	CUmodule module;
	CUfunction f = function(&module,
				HEAD STORE ".visible .entry strange(.param .u64 p)\n{\n"
					   "\t.reg .b32 %r;\n\tmov.u32 %r, %newest_counter;\n"
					   "\tret;\n}\n",
				"strange");
	CUdeviceptr p;

	(void)state;
	assert_cu(cu.cuMemAlloc_v2(&p, 4));
	assert_cu_is(CUDA_ERROR_NOT_SUPPORTED, launch(f, p));
	assert_cu(cu.cuModuleGetFunction(&f, module, "store"));
	assert_cu(launch(f, p));
	assert_cu(cu.cuMemFree_v2(p));
	assert_cu(cu.cuModuleUnload(module));
}

static void test_badcode_truncated_ptx_is_refused_wherever_it_ends(void **state)
{
	static const char whole[] = HEAD STORE;
	char cut[sizeof(whole)];
	CUmodule module;

	(void)state;
	for (size_t n = sizeof(HEAD); n < sizeof(whole) - 3; n++) {
		CUresult r;

		memcpy(cut, whole, n);
		cut[n] = 0;
		r = cu.cuModuleLoadData(&module, cut);
		if (r != CUDA_ERROR_INVALID_PTX)
			fail_msg("%zu of %zu bytes: %d", n, sizeof(whole) - 1, r);
	}
}

static void test_badcode_ptx_without_a_version_is_refused(void **state)
{
	(void)state;
	expect_refused(STORE, CUDA_ERROR_INVALID_PTX, ".version");
}

static void test_badcode_ptx_for_a_newer_gpu_is_refused(void **state)
{
	(void)state;
	expect_refused(".version 8.7\n.target sm_120\n.address_size 64\n" STORE,
		       CUDA_ERROR_INVALID_PTX, "sm_120");
}

static void test_badcode_undefined_variable_is_named(void **state)
{
	(void)state;
	expect_refused(HEAD ".extern .global .u32 nowhere;\n" STORE, CUDA_ERROR_INVALID_PTX,
		       "nowhere");
}

/* ---- fatbins ---- */

static void test_badcode_good_fatbin_loads(void **state)
{
	static uint8_t fatbin[4096];
	CUmodule module;

	(void)state;
	make_fatbin(fatbin, HEAD STORE);
	assert_cu(cu.cuModuleLoadData(&module, fatbin));
	assert_cu(cu.cuModuleUnload(module));
}

static void test_badcode_truncated_fatbin_is_refused(void **state)
{
	static uint8_t fatbin[4096];

	(void)state;
	make_fatbin(fatbin, HEAD STORE);
	memcpy(fatbin + 8, &(uint64_t){100}, 8); /* its entry says more */
	expect_refused(fatbin, CUDA_ERROR_INVALID_IMAGE, "fatbin");
}

/* Whatever one changed byte makes of it, there is an answer, and it is one of a load. */
static void test_badcode_corrupt_fatbin_is_answered_whatever_changed(void **state)
{
	static uint8_t fatbin[4096];
	CUmodule module;
	unsigned n_refused = 0;

	(void)state;
	make_fatbin(fatbin, HEAD STORE);
	for (size_t i = 16; i < 80; i++) {
		CUresult r;

		fatbin[i] ^= 0xff;
		r = cu.cuModuleLoadData(&module, fatbin);
		fatbin[i] ^= 0xff;
		n_refused += r != CUDA_SUCCESS;
		if (!r)
			assert_cu(cu.cuModuleUnload(module));
		else if (r != CUDA_ERROR_INVALID_IMAGE && r != CUDA_ERROR_NO_BINARY_FOR_GPU)
			fail_msg("byte %zu: %d", i, r);
	}
	assert_true(n_refused > 10);
}

/* ---- kernels ---- */

static void test_badcode_opcode_that_is_not_carried_is_refused_at_its_launch_only(void **state)
{
	CUmodule module;
	CUfunction strange = function(&module, HEAD STRANGE STORE, "strange"), store;
	uint32_t value = 0;
	CUdeviceptr p;

	(void)state;
	assert_cu(cu.cuModuleGetFunction(&store, module, "store"));
	assert_cu(cu.cuMemAlloc_v2(&p, 4));
	assert_cu_is(CUDA_ERROR_NOT_SUPPORTED, launch(strange, p));
	assert_cu(cu.cuCtxSynchronize());
	assert_cu(launch(store, p));
	assert_cu(cu.cuMemcpyDtoH_v2(&value, p, 4));
	assert_int_equal(value, 7);
	assert_cu_is(CUDA_ERROR_NOT_SUPPORTED, launch(strange, p));
	assert_cu(cu.cuMemFree_v2(p));
	assert_cu(cu.cuModuleUnload(module));
}

/* What the emulated device leaves out, one kernel each, on line 7 of its module; programs.sh looks for what is said. */
static const char *const not_carried[] = {
	("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f, %f, %f, %f}, {%r, %r}, {%r, %r}, "
	 "{%f, %f, %f, %f}, %r, 0;"),
	"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r, %r}, [%r];",
	"wgmma.fence.sync.aligned;",
	"cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r], [%a, {%r, %r, %r, %r, %r}], [%r];",
	"call.uni cudaCDP2Launch, ();",
};

static void expect_only_refused(const char *text, const char *name)
{
	CUmodule module;
	CUfunction f = function(&module, text, name), store;
	uint32_t value = 0;
	CUdeviceptr p;
	void *params[] = {&p};

	assert_cu(cu.cuModuleGetFunction(&store, module, "store"));
	assert_cu(cu.cuMemAlloc_v2(&p, 4));
	assert_cu_is(CUDA_ERROR_NOT_SUPPORTED,
		     cu.cuLaunchKernel(f, 2, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	assert_cu(launch(store, p));
	assert_cu(cu.cuMemcpyDtoH_v2(&value, p, 4));
	assert_int_equal(value, 7);
	assert_cu(cu.cuMemFree_v2(p));
	assert_cu(cu.cuModuleUnload(module));
}

static void test_badcode_what_is_left_out_spoils_its_own_kernel_only(void **state)
{
	char text[2048];

	(void)state;
	for (size_t i = 0; i < GSB_ARRAY_LEN(not_carried); i++) {
		snprintf(text, sizeof(text),
			 NEW_HEAD
			 ".visible .entry left_out(.param .u64 p)\n{\n%s %s\n\tret;\n}\n%s",
			 ".reg .b32 %r; .reg .b64 %a; .reg .f32 %f;", not_carried[i], STORE);
		expect_only_refused(text, "left_out");
	}
}

static void test_badcode_kernel_launched_by_clusters_is_refused_alone(void **state)
{
	(void)state;
	expect_only_refused(
		NEW_HEAD
		".visible .entry paired(.param .u64 p)\n"
		".reqntid 1, 1, 1 .reqnctapercluster 2, 1, 1 .blocksareclusters\n{\n\tret;\n}\n" STORE,
		"paired");
}

static void test_badcode_names_that_are_not_there_are_not_found(void **state)
{
	CUmodule module;
	CUfunction f;
	CUdeviceptr p;

	(void)state;
	function(&module, HEAD STORE, "store");
	assert_cu_is(CUDA_ERROR_NOT_FOUND, cu.cuModuleGetFunction(&f, module, "restore"));
	assert_cu_is(CUDA_ERROR_NOT_FOUND, cu.cuModuleGetGlobal_v2(&p, NULL, module, "restore"));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuModuleGetGlobal_v2(&p, NULL, module, "store"));
	assert_cu(cu.cuModuleUnload(module));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuModuleUnload(module));
}

/* ---- names ---- */

/* A kernel and a variable with names of n bytes, as templates make them, and one whose name is short. */
static void with_long_names(char *text, size_t size, char *name, size_t n)
{
	memset(name, 'x', n);
	name[0] = '_';
	name[n] = 0;
	snprintf(text, size, "%s.visible .global .u32 v%s = 5;\n.visible .entry %s%s%s", HEAD,
		 name + 1, name, STORE_BODY("11"), STORE);
}

static void expect_runs(CUfunction f)
{
	uint32_t value = 0;
	CUdeviceptr p;

	assert_cu(cu.cuMemAlloc_v2(&p, 4));
	assert_cu(launch(f, p));
	assert_cu(cu.cuMemcpyDtoH_v2(&value, p, 4));
	assert_int_equal(value, 11);
	assert_cu(cu.cuMemFree_v2(p));
}

static void expect_listed(CUmodule module, CUfunction f, const char *name)
{
	CUfunction all[2];
	const char *told;
	unsigned n;

	assert_cu(cu.cuFuncGetName(&told, f));
	assert_string_equal(told, name);
	assert_cu(cu.cuModuleGetFunctionCount(&n, module));
	assert_int_equal(n, 2);
	assert_cu(cu.cuModuleEnumerateFunctions(all, 2, module));
	assert_true(all[0] == f || all[1] == f);
}

static void test_badcode_kernel_with_a_long_name_runs(void **state)
{
	static char text[50000], name[LONGEST + 1];
	const size_t lengths[] = {2049, 5000, LONGEST};

	(void)state;
	for (unsigned i = 0; i < GSB_ARRAY_LEN(lengths); i++) {
		uint32_t value = 0;
		CUmodule module;
		CUfunction f;
		CUdeviceptr v;

		with_long_names(text, sizeof(text), name, lengths[i]);
		f = function(&module, text, name);
		expect_runs(f);
		expect_listed(module, f, name);
		name[0] = 'v';
		assert_cu(cu.cuModuleGetGlobal_v2(&v, NULL, module, name));
		assert_cu(cu.cuMemcpyDtoH_v2(&value, v, 4));
		assert_int_equal(value, 5);
		assert_cu(cu.cuModuleUnload(module));
	}
}

/* The kernel beside it is not harmed; programs.sh looks for what is said. */
static void test_badcode_name_over_the_limit_is_refused_by_name(void **state)
{
	static char text[50000], name[LONGEST + 2];
	CUfunction f, all[2];
	CUmodule module;
	CUdeviceptr p;
	unsigned n;

	(void)state;
	with_long_names(text, sizeof(text), name, LONGEST + 1);
	function(&module, text, "store");
	assert_cu_is(CUDA_ERROR_NOT_SUPPORTED, cu.cuModuleGetFunction(&f, module, name));
	assert_cu_is(CUDA_ERROR_NOT_SUPPORTED, cu.cuModuleGetGlobal_v2(&p, NULL, module, name));
	assert_cu(cu.cuModuleGetFunctionCount(&n, module));
	assert_int_equal(n, 2);
	assert_cu_is(CUDA_ERROR_NOT_SUPPORTED, cu.cuModuleEnumerateFunctions(all, 2, module));
	assert_cu(cu.cuModuleUnload(module));
}

/* ---- over the limit ---- */

static void test_badcode_module_over_the_tenants_limit_is_refused_with_the_limit(void **state)
{
	static char text[1 << 17];

	(void)state;
	memset(text, ' ', sizeof(text) - 1);
	memcpy(text, HEAD STORE, sizeof(HEAD STORE) - 1);
	expect_refused(text, CUDA_ERROR_INVALID_IMAGE, "limit of 65536");
}

#define BADCODE(test) cmocka_unit_test_teardown(test, check_alive)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BADCODE(test_badcode_text_that_is_no_ptx_is_no_image),
		BADCODE(test_badcode_syntax_error_names_its_line),
		BADCODE(test_badcode_what_no_assembler_takes_is_refused_at_the_load),
		BADCODE(test_badcode_unknown_opcode_of_a_fatbin_is_refused_at_its_launch_only),
		BADCODE(test_badcode_too_much_static_shared_memory_is_refused_at_the_load),
		BADCODE(test_badcode_unknown_register_is_refused_at_its_launch_only),
		BADCODE(test_badcode_truncated_ptx_is_refused_wherever_it_ends),
		BADCODE(test_badcode_ptx_without_a_version_is_refused),
		BADCODE(test_badcode_ptx_for_a_newer_gpu_is_refused),
		BADCODE(test_badcode_undefined_variable_is_named),
		BADCODE(test_badcode_good_fatbin_loads),
		BADCODE(test_badcode_truncated_fatbin_is_refused),
		BADCODE(test_badcode_corrupt_fatbin_is_answered_whatever_changed),
		BADCODE(test_badcode_opcode_that_is_not_carried_is_refused_at_its_launch_only),
		BADCODE(test_badcode_names_that_are_not_there_are_not_found),
		BADCODE(test_badcode_kernel_with_a_long_name_runs),
		BADCODE(test_badcode_name_over_the_limit_is_refused_by_name),
	};
	const struct CMUnitTest left_out[] = {
		BADCODE(test_badcode_what_is_left_out_spoils_its_own_kernel_only),
		BADCODE(test_badcode_kernel_launched_by_clusters_is_refused_alone),
	};
	const struct CMUnitTest oversized[] = {
		BADCODE(test_badcode_module_over_the_tenants_limit_is_refused_with_the_limit),
	};
	CUcontext ctx;

	cu_load(&cu);
	if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&ctx, 0) || cu.cuCtxSetCurrent(ctx))
		return 2;
	if (argc > 1 && !strcmp(argv[1], "oversized"))
		return cmocka_run_group_tests(oversized, NULL, NULL);
	if (argc > 1 && !strcmp(argv[1], "left-out"))
		return cmocka_run_group_tests(left_out, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
