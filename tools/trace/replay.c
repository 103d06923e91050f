/*
 * replay.c - gsb-trace replay: the load of a trace, as model/input/workload.h has it: what was posted, on which stream, after which
 * wait. What a load cannot say, because the trace does not, is left out, and how much that was is told.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "model/input/workload.h"
#include "tools/trace/export.h"

_Static_assert((int)GSB_WORKLOAD_NOP == (int)GSB_TRACE_OP_NOP &&
		       (int)GSB_WORKLOAD_INLINE == (int)GSB_TRACE_PLACE_INLINE,
	       "operations and places of a load are those of a trace");

struct making {
	const struct gsb_traced *t;
	const struct gsb_accounts *a;
	struct gsb_workload load;
};

/* In a load time begins with the recording. */
static uint64_t since(const struct making *m, uint64_t ns)
{
	return ns > m->t->header.device_ns ? ns - m->t->header.device_ns : 0;
}

/* ---- things with names ---- */

static int by_id(const void *a, const void *b)
{
	const struct gsb_workload_tenant *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int by_tenant_and_number(const void *a, const void *b)
{
	const struct gsb_workload_stream *x = a, *y = b;

	if (x->tenant != y->tenant)
		return x->tenant < y->tenant ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void make_tenants(struct making *m)
{
	for (uint32_t i = 0; i < m->t->n_tenants; i++) {
		const struct gsb_traced_tenant *it = &m->t->tenants[i];
		struct gsb_workload_tenant *to = &m->load.tenants[m->load.n_tenants++];

		to->id = it->number;
		to->come_ns = since(m, it->come_ns);
		to->peak_bytes = it->gone ? it->counters.peak_bytes : it->peak_bytes;
		memcpy(to->name, it->name, sizeof(to->name));
		memcpy(to->program, it->program, sizeof(to->program));
	}
	qsort(m->load.tenants, m->load.n_tenants, sizeof(*m->load.tenants), by_id);
}

static void make_streams(struct making *m)
{
	for (uint32_t i = 0; i < m->t->n_streams; i++) {
		const struct gsb_traced_stream *s = &m->t->streams[i];

		m->load.streams[m->load.n_streams++] = (struct gsb_workload_stream){
			.tenant = m->t->tenants[s->tenant].number,
			.number = s->number,
			.priority = s->priority == INT32_MIN ? -INT32_MAX : s->priority,
			.blocking = s->is_blocking,
			.legacy = s->is_legacy,
		};
	}
	qsort(m->load.streams, m->load.n_streams, sizeof(*m->load.streams), by_tenant_and_number);
}

static void make_kernels(struct making *m)
{
	for (uint32_t i = 0; i < m->t->n_kernels; i++) {
		const struct gsb_traced_kernel *k = &m->t->kernels[i];
		struct gsb_workload_kernel *to = &m->load.kernels[m->load.n_kernels++];

		to->id = m->load.n_kernels;
		to->tenant = m->t->tenants[k->tenant].number;
		to->regs = k->regs;
		to->smem_bytes = k->static_smem_bytes;
		memcpy(to->name, k->name, sizeof(to->name));
	}
}

static void make_memory(struct making *m)
{
	for (uint32_t i = 0; i < m->t->n_memory; i++) {
		const struct gsb_traced_memory *at = &m->t->memory[i];

		m->load.memory[m->load.n_memory++] = (struct gsb_workload_memory){
			.tenant = m->t->tenants[at->tenant].number,
			.at_ns = since(m, at->device_ns),
			.bytes = at->bytes,
		};
	}
}

/* ---- operations ---- */

/* The trace says what it is, and that is something that there can be. */
static bool is_known(const struct gsb_traced_op *op)
{
	uint64_t threads = (uint64_t)op->block[0] * op->block[1];

	if (!op->serial || op->kind > GSB_TRACE_OP_NOP || op->from > GSB_TRACE_PLACE_INLINE ||
	    op->to > GSB_TRACE_PLACE_INLINE)
		return false;
	if (op->kind != GSB_TRACE_OP_LAUNCH)
		return true;
	return op->kernel != GSB_TRACED_NONE && op->grid[0] && op->grid[1] && op->grid[2] &&
	       threads && threads <= 1u << 16 && op->block[2] && threads * op->block[2] <= 1u << 16;
}

/* An operation that this one may name: it is in the load, and before it. */
static const struct gsb_traced_op *before(const struct making *m, const struct gsb_traced_op *op,
					  uint64_t serial)
{
	const struct gsb_traced_op *other =
		serial && serial < op->serial ? gsb_traced_find(m->t, serial) : NULL;

	return other && is_known(other) ? other : NULL;
}

static void say_when(const struct making *m, const struct gsb_traced_op *op,
		     struct gsb_workload_op *to)
{
	const struct gsb_traced_op *after = before(m, op, op->after);
	uint64_t from = since(m, m->t->tenants[op->tenant].come_ns);

	to->post_ns = since(m, op->post_ns);
	if (after && after->tenant == op->tenant && gsb_traced_has(after, GSB_STEP_COMPLETED)) {
		to->after = after->serial;
		from = since(m, after->completed_ns);
	}
	to->think_ns = to->post_ns > from ? to->post_ns - from : 0;
}

/* What was measured. */
static void say_times(const struct making *m, const struct gsb_traced_op *op,
		      struct gsb_workload_op *to)
{
	if (gsb_traced_ran(op)) {
		to->start_ns = since(m, op->start_ns);
		to->end_ns = since(m, op->end_ns);
		to->n_instructions = op->n_instructions;
	}
	if (gsb_traced_has(op, GSB_STEP_COMPLETED) && op->completed_ns >= op->end_ns)
		to->done_ns = since(m, op->completed_ns);
	to->alone_ns = (uint64_t)(gsb_accounts_reference(m->a, m->t, op) + 0.5);
}

static void say_launch(const struct gsb_traced_op *op, struct gsb_workload_op *to)
{
	to->kernel = op->kernel + 1;
	memcpy(to->grid, op->grid, sizeof(to->grid));
	memcpy(to->block, op->block, sizeof(to->block));
	to->smem_bytes = op->smem_bytes;
	to->cooperative = op->is_cooperative;
}

static void make_op(struct making *m, const struct gsb_traced_op *op)
{
	struct gsb_workload_op *to = &m->load.ops[m->load.n_ops++];
	const struct gsb_traced_op *on =
		op->kind == GSB_TRACE_OP_EVENT_WAIT ? before(m, op, op->waits_for) : NULL;

	*to = (struct gsb_workload_op){
		.serial = op->serial,
		.tenant = m->t->tenants[op->tenant].number,
		.stream = m->t->streams[op->stream].number,
		.kind = op->kind,
		.thread = op->thread,
		.on = on ? on->serial : 0,
		.bytes = op->bytes,
		.from = op->from,
		.to = op->to,
	};
	if (op->kind == GSB_TRACE_OP_LAUNCH)
		say_launch(op, to);
	say_when(m, op, to);
	say_times(m, op, to);
}

static int by_serial(const void *a, const void *b)
{
	const struct gsb_workload_op *x = a, *y = b;

	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static void make_ops(struct making *m)
{
	for (uint32_t i = 0; i < m->t->n_ops; i++)
		if (is_known(&m->t->ops[i]))
			make_op(m, &m->t->ops[i]);
	qsort(m->load.ops, m->load.n_ops, sizeof(*m->load.ops), by_serial);
}

/* ---- the whole ---- */

static void *room(uint32_t n, size_t size)
{
	return calloc((size_t)n + 1, size);
}

int gsb_export_workload(FILE *to, const struct gsb_traced *t, const struct gsb_accounts *a)
{
	struct making m = {.t = t, .a = a};
	struct gsb_workload *l = &m.load;
	int err = -ENOMEM;

	l->tenants = room(t->n_tenants, sizeof(*l->tenants));
	l->streams = room(t->n_streams, sizeof(*l->streams));
	l->kernels = room(t->n_kernels, sizeof(*l->kernels));
	l->memory = room(t->n_memory, sizeof(*l->memory));
	l->ops = room(t->n_ops, sizeof(*l->ops));
	if (!l->tenants || !l->streams || !l->kernels || !l->memory || !l->ops)
		goto out;
	memcpy(l->device.name, t->header.device, sizeof(l->device.name));
	memcpy(l->device.policy, t->header.policy, sizeof(l->device.policy));
	l->device.n_sms = t->header.n_sms;
	l->device.clock = t->header.is_virtual ? GSB_WORKLOAD_VIRTUAL : GSB_WORKLOAD_REAL;
	make_tenants(&m);
	make_streams(&m);
	make_kernels(&m);
	make_memory(&m);
	make_ops(&m);
	gsb_workload_write(to, l);
	if (l->n_ops < t->n_ops)
		fprintf(stderr,
			"gsb-trace: %" PRIu32 " operations are left out: the trace does not say "
			"what they are\n",
			t->n_ops - l->n_ops);
	err = 0;
out:
	gsb_workload_finish(l);
	return err;
}
