/*
 * issue.h - a command of ops.h becomes one of the clock.
 */
#ifndef GSB_DEVICE_EMU_ISSUE_H
#define GSB_DEVICE_EMU_ISSUE_H

#include "device/emu/clock/work.h"

/* The operation of ops.h. */
int emu_issue(struct gsb_queue *queue, const struct gsb_cmd *cmd);

/* The same for a command that is executed in another way. */
int emu_issue_to_run(struct gsb_queue *queue, const struct gsb_cmd *cmd, emu_run *run);

int emu_cluster_room(struct gsb_device *dev, const struct gsb_cmd_launch *l, uint32_t *n);
int emu_cluster_size(struct gsb_device *dev, const struct gsb_cmd_launch *l, uint32_t *n);

#endif
