/*
 * test_mailbox.c - how what threads have done comes back to the engine's (broker/engine/tenant/mailbox.h).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/compiler.h"
#include "broker/engine/tenant/mailbox.h"

#define LONG_S 20

struct letter {
	struct gsb_mail mail;
	unsigned *n_collected, at;
};

static void collected(struct gsb_mail *m)
{
	struct letter *l = gsb_container_of(m, struct letter, mail);

	l->at = ++*l->n_collected;
}

static void test_mail_is_collected_in_order_when_it_has_come(void **state)
{
	unsigned n = 0;
	struct letter a = {{.collected = collected}, &n, 0}, b = a;
	struct gsb_mailbox box;

	assert_int_equal(gsb_mailbox_init(&box), 0);
	gsb_mailbox_expect(&box);
	gsb_mailbox_expect(&box);
	assert_int_equal(gsb_mailbox_collect(&box), 0);
	gsb_mailbox_put(&box, &a.mail);
	gsb_mailbox_put(&box, &b.mail);
	assert_int_equal(gsb_mailbox_collect(&box), 2);
	assert_int_equal(a.at, 1);
	assert_int_equal(b.at, 2);
	gsb_mailbox_finish(&box);
}

/* The engine's last turn may have heard the bell, and not have looked. */
static void test_mail_of_a_bell_that_was_heard_is_collected_at_the_end(void **state)
{
	unsigned n = 0;
	struct letter a = {{.collected = collected}, &n, 0};
	struct gsb_mailbox box;
	eventfd_t rung;

	assert_int_equal(gsb_mailbox_init(&box), 0);
	gsb_mailbox_expect(&box);
	gsb_mailbox_put(&box, &a.mail);
	assert_int_equal(eventfd_read(box.fd, &rung), 0);
	alarm(LONG_S);
	gsb_mailbox_finish(&box);
	alarm(0);
	assert_int_equal(a.at, 1);
}

static void *put_late(void *arg)
{
	struct gsb_mailbox *box = ((void **)arg)[0];

	usleep(20000);
	gsb_mailbox_put(box, ((void **)arg)[1]);
	return NULL;
}

static void test_mail_that_is_on_its_way_is_waited_for_at_the_end(void **state)
{
	unsigned n = 0;
	struct letter a = {{.collected = collected}, &n, 0};
	struct gsb_mailbox box;
	void *of[] = {&box, &a.mail};
	pthread_t thread;

	assert_int_equal(gsb_mailbox_init(&box), 0);
	gsb_mailbox_expect(&box);
	assert_int_equal(pthread_create(&thread, NULL, put_late, of), 0);
	alarm(LONG_S);
	gsb_mailbox_finish(&box);
	alarm(0);
	assert_int_equal(a.at, 1);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mail_is_collected_in_order_when_it_has_come),
		cmocka_unit_test(test_mail_of_a_bell_that_was_heard_is_collected_at_the_end),
		cmocka_unit_test(test_mail_that_is_on_its_way_is_waited_for_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
