/*
 * issue.c - from ready items to the device: the heap, the policy, the queues.
 *
 * With a real clock what became ready first stands first; with a virtual clock order must not depend on
 * which process the kernel ran first, so it goes by device time, then tenant, then stream.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "broker/engine/code/code.h"
#include "broker/engine/tenant/tenant.h"
#include "broker/engine/trace/tp.h"
#include "broker/engine/work/scheduler.h"

#define HEAP_MAX (GSB_N_SLOTS * GSB_N_STREAMS) /* a stream has one head */

/* ---- the heap ---- */

static struct gsb_tenant *tenant_of(const struct gsb_item *item)
{
	return gsb_tenant_of(item->op.order->queues);
}

static bool is_before(const struct gsb_item *a, const struct gsb_item *b)
{
	if (!a->scheduler->clock.is_virtual)
		return a->ready_order < b->ready_order;
	if (a->op.ready_ns != b->op.ready_ns)
		return a->op.ready_ns < b->op.ready_ns;
	if (a->op.order->queues != b->op.order->queues)
		return tenant_of(a)->id < tenant_of(b)->id;
	return a->op.stream->index < b->op.stream->index;
}

static void put_at(struct gsb_item **heap, unsigned i, struct gsb_item *item)
{
	heap[i] = item;
	item->heap_index = i;
}

