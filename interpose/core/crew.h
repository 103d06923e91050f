/*
 * crew.h - threads of the library's own that copy beside the one that was asked to.
 *
 * One processor copies less than the bus brings. So a large copy is cut into parts: the thread that was asked gives them to a queue, whoever
 * of the crew is there takes the next, and the giver does parts as well. Threads are made when the process has copied much, and never more
 * than there are processors to spare (spare.h). One is woken when a part lies there that nobody looks for; who finds none spins a
 * moment, and sleeps then: where the bus is slower than those that copy, some of them sleep.
 *
 * One copy has the crew at a time; another that runs beside it does all of its own.
 *
 * Where the program has a handler for SIGSEGV or SIGBUS, its memory is touched by the giver alone
 * until the kernel says that it can be: a handler is to run in the thread that asked for the copy,
 * which it may know, or leave by siglongjmp(). So a part says what it touches.
 */
#ifndef GSB_INTERPOSE_CORE_CREW_H
#define GSB_INTERPOSE_CORE_CREW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GSB_CREW_MAX	   7  /* threads */
#define GSB_CREW_PARTS_MAX 32 /* given and not begun, at most */

enum gsb_crew_state { GSB_CREW_GIVEN, GSB_CREW_DONE, GSB_CREW_RETURNED };

/* Its giver's memory until it is done. */
struct gsb_crew_part {
	void (*run)(struct gsb_crew_part *part);
	/* The program's memory that it reads, or writes. */
	void *at;
	uint64_t bytes;
	bool writes;
	/* private */
	bool is_guarded;	/* nobody else may meet a fault there */
	_Atomic uint32_t state; /* enum gsb_crew_state; RETURNED: it is the giver's */
};

/* Of one copy: whether it has the crew. */
struct gsb_crew {
	bool is_there;
	bool is_guarded; /* the program handles faults */
	unsigned n_most;
};

/*
 * gsb_crew_take() - the crew, for a copy of so many bytes
 * @n_most: threads to have at most
 * Without it (it is small, little was copied so far, another has the crew, no processor is to spare) all parts are done when they are given.
 */
void gsb_crew_take(struct gsb_crew *c, uint64_t bytes, unsigned n_most);
/* All parts are done. */
void gsb_crew_release(struct gsb_crew *c);

/*
 * Before gsb_crew_release(), in the thread that took it, of a copy that was left in the middle of a part: parts that nobody has
 * begun are not done any more; waits for those that another thread has begun. Then nobody touches any of them.
 */
void gsb_crew_abandon_parts(const struct gsb_crew *c);

/* How many threads may help now: 0 without the crew. */
unsigned gsb_crew_size(const struct gsb_crew *c);

/* At most GSB_CREW_PARTS_MAX that are not done. */
void gsb_crew_give(const struct gsb_crew *c, struct gsb_crew_part *part);
/* Do the first part that nobody has begun; false: there is none. */
bool gsb_crew_help(const struct gsb_crew *c);

static inline bool gsb_crew_has_done(const struct gsb_crew_part *part)
{
	return atomic_load_explicit(&part->state, memory_order_acquire) == GSB_CREW_DONE;
}

/* For one that has been begun; what is returned is done here. */
void gsb_crew_wait(struct gsb_crew_part *part);

#endif
