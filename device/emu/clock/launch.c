/*
 * launch.c - see launch.h.
 */
#include "device/emu/clock/launch.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "device/emu/clock/command.h"
#include "device/emu/clock/report.h"

#define SECTOR_BYTES 32 /* what gsb_emu_stats counts */
#define TOGETHER     16 /* blocks that workers get at once */
#define AHEAD \
	64 /* blocks that are not placed yet, a worker: what it executes while a thousand end */

void emu_launch_start(struct emu_clock *c, struct emu_cmd *cmd)
{
	cmd->state = EMU_RUNNING;
	cmd->in_clusters =
		emu_cmd_cluster_blocks(cmd) > 1 && gsb_emu_code_knows_cluster(cmd->launch.code);
	cmd->may_be_ahead =
		!c->real && !cmd->in_clusters && !gsb_emu_code_knows_place(cmd->launch.code);
	TAILQ_INIT(&cmd->ahead);
	cmd->placed = (struct gsb_progress_grid){.profile = cmd->profile,
						 .block_warps = emu_cmd_block_warps(cmd)};
	/* Geometry was checked at issue: what is left is memory. */
	if (gsb_machine_submit(c->machine, &cmd->submit, &cmd->grid)) {
		emu_cmd_fail(cmd, CUDA_ERROR_OUT_OF_MEMORY, "no host memory for the grid");
		emu_cmd_end(c, cmd);
	}
}

void emu_launch_set_bound(struct emu_job *job, uint64_t work_ns)
{
	job->bound_work_ns = work_ns;
	job->bound_ns = gsb_progress_end_ns(&job->progress, work_ns);
}

/* Blocks on their way to the workers. */
struct batch {
	struct emu_jobs jobs;
	unsigned n;
};

static void hand_out(struct emu_clock *c, struct batch *b)
{
	if (b->n)
		emu_worker_add_all(&c->workers, &b->jobs, b->n);
	b->n = 0;
}

static void add_to_batch(struct emu_clock *c, struct batch *b, struct emu_job *job)
{
	TAILQ_INSERT_TAIL(&b->jobs, job, ready);
	if (++b->n == TOGETHER)
		hand_out(c, b);
}

/* NULL without memory. */
static struct emu_job *new_block(struct emu_clock *c, struct emu_cmd *cmd, uint64_t index,
				 struct emu_jobs *list)
{
	struct emu_job *job = emu_job_new(c, cmd, list);

	if (!job)
		return NULL;
	job->index = index;
	return job;
}

static void place_job(struct emu_clock *c, struct emu_job *job, const struct gsb_machine_block *b)
{
	gsb_progress_add(c->progress, &job->cmd->placed, &job->progress, b->sm, c->now_ns);
	job->placed = true;
	job->slot = b->slot;
	job->start_ns = c->now_ns;
}

/* The blocks of a cluster are placed one after the other; with the last of them workers get the first, which stands for all. */
static void join_cluster(struct emu_clock *c, struct emu_job *job, struct batch *new)
{
	struct emu_cmd *cmd = job->cmd;
	const uint32_t n = emu_cmd_cluster_blocks(cmd);
	struct emu_job *before = cmd->last_placed;

	job->leader = before ? before->leader : job;
	if (before)
		before->mate = job;
	cmd->last_placed = job->index % n + 1 < n ? job : NULL;
	if (cmd->last_placed)
		return;
	job->leader->handed_out = true;
	add_to_batch(c, new, job->leader);
}

/* A cluster that lacks one of its blocks never runs. */
static void lack_memory(struct emu_clock *c, struct emu_cmd *cmd, uint32_t slot)
{
	if (cmd->in_clusters) {
		emu_launch_fail(c, cmd, CUDA_ERROR_OUT_OF_MEMORY, "no host memory for a block");
		return;
	}
	emu_cmd_fail(cmd, CUDA_ERROR_OUT_OF_MEMORY, "no host memory for a block");
	gsb_machine_set_end(c->machine, slot, c->now_ns + 1);
}

