/*
 * worker.c - the threads that execute blocks and copies.
 *
 * One list of jobs, oldest first, so that blocks are begun in ascending order, which is what kernels
 * that look back at earlier blocks count on. A block runs for a quantum and goes to the end of the
 * list when it is not done: blocks that wait for each other all get on, whatever the number of
 * workers. Without jobs the workers sleep.
 *
 * A worker that finds no job while another is at one looks for it for a moment longer, awake: what the other has executed may let time
 * pass, and to be woken takes as long as many a block.
 *
 * Blocks that take little longer than the lock, which all workers need between two of them, are taken several at a
 * time: at most a worker's share of those that are ready, and none while another worker has nothing to do.
 */
#include "device/emu/clock/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/compiler.h"

#define MAX_BATCH   8
#define BRIEF_INSNS 2000 /* warp instructions of a block: some 20 microseconds */
#define LOOK_NS	    UINT64_C(100000)

/* ---- the list ---- */

void emu_worker_add(struct emu_workers *w, struct emu_job *job)
{
	TAILQ_INSERT_TAIL(&w->ready, job, ready);
	w->n_ready++;
	if (w->n_idle)
		pthread_cond_signal(&w->work);
}

void emu_worker_remove(struct emu_workers *w, struct emu_job *job)
{
	TAILQ_REMOVE(&w->ready, job, ready);
	w->n_ready--;
}

static void look_for_job(struct emu_workers *w)
{
	uint64_t end = gsb_clock_ns() + LOOK_NS;

	pthread_mutex_unlock(w->lock);
	while (!atomic_load_explicit(&w->n_ready, memory_order_relaxed) && gsb_clock_ns() < end)
		gsb_cpu_relax();
	pthread_mutex_lock(w->lock);
}

static void sleep_until_job(struct emu_workers *w)
{
	w->n_idle++;
	pthread_cond_wait(&w->work, w->lock);
	w->n_idle--;
}

/* False: the workers stop. */
static bool wait_for_job(struct emu_workers *w)
{
	if (TAILQ_EMPTY(&w->ready) && w->n_busy)
		look_for_job(w);
	while (TAILQ_EMPTY(&w->ready) && !w->stopping)
		sleep_until_job(w);
	return !w->stopping;
}

static bool may_take_more(const struct emu_workers *w, const struct emu_job *last, unsigned n)
{
	return last->cmd->brief && n < MAX_BATCH && !w->n_idle && w->n_ready > n * w->n_threads;
}

/* The oldest, one or more of them: their number. */
static unsigned take_jobs(struct emu_workers *w, struct emu_job **jobs)
{
	unsigned n = 0;

	do {
		jobs[n] = TAILQ_FIRST(&w->ready);
		emu_worker_remove(w, jobs[n]);
		jobs[n]->running = true;
		n++;
	} while (may_take_more(w, jobs[n - 1], n));
	return n;
}

/* ---- how long a command has been executed ---- */

static void enter(struct emu_cmd *cmd)
{
	if (!cmd->n_running++)
		cmd->ran_from_ns = gsb_clock_ns();
}

static void leave(struct emu_cmd *cmd, const struct emu_job *job, bool more)
{
	cmd->brief = cmd->kind == GSB_CMD_LAUNCH && !more && job->work.n_insns <= BRIEF_INSNS;
	if (!--cmd->n_running)
		cmd->ran_ns += gsb_clock_ns() - cmd->ran_from_ns;
}

uint64_t emu_worker_ran_ns(const struct emu_cmd *cmd)
{
	return cmd->ran_ns + (cmd->n_running ? gsb_clock_ns() - cmd->ran_from_ns : 0);
}

/* ---- threads ---- */

static void *worker(void *arg)
{
	struct emu_workers *w = arg;
	struct emu_job *jobs[MAX_BATCH];
	bool more[MAX_BATCH];

	pthread_mutex_lock(w->lock);
	while (wait_for_job(w)) {
		unsigned n = take_jobs(w, jobs);

		for (unsigned i = 0; i < n; i++)
			enter(jobs[i]->cmd);
		w->n_busy++;
		pthread_mutex_unlock(w->lock);
		for (unsigned i = 0; i < n; i++) {
			if (i + 1 < n) /* mostly another worker has made it */
				gsb_prefetch(jobs[i + 1], sizeof(*jobs[i + 1]));
			more[i] = jobs[i]->cmd->run(jobs[i]);
		}
		pthread_mutex_lock(w->lock);
		for (unsigned i = 0; i < n; i++) {
			leave(jobs[i]->cmd, jobs[i], more[i]);
			jobs[i]->running = false;
			w->on_slice(w->ctx, jobs[i], more[i]);
		}
		w->n_busy--;
	}
	pthread_mutex_unlock(w->lock);
	return NULL;
}

/* Signals are for the program's own threads; what a kernel's bad access raises comes all the same,
 * because it is synchronous. */
static void block_signals(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	pthread_sigmask(SIG_SETMASK, &all, old);
}

void emu_workers_init(struct emu_workers *w, pthread_mutex_t *lock, emu_on_slice *on_slice,
		      void *ctx)
{
	*w = (struct emu_workers){.lock = lock, .on_slice = on_slice, .ctx = ctx};
	TAILQ_INIT(&w->ready);
	pthread_cond_init(&w->work, NULL);
}

static void stop(struct emu_workers *w)
{
	pthread_mutex_lock(w->lock);
	w->stopping = true;
	pthread_cond_broadcast(&w->work);
	pthread_mutex_unlock(w->lock);
	for (unsigned i = 0; i < w->n_threads; i++)
		pthread_join(w->threads[i], NULL);
	free(w->threads);
	w->threads = NULL;
	w->n_threads = 0;
}

int emu_workers_start(struct emu_workers *w, unsigned n)
{
	sigset_t old;
	int err = 0;

	w->threads = calloc(n, sizeof(*w->threads));
	if (!w->threads)
		return -ENOMEM;
	block_signals(&old);
	while (w->n_threads < n && !err) {
		err = pthread_create(&w->threads[w->n_threads], NULL, worker, w);
		w->n_threads += !err;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		stop(w);
	return -err;
}

void emu_workers_finish(struct emu_workers *w)
{
	stop(w);
	pthread_cond_destroy(&w->work);
}
