/*
 * traced.c - see traced.h.
 */
#include "tools/trace/traced.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "gsb/model_error.h"
#include "tools/trace/amounts.h"
#include "tools/trace/ranges.h"

/* ---- arrays ---- */

void *gsb_traced_append(void *array, uint32_t *n, uint32_t *room, size_t size)
{
	void **at = array;

	if (*n == *room) {
		uint32_t more = *room ? *room + *room / 2 : 64;
		void *bigger = more > *room && more < GSB_TRACED_NONE
				       ? reallocarray(*at, more, size)
				       : NULL;

		if (!bigger)
			return NULL;
		*at = bigger;
		*room = more;
	}
	return memset((char *)*at + (*n)++ * size, 0, size);
}

void gsb_traced_clean(char *out, size_t size, const char *text, size_t room)
{
	size_t n = strnlen(text, room < size - 1 ? room : size - 1);

	for (size_t i = 0; i < n; i++)
		out[i] = text[i] < ' ' || text[i] > '~' ? '?' : text[i];
	out[n] = '\0';
}

#define CLEAN(to, from) gsb_traced_clean(to, sizeof(to), from, sizeof(from))

void gsb_traced_init(struct gsb_traced *t, const struct gsb_trace_header *header)
{
	*t = (struct gsb_traced){.header = *header, .free_op = GSB_TRACED_NONE};
	t->now_ns = header->device_ns;
	CLEAN(t->header.version, header->version);
	CLEAN(t->header.device, header->device);
	CLEAN(t->header.policy, header->policy);
}

void gsb_traced_finish(struct gsb_traced *t)
{
	free(t->ops);
	free(t->tenants);
	free(t->streams);
	free(t->kernels);
	free(t->memory);
	gsb_traced_ranges_finish(t);
	gsb_map_finish(&t->op_of);
	gsb_map_finish(&t->tenant_of);
	gsb_map_finish(&t->stream_of);
	gsb_map_finish(&t->kernel_of);
	*t = (struct gsb_traced){0};
}

/* ---- things with names; what was never told is there as soon as it is spoken of ---- */

static struct gsb_traced_tenant *tenant(struct gsb_traced *t, uint32_t number, uint32_t *index)
{
	struct gsb_traced_tenant *it;

	*index = gsb_map_get(&t->tenant_of, 0, number);
	if (*index != GSB_MAP_NONE)
		return &t->tenants[*index];
	if (gsb_map_put(&t->tenant_of, 0, number, t->n_tenants))
		return NULL;
	*index = t->n_tenants;
	it = GSB_TRACED_APPEND(t, tenants);
	if (!it)
		return NULL;
	it->number = number;
	snprintf(it->name, sizeof(it->name), "tenant %" PRIu32, number);
	return it;
}

static struct gsb_traced_stream *stream(struct gsb_traced *t, uint32_t owner, uint32_t number,
					uint32_t *index)
{
	struct gsb_traced_stream *it;

	*index = gsb_map_get(&t->stream_of, owner, number);
	if (*index != GSB_MAP_NONE)
		return &t->streams[*index];
	if (gsb_map_put(&t->stream_of, owner, number, t->n_streams))
		return NULL;
	*index = t->n_streams;
	it = GSB_TRACED_APPEND(t, streams);
	if (!it)
		return NULL;
	it->tenant = owner;
	it->number = number;
	it->last = GSB_TRACED_NONE;
	return it;
}

static struct gsb_traced_kernel *new_kernel(struct gsb_traced *t, uint32_t owner, uint64_t function)
{
	struct gsb_traced_kernel *it;

	if (gsb_map_put(&t->kernel_of, owner, function, t->n_kernels))
		return NULL;
	it = GSB_TRACED_APPEND(t, kernels);
	if (!it)
		return NULL;
	it->tenant = owner;
	it->function = function;
	snprintf(it->name, sizeof(it->name), "kernel 0x%" PRIx64, function);
	return it;
}

