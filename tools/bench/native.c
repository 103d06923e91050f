/*
 * native.c - see native.h.
 *
 * Threads wait for each other in a loop that yields: to be woken takes as long as a tenth of the work.
 */
#include "tools/bench/native.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"

#define WORDS	   (1u << 20)
#define PLACES	   (1u << 16)
#define ROWS	   (1u << 15) /* that begin with a number of their own, */
#define ROW_ADDS   64	      /* and add so often */
#define PAGE_BYTES 4096

/*
 * Behind places of a thread's own comes as much that nobody touches: what a processor guesses that is added to next
 * (device/emu/exec/combine.c) is not another thread's.
 */
struct own {
	uint32_t places[PLACES], behind[PLACES];
};

struct gsb_native {
	float a[WORDS], b[WORDS], c[WORDS];
	struct own common, own[GSB_NATIVE_MAX_THREADS];
	unsigned n_threads;
	float factor;	  /* another one each time, */
	uint32_t n_added; /* and all so far, by which results are known to be right */
};

typedef void do_share(struct gsb_native *n, unsigned nth);

/* ---- the work ---- */

static void stream(struct gsb_native *n, unsigned nth)
{
	const unsigned from = WORDS / n->n_threads * nth, to = WORDS / n->n_threads * (nth + 1);

	for (unsigned i = from; i < to; i++)
		n->a[i] = n->b[i] + n->factor * n->c[i];
}

/* As the kernel `histogram` does it; @atomic is a constant. */
static inline void add(const struct gsb_native *n, unsigned nth, uint32_t *places, bool atomic)
{
	const uint32_t from = ROWS / n->n_threads * nth, to = ROWS / n->n_threads * (nth + 1);

	for (uint32_t row = from; row < to; row++) {
		uint32_t v = row * 2654435761u;

		for (unsigned i = 0; i < ROW_ADDS; i++) {
			v = v * 1664525u + 1013904223u;
			if (atomic)
				__atomic_fetch_add(&places[v >> 16], 1, __ATOMIC_SEQ_CST);
			else
				places[v >> 16]++;
		}
	}
}

static void add_atomically(struct gsb_native *n, unsigned nth)
{
	add(n, nth, n->common.places, true);
}

static void add_and_combine(struct gsb_native *n, unsigned nth)
{
	uint32_t *own = n->own[nth].places;

	memset(own, 0, PLACES * sizeof(*own));
	add(n, nth, own, false);
	for (unsigned i = 0; i < PLACES; i++)
		__atomic_fetch_add(&n->common.places[i], own[i], __ATOMIC_SEQ_CST);
}

/* ---- whether it has been done ---- */

static bool has_streamed(const struct gsb_native *n)
{
	for (unsigned i = 0; i < WORDS; i++) {
		if (n->a[i] != 1.0f + n->factor * 2.0f)
			return false;
	}
	return true;
}

static bool has_added(const struct gsb_native *n)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < PLACES; i++)
		sum += n->common.places[i];
	return sum == n->n_added;
}

static const struct {
	do_share *part;
	bool (*is_done)(const struct gsb_native *n);
	unsigned elements;
} works[GSB_NATIVE_N_WORKS] = {
	[GSB_NATIVE_STREAM] = {stream, has_streamed, WORDS},
	[GSB_NATIVE_ATOMIC] = {add_atomically, has_added, ROWS *ROW_ADDS},
	[GSB_NATIVE_COMBINED] = {add_and_combine, has_added, ROWS *ROW_ADDS},
};

/* ---- threads ---- */

/* The second thread's; the caller is the first. */
struct second {
	struct gsb_native *n;
	do_share *part;
	atomic_bool ready, go, done;
};

static void wait_until(atomic_bool *said)
{
	while (!atomic_load_explicit(said, memory_order_acquire))
		sched_yield();
}

static void *be_second(void *arg)
{
	struct second *s = arg;

	atomic_store(&s->ready, true);
	wait_until(&s->go);
	s->part(s->n, 1);
	atomic_store(&s->done, true);
	return NULL;
}

/* In ns; 0: there is no second thread. */
static uint64_t time_both(struct gsb_native *n, do_share *part)
{
	struct second s = {.n = n, .part = part};
	pthread_t thread;
	uint64_t from, ns;

	if (pthread_create(&thread, NULL, be_second, &s))
		return 0;
	wait_until(&s.ready);
	from = gsb_clock_ns();
	atomic_store(&s.go, true);
	part(n, 0);
	wait_until(&s.done);
	ns = gsb_clock_ns() - from;
	pthread_join(thread, NULL);
	return ns;
}

static uint64_t time_one(struct gsb_native *n, do_share *part)
{
	uint64_t from = gsb_clock_ns();

	part(n, 0);
	return gsb_clock_ns() - from;
}

/* ---- for the table ---- */

struct gsb_native *gsb_native_create(unsigned n_threads)
{
	struct gsb_native *n = NULL;

	if (n_threads <= GSB_NATIVE_MAX_THREADS)
		n = aligned_alloc(PAGE_BYTES, sizeof(*n) + -sizeof(*n) % PAGE_BYTES);
	if (!n)
		return NULL;
	memset(n, 0, sizeof(*n));
	n->n_threads = n_threads;
	for (unsigned i = 0; i < WORDS; i++)
		n->b[i] = 1.0f, n->c[i] = 2.0f;
	return n;
}

void gsb_native_destroy(struct gsb_native *n)
{
	free(n);
}

double gsb_native_measure(struct gsb_native *n, enum gsb_native_work work)
{
	uint64_t ns;

	n->factor += 1.0f;
	n->n_added += work == GSB_NATIVE_STREAM ? 0 : works[work].elements;
	ns = n->n_threads > 1 ? time_both(n, works[work].part) : time_one(n, works[work].part);
	return ns && works[work].is_done(n) ? works[work].elements * 1e3 / (double)ns : -1;
}
