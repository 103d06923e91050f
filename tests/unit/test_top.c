/*
 * test_top.c - the rows of gsbctl top: what is a difference to the round before, what is not known, and the order.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/top_rows.h"

#define N_SMS 100

/* One engine with room for tenants. */
struct fixture {
	struct gsb_answers answers;
	struct gsb_answer_engine *engine;
	struct gsb_top_round a, b;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->engine = calloc(1, sizeof(*f->engine) + 4 * sizeof(struct gsb_ctl_tenant));
	f->engine->pid = 4711;
	f->engine->state = GSB_ENGINE_READY;
	strcpy(f->engine->device, "emu:h200");
	strcpy(f->engine->policy, "fifo");
	f->engine->status.n_sms = N_SMS;
	f->answers.engines = &f->engine;
	f->answers.n_engines = 1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	gsb_top_round_finish(&f->a);
	gsb_top_round_finish(&f->b);
	free(f->engine);
	free(f);
	return 0;
}

static struct gsb_ctl_tenant *tenant(struct fixture *f, uint32_t id, const char *name)
{
	struct gsb_ctl_tenant *t = &f->engine->status.tenants[f->engine->status.n_tenants++];

	f->engine->n_tenants++;
	t->tenant_id = id;
	strcpy(t->tenant, name);
	return t;
}

static bool is_near(double a, double b)
{
	return a > b - 1e-9 && a < b + 1e-9;
}

static void test_first_round_is_since_the_beginning(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_tenant *t = tenant(f, 1, "a");

	f->engine->status.device_ns = 1000;
	t->sm_ns = 25000;
	t->device_ns = 300;
	t->copy_ns = 100;
	t->wait_ns[GSB_WAITED_POLICY] = 150;
	t->wait_ns[GSB_WAITED_DEVICE] = 50;
	t->wait_ns[GSB_WAITED_EVENT] = 7777; /* its own program's doing */
	t->known_ns = 300;
	t->alone_ns = 200;
	t->error_ppm = 1000000;
	t->n_predicted = 4;
	assert_int_equal(gsb_top_round_make(&f->answers, NULL, &f->a), 0);
	assert_int_equal(f->a.n_rows, 1);
	assert_true(is_near(f->a.rows[0].share, 0.25));
	assert_true(is_near(f->a.rows[0].waited, 1 / 3.0));
	assert_true(is_near(f->a.rows[0].slowdown, 1.5));
	assert_true(is_near(f->a.rows[0].error, 0.25));
	assert_true(is_near(f->a.engines[0].share, 0.25));
}

static void test_next_round_is_the_difference_by_tenant_and_engine(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_tenant *t = tenant(f, 1, "leaves"), *u = tenant(f, 2, "stays");

	f->engine->status.device_ns = 1000;
	t->sm_ns = 90000;
	u->sm_ns = 10000;
	u->device_ns = u->known_ns = u->alone_ns = 1000;
	u->error_ppm = 500000;
	u->n_predicted = 1;
	assert_int_equal(gsb_top_round_make(&f->answers, NULL, &f->a), 0);
	*t = *u; /* the first row is another's now */
	f->engine->status.n_tenants = f->engine->n_tenants = 1;
	f->engine->status.device_ns = 3000;
	t->sm_ns = 50000;
	t->device_ns = 1400;
	t->wait_ns[GSB_WAITED_DEVICE] = 400;
	t->known_ns = 1400;
	t->alone_ns = 1200;
	t->error_ppm = 700000;
	t->n_predicted = 3;
	assert_int_equal(gsb_top_round_make(&f->answers, &f->a, &f->b), 0);
	assert_int_equal(f->b.n_rows, 1);
	assert_true(is_near(f->b.rows[0].share, 0.2));
	assert_true(is_near(f->b.rows[0].waited, 0.5));
	assert_true(is_near(f->b.rows[0].slowdown, 2));
	assert_true(is_near(f->b.rows[0].error, 0.1));
}

static void test_rates_without_time_or_work_are_not_known(void **state)
{
	struct fixture *f = *state;

	tenant(f, 1, "a");
	f->engine->status.device_ns = 1000;
	assert_int_equal(gsb_top_round_make(&f->answers, NULL, &f->a), 0);
	assert_true(is_near(f->a.rows[0].share, 0));
	assert_true(f->a.rows[0].waited < 0);
	assert_true(f->a.rows[0].slowdown < 0);
	assert_true(f->a.rows[0].error < 0);
	assert_int_equal(gsb_top_round_make(&f->answers, &f->a, &f->b), 0);
	assert_true(f->b.rows[0].share < 0); /* time stands still */
	assert_true(f->b.engines[0].share < 0);
}

