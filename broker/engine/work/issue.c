/*
 * issue.c - from ready items to the device: the view, the policy, the queues.
 */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "broker/engine/code/code.h"
#include "broker/engine/tenant/tenant.h"
#include "broker/engine/work/scheduler.h"

static struct gsb_tenant *tenant_of(const struct gsb_item *item)
{
	return gsb_tenant_of(item->op.order->queues);
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

static unsigned list_running(const struct gsb_scheduler *s, const struct gsb_work **out)
{
	unsigned n = 0;

	for (int i = 0; n < s->clock.n_in_flight; i++)
		if (s->flights[i].item)
			out[n++] = &s->flights[i].item->head->work;
	return n;
}

/* What a policy sees; running is room for GSB_N_QUEUES. */
static inline struct gsb_view look(const struct gsb_scheduler *s, const struct gsb_work **running,
				   bool must)
{
	return (struct gsb_view){
		.arch = s->arch,
		.now_ns = gsb_scheduler_now_ns(s),
		.ready = gsb_ready_works(&s->ready),
		.n_ready = s->ready.n,
		.running = running,
		.n_running = list_running(s, running),
		.n_free_queues = GSB_N_QUEUES - s->clock.n_in_flight,
		.must = must,
	};
}

/* ---- the trace ---- */

static uint64_t serial_of(const struct gsb_work *w)
{
	return gsb_head_of(w)->item->op.serial;
}

static void tell_one(const struct gsb_scheduler *s, const struct gsb_view *view,
		     const struct gsb_work *w, enum gsb_trace_verdict verdict,
		     enum gsb_trace_reason reason)
{
	struct gsb_trace_decided e = {
		.head = {GSB_TRACE_DECIDED, sizeof(e), w->tenant},
		.serial = serial_of(w),
		.decision = s->n_decisions,
		.device_ns = view->now_ns,
		.stream = w->stream,
		.n_ready = view->n_ready,
		.n_running = (uint16_t)view->n_running,
		.verdict = (uint8_t)verdict,
		.reason = (uint8_t)reason,
	};

	if (w->kind == GSB_WORK_KERNEL) {
		e.n_blocks = e.n_blocks_after = w->kernel.n_blocks;
		e.threads_per_block = w->kernel.threads_per_block;
	}
	for (unsigned i = 0; i < view->n_running && i < GSB_ARRAY_LEN(e.beside); i++)
		e.beside[i] = serial_of(view->running[i]);
	gsb_trace_put(&e.head);
}

/* No policy is asked while all queues have work: that is why it waits, and nobody else says so. */
static void tell_no_queue(const struct gsb_scheduler *s, struct gsb_head *h)
{
	const struct gsb_work *running[GSB_N_QUEUES];
	struct gsb_view view = look(s, running, false);

	tell_one(s, &view, &h->work, GSB_TRACE_VERDICT_HOLD, GSB_TRACE_REASON_QUEUES);
	h->told = true;
}

static GSB_COLD void tell_ready(const struct gsb_scheduler *s, const struct gsb_item *item)
{
	gsb_trace(READY, ready, tenant_of(item)->id, .serial = item->op.serial,
		  .ready_device_ns = item->op.ready_ns, .stream = item->op.stream->index,
		  .n_ready = s->ready.n);
	if (s->clock.n_in_flight == GSB_N_QUEUES)
		tell_no_queue(s, item->head);
}

/* ---- heads ---- */

/* There is something new to decide on. */
static void note_change(struct gsb_scheduler *s)
{
	s->clock.n_ready = s->ready.n;
	s->changed = true;
}

void gsb_issue_ready(struct gsb_item *item)
{
	struct gsb_scheduler *s = item->scheduler;

	item->ready = true;
	item->head = gsb_head_create(&s->ready, item);
	item->head->told = false;
	describe(item, &item->head->work);
	gsb_ready_add(&s->ready, item->head);
	if (gsb_trace_is_on())
		tell_ready(s, item);
	note_change(s);
}

static void take_out(struct gsb_item *item)
{
	struct gsb_scheduler *s = item->scheduler;

	item->ready = false;
	gsb_ready_remove(&s->ready, item->head);
	note_change(s);
}

void gsb_issue_unready(struct gsb_item *item)
{
	take_out(item);
	gsb_issue_ended(item);
}

void gsb_issue_ended(struct gsb_item *item)
{
	struct gsb_scheduler *s = item->scheduler;

	gsb_head_destroy(&s->ready, item->head);
	item->head = NULL;
	s->changed = true;
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
	gsb_issue_ended(item);
	gsb_ctx_fail(gsb_ctx_of(item->op.order), gsb_cuda_result(err), what);
	gsb_stream_retry(stream);
}

/* In which it goes to the device: what [resize] force says, if its kernel and its launch admit it. */
static struct gsb_shape shape_of(const struct gsb_item *item)
{
	const struct gsb_tenant *t = tenant_of(item);
	const struct gsb_shape *force = &t->resizing->force;

