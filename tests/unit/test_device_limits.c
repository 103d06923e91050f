/*
 * test_device_limits.c - what a device says of a kernel, and which it refuses, when and by what name: on the
 * emulated device and on the null device alike.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "tests/unit/device_kit.h"

#define MODULE(target, text) ".version 9.0\n.target " target "\n.address_size 64\n" text
#define SHARED(bytes)                                                                  \
	".visible .entry k() { .reg .b32 %r<2>; .shared .align 4 .b8 sm[" bytes "];\n" \
	"mov.u32 %r1, sm; st.shared.u32 [%r1], %r1; ret; }\n"
#define PLAIN ".visible .entry plain() { ret; }\n"

static int set_up(void **state)
{
	struct t_device *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	t_device_open(d, *state, 1);
	*state = d;
	return 0;
}

static int tear_down(void **state)
{
	t_device_close(*state);
	free(*state);
	return 0;
}

static void load(struct t_device *d, const char *text)
{
	if (t_device_load(d, text))
		fail_msg("%s\n%s", d->log, text);
}

/* ---- attributes ---- */

/* CUB compares the first with the architecture that it was compiled for. */
static void test_ptx_version_is_the_target_of_the_text(void **state)
{
	static const struct {
		const char *text;
		int ptx;
	} cases[] = {
		{MODULE("sm_75", PLAIN), 75},
		{MODULE("sm_90", PLAIN), 90},
		{MODULE("sm_90a", PLAIN), 90},
		{MODULE("sm_52, texmode_independent", PLAIN), 52},
	};
	struct t_device *d = *state;

	for (size_t i = 0; i < GSB_ARRAY_LEN(cases); i++) {
		static struct gsb_function_info info;

		load(d, cases[i].text);
		t_device_function(d, "plain", &info);
		assert_int_equal(info.attrs[5], cases[i].ptx); /* PTX_VERSION */
		assert_int_equal(info.attrs[6], 90);	       /* BINARY_VERSION */
	}
}

/* ---- static shared memory ---- */

static void test_static_shared_memory_has_the_compilers_limit(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{MODULE("sm_75", SHARED("49152")), NULL},
		{MODULE("sm_75", SHARED("49153")),
		 "kernel k: line 4: too much static shared memory: 49153"},
		{MODULE("sm_90", SHARED("240000")), "240000 bytes, 49152 are the most"},
		{MODULE("sm_90a", SHARED("232448")), NULL},
		{MODULE("sm_90a", SHARED("232449")), "232448 are the most"},
		/* each has enough; together they are too many only for who uses both */
		{MODULE("sm_75", ".shared .b8 a[40000];\n.shared .b8 b[40000];\n"
				 ".visible .entry k() { .reg .b32 %r<2>; mov.u32 %r1, a; ret; }\n"
				 ".visible .entry l() { .reg .b32 %r<2>; mov.u32 %r1, b; ret; }\n"),
		 NULL},
		{MODULE("sm_75", ".shared .b8 a[40000];\n.shared .b8 b[40000];\n"
				 ".func f() { .reg .b32 %r<2>; mov.u32 %r1, a; ret; }\n"
				 ".visible .entry k() { .reg .b32 %r<2>; mov.u32 %r1, b;\n"
				 "call f; ret; }\n"),
		 "kernel k"},
	};
	struct t_device *d = *state;

	for (size_t i = 0; i < GSB_ARRAY_LEN(cases); i++) {
		int err = t_device_load(d, cases[i].text);

		if (!cases[i].says && err)
			fail_msg("%s", d->log);
		if (!cases[i].says)
			continue;
		assert_int_equal(err, -EILSEQ);
		if (!strstr(d->log, cases[i].says))
			fail_msg("'%s' does not say '%s'", d->log, cases[i].says);
	}
}

/* Static and dynamic together up to what the device has for a block. */
static void test_dynamic_shared_memory_has_the_devices_limit(void **state)
{
	struct t_device *d = *state;
	struct t_device_launch l = {
		.kernel = "k", .grid = 1, .block = 32, .smem_bytes = 232448 - 4096};

	load(d, MODULE("sm_75", SHARED("4096")));
	assert_int_equal(t_device_run(d, &l).result, CUDA_SUCCESS);
	l.smem_bytes++;
	assert_int_equal(t_device_issue(d, &l), -EINVAL);
}

