/*
 * perfetto.c - gsb-trace perfetto: a trace in Chrome's JSON, which ui.perfetto.dev and chrome://tracing show. A tenant is a
 * process and a stream a thread, so that what is on one track never overlaps; what an operation waited for stands beside
 * it as an asynchronous span, an arrow leads to it from what it was parked on, ranges that the program has named are such spans, too, and two counters go with each tenant.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tools/trace/export.h"
#include "tools/trace/ranges.h"

struct events {
	FILE *to;
	const struct gsb_traced *t;
	const struct gsb_accounts *a;
	uint64_t n; /* so far */
};

/* Begins an event: its place and moment. The caller writes the rest and the brace. */
static void begin(struct events *e, const char *phase, uint32_t tenant, uint32_t thread,
		  uint64_t ns)
{
	fprintf(e->to,
		"%s{\"ph\": \"%s\", \"pid\": %" PRIu32 ", \"tid\": %" PRIu32 ", \"ts\": %" PRIu64
		".%03u",
		e->n++ ? ",\n" : "", phase, e->t->tenants[tenant].number, thread, ns / 1000,
		(unsigned)(ns % 1000));
}

static void name_it(struct events *e, const char *name)
{
	fputs(", \"name\": ", e->to);
	gsb_export_string(e->to, name);
}

static uint32_t thread_of(const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	return t->streams[op->stream].number;
}

/* ---- processes and threads ---- */

static void name_tenants(struct events *e)
{
	char name[160];

	for (uint32_t i = 0; i < e->t->n_tenants; i++) {
		const struct gsb_traced_tenant *it = &e->t->tenants[i];

		snprintf(name, sizeof(name), "%s (%s)", it->name, it->program);
		begin(e, "M", i, 0, 0);
		fputs(", \"name\": \"process_name\", \"args\": {\"name\": ", e->to);
		gsb_export_string(e->to, name);
		fputs("}}", e->to);
	}
	for (uint32_t i = 0; i < e->t->n_streams; i++) {
		const struct gsb_traced_stream *s = &e->t->streams[i];

		snprintf(name, sizeof(name), s->is_legacy ? "default stream" : "stream %" PRIu32,
			 s->number);
		begin(e, "M", s->tenant, s->number, 0);
		fputs(", \"name\": \"thread_name\", \"args\": {\"name\": ", e->to);
		gsb_export_string(e->to, name);
		fputs("}}", e->to);
	}
}

/* ---- operations ---- */

static void write_waits(struct events *e, const struct gsb_traced_op *op)
{
	uint64_t waits[GSB_N_WAITS];

	gsb_account_waits(e->t, op, waits);
	for (unsigned w = 0; w < GSB_N_WAITS; w++)
		if (waits[w])
			fprintf(e->to, ", \"waited_%s_ns\": %" PRIu64, gsb_wait_name(w), waits[w]);
}

static void write_range(struct events *e, const struct gsb_traced_op *op)
{
	char path[GSB_TRACED_NAME_MAX];

	if (op->range == GSB_TRACED_NONE)
		return;
	gsb_traced_ranges_path(e->t, e->t->ranges[op->range].label, path, sizeof(path));
	fputs(", \"range\": ", e->to);
	gsb_export_string(e->to, path);
}

static void write_args(struct events *e, const struct gsb_traced_op *op)
{
	fprintf(e->to, ", \"args\": {\"serial\": %" PRIu64, op->serial);
	if (op->kind == GSB_TRACE_OP_LAUNCH)
		fprintf(e->to,
			", \"grid\": \"%u x %u x %u\", \"block\": \"%u x %u x %u\", \"blocks\": %" PRIu64
			", \"alone_ns\": %" PRIu64,
			op->grid[0], op->grid[1], op->grid[2], op->block[0], op->block[1],
			op->block[2], op->n_blocks_after, e->a->alone_ns[op - e->t->ops]);
	else
		fprintf(e->to, ", \"bytes\": %" PRIu64, op->bytes);
	if (op->predicted_ns)
		fprintf(e->to, ", \"predicted_ns\": %" PRIu64, op->predicted_ns);
	write_waits(e, op);
	write_range(e, op);
	fputs("}}", e->to);
}

