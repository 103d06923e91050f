/*
 * account.c - see account.h.
 */
#include "tools/trace/account.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tools/trace/ranges.h"

/* ---- waits ---- */

static const struct {
	const char *name, *text;
} words[GSB_N_WAITS] = {
	[GSB_WAIT_STREAM] = {"stream", "earlier work of its stream"},
	[GSB_WAIT_EPOCH] = {"epoch",
			    "the legacy default stream, or work before it in other streams"},
	[GSB_WAIT_EVENT] = {"event", "an event of another stream"},
	[GSB_WAIT_CODE] = {"code", "its kernel being made ready"},
	[GSB_WAIT_SOCKET] = {"socket", "its process, which does not read"},
	[GSB_WAIT_POLICY] = {"policy", "the policy"},
	[GSB_WAIT_QUEUES] = {"queues", "a free device queue"},
	[GSB_WAIT_DEVICE] = {"device", "its way to the device, and room there"},
};

const char *gsb_wait_name(enum gsb_wait w)
{
	return words[w].name;
}

const char *gsb_wait_text(enum gsb_wait w)
{
	return words[w].text;
}

/* From *at to @until, which is moved into [*at, limit], it waited for w. */
static void wait_for(uint64_t waits[GSB_N_WAITS], enum gsb_wait w, uint64_t *at, uint64_t until,
		     uint64_t limit)
{
	if (until > limit)
		until = limit;
	if (until <= *at)
		return;
	waits[w] += until - *at;
	*at = until;
}

static uint64_t completion(const struct gsb_traced_op *op, uint64_t if_not)
{
	return op && gsb_traced_has(op, GSB_STEP_COMPLETED) ? op->completed_ns : if_not;
}

enum gsb_wait gsb_wait_of_park(const struct gsb_traced_park *p)
{
	return p->on <= GSB_TRACE_PARK_SOCKET ? GSB_WAIT_EPOCH + p->on : GSB_WAIT_STREAM;
}

/* From its post until nothing is before it. */
static void wait_in_stream(const struct gsb_traced *t, const struct gsb_traced_op *op,
			   uint64_t waits[GSB_N_WAITS], uint64_t *at, uint64_t limit)
{
	enum gsb_wait last = GSB_WAIT_STREAM;

	if (op->previous != GSB_TRACED_NONE)
		wait_for(waits, GSB_WAIT_STREAM, at, completion(&t->ops[op->previous], 0), limit);
	for (unsigned i = 0; i < op->n_parks; i++) {
		last = gsb_wait_of_park(&op->parks[i]);
		wait_for(waits, last, at,
			 completion(gsb_traced_find(t, op->parks[i].on_serial), limit), limit);
	}
	wait_for(waits, last, at, limit, limit);
}

void gsb_account_waits(const struct gsb_traced *t, const struct gsb_traced_op *op,
		       uint64_t waits[GSB_N_WAITS])
{
	bool queues = op->reason == GSB_TRACE_REASON_QUEUES ||
		      (op->n_holds && op->hold_reason == GSB_TRACE_REASON_QUEUES);
	uint64_t at = op->post_ns;

	memset(waits, 0, GSB_N_WAITS * sizeof(*waits));
	if (!gsb_traced_is_command(op) || !gsb_traced_has(op, GSB_STEP_READY)) {
		wait_in_stream(t, op, waits, &at, completion(op, at));
		return;
	}
	wait_in_stream(t, op, waits, &at, op->ready_ns);
	if (gsb_traced_has(op, GSB_STEP_ISSUED))
		wait_for(waits, queues ? GSB_WAIT_QUEUES : GSB_WAIT_POLICY, &at, op->issued_ns,
			 op->issued_ns);
	if (gsb_traced_has(op, GSB_STEP_FINISHED))
		wait_for(waits, GSB_WAIT_DEVICE, &at, op->start_ns, op->start_ns);
}

/* ---- alone and beside others ---- */

static bool is_kernel(const struct gsb_traced_op *op)
{
	return op->kind == GSB_TRACE_OP_LAUNCH && gsb_traced_ran(op);
}

/* A kernel starts or ends. */
struct edge {
	uint64_t ns;
	uint32_t op;
	bool starts;
};

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->starts -
	       y->starts; /* who ends at the moment in which another starts is not beside it */
}

