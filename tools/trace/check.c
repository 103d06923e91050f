/*
 * check.c - gsb-trace check: is every operation's chain of events complete and in order, and do the events add up to what
 * the broker counted itself? It holds only what is under way, so that a trace may have any length.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "tools/trace/commands.h"
#include "tools/trace/source.h"

#define SHOWN_MAX 20u

/* What is wrong, for people; they are counted all the same when there are more. */
struct findings {
	struct gsb_traced_op ops[SHOWN_MAX];
	char names[SHOWN_MAX][64];
	unsigned n;
};

static void on_done(void *arg, const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	struct findings *f = arg;

	if (!op->flaws || f->n == SHOWN_MAX)
		return;
	f->ops[f->n] = *op;
	gsb_traced_name(t, op, f->names[f->n], sizeof(f->names[0]));
	f->n++;
}

static void show_findings(const struct gsb_traced *t, const struct findings *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		const struct gsb_traced_op *op = &f->ops[i];

		for (unsigned what = 0; what < GSB_N_FLAWS; what++)
			if (op->flaws >> what & 1)
				printf("  serial %" PRIu64 " of %s (%s): %s\n", op->serial,
				       t->tenants[op->tenant].name, f->names[i],
				       gsb_traced_flaw_text(what));
	}
	if (t->n_flawed > f->n)
		printf("  and others\n");
}

/* ---- the broker's own counters ---- */

struct comparison {
	const char *what;
	uint64_t events, counted;
};

static unsigned show_differences(FILE *to, const struct gsb_traced_tenant *it,
				 const struct comparison *c, unsigned n)
{
	unsigned n_differences = 0;

	for (unsigned i = 0; i < n; i++) {
		if (c[i].events == c[i].counted)
			continue;
		fprintf(to,
			"  %s (%" PRIu32 "): %s: %" PRIu64 " by its events, %" PRIu64
			" by the broker's counters\n",
			it->name, it->number, c[i].what, c[i].events, c[i].counted);
		n_differences++;
	}
	return n_differences;
}

/* Only of who came and went in the recording does it tell all. */
static bool is_comparable(const struct gsb_traced_tenant *it)
{
	return it->told && !it->before && it->gone;
}

static unsigned compare_tenant(FILE *to, const struct gsb_traced_tenant *it)
{
	const struct gsb_trace_tenant_gone *own = &it->counters;
	const struct gsb_trace_tenant_model *model = &it->model;
	const struct comparison all[] = {
		{"records", it->n_taken + it->n_queued, own->n_records},
		{"launches", it->n_launches, own->n_launches},
		{"kernels", it->n_kernels, own->n_kernels},
		{"copies", it->n_copies, own->n_copies},
		{"fills", it->n_fills, own->n_fills},
		{"kernels' device ns", it->kernels_ns, own->kernels_device_ns},
		{"predicted kernels", it->n_predicted, model->n_predicted},
		{"model error, ppm in sum", it->error_ppm, model->error_ppm},
	};
	unsigned n = GSB_ARRAY_LEN(all) - (model->head.type ? 0 : 2);

	return is_comparable(it) ? show_differences(to, it, all, n) : 0;
}

/* ---- the verdict ---- */

struct verdict {
	uint64_t n_open, n_compared, n_differences;
	bool ok;
};

/* What differs goes to @to, in words. */
static struct verdict judge(const struct gsb_traced *t, FILE *to)
{
	struct verdict v = {.n_open = t->n_queued - t->n_completed};

	for (uint32_t i = 0; i < t->n_tenants; i++) {
		v.n_compared += is_comparable(&t->tenants[i]);
		v.n_differences += compare_tenant(to, &t->tenants[i]);
	}
	v.ok = !t->n_flawed && !t->n_orphans && !t->n_duplicates && !t->n_false_wakes &&
	       !t->n_lost && !v.n_differences && t->ending != GSB_TRACED_DAMAGED;
	return v;
}

static void show_counts(const struct gsb_traced *t, const struct verdict *v)
{
	printf("%" PRIu64 " events, %" PRIu64 " lost; %" PRIu64 " operations, %" PRIu64
	       " completed, %" PRIu64 " under way at the end\n",
	       t->n_events, t->n_lost, t->n_queued, t->n_completed, v->n_open);
	for (unsigned what = 0; what < GSB_N_FLAWS; what++)
		if (t->flaws[what])
			printf("%" PRIu64 " operations %s\n", t->flaws[what],
			       gsb_traced_flaw_text(what));
	if (t->n_orphans)
		printf("%" PRIu64 " events of operations that were not queued in it\n",
		       t->n_orphans);
	if (t->n_duplicates)
		printf("%" PRIu64 " serials were queued twice\n", t->n_duplicates);
	if (t->n_false_wakes)
		printf("%" PRIu64 " threads were woken for what was not completed, or not theirs\n",
		       t->n_false_wakes);
	if (t->n_unknown)
		printf("%" PRIu64 " events of kinds that this version does not know\n",
		       t->n_unknown);
	printf("%" PRIu64 " of %" PRIu32 " tenants compared with the broker's counters: %" PRIu64
	       " differences\n",
	       v->n_compared, t->n_tenants, v->n_differences);
}

static void show_json(const struct gsb_traced *t, const struct verdict *v)
{
	putchar('{');
	gsb_trace_json_about(t);
	printf(", \"ok\": %s, \"under_way\": %" PRIu64 ", \"missing_step\": %" PRIu64
	       ", \"out_of_order\": %" PRIu64 ", \"times_backwards\": %" PRIu64
	       ", \"overtook\": %" PRIu64 ", \"number_left_out\": %" PRIu64
	       ", \"orphans\": %" PRIu64 ", \"duplicates\": %" PRIu64 ", \"false_wakes\": %" PRIu64
	       ", \"unknown\": %" PRIu64 ", \"tenants_compared\": %" PRIu64
	       ", \"differences\": %" PRIu64 "}\n",
	       v->ok ? "true" : "false", v->n_open, t->flaws[GSB_FLAW_MISSING],
	       t->flaws[GSB_FLAW_ORDER], t->flaws[GSB_FLAW_TIMES], t->flaws[GSB_FLAW_OVERTOOK],
	       t->flaws[GSB_FLAW_NUMBER], t->n_orphans, t->n_duplicates, t->n_false_wakes,
	       t->n_unknown, v->n_compared, v->n_differences);
}

int gsb_trace_check(const struct gsb_trace_request *q)
{
	static struct findings f;
	struct gsb_traced t = {.on_done = on_done, .arg = &f, .engine = q->engine};
	struct verdict v;

	f.n = 0;
	if (gsb_traced_load(&t, q->path))
		return 1;
	if (t.n_others)
		gsb_traced_warn(&t, q->path);
	v = judge(&t, q->json ? stderr : stdout);
	if (q->json) {
		show_json(&t, &v);
	} else {
		show_findings(&t, &f);
		show_counts(&t, &v);
		printf("%s\n", v.ok ? "every chain is complete and in order" : "not in order");
	}
	gsb_traced_finish(&t);
	return v.ok ? 0 : 1;
}
