/*
 * notice.c - what a lane, and the thread of the pool, are told: to look, to have an eye on what lanes do, to end some. Any thread; see lane.h.
 */
#include "device/lanes/lane.h"

#include <sys/eventfd.h>

void lane_ring(struct lane *l)
{
	if (lane_sleep_end(&l->page->lane_sleeps))
		eventfd_write(l->doorbell, 1);
}

void lane_pool_wake(struct lane_pool *p)
{
	eventfd_write(p->wake, 1);
}

/* Behind a fence, which who says something has because its lane may sleep. */
void lane_pool_watch(struct lanes_device *dev)
{
	if (!atomic_load_explicit(&dev->pool.watches, memory_order_relaxed) &&
	    !atomic_exchange(&dev->pool.watches, true))
		lane_pool_wake(&dev->pool);
}

bool lane_pool_is_ending(struct lanes_device *dev)
{
	bool any = false;

	pthread_mutex_lock(&dev->pool.lock);
	for (struct lane *l = dev->pool.all; l; l = l->pool_next)
		any |= l->is_used && l->released && !l->reaped;
	pthread_mutex_unlock(&dev->pool.lock);
	return any;
}

void lane_pool_renew(struct lanes_device *dev)
{
	struct lane_pool *p = &dev->pool;

	pthread_mutex_lock(&p->lock);
	for (struct lane *l = p->all; l; l = l->pool_next)
		if (l->state == LANE_IDLE)
			l->state = LANE_CONDEMNED;
	lane_pool_wake(p);
	pthread_mutex_unlock(&p->lock);
}

void lane_condemn(struct lane *l)
{
	struct lane_pool *p = &l->dev->pool;

	pthread_mutex_lock(&p->lock);
	if (l->state == LANE_USED || l->state == LANE_IDLE) {
		l->state = LANE_CONDEMNED;
		l->runs = true;
		lane_pool_wake(p);
	}
	pthread_mutex_unlock(&p->lock);
}