	if (item->cmd.kind == GSB_CMD_LAUNCH && item->fn->shapes &&
	    gsb_code_admits(t, item->fn, &item->cmd.launch, force))
		return *force;
	return (struct gsb_shape){.form = GSB_SHAPE_AS_ASKED};
}

static void start(struct gsb_scheduler *s, struct gsb_item *item)
{
	struct gsb_flight *f = find_queue(s, item->op.stream->priority);
	struct gsb_shape shape = shape_of(item);
	int err;

	take_out(item);
	if (!f) {
		refuse(item, -ENOMEM);
		return;
	}
	f->cookie = s->next_cookie++ * GSB_N_QUEUES + (uint64_t)(f - s->flights);
	err = gsb_course_begin(f, item, &shape);
	if (err) {
		refuse(item, err);
		return;
	}
	f->item = item;
	tenant_of(item)->stats.n_resized += f->course.shape.form != GSB_SHAPE_AS_ASKED;
	f->since_run_ns = s->run_ns;
	item->issued_ns = item->head->work.since_ns = gsb_scheduler_now_ns(s);
	tenant_of(item)->n_in_flight++;
	s->clock.n_in_flight++;
	gsb_trace(ISSUED, issued, tenant_of(item)->id, .serial = item->op.serial,
		  .device_ns = item->head->work.since_ns, .stream = item->op.stream->index,
		  .queue = (uint32_t)(f - s->flights));
}

/* ---- the decision ---- */

/* What was decided of each: what is held is told once. */
static GSB_COLD void tell(const struct gsb_scheduler *s, const struct gsb_view *view,
			  const struct gsb_decision *out, unsigned n, bool forced)
{
	enum gsb_trace_reason held =
		n == view->n_free_queues ? GSB_TRACE_REASON_QUEUES : GSB_TRACE_REASON_POLICY;

	for (unsigned i = 0; i < n; i++) {
		const struct gsb_work *w = view->ready[out[i].ready];

		tell_one(s, view, w, GSB_TRACE_VERDICT_ISSUE,
			 forced ? GSB_TRACE_REASON_FORCED : GSB_TRACE_REASON_POLICY);
		gsb_head_of(w)->told = true;
	}
	for (unsigned i = 0; i < view->n_ready; i++) {
		struct gsb_head *h = gsb_head_of(view->ready[i]);

		if (!h->told)
			tell_one(s, view, &h->work, GSB_TRACE_VERDICT_HOLD, held);
		h->told = true;
	}
}

/* What the policy names now. Returns how many. */
static unsigned ask(struct gsb_scheduler *s, bool must, struct gsb_decision out[GSB_N_QUEUES])
{
	const struct gsb_work *running[GSB_N_QUEUES];
	struct gsb_view view = look(s, running, must);
	unsigned n = s->policy->decide(&view, out);
	bool forced = !n && must;

	if (forced)
		out[n++] = (struct gsb_decision){.ready = 0};
	s->n_decisions++;
	if (gsb_trace_is_on())
		tell(s, &view, out, n, forced);
	return n;
}

/* One view, one decision; whether it let anything go. */
static bool decide(struct gsb_scheduler *s, bool must)
{
	struct gsb_decision out[GSB_N_QUEUES];
	struct gsb_item *items[GSB_N_QUEUES];
	unsigned n = ask(s, must, out);

	/* Indices are of now: each that goes moves those behind it. */
	for (unsigned i = 0; i < n; i++)
		items[i] = gsb_head_of(gsb_ready_works(&s->ready)[out[i].ready])->item;
	/* A refused command fails its context, and then items of it are ready no more. */
	for (unsigned i = 0; i < n; i++)
		if (items[i]->ready)
			start(s, items[i]);
	return n;
}

bool gsb_issue_all(struct gsb_scheduler *s)
{
	bool any = false;

	while (s->changed && s->ready.n && s->clock.n_in_flight < GSB_N_QUEUES) {
		s->changed = false;
		any |= decide(s, false) || (!s->clock.n_in_flight && decide(s, true));
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
		.arch = &dev->ops->info(dev)->arch,
	};
	return gsb_ready_init(&s->ready, s->clock.is_virtual);
}

void gsb_scheduler_finish(struct gsb_scheduler *s)
{
	for (int i = 0; i < GSB_N_QUEUES; i++)
		if (s->flights[i].queue)
			s->ops->queue_destroy(s->flights[i].queue);
	gsb_ready_finish(&s->ready);
}
