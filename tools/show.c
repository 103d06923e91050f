/*
 * show.c - see show.h: which fields there are, and how they are laid out.
 */
#include "tools/show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"
#include "tools/field.h"

#define T(heading, key, kind, member)                                                   \
	{                                                                               \
		heading, key, GSB_FIELD_##kind, offsetof(struct gsb_ctl_tenant, member) \
	}
static const struct gsb_field tenant_fields[] = {
	T("ID", "id", U32, tenant_id),
	T("TENANT", "tenant", TEXT, tenant),
	T("PID", "pid", U32, pid),
	T("UID", "uid", U32, uid),
	T("PROGRAM", "program", TEXT, program),
	T("STATE", "state", TENANT, state),
	T("STREAMS", "streams", U32, n_streams),
	T("QUEUED", "queued", U32, queued),
	T("IN-FLIGHT", "in_flight", U32, in_flight),
	T("RUNNING", "running_kernel", TEXT, running_kernel),
	T("AGE", "running_ns", AGE, running_ns),
	T("KERNELS", "kernels", U64, kernels),
	T(NULL, "launches", U64, launches),
	T(NULL, "copies", U64, copies),
	T(NULL, "fills", U64, fills),
	T(NULL, "records", U64, records),
	T("TO-DEV", "bytes_h2d", BYTES, bytes_h2d),
	T("FROM-DEV", "bytes_d2h", BYTES, bytes_d2h),
	T(NULL, "bytes_d2d", BYTES, bytes_d2d),
	T("DEV-TIME", "device_ns", NS, device_ns),
	T(NULL, "copy_ns", NS, copy_ns),
	T(NULL, "sm_ns", NS, sm_ns),
	T(NULL, "wait_order_ns", NS, wait_ns[GSB_WAITED_ORDER]),
	T(NULL, "wait_event_ns", NS, wait_ns[GSB_WAITED_EVENT]),
	T(NULL, "wait_code_ns", NS, wait_ns[GSB_WAITED_CODE]),
	T(NULL, "wait_policy_ns", NS, wait_ns[GSB_WAITED_POLICY]),
	T(NULL, "wait_device_ns", NS, wait_ns[GSB_WAITED_DEVICE]),
	T(NULL, "late", U64, n_late),
	T(NULL, "resized", U64, n_resized),
	T(NULL, "shadowed", U64, n_shadowed),
	T(NULL, "differed", U64, n_differed),
	T(NULL, "slowdown", RATIO, known_ns),
	T(NULL, "known_ns", NS, known_ns),
	T(NULL, "known_alone_ns", NS, alone_ns),
	T(NULL, "model_error", ERROR, error_ppm),
	T(NULL, "model_error_sum_ppm", U64, error_ppm),
	T(NULL, "predicted", U64, n_predicted),
	T(NULL, "instructions", U64, instructions),
	T("MEMORY", "device_mem_bytes", BYTES, device_mem_bytes),
	T(NULL, "device_mem_peak_bytes", BYTES, device_mem_peak_bytes),
	T("LIMIT", "device_mem_limit_bytes", LIMIT, device_mem_limit_bytes),
	T("PINNED", "host_mem_bytes", BYTES, host_mem_bytes),
	T(NULL, "host_mem_peak_bytes", BYTES, host_mem_peak_bytes),
	T(NULL, "host_mem_limit_bytes", LIMIT, host_mem_limit_bytes),
	T(NULL, "contexts", U32, n_ctxs),
	T(NULL, "events", U32, n_events),
	T(NULL, "modules", U32, n_modules),
	T(NULL, "slot", U32, slot),
	T(NULL, "memory_refused", U64, n_mem_refused),
	T("ERRORS", "errors", U32, n_errors),
	T(NULL, "last_error", I32, last_error),
	T(NULL, "charged_ns", NS, charged_ns),
};
#undef T

#define E(heading, key, kind, member)                                                      \
	{                                                                                  \
		heading, key, GSB_FIELD_##kind, offsetof(struct gsb_answer_engine, member) \
	}
/* What gsbrokerd knows of an engine. */
static const struct gsb_field engine_fields[] = {
	E("DEVICE", "device", TEXT, device),
	E("PID", "pid", ID, pid),
	E("UID", "uid", ID, uid),
	E("STATE", "state", ENGINE, state),
	E("POLICY", "policy", TEXT, policy),
	E("ISOLATION", "isolation", TEXT, isolation),
	E("CLOCK", "clock", CLOCK, clock),
	E("WAITING", "waiting", U32, n_waiting),
	E(NULL, "starts", U32, n_starts),
	E("DEATHS", "deaths", U32, n_deaths),
};
/* What it answered itself; absent when it did not. */
static const struct gsb_field engine_status_fields[] = {
	E("TENANTS", "n_tenants", U32, n_tenants),
	E(NULL, "sms", U32, status.n_sms),
	E(NULL, "queues_busy", U32, status.n_queues_busy),
	E("KERNELS", "kernels", U64, status.kernels),
	E(NULL, "launches", U64, status.launches),
	E(NULL, "records", U64, status.records),
	E("BUSY", "device_busy_ns", NS, status.device_busy_ns),
	E("DEV-CLOCK", "device_ns", NS, status.device_ns),
	E(NULL, "real_ns", NS, status.real_ns),
	E("FREE", "device_mem_free_bytes", BYTES, status.device_mem_free_bytes),
	E("TOTAL", "device_mem_total_bytes", BYTES, status.device_mem_total_bytes),
	E(NULL, "admitted", U64, status.n_admitted),
	E(NULL, "refused", U64, status.n_refused),
	E(NULL, "cut", U64, status.n_cut),
	E(NULL, "trace_recording", U32, status.trace.recording),
	E(NULL, "trace_lttng", U32, status.trace.lttng),
	E(NULL, "trace_events", U64, status.trace.n_events),
	E(NULL, "trace_lost", U64, status.trace.n_lost),
	E(NULL, "trace_bytes", BYTES, status.trace.n_bytes),
	E(NULL, "trace_error", I32, status.trace.error),
};
#undef E

