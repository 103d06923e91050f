/*
 * helper.c - see helper.h.
 */
#include "device/cuda/helper.h"

#include <utlist.h>

static struct cuda_job *wait_for_job(struct cuda_helper *h)
{
	struct cuda_job *job;

	pthread_mutex_lock(&h->lock);
	while (!h->jobs && !h->stop)
		pthread_cond_wait(&h->work, &h->lock);
	job = h->jobs;
	if (job)
		LL_DELETE(h->jobs, job);
	pthread_mutex_unlock(&h->lock);
	return job;
}

static void *helper_main(void *arg)
{
	const struct cuda_helper *h = arg;
	struct cuda_job *job;

	pthread_setname_np(pthread_self(), h->name);
	while ((job = wait_for_job(arg)))
		job->run(job);
	return NULL;
}

int cuda_helper_start(struct cuda_helper *h, const char *name)
{
	int err;

	h->name = name;
	h->jobs = NULL;
	h->stop = false;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->work, NULL);
	err = pthread_create(&h->thread, NULL, helper_main, h);
	if (err) {
		pthread_cond_destroy(&h->work);
		pthread_mutex_destroy(&h->lock);
	}
	return -err;
}

void cuda_helper_stop(struct cuda_helper *h)
{
	pthread_mutex_lock(&h->lock);
	h->stop = true;
	pthread_cond_signal(&h->work);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->thread, NULL);
	pthread_cond_destroy(&h->work);
	pthread_mutex_destroy(&h->lock);
}

void cuda_helper_give(struct cuda_helper *h, struct cuda_job *job)
{
	pthread_mutex_lock(&h->lock);
	LL_APPEND(h->jobs, job);
	pthread_cond_signal(&h->work);
	pthread_mutex_unlock(&h->lock);
}
