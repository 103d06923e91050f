/*
 * explain.c - gsb-trace explain: why an operation was where it was, when it was, and as large as it was: in words, with the
 * numbers. Of a tenant or a kernel it adds up, and then explains the operation that waited longest.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tools/trace/account.h"
#include "tools/trace/amounts.h"
#include "tools/trace/commands.h"
#include "tools/trace/find.h"
#include "tools/trace/forms.h"
#include "tools/trace/ranges.h"

#define COMPANIONS_SHOWN 5u

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* "3.870645 ms", since the recording began: to the nanosecond, as moments are compared. */
static void print_moment(const struct gsb_traced *t, uint64_t ns)
{
	printf("%.6f ms", gsb_ms_since(ns, t->header.device_ns));
}

static void print_ns(uint64_t ns)
{
	char text[GSB_AMOUNT_MAX];

	gsb_ns_text(ns, text);
	fputs(text, stdout);
}

/* "serial 17 (scan of q1)" */
static void print_serial(const struct gsb_traced *t, uint64_t serial)
{
	const struct gsb_traced_op *op = gsb_traced_find(t, serial);
	char name[GSB_TRACED_NAME_MAX];

	printf("serial %" PRIu64, serial);
	if (!op)
		return;
	gsb_traced_name(t, op, name, sizeof(name));
	printf(" (%s of %s)", name, t->tenants[op->tenant].name);
}

/* ---- one operation ---- */

static void explain_range(const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	char path[GSB_TRACED_NAME_MAX];

	if (op->range == GSB_TRACED_NONE)
		return;
	gsb_traced_ranges_path(t, t->ranges[op->range].label, path, sizeof(path));
	printf("  in range    %s\n", path);
}

static void explain_what(const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	const struct gsb_traced_tenant *who = &t->tenants[op->tenant];
	const struct gsb_traced_stream *s = &t->streams[op->stream];
	char name[GSB_TRACED_NAME_MAX];

	gsb_traced_name(t, op, name, sizeof(name));
	printf("serial %" PRIu64 ": %s of %s (tenant %" PRIu32 ", %s), stream %" PRIu32 "%s%s\n",
	       op->serial, name, who->name, who->number, who->program, s->number,
	       s->is_legacy ? ", the legacy default stream" : "",
	       op->before ? ", queued before the recording" : "");
	if (op->kind == GSB_TRACE_OP_LAUNCH && gsb_traced_has(op, GSB_STEP_DETAIL))
		printf("  launched    grid %u x %u x %u, block %u x %u x %u, %u bytes of dynamic "
		       "shared memory\n",
		       op->grid[0], op->grid[1], op->grid[2], op->block[0], op->block[1],
		       op->block[2], op->smem_bytes);
	explain_range(t, op);
	printf("  posted      at ");
	print_moment(t, op->post_ns);
	printf(" of device time\n");
}

/* On which operation it waited for this cause; 0: it is not told. */
static uint64_t blame(const struct gsb_traced *t, const struct gsb_traced_op *op, enum gsb_wait w)
{
	if (w == GSB_WAIT_STREAM && op->previous != GSB_TRACED_NONE)
		return t->ops[op->previous].serial;
	for (unsigned i = op->n_parks; i--;)
		if (gsb_wait_of_park(&op->parks[i]) == w && op->parks[i].on_serial)
			return op->parks[i].on_serial;
	return 0;
}

static void explain_waits(const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	uint64_t waits[GSB_N_WAITS], sum = 0;

	gsb_account_waits(t, op, waits);
	for (unsigned w = 0; w < GSB_N_WAITS; w++) {
		uint64_t on = blame(t, op, w);

		if (!waits[w])
			continue;
		sum += waits[w];
		printf("  waited      ");
		print_ns(waits[w]);
		printf(" for %s", gsb_wait_text(w));
		if (on) {
			printf(": ");
			print_serial(t, on);
		}
		printf("\n");
	}
	if (!sum)
		printf("  waited      for nothing\n");
}

static void explain_ready(const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	printf("  ready       at ");
	print_moment(t, op->ready_ns);
	printf("; the policy saw %u operation%s ready and %u command%s on the device\n",
	       op->n_ready, plural(op->n_ready), op->n_running, plural(op->n_running));
}

