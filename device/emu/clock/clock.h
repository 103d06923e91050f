/*
 * clock.h - the simulation in device time: which command starts when, where its blocks go, when it ends.
 *
 * Two things run at their own pace. The simulation, in device time, decides when a block starts and
 * ends; the workers, in real time, execute what has been started, as early as they can, and some of
 * what is sure to be started next, if where and when does not matter to it. A block
 * that is placed has a known start; its end is known once it has been executed. Device time may not
 * pass an instant at which an open block could end: see may_pass() in clock.c. That is all the
 * coupling there is, and it is why the timeline does not depend on how fast or how many the workers
 * are.
 *
 * The lock is taken here, a block executes without it. Functions are for any thread.
 */
#ifndef GSB_DEVICE_EMU_CLOCK_CLOCK_H
#define GSB_DEVICE_EMU_CLOCK_CLOCK_H

#include "device/emu/clock/state.h"

/**
 * emu_clock_init() - at time 0, with nothing to do
 * @arch: the GPU; kept     @interference: of it, copied     @real: see the struct     @n_workers: threads
 *
 * Return: 0; -ENOMEM, -errno of what there is none of: nothing is left then.
 */
int emu_clock_init(struct emu_clock *c, const struct gsb_arch *arch,
		   const struct gsb_interference *interference, bool real, unsigned n_workers);
void emu_clock_finish(struct emu_clock *c); /* no queue is left */

/* A queue takes part in the simulation from here until there. */
void emu_clock_add_queue(struct emu_clock *c, struct gsb_queue *queue);
void emu_clock_remove_queue(struct emu_clock *c, struct gsb_queue *queue);
/* Real time that the command at the head has been executed so far. */
uint64_t emu_clock_ran_ns(struct emu_clock *c, const struct gsb_queue *queue);

/* Could all blocks of it ever run? The errors of gsb_machine_check(). */
int emu_clock_check(struct emu_clock *c, const struct gsb_machine_submit *submit);
/* Append to its queue. Consumes the command, but for -ENOMEM. */
int emu_clock_issue(struct emu_clock *c, struct emu_cmd *cmd);
/* End all commands of the space. */
void emu_clock_cancel(struct emu_clock *c, const struct gsb_space *space);
/* A command of the space has been issued and is not complete. */
bool emu_clock_is_busy(struct emu_clock *c, const struct gsb_space *space);
unsigned emu_clock_poll(struct emu_clock *c, struct gsb_completion *out, unsigned max);

uint64_t emu_clock_now_ns(struct emu_clock *c);
/* Virtual time: to the next completion, if anything is in flight, or to @until where that is before it; at least to @now. */
void emu_clock_advance(struct emu_clock *c, uint64_t until);
void emu_clock_advance_to(struct emu_clock *c, uint64_t now);

#endif
