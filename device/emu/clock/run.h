/*
 * run.h - how a worker executes a job. Without the clock's lock: nothing but the job is looked at.
 */
#ifndef GSB_DEVICE_EMU_CLOCK_RUN_H
#define GSB_DEVICE_EMU_CLOCK_RUN_H

#include "device/emu/clock/work.h"

/* One slice of a block, all of a copy or a fill: each an emu_run. */
bool emu_run_block(struct emu_job *job, struct gsb_emu_combiner *combiner);
bool emu_run_copy(struct emu_job *job, struct gsb_emu_combiner *combiner);
bool emu_run_fill(struct emu_job *job, struct gsb_emu_combiner *combiner);

#endif
