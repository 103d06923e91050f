/*
 * test_ptx_assemble.c - what a driver refuses when a text is loaded, and what it leaves for the launch of a kernel.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "ptx/assemble.h"

#define HEAD(version, sm) ".version " version "\n.target sm_" sm "\n.address_size 64\n"
#define KERNEL(body)                                                                     \
	".visible .entry k()\n{\n.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n" \
	".reg .f32 %f<4>;\n" body "\nret;\n}\n"

/* @says: in the log; NULL: it is loaded */
static void expect(const char *text, int err, const char *says)
{
	struct gsb_ptx_error error = {0};
	struct gsb_ptx_module *m;
	char log[300] = "";
	int got;

	if (gsb_ptx_parse(text, strlen(text), &m, &error))
		fail_msg("%s", error.text);
	got = gsb_ptx_assembles(m, log, sizeof(log));
	if (got != err || (says && !strstr(log, says)))
		fail_msg("%s\n%d '%s', not %d '%s'", text, got, log, err, says ? says : "");
	if (!says)
		assert_string_equal(log, "");
	gsb_ptx_module_destroy(m);
}

static void test_assembles_knows_every_opcode_of_ptx(void **state)
{
	expect(HEAD("8.0", "90") KERNEL("frobnicate.u32 1;"), -EILSEQ,
	       "line 8: 'frobnicate' is no opcode of PTX");
	expect(HEAD("8.0", "90") KERNEL("@%p1 mova.u32 %r1, %r2;"), -EILSEQ, "'mova'");
	/* known, and not carried: for the launch */
	expect(HEAD("8.0", "90") KERNEL("wgmma.fence.sync.aligned;"), 0, NULL);
	expect(HEAD("8.6", "90") KERNEL("tcgen05.fence::after_thread_sync;"), 0, NULL);
	expect(HEAD("8.0", "90") KERNEL("istypep.texref %p1, %rd1;"), 0, NULL);
	/* a modifier, a register or a directive that is not known */
	expect(HEAD("8.0", "90") KERNEL("fma.rn.oob.f32 %f1, %f1, %f1, %f1;"), 0, NULL);
	expect(HEAD("8.0", "90") KERNEL("mov.u32 %r1, %newest_counter;"), 0, NULL);
	expect(HEAD("8.0", "90") KERNEL(".newest 1;"), 0, NULL);
}

static void test_assembles_refuses_a_version_of_the_future(void **state)
{
	expect(HEAD("99.0", "52"), -ENOPKG, "PTX 99.0");
	expect(HEAD("10.0", "90") KERNEL("frobnicate.u32 1;"), -ENOPKG, "PTX 10.0");
	expect(HEAD("9.9", "90") KERNEL("frobnicate.u32 1;"), 0, NULL); /* it may have that */
	expect(HEAD("9.0", "90") KERNEL("frobnicate.u32 1;"), -EILSEQ, "'frobnicate'");
}

static void test_assembles_refuses_addresses_of_32_bits(void **state)
{
	expect(".version 6.4\n.target sm_52\n.address_size 32\n" KERNEL(""), -EILSEQ,
	       ".address_size 32");
}

static void test_assembles_refuses_opcodes_newer_than_the_text(void **state)
{
	expect(HEAD("6.4", "80") KERNEL("cp.async.wait_all;"), -EILSEQ,
	       "line 8: 'cp.async.wait_all' needs .version 7.0 and .target sm_80");
	expect(HEAD("7.0", "75") KERNEL("cp.async.wait_all;"), -EILSEQ, ".target sm_80");
	expect(HEAD("7.0", "80") KERNEL("cp.async.wait_all;"), 0, NULL);
	expect(HEAD("7.5", "90") KERNEL("barrier.cluster.arrive;"), -EILSEQ, ".version 7.8");
	expect(HEAD("7.8", "90") KERNEL("barrier.cluster.arrive;"), 0, NULL);
	expect(HEAD("7.8", "80") KERNEL("griddepcontrol.wait;"), -EILSEQ, "sm_90");
}

static void test_assembles_refuses_calls_of_what_nobody_defines(void **state)
{
	expect(HEAD("6.4", "52") ".extern .func f();\n" KERNEL("call.uni f;"), -EILSEQ,
	       "line 9: function 'f' is called and nowhere defined");
	expect(HEAD("6.4", "52") ".extern .func __nv_sinf();\n" KERNEL("call.uni __nv_sinf;"),
	       -EILSEQ, "'__nv_sinf'");
	expect(HEAD("6.4", "52") ".extern .func __assertfail();\n" KERNEL("call.uni __assertfail;"),
	       0, NULL);
	/* declared alone, defined later, an alias, the system's */
	expect(HEAD("6.4", "52") ".extern .func f();\n" KERNEL(""), 0, NULL);
	expect(HEAD("6.4", "52") ".func f();\n" KERNEL("call.uni f;") ".func f()\n{\nret;\n}\n", 0,
	       NULL);
	expect(HEAD("6.4",
		    "52") ".func g()\n{\nret;\n}\n.func f();\n.alias f, g;\n" KERNEL("call.uni f;"),
	       0, NULL);
	expect(HEAD("6.4",
		    "52") ".extern .func cudaCDP2Launch();\n" KERNEL("call.uni cudaCDP2Launch;"),
	       0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_assembles_knows_every_opcode_of_ptx),
		cmocka_unit_test(test_assembles_refuses_a_version_of_the_future),
		cmocka_unit_test(test_assembles_refuses_addresses_of_32_bits),
		cmocka_unit_test(test_assembles_refuses_opcodes_newer_than_the_text),
		cmocka_unit_test(test_assembles_refuses_calls_of_what_nobody_defines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
