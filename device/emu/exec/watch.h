/*
 * watch.h - a launch that is looked at instruction by instruction: counted, or checked for more than a GPU checks.
 *
 * A watched block runs another loop, which asks here before each handler; what the handlers do, and how fast they
 * are for everybody else, is the same.
 */
#ifndef GSB_DEVICE_EMU_EXEC_WATCH_H
#define GSB_DEVICE_EMU_EXEC_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/emu/code/code.h"
#include "device/emu/exec/profile.h"
#include "device/emu/memory/address.h"

struct gsb_emu_block;
struct gsb_emu_exec;

enum gsb_emu_watch_what {
	GSB_EMU_WATCH_PROFILE = 1 << 0,
	/* Reads of shared memory that no thread of the block has written end it. */
	GSB_EMU_WATCH_UNINIT = 1 << 1,
	/* Accesses of global memory that are outside of an allocation by a byte end the block, as do writes to
	 * .const variables. */
	GSB_EMU_WATCH_BOUNDS = 1 << 2,
};

/* The caller keeps it while blocks of its launches exist. */
struct gsb_emu_watch {
	unsigned int what; /* enum gsb_emu_watch_what */
	/* BOUNDS: all of it is in one allocation. Any thread. */
	bool (*holds)(const struct gsb_emu_memory *m, uint64_t addr, uint64_t len);
	pthread_mutex_t lock;
	struct gsb_emu_profile profile; /* lock */
};

/* Life of a block: at its start, and when it is done. 0, -ENOMEM. */
int gsb_emu_watch_begin(struct gsb_emu_block *b);
void gsb_emu_watch_end(struct gsb_emu_block *b);
void gsb_emu_watch_drop(struct gsb_emu_block *b); /* in any state */

/* Before an op executes. False: the block has been ended. */
bool gsb_emu_watch_op(struct gsb_emu_exec *x, const struct gsb_emu_op *op, const char *r,
		      uint32_t mask);

#endif
