/*
 * view.c - see view.h.
 */
#include "broker/engine/work/view.h"

#include <assert.h>

#include "base/compiler.h"
#include "broker/engine/code/code.h"
#include "broker/engine/tenant/tenant.h"
#include "broker/policy/claim.h"
#include "broker/policy/cut.h"
#include "broker/policy/estimate.h"

/* ---- one head ---- */

uint64_t gsb_view_bytes(const struct gsb_cmd *cmd)
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

/* What follows from its geometry. */
static void describe_launch(const struct gsb_item *item, const struct gsb_cmd_launch *l,
			    struct gsb_work *w)
{
	const struct gsb_scheduler *s = item->scheduler;
	const struct gsb_arch *arch = &s->info->arch;
	const struct gsb_launch_facts *f = gsb_facts_of(item->fn, arch, l);

	w->kernel = f->needs;
	w->blocks_per_sm = f->blocks_per_sm;
	w->launch = f->hash;
	if (s->estimates)
		w->predicted = gsb_estimates_predict(s->estimates, arch, w);
}

static void describe_kernel(const struct gsb_item *item, struct gsb_work *w)
{
	const struct gsb_cmd_launch *l = &item->cmd.launch;

	w->kind = GSB_WORK_KERNEL;
	w->cooperative = l->cooperative || l->cluster[0];
	w->code = item->fn->hash;
	describe_launch(item, l, w);
}

#define OFFERED ((1u << GSB_N_OFFERED) - 1)
#define OTHERS	((1u << (GSB_N_OFFERED - GSB_N_BESIDE)) - 1)

/* Of all shapes those that the policy may name for it. */
static uint32_t offered(const struct gsb_policy *p, const struct gsb_work *w)
{
	if (p->reshapes)
		return OFFERED;
	return p->beside && w->predicted.alone_ns >= GSB_LONG_NS ? OFFERED & ~OTHERS : 0;
}

/* Of the cuts that are admitted the one that it had better have: the work is shown as it will be launched. */
static void cut(const struct gsb_item *item, struct gsb_head *h, uint32_t admitted)
{
	const struct gsb_scheduler *s = item->scheduler;
	const struct gsb_cmd_launch *asked = &item->cmd.launch;
	struct gsb_cut cuts[1 + GSB_N_SIZES] = {{h->work.launch, h->work.kernel.n_blocks}};
	const struct gsb_shape *shape[1 + GSB_N_SIZES] = {NULL};
	struct gsb_cmd_launch l[1 + GSB_N_SIZES] = {*asked};
	unsigned n = 1, best;

	for (uint32_t left = admitted & ~OFFERED; left; left &= left - 1) {
		shape[n] = &gsb_shapes[__builtin_ctz(left)];
		if (shape[n]->n_threads == asked->block[0])
			continue;
		l[n] = *asked;
		gsb_facts_cut(&l[n], shape[n]->n_threads);
		cuts[n].launch = gsb_facts_hash(item->fn, &l[n]);
		cuts[n].n_blocks = gsb_code_needs(item->fn, &l[n]).n_blocks;
		n++;
	}
	best = gsb_cut_choose(s->estimates, &s->info->arch, cuts, n);
	item->fn->is_cut = best;
	if (best) {
		h->cut = *shape[best];
		describe_launch(item, &l[best], &h->work);
	}
}

static GSB_NOINLINE void offer(const struct gsb_item *item, struct gsb_head *h)
{
	const struct gsb_tenant *t = gsb_tenant_of(item->op.order->queues);
	uint32_t admitted;

	if (t->resizing->force.form != GSB_SHAPE_AS_ASKED)
		return;
	admitted = gsb_facts_admitted(t, item->fn, &item->cmd.launch, gsb_shapes,
				      GSB_ARRAY_LEN(gsb_shapes));
	h->work.shapes = h->shapes;
	for (uint32_t left = admitted & offered(item->scheduler->policy, &h->work); left;
	     left &= left - 1)
		h->shapes[h->work.n_shapes++] = gsb_shapes[__builtin_ctz(left)];
	if (h->work.predicted.alone_ns >= GSB_CUT_WORTH_NS)
		cut(item, h, admitted);
	if (h->cut.form != GSB_SHAPE_AS_ASKED)
		h->work.n_shapes =
			0; /* they are of the launch as asked, and the work shows another */
}

void gsb_view_offer(const struct gsb_item *item, struct gsb_head *h)
{
	const struct gsb_scheduler *s = item->scheduler;

	if (item->cmd.kind == GSB_CMD_LAUNCH && item->fn->shapes &&
	    (s->policy->reshapes || s->estimates))
		offer(item, h);
}

static void describe_copy(const struct gsb_item *item, struct gsb_work *w)
{
	w->kind = item->cmd.kind == GSB_CMD_COPY ? GSB_WORK_COPY : GSB_WORK_FILL;
	w->bytes = gsb_view_bytes(&item->cmd);
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
		.n_reserved = s->n_reserved,
		.critical_wait_ns = s->critical_wait_ns,
		.memory_bytes = s->info->total_mem_bytes,
		.must = must,
	};
}
