/*
 * test_ledger.c - the ledger of a device's memory: rule by rule, then with random engines that allocate, free and die
 * while messages are on their way in both directions.
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
#include "broker/supervisor/ledger.h"

#define TOTAL 1000

/* ---- what was sent, one letter a message ---- */

static char sent
	[256]; /* "<account><G bytes | A bytes | E | R> ": granted, answered, refused, recalled; r: of reserves */

struct named {
	struct gsb_ledger_account a; /* first: a pointer to it is one to this */
	char name;
};

static void on_grant(struct gsb_ledger *l, struct gsb_ledger_account *a, uint64_t bytes,
		     bool is_answer, int error)
{
	size_t n = strlen(sent);

	assert_true(error == 0 || (error == -ENOMEM && !bytes && is_answer));
	if (error)
		snprintf(sent + n, sizeof(sent) - n, "%cE ", ((struct named *)a)->name);
	else
		snprintf(sent + n, sizeof(sent) - n, "%c%c%llu%s ", ((struct named *)a)->name,
			 is_answer ? 'A' : 'G', (unsigned long long)bytes, a->keeps ? "k" : "");
}

static void on_recall(struct gsb_ledger *l, struct gsb_ledger_account *a, bool reserves)
{
	size_t n = strlen(sent);

	snprintf(sent + n, sizeof(sent) - n, "%c%c ", ((struct named *)a)->name,
		 reserves ? 'r' : 'R');
}

static struct gsb_ledger ledger(void)
{
	*sent = 0;
	return (struct gsb_ledger){.grant = on_grant, .recall = on_recall};
}

#define expect_sent(text)                        \
	do {                                     \
		assert_string_equal(sent, text); \
		*sent = 0;                       \
	} while (0)

static void test_ledger_first_account_keeps_all(void **state)
{
	struct gsb_ledger l = ledger();
	struct named a = {.name = 'a'};

	gsb_ledger_open(&l, &a.a, TOTAL);
	expect_sent("aG1000k ");
	assert_int_equal(gsb_ledger_ask(&l, &a.a, 1), 0);
	expect_sent("aE ");
	assert_int_equal(gsb_ledger_ask(&l, &a.a, 0), 0);
	expect_sent("aA0k ");
}

static void test_ledger_second_account_waits_for_the_recall(void **state)
{
	struct gsb_ledger l = ledger();
	struct named a = {.name = 'a'}, b = {.name = 'b'};

	gsb_ledger_open(&l, &a.a, TOTAL);
	*sent = 0;
	gsb_ledger_open(&l, &b.a, TOTAL);
	expect_sent("aR ");
	gsb_ledger_ask(&l, &b.a, 300);
	expect_sent("");
	gsb_ledger_return(&l, &a.a, 10, false); /* was on its way already */
	expect_sent("");
	gsb_ledger_return(&l, &a.a, 590, true);
	expect_sent("bA300 ");
	gsb_ledger_ask(&l, &b.a, 301);
	expect_sent("bE ");
	gsb_ledger_ask(&l, &a.a, 300);
	expect_sent("aA300 ");
	assert_int_equal(gsb_ledger_free(&l), 0);
}

static void test_ledger_asks_are_decided_in_their_order(void **state)
{
	struct gsb_ledger l = ledger();
	struct named a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'};

	gsb_ledger_open(&l, &a.a, TOTAL);
	gsb_ledger_open(&l, &b.a, TOTAL);
	gsb_ledger_open(&l, &c.a, TOTAL);
	gsb_ledger_ask(&l, &c.a, 700);
	gsb_ledger_ask(&l, &b.a, 700);
	gsb_ledger_ask(&l, &a.a, 300);
	*sent = 0;
	gsb_ledger_return(&l, &a.a, TOTAL, true);
	expect_sent("cA700 bE aA300 ");
}

static void test_ledger_last_account_keeps_the_rest(void **state)
{
	struct gsb_ledger l = ledger();
	struct named a = {.name = 'a'}, b = {.name = 'b'};

	gsb_ledger_open(&l, &a.a, TOTAL);
	gsb_ledger_open(&l, &b.a, TOTAL);
	gsb_ledger_return(&l, &a.a, 900, true);
	gsb_ledger_ask(&l, &b.a, 250);
	*sent = 0;
	gsb_ledger_close(&l, &a.a);
	expect_sent("bG750k ");
	gsb_ledger_close(&l, &b.a);
	expect_sent("");
	assert_int_equal(l.granted, 0);
}

