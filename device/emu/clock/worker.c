/*
 * worker.c - the threads that execute blocks and copies.
 *
 * One list of jobs, oldest first, so that blocks are begun in ascending order, which is what kernels
 * that look back at earlier blocks count on. A block runs for a quantum and goes to the end of the
 * list when it is not done: blocks that wait for each other all get on, whatever the number of
 * workers. Without jobs the workers sleep.
 */
#include "device/emu/clock/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"

/* ---- the list ---- */

void emu_worker_add(struct emu_workers *w, struct emu_job *job)
{
	TAILQ_INSERT_TAIL(&w->ready, job, ready);
	if (w->n_idle)
		pthread_cond_signal(&w->work);
}

void emu_worker_remove(struct emu_workers *w, struct emu_job *job)
{
	TAILQ_REMOVE(&w->ready, job, ready);
}

static struct emu_job *take_job(struct emu_workers *w)
{
	struct emu_job *job;

	while (!(job = TAILQ_FIRST(&w->ready)) && !w->stopping) {
		w->n_idle++;
		pthread_cond_wait(&w->work, w->lock);
		w->n_idle--;
	}
	if (w->stopping)
		return NULL;
	TAILQ_REMOVE(&w->ready, job, ready);
	job->running = true;
	return job;
}

/* ---- how long a command has been executed ---- */

static void enter(struct emu_cmd *cmd)
{
	if (!cmd->n_running++)
		cmd->ran_from_ns = gsb_clock_ns();
}

static void leave(struct emu_cmd *cmd)
{
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
	struct emu_job *job;

	pthread_mutex_lock(w->lock);
	while ((job = take_job(w))) {
		bool more;

		enter(job->cmd);
		pthread_mutex_unlock(w->lock);
		more = job->cmd->run(job);
		pthread_mutex_lock(w->lock);
		leave(job->cmd);
		job->running = false;
		w->on_slice(w->ctx, job, more);
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
