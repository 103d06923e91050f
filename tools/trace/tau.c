/*
 * tau.c - gsb-trace profile: TAU profile files, which pprof and ParaProf read.
 *
 * A tenant is a context and each of its streams a thread of it, as TAU has GPU streams. Of a thread:
 *
 *   .TAU application                        the time from the tenant's first post to its last completion
 *   .TAU application => TENANT              the same, less what the stream ran
 *   .TAU application => TENANT => KERNEL    what it ran: kernels, copies, fills
 *
 * and where the program has named ranges, they stand between TENANT and KERNEL, outermost first, with the time of what the
 * stream ran in them and none of their own: ranges are of threads that post, and those may have several open at once. Each is a
 * call path and flat. Bytes and waits are user events: waits of queued operations overlap, so they are no times
 * that add up. The text is what TAU's own pprof reads: a line of the count and the metric, a line of headings with the
 * metadata, one line for each row, "0 aggregates", and the user events. Times are microseconds.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "tools/trace/amounts.h"
#include "tools/trace/export.h"
#include "tools/trace/ranges.h"

enum {
	BYTES_H2D,
	BYTES_D2H,
	BYTES_D2D,
	BYTES_FILLED,
	N_BYTES,
	N_USER_EVENTS = N_BYTES + GSB_N_WAITS
};

/* Where a row stands: in a range, by its label, in none, or in the flat profile. */
#define IN_NO_RANGE ((uint64_t)GSB_TRACED_NONE)
#define FLAT	    UINT64_MAX

#define PATH_BYTES 1536

struct row {
	char name[GSB_TRACED_NAME_MAX];
	const char *group;
	uint64_t place;
	uint32_t stream, next; /* of the same stream; NONE */
	uint32_t range;	       /* the last that was counted as a call; NONE */
	uint64_t calls, subrs, own_ns, ns;
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
	uint64_t *calls, *ns; /* of each stream: what it ran, and what it calls */
	uint64_t *subrs;
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

static void append_row(struct profile *p, uint32_t i)
{
	uint32_t stream = p->rows[i].stream;

	if (p->first[stream] != GSB_TRACED_NONE)
		p->rows[p->last[stream]].next = i;
	else
		p->first[stream] = i;
	p->last[stream] = i;
}

/* The row of this name in that place; made when it is the first. NULL: there is no memory. */
static struct row *row_of(struct profile *p, const struct row *wanted)
{
	uint64_t key = gsb_hash_bytes(gsb_hash_number(GSB_HASH_BEGIN, wanted->place), wanted->name,
				      strlen(wanted->name));
	uint32_t i = gsb_map_get(&p->row_of, wanted->stream, key);
	struct row *r;

