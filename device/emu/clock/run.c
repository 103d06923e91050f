/*
 * run.c - see run.h.
 */
#include "device/emu/clock/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "base/compiler.h"
#include "device/emu/clock/launch.h"
#include "device/emu/clock/report.h"
#include "device/emu/clock/state.h"

/* Warp instructions: a millisecond or so. Long enough that a change of block does not count, short
 * enough that a dead tenant's kernel is gone soon. */
#define QUANTUM 200000

#define PAGE_BYTES  4096ull
#define CLEAR_BYTES (64ull << 20) /* below, a page that is had anew costs more than its zeroes */

bool emu_run_copy(struct emu_job *job, GSB_UNUSED struct gsb_emu_combiner *combiner)
{
	const struct gsb_cmd_copy *copy = &job->cmd->copy;

	/* A program may have one end lie in the other, though CUDA promises nothing of that. */
	for (uint64_t row = 0; row < copy->height; row++)
		memmove((void *)(uintptr_t)(copy->dst + row * copy->dst_pitch),
			(const void *)(uintptr_t)(copy->src + row * copy->src_pitch), copy->width);
	return false;
}

/* An element is written as one, so that a kernel that looks sees none half filled. */
static void fill_elements(uint64_t dst, uint64_t n, const struct gsb_cmd_fill *fill)
{
	uint32_t *p4 = (uint32_t *)(uintptr_t)dst;
	uint16_t *p2 = (uint16_t *)(uintptr_t)dst;

	if (fill->elem_bytes == 1)
		memset((void *)(uintptr_t)dst, (int)fill->value, n);
	else if (fill->elem_bytes == 2)
		for (uint64_t i = 0; i < n; i++)
			p2[i] = (uint16_t)fill->value;
	else
		for (uint64_t i = 0; i < n; i++)
			p4[i] = fill->value;
}

/*
 * Programs clear pools of many gigabytes, and use little of them: this machine need not have them. The
 * system takes whole pages back, and gives zeroes for them; false where it does not, as of memory that is
 * not of a file.
 */
static bool clear_pages(uint64_t from, uint64_t to)
{
	return !madvise((void *)(uintptr_t)from, to - from, MADV_REMOVE);
}

static void fill_row(uint64_t dst, const struct gsb_cmd_fill *fill)
{
	uint64_t end = dst + fill->width * fill->elem_bytes;
	uint64_t from = gsb_round_up(dst, PAGE_BYTES), to = end / PAGE_BYTES * PAGE_BYTES;

	if (fill->value || end - dst < CLEAR_BYTES || !clear_pages(from, to)) {
		fill_elements(dst, fill->width, fill);
		return;
	}
	fill_elements(dst, (from - dst) / fill->elem_bytes, fill);
	fill_elements(to, (end - to) / fill->elem_bytes, fill);
}

bool emu_run_fill(struct emu_job *job, GSB_UNUSED struct gsb_emu_combiner *combiner)
{
	const struct gsb_cmd_fill *fill = &job->cmd->fill;

	for (uint64_t row = 0; row < fill->height; row++)
		fill_row(fill->dst + row * fill->pitch, fill);
	return false;
}

/* Without memory for the report there is still the code of the fault. */
static void set_fault(struct emu_job *job, const struct gsb_emu_fault *fault)
{
	job->result = fault->result;
	job->report = malloc(sizeof(*job->report));
	if (job->report)
		emu_report_make(job->cmd->heap, &job->cmd->launch, fault, job->report);
}

static void on_print(void *ctx, const struct gsb_emu_text *text)
{
	struct emu_job *job = ctx;

	job->printed = true;
	emu_fifo_write(job->cmd->fifo, &job->said, text);
}

/* Kernels read the time at full speed: what others will cost is not known yet, and so it never passes the end of their block. */
static uint64_t elapsed(void *ctx, const struct gsb_emu_stats *done)
{
	emu_launch_wait_for_company(ctx);
	return emu_launch_block_time(ctx, done);
}

/* Linear index to coordinates; x runs fastest. */
static void find_axes(const uint32_t *n, uint64_t index, uint32_t *at)
{
	at[0] = (uint32_t)(index % n[0]);
	at[1] = (uint32_t)(index / n[0] % n[1]);
	at[2] = (uint32_t)(index / n[0] / n[1]);
}

static void find_clusterid(const struct gsb_emu_launch *l, uint64_t index, uint32_t *clusterid)
{
	const uint32_t n[3] = {l->grid[0] / l->cluster[0], l->grid[1] / l->cluster[1],
			       l->grid[2] / l->cluster[2]};

	find_axes(n, index, clusterid);
}