/* ---- operations ---- */

const struct gsb_traced_op *gsb_traced_find(const struct gsb_traced *t, uint64_t serial)
{
	uint32_t i = gsb_map_get(&t->op_of, 0, serial);

	return i == GSB_MAP_NONE ? NULL : &t->ops[i];
}

static void flaw(struct gsb_traced *t, struct gsb_traced_op *op, enum gsb_traced_flaw what)
{
	t->n_flawed += !op->flaws;
	t->flaws[what] += !(op->flaws >> what & 1);
	op->flaws |= (uint8_t)(1u << what);
}

/* The operation of an event, which is at this step now; NULL: it was never queued. */
static struct gsb_traced_op *at_step(struct gsb_traced *t, uint64_t serial,
				     enum gsb_traced_step step)
{
	uint32_t i = gsb_map_get(&t->op_of, 0, serial);
	bool repeats = step == GSB_STEP_PARKED || step == GSB_STEP_DECIDED;
	struct gsb_traced_op *op;

	if (i == GSB_MAP_NONE) {
		t->n_orphans++;
		return NULL;
	}
	op = &t->ops[i];
	if (op->steps >> (repeats ? step + 1 : step))
		flaw(t, op, GSB_FLAW_ORDER);
	op->steps |= (uint8_t)(1u << step);
	return op;
}

static struct gsb_traced_op *new_op(struct gsb_traced *t, uint64_t serial)
{
	uint32_t i = t->free_op;
	struct gsb_traced_op *op;

	if (i == GSB_TRACED_NONE) {
		i = t->n_ops;
		op = GSB_TRACED_APPEND(t, ops);
		if (!op)
			return NULL;
	} else {
		op = &t->ops[i];
		t->free_op = op->previous;
		*op = (struct gsb_traced_op){0};
	}
	op->serial = serial;
	if (serial > t->last_serial)
		t->last_serial = serial;
	return gsb_map_put(&t->op_of, 0, serial, i) ? NULL : op;
}

static void forget(struct gsb_traced *t, struct gsb_traced_op *op)
{
	gsb_map_remove(&t->op_of, 0, op->serial);
	op->previous = t->free_op;
	op->steps = 0;
	t->free_op = (uint32_t)(op - t->ops);
}

/* The latest that was over when it was posted: with a virtual clock by device time, else by the real one. */
static uint64_t released_by(const struct gsb_traced *t, const struct gsb_traced_tenant *it,
			    const struct gsb_trace_queued *e)
{
	uint64_t posted_ns = e->posted_ns ? e->posted_ns : e->head.time_ns;

	for (unsigned i = 0; i < GSB_TRACED_RELEASES; i++) {
		const struct gsb_traced_release *r = &it->releases[i];

		if (r->done_ns <= e->post_device_ns &&
		    (t->header.is_virtual || r->real_ns <= posted_ns))
			return r->serial;
	}
	return 0;
}

static int on_queued(struct gsb_traced *t, const struct gsb_trace_queued *e)
{
	uint32_t who, where;
	struct gsb_traced_tenant *owner = tenant(t, e->head.tenant, &who);
	struct gsb_traced_stream *s = owner ? stream(t, who, e->stream, &where) : NULL;
	struct gsb_traced_op *op;

	if (!s)
		return -ENOMEM;
	if (gsb_traced_find(t, e->serial)) {
		t->n_duplicates++;
		return 0;
	}
	op = new_op(t, e->serial);
	if (!op)
		return -ENOMEM;
	op->tenant = who;
	op->stream = where;
	op->kernel = GSB_TRACED_NONE;
	op->previous = t->on_done ? GSB_TRACED_NONE : s->last;
	op->place = s->n_queued++;
	op->kind = e->kind;
	op->before = e->before;
	op->thread = e->thread;
	op->steps = 1u << GSB_STEP_QUEUED;
	op->posted_real_ns = e->posted_ns;
	op->queued_real_ns = e->head.time_ns;
	op->post_ns = e->post_device_ns;
	op->range = gsb_traced_ranges_innermost(t, who, e->thread);
	op->after = released_by(t, owner, e);
	s->last = (uint32_t)(op - t->ops);
	t->n_queued++;
	owner->n_queued++;
	owner->n_launches += e->kind == GSB_TRACE_OP_LAUNCH;
	return 0;
}

