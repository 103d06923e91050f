/*
 * issue.c - from ready items to the device: the policy is asked, and what it names goes to a queue of that kind.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "broker/engine/code/code.h"
#include "broker/engine/code/counting.h"
#include "broker/engine/code/variants.h"
#include "broker/engine/tenant/tenant.h"
#include "trace/compact.h"
#include "broker/engine/work/scheduler.h"
#include "broker/engine/work/view.h"
#include "broker/policy/claim.h"
#include "broker/policy/hold.h"
#include "broker/policy/estimate.h"

static struct gsb_tenant *tenant_of(const struct gsb_item *item)
{
	return gsb_tenant_of(item->op.order->queues);
}

static struct gsb_claim *claim_of(const struct gsb_item *item)
{
	return &tenant_of(item)->claim;
}

/* ---- the trace ---- */

static uint64_t serial_of(const struct gsb_work *w)
{
	return gsb_head_of(w)->item->op.serial;
}

/* The policy's reasons and verdicts are those of the trace. */
static_assert(GSB_ISSUE == (int)GSB_TRACE_VERDICT_ISSUE &&
		      GSB_HOLD == (int)GSB_TRACE_VERDICT_HOLD &&
		      GSB_REASON_POLICY == (int)GSB_TRACE_REASON_POLICY &&
		      GSB_REASON_QUEUES == (int)GSB_TRACE_REASON_QUEUES &&
		      GSB_REASON_SHARE == (int)GSB_TRACE_REASON_SHARE &&
		      GSB_REASON_RESERVED == (int)GSB_TRACE_REASON_RESERVED &&
		      GSB_REASON_RUN == (int)GSB_TRACE_REASON_RUN &&
		      GSB_REASON_CAP == (int)GSB_TRACE_REASON_CAP &&
		      GSB_REASON_DEADLINE == (int)GSB_TRACE_REASON_DEADLINE &&
		      GSB_REASON_INSIDE == (int)GSB_TRACE_REASON_INSIDE,
	      "policy.h and events.def list the same reasons");
static_assert(GSB_SHAPE_RESHAPE == (int)GSB_TRACE_FORM_RESHAPE &&
		      GSB_SHAPE_SLICE == (int)GSB_TRACE_FORM_SLICE &&
		      GSB_SHAPE_PERSISTENT == (int)GSB_TRACE_FORM_PERSISTENT &&
		      GSB_N_SHAPES == GSB_TRACE_FORM_HINT + 1,
	      "shape.h and events.def list the same forms");
static_assert(sizeof(struct gsb_compact_decision) +
			      GSB_N_QUEUES * sizeof(struct gsb_compact_issue) <=
		      GSB_TRACE_RECORD_MAX,
	      "all that goes at once is one record");

static GSB_NOINLINE void tell_ready(struct gsb_scheduler *s, struct gsb_head *h)
{
	const struct gsb_item *item = h->item;

	gsb_trace_tell(READY, ready, tenant_of(item)->id, .serial = item->op.serial,
		       .ready_device_ns = item->op.ready_ns, .stream = item->op.stream->index,
		       .n_ready = h->n_ready);
	h->n_ready = 0;
	s->n_untold--;
}

/* That it is held is told once. */
static GSB_NOINLINE void tell_held(struct gsb_scheduler *s, const struct gsb_view *view,
				   struct gsb_head *h, const struct gsb_decision *d)
{
	const struct gsb_work *w = &h->work;
	bool is_kernel = w->kind == GSB_WORK_KERNEL;
	uint64_t beside[4] = {0};