	if (i != GSB_MAP_NONE)
		return &p->rows[i];
	i = p->n_rows;
	r = GSB_TRACED_APPEND(p, rows);
	if (!r || gsb_map_put(&p->row_of, wanted->stream, key, i))
		return NULL;
	*r = *wanted;
	append_row(p, i);
	return r;
}

/*
 * To its row in a place. @range: whose call it is, so that it is one however much is run in that; NONE: each is one.
 * Return: 1, it was a call; 0; -ENOMEM.
 */
static int add_to_row(struct profile *p, struct row *wanted, uint64_t place, uint32_t range,
		      uint64_t ns, uint64_t subrs)
{
	struct row *r;
	bool call;

	wanted->place = place;
	r = row_of(p, wanted);
	if (!r)
		return -ENOMEM;
	call = range == GSB_TRACED_NONE || r->range != range;
	r->range = range;
	r->calls += call;
	r->subrs += subrs;
	r->own_ns += range == GSB_TRACED_NONE ? ns : 0;
	r->ns += ns;
	return call;
}

/* Whether one of the same name is between an operation and this range: the flat profile has its time from that. */
static bool is_around_its_like(const struct gsb_traced *t, const struct gsb_traced_op *op,
			       uint32_t range)
{
	const char *name = t->labels[t->ranges[range].label].name;

	return gsb_traced_ranges_around(t, op, name) != range;
}

/* The range itself, in those around it. Return: as add_to_row(). */
static int add_range(struct profile *p, const struct gsb_traced_op *op, uint32_t range, uint64_t ns,
		     uint64_t subrs)
{
	const struct gsb_traced_label *l = &p->t->labels[p->t->ranges[range].label];
	struct row row = {.group = "TAU_USER",
			  .stream = op->stream,
			  .next = GSB_TRACED_NONE,
			  .range = GSB_TRACED_NONE};

	tau_name(row.name, l->name);
	if (!is_around_its_like(p->t, op, range) && add_to_row(p, &row, FLAT, range, ns, subrs) < 0)
		return -ENOMEM;
	return add_to_row(p, &row, l->parent, range, ns, subrs);
}

/* Who calls what a stream has run: a range, which is called by the one around it, or else the tenant. */
static int add_call(struct profile *p, const struct gsb_traced_op *op, uint64_t ns)
{
	uint64_t subrs = 1;

	for (uint32_t i = op->range; i != GSB_TRACED_NONE; i = p->t->ranges[i].parent) {
		int call = add_range(p, op, i, ns, subrs);

		if (call < 0)
			return call;
		subrs = (uint64_t)call;
	}
	p->subrs[op->stream] += subrs;
	return 0;
}

static int add_run(struct profile *p, const struct gsb_traced_op *op)
{
	struct row row = {.stream = op->stream, .next = GSB_TRACED_NONE, .range = GSB_TRACED_NONE};
	uint64_t ns = op->end_ns - op->start_ns;
	uint64_t place = op->range == GSB_TRACED_NONE ? IN_NO_RANGE : p->t->ranges[op->range].label;
	int err = add_call(p, op, ns);

	if (err)
		return err;
	row.group = row_name(p, op, row.name);
	if (add_to_row(p, &row, FLAT, GSB_TRACED_NONE, ns, 0) < 0 ||
	    add_to_row(p, &row, place, GSB_TRACED_NONE, ns, 0) < 0)
		return -ENOMEM;
	p->calls[op->stream]++;
	p->ns[op->stream] += ns;
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

	for (uint32_t i = 0; i < p->t->n_streams; i++)
		p->first[i] = GSB_TRACED_NONE;
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

/* What stands before its name. */
static void path_of(const struct profile *p, const struct row *r, const char *owner,
		    char out[PATH_BYTES])
{
	char ranges[PATH_BYTES / 2];

	out[0] = '\0';
	if (r->place == FLAT)
		return;
	gsb_traced_ranges_path(p->t, (uint32_t)r->place, ranges, sizeof(ranges));
	for (char *c = strchr(ranges, '"'); c; c = strchr(c, '"'))
		*c = '\'';
	snprintf(out, PATH_BYTES, ".TAU application => %s => %s%s", owner, ranges,
		 *ranges ? " => " : "");
}

static void write_rows(FILE *to, const struct profile *p, uint32_t stream)
{
	const uint32_t tenant = p->t->streams[stream].tenant;
	const uint64_t ran = p->ns[stream], subrs = p->subrs[stream];
	uint64_t whole = p->a->tenants[tenant].span_ns;
	char owner[GSB_TRACED_NAME_MAX], path[PATH_BYTES];

	whole = whole < ran ? ran : whole; /* so much is in the stream of a hostile trace only */
	tau_name(owner, p->t->tenants[tenant].name);
	write_row(to, "", ".TAU application", 1, 1, 0, whole, "TAU_USER");
	write_row(to, "", owner, 1, subrs, whole - ran, whole, "TAU_USER");
	write_row(to, ".TAU application => ", owner, 1, subrs, whole - ran, whole, "TAU_USER");
	for (uint32_t i = p->first[stream]; i != GSB_TRACED_NONE; i = p->rows[i].next) {
		const struct row *r = &p->rows[i];

		path_of(p, r, owner, path);
		write_row(to, path, r->name, r->calls, r->subrs, r->own_ns, r->ns, r->group);
	}
}

static uint32_t count_rows(const struct profile *p, uint32_t stream)
{
	uint32_t n = 3;

	for (uint32_t i = p->first[stream]; i != GSB_TRACED_NONE; i = p->rows[i].next)
		n++;
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
	p.subrs = calloc(n, sizeof(*p.subrs));
	p.ns = calloc(n, sizeof(*p.ns));
	if (!p.events || !p.first || !p.last || !p.calls || !p.subrs || !p.ns || !threads ||
	    collect(&p))
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
	free(p.subrs);
	free(p.ns);
	free(threads);
	gsb_map_finish(&p.row_of);
	return err;
}
