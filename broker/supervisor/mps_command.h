/*
 * mps_command.h - one run of nvidia-cuda-mps-control: what it is told, and what it said.
 */
#ifndef GSB_BROKER_SUPERVISOR_MPS_COMMAND_H
#define GSB_BROKER_SUPERVISOR_MPS_COMMAND_H

#include "base/mps.h"
#include "broker/supervisor/loop.h"

#define GSB_MPS_TEXT_SIZE 4096 /* of what it is told, and of what is heard of its answer */

struct gsb_mps_command;
/* It has ended, and is gone behind this call. said: its answer; NULL: it failed, or took too long. */
typedef void gsb_mps_command_done(void *arg, const char *said);

/*
 * gsb_mps_command_start() - tell a daemon something
 * @env:  the variables that say which, read now
 * @text: lines
 * Return: 0 and *out until done or cancelled, -errno.
 */
int gsb_mps_command_start(struct gsb_loop *loop, const char *const *env, const char *text,
			  gsb_mps_command_done *done, void *arg, struct gsb_mps_command **out);
/* Nobody wants to know any more: done is not called. Takes NULL. */
void gsb_mps_command_cancel(struct gsb_mps_command *c);

#endif
