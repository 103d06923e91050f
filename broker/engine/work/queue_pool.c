/*
 * queue_pool.c - see queue_pool.h.
 */
#include "broker/engine/work/queue_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <utlist.h>

#include "base/compiler.h"

void gsb_queue_pool_init(struct gsb_queue_pool *p, struct gsb_device *dev)
{
	*p = (struct gsb_queue_pool){.dev = dev};
}

/* ---- kinds ---- */

static bool is_of(const struct gsb_queue_kind *k, int32_t priority, struct gsb_sm_range sms)
{
	return k->priority == priority && !memcmp(&k->sms, &sms, sizeof(sms));
}

static void destroy(struct gsb_queue_pool *p, struct gsb_pooled_queue *q)
{
	p->dev->ops->queue_destroy(q->queue);
	q->queue = NULL;
	q->kind->n--;
}

static unsigned count_idle(const struct gsb_queue_kind *k)
{
	const struct gsb_pooled_queue *q;
	unsigned n = 0;

	LL_FOREACH (k->idle, q)
		n++;
	return n;
}

/* All of its queues are idle: their places are free, and so is its own. */
static void clear_kind(struct gsb_queue_pool *p, struct gsb_queue_kind *k)
{
	struct gsb_pooled_queue *q, *next;

	LL_FOREACH_SAFE(k->idle, q, next)
	{
		destroy(p, q);
		LL_PREPEND(p->places, q);
	}
}

/* A kind that nobody uses now, each in its turn: which will be asked for again is not known. NULL: all are in use. */
static struct gsb_queue_kind *evict_kind(struct gsb_queue_pool *p)
{
	for (unsigned i = 0; i < GSB_N_QUEUE_KINDS; i++) {
		struct gsb_queue_kind *k = &p->kinds[p->next_evicted++ % GSB_N_QUEUE_KINDS];

		if (count_idle(k) == k->n) {
			clear_kind(p, k);
			return k;
		}
	}
	return NULL;
}

/* A place for a kind: a new one, or that of another. NULL: all are in use. */
static struct gsb_queue_kind *new_kind(struct gsb_queue_pool *p, int32_t priority,
				       struct gsb_sm_range sms)
{
	struct gsb_queue_kind *k =
		p->n_kinds < GSB_N_QUEUE_KINDS ? &p->kinds[p->n_kinds++] : evict_kind(p);

	if (k)
		*k = (struct gsb_queue_kind){.priority = priority, .sms = sms};
	return k;
}

static struct gsb_queue_kind *find_kind(struct gsb_queue_pool *p, int32_t priority,
					struct gsb_sm_range sms)
{
	for (unsigned i = 0; i < p->n_kinds; i++)
		if (is_of(&p->kinds[i], priority, sms))
			return &p->kinds[i];
	return NULL;
}

/* ---- queues ---- */

static struct gsb_pooled_queue *pop(struct gsb_queue_kind *k)
{
	struct gsb_pooled_queue *q = k->idle;

	if (q)
		k->idle = q->next;
	return q;
}

static struct gsb_pooled_queue *pop_any(struct gsb_queue_pool *p)
{
	struct gsb_pooled_queue *q = NULL;

	for (unsigned i = 0; !q && i < p->n_kinds; i++)
		q = pop(&p->kinds[i]);
	return q;
}

/* Where the next queue is to stand: in a free place, or in that of an idle one, which is no more then. */
static struct gsb_pooled_queue *find_place(struct gsb_queue_pool *p)
{
	struct gsb_pooled_queue *q = p->places;

	if (q) {
		LL_DELETE(p->places, q);
		return q;
	}
	if (p->n < GSB_N_POOLED)
		return &p->queues[p->n++];
	q = pop_any(p);
	if (q)
		destroy(p, q);
	return q;
}

static int make(struct gsb_queue_pool *p, const struct gsb_queue_kind *k, struct gsb_queue **out)
{
	const struct gsb_device_ops *ops = p->dev->ops;
	int err = ops->queue_create(p->dev, k->priority, k->sms, out);

	/* Which SMs is a wish. */
	return err && k->sms.n ? ops->queue_create(p->dev, k->priority, GSB_ALL_SMS, out) : err;
}

static struct gsb_pooled_queue *add(struct gsb_queue_pool *p, struct gsb_queue_kind *k)
{
	struct gsb_pooled_queue *q;
	struct gsb_queue *queue;

	if (make(p, k, &queue))
		return pop_any(p); /* not what was asked for, but it will do */
	q = find_place(p);
	if (!q) {
		p->dev->ops->queue_destroy(queue);
		return NULL;
	}
	*q = (struct gsb_pooled_queue){
		.queue = queue, .kind = k, .index = (uint32_t)(q - p->queues)};
	k->n++;
	return q;
}

/* @k: its kind, which has no idle one; NULL: it is new. */
static GSB_NOINLINE struct gsb_pooled_queue *take_another(struct gsb_queue_pool *p,
							  int32_t priority, struct gsb_sm_range sms,
							  struct gsb_queue_kind *k)
{
	if (!k)
		k = new_kind(p, priority, sms);
	return k ? add(p, k) : pop_any(p);
}

struct gsb_pooled_queue *gsb_queue_pool_take(struct gsb_queue_pool *p, int32_t priority,
					     struct gsb_sm_range sms)
{
	struct gsb_queue_kind *k = find_kind(p, priority, sms);
	struct gsb_pooled_queue *q = k ? pop(k) : NULL;

	return q ? q : take_another(p, priority, sms, k);
}

void gsb_queue_pool_give(struct gsb_pooled_queue *q)
{
	q->next = q->kind->idle;
	q->kind->idle = q;
}

void gsb_queue_pool_finish(struct gsb_queue_pool *p)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->queues[i].queue)
			p->dev->ops->queue_destroy(p->queues[i].queue);
	p->n = p->n_kinds = 0;
	p->places = NULL;
}
