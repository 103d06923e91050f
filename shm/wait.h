/*
 * wait.h - how a thread of a tenant waits for its engine: one futex a thread, the state diagram is in
 * gsb/wire.h at enum gsb_thread_state.
 */
#ifndef GSB_SHM_WAIT_H
#define GSB_SHM_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/wire.h"

struct gsb_wait {
	enum gsb_wait_kind kind;
	uint32_t index; /* stream or event index; 0 otherwise */
	uint64_t value;
	uint64_t until_ns; /* no longer, or a little, by gsb_clock_ns(); 0: as long as it takes */
};

/* ---- tenant ---- */

/* A slot for the calling thread, RUNNING; -EAGAIN when all GSB_N_THREADS are taken. */
int gsb_thread_acquire(struct gsb_region *region, uint32_t *slot);
void gsb_thread_release(struct gsb_region *region, uint32_t slot);

/*
 * Spinning before a sleep saves a short wait two system calls, and costs a processor. So a thread spins while that has
 * ended most of its recent waits, and looks now and then whether it would again; and only while fewer threads of its
 * process wait than there are processors for them.
 */
struct gsb_spin_room {		  /* of the process */
	uint32_t spin_ns;	  /* at most so long */
	uint32_t n_max;		  /* threads that may wait at the same time, and one still spins */
	uint64_t (*now_ns)(void); /* gsb_clock_ns */
	_Atomic uint32_t n_waiting;
};
struct gsb_spin { /* of a thread; zeroed is fresh */
	uint16_t
		missed; /* share of its spins that ended without what it waited for, newest most, of 256 */
	uint16_t n_not; /* waits that it did not spin for because of them */
};

/*
 * gsb_thread_wait() - spin if it pays, then sleep, until the condition holds or the time is up
 * @room: NULL: sleep at once; then self is not read
 * @self: the calling thread's
 * Returns 0; -EPIPE when header.fatal was set (the engine cut the tenant off, or died).
 */
int gsb_thread_wait(struct gsb_region *region, uint32_t slot, const struct gsb_wait *w,
		    struct gsb_spin_room *room, struct gsb_spin *self);

/* ---- both ---- */

/* Whether the condition holds now. slot is read for GSB_WAIT_REPLY. False for fields out of range. */
bool gsb_wait_holds(struct gsb_region *region, uint32_t slot, const struct gsb_wait *w);

/*
 * gsb_wake_waiters() - set RUNNING and wake each blocked thread whose condition now holds, or all when
 * header.fatal is set. Call it after words of the region changed. Returns how many it woke.
 */
unsigned gsb_wake_waiters(struct gsb_region *region);

/* The same, and of each that was woken, and may run already, @tell is told what it had waited for. */
unsigned gsb_wake_waiters_and_tell(struct gsb_region *region,
				   void (*tell)(void *arg, uint32_t slot, const struct gsb_wait *w),
				   void *arg);

/* ---- engine ---- */

/* True when no slot is RUNNING: then virtual time may go on as far as this tenant is concerned. */
bool gsb_threads_all_blocked(struct gsb_region *region);
/* The same of all slots but one. */
bool gsb_threads_others_blocked(struct gsb_region *region, uint32_t slot);

/* Answer a call: store status and size, release the number. The reply bytes are in place already. */
void gsb_reply(struct gsb_region *region, uint32_t slot, uint64_t call, int32_t result,
	       uint32_t reply_bytes);

#endif
