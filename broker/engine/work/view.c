/*
 * view.c - see view.h.
 */
#include "broker/engine/work/view.h"

#include "base/hash.h"
#include <assert.h>

#include "broker/engine/code/code.h"
#include "broker/engine/tenant/tenant.h"
#include "broker/policy/estimate.h"

/* ---- one head ---- */

static uint64_t command_bytes(const struct gsb_cmd *cmd)
{
	if (cmd->kind == GSB_CMD_COPY)
		return cmd->copy.width * cmd->copy.height;
	return cmd->fill.width * cmd->fill.height * cmd->fill.elem_bytes;
}

static enum gsb_direction direction_of(const struct gsb_item *item)
{
	bool from_device = item->src_place == GSB_PLACE_DEVICE;
	bool to_device = item->dst_place == GSB_PLACE_DEVICE;

	if (item->cmd.kind == GSB_CMD_FILL || from_device == to_device)
		return GSB_COPY_ACROSS;
	return to_device ? GSB_COPY_UP : GSB_COPY_DOWN;
}

/* What it is in this geometry. The parameters are left out: they say what it works on. */
static uint64_t launch_hash(const struct gsb_item *item)
{
	const struct gsb_cmd_launch *l = &item->cmd.launch;
	uint64_t h = item->fn->hash;

	h = gsb_hash_number(h, (uint64_t)l->grid[0] << 32 | l->block[0]);
	h = gsb_hash_number(h, (uint64_t)l->grid[1] << 32 | l->block[1]);
	h = gsb_hash_number(h, (uint64_t)l->grid[2] << 32 | l->block[2]);
	return gsb_hash_number(h, l->smem_bytes) | 1;
}

static void predict(const struct gsb_item *item, struct gsb_work *w)
{
	const struct gsb_scheduler *s = item->scheduler;
	const struct gsb_arch *arch = &s->info->arch;

	w->code = item->fn->hash;
	w->launch = launch_hash(item);
	w->blocks_per_sm = gsb_code_blocks_per_sm(arch, item->fn, &item->cmd.launch);
	w->predicted = gsb_estimates_predict(s->estimates, arch, w);
}

static void describe_kernel(const struct gsb_item *item, struct gsb_work *w)
{
	w->kind = GSB_WORK_KERNEL;
	w->cooperative = item->cmd.launch.cooperative;
	w->kernel = gsb_code_needs(item->fn, &item->cmd.launch);
	if (item->scheduler->estimates)
		predict(item, w);
}

/* What a policy may choose from: slices, blocks that fetch tiles, for ever or for a while, and hints. */
static const struct gsb_shape offered[] = {
	{.form = GSB_SHAPE_SLICE, .n_slices = 2},
	{.form = GSB_SHAPE_SLICE, .n_slices = 4},
	{.form = GSB_SHAPE_SLICE, .n_slices = 8},
	{.form = GSB_SHAPE_SLICE, .n_slices = 32},
	{.form = GSB_SHAPE_PERSISTENT},
	{.form = GSB_SHAPE_PERSISTENT, .max_tiles = 1},
	{.form = GSB_SHAPE_PERSISTENT, .max_tiles = 8},
	{.form = GSB_SHAPE_HINT},
};

void gsb_view_offer(const struct gsb_item *item, struct gsb_head *h)
{
	const struct gsb_tenant *t = gsb_tenant_of(item->op.order->queues);

	h->work.shapes = h->shapes;
	if (item->cmd.kind != GSB_CMD_LAUNCH || !item->fn->shapes ||
	    t->resizing->force.form != GSB_SHAPE_AS_ASKED)
		return;
	for (unsigned i = 0; i < GSB_ARRAY_LEN(offered); i++)
		if (gsb_code_admits(t, item->fn, &item->cmd.launch, &offered[i]))
			h->shapes[h->work.n_shapes++] = offered[i];
}

static_assert(GSB_ARRAY_LEN(offered) <= GSB_N_OFFERED, "a head has room for all");

static void describe_copy(const struct gsb_item *item, struct gsb_work *w)
{
	w->kind = item->cmd.kind == GSB_CMD_COPY ? GSB_WORK_COPY : GSB_WORK_FILL;
	w->bytes = command_bytes(&item->cmd);
	w->direction = direction_of(item);
}

void gsb_view_describe(const struct gsb_item *item, struct gsb_work *w)
{
	const struct gsb_stream *s = item->op.stream;
	struct gsb_tenant *t = gsb_tenant_of(item->op.order->queues);

	t->claim.memory_bytes = t->device_used_bytes;
	t->claim.asked_ns = item->op.ready_ns;
	*w = (struct gsb_work){
		.tenant = t->claim.tenant,
		.stream = s->index,
		.priority = s->priority,
		.claim = &t->claim,
		.n_queued = &s->n_queued,
		.since_ns = item->op.ready_ns,
	};
	if (item->cmd.kind == GSB_CMD_LAUNCH)
		describe_kernel(item, w);
	else
		describe_copy(item, w);
}

/* ---- all of it ---- */

static unsigned list_running(const struct gsb_scheduler *s, const struct gsb_work **out)
{
	unsigned n = 0;

	for (uint32_t left = ~s->free_flights; left; left &= left - 1)
		out[n++] = &s->flights[__builtin_ctz(left)].item->head->work;
	return n;
}

struct gsb_view gsb_view_look(const struct gsb_scheduler *s, const struct gsb_work **running,
			      bool must)
{
	return (struct gsb_view){
		.arch = &s->info->arch,
		.sm_group = s->info->sm_group,
		.priority_least = s->info->priority_least,
		.priority_greatest = s->info->priority_greatest,
		.now_ns = gsb_scheduler_now_ns(s),
		.claims = s->claims,
		.n_claims = s->n_claims,
		.ready = gsb_ready_works(&s->ready),
		.n_ready = s->ready.n,
		.running = running,
		.n_running = list_running(s, running),
		.n_copies = {s->n_copies[GSB_COPY_UP], s->n_copies[GSB_COPY_DOWN],
			     s->n_copies[GSB_COPY_ACROSS]},
		.n_free_queues = GSB_N_QUEUES - s->clock.n_in_flight,
		.estimates = s->estimates,
		.memory_bytes = s->info->total_mem_bytes,
		.must = must,
	};
}
