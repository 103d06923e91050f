/*
 * critical.c - see critical.h; and gsb-trace critical, which shows it.
 */
#include "tools/trace/critical.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/field.h"
#include "tools/trace/amounts.h"
#include "tools/trace/commands.h"
#include "tools/trace/find.h"
#include "tools/trace/ranges.h"

const char *gsb_critical_text(unsigned cause)
{
	switch (cause) {
	case GSB_CRITICAL_KERNEL: return "kernels";
	case GSB_CRITICAL_COPY: return "copies and fills";
	case GSB_CRITICAL_FINISH: return "completions";
	case GSB_CRITICAL_PROGRAM: return "the program itself";
	default: return gsb_wait_text(cause);
	}
}

/* ---- whom a program waited for ---- */

struct done {
	uint64_t completed_ns, serial;
	uint32_t op;
};

/* The completed operations of a tenant, in the order of their completions. */
struct order {
	struct done *done;
	uint32_t n;
};

static int compare_done(const void *a, const void *b)
{
	const struct done *x = a, *y = b;

	if (x->completed_ns != y->completed_ns)
		return x->completed_ns < y->completed_ns ? -1 : 1;
	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static int order_make(struct order *o, const struct gsb_traced *t, uint32_t tenant)
{
	o->n = 0;
	o->done = calloc((size_t)t->n_ops + 1, sizeof(*o->done));
	if (!o->done)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_ops; i++)
		if (t->ops[i].tenant == tenant && gsb_traced_has(&t->ops[i], GSB_STEP_COMPLETED))
			o->done[o->n++] =
				(struct done){t->ops[i].completed_ns, t->ops[i].serial, i};
	qsort(o->done, o->n, sizeof(*o->done), compare_done);
	return 0;
}

#define LOOKED_AT_MAX 4096u /* completions at one moment; only a made-up trace has more */

/* Who completed last, not after @ns, of those queued before @serial; NONE. */
static uint32_t last_done(const struct order *o, uint64_t ns, uint64_t serial)
{
	uint32_t low = 0, high = o->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (o->done[middle].completed_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = low; i-- && low - i <= LOOKED_AT_MAX;)
		if (o->done[i].serial < serial)
			return o->done[i].op;
	return GSB_TRACED_NONE;
}

/* ---- the chain, from its end ---- */

struct walk {
	struct gsb_critical *c;
	const struct gsb_traced *t;
	const struct gsb_accounts *a;
	uint32_t tenant;
	struct order order; /* of that tenant */
	uint64_t from;	    /* what is before it is not asked for */
	uint64_t at;	    /* what is after it is explained */
};

static int add_step(struct walk *w, uint32_t op, unsigned cause, uint64_t from)
{
	struct gsb_critical *c = w->c;

	from = from > w->from ? from : w->from;
	if (from >= w->at)
		return 0;
	if (c->n_steps == c->room) {
		uint32_t more = 2 * c->room + 64;
		void *bigger = reallocarray(c->steps, more, sizeof(*c->steps));

		if (!bigger)
			return -ENOMEM;
		c->steps = bigger;
		c->room = more;
	}
	c->steps[c->n_steps++] = (struct gsb_critical_step){from, w->at, op, cause};
	c->causes[cause] += w->at - from;
	w->at = from;
	return 0;
}

static void add_beyond(struct walk *w, const struct gsb_traced_op *op)
{
	double alone = gsb_accounts_reference(w->a, w->t, op);
	double ns = (double)(op->end_ns - op->start_ns);

	if (alone > 0 && ns > alone && op->start_ns >= w->from)
		w->c->beyond_ns += (uint64_t)(ns - alone);
}

