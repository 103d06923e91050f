/*
 * loader.c - the thread that does what may be slow. It knows jobs and a device's functions,
 * and nothing of tenants: a job carries all that it needs, and only the engine's thread reads what
 * came out.
 *
 * Tenants take turns: a job waits for two at most of each other tenant and for its own tenant's earlier
 * ones, however many another has. Its round says which turn that is.
 */
#include "broker/engine/code/loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

static struct gsb_job *wait_for_job(struct gsb_loader *l)
{
	struct gsb_job *j;

	pthread_mutex_lock(&l->lock);
	while (!l->todo && !l->stop)
		pthread_cond_wait(&l->work, &l->lock);
	j = l->todo;
	if (j) {
		LL_DELETE(l->todo, j);
		l->round = j->round;
	}
	pthread_mutex_unlock(&l->lock);
	return j;
}

static void give_back(struct gsb_loader *l, struct gsb_job *j)
{
	const uint64_t one = 1;

	j->next = NULL;
	pthread_mutex_lock(&l->lock);
	LL_APPEND(l->done, j);
	pthread_mutex_unlock(&l->lock);
	while (write(l->done_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void *loader_main(void *arg)
{
	struct gsb_loader *l = arg;
	struct gsb_job *j;

	pthread_setname_np(pthread_self(), GSB_LOADER_NAME);
	while ((j = wait_for_job(l))) {
		j->run(j, l->ops);
		give_back(l, j);
	}
	return NULL;
}

int gsb_loader_start(struct gsb_loader *l, const struct gsb_device_ops *ops)
{
	int err;

	*l = (struct gsb_loader){.ops = ops, .done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	if (l->done_fd < 0)
		return -errno;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->work, NULL);
	err = pthread_create(&l->thread, NULL, loader_main, l);
	if (err)
		close(l->done_fd);
	return -err;
}

void gsb_loader_stop(struct gsb_loader *l)
{
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_signal(&l->work);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	pthread_cond_destroy(&l->work);
	pthread_mutex_destroy(&l->lock);
	close(l->done_fd);
}

void gsb_loader_give(struct gsb_loader *l, struct gsb_job *j)
{
	struct gsb_job **at = &l->todo;

	l->n_jobs++;
	pthread_mutex_lock(&l->lock);
	if (j->round < l->round)
		j->round = l->round; /* who had nothing to do has saved no turns */
	while (*at && (*at)->round <= j->round)
		at = &(*at)->next;
	j->next = *at;
	*at = j;
	pthread_cond_signal(&l->work);
	pthread_mutex_unlock(&l->lock);
}

static struct gsb_job *take(struct gsb_loader *l)
{
	struct gsb_job *jobs;

	pthread_mutex_lock(&l->lock);
	jobs = l->done;
	l->done = NULL;
	pthread_mutex_unlock(&l->lock);
	return jobs;
}

unsigned gsb_loader_collect(struct gsb_loader *l)
{
	struct gsb_job *jobs, *next;
	unsigned n = 0;

	if (!l->n_jobs)
		return 0;
	for (jobs = take(l); jobs; jobs = next, n++) {
		next = jobs->next;
		jobs->done(jobs);
	}
	l->n_jobs -= n;
	return n;
}