static void test_ledger_death_of_who_was_recalled_lets_the_others_go_on(void **state)
{
	struct gsb_ledger l = ledger();
	struct named a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'};

	gsb_ledger_open(&l, &a.a, TOTAL);
	gsb_ledger_open(&l, &b.a, TOTAL);
	gsb_ledger_open(&l, &c.a, TOTAL);
	gsb_ledger_ask(&l, &b.a, 600);
	*sent = 0;
	gsb_ledger_close(&l, &a.a);
	expect_sent("bA600 ");
	gsb_ledger_close(&l, &c.a);
	expect_sent("bG400k ");
}

static void test_ledger_death_of_who_asked_forgets_the_ask(void **state)
{
	struct gsb_ledger l = ledger();
	struct named a = {.name = 'a'}, b = {.name = 'b'};

	gsb_ledger_open(&l, &a.a, TOTAL);
	gsb_ledger_open(&l, &b.a, TOTAL);
	gsb_ledger_ask(&l, &b.a, 600);
	*sent = 0;
	gsb_ledger_close(&l, &b.a); /* the recall is still on its way to a */
	expect_sent("");
	gsb_ledger_return(&l, &a.a, 800, true);
	expect_sent("aG800k ");
}

static void test_ledger_expired_recall_delays_nobody(void **state)
{
	struct gsb_ledger l = ledger();
	struct named a = {.name = 'a'}, b = {.name = 'b'};

	gsb_ledger_open(&l, &a.a, TOTAL);
	gsb_ledger_open(&l, &b.a, TOTAL);
	gsb_ledger_ask(&l, &b.a, 600);
	*sent = 0;
	gsb_ledger_expire(&l);
	expect_sent("bE ");
	gsb_ledger_ask(&l, &b.a, 600);
	expect_sent("bE ");
	gsb_ledger_return(&l, &a.a, 700, true); /* late */
	gsb_ledger_ask(&l, &b.a, 600);
	expect_sent("bA600 ");
}

static void test_ledger_refuses_what_no_engine_says(void **state)
{
	struct gsb_ledger l = ledger();
	struct named a = {.name = 'a'}, b = {.name = 'b'};

	gsb_ledger_open(&l, &a.a, TOTAL);
	gsb_ledger_open(&l, &b.a, TOTAL);
	assert_int_equal(gsb_ledger_ask(&l, &b.a, 1), 0);
	assert_int_equal(gsb_ledger_ask(&l, &b.a, 1), -EPROTO);
	assert_int_equal(gsb_ledger_return(&l, &b.a, 1, false), -EPROTO);
	assert_int_equal(gsb_ledger_return(&l, &a.a, TOTAL + 1, true), -EPROTO);
	assert_int_equal(l.granted, TOTAL);
	gsb_ledger_return(&l, &a.a, TOTAL, true);
	gsb_ledger_ask(&l, &b.a, UINT64_MAX);
	assert_int_equal(l.granted, 1);
}

static void test_ledger_engine_that_offers_less_grants_no_more(void **state)
{
	struct gsb_ledger l = ledger();
	struct named a = {.name = 'a'}, b = {.name = 'b'};

	gsb_ledger_open(&l, &a.a, TOTAL);
	gsb_ledger_open(&l, &b.a, 400);
	gsb_ledger_return(&l, &a.a, 300, true);
	*sent = 0;
	gsb_ledger_ask(&l, &b.a, 1);
	expect_sent("bE ");
	gsb_ledger_return(&l, &a.a, 500, false);
	gsb_ledger_ask(&l, &b.a, 200);
	expect_sent("bA200 ");
	assert_int_equal(gsb_ledger_free(&l), 0);
}

/* What nobody needs is asked for once before an ask is refused; who asks gives up his own by himself. */
static void test_ledger_refuses_nobody_before_reserves_are_recalled(void **state)
{
	struct gsb_ledger l = ledger();
	struct named a = {.a.has_reserves = true, .name = 'a'},
		     b = {.a.has_reserves = true, .name = 'b'}, c = {.name = 'c'};

	gsb_ledger_open(&l, &a.a, TOTAL);
	gsb_ledger_open(&l, &b.a, TOTAL);
	gsb_ledger_open(&l, &c.a, TOTAL);
	gsb_ledger_return(&l, &a.a, 300, true);
	*sent = 0;
	gsb_ledger_ask(&l, &b.a, 200);
	expect_sent("bA200 ");
	gsb_ledger_ask(&l, &c.a, 150);
	expect_sent("ar br ");
	gsb_ledger_ask(&l, &b.a, 150);
	gsb_ledger_return(&l, &a.a, 0, true);
	expect_sent("");
	gsb_ledger_return(&l, &b.a, 60, true);
	expect_sent("cA150 ar ");
	gsb_ledger_return(&l, &a.a, 40, true);
	expect_sent("bE ");
	gsb_ledger_ask(&l, &b.a, 100);
	expect_sent("ar ");
	gsb_ledger_expire(&l);
	expect_sent("bE ");
	gsb_ledger_ask(&l, &b.a, 50);
	expect_sent("bA50 ");
}