#define L(heading, key, kind, member)                                              \
	{                                                                          \
		heading, key, GSB_FIELD_##kind, offsetof(struct gsb_total, member) \
	}
static const struct gsb_field total_fields[] = {
	L("TENANT", "tenant", TEXT, tenant),
	L("UID", "uid", ID, uid),
	L("LEFT", "left", U64, n_left),
	L("LOST", "lost", U64, n_lost),
	L("KERNELS", "kernels", U64, kernels),
	L(NULL, "launches", U64, launches),
	L(NULL, "copies", U64, copies),
	L(NULL, "fills", U64, fills),
	L(NULL, "records", U64, records),
	L("TO-DEV", "bytes_h2d", BYTES, bytes_h2d),
	L("FROM-DEV", "bytes_d2h", BYTES, bytes_d2h),
	L(NULL, "bytes_d2d", BYTES, bytes_d2d),
	L("DEV-TIME", "device_ns", NS, device_ns),
	L(NULL, "copy_ns", NS, copy_ns),
	L("SM-TIME", "sm_ns", NS, sm_ns),
	L(NULL, "wait_order_ns", NS, wait_ns[GSB_WAITED_ORDER]),
	L(NULL, "wait_event_ns", NS, wait_ns[GSB_WAITED_EVENT]),
	L(NULL, "wait_code_ns", NS, wait_ns[GSB_WAITED_CODE]),
	L(NULL, "wait_policy_ns", NS, wait_ns[GSB_WAITED_POLICY]),
	L(NULL, "wait_device_ns", NS, wait_ns[GSB_WAITED_DEVICE]),
	L(NULL, "late", U64, n_late),
	L(NULL, "resized", U64, n_resized),
	L(NULL, "shadowed", U64, n_shadowed),
	L(NULL, "differed", U64, n_differed),
	L("SLOWDOWN", "slowdown", RATIO, known_ns),
	L(NULL, "known_ns", NS, known_ns),
	L(NULL, "known_alone_ns", NS, alone_ns),
	L("MODEL-ERROR", "model_error", ERROR, error_ppm),
	L(NULL, "model_error_sum_ppm", U64, error_ppm),
	L(NULL, "predicted", U64, n_predicted),
	L(NULL, "instructions", U64, instructions),
	L("PEAK", "device_mem_peak_bytes", BYTES, device_mem_peak_bytes),
	L(NULL, "host_mem_peak_bytes", BYTES, host_mem_peak_bytes),
	L(NULL, "memory_refused", U64, n_mem_refused),
	L("ERRORS", "errors", U64, n_errors),
	L("REFUSED", "refused", U64, n_refused),
	L(NULL, "charged_ns", NS, charged_ns),
};
#undef L

#define B(key, kind, member)                                                            \
	{                                                                               \
		NULL, key, GSB_FIELD_##kind, offsetof(struct gsb_answer_broker, member) \
	}
static const struct gsb_field broker_fields[] = {
	B("version", TEXT, version),
	B("pid", U32, pid),
	B("uid", U32, uid),
	B("socket", TEXT, socket),
	B("up_ns", NS, up_ns),
	B("tenants", U32, n_tenants),
	B("pending", U32, n_pending),
	B("admitted", U64, n_admitted),
	B("refused", U64, n_refused),
	B("engines_died", U64, n_engines_died),
	B("reloads", U64, n_reloads),
	B("trace_waits", U32, trace_waits),
	B("lttng_waits", U32, lttng_waits),
};
#undef B

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void json_tenants(const struct gsb_answer_engine *e, const char *separator)
{
	for (uint32_t i = 0; !e->error && i < e->status.n_tenants; i++) {
		printf("%s{\"device\": ", i ? ", " : separator);
		gsb_json_string(e->device);
		gsb_json_fields(tenant_fields, GSB_ARRAY_LEN(tenant_fields), &e->status.tenants[i],
				false);
		putchar('}');
	}
}

static void json_engine(const struct gsb_answer_engine *e)
{
	putchar('{');
	gsb_json_fields(engine_fields, GSB_ARRAY_LEN(engine_fields), e, true);
	if (!e->error)
		gsb_json_fields(engine_status_fields, GSB_ARRAY_LEN(engine_status_fields), e,
				false);
	printf(", \"tenants\": [");
	json_tenants(e, "");
	printf("]}");
}

