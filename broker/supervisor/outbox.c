/*
 * outbox.c - see outbox.h.
 */
#include "broker/supervisor/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/hurry.h"
#include "shm/channel.h"

struct gsb_outbox_item {
	struct gsb_outbox_item *prev, *next;
	int fds[GSB_OUTBOX_FDS_MAX];
	unsigned n_fds;
	struct gsb_msg msg; /* and the rest of msg.size bytes */
};

/* They may be of a client: its socket, or the file of a trace. */
static void close_all(const int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		gsb_hurry_close(fds[i]);
}

static void drop(struct gsb_outbox *o, struct gsb_outbox_item *item)
{
	DL_DELETE(o->items, item);
	close_all(item->fds, item->n_fds);
	free(item);
}

int gsb_outbox_push(struct gsb_outbox *o, const struct gsb_msg *msg, const int *fds, unsigned n_fds)
{
	struct gsb_outbox_item *item = NULL;

	if (n_fds <= GSB_OUTBOX_FDS_MAX)
		item = malloc(offsetof(struct gsb_outbox_item, msg) + msg->size);
	if (!item) {
		close_all(fds, n_fds);
		return -ENOMEM;
	}
	memcpy(&item->msg, msg, msg->size);
	for (unsigned i = 0; i < n_fds; i++)
		item->fds[i] = fds[i];
	item->n_fds = n_fds;
	DL_APPEND(o->items, item);
	return 0;
}

int gsb_outbox_flush(struct gsb_outbox *o, int fd)
{
	while (o->items) {
		struct gsb_outbox_item *item = o->items;
		int err = gsb_channel_send(fd, &item->msg, item->fds, item->n_fds);

		if (err)
			return gsb_channel_may_retry(err) ? -EAGAIN : err;
		drop(o, item);
	}
	return 0;
}

bool gsb_outbox_is_empty(const struct gsb_outbox *o)
{
	return !o->items;
}

void gsb_outbox_clear(struct gsb_outbox *o)
{
	while (o->items)
		drop(o, o->items);
}
