/*
 * clock.c - the simulation: which command starts when, where its blocks go, when it has ended.
 *
 * emu_clock_step() does what can be done at this instant (start heads of queues, place blocks), then
 * looks for the next event in device time: a block's end, a copy's end, a head whose time has come.
 * It goes there if somebody asked for time to pass and no open job could end before. Whatever
 * changes one of these conditions calls it again: an issue, an advance, a worker that has executed
 * the job that time was waiting for.
 *
 * Events of one instant are taken in a fixed order: ends of blocks in the order of placement, copies
 * by engine, then starts in the order of issue. With a real clock time is read instead of computed,
 * and an end is known when it has happened; the rest is the same.
 */
#include "device/emu/emu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/* From the head of a queue to its first block, and a copy without its bytes; as on an H200. */
#define LAUNCH_LATENCY_NS      1500
#define COPY_LATENCY_NS	       1300
#define HOST_LINK_BYTES_PER_S  55000000000ull /* PCIe 5 x16, either direction */
#define NS_PER_S	       1000000000ull
#define SECTOR_BYTES	       32 /* what gsb_emu_stats counts */
#define RESULT_OF_CANCELLATION CUDA_ERROR_CONTEXT_IS_DESTROYED

/* ---- completions ---- */

static void signal_engine(struct emu_device *dev)
{
	uint64_t one = 1;

	if (!dev->armed || dev->signalled)
		return;
	/* Cannot fail but by overflow, and then it is readable already. */
	dev->signalled = write(dev->event_fd, &one, sizeof(one)) == sizeof(one);
}

/* The head may start once its latency has passed, and not before its time. */
static void head_changed(struct emu_device *dev, struct gsb_queue *queue)
{
	struct emu_cmd *head = STAILQ_FIRST(&queue->cmds);

	if (!head || dev->real_clock) {
		queue->ready_ns = 0;
		return;
	}
	queue->ready_ns = head->not_before > dev->now_ns ? head->not_before : dev->now_ns;
	if (head->kind == GSB_CMD_LAUNCH)
		queue->ready_ns += LAUNCH_LATENCY_NS;
}

/* Room in dev->done was reserved at issue. */
static void complete(struct emu_device *dev, struct emu_cmd *cmd)
{
	struct gsb_completion *c = gsb_done_push(&dev->done);

	c->cookie = cmd->cookie;
	c->result = cmd->result;
	c->start_ns = cmd->start_ns;
	c->end_ns = cmd->end_ns;
	c->n_blocks = cmd->n_blocks;
	c->n_instructions = cmd->n_insns;
	memcpy(c->detail, cmd->detail, sizeof(c->detail));
	STAILQ_REMOVE_HEAD(&cmd->queue->cmds, link);
	head_changed(dev, cmd->queue);
	free(cmd->big_params);
	free(cmd);
	dev->n_in_flight--;
	dev->to_completion = false;
	signal_engine(dev);
}

/* It is over in device time; the engine hears of it when no worker is at it any more. */
static void end_cmd(struct emu_device *dev, struct emu_cmd *cmd)
{
	if (cmd->kind == GSB_CMD_COPY || cmd->kind == GSB_CMD_FILL)
		for (unsigned i = 0; i < GSB_N_COPY_ENGINES; i++)
			if (dev->engines[i] == cmd)
				dev->engines[i] = NULL;
	if (!cmd->started)
		cmd->start_ns = dev->now_ns;
	cmd->end_ns = dev->now_ns;
	cmd->state = EMU_ENDED;
	if (!cmd->n_jobs)
		complete(dev, cmd);
}

static void fail_cmd(struct emu_cmd *cmd, CUresult result, const char *detail)
{
	if (cmd->result != CUDA_SUCCESS)
		return;
	cmd->result = result;
	snprintf(cmd->detail, sizeof(cmd->detail), "%s", detail);
}

/* ---- jobs ---- */

static struct emu_job *new_job(struct emu_device *dev, struct emu_cmd *cmd)
{
	struct emu_job *job = TAILQ_FIRST(&dev->free_jobs);