/* From its completion back to when nothing was before it. */
static int walk_command(struct walk *w, uint32_t i)
{
	const struct gsb_traced_op *op = &w->t->ops[i];
	bool queues = op->reason == GSB_TRACE_REASON_QUEUES ||
		      (op->n_holds && op->hold_reason == GSB_TRACE_REASON_QUEUES);
	bool kernel = op->kind == GSB_TRACE_OP_LAUNCH;
	int err = 0;

	if (!gsb_traced_is_command(op) || !gsb_traced_ran(op))
		return 0;
	err = add_step(w, i, GSB_CRITICAL_FINISH, op->end_ns);
	if (!err)
		err = add_step(w, i, kernel ? GSB_CRITICAL_KERNEL : GSB_CRITICAL_COPY,
			       op->start_ns);
	if (kernel)
		add_beyond(w, op);
	if (!err)
		err = add_step(w, i, GSB_WAIT_DEVICE,
			       op->issued_ns > op->ready_ns ? op->issued_ns : op->ready_ns);
	if (!err)
		err = add_step(w, i, queues ? GSB_WAIT_QUEUES : GSB_WAIT_POLICY, op->ready_ns);
	return err;
}

/* Somebody that an operation waited for, and why. */
struct before {
	uint32_t op; /* NONE: its own post */
	unsigned cause;
	uint64_t ns;
};

static void consider(const struct walk *w, struct before *latest, const struct gsb_traced_op *op,
		     const struct gsb_traced_op *other, unsigned cause)
{
	/* older serials only: so the walk ends, whatever a trace says */
	if (!other || other->serial >= op->serial || !gsb_traced_has(other, GSB_STEP_COMPLETED) ||
	    other->completed_ns <= latest->ns || other->completed_ns > w->at)
		return;
	*latest = (struct before){(uint32_t)(other - w->t->ops), cause, other->completed_ns};
}

static struct before find_before(const struct walk *w, const struct gsb_traced_op *op)
{
	struct before latest = {GSB_TRACED_NONE, GSB_WAIT_STREAM, op->post_ns};

	for (unsigned i = 0; i < op->n_parks; i++)
		consider(w, &latest, op, gsb_traced_find(w->t, op->parks[i].on_serial),
			 gsb_wait_of_park(&op->parks[i]));
	if (op->previous != GSB_TRACED_NONE)
		consider(w, &latest, op, &w->t->ops[op->previous], GSB_WAIT_STREAM);
	return latest;
}

/* What it waited for after the one before it was done. */
static unsigned rest_of(const struct gsb_traced_op *op, const struct before *b)
{
	return op->n_parks ? gsb_wait_of_park(&op->parks[op->n_parks - 1]) : b->cause;
}

/* One operation; *i is the next, NONE at the beginning. */
static int walk_op(struct walk *w, uint32_t *i)
{
	const struct gsb_traced_op *op = &w->t->ops[*i];
	uint32_t self = *i;
	struct before b;
	int err = walk_command(w, self);

	if (err)
		return err;
	b = find_before(w, op);
	err = add_step(w, self, rest_of(op, &b), b.ns);
	*i = b.op;
	if (err || b.op != GSB_TRACED_NONE)
		return err;
	if (op->tenant == w->tenant) /* of another's program nothing is ordered here */
		*i = last_done(&w->order, op->post_ns, op->serial);
	if (*i == GSB_TRACED_NONE)
		return 0;
	return add_step(w, self, GSB_CRITICAL_PROGRAM, w->t->ops[*i].completed_ns);
}

static void turn_round(struct gsb_critical *c)
{
	for (uint32_t i = 0; i < c->n_steps / 2; i++) {
		struct gsb_critical_step s = c->steps[i];

		c->steps[i] = c->steps[c->n_steps - 1 - i];
		c->steps[c->n_steps - 1 - i] = s;
	}
}

int gsb_critical_make(struct gsb_critical *c, const struct gsb_traced *t,
		      const struct gsb_accounts *a, uint32_t last, uint64_t from_ns)
{
	struct walk w = {.c = c, .t = t, .a = a, .tenant = t->ops[last].tenant, .from = from_ns};
	uint32_t i = last;
	int err;

	*c = (struct gsb_critical){0};
	w.at = t->ops[last].completed_ns;
	err = order_make(&w.order, t, w.tenant);
	while (!err && i != GSB_TRACED_NONE && w.at > w.from)
		err = walk_op(&w, &i);
	free(w.order.done);
	if (err)
		gsb_critical_finish(c);
	else
		turn_round(c);
	return err;
}

