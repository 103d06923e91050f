/*
 * print.c - see print.h.
 */
#include "interpose/cu/print.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/cancel.h"
#include "interpose/core/post.h"

_Atomic uint32_t gsb_print_n_seen;

static pthread_mutex_t lock =
	PTHREAD_MUTEX_INITIALIZER; /* texts are written in the order of reading */

static struct gsb_reply_print piece; /* lock */

/* The next piece; whether to ask for another. */
static bool write_some(void)
{
	const struct gsb_call call = {.type = GSB_REC_PRINT_READ};
	struct gsb_reply_room reply = {.bytes = &piece, .room = sizeof(piece)};
	uint32_t n;

	if (gsb_call(&call, &reply) || reply.n < offsetof(struct gsb_reply_print, text))
		return false;
	n = reply.n - (uint32_t)offsetof(struct gsb_reply_print, text);
	fwrite(piece.text, 1, n, piece.to_stderr ? stderr : stdout);
	if (!piece.more)
		fflush(stdout);
	return piece.more;
}

void gsb_print_write(void)
{
	int saved = errno, was = gsb_cancel_hold();
	uint32_t n;

	pthread_mutex_lock(&lock);
	n = atomic_load_explicit(&gsb_proc.region->header.n_printed, memory_order_acquire);
	while (write_some())
		;
	atomic_store_explicit(&gsb_print_n_seen, n, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
	gsb_cancel_let_go(was);
	errno = saved;
}
