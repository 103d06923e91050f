/*
 * wait.c - see wait.h and the state diagram in gsb/wire.h.
 *
 * No wake-up is lost: T stores BLOCKED, fences, and looks at its condition; E stores the word, fences, and
 * looks for BLOCKED. One of the two sees the other. Both may see it: the CAS from BLOCKED to RUNNING has
 * one winner, and a futex wake too many only costs a system call.
 */
#include "shm/wait.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "shm/ring.h"

#define NS_PER_S	     1000000000u
#define SPINS_PER_CLOCK_READ 64
#define WAKER_SPIN_NS	     300000 /* while the engine is woken, which alone takes as long as a kernel */
#define MISSED_ALL	     256
#define LEARN_BY	     8	/* of what is left to all or none */
#define TRY_EVERY	     16 /* waits of a thread that does not spin */

/* Shared between processes, so never FUTEX_PRIVATE; a point in time, so that signals do not put the end off. False: the time was up. */
static bool futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_S),
				       .tv_nsec = (long)(until_ns % NS_PER_S)};

	return !syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected, until_ns ? &until : NULL,
			NULL, FUTEX_BITSET_MATCH_ANY) ||
	       errno != ETIMEDOUT;
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static bool cas_state(struct gsb_thread *t, uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong_explicit(&t->state, &from, to, memory_order_acq_rel,
						       memory_order_acquire);
}

static void mark_blocked(struct gsb_region *region, uint32_t slot)
{
	atomic_fetch_or_explicit(&region->header.blocked[slot / 64], 1ull << slot % 64,
				 memory_order_seq_cst);
}

static void clear_blocked(struct gsb_region *region, uint32_t slot)
{
	atomic_fetch_and_explicit(&region->header.blocked[slot / 64], ~(1ull << slot % 64),
				  memory_order_seq_cst);
}

static bool is_fatal(struct gsb_region *region)
{
	return atomic_load_explicit(&region->header.fatal, memory_order_acquire) != 0;
}

bool gsb_wait_holds(struct gsb_region *region, uint32_t slot, const struct gsb_wait *w)
{
	switch (w->kind) {
	case GSB_WAIT_REPLY:
		return slot < GSB_N_THREADS &&
		       atomic_load_explicit(&region->threads[slot].call, memory_order_acquire) >=
			       w->value;
	case GSB_WAIT_STREAM:
		return w->index < GSB_N_STREAMS &&
		       atomic_load_explicit(&region->streams[w->index], memory_order_acquire) >=
			       w->value;
	case GSB_WAIT_EVENT:
		return w->index < GSB_N_EVENTS &&
		       atomic_load_explicit(&region->events[w->index].done, memory_order_acquire) >=
			       w->value;
	case GSB_WAIT_ANY:
		return atomic_load_explicit(&region->header.n_completed, memory_order_acquire) !=
		       w->value;
	case GSB_WAIT_RING:
		return atomic_load_explicit(&region->header.head, memory_order_acquire) >= w->value;
	case GSB_WAIT_NOTHING:
	case GSB_N_WAIT_KINDS: break;
	}
	return false;
}

/* ---- tenant ---- */

/* E looks no further: so before anything that it must see. */
static void note_used(struct gsb_region *region, uint32_t n)
{
	_Atomic uint32_t *used = &region->header.n_threads;
	uint32_t seen = atomic_load_explicit(used, memory_order_relaxed);

	while (seen < n && !atomic_compare_exchange_weak(used, &seen, n))
		;
}

int gsb_thread_acquire(struct gsb_region *region, uint32_t *slot)
{
	for (uint32_t i = 0; i < GSB_N_THREADS; i++) {
		struct gsb_thread *t = &region->threads[i];

		if (atomic_load_explicit(&t->state, memory_order_relaxed) != GSB_THREAD_FREE)
			continue;
		note_used(region, i + 1);
		if (!cas_state(t, GSB_THREAD_FREE, GSB_THREAD_RUNNING))
			continue;
		t->tid = (uint32_t)syscall(SYS_gettid);
		*slot = i;
		return 0;
	}
	return -EAGAIN;
}