void gsb_critical_finish(struct gsb_critical *c)
{
	free(c->steps);
	*c = (struct gsb_critical){0};
}

/* ---- the command ---- */

/* What is asked for: a chain up to an operation, of a whole tenant or of a range. */
struct subject {
	uint32_t last, range; /* range: NONE */
};

/* Of those that match, the last to complete; without a filter, of all. */
static uint32_t find_last(const struct gsb_traced *t, const struct gsb_traced_filter *f)
{
	uint32_t last = GSB_TRACED_NONE;

	for (uint32_t i = 0; i < t->n_ops; i++) {
		const struct gsb_traced_op *op = &t->ops[i];

		if ((f && !gsb_traced_matches(f, t, op)) || !gsb_traced_has(op, GSB_STEP_COMPLETED))
			continue;
		if (last == GSB_TRACED_NONE || op->completed_ns >= t->ops[last].completed_ns)
			last = i;
	}
	if (last == GSB_TRACED_NONE)
		fprintf(stderr, "gsb-trace: nothing of that was completed in this trace\n");
	return last;
}

static struct subject find_subject(const struct gsb_traced *t, const char *word)
{
	struct subject s = {GSB_TRACED_NONE, GSB_TRACED_NONE};
	struct gsb_traced_filter f;

	if (word && gsb_traced_filter_read(&f, t, word))
		return s;
	s.last = find_last(t, word ? &f : NULL);
	if (word && f.range && s.last != GSB_TRACED_NONE)
		s.range = gsb_traced_ranges_around(t, &t->ops[s.last], f.range);
	return s;
}

static void show_causes(const struct gsb_critical *c, uint64_t whole)
{
	char text[GSB_AMOUNT_MAX];

	for (unsigned cause = 0; cause < GSB_N_CRITICAL_CAUSES; cause++) {
		if (!c->causes[cause])
			continue;
		gsb_ns_text(c->causes[cause], text);
		printf("  %5.1f %%  %10s  %s", gsb_percent(c->causes[cause], whole), text,
		       gsb_critical_text(cause));
		gsb_ns_text(c->beyond_ns, text);
		if (cause == GSB_CRITICAL_KERNEL && c->beyond_ns)
			printf(", %s of it more than alone", text);
		printf("\n");
	}
}

static void show_step(const struct gsb_traced *t, const struct gsb_critical_step *s)
{
	char name[GSB_TRACED_NAME_MAX], text[GSB_AMOUNT_MAX];

	gsb_traced_name(t, &t->ops[s->op], name, sizeof(name));
	gsb_ns_text(s->to_ns - s->from_ns, text);
	printf("  %14.6f  %10s  serial %" PRIu64 ", %s: ",
	       gsb_ms_since(s->from_ns, t->header.device_ns), text, t->ops[s->op].serial, name);
	switch (s->cause) {
	case GSB_CRITICAL_KERNEL: printf("ran\n"); break;
	case GSB_CRITICAL_COPY: printf("moved\n"); break;
	case GSB_CRITICAL_FINISH: printf("was completed\n"); break;
	case GSB_CRITICAL_PROGRAM: printf("the program had not posted it\n"); break;
	default: printf("waited for %s\n", gsb_wait_text(s->cause));
	}
}

/* All steps, or those of at least a hundredth of the whole, with what is left out between. */
static void show_steps(const struct gsb_traced *t, const struct gsb_critical *c, uint64_t whole,
		       bool all)
{
	uint32_t n_short = 0;

	printf("\n         from ms        took  step\n");
	for (uint32_t i = 0; i <= c->n_steps; i++) {
		const struct gsb_critical_step *s = i < c->n_steps ? &c->steps[i] : NULL;

		if (s && !all && s->to_ns - s->from_ns < whole / 100) {
			n_short++;
			continue;
		}
		if (n_short)
			printf("  %28s%" PRIu32 " short step%s\n", "", n_short,
			       n_short == 1 ? "" : "s");
		n_short = 0;
		if (s)
			show_step(t, s);
	}
}