/* ---- what is not known ---- */

/* Of each, kernel k uses something new, and is refused by the name of it; plain is not concerned. */
static void test_unknown_words_refuse_the_kernel_not_the_module(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{".visible .entry k() { .reg .b32 %r<2>; mov.u32 %r1, %new_counter_3; ret; }\n",
		 "mov.u32 %r1, %new_counter_3"},
		{".visible .entry k() { .reg .b32 %r<2>; mov.u32 %r1, %newid.x; ret; }\n",
		 "%newid.x"},
		{".visible .entry k() { .reg .b32 %r<4>; wgmma.frob.u32 %r1, %r2, {%r3}; ret; }\n",
		 "wgmma.frob.u32"},
		{".visible .entry k() { .reg .b32 %r<4>; add.newmode.u32 %r1, %r2, %r3; ret; }\n",
		 "add.newmode.u32"},
		{".visible .entry k() { .reg .b32 %r<4>; add.q12 %r1, %r2, %r3; ret; }\n",
		 "add.q12"},
		{".visible .entry k() { .reg .q12 %q<4>; mov.u32 %q1, %q2; ret; }\n",
		 ".reg .q12 %q<4>"},
		{".visible .entry k() { .shared .align 8 .q12 s[4]; .reg .b64 %rd<2>;\n"
		 "mov.u64 %rd1, s; ret; }\n",
		 ".shared .align 8 .q12 s[4]"},
		{".visible .entry k() { .reg .b32 %r<2>; .newdirective 1, 2; ret; }\n",
		 ".newdirective 1, 2"},
		{".visible .entry k() .newlimit 3, 4\n{ ret; }\n", ".newlimit"},
		{".global .q12 g[4];\n.visible .entry k() { .reg .b64 %rd<2>; mov.u64 %rd1, g; ret; }\n",
		 "mov.u64 %rd1, g"},
		{".newitem a, { b, { c } }\n.newline 7\n"
		 ".visible .entry k() { .reg .b64 %rd<2>; ld.global.u64 %rd1, [a+8]; ret; }\n",
		 "[a+8]"},
		{".func f() { .reg .b32 %r<2>; mov.u32 %r1, %new_counter; ret; }\n"
		 ".visible .entry k() { call f; ret; }\n",
		 "%new_counter"},
	};
	struct t_device *d = *state;

	for (size_t i = 0; i < GSB_ARRAY_LEN(cases); i++) {
		struct t_device_launch l = {.kernel = "k", .grid = 1, .block = 32};
		char text[1024];

		snprintf(text, sizeof(text), MODULE("sm_90", "%s" PLAIN), cases[i].text);
		load(d, text);
		assert_int_equal(t_device_issue(d, &l), -ENOTSUP);
		if (!strstr(d->log, cases[i].says) || !strstr(d->log, "kernel 'k'"))
			fail_msg("'%s' does not say '%s'", d->log, cases[i].says);
		l.kernel = "plain";
		assert_int_equal(t_device_run(d, &l).result, CUDA_SUCCESS);
	}
}

#define ON(device)                                                                       \
	{                                                                                \
		const struct CMUnitTest tests[] = {                                      \
			CASE(test_ptx_version_is_the_target_of_the_text, device),        \
			CASE(test_static_shared_memory_has_the_compilers_limit, device), \
		};                                                                       \
		failed += cmocka_run_group_tests_name(device, tests, NULL, NULL);        \
	}
#define CASE(f, device) cmocka_unit_test_prestate_setup_teardown(f, set_up, tear_down, device)

int main(void)
{
	const struct CMUnitTest emulated[] = {
		CASE(test_dynamic_shared_memory_has_the_devices_limit, "emu:h200"),
		CASE(test_unknown_words_refuse_the_kernel_not_the_module, "emu:h200"),
	};
	int failed = cmocka_run_group_tests_name("launches", emulated, NULL, NULL);

	ON("emu:h200");
	ON("null");
	return failed;
}
