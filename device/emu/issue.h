/*
 * issue.h - a command of ops.h becomes one of the clock.
 */
#ifndef GSB_DEVICE_EMU_ISSUE_H
#define GSB_DEVICE_EMU_ISSUE_H

#include "device/ops.h"

/* The operation of ops.h. */
int emu_issue(struct gsb_queue *queue, const struct gsb_cmd *cmd);

#endif
