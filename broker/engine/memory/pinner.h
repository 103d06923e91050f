/*
 * pinner.h - threads that make host memory ready to be pinned, where that is slow: its pages have to be there, and a real GPU's
 * driver has to know them. Several tenants start at the same time, so there are several threads.
 */
#ifndef GSB_BROKER_ENGINE_MEMORY_PINNER_H
#define GSB_BROKER_ENGINE_MEMORY_PINNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/ops.h"

#define GSB_N_PINNERS 8

/* Its giver's memory until done is called, on the engine's thread. */
struct gsb_pin_job {
	struct gsb_pin_job *next;
	uint64_t owner, addr, size; /* as host_prepare of ops.h has them */
	void (*done)(struct gsb_pin_job *job);
};

struct gsb_pinner {
	struct gsb_device *dev;
	pthread_t threads[GSB_N_PINNERS];
	unsigned n_threads; /* 0: the device has no use for them */
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct gsb_pin_job *todo, *done; /* under lock, oldest first */
	bool stop;			 /* under lock */
	int done_fd;			 /* eventfd: done is not empty; -1 without threads */
	unsigned n_jobs;		 /* the engine's count: given and not taken back */
};

int gsb_pinner_start(struct gsb_pinner *p, struct gsb_device *dev);
void gsb_pinner_stop(struct gsb_pinner *p); /* nothing is left to do */
void gsb_pinner_give(struct gsb_pinner *p, struct gsb_pin_job *job);
/* Call done() of what is ready; how many there were. */
unsigned gsb_pinner_collect(struct gsb_pinner *p);

#endif
