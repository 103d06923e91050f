/*
 * clock.c - the simulation: which command starts when, where its blocks go, when it has ended.
 *
 * step() does what can be done at this instant (start heads of queues, place blocks), then looks for
 * the next event in device time: a block's end, a copy's end, a head whose time has come. It goes there
 * if somebody asked for time to pass and no open job could end before. Whatever changes one of these
 * conditions calls it again: an issue, an advance, a worker that has executed the job that time was
 * waiting for.
 *
 * Events of one instant are taken in a fixed order: ends of blocks in the order of placement, copies
 * by engine, then starts in the order of issue. With a real clock time is read instead of computed,
 * and an end is known when it has happened; the rest is the same.
 *
 * A step is one: nobody else sees half of it, and what is issued, cancelled or brought back waits for its end. Only the execution of
 * blocks begins before, with the first that it places, for that has no part in device time: what a block has done
 * counts when it is brought back.
 *
 * Between two events the speeds of all blocks stay what they are (model/time/progress.h). When they change, so do the ends of
 * blocks that have been executed, and the bounds of those that have not.
 */
#include "device/emu/clock/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "device/emu/clock/command.h"
#include "device/emu/clock/copy.h"
#include "device/emu/clock/launch.h"

#define RESULT_OF_CANCELLATION CUDA_ERROR_CONTEXT_IS_DESTROYED

/* ---- starts ---- */

static bool may_start(const struct emu_clock *c, const struct gsb_queue *queue)
{
	const struct emu_cmd *head = STAILQ_FIRST(&queue->cmds);
	unsigned engine;

	if (!head || head->state != EMU_WAITING)
		return false;
	if (head->cancelled)
		return true;
	if (queue->ready_ns > c->now_ns)
		return false;
	return (head->kind != GSB_CMD_COPY && head->kind != GSB_CMD_FILL) ||
	       emu_copy_find_engine(c, &engine);
}

/* The oldest head that may start now; NULL when there is none. */
static struct emu_cmd *next_start(struct emu_clock *c)
{
	struct emu_cmd *best = NULL;
	struct gsb_queue *queue;

	LIST_FOREACH(queue, &c->queues, link)
	if (may_start(c, queue) && (!best || STAILQ_FIRST(&queue->cmds)->seq < best->seq))
		best = STAILQ_FIRST(&queue->cmds);
	return best;
}

static void start_cmd(struct emu_clock *c, struct emu_cmd *cmd)
{
	if (cmd->cancelled) {
		emu_cmd_fail(cmd, RESULT_OF_CANCELLATION, "cancelled before it started");
		emu_cmd_end(c, cmd);
	} else if (cmd->kind == GSB_CMD_LAUNCH) {
		emu_launch_start(c, cmd);
	} else {
		emu_copy_start(c, cmd);
	}
}

/* ---- time ---- */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When something happens next, of all that is known; UINT64_MAX: nothing is. */
static uint64_t next_event(const struct emu_clock *c)
{
	const struct gsb_queue *queue;
	uint64_t t = UINT64_MAX, end;

	if (gsb_machine_next_end(c->machine, &end))
		t = end;
	for (unsigned i = 0; i < GSB_N_COPY_ENGINES; i++)
		if (c->engines[i])
			t = min_u64(t, c->engines[i]->end_ns);
	LIST_FOREACH(queue, &c->queues, link)
	{
		const struct emu_cmd *head = STAILQ_FIRST(&queue->cmds);

		if (head && head->state == EMU_WAITING && queue->ready_ns > c->now_ns)
			t = min_u64(t, queue->ready_ns);
	}
	return t;
}

/* Of jobs that may end as early as this one the last, since jobs are executed in their order: what the others did lets no
 * time pass before it is done, and nobody need look. */
static const struct emu_job *last_with_bound_of(const struct emu_clock *c,
						const struct emu_job *job)
{
	const struct emu_job *last = TAILQ_LAST(&c->open, emu_jobs);

	return last->bound_ns == job->bound_ns ? last : job;
}

/* False when a job that is not executed could end at t or before; one becomes the blocker, and its
 * next slice calls again. A block that waits for another, or that never ends, so holds back no more
 * than what it has done so far: time goes on beside it. */
static bool may_pass(struct emu_clock *c, uint64_t t)
{
	const struct emu_job *job;

	c->blocker = NULL;
	TAILQ_FOREACH(job, &c->open, open)
	{
		if (job->bound_ns > t)
			continue;
		c->blocker = emu_job_leader(last_with_bound_of(c, job));
		return false;
	}
	return true;
}

/* Everything that ends at this instant. */
static void take_events(struct emu_clock *c)
{
	struct gsb_machine_block b;

	while (gsb_machine_end(c->machine, c->now_ns, &b)) {
		if (b.soon != GSB_NO_SLOT)
			gsb_prefetch(c->job_of_slot[b.soon], EMU_JOB_END_BYTES);
		emu_launch_end_block(c, &b);
	}
	for (unsigned i = 0; i < GSB_N_COPY_ENGINES; i++)
		if (c->engines[i] && c->engines[i]->end_ns <= c->now_ns)
			emu_cmd_end(c, c->engines[i]);
}

