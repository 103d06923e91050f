/*
 * crew.c - see crew.h.
 *
 * The queue is a ring with one giver. Who takes a part moves n_begun on; the giver moves n_given. Each thread has a bit in `asleep`:
 * it sets it, looks at the queue once more, and sleeps on its own word. The giver puts a part there, looks at the bits, and wakes one
 * whose bit it has cleared. One of the two sees what the other has done.
 *
 * A copy takes so little time that the giver does not sleep while a last part is being done.
 */
#include "interpose/core/crew.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "interpose/core/helper.h"
#include "interpose/core/spare.h"

#define USE_BYTES	     (1u << 20) /* a copy of fewer is done before a thread is awake */
#define BEGIN_BYTES	     (8u << 20) /* of copies that are large enough, until threads are made */
#define LOOK_NS		     2000000	/* between two looks at how many processors are to spare */
#define STALE_NS	     20000000	/* what was seen so long ago says nothing */
#define SPIN_NS		     50000
#define SPINS_PER_CLOCK_READ 64
#define SPINS_PER_YIELD	     4096

#ifndef MADV_POPULATE_READ /* Linux 5.14; older ones say EINVAL, and all is the giver's */
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

struct hand {
	GSB_CACHE_ALIGNED _Atomic uint32_t
		calls;		      /* it sleeps on this; each is a part that it may find */
	_Atomic uint64_t n_preempted; /* times, since it began */
};

/* What the giver writes and what those that take parts do are apart. */
static struct {
	GSB_CACHE_ALIGNED _Atomic uint32_t n_given;
	GSB_CACHE_ALIGNED _Atomic uint32_t n_begun;
	GSB_CACHE_ALIGNED _Atomic uint32_t asleep; /* a bit for each hand */
	_Atomic uint32_t n_looking;		   /* awake, with nothing to do */
	_Atomic uint32_t n_at_work;		   /* at a part, or about to begin one */
	_Atomic(struct gsb_crew_part *) parts[GSB_CREW_PARTS_MAX];
} queue;

static struct hand hands[GSB_CREW_MAX];
static _Atomic uint32_t n_started; /* hands that have their number */
static _Atomic uint32_t n_wanted;  /* of them, the first so many may begin a part */
static _Atomic uint64_t n_bytes;   /* copied so far, until there are hands */

/* Who has it uses the crew, and what follows is its own. */
static pthread_mutex_t using = PTHREAD_MUTEX_INITIALIZER;
static unsigned n_hands;
static bool no_more_hands; /* the system refused one */
static uint64_t looked_ns, n_preempted_then;

/* ---- parts ---- */

static bool is_any_left(void)
{
	return atomic_load_explicit(&queue.n_begun, memory_order_relaxed) !=
	       atomic_load(&queue.n_given);
}

/* What was read of a slot that has got another part meanwhile is not used: then n_begun has moved on. */
static struct gsb_crew_part *begin_part(void)
{
	uint32_t n = atomic_load_explicit(&queue.n_begun, memory_order_relaxed);
	struct gsb_crew_part *part;

	do {
		if (n == atomic_load_explicit(&queue.n_given, memory_order_acquire))
			return NULL;
		part = atomic_load_explicit(&queue.parts[n % GSB_CREW_PARTS_MAX],
					    memory_order_relaxed);
	} while (!atomic_compare_exchange_weak(&queue.n_begun, &n, n + 1));
	return part;
}

/* The last store gives it back. */
static void do_part(struct gsb_crew_part *part)
{
	part->run(part);
	atomic_store_explicit(&part->state, GSB_CREW_DONE, memory_order_release);
}

/* ---- theirs ---- */

/* Whether it can be touched without a fault: its pages are brought in, as touching it would. */
static bool can_touch(const struct gsb_crew_part *part)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	const uintptr_t from = (uintptr_t)part->at & ~page, to = (uintptr_t)part->at + part->bytes;

	return !syscall(SYS_madvise, from, to - from,
			part->writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
}

static void do_or_return(struct gsb_crew_part *part)
{
	if (!part->is_guarded || can_touch(part))
		do_part(part);
	else
		atomic_store_explicit(&part->state, GSB_CREW_RETURNED, memory_order_release);
}

static bool is_wanted(unsigned i)
{
	return i < atomic_load_explicit(&n_wanted, memory_order_relaxed);
}

