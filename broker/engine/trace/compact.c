/*
 * compact.c - see compact.h.
 */
#include "broker/engine/trace/compact.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "gsb/handle.h"

static_assert(sizeof(struct gsb_trace_queued) + sizeof(struct gsb_trace_launch) <=
			      GSB_TRACE_EXPANSION * sizeof(struct gsb_compact_again) &&
		      sizeof(struct gsb_compact_again) <= sizeof(struct gsb_compact_launch) &&
		      sizeof(struct gsb_trace_ready) + sizeof(struct gsb_trace_decided) +
				      sizeof(struct gsb_trace_shaped) +
				      sizeof(struct gsb_trace_issued) <=
			      GSB_TRACE_EXPANSION * sizeof(struct gsb_compact_issue) &&
		      sizeof(struct gsb_trace_ready) + sizeof(struct gsb_trace_decided) +
				      sizeof(struct gsb_trace_issued) +
				      sizeof(struct gsb_trace_finished) +
				      sizeof(struct gsb_trace_completed) <=
			      GSB_TRACE_EXPANSION * sizeof(struct gsb_compact_step) &&
		      sizeof(struct gsb_trace_finished) + sizeof(struct gsb_trace_completed) <=
			      GSB_TRACE_EXPANSION * sizeof(struct gsb_compact_end),
	      "there is room for what is made of them");

/* Where the next event goes. */
struct out {
	uint8_t *at;
};