/* Where time is to stand, if nothing completes before; UINT64_MAX: nowhere. */
static uint64_t horizon(const struct emu_clock *c)
{
	return c->to_completion && c->until_ns > c->target_ns ? c->until_ns : c->target_ns;
}

/* Up to there, where nothing happens before that is known. */
static void pass_idly(struct emu_clock *c)
{
	uint64_t far = horizon(c);

	if (far == UINT64_MAX)
		far = c->target_ns;
	c->blocker = NULL; /* the last one may have gone */
	if (far > c->now_ns && may_pass(c, far))
		c->now_ns = far;
	if (c->to_completion && c->now_ns >= c->until_ns) {
		c->to_completion = false;
		emu_signal_engine(c);
	}
	if (c->to_completion && !c->blocker) /* whose end is to be noticed */
		c->blocker = TAILQ_EMPTY(&c->open) ? NULL : emu_job_leader(TAILQ_FIRST(&c->open));
}

/* To the next event, if time may run that far; true when it is there. */
static bool pass_time(struct emu_clock *c)
{
	uint64_t t = next_event(c);

	if (t <= c->now_ns)
		return true;
	if (t == UINT64_MAX || t > horizon(c)) {
		pass_idly(c);
		return false;
	}
	if (!may_pass(c, t))
		return false;
	c->now_ns = t;
	return true;
}

static void step(struct emu_clock *c)
{
	struct emu_cmd *cmd;

	do {
		if (c->real)
			c->now_ns = gsb_clock_ns();
		take_events(c);
		while ((cmd = next_start(c)))
			start_cmd(c, cmd);
		emu_launch_place(c);
	} while (pass_time(c));
}

/* ---- what makes a step ---- */

int emu_clock_check(struct emu_clock *c, const struct gsb_machine_submit *submit)
{
	return gsb_machine_check(c->machine, submit);
}

int emu_clock_issue(struct emu_clock *c, struct emu_cmd *cmd)
{
	struct gsb_queue *queue = cmd->queue;
	int err;

	pthread_mutex_lock(&c->lock);
	err = gsb_done_reserve(&c->done, c->n_in_flight + 1);
	if (!err) {
		cmd->clock = c;
		cmd->seq = cmd->launch.grid_id = c->next_seq++;
		STAILQ_INSERT_TAIL(&queue->cmds, cmd, link);
		c->n_in_flight++;
		if (STAILQ_FIRST(&queue->cmds) == cmd)
			emu_head_changed(c, queue);
		step(c);
	}
	pthread_mutex_unlock(&c->lock);
	return err;
}

static void cancel_running(struct emu_clock *c, struct emu_cmd *cmd)
{
	if (cmd->kind != GSB_CMD_LAUNCH) {
		emu_cmd_fail(cmd, RESULT_OF_CANCELLATION, "cancelled while it ran");
		emu_copy_cancel(c, cmd);
		return;
	}
	emu_launch_fail(c, cmd, RESULT_OF_CANCELLATION, "cancelled while it ran");
	if (!cmd->grid)
		emu_cmd_end(c, cmd);
}

void emu_clock_cancel(struct emu_clock *c, const struct gsb_space *space)
{
	struct gsb_queue *queue;
	struct emu_cmd *cmd, *next;

	pthread_mutex_lock(&c->lock);
	LIST_FOREACH(queue, &c->queues, link)
	{
		for (cmd = STAILQ_FIRST(&queue->cmds); cmd; cmd = next) {
			next = STAILQ_NEXT(cmd, link);
			if (cmd->space != space)
				continue;
			cmd->cancelled = true;
			if (cmd->state == EMU_RUNNING)
				cancel_running(c, cmd);
		}
	}
	step(c);
	pthread_mutex_unlock(&c->lock);
}

bool emu_clock_is_busy(struct emu_clock *c, const struct gsb_space *space)
{
	const struct gsb_queue *queue;
	const struct emu_cmd *cmd;
	bool busy = false;

	pthread_mutex_lock(&c->lock);
	LIST_FOREACH(queue, &c->queues, link)
	STAILQ_FOREACH(cmd, &queue->cmds, link)
	busy |= cmd->space == space;
	pthread_mutex_unlock(&c->lock);
	return busy;
}

static void slice_done(struct emu_clock *c, struct emu_job *job)
{
	for (struct emu_job *each = job; each; each = each->mate)
		if (each->placed)
			emu_launch_set_bound(each, emu_launch_work_ns(each));
	emu_worker_add(&c->workers, job);
}

static void copy_executed(struct emu_clock *c, struct emu_job *job)
{
	if (c->real)
		job->cmd->end_ns = gsb_clock_ns();
	emu_job_close(c, job);
	emu_job_free(c, job);
}

