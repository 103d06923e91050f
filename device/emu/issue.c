/*
 * issue.c - see issue.h. Whatever is wrong with a command is found here, before it is queued; what is
 * left for later is memory.
 */
#include "device/emu/issue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "device/emu/clock/command.h"
#include "device/emu/clock/run.h"
#include "device/emu/code/code.h"
#include "device/emu/module.h"
#include "device/emu/space.h"

enum {
	ENVREG_WORKSPACE_HI = 1,
	ENVREG_WORKSPACE_LO = 2,
};

static bool dims_ok(const uint32_t dims[3], uint64_t x_max, uint64_t y_max, uint64_t z_max)
{
	return dims[0] && dims[1] && dims[2] && dims[0] <= x_max && dims[1] <= y_max &&
	       dims[2] <= z_max;
}

static bool reqntid_ok(const uint32_t req[3], const uint32_t block[3])
{
	return !req[0] || (block[0] == req[0] && block[1] == (req[1] ? req[1] : 1) &&
			   block[2] == (req[2] ? req[2] : 1));
}

static int check_geometry(const struct gsb_arch *arch, const struct gsb_cmd_launch *l)
{
	const struct gsb_code_kernel *k = l->function->kernel;
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	uint64_t most = arch->max_threads_per_block;

	if (!dims_ok(l->grid, GSB_GRID_X_MAX, GSB_GRID_YZ_MAX, GSB_GRID_YZ_MAX) ||
	    !dims_ok(l->block, most, most, GSB_BLOCK_Z_MAX))
		return -EINVAL;
	if (k->layout.max_threads && k->layout.max_threads < most)
		most = k->layout.max_threads;
	if (threads > most || !reqntid_ok(k->entry->tuning.reqntid, l->block))
		return -EINVAL;
	if (k->layout.dynamic_offset + l->smem_bytes > arch->smem_per_block_optin_bytes)
		return -EINVAL;
	return l->params_bytes < k->entry->param_bytes ? -EINVAL : 0;
}

/* Those of the launch, or else of the kernel; a kernel that has its own takes no others. */
static int find_cluster(const struct gsb_cmd_launch *l, struct gsb_emu_launch *launch)
{
	const struct gsb_ptx_tuning *t = &l->function->kernel->entry->tuning;
	const uint32_t *own = t->reqnctapercluster;
	uint32_t size = 1;

	launch->explicit_cluster = l->cluster[0] || own[0];
	if (!launch->explicit_cluster && t->explicit_cluster)
		return -EINVAL;
	for (int i = 0; i < 3; i++) {
		uint32_t wanted = own[0] && !own[i] ? 1 : own[i];

		launch->cluster[i] = l->cluster[0] ? l->cluster[i] : wanted ? wanted : 1;
		size *= launch->cluster[i];
		if (!launch->cluster[i] || launch->cluster[i] > GSB_CLUSTER_MAX ||
		    l->grid[i] % launch->cluster[i] || (wanted && launch->cluster[i] != wanted))
			return -EINVAL;
	}
	return size > GSB_CLUSTER_MAX || (t->maxclusterrank && size > t->maxclusterrank) ? -EINVAL
											 : 0;
}

static void fill_submit(struct emu_cmd *cmd, const struct gsb_arch *arch,
			const struct gsb_cmd_launch *l)
{
	const struct gsb_code_kernel *k = l->function->kernel;
	uint32_t threads = l->block[0] * l->block[1] * l->block[2];

	cmd->submit = (struct gsb_machine_submit){
		.kernel = {.threads_per_block = threads,
			   .regs_per_thread = gsb_code_regs(k, arch, threads),
			   .smem_bytes = (uint32_t)k->layout.dynamic_offset + l->smem_bytes,
			   .n_blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2]},
		.sms = cmd->queue->sms,
		.priority = cmd->queue->priority,
		.cooperative = l->cooperative,
		.cluster = emu_cmd_cluster_blocks(cmd),
		.owner = cmd,
	};
}

static int copy_params(struct emu_cmd *cmd, const struct gsb_cmd_launch *l)
{
	uint8_t *to = cmd->inline_params;

	if (l->params_bytes > sizeof(cmd->inline_params)) {
		cmd->big_params = malloc(l->params_bytes);
		if (!cmd->big_params)
			return -ENOMEM;
		to = cmd->big_params;
	}
	if (l->params_bytes)
		memcpy(to, l->params, l->params_bytes);
	cmd->launch.params = to;
	cmd->launch.params_bytes = l->params_bytes;
	return 0;
}

static void fill_launch(struct gsb_space *space, struct emu_cmd *cmd,
			const struct gsb_cmd_launch *l)
{
	struct gsb_emu_launch *launch = &cmd->launch;

	launch->code = l->function->lowered;
	cmd->profile = &l->function->profile;
	launch->pool = &l->function->pool;
	launch->memory = &cmd->heap->memory;
	launch->heap = &space->kernel_heap;
	launch->stack_bytes = space->stack_bytes;
	launch->storage = &space->storage;
	launch->name = l->as ? l->as->kernel->entry->name : NULL;
	memcpy(launch->first, l->first, sizeof(launch->first));
	memcpy(launch->grid, l->grid, sizeof(launch->grid));
	memcpy(launch->block, l->block, sizeof(launch->block));
	launch->smem_bytes = l->smem_bytes;
	launch->n_sms = space->dev->info.arch.n_sms;
	launch->max_warps = space->dev->info.arch.max_warps;
	launch->watch = space->dev->watch.what ? &space->dev->watch : NULL;
}

