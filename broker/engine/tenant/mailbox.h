/*
 * mailbox.h - how what threads have done comes back to the engine's: the loader's jobs, those of pinners and punchers. A job is expected from
 * when a thread is given it until the engine's thread has collected it, and is its thread's alone until it is put here.
 */
#ifndef GSB_BROKER_ENGINE_TENANT_MAILBOX_H
#define GSB_BROKER_ENGINE_TENANT_MAILBOX_H

#include <pthread.h>

/* Part of a job. */
struct gsb_mail {
	struct gsb_mail *next;
	/* On the engine's thread: whose the job is again, to be freed or given to a thread once more. */
	void (*collected)(struct gsb_mail *m);
};

struct gsb_mailbox {
	pthread_mutex_t lock;
	struct gsb_mail *first; /* under lock; oldest first */
	int fd;			/* eventfd: something has been put */
	unsigned n_expected;	/* the engine's count */
};

int gsb_mailbox_init(struct gsb_mailbox *b); /* 0, -errno */
/* Wait for all that is expected, and collect it. Nobody gives threads anything any more, and who puts something is joined when that is collected. */
void gsb_mailbox_finish(struct gsb_mailbox *b);

/* The engine's thread: a thread is given a job. */
static inline void gsb_mailbox_expect(struct gsb_mailbox *b)
{
	b->n_expected++;
}

/* That thread: it is done. */
void gsb_mailbox_put(struct gsb_mailbox *b, struct gsb_mail *m);

/* The engine's: what has come, in the order in which it was put. Returns how many. */
unsigned gsb_mailbox_collect(struct gsb_mailbox *b);

#endif