/* Who waits for n_at_work sees it before n_begun moves on. */
static bool do_all_parts(unsigned i)
{
	struct gsb_crew_part *part;
	bool any = false;

	atomic_fetch_add(&queue.n_at_work, 1);
	while (is_wanted(i) && (part = begin_part())) {
		do_or_return(part);
		any = true;
	}
	atomic_fetch_sub(&queue.n_at_work, 1);
	return any;
}

static void note_preempted(struct hand *h)
{
	struct rusage usage;

	if (!getrusage(RUSAGE_THREAD, &usage))
		atomic_store_explicit(&h->n_preempted, (uint64_t)usage.ru_nivcsw,
				      memory_order_relaxed);
}

static void look_for_parts(unsigned i)
{
	uint64_t end = gsb_clock_ns() + SPIN_NS;

	atomic_fetch_add(&queue.n_looking, 1);
	do
		for (int k = 0; k < SPINS_PER_CLOCK_READ && !is_any_left(); k++)
			gsb_cpu_relax();
	while (!is_any_left() && is_wanted(i) && gsb_clock_ns() < end);
	atomic_fetch_sub(&queue.n_looking, 1);
}

static void sleep_until_called(unsigned i)
{
	struct hand *h = &hands[i];
	uint32_t calls = atomic_load(&h->calls), bit = 1u << i;

	atomic_fetch_or(&queue.asleep, bit);
	if (is_any_left() && is_wanted(i)) {
		atomic_fetch_and(&queue.asleep, ~bit);
		return;
	}
	while (atomic_load(&h->calls) == calls)
		syscall(SYS_futex, &h->calls, FUTEX_WAIT_PRIVATE, calls, NULL, NULL, 0);
}

/*
 * What the program's memory does when it is touched is its own affair. Without a handler the
 * program ends, as it would in its own thread; with one a fault comes here only where memory goes
 * between the look at it and the copy.
 */
static void let_faults_through(void)
{
	sigset_t faults;

	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigaddset(&faults, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
}

static void *hand_main(void *arg)
{
	unsigned i = atomic_fetch_add(&n_started, 1);

	let_faults_through();
	for (;;) {
		while (do_all_parts(i)) {
			note_preempted(&hands[i]);
			look_for_parts(i);
		}
		sleep_until_called(i);
	}
	return NULL;
}

/* ---- the giver's ---- */

/* A child has none of the threads, and is no tenant; all is as at the beginning if it becomes one. */
static void forget_in_child(void)
{
	pthread_mutex_init(&using, NULL);
	atomic_store(&queue.n_given, 0);
	atomic_store(&queue.n_begun, 0);
	atomic_store(&queue.asleep, 0);
	atomic_store(&queue.n_looking, 0);
	atomic_store(&queue.n_at_work, 0);
	atomic_store(&n_started, 0);
	atomic_store(&n_wanted, 0);
	atomic_store(&n_bytes, 0);
	for (unsigned i = 0; i < GSB_CREW_MAX; i++)
		atomic_store(&hands[i].n_preempted, 0);
	n_hands = 0;
	no_more_hands = false;
	looked_ns = n_preempted_then = 0;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forget_in_child);
}

static void hire(unsigned n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (n_hands < n && !no_more_hands)
		pthread_once(&once, watch_forks);
	while (n_hands < n && !no_more_hands) {
		no_more_hands = gsb_helper_start(hand_main, false) != 0;
		n_hands += !no_more_hands;
	}
}

static bool was_one_preempted(void)
{
	uint64_t n = 0, before = n_preempted_then;

	for (unsigned i = 0; i < n_hands; i++)
		n += atomic_load_explicit(&hands[i].n_preempted, memory_order_relaxed);
	n_preempted_then = n;
	return n > before;
}

static void look(unsigned n_most)
{
	uint64_t now = gsb_clock_ns();
	bool is_new = !looked_ns || now - looked_ns > STALE_NS;
	bool preempted;
	struct gsb_spare spare;
	unsigned n = is_new ? 0 : atomic_load_explicit(&n_wanted, memory_order_relaxed);

	if (!is_new && now - looked_ns < LOOK_NS)
		return;
	looked_ns = now;
	gsb_spare_look(&spare);
	preempted = was_one_preempted() && !is_new;
	n = gsb_spare_helpers(&spare, n, preempted, n_most);
	hire(n);
	atomic_store_explicit(&n_wanted, n < n_hands ? n : n_hands, memory_order_relaxed);
}

