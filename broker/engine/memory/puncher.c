/*
 * puncher.c - see puncher.h.
 */
#include "broker/engine/memory/puncher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"

#define PUNCHER_NAME   "gsb-puncher"
#define UNMAPPED_BYTES (16u << 20)

static void punch(struct gsb_punch_job *job, const struct gsb_range *r)
{
	if (fallocate(job->window.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      (off_t)(r->start - job->window.base), (off_t)r->size))
		job->err = -errno;
}

/* While one is unmapped nobody can map anything: part by part, a millisecond each. */
static void sweep(const struct gsb_gone *g)
{
	uint8_t *at = g->at;
	size_t left = at ? g->bytes : 0;

	while (left) {
		size_t part = left < UNMAPPED_BYTES ? left : UNMAPPED_BYTES;

		munmap(at, part);
		at += part;
		left -= part;
	}
	if (g->fd >= 0)
		close(g->fd);
}

static void *puncher_main(void *arg)
{
	struct gsb_punch_job *job = arg;

	pthread_setname_np(pthread_self(), PUNCHER_NAME);
	for (size_t i = 0; i < job->ranges.n_items; i++)
		punch(job, &job->ranges.items[i]);
	job->alias_err = gsb_alias_end(&job->window, &job->aliases);
	for (unsigned i = 0; i < job->n_gone; i++)
		sweep(&job->gone[i]);
	gsb_mailbox_put(job->box, &job->mail);
	return NULL;
}

/* Its thread is on its way out, and waits for nobody. */
static void collected(struct gsb_mail *m)
{
	struct gsb_punch_job *job = gsb_container_of(m, struct gsb_punch_job, mail);

	pthread_join(job->thread, NULL);
	job->done(job);
}

int gsb_puncher_give(struct gsb_mailbox *box, struct gsb_punch_job *job)
{
	int err;

	job->box = box;
	job->mail.collected = collected;
	err = pthread_create(&job->thread, NULL, puncher_main, job);
	if (!err)
		gsb_mailbox_expect(box);
	return -err;
}

static void swept(struct gsb_punch_job *job)
{
	free(job);
}

void gsb_puncher_sweep(struct gsb_mailbox *box, const struct gsb_gone *gone, unsigned n)
{
	struct gsb_punch_job *job = calloc(1, sizeof(*job));

	if (job) {
		job->done = swept;
		job->n_gone = n;
		memcpy(job->gone, gone, n * sizeof(*gone));
		if (!gsb_puncher_give(box, job))
			return;
		free(job);
	}
	for (unsigned i = 0; i < n; i++)
		sweep(&gone[i]);
}
