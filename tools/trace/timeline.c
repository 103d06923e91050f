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
#include "tools/trace/ranges.h"

#define MARK "@DATA@"

#define RANGE 255 /* beside enum gsb_trace_op: what a program has named */

/* What is drawn: operations that were on the device and ranges, by row and start. */
struct item {
	const struct gsb_traced_op *op; /* of a range: one that is made for it */
	uint32_t row, name;		/* name: of a range, its label */
};

/* A stream, or ranges of a thread that are in as many others. */
struct row {
	uint32_t tenant, depth, number; /* depth 0: a stream */
	uint32_t index;			/* of the stream or the thread */
};

struct drawing {
	FILE *to;
	const struct gsb_traced *t;
	const struct gsb_accounts *a;
	struct item *items;
	uint32_t n_items;
	struct row *rows;
	uint32_t n_rows;
	uint32_t *row_of_stream, *row_of_thread; /* its first */
	uint32_t *depths;			 /* of each thread */
	struct gsb_traced_op *spans;		 /* of each range */
	uint64_t t0, end;
};

enum { FIRST_COPY, N_PLACES = 4, FIRST_FILL = FIRST_COPY + N_PLACES * N_PLACES, N_OTHER_NAMES };

/* ---- rows ---- */

/* A tenant's ranges stand above its streams. */
static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->tenant != y->tenant)
		return x->tenant < y->tenant ? -1 : 1;
	if (!x->depth != !y->depth)
		return x->depth ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->op->start_ns != y->op->start_ns)
		return x->op->start_ns < y->op->start_ns ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

/* A row for each stream in which anything ran. */
static void make_stream_rows(struct drawing *d)
{
	const struct gsb_traced *t = d->t;

	for (uint32_t i = 0; i < t->n_ops; i++)
		if (gsb_traced_ran(&t->ops[i]))
			d->row_of_stream[t->ops[i].stream] = 1;
	for (uint32_t s = 0; s < t->n_streams; s++)
		if (d->row_of_stream[s])
			d->rows[d->n_rows++] =
				(struct row){t->streams[s].tenant, 0, t->streams[s].number, s};
}

/* And for each depth of a thread's ranges: what was opened while another was open is deeper, so in a row none overlap. */
static void make_range_rows(struct drawing *d)
{
	const struct gsb_traced *t = d->t;

	for (uint32_t i = 0; i < t->n_ranges; i++) {
		uint32_t thread = t->ranges[i].thread, depth = t->labels[t->ranges[i].label].depth;

		while (d->depths[thread] < depth)
			d->rows[d->n_rows++] =
				(struct row){t->threads[thread].tenant, ++d->depths[thread],
					     t->threads[thread].number, thread};
	}
}

static void make_rows(struct drawing *d)
{
	make_stream_rows(d);
	make_range_rows(d);
	qsort(d->rows, d->n_rows, sizeof(*d->rows), compare_rows);
	for (uint32_t r = 0; r < d->n_rows; r++) {
		if (!d->rows[r].depth)
			d->row_of_stream[d->rows[r].index] = r;
		if (d->rows[r].depth == 1)
			d->row_of_thread[d->rows[r].index] = r;
	}
}

static void add_item(struct drawing *d, const struct gsb_traced_op *op, uint32_t row, uint32_t name)
{
	d->items[d->n_items++] = (struct item){op, row, name};
	d->t0 = op->post_ns < d->t0 ? op->post_ns : d->t0;
	d->t0 = op->start_ns < d->t0 ? op->start_ns : d->t0;
	d->end = op->end_ns > d->end ? op->end_ns : d->end;
}

static void add_range(struct drawing *d, uint32_t i)
{
	const struct gsb_traced_range *r = &d->t->ranges[i];
	const struct gsb_traced_label *l = &d->t->labels[r->label];

	d->spans[i] = (struct gsb_traced_op){
		.kind = RANGE,
		.tenant = l->tenant,
		.kernel = GSB_TRACED_NONE,
		.previous = GSB_TRACED_NONE,
		.post_ns = r->open_ns,
		.start_ns = r->open_ns,
		.end_ns = gsb_traced_ranges_end_ns(d->t, r),
	};
	add_item(d, &d->spans[i], d->row_of_thread[r->thread] + l->depth - 1, r->label);
}

