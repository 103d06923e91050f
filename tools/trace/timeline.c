/*
 * timeline.c - the page of gsb-trace timeline: timeline.html with a trace in it, column by column. All drawing is the
 * page's; here stands what it is told.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tools/trace/export.h"

#define MARK "@DATA@"

/* What is drawn: operations that were on the device, by row and start. */
struct item {
	uint32_t op, row;
	uint64_t start_ns;
};

struct drawing {
	FILE *to;
	const struct gsb_traced *t;
	const struct gsb_accounts *a;
	struct item *items;
	uint32_t n_items;
	uint32_t *streams; /* of each row */
	uint32_t n_rows;
	uint64_t t0, end;
};

enum { FIRST_COPY, N_PLACES = 4, FIRST_FILL = FIRST_COPY + N_PLACES * N_PLACES, N_OTHER_NAMES };

/* ---- rows ---- */

static const struct gsb_traced *sorted; /* whose streams are compared */

static int compare_streams(const void *a, const void *b)
{
	const struct gsb_traced_stream *x = &sorted->streams[*(const uint32_t *)a];
	const struct gsb_traced_stream *y = &sorted->streams[*(const uint32_t *)b];

	if (x->tenant != y->tenant)
		return x->tenant < y->tenant ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

/* A row for each stream in which anything ran. row_of: of each stream. */
static void make_rows(struct drawing *d, uint32_t *row_of)
{
	for (uint32_t i = 0; i < d->t->n_ops; i++)
		if (gsb_traced_ran(&d->t->ops[i]))
			row_of[d->t->ops[i].stream] = 1;
	for (uint32_t s = 0; s < d->t->n_streams; s++)
		if (row_of[s])
			d->streams[d->n_rows++] = s;
	sorted = d->t;
	qsort(d->streams, d->n_rows, sizeof(*d->streams), compare_streams);
	for (uint32_t r = 0; r < d->n_rows; r++)
		row_of[d->streams[r]] = r;
}

static void make_items(struct drawing *d, const uint32_t *row_of)
{
	d->t0 = UINT64_MAX;
	for (uint32_t i = 0; i < d->t->n_ops; i++) {
		const struct gsb_traced_op *op = &d->t->ops[i];

		if (!gsb_traced_ran(op))
			continue;
		d->items[d->n_items++] = (struct item){i, row_of[op->stream], op->start_ns};
		d->t0 = op->post_ns < d->t0 ? op->post_ns : d->t0;
		d->t0 = op->start_ns < d->t0 ? op->start_ns : d->t0;
		d->end = op->end_ns > d->end ? op->end_ns : d->end;
	}
	qsort(d->items, d->n_items, sizeof(*d->items), compare_items);
	if (!d->n_items)
		d->t0 = 0;
}

/* ---- columns ---- */

static const struct gsb_traced_op *op_at(const struct drawing *d, uint32_t i)
{
	return &d->t->ops[d->items[i].op];
}

static uint64_t name_at(const struct drawing *d, uint32_t i)
{
	const struct gsb_traced_op *op = op_at(d, i);

	if (op->kernel != GSB_TRACED_NONE)
		return op->kernel;
	if (op->kind == GSB_TRACE_OP_COPY)
		return d->t->n_kernels + FIRST_COPY + op->from % N_PLACES * N_PLACES +
		       op->to % N_PLACES;
	return d->t->n_kernels + FIRST_FILL;
}

/* A kernel's SMs: one for each block, as many as there are. */
static uint64_t sms_at(const struct drawing *d, uint32_t i)
{
	const struct gsb_traced_op *op = op_at(d, i);
	uint64_t n_sms = d->t->header.n_sms ? d->t->header.n_sms : 1;

	if (op->kind != GSB_TRACE_OP_LAUNCH)
		return 0;
	return op->n_blocks_after < n_sms ? op->n_blocks_after : n_sms;
}

static uint64_t threads_at(const struct drawing *d, uint32_t i)
{
	const struct gsb_traced_op *op = op_at(d, i);

	return op->threads_after ? op->threads_after
				 : (uint64_t)op->block[0] * op->block[1] * op->block[2];
}

/* clang-format off */
static uint64_t row_at(const struct drawing *d, uint32_t i) { return d->items[i].row; }
static uint64_t kind_at(const struct drawing *d, uint32_t i) { return op_at(d, i)->kind; }
static uint64_t post_at(const struct drawing *d, uint32_t i) { return op_at(d, i)->post_ns - d->t0; }
static uint64_t start_at(const struct drawing *d, uint32_t i) { return op_at(d, i)->start_ns - d->t0; }
static uint64_t end_at(const struct drawing *d, uint32_t i) { return op_at(d, i)->end_ns - d->t0; }
static uint64_t alone_at(const struct drawing *d, uint32_t i) { return d->a->alone_ns[d->items[i].op]; }
static uint64_t blocks_at(const struct drawing *d, uint32_t i) { return op_at(d, i)->n_blocks; }
static uint64_t after_at(const struct drawing *d, uint32_t i) { return op_at(d, i)->n_blocks_after; }
static uint64_t bytes_at(const struct drawing *d, uint32_t i) { return op_at(d, i)->bytes; }
static uint64_t predicted_at(const struct drawing *d, uint32_t i) { return op_at(d, i)->predicted_ns; }
static uint64_t slow_at(const struct drawing *d, uint32_t i) { return op_at(d, i)->predicted_slowdown_ppm; }
static uint64_t serial_at(const struct drawing *d, uint32_t i) { return op_at(d, i)->serial; }
static uint64_t on_at(const struct drawing *d, uint32_t i) { return op_at(d, i)->n_parks ? op_at(d, i)->parks[0].on_serial : 0; }
/* clang-format on */

static uint64_t reference_at(const struct drawing *d, uint32_t i)
{
	double ns = gsb_accounts_reference(d->a, d->t, op_at(d, i));

	return ns < 1e18 ? (uint64_t)(ns + 0.5) : 0;
}

static const struct {
	const char *name;
	uint64_t (*value)(const struct drawing *d, uint32_t i);
	bool quoted; /* more than 53 bits have to be exact */
} columns[] = {
	{"row", row_at, false},
	{"name", name_at, false},
	{"kind", kind_at, false},
	{"post", post_at, false},
	{"start", start_at, false},
	{"end", end_at, false},
	{"alone", alone_at, false},
	{"sms", sms_at, false},
	{"blocks", blocks_at, false},
	{"after", after_at, false},
	{"threads", threads_at, false},
	{"bytes", bytes_at, false},
	{"predicted", predicted_at, false},
	{"slow", slow_at, false},
	{"reference", reference_at, false},
	{"serial", serial_at, true},
	{"on", on_at, true},
};

static void write_columns(const struct drawing *d)
{
	for (size_t c = 0; c < GSB_ARRAY_LEN(columns); c++) {
		const char *quote = columns[c].quoted ? "\"" : "";

		fprintf(d->to, ",\n\"%s\": [", columns[c].name);
		for (uint32_t i = 0; i < d->n_items; i++)
			fprintf(d->to, "%s%s%" PRIu64 "%s", i ? "," : "", quote,
				columns[c].value(d, i), quote);
		fputc(']', d->to);
	}
}

static void write_waits(const struct drawing *d)
{
	uint64_t waits[GSB_N_WAITS];

	fprintf(d->to, ",\n\"wait_names\": [");
	for (unsigned w = 0; w < GSB_N_WAITS; w++) {
		fputs(w ? ", " : "", d->to);
		gsb_export_string(d->to, gsb_wait_text(w));
	}
	fprintf(d->to, "],\n\"waits\": [");
	for (uint32_t i = 0; i < d->n_items; i++) {
		gsb_account_waits(d->t, op_at(d, i), waits);
		for (unsigned w = 0; w < GSB_N_WAITS; w++)
			fprintf(d->to, "%s%" PRIu64, w ? "," : i ? ",[" : "[", waits[w]);
		fputc(']', d->to);
	}
	fputc(']', d->to);
}

/* ---- the rest ---- */

static void write_names(const struct drawing *d)
{
	static const char *const places[N_PLACES] = {"device", "host", "staging", "record"};

	fprintf(d->to, ",\n\"names\": [");
	for (uint32_t k = 0; k < d->t->n_kernels; k++) {
		gsb_export_string(d->to, d->t->kernels[k].name);
		fputs(", ", d->to);
	}
	for (unsigned from = 0; from < N_PLACES; from++)
		for (unsigned to = 0; to < N_PLACES; to++)
			fprintf(d->to, "\"copy, %s to %s\", ", places[from], places[to]);
	fprintf(d->to, "\"fill\"]");
}

static void write_tenants(const struct drawing *d)
{
	fprintf(d->to, ",\n\"tenants\": [");
	for (uint32_t i = 0; i < d->t->n_tenants; i++) {
		const struct gsb_traced_tenant *it = &d->t->tenants[i];

		fprintf(d->to, "%s{\"name\": ", i ? ", " : "");
		gsb_export_string(d->to, it->name);
		fprintf(d->to, ", \"program\": ");
		gsb_export_string(d->to, it->program);
		fprintf(d->to, ", \"number\": %" PRIu32 ", \"pid\": %" PRIu32 "}", it->number,
			it->pid);
	}
	fprintf(d->to, "],\n\"rows\": [");
	for (uint32_t r = 0; r < d->n_rows; r++) {
		const struct gsb_traced_stream *s = &d->t->streams[d->streams[r]];

		fprintf(d->to,
			"%s{\"tenant\": %" PRIu32 ", \"stream\": %" PRIu32 ", \"legacy\": %s}",
			r ? ", " : "", s->tenant, s->number, s->is_legacy ? "true" : "false");
	}
	fputc(']', d->to);
}

static void write_data(const struct drawing *d)
{
	static const char *const endings[] = {"whole", "torn", "damaged"};
	const struct gsb_trace_header *h = &d->t->header;

	fprintf(d->to, "{\"device\": ");
	gsb_export_string(d->to, h->device);
	fprintf(d->to, ", \"policy\": ");
	gsb_export_string(d->to, h->policy);
	fprintf(d->to,
		", \"n_sms\": %" PRIu32
		", \"sms_told\": %s, \"is_virtual\": %s, \"n_lost\": %" PRIu64
		", \"ending\": \"%s\", \"t0\": %" PRId64 ", \"span\": %" PRIu64,
		h->n_sms ? h->n_sms : 1, h->n_sms ? "true" : "false",
		h->is_virtual ? "true" : "false", d->t->n_lost, endings[d->t->ending],
		(int64_t)(d->t0 - h->device_ns), d->end > d->t0 ? d->end - d->t0 : 1);
	write_tenants(d);
	write_names(d);
	write_columns(d);
	write_waits(d);
	fputs("}\n", d->to);
}

int gsb_export_timeline(FILE *to, const struct gsb_traced *t, const struct gsb_accounts *a)
{
	const char *mark = strstr(gsb_timeline_html, MARK);
	struct drawing d = {.to = to, .t = t, .a = a};
	uint32_t *row_of = calloc((size_t)t->n_streams + 1, sizeof(*row_of));
	int err = 0;

	d.items = calloc((size_t)t->n_ops + 1, sizeof(*d.items));
	d.streams = calloc((size_t)t->n_streams + 1, sizeof(*d.streams));
	if (row_of && d.items && d.streams) {
		make_rows(&d, row_of);
		make_items(&d, row_of);
		fwrite(gsb_timeline_html, 1, (size_t)(mark - gsb_timeline_html), to);
		write_data(&d);
		fputs(mark + strlen(MARK), to);
	} else {
		err = -ENOMEM;
	}
	free(row_of);
	free(d.items);
	free(d.streams);
	return err;
}
