/*
 * toolkit.c - what a program under gsbrun gets for a cubin from NVRTC and nvJitLink, found as Python's bindings find
 * them: by name among all that is loaded, then in the library. Here are stand-ins for NVIDIA's two; with an argument, the
 * folder that has them, NVIDIA's own. Run by toolkit.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/tenant.h"

#define assert_cu(call) assert_int_equal(call, CUDA_SUCCESS)

enum { INPUT_CUBIN = 1, INPUT_PTX, INPUT_LTOIR, INPUT_FATBIN, INPUT_OBJECT, INPUT_LIBRARY };

#define HEAD ".version 7.8\n.target sm_75\n.address_size 64\n"

/* store(p): *p = step(4). */
static const char store[] =
	HEAD ".extern .func (.param .b32 r) step(.param .b32 x);\n"
	     ".visible .entry store(.param .u64 p)\n{\n\t.reg .b64 %a;\n\t.reg .b32 %x;\n"
	     "\t.param .b32 in, out;\n\tld.param.u64 %a, [p];\n\tst.param.b32 [in], 4;\n"
	     "\tcall (out), step, (in);\n\tld.param.b32 %x, [out];\n\tst.global.u32 [%a], %x;\n"
	     "\tret;\n}\n";
static const char step[] = HEAD
	".visible .func (.param .b32 r) step(.param .b32 x)\n{\n\t.reg .b32 %x;\n"
	"\tld.param.b32 %x, [x];\n\tadd.u32 %x, %x, 100;\n\tst.param.b32 [r], %x;\n\tret;\n}\n";
/* store(p): three times all threads add to p[0] and meet; then p[1 + rank of the warp] is what is there. */
static const char wait_text[] = HEAD
	".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);\n"
	".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 h, .param .b32 f);\n"
	".visible .entry store(.param .u64 p)\n{\n\t.reg .b64 %a, %h;\n\t.reg .b32 %x, %b, %t;\n"
	"\t.reg .pred %q;\n\t.param .b32 scope, flags, error;\n\t.param .b64 in, out;\n"
	"\tld.param.u64 %a, [p];\n\tst.param.b32 [scope], 1;\n"
	"\tcall (out), cudaCGGetIntrinsicHandle, (scope);\n\tld.param.b64 %h, [out];\n"
	"\tmov.u32 %b, 3;\nround:\n"
	"\tatom.add.u32 %x, [%a], 1;\n"
	"\tst.param.b64 [in], %h;\n\tst.param.b32 [flags], 0;\n"
	"\tcall (error), cudaCGSynchronize, (in, flags);\n"
	"\tld.param.b32 %x, [error];\n\tsetp.ne.u32 %q, %x, 0;\n\t@%q bra end;\n"
	"\tsub.u32 %b, %b, 1;\n\tsetp.ne.u32 %q, %b, 0;\n\t@%q bra round;\n"
	"\tld.relaxed.gpu.u32 %x, [%a];\n\tmov.u32 %b, %ctaid.x;\n"
	"\tmov.u32 %t, %tid.x;\n\tshl.b32 %b, %b, 6;\n\tadd.u32 %b, %b, %t;\n"
	"\tshr.u32 %b, %b, 5;\n\tmad.wide.u32 %a, %b, 4, %a;\n\tst.global.u32 [%a+4], %x;\nend:\n\tret;\n}\n";

static struct cu cu;

/* ---- the two libraries ---- */

static void *nvrtc, *nvjitlink;
static int (*cubin_size)(const void *program, size_t *size);
static int (*get_cubin)(const void *program, char *to);

struct nj {
	int (*create)(void **handle, uint32_t n, const char **options);
	int (*destroy)(void **handle);
	int (*add_data)(void *handle, int type, const void *bytes, size_t n, const char *name);
	int (*add_file)(void *handle, int type, const char *path);
	int (*complete)(void *handle);
	int (*cubin_size)(void *handle, size_t *size);
	int (*get_cubin)(void *handle, void *to);
	int (*ptx_size)(void *handle, size_t *size);
	int (*get_ptx)(void *handle, char *to);
};
static struct nj plain, of_12_4;

