/*
 * test_profiles.c - what was seen of kernels beside probes, as text.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/input/profiles.h"

/* Two probes p and q, kernels a and b that never met, one division of halves. */
static const char whole[] = "# older, younger\n"
			    "a,p\t1,1\t0.4,0.25\t0,0\t0.8,0.5\t-\t1.5\t0\n"
			    "p,a\t1,1\t0.5,0.2\t0,0\t0.5,0.8\t-\t1.7\t0\n"
			    "a,q\t1,1\t0.8,0.5\t0,0\t0.8,1\t-\t1.2\t0\n"
			    "q,a\t1,1\t1,0.4\t0,0\t1,0.8\t-\t1.3\t0\n"
			    "b,p\t1,1\t0.3,0.1\t0,0\t0.6,0.5\t-\t1.9\t0\n"
			    "p,b\t1,1\t0.5,0\t0,0\t0.5,0.6\t-\t1.9\t0\n"
			    "b,q\t1,1\t0.6,1\t0,0\t0.6,1\t-\t1.1\t0\n"
			    "q,b\t1,1\t1,0.6\t0,0\t1,0.6\t-\t1.2\t0\n"
			    "p,p\t1,1\t0.4,0.05\t0,0\t0.5,0.5\t-\t2.0\t0\n"
			    "p,q\t1,1\t0.5,0.9\t0,0\t0.5,1\t-\t1.1\t0\n"
			    "q,p\t1,1\t1,0.4\t0,0\t1,0.5\t-\t1.1\t0\n"
			    "q,q\t1,1\t0.9,0.2\t0,0\t1,1\t-\t1.8\t0\n";

static struct gsb_profiles *read_whole(const char *text)
{
	struct gsb_text_error err;
	struct gsb_profiles *p;

	if (gsb_profiles_read(text, strlen(text), &p, &err))
		fail_msg("line %u: %s", err.line, err.what);
	return p;
}

static void test_kernels_and_probes_are_told_apart(void **state)
{
	struct gsb_profiles *p = read_whole(whole);

	assert_int_equal(gsb_profiles_n(p), 4);
	assert_int_equal(gsb_profiles_n_probes(p), 2);
	assert_int_equal(gsb_profiles_n_divisions(p), 1);
	assert_string_equal(gsb_profiles_name(p, gsb_profiles_find(p, "b")), "b");
	assert_int_equal(gsb_profiles_find(p, "c"), 4);
	assert_true(gsb_profiles_is_probe(p, gsb_profiles_find(p, "p")));
	assert_true(gsb_profiles_is_probe(p, gsb_profiles_find(p, "q")));
	assert_false(gsb_profiles_is_probe(p, gsb_profiles_find(p, "a")));
	assert_true(gsb_profiles_share(p, 0) == 0.5);
	assert_int_equal(gsb_profiles_division(p, 0.5), 0);
	assert_int_equal(gsb_profiles_division(p, 0.25), 1);
	gsb_profiles_free(p);
}

/* Speeds in a profile are against the kernel alone in that division: so it is as if kriging.h had been asked by hand. */
static void test_predictions_are_those_of_kriging(void **state)
{
	const struct gsb_encounter probes[4] = {
		{0.8, 0.1, 2}, {1, 0.9, 1.1}, {1, 0.8, 1.1}, {0.9, 0.2, 1.8}};
	const struct gsb_encounter a_older[2] = {{0.5, 0.5, 1.5}, {1, 0.5, 1.2}};
	const struct gsb_encounter b_younger[2] = {{1, 0.0005 / 0.6, 1.9}, {1, 1, 1.2}};
	struct gsb_profiles *p = read_whole(whole);
	struct gsb_encounter is, should;
	static struct gsb_kriging by_hand;
	double alone[2];

	assert_int_equal(gsb_kriging_init(&by_hand, 2, 1, probes), 0);
	assert_int_equal(gsb_kriging_predict(&by_hand, 0, a_older, b_younger, &should), 0);
	gsb_profiles_predict(p, gsb_profiles_find(p, "a"), gsb_profiles_find(p, "b"), 0, &is,
			     alone);
	assert_true(fabs(is.older - should.older) < 1e-12);
	assert_true(fabs(is.younger - should.younger) < 1e-12);
	assert_true(fabs(is.makespan - should.makespan) < 1e-12);
	assert_true(alone[0] == 0.8);
	assert_true(alone[1] == 0.6);
	gsb_profiles_free(p);
}

/* Without one line of the whole there is one probe, and that is the other one. */
static void assert_probe_without(const char *line, const char *probe)
{
	char text[sizeof(whole)];
	struct gsb_profiles *p;

	memcpy(text, whole, sizeof(text));
	*strstr(text, line) = '#'; /* a comment then */
	p = read_whole(text);
	assert_int_equal(gsb_profiles_n_probes(p), 1);
	assert_true(gsb_profiles_is_probe(p, gsb_profiles_find(p, probe)));
	gsb_profiles_free(p);
}

