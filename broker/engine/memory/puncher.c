/*
 * puncher.c - see puncher.h.
 */
#include "broker/engine/memory/puncher.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#define PUNCHER_NAME   "gsb-puncher"
#define UNMAPPED_BYTES (16u << 20)

static void punch(struct gsb_punch_job *job, const struct gsb_range *r)
{
	if (fallocate(job->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      (off_t)(r->start - job->base), (off_t)r->size))
		job->err = -errno;
}

/* While one is unmapped nobody can map anything: part by part, a millisecond each. */
static void unmap(uint8_t *at, size_t left)
{
	while (left) {
		size_t part = left < UNMAPPED_BYTES ? left : UNMAPPED_BYTES;

		munmap(at, part);
		at += part;
		left -= part;
	}
}

static void give_back(struct gsb_puncher *p, struct gsb_punch_job *job)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&p->lock);
	LL_APPEND(p->done, job);
	pthread_mutex_unlock(&p->lock);
	while (write(p->done_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void *puncher_main(void *arg)
{
	struct gsb_punch_job *job = arg;

	pthread_setname_np(pthread_self(), PUNCHER_NAME);
	for (size_t i = 0; i < job->ranges.n_items; i++)
		punch(job, &job->ranges.items[i]);
	if (job->gone) {
		unmap(job->gone, job->gone_bytes);
		close(job->fd);
	}
	give_back(job->puncher, job);
	return NULL;
}

int gsb_puncher_start(struct gsb_puncher *p)
{
	*p = (struct gsb_puncher){.done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	if (p->done_fd < 0)
		return -errno;
	pthread_mutex_init(&p->lock, NULL);
	return 0;
}

void gsb_puncher_stop(struct gsb_puncher *p)
{
	pthread_mutex_destroy(&p->lock);
	close(p->done_fd);
}

int gsb_puncher_give(struct gsb_puncher *p, struct gsb_punch_job *job)
{
	int err;

	job->puncher = p;
	err = pthread_create(&job->thread, NULL, puncher_main, job);
	p->n_jobs += !err;
	return -err;
}

static struct gsb_punch_job *take(struct gsb_puncher *p)
{
	struct gsb_punch_job *jobs;

	pthread_mutex_lock(&p->lock);
	jobs = p->done;
	p->done = NULL;
	pthread_mutex_unlock(&p->lock);
	return jobs;
}

/* Who is done is on its way out, and waits for nobody. */
unsigned gsb_puncher_collect(struct gsb_puncher *p)
{
	struct gsb_punch_job *jobs, *next;
	unsigned n = 0;

	if (!p->n_jobs)
		return 0;
	for (jobs = take(p); jobs; jobs = next, n++) {
		next = jobs->next;
		pthread_join(jobs->thread, NULL);
		p->n_jobs--;
		jobs->done(jobs);
	}
	return n;
}