static void *find(void *library, const char *pre, const char *verb, const char *suf)
{
	char name[80];
	void *f;

	snprintf(name, sizeof(name), "%s%s%s", pre, verb, suf);
	f = dlsym(RTLD_DEFAULT, name);
	return f ? f : dlsym(library, name);
}

static void find_all(struct nj *nj, const char *pre, const char *suf)
{
	*(void **)&nj->create = find(nvjitlink, pre, "Create", suf);
	*(void **)&nj->destroy = find(nvjitlink, pre, "Destroy", suf);
	*(void **)&nj->add_data = find(nvjitlink, pre, "AddData", suf);
	*(void **)&nj->add_file = find(nvjitlink, pre, "AddFile", suf);
	*(void **)&nj->complete = find(nvjitlink, pre, "Complete", suf);
	*(void **)&nj->cubin_size = find(nvjitlink, pre, "GetLinkedCubinSize", suf);
	*(void **)&nj->get_cubin = find(nvjitlink, pre, "GetLinkedCubin", suf);
	*(void **)&nj->ptx_size = find(nvjitlink, pre, "GetLinkedPtxSize", suf);
	*(void **)&nj->get_ptx = find(nvjitlink, pre, "GetLinkedPtx", suf);
}

/* One is opened for all, one for this program alone. */
static int open_libraries(const char *folder)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/libnvrtc.so.13", folder);
	nvrtc = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	snprintf(path, sizeof(path), "%s/libnvJitLink.so.13", folder);
	nvjitlink = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!nvrtc || !nvjitlink)
		return 1;
	*(void **)&cubin_size = find(nvrtc, "nvrtc", "GetCUBINSize", "");
	*(void **)&get_cubin = find(nvrtc, "nvrtc", "GetCUBIN", "");
	find_all(&plain, "nvJitLink", "");
	find_all(&of_12_4, "__nvJitLink", "_12_4");
	return 0;
}

/* ---- running what they gave ---- */

#define N_BLOCKS  4
#define N_THREADS 64
#define N_WORDS	  (1 + N_BLOCKS * N_THREADS / 32)

static CUresult run(const void *image, unsigned blocks, uint32_t words[N_WORDS])
{
	CUmodule module;
	CUfunction f;
	CUdeviceptr p;
	void *params[] = {&p};
	CUresult result = cu.cuModuleLoadData(&module, image);

	if (result)
		return result;
	assert_cu(cu.cuModuleGetFunction(&f, module, "store"));
	assert_cu(cu.cuMemAlloc_v2(&p, N_WORDS * 4));
	assert_cu(cu.cuMemsetD32_v2(p, 0, N_WORDS));
	assert_cu(cu.cuLaunchCooperativeKernel(f, blocks, 1, 1, N_THREADS, 1, 1, 0, NULL, params));
	assert_cu(cu.cuMemcpyDtoH_v2(words, p, N_WORDS * 4));
	assert_cu(cu.cuMemFree_v2(p));
	assert_cu(cu.cuModuleUnload(module));
	return CUDA_SUCCESS;
}

static void expect_result(const void *image, uint32_t value)
{
	uint32_t words[N_WORDS];

	assert_cu(run(image, 1, words));
	assert_int_equal(words[0], value);
}

/* ---- NVRTC ---- */

static void test_nvrtc_cubin_of_real_architecture_is_ptx_and_runs(void **state)
{
	char program[2048], *image;
	size_t size = 0;

	(void)state;
	snprintf(program, sizeof(program), "s%s", step);
	strcat(program, strstr(store, ".visible"));
	assert_int_equal(cubin_size(program, &size), 0);
	assert_int_equal(size, strlen(program));
	image = malloc(size);
	assert_int_equal(get_cubin(program, image), 0);
	expect_result(image, 104);
	free(image);
}