	if (h->told)
		return;
	h->told = true;
	if (h->n_ready)
		tell_ready(s, h);
	for (unsigned i = 0; i < view->n_running && i < GSB_ARRAY_LEN(beside); i++)
		beside[i] = serial_of(view->running[i]);
	gsb_trace_tell(DECIDED, decided, tenant_of(h->item)->id, .serial = serial_of(w),
		       .decision = s->n_decisions, .device_ns = view->now_ns,
		       .n_blocks = is_kernel ? gsb_item_n_blocks(h->item) : 0,
		       .n_blocks_after = is_kernel ? w->kernel.n_blocks : 0,
		       .beside = {beside[0], beside[1], beside[2], beside[3]},
		       .predicted_ns = d->predicted_ns,
		       .predicted_slowdown_ppm = d->predicted_slowdown_ppm,
		       .trust_ppm = d->trust_ppm, .stream = w->stream, .n_ready = view->n_ready,
		       .threads_per_block = is_kernel ? w->kernel.threads_per_block : 0,
		       .priority = d->priority, .first_sm = (uint16_t)d->sms.first,
		       .n_sms = (uint16_t)d->sms.n, .n_running = (uint16_t)view->n_running,
		       .verdict = GSB_TRACE_VERDICT_HOLD, .reason = (uint8_t)d->reason);
	if (d->hold.not_before_ns || d->hold.until)
		gsb_trace_tell(HELD, held, tenant_of(h->item)->id, .serial = serial_of(w),
			       .not_before_device_ns = d->hold.not_before_ns,
			       .until = d->hold.until ? serial_of(d->hold.until) : 0);
}

/* No policy is asked while all queues have work: that is why it waits, and nobody else says so. */
static GSB_NOINLINE void tell_no_queue(struct gsb_scheduler *s, struct gsb_head *h)
{
	const struct gsb_work *running[GSB_N_QUEUES];
	struct gsb_view view = gsb_view_look(s, running, false);

	tell_held(s, &view, h,
		  &(struct gsb_decision){.verdict = GSB_HOLD, .reason = GSB_REASON_QUEUES});
}

/* It is told with what becomes of it; most often that it goes, in the same turn. */
static void note_ready(struct gsb_scheduler *s, struct gsb_head *h)
{
	h->told = false;
	h->n_ready = s->ready.n;
	s->n_untold++;
	if (s->clock.n_in_flight == GSB_N_QUEUES)
		tell_no_queue(s, h);
}

/* It is ready no more, and has not gone. */
static GSB_COLD void tell_late(struct gsb_scheduler *s, struct gsb_head *h)
{
	if (h->n_ready)
		tell_ready(s, h);
}

void gsb_issue_tell_rest(struct gsb_scheduler *s)
{
	for (unsigned i = 0; s->n_untold && i < s->ready.n; i++)
		tell_late(s, gsb_head_of(gsb_ready_works(&s->ready)[i]));
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
	gsb_view_describe(item, &item->head->work);
	gsb_view_offer(item, item->head);
	gsb_claim_begin(claim_of(item), s->share_ns, item->head->work.since_ns);
	claim_of(item)->n_ready++;
	gsb_ready_add(&s->ready, item->head);
	if (gsb_trace_is_on())
		note_ready(s, item->head);
	s->clock.advancing = false; /* time was let run without it */
	note_change(s);
}

static void sort_claims(struct gsb_scheduler *s)
{
	for (unsigned i = 1; i < s->n_claims; i++) {
		const struct gsb_claim *c = s->claims[i];
		unsigned at = i;

		for (; at && c->tenant < s->claims[at - 1]->tenant; at--)
			s->claims[at] = s->claims[at - 1];
		s->claims[at] = c;
	}
}

void gsb_issue_ranked(struct gsb_scheduler *s)
{
	for (unsigned i = 0; i < s->ready.n; i++) {
		struct gsb_head *h = gsb_head_of(gsb_ready_works(&s->ready)[i]);

		h->work.tenant = h->work.claim->tenant;
	}
	gsb_ready_sort(&s->ready);
	sort_claims(s);
}

static void take_out(struct gsb_item *item)
{
	struct gsb_scheduler *s = item->scheduler;

	item->ready = false;
	claim_of(item)->n_ready--;
	gsb_ready_remove(&s->ready, item->head);
	note_change(s);
}

void gsb_issue_unready(struct gsb_item *item)
{
	if (gsb_trace_is_on())
		tell_late(item->scheduler, item->head);
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

/* ---- to the device ---- */

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

	if (gsb_trace_is_on())
		tell_late(item->scheduler, item->head);
	snprintf(what, sizeof(what), "the device refused a %s of stream %u",
		 gsb_rec_name(type_of(&item->cmd)), stream->index);
	gsb_issue_ended(item);
	gsb_ctx_fail(gsb_ctx_of(item->op.order), gsb_cuda_result(err), what);
	gsb_stream_retry(stream);
}

