/*
 * loader.c - the threads that do what may be slow. They know jobs and a device's functions,
 * and nothing of tenants but which is which: a job carries all that it needs, and only the engine's thread reads what
 * came out.
 *
 * Tenants take turns: a job waits for two at most of each other tenant and for its own tenant's earlier
 * ones, however many another has. Its round says which turn that is.
 */
#include "broker/engine/code/loader.h"

#include <utlist.h>

#include "base/compiler.h"

static bool is_busy(const struct gsb_loader *l, const struct gsb_tenant *t)
{
	const struct gsb_job *j = l->doing;

	while (j && j->tenant != t)
		j = j->next;
	return j;
}

/* The first of those whose tenant has none under way. */
static struct gsb_job *next_job(const struct gsb_loader *l)
{
	struct gsb_job *j = l->todo;

	while (j && is_busy(l, j->tenant))
		j = j->next;
	return j;
}

static void *loader_main(void *arg);

static void join(struct gsb_loader *l, unsigned i)
{
	pthread_join(l->threads[i], NULL);
	l->left &= ~((uint64_t)1 << i);
}

/* 0 or -errno. Who has left a place is on its way out, and waits for nobody. */
static int start_thread(struct gsb_loader *l)
{
	unsigned i = (unsigned)__builtin_ctzll(~l->there);
	int err;

	if (l->left >> i & 1)
		join(l, i);
	err = pthread_create(&l->threads[i], NULL, loader_main, l);
	if (!err)
		l->there |= (uint64_t)1 << i;
	return -err;
}

static unsigned count_threads(const struct gsb_loader *l)
{
	return (unsigned)__builtin_popcountll(l->there);
}

/* Whatever can be done now has a thread: one that is idle, else a new one, else the first that ends what it does. */
static void see_to_next(struct gsb_loader *l)
{
	if (!next_job(l))
		return;
	if (l->n_doing < count_threads(l))
		pthread_cond_signal(&l->work);
	else if (l->ops->loads_apart && !l->stop && count_threads(l) < GSB_N_LOADERS_MAX)
		start_thread(l);
}

static unsigned own_place(const struct gsb_loader *l)
{
	unsigned i = 0;

	while (!(l->there >> i & 1) || !pthread_equal(l->threads[i], pthread_self()))
		i++;
	return i;
}

/* Not the first: true, and the thread is to end. */
static bool leave(struct gsb_loader *l)
{
	unsigned i = own_place(l);

	if (!i)
		return false;
	l->there &= ~((uint64_t)1 << i);
	l->left |= (uint64_t)1 << i;
	return true;
}

static struct gsb_job *wait_for_job(struct gsb_loader *l)
{
	struct gsb_job *j;

	pthread_mutex_lock(&l->lock);
	while (!(j = next_job(l)) && !l->stop && !leave(l))
		pthread_cond_wait(&l->work, &l->lock);
	if (j) {
		l->n_doing++;
		LL_DELETE(l->todo, j);
		LL_PREPEND(l->doing, j);
		if (j->round > l->round)
			l->round = j->round;
		see_to_next(l);
	}
	pthread_mutex_unlock(&l->lock);
	return j;
}

/* Before its tenant's next job can be begun, which would overtake it. */
static void give_back(struct gsb_loader *l, struct gsb_job *j)
{
	pthread_mutex_lock(&l->lock);
	l->n_doing--;
	LL_DELETE(l->doing, j);
	gsb_mailbox_put(l->box, &j->mail);
	see_to_next(l);
	pthread_mutex_unlock(&l->lock);
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

int gsb_loader_start(struct gsb_loader *l, const struct gsb_device_ops *ops,
		     struct gsb_mailbox *box)
{
	int err;

	*l = (struct gsb_loader){.ops = ops, .box = box};
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->work, NULL);
	pthread_mutex_lock(&l->lock);
	err = start_thread(l);
	pthread_mutex_unlock(&l->lock);
	return err;
}

/* No thread is started any more, and none leaves but by ending. */
void gsb_loader_stop(struct gsb_loader *l)
{
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_broadcast(&l->work);
	pthread_mutex_unlock(&l->lock);
	for (unsigned i = 0; i < GSB_N_LOADERS_MAX; i++)
		if ((l->there | l->left) >> i & 1)
			join(l, i);
	pthread_cond_destroy(&l->work);
	pthread_mutex_destroy(&l->lock);
}

static void collected(struct gsb_mail *m)
{
	struct gsb_job *j = gsb_container_of(m, struct gsb_job, mail);

	j->done(j);
}

void gsb_loader_give(struct gsb_loader *l, struct gsb_job *j)
{
	struct gsb_job **at = &l->todo;

	j->mail.collected = collected;
	gsb_mailbox_expect(l->box);
	pthread_mutex_lock(&l->lock);
	if (j->round < l->round)
		j->round = l->round; /* who had nothing to do has saved no turns */
	while (*at && (*at)->round <= j->round)
		at = &(*at)->next;
	j->next = *at;
	*at = j;
	see_to_next(l);
	pthread_mutex_unlock(&l->lock);
}

/* The oldest of these and of that; 0: there is none. */
static uint64_t oldest(const struct gsb_job *jobs, const struct gsb_tenant *t, uint64_t since_ns)
{
	for (; jobs; jobs = jobs->next)
		if (jobs->tenant == t && (!since_ns || jobs->asked_ns < since_ns))
			since_ns = jobs->asked_ns;
	return since_ns;
}

uint64_t gsb_loader_waits_since(struct gsb_loader *l, const struct gsb_tenant *t)
{
	uint64_t since_ns;

	pthread_mutex_lock(&l->lock);
	since_ns = oldest(l->doing, t, oldest(l->todo, t, 0));
	pthread_mutex_unlock(&l->lock);
	return since_ns;
}
