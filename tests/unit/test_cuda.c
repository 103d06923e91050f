/*
 * test_cuda.c - what of device/cuda needs no GPU: how it is opened where there is none, and what it lets the driver see.
 * With one, test_device_ops cuda:0 runs the suite of all devices.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/image.h"
#include "ptx/ptx.h"
#include "device/cuda/image.h"
#include "device/cuda/managed.h"
#include "device/cuda/print.h"
#include "device/ops.h"
#include "tests/unit/cubin.h"
#include "tests/unit/fatbin.h"

#define HEAD   "//\n.version 7.0\n.target sm_70\n.address_size 64\n"
#define KERNEL ".visible .entry k()\n{\n\t.shared .u32 s;\n\tret;\n}\n"

static char text[512];

static int open_device(const char *spec)
{
	struct gsb_device_params p = {.spec = spec};
	struct gsb_device *dev = NULL;
	int err;

	text[0] = 0;
	err = gsb_device_open(&p, &dev, text, sizeof(text));
	assert_null(dev);
	return err;
}

static void test_open_without_a_driver_says_where_it_looked(void **state)
{
	setenv("GSB_REAL_LIBCUDA", "/nowhere/libcuda.so.1", 1);
	assert_int_equal(open_device("cuda:0"), -ENODEV);
	assert_non_null(strstr(text, "/nowhere/libcuda.so.1"));
	assert_non_null(strstr(text, "emu:h200"));
}

static void test_open_refuses_what_is_no_number(void **state)
{
	static const char *const bad[] = {"cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:1x"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(open_device(bad[i]), -ENODEV);
		assert_non_null(strstr(text, "cuda:N"));
	}
}

static uint64_t variable_bytes; /* of the code read last */

static int read_code(const char *image, size_t size, bool *none)
{
	struct cuda_code code = {0};
	int err;

	text[0] = 0;
	err = cuda_code_read(image, size, 90, CUDA_PRINTS_OURS, &code, text, sizeof(text));
	if (!err) {
		*none = code.has_no_variables;
		assert_int_equal(((char *)code.bytes)[size], 0);
		variable_bytes = code.variable_bytes;
		cuda_code_finish(&code);
	}
	return err;
}

/* The driver tells of it when such a kernel is launched, and then to the engine alone. */
static void test_code_says_which_blocks_its_kernels_demand(void **state)
{
	static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
				  ".entry any() { ret; }\n"
				  ".entry a() .reqntid 64, 2 { ret; }\n"
				  ".entry b() .maxntid 32 { ret; }\n"
				  ".entry c() .reqntid 32 { ret; }\n";
	struct cuda_code code = {0};

	assert_int_equal(cuda_code_read(ptx, sizeof(ptx) - 1, 90, CUDA_PRINTS_OURS, &code, text,
					sizeof(text)),
			 0);
	assert_int_equal(code.bounds.n, 2);
	assert_string_equal(code.bounds.items[0].name, "a");
	assert_int_equal(code.bounds.items[0].block[0], 64);
	assert_int_equal(code.bounds.items[0].block[1], 2);
	assert_int_equal(code.bounds.items[0].block[2], 1);
	assert_string_equal(code.bounds.items[1].name, "c");
	cuda_code_finish(&code);
}

/* The driver's own function would take the library's handle for one of its own. */
static void test_code_that_sets_conditions_has_a_function_for_it(void **state)
{
	static const char sets[] =
		HEAD ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
		     ".visible .entry k()\n{\n\t.param .b64 a;\n\t.param .b32 b;\n"
		     "\tcall.uni cudaGraphSetConditional, (a, b);\n\tret;\n}\n";
	struct cuda_code code;
	char log[64];

	assert_int_equal(
		cuda_code_read(sets, strlen(sets), 90, CUDA_PRINTS_OURS, &code, log, sizeof(log)),
		0);
	assert_null(strstr((const char *)code.bytes, "cudaGraphSetConditional"));
	assert_int_equal(code.len, strlen((const char *)code.bytes));
	assert_false(code.prints);
	cuda_code_finish(&code);
}

/* The driver would follow the pointer behind a wrapper's magic number. */
static void test_code_that_a_fatbin_hides_is_refused(void **state)
{
	static const uint32_t hidden[] = {GSB_IMAGE_WRAPPER_MAGIC, GSB_IMAGE_FATBIN_MAGIC, 0};
	struct {
		uint32_t magic;
		uint16_t version, header_bytes;
		uint64_t bytes;
		uint16_t kind, entry_version;
		uint32_t entry_header_bytes;
		uint64_t payload_bytes;
		uint32_t words[12];
		uint32_t payload[16];
	} fatbin = {GSB_IMAGE_FATBIN_MAGIC, 1, 16, 128, 2, 0x101, 64, 64, {0}, {0}};
	bool none;

	fatbin.words[3] = 90; /* the architecture */
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		fatbin.payload[0] = hidden[i];
		assert_int_equal(read_code((const char *)&fatbin, sizeof(fatbin), &none), -EBADMSG);
		assert_non_null(strstr(text, "neither PTX nor a cubin"));
	}
}