static void make_items(struct drawing *d)
{
	d->t0 = UINT64_MAX;
	for (uint32_t i = 0; i < d->t->n_ops; i++)
		if (gsb_traced_ran(&d->t->ops[i]))
			add_item(d, &d->t->ops[i], d->row_of_stream[d->t->ops[i].stream], 0);
	for (uint32_t i = 0; i < d->t->n_ranges; i++)
		add_range(d, i);
	qsort(d->items, d->n_items, sizeof(*d->items), compare_items);
	if (!d->n_items)
		d->t0 = 0;
}

/* ---- columns ---- */

static const struct gsb_traced_op *op_at(const struct drawing *d, uint32_t i)
{
	return d->items[i].op;
}

static bool is_range(const struct drawing *d, uint32_t i)
{
	return op_at(d, i)->kind == RANGE;
}

static uint64_t name_at(const struct drawing *d, uint32_t i)
{
	const struct gsb_traced_op *op = op_at(d, i);

	if (is_range(d, i))
		return d->t->n_kernels + N_OTHER_NAMES + d->items[i].name;
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
static uint64_t alone_at(const struct drawing *d, uint32_t i) { return is_range(d, i) ? 0 : d->a->alone_ns[op_at(d, i) - d->t->ops]; }
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
	double ns = is_range(d, i) ? 0 : gsb_accounts_reference(d->a, d->t, op_at(d, i));

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
	fprintf(d->to, "\"fill\"");
	for (uint32_t l = 0; l < d->t->n_labels; l++) {
		fputs(", ", d->to);
		gsb_export_string(d->to, d->t->labels[l].name);
	}
	fputc(']', d->to);
}

static void write_row(const struct drawing *d, const struct row *r, const char *comma)
{
	bool is_legacy = !r->depth && d->t->streams[r->index].is_legacy;

	fprintf(d->to,
		"%s{\"tenant\": %" PRIu32 ", \"ranges\": %" PRIu32 ", \"stream\": %" PRIu32
		", \"legacy\": %s}",
		comma, r->tenant, r->depth, r->number, is_legacy ? "true" : "false");
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
	for (uint32_t r = 0; r < d->n_rows; r++)
		write_row(d, &d->rows[r], r ? ", " : "");
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

static int make_room(struct drawing *d)
{
	const struct gsb_traced *t = d->t;
	size_t n_streams = (size_t)t->n_streams + 1, n_ranges = (size_t)t->n_ranges + 1;

	d->items = calloc((size_t)t->n_ops + n_ranges, sizeof(*d->items));
	d->spans = calloc(n_ranges, sizeof(*d->spans));
	d->rows = calloc(n_streams + n_ranges, sizeof(*d->rows)); /* no depth without a range */
	d->row_of_stream = calloc(n_streams, sizeof(*d->row_of_stream));
	d->row_of_thread = calloc((size_t)t->n_threads + 1, sizeof(*d->row_of_thread));
	d->depths = calloc((size_t)t->n_threads + 1, sizeof(*d->depths));
	return d->items && d->spans && d->rows && d->row_of_stream && d->row_of_thread && d->depths
		       ? 0
		       : -ENOMEM;
}

static void free_room(struct drawing *d)
{
	free(d->items);
	free(d->spans);
	free(d->rows);
	free(d->row_of_stream);
	free(d->row_of_thread);
	free(d->depths);
}

int gsb_export_timeline(FILE *to, const struct gsb_traced *t, const struct gsb_accounts *a)
{
	const char *mark = strstr(gsb_timeline_html, MARK);
	struct drawing d = {.to = to, .t = t, .a = a};
	int err = make_room(&d);

	if (!err) {
		make_rows(&d);
		make_items(&d);
		fwrite(gsb_timeline_html, 1, (size_t)(mark - gsb_timeline_html), to);
		write_data(&d);
		fputs(mark + strlen(MARK), to);
	}
	free_room(&d);
	return err;
}
