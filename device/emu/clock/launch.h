/*
 * launch.h - launches in device time: their blocks are placed, and end. With the clock's lock held.
 */
#ifndef GSB_DEVICE_EMU_CLOCK_LAUNCH_H
#define GSB_DEVICE_EMU_CLOCK_LAUNCH_H

#include "device/emu/clock/state.h"

void emu_launch_start(struct emu_clock *c, struct emu_cmd *cmd);

/*
 * All blocks that fit now. Workers may execute the first while the last are placed, and go on with those that will be
 * placed next, so that they have something to do while a thousand blocks end and a thousand begin. Which blocks these are
 * is known, for the numbers of a grid are placed in their order; what they do does not depend on when and where
 * that is, or they are not handed out ahead.
 */
void emu_launch_place(struct emu_clock *c);

/* So much work the block has at least, or, once it has been executed, in all. */
void emu_launch_set_bound(struct emu_job *job, uint64_t work_ns);

/* The work of a block that has done so much, in ns. Any thread that has the job. */
uint64_t emu_launch_block_time(const struct emu_job *job, const struct gsb_emu_stats *done);

/* Until what stands beside the block is known, which its times depend on. The worker that has it. */
void emu_launch_wait_for_company(struct emu_job *job);

/* So much it has done so far, whether its company is known or not. The worker that has it. */
void emu_launch_set_work(struct emu_job *job, const struct gsb_emu_stats *done);

/* The work of a block that a worker has brought back. */
uint64_t emu_launch_work_ns(struct emu_job *job);

/* Of a block that is placed and has been executed. */
void emu_launch_set_end(struct emu_clock *c, struct emu_job *job);

void emu_launch_end_block(struct emu_clock *c, const struct gsb_machine_block *b);

/* The first block that fails, in device time, ends its grid in that instant. */
void emu_launch_fail(struct emu_clock *c, struct emu_cmd *cmd, CUresult result, const char *detail);

#endif
