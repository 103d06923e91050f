/*
 * pinner.c - see pinner.h.
 */
#include "broker/engine/memory/pinner.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

static struct gsb_pin_job *wait_for_job(struct gsb_pinner *p)
{
	struct gsb_pin_job *job;

	pthread_mutex_lock(&p->lock);
	while (!p->todo && !p->stop)
		pthread_cond_wait(&p->work, &p->lock);
	job = p->todo;
	if (job)
		LL_DELETE(p->todo, job);
	pthread_mutex_unlock(&p->lock);
	return job;
}

static void give_back(struct gsb_pinner *p, struct gsb_pin_job *job)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&p->lock);
	LL_APPEND(p->done, job);
	pthread_mutex_unlock(&p->lock);
	while (write(p->done_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void *pinner_main(void *arg)
{
	struct gsb_pinner *p = arg;
	struct gsb_pin_job *job;

	pthread_setname_np(pthread_self(), GSB_PINNER_NAME);
	while ((job = wait_for_job(p))) {
		p->dev->ops->host_prepare(p->dev, job->owner, job->addr, job->size);
		give_back(p, job);
	}
	return NULL;
}

static int start_threads(struct gsb_pinner *p)
{
	while (p->n_threads < GSB_N_PINNERS) {
		int err = pthread_create(&p->threads[p->n_threads], NULL, pinner_main, p);

		if (err)
			return p->n_threads ? 0 : -err; /* fewer will do */
		p->n_threads++;
	}
	return 0;
}

int gsb_pinner_start(struct gsb_pinner *p, struct gsb_device *dev)
{
	int err;

	*p = (struct gsb_pinner){.dev = dev, .done_fd = -1};
	if (!dev->ops->host_prepare)
		return 0;
	p->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->done_fd < 0)
		return -errno;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	err = start_threads(p);
	if (err)
		close(p->done_fd);
	return err;
}

void gsb_pinner_stop(struct gsb_pinner *p)
{
	if (!p->n_threads)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->n_threads; i++)
		pthread_join(p->threads[i], NULL);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	close(p->done_fd);
}

void gsb_pinner_give(struct gsb_pinner *p, struct gsb_pin_job *job)
{
	p->n_jobs++;
	pthread_mutex_lock(&p->lock);
	LL_APPEND(p->todo, job);
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

static struct gsb_pin_job *take(struct gsb_pinner *p)
{
	struct gsb_pin_job *jobs;

	pthread_mutex_lock(&p->lock);
	jobs = p->done;
	p->done = NULL;
	pthread_mutex_unlock(&p->lock);
	return jobs;
}

unsigned gsb_pinner_collect(struct gsb_pinner *p)
{
	struct gsb_pin_job *jobs, *next;
	unsigned n = 0;

	if (!p->n_jobs)
		return 0;
	for (jobs = take(p); jobs; jobs = next, n++) {
		next = jobs->next;
		jobs->done(jobs);
	}
	p->n_jobs -= n;
	return n;
}