/* Who hears nothing delays others once, whatever he was asked for, and is asked again when he has answered. */
static void test_ledger_who_is_deaf_is_not_asked_for_reserves(void **state)
{
	struct gsb_ledger l = ledger();
	struct named a = {.a.has_reserves = true, .name = 'a'},
		     b = {.a.has_reserves = true, .name = 'b'};

	gsb_ledger_open(&l, &a.a, TOTAL);
	gsb_ledger_open(&l, &b.a, TOTAL);
	gsb_ledger_ask(&l, &b.a, 600);
	*sent = 0;
	gsb_ledger_expire(&l);
	expect_sent("bE ");
	gsb_ledger_ask(&l, &b.a, 600);
	expect_sent("bE ");
	gsb_ledger_return(&l, &a.a, 100, true);
	gsb_ledger_ask(&l, &b.a, 600);
	expect_sent("ar ");
	gsb_ledger_return(&l, &a.a, 500, true);
	expect_sent("bA600 ");
}

static void test_ledger_death_of_who_has_reserves_decides(void **state)
{
	struct gsb_ledger l = ledger();
	struct named a = {.a.has_reserves = true, .name = 'a'}, b = {.name = 'b'};

	gsb_ledger_open(&l, &a.a, TOTAL);
	gsb_ledger_open(&l, &b.a, TOTAL);
	gsb_ledger_return(&l, &a.a, 0, true);
	*sent = 0;
	gsb_ledger_ask(&l, &b.a, 500);
	expect_sent("ar ");
	gsb_ledger_close(&l, &a.a);
	expect_sent("bA500 bG500k ");
}

/* Its device takes its time to end: what is not used there is others' at once, and nothing is asked of it. */
static void test_ledger_who_ends_keeps_what_it_uses_alone(void **state)
{
	struct gsb_ledger l = ledger();
	struct named a = {.a.has_reserves = true, .name = 'a'}, b = {.name = 'b'};

	gsb_ledger_open(&l, &a.a, TOTAL);
	assert_int_equal(gsb_ledger_last(&l, &a.a, TOTAL + 1), -EPROTO);
	*sent = 0;
	assert_int_equal(gsb_ledger_last(&l, &a.a, 100), 0);
	expect_sent(""); /* alone, and granted nothing */
	assert_int_equal(gsb_ledger_free(&l), 900);
	gsb_ledger_open(&l, &b.a, TOTAL);
	gsb_ledger_ask(&l, &b.a, 600);
	expect_sent("bA600 ");
	gsb_ledger_ask(&l, &b.a, 400);
	expect_sent("bE ");
	assert_int_equal(gsb_ledger_ask(&l, &a.a, 1), -EPROTO);
	assert_int_equal(gsb_ledger_last(&l, &a.a, 0), -EPROTO);
	assert_int_equal(gsb_ledger_return(&l, &a.a, 60, false), 0);
	gsb_ledger_ask(&l, &b.a, 360);
	expect_sent("bA360 ");
	gsb_ledger_close(&l, &a.a);
	expect_sent("bG40k ");
}

/* It was recalled, or asked itself, and does not hear of it: whoever waits for that goes on. */
static void test_ledger_who_ends_keeps_nobody_waiting(void **state)
{
	struct gsb_ledger l = ledger();
	struct named a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'};

	gsb_ledger_open(&l, &a.a, TOTAL);
	gsb_ledger_open(&l, &b.a, TOTAL);
	gsb_ledger_open(&l, &c.a, TOTAL);
	gsb_ledger_ask(&l, &c.a, 10);
	gsb_ledger_ask(&l, &b.a, 700);
	*sent = 0;
	gsb_ledger_last(&l, &c.a, 0);
	expect_sent("");
	gsb_ledger_last(&l, &a.a, 200);
	expect_sent("bA700 ");
	assert_int_equal(gsb_ledger_free(&l), 100);
}

/* ---- random engines ---- */