#define put(NAME, name, out, tenant_id, time, ...)                                        \
	do {                                                                              \
		struct gsb_trace_##name *event_ = (struct gsb_trace_##name *)(out)->at;   \
                                                                                          \
		*event_ = (struct gsb_trace_##name){                                      \
			.head = {GSB_TRACE_##NAME, sizeof(*event_), (tenant_id), (time)}, \
			__VA_ARGS__};                                                     \
		(out)->at += sizeof(*event_);                                             \
	} while (0)

static void put_launch(const struct gsb_compact_launch *c, uint64_t serial, uint64_t time_ns,
		       uint64_t posted_ns, struct out *out)
{
	const struct gsb_compact_body *b = &c->body;

	put(QUEUED, queued, out, c->head.tenant, time_ns, .serial = serial, .posted_ns = posted_ns,
	    .post_device_ns = c->post_device_ns, .stream = gsb_handle_index(c->rec.stream),
	    .thread = c->rec.thread, .kind = GSB_TRACE_OP_LAUNCH);
	put(LAUNCH, launch, out, c->head.tenant, time_ns, .serial = serial, .function = b->function,
	    .n_blocks = (uint64_t)b->grid[0] * b->grid[1] * b->grid[2], .grid_x = b->grid[0],
	    .grid_y = b->grid[1], .grid_z = b->grid[2], .block_x = b->block[0],
	    .block_y = b->block[1], .block_z = b->block[2], .smem_bytes = b->smem_bytes,
	    .is_cooperative = b->flags & GSB_LAUNCH_COOPERATIVE);
}

/* So many more than the first. */
static uint32_t n_again(const struct gsb_compact_launch *c)
{
	return (uint32_t)((c->head.bytes - sizeof(*c)) / sizeof(c->more[0]));
}

static void expand_launch(const struct gsb_compact_launch *c, struct out *out)
{
	put_launch(c, c->serial, c->head.time_ns, c->posted_ns, out);
	for (uint32_t i = 0; i < n_again(c); i++)
		put_launch(c, c->serial + 1 + i, c->more[i].time_ns, c->more[i].posted_ns, out);
}

static const struct gsb_compact_issue *end_of(const struct gsb_compact_decision *c)
{
	return c->issues + c->head.tenant;
}

static uint64_t beside(const struct gsb_compact_decision *c, uint32_t i)
{
	return i < c->n_running ? ((const uint64_t *)end_of(c))[i] : 0;
}

static void put_ready(const struct gsb_compact_decision *c, const struct gsb_compact_issue *i,
		      struct out *out)
{
	put(READY, ready, out, i->stream.tenant, c->head.time_ns, .serial = i->op.serial,
	    .ready_device_ns = i->op.ready_device_ns, .stream = i->stream.stream,
	    .n_ready = i->n_ready);
}

static void put_decided(const struct gsb_compact_decision *c, const struct gsb_compact_issue *i,
			struct out *out)
{
	const struct gsb_compact_why *why = &i->why;

	put(DECIDED, decided, out, i->stream.tenant, c->head.time_ns, .serial = i->op.serial,
	    .decision = c->decision, .device_ns = c->device_ns,
	    .n_blocks = i->form || i->cut ? i->n_blocks : i->n_blocks_after,
	    .n_blocks_after = i->n_blocks_after,
	    .beside = {beside(c, 0), beside(c, 1), beside(c, 2), beside(c, 3)},
	    .predicted_ns = why->predicted_ns,
	    .predicted_slowdown_ppm = why->predicted_slowdown_ppm, .trust_ppm = why->trust_ppm,
	    .stream = i->stream.stream, .n_ready = c->n_ready,
	    .threads_per_block = i->threads_per_block, .priority = why->priority,
	    .first_sm = (uint16_t)why->first_sm, .n_sms = (uint16_t)why->n_sms,
	    .n_running = (uint16_t)c->n_running, .verdict = GSB_TRACE_VERDICT_ISSUE,
	    .reason = (uint8_t)why->reason);
}

static void put_issued(const struct gsb_compact_decision *c, const struct gsb_compact_issue *i,
		       struct out *out)
{
	if (i->form != GSB_TRACE_FORM_AS_ASKED)
		put(SHAPED, shaped, out, i->stream.tenant, c->head.time_ns, .serial = i->op.serial,
		    .form = (uint8_t)i->form, .n_parts = i->n_parts, .part_ns = i->why.part_ns);
	put(ISSUED, issued, out, i->stream.tenant, c->head.time_ns, .serial = i->op.serial,
	    .device_ns = i->issued_device_ns, .stream = i->stream.stream, .queue = i->queue);
}

/* All of them are decided before one is on the device: none was there when the policy looked. */
static void expand_decision(const struct gsb_compact_decision *c, struct out *out)
{
	const struct gsb_compact_issue *end = end_of(c);

	for (const struct gsb_compact_issue *i = c->issues; i < end; i++)
		if (i->n_ready)
			put_ready(c, i, out);
	for (const struct gsb_compact_issue *i = c->issues; i < end; i++)
		put_decided(c, i, out);
	for (const struct gsb_compact_issue *i = c->issues; i < end; i++)
		put_issued(c, i, out);
}

static uint32_t n_steps(const struct gsb_compact_run *c)
{
	return (uint32_t)((c->head.bytes - sizeof(*c)) / sizeof(c->steps[0]));
}

/* It comes to the device, for whoever looks, as another ends; when that was is its time. */
static void put_next(const struct gsb_compact_run *c, uint32_t i, struct out *out)
{
	const struct gsb_compact_step *s = &c->steps[i];
	const uint64_t time_ns = c->head.time_ns, at_ns = s->next.ready_device_ns;

	put(READY, ready, out, c->stream.tenant, time_ns, .serial = s->next.serial,
	    .ready_device_ns = at_ns, .stream = c->stream.stream, .n_ready = c->n_ready + 1);
	put(DECIDED, decided, out, c->stream.tenant, time_ns, .serial = s->next.serial,
	    .decision = c->decision + i, .device_ns = at_ns, .n_blocks = s->n_blocks_next,
	    .n_blocks_after = s->n_blocks_next,
	    .beside = {c->beside[0], c->beside[1], c->beside[2], c->beside[3]},
	    .stream = c->stream.stream, .n_ready = c->n_ready,
	    .threads_per_block = s->threads_per_block_next, .priority = c->priority,
	    .first_sm = (uint16_t)c->first_sm, .n_sms = (uint16_t)c->n_sms,
	    .n_running = (uint16_t)c->n_running, .verdict = GSB_TRACE_VERDICT_ISSUE,
	    .reason = GSB_TRACE_REASON_RUN);
	put(ISSUED, issued, out, c->stream.tenant, time_ns, .serial = s->next.serial,
	    .device_ns = at_ns, .stream = c->stream.stream, .queue = c->queue);
}

static void expand_run(const struct gsb_compact_run *c, struct out *out)
{
	uint64_t serial = c->serial;

	for (uint32_t i = 0; i < n_steps(c); serial = c->steps[i++].next.serial) {
		const struct gsb_compact_step *s = &c->steps[i];

		put_next(c, i, out);
		put(FINISHED, finished, out, c->stream.tenant, c->head.time_ns, .serial = serial,
		    .start_device_ns = s->start_device_ns, .end_device_ns = s->end_device_ns,
		    .n_blocks = s->n_blocks, .n_instructions = s->n_instructions,
		    .stream = c->stream.stream);
		put(COMPLETED, completed, out, c->stream.tenant, c->head.time_ns, .serial = serial,
		    .device_ns = s->end_device_ns, .number = c->number + i,
		    .stream = c->stream.stream);
	}
}

static void expand_end(const struct gsb_compact_end *c, struct out *out)
{
	const struct gsb_compact_result *r = &c->result;

	put(FINISHED, finished, out, c->stream.tenant, c->head.time_ns, .serial = c->serial,
	    .start_device_ns = r->start_device_ns, .end_device_ns = r->end_device_ns,
	    .n_blocks = r->n_blocks, .n_instructions = r->n_instructions,
	    .stream = c->stream.stream, .result = r->result);
	put(COMPLETED, completed, out, c->stream.tenant, c->head.time_ns, .serial = c->serial,
	    .device_ns = r->end_device_ns, .number = c->number, .stream = c->stream.stream,
	    .failed = r->failed);
}

uint32_t gsb_trace_expand(const struct gsb_trace_head *record, void *to)
{
	struct out out = {to};

	switch (record->type) {
	case GSB_COMPACT_LAUNCH:
		expand_launch((const struct gsb_compact_launch *)record, &out);
		break;
	case GSB_COMPACT_DECISION:
		expand_decision((const struct gsb_compact_decision *)record, &out);
		break;
	case GSB_COMPACT_RUN: expand_run((const struct gsb_compact_run *)record, &out); break;
	case GSB_COMPACT_END: expand_end((const struct gsb_compact_end *)record, &out); break;
	default: memcpy(to, record, record->bytes); return record->bytes;
	}
	return (uint32_t)(out.at - (uint8_t *)to);
}

static uint32_t n_of_decision(const struct gsb_compact_decision *c)
{
	const struct gsb_compact_issue *end = end_of(c);
	uint32_t n = 0;

	for (const struct gsb_compact_issue *i = c->issues; i < end; i++)
		n += 2 + (i->n_ready != 0) + (i->form != GSB_TRACE_FORM_AS_ASKED);
	return n;
}

uint32_t gsb_trace_n_events(const struct gsb_trace_head *record)
{
	switch (record->type) {
	case GSB_COMPACT_LAUNCH: return 2 * (1 + n_again((const void *)record));
	case GSB_COMPACT_RUN: return 5 * n_steps((const void *)record);
	case GSB_COMPACT_END: return 2;
	case GSB_COMPACT_DECISION: return n_of_decision((const void *)record);
	default: return 1;
	}
}
