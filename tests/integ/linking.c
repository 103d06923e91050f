/*
 * linking.c - cuLink of PTX as a tenant of a real broker uses it: the result runs, and what does not fit is told in the
 * program's own log. Run under gsbrun by programs.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/tenant.h"

#define assert_cu(call)		 assert_int_equal(call, CUDA_SUCCESS)
#define assert_cu_is(want, call) assert_int_equal(call, want)

#define HEAD ".version 8.0\n.target sm_75\n.address_size 64\n"

/* store: *p = step(base of this text), where step and added are of the other text. */
static const char main_text[] = HEAD
	".extern .func (.param .b32 r) step(.param .b32 x);\n.extern .global .u32 added;\n"
	".global .u32 base = 100;\n"
	".visible .entry store(.param .u64 p)\n{\n\t.reg .b64 %a;\n\t.reg .b32 %x, %y;\n"
	"\t.param .b32 in, out;\n\tld.param.u64 %a, [p];\n\tld.global.u32 %x, [base];\n"
	"\tst.param.b32 [in], %x;\n\tcall (out), step, (in);\n\tld.param.b32 %x, [out];\n"
	"\tld.global.u32 %y, [added];\n\tadd.u32 %x, %x, %y;\n\tst.global.u32 [%a], %x;\n\tret;\n}\n";
static const char step_text[] =
	HEAD ".global .u32 base = 7;\n.visible .global .u32 added = 1000;\n"
	     ".visible .func (.param .b32 r) step(.param .b32 x)\n{\n\t.reg .b32 %x, %y;\n"
	     "\tld.param.b32 %x, [x];\n\tld.global.u32 %y, [base];\n\tadd.u32 %x, %x, %y;\n"
	     "\tst.param.b32 [r], %x;\n\tret;\n}\n";

static struct cu cu;

struct link {
	CUlinkState state;
	char log[512];
	CUjit_option options[2];
	void *values[2];
};

static void begin_link(struct link *l)
{
	*l = (struct link){
		.options = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES},
		.values = {l->log, (void *)sizeof(l->log)},
	};
	assert_cu(cu.cuLinkCreate_v2(2, l->options, l->values, &l->state));
}

static CUresult add(struct link *l, CUjitInputType type, const void *data, size_t n)
{
	return cu.cuLinkAddData_v2(l->state, type, (void *)data, n, "input", 0, NULL, NULL);
}

