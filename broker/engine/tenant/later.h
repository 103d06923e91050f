/*
 * later.h - what a device may answer later (device/ops.h): it is asked again each turn until it has, and everything else goes on.
 *
 * What is asked counts as a job of its tenant and as work of its context, so that neither ends meanwhile. A device that answers at once
 * makes nothing of all this but a call.
 */
#ifndef GSB_BROKER_ENGINE_TENANT_LATER_H
#define GSB_BROKER_ENGINE_TENANT_LATER_H

#include <stdbool.h>
#include <stddef.h>

#include "gsb/wire.h"

struct gsb_ctx;
struct gsb_fence;
struct gsb_tenant;

/* First in a struct of whoever asks. */
struct gsb_later {
	struct gsb_later *next;
	struct gsb_tenant *tenant;
	struct gsb_ctx *ctx; /* whose work it is; NULL: no context's */
	struct gsb_fence *fence;
	struct gsb_rec call; /* whom to answer */
	bool is_late;	     /* it did not come at once */
	bool goes_on;	     /* ask() has done its part of this turn, and does more in the next */
	/* Ask the device. -EINPROGRESS: it will be asked again. Else done() is next. */
	int (*ask)(struct gsb_later *l);
	void (*done)(struct gsb_later *l, int err);
};

struct gsb_laters {
	struct gsb_later *first, **end; /* oldest first */
	unsigned n;
	unsigned round; /* which turn it is, for who does a part in each */
	bool goes_on;	/* one of them does: nobody sleeps */
};

void gsb_laters_init(struct gsb_laters *l);

/*
 * gsb_later_run() - ask a device for something that may come later
 * @want: of @size bytes, copied: ask() and done() see the copy, which is freed behind done(). -ENOMEM: done() sees this one
 */
void gsb_later_run(struct gsb_later *want, size_t size);

/* In done(): its caller gets the error, or else these bytes. */
void gsb_later_reply(struct gsb_later *l, int err, const void *reply, uint32_t bytes);

/* Ask for all that has not come yet. Returns how many have. */
unsigned gsb_laters_collect(struct gsb_laters *l);

#endif