/* After a state that stops virtual time was left: the same pattern as with the ring's tail. */
static void tell_gate(struct gsb_region *region)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&region->header.engine_sleeps, memory_order_relaxed) &
		    GSB_SLEEPS_UNTIL_BLOCKED &&
	    !gsb_ring_doorbell(&region->header))
		gsb_wake_waiters(region);
}

void gsb_thread_release(struct gsb_region *region, uint32_t slot)
{
	clear_blocked(region, slot);
	atomic_store_explicit(&region->threads[slot].state, GSB_THREAD_FREE, memory_order_release);
	tell_gate(region);
}

/* It was rung for, and is not there yet. */
static bool engine_wakes(struct gsb_region *region)
{
	return atomic_load_explicit(&region->header.engine_sleeps, memory_order_relaxed) &
	       GSB_WAKES;
}

static uint64_t spin_ns(struct gsb_region *region, const struct gsb_spin_room *room)
{
	return engine_wakes(region) && room->spin_ns < WAKER_SPIN_NS ? WAKER_SPIN_NS
								     : room->spin_ns;
}

static bool spin(struct gsb_region *region, uint32_t slot, const struct gsb_wait *w,
		 const struct gsb_spin_room *room)
{
	uint64_t end = room->now_ns() + spin_ns(region, room);

	do {
		for (int i = 0; i < SPINS_PER_CLOCK_READ; i++) {
			if (gsb_wait_holds(region, slot, w))
				return true;
			gsb_cpu_relax();
		}
	} while (!is_fatal(region) && room->now_ns() < end);
	return false;
}

/* others: of its process, that wait already. */
static bool should_spin(const struct gsb_spin_room *room, struct gsb_spin *self, uint32_t others)
{
	if (others >= room->n_max)
		return false;
	return self->missed < MISSED_ALL / 2 || ++self->n_not % TRY_EVERY == 0;
}

/* Whether the wait is over. */
static bool spin_and_learn(struct gsb_region *region, uint32_t slot, const struct gsb_wait *w,
			   const struct gsb_spin_room *room, struct gsb_spin *self)
{
	bool hit = spin(region, slot, w, room);

	self->missed += hit ? -(self->missed / LEARN_BY) : (MISSED_ALL - self->missed) / LEARN_BY;
	return hit;
}

/* One sleep, or none when the condition came true first; false: its time was up. State is RUNNING before and after. */
static bool block_once(struct gsb_region *region, uint32_t slot, const struct gsb_wait *w)
{
	struct gsb_thread *t = &region->threads[slot];
	bool in_time = true;

	atomic_store_explicit(&t->wait_kind, w->kind, memory_order_relaxed);
	atomic_store_explicit(&t->wait_index, w->index, memory_order_relaxed);
	atomic_store_explicit(&t->wait_value, w->value, memory_order_relaxed);
	mark_blocked(region, slot);
	atomic_store_explicit(&t->state, GSB_THREAD_BLOCKED, memory_order_seq_cst);
	tell_gate(region);
	if (gsb_wait_holds(region, slot, w) || is_fatal(region))
		cas_state(t, GSB_THREAD_BLOCKED, GSB_THREAD_RUNNING);
	while (atomic_load_explicit(&t->state, memory_order_acquire) == GSB_THREAD_BLOCKED)
		if (!futex_wait(&t->state, GSB_THREAD_BLOCKED, w->until_ns))
			in_time = !cas_state(t, GSB_THREAD_BLOCKED, GSB_THREAD_RUNNING);
	clear_blocked(region, slot);
	return in_time;
}

static void wait_long(struct gsb_region *region, uint32_t slot, const struct gsb_wait *w)
{
	while (!gsb_wait_holds(region, slot, w) && !is_fatal(region))
		if (!block_once(region, slot, w))
			break;
}

