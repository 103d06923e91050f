/*
 * mailbox.c - see mailbox.h.
 */
#include "broker/engine/tenant/mailbox.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

int gsb_mailbox_init(struct gsb_mailbox *b)
{
	*b = (struct gsb_mailbox){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	if (b->fd < 0)
		return -errno;
	pthread_mutex_init(&b->lock, NULL);
	return 0;
}

void gsb_mailbox_put(struct gsb_mailbox *b, struct gsb_mail *m)
{
	pthread_mutex_lock(&b->lock);
	m->next = NULL;
	LL_APPEND(b->first, m);
	pthread_mutex_unlock(&b->lock);
	eventfd_write(b->fd, 1);
}

static struct gsb_mail *take(struct gsb_mailbox *b)
{
	struct gsb_mail *first;

	pthread_mutex_lock(&b->lock);
	first = b->first;
	b->first = NULL;
	pthread_mutex_unlock(&b->lock);
	return first;
}

unsigned gsb_mailbox_collect(struct gsb_mailbox *b)
{
	struct gsb_mail *m, *next;
	unsigned n = 0;

	if (!b->n_expected)
		return 0;
	for (m = take(b); m; m = next, n++) {
		next = m->next;
		b->n_expected--;
		m->collected(m);
	}
	return n;
}

void gsb_mailbox_finish(struct gsb_mailbox *b)
{
	/* The bell of what is there already may have been heard by the engine's last turn. */
	for (gsb_mailbox_collect(b); b->n_expected; gsb_mailbox_collect(b)) {
		poll(&(struct pollfd){.fd = b->fd, .events = POLLIN}, 1, -1);
		eventfd_read(b->fd, &(eventfd_t){0});
	}
	pthread_mutex_destroy(&b->lock);
	close(b->fd);
}