static void test_a_probe_has_met_everybody_in_both_orders(void **state)
{
	assert_probe_without("p,b", "q");
	assert_probe_without("b,p", "q");
	assert_probe_without("a,q", "p");
	assert_probe_without("q,a", "p");
	assert_probe_without("q,q", "p");
}

static void refuse(const char *text, unsigned line, const char *why)
{
	struct gsb_text_error err = {0};
	struct gsb_profiles *p;

	assert_int_equal(gsb_profiles_read(text, strlen(text), &p, &err), -EINVAL);
	if (err.line != line || !strstr(err.what, why))
		fail_msg("'%s': line %u: %s", text, err.line, err.what);
}

static void test_what_is_no_profile_is_refused_by_line(void **state)
{
	char many[64 * 80] = "";

	refuse("p,p\t1,1\t1,1\t0,0\t1,1\t-\n", 1, "fewer than 7 fields");
	refuse("\n# x\nppp\t1,1\t1,1\t0,0\t1,1\t-\t1\n", 3, "not two kernels");
	refuse("p,p,p\t1,1\t1,1\t0,0\t1,1\t-\t1\n", 1, "not two kernels");
	refuse("p,\t1,1\t1,1\t0,0\t1,1\t-\t1\n", 1, "a name has 1 to 63");
	refuse("p,p\t1\t1,1\t0,0\t1,1\t-\t1\n", 1, "field 2");
	refuse("p,p\t0,1\t1,1\t0,0\t1,1\t-\t1\n", 1, "field 2");
	refuse("p,p\t1,0\t1,1\t0,0\t1,1\t-\t1\n", 1, "field 2");
	refuse("p,p\t1,1\t1\t0,0\t1,1\t-\t1\n", 1, "fields 3 and 5");
	refuse("p,p\t1,1\t1,x\t0,0\t1,1\t-\t1\n", 1, "fields 3 and 5");
	refuse("p,p\t1,1\t1,1\t0,0\t0,1\t-\t1\n", 1, "fields 3 and 5");
	refuse("p,p\t1,1\t1,1\t0,0\t1,0\t-\t1\n", 1, "fields 3 and 5");
	refuse("p,p\t1,1\t999999999999999,1\t0,0\t0.0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001,1\t-\t1\n",
	       1, "out of all range");
	refuse("p,p\t1,1\t1,1\t0,0\t1,1\t-\t0\n", 1, "field 7");
	refuse("p,p\t1,1\t1,1\t0,0\t1,1\t-\tnan\n", 1, "field 7");
	refuse("p,p\t1,1\t1,1\t0,0\t1,1\t-\t1\np,p\t1,1\t1,1\t0,0\t1,1\t-\t1\n", 2,
	       "for the second time");
	refuse("", 0, "there is no probe");
	refuse("a,p\t1,1\t1,1\t0,0\t1,1\t-\t1\n", 0, "there is no probe");
	for (int i = 1; i <= 9; i++)
		sprintf(many + strlen(many), "p,p\t%d,11\t1,1\t0,0\t1,1\t-\t1\n", i);
	refuse(many, 9, "more than 8 divisions");
	*many = 0;
	for (int i = 0; i < 49; i++)
		sprintf(many + strlen(many), "p%d,q%d\t1,1\t1,1\t0,0\t1,1\t-\t1\n", i, i);
	refuse(many, 49, "more than 96 kernels");
}

/* A file that ends early is one of fewer probes, not of wrong ones: no cut makes a crash or a number that is none. */
static void test_a_file_may_end_anywhere(void **state)
{
	for (size_t len = 0; len < sizeof(whole); len++) {
		struct gsb_profiles *p;
		struct gsb_text_error err;

		if (gsb_profiles_read(whole, len, &p, &err))
			continue;
		for (uint32_t i = 0; i < gsb_profiles_n(p); i++)
			for (uint32_t j = 0; j < gsb_profiles_n(p); j++) {
				struct gsb_encounter e;
				double alone[2];

				gsb_profiles_predict(p, i, j, 0, &e, alone);
				assert_true(e.older > 0 && isfinite(e.makespan));
			}
		gsb_profiles_free(p);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels_and_probes_are_told_apart),
		cmocka_unit_test(test_predictions_are_those_of_kriging),
		cmocka_unit_test(test_a_probe_has_met_everybody_in_both_orders),
		cmocka_unit_test(test_what_is_no_profile_is_refused_by_line),
		cmocka_unit_test(test_a_file_may_end_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