	if (job)
		TAILQ_REMOVE(&dev->free_jobs, job, open);
	else
		job = malloc(sizeof(*job));
	if (!job)
		return NULL;
	*job = (struct emu_job){.cmd = cmd};
	cmd->n_jobs++;
	TAILQ_INSERT_TAIL(&dev->open, job, open);
	return job;
}

static void free_job(struct emu_device *dev, struct emu_job *job)
{
	TAILQ_INSERT_HEAD(&dev->free_jobs, job, open);
}

/* No worker will touch it again. */
static void close_job(struct emu_device *dev, struct emu_job *job)
{
	if (job->cmd->kind != GSB_CMD_LAUNCH)
		emu_touch_end(job->cmd->space);
	TAILQ_REMOVE(&dev->open, job, open);
	job->executed = true;
	job->cmd->n_jobs--;
	gsb_emu_block_destroy(job->block);
	job->block = NULL;
}

/* Its command is over. A worker that has it brings it back within a slice, and time waits for that,
 * so that nothing of the command is running when its completion is seen. */
static void abandon(struct emu_device *dev, struct emu_job *job)
{
	job->abandoned = true;
	job->bound_ns = dev->now_ns;
	if (job->running)
		return;
	emu_worker_remove(dev, job);
	close_job(dev, job);
	free_job(dev, job);
}

static void abandoned_job_came_back(struct emu_device *dev, struct emu_job *job)
{
	struct emu_cmd *cmd = job->cmd;

	close_job(dev, job);
	free_job(dev, job);
	if (cmd->state == EMU_ENDED && !cmd->n_jobs)
		complete(dev, cmd);
}

/* ---- launches ---- */

static uint32_t warps_of(const struct emu_cmd *cmd)
{
	return (cmd->submit.kernel.threads_per_block + GSB_WARP_SIZE - 1) / GSB_WARP_SIZE;
}

static void start_launch(struct emu_device *dev, struct emu_cmd *cmd)
{
	cmd->state = EMU_RUNNING;
	/* Geometry was checked at issue: what is left is memory. */
	if (gsb_machine_submit(dev->machine, &cmd->submit, &cmd->grid)) {
		fail_cmd(cmd, CUDA_ERROR_OUT_OF_MEMORY, "no host memory for the grid");
		end_cmd(dev, cmd);
	}
}

/* Linear index to coordinates; x runs fastest. */
static void set_ctaid(struct emu_job *job, uint64_t index)
{
	const uint32_t *grid = job->cmd->launch.grid;

	job->ctaid[0] = (uint32_t)(index % grid[0]);
	job->ctaid[1] = (uint32_t)(index / grid[0] % grid[1]);
	job->ctaid[2] = (uint32_t)(index / grid[0] / grid[1]);
}

static void start_block(struct emu_device *dev, const struct gsb_machine_block *b)
{
	struct emu_cmd *cmd = b->owner;
	struct emu_job *job = new_job(dev, cmd);

	dev->resident_warps += warps_of(cmd);
	dev->job_of_slot[b->slot] = job;
	if (!cmd->started)
		cmd->start_ns = dev->now_ns;
	cmd->started = true;
	if (!job) {
		fail_cmd(cmd, CUDA_ERROR_OUT_OF_MEMORY, "no host memory for a block");
		gsb_machine_set_end(dev->machine, b->slot, dev->now_ns + 1);
		return;
	}
	job->slot = b->slot;
	job->sm = b->sm;
	job->start_ns = dev->now_ns;
	job->bound_ns = dev->now_ns + 1;
	set_ctaid(job, b->index);
}

/* A block's company is all that was placed in its instant, whichever came first. Only then do the
 * workers get it: in the order of placement, which is that of block numbers. */
static void place_blocks(struct emu_device *dev)
{
	struct emu_job *job = TAILQ_LAST(&dev->open, emu_jobs);
	struct gsb_machine_block b;

	while (gsb_machine_place(dev->machine, &b))
		start_block(dev, &b);
	for (job = job ? TAILQ_NEXT(job, open) : TAILQ_FIRST(&dev->open); job;
	     job = TAILQ_NEXT(job, open)) {
		job->company.sm_warps = gsb_machine_sm_warps(dev->machine, job->sm);
		job->company.device_warps = dev->resident_warps;
		emu_worker_add(dev, job);
	}
}

