/*
 * issue.c - from ready heads to the device: the heap of READY streams, the policy, the queues.
 *
 * A queue holds one command at a time: only heads are issued, so a device queue never holds work
 * that waits for other work, and no two streams ever wait for each other in the device. With a real
 * clock what became ready first stands first; with a virtual clock order must not depend on which
 * process the kernel ran first, so it goes by device time, then tenant, then stream.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "broker/engine/engine.h"
#include "broker/engine/trace/tp.h"

/* ---- the heap ---- */

static bool is_before(const struct gsb_stream *a, const struct gsb_stream *b)
{
	if (!a->tenant->engine->virtual_clock)
		return a->ready_order < b->ready_order;
	if (a->ready_ns != b->ready_ns)
		return a->ready_ns < b->ready_ns;
	if (a->tenant != b->tenant)
		return a->tenant->id < b->tenant->id;
	return a->index < b->index;
}

static void sift_up(struct gsb_stream **heap, unsigned i)
{
	struct gsb_stream *s = heap[i];

	while (i && is_before(s, heap[(i - 1) / 2])) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = s;
}

static void sift_down(struct gsb_stream **heap, unsigned n, unsigned i)
{
	struct gsb_stream *s = heap[i];

	for (unsigned child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && is_before(heap[child + 1], heap[child]))
			child++;
		if (!is_before(heap[child], s))
			break;
		heap[i] = heap[child];
	}
	heap[i] = s;
}

