/*
 * complete.c - from the device back to the tenant: counts, sticky errors, and the next head.
 *
 * A completion is looked up by its cookie among the items in flight; with the last of an item its queue is free again at
 * once. The error word of a context is set before the done word of the stream, so a tenant that
 * sees its work done sees what became of it, too.
 */
#include <inttypes.h>
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "broker/engine/code/code.h"
#include "broker/engine/tenant/tenant.h"
#include "trace/compact.h"
#include "broker/engine/work/scheduler.h"
#include "broker/policy/bound.h"
#include "broker/policy/cap.h"
#include "broker/policy/claim.h"
#include "broker/policy/estimate.h"
#include "gsb/model_error.h"

#define POLL_BATCH 60 /* all that come at once are one record of the trace */

static void count_copy(struct gsb_ctl_tenant *stats, const struct gsb_item *item)
{
	uint64_t bytes = item->cmd.copy.width * item->cmd.copy.height;
	bool from_device = item->src_place == GSB_PLACE_DEVICE;
	bool to_device = item->dst_place == GSB_PLACE_DEVICE;

	stats->copies++;
	if (from_device && to_device)
		stats->bytes_d2d += bytes;
	else if (to_device)
		stats->bytes_h2d += bytes;
	else if (from_device)
		stats->bytes_d2h += bytes;
}

/* A command may be issued before it may start, and a failed one may never have started. */
static void count_waits(struct gsb_ctl_tenant *stats, const struct gsb_item *item,
			const struct gsb_completion *c)
{
	uint64_t ready = item->op.ready_ns, issued = gsb_later_ns(ready, item->issued_ns);

	stats->wait_ns[GSB_WAITED_POLICY] += issued - ready;
	stats->wait_ns[GSB_WAITED_DEVICE] += gsb_later_ns(issued, c->start_ns) - issued;
}

static void count_kernel(const struct gsb_scheduler *s, struct gsb_tenant *t,
			 const struct gsb_item *item, const struct gsb_completion *c)
{
	uint64_t took = c->end_ns - c->start_ns;
	const struct gsb_work *w = &item->head->work;
	uint64_t sm_ns = gsb_code_sm_ns(&s->info->arch, w->kernel.n_blocks, w->blocks_per_sm, c);

	item->fn->took_ns = took ? took : 1;
	t->stats.device_ns += took;
	t->stats.sm_ns += sm_ns;
	t->stats.instructions += c->n_instructions;
	t->stats.kernels += c->result == CUDA_SUCCESS;
	gsb_claim_note(&t->claim, took, sm_ns, t->device_used_bytes);
}

static void count(const struct gsb_scheduler *s, struct gsb_tenant *t, const struct gsb_item *item,
		  const struct gsb_completion *c)
{
	struct gsb_ctl_tenant *stats = &t->stats;

	count_waits(stats, item, c);
	switch (item->cmd.kind) {
	case GSB_CMD_LAUNCH: count_kernel(s, t, item, c); return;
	case GSB_CMD_COPY: count_copy(stats, item); break;
	default: stats->fills++; break;
	}
	stats->copy_ns += c->end_ns - c->start_ns;
}

/* How wrong the policy was of it, and how much others cost it. */
static void count_run(const struct gsb_scheduler *s, struct gsb_ctl_tenant *stats,
		      const struct gsb_run *run)
{
	const struct gsb_work *w = run->work;
	uint64_t alone = gsb_estimates_worth(s->estimates, &s->info->arch, run);
	double predicted = (double)(w->predicted_end_ns - w->predicted_start_ns);

	if (w->predicted_end_ns && run->took_ns) {
		stats->error_ppm += gsb_model_error_ppm(predicted, (double)run->took_ns);
		stats->n_predicted++;
	}
	if (alone) {
		stats->known_ns += run->took_ns;
		stats->alone_ns += alone;
	}
}