static void write_run(struct events *e, const struct gsb_traced_op *op)
{
	char name[GSB_TRACED_NAME_MAX];
	uint64_t ns = op->end_ns - op->start_ns;

	gsb_traced_name(e->t, op, name, sizeof(name));
	begin(e, "X", op->tenant, thread_of(e->t, op), op->start_ns);
	fprintf(e->to, ", \"dur\": %" PRIu64 ".%03u, \"cat\": \"%s\"", ns / 1000,
		(unsigned)(ns % 1000), gsb_traced_kind(op));
	name_it(e, name);
	write_args(e, op);
}

static void write_wait_span(struct events *e, const struct gsb_traced_op *op)
{
	static const char *const phases[] = {"b", "e"};
	char name[GSB_TRACED_NAME_MAX + 16];

	if (op->start_ns <= op->post_ns)
		return;
	snprintf(name, sizeof(name), "waits: ");
	gsb_traced_name(e->t, op, name + 7, GSB_TRACED_NAME_MAX);
	for (unsigned i = 0; i < 2; i++) {
		begin(e, phases[i], op->tenant, thread_of(e->t, op),
		      i ? op->start_ns : op->post_ns);
		fprintf(e->to, ", \"cat\": \"wait\", \"id\": \"%" PRIu64 "\"", op->serial);
		name_it(e, name);
		fputc('}', e->to);
	}
}

#define LOOKED_BACK_MAX 256u

/* The operation itself, or the last before it in its stream that was on the device: what an event stands behind. */
static const struct gsb_traced_op *last_run(const struct gsb_traced *t,
					    const struct gsb_traced_op *op)
{
	for (unsigned i = 0; op && i < LOOKED_BACK_MAX; i++) {
		if (gsb_traced_ran(op))
			return op;
		op = op->previous == GSB_TRACED_NONE ? NULL : &t->ops[op->previous];
	}
	return NULL;
}

static void write_arrow(struct events *e, const struct gsb_traced_op *from,
			const struct gsb_traced_op *to)
{
	/* within the span that it leaves */
	uint64_t ns = from->end_ns > from->start_ns ? from->end_ns - 1 : from->end_ns;

	begin(e, "s", from->tenant, thread_of(e->t, from), ns);
	fprintf(e->to, ", \"cat\": \"waits for\", \"name\": \"waits for\", \"id\": %" PRIu64 "}",
		to->serial);
	begin(e, "f", to->tenant, thread_of(e->t, to), to->start_ns);
	fprintf(e->to,
		", \"bp\": \"e\", \"cat\": \"waits for\", \"name\": \"waits for\", \"id\": %" PRIu64
		"}",
		to->serial);
}

/* behind: of each stream, on which operation what comes next in it was parked; what waits for an event runs nothing itself. */
static void write_operations(struct events *e, uint32_t *behind)
{
	const struct gsb_traced *t = e->t;

	for (uint32_t s = 0; s < t->n_streams; s++)
		behind[s] = GSB_TRACED_NONE;
	for (uint32_t i = 0; i < t->n_ops; i++) {
		const struct gsb_traced_op *op = &t->ops[i], *from = NULL;

		if (op->n_parks)
			from = last_run(t,
					gsb_traced_find(t, op->parks[op->n_parks - 1].on_serial));
		if (from)
			behind[op->stream] = (uint32_t)(from - t->ops);
		if (!gsb_traced_ran(op))
			continue;
		write_run(e, op);
		write_wait_span(e, op);
		if (behind[op->stream] != GSB_TRACED_NONE)
			write_arrow(e, &t->ops[behind[op->stream]], op);
		behind[op->stream] = GSB_TRACED_NONE;
	}
}

/* ---- ranges: of the threads of a program, where one may end before another that is in it ---- */

