/*
 * test_grant.c - the engine's half of the memory ledger against gsbrokerd's: random engines with many calls each,
 * some of which are cancelled, and messages that stay on their way as long as they like.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "broker/engine/memory/grant.h"
#include "broker/supervisor/ledger.h"

#define TOTAL	  1000
#define N_ENGINES 4
#define N_OWNERS  3
#define CALLS_MAX 12
#define QUEUE_MAX 256

enum kind { ASK, RETURN, RECALL, GRANT };

struct message {
	enum kind kind;
	uint64_t bytes;
	bool is_recalled;    /* RETURN */
	bool is_of_reserves; /* RECALL */
	struct gsb_grant_news news;
};

struct queue {
	struct message at[QUEUE_MAX];
	unsigned first, n;
};

enum call_state { NONE, WAITS, HOLDS, KEPT };

struct call {
	struct gsb_grant_wait wait;
	struct engine *engine;
	enum call_state state;
};

struct engine {
	struct gsb_ledger_account account;
	struct gsb_grant grant;
	bool alive;
	struct call calls[CALLS_MAX];
	unsigned n_refused;
	struct queue in, out;
};

static struct gsb_ledger ledger;
static struct engine engines[N_ENGINES];

/* ---- messages ---- */

static void put(struct queue *q, const struct message *m)
{
	assert_true(q->n < QUEUE_MAX);
	q->at[(q->first + q->n++) % QUEUE_MAX] = *m;
}

static struct message take(struct queue *q)
{
	struct message m = q->at[q->first];

	q->first = (q->first + 1) % QUEUE_MAX;
	q->n--;
	return m;
}

static void on_grant(struct gsb_ledger *l, struct gsb_ledger_account *a, uint64_t bytes,
		     bool is_answer, int error)
{
	struct message m = {.kind = GRANT,
			    .news = {.bytes = bytes,
				     .free_bytes = gsb_ledger_free(l),
				     .keep = a->keeps,
				     .is_answer = is_answer,
				     .refused = error}};

	put(&gsb_container_of(a, struct engine, account)->in, &m);
}

static void on_recall(struct gsb_ledger *l, struct gsb_ledger_account *a, bool reserves)
{
	put(&gsb_container_of(a, struct engine, account)->in,
	    &(struct message){.kind = RECALL, .is_of_reserves = reserves});
}

static void on_ask(struct gsb_grant *g, uint64_t bytes)
{
	put(&gsb_container_of(g, struct engine, grant)->out,
	    &(struct message){.kind = ASK, .bytes = bytes});
}

static void on_give_back(struct gsb_grant *g, uint64_t bytes, bool is_recalled)
{
	put(&gsb_container_of(g, struct engine, grant)->out,
	    &(struct message){.kind = RETURN, .bytes = bytes, .is_recalled = is_recalled});
}

static void engine_reads(struct engine *e)
{
	struct message m = take(&e->in);

	if (m.kind == GRANT)
		gsb_grant_hear(&e->grant, &m.news);
	else
		gsb_grant_recall(&e->grant, m.is_of_reserves);
}

static void ledger_reads(struct engine *e)
{
	struct message m = take(&e->out);

	if (m.kind == ASK)
		assert_int_equal(gsb_ledger_ask(&ledger, &e->account, m.bytes), 0);
	else
		assert_int_equal(gsb_ledger_return(&ledger, &e->account, m.bytes, m.is_recalled),
				 0);
}

/* ---- calls ---- */

static void on_done(struct gsb_grant_wait *w, int err)
{
	struct call *c = gsb_container_of(w, struct call, wait);

	assert_int_equal(c->state, WAITS);
	c->state = err || w->figures ? NONE : HOLDS;
	c->engine->n_refused += err == -ENOMEM;
}

static struct call *begin(struct engine *e, uint64_t bytes)
{
	for (unsigned i = 0; i < CALLS_MAX; i++) {
		struct call *c = &e->calls[i];

		if (c->state != NONE)
			continue;
		*c = (struct call){
			.wait = {.owner = &e->calls[i % N_OWNERS],
				 .bytes = bytes,
				 .figures = !bytes,
				 .done = on_done},
			.engine = e,
			.state = WAITS,
		};
		gsb_grant_take(&e->grant, &c->wait);
		return c;
	}
	return NULL;
}

static void end(struct call *c)
{
	if (c->state != HOLDS)
		return;
	c->state = NONE;
	gsb_grant_give(&c->engine->grant, c->wait.bytes);
}

/* ---- what is kept ---- */

static void keep(struct call *c)
{
	if (c->state == HOLDS)
		c->state = KEPT;
}

static void take_again(struct call *c)
{
	if (c->state == KEPT)
		c->state = HOLDS;
}

