/*
 * outbox.h - messages that wait until their socket takes them.
 *
 * gsbrokerd never blocks in a send. What a non-blocking socket does not take at once waits here, in
 * order, with copies of its message and its descriptors, until the loop says that there is room.
 */
#ifndef GSB_BROKER_SUPERVISOR_OUTBOX_H
#define GSB_BROKER_SUPERVISOR_OUTBOX_H

#include <stdbool.h>

#include "gsb/wire.h"

#define GSB_OUTBOX_FDS_MAX 2

struct gsb_outbox_item;

struct gsb_outbox {
	struct gsb_outbox_item *items; /* oldest first */
};

/*
 * gsb_outbox_push() - append a message
 * @msg: copied    @fds: n_fds of them, consumed, also on failure
 * Return: 0, -ENOMEM.
 */
int gsb_outbox_push(struct gsb_outbox *o, const struct gsb_msg *msg, const int *fds,
		    unsigned n_fds);

/* Send what the socket takes. Return: 0 (empty now), -EAGAIN (wait for EPOLLOUT), -errno (broken). */
int gsb_outbox_flush(struct gsb_outbox *o, int fd);

bool gsb_outbox_is_empty(const struct gsb_outbox *o);

/* Drop all that is left and close its descriptors. Takes an empty one too. */
void gsb_outbox_clear(struct gsb_outbox *o);

#endif