static void test_nvrtc_of_virtual_architecture_has_no_cubin(void **state)
{
	char to[16] = "before";
	size_t size = 7;

	(void)state;
	assert_int_equal(cubin_size("c.version", &size), 0);
	assert_int_equal(size, 0);
	assert_int_equal(get_cubin("c.version", to), 0);
	assert_string_equal(to, "before");
}

/* ---- nvJitLink ---- */

static void *begin(const struct nj *nj, const char *option)
{
	const char *options[] = {"-arch=sm_90", option};
	void *handle = NULL;

	assert_int_equal(nj->create(&handle, option ? 2 : 1, options), 0);
	return handle;
}

static void add_text(const struct nj *nj, void *handle, int type, const char *text)
{
	assert_int_equal(nj->add_data(handle, type, text, strlen(text) + 1, "text"), 0);
}

/* LTO-IR as the stand-in has it. */
static void add_lto(const struct nj *nj, void *handle, const char *text)
{
	char lto[2048];

	snprintf(lto, sizeof(lto), "LTO%s", text);
	add_text(nj, handle, INPUT_LTOIR, lto);
}

/* For the caller to free. */
static char *end(const struct nj *nj, void *handle)
{
	size_t size = 0;
	char *image;

	assert_int_equal(nj->complete(handle), 0);
	assert_int_equal(nj->cubin_size(handle, &size), 0);
	image = malloc(size);
	assert_int_equal(nj->get_cubin(handle, image), 0);
	assert_int_equal(size, image[0] == '\177' ? 64 : strlen(image) + 1);
	assert_int_equal(nj->destroy(&handle), 0);
	assert_null(handle);
	return image;
}

static void expect_end(const struct nj *nj, void *handle, uint32_t value)
{
	char *image = end(nj, handle);

	expect_result(image, value);
	free(image);
}

static void test_link_of_ptx_is_ptx_and_runs(void **state)
{
	const struct nj *const forms[] = {&plain, &of_12_4};

	(void)state;
	for (int i = 0; i < 2; i++) {
		void *handle = begin(forms[i], i ? "-lto" : NULL);

		add_text(forms[i], handle, INPUT_PTX, store);
		add_text(forms[i], handle, INPUT_PTX, step);
		expect_end(forms[i], handle, 104);
	}
}

/* What is linked at last is one text, and the others stay as they are. */
static void test_link_of_lto_alone_and_beside_ptx_is_ptx_and_runs(void **state)
{
	(void)state;
	for (int mixed = 0; mixed < 2; mixed++) {
		void *handle = begin(&plain, "-lto");

		add_lto(&plain, handle, store);
		if (mixed)
			add_text(&plain, handle, INPUT_PTX, step);
		else
			add_lto(&plain, handle, strstr(step, ".visible"));
		/* as one text it needs no declaration of what it defines */
		expect_end(&plain, handle, 104);
	}
}

static void test_link_of_lto_that_asks_for_ptx_is_nvidias_alone(void **state)
{
	const char *options[] = {"-arch=sm_90", "-lto", "-ptx"};
	void *handle = NULL;
	char text[2048];
	size_t size = 0;

	(void)state;
	assert_int_equal(plain.create(&handle, 3, options), 0);
	add_lto(&plain, handle, step);
	assert_int_equal(plain.complete(handle), 0);
	assert_int_equal(plain.ptx_size(handle, &size), 0);
	assert_int_equal(size, sizeof(step));
	assert_int_equal(plain.get_ptx(handle, text), 0);
	assert_string_equal(text, step);
	assert_int_equal(plain.destroy(&handle), 0);
}

static void test_link_result_can_be_linked_again(void **state)
{
	void *handle = begin(&plain, NULL);
	char *first;

	(void)state;
	add_text(&plain, handle, INPUT_PTX, step);
	first = end(&plain, handle);
	handle = begin(&plain, NULL);
	add_text(&plain, handle, INPUT_CUBIN, first);
	add_text(&plain, handle, INPUT_PTX, store);
	expect_end(&plain, handle, 104);
	free(first);
}

