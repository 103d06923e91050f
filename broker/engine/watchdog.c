/*
 * watchdog.c - see watchdog.h.
 *
 * A driver may keep a launch waiting for a kernel that never ends: until a module is loaded, or a stack has grown. kernel_limit_ms is
 * looked at by the thread that waits there. So another one looks at that thread: a turn that does not end is the end of the process, and
 * gsbrokerd starts another engine for who comes next.
 *
 * It looks a few times in each limit. When it has seen no turn for a whole one it dozes, and the next turn wakes it: an engine
 * without work costs nothing.
 */
#include "broker/engine/watchdog.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"

#define LOOKS 4 /* in one limit */

/* A look that comes late by as much again: the process was stopped, and so was the turn. */
static uint64_t since_look(const struct gsb_watchdog *w, uint64_t *from_ns)
{
	uint64_t now = gsb_clock_ns(), ns = now - *from_ns, look_ns = w->limit_ns / LOOKS + 1;

	*from_ns = now;
	return ns > 2 * look_ns ? look_ns : ns;
}

static struct timespec after(uint64_t ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	ns += (uint64_t)t.tv_nsec;
	t.tv_sec += (time_t)(ns / 1000000000);
	t.tv_nsec = (long)(ns % 1000000000);
	return t;
}

/* Under the lock: until the next look, or until there is something to look at. */
static void wait_for_look(struct gsb_watchdog *w)
{
	struct timespec until = after(w->limit_ns / LOOKS);

	while (w->dozing && !w->stop)
		pthread_cond_wait(&w->change, &w->lock);
	while (!w->stop && pthread_cond_timedwait(&w->change, &w->lock, &until) != ETIMEDOUT)
		;
}

/* Whoever begins a turn sees that it dozes, or it sees the turn: both words are in one order for all. */
static void doze(struct gsb_watchdog *w, uint64_t seen)
{
	atomic_store(&w->dozing, true);
	if (atomic_load(&w->n_turns) != seen)
		atomic_store(&w->dozing, false);
}

static void *watch(void *arg)
{
	struct gsb_watchdog *w = arg;
	uint64_t seen = 0, from_ns = gsb_clock_ns(), same_ns = 0;

	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		uint64_t n = atomic_load(&w->n_turns);

		same_ns += since_look(w, &from_ns);
		if (n != seen) {
			seen = n;
			same_ns = 0;
		} else if (same_ns > w->limit_ns && n % 2) {
			w->on_stuck(w->arg);
			break;
		} else if (same_ns > w->limit_ns) {
			doze(w, seen);
		}
		wait_for_look(w);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static int init_change(pthread_cond_t *change)
{
	pthread_condattr_t attr;
	int err;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	err = pthread_cond_init(change, &attr);
	pthread_condattr_destroy(&attr);
	return err;
}

int gsb_watchdog_start(struct gsb_watchdog *w, uint64_t limit_ns, void (*on_stuck)(void *arg),
		       void *arg)
{
	int err;

	*w = (struct gsb_watchdog){.limit_ns = limit_ns, .on_stuck = on_stuck, .arg = arg};
	if (!limit_ns)
		return 0;
	pthread_mutex_init(&w->lock, NULL);
	err = init_change(&w->change);
	if (!err)
		err = pthread_create(&w->thread, NULL, watch, w);
	w->started = !err;
	return -err;
}

void gsb_watchdog_stop(struct gsb_watchdog *w)
{
	if (!w->started)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->change);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->change);
	pthread_mutex_destroy(&w->lock);
	w->started = false;
}

static void wake(struct gsb_watchdog *w)
{
	pthread_mutex_lock(&w->lock);
	atomic_store(&w->dozing, false);
	pthread_cond_signal(&w->change);
	pthread_mutex_unlock(&w->lock);
}

void gsb_watchdog_begin(struct gsb_watchdog *w)
{
	if (!w->started)
		return;
	atomic_fetch_add(&w->n_turns, 1);
	if (atomic_load(&w->dozing))
		wake(w);
}

void gsb_watchdog_end(struct gsb_watchdog *w)
{
	if (w->started)
		atomic_fetch_add_explicit(&w->n_turns, 1, memory_order_release);
}
