/*
 * state.h - the state of the simulation: see clock.h. What is here is guarded by its lock.
 */
#ifndef GSB_DEVICE_EMU_CLOCK_STATE_H
#define GSB_DEVICE_EMU_CLOCK_STATE_H

#include <pthread.h>

#include "base/lowest.h"
#include "device/done.h"
#include "device/emu/clock/worker.h"
#include "device/info.h"

struct emu_clock {
	const struct gsb_arch *arch;
	struct gsb_interference interference;
	bool real; /* time is CLOCK_MONOTONIC instead of virtual */

	pthread_mutex_t lock;
	uint64_t now_ns, target_ns; /* time may run to target, */
	bool to_completion;	    /* and to the next completion, */
	uint64_t until_ns;	    /* but for that no further than here */
	struct gsb_machine *machine;
	LIST_HEAD(emu_queues, gsb_queue) queues;
	struct emu_cmd *engines[GSB_N_COPY_ENGINES];
	struct emu_job **job_of_slot;
	uint64_t next_seq;
	struct gsb_progress *progress; /* of blocks, in virtual time */
	unsigned n_in_flight;
	/* completions */
	struct gsb_done done;
	int event_fd;
	bool armed; /* poll has returned 0: the next completion signals */
	bool signalled;
	/* jobs */
	struct emu_jobs open;
	struct emu_job **chunks; /* all jobs, 64 in each; NULL: none yet */
	struct gsb_lowest free_jobs;
	const struct emu_job *blocker; /* the open job that time waits for; NULL = none known */
	bool due;		       /* what is being told may let time pass */
	struct emu_workers workers;
};

#endif
