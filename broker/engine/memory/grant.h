/*
 * grant.h - what the engine may use of its device's memory, and the calls that wait for more of it.
 *
 * All engines of a device draw on gsbrokerd's ledger (broker/control.h), so that what they use together
 * is never more than the device has. An engine on its own device is granted all of it once, and what
 * follows is arithmetic. One that shares it asks before it uses more: the call waits in a queue, in the
 * order of the records, and everything else goes on.
 *
 * Pure: time, sockets, tenants and the device are the callers'. Bytes are
 * what the device says that an allocation takes (mem_cost of device/ops.h).
 */
#ifndef GSB_BROKER_ENGINE_MEMORY_GRANT_H
#define GSB_BROKER_ENGINE_MEMORY_GRANT_H

#include <stdbool.h>
#include <stdint.h>

/* Something that cannot go on before so many bytes more may be used. Its owner's memory. */
struct gsb_grant_wait {
	struct gsb_grant_wait *prev, *next;
	const void *owner; /* gsb_grant_cancel */
	uint64_t bytes;
	bool figures; /* of the device, as gsbrokerd has them now; bytes is 0 */
	/*
	 * It is in no queue any more. err 0: bytes count as used, until they are given back. -ENOMEM: there
	 * are not so many. -ECANCELED.
	 */
	void (*done)(struct gsb_grant_wait *w, int err);
};

struct gsb_grant {
	uint64_t granted, used; /* used <= granted */
	uint64_t kept;		/* of used: what reclaim() would give, or most of it */
	bool keep;		/* what is freed stays granted */
	uint64_t others_free;	/* of the device, granted to nobody, when gsbrokerd last said so */

	struct gsb_grant_wait *waits; /* oldest first */
	bool is_asking;		      /* an answer is to come: one at a time */
	struct gsb_grant_wait
		*asked; /* whom it is for: the first; NULL: it has no use for it any more */
	uint64_t asked_bytes;

	/* Use no longer what nobody needs (gsb_grant_give); asked before anybody is refused. NULL: there is nothing of the kind. */
	void (*reclaim)(struct gsb_grant *g);
	bool is_reclaiming; /* what that gives is looked at when it returns */

	/* Messages to gsbrokerd. They are never lost. */
	void (*ask)(struct gsb_grant *g, uint64_t bytes);
	void (*give_back)(struct gsb_grant *g, uint64_t bytes, bool is_recalled);
};

/* What gsbrokerd says. */
struct gsb_grant_news {
	uint64_t bytes;	     /* more than before */
	uint64_t free_bytes; /* of the device, granted to nobody */
	bool keep, is_answer;
	bool refused; /* an answer: there are not so many */
};

/* All of the device, for an engine without a gsbrokerd. */
void gsb_grant_init(struct gsb_grant *g, uint64_t total_bytes);

/* Use so many bytes more if they are granted and nobody waits. */
bool gsb_grant_try(struct gsb_grant *g, uint64_t bytes);
/* The same for who cannot wait: what reclaim() gives is taken before gsbrokerd would have been asked. */
bool gsb_grant_try_at_once(struct gsb_grant *g, uint64_t bytes);
/* As gsb_grant_try(), or wait: done() is called, here or later. */
void gsb_grant_take(struct gsb_grant *g, struct gsb_grant_wait *w);
/* Used no longer. */
void gsb_grant_give(struct gsb_grant *g, uint64_t bytes);
/* Whoever waits for this owner is done, with -ECANCELED. */
void gsb_grant_cancel(struct gsb_grant *g, const void *owner);

/* Have reclaim() give what it can; false: nothing. */
bool gsb_grant_reclaim(struct gsb_grant *g);

/* gsbrokerd grants. */
void gsb_grant_hear(struct gsb_grant *g, const struct gsb_grant_news *news);
/* gsbrokerd wants back what is not used; reserves: what reclaim() gives, and of that not what the first that waits can use. */
void gsb_grant_recall(struct gsb_grant *g, bool reserves);

/* The engine ends: it is granted what it uses, and nobody is asked for more. */
void gsb_grant_end(struct gsb_grant *g);

/* What could be used more, as far as is known. */
static inline uint64_t gsb_grant_free(const struct gsb_grant *g)
{
	return g->granted - g->used + g->kept + g->others_free;
}

#endif