static int on_launch(struct gsb_traced *t, const struct gsb_trace_launch *e)
{
	struct gsb_traced_op *op = at_step(t, e->serial, GSB_STEP_DETAIL);

	if (!op)
		return 0;
	op->kernel = gsb_map_get(&t->kernel_of, op->tenant, e->function);
	if (op->kernel == GSB_MAP_NONE) {
		op->kernel = t->n_kernels;
		if (!new_kernel(t, op->tenant, e->function))
			return -ENOMEM;
	}
	op->n_blocks = op->n_blocks_after = e->n_blocks;
	memcpy(op->grid, (uint32_t[]){e->grid_x, e->grid_y, e->grid_z}, sizeof(op->grid));
	memcpy(op->block, (uint32_t[]){e->block_x, e->block_y, e->block_z}, sizeof(op->block));
	op->smem_bytes = e->smem_bytes;
	op->is_cooperative = e->is_cooperative != 0;
	return 0;
}

static void on_copy(struct gsb_traced *t, const struct gsb_trace_copy *e)
{
	struct gsb_traced_op *op = at_step(t, e->serial, GSB_STEP_DETAIL);

	if (!op)
		return;
	op->bytes = e->bytes;
	op->from = e->from;
	op->to = e->to;
}

static void on_fill(struct gsb_traced *t, const struct gsb_trace_fill *e)
{
	struct gsb_traced_op *op = at_step(t, e->serial, GSB_STEP_DETAIL);

	if (op)
		op->bytes = e->bytes;
}

static void on_waits_for(struct gsb_traced *t, const struct gsb_trace_waits_for *e)
{
	struct gsb_traced_op *op = at_step(t, e->serial, GSB_STEP_DETAIL);

	if (op)
		op->waits_for = e->on_serial;
}

static void on_parked(struct gsb_traced *t, const struct gsb_trace_parked *e)
{
	struct gsb_traced_op *op = at_step(t, e->serial, GSB_STEP_PARKED);

	if (op && op->n_parks < GSB_TRACED_PARKS_MAX)
		op->parks[op->n_parks++] = (struct gsb_traced_park){e->on_serial, e->on};
}

static void pass_time(struct gsb_traced *t, uint64_t device_ns)
{
	if (device_ns > t->now_ns)
		t->now_ns = device_ns;
}

static void on_ready(struct gsb_traced *t, const struct gsb_trace_ready *e)
{
	struct gsb_traced_op *op = at_step(t, e->serial, GSB_STEP_READY);

	if (!op)
		return;
	op->ready_ns = e->ready_device_ns;
}

static void on_decided(struct gsb_traced *t, const struct gsb_trace_decided *e)
{
	struct gsb_traced_op *op = at_step(t, e->serial, GSB_STEP_DECIDED);

	if (!op)
		return;
	if (e->verdict == GSB_TRACE_VERDICT_HOLD) {
		op->held_ns = op->n_holds ? op->held_ns : e->device_ns;
		op->hold_reason = e->reason;
		op->hold_not_before_ns = op->hold_until = 0;
		op->n_holds++;
		return;
	}
	if (op->decided_ns)
		flaw(t, op, GSB_FLAW_ORDER);
	op->decided_ns = e->device_ns;
	op->decision = e->decision;
	op->reason = e->reason;
	op->n_blocks_after = e->n_blocks_after;
	op->threads_after = e->threads_per_block;
	op->n_running = e->n_running;
	op->n_ready = e->n_ready;
	op->predicted_ns = e->predicted_ns;
	op->predicted_slowdown_ppm = e->predicted_slowdown_ppm;
	op->trust_ppm = e->trust_ppm;
	memcpy(op->beside, e->beside, sizeof(op->beside));
}

