/*
 * test_workload.c - recorded loads as text: what is written is what is read, and a text that is none is refused at its line.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "model/gpu/interference.h"
#include "model/input/workload.h"

#define HEAD                   \
	"gsb-load version=1\n" \
	"device name=emu:h200 policy=fifo sms=132 clock=virtual\n"
#define THINGS                                     \
	"tenant id=1 name=q1 program=db peak=64\n" \
	"tenant id=2 name=q2\n"                    \
	"stream tenant=1 number=2 priority=-5\n"   \
	"stream tenant=2 number=1\n"               \
	"kernel id=1 tenant=1 name=scan regs=32\n"
#define OP     "op serial=5 tenant=1 stream=2 kind=copy bytes=64 from=host end=9 done=9\n"
#define LAUNCH "op serial=6 tenant=1 stream=2 kind=launch after=5 think=40 kernel=1 "

static const char whole[] =
	HEAD THINGS "memory tenant=1 at=3 bytes=64\n" OP LAUNCH
		    "grid=4x2x1 block=128x1x1 smem=16 cooperative=1 start=10 end=20 done=21 "
		    "instructions=77 alone=8\n"
		    "op serial=9 tenant=2 stream=1 kind=event_wait on=5\n"
		    "end lines=11\n";

static int parse(const char *text, struct gsb_workload *l, struct gsb_text_error *err)
{
	return gsb_workload_parse(text, strlen(text), l, err);
}

static void parse_ok(const char *text, struct gsb_workload *l)
{
	struct gsb_text_error err = {0};

	if (parse(text, l, &err))
		fail_msg("line %u: %s", err.line, err.what);
}

static char *text_of(const struct gsb_workload *l)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	gsb_workload_write(to, l);
	fclose(to);
	return text;
}

static void test_parse_of_a_whole_load_says_all_of_it(void **state)
{
	const struct gsb_workload_op *op;
	struct gsb_workload l;

	parse_ok(whole, &l);
	assert_string_equal(l.device.name, "emu:h200");
	assert_int_equal(l.device.n_sms, 132);
	assert_int_equal(l.device.clock, GSB_WORKLOAD_VIRTUAL);
	assert_int_equal(l.n_tenants, 2);
	assert_string_equal(l.tenants[0].program, "db");
	assert_int_equal(l.streams[0].priority, -5);
	assert_int_equal(l.kernels[0].regs, 32);
	assert_int_equal(l.memory[0].bytes, 64);
	assert_int_equal(l.n_ops, 3);
	op = &l.ops[1];
	assert_int_equal(op->kind, GSB_WORKLOAD_LAUNCH);
	assert_int_equal(op->grid[0] * op->grid[1] * op->grid[2], 8);
	assert_int_equal(op->block[0], 128);
	assert_int_equal(op->cooperative, 1);
	assert_int_equal(op->think_ns, 40);
	assert_int_equal(op->alone_ns, 8);
	assert_int_equal(op->after_at, 0);
	assert_int_equal(op->kernel_at, 0);
	assert_int_equal(op->on_at, GSB_WORKLOAD_NONE);
	op = &l.ops[2];
	assert_int_equal(op->tenant_at, 1);
	assert_int_equal(op->stream_at, 1);
	assert_int_equal(op->on_at, 0);
	assert_int_equal(op->after_at, GSB_WORKLOAD_NONE);
	assert_int_equal(op->kernel_at, GSB_WORKLOAD_NONE);
	gsb_workload_finish(&l);
}

static void test_write_of_what_was_read_is_the_same_text(void **state)
{
	struct gsb_workload l;
	char *text;

	parse_ok(whole, &l);
	text = text_of(&l);
	assert_string_equal(text, whole);
	free(text);
	gsb_workload_finish(&l);
}

/* What a kernel lives on is a unit, by the name that it has everywhere. */
static void test_units_are_those_of_the_law(void **state)
{
	for (unsigned int u = 0; u < GSB_UNIT_REQUESTS; u++) {
		char text[512];
		struct gsb_workload l;

		snprintf(text, sizeof(text),
			 HEAD "tenant id=1 name=q\nkernel id=1 tenant=1 name=k regs=32 unit=%s "
			      "want=5\nend lines=4\n",
			 gsb_unit_name((enum gsb_unit)u));
		parse_ok(text, &l);
		assert_int_equal(l.kernels[0].unit, u + 1);
		gsb_workload_finish(&l);
	}
}

static void test_names_come_back_whatever_is_in_them(void **state)
{
	struct gsb_workload_tenant tenant = {
		.id = 1, .name = " a=b%41#\"\n\x7f\xff", .program = "%"};
	const struct gsb_workload l = {.tenants = &tenant, .n_tenants = 1};
	struct gsb_workload again;
	char *text = text_of(&l);

	parse_ok(text, &again);
	assert_string_equal(again.tenants[0].name, tenant.name);
	assert_string_equal(again.tenants[0].program, "%");
	free(text);
	gsb_workload_finish(&again);
}

static void test_parse_of_a_part_is_refused(void **state)
{
	struct gsb_workload l;
	struct gsb_text_error err;

	for (size_t n = 0; n < strlen(whole) - 2; n++) /* "lines=11" and "lines=1" are two things */
		assert_int_equal(gsb_workload_parse(whole, n, &l, &err), -EINVAL);
	assert_int_equal(gsb_workload_parse(whole, strlen(whole) - 1, &l, &err), 0);
	gsb_workload_finish(&l);
}