/* In which it goes to the device: counting once, then what [resize] force says, then what the policy does, then its best cut. */
static struct gsb_shape shape_of(const struct gsb_item *item, const struct gsb_decision *d)
{
	static const struct gsb_shape count = {.form = GSB_SHAPE_COUNT};
	const struct gsb_tenant *t = tenant_of(item);
	const struct gsb_shape *force = &t->resizing->force;
	const struct gsb_cmd_launch *l = &item->cmd.launch;

	if (item->cmd.kind == GSB_CMD_LAUNCH && item->fn->shapes) {
		if (item->fn->shapes & GSB_SHAPE_BIT(GSB_SHAPE_COUNT) &&
		    gsb_counting_is_wanted(item->fn, l) && gsb_code_admits(t, item->fn, l, &count))
			return count;
		if (force->form != GSB_SHAPE_AS_ASKED && gsb_code_admits(t, item->fn, l, force))
			return *force;
		if (d->shape && d->shape <= item->head->work.n_shapes)
			return item->head->shapes[d->shape - 1];
		return item->head->cut;
	}
	return (struct gsb_shape){.form = GSB_SHAPE_AS_ASKED};
}

static uint32_t bit_of(const struct gsb_scheduler *s, const struct gsb_flight *f)
{
	return 1u << (f - s->flights);
}

/* What runs both ways is as asked the second time: what it, or who is beside it, takes says nothing of another manner. */
static uint32_t manner_of(const struct gsb_course *c)
{
	return c->shadow ? 0 : gsb_shape_manner(&c->shape);
}

/* A kernel comes to the device: from now on those that are there are not alone, nor is it. */
static void note_company(struct gsb_scheduler *s, struct gsb_flight *f)
{
	struct gsb_work *w = &f->item->head->work;

	w->manner = manner_of(&f->course);
	claim_of(f->item)->apart = w->sms.n > 0;
	f->company = (struct gsb_company){0};
	for (uint32_t left = ~s->free_flights & ~bit_of(s, f); left; left &= left - 1) {
		struct gsb_flight *other = &s->flights[__builtin_ctz(left)];
		const struct gsb_work *there = &other->item->head->work;

		if (there->kind == GSB_WORK_KERNEL)
			gsb_company_meet(&other->company, there, &f->company, w);
	}
}

/* It is a flight's item: what of that the view shows. */
static void note_item(struct gsb_scheduler *s, struct gsb_flight *f, struct gsb_item *item,
		      const struct gsb_decision *d, uint64_t now_ns)
{
	struct gsb_work *w = &item->head->work;
	struct gsb_claim *claim = claim_of(item);

	f->item = item;
	f->since_run_ns = s->run_ns;
	item->flight = f;
	item->issued_ns = now_ns;
	gsb_work_issued(w, d, now_ns);
	if (w->kind == GSB_WORK_KERNEL) {
		if (s->estimates)
			note_company(s, f);
		s->share_ns = claim->share_ns;
	} else {
		s->n_copies[w->direction]++;
	}
	claim->n_issued++;
}

/* It is on the device. */
static void note_start(struct gsb_scheduler *s, struct gsb_flight *f, struct gsb_item *item,
		       const struct gsb_decision *d)
{
	s->free_flights &= s->free_flights - 1;
	s->moved = true;
	s->clock.n_in_flight++;
	tenant_of(item)->n_in_flight++;
	claim_of(item)->n_running++;
	note_item(s, f, item, d, gsb_scheduler_now_ns(s));
}

static void off_the_view(struct gsb_scheduler *s, const struct gsb_flight *f)
{
	const struct gsb_work *w = &f->item->head->work;

	if (w->kind != GSB_WORK_KERNEL)
		s->n_copies[w->direction]--;
}

void gsb_issue_landed(struct gsb_scheduler *s, struct gsb_flight *f)
{
	off_the_view(s, f);
	claim_of(f->item)->n_running--;
	tenant_of(f->item)->n_in_flight--;
	gsb_queue_pool_give(f->queue);
	f->item = NULL;
	s->moved = true;
	s->free_flights |= 1u << f->cookie % GSB_N_QUEUES;
	s->clock.n_in_flight--;
	f->abandoned = false;
}

/* ---- the trace of what goes ---- */

#define WHY_LIES_AS(to, c_to) \
	GSB_LIES_AS(struct gsb_decision, reason, to, struct gsb_compact_why, reason, c_to)