int gsb_issue_reserve(struct gsb_engine *e)
{
	unsigned capacity = e->heap_capacity ? e->heap_capacity * 2 : 64;
	struct gsb_stream **heap;

	if (e->n_streams < e->heap_capacity) {
		e->n_streams++;
		return 0;
	}
	heap = realloc(e->heap, capacity * sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	e->heap = heap;
	e->heap_capacity = capacity;
	e->n_streams++;
	return 0;
}

static void push(struct gsb_engine *e, struct gsb_stream *s)
{
	e->heap[e->n_ready] = s;
	sift_up(e->heap, e->n_ready++);
}

static void remove_at(struct gsb_engine *e, unsigned i)
{
	struct gsb_stream *last = e->heap[--e->n_ready];

	if (i == e->n_ready)
		return;
	e->heap[i] = last;
	sift_up(e->heap, i);
	sift_down(e->heap, e->n_ready, i);
}

void gsb_issue_ready(struct gsb_stream *s)
{
	struct gsb_engine *e = s->tenant->engine;

	s->state = GSB_STREAM_READY;
	s->ready_order = e->ready_order++;
	push(e, s);
}

/* Only when a context fails or a tenant leaves, so a search is good enough. */
void gsb_issue_unready(struct gsb_stream *s)
{
	struct gsb_engine *e = s->tenant->engine;

	for (unsigned i = 0; i < e->n_ready; i++)
		if (e->heap[i] == s) {
			remove_at(e, i);
			break;
		}
	s->state = GSB_STREAM_EMPTY;
}

/* ---- the view ---- */

static uint64_t command_bytes(const struct gsb_cmd *cmd)
{
	if (cmd->kind == GSB_CMD_COPY)
		return cmd->copy.width * cmd->copy.height;
	return cmd->fill.width * cmd->fill.height * cmd->fill.elem_bytes;
}

static void describe(const struct gsb_stream *s, struct gsb_work *w)
{
	const struct gsb_item *item = s->first;

	*w = (struct gsb_work){
		.tenant = s->tenant->id,
		.stream = s->index,
		.priority = s->priority,
		.since_ns = s->ready_ns,
	};
	if (item->type == GSB_REC_LAUNCH) {
		w->kind = GSB_WORK_KERNEL;
		w->cooperative = item->cmd.launch.cooperative;
		w->kernel = gsb_code_needs(item->fn, &item->cmd.launch);
	} else {
		w->kind = item->type == GSB_REC_COPY ? GSB_WORK_COPY : GSB_WORK_FILL;
		w->bytes = command_bytes(&item->cmd);
	}
}

static unsigned list_running(const struct gsb_engine *e, struct gsb_work *out)
{
	unsigned n = 0;

	for (int i = 0; i < GSB_N_QUEUES; i++)
		if (e->flights[i].stream)
			out[n++] = e->flights[i].work;
	return n;
}

/* ---- the queues ---- */

static void remake_queue(struct gsb_engine *e, struct gsb_flight *f, int32_t priority)
{
	struct gsb_queue *queue;

	if (e->ops->queue_create(e->dev, priority, &queue))
		return; /* the old one, or none, will do */
	if (f->queue)
		e->ops->queue_destroy(f->queue);
	f->queue = queue;
	f->queue_priority = priority;
}

/* A free queue of this priority if there is one, else another free one made anew. */
static struct gsb_flight *find_queue(struct gsb_engine *e, int32_t priority)
{
	struct gsb_flight *spare = NULL;

	for (int i = 0; i < GSB_N_QUEUES; i++) {
		struct gsb_flight *f = &e->flights[i];

		if (f->stream)
			continue;
		if (f->queue && f->queue_priority == priority)
			return f;
		if (!spare || (spare->queue && !f->queue))
			spare = f;
	}
	if (spare)
		remake_queue(e, spare, priority);
	return spare && spare->queue ? spare : NULL;
}

/* The device refused the command before it ran: that is the end of its context. */
static void refuse(struct gsb_stream *s, int err)
{
	struct gsb_item *item = s->first;
	char what[96];

	snprintf(what, sizeof(what), "the device refused a %s of stream %u",
		 gsb_rec_name(item->type), s->index);
	s->state = GSB_STREAM_EMPTY;
	gsb_ctx_fail(item->ctx, gsb_cuda_result(err), what);
	gsb_stream_settle_later(s);
}

static void start(struct gsb_engine *e, struct gsb_stream *s, const struct gsb_work *w)
{
	struct gsb_flight *f = find_queue(e, s->priority);
	struct gsb_item *item = s->first;
	int err;

	if (!f) {
		refuse(s, -ENOMEM);
		return;
	}
	item->cmd.cookie = f->cookie = e->next_cookie++ * GSB_N_QUEUES + (uint64_t)(f - e->flights);
	item->cmd.not_before_ns = e->virtual_clock ? s->ready_ns : 0;
	err = e->ops->issue(f->queue, &item->cmd);
	if (err) {
		refuse(s, err);
		return;
	}
	f->stream = s;
	f->work = *w;
	f->work.since_ns = gsb_engine_now_ns(e);
	f->since_run_ns = e->run_ns;
	s->state = GSB_STREAM_ISSUED;
	s->tenant->n_in_flight++;
	e->n_in_flight++;
	gsb_tp(issue, s->tenant->id, item->type, s->index, f->cookie);
}

/* ---- the decision ---- */

/* One view, one decision. Returns how many it let go. */
static unsigned decide(struct gsb_engine *e, const struct gsb_policy *policy)
{
	struct gsb_stream *ready[GSB_VIEW_READY_MAX];
	struct gsb_work works[GSB_VIEW_READY_MAX], running[GSB_N_QUEUES];
	struct gsb_decision out[GSB_VIEW_READY_MAX];
	struct gsb_view view = {
		.arch = &e->info->arch,
		.now_ns = gsb_engine_now_ns(e),
		.ready = works,
		.running = running,
		.n_running = list_running(e, running),
		.n_free_queues = GSB_N_QUEUES - e->n_in_flight,
	};
	unsigned n;

	while (view.n_ready < GSB_VIEW_READY_MAX && e->n_ready) {
		ready[view.n_ready] = e->heap[0];
		describe(e->heap[0], &works[view.n_ready++]);
		remove_at(e, 0);
	}
	n = policy->decide(&view, out);
	gsb_tp(decision, view.now_ns, view.n_ready, view.n_running, n);
	/* A refused command fails its context, and then streams of it are READY no more. */
	for (unsigned i = 0; i < n; i++)
		if (ready[out[i].ready]->state == GSB_STREAM_READY)
			start(e, ready[out[i].ready], &works[out[i].ready]);
	for (unsigned i = 0; i < view.n_ready; i++)
		if (ready[i]->state == GSB_STREAM_READY)
			push(e, ready[i]);
	return n;
}

bool gsb_issue_all(struct gsb_engine *e)
{
	bool any = false;

	while (e->n_ready && e->n_in_flight < GSB_N_QUEUES) {
		if (!decide(e, e->params.policy)) {
			if (e->n_in_flight)
				break;
			decide(e, &gsb_policy_fifo); /* nothing is held while the device is idle */
		}
		any = true;
	}
	return any;
}

void gsb_issue_finish(struct gsb_engine *e)
{
	for (int i = 0; i < GSB_N_QUEUES; i++)
		if (e->flights[i].queue)
			e->ops->queue_destroy(e->flights[i].queue);
	free(e->heap);
}