static void on_held(struct gsb_traced *t, const struct gsb_trace_held *e)
{
	uint32_t i = gsb_map_get(&t->op_of, 0, e->serial);

	if (i == GSB_MAP_NONE) {
		t->n_orphans++;
		return;
	}
	t->ops[i].hold_not_before_ns = e->not_before_device_ns;
	t->ops[i].hold_until = e->until;
}

static void on_issued(struct gsb_traced *t, const struct gsb_trace_issued *e)
{
	struct gsb_traced_op *op = at_step(t, e->serial, GSB_STEP_ISSUED);

	pass_time(t, e->device_ns);
	if (!op)
		return;
	op->issued_ns = e->device_ns;
	op->queue = e->queue;
}

static void on_shaped(struct gsb_traced *t, const struct gsb_trace_shaped *e)
{
	struct gsb_traced_op *op = at_step(t, e->serial, GSB_STEP_DECIDED); /* with that */

	if (!op)
		return;
	op->form = e->form;
	op->n_parts = e->n_parts;
	op->part_ns = e->part_ns;
}

static void on_finished(struct gsb_traced *t, const struct gsb_trace_finished *e)
{
	struct gsb_traced_op *op = at_step(t, e->serial, GSB_STEP_FINISHED);

	if (!op)
		return;
	op->start_ns = e->start_device_ns;
	op->end_ns = e->end_device_ns;
	op->n_instructions = e->n_instructions;
	op->result = e->result;
}

/* The steps that an operation of its kind has when it is completed; what was there before has told some to nobody. */
static bool is_whole(const struct gsb_traced_op *op)
{
	unsigned command = 1u << GSB_STEP_DETAIL | 1u << GSB_STEP_READY | 1u << GSB_STEP_DECIDED |
			   1u << GSB_STEP_ISSUED | 1u << GSB_STEP_FINISHED;
	bool has_detail =
		op->kind == GSB_TRACE_OP_EVENT_RECORD || op->kind == GSB_TRACE_OP_EVENT_WAIT;
	unsigned wanted = gsb_traced_is_command(op) ? command
			  : has_detail		    ? 1u << GSB_STEP_DETAIL
						    : 0;

	return op->before || op->failed || (op->steps & wanted) == wanted;
}

/* A step that was not told has no time to compare. */
static bool rises(const uint64_t *times, unsigned n)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < n; i++) {
		if (times[i] && times[i] < last)
			return false;
		last = times[i] ? times[i] : last;
	}
	return true;
}

/* What may start only later may be decided and issued before. */
static bool do_times_run_on(const struct gsb_traced_op *op)
{
	const uint64_t may[] = {op->post_ns, op->ready_ns, op->start_ns, op->end_ns,
				op->completed_ns};
	const uint64_t goes[] = {op->decided_ns, op->issued_ns, op->start_ns};

	return rises(may, GSB_ARRAY_LEN(may)) && rises(goes, GSB_ARRAY_LEN(goes));
}

/* Each stream's word counts its operations, and they complete in the order in which they were queued. */
static void check_stream(struct gsb_traced *t, struct gsb_traced_op *op, uint64_t number)
{
	struct gsb_traced_stream *s = &t->streams[op->stream];

	if (op->place != s->n_completed)
		flaw(t, op, GSB_FLAW_OVERTOOK);
	if (s->last_number && number != s->last_number + 1)
		flaw(t, op, GSB_FLAW_NUMBER);
	s->n_completed = op->place + 1;
	s->last_number = number;
	s->last_serial = op->serial;
}