static uint64_t block_time(const struct emu_device *dev, const struct emu_job *job)
{
	const struct gsb_block_work work = {
		.n_warps = warps_of(job->cmd),
		.n_insns = job->stats.n_insns,
		.n_mem_insns = job->stats.n_mem_insns,
		.n_bytes = job->stats.n_sectors * SECTOR_BYTES,
		.sleep_ns = job->stats.sleep_ns,
	};

	return gsb_block_time_ns(&dev->info.arch, &work, &job->company);
}

/* The first block that fails, in device time, ends its grid in that instant. */
static void fail_launch(struct emu_device *dev, struct emu_cmd *cmd, CUresult result,
			const char *detail)
{
	fail_cmd(cmd, result, detail);
	if (cmd->grid && gsb_machine_kill(dev->machine, cmd->grid, dev->now_ns))
		cmd->grid = NULL;
}

/* What blocks of a failed launch have done depends on the workers' pace: they do not count. */
static void count_block(struct emu_device *dev, struct emu_cmd *cmd, const struct emu_job *job)
{
	if (cmd->result != CUDA_SUCCESS)
		return;
	cmd->n_blocks++;
	cmd->n_insns += job->stats.n_insns;
	if (job->result != CUDA_SUCCESS)
		fail_launch(dev, cmd, job->result, job->detail);
}

static void end_block(struct emu_device *dev, const struct gsb_machine_block *b)
{
	struct emu_job *job = dev->job_of_slot[b->slot];
	struct emu_cmd *cmd = b->owner;

	dev->job_of_slot[b->slot] = NULL;
	dev->resident_warps -= warps_of(cmd);
	if (b->is_last)
		cmd->grid = NULL;
	if (job && job->executed) {
		count_block(dev, cmd, job);
		free_job(dev, job);
	} else if (job) {
		abandon(dev, job);
	}
	if (!cmd->grid)
		end_cmd(dev, cmd);
}

/* ---- copies and fills ---- */

static uint64_t copy_bytes(const struct emu_cmd *cmd)
{
	if (cmd->kind == GSB_CMD_FILL)
		return cmd->fill.width * cmd->fill.elem_bytes * cmd->fill.height;
	return cmd->copy.width * cmd->copy.height;
}

/* Inside the device each byte is read and written. */
static uint64_t copy_time(const struct emu_device *dev, const struct emu_cmd *cmd)
{
	unsigned __int128 bytes = copy_bytes(cmd);
	uint64_t rate = HOST_LINK_BYTES_PER_S;

	if (cmd->kind == GSB_CMD_FILL)
		rate = dev->info.arch.mem_bandwidth_bytes_per_s;
	else if (emu_is_device(cmd->space, cmd->copy.dst) &&
		 emu_is_device(cmd->space, cmd->copy.src))
		rate = dev->info.arch.mem_bandwidth_bytes_per_s / 2;
	return COPY_LATENCY_NS + (uint64_t)(bytes * NS_PER_S / (rate ? rate : 1));
}

static bool find_engine(const struct emu_device *dev, unsigned *engine)
{
	for (unsigned i = 0; i < GSB_N_COPY_ENGINES; i++) {
		if (dev->engines[i])
			continue;
		*engine = i;
		return true;
	}
	return false;
}

static void start_copy(struct emu_device *dev, struct emu_cmd *cmd)
{
	unsigned engine = 0;
	struct emu_job *job;

	cmd->state = EMU_RUNNING;
	cmd->started = true;
	cmd->start_ns = dev->now_ns;
	if (!emu_touch_begin(cmd->space, cmd)) {
		fail_cmd(cmd, CUDA_ERROR_ILLEGAL_ADDRESS, "copy of memory that is not allocated");
		end_cmd(dev, cmd);
		return;
	}
	job = new_job(dev, cmd);
	if (!job) {
		emu_touch_end(cmd->space);
		fail_cmd(cmd, CUDA_ERROR_OUT_OF_MEMORY, "no host memory for a copy");
		end_cmd(dev, cmd);
		return;
	}
	find_engine(dev, &engine);
	dev->engines[engine] = cmd;
	cmd->flip = emu_flip_wanted(dev, cmd);
	cmd->end_ns = dev->real_clock ? UINT64_MAX : dev->now_ns + copy_time(dev, cmd);
	job->bound_ns = cmd->end_ns;
	emu_worker_add(dev, job);
}