static void test_parse_of_a_bad_line_says_where_and_why(void **state)
{
	static const struct {
		const char *text;
		unsigned line;
		const char *why;
	} bad[] = {
		{"", 0, "it is no load, or its end is missing"},
		{"tenant id=1 name=a\n", 1, "a load begins with gsb-load version=1"},
		{"this is no load\n", 1, "no line of a load begins with 'this'"},
		{"gsb-load version=2\n", 1, "it is a load of version 2, this program reads 1"},
		{"gsb-load version=1\nend lines=1\n", 2, "the second line of a load is device"},
		{"gsb-load version=1\ndevice name=a policy=b sms=1\n", 2, "device wants clock="},
		{"gsb-load version=1\ndevice name=a policy=b sms=1 clock=own\n", 2,
		 "clock is one of the words that it knows"},
		{HEAD HEAD, 3, "gsb-load behind device: lines are out of order"},
		{HEAD "tenant id=1 name=a shape=2\n", 3, "tenant has no key 'shape'"},
		{HEAD "tenant id=1 id=1 name=a\n", 3, "id is there twice"},
		{HEAD "tenant id=4294967296 name=a\n", 3, "id is a number below 4294967296"},
		{HEAD "tenant id=1 name=a come=-1\n", 3, "come is a number"},
		{HEAD "tenant id=1 name\n", 3, "name is a name"},
		{HEAD "tenant id=1 name=a%00b\n", 3, "name is a name"},
		{HEAD "tenant id=1 name=a%2\n", 3, "name is a name"},
		{HEAD
		 "tenant id=1 name=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		 "\n",
		 3, "name is a name, not too long"},
		{HEAD "tenant id=2 name=a\ntenant id=2 name=b\n", 4, "ids of tenants must rise"},
		{HEAD "stream tenant=1 number=1\n", 3, "there is no tenant 1"},
		{HEAD THINGS "stream tenant=1 number=3\n", 8, "stream behind kernel"},
		{HEAD THINGS "kernel id=3 tenant=1 name=a\n", 8, "this kernel's id must be 2"},
		{HEAD THINGS OP "memory tenant=1\n", 9, "memory behind op: lines are out of order"},
		{HEAD THINGS OP OP, 9, "serials must rise"},
		{HEAD THINGS "op serial=0 tenant=1 stream=2 kind=nop\n", 8, "serials must rise"},
		{HEAD THINGS "op serial=1 tenant=1 stream=1 kind=nop\n", 8,
		 "tenant 1 has no stream 1"},
		{HEAD THINGS "op serial=1 tenant=1 stream=2 kind=nop after=1\n", 8,
		 "no operation before this one has the serial 1"},
		{HEAD THINGS OP "op serial=6 tenant=2 stream=1 kind=nop after=5\n", 9,
		 "after= names an operation of another tenant"},
		{HEAD THINGS OP "op serial=6 tenant=1 stream=2 kind=nop on=5\n", 9,
		 "on= is of an event_wait"},
		{HEAD THINGS OP LAUNCH "block=1x1x1\n", 9, "a launch wants grid= and block="},
		{HEAD THINGS OP LAUNCH "grid=1x1 block=1x1x1\n", 9,
		 "grid is three numbers above 0"},
		{HEAD THINGS OP LAUNCH "grid=1x0x1 block=1x1x1\n", 9, "grid is three numbers"},
		{HEAD THINGS OP LAUNCH "grid=1x1x1 block=65536x65536x2\n", 9,
		 "a block has 65536 threads at most"},
		{HEAD THINGS OP LAUNCH "grid=1x1x1 block=1x1x1 cooperative=2\n", 9,
		 "cooperative is 0 or 1"},
		{HEAD THINGS OP LAUNCH "grid=1x1x1 block=1x1x1 start=4 end=3\n", 9,
		 "it starts after its end"},
		{HEAD THINGS OP LAUNCH "grid=1x1x1 block=1x1x1 end=3 done=2\n", 9,
		 "it is done before its end"},
		{HEAD THINGS "op serial=6 tenant=2 stream=1 kind=launch kernel=1\n", 8,
		 "its tenant has no kernel 1"},
		{HEAD THINGS "op serial=6 tenant=2 stream=1 kind=nop kernel=1\n", 8,
		 "kernel, grid and block are of a launch"},
		{HEAD "end lines=3\n", 3, "2 lines are before this one, and not 3"},
		{HEAD "end lines=2\nend lines=3\n", 4, "end behind end: lines are out of order"},
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(bad); i++) {
		struct gsb_text_error err = {0};
		struct gsb_workload l;

		if (parse(bad[i].text, &l, &err) != -EINVAL)
			fail_msg("this was taken: %s", bad[i].text);
		if (err.line != bad[i].line || !strstr(err.what, bad[i].why))
			fail_msg("%s: line %u: %s", bad[i].text, err.line, err.what);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_of_a_whole_load_says_all_of_it),
		cmocka_unit_test(test_write_of_what_was_read_is_the_same_text),
		cmocka_unit_test(test_units_are_those_of_the_law),
		cmocka_unit_test(test_names_come_back_whatever_is_in_them),
		cmocka_unit_test(test_parse_of_a_part_is_refused),
		cmocka_unit_test(test_parse_of_a_bad_line_says_where_and_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
