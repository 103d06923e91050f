/*
 * tau.c - gsb-trace profile: TAU profile files, which pprof and ParaProf read.
 *
 * A tenant is a context and each of its streams a thread of it, as TAU has GPU streams. Of a thread:
 *
 *   .TAU application                        the time from the tenant's first post to its last completion
 *   .TAU application => TENANT              the same, less what the stream ran
 *   .TAU application => TENANT => KERNEL    what it ran: kernels, copies, fills
 *
 * each as a call path and flat. Bytes and waits are user events: waits of queued operations overlap, so they are no times
 * that add up. The text is what TAU's own pprof reads: a line of the count and the metric, a line of headings with the
 * metadata, one line for each row, "0 aggregates", and the user events. Times are microseconds.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/trace/amounts.h"
#include "tools/trace/export.h"

enum {
	BYTES_H2D,
	BYTES_D2H,
	BYTES_D2D,
	BYTES_FILLED,
	N_BYTES,
	N_USER_EVENTS = N_BYTES + GSB_N_WAITS
};

struct row {
	char name[GSB_TRACED_NAME_MAX];
	const char *group;
	uint32_t stream, next; /* of the same stream; NONE */
	uint64_t calls, ns;
};

struct user_event {
	uint64_t n;
	double most, least, sum, squares;
};

struct profile {
	const struct gsb_traced *t;
	const struct gsb_accounts *a;
	struct row *rows; /* of a stream: in the order in which they were first seen */
	uint32_t n_rows, rows_room;
	struct gsb_map row_of;
	struct user_event (*events)[N_USER_EVENTS]; /* of each stream */
	uint32_t *first, *last;			    /* row of each stream, when calls is not 0 */
	uint64_t *calls, *ns;			    /* of each stream */
};

/* ---- what a stream ran ---- */

/* TAU ends a name at a quotation mark, and a path is made with =>. */
static void tau_name(char out[GSB_TRACED_NAME_MAX], const char *name)
{
	snprintf(out, GSB_TRACED_NAME_MAX, "%s", name);
	for (char *c = out; *c; c++) {
		if (*c == '"')
			*c = '\'';
		if (*c == '>' && c > out && c[-1] == '=')
			*c = ')';
	}
}

static uint64_t hash_text(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return h;
}

static const char *row_name(const struct profile *p, const struct gsb_traced_op *op, char *out)
{
	static const char *const copies[] = {"copy, host to device", "copy, device to host",
					     "copy, device to device", "fill"};
	bool from = op->from == GSB_TRACE_PLACE_DEVICE, to = op->to == GSB_TRACE_PLACE_DEVICE;

	if (op->kernel != GSB_TRACED_NONE) {
		tau_name(out, p->t->kernels[op->kernel].name);
		return "TAU_KERNEL";
	}
	strcpy(out, copies[op->kind == GSB_TRACE_OP_FILL ? 3 : from && to ? 2 : from ? 1 : 0]);
	return "TAU_GPU_MEMORY_COPY";
}

/* To its stream's; the first of a stream finds no calls. */
static void append_row(struct profile *p, uint32_t i)
{
	uint32_t stream = p->rows[i].stream;

	if (p->calls[stream])
		p->rows[p->last[stream]].next = i;
	else
		p->first[stream] = i;
	p->last[stream] = i;
}

static int add_run(struct profile *p, const struct gsb_traced_op *op)
{
	struct row row = {.stream = op->stream, .next = GSB_TRACED_NONE};
	uint64_t key;
	uint32_t i;

	row.group = row_name(p, op, row.name);
	key = hash_text(row.name);
	i = gsb_map_get(&p->row_of, op->stream, key);
	if (i == GSB_MAP_NONE) {
		if (p->n_rows == p->rows_room) {
			uint32_t more = 2 * p->rows_room + 64;
			void *bigger = reallocarray(p->rows, more, sizeof(*p->rows));

			if (!bigger)
				return -ENOMEM;
			p->rows = bigger;
			p->rows_room = more;
		}
		i = p->n_rows++;
		p->rows[i] = row;
		append_row(p, i);
		if (gsb_map_put(&p->row_of, op->stream, key, i))
			return -ENOMEM;
	}
	p->rows[i].calls++;
	p->rows[i].ns += op->end_ns - op->start_ns;
	p->calls[op->stream]++;
	p->ns[op->stream] += op->end_ns - op->start_ns;
	return 0;
}

