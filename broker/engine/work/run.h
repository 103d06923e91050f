/*
 * run.h - runs: short kernels, copies and fills that stand one behind another in a stream go to the device one behind another, too.
 *
 * Only heads are issued: so a stream of short ones would wait for the engine between each two of them, which takes several
 * times as long as they do. A device queue keeps the order by itself. So behind what is on the device go those
 * that stand directly behind it in its stream, without a question to the policy, as long as all of them together
 * take no longer than RUN_NS: nobody else waits for them for longer than that, and a long one waits for the policy as ever. And
 * only while nothing else is ready: who waits for a queue, or is held, is not passed by. An event that is recorded between two ends no
 * run: it is recorded in the moment when the one before it has completed.
 *
 * They go several at a time: sixteen together take the driver three times as long as one. A stream that is on the device by itself is
 * looked at when a turn has no more news: its first goes alone and at once, and then what has come since. Of several streams one nearly always
 * has news, so those are looked at in each round of a turn; and what begins beside others while nothing is held takes with it what
 * stands behind it, AT_ONCE shared among those that begin together, at least LEAST each. After AT_ONCE in all a turn takes no
 * other round, for rings are to be read: what is left goes in the next one, which begins with another stream.
 *
 * A flight is then its item and n_behind others. When its item has completed, the next one is the flight's item: it is ready,
 * decided and issued in that moment, for counts and traces. Of a run that a fault ends, what is left completes with the
 * fault: so there are runs only on a device that a fault ends as a whole (device/ops.h, lost).
 *
 * With virtual time there are none: it stands still while the engine decides.
 */
#ifndef GSB_BROKER_ENGINE_WORK_RUN_H
#define GSB_BROKER_ENGINE_WORK_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_flight;
struct gsb_item;
struct gsb_scheduler;

/* Of a flight. Zero while there is none behind its item. */
struct gsb_behind {
	struct gsb_item *last; /* on the device; NULL: there is none behind the flight's item */
	unsigned n_behind;
	uint64_t behind_ns; /* what they take, by what they took last */
};

/* Whether there are runs at all: what scheduler.runs is. */
bool gsb_run_is_possible(const struct gsb_scheduler *s);

/* An item has been queued: perhaps behind one that is on the device. */
void gsb_run_queued(struct gsb_item *item);

/* A flight has gone on: more may go behind it. */
void gsb_run_look(struct gsb_scheduler *s, const struct gsb_flight *f);

/* A turn begins: so much may go behind what is there that nobody waits for it long. */
void gsb_run_begin_turn(struct gsb_scheduler *s);
/* Issue of that. True: there is no more for this turn; what is left stands in to_extend. */
bool gsb_run_extend(struct gsb_scheduler *s);

/* The policy lets these go, which go now: those say that more comes that take with them what stands behind them. None, where others are held or
 * the device has no stream but this one: then what is behind goes when its first is on the device; gsb_run_extend() looks. */
void gsb_run_decided(struct gsb_scheduler *s, struct gsb_item *const items[], unsigned n);
/* And that more goes, directly after the flight's item, which has said so. */
void gsb_run_begin(struct gsb_flight *f);

/* The item behind the flight's, where there is one: taken off its run. */
struct gsb_item *gsb_run_next(struct gsb_flight *f);

#endif