static const char *reason_text(unsigned reason)
{
	static const char *const texts[] = {
		"the policy said so",
		"the policy held all of it, and the device was idle",
		"all device queues had work",
		"in the order of arrival",
		"one tenant at a time",
		"memory of the device would not do for those that ran and it",
		"it is shorter than a plan",
		"too little was known for a plan",
		"by its tenant's share",
		"it fitted, and the longest goes first",
		"what went before it fitted, and it did not",
		"on SMs of its own",
		"beside what ran both would have lost",
		"it had waited as long as anything may",
		"its tenant is critical",
		"kept off the SMs of a critical tenant",
		"it is short, and went behind such of its stream",
		"a tenant was slowed more than it may be, and had the device to itself",
		"in parts that end soon, so that a critical tenant has all SMs when it comes",
		"kept off the SMs of a critical tenant: it cannot be had in parts that end soon",
		"a critical tenant had all SMs",
		"it would have ended behind its deadline if others had gone before it",
		"on all SMs beside another, one of the two with a part of its blocks"};

	static_assert(GSB_ARRAY_LEN(texts) == GSB_TRACE_REASON_INSIDE + 1, "each has a text");

	return reason < GSB_ARRAY_LEN(texts) ? texts[reason] : "for a reason not known here";
}

static const char *form_text(unsigned form)
{
	static const char *const texts[] = {
		[GSB_TRACE_FORM_AS_ASKED] = "as launched",
		[GSB_TRACE_FORM_RESHAPE] = "in blocks of another size",
		[GSB_TRACE_FORM_SLICE] = "in slices, one after the other",
		[GSB_TRACE_FORM_PERSISTENT] = "by few blocks that stay and fetch the work of all",
		[GSB_TRACE_FORM_COUNT] = "as launched, and counted",
		[GSB_TRACE_FORM_HINT] = "as launched, with hints at what is not used again",
	};

	return form < GSB_ARRAY_LEN(texts) ? texts[form] : "in a form not known here";
}

static void explain_form(const struct gsb_traced_op *op)
{
	printf("  shape       %s, for %" PRIu64 " block%s of %u threads", form_text(op->form),
	       op->n_blocks, plural(op->n_blocks), op->threads_after);
	if (op->form == GSB_TRACE_FORM_SLICE && op->n_parts)
		printf("; %u slice%s", op->n_parts, plural(op->n_parts));
	if (op->form == GSB_TRACE_FORM_PERSISTENT && op->reason == GSB_TRACE_REASON_INSIDE)
		printf("; in %u eighths of the places that it would fill", op->n_parts);
	else if (op->form == GSB_TRACE_FORM_PERSISTENT && op->n_parts)
		printf("; each ends after %u tile%s", op->n_parts, plural(op->n_parts));
	if (op->part_ns) {
		printf(", so in ");
		print_ns(op->part_ns);
	}
	printf("\n");
}

/* Which of the ends of a hold came: that of what it waited for, its time, or neither. */
static const char *end_of_hold(const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	const struct gsb_traced_op *other = gsb_traced_find(t, op->hold_until);

	if (op->hold_until && other && gsb_traced_has(other, GSB_STEP_FINISHED) &&
	    other->end_ns <= op->decided_ns)
		return "it had ended";
	if (op->hold_not_before_ns && op->hold_not_before_ns <= op->decided_ns)
		return "the time had come";
	return "other work came or ended before";
}

static void explain_hold(const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	printf("  held        since ");
	print_moment(t, op->held_ns);
	printf(", ");
	print_ns(op->decided_ns > op->held_ns ? op->decided_ns - op->held_ns : 0);
	printf(": %s\n", reason_text(op->hold_reason));
	if (!op->hold_not_before_ns && !op->hold_until)
		return;
	printf("              for no longer than until ");
	if (op->hold_until)
		print_serial(t, op->hold_until);
	if (op->hold_until && op->hold_not_before_ns)
		printf(" had ended, or ");
	if (op->hold_not_before_ns)
		print_moment(t, op->hold_not_before_ns);
	printf("%s; it went when %s\n", op->hold_not_before_ns ? "" : " had ended",
	       end_of_hold(t, op));
}

