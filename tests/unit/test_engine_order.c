/*
 * test_engine_order.c - random programs of streams, events and barriers against a naive model of
 * CUDA's rules.
 *
 * The model knows, for each device command of the program, every earlier one that must have
 * completed before it may start; it finds them by going through all pairs, as the CUDA documents
 * say it: same stream; legacy stream and blocking streams; the latest record of an event at the
 * wait. After each completion, chosen at random, the engine must have issued exactly the commands
 * whose predecessors are all complete: one too early breaks the order, one too late is lost
 * concurrency. The seed is printed when it fails.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/engine_kit.h"

#define N_OPS	       120
#define N_STREAMS      6 /* 0 is the legacy stream, 5 does not block with it */
#define N_EVENTS       3
#define BATCH	       100
#define N_BATCHES      3
#define N_BATCHES_LONG 200

enum kind { FILL, RECORD, WAIT, NOP };

struct op {
	enum kind kind;
	uint32_t stream, event;
	int record; /* WAIT: the op whose record it waits for; -1: none */
	bool done;
};

struct program {
	struct op ops[N_OPS];
	int n;
};

static uint64_t rng_state;

static uint32_t rng(uint32_t n)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng_state >> 33) % n;
}

static void make_program(struct program *p)
{
	int latest[N_EVENTS] = {-1, -1, -1};

	p->n = N_OPS;
	for (int i = 0; i < N_OPS; i++) {
		struct op *o = &p->ops[i];

		*o = (struct op){.stream = rng(N_STREAMS), .event = rng(N_EVENTS), .record = -1};
		o->kind = rng(8) < 4 ? FILL : 1 + rng(3);
		if (o->kind == NOP && o->stream && rng(2))
			o->kind = FILL;
		if (o->kind == WAIT)
			o->record = latest[o->event];
		if (o->kind == RECORD)
			latest[o->event] = i;
	}
}

static bool blocks(uint32_t stream)
{
	return stream != N_STREAMS - 1;
}

/* Must op i be complete before op j starts, by one rule alone? i < j. */
static bool precedes(const struct program *p, int i, int j)
{
	const struct op *a = &p->ops[i], *b = &p->ops[j];

	if (a->stream == b->stream)
		return true;
	if ((!a->stream && blocks(b->stream)) || (!b->stream && blocks(a->stream)))
		return true;
	return b->kind == WAIT && b->record == i;
}

static bool may_start(const struct program *p, int j)
{
	for (int i = 0; i < j; i++)
		if (!p->ops[i].done && precedes(p, i, j))
			return false;
	return true;
}

/* What is no device command is complete as soon as it may start. */
static void settle_model(struct program *p)
{
	for (int i = 0; i < p->n; i++)
		if (!p->ops[i].done && p->ops[i].kind != FILL && may_start(p, i))
			p->ops[i].done = true;
}

static void post_program(struct kit_tenant *t, const struct program *p, uint64_t mem)
{
	for (int i = 0; i < p->n; i++) {
		const struct op *o = &p->ops[i];

		switch (o->kind) {
		case FILL: kit_fill(t, o->stream, mem + 4 * (uint64_t)i); break;
		case RECORD: kit_record(t, o->stream, o->event); break;
		case WAIT: kit_wait(t, o->stream, o->event); break;
		case NOP: kit_nop(t, o->stream); break;
		}
	}
}

/* The device's log holds exactly the fills that are done or may run, no more and no less. */
static int compare(const struct kit_device *d, unsigned base, const struct program *p, uint64_t mem)
{
	bool issued[N_OPS] = {false};

	for (unsigned i = base; i < d->n_issued; i++)
		issued[(d->log[i].addr - mem) / 4] = true;
	for (int i = 0; i < p->n; i++)
		if (p->ops[i].kind == FILL && issued[i] != (p->ops[i].done || may_start(p, i)))
			return i;
	return -1;
}

/* One of the open commands, at random; its index in the device's log. */
static unsigned pick_open(const struct kit_device *d, unsigned base)
{
	uint32_t k = rng(d->n_open);

	for (unsigned i = base;; i++)
		if (!d->log[i].done && !k--)
			return i;
}

static void run_program(struct kit_engine *k, struct kit_tenant *t, uint64_t mem, uint64_t seed)
{
	struct program p;
	unsigned base = k->dev->n_issued;

	rng_state = seed;
	make_program(&p);
	post_program(t, &p, mem);
	for (;;) {
		unsigned i;
		int wrong;

		kit_settle(k);
		settle_model(&p);
		wrong = compare(k->dev, base, &p, mem);
		if (wrong >= 0)
			fail_msg("seed %llu: op %d is issued too early or too late",
				 (unsigned long long)seed, wrong);
		if (!k->dev->n_open)
			break;
		i = pick_open(k->dev, base);
		p.ops[(k->dev->log[i].addr - mem) / 4].done = true;
		kit_complete(k->dev, i, CUDA_SUCCESS, k->dev->now_ns + 10);
	}
	for (int i = 0; i < p.n; i++)
		assert_true(p.ops[i].done);
	for (uint32_t i = 0; i < N_STREAMS; i++)
		assert_int_equal(kit_done(t, i), t->n_posted[i]);
}

/* Events of the next program are fresh ones: nothing was recorded yet. */
static void renew_events(struct kit_tenant *t)
{
	for (uint32_t i = 0; i < N_EVENTS; i++) {
		struct gsb_rec_object b = {.handle = kit_event(i)};

		kit_post(t, GSB_REC_EVENT_DESTROY, 0, &b, sizeof(b), NULL, 0);
		kit_event_create(t, i);
	}
}

/* The device's log is finite, so an engine serves so many programs. */
static void run_batch(uint64_t first, uint64_t n)
{
	struct kit_engine k;
	struct kit_tenant t;
	uint64_t mem;

	kit_engine_init(&k, false);
	kit_tenant_init(&t, &k, NULL);
	mem = kit_alloc(&t, 4 * N_OPS);
	for (uint32_t i = 1; i < N_STREAMS; i++)
		kit_stream_create(&t, i, blocks(i) ? 0 : GSB_STREAM_NON_BLOCKING);
	for (uint32_t i = 0; i < N_EVENTS; i++)
		kit_event_create(&t, i);
	for (uint64_t seed = first; seed < first + n; seed++) {
		run_program(&k, &t, mem, seed);
		renew_events(&t);
	}
	kit_settle(&k);
	assert_int_equal(t.t->queues.n_queued, 0);
	kit_tenant_finish(&t);
	kit_engine_finish(&k);
}

static void test_random_programs_are_issued_exactly_when_cuda_allows(void **state)
{
	unsigned n = getenv("GSB_CHECK_LONG") ? N_BATCHES_LONG : N_BATCHES;

	for (unsigned i = 0; i < n; i++)
		run_batch(1 + i * BATCH, BATCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_programs_are_issued_exactly_when_cuda_allows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
