/*
 * compact.c - see compact.h.
 */
#include "trace/compact.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
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
	return c->issues + (c->head.bytes - sizeof(*c)) / sizeof(c->issues[0]);
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
	    .beside = {c->beside[0], c->beside[1], c->beside[2], c->beside[3]},
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

/* ---- what readers know ---- */

#define FIELD(kind, name, record, member)                                                         \
	{                                                                                         \
#name, "", GSB_TRACE_FIELD_##kind, offsetof(struct gsb_compact_##record, member), \
			sizeof(((struct gsb_compact_##record *)0)->member), NULL                  \
	}

static const struct gsb_trace_field launch_fields[] = {
	FIELD(U64, serial, launch, serial),
	FIELD(U64, post_device_ns, launch, post_device_ns),
	FIELD(U64, posted_ns, launch, posted_ns),
	FIELD(U16, thread, launch, rec.thread),
	FIELD(U64, stream, launch, rec.stream),
	FIELD(U64, function, launch, body.function),
	FIELD(U32, grid_x, launch, body.grid[0]),
	FIELD(U32, grid_y, launch, body.grid[1]),
	FIELD(U32, grid_z, launch, body.grid[2]),
	FIELD(U32, block_x, launch, body.block[0]),
	FIELD(U32, block_y, launch, body.block[1]),
	FIELD(U32, block_z, launch, body.block[2]),
	FIELD(U32, smem_bytes, launch, body.smem_bytes),
	FIELD(U32, flags, launch, body.flags),
};
static const struct gsb_trace_field again_fields[] = {
	FIELD(U64, time_ns, again, time_ns),
	FIELD(U64, posted_ns, again, posted_ns),
};

static const struct gsb_trace_field decision_fields[] = {
	FIELD(U64, decision, decision, decision), FIELD(U64, device_ns, decision, device_ns),
	FIELD(U32, n_ready, decision, n_ready),	  FIELD(U32, n_running, decision, n_running),
	FIELD(SERIALS, beside, decision, beside),
};
static const struct gsb_trace_field issue_fields[] = {
	FIELD(U64, serial, issue, op.serial),
	FIELD(U64, ready_device_ns, issue, op.ready_device_ns),
	FIELD(U32, reason, issue, why.reason),
	FIELD(I32, priority, issue, why.priority),
	FIELD(U32, first_sm, issue, why.first_sm),
	FIELD(U32, n_sms, issue, why.n_sms),
	FIELD(U32, predicted_slowdown_ppm, issue, why.predicted_slowdown_ppm),
	FIELD(U32, trust_ppm, issue, why.trust_ppm),
	FIELD(U64, predicted_ns, issue, why.predicted_ns),
	FIELD(U64, part_ns, issue, why.part_ns),
	FIELD(U32, tenant, issue, stream.tenant),
	FIELD(U32, stream, issue, stream.stream),
	FIELD(U64, issued_device_ns, issue, issued_device_ns),
	FIELD(U64, n_blocks_after, issue, n_blocks_after),
	FIELD(U64, n_blocks, issue, n_blocks),
	FIELD(U32, n_parts, issue, n_parts),
	FIELD(U32, threads_per_block, issue, threads_per_block),
	FIELD(U32, n_ready, issue, n_ready),
	FIELD(U16, queue, issue, queue),
	FIELD(U8, form, issue, form),
	FIELD(U8, cut, issue, cut),
};

static const struct gsb_trace_field run_fields[] = {
	FIELD(U32, tenant, run, stream.tenant), FIELD(U32, stream, run, stream.stream),
	FIELD(U64, serial, run, serial),	FIELD(U64, number, run, number),
	FIELD(U64, decision, run, decision),	FIELD(I32, priority, run, priority),
	FIELD(U32, first_sm, run, first_sm),	FIELD(U32, n_sms, run, n_sms),
	FIELD(U32, queue, run, queue),		FIELD(U32, n_ready, run, n_ready),
	FIELD(U32, n_running, run, n_running),	FIELD(SERIALS, beside, run, beside),
};
static const struct gsb_trace_field step_fields[] = {
	FIELD(U64, next_serial, step, next.serial),
	FIELD(U64, next_ready_device_ns, step, next.ready_device_ns),
	FIELD(U64, start_device_ns, step, start_device_ns),
	FIELD(U64, end_device_ns, step, end_device_ns),
	FIELD(U64, n_blocks, step, n_blocks),
	FIELD(U64, n_instructions, step, n_instructions),
	FIELD(U64, n_blocks_next, step, n_blocks_next),
	FIELD(U32, threads_per_block_next, step, threads_per_block_next),
};

static const struct gsb_trace_field end_fields[] = {
	FIELD(U32, tenant, end, stream.tenant),
	FIELD(U32, stream, end, stream.stream),
	FIELD(U64, serial, end, serial),
	FIELD(U64, number, end, number),
	FIELD(I32, result, end, result.result),
	FIELD(U32, failed, end, result.failed),
	FIELD(U64, start_device_ns, end, result.start_device_ns),
	FIELD(U64, end_device_ns, end, result.end_device_ns),
	FIELD(U64, n_blocks, end, result.n_blocks),
	FIELD(U64, n_instructions, end, result.n_instructions),
};

#define LIST(name, record, fields)                                                           \
	{                                                                                    \
		name, "", sizeof(struct gsb_compact_##record), GSB_ARRAY_LEN(fields), fields \
	}

static const struct gsb_compact_layout layouts[] = {
	{LIST("launches", launch, launch_fields), LIST("launches_part", again, again_fields)},
	{LIST("decision", decision, decision_fields), LIST("decision_part", issue, issue_fields)},
	{LIST("run", run, run_fields), LIST("run_part", step, step_fields)},
	{LIST("end", end, end_fields), {0}},
};
static_assert(GSB_ARRAY_LEN(layouts) == GSB_N_COMPACT_TYPES - GSB_COMPACT_LAUNCH,
	      "one for each, in their order");

const struct gsb_compact_layout *gsb_compact_layout(unsigned type)
{
	return type >= GSB_COMPACT_LAUNCH && type < GSB_N_COMPACT_TYPES
		       ? &layouts[type - GSB_COMPACT_LAUNCH]
		       : NULL;
}