void gsb_show_status_json(const struct gsb_answers *a)
{
	printf("{\"broker\": {");
	gsb_json_fields(broker_fields, GSB_ARRAY_LEN(broker_fields), &a->broker, true);
	printf("}, \"engines\": [");
	for (unsigned i = 0; i < a->n_engines; i++) {
		printf("%s", i ? ", " : "");
		json_engine(a->engines[i]);
	}
	printf("]}\n");
}

void gsb_show_status(const struct gsb_answers *a)
{
	const struct gsb_answer_broker *b = &a->broker;
	struct gsb_text_table t = {0};

	printf("gsbrokerd %.31s, pid %u, uid %u, listens on %.107s since %.1f s\n", b->version,
	       b->pid, b->uid, b->socket, (double)b->up_ns / 1e9);
	printf("%u tenant%s; %" PRIu64 " admitted, %" PRIu64 " refused, %" PRIu64
	       " engine%s died, %" PRIu64 " reload%s so far\n\n",
	       b->n_tenants, plural(b->n_tenants), b->n_admitted, b->n_refused, b->n_engines_died,
	       plural(b->n_engines_died), b->n_reloads, plural(b->n_reloads));
	gsb_table_row(&t);
	gsb_table_cells(&t, engine_fields, GSB_ARRAY_LEN(engine_fields), NULL);
	gsb_table_cells(&t, engine_status_fields, GSB_ARRAY_LEN(engine_status_fields), NULL);
	for (unsigned i = 0; i < a->n_engines; i++) {
		const struct gsb_answer_engine *e = a->engines[i];

		gsb_table_row(&t);
		gsb_table_cells(&t, engine_fields, GSB_ARRAY_LEN(engine_fields), e);
		gsb_table_cells(&t, engine_status_fields, GSB_ARRAY_LEN(engine_status_fields),
				e->error ? NULL : e);
	}
	gsb_table_print(&t);
}

/* How many tenants of others there are, which who asks may not see. */
static unsigned n_hidden(const struct gsb_answers *a)
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->n_engines; i++)
		n += a->engines[i]->is_hidden ? a->engines[i]->n_tenants : 0;
	return n;
}

/* An engine that is starting or ending has nobody; of one that does not answer nobody knows. */
static bool is_silent(const struct gsb_answer_engine *e)
{
	return e->error == -ETIMEDOUT;
}

static unsigned n_silent(const struct gsb_answers *a)
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->n_engines; i++)
		n += is_silent(a->engines[i]);
	return n;
}

void gsb_show_ps_json(const struct gsb_answers *a)
{
	const char *separator = "";

	printf("{\"tenants\": [");
	for (unsigned i = 0; i < a->n_engines; i++) {
		json_tenants(a->engines[i], separator);
		if (!a->engines[i]->error && a->engines[i]->status.n_tenants)
			separator = ", ";
	}
	printf("], \"hidden_tenants\": %u, \"silent_engines\": %u}\n", n_hidden(a), n_silent(a));
}

void gsb_show_ps(const struct gsb_answers *a)
{
	struct gsb_text_table t = {0};

	gsb_table_row(&t);
	gsb_table_cells(&t, tenant_fields, GSB_ARRAY_LEN(tenant_fields), NULL);
	for (unsigned i = 0; i < a->n_engines; i++) {
		const struct gsb_answer_engine *e = a->engines[i];

		for (uint32_t j = 0; !e->error && j < e->status.n_tenants; j++) {
			gsb_table_row(&t);
			gsb_table_cells(&t, tenant_fields, GSB_ARRAY_LEN(tenant_fields),
					&e->status.tenants[j]);
		}
	}
	gsb_table_print(&t);
	if (n_hidden(a))
		printf("and %u tenant%s of other users\n", n_hidden(a), plural(n_hidden(a)));
	for (unsigned i = 0; i < a->n_engines; i++)
		if (is_silent(a->engines[i]))
			printf("and those of an engine of %s that gives no answer: it waits for the device, or is stopped\n",
			       a->engines[i]->device);
}

void gsb_show_totals_json(const struct gsb_answers *a)
{
	printf("{\"totals\": [");
	for (unsigned i = 0; i < a->n_totals; i++) {
		printf("%s{", i ? ", " : "");
		gsb_json_fields(total_fields, GSB_ARRAY_LEN(total_fields), &a->totals[i], true);
		putchar('}');
	}
	printf("]}\n");
}

void gsb_show_totals(const struct gsb_answers *a)
{
	struct gsb_text_table t = {0};

	gsb_table_row(&t);
	gsb_table_cells(&t, total_fields, GSB_ARRAY_LEN(total_fields), NULL);
	for (unsigned i = 0; i < a->n_totals; i++) {
		gsb_table_row(&t);
		gsb_table_cells(&t, total_fields, GSB_ARRAY_LEN(total_fields), &a->totals[i]);
	}
	gsb_table_print(&t);
}
