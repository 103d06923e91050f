/*
 * test_engine_start_line.c - several tenants begin together: nothing goes to the device before the last has come, and what
 * they do then does not depend on who was first.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/unit/engine_kit.h"

#define N_TENANTS 3
#define LONG_NS	  1000000000000ull

struct fixture {
	struct kit_engine k;
	struct kit_tenant t[N_TENANTS];
	uint64_t mem[N_TENANTS];
};

static void make(struct fixture *f, bool virtual_clock)
{
	kit_engine_init(&f->k, virtual_clock);
	f->k.engine->line = (struct gsb_start_line){.n_tenants = N_TENANTS, .wait_ns = LONG_NS};
	for (unsigned i = 0; i < N_TENANTS; i++) {
		kit_tenant_init(&f->t[i], &f->k, NULL);
		f->mem[i] = kit_alloc(&f->t[i], 64);
	}
	kit_settle(&f->k);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	make(f, true);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < N_TENANTS; i++)
		kit_tenant_finish(&f->t[i]);
	kit_engine_finish(&f->k);
	free(f);
	return 0;
}

/* Tenant i has something for the device, and waits for it. */
static void arrive(struct fixture *f, unsigned i)
{
	kit_fill(&f->t[i], 0, f->mem[i]);
	kit_block(&f->t[i], GSB_WAIT_STREAM, 0, 1);
	kit_settle(&f->k);
}

static bool is_served(const struct fixture *f, unsigned i)
{
	return kit_done(&f->t[i], 0) == 1;
}

static void test_start_line_holds_until_the_last_has_come(void **state)
{
	struct fixture *f = *state;
	uint64_t now = f->k.dev->now_ns;

	arrive(f, 0);
	arrive(f, 2);
	assert_int_equal(f->k.dev->n_issued, 0);
	assert_int_equal(f->k.dev->now_ns, now);
	arrive(f, 1);
	assert_int_equal(f->k.dev->n_issued, N_TENANTS);
	assert_true(is_served(f, 0));
}

/* The order of names, whoever came first, and whatever number it has. */
static void test_start_line_ranks_by_name(void **state)
{
	static const char *const names[] = {"q2", "q3", "q1"};
	struct fixture *f = *state;

	for (unsigned i = 0; i < N_TENANTS; i++) {
		strcpy(f->t[i].t->name, names[i]);
		f->t[i].t->host_ns = f->k.dev->now_ns;
	}
	arrive(f, 1);
	arrive(f, 0);
	arrive(f, 2);
	assert_int_equal(f->k.dev->log[0].addr, f->mem[2]);
	assert_int_equal(f->k.dev->log[1].addr, f->mem[0]);
	assert_int_equal(f->k.dev->log[2].addr, f->mem[1]);
}

static void test_start_line_lets_a_later_tenant_pass_and_ranks_it_last(void **state)
{
	struct fixture *f = *state;
	struct kit_tenant late;
	uint64_t mem;

	for (unsigned i = 0; i < N_TENANTS; i++)
		arrive(f, i);
	kit_tenant_init(&late, &f->k, NULL);
	for (unsigned i = 0; i < N_TENANTS; i++)
		kit_block(&f->t[i], GSB_WAIT_NOTHING, 0, 0);
	mem = kit_alloc(&late, 64);
	kit_fill(&late, 0, mem);
	kit_block(&late, GSB_WAIT_STREAM, 0, 1);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&late, 0), 1);
	for (unsigned i = 0; i < N_TENANTS; i++)
		assert_true(late.t->claim.tenant > f->t[i].t->claim.tenant);
	kit_tenant_finish(&late);
}

static void test_start_line_counts_who_died_there(void **state)
{
	struct fixture *f = *state;

	arrive(f, 0);
	kit_tenant_die(&f->t[0]);
	kit_settle(&f->k);
	arrive(f, 1);
	assert_int_equal(f->k.dev->n_issued, 0);
	arrive(f, 2);
	assert_int_equal(f->k.dev->n_issued, 2);
}

/* It has never had anything for the device: the others go on waiting for one that has. */
static void test_start_line_does_not_count_who_died_on_the_way(void **state)
{
	struct fixture *f = *state;

	kit_tenant_die(&f->t[0]);
	kit_settle(&f->k);
	arrive(f, 1);
	arrive(f, 2);
	assert_int_equal(f->k.dev->n_issued, 0);
}

static void test_start_line_begins_without_who_never_comes(void **state)
{
	struct fixture *f = *state;

	f->k.engine->line.wait_ns = 20000000;
	alarm(20); /* without its timer the engine sleeps for ever */
	kit_fill(&f->t[0], 0, f->mem[0]);
	kit_block(&f->t[0], GSB_WAIT_STREAM, 0, 1);
	for (unsigned i = 1; i < N_TENANTS; i++)
		kit_block(&f->t[i], GSB_WAIT_NOTHING, 0, 0);
	while (!is_served(f, 0))
		if (!gsb_engine_turn(f->k.engine))
			gsb_engine_sleep(f->k.engine);
	alarm(0);
	assert_int_equal(f->t[1].t->stats.charged_ns, 0);
}

/* Who runs while others wait at the line is not charged for that. */
static void test_start_line_charges_nobody(void **state)
{
	struct fixture *f = *state;

	arrive(f, 0);
	assert_true(gsb_start_line_holds(f->k.engine));
	f->k.engine->params.gate_timeout_ns = 0;
	kit_settle(&f->k);
	for (unsigned i = 0; i < N_TENANTS; i++)
		assert_int_equal(f->t[i].t->stats.charged_ns, 0);
	f->k.engine->params.gate_timeout_ns = LONG_NS;
}

static void test_start_line_is_there_again_when_all_have_left(void **state)
{
	struct fixture *f = *state;
	struct kit_tenant next;
	uint64_t mem;

	for (unsigned i = 0; i < N_TENANTS; i++)
		arrive(f, i);
	for (unsigned i = 0; i < N_TENANTS; i++)
		kit_tenant_die(&f->t[i]);
	kit_settle(&f->k);
	kit_tenant_init(&next, &f->k, NULL);
	mem = kit_alloc(&next, 64);
	kit_device_forget(f->k.dev);
	kit_fill(&next, 0, mem);
	kit_block(&next, GSB_WAIT_STREAM, 0, 1);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 0);
	f->k.engine->draining = true; /* no other can come now */
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 1);
	kit_tenant_finish(&next);
}

static void test_start_line_holds_with_a_real_clock(void **state)
{
	struct fixture f = {0};

	make(&f, false);
	kit_device_auto(f.k.dev);
	arrive(&f, 0);
	arrive(&f, 1);
	assert_int_equal(f.k.dev->n_issued, 0);
	arrive(&f, 2);
	assert_int_equal(f.k.dev->n_issued, N_TENANTS);
	for (unsigned i = 0; i < N_TENANTS; i++)
		kit_tenant_finish(&f.t[i]);
	kit_engine_finish(&f.k);
}

#define line_test(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		line_test(test_start_line_holds_until_the_last_has_come),
		line_test(test_start_line_ranks_by_name),
		line_test(test_start_line_lets_a_later_tenant_pass_and_ranks_it_last),
		line_test(test_start_line_counts_who_died_there),
		line_test(test_start_line_does_not_count_who_died_on_the_way),
		line_test(test_start_line_begins_without_who_never_comes),
		line_test(test_start_line_charges_nobody),
		line_test(test_start_line_is_there_again_when_all_have_left),
		cmocka_unit_test(test_start_line_holds_with_a_real_clock),
	};

	gsb_log_init("test", GSB_LOG_OFF);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
