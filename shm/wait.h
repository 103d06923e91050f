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
};

/* ---- tenant ---- */

/* A slot for the calling thread, RUNNING; -EAGAIN when all GSB_N_THREADS are taken. */
int gsb_thread_acquire(struct gsb_region *region, uint32_t *slot);
void gsb_thread_release(struct gsb_region *region, uint32_t slot);

/*
 * gsb_thread_wait() - spin at most spin_ns, then sleep, until the condition holds
 * Returns 0; -EPIPE when header.fatal was set (the engine cut the tenant off, or died).
 */
int gsb_thread_wait(struct gsb_region *region, uint32_t slot, const struct gsb_wait *w,
		    uint32_t spin_ns);

/* ---- both ---- */

/* Whether the condition holds now. slot is read for GSB_WAIT_REPLY. False for fields out of range. */
bool gsb_wait_holds(struct gsb_region *region, uint32_t slot, const struct gsb_wait *w);

/*
 * gsb_wake_waiters() - set RUNNING and wake each blocked thread whose condition now holds, or all when
 * header.fatal is set. Call it after words of the region changed. Returns how many it woke.
 */
unsigned gsb_wake_waiters(struct gsb_region *region);

/* ---- engine ---- */

/* True when no slot is RUNNING: then virtual time may go on as far as this tenant is concerned. */
bool gsb_threads_all_blocked(struct gsb_region *region);
/* The same of all slots but one. */
bool gsb_threads_others_blocked(struct gsb_region *region, uint32_t slot);

/* Answer a call: store status and size, release the number. The reply bytes are in place already. */
void gsb_reply(struct gsb_region *region, uint32_t slot, uint64_t call, int32_t result,
	       uint32_t reply_bytes);

#endif