static_assert(WHY_LIES_AS(priority, priority) && WHY_LIES_AS(sms, first_sm) &&
		      WHY_LIES_AS(predicted_slowdown_ppm, predicted_slowdown_ppm) &&
		      WHY_LIES_AS(trust_ppm, trust_ppm) &&
		      WHY_LIES_AS(predicted_ns, predicted_ns) && WHY_LIES_AS(part_ns, part_ns) &&
		      GSB_LIES_AS(struct gsb_op, serial, ready_ns, struct gsb_compact_op, serial,
				  ready_device_ns),
	      "they are copied as they lie");

/* One of what goes. */
static inline void list_issue(const struct gsb_item *item, const struct gsb_flight *f,
			      const struct gsb_decision *d, struct gsb_compact_issue *to)
{
	const struct gsb_head *h = item->head;
	const struct gsb_shape *shape = &f->course.shape;
	const uint8_t form = (uint8_t)shape->form, cut = (uint8_t)h->cut.form;

	memcpy(&to->op, &item->op.serial, sizeof(to->op));
	memcpy(&to->why, &d->reason, sizeof(to->why));
	memcpy(&to->stream, &item->op.stream->tenant_id, sizeof(to->stream));
	to->issued_device_ns = item->issued_ns;
	to->n_blocks_after = h->work.kernel.n_blocks;
	to->threads_per_block = h->work.kernel.threads_per_block;
	to->queue = (uint16_t)f->queue->index;
	to->n_ready = h->n_ready;
	to->form = form;
	to->cut = cut;
	if (gsb_unlikely(form | cut)) {
		to->n_blocks = gsb_item_n_blocks(item);
		to->n_parts = form == GSB_SHAPE_SLICE ? shape->n_slices
			      : shape->max_tiles      ? shape->max_tiles
						      : shape->eighths;
	}
}

/* What is on the device now of n items, by one decision. Of those that a refusal has taken with it there is nothing to tell. */
static GSB_NOINLINE void tell_issued(struct gsb_scheduler *s, const struct gsb_view *view,
				     struct gsb_item *const items[], const struct gsb_decision *out,
				     unsigned n)
{
	struct gsb_compact_decision *c = gsb_trace_begin();
	struct gsb_compact_issue *to = c->issues;
	unsigned n_ready = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct gsb_flight *f = items[i]->flight;

		if (gsb_unlikely(!f))
			continue;
		list_issue(items[i], f, &out[i], to);
		n_ready += to->n_ready != 0;
		to++;
	}
	if (to == c->issues)
		return;
	s->n_untold -= n_ready;
	c->decision = s->n_decisions;
	c->device_ns = view->now_ns;
	c->n_ready = view->n_ready;
	c->n_running = view->n_running;
	memset(c->beside, 0, sizeof(c->beside));
	for (unsigned i = 0; i < view->n_running && i < GSB_COMPACT_BESIDE_MAX; i++)
		c->beside[i] = serial_of(view->running[i]);
	gsb_compact_begin(&c->head, GSB_COMPACT_DECISION, (uint16_t)((uint8_t *)to - (uint8_t *)c));
	gsb_trace_end(&c->head, to);
}

/* And, where its command says so, what stands behind it. */
static void start(struct gsb_scheduler *s, struct gsb_item *item, const struct gsb_decision *d)
{
	unsigned i = (unsigned)__builtin_ctz(s->free_flights);
	struct gsb_flight *f = &s->flights[i];
	struct gsb_shape shape = shape_of(item, d);
	int err;

	take_out(item);
	f->queue = gsb_queue_pool_take(&s->pool, d->priority, d->sms);
	if (!f->queue) {
		refuse(item, -ENOMEM);
		return;
	}
	f->cookie = s->next_cookie++ * GSB_N_QUEUES + i;
	err = gsb_course_begin(f, item, &shape);
	if (err) {
		gsb_queue_pool_give(f->queue);
		refuse(item, err);
		return;
	}
	note_start(s, f, item, d);
	if (gsb_unlikely(item->cmd.more))
		gsb_run_begin(f);
	if (gsb_unlikely(f->course.shape.form != GSB_SHAPE_AS_ASKED))
		tenant_of(item)->stats.n_resized++;
}

/* ---- runs ---- */

static struct gsb_decision follow(const struct gsb_work *w)
{
	return (struct gsb_decision){
		.reason = GSB_REASON_RUN, .priority = w->priority, .sms = w->sms};
}