static void test_sorts_have_their_order(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_tenant *t1 = tenant(f, 1, "c"), *t2 = tenant(f, 2, "a"),
			      *t3 = tenant(f, 3, "b");
	static const struct {
		const char *word;
		char order[4];
	} want[] = {{"share", "213"},	 {"memory", "312"}, {"queue", "123"}, {"waited", "321"},
		    {"slowdown", "231"}, {"error", "312"},  {"name", "231"},  {"id", "123"}};
	enum gsb_top_sort by;

	f->engine->status.device_ns = 1000;
	t2->sm_ns = 5;
	t3->device_mem_bytes = 9;
	t1->queued = 1;
	t2->device_ns = t3->device_ns = 1; /* t1: not known, last */
	t3->wait_ns[GSB_WAITED_POLICY] = 1;
	t2->known_ns = 3;
	t3->known_ns = 2;
	t2->alone_ns = t3->alone_ns = t1->n_predicted = t3->n_predicted = 1;
	t3->error_ppm = 1;
	for (unsigned i = 0; i < GSB_N_TOP_SORTS; i++) {
		gsb_top_round_finish(&f->a);
		assert_int_equal(gsb_top_round_make(&f->answers, NULL, &f->a), 0);
		assert_int_equal(gsb_top_sort_find(want[i].word, &by), 0);
		gsb_top_round_sort(&f->a, by);
		for (unsigned j = 0; j < 3; j++)
			assert_int_equal(f->a.rows[j].now.tenant_id, want[i].order[j] - '0');
	}
	assert_int_equal(gsb_top_sort_find("luck", &by), -EINVAL);
	assert_int_equal(gsb_top_sort_of_key('m', &by), 0);
	assert_int_equal(by, GSB_TOP_SORT_MEMORY);
	assert_int_equal(gsb_top_sort_of_key('q', &by), -EINVAL);
}

static void test_print_shows_engines_without_an_answer_and_hidden_tenants(void **state)
{
	struct fixture *f = *state;
	struct gsb_answer_engine *both[2] = {f->engine, f->engine};
	struct gsb_answer_engine dead = {
		.error = -EAGAIN, .state = GSB_ENGINE_DEAD, .device = "null"};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	both[1] = &dead;
	f->answers.engines = both;
	f->answers.n_engines = 2;
	f->engine->is_hidden = 1;
	f->engine->n_tenants = 3;
	assert_int_equal(gsb_top_round_make(&f->answers, NULL, &f->a), 0);
	gsb_top_round_print(&f->a, out);
	fclose(out);
	assert_non_null(strstr(text, "\nnull "));
	assert_non_null(strstr(text, "\nand 3 tenants of other users\n"));
	assert_non_null(strstr(text, "\n\nID  TENANT  PID  SMS "));
	free(text);
}

static void print_to(const struct fixture *f, char *text, size_t size)
{
	FILE *out = fmemopen(text, size, "w");

	gsb_top_round_print(&f->a, out);
	fclose(out);
}

static void test_print_shows_what_is_known_of_the_model(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_tenant *t = tenant(f, 1, "a");
	char text[4096];

	assert_int_equal(gsb_top_round_make(&f->answers, NULL, &f->a), 0);
	print_to(f, text, sizeof(text));
	assert_non_null(strstr(text, "  WAITED  SLOWDOWN  MODEL-ERROR  "));
	assert_non_null(strstr(text, "       -         -            -  "));
	gsb_top_round_finish(&f->a);
	t->device_ns = t->wait_ns[GSB_WAITED_POLICY] = 10;
	t->known_ns = 30;
	t->alone_ns = 20;
	t->error_ppm = 125000;
	t->n_predicted = 1;
	assert_int_equal(gsb_top_round_make(&f->answers, NULL, &f->a), 0);
	print_to(f, text, sizeof(text));
	assert_non_null(strstr(text, "   50.0%      1.50        12.5%  "));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_first_round_is_since_the_beginning),
		TEST(test_next_round_is_the_difference_by_tenant_and_engine),
		TEST(test_rates_without_time_or_work_are_not_known),
		TEST(test_sorts_have_their_order),
		TEST(test_print_shows_what_is_known_of_the_model),
		TEST(test_print_shows_engines_without_an_answer_and_hidden_tenants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
