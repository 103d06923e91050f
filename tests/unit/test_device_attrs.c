/*
 * test_device_attrs.c - attrs.def against the toolkit's cuda.h, where there is one: each number has
 * that name there.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <cuda.h>

static void test_attrs_have_the_numbers_of_the_toolkit(void **state)
{
	int last = 0;

#define GSB_ATTR(number, name, value)                         \
	assert_int_equal(number, CU_DEVICE_ATTRIBUTE_##name); \
	assert_true((number) > last);                         \
	last = number;
#include "device/attrs.def"
	assert_true(last < CU_DEVICE_ATTRIBUTE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attrs_have_the_numbers_of_the_toolkit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