void gsb_issue_tell_follow(struct gsb_scheduler *s, const struct gsb_flight *f)
{
	const struct gsb_decision d = follow(&f->item->head->work);
	const struct gsb_work *running[GSB_N_QUEUES];
	struct gsb_view view = {
		.now_ns = f->item->issued_ns, .n_ready = s->ready.n, .running = running};

	for (uint32_t left = ~s->free_flights & ~bit_of(s, f); left; left &= left - 1)
		running[view.n_running++] = &s->flights[__builtin_ctz(left)].item->head->work;
	f->item->head->n_ready = s->ready.n + 1;
	s->n_untold++;
	tell_issued(s, &view, &f->item, &d, 1);
}

void gsb_issue_follow(struct gsb_scheduler *s, struct gsb_flight *f, struct gsb_item *next,
		      uint64_t now_ns)
{
	const struct gsb_decision same = follow(&f->item->head->work);

	off_the_view(s, f);
	next->op.ready_ns = gsb_later_ns(next->op.post_ns, now_ns);
	next->head = gsb_head_create(&s->ready, next);
	gsb_view_describe(next, &next->head->work);
	note_item(s, f, next, &same, next->op.ready_ns);
	gsb_run_look(s, f);
	s->n_decisions++;
}

/* ---- the decision ---- */

/* For reasons that the policy says; before any goes, for that moves those behind it. */
static void tell_named(struct gsb_scheduler *s, const struct gsb_view *view,
		       const struct gsb_decision *out, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (out[i].verdict == GSB_HOLD)
			tell_held(s, view, gsb_head_of(view->ready[out[i].ready]), &out[i]);
}

/* Nothing is said of them, and it will not be asked again soon. */
static GSB_COLD void tell_unsaid(struct gsb_scheduler *s, const struct gsb_view *view,
				 unsigned n_issued)
{
	const struct gsb_decision d = {
		.verdict = GSB_HOLD,
		.reason = n_issued == view->n_free_queues ? GSB_REASON_QUEUES : GSB_REASON_POLICY};

	for (unsigned i = 0; i < s->ready.n; i++)
		tell_held(s, view, gsb_head_of(gsb_ready_works(&s->ready)[i]), &d);
}

/* Who did not go, and who did: none of it was on the device when the policy looked. */
static void tell_decided(struct gsb_scheduler *s, const struct gsb_view *view,
			 struct gsb_item *const items[], const struct gsb_decision *out,
			 unsigned n_issued)
{
	if (!n_issued || s->clock.n_in_flight == GSB_N_QUEUES) /* else it is asked again */
		tell_unsaid(s, view, n_issued);
	tell_issued(s, view, items, out, n_issued);
}

/* Those that go come first, in their order. */
static void keep_issued(struct gsb_decision *out, unsigned n)
{
	unsigned n_issued = 0;

	for (unsigned i = 0; i < n; i++)
		if (out[i].verdict == GSB_ISSUE)
			out[n_issued++] = out[i];
}

/* What the policy says of those that are ready, *n of them; returns how many go. */
static unsigned ask(struct gsb_scheduler *s, const struct gsb_view *view,
		    struct gsb_decision out[GSB_N_DECISIONS], unsigned *n)
{
	unsigned n_issued = 0;

	*n = s->policy->decide(view, &s->area, out);
	for (unsigned i = 0; i < *n; i++)
		n_issued += out[i].verdict == GSB_ISSUE;
	if (!n_issued && view->must) {
		*n = n_issued = 1;
		out[0] = (struct gsb_decision){.reason = GSB_REASON_FORCED,
					       .priority = view->ready[0]->priority};
	}
	s->n_decisions++;
	return n_issued;
}