/* Workers get it now, or have it. Without memory it ends soon. */
static void start_block(struct emu_clock *c, const struct gsb_machine_block *b, struct batch *new)
{
	struct emu_cmd *cmd = b->owner;
	struct emu_job *job = TAILQ_FIRST(&cmd->ahead);
	bool was_ahead = job;

	if (job) {
		TAILQ_REMOVE(&cmd->ahead, job, open);
		TAILQ_INSERT_TAIL(&c->open, job, open);
	} else {
		job = new_block(c, cmd, b->index, &c->open);
	}
	c->job_of_slot[b->slot] = job;
	if (!cmd->started)
		cmd->start_ns = c->now_ns;
	cmd->started = true;
	if (!job) {
		lack_memory(c, cmd, b->slot);
		return;
	}
	place_job(c, job, b);
	if (cmd->in_clusters)
		join_cluster(c, job, new);
	else if (!was_ahead)
		add_to_batch(c, new, job);
}

/* As they are placed, so that workers begin while the rest is: in the order of placement, which is that of block numbers. */
static void start_blocks(struct emu_clock *c)
{
	struct batch new = {.jobs = TAILQ_HEAD_INITIALIZER(new.jobs)};
	struct gsb_machine_block b;

	while (gsb_machine_place(c->machine, &b))
		start_block(c, &b, &new);
	hand_out(c, &new);
}

/* More of the grid whose block was placed last, behind those that workers have. */
static void go_ahead(struct emu_clock *c, const struct emu_job *placed)
{
	struct batch new = {.jobs = TAILQ_HEAD_INITIALIZER(new.jobs)};
	struct emu_cmd *cmd = placed->cmd;
	const struct emu_job *last = TAILQ_LAST(&cmd->ahead, emu_jobs);
	uint64_t next = (last ? last : placed)->index + 1;
	uint64_t end = placed->index + 1 + AHEAD * c->workers.n_threads;

	if (end > cmd->submit.kernel.n_blocks)
		end = cmd->submit.kernel.n_blocks;
	for (; cmd->may_be_ahead && next < end; next++) {
		struct emu_job *job = new_block(c, cmd, next, &cmd->ahead);

		if (!job)
			break;
		add_to_batch(c, &new, job);
	}
	hand_out(c, &new);
}

static void drop_ahead(struct emu_clock *c, struct emu_cmd *cmd)
{
	struct emu_job *job;

	while ((job = TAILQ_FIRST(&cmd->ahead))) {
		TAILQ_REMOVE(&cmd->ahead, job, open);
		if (job->executed) {
			emu_job_free(c, job);
			continue;
		}
		TAILQ_INSERT_TAIL(&c->open, job, open);
		emu_job_abandon(c, job);
	}
}

/*
 * A block that fails may stop early, but not end so: what it takes least is known before it is executed, and time may
 * pass so far beside it. Without that, blocks that start one by one would be executed one by one.
 */
static void set_least(struct emu_job *job, const struct emu_job *before)
{
	const struct gsb_emu_stats least = {
		.n_insns = (uint64_t)gsb_emu_code_least_insns(job->cmd->launch.code) *
			   emu_cmd_block_warps(job->cmd),
	};

	/* Mostly the one placed before it has the same to do in the same company. */
	if (before && before->cmd == job->cmd &&
	    before->company.sm_warps == job->company.sm_warps &&
	    before->company.device_warps == job->company.device_warps)
		job->least_ns = before->least_ns;
	else
		job->least_ns = emu_launch_block_time(job, &least);
	job->work_ns = job->least_ns;
	emu_launch_set_bound(job, job->least_ns);
}

/* The block has another speed from now on. */
static void on_change(void *ctx, struct gsb_progress_block *block)
{
	struct emu_clock *c = ctx;
	struct emu_job *job = gsb_container_of(block, struct emu_job, progress);

	emu_launch_set_bound(job, job->bound_work_ns);
	if (job->executed)
		gsb_machine_set_end(c->machine, job->slot, job->bound_ns);
}

void emu_launch_set_end(struct emu_clock *c, struct emu_job *job)
{
	emu_launch_set_bound(job, emu_launch_work_ns(job));
	gsb_machine_set_end(c->machine, job->slot, c->real ? gsb_clock_ns() : job->bound_ns);
}