static void write_ranges(struct events *e)
{
	static const char *const phases[] = {"b", "e"};
	char path[GSB_TRACED_NAME_MAX];

	for (uint32_t i = 0; i < e->t->n_ranges; i++) {
		const struct gsb_traced_range *r = &e->t->ranges[i];
		const struct gsb_traced_label *l = &e->t->labels[r->label];

		gsb_traced_ranges_path(e->t, r->label, path, sizeof(path));
		for (unsigned k = 0; k < 2; k++) {
			begin(e, phases[k], l->tenant, 0,
			      k ? gsb_traced_ranges_end_ns(e->t, r) : r->open_ns);
			fprintf(e->to, ", \"cat\": \"range\", \"id\": \"range %" PRIu32 "\"", i);
			name_it(e, l->name);
			fprintf(e->to, ", \"args\": {\"thread\": %" PRIu32 ", \"path\": ",
				e->t->threads[r->thread].number);
			gsb_export_string(e->to, path);
			fputs("}}", e->to);
		}
	}
}

/* ---- counters ---- */

struct change {
	uint64_t ns;
	uint32_t tenant;
	bool more;
};

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return y->more - x->more; /* so that no depth is below 0 */
}

/* How many operations each tenant has posted that are not completed. depth: of each tenant, 0. */
static void write_depths(struct events *e, struct change *changes, uint64_t *depth)
{
	const struct gsb_traced *t = e->t;
	size_t n = 0;

	for (uint32_t i = 0; i < t->n_ops; i++) {
		const struct gsb_traced_op *op = &t->ops[i];

		if (!gsb_traced_has(op, GSB_STEP_COMPLETED) || op->completed_ns < op->post_ns)
			continue;
		changes[n++] = (struct change){op->post_ns, op->tenant, true};
		changes[n++] = (struct change){op->completed_ns, op->tenant, false};
	}
	qsort(changes, n, sizeof(*changes), compare_changes);
	for (size_t i = 0; i < n; i++) {
		const struct change *c = &changes[i];

		depth[c->tenant] += c->more ? 1 : UINT64_MAX;
		if (i + 1 < n && changes[i + 1].ns == c->ns && changes[i + 1].tenant == c->tenant)
			continue; /* only the last of a moment is seen */
		begin(e, "C", c->tenant, 0, c->ns);
		fprintf(e->to, ", \"name\": \"queued\", \"args\": {\"operations\": %" PRIu64 "}}",
			depth[c->tenant]);
	}
}

static void write_memory(struct events *e)
{
	for (uint32_t i = 0; i < e->t->n_memory; i++) {
		const struct gsb_traced_memory *m = &e->t->memory[i];

		begin(e, "C", m->tenant, 0, m->device_ns);
		fprintf(e->to, ", \"name\": \"device memory\", \"args\": {\"bytes\": %" PRIu64 "}}",
			m->bytes);
	}
}

int gsb_export_perfetto(FILE *to, const struct gsb_traced *t, const struct gsb_accounts *a)
{
	struct events e = {.to = to, .t = t, .a = a};
	uint32_t *behind = calloc((size_t)t->n_streams + 1, sizeof(*behind));
	uint64_t *depth = calloc((size_t)t->n_tenants + 1, sizeof(*depth));
	struct change *changes = calloc(2 * (size_t)t->n_ops + 1, sizeof(*changes));
	int err = behind && depth && changes ? 0 : -ENOMEM;

	if (!err) {
		fputs("{\"displayTimeUnit\": \"ns\", \"otherData\": {\"device\": ", to);
		gsb_export_string(to, t->header.device);
		fputs(", \"policy\": ", to);
		gsb_export_string(to, t->header.policy);
		fprintf(to, ", \"events_lost\": %" PRIu64 "},\n\"traceEvents\": [\n", t->n_lost);
		name_tenants(&e);
		write_operations(&e, behind);
		write_ranges(&e);
		write_depths(&e, changes, depth);
		write_memory(&e);
		fputs("\n]}\n", to);
	}
	free(behind);
	free(depth);
	free(changes);
	return err;
}
