/*
 * starts.h - which engines may start now: a few of one device at a time, the first that came first.
 *
 * On a GPU contexts are made one after the other: many at once would all be late. One that finds no room there, because others
 * are still ending, comes again after a pause, and those behind it wait with it.
 *
 *   (none) ---> WAITS ---> UNDER WAY ---> (none), when it is ready or has ended
 *                 ^            |
 *                 +------------+ it found no room
 */
#ifndef GSB_BROKER_SUPERVISOR_STARTS_H
#define GSB_BROKER_SUPERVISOR_STARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/supervisor/loop.h"

#define GSB_STARTS_AT_ONCE  4 /* of one device */
#define GSB_STARTS_TRIES    20
#define GSB_STARTS_PAUSE_MS 500

enum gsb_start_state { GSB_START_NONE, GSB_START_WAITS, GSB_START_UNDER_WAY };

/* One engine's; zeroed: NONE. */
struct gsb_start {
	enum gsb_start_state state;
	const char *spec;	/* of its device; the owner's */
	uint64_t not_before_ns; /* WAITS; 0: at once */
	unsigned n_tries;	/* that found no room */
	struct gsb_start *prev, *next;
};

struct gsb_starts {
	struct gsb_loop *loop;
	struct gsb_start *list;
	struct gsb_timer timer; /* to choose who is next: soon, or when the first pause ends */

	/* It is UNDER WAY now: start it, or say that it is over. Comes from the loop alone. */
	void (*on_turn)(struct gsb_starts *all, struct gsb_start *s);
};

void gsb_starts_init(struct gsb_starts *all, struct gsb_loop *loop,
		     void (*on_turn)(struct gsb_starts *all, struct gsb_start *s));

/* It WAITS for its turn, if it is NONE. */
void gsb_starts_add(struct gsb_starts *all, struct gsb_start *s);

/* It is ready, has ended, or is not wanted any more; takes one that is NONE. */
void gsb_starts_over(struct gsb_starts *all, struct gsb_start *s);

/* It found no room, and is to come again. Return: false: it did so too often, and is UNDER WAY still. */
bool gsb_starts_again(struct gsb_starts *all, struct gsb_start *s);

/* There may be room on that device: nobody waits any longer for its pause to end. */
void gsb_starts_hurry(struct gsb_starts *all, const char *spec);

#endif