/* Blocks are placed cluster by cluster, and so they are counted. */
static void find_ctaid(const struct emu_cmd *cmd, uint64_t index, uint32_t *ctaid)
{
	const uint32_t *n = cmd->launch.cluster, size = cmd->submit.cluster;
	uint32_t of_cluster[3];

	if (size == 1) {
		find_axes(cmd->launch.grid, index, ctaid);
		return;
	}
	find_clusterid(&cmd->launch, index / size, of_cluster);
	find_axes(n, index % size, ctaid);
	for (int i = 0; i < 3; i++)
		ctaid[i] += of_cluster[i] * n[i];
}

static void set_time(struct emu_job *job)
{
	const uint64_t khz = job->cmd->clock->arch->clock_khz;

	gsb_emu_block_set_time(job->block, job->start_ns / 1000 * khz / 1000, job->start_ns);
	gsb_emu_block_set_pace(job->block, elapsed, job, khz);
}

static void no_state(struct emu_job *job, int err)
{
	job->result = err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_LAUNCH_FAILED;
	job->no_state = true;
}

/* One that may be ahead does not ask where it is, or when; perhaps nobody knows yet. */
static bool begin_block(struct emu_job *job)
{
	const struct emu_cmd *cmd = job->cmd;
	uint32_t ctaid[3];
	int err;

	find_ctaid(cmd, job->index, ctaid);
	err = gsb_emu_block_create(&cmd->launch, ctaid, cmd->may_be_ahead ? 0 : job->progress.sm,
				   &job->block);
	if (err) {
		no_state(job, err);
		return false;
	}
	gsb_emu_block_set_print(job->block, on_print, job);
	if (!cmd->may_be_ahead)
		set_time(job);
	return true;
}

/* Those of the cluster are the jobs from @leader on, by rank. */
static bool begin_cluster(struct emu_job *leader)
{
	uint32_t clusterid[3], smid[GSB_CLUSTER_MAX], rank = 0;
	int err;

	for (const struct emu_job *job = leader; job; job = job->mate)
		smid[rank++] = job->progress.sm;
	find_clusterid(&leader->cmd->launch, leader->index / rank, clusterid);
	err = gsb_emu_cluster_create(&leader->cmd->launch, clusterid, smid, &leader->cluster);
	if (err) {
		no_state(leader, err);
		return false;
	}
	rank = 0;
	for (struct emu_job *job = leader; job; job = job->mate) {
		job->block = gsb_emu_cluster_block(leader->cluster, rank++);
		gsb_emu_block_set_print(job->block, on_print, job);
		set_time(job);
	}
	return true;
}

static bool run_cluster(struct emu_job *leader, struct gsb_emu_combiner *combiner)
{
	enum gsb_emu_state state;
	uint32_t bad;

	if (!leader->cluster && !begin_cluster(leader))
		return false;
	for (struct emu_job *job = leader; job; job = job->mate)
		gsb_emu_block_set_combiner(job->block, combiner);
	state = gsb_emu_cluster_run(leader->cluster, QUANTUM, &bad);
	for (struct emu_job *job = leader; job; job = job->mate) {
		if (state == GSB_EMU_FAULT && !bad--)
			set_fault(job, gsb_emu_block_fault(job->block));
		emu_launch_set_work(job, gsb_emu_block_stats(job->block));
	}
	if (state == GSB_EMU_RUNNING || state == GSB_EMU_YIELDED)
		return true;
	for (struct emu_job *job = leader; job; job = job->mate)
		job->block = NULL;
	gsb_emu_cluster_destroy(leader->cluster);
	leader->cluster = NULL;
	return false;
}

bool emu_run_block(struct emu_job *job, struct gsb_emu_combiner *combiner)
{
	enum gsb_emu_state state;

	if (job->leader)
		return run_cluster(job, combiner);
	if (!job->block && !begin_block(job))
		return false;
	gsb_emu_block_set_combiner(job->block, combiner);
	state = gsb_emu_block_run(job->block, QUANTUM);
	if (state == GSB_EMU_FAULT)
		set_fault(job, gsb_emu_block_fault(job->block));
	/* Here, and not with the clock's lock, for which the other workers wait. */
	emu_launch_set_work(job, gsb_emu_block_stats(job->block));
	if (state == GSB_EMU_RUNNING || state == GSB_EMU_YIELDED)
		return true;
	gsb_emu_block_destroy(job->block);
	job->block = NULL;
	return false;
}