static void count_completed(struct gsb_traced_tenant *it, const struct gsb_traced_op *op)
{
	bool ok = !op->failed && !op->result;

	it->n_kernels += ok && op->kind == GSB_TRACE_OP_LAUNCH;
	it->n_copies += ok && op->kind == GSB_TRACE_OP_COPY;
	it->n_fills += ok && op->kind == GSB_TRACE_OP_FILL;
	if (op->kind == GSB_TRACE_OP_LAUNCH && gsb_traced_ran(op))
		it->kernels_ns += op->end_ns - op->start_ns;
	if (gsb_traced_is_measured(op)) {
		it->error_ppm += gsb_model_error_ppm((double)op->predicted_ns,
						     (double)(op->end_ns - op->start_ns));
		it->n_predicted++;
	}
}

static void note_done(struct gsb_traced *t, const struct gsb_traced_op *op)
{
	struct gsb_traced_release *r = t->tenants[op->tenant].releases;

	if (!gsb_traced_is_command(op))
		return;
	memmove(r + 1, r, (GSB_TRACED_RELEASES - 1) * sizeof(*r));
	*r = (struct gsb_traced_release){op->serial, op->completed_real_ns, op->completed_ns};
}

static void on_completed(struct gsb_traced *t, const struct gsb_trace_completed *e)
{
	struct gsb_traced_op *op = at_step(t, e->serial, GSB_STEP_COMPLETED);

	if (!op)
		return;
	/* What never goes to the device is complete at its tenant's time, and virtual time may be far behind that. */
	if (gsb_traced_ran(op))
		pass_time(t, e->device_ns);
	op->completed_ns = e->device_ns;
	op->completed_real_ns = e->head.time_ns;
	op->failed = e->failed != 0;
	if (!is_whole(op))
		flaw(t, op, GSB_FLAW_MISSING);
	if (!do_times_run_on(op))
		flaw(t, op, GSB_FLAW_TIMES);
	check_stream(t, op, e->number);
	count_completed(&t->tenants[op->tenant], op);
	note_done(t, op);
	t->n_completed++;
	if (!t->on_done)
		return;
	t->on_done(t->arg, t, op);
	forget(t, op);
}

/* What is forgotten was completed; what its stream's word said last is known all the same. */
static bool is_wake_true(const struct gsb_traced *t, const struct gsb_trace_woken *e, uint32_t who)
{
	uint32_t at = gsb_map_get(&t->stream_of, who, e->index);
	const struct gsb_traced_stream *s = at == GSB_MAP_NONE ? NULL : &t->streams[at];
	const struct gsb_traced_op *op = gsb_traced_find(t, e->serial);

	if (op ? op->tenant != who || !gsb_traced_has(op, GSB_STEP_COMPLETED)
	       : e->serial > t->last_serial || !t->on_done)
		return false;
	return e->waited != GSB_TRACE_WAIT_STREAM || !s || s->last_number != e->value ||
	       s->last_serial == e->serial;
}

static int on_woken(struct gsb_traced *t, const struct gsb_trace_woken *e)
{
	uint32_t who, i = gsb_map_get(&t->op_of, 0, e->serial);

	if (!tenant(t, e->head.tenant, &who))
		return -ENOMEM;
	if (!e->serial)
		return 0;
	t->n_false_wakes += !is_wake_true(t, e, who);
	if (i == GSB_MAP_NONE)
		return 0;
	if (!t->ops[i].n_woke++)
		t->ops[i].woke_real_ns = e->head.time_ns;
	return 0;
}

/* ---- tenants and what they have ---- */

static int on_tenant_come(struct gsb_traced *t, const struct gsb_trace_tenant_come *e)
{
	uint32_t i;
	struct gsb_traced_tenant *it = tenant(t, e->head.tenant, &i);

	if (!it)
		return -ENOMEM;
	it->told = true;
	it->before = e->before != 0;
	it->pid = e->pid;
	it->uid = e->uid;
	it->come_real_ns = e->head.time_ns;
	it->come_ns = t->now_ns;
	CLEAN(it->name, e->name);
	CLEAN(it->program, e->program);
	return 0;
}