static GSB_NOINLINE void note_run(const struct gsb_scheduler *s, const struct gsb_flight *f,
				  const struct gsb_completion *c)
{
	const struct gsb_work *w = &f->item->head->work;
	const enum gsb_shape_form form = f->course.shape.form;
	struct gsb_tenant *t = gsb_tenant_of(f->item->op.stream->queues);
	struct gsb_claim *claim = &t->claim;
	struct gsb_run run = {
		.work = w,
		.took_ns = c->end_ns - c->start_ns,
		.stay_ns = gsb_later_ns(c->end_ns, f->item->issued_ns) - f->item->issued_ns,
		.ready_ns = f->item->op.ready_ns,
		.block_ns = c->n_blocks ? c->blocks_ns / w->kernel.n_blocks : 0,
		.in_parts = form == GSB_SHAPE_SLICE || form == GSB_SHAPE_PERSISTENT,
		.cut = f->item->head->cut.form != GSB_SHAPE_AS_ASKED,
		.company = f->company,
	};

	count_run(s, &t->stats, &run);
	gsb_estimates_note(s->estimates, &s->info->arch, &run);
	gsb_claim_note_habit(claim, &s->info->arch, w, run.took_ns, c->end_ns);
	if (claim->deadline_ns && c->end_ns > run.ready_ns + claim->deadline_ns)
		t->stats.n_late++;
	if (claim->critical)
		gsb_yield_note(&claim->yield, s->n_reserved, w, f->company.others, c->end_ns);
	gsb_cap_note(&claim->cap, gsb_cap_limit(claim, s->claims, s->n_claims, c->end_ns),
		     s->estimates, &run, c->end_ns);
}

static_assert(GSB_LIES_AS(struct gsb_completion, result, start_ns, struct gsb_compact_result,
			  result, start_device_ns) &&
		      GSB_LIES_AS(struct gsb_completion, result, n_instructions,
				  struct gsb_compact_result, result, n_instructions) &&
		      GSB_LIES_AS(struct gsb_stream, tenant_id, index, struct gsb_compact_stream,
				  tenant, stream),
	      "they are copied as they lie");

/* ---- the trace ---- */

static_assert(GSB_LIES_AS(struct gsb_completion, start_ns, n_instructions, struct gsb_compact_step,
			  start_device_ns, n_instructions) &&
		      GSB_LIES_AS(struct gsb_op, serial, ready_ns, struct gsb_compact_op, serial,
				  ready_device_ns),
	      "they are copied as they lie");

static GSB_NOINLINE void tell_done(const struct gsb_item *item, const struct gsb_completion *c)
{
	struct gsb_stream *s = item->op.stream;
	const uint64_t number = s->n_done + 1, serial = item->op.serial;
	struct gsb_compact_end *e = gsb_trace_begin();

	gsb_stream_note(s, number, serial);
	gsb_compact_begin(&e->head, GSB_COMPACT_END, sizeof(*e));
	memcpy(&e->stream, &s->tenant_id, sizeof(e->stream));
	e->serial = serial;
	e->number = number;
	memcpy(&e->result, &c->result, sizeof(e->result));
	e->result.failed = item->op.order->failed;
	gsb_trace_end(&e->head, e + 1);
}

/* One has ended so, and another is next. */
static inline void fill_step(struct gsb_compact_step *step, const struct gsb_item *next,
			     const struct gsb_completion *c)
{
	const struct gsb_kernel *k = &next->head->work.kernel;

	memcpy(&step->next, &next->op.serial, sizeof(step->next));
	memcpy(&step->start_device_ns, &c->start_ns,
	       offsetof(struct gsb_compact_step, n_blocks_next) -
		       offsetof(struct gsb_compact_step, start_device_ns));
	step->n_blocks_next = k->n_blocks;
	step->threads_per_block_next = k->threads_per_block;
}

/* The first of those that come at once; the rest continue it. */
static GSB_NOINLINE void tell_first_step(const struct gsb_flight *f, const struct gsb_item *item,
					 const struct gsb_completion *c)
{
	const struct gsb_scheduler *s = item->scheduler;
	const uint32_t running = ~s->free_flights & ~(1u << (f - s->flights));
	const struct gsb_work *next = &f->item->head->work;
	struct gsb_compact_run *r = gsb_trace_begin();
	unsigned n = 0;

	static_assert(sizeof(*r) + POLL_BATCH * sizeof(r->steps[0]) <= GSB_TRACE_RECORD_MAX,
		      "of all that come at once");
	memcpy(&r->stream, &item->op.stream->tenant_id, sizeof(r->stream));
	r->serial = item->op.serial;
	r->number = item->op.stream->n_done + 1;
	r->decision = s->n_decisions;
	r->priority = next->priority;
	r->first_sm = next->sms.first;
	r->n_sms = next->sms.n;
	r->queue = (uint32_t)f->queue->index;
	r->n_ready = s->ready.n;
	memset(r->beside, 0, sizeof(r->beside));
	for (uint32_t left = running; left; left &= left - 1, n++)
		if (n < GSB_COMPACT_BESIDE_MAX)
			r->beside[n] = s->flights[__builtin_ctz(left)].item->op.serial;
	r->n_running = n;
	fill_step(r->steps, f->item, c);
	gsb_compact_begin(&r->head, GSB_COMPACT_RUN, sizeof(*r) + sizeof(r->steps[0]));
	gsb_trace_end_open(&r->head, r->steps + 1, f);
}

