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

/* The first failure counts. */
void emu_cmd_fail(struct emu_cmd *cmd, CUresult result, const char *detail);

/* It is over in device time; the engine hears of it when no worker is at it any more. */
void emu_cmd_end(struct emu_clock *c, struct emu_cmd *cmd);

/* One more for the command, open; NULL without memory. */
struct emu_job *emu_job_new(struct emu_clock *c, struct emu_cmd *cmd);
/* Its command is there still: it gets what the job has said. */
void emu_job_free(struct emu_clock *c, struct emu_job *job);

/* No worker will touch it again. */
void emu_job_close(struct emu_clock *c, struct emu_job *job);

/* Its command is over. A worker that has it brings it back within a slice, and time waits for that,
 * so that nothing of the command is running when its completion is seen. */
void emu_job_abandon(struct emu_clock *c, struct emu_job *job);
void emu_job_came_back(struct emu_clock *c, struct emu_job *job);

#endif