static void explain_decision(const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	if (op->n_holds)
		explain_hold(t, op);
	printf("  issued      at ");
	print_moment(t, op->issued_ns);
	printf(" to device queue %" PRIu32 " by decision %" PRIu64 " of %s: %s\n", op->queue,
	       op->decision, t->header.policy, reason_text(op->reason));
	if (op->kind != GSB_TRACE_OP_LAUNCH)
		return;
	if (op->n_blocks_after != op->n_blocks)
		printf("  re-sized    from %" PRIu64 " to %" PRIu64 " blocks of %u threads\n",
		       op->n_blocks, op->n_blocks_after, op->threads_after);
	else if (op->form)
		explain_form(op);
	else
		printf("  shape       as launched: %" PRIu64 " block%s of %u threads\n",
		       op->n_blocks, plural(op->n_blocks), op->threads_after);
}

static void explain_beside(const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GSB_ARRAY_LEN(op->beside) && op->beside[i]; i++, n++) {
		printf(i ? "\n              " : "  put beside  ");
		print_serial(t, op->beside[i]);
	}
	if (n && op->n_running > n)
		printf("\n              and %u more", op->n_running - n);
	printf(n ? "\n" : "  put beside  nothing: the device was idle\n");
}

static void explain_prediction(const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	if (op->kind != GSB_TRACE_OP_LAUNCH)
		return;
	if (!op->predicted_ns && !op->predicted_slowdown_ppm) {
		printf("  predicted   nothing: %s says no times\n", t->header.policy);
		return;
	}
	printf("  predicted   ");
	print_ns(op->predicted_ns);
	if (op->predicted_slowdown_ppm)
		printf(", %.2f times as long as alone", op->predicted_slowdown_ppm / 1e6);
	if (op->trust_ppm)
		printf(", trusted to %.0f %%", op->trust_ppm / 1e4);
	printf("\n");
}

static void explain_run(const struct gsb_traced *t, const struct gsb_accounts *a,
			const struct gsb_traced_op *op)
{
	uint64_t ns = op->end_ns - op->start_ns, alone = a->alone_ns[op - t->ops];
	double reference = gsb_accounts_reference(a, t, op);

	printf("  ran         ");
	print_moment(t, op->start_ns);
	printf(" to ");
	print_moment(t, op->end_ns);
	printf(", ");
	print_ns(ns);
	if (op->kind == GSB_TRACE_OP_LAUNCH) {
		printf(": ");
		print_ns(alone);
		printf(" alone, ");
		print_ns(ns - alone);
		printf(" beside other kernels");
	}
	printf("\n");
	if (reference > 0)
		printf("  slowdown    %.2f, against %.0f ns, the mean of %" PRIu64
		       " such launch%s alone\n",
		       (double)ns / reference, reference,
		       a->shapes[a->shape_of[op - t->ops]].n_alone,
		       a->shapes[a->shape_of[op - t->ops]].n_alone == 1 ? "" : "es");
	else if (op->kind == GSB_TRACE_OP_LAUNCH)
		printf("  slowdown    not known: no such launch ran alone in this trace\n");
}

static void explain_wake(const struct gsb_traced_op *op)
{
	printf("  woke        %u thread%s of its program, ", op->n_woke, plural(op->n_woke));
	print_ns(op->woke_real_ns > op->completed_real_ns ? op->woke_real_ns - op->completed_real_ns
							  : 0);
	printf(" of real time after that\n");
}

static void explain_end(const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	if (!gsb_traced_has(op, GSB_STEP_COMPLETED)) {
		printf("  not completed in this trace\n");
		return;
	}
	printf("  completed   at ");
	print_moment(t, op->completed_ns);
	if (op->result)
		printf(", with error %d", op->result);
	printf(op->failed ? "; its context has failed\n" : "\n");
	if (op->n_woke)
		explain_wake(op);
	for (unsigned what = 0; what < GSB_N_FLAWS; what++)
		if (op->flaws >> what & 1)
			printf("  flaw        this is one of the operations %s\n",
			       gsb_traced_flaw_text(what));
}

