/*
 * pinner.h - threads that make host memory ready to be pinned, where that is slow: its pages have to be there, and a real GPU's
 * driver has to know them. Several tenants start at the same time, so there are several threads.
 */
#ifndef GSB_BROKER_ENGINE_MEMORY_PINNER_H
#define GSB_BROKER_ENGINE_MEMORY_PINNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "broker/engine/memory/alias.h"
#include "broker/engine/tenant/mailbox.h"
#include "device/ops.h"

#define GSB_N_PINNERS 8

/* Its giver's memory again when it is collected. */
struct gsb_pin_job {
	struct gsb_mail mail;
	uint64_t owner, addr, size;    /* as host_prepare of ops.h has them */
	struct gsb_host_window window; /* of pages that are aliases: */
	uint64_t shared[2];	       /* as gsb_alias_make() has them */
	int err;		       /* of aliases, whose memory is not ready */
};

struct gsb_pinner {
	struct gsb_device *dev;
	pthread_t threads[GSB_N_PINNERS];
	unsigned n_threads; /* 0: the device has no use for them */
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct gsb_mail *todo;	 /* under lock, oldest first */
	bool stop;		 /* under lock */
	struct gsb_mailbox *box; /* for what is ready */
};

int gsb_pinner_start(struct gsb_pinner *p, struct gsb_device *dev, struct gsb_mailbox *box);
void gsb_pinner_stop(struct gsb_pinner *p); /* nothing is left to do */
void gsb_pinner_give(struct gsb_pinner *p, struct gsb_pin_job *job);

#endif
