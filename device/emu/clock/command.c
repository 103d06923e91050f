/*
 * command.c - see command.h.
 */
#include "device/emu/clock/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/emu/clock/report.h"
#include "model/time/command_time.h"

#define CHUNK 64 /* jobs: a word of free_jobs */

void emu_cmd_destroy(struct emu_cmd *cmd)
{
	if (cmd->workspace)
		emu_heap_take_back(cmd->heap, cmd->workspace);
	free(cmd->big_params);
	free(cmd->report);
	free(cmd);
}

void emu_signal_engine(struct emu_clock *c)
{
	uint64_t one = 1;

	if (!c->armed || c->signalled)
		return;
	/* Cannot fail but by overflow, and then it is readable already. */
	c->signalled = write(c->event_fd, &one, sizeof(one)) == sizeof(one);
}

void emu_head_changed(struct emu_clock *c, struct gsb_queue *queue)
{
	struct emu_cmd *head = STAILQ_FIRST(&queue->cmds);

	if (!head || c->real) {
		queue->ready_ns = 0;
		return;
	}
	queue->ready_ns = head->not_before > c->now_ns ? head->not_before : c->now_ns;
	if (head->kind == GSB_CMD_LAUNCH)
		queue->ready_ns += GSB_LAUNCH_LATENCY_NS;
}

/* Behind all that its blocks have said, and once: of all its faults one has counted. */
static void tell(struct emu_cmd *cmd)
{
	const char *text = cmd->report ? cmd->report->text : "";
	const struct gsb_emu_text t = {
		.bytes = text, .len = strlen(text), .cost = strlen(text), .to_stderr = true};
	struct emu_fifo_part part = TAILQ_HEAD_INITIALIZER(part);

	if (!t.len)
		return;
	emu_fifo_write(cmd->fifo, &part, &t);
	emu_fifo_release(cmd->fifo, &part);
	cmd->printed = true;
}

/* Room in c->done was reserved at issue. */
static void complete(struct emu_clock *c, struct emu_cmd *cmd)
{
	struct gsb_completion *done = gsb_done_push(&c->done);

	tell(cmd);
	done->cookie = cmd->cookie;
	done->result = cmd->result;
	done->start_ns = cmd->start_ns;
	done->end_ns = cmd->end_ns;
	done->n_blocks = cmd->n_blocks;
	done->n_instructions = cmd->n_insns;
	done->blocks_ns = cmd->blocks_ns;
	done->printed = cmd->printed;
	memcpy(done->detail, cmd->detail, sizeof(done->detail));
	STAILQ_REMOVE_HEAD(&cmd->queue->cmds, link);
	emu_head_changed(c, cmd->queue);
	emu_cmd_destroy(cmd);
	c->n_in_flight--;
	c->to_completion = false;
	emu_signal_engine(c);
}

void emu_cmd_end(struct emu_clock *c, struct emu_cmd *cmd)
{
	if (cmd->kind == GSB_CMD_COPY || cmd->kind == GSB_CMD_FILL)
		for (unsigned i = 0; i < GSB_N_COPY_ENGINES; i++)
			if (c->engines[i] == cmd)
				c->engines[i] = NULL;
	if (!cmd->started)
		cmd->start_ns = c->now_ns;
	cmd->end_ns = c->now_ns;
	cmd->state = EMU_ENDED;
	if (!cmd->n_jobs)
		complete(c, cmd);
}

void emu_cmd_fail(struct emu_cmd *cmd, CUresult result, const char *detail)
{
	if (cmd->result != CUDA_SUCCESS)
		return;
	cmd->result = result;
	snprintf(cmd->detail, sizeof(cmd->detail), "%s", detail);
}

bool emu_cmd_touch(const struct emu_cmd *cmd)
{
	return cmd->kind == GSB_CMD_FILL ? emu_heap_touch_fill(cmd->heap, &cmd->fill)
					 : emu_heap_touch_copy(cmd->heap, &cmd->copy);
}