static void block_executed(struct emu_clock *c, struct emu_job *job)
{
	if (!job->placed) {
		emu_job_set_executed(job);
		return;
	}
	for (; job; job = job->mate) {
		emu_job_close(c, job);
		emu_launch_set_end(c, job);
	}
}

/* Of all that a worker tells of, time is looked at once. */
static void on_slice(void *ctx, struct emu_job *job, bool more, bool last)
{
	struct emu_clock *c = ctx;

	c->due |= job->abandoned || c->blocker == job || (c->real && !more);
	if (job->abandoned)
		emu_job_came_back(c, job);
	else if (more)
		slice_done(c, job);
	else if (job->cmd->kind == GSB_CMD_LAUNCH)
		block_executed(c, job);
	else
		copy_executed(c, job);
	if (last && c->due) {
		c->due = false;
		step(c);
	}
}

uint64_t emu_clock_now_ns(struct emu_clock *c)
{
	uint64_t now;

	if (c->real)
		return gsb_clock_ns();
	pthread_mutex_lock(&c->lock);
	now = c->now_ns;
	pthread_mutex_unlock(&c->lock);
	return now;
}

void emu_clock_advance(struct emu_clock *c, uint64_t until)
{
	pthread_mutex_lock(&c->lock);
	if (c->n_in_flight && !c->real) {
		c->to_completion = true;
		c->until_ns = until;
		step(c);
	}
	pthread_mutex_unlock(&c->lock);
}

void emu_clock_advance_to(struct emu_clock *c, uint64_t now)
{
	pthread_mutex_lock(&c->lock);
	if (now > c->target_ns && !c->real) {
		c->target_ns = now;
		step(c);
	}
	pthread_mutex_unlock(&c->lock);
}

unsigned emu_clock_poll(struct emu_clock *c, struct gsb_completion *out, unsigned max)
{
	uint64_t count;
	unsigned n;

	pthread_mutex_lock(&c->lock);
	n = gsb_done_pop(&c->done, out, max);
	if (c->signalled && read(c->event_fd, &count, sizeof(count)) == sizeof(count))
		c->signalled = false;
	c->armed = !n;
	pthread_mutex_unlock(&c->lock);
	return n;
}

/* ---- queues ---- */

void emu_clock_add_queue(struct emu_clock *c, struct gsb_queue *queue)
{
	STAILQ_INIT(&queue->cmds);
	pthread_mutex_lock(&c->lock);
	LIST_INSERT_HEAD(&c->queues, queue, link);
	pthread_mutex_unlock(&c->lock);
}

void emu_clock_remove_queue(struct emu_clock *c, struct gsb_queue *queue)
{
	pthread_mutex_lock(&c->lock);
	LIST_REMOVE(queue, link);
	pthread_mutex_unlock(&c->lock);
}

uint64_t emu_clock_ran_ns(struct emu_clock *c, const struct gsb_queue *queue)
{
	const struct emu_cmd *head;
	uint64_t ns;

	pthread_mutex_lock(&c->lock);
	head = STAILQ_FIRST(&queue->cmds);
	ns = head ? emu_worker_ran_ns(&c->workers, head) : 0;
	pthread_mutex_unlock(&c->lock);
	return ns;
}

/* ---- life ---- */

/* What emu_clock_finish() takes down again, whatever of it is there. */
static int build(struct emu_clock *c, unsigned n_workers)
{
	int err = gsb_machine_create(c->arch, &gsb_rules_hardware, &c->machine);

	if (err)
		return err;
	c->job_of_slot =
		calloc((size_t)c->arch->n_sms * c->arch->max_warps, sizeof(*c->job_of_slot));
	if (!c->job_of_slot || gsb_progress_create(c->arch, &c->interference, &c->progress))
		return -ENOMEM;
	c->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->event_fd < 0)
		return -errno;
	return emu_workers_start(&c->workers, n_workers);
}

int emu_clock_init(struct emu_clock *c, const struct gsb_arch *arch,
		   const struct gsb_interference *interference, bool real, unsigned n_workers)
{
	int err;

	*c = (struct emu_clock){
		.arch = arch, .interference = *interference, .real = real, .event_fd = -1};
	emu_lock_init(&c->lock);
	LIST_INIT(&c->queues);
	TAILQ_INIT(&c->open);
	emu_workers_init(&c->workers, &c->lock, on_slice, c);
	err = build(c, n_workers);
	if (err)
		emu_clock_finish(c);
	return err;
}

void emu_clock_finish(struct emu_clock *c)
{
	emu_workers_finish(&c->workers);
	emu_jobs_finish(c);
	gsb_machine_destroy(c->machine);
	free(c->job_of_slot);
	gsb_progress_destroy(c->progress);
	gsb_done_finish(&c->done);
	if (c->event_fd >= 0)
		close(c->event_fd);
	pthread_mutex_destroy(&c->lock);
}