/* A block's company is all that was placed in its instant, whichever came first. Until that is known, no time is. */
void emu_launch_place(struct emu_clock *c)
{
	struct emu_job *job = TAILQ_LAST(&c->open, emu_jobs), *before = NULL, *next;

	start_blocks(c);
	if (!c->real)
		gsb_progress_settle(c->progress, c->now_ns, on_change, c);
	for (job = job ? TAILQ_NEXT(job, open) : TAILQ_FIRST(&c->open); job; job = next) {
		next = TAILQ_NEXT(job, open);
		job->company = gsb_progress_company(c->progress, &job->progress);
		set_least(job, before);
		atomic_store_explicit(&job->settled, true, memory_order_release);
		if (job->executed) {
			TAILQ_REMOVE(&c->open, job, open);
			emu_launch_set_end(c, job);
		}
		before = job;
	}
	if (before)
		go_ahead(c, before);
}

void emu_launch_wait_for_company(struct emu_job *job)
{
	if (atomic_load_explicit(&job->settled, memory_order_acquire))
		return;
	/* Whoever placed it has the lock until it is. */
	pthread_mutex_lock(&job->cmd->clock->lock);
	pthread_mutex_unlock(&job->cmd->clock->lock);
}

static struct gsb_block_work work_of(const struct emu_job *job, const struct gsb_emu_stats *done)
{
	return (struct gsb_block_work){
		.n_warps = emu_cmd_block_warps(job->cmd),
		.n_insns = done->n_insns,
		.n_alu = done->n_alu,
		.n_imul = done->n_imul,
		.n_sfu = done->n_sfu,
		.n_fp64 = done->n_fp64,
		.n_mem_insns = done->n_mem_insns,
		.n_shared = done->n_shared,
		.n_bytes = done->n_sectors * SECTOR_BYTES,
		.n_barriers = done->n_barriers,
		.sleep_ns = done->sleep_ns,
	};
}

uint64_t emu_launch_block_time(const struct emu_job *job, const struct gsb_emu_stats *done)
{
	const struct gsb_block_work work = work_of(job, done);

	return gsb_block_time_ns(job->cmd->clock->arch, &work, &job->company);
}

static void find_work_ns(struct emu_job *job)
{
	uint64_t ns = gsb_block_time_ns(job->cmd->clock->arch, &job->work, &job->company);

	job->work_ns = ns > job->least_ns ? ns : job->least_ns;
}

void emu_launch_set_work(struct emu_job *job, const struct gsb_emu_stats *done)
{
	job->work = work_of(job, done);
	job->is_behind = !atomic_load_explicit(&job->settled, memory_order_acquire);
	if (!job->is_behind)
		find_work_ns(job);
}

uint64_t emu_launch_work_ns(struct emu_job *job)
{
	if (job->is_behind)
		find_work_ns(job);
	job->is_behind = false;
	return job->work_ns;
}

void emu_launch_fail(struct emu_clock *c, struct emu_cmd *cmd, CUresult result, const char *detail)
{
	emu_cmd_fail(cmd, result, detail);
	drop_ahead(c, cmd);
	if (cmd->grid && gsb_machine_kill(c->machine, cmd->grid, c->now_ns))
		cmd->grid = NULL;
}

static const char *reason_of(const struct emu_cmd *cmd, const struct emu_job *job)
{
	if (cmd->report)
		return cmd->report->line;
	return job->no_state ? "no host memory for the state of a block" : "";
}

/* What blocks of a failed launch have done depends on the workers' pace: they do not count. */
static void count_block(struct emu_clock *c, struct emu_cmd *cmd, struct emu_job *job)
{
	if (cmd->result != CUDA_SUCCESS)
		return;
	gsb_block_profile_add(cmd->profile, &job->work);
	cmd->n_blocks++;
	cmd->n_insns += job->work.n_insns;
	cmd->blocks_ns += c->now_ns - job->start_ns;
	if (job->result == CUDA_SUCCESS)
		return;
	cmd->report = job->report;
	job->report = NULL;
	emu_launch_fail(c, cmd, job->result, reason_of(cmd, job));
}

void emu_launch_end_block(struct emu_clock *c, const struct gsb_machine_block *b)
{
	struct emu_job *job = c->job_of_slot[b->slot];
	struct emu_cmd *cmd = b->owner;

	c->job_of_slot[b->slot] = NULL;
	if (job)
		gsb_progress_remove(c->progress, &job->progress);
	if (b->is_last)
		cmd->grid = NULL;
	if (job && job->executed) {
		count_block(c, cmd, job);
		emu_job_free(c, job);
	} else if (job) {
		emu_job_abandon(c, job);
	}
	if (!cmd->grid)
		emu_cmd_end(c, cmd);
}
