/*
 * helper.h - a thread for calls of the driver that may wait, and whose end nobody waits for.
 */
#ifndef GSB_DEVICE_CUDA_HELPER_H
#define GSB_DEVICE_CUDA_HELPER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Lies in what it is for; run() may free it. */
struct cuda_job {
	struct cuda_job *next;
	void (*run)(struct cuda_job *job);
	uint64_t bytes; /* of the device's memory that nobody has until it has run */
};

struct cuda_helper {
	const char *name; /* of threads.h */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;
	void (*await)(struct cuda_helper *h); /* before each job; NULL: nothing */
	struct cuda_job *jobs;		      /* under lock, oldest first */
	unsigned n;			      /* likewise: jobs */
	uint64_t bytes;			      /* likewise: theirs */
	bool stop;			      /* likewise */
};

int cuda_helper_start(struct cuda_helper *h, const char *name,
		      void (*await)(struct cuda_helper *h));
void cuda_helper_stop(struct cuda_helper *h); /* when it has done all */
void cuda_helper_give(struct cuda_helper *h, struct cuda_job *job);
/* How many jobs have not begun, and their bytes. */
unsigned cuda_helper_waiting(struct cuda_helper *h, uint64_t *bytes);

#endif
