/*
 * fault.h - dying at a chosen state of the wire, for tests: GSB_TEST_DIE=STATE:N kills this process with
 * SIGKILL when it is in that state for the N-th time. By count and never by time, so that a run repeats.
 *
 *   hello    the hello is sent, its answer is not read
 *   record   a record is half written; the ring's lock is held
 *   posted   a record is posted; the ring's lock is still held
 *   waiting  about to wait for an answer or a completion
 *
 * Without the variable a point costs one load and one branch.
 */
#ifndef GSB_INTERPOSE_CORE_FAULT_H
#define GSB_INTERPOSE_CORE_FAULT_H

#include <stdatomic.h>

#include "base/compiler.h"

enum gsb_fault_state {
	GSB_FAULT_NONE,
	GSB_FAULT_HELLO,
	GSB_FAULT_RECORD,
	GSB_FAULT_POSTED,
	GSB_FAULT_WAITING,
	GSB_N_FAULT_STATES
};

extern enum gsb_fault_state gsb_fault_armed;

/* Read GSB_TEST_DIE, once, before the hello; a value that is not STATE:N is named on stderr and ignored. */
void gsb_fault_init(void);

void gsb_fault_count(void);

static inline void gsb_fault_point(enum gsb_fault_state state)
{
	if (gsb_unlikely(gsb_fault_armed == state))
		gsb_fault_count();
}

#endif