#define N_ENGINES 5
#define QUEUE_MAX 64
#define LIVE_MAX  32

enum kind { ASK, RETURN, LAST, RECALL, GRANT };

struct message {
	enum kind kind;
	uint64_t bytes;
	bool flag, keep; /* flag: of a RETURN, it answers a RECALL; of a GRANT, it answers an ASK */
	int error;
};

struct queue {
	struct message at[QUEUE_MAX];
	unsigned first, n;
};

static void put(struct queue *q, struct message m)
{
	assert_true(q->n < QUEUE_MAX);
	q->at[(q->first + q->n++) % QUEUE_MAX] = m;
}

static struct message take(struct queue *q)
{
	struct message m = q->at[q->first];

	q->first = (q->first + 1) % QUEUE_MAX;
	q->n--;
	return m;
}

/* An engine as control.h describes its side. */
struct engine {
	struct gsb_ledger_account account; /* first, as above */
	bool alive, keep, asks, ends;
	uint64_t grant, used;
	uint64_t live[LIVE_MAX], wants; /* one allocation waits at a time */
	unsigned n_live, n_refused;
	struct queue in, out;
};

static void on_random_grant(struct gsb_ledger *l, struct gsb_ledger_account *a, uint64_t bytes,
			    bool is_answer, int error)
{
	put(&((struct engine *)a)->in, (struct message){.kind = GRANT,
							.bytes = bytes,
							.flag = is_answer,
							.keep = a->keeps,
							.error = error});
}

static void on_random_recall(struct gsb_ledger *l, struct gsb_ledger_account *a, bool reserves)
{
	put(&((struct engine *)a)->in, (struct message){.kind = RECALL});
}

static void give_back(struct engine *e, bool is_answer)
{
	uint64_t bytes = e->grant - e->used;

	if (e->keep || (!bytes && !is_answer))
		return;
	e->grant -= bytes;
	put(&e->out, (struct message){.kind = RETURN, .bytes = bytes, .flag = is_answer});
}

/* The waiting allocation: done, if it fits, or asked for. */
static void try_head(struct engine *e)
{
	if (e->wants && e->used + e->wants <= e->grant) {
		e->used += e->wants;
		e->live[e->n_live++] = e->wants;
		e->wants = 0;
	}
	if (e->wants && !e->asks) {
		e->asks = true;
		put(&e->out,
		    (struct message){.kind = ASK, .bytes = e->wants - (e->grant - e->used)});
	}
}

static void on_engine_message(struct engine *e)
{
	struct message m = take(&e->in);

	if (e->ends)
		return;
	if (m.kind == RECALL) {
		e->keep = false;
		give_back(e, true);
		return;
	}
	e->grant += m.bytes;
	e->keep = m.keep;
	if (m.flag)
		e->asks = false;
	if (m.error) {
		e->wants = 0;
		e->n_refused++;
	}
	try_head(e);
	if (!e->asks)
		give_back(e, false);
}

static void on_ledger_message(struct gsb_ledger *l, struct engine *e)
{
	struct message m = take(&e->out);

	if (m.kind == ASK)
		assert_int_equal(gsb_ledger_ask(l, &e->account, m.bytes), 0);
	else if (m.kind == LAST)
		assert_int_equal(gsb_ledger_last(l, &e->account, m.bytes), 0);
	else
		assert_int_equal(gsb_ledger_return(l, &e->account, m.bytes, m.flag), 0);
}

static void birth(struct gsb_ledger *l, struct engine *e)
{
	memset(e, 0, sizeof(*e));
	e->alive = true;
	gsb_ledger_open(l, &e->account, TOTAL);
}

static void allocate(struct engine *e, uint64_t bytes)
{
	if (e->wants || e->n_live == LIVE_MAX || e->ends)
		return;
	e->wants = bytes;
	try_head(e);
}

static void release(struct engine *e, unsigned i)
{
	if (i >= e->n_live)
		return;
	e->used -= e->live[i];
	e->live[i] = e->live[--e->n_live];
	try_head(e);
	give_back(e, false);
}

static void end(struct engine *e)
{
	if (e->ends)
		return;
	e->ends = true;
	e->keep = e->asks = false;
	e->wants = 0;
	e->grant = e->used;
	put(&e->out, (struct message){.kind = LAST, .bytes = e->used});
}