/* ---- starts ---- */

static bool may_start(const struct emu_device *dev, const struct gsb_queue *queue)
{
	const struct emu_cmd *head = STAILQ_FIRST(&queue->cmds);
	unsigned engine;

	if (!head || head->state != EMU_WAITING)
		return false;
	if (head->cancelled)
		return true;
	if (queue->ready_ns > dev->now_ns)
		return false;
	return (head->kind != GSB_CMD_COPY && head->kind != GSB_CMD_FILL) ||
	       find_engine(dev, &engine);
}

/* The oldest head that may start now; NULL when there is none. */
static struct emu_cmd *next_start(struct emu_device *dev)
{
	struct emu_cmd *best = NULL;
	struct gsb_queue *queue;

	LIST_FOREACH(queue, &dev->queues, link)
	if (may_start(dev, queue) && (!best || STAILQ_FIRST(&queue->cmds)->seq < best->seq))
		best = STAILQ_FIRST(&queue->cmds);
	return best;
}

static void start_cmd(struct emu_device *dev, struct emu_cmd *cmd)
{
	if (cmd->cancelled) {
		fail_cmd(cmd, RESULT_OF_CANCELLATION, "cancelled before it started");
		end_cmd(dev, cmd);
	} else if (cmd->kind == GSB_CMD_LAUNCH) {
		start_launch(dev, cmd);
	} else if (cmd->kind == GSB_CMD_MARK) {
		end_cmd(dev, cmd);
	} else {
		start_copy(dev, cmd);
	}
}

/* ---- time ---- */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When something happens next, of all that is known; UINT64_MAX: nothing is. */
static uint64_t next_event(const struct emu_device *dev)
{
	const struct gsb_queue *queue;
	uint64_t t = UINT64_MAX, end;

	if (gsb_machine_next_end(dev->machine, &end))
		t = end;
	for (unsigned i = 0; i < GSB_N_COPY_ENGINES; i++)
		if (dev->engines[i])
			t = min_u64(t, dev->engines[i]->end_ns);
	LIST_FOREACH(queue, &dev->queues, link)
	{
		const struct emu_cmd *head = STAILQ_FIRST(&queue->cmds);

		if (head && head->state == EMU_WAITING && queue->ready_ns > dev->now_ns)
			t = min_u64(t, queue->ready_ns);
	}
	return t;
}

/* False when a job that is not executed could end at t or before; it becomes the blocker, and its
 * next slice calls again. A block that waits for another, or that never ends, so holds back no more
 * than what it has done so far: time goes on beside it. */
static bool may_pass(struct emu_device *dev, uint64_t t)
{
	const struct emu_job *job;

	dev->blocker = NULL;
	TAILQ_FOREACH(job, &dev->open, open)
	{
		if (job->bound_ns > t)
			continue;
		dev->blocker = job;
		return false;
	}
	return true;
}

/* Everything that ends at this instant. */
static void take_events(struct emu_device *dev)
{
	struct gsb_machine_block b;

	while (gsb_machine_end(dev->machine, dev->now_ns, &b))
		end_block(dev, &b);
	for (unsigned i = 0; i < GSB_N_COPY_ENGINES; i++)
		if (dev->engines[i] && dev->engines[i]->end_ns <= dev->now_ns)
			end_cmd(dev, dev->engines[i]);
}

/* To the next event, if time may run that far; true when it is there. */
static bool pass_time(struct emu_device *dev)
{
	uint64_t t = next_event(dev);

	if (t <= dev->now_ns)
		return true;
	if (t == UINT64_MAX || (!dev->to_completion && t > dev->target_ns)) {
		if (dev->target_ns > dev->now_ns && may_pass(dev, dev->target_ns))
			dev->now_ns = dev->target_ns;
		else if (dev->to_completion)
			dev->blocker = TAILQ_FIRST(&dev->open);
		return false;
	}
	if (!may_pass(dev, t))
		return false;
	dev->now_ns = t;
	return true;
}

