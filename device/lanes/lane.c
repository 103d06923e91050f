/*
 * lane.c - calls of a lane; see lane.h.
 */
#include "device/lanes/lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "shm/channel.h"

void lane_ring(struct lane *l)
{
	if (lane_sleep_end(&l->page->lane_sleeps))
		eventfd_write(l->doorbell, 1);
}

static int send_call(struct lane *l, struct lane_slot *slot, const struct lane_call *c)
{
	struct lane_msg *m = &slot->msg;
	int err;

	if (c->in_bytes > sizeof(m->bytes))
		return -E2BIG;
	gsb_msg_init(&m->msg, LANE_MSG_CALL, LANE_MSG_SIZE(c->in_bytes));
	m->op = c->op;
	m->err = 0;
	memcpy(m->n, c->n, sizeof(m->n));
	m->n_bytes = c->in_bytes;
	m->zero = 0;
	if (c->in_bytes)
		memcpy(m->bytes, c->in, c->in_bytes);
	err = gsb_channel_send(slot->fd, &m->msg, &c->fd, c->fd > 0);
	if (!err && slot == &l->slots[0])
		atomic_fetch_add_explicit(&l->page->n_calls, 1, memory_order_release);
	return err;
}

/* What the lane says is checked as any stranger's: it runs what a tenant sent. */
static int hear_answer(struct lane_slot *slot, struct lane_call *c)
{
	struct lane_msg *m = &slot->msg;
	ssize_t n = gsb_channel_recv(slot->fd, m, sizeof(*m), NULL, NULL);

	if (n < (ssize_t)LANE_MSG_SIZE(0) || n != (ssize_t)LANE_MSG_SIZE(m->n_bytes) ||
	    m->op != c->op)
		return n == -EAGAIN ? -EAGAIN : -EPROTO;
	memcpy(c->n, m->n, sizeof(c->n));
	if (c->out_bytes > m->n_bytes)
		c->out_bytes = m->n_bytes;
	if (c->out_bytes)
		memcpy(c->out, m->bytes, c->out_bytes);
	return 0;
}

int lane_call(struct lane *l, struct lane_call *c)
{
	bool issues = pthread_equal(pthread_self(), l->dev->issuer);
	struct lane_slot *slot = &l->slots[!issues];
	int err;

	if (atomic_load_explicit(&l->dead, memory_order_relaxed))
		return -EOWNERDEAD;
	pthread_mutex_lock(&slot->lock);
	err = send_call(l, slot, c);
	if (!err)
		err = hear_answer(slot, c);
	if (!err) {
		err = slot->msg.err > 0 ? -EPROTO : slot->msg.err;
	} else if (err != -E2BIG) {
		if (err == -EAGAIN)
			gsb_log(GSB_LOG_ERROR, "lanes", "lane %d does not answer: it is ended",
				(int)l->pid);
		lane_condemn(l); /* it has died, hangs, or says what no lane says */
		err = -EOWNERDEAD;
	}
	pthread_mutex_unlock(&slot->lock);
	return err;
}

void lane_free(struct lane *l)
{
	lane_memory_finish(l);
	for (int i = 0; i < 2; i++) {
		if (l->slots[i].fd >= 0)
			close(l->slots[i].fd);
		pthread_mutex_destroy(&l->slots[i].lock);
	}
	if (l->page)
		munmap(l->page, sizeof(*l->page));
	if (l->doorbell >= 0)
		close(l->doorbell);
	if (l->pidfd >= 0)
		close(l->pidfd);
	free(l->flights);
	free(l);
}