static void json_range(const struct gsb_traced *t, const struct gsb_traced_range *r)
{
	char path[GSB_TRACED_NAME_MAX];

	gsb_traced_ranges_path(t, r->label, path, sizeof(path));
	printf(", \"range\": ");
	gsb_json_string(path);
	printf(", \"open_ns\": %" PRIu64, gsb_traced_ranges_end_ns(t, r) - r->open_ns);
}

static void show_json(const struct gsb_traced *t, const struct gsb_critical *c,
		      const struct subject *it)
{
	uint32_t last = it->last;
	char name[GSB_TRACED_NAME_MAX];

	putchar('{');
	gsb_trace_json_about(t);
	printf(", \"tenant\": ");
	gsb_json_string(t->tenants[t->ops[last].tenant].name);
	if (it->range != GSB_TRACED_NONE)
		json_range(t, &t->ranges[it->range]);
	printf(", \"last_serial\": %" PRIu64 ", \"beyond_ns\": %" PRIu64 ", \"steps\": [",
	       t->ops[last].serial, c->beyond_ns);
	for (uint32_t i = 0; i < c->n_steps; i++) {
		const struct gsb_critical_step *s = &c->steps[i];

		gsb_traced_name(t, &t->ops[s->op], name, sizeof(name));
		printf("%s{\"from_ns\": %" PRIu64 ", \"ns\": %" PRIu64 ", \"serial\": %" PRIu64
		       ", \"what\": ",
		       i ? ", " : "", s->from_ns, s->to_ns - s->from_ns, t->ops[s->op].serial);
		gsb_json_string(name);
		printf(", \"cause\": ");
		gsb_json_string(gsb_critical_text(s->cause));
		putchar('}');
	}
	printf("]}\n");
}

static void show_range(const struct gsb_traced *t, const struct gsb_traced_range *r)
{
	char path[GSB_TRACED_NAME_MAX], text[GSB_AMOUNT_MAX];

	gsb_traced_ranges_path(t, r->label, path, sizeof(path));
	gsb_ns_text(gsb_traced_ranges_end_ns(t, r) - r->open_ns, text);
	printf("range %s, opened at %.6f ms, open for %s\n", path,
	       gsb_ms_since(r->open_ns, t->header.device_ns), text);
}

static void show(const struct gsb_traced *t, const struct gsb_critical *c, const struct subject *it,
		 bool all)
{
	const struct gsb_traced_op *op = &t->ops[it->last];
	uint64_t from = c->n_steps ? c->steps[0].from_ns : op->completed_ns;
	uint64_t whole = op->completed_ns - from;
	char text[GSB_AMOUNT_MAX];

	if (it->range != GSB_TRACED_NONE)
		show_range(t, &t->ranges[it->range]);
	gsb_ns_text(whole, text);
	printf("%s (tenant %" PRIu32 "): %s from ", t->tenants[op->tenant].name,
	       t->tenants[op->tenant].number, text);
	if (it->range != GSB_TRACED_NONE)
		printf("its beginning");
	else
		printf("the post of serial %" PRIu64,
		       t->ops[c->n_steps ? c->steps[0].op : it->last].serial);
	printf(" to the completion of serial %" PRIu64 ", %" PRIu32 " steps\n", op->serial,
	       c->n_steps);
	show_causes(c, whole);
	show_steps(t, c, whole, all);
}

int gsb_trace_critical(const struct gsb_traced *t, const struct gsb_trace_request *q)
{
	const struct subject it = find_subject(t, q->word);
	uint64_t from = it.range == GSB_TRACED_NONE ? 0 : t->ranges[it.range].open_ns;
	struct gsb_accounts a;
	struct gsb_critical c;
	int err;

	if (it.last == GSB_TRACED_NONE)
		return 1;
	err = gsb_accounts_make(&a, t);
	if (!err) {
		err = gsb_critical_make(&c, t, &a, it.last, from);
		gsb_accounts_finish(&a);
	}
	if (err) {
		fprintf(stderr, "gsb-trace: out of memory\n");
		return 1;
	}
	if (q->json)
		show_json(t, &c, &it);
	else
		show(t, &c, &it, q->all);
	gsb_critical_finish(&c);
	return 0;
}
