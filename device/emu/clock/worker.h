/*
 * worker.h - the threads that execute blocks and copies.
 */
#ifndef GSB_DEVICE_EMU_CLOCK_WORKER_H
#define GSB_DEVICE_EMU_CLOCK_WORKER_H

#include <pthread.h>

#include "device/emu/clock/work.h"

/* A worker has executed one slice of the job; more: there is another; last: of those that it tells of now. Called with the
 * lock held, which is not given back before the last. */
typedef void emu_on_slice(void *ctx, struct emu_job *job, bool more, bool last);

struct emu_workers {
	pthread_mutex_t *lock; /* of whoever is told */
	emu_on_slice *on_slice;
	void *ctx;
	pthread_mutex_t ready_lock; /* of what follows; may be taken with the other held */
	struct emu_jobs ready;
	pthread_cond_t work;
	pthread_t *threads;
	unsigned n_threads, n_idle;
	unsigned n_busy; /* threads that execute, or tell of what they have executed */
	_Atomic unsigned
		n_ready; /* also read without the lock, to see whether it is worth having */
	bool stopping;
};

/*
 * Blocks of a few microseconds, and a lock that is held for a tenth of one: a worker that finds it taken spins for
 * a moment, for a sleep would cost more than the block that it came from.
 */
void emu_lock_init(pthread_mutex_t *lock);

/**
 * emu_workers_init() - no threads yet
 * @lock: taken by the workers around on_slice; kept
 */
void emu_workers_init(struct emu_workers *w, pthread_mutex_t *lock, emu_on_slice *on_slice,
		      void *ctx);
int emu_workers_start(struct emu_workers *w, unsigned n); /* -errno: none runs */
void emu_workers_finish(struct emu_workers *w);

/* Behind the others, and workers that sleep are woken: they may have begun before this returns. */
void emu_worker_add(struct emu_workers *w, struct emu_job *job);
/* The same for jobs that hang together by @ready, in their order; none are left there. */
void emu_worker_add_all(struct emu_workers *w, struct emu_jobs *jobs, unsigned n);
/* With the clock's lock held: take the job out of the list; false: a worker has it. */
bool emu_worker_remove(struct emu_workers *w, struct emu_job *job);
/* Real time that workers have been at the command, however many were. */
uint64_t emu_worker_ran_ns(struct emu_workers *w, const struct emu_cmd *cmd);

#endif
