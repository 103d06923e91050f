/*
 * puncher.h - threads that give back the pages of freed pinned memory. Its tenant has the file, too, and with that the file's lock for as long as
 * it likes: it may write to it from a page that never comes. Who wants a hole in it then sleeps, and no signal wakes him. So each tenant that has
 * freed some has a thread for that, as long as it takes, and waits for nobody but itself.
 *
 * And what is left of a tenant that has gone: to unmap a GiB and to close its file, which is the last that has its pages, takes a quarter of a second.
 */
#ifndef GSB_BROKER_ENGINE_MEMORY_PUNCHER_H
#define GSB_BROKER_ENGINE_MEMORY_PUNCHER_H

#include <pthread.h>
#include <stdint.h>

#include "broker/engine/memory/alias.h"
#include "broker/engine/tenant/mailbox.h"
#include "device/range.h"

/* Of one that has gone. */
struct gsb_gone {
	void *at; /* is unmapped; NULL: nothing is */
	size_t bytes;
	int fd; /* is closed; -1: none is */
};

#define GSB_N_GONE 3 /* window, staging memory, region */

/* Its giver's memory until done is called, on the engine's thread. */
struct gsb_punch_job {
	struct gsb_mail mail;
	struct gsb_mailbox *box;
	pthread_t thread;
	struct gsb_host_window window;
	struct gsb_ranges ranges;  /* what is to have no pages */
	int err;		   /* of one that keeps them */
	struct gsb_ranges aliases; /* in these: they end */
	int alias_err;		   /* of one that does not */
	struct gsb_gone gone[GSB_N_GONE];
	unsigned n_gone;
	void (*done)(struct gsb_punch_job *job);
};

/* 0 or -errno: there is no thread for it. One at a time of each file that is to have holes. */
int gsb_puncher_give(struct gsb_mailbox *box, struct gsb_punch_job *job);

/* A thread sees to what has gone, GSB_N_GONE at most; where there is none it is done at once. */
void gsb_puncher_sweep(struct gsb_mailbox *box, const struct gsb_gone *gone, unsigned n);

#endif