static void test_code_without_variables_may_be_shared(void **state)
{
	const char *variable = HEAD ".global .u32 v;\n" KERNEL;
	const char *constant = HEAD ".const .u32 c = 1;\n" KERNEL;
	bool none = false;

	assert_int_equal(read_code(HEAD KERNEL, strlen(HEAD KERNEL), &none), 0);
	assert_true(none);
	assert_int_equal(read_code(variable, strlen(variable), &none), 0);
	assert_false(none);
	assert_int_equal(variable_bytes, 4);
	none = true;
	assert_int_equal(read_code(constant, strlen(constant), &none), 0);
	assert_false(none);
}

static void test_code_with_an_undefined_variable_is_refused(void **state)
{
	const char *image = HEAD ".extern .global .u32 nowhere;\n" KERNEL;
	bool none;

	assert_int_equal(read_code(image, strlen(image), &none), -EILSEQ);
	assert_non_null(strstr(text, "nowhere"));
}

static void test_damaged_code_never_comes_to_the_driver(void **state)
{
	static const char fatbin[32] = "\x50\xed\x55\xba\1\0\x10\0\xff\xff";
	static const char cubin[64] = "\x7f"
				      "ELF\2\1\1";
	bool none;

	assert_int_equal(read_code("\1\2\3\4", 4, &none), -EBADMSG);
	assert_int_equal(read_code(fatbin, sizeof(fatbin), &none), -EBADMSG);
	assert_int_equal(read_code(cubin, sizeof(cubin), &none), -EBADMSG);
	assert_true(text[0]);
}

/* A symbol of a managed variable that lies in the header: where that ends up is not where the sections were checked. */
static void test_cubin_that_is_damaged_by_what_is_taken_out_is_refused(void **state)
{
	static const uint8_t values[128];
	struct cubin_writer w = {.text = "", .text_bytes = 1};
	struct cuda_managed *managed = NULL;
	struct cuda_code code = {0};
	Elf64_Ehdr *eh;

	cubin_add(&w, "x", STT_OBJECT, GSB_ELF_STO_MANAGED, sizeof(values), 8, values);
	eh = cubin_finish(&w, &code.len);
	cubin_headers(eh)[CUBIN_SYMBOLS].sh_offset = 32 - sizeof(Elf64_Sym);
	eh->e_phoff = 1 | (uint64_t)STT_OBJECT << 32 | (uint64_t)GSB_ELF_STO_MANAGED << 40 |
		      (uint64_t)CUBIN_INIT << 48;
	eh->e_flags = 4; /* its size; where it is, is where the headers are */
	code.bytes = eh;
	assert_int_equal(cuda_managed_take(&code, &managed, text, sizeof(text)), -EBADMSG);
	assert_string_equal(text, "the cubin is cut off or damaged");
	assert_null(managed);
	cuda_code_finish(&code);
}

/* What of them lies in the device's memory counts there, and what they take in the host's is with the module. */
static void test_cubin_with_managed_variables_comes_without_them(void **state)
{
	static const uint32_t one = 1;
	struct cubin_writer w = {.text = "", .text_bytes = 1};
	struct cuda_managed *managed = NULL;
	struct cuda_code code = {0};
	uint64_t addr, size;
	size_t n;
	void *cubin;

	cubin_add(&w, "plain", STT_OBJECT, 0, 4, 4, &one);
	cubin_add(&w, "a", STT_OBJECT, GSB_ELF_STO_MANAGED, 4, 4, &one);
	cubin_add(&w, "b", STT_OBJECT, GSB_ELF_STO_MANAGED, 40, 8, NULL);
	cubin = cubin_finish(&w, &n);
	assert_int_equal(cuda_code_read(cubin, n, 90, CUDA_PRINTS_OURS, &code, text, sizeof(text)),
			 0);
	assert_true(code.has_managed);
	assert_int_equal(cuda_managed_take(&code, &managed, text, sizeof(text)), 0);
	assert_null(code.bytes);
	assert_int_equal(code.variable_bytes, 48);
	assert_int_equal(cuda_managed_bytes(managed), 56);
	assert_false(cuda_managed_find(managed, "a", &addr, &size));
	assert_non_null(cuda_managed_place(managed, 0x1000));
	assert_true(cuda_managed_find(managed, "b", &addr, &size));
	assert_int_equal(addr, 0x1010);
	assert_int_equal(size, 40);
	assert_false(cuda_managed_find(managed, "plain", &addr, &size));
	cuda_managed_free(managed);
	cuda_code_finish(&code);
	free(cubin);
}