/*
 * What a grid that waits for all its blocks counts them in. Compiled code finds the address, high half
 * first, in two registers of the driver's, and takes 0 for a launch that may not wait. The layout is that
 * of the toolkit's cooperative groups.
 */
static int give_workspace(struct emu_cmd *cmd, const struct gsb_cmd_launch *l)
{
	struct {
		uint32_t size, barrier;
	} * workspace;
	int err;

	if (!l->cooperative)
		return 0;
	err = emu_heap_lend(cmd->heap, &cmd->workspace);
	if (err)
		return err;
	workspace = (void *)(uintptr_t)cmd->workspace;
	workspace->size = sizeof(*workspace);
	cmd->launch.envreg[ENVREG_WORKSPACE_HI] = (uint32_t)(cmd->workspace >> 32);
	cmd->launch.envreg[ENVREG_WORKSPACE_LO] = (uint32_t)cmd->workspace;
	return 0;
}

static int prepare_launch(struct gsb_space *space, struct emu_cmd *cmd,
			  const struct gsb_cmd_launch *l)
{
	const struct gsb_arch *arch = &space->dev->info.arch;
	char log[GSB_PTX_ERROR_TEXT_BYTES];
	int err = check_geometry(arch, l);

	if (!err)
		err = find_cluster(l, &cmd->launch);
	if (err)
		return err;
	fill_submit(cmd, arch, l);
	if (emu_clock_check(&space->dev->clock, &cmd->submit))
		return -E2BIG;
	err = emu_function_prepare(l->function, log, sizeof(log));
	if (!err && l->function->lowered->uses_heap)
		err = emu_space_start_heap(space);
	if (err)
		return err;
	fill_launch(space, cmd, l);
	err = give_workspace(cmd, l);
	return err ? err : copy_params(cmd, l);
}

/* ---- how many clusters fit ---- */

static int count_clusters(struct emu_device *dev, const struct gsb_cmd_launch *l,
			  const uint32_t cluster[3], uint32_t *n)
{
	struct gsb_queue all = {.dev = dev};
	struct emu_cmd cmd = {.queue = &all};
	struct gsb_cmd_launch one = *l;
	uint64_t found;
	int err;

	memcpy(one.grid, cluster, sizeof(one.grid));
	memcpy(cmd.launch.cluster, cluster, sizeof(cmd.launch.cluster));
	fill_submit(&cmd, &dev->info.arch, &one);
	err = gsb_machine_clusters(dev->clock.machine, &cmd.submit, &found);
	if (!err)
		*n = (uint32_t)found;
	return err;
}

int emu_cluster_room(struct gsb_device *dev, const struct gsb_cmd_launch *l, uint32_t *n)
{
	struct gsb_cmd_launch one = *l;
	struct gsb_emu_launch launch;
	int err;

	for (int i = 0; i < 3; i++) {
		uint32_t own = l->function->kernel->entry->tuning.reqnctapercluster[i];

		one.grid[i] = l->cluster[0] ? l->cluster[i] : own ? own : 1;
	}
	err = find_cluster(&one, &launch);
	return err ? err : count_clusters(to_emu(dev), &one, launch.cluster, n);
}

/* Whatever the kernel was compiled for. */
int emu_cluster_size(struct gsb_device *dev, const struct gsb_cmd_launch *l, uint32_t *n)
{
	uint32_t size = GSB_CLUSTER_MAX, room = 0;

	while (size && (count_clusters(to_emu(dev), l, (uint32_t[]){size, 1, 1}, &room) || !room))
		size /= 2;
	*n = size;
	return 0;
}

static int check_transfer(const struct gsb_cmd *cmd)
{
	const struct gsb_cmd_fill *f = &cmd->fill;

	if (cmd->kind != GSB_CMD_FILL)
		return 0;
	if (f->elem_bytes != 1 && f->elem_bytes != 2 && f->elem_bytes != 4)
		return -EINVAL;
	return f->dst % f->elem_bytes || (f->height > 1 && f->pitch % f->elem_bytes) ? -EINVAL : 0;
}

static int build_cmd(struct gsb_queue *queue, const struct gsb_cmd *from, struct emu_cmd *cmd)
{
	cmd->queue = queue;
	cmd->space = from->space;
	cmd->heap = &from->space->heap;
	cmd->fifo = &from->space->fifo;
	cmd->kind = from->kind;
	cmd->cookie = from->cookie;
	cmd->not_before = from->not_before_ns;
	switch (from->kind) {
	case GSB_CMD_LAUNCH: return prepare_launch(from->space, cmd, &from->launch);
	case GSB_CMD_COPY: cmd->copy = from->copy; return check_transfer(from);
	case GSB_CMD_FILL: cmd->fill = from->fill; return check_transfer(from);
	}
	return -EINVAL;
}

int emu_issue_to_run(struct gsb_queue *queue, const struct gsb_cmd *from, emu_run *run)
{
	struct emu_cmd *cmd = calloc(1, sizeof(*cmd));
	int err;

	if (!cmd)
		return -ENOMEM;
	cmd->run = run;
	err = build_cmd(queue, from, cmd);
	if (!err)
		err = emu_clock_issue(&queue->dev->clock, cmd);
	if (err)
		emu_cmd_destroy(cmd);
	return err;
}

int emu_issue(struct gsb_queue *queue, const struct gsb_cmd *cmd)
{
	static emu_run *const runs[] = {
		[GSB_CMD_LAUNCH] = emu_run_block,
		[GSB_CMD_COPY] = emu_run_copy,
		[GSB_CMD_FILL] = emu_run_fill,
	};

	return emu_issue_to_run(queue, cmd,
				cmd->kind < GSB_ARRAY_LEN(runs) ? runs[cmd->kind] : NULL);
}