static void explain_op(const struct gsb_traced *t, const struct gsb_accounts *a,
		       const struct gsb_traced_op *op)
{
	explain_what(t, op);
	explain_waits(t, op);
	if (gsb_traced_has(op, GSB_STEP_READY))
		explain_ready(t, op);
	if (gsb_traced_has(op, GSB_STEP_ISSUED)) {
		explain_decision(t, op);
		explain_beside(t, op);
		explain_prediction(t, op);
	}
	if (gsb_traced_ran(op))
		explain_run(t, a, op);
	explain_end(t, op);
}

/* ---- many ---- */

/* Who was on the device when operations were issued, and how often. */
struct companion {
	const struct gsb_traced_op *op; /* one of them */
	uint64_t n;
};

struct sums {
	uint64_t n, n_launches, n_held, n_resized, n_failed, n_idle, run_ns, alone_ns, waits_ns;
	uint64_t waits[GSB_N_WAITS];
	uint64_t n_predicted, predicted_ppm, n_measured;
	double known_ns, reference_ns;
	const struct gsb_traced_op *longest; /* that waited longest */
	uint64_t longest_ns;
	struct companion *companions;
	uint32_t n_companions, room;
	struct gsb_map companion_of;
};

static void add_companion(struct sums *s, const struct gsb_traced_op *op)
{
	uint64_t key = op->kernel != GSB_TRACED_NONE ? op->kernel : (uint64_t)op->kind << 32;
	uint32_t i = gsb_map_get(&s->companion_of, op->tenant, key);

	if (i == GSB_MAP_NONE) {
		if (s->n_companions == s->room) {
			uint32_t more = 2 * s->room + 16;
			void *bigger = reallocarray(s->companions, more, sizeof(*s->companions));

			if (!bigger)
				return;
			s->companions = bigger;
			s->room = more;
		}
		i = s->n_companions;
		if (gsb_map_put(&s->companion_of, op->tenant, key, i))
			return;
		s->companions[s->n_companions++] = (struct companion){op, 0};
	}
	s->companions[i].n++;
}

static void add_run(struct sums *s, const struct gsb_traced *t, const struct gsb_accounts *a,
		    const struct gsb_traced_op *op)
{
	double reference = gsb_accounts_reference(a, t, op);

	s->run_ns += op->end_ns - op->start_ns;
	s->alone_ns += a->alone_ns[op - t->ops];
	if (reference <= 0)
		return;
	s->n_measured++;
	s->known_ns += (double)(op->end_ns - op->start_ns);
	s->reference_ns += reference;
}

static void add_op(struct sums *s, const struct gsb_traced *t, const struct gsb_accounts *a,
		   const struct gsb_traced_op *op)
{
	uint64_t waits[GSB_N_WAITS], sum = 0;

	gsb_account_waits(t, op, waits);
	for (unsigned w = 0; w < GSB_N_WAITS; w++) {
		s->waits[w] += waits[w];
		sum += waits[w];
	}
	s->waits_ns += sum;
	if (!s->longest || sum > s->longest_ns) {
		s->longest = op;
		s->longest_ns = sum;
	}
	s->n++;
	s->n_launches += op->kind == GSB_TRACE_OP_LAUNCH;
	s->n_held += op->n_holds != 0;
	s->n_resized += gsb_traced_is_resized(op);
	s->n_failed += op->failed || op->result;
	s->n_idle += gsb_traced_has(op, GSB_STEP_ISSUED) && !op->n_running;
	s->n_predicted += op->predicted_slowdown_ppm != 0;
	s->predicted_ppm += op->predicted_slowdown_ppm;
	for (unsigned i = 0; i < GSB_ARRAY_LEN(op->beside) && op->beside[i]; i++) {
		const struct gsb_traced_op *other = gsb_traced_find(t, op->beside[i]);

		if (other)
			add_companion(s, other);
	}
	if (gsb_traced_ran(op) && op->kind == GSB_TRACE_OP_LAUNCH)
		add_run(s, t, a, op);
}

static void explain_sum_waits(const struct sums *s)
{
	printf("They waited ");
	print_ns(s->waits_ns);
	printf(" in sum%s\n", s->waits_ns ? ":" : ".");
	for (unsigned w = 0; w < GSB_N_WAITS; w++) {
		if (!s->waits[w])
			continue;
		printf("  %5.1f %%  ", gsb_percent(s->waits[w], s->waits_ns));
		print_ns(s->waits[w]);
		printf(" for %s\n", gsb_wait_text(w));
	}
}