/* Linked from two modules, of which one has a vprintf: that is the one which is meant. */
static void test_printf_of_a_program_stays_its_own(void **state)
{
	static const struct {
		const char *text;
		bool prints;
	} texts[] = {
		{".version 8.0\n.target sm_75\n.address_size 64\n"
		 ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n",
		 true},
		{".version 8.0\n.target sm_75\n.address_size 64\n"
		 ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
		 ".version 8.0\n.target sm_75\n.address_size 64\n"
		 ".visible .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b)\n{\nret;\n}\n",
		 false},
	};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *made = NULL;

		assert_int_equal(cuda_print_redirect(texts[i].text, strlen(texts[i].text), &made),
				 0);
		assert_int_equal(made != NULL, texts[i].prints);
		free(made);
	}
}

/* As compilers other than nvcc have it: what the driver gets defines what it declares, with as many results. */
static void test_printf_without_a_result_is_redirected_to_one_without(void **state)
{
	const char *image = HEAD ".extern .func vprintf(.param .b64 a, .param .b64 b);\n"
				 ".visible .entry k() { .param .b64 a, b; st.param.b64 [a], 0;\n"
				 "st.param.b64 [b], 0; call.uni vprintf, (a, b); ret; }\n";
	struct gsb_ptx_module *module;
	struct gsb_ptx_error error;
	char *made = NULL;

	assert_int_equal(cuda_print_redirect(image, strlen(image), &made), 0);
	assert_non_null(made);
	assert_int_equal(gsb_ptx_parse(made, strlen(made), &module, &error), 0);
	assert_true(module->n_funcs >= 3);
	for (uint32_t i = 0; i < module->n_funcs; i++)
		assert_true(module->funcs[i]->has_body);
	gsb_ptx_module_destroy(module);
	free(made);
}

static void *make_printing_cubin(size_t *size)
{
	struct cubin_writer w = {.text = "", .text_bytes = 1};
	uint32_t symbol = cubin_add(&w, "vprintf", STT_FUNC, 0, 0, 1, NULL);

	w.symbols[symbol].st_shndx = SHN_UNDEF;
	return cubin_finish(&w, size);
}

/* PTX is compiled, however long that takes, where its text is wanted and not the driver's. */
static void test_code_that_prints_is_that_of_whose_printf_is_wanted(void **state)
{
	static const char ptx[] = HEAD
		".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n" KERNEL;
	static const struct {
		enum cuda_prints prints;
		bool ours;
	} cases[] = {
		{CUDA_PRINTS_OURS, true}, {CUDA_PRINTS_KEPT, false}, {CUDA_PRINTS_DRIVERS, false}};
	static uint8_t fatbin[8192];
	size_t n;
	void *cubin = make_printing_cubin(&n);
	size_t size = fatbin_add(fatbin, 0, FATBIN_ELF, 90, cubin, n / 8 * 8);

	size = fatbin_add(fatbin, size, FATBIN_PTX, 75, ptx, sizeof(ptx));
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cuda_code code;

		assert_int_equal(cuda_code_read(fatbin, size, 90, cases[i].prints, &code, text,
						sizeof(text)),
				 0);
		assert_int_equal(code.prints, cases[i].ours);
		assert_int_equal(code.uses_fifo, !cases[i].ours);
		assert_int_equal(gsb_image_kind(code.bytes, code.len) == GSB_IMAGE_ELF,
				 !cases[i].ours);
		cuda_code_finish(&code);
	}
	free(cubin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_without_a_driver_says_where_it_looked),
		cmocka_unit_test(test_open_refuses_what_is_no_number),
		cmocka_unit_test(test_code_says_which_blocks_its_kernels_demand),
		cmocka_unit_test(test_code_that_sets_conditions_has_a_function_for_it),
		cmocka_unit_test(test_code_that_a_fatbin_hides_is_refused),
		cmocka_unit_test(test_code_without_variables_may_be_shared),
		cmocka_unit_test(test_code_with_an_undefined_variable_is_refused),
		cmocka_unit_test(test_damaged_code_never_comes_to_the_driver),
		cmocka_unit_test(test_cubin_that_is_damaged_by_what_is_taken_out_is_refused),
		cmocka_unit_test(test_cubin_with_managed_variables_comes_without_them),
		cmocka_unit_test(test_code_that_prints_is_that_of_whose_printf_is_wanted),
		cmocka_unit_test(test_printf_of_a_program_stays_its_own),
		cmocka_unit_test(test_printf_without_a_result_is_redirected_to_one_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
