/*
 * fault.h - dying at a chosen state of the wire, for tests. Only the test library (libgsbroker-faults.so, built by
 * `make check`) has this; in the library that is shipped the points are nothing.
 *
 * GSB_TEST_DIE=STATE:N kills this process with SIGKILL when it is in that state for the N-th time. By count and never
 * by time, so that a run repeats.
 *
 *   hello    the hello is sent, its answer is not read
 *   record   a record is half written; the ring's lock is held
 *   posted   a record is posted; the ring's lock is still held
 *   waiting  about to wait for an answer or a completion
 */
#ifndef GSB_INTERPOSE_CORE_FAULT_H
#define GSB_INTERPOSE_CORE_FAULT_H

enum gsb_fault_state {
	GSB_FAULT_NONE,
	GSB_FAULT_HELLO,
	GSB_FAULT_RECORD,
	GSB_FAULT_POSTED,
	GSB_FAULT_WAITING,
	GSB_N_FAULT_STATES
};

#ifdef GSB_FAULTS
void gsb_fault_point(enum gsb_fault_state state);
#else
static inline void gsb_fault_point(enum gsb_fault_state state)
{
}
#endif

#endif