static void sift_up(struct gsb_item **heap, unsigned i)
{
	struct gsb_item *item = heap[i];

	while (i && is_before(item, heap[(i - 1) / 2])) {
		put_at(heap, i, heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put_at(heap, i, item);
}

static void sift_down(struct gsb_item **heap, unsigned n, unsigned i)
{
	struct gsb_item *item = heap[i];

	for (unsigned child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && is_before(heap[child + 1], heap[child]))
			child++;
		if (!is_before(heap[child], item))
			break;
		put_at(heap, i, heap[child]);
	}
	put_at(heap, i, item);
}

static void push(struct gsb_scheduler *s, struct gsb_item *item)
{
	s->heap[s->clock.n_ready] = item;
	sift_up(s->heap, s->clock.n_ready++);
}

static void remove_at(struct gsb_scheduler *s, unsigned i)
{
	struct gsb_item *last = s->heap[--s->clock.n_ready];

	if (i == s->clock.n_ready)
		return;
	s->heap[i] = last;
	sift_up(s->heap, i);
	sift_down(s->heap, s->clock.n_ready, last->heap_index);
}

void gsb_issue_ready(struct gsb_item *item)
{
	struct gsb_scheduler *s = item->scheduler;

	item->ready = true;
	item->ready_order = s->ready_order++;
	push(s, item);
}

void gsb_issue_unready(struct gsb_item *item)
{
	struct gsb_scheduler *s = item->scheduler;

	item->ready = false;
	if (item->heap_index < s->clock.n_ready && s->heap[item->heap_index] == item)
		remove_at(s, item->heap_index); /* else it is being decided on */
}

/* ---- the view ---- */

static uint64_t command_bytes(const struct gsb_cmd *cmd)
{
	if (cmd->kind == GSB_CMD_COPY)
		return cmd->copy.width * cmd->copy.height;
	return cmd->fill.width * cmd->fill.height * cmd->fill.elem_bytes;
}

static void describe(const struct gsb_item *item, struct gsb_work *w)
{
	const struct gsb_stream *s = item->op.stream;

	*w = (struct gsb_work){
		.tenant = tenant_of(item)->id,
		.stream = s->index,
		.priority = s->priority,
		.since_ns = item->op.ready_ns,
	};
	if (item->cmd.kind == GSB_CMD_LAUNCH) {
		w->kind = GSB_WORK_KERNEL;
		w->cooperative = item->cmd.launch.cooperative;
		w->kernel = gsb_code_needs(item->fn, &item->cmd.launch);
	} else {
		w->kind = item->cmd.kind == GSB_CMD_COPY ? GSB_WORK_COPY : GSB_WORK_FILL;
		w->bytes = command_bytes(&item->cmd);
	}
}

static unsigned list_running(const struct gsb_scheduler *s, struct gsb_work *out)
{
	unsigned n = 0;

	for (int i = 0; i < GSB_N_QUEUES; i++)
		if (s->flights[i].item)
			out[n++] = s->flights[i].work;
	return n;
}

/* ---- the queues ---- */

static void remake_queue(struct gsb_scheduler *s, struct gsb_flight *f, int32_t priority)
{
	struct gsb_queue *queue;

	if (s->ops->queue_create(s->dev, priority, &queue))
		return; /* the old one, or none, will do */
	if (f->queue)
		s->ops->queue_destroy(f->queue);
	f->queue = queue;
	f->queue_priority = priority;
}

/* A free queue of this priority if there is one, else another free one made anew. */
static struct gsb_flight *find_queue(struct gsb_scheduler *s, int32_t priority)
{
	struct gsb_flight *spare = NULL;

	for (int i = 0; i < GSB_N_QUEUES; i++) {
		struct gsb_flight *f = &s->flights[i];

		if (f->item)
			continue;
		if (f->queue && f->queue_priority == priority)
			return f;
		if (!spare || (spare->queue && !f->queue))
			spare = f;
	}
	if (spare)
		remake_queue(s, spare, priority);
	return spare && spare->queue ? spare : NULL;
}

static enum gsb_rec_type type_of(const struct gsb_cmd *cmd)
{
	switch (cmd->kind) {
	case GSB_CMD_LAUNCH: return GSB_REC_LAUNCH;
	case GSB_CMD_COPY: return GSB_REC_COPY;
	default: return GSB_REC_FILL;
	}
}

/* The device refused the command before it ran: that is the end of its context. */
static void refuse(struct gsb_item *item, int err)
{
	struct gsb_stream *stream = item->op.stream;
	char what[96];

	snprintf(what, sizeof(what), "the device refused a %s of stream %u",
		 gsb_rec_name(type_of(&item->cmd)), stream->index);
	item->ready = false;
	gsb_ctx_fail(gsb_ctx_of(item->op.order), gsb_cuda_result(err), what);
	gsb_stream_retry(stream);
}

static void start(struct gsb_scheduler *s, struct gsb_item *item, const struct gsb_work *w)
{
	struct gsb_flight *f = find_queue(s, item->op.stream->priority);
	int err;

	if (!f) {
		refuse(item, -ENOMEM);
		return;
	}
	item->cmd.cookie = f->cookie = s->next_cookie++ * GSB_N_QUEUES + (uint64_t)(f - s->flights);
	item->cmd.not_before_ns = s->clock.is_virtual ? item->op.ready_ns : 0;
	err = s->ops->issue(f->queue, &item->cmd);
	if (err) {
		refuse(item, err);
		return;
	}
	item->ready = false;
	f->item = item;
	f->work = *w;
	f->work.since_ns = gsb_scheduler_now_ns(s);
	f->since_run_ns = s->run_ns;
	tenant_of(item)->n_in_flight++;
	s->clock.n_in_flight++;
	gsb_tp(issue, tenant_of(item)->id, type_of(&item->cmd), item->op.stream->index, f->cookie);
}

/* ---- the decision ---- */

/* One view, one decision. Returns how many it let go. */
static unsigned decide(struct gsb_scheduler *s, const struct gsb_policy *policy)
{
	struct gsb_item *ready[GSB_VIEW_READY_MAX];
	struct gsb_work works[GSB_VIEW_READY_MAX], running[GSB_N_QUEUES];
	struct gsb_decision out[GSB_VIEW_READY_MAX];
	struct gsb_view view = {
		.arch = &s->ops->info(s->dev)->arch,
		.now_ns = gsb_scheduler_now_ns(s),
		.ready = works,
		.running = running,
		.n_running = list_running(s, running),
		.n_free_queues = GSB_N_QUEUES - s->clock.n_in_flight,
	};
	unsigned n;

	while (view.n_ready < GSB_VIEW_READY_MAX && s->clock.n_ready) {
		ready[view.n_ready] = s->heap[0];
		describe(s->heap[0], &works[view.n_ready++]);
		remove_at(s, 0);
	}
	n = policy->decide(&view, out);
	gsb_tp(decision, view.now_ns, view.n_ready, view.n_running, n);
	/* A refused command fails its context, and then items of it are ready no more. */
	for (unsigned i = 0; i < n; i++)
		if (ready[out[i].ready]->ready)
			start(s, ready[out[i].ready], &works[out[i].ready]);
	for (unsigned i = 0; i < view.n_ready; i++)
		if (ready[i]->ready)
			push(s, ready[i]);
	return n;
}

bool gsb_issue_all(struct gsb_scheduler *s)
{
	bool any = false;

	while (s->clock.n_ready && s->clock.n_in_flight < GSB_N_QUEUES) {
		if (!decide(s, s->policy)) {
			if (s->clock.n_in_flight)
				break;
			decide(s, &gsb_policy_fifo); /* nothing is held while the device is idle */
		}
		any = true;
	}
	return any;
}

/* ---- life ---- */

int gsb_scheduler_init(struct gsb_scheduler *s, struct gsb_device *dev,
		       const struct gsb_policy *policy, uint64_t kernel_limit_ns)
{
	*s = (struct gsb_scheduler){
		.dev = dev,
		.ops = dev->ops,
		.policy = policy,
		.clock.is_virtual = dev->ops->advance != NULL,
		.kernel_limit_ns = kernel_limit_ns,
		.run_from_ns = gsb_clock_ns(),
		.heap = calloc(HEAP_MAX, sizeof(struct gsb_item *)), /* pages appear when touched */
	};
	return s->heap ? 0 : -ENOMEM;
}

void gsb_scheduler_finish(struct gsb_scheduler *s)
{
	for (int i = 0; i < GSB_N_QUEUES; i++)
		if (s->flights[i].queue)
			s->ops->queue_destroy(s->flights[i].queue);
	free(s->heap);
}