static void test_link_of_a_file_is_ptx_and_runs(void **state)
{
	char path[] = "/tmp/gsb-toolkit-XXXXXX";
	int fd = mkstemp(path);
	void *handle = begin(&plain, NULL);

	(void)state;
	assert_int_equal(write(fd, step, sizeof(step)), sizeof(step));
	close(fd);
	assert_int_equal(plain.add_file(handle, INPUT_PTX, path), 0);
	unlink(path);
	assert_int_not_equal(plain.add_file(handle, INPUT_PTX, path), 0);
	add_text(&plain, handle, INPUT_PTX, store);
	expect_end(&plain, handle, 104);
}

/* An input of machine code makes the whole so; the load is refused, with the reason. */
static void test_link_of_machine_code_is_left_alone(void **state)
{
	void *handle = begin(&plain, NULL);
	char log[256] = "", *image;
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)sizeof(log)};
	CUmodule module;

	(void)state;
	add_text(&plain, handle, INPUT_PTX, step);
	add_text(&plain, handle, INPUT_CUBIN, "\177ELF");
	image = end(&plain, handle);
	assert_int_equal(cu.cuModuleLoadDataEx(&module, image, 2, options, values),
			 CUDA_ERROR_NO_BINARY_FOR_GPU);
	assert_non_null(strstr(log, "a cubin has no PTX: compile with "));
	free(image);
}

/* What NVIDIA's link refuses is no part of ours. */
static void test_link_input_that_is_refused_is_not_in_the_result(void **state)
{
	void *handle = begin(&plain, NULL);

	(void)state;
	assert_int_not_equal(plain.add_data(handle, INPUT_LTOIR, step, sizeof(step), "x"), 0);
	add_text(&plain, handle, INPUT_PTX, store);
	add_text(&plain, handle, INPUT_PTX, step);
	expect_end(&plain, handle, 104);
}

/* Three barriers of a grid: the device runtime comes with any library. */
static void test_link_with_a_library_has_barriers_of_a_grid(void **state)
{
	void *handle = begin(&plain, "-lto");
	uint32_t words[N_WORDS];
	char *image;

	(void)state;
	add_text(&plain, handle, INPUT_PTX, wait_text);
	assert_int_equal(plain.add_data(handle, INPUT_LIBRARY, "!<arch>\n", 8, "devrt"), 0);
	image = end(&plain, handle);
	assert_cu(run(image, N_BLOCKS, words));
	for (int i = 0; i < N_WORDS; i++)
		assert_int_equal(words[i], 3 * N_BLOCKS * N_THREADS);
	free(image);
}

/* The same by the driver's own linker. */
static void test_culink_with_a_library_has_barriers_of_a_grid(void **state)
{
	uint32_t words[N_WORDS];
	CUlinkState link;
	void *image;
	size_t size;

	(void)state;
	assert_cu(cu.cuLinkCreate_v2(0, NULL, NULL, &link));
	assert_cu(cu.cuLinkAddData_v2(link, CU_JIT_INPUT_LIBRARY, (void *)"!<arch>\n", 8, "devrt",
				      0, NULL, NULL));
	assert_cu(cu.cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)wait_text, sizeof(wait_text),
				      "wait", 0, NULL, NULL));
	assert_cu(cu.cuLinkComplete(link, &image, &size));
	assert_cu(run(image, N_BLOCKS, words));
	for (int i = 0; i < N_WORDS; i++)
		assert_int_equal(words[i], 3 * N_BLOCKS * N_THREADS);
	assert_cu(cu.cuLinkDestroy(link));
}

/* ---- NVIDIA's own ---- */

struct program {
	int (*create)(void **program, const char *text, const char *name, int n, const char **heads,
		      const char **names);
	int (*compile)(void *program, int n, const char **options);
	int (*destroy)(void **program);
	int (*lto_size)(void *program, size_t *size);
	int (*get_lto)(void *program, char *to);
};