/*
 * lone(t), the time up to t in which exactly one kernel was there, grows while one is: over the time of a kernel it grows by
 * what that kernel was alone, because nobody else can have been the one. So one pass over the edges is enough.
 */
static void sweep(struct gsb_accounts *a, const struct edge *edges, size_t n)
{
	uint64_t lone = 0, last = n ? edges[0].ns : 0;
	uint32_t there = 0;

	for (size_t i = 0; i < n; i++) {
		lone += there == 1 ? edges[i].ns - last : 0;
		a->busy_ns += there ? edges[i].ns - last : 0;
		last = edges[i].ns;
		there += edges[i].starts ? 1 : UINT32_MAX;
		if (edges[i].starts)
			a->alone_ns[edges[i].op] = lone;
		else
			a->alone_ns[edges[i].op] = lone - a->alone_ns[edges[i].op];
	}
}

static int find_alone(struct gsb_accounts *a, const struct gsb_traced *t)
{
	struct edge *edges = calloc(2 * (size_t)t->n_ops + 1, sizeof(*edges));
	size_t n = 0;

	if (!edges)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_ops; i++) {
		const struct gsb_traced_op *op = &t->ops[i];

		if (!is_kernel(op) || op->end_ns == op->start_ns)
			continue;
		edges[n++] = (struct edge){op->start_ns, i, true};
		edges[n++] = (struct edge){op->end_ns, i, false};
	}
	qsort(edges, n, sizeof(*edges), compare_edges);
	sweep(a, edges, n);
	free(edges);
	return 0;
}

/* ---- slowdown ---- */

static uint64_t threads_of(const struct gsb_traced_op *op)
{
	return op->threads_after ? op->threads_after
				 : (uint64_t)op->block[0] * op->block[1] * op->block[2];
}

/* Shapes are told apart by a hash of what makes them; who fakes one spoils his own figures. */
static uint64_t shape_key(const struct gsb_traced_op *op)
{
	return (op->n_blocks_after * 0x9e3779b97f4a7c15ull ^ threads_of(op)) *
	       0xff51afd7ed558ccdull;
}

static int find_shapes(struct gsb_accounts *a, const struct gsb_traced *t)
{
	struct gsb_map shapes = {0};
	int err = 0;

	for (uint32_t i = 0; i < t->n_ops && !err; i++) {
		const struct gsb_traced_op *op = &t->ops[i];
		uint32_t s = GSB_TRACED_NONE;
		uint64_t ns = op->end_ns - op->start_ns;

		a->shape_of[i] = s;
		if (!is_kernel(op) || op->kernel == GSB_TRACED_NONE)
			continue;
		s = gsb_map_get(&shapes, op->kernel, shape_key(op));
		if (s == GSB_MAP_NONE) {
			s = a->n_shapes++;
			err = gsb_map_put(&shapes, op->kernel, shape_key(op), s);
		}
		a->shape_of[i] = s;
		if (ns && a->alone_ns[i] == ns) {
			a->shapes[s].n_alone++;
			a->shapes[s].alone_ns += ns;
		}
	}
	gsb_map_finish(&shapes);
	return err;
}

double gsb_accounts_reference(const struct gsb_accounts *a, const struct gsb_traced *t,
			      const struct gsb_traced_op *op)
{
	uint32_t s = a->shape_of[op - t->ops];

	if (s == GSB_TRACED_NONE || !a->shapes[s].n_alone)
		return 0;
	return (double)a->shapes[s].alone_ns / (double)a->shapes[s].n_alone;
}

/* ---- rows ---- */

static void add_run(struct gsb_account_row *r, const struct gsb_accounts *a,
		    const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	uint64_t ns = op->end_ns - op->start_ns, alone = a->alone_ns[op - t->ops];
	double reference = gsb_accounts_reference(a, t, op);

	r->run_ns += ns;
	if (op->kind != GSB_TRACE_OP_LAUNCH) {
		r->copy_ns += ns;
		return;
	}
	r->alone_ns += alone;
	r->shared_ns += ns - alone;
	if (reference > 0) {
		r->sum_known_ns += (double)ns;
		r->sum_reference_ns += reference;
	}
}