/* One view, one decision; whether it let anything go. */
static bool decide(struct gsb_scheduler *s, bool must)
{
	const struct gsb_work *running[GSB_N_QUEUES];
	struct gsb_view view = gsb_view_look(s, running, must);
	struct gsb_decision out[GSB_N_DECISIONS];
	struct gsb_item *items[GSB_N_QUEUES];
	unsigned n, n_issued = ask(s, &view, out, &n);

	s->held_until_ns = 0;
	if (n_issued != n) {
		s->held_until_ns = gsb_hold_first_ns(out, n);
		if (gsb_trace_is_on())
			tell_named(s, &view, out, n);
		keep_issued(out, n);
	}
	/* Indices are of now: each that goes moves those behind it. */
	for (unsigned i = 0; i < n_issued; i++)
		items[i] = gsb_head_of(gsb_ready_works(&s->ready)[out[i].ready])->item;
	if (s->runs)
		gsb_run_decided(s, items, n_issued);
	/* A refused command fails its context, and then items of it are ready no more. */
	for (unsigned i = 0; i < n_issued; i++)
		if (items[i]->ready)
			start(s, items[i], &out[i]);
	if (gsb_trace_is_on())
		tell_decided(s, &view, items, out, n_issued);
	return n_issued;
}

/* What had to wait for a critical tenant, and need not any more, goes on; whether anything did. */
static bool resume(struct gsb_scheduler *s)
{
	bool any = false;

	for (uint32_t left = ~s->free_flights & ~s->over; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);
		struct gsb_flight *f = &s->flights[i];

		if (!gsb_course_is_held(&f->course) ||
		    (s->yields_until_ns && !f->item->op.order->failed))
			continue;
		if (!gsb_course_resume(f))
			s->over |= 1u << i;
		any = true;
	}
	return any;
}

/* Whether launches in parts go on, once it is known who is on the device; and those that had to wait do. True: any. */
static GSB_NOINLINE bool look_for_yield(struct gsb_scheduler *s)
{
	const struct gsb_work *running[GSB_N_QUEUES];
	struct gsb_view view;

	if (s->moved) {
		s->moved = false;
		view = gsb_view_look(s, running, false);
		s->yields_until_ns = s->policy->yields_until(&view);
	}
	return resume(s);
}

/* The time has come to decide anew. */
static GSB_NOINLINE void look_for_alarm(struct gsb_scheduler *s)
{
	uint64_t now_ns = gsb_scheduler_now_ns(s);

	if (s->held_until_ns && s->held_until_ns <= now_ns) {
		s->held_until_ns = 0;
		s->changed = true;
	}
	s->moved |= s->yields_until_ns && s->yields_until_ns <= now_ns;
}

bool gsb_issue_all(struct gsb_scheduler *s)
{
	bool any = false;

	if (gsb_unlikely(s->held_until_ns | s->yields_until_ns))
		look_for_alarm(s);
	while (s->changed && s->ready.n && s->clock.n_in_flight < GSB_N_QUEUES) {
		s->changed = false;
		any |= decide(s, false) || (!s->clock.n_in_flight && decide(s, true));
	}
	return gsb_unlikely(s->policy->yields_until) ? look_for_yield(s) | any : any;
}

/* ---- life ---- */

int gsb_scheduler_init(struct gsb_scheduler *s, struct gsb_device *dev,
		       const struct gsb_policy *policy, uint64_t kernel_limit_ns)
{
	int err;

	*s = (struct gsb_scheduler){
		.dev = dev,
		.ops = dev->ops,
		.policy = policy,
		.clock.is_virtual = dev->ops->advance != NULL,
		.kernel_limit_ns = kernel_limit_ns,
		.run_from_ns = gsb_clock_ns(),
		.info = dev->ops->info(dev),
		.free_flights = UINT32_MAX,
	};
	s->runs = gsb_run_is_possible(s);
	gsb_queue_pool_init(&s->pool, dev);
	if (policy->splits && dev->ops->prepare)
		dev->ops->prepare(dev); /* before anything runs */
	err = gsb_ready_init(&s->ready, s->clock.is_virtual);
	if (!err && policy->predicts)
		err = gsb_estimates_create(&s->estimates);
	if (err)
		gsb_scheduler_finish(s);
	return err;
}

void gsb_scheduler_finish(struct gsb_scheduler *s)
{
	gsb_estimates_destroy(s->estimates);
	gsb_queue_pool_finish(&s->pool);
	gsb_ready_finish(&s->ready);
}

void gsb_scheduler_join(struct gsb_scheduler *s, const struct gsb_claim *c)
{
	s->claims[s->n_claims++] = c; /* ids ascend */
}

void gsb_scheduler_part(struct gsb_scheduler *s, const struct gsb_claim *c)
{
	unsigned i = 0;

	while (s->claims[i] != c)
		i++;
	s->n_claims--;
	for (; i < s->n_claims; i++)
		s->claims[i] = s->claims[i + 1];
}