static void on_reclaim(struct gsb_grant *g)
{
	struct engine *e = gsb_container_of(g, struct engine, grant);

	for (unsigned i = 0; i < CALLS_MAX; i++) {
		struct call *c = &e->calls[i];

		if (c->state != KEPT)
			continue;
		c->state = NONE;
		gsb_grant_give(g, c->wait.bytes);
	}
}

/* ---- the run ---- */

static void birth(struct engine *e)
{
	*e = (struct engine){
		.alive = true,
		.account.has_reserves = true,
		.grant = {.ask = on_ask, .give_back = on_give_back, .reclaim = on_reclaim}};
	gsb_ledger_open(&ledger, &e->account, TOTAL);
}

static void death(struct engine *e)
{
	e->alive = false;
	gsb_ledger_close(&ledger, &e->account);
}

static uint64_t used_in_all(void)
{
	uint64_t used = 0;

	for (unsigned i = 0; i < N_ENGINES; i++)
		used += engines[i].alive ? engines[i].grant.used : 0;
	return used;
}

static uint64_t held(const struct engine *e)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < CALLS_MAX; i++)
		bytes += e->calls[i].state >= HOLDS ? e->calls[i].wait.bytes : 0;
	return bytes;
}

static uint64_t needed_in_all(void)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < N_ENGINES; i++)
		for (unsigned j = 0; engines[i].alive && j < CALLS_MAX; j++)
			if (engines[i].calls[j].state == HOLDS)
				bytes += engines[i].calls[j].wait.bytes;
	return bytes;
}

static void check(void)
{
	for (unsigned i = 0; i < N_ENGINES; i++) {
		const struct engine *e = &engines[i];

		if (!e->alive)
			continue;
		assert_int_equal(e->grant.used, held(e));
		assert_true(e->grant.used <= e->grant.granted);
		assert_true(e->grant.granted <= e->account.granted);
	}
	assert_true(ledger.granted <= TOTAL);
}

static void step(void)
{
	struct engine *e = &engines[rand() % N_ENGINES];
	unsigned what = (unsigned)rand() % 100;

	if (!e->alive) {
		if (what < 10)
			birth(e);
	} else if (what < 2) {
		death(e);
	} else if (what < 30) {
		begin(e, (uint64_t)rand() % (rand() % 4 ? 60 : TOTAL));
	} else if (what < 45) {
		end(&e->calls[rand() % CALLS_MAX]);
	} else if (what < 47) {
		keep(&e->calls[rand() % CALLS_MAX]);
	} else if (what < 48) {
		take_again(&e->calls[rand() % CALLS_MAX]);
	} else if (what < 50) {
		gsb_grant_cancel(&e->grant, &e->calls[rand() % N_OWNERS]);
	} else if (what < 75 && e->in.n) {
		engine_reads(e);
	} else if (e->out.n) {
		ledger_reads(e);
	}
	check();
}

/* Until nothing is on its way. */
static void drain(void)
{
	bool any;

	do {
		any = false;
		for (unsigned i = 0; i < N_ENGINES; i++) {
			struct engine *e = &engines[i];

			if (!e->alive)
				continue;
			for (; e->in.n; any = true)
				engine_reads(e);
			for (; e->out.n; any = true)
				ledger_reads(e);
		}
		check();
	} while (any);
}

/* At rest nobody waits, what nobody uses is nobody's, and an engine can have all of that, with what others keep, and not a byte more. */
static void check_at_rest(void)
{
	struct engine *e = &engines[rand() % N_ENGINES];
	uint64_t left = TOTAL - needed_in_all();
	unsigned n_refused = e->n_refused;
	struct call *c;

	for (unsigned i = 0; i < N_ENGINES; i++) {
		if (!engines[i].alive)
			continue;
		assert_null(engines[i].grant.waits);
		assert_false(engines[i].grant.is_asking);
		if (!engines[i].grant.keep)
			assert_int_equal(engines[i].grant.granted, engines[i].grant.used);
	}
	c = e->alive ? begin(e, left + 1) : NULL;
	if (!c)
		return;
	drain();
	assert_int_equal(e->n_refused, n_refused + 1);
	if (!left)
		return;
	c = begin(e, left);
	assert_non_null(c);
	drain();
	assert_int_equal(c->state, HOLDS);
	assert_int_equal(used_in_all(), TOTAL);
	end(c);
}

static void test_grants_of_random_engines_are_exact(void **state)
{
	unsigned rounds = getenv("GSB_CHECK_LONG") ? 20000 : 1000;

	ledger = (struct gsb_ledger){.grant = on_grant, .recall = on_recall};
	srand(2);
	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned j = (unsigned)rand() % 200; j; j--)
			step();
		drain();
		check_at_rest();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grants_of_random_engines_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
