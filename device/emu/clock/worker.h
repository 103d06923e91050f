/*
 * worker.h - the threads that execute blocks and copies.
 */
#ifndef GSB_DEVICE_EMU_CLOCK_WORKER_H
#define GSB_DEVICE_EMU_CLOCK_WORKER_H

#include <pthread.h>

#include "device/emu/clock/work.h"

/* A worker has executed one slice of the job; more: there is another. Called with the lock held. */
typedef void emu_on_slice(void *ctx, struct emu_job *job, bool more);

struct emu_workers {
	pthread_mutex_t *lock; /* of all that follows, and of whoever is told */
	emu_on_slice *on_slice;
	void *ctx;
	struct emu_jobs ready;
	pthread_cond_t work;
	pthread_t *threads;
	unsigned n_threads, n_idle;
	unsigned n_busy; /* threads that execute, or tell of what they have executed */
	_Atomic unsigned
		n_ready; /* also read without the lock, to see whether it is worth having */
	bool stopping;
};

/**
 * emu_workers_init() - no threads yet
 * @lock: taken by the workers around all but the execution itself; kept
 */
void emu_workers_init(struct emu_workers *w, pthread_mutex_t *lock, emu_on_slice *on_slice,
		      void *ctx);
int emu_workers_start(struct emu_workers *w, unsigned n); /* -errno: none runs */
void emu_workers_finish(struct emu_workers *w);

/* With the lock held: behind the others, and a worker that sleeps is woken. */
void emu_worker_add(struct emu_workers *w, struct emu_job *job);
/* With the lock held: take a job that no worker has out of the list. */
void emu_worker_remove(struct emu_workers *w, struct emu_job *job);
/* With the lock held: real time that workers have been at the command, however many were. */
uint64_t emu_worker_ran_ns(const struct emu_cmd *cmd);

#endif
