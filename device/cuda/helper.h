/*
 * helper.h - a thread for calls of the driver that may wait, and whose end nobody waits for.
 */
#ifndef GSB_DEVICE_CUDA_HELPER_H
#define GSB_DEVICE_CUDA_HELPER_H

#include <pthread.h>
#include <stdbool.h>

/* Lies in what it is for; run() may free it. */
struct cuda_job {
	struct cuda_job *next;
	void (*run)(struct cuda_job *job);
};

struct cuda_helper {
	const char *name; /* of threads.h */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct cuda_job *jobs; /* under lock, oldest first */
	bool stop;	       /* likewise */
};

int cuda_helper_start(struct cuda_helper *h, const char *name);
void cuda_helper_stop(struct cuda_helper *h); /* when it has done all */
void cuda_helper_give(struct cuda_helper *h, struct cuda_job *job);

#endif