/* Few programs copy much; the others have no thread of this. */
static bool is_much(uint64_t bytes)
{
	if (bytes < USE_BYTES)
		return false;
	return atomic_load_explicit(&n_bytes, memory_order_relaxed) >= BEGIN_BYTES ||
	       atomic_fetch_add(&n_bytes, bytes) + bytes >= BEGIN_BYTES;
}

/* Past the C library, for there are programs that put their own sigaction() before it. */
static bool has_handler(int signal)
{
	struct {
		unsigned long handler, flags, restorer, mask;
	} action = {0};

	return !syscall(SYS_rt_sigaction, signal, NULL, &action, sizeof(action.mask)) &&
	       action.handler != (unsigned long)SIG_DFL && action.handler != (unsigned long)SIG_IGN;
}

void gsb_crew_take(struct gsb_crew *c, uint64_t bytes, unsigned n_most)
{
	c->n_most = n_most < GSB_CREW_MAX ? n_most : GSB_CREW_MAX;
	c->is_there = c->n_most && is_much(bytes) && !pthread_mutex_trylock(&using);
	c->is_guarded = c->is_there && (has_handler(SIGSEGV) || has_handler(SIGBUS));
	if (c->is_there)
		look(c->n_most);
}

void gsb_crew_release(struct gsb_crew *c)
{
	if (c->is_there)
		pthread_mutex_unlock(&using);
	c->is_there = false;
}

/* Parts are taken, not done: their memory may be what the giver's thread left the copy for. */
void gsb_crew_abandon_parts(const struct gsb_crew *c)
{
	if (!c->is_there)
		return;
	while (begin_part())
		;
	atomic_thread_fence(memory_order_seq_cst);
	while (atomic_load(&queue.n_at_work))
		sched_yield();
}

unsigned gsb_crew_size(const struct gsb_crew *c)
{
	return c->is_there ? atomic_load_explicit(&n_wanted, memory_order_relaxed) : 0;
}

static void call_one(uint32_t asleep)
{
	unsigned i = (unsigned)__builtin_ctz(asleep);

	atomic_fetch_and(&queue.asleep, ~(1u << i));
	atomic_fetch_add(&hands[i].calls, 1);
	syscall(SYS_futex, &hands[i].calls, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Those that look for a part will find it; only for more than they are one is woken. */
static void call_if_needed(uint32_t n_given)
{
	uint32_t wanted = (1u << atomic_load_explicit(&n_wanted, memory_order_relaxed)) - 1;
	uint32_t asleep = atomic_load(&queue.asleep) & wanted;

	if (asleep && n_given - atomic_load(&queue.n_begun) > atomic_load(&queue.n_looking))
		call_one(asleep);
}

void gsb_crew_give(const struct gsb_crew *c, struct gsb_crew_part *part)
{
	uint32_t n = atomic_load_explicit(&queue.n_given, memory_order_relaxed);

	if (c->is_there)
		look(c->n_most);
	if (!gsb_crew_size(c)) {
		do_part(part);
		return;
	}
	part->is_guarded = c->is_guarded;
	atomic_store_explicit(&part->state, GSB_CREW_GIVEN, memory_order_relaxed);
	atomic_store_explicit(&queue.parts[n % GSB_CREW_PARTS_MAX], part, memory_order_relaxed);
	atomic_store(&queue.n_given, n + 1);
	call_if_needed(n + 1);
}

bool gsb_crew_help(const struct gsb_crew *c)
{
	struct gsb_crew_part *part = c->is_there ? begin_part() : NULL;

	if (part)
		do_part(part);
	return part != NULL;
}

static enum gsb_crew_state state_of(const struct gsb_crew_part *part)
{
	return atomic_load_explicit(&part->state, memory_order_acquire);
}

void gsb_crew_wait(struct gsb_crew_part *part)
{
	for (unsigned i = 1; state_of(part) == GSB_CREW_GIVEN; i++)
		if (i % SPINS_PER_YIELD)
			gsb_cpu_relax();
		else
			sched_yield();
	if (state_of(part) == GSB_CREW_RETURNED)
		do_part(part);
}
