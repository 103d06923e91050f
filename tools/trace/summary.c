/*
 * summary.c - gsb-trace summary: what each tenant, each range that a program has named, and each kernel took and waited for.
 *
 * The sums are account.c's; here stands which of them are shown, once, for the printed tables and for JSON.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"
#include "tools/field.h"
#include "tools/trace/account.h"
#include "tools/trace/amounts.h"
#include "tools/trace/commands.h"

#define R(heading, key, kind, member)                                                    \
	{                                                                                \
		heading, key, GSB_FIELD_##kind, offsetof(struct gsb_account_row, member) \
	}

static const struct gsb_field tenant_fields[] = {
	R("ID", "id", U32, id),
	R("TENANT", "tenant", TEXT, tenant),
	R("PROGRAM", "program", TEXT, program),
	R("LAUNCHES", "launches", U64, n_launches),
	R("COPIES", "copies", U64, n_copies),
	R(NULL, "fills", U64, n_fills),
	R(NULL, "operations", U64, n),
	R(NULL, "failed", U64, n_failed),
	R("TO-DEV", "bytes_h2d", BYTES, bytes_h2d),
	R("FROM-DEV", "bytes_d2h", BYTES, bytes_d2h),
	R(NULL, "bytes_d2d", BYTES, bytes_d2d),
	R("SPAN", "span_ns", NS, span_ns),
	R(NULL, "run_ns", NS, run_ns),
	R("ALONE", "alone_ns", NS, alone_ns),
	R("SHARED", "shared_ns", NS, shared_ns),
	R("COPYING", "copy_ns", NS, copy_ns),
	R("SLOWDOWN", "slowdown_measured", PPM, measured_ppm),
	R("PREDICTED", "slowdown_predicted", PPM, predicted_ppm),
	R("PEAK", "device_mem_peak_bytes", BYTES, peak_bytes),
};

static const struct gsb_field kernel_fields[] = {
	R("ID", "id", U32, id),
	R("TENANT", "tenant", TEXT, tenant),
	R("KERNEL", "kernel", TEXT, name),
	R("COUNT", "count", U64, n),
	R(NULL, "failed", U64, n_failed),
	R(NULL, "resized", U64, n_resized),
	R("BYTES", "bytes", BYTES, bytes),
	R("TIME", "run_ns", NS, run_ns),
	R("ALONE", "alone_ns", NS, alone_ns),
	R("SHARED", "shared_ns", NS, shared_ns),
	R("WAITED", "wait_ns", NS, wait_ns),
	R("SLOWDOWN", "slowdown_measured", PPM, measured_ppm),
	R("PREDICTED", "slowdown_predicted", PPM, predicted_ppm),
};

static const struct gsb_field range_fields[] = {
	R("ID", "id", U32, id),
	R("TENANT", "tenant", TEXT, tenant),
	R("RANGE", "range", TEXT, name),
	R("TIMES", "times", U64, n_opened),
	R("OPEN", "open_ns", NS, open_ns),
	R("LAUNCHES", "launches", U64, n_launches),
	R("COPIES", "copies", U64, n_copies),
	R(NULL, "fills", U64, n_fills),
	R(NULL, "failed", U64, n_failed),
	R("BYTES", "bytes", BYTES, bytes),
	R("ALONE", "alone_ns", NS, alone_ns),
	R("SHARED", "shared_ns", NS, shared_ns),
	R("COPYING", "copy_ns", NS, copy_ns),
	R("WAITED", "wait_ns", NS, wait_ns),
	R("SLOWDOWN", "slowdown_measured", PPM, measured_ppm),
	R("PREDICTED", "slowdown_predicted", PPM, predicted_ppm),
};

/* In the order of enum gsb_wait. */
static const struct gsb_field wait_fields[] = {
	R("STREAM", "wait_stream_ns", AGE, waits[GSB_WAIT_STREAM]),
	R("EPOCH", "wait_epoch_ns", AGE, waits[GSB_WAIT_EPOCH]),
	R("EVENT", "wait_event_ns", AGE, waits[GSB_WAIT_EVENT]),
	R("CODE", "wait_code_ns", AGE, waits[GSB_WAIT_CODE]),
	R("SOCKET", "wait_socket_ns", AGE, waits[GSB_WAIT_SOCKET]),
	R("POLICY", "wait_policy_ns", AGE, waits[GSB_WAIT_POLICY]),
	R("QUEUES", "wait_queues_ns", AGE, waits[GSB_WAIT_QUEUES]),
	R("DEVICE", "wait_device_ns", AGE, waits[GSB_WAIT_DEVICE]),
};
static const struct gsb_field wait_headings[] = {
	R("ID", "id", U32, id),
	R("TENANT", "tenant", TEXT, tenant),
	R("WAITED", "wait_ns", NS, wait_ns),
};
#undef R