/* Of a context that has failed, or does so by this: what that means comes before that it is done. */
static GSB_COLD void tell_failed_step(const struct gsb_flight *f, const struct gsb_item *item,
				      const struct gsb_completion *c)
{
	gsb_issue_tell_follow(item->scheduler, f);
	if (c->result == CUDA_SUCCESS)
		tell_done(item, c);
}

/*
 * An item has ended so, and the flight's is next. Where nothing was told since the flight's last step nothing else has changed,
 * either, but for what a step says.
 */
static GSB_NOINLINE void tell_step(const struct gsb_flight *f, const struct gsb_item *item,
				   const struct gsb_completion *c)
{
	struct gsb_stream *stream = item->op.stream;

	gsb_stream_note(stream, stream->n_done + 1, item->op.serial);
	if (gsb_likely(c->result == CUDA_SUCCESS && gsb_trace_is_open(f))) {
		fill_step(gsb_trace_begin(), f->item, c);
		gsb_trace_add_more(sizeof(struct gsb_compact_step));
	} else if (c->result == CUDA_SUCCESS && !item->op.order->failed) {
		tell_first_step(f, item, c);
	} else {
		tell_failed_step(f, item, c);
	}
}

/* The context of an item has failed with it. */
static GSB_COLD void fail(const struct gsb_item *item, const struct gsb_completion *c)
{
	gsb_ctx_fail(gsb_ctx_of(item->op.order), c->result, c->detail);
	if (gsb_trace_is_on())
		tell_done(item, c);
}

static void complete(struct gsb_scheduler *s, const struct gsb_completion *c)
{
	struct gsb_flight *f = &s->flights[c->cookie % GSB_N_QUEUES];
	struct gsb_item *item = f->item, *next;
	struct gsb_stream *stream;
	struct gsb_tenant *t;

	if (!item || f->cookie != c->cookie) {
		gsb_log(GSB_LOG_ERROR, "complete",
			"the device completed command %" PRIu64 ", which is not in flight",
			c->cookie);
		return;
	}
	c = gsb_course_take(f, c);
	if (!c)
		return;
	stream = item->op.stream;
	t = gsb_tenant_of(stream->queues);
	if (s->estimates && item->cmd.kind == GSB_CMD_LAUNCH && c->result == CUDA_SUCCESS)
		note_run(s, f, c);
	next = f->run.n_behind ? gsb_run_next(f) : NULL;
	if (next) {
		gsb_issue_follow(s, f, next, c->end_ns);
		if (gsb_trace_is_on())
			tell_step(f, item, c);
	} else {
		gsb_issue_landed(s, f);
		if (gsb_trace_is_on() && c->result == CUDA_SUCCESS)
			tell_done(item, c);
	}
	count(s, t, item, c);
	gsb_issue_ended(item);
	if (c->printed)
		gsb_print_note(gsb_ctx_of(item->op.order));
	if (c->result != CUDA_SUCCESS)
		fail(item, c);
	gsb_stream_pop_told(stream, c->end_ns);
}

/* Those of which no command will come any more, as if the device said so now. */
static GSB_NOINLINE unsigned take_over(struct gsb_scheduler *s, struct gsb_completion *out)
{
	unsigned n = 0;

	for (; s->over; s->over &= s->over - 1)
		out[n++] = s->flights[__builtin_ctz(s->over)].course.joint;
	return n;
}