static void *compile(const struct program *p, const char *text, const char *how)
{
	const char *options[] = {"-arch=sm_90", how};
	void *program;

	assert_int_equal(p->create(&program, text, "text.cu", 0, NULL, NULL), 0);
	assert_int_equal(p->compile(program, 2, options), 0);
	return program;
}

static char *result_of(void *program, int (*get_size)(void *, size_t *), int (*get)(void *, char *),
		       size_t *size)
{
	char *to;

	assert_int_equal(get_size(program, size), 0);
	to = malloc(*size);
	assert_int_equal(get(program, to), 0);
	return to;
}

static void add_compiled(const struct program *p, void *handle, const char *text, int type)
{
	bool is_lto = type == INPUT_LTOIR;
	void *program = compile(p, text, is_lto ? "-dlto" : "-rdc=true");
	size_t n;
	char *image = result_of(program, is_lto ? p->lto_size : (void *)cubin_size,
				is_lto ? p->get_lto : (void *)get_cubin, &n);

	assert_int_equal(plain.add_data(handle, type, image, n, "input"), 0);
	free(image);
	assert_int_equal(p->destroy(&program), 0);
}

/* As cubins, as LTO-IR, and one of each. */
static void test_of_nvidia_links_to_what_runs(void **state)
{
	static const int types[][2] = {
		{INPUT_CUBIN, INPUT_CUBIN}, {INPUT_LTOIR, INPUT_LTOIR}, {INPUT_LTOIR, INPUT_CUBIN}};
	struct program p;

	(void)state;
	*(void **)&p.create = dlsym(nvrtc, "nvrtcCreateProgram");
	*(void **)&p.compile = dlsym(nvrtc, "nvrtcCompileProgram");
	*(void **)&p.destroy = dlsym(nvrtc, "nvrtcDestroyProgram");
	*(void **)&p.lto_size = dlsym(nvrtc, "nvrtcGetLTOIRSize");
	*(void **)&p.get_lto = dlsym(nvrtc, "nvrtcGetLTOIR");
	for (int i = 0; i < 3; i++) {
		void *handle = begin(&plain, i ? "-lto" : NULL);

		add_compiled(&p, handle,
			     "extern \"C\" __device__ int step(int x);\n"
			     "extern \"C\" __global__ void store(int *p) { *p = step(4); }\n",
			     types[i][0]);
		add_compiled(&p, handle,
			     "extern \"C\" __device__ int step(int x) { return x + 100; }\n",
			     types[i][1]);
		expect_end(&plain, handle, 104);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nvrtc_cubin_of_real_architecture_is_ptx_and_runs),
		cmocka_unit_test(test_nvrtc_of_virtual_architecture_has_no_cubin),
		cmocka_unit_test(test_link_of_ptx_is_ptx_and_runs),
		cmocka_unit_test(test_link_of_lto_alone_and_beside_ptx_is_ptx_and_runs),
		cmocka_unit_test(test_link_of_lto_that_asks_for_ptx_is_nvidias_alone),
		cmocka_unit_test(test_link_result_can_be_linked_again),
		cmocka_unit_test(test_link_of_a_file_is_ptx_and_runs),
		cmocka_unit_test(test_link_of_machine_code_is_left_alone),
		cmocka_unit_test(test_link_input_that_is_refused_is_not_in_the_result),
		cmocka_unit_test(test_link_with_a_library_has_barriers_of_a_grid),
		cmocka_unit_test(test_culink_with_a_library_has_barriers_of_a_grid),
	};
	const struct CMUnitTest of_nvidia[] = {
		cmocka_unit_test(test_of_nvidia_links_to_what_runs),
	};
	CUcontext ctx;

	if (open_libraries(argc > 1 ? argv[1] : GSB_FAKE_TOOLKIT)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	cu_load(&cu);
	if (cu.cuInit(0) || cu.cuCtxCreate_v2(&ctx, 0, 0))
		return 1;
	return argc > 1 ? cmocka_run_group_tests(of_nvidia, NULL, NULL)
			: cmocka_run_group_tests(tests, NULL, NULL);
}
