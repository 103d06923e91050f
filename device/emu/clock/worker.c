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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "device/emu/flip.h"

/* Warp instructions: a millisecond or so. Long enough that a change of block does not count, short
 * enough that a dead tenant's kernel is gone soon. */
#define QUANTUM 200000

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

/* ---- copies ---- */

static void copy_rows(const struct gsb_cmd_copy *copy)
{
	for (uint64_t row = 0; row < copy->height; row++)
		memcpy((void *)(uintptr_t)(copy->dst + row * copy->dst_pitch),
		       (const void *)(uintptr_t)(copy->src + row * copy->src_pitch), copy->width);
}

/* An element is written as one, so that a kernel that looks sees none half filled. */
static void fill_row(uint64_t dst, const struct gsb_cmd_fill *fill)
{
	uint32_t *p4 = (uint32_t *)(uintptr_t)dst;
	uint16_t *p2 = (uint16_t *)(uintptr_t)dst;

	if (fill->elem_bytes == 1)
		memset((void *)(uintptr_t)dst, (int)fill->value, fill->width);
	else if (fill->elem_bytes == 2)
		for (uint64_t i = 0; i < fill->width; i++)
			p2[i] = (uint16_t)fill->value;
	else
		for (uint64_t i = 0; i < fill->width; i++)
			p4[i] = fill->value;
}

static void run_copy(const struct emu_cmd *cmd)
{
	if (cmd->kind == GSB_CMD_FILL) {
		for (uint64_t row = 0; row < cmd->fill.height; row++)
			fill_row(cmd->fill.dst + row * cmd->fill.pitch, &cmd->fill);
		return;
	}
	if (cmd->flip)
		emu_flip_apply(&cmd->copy);
	copy_rows(&cmd->copy);
}

/* ---- blocks ---- */

static void set_fault(struct emu_job *job, CUresult result, const char *text)
{
	job->result = result;
	snprintf(job->detail, sizeof(job->detail), "%s", text);
}

static bool begin_block(struct emu_job *job)
{
	const struct emu_cmd *cmd = job->cmd;
	int err = gsb_emu_block_create(&cmd->launch, job->ctaid, job->sm, &job->block);

	if (err) {
		set_fault(job, err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_LAUNCH_FAILED,
			  "no host memory for the state of a block");
		return false;
	}
	gsb_emu_block_set_time(job->block, job->start_cycle, job->start_ns);
	return true;
}

/* One quantum; false when the block is over. */
static bool run_block(struct emu_job *job)
{
	enum gsb_emu_state state;
	const struct gsb_emu_fault *fault;

	if (!job->block && !begin_block(job))
		return false;
	state = gsb_emu_block_run(job->block, QUANTUM);
	if (state == GSB_EMU_FAULT) {
		fault = gsb_emu_block_fault(job->block);
		set_fault(job, fault->result, fault->text);
	}
	return state == GSB_EMU_RUNNING || state == GSB_EMU_YIELDED;
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
		bool more = false;

		enter(job->cmd);
		pthread_mutex_unlock(w->lock);
		if (job->cmd->kind == GSB_CMD_LAUNCH)
			more = run_block(job);
		else
			run_copy(job->cmd);
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