static int most_first(const void *a, const void *b)
{
	const struct companion *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->op->serial < y->op->serial ? -1 : x->op->serial > y->op->serial;
}

static void explain_companions(const struct gsb_traced *t, const struct sums *s)
{
	char name[GSB_TRACED_NAME_MAX];

	printf("When they were issued, the device was idle %" PRIu64 " time%s%s\n", s->n_idle,
	       plural(s->n_idle), s->n_companions ? "; on it were" : ".");
	if (s->n_companions)
		qsort(s->companions, s->n_companions, sizeof(*s->companions), most_first);
	for (uint32_t i = 0; i < s->n_companions && i < COMPANIONS_SHOWN; i++) {
		const struct gsb_traced_op *op = s->companions[i].op;
		struct gsb_traced_op plain = *op;

		plain.bytes = 0;
		plain.steps = 0;
		gsb_traced_name(t, &plain, name, sizeof(name));
		printf("  %s of %s, %" PRIu64 " time%s\n", name, t->tenants[op->tenant].name,
		       s->companions[i].n, plural(s->companions[i].n));
	}
	if (s->n_companions > COMPANIONS_SHOWN)
		printf("  and %" PRIu32 " others\n", s->n_companions - COMPANIONS_SHOWN);
}

static void explain_policy(const struct gsb_traced *t, const struct sums *s)
{
	printf("The policy (%s) held %" PRIu64 " of them back and re-sized %" PRIu64 ".\n",
	       t->header.policy, s->n_held, s->n_resized);
	if (s->n_predicted)
		printf("It predicted that they take %.2f times as long as alone (mean of %" PRIu64
		       ").\n",
		       (double)s->predicted_ppm / 1e6 / (double)s->n_predicted, s->n_predicted);
	if (s->reference_ns > 0)
		printf("They took %.2f times as long as alone (%" PRIu64 " of %" PRIu64
		       " launches: such ones ran alone, too).\n",
		       s->known_ns / s->reference_ns, s->n_measured, s->n_launches);
}

static void explain_sums(const struct gsb_traced *t, const struct gsb_accounts *a,
			 const struct sums *s, const struct gsb_traced_filter *f, const char *word)
{
	printf("%s: %" PRIu64 " operation%s, %" PRIu64 " of them launches%s", word, s->n,
	       plural(s->n), s->n_launches, s->n_launches ? ", " : "");
	if (s->n_launches) {
		print_ns(s->run_ns);
		printf(" on the device: ");
		print_ns(s->alone_ns);
		printf(" alone, ");
		print_ns(s->run_ns - s->alone_ns);
		printf(" beside other kernels");
	}
	printf(".\n");
	if (s->n_failed)
		printf("%" PRIu64 " failed.\n", s->n_failed);
	explain_sum_waits(s);
	explain_policy(t, s);
	explain_companions(t, s);
	if (f->kernel)
		gsb_trace_print_forms(stdout, t, f->kernel);
	if (s->longest) {
		printf("\nThe one that waited longest:\n");
		explain_op(t, a, s->longest);
	}
}

static void explain_all(const struct gsb_traced *t, const struct gsb_accounts *a,
			const struct gsb_traced_filter *f, const char *word)
{
	struct sums s = {0};

	for (uint32_t i = 0; i < t->n_ops; i++)
		if (gsb_traced_matches(f, t, &t->ops[i]))
			add_op(&s, t, a, &t->ops[i]);
	explain_sums(t, a, &s, f, word);
	free(s.companions);
	gsb_map_finish(&s.companion_of);
}

int gsb_trace_explain(const struct gsb_traced *t, const struct gsb_trace_request *q)
{
	struct gsb_traced_filter f;
	struct gsb_accounts a;

	if (gsb_traced_filter_read(&f, t, q->word))
		return 1;
	if (gsb_accounts_make(&a, t)) {
		fprintf(stderr, "gsb-trace: out of memory\n");
		return 1;
	}
	if (f.op)
		explain_op(t, &a, f.op);
	else
		explain_all(t, &a, &f, q->word);
	gsb_accounts_finish(&a);
	return 0;
}
