/*
 * command.h - life of a command and of its jobs. With the clock's lock held.
 */
#ifndef GSB_DEVICE_EMU_CLOCK_COMMAND_H
#define GSB_DEVICE_EMU_CLOCK_COMMAND_H

#include "device/emu/clock/state.h"

/* A command and all that it has. */
void emu_cmd_destroy(struct emu_cmd *cmd);

/* The head may start once its latency has passed, and not before its time. */
void emu_head_changed(struct emu_clock *c, struct gsb_queue *queue);
void emu_signal_engine(struct emu_clock *c); /* there is something for it to poll, or time stands */

/* The first failure counts. */
void emu_cmd_fail(struct emu_cmd *cmd, CUresult result, const char *detail);

/* It is over in device time; the engine hears of it when no worker is at it any more. */
void emu_cmd_end(struct emu_clock *c, struct emu_cmd *cmd);

/* What a copy or a fill touches stays there from now on; false: it is not allocated. */
bool emu_cmd_touch(const struct emu_cmd *cmd);
/* Its worker is done with that, or none will be at it. */
void emu_cmd_let_go(const struct emu_cmd *cmd);

/* One more for the command, and the last of that list: of the open ones, or of those ahead. NULL without memory. */
struct emu_job *emu_job_new(struct emu_clock *c, struct emu_cmd *cmd, struct emu_jobs *list);
/* Its command is there still: it gets what the job has said, unless that was a block that has never been placed. */
void emu_job_free(struct emu_clock *c, struct emu_job *job);

/* None is left that has not been freed. */
void emu_jobs_finish(struct emu_clock *c);

/* No worker will touch it again. It stays in its list. */
void emu_job_set_executed(struct emu_job *job);
/* The same, and it is not open any more. */
void emu_job_close(struct emu_clock *c, struct emu_job *job);

/* Its command is over. A worker that has it brings it back within a slice, and time waits for that,
 * so that nothing of the command is running when its completion is seen. */
void emu_job_abandon(struct emu_clock *c, struct emu_job *job);
void emu_job_came_back(struct emu_clock *c, struct emu_job *job);

#endif