/* What store() of the image writes. */
static uint32_t run(const void *image)
{
	CUmodule module;
	CUfunction f;
	CUdeviceptr p;
	uint32_t value = 0;
	void *params[] = {&p};

	assert_cu(cu.cuModuleLoadData(&module, image));
	assert_cu(cu.cuModuleGetFunction(&f, module, "store"));
	assert_cu(cu.cuMemAlloc_v2(&p, 4));
	assert_cu(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	assert_cu(cu.cuMemcpyDtoH_v2(&value, p, 4));
	assert_cu(cu.cuMemFree_v2(p));
	assert_cu(cu.cuModuleUnload(module));
	return value;
}

static void test_link_of_two_texts_runs_in_any_order(void **state)
{
	const char *const texts[2] = {main_text, step_text};
	struct link l;
	void *cubin;
	size_t size;

	(void)state;
	for (int first = 0; first < 2; first++) {
		begin_link(&l);
		for (int i = 0; i < 2; i++)
			assert_cu(add(&l, CU_JIT_INPUT_PTX, texts[first ^ i],
				      strlen(texts[first ^ i]) +
					      (size_t)i)); /* with its NUL, or without */
		assert_cu(cu.cuLinkComplete(l.state, &cubin, &size));
		assert_int_equal(run(cubin), 1107);
		assert_cu(cu.cuLinkDestroy(l.state));
	}
}

/* The result may be kept past the link, and linked again. */
static void test_link_result_is_a_cubin_that_can_be_linked_again(void **state)
{
	struct link l;
	void *cubin, *kept;
	size_t size;

	(void)state;
	begin_link(&l);
	assert_cu(add(&l, CU_JIT_INPUT_PTX, main_text, sizeof(main_text)));
	assert_cu(add(&l, CU_JIT_INPUT_PTX, step_text, sizeof(step_text)));
	assert_cu(cu.cuLinkComplete(l.state, &cubin, &size));
	kept = malloc(size);
	assert_non_null(kept);
	memcpy(kept, cubin, size);
	assert_cu(cu.cuLinkDestroy(l.state));
	begin_link(&l);
	assert_cu(add(&l, CU_JIT_INPUT_CUBIN, kept, size));
	assert_cu(cu.cuLinkComplete(l.state, &cubin, &size));
	assert_int_equal(run(cubin), 1107);
	assert_cu(cu.cuLinkDestroy(l.state));
	free(kept);
}

static void test_link_that_misses_something_names_it(void **state)
{
	struct link l;
	void *cubin;

	(void)state;
	begin_link(&l);
	assert_cu(add(&l, CU_JIT_INPUT_PTX, main_text, sizeof(main_text)));
	assert_cu(add(&l, CU_JIT_INPUT_LIBRARY, "!<arch>\n", 8));
	assert_cu_is(CUDA_ERROR_INVALID_PTX, cu.cuLinkComplete(l.state, &cubin, NULL));
	assert_non_null(strstr(l.log, "function 'step' is called and nowhere defined"));
	assert_int_equal((uintptr_t)l.values[1], strlen(l.log) + 1);
	assert_cu(cu.cuLinkDestroy(l.state));
}

static void test_link_of_a_name_twice_is_refused_with_its_line(void **state)
{
	struct link l;
	void *cubin;

	(void)state;
	begin_link(&l);
	assert_cu(add(&l, CU_JIT_INPUT_PTX, step_text, sizeof(step_text)));
	assert_cu(add(&l, CU_JIT_INPUT_PTX, step_text, sizeof(step_text)));
	assert_cu_is(CUDA_ERROR_INVALID_PTX, cu.cuLinkComplete(l.state, &cubin, NULL));
	assert_non_null(strstr(l.log, "'added' is already declared in line 5"));
	assert_cu(cu.cuLinkDestroy(l.state));
}

static void test_link_input_that_is_no_ptx_is_refused(void **state)
{
	struct link l;
	void *cubin;

	(void)state;
	begin_link(&l);
	assert_cu_is(CUDA_ERROR_INVALID_PTX, add(&l, CU_JIT_INPUT_PTX, "hello", 5));
	assert_cu_is(CUDA_ERROR_NO_BINARY_FOR_GPU, add(&l, CU_JIT_INPUT_CUBIN, "\177ELF....", 8));
	assert_non_null(strstr(l.log, "compile to PTX"));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, add(&l, CU_JIT_NUM_INPUT_TYPES, "x", 1));
	assert_cu_is(CUDA_ERROR_FILE_NOT_FOUND,
		     cu.cuLinkAddFile_v2(l.state, CU_JIT_INPUT_PTX, "/nonexistent", 0, NULL, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuLinkComplete(l.state, &cubin, NULL));
	assert_cu(cu.cuLinkDestroy(l.state));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuLinkDestroy(l.state));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, add(&l, CU_JIT_INPUT_PTX, main_text, 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_link_of_two_texts_runs_in_any_order),
		cmocka_unit_test(test_link_result_is_a_cubin_that_can_be_linked_again),
		cmocka_unit_test(test_link_that_misses_something_names_it),
		cmocka_unit_test(test_link_of_a_name_twice_is_refused_with_its_line),
		cmocka_unit_test(test_link_input_that_is_no_ptx_is_refused),
	};
	CUcontext ctx;

	cu_load(&cu);
	if (cu.cuInit(0) || cu.cuCtxCreate_v2(&ctx, 0, 0))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