static void add_bytes(struct gsb_account_row *r, const struct gsb_traced_op *op)
{
	r->bytes += op->bytes;
	if (op->kind != GSB_TRACE_OP_COPY)
		return;
	if (op->from == GSB_TRACE_PLACE_DEVICE && op->to == GSB_TRACE_PLACE_DEVICE)
		r->bytes_d2d += op->bytes;
	else if (op->to == GSB_TRACE_PLACE_DEVICE)
		r->bytes_h2d += op->bytes;
	else if (op->from == GSB_TRACE_PLACE_DEVICE)
		r->bytes_d2h += op->bytes;
}

static void add_op(struct gsb_account_row *r, const struct gsb_accounts *a,
		   const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	uint64_t waits[GSB_N_WAITS];

	if (!r->n++ || op->post_ns < r->first_ns)
		r->first_ns = op->post_ns;
	if (op->completed_ns > r->last_ns)
		r->last_ns = op->completed_ns;
	r->n_launches += op->kind == GSB_TRACE_OP_LAUNCH;
	r->n_copies += op->kind == GSB_TRACE_OP_COPY;
	r->n_fills += op->kind == GSB_TRACE_OP_FILL;
	r->n_failed += op->failed || op->result;
	r->n_resized += gsb_traced_is_resized(op);
	add_bytes(r, op);
	if (gsb_traced_ran(op))
		add_run(r, a, t, op);
	gsb_account_waits(t, op, waits);
	for (unsigned i = 0; i < GSB_N_WAITS; i++) {
		r->waits[i] += waits[i];
		r->wait_ns += waits[i];
	}
	r->n_predicted += op->predicted_slowdown_ppm != 0;
	r->sum_predicted_ppm += op->predicted_slowdown_ppm;
}

static void close_row(struct gsb_account_row *r)
{
	r->span_ns = r->last_ns > r->first_ns ? r->last_ns - r->first_ns : 0;
	if (r->n_predicted)
		r->predicted_ppm = r->sum_predicted_ppm / r->n_predicted;
	if (r->sum_reference_ns > 0) /* times of a hostile trace give anything */
		r->measured_ppm =
			(uint64_t)fmin(r->sum_known_ns / r->sum_reference_ns * 1e6 + 0.5, 1e15);
}

static void name_row(struct gsb_account_row *r, const struct gsb_traced *t,
		     const struct gsb_traced_op *op)
{
	struct gsb_traced_op plain = *op;
	char name[GSB_TRACED_NAME_MAX];

	plain.bytes = 0;
	gsb_traced_name(t, &plain, name, sizeof(name));
	if (op->kernel != GSB_TRACED_NONE)
		snprintf(r->name, sizeof(r->name), "%s", name);
	else if (op->kind == GSB_TRACE_OP_COPY && strchr(name, ','))
		snprintf(r->name, sizeof(r->name), "(copy%.200s)", strchr(name, ','));
	else
		snprintf(r->name, sizeof(r->name), "(%s)", gsb_traced_kind(op));
}

static uint64_t hash_text(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return h;
}

static void begin_row(struct gsb_account_row *r, const struct gsb_traced *t, uint32_t tenant)
{
	const struct gsb_traced_tenant *it = &t->tenants[tenant];

	memcpy(r->tenant, it->name, sizeof(r->tenant));
	memcpy(r->program, it->program, sizeof(r->program));
	r->id = it->number;
	r->peak_bytes = it->gone ? it->counters.peak_bytes : it->peak_bytes;
}

/* The row of an operation's kernel; made when it is the first. */
static struct gsb_account_row *row_of(struct gsb_accounts *a, struct gsb_map *rows, uint32_t *room,
				      const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	struct gsb_account_row name = {.kernel = op->kernel};
	uint64_t key;
	uint32_t i;

	name_row(&name, t, op);
	key = hash_text(name.name);
	i = gsb_map_get(rows, op->tenant, key);
	if (i != GSB_MAP_NONE)
		return &a->kernels[i];
	if (a->n_kernels == *room) {
		uint32_t more = *room ? 2 * *room : 64;
		void *bigger = reallocarray(a->kernels, more, sizeof(*a->kernels));

		if (!bigger)
			return NULL;
		a->kernels = bigger;
		*room = more;
	}
	if (gsb_map_put(rows, op->tenant, key, a->n_kernels))
		return NULL;
	begin_row(&name, t, op->tenant);
	a->kernels[a->n_kernels] = name;
	return &a->kernels[a->n_kernels++];
}

