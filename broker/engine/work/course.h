/*
 * course.h - an item's way over the device: the commands that it takes in its shape, one after the other, and one
 * completion of them all.
 *
 * As its program asked it is one command. In another shape there may be many, of which GSB_COURSE_AHEAD are in a queue, so
 * that the device need not wait for the engine between two, and no more run beside whoever comes than that. What is told
 * of it, to the tenant, in counts and traces, is what would be told of one: it began with the first and ended with the last.
 *
 * They are in one queue, but for slices that fill the device, and persistent blocks that fill it and end before the tiles do: those
 * have a second one, where one is free. A launch that waits there begins in the first place that a block leaves; in one queue, when the
 * last has left. And one more of persistent blocks is launched than the tiles need, so that at the end none of them waits for a block
 * that has others before it. No block that may be re-sized waits for another one, so their order does not matter.
 *
 * Where the policy has launches in parts wait for a critical tenant, no more than two commands are open, in whatever queues, and one where
 * others' parts are there: and while it has them wait, none follows. Such a course may have no command open, and is not over.
 *
 * What goes wrong ends it: no command follows one that failed, or the end of its context.
 */
#ifndef GSB_BROKER_ENGINE_WORK_COURSE_H
#define GSB_BROKER_ENGINE_WORK_COURSE_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/policy/shape.h"
#include "device/ops.h"

#define GSB_COURSE_AHEAD 2

struct gsb_flight;
struct gsb_item;
struct gsb_pooled_queue;
struct gsb_shadow;

/* Of what is as asked only shape.form and n_open are set, and second is NULL. */
struct gsb_course {
	struct gsb_shape shape;
	unsigned n_open, n_taken; /* commands on the device; completed */
	uint64_t done, total; /* SLICE: blocks; PERSISTENT: room for tiles; issued, of how many */
	uint64_t each;	      /* of that, what one launch takes at most */
	unsigned n_shaped;    /* commands of its shape that were issued, */
	unsigned n_failed;    /* of those that were taken, failed, */
	struct gsb_pooled_queue *second; /* where every other launch goes; NULL: there is none */
	struct gsb_shadow *shadow;	 /* it is run both ways; NULL: it is not */
	bool asked;			 /* of that: the original was issued */
	bool yields;	    /* no further command follows until scheduler.yields_until_ns */
	uint64_t *words;    /* COUNT: what it has counted comes here; malloc */
	int err;	    /* the device refused one */
	unsigned n_refused; /* launches that the device refused later, of n_failed */
	struct gsb_completion joint; /* last */
};

/*
 * gsb_course_begin() - issue the first commands of an item
 * @f:     a flight with a queue and a cookie; its item is still to be set
 * @shape: one that the launch admits (gsb_code_admits); of what is no launch AS_ASKED
 *
 * A shape that the device refuses after all, be it later, is given up for AS_ASKED. Return: what the device said of that.
 */
int gsb_course_begin(struct gsb_flight *f, struct gsb_item *item, const struct gsb_shape *shape);

/*
 * gsb_course_take() - a command of the flight has completed
 * Return: NULL: more are to come; else the completion of all: it is over.
 */
const struct gsb_completion *gsb_course_take(struct gsb_flight *f, const struct gsb_completion *c);

/* No command of it is on the device, because it has to wait. */
static inline bool gsb_course_is_held(const struct gsb_course *c)
{
	return c->shape.form != GSB_SHAPE_AS_ASKED && c->yields && !c->n_open;
}

/*
 * gsb_course_resume() - it is held, and may go on, or its context has failed
 * Return: false: no more of it goes to the device; course.joint is to be taken as the completion of one command.
 */
bool gsb_course_resume(struct gsb_flight *f);

/* Where the device knows it (ops.ran_ns): for how long that has been executed which it is at. */
uint64_t gsb_course_ran_ns(const struct gsb_flight *f, const struct gsb_device_ops *ops);

#endif
