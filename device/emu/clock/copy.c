/*
 * copy.c - see copy.h.
 */
#include "device/emu/clock/copy.h"

#include "device/emu/clock/command.h"
#include "model/time/command_time.h"

static uint64_t copy_bytes(const struct emu_cmd *cmd)
{
	if (cmd->kind == GSB_CMD_FILL)
		return cmd->fill.width * cmd->fill.elem_bytes * cmd->fill.height;
	return cmd->copy.width * cmd->copy.height;
}

static enum gsb_transfer transfer_of(const struct emu_cmd *cmd)
{
	if (cmd->kind == GSB_CMD_FILL)
		return GSB_TRANSFER_FILL;
	if (emu_heap_has(cmd->heap, cmd->copy.dst) && emu_heap_has(cmd->heap, cmd->copy.src))
		return GSB_TRANSFER_DEVICE;
	return GSB_TRANSFER_HOST;
}

bool emu_copy_find_engine(const struct emu_clock *c, unsigned *engine)
{
	for (unsigned i = 0; i < GSB_N_COPY_ENGINES; i++) {
		if (c->engines[i])
			continue;
		*engine = i;
		return true;
	}
	return false;
}

void emu_copy_start(struct emu_clock *c, struct emu_cmd *cmd)
{
	unsigned engine = 0;
	struct emu_job *job;

	cmd->state = EMU_RUNNING;
	cmd->started = true;
	cmd->start_ns = c->now_ns;
	if (!emu_cmd_touch(cmd)) {
		emu_cmd_fail(cmd, CUDA_ERROR_ILLEGAL_ADDRESS,
			     "copy of memory that is not allocated");
		emu_cmd_end(c, cmd);
		return;
	}
	job = emu_job_new(c, cmd, &c->open);
	if (!job) {
		emu_cmd_let_go(cmd);
		emu_cmd_fail(cmd, CUDA_ERROR_OUT_OF_MEMORY, "no host memory for a copy");
		emu_cmd_end(c, cmd);
		return;
	}
	emu_copy_find_engine(c, &engine);
	c->engines[engine] = cmd;
	cmd->end_ns = c->real ? UINT64_MAX
			      : c->now_ns + gsb_transfer_time_ns(c->arch, transfer_of(cmd),
								 copy_bytes(cmd));
	job->bound_ns = cmd->end_ns;
	emu_worker_add(&c->workers, job);
}

void emu_copy_cancel(struct emu_clock *c, struct emu_cmd *cmd)
{
	struct emu_job *job, *next;

	for (job = TAILQ_FIRST(&c->open); job; job = next) {
		next = TAILQ_NEXT(job, open);
		if (job->cmd == cmd)
			emu_job_abandon(c, job);
	}
	emu_cmd_end(c, cmd);
}
