/*
 * pinner.c - see pinner.h.
 */
#include "broker/engine/memory/pinner.h"

#include <utlist.h>

#include "base/compiler.h"

static struct gsb_mail *wait_for_job(struct gsb_pinner *p)
{
	struct gsb_mail *m;

	pthread_mutex_lock(&p->lock);
	while (!p->todo && !p->stop)
		pthread_cond_wait(&p->work, &p->lock);
	m = p->todo;
	if (m)
		LL_DELETE(p->todo, m);
	pthread_mutex_unlock(&p->lock);
	return m;
}

static void do_job(struct gsb_device *dev, struct gsb_pin_job *job)
{
	job->err = gsb_alias_make(&job->window, job->addr, job->size, job->shared);
	if (!job->err)
		dev->ops->host_prepare(dev, job->owner, job->addr, job->size);
}

static void *pinner_main(void *arg)
{
	struct gsb_pinner *p = arg;
	struct gsb_mail *m;

	pthread_setname_np(pthread_self(), GSB_PINNER_NAME);
	while ((m = wait_for_job(p))) {
		do_job(p->dev, gsb_container_of(m, struct gsb_pin_job, mail));
		gsb_mailbox_put(p->box, m);
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

int gsb_pinner_start(struct gsb_pinner *p, struct gsb_device *dev, struct gsb_mailbox *box)
{
	*p = (struct gsb_pinner){.dev = dev, .box = box};
	if (!dev->ops->host_prepare)
		return 0;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	return start_threads(p);
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
}

void gsb_pinner_give(struct gsb_pinner *p, struct gsb_pin_job *job)
{
	gsb_mailbox_expect(p->box);
	pthread_mutex_lock(&p->lock);
	LL_APPEND(p->todo, &job->mail);
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}