static void add_event(struct user_event *e, double value)
{
	e->most = !e->n || value > e->most ? value : e->most;
	e->least = !e->n || value < e->least ? value : e->least;
	e->n++;
	e->sum += value;
	e->squares += value * value;
}

static void add_events(struct profile *p, const struct gsb_traced_op *op)
{
	struct user_event *e = p->events[op->stream];
	bool from = op->from == GSB_TRACE_PLACE_DEVICE, to = op->to == GSB_TRACE_PLACE_DEVICE;
	uint64_t waits[GSB_N_WAITS];

	if (op->kind == GSB_TRACE_OP_COPY)
		add_event(&e[from && to ? BYTES_D2D
			     : from	? BYTES_D2H
					: BYTES_H2D],
			  (double)op->bytes);
	if (op->kind == GSB_TRACE_OP_FILL)
		add_event(&e[BYTES_FILLED], (double)op->bytes);
	gsb_account_waits(p->t, op, waits);
	for (unsigned w = 0; w < GSB_N_WAITS; w++)
		if (waits[w])
			add_event(&e[N_BYTES + w], gsb_us(waits[w]));
}

static int collect(struct profile *p)
{
	int err = 0;

	for (uint32_t i = 0; i < p->t->n_ops && !err; i++) {
		const struct gsb_traced_op *op = &p->t->ops[i];

		if (!gsb_traced_ran(op) || !gsb_traced_is_command(op))
			continue;
		add_events(p, op);
		err = add_run(p, op);
	}
	return err;
}

/* ---- one file ---- */

/* In XML, and in a file in which a quotation mark ends a name. */
static void write_attribute(FILE *to, const char *name, const char *value)
{
	fprintf(to, "<attribute><name>%s</name><value>", name);
	for (; *value; value++)
		switch (*value) {
		case '<': fputs("&lt;", to); break;
		case '>': fputs("&gt;", to); break;
		case '&': fputs("&amp;", to); break;
		case '"': fputs("&quot;", to); break;
		default: fputc(*value, to);
		}
	fputs("</value></attribute>", to);
}

static void write_metadata(FILE *to, const struct gsb_traced *t, const struct gsb_traced_stream *s)
{
	const struct gsb_traced_tenant *it = &t->tenants[s->tenant];
	char number[24];

	fputs("<metadata>", to);
	write_attribute(to, "Tenant", it->name);
	write_attribute(to, "Program", it->program);
	snprintf(number, sizeof(number), "%" PRIu32, it->pid);
	write_attribute(to, "PID", number);
	snprintf(number, sizeof(number), "%" PRIu32, s->number);
	write_attribute(to, "Stream", number);
	write_attribute(to, "Device", t->header.device);
	write_attribute(to, "Policy", t->header.policy);
	write_attribute(to, "Broker version", t->header.version);
	fputs("</metadata>\n", to);
}

static void write_row(FILE *to, const char *path, const char *name, uint64_t calls, uint64_t subrs,
		      uint64_t excl_ns, uint64_t incl_ns, const char *group)
{
	fprintf(to, "\"%s%s\" %" PRIu64 " %" PRIu64 " %.16G %.16G 0 GROUP=\"%s%s\"\n", path, name,
		calls, subrs, gsb_us(excl_ns), gsb_us(incl_ns), *path ? "TAU_CALLPATH|" : "",
		group);
}

static void write_rows(FILE *to, const struct profile *p, uint32_t stream)
{
	const uint32_t tenant = p->t->streams[stream].tenant;
	const uint64_t ran = p->ns[stream], calls = p->calls[stream];
	uint64_t whole = p->a->tenants[tenant].span_ns;
	char owner[GSB_TRACED_NAME_MAX], path[GSB_TRACED_NAME_MAX + 32];

	whole = whole < ran ? ran : whole; /* so much is in the stream of a hostile trace only */
	tau_name(owner, p->t->tenants[tenant].name);
	write_row(to, "", ".TAU application", 1, 1, 0, whole, "TAU_USER");
	write_row(to, "", owner, 1, calls, whole - ran, whole, "TAU_USER");
	write_row(to, ".TAU application => ", owner, 1, calls, whole - ran, whole, "TAU_USER");
	snprintf(path, sizeof(path), ".TAU application => %s => ", owner);
	for (uint32_t i = p->first[stream]; i != GSB_TRACED_NONE; i = p->rows[i].next) {
		const struct row *r = &p->rows[i];

		write_row(to, "", r->name, r->calls, 0, r->ns, r->ns, r->group);
		write_row(to, path, r->name, r->calls, 0, r->ns, r->ns, r->group);
	}
}