void emu_cmd_let_go(const struct emu_cmd *cmd)
{
	if (cmd->kind == GSB_CMD_FILL)
		emu_heap_touch_fill_end(cmd->heap, &cmd->fill);
	else
		emu_heap_touch_copy_end(cmd->heap, &cmd->copy);
}

/* ---- jobs ---- */

static int add_chunk(struct emu_clock *c)
{
	uint32_t n = c->free_jobs.n_words;
	struct emu_job **chunks = realloc(c->chunks, (n + 1) * sizeof(*chunks));

	if (!chunks)
		return -ENOMEM;
	c->chunks = chunks;
	chunks[n] = aligned_alloc(_Alignof(struct emu_job), CHUNK * sizeof(**chunks));
	if (chunks[n] && !gsb_lowest_grow(&c->free_jobs))
		return 0;
	free(chunks[n]);
	return -ENOMEM;
}

void emu_jobs_finish(struct emu_clock *c)
{
	for (uint32_t i = 0; i < c->free_jobs.n_words; i++)
		free(c->chunks[i]);
	free(c->chunks);
	gsb_lowest_finish(&c->free_jobs);
}

struct emu_job *emu_job_new(struct emu_clock *c, struct emu_cmd *cmd, struct emu_jobs *list)
{
	uint32_t number = gsb_lowest_take(&c->free_jobs);
	struct emu_job *job;

	if (number == GSB_LOWEST_NONE && add_chunk(c))
		return NULL;
	if (number == GSB_LOWEST_NONE)
		number = gsb_lowest_take(&c->free_jobs);
	job = &c->chunks[number / CHUNK][number % CHUNK];
	*job = (struct emu_job){.cmd = cmd, .number = number};
	TAILQ_INIT(&job->said);
	cmd->n_jobs++;
	TAILQ_INSERT_TAIL(list, job, open);
	return job;
}

void emu_job_free(struct emu_clock *c, struct emu_job *job)
{
	if (job->printed && job->placed) {
		emu_fifo_release(job->cmd->fifo, &job->said);
		job->cmd->printed = true;
	} else if (job->printed) {
		emu_fifo_drop(job->cmd->fifo, &job->said);
	}
	free(job->report);
	gsb_lowest_give(&c->free_jobs, job->number);
}

void emu_job_set_executed(struct emu_job *job)
{
	if (job->cmd->kind != GSB_CMD_LAUNCH)
		emu_cmd_let_go(job->cmd);
	job->executed = true;
	job->cmd->n_jobs--;
	if (!job->leader)
		gsb_emu_block_destroy(job->block);
	gsb_emu_cluster_destroy(job->cluster);
	job->block = NULL;
	job->cluster = NULL;
}

void emu_job_close(struct emu_clock *c, struct emu_job *job)
{
	TAILQ_REMOVE(&c->open, job, open);
	emu_job_set_executed(job);
}

/* A worker may be at any block of a cluster: they go when the last one may. */
static bool all_abandoned(const struct emu_job *leader)
{
	for (const struct emu_job *job = leader; job; job = job->mate)
		if (!job->abandoned)
			return false;
	return true;
}

static void drop_all(struct emu_clock *c, struct emu_job *leader)
{
	struct emu_job *job = leader, *next;

	for (; job; job = next) {
		next = job->mate;
		emu_job_close(c, job);
		emu_job_free(c, job);
	}
}

void emu_job_abandon(struct emu_clock *c, struct emu_job *job)
{
	struct emu_job *leader = emu_job_leader(job);
	const bool has_worker = !job->leader || leader->handed_out;

	job->abandoned = true;
	job->bound_ns = c->now_ns;
	if (!all_abandoned(leader) || (has_worker && !emu_worker_remove(&c->workers, leader)))
		return;
	drop_all(c, leader);
}

void emu_job_came_back(struct emu_clock *c, struct emu_job *job)
{
	struct emu_cmd *cmd = job->cmd;

	drop_all(c, job);
	if (cmd->state == EMU_ENDED && !cmd->n_jobs)
		complete(c, cmd);
}