static const char *ending_name(const struct gsb_traced *t)
{
	static const char *const names[] = {"whole", "torn", "damaged"};

	return names[t->ending];
}

void gsb_trace_json_about(const struct gsb_traced *t)
{
	printf("\"trace\": {\"device\": ");
	gsb_json_string(t->header.device);
	printf(", \"policy\": ");
	gsb_json_string(t->header.policy);
	printf(", \"version\": ");
	gsb_json_string(t->header.version);
	printf(", \"sms\": %" PRIu32 ", \"clock\": \"%s\", \"events\": %" PRIu64
	       ", \"lost\": %" PRIu64 ", \"operations\": %" PRIu64 ", \"completed\": %" PRIu64
	       ", \"flawed\": %" PRIu64 ", \"ending\": \"%s\"}",
	       t->header.n_sms, t->header.is_virtual ? "virtual" : "real", t->n_events, t->n_lost,
	       t->n_queued, t->n_completed, t->n_flawed, ending_name(t));
}

/* ---- JSON ---- */

static void json_row(const struct gsb_field *fields, unsigned n, const struct gsb_account_row *r)
{
	putchar('{');
	gsb_json_fields(fields, n, r, true);
	gsb_json_fields(wait_fields, GSB_ARRAY_LEN(wait_fields), r, false);
	putchar('}');
}

static void show_json(const struct gsb_traced *t, const struct gsb_accounts *a)
{
	putchar('{');
	gsb_trace_json_about(t);
	printf(", \"busy_ns\": %" PRIu64 ", \"tenants\": [", a->busy_ns);
	for (uint32_t i = 0; i < t->n_tenants; i++) {
		printf("%s", i ? ", " : "");
		json_row(tenant_fields, GSB_ARRAY_LEN(tenant_fields), &a->tenants[i]);
	}
	printf("], \"kernels\": [");
	for (uint32_t i = 0; i < a->n_kernels; i++) {
		printf("%s", i ? ", " : "");
		json_row(kernel_fields, GSB_ARRAY_LEN(kernel_fields), &a->kernels[i]);
	}
	printf("], \"ranges\": [");
	for (uint32_t i = 0; i < t->n_labels; i++) {
		printf("%s", i ? ", " : "");
		json_row(range_fields, GSB_ARRAY_LEN(range_fields), &a->ranges[i]);
	}
	printf("]}\n");
}

/* ---- tables ---- */

static void show_table(const struct gsb_field *fields, unsigned n, const struct gsb_field *more,
		       unsigned n_more, const struct gsb_account_row *rows, uint32_t n_rows)
{
	struct gsb_text_table table = {0};

	for (uint32_t i = 0; i <= n_rows; i++) {
		const void *base = i ? &rows[i - 1] : NULL;

		gsb_table_row(&table);
		gsb_table_cells(&table, fields, n, base);
		gsb_table_cells(&table, more, n_more, base);
	}
	gsb_table_print(&table);
}

static void show_about(const struct gsb_traced *t, const struct gsb_accounts *a)
{
	char busy[GSB_AMOUNT_MAX];

	gsb_ns_text(a->busy_ns, busy);
	printf("%s, policy %s, %" PRIu32 " SMs, %s clock: %" PRIu64 " events, %" PRIu64
	       " operations, kernels for %s\n\n",
	       t->header.device, t->header.policy, t->header.n_sms,
	       t->header.is_virtual ? "virtual" : "real", t->n_events, t->n_queued, busy);
}

static void show_tables(const struct gsb_traced *t, const struct gsb_accounts *a)
{
	show_about(t, a);
	show_table(tenant_fields, GSB_ARRAY_LEN(tenant_fields), NULL, 0, a->tenants, t->n_tenants);
	printf("\nwhat they waited for, operation by operation\n");
	show_table(wait_headings, GSB_ARRAY_LEN(wait_headings), wait_fields,
		   GSB_ARRAY_LEN(wait_fields), a->tenants, t->n_tenants);
	printf("\n");
	if (t->n_labels) {
		show_table(range_fields, GSB_ARRAY_LEN(range_fields), NULL, 0, a->ranges,
			   t->n_labels);
		printf("\n");
	}
	show_table(kernel_fields, GSB_ARRAY_LEN(kernel_fields), NULL, 0, a->kernels, a->n_kernels);
}

int gsb_trace_summary(const struct gsb_traced *t, const struct gsb_trace_request *q)
{
	struct gsb_accounts a;

	if (gsb_accounts_make(&a, t)) {
		fprintf(stderr, "gsb-trace: out of memory\n");
		return 1;
	}
	if (q->json)
		show_json(t, &a);
	else
		show_tables(t, &a);
	gsb_accounts_finish(&a);
	return 0;
}
