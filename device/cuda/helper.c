/*
 * helper.c - see helper.h.
 */
#include "device/cuda/helper.h"

#include <utlist.h>

static bool wait_for_job(struct cuda_helper *h)
{
	bool any;

	pthread_mutex_lock(&h->lock);
	while (!h->jobs && !h->stop)
		pthread_cond_wait(&h->work, &h->lock);
	any = h->jobs;
	pthread_mutex_unlock(&h->lock);
	return any;
}

static struct cuda_job *take_job(struct cuda_helper *h)
{
	struct cuda_job *job;

	pthread_mutex_lock(&h->lock);
	job = h->jobs;
	LL_DELETE(h->jobs, job);
	h->n--;
	h->bytes -= job->bytes;
	pthread_mutex_unlock(&h->lock);
	return job;
}

static void *helper_main(void *arg)
{
	struct cuda_helper *h = arg;
	struct cuda_job *job;

	pthread_setname_np(pthread_self(), h->name);
	while (wait_for_job(h)) {
		if (h->await)
			h->await(h);
		job = take_job(h);
		job->run(job);
	}
	return NULL;
}

int cuda_helper_start(struct cuda_helper *h, const char *name, void (*await)(struct cuda_helper *h))
{
	int err;

	*h = (struct cuda_helper){.name = name, .await = await};
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
	h->n++;
	h->bytes += job->bytes;
	pthread_cond_signal(&h->work);
	pthread_mutex_unlock(&h->lock);
}

unsigned cuda_helper_waiting(struct cuda_helper *h, uint64_t *bytes)
{
	unsigned n;

	pthread_mutex_lock(&h->lock);
	n = h->n;
	*bytes = h->bytes;
	pthread_mutex_unlock(&h->lock);
	return n;
}