void emu_clock_step(struct emu_device *dev)
{
	struct emu_cmd *cmd;

	do {
		if (dev->real_clock)
			dev->now_ns = gsb_clock_ns();
		take_events(dev);
		while ((cmd = next_start(dev)))
			start_cmd(dev, cmd);
		place_blocks(dev);
	} while (pass_time(dev));
}

/* ---- what makes a step ---- */

void emu_clock_issue(struct emu_device *dev, struct emu_cmd *cmd)
{
	struct gsb_queue *queue = cmd->queue;

	cmd->seq = dev->next_seq++;
	STAILQ_INSERT_TAIL(&queue->cmds, cmd, link);
	dev->n_in_flight++;
	if (STAILQ_FIRST(&queue->cmds) == cmd)
		head_changed(dev, queue);
	emu_clock_step(dev);
}

static void cancel_copy(struct emu_device *dev, struct emu_cmd *cmd)
{
	struct emu_job *job, *next;

	for (job = TAILQ_FIRST(&dev->open); job; job = next) {
		next = TAILQ_NEXT(job, open);
		if (job->cmd == cmd)
			abandon(dev, job);
	}
	end_cmd(dev, cmd);
}

static void cancel_running(struct emu_device *dev, struct emu_cmd *cmd)
{
	if (cmd->kind != GSB_CMD_LAUNCH) {
		fail_cmd(cmd, RESULT_OF_CANCELLATION, "cancelled while it ran");
		cancel_copy(dev, cmd);
		return;
	}
	fail_launch(dev, cmd, RESULT_OF_CANCELLATION, "cancelled while it ran");
	if (!cmd->grid)
		end_cmd(dev, cmd);
}

void emu_clock_cancel(struct emu_device *dev, const struct gsb_space *space)
{
	struct gsb_queue *queue;
	struct emu_cmd *cmd, *next;

	LIST_FOREACH(queue, &dev->queues, link)
	{
		for (cmd = STAILQ_FIRST(&queue->cmds); cmd; cmd = next) {
			next = STAILQ_NEXT(cmd, link);
			if (cmd->space != space)
				continue;
			cmd->cancelled = true;
			if (cmd->state == EMU_RUNNING)
				cancel_running(dev, cmd);
		}
	}
	emu_clock_step(dev);
}

static void set_stats(struct emu_job *job)
{
	if (job->block)
		job->stats = *gsb_emu_block_stats(job->block);
}

void emu_clock_slice_done(struct emu_device *dev, struct emu_job *job)
{
	bool was_blocker = dev->blocker == job;

	job->running = false;
	if (job->abandoned) {
		abandoned_job_came_back(dev, job);
		emu_clock_step(dev);
		return;
	}
	set_stats(job);
	job->bound_ns = job->start_ns + block_time(dev, job);
	emu_worker_add(dev, job);
	if (was_blocker)
		emu_clock_step(dev);
}

static void copy_executed(struct emu_device *dev, struct emu_job *job)
{
	if (dev->real_clock)
		job->cmd->end_ns = gsb_clock_ns();
	close_job(dev, job);
	free_job(dev, job);
}

static void block_executed(struct emu_device *dev, struct emu_job *job)
{
	set_stats(job);
	close_job(dev, job);
	gsb_machine_set_end(dev->machine, job->slot,
			    dev->real_clock ? gsb_clock_ns()
					    : job->start_ns + block_time(dev, job));
}

void emu_clock_job_done(struct emu_device *dev, struct emu_job *job)
{
	bool step = dev->real_clock || job->abandoned || dev->blocker == job;

	job->running = false;
	if (job->abandoned)
		abandoned_job_came_back(dev, job);
	else if (job->cmd->kind == GSB_CMD_LAUNCH)
		block_executed(dev, job);
	else
		copy_executed(dev, job);
	if (step)
		emu_clock_step(dev);
}