static uint32_t count_rows(const struct profile *p, uint32_t stream)
{
	uint32_t n = 3;

	for (uint32_t i = p->first[stream]; i != GSB_TRACED_NONE; i = p->rows[i].next)
		n += 2;
	return n;
}

static void write_user_events(FILE *to, const struct user_event e[N_USER_EVENTS])
{
	static const char *const bytes[N_BYTES] = {
		"Bytes copied from Host to Device", "Bytes copied from Device to Host",
		"Bytes copied from Device to Device", "Bytes filled"};
	unsigned n = 0;

	for (unsigned i = 0; i < N_USER_EVENTS; i++)
		n += e[i].n != 0;
	if (!n)
		return;
	fprintf(to, "%u userevents\n# eventname numevents max min mean sumsqr\n", n);
	for (unsigned i = 0; i < N_USER_EVENTS; i++) {
		if (!e[i].n)
			continue;
		if (i < N_BYTES)
			fprintf(to, "\"%s\"", bytes[i]);
		else
			fprintf(to, "\"Microseconds waited for %s\"", gsb_wait_text(i - N_BYTES));
		fprintf(to, " %" PRIu64 " %.16G %.16G %.16G %.16G\n", e[i].n, e[i].most, e[i].least,
			e[i].sum / (double)e[i].n, e[i].squares);
	}
}

static void write_profile(FILE *to, const struct profile *p, uint32_t stream)
{
	fprintf(to, "%" PRIu32 " templated_functions_MULTI_TIME\n", count_rows(p, stream));
	fputs("# Name Calls Subrs Excl Incl ProfileCalls # ", to);
	write_metadata(to, p->t, &p->t->streams[stream]);
	write_rows(to, p, stream);
	fputs("0 aggregates\n", to);
	write_user_events(to, p->events[stream]);
}

/* ---- the folder ---- */

static int say(const char *path, int err)
{
	fprintf(stderr, "gsb-trace: %s: %s\n", path, strerror(-err));
	return err;
}

static int write_file(const struct profile *p, const char *dir, uint32_t thread, uint32_t stream)
{
	char path[4096];
	FILE *to;
	int n = snprintf(path, sizeof(path), "%s/profile.0.%" PRIu32 ".%" PRIu32, dir,
			 p->t->streams[stream].tenant, thread);

	if (n < 0 || (size_t)n >= sizeof(path))
		return say(dir, -ENAMETOOLONG);
	to = fopen(path, "we");
	if (!to)
		return say(path, -errno);
	write_profile(to, p, stream);
	if (ferror(to) | fclose(to))
		return say(path, errno ? -errno : -EIO);
	return 0;
}

/* threads: of each tenant, 0: how many files it has. */
static int write_files(const struct profile *p, const char *dir, uint32_t *threads)
{
	int err = 0;

	for (uint32_t s = 0; s < p->t->n_streams && !err; s++)
		if (p->calls[s])
			err = write_file(p, dir, threads[p->t->streams[s].tenant]++, s);
	return err;
}

int gsb_export_tau(const char *dir, const struct gsb_traced *t, const struct gsb_accounts *a)
{
	struct profile p = {.t = t, .a = a};
	size_t n = (size_t)t->n_streams + 1;
	uint32_t *threads = calloc((size_t)t->n_tenants + 1, sizeof(*threads));
	int err = 0;

	p.events = calloc(n, sizeof(*p.events));
	p.first = calloc(n, sizeof(*p.first));
	p.last = calloc(n, sizeof(*p.last));
	p.calls = calloc(n, sizeof(*p.calls));
	p.ns = calloc(n, sizeof(*p.ns));
	if (!p.events || !p.first || !p.last || !p.calls || !p.ns || !threads || collect(&p))
		err = say(dir, -ENOMEM);
	else if (mkdir(dir, 0777) && errno != EEXIST)
		err = say(dir, -errno);
	else
		err = write_files(&p, dir, threads);
	free(p.rows);
	free(p.events);
	free(p.first);
	free(p.last);
	free(p.calls);
	free(p.ns);
	free(threads);
	gsb_map_finish(&p.row_of);
	return err;
}