static int longest_first(const void *a, const void *b)
{
	const struct gsb_account_row *x = a, *y = b;

	if (x->run_ns != y->run_ns)
		return x->run_ns > y->run_ns ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* A range has what the ranges in it have. */
static void add_to_ranges(struct gsb_accounts *a, const struct gsb_traced *t,
			  const struct gsb_traced_op *op)
{
	if (op->range == GSB_TRACED_NONE || !gsb_traced_is_command(op))
		return;
	for (uint32_t l = t->ranges[op->range].label; l != GSB_TRACED_NONE; l = t->labels[l].parent)
		add_op(&a->ranges[l], a, t, op);
}

static void make_ranges(struct gsb_accounts *a, const struct gsb_traced *t)
{
	for (uint32_t l = 0; l < t->n_labels; l++) {
		begin_row(&a->ranges[l], t, t->labels[l].tenant);
		gsb_traced_ranges_path(t, l, a->ranges[l].name, sizeof(a->ranges[l].name));
	}
	for (uint32_t i = 0; i < t->n_ranges; i++) {
		const struct gsb_traced_range *r = &t->ranges[i];

		a->ranges[r->label].n_opened++;
		a->ranges[r->label].open_ns += gsb_traced_ranges_end_ns(t, r) - r->open_ns;
	}
	for (uint32_t i = 0; i < t->n_ops; i++)
		add_to_ranges(a, t, &t->ops[i]);
	for (uint32_t l = 0; l < t->n_labels; l++)
		close_row(&a->ranges[l]);
}

static int make_rows(struct gsb_accounts *a, const struct gsb_traced *t)
{
	struct gsb_map rows = {0};
	uint32_t room = 0;
	int err = 0;

	for (uint32_t i = 0; i < t->n_tenants; i++)
		begin_row(&a->tenants[i], t, i);
	for (uint32_t i = 0; i < t->n_ops && !err; i++) {
		const struct gsb_traced_op *op = &t->ops[i];
		struct gsb_account_row *r;

		add_op(&a->tenants[op->tenant], a, t, op);
		if (!gsb_traced_is_command(op))
			continue;
		r = row_of(a, &rows, &room, t, op);
		if (r)
			add_op(r, a, t, op);
		else
			err = -ENOMEM;
	}
	gsb_map_finish(&rows);
	for (uint32_t i = 0; i < t->n_tenants; i++)
		close_row(&a->tenants[i]);
	for (uint32_t i = 0; i < a->n_kernels; i++)
		close_row(&a->kernels[i]);
	if (a->n_kernels)
		qsort(a->kernels, a->n_kernels, sizeof(*a->kernels), longest_first);
	return err;
}

int gsb_accounts_make(struct gsb_accounts *a, const struct gsb_traced *t)
{
	int err = 0;

	*a = (struct gsb_accounts){0};
	a->alone_ns = calloc((size_t)t->n_ops + 1, sizeof(*a->alone_ns));
	a->shape_of = calloc((size_t)t->n_ops + 1, sizeof(*a->shape_of));
	a->shapes = calloc((size_t)t->n_ops + 1, sizeof(*a->shapes));
	a->tenants = calloc((size_t)t->n_tenants + 1, sizeof(*a->tenants));
	a->ranges = calloc((size_t)t->n_labels + 1, sizeof(*a->ranges));
	if (!a->alone_ns || !a->shape_of || !a->shapes || !a->tenants || !a->ranges)
		err = -ENOMEM;
	if (!err)
		err = find_alone(a, t);
	if (!err)
		err = find_shapes(a, t);
	if (!err)
		err = make_rows(a, t);
	if (!err)
		make_ranges(a, t);
	if (err)
		gsb_accounts_finish(a);
	return err;
}

void gsb_accounts_finish(struct gsb_accounts *a)
{
	free(a->alone_ns);
	free(a->shape_of);
	free(a->shapes);
	free(a->tenants);
	free(a->kernels);
	free(a->ranges);
	*a = (struct gsb_accounts){0};
}
