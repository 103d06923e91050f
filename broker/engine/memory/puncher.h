/*
 * puncher.h - threads that give back the pages of freed pinned memory. Its tenant has the file, too, and with that the file's lock for as long as
 * it likes: it may write to it from a page that never comes. Who wants a hole in it then sleeps, and no signal wakes him. So each tenant that has
 * freed some has a thread for that, as long as it takes, and waits for nobody but itself.
 *
 * And what they had of a tenant that has gone: to unmap a GiB and to close its file, which is the last that has its pages, takes a quarter of a second.
 */
#ifndef GSB_BROKER_ENGINE_MEMORY_PUNCHER_H
#define GSB_BROKER_ENGINE_MEMORY_PUNCHER_H

#include <pthread.h>
#include <stdint.h>

#include "device/range.h"

struct gsb_puncher;

/* Its giver's memory until done is called, on the engine's thread. */
struct gsb_punch_job {
	struct gsb_punch_job *next;
	struct gsb_puncher *puncher;
	pthread_t thread;
	int fd;
	uint64_t base;		  /* the address of its first byte */
	struct gsb_ranges ranges; /* what is to have no pages */
	int err;		  /* of one that keeps them */
	void *gone;		  /* is unmapped, and fd closed; NULL: both stay */
	size_t gone_bytes;
	void (*done)(struct gsb_punch_job *job);
};

struct gsb_puncher {
	pthread_mutex_t lock;
	struct gsb_punch_job *done; /* under lock, oldest first */
	int done_fd;		    /* eventfd: done is not empty */
	unsigned n_jobs;	    /* the engine's count: given and not taken back */
};

int gsb_puncher_start(struct gsb_puncher *p);
void gsb_puncher_stop(struct gsb_puncher *p); /* nothing is left to do */
/* 0 or -errno: there is no thread for it. One at a time of each file that is to have holes. */
int gsb_puncher_give(struct gsb_puncher *p, struct gsb_punch_job *job);
/* Call done() of what is ready; how many there were. */
unsigned gsb_puncher_collect(struct gsb_puncher *p);

#endif
