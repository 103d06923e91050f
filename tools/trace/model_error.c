/*
 * model_error.c - gsb-trace model-error: what the policy predicted against what was measured, kernel by kernel. Beside the
 * slowdown stands the simplest prediction there is, always 1: a model that loses to it is of no use.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gsb/model_error.h"
#include "tools/field.h"
#include "tools/trace/account.h"
#include "tools/trace/commands.h"

/* Relative errors: (predicted - measured) / measured. */
struct errors {
	uint64_t n, absolute_ppm;
	double sum, sum_squares, largest;
};

struct row {
	const char *name, *tenant;
	struct errors time, slowdown, one;
};

struct table {
	struct row all, *kernels, *tenants; /* as in the trace */
	uint32_t n_kernels, n_tenants;
};

static void add(struct errors *e, double predicted, double measured)
{
	double error = (predicted - measured) / measured;

	e->n++;
	e->sum += error;
	e->absolute_ppm += gsb_model_error_ppm(predicted, measured);
	e->sum_squares += error * error;
	e->largest = fmax(e->largest, fabs(error));
}

static double mean(const struct errors *e)
{
	return e->n ? e->sum / (double)e->n : 0;
}

static double mean_absolute(const struct errors *e)
{
	return e->n ? (double)e->absolute_ppm / (double)e->n / 1e6 : 0;
}

static double deviation(const struct errors *e)
{
	return e->n ? sqrt(fmax(0, e->sum_squares / (double)e->n - mean(e) * mean(e))) : 0;
}

static void add_launch(struct row *r, const struct gsb_traced *t, const struct gsb_accounts *a,
		       const struct gsb_traced_op *op)
{
	double ns = (double)(op->end_ns - op->start_ns);
	double reference = gsb_accounts_reference(a, t, op);

	if (ns <= 0 || op->result)
		return;
	if (gsb_traced_is_measured(op))
		add(&r->time, (double)op->predicted_ns, ns);
	if (op->predicted_slowdown_ppm && reference > 0) {
		add(&r->slowdown, op->predicted_slowdown_ppm / 1e6, ns / reference);
		add(&r->one, 1, ns / reference);
	}
}

/* ---- output ---- */

static void print_errors(const struct errors *e)
{
	if (e->n)
		printf("  %7" PRIu64 " %+8.2f %8.2f %8.2f %8.2f", e->n, 100 * mean(e),
		       100 * mean_absolute(e), 100 * deviation(e), 100 * e->largest);
	else
		printf("  %7d %8s %8s %8s %8s", 0, "-", "-", "-", "-");
}

static void print_row(const struct row *r)
{
	print_errors(&r->time);
	print_errors(&r->slowdown);
	if (r->one.n)
		printf("  %8.2f", 100 * mean_absolute(&r->one));
	else
		printf("  %8s", "-");
	printf("  %s%s%s\n", r->name, *r->tenant ? " of " : "", r->tenant);
}

static void print_rows(const struct row *rows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (rows[i].time.n || rows[i].slowdown.n)
			print_row(&rows[i]);
}

static void print_table(const struct gsb_traced *t, const struct table *e)
{
	if (!e->all.time.n && !e->all.slowdown.n) {
		printf("%s predicts nothing, or nothing of what it predicted was measured: "
		       "there is no error to show\n",
		       t->header.policy);
		return;
	}
	printf("errors in %% of what was measured: mean, mean without sign, standard deviation, "
	       "largest\n");
	printf("  %43s  %43s  %8s\n", "time", "slowdown", "always 1");
	for (unsigned i = 0; i < 2; i++)
		printf("  %7s %8s %8s %8s %8s", "n", "mean", "abs", "sd", "largest");
	printf("  %8s  kernel\n", "abs");
	print_rows(e->kernels, e->n_kernels);
	print_rows(e->tenants, e->n_tenants);
	print_row(&e->all);
}

static void json_errors(const char *key, const struct errors *e)
{
	printf(", \"%s\": {\"n\": %" PRIu64 ", \"mean\": %.6f, \"mean_absolute\": %.6f, "
	       "\"deviation\": %.6f, \"largest\": %.6f}",
	       key, e->n, mean(e), mean_absolute(e), deviation(e), e->largest);
}

static void json_row(const struct row *r)
{
	printf("{\"kernel\": ");
	gsb_json_string(r->name);
	printf(", \"tenant\": ");
	gsb_json_string(r->tenant);
	json_errors("time", &r->time);
	json_errors("slowdown", &r->slowdown);
	json_errors("always_1", &r->one);
	putchar('}');
}

static void json_rows(const char *key, const struct row *rows, uint32_t n)
{
	printf(", \"%s\": [", key);
	for (uint32_t i = 0; i < n; i++) {
		printf("%s", i ? ", " : "");
		json_row(&rows[i]);
	}
	putchar(']');
}

static void print_json(const struct gsb_traced *t, const struct table *e)
{
	putchar('{');
	gsb_trace_json_about(t);
	printf(", \"all\": ");
	json_row(&e->all);
	json_rows("kernels", e->kernels, e->n_kernels);
	json_rows("tenants", e->tenants, e->n_tenants);
	printf("}\n");
}

/* ---- rows ---- */

static int make_rows(struct table *e, const struct gsb_traced *t)
{
	*e = (struct table){
		.all = {.name = "all kernels", .tenant = ""},
		.kernels = calloc((size_t)t->n_kernels + 1, sizeof(*e->kernels)),
		.tenants = calloc((size_t)t->n_tenants + 1, sizeof(*e->tenants)),
		.n_kernels = t->n_kernels,
		.n_tenants = t->n_tenants,
	};
	if (!e->kernels || !e->tenants)
		return -1;
	for (uint32_t i = 0; i < t->n_kernels; i++) {
		e->kernels[i].name = t->kernels[i].name;
		e->kernels[i].tenant = t->tenants[t->kernels[i].tenant].name;
	}
	for (uint32_t i = 0; i < t->n_tenants; i++) {
		e->tenants[i].name = "all kernels";
		e->tenants[i].tenant = t->tenants[i].name;
	}
	return 0;
}

static void fill_rows(struct table *e, const struct gsb_traced *t, const struct gsb_accounts *a)
{
	for (uint32_t i = 0; i < t->n_ops; i++) {
		const struct gsb_traced_op *op = &t->ops[i];

		if (op->kernel == GSB_TRACED_NONE || !gsb_traced_ran(op))
			continue;
		add_launch(&e->kernels[op->kernel], t, a, op);
		add_launch(&e->tenants[op->tenant], t, a, op);
		add_launch(&e->all, t, a, op);
	}
}

static int report(const struct gsb_traced *t, const struct gsb_accounts *a, bool json)
{
	struct table e;
	int err = make_rows(&e, t);

	if (!err) {
		fill_rows(&e, t, a);
		if (json)
			print_json(t, &e);
		else
			print_table(t, &e);
	}
	free(e.kernels);
	free(e.tenants);
	return err;
}

int gsb_trace_model_error(const struct gsb_traced *t, const struct gsb_trace_request *q)
{
	struct gsb_accounts a;
	int err = gsb_accounts_make(&a, t);

	if (!err) {
		err = report(t, &a, q->json);
		gsb_accounts_finish(&a);
	}
	if (err)
		fprintf(stderr, "gsb-trace: out of memory\n");
	return err ? 1 : 0;
}