/* Never more than there is: in the ledger, in each engine, and in all engines together. */
static void check(const struct gsb_ledger *l, const struct engine *es)
{
	uint64_t granted = 0, used = 0;

	for (unsigned i = 0; i < N_ENGINES; i++) {
		if (!es[i].alive)
			continue;
		assert_true(es[i].used <= es[i].grant);
		assert_true(es[i].grant <= es[i].account.granted);
		granted += es[i].account.granted;
		used += es[i].used;
	}
	assert_int_equal(granted, l->granted);
	assert_true(granted <= TOTAL);
	assert_true(used <= granted);
}

static void step(struct gsb_ledger *l, struct engine *es)
{
	struct engine *e = &es[rand() % N_ENGINES];
	unsigned what = (unsigned)rand() % 100;

	if (!e->alive) {
		if (what < 10)
			birth(l, e);
	} else if (what < 2) {
		e->alive = false;
		gsb_ledger_close(l, &e->account);
	} else if (what < 4) {
		end(e);
	} else if (what < 30) {
		allocate(e, 1 + (uint64_t)rand() % (rand() % 4 ? 60 : TOTAL));
	} else if (what < 50) {
		release(e, (unsigned)rand() % LIVE_MAX);
	} else if (what < 75 && e->in.n) {
		on_engine_message(e);
	} else if (e->out.n) {
		on_ledger_message(l, e);
	}
}

/* Until nothing is on its way. */
static void drain(struct gsb_ledger *l, struct engine *es)
{
	bool any;

	do {
		any = false;
		for (unsigned i = 0; i < N_ENGINES; i++) {
			if (!es[i].alive)
				continue;
			for (; es[i].in.n; any = true)
				on_engine_message(&es[i]);
			for (; es[i].out.n; any = true)
				on_ledger_message(l, &es[i]);
		}
		check(l, es);
	} while (any);
}

static uint64_t used_in_all(const struct engine *es)
{
	uint64_t used = 0;

	for (unsigned i = 0; i < N_ENGINES; i++)
		used += es[i].alive ? es[i].used : 0;
	return used;
}

/* At rest each engine can have exactly what nobody uses, and not a byte more. */
static void check_exact(struct gsb_ledger *l, struct engine *es)
{
	struct engine *e = &es[rand() % N_ENGINES];
	unsigned refused = e->n_refused, n_live = e->n_live;
	uint64_t left = TOTAL - used_in_all(es);

	for (unsigned i = 0; i < N_ENGINES; i++)
		assert_false(es[i].alive && (es[i].wants || es[i].asks));
	if (!e->alive || e->ends || e->n_live == LIVE_MAX)
		return;
	allocate(e, left + 1);
	drain(l, es);
	assert_int_equal(e->n_refused, refused + 1);
	if (!left)
		return;
	allocate(e, left);
	drain(l, es);
	assert_int_equal(e->n_live, n_live + 1);
	assert_int_equal(used_in_all(es), TOTAL);
	release(e, n_live);
}

static void test_ledger_of_random_engines_is_exact(void **state)
{
	unsigned rounds = getenv("GSB_CHECK_LONG") ? 20000 : 1000;
	struct engine es[N_ENGINES] = {{{0}}};
	struct gsb_ledger l = {.grant = on_random_grant, .recall = on_random_recall};

	srand(1);
	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned j = (unsigned)rand() % 200; j; j--) {
			step(&l, es);
			check(&l, es);
		}
		drain(&l, es);
		check_exact(&l, es);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ledger_first_account_keeps_all),
		cmocka_unit_test(test_ledger_second_account_waits_for_the_recall),
		cmocka_unit_test(test_ledger_asks_are_decided_in_their_order),
		cmocka_unit_test(test_ledger_last_account_keeps_the_rest),
		cmocka_unit_test(test_ledger_death_of_who_was_recalled_lets_the_others_go_on),
		cmocka_unit_test(test_ledger_death_of_who_asked_forgets_the_ask),
		cmocka_unit_test(test_ledger_expired_recall_delays_nobody),
		cmocka_unit_test(test_ledger_refuses_what_no_engine_says),
		cmocka_unit_test(test_ledger_engine_that_offers_less_grants_no_more),
		cmocka_unit_test(test_ledger_refuses_nobody_before_reserves_are_recalled),
		cmocka_unit_test(test_ledger_who_is_deaf_is_not_asked_for_reserves),
		cmocka_unit_test(test_ledger_death_of_who_has_reserves_decides),
		cmocka_unit_test(test_ledger_who_ends_keeps_what_it_uses_alone),
		cmocka_unit_test(test_ledger_who_ends_keeps_nobody_waiting),
		cmocka_unit_test(test_ledger_of_random_engines_is_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