static int on_stream_made(struct gsb_traced *t, const struct gsb_trace_stream_made *e)
{
	uint32_t who, i;
	struct gsb_traced_stream *s =
		tenant(t, e->head.tenant, &who) ? stream(t, who, e->stream, &i) : NULL;

	if (!s)
		return -ENOMEM;
	s->priority = e->priority;
	s->is_legacy = e->is_legacy != 0;
	s->is_blocking = e->is_blocking != 0;
	return 0;
}

static int on_kernel(struct gsb_traced *t, const struct gsb_trace_kernel *e)
{
	uint32_t who;
	struct gsb_traced_kernel *k =
		tenant(t, e->head.tenant, &who) ? new_kernel(t, who, e->function) : NULL;

	if (!k)
		return -ENOMEM;
	k->regs = e->regs;
	k->static_smem_bytes = e->static_smem_bytes;
	k->shapes = e->shapes;
	memcpy(k->refusals, (uint8_t[]){e->no_reshape, e->no_slice, e->no_persistent},
	       sizeof(k->refusals));
	CLEAN(k->name, e->name);
	return 0;
}

static int on_used(struct gsb_traced *t, const struct gsb_trace_used *e)
{
	uint32_t who;
	struct gsb_traced_tenant *it = tenant(t, e->head.tenant, &who);
	struct gsb_traced_memory *m;

	if (!it)
		return -ENOMEM;
	if (e->used_bytes > it->peak_bytes)
		it->peak_bytes = e->used_bytes;
	if (t->on_done)
		return 0;
	m = GSB_TRACED_APPEND(t, memory);
	if (!m)
		return -ENOMEM;
	*m = (struct gsb_traced_memory){t->now_ns, e->used_bytes, who};
	return 0;
}

/* What is forgotten when it is done is not asked which range it was in. */
static int on_range(struct gsb_traced *t, const struct gsb_trace_range *e)
{
	uint32_t who;

	if (!tenant(t, e->head.tenant, &who))
		return -ENOMEM;
	return t->on_done ? 0 : gsb_traced_ranges_take(t, who, e);
}

void gsb_traced_lose(struct gsb_traced *t, uint64_t n_events)
{
	t->n_lost += n_events;
	gsb_traced_ranges_lose(t);
}

/* Events that only count for their tenant. */
static int count_event(struct gsb_traced *t, unsigned type, const union gsb_trace_any *e)
{
	uint32_t who;
	struct gsb_traced_tenant *it = tenant(t, e->head.tenant, &who);

	if (!it)
		return -ENOMEM;
	it->n_taken += type == GSB_TRACE_TAKEN;
	it->n_faults += type == GSB_TRACE_FAULT;
	it->n_stalls += type == GSB_TRACE_STALLED;
	if (type == GSB_TRACE_ALLOCATED && !e->allocated.error) {
		it->n_allocations++;
		it->allocated_bytes += e->allocated.bytes;
	}
	if (type == GSB_TRACE_TENANT_MODEL)
		it->model = e->tenant_model;
	if (type == GSB_TRACE_TENANT_GONE) {
		it->gone = true;
		it->gone_real_ns = e->head.time_ns;
		it->gone_ns = t->now_ns;
		it->counters = e->tenant_gone;
	}
	return 0;
}