/* Where virtual time was let run to the next completion, if that came before something that is held is to be decided on. */
static void end_step(struct gsb_scheduler *s, bool completed)
{
	struct gsb_clock *c = &s->clock;
	uint64_t now_ns;

	if (!completed && c->step_until_ns == UINT64_MAX)
		return;
	now_ns = s->ops->now_ns(s->dev);
	if (!completed && now_ns < c->step_until_ns)
		return;
	c->advancing = false;
	gsb_trace(TIME_STEP, time_step, 0, .from_device_ns = c->step_from_ns,
		  .to_device_ns = now_ns,
		  .why = completed ? GSB_TRACE_STEP_COMPLETION : GSB_TRACE_STEP_HOLD);
}

bool gsb_complete_poll(struct gsb_scheduler *s)
{
	struct gsb_completion batch[POLL_BATCH];
	bool any = false;
	unsigned n;

	if (!s->clock.n_in_flight && !s->rang)
		return false;
	s->rang = false;
	do {
		gsb_trace_split();
		n = gsb_unlikely(s->over) ? take_over(s, batch)
					  : s->ops->poll(s->dev, batch, POLL_BATCH);
		for (unsigned i = 0; i < n; i++)
			complete(s, &batch[i]);
		any |= n > 0;
	} while (n == POLL_BATCH);
	if (s->clock.advancing)
		end_step(s, any);
	return any;
}

/* ---- kernels that do not end ---- */

#define LOOKS	   16 /* in one limit, while a kernel runs */
#define OVER_LIMIT "a kernel longer than kernel_limit_ms of one of them"

static uint64_t look_ns(const struct gsb_scheduler *s)
{
	return s->kernel_limit_ns / LOOKS + 1;
}

/* A look that comes late by as much again: the engine was stopped, and nobody knows what ran meanwhile. */
static void count_running_time(struct gsb_scheduler *s)
{
	uint64_t now = gsb_clock_ns(), ns = now - s->run_from_ns;

	if (ns > 2 * look_ns(s))
		ns = look_ns(s);
	if (s->clock.n_in_flight && (!s->clock.is_virtual || s->clock.advancing))
		s->run_ns += ns;
	s->run_from_ns = now;
}

void gsb_complete_begin_turn(struct gsb_scheduler *s)
{
	if (!s->clock.is_virtual)
		count_running_time(s);
}

/*
 * What is left to a kernel of its limit. Where the device knows how long it was executed, that is what counts: a
 * kernel that shares the device with one that never ends must not be taken for that one.
 */
static uint64_t left_ns(const struct gsb_scheduler *s, const struct gsb_flight *f)
{
	uint64_t limit = s->kernel_limit_ns, ran = s->run_ns - f->since_run_ns;

	if (ran >= limit && s->ops->ran_ns)
		ran = gsb_course_ran_ns(f, s->ops);
	return ran < limit ? limit - ran : 0;
}

/* The kernel that has least left, NULL without kernels; *left is then as it was. */
static struct gsb_flight *next_overdue(struct gsb_scheduler *s, uint64_t *left)
{
	struct gsb_flight *next = NULL;

	for (int i = 0; i < GSB_N_QUEUES; i++) {
		struct gsb_flight *f = &s->flights[i];
		uint64_t ns;

		if (!f->item || f->abandoned || f->item->cmd.kind != GSB_CMD_LAUNCH)
			continue;
		ns = left_ns(s, f);
		if (next && ns >= *left)
			continue;
		next = f;
		*left = ns;
	}
	return next;
}

static void abandon(struct gsb_scheduler *s, struct gsb_flight *f)
{
	struct gsb_ctx *ctx = gsb_ctx_of(f->item->op.order);

	f->abandoned = true;
	gsb_ctx_fail(ctx, CUDA_ERROR_LAUNCH_TIMEOUT, "a kernel ran longer than kernel_limit_ms");
	if (s->ops->space_cancel) {
		s->ops->space_cancel(ctx->space);
		return;
	}
	s->stuck = OVER_LIMIT;
}

void gsb_complete_overdue(struct gsb_scheduler *s)
{
	uint64_t left;
	struct gsb_flight *f;

	if (!s->kernel_limit_ns)
		return;
	count_running_time(s);
	f = next_overdue(s, &left);
	if (f && !left)
		abandon(s, f);
}

uint64_t gsb_complete_due_ns(struct gsb_scheduler *s)
{
	uint64_t left = UINT64_MAX;

	if (s->kernel_limit_ns && (!s->clock.is_virtual || s->clock.advancing))
		next_overdue(s, &left);
	return left == UINT64_MAX || left < look_ns(s) ? left : look_ns(s);
}