static void wait_in(struct gsb_region *region, uint32_t slot, const struct gsb_wait *w,
		    struct gsb_spin_room *room, struct gsb_spin *self)
{
	uint32_t others = atomic_fetch_add_explicit(&room->n_waiting, 1, memory_order_relaxed);

	if (!should_spin(room, self, others) || !spin_and_learn(region, slot, w, room, self))
		wait_long(region, slot, w);
	atomic_fetch_sub_explicit(&room->n_waiting, 1, memory_order_relaxed);
}

int gsb_thread_wait(struct gsb_region *region, uint32_t slot, const struct gsb_wait *w,
		    struct gsb_spin_room *room, struct gsb_spin *self)
{
	int saved = errno;

	if (!room)
		wait_long(region, slot, w);
	else if (!gsb_wait_holds(region, slot, w))
		wait_in(region, slot, w, room, self);
	errno = saved;
	return is_fatal(region) ? -EPIPE : 0;
}

/* ---- engine ---- */

static uint32_t n_used(struct gsb_region *region)
{
	uint32_t n = atomic_load_explicit(&region->header.n_threads, memory_order_acquire);

	return n < GSB_N_THREADS ? n : GSB_N_THREADS;
}

static bool wake_if_due(struct gsb_region *region, uint32_t slot, bool fatal, struct gsb_wait *w)
{
	struct gsb_thread *t = &region->threads[slot];

	if (atomic_load_explicit(&t->state, memory_order_acquire) != GSB_THREAD_BLOCKED)
		return false;
	*w = (struct gsb_wait){
		.kind = atomic_load_explicit(&t->wait_kind, memory_order_relaxed),
		.index = atomic_load_explicit(&t->wait_index, memory_order_relaxed),
		.value = atomic_load_explicit(&t->wait_value, memory_order_relaxed),
	};
	if (!fatal && !gsb_wait_holds(region, slot, w))
		return false;
	if (!cas_state(t, GSB_THREAD_BLOCKED, GSB_THREAD_RUNNING))
		return false;
	/* The bit is T's alone: T may be blocked again by now, and clearing would hide it. */
	futex_wake(&t->state);
	return true;
}

unsigned gsb_wake_waiters_and_tell(struct gsb_region *region,
				   void (*tell)(void *arg, uint32_t slot, const struct gsb_wait *w),
				   void *arg)
{
	bool fatal = is_fatal(region);
	struct gsb_wait w;
	uint32_t n_words;
	unsigned n = 0;

	atomic_thread_fence(memory_order_seq_cst);
	n_words = (n_used(region) + 63) / 64;
	for (uint32_t word = 0; word < n_words; word++) {
		uint64_t bits =
			atomic_load_explicit(&region->header.blocked[word], memory_order_seq_cst);

		for (; bits; bits &= bits - 1) {
			uint32_t slot = word * 64 + (uint32_t)__builtin_ctzll(bits);

			if (!wake_if_due(region, slot, fatal, &w))
				continue;
			n++;
			if (tell)
				tell(arg, slot, &w);
		}
	}
	return n;
}

unsigned gsb_wake_waiters(struct gsb_region *region)
{
	return gsb_wake_waiters_and_tell(region, NULL, NULL);
}

bool gsb_threads_others_blocked(struct gsb_region *region, uint32_t slot)
{
	uint32_t n = n_used(region);

	for (uint32_t i = 0; i < n; i++)
		if (i != slot && atomic_load_explicit(&region->threads[i].state,
						      memory_order_acquire) == GSB_THREAD_RUNNING)
			return false;
	return true;
}

bool gsb_threads_all_blocked(struct gsb_region *region)
{
	return gsb_threads_others_blocked(region, GSB_N_THREADS);
}

void gsb_reply(struct gsb_region *region, uint32_t slot, uint64_t call, int32_t result,
	       uint32_t reply_bytes)
{
	struct gsb_thread *t = &region->threads[slot];

	t->status = result;
	t->reply_bytes = reply_bytes;
	atomic_store_explicit(&t->call, call, memory_order_release);
}