int gsb_traced_take(struct gsb_traced *t, unsigned type, const union gsb_trace_any *e)
{
	t->n_events++;
	switch (type) {
	case GSB_TRACE_NONE: t->n_unknown++; return 0;
	case GSB_TRACE_LOST: gsb_traced_lose(t, e->lost.n_events); return 0;
	case GSB_TRACE_CLOCK: pass_time(t, e->clock.device_ns); return 0;
	case GSB_TRACE_TIME_STEP: pass_time(t, e->time_step.to_device_ns); return 0;
	case GSB_TRACE_TENANT_COME: return on_tenant_come(t, &e->tenant_come);
	case GSB_TRACE_STREAM_MADE: return on_stream_made(t, &e->stream_made);
	case GSB_TRACE_WOKEN: return on_woken(t, &e->woken);
	case GSB_TRACE_KERNEL: return on_kernel(t, &e->kernel);
	case GSB_TRACE_USED: return on_used(t, &e->used);
	case GSB_TRACE_RANGE: return on_range(t, &e->range);
	case GSB_TRACE_QUEUED: return on_queued(t, &e->queued);
	case GSB_TRACE_LAUNCH: return on_launch(t, &e->launch);
	case GSB_TRACE_COPY: on_copy(t, &e->copy); return 0;
	case GSB_TRACE_FILL: on_fill(t, &e->fill); return 0;
	case GSB_TRACE_RECORDS: at_step(t, e->records.serial, GSB_STEP_DETAIL); return 0;
	case GSB_TRACE_WAITS_FOR: on_waits_for(t, &e->waits_for); return 0;
	case GSB_TRACE_PARKED: on_parked(t, &e->parked); return 0;
	case GSB_TRACE_READY: on_ready(t, &e->ready); return 0;
	case GSB_TRACE_DECIDED: on_decided(t, &e->decided); return 0;
	case GSB_TRACE_HELD: on_held(t, &e->held); return 0;
	case GSB_TRACE_SHAPED: on_shaped(t, &e->shaped); return 0;
	case GSB_TRACE_ISSUED: on_issued(t, &e->issued); return 0;
	case GSB_TRACE_FINISHED: on_finished(t, &e->finished); return 0;
	case GSB_TRACE_COMPLETED: on_completed(t, &e->completed); return 0;
	case GSB_TRACE_TAKEN:
	case GSB_TRACE_FAULT:
	case GSB_TRACE_STALLED:
	case GSB_TRACE_ALLOCATED:
	case GSB_TRACE_TENANT_MODEL:
	case GSB_TRACE_TENANT_GONE: return count_event(t, type, e);
	default: return 0;
	}
}

/* ---- words ---- */

const char *gsb_traced_kind(const struct gsb_traced_op *op)
{
	static const char *const names[] = {"launch",	    "copy",	  "fill",	   "free",
					    "event record", "event wait", "host function", "nop"};

	return op->kind < GSB_ARRAY_LEN(names) ? names[op->kind] : "operation";
}

const char *gsb_traced_flaw_text(enum gsb_traced_flaw what)
{
	static const char *const texts[GSB_N_FLAWS] = {
		[GSB_FLAW_MISSING] = "completed without all of their steps",
		[GSB_FLAW_ORDER] = "with a step out of order or told twice",
		[GSB_FLAW_TIMES] = "whose device times run backwards",
		[GSB_FLAW_OVERTOOK] = "completed before one that stood before them in the stream",
		[GSB_FLAW_NUMBER] = "after which the stream's word leaves out a number",
	};

	return texts[what];
}

static const char *place_name(unsigned place)
{
	static const char *const names[] = {"device", "host", "staging", "record"};

	return place < GSB_ARRAY_LEN(names) ? names[place] : "somewhere";
}

void gsb_traced_name(const struct gsb_traced *t, const struct gsb_traced_op *op, char *out,
		     size_t size)
{
	char bytes[GSB_AMOUNT_MAX];

	gsb_bytes_text(op->bytes, bytes);
	if (op->kernel != GSB_TRACED_NONE)
		snprintf(out, size, "%s", t->kernels[op->kernel].name);
	else if (op->kind == GSB_TRACE_OP_COPY && gsb_traced_has(op, GSB_STEP_DETAIL))
		snprintf(out, size, "copy of %s, %s to %s", bytes, place_name(op->from),
			 place_name(op->to));
	else if (op->kind == GSB_TRACE_OP_FILL && gsb_traced_has(op, GSB_STEP_DETAIL))
		snprintf(out, size, "fill of %s", bytes);
	else
		snprintf(out, size, "%s", gsb_traced_kind(op));
}
