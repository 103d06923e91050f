/*
 * exposition.c - see exposition.h. Each metric stands once in a table: name, type, help, and where its value lies.
 * Samples of one name stand together, as the format wants it.
 */
#include "broker/supervisor/exposition.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

enum kind { COUNT, SECONDS, RATIO }; /* SECONDS of nanoseconds, RATIO of millionths, exactly */

struct metric {
	const char *name, *type, *help;
	const char *label; /* one more, with its value: cause="policy"; NULL: none */
	enum kind kind;
	size_t offset;
};

#define M(owner, name, type, kind, member, help)                                    \
	{                                                                           \
		"gsb_" name, type, help, NULL, kind, offsetof(struct owner, member) \
	}
#define V(owner, name, type, kind, member, label, help)                              \
	{                                                                            \
		"gsb_" name, type, help, label, kind, offsetof(struct owner, member) \
	}

static const struct metric broker_metrics[] = {
#define B(...) M(gsb_exposed_broker, __VA_ARGS__)
	B("broker_uptime_seconds", "gauge", SECONDS, up_ns, "Time since gsbrokerd listens."),
	B("broker_tenants", "gauge", COUNT, n_tenants, "Processes that are tenants now."),
	B("broker_pending_clients", "gauge", COUNT, n_pending,
	  "Connections that have not said hello yet."),
	B("broker_admitted_total", "counter", COUNT, n_admitted, "Tenants that were let in."),
	B("broker_refused_total", "counter", COUNT, n_refused, "Clients that were not let in."),
	B("broker_engine_deaths_total", "counter", COUNT, n_engines_died,
	  "Engines that ended without being asked to."),
	B("broker_reloads_total", "counter", COUNT, n_reloads,
	  "Times that the configuration was read again."),
#undef B
};

static const struct metric device_metrics[] = {
#define D(...) M(gsb_exposed_device, __VA_ARGS__)
	D("device_memory_bytes", "gauge", COUNT, total_bytes, "Device memory that is offered."),
	D("device_memory_free_bytes", "gauge", COUNT, free_bytes,
	  "Of it, what no engine uses or holds."),
	D("device_sms", "gauge", COUNT, n_sms, "Streaming multiprocessors."),
#undef D
};

static const struct metric engine_metrics[] = {
#define E(...) M(gsb_exposed_engine, __VA_ARGS__)
	E("engine_tenants", "gauge", COUNT, n_tenants, "Tenants of the engine now."),
	E("engine_busy_queues", "gauge", COUNT, n_queues_busy, "Device queues with work now."),
	E("engine_device_clock_seconds_total", "counter", SECONDS, device_ns,
	  "The clock of the device, which may be virtual."),
	E("engine_kernel_seconds_total", "counter", SECONDS, device_busy_ns,
	  "Device time of kernels; of two side by side each counts in full."),
	E("engine_trace_events", "gauge", COUNT, n_trace_events,
	  "Events of the recording that is, or was last."),
	E("engine_trace_lost_events", "gauge", COUNT, n_trace_lost,
	  "Of them, those that the reader was too slow for."),
#undef E
};

static const struct metric tenant_metrics[] = {
#define T(...) M(gsb_exposed_tenant, __VA_ARGS__)
#define L(...) V(gsb_exposed_tenant, __VA_ARGS__)
#define WAIT_HELP                                                                                \
	"Time that the first operations of streams waited: for CUDA's default-stream rule, for " \
	"another stream's event, for code (real time), for the policy, for room on the device."
#define COPY_HELP "Bytes copied."
	T("tenant_processes", "gauge", COUNT, n_now, "Processes of that name now."),
	T("tenant_left_total", "counter", COUNT, sum.n_left, "Processes that have left."),
	T("tenant_lost_total", "counter", COUNT, sum.n_lost,
	  "Of them, those whose engine died: the end of their counts is not known."),
	T("tenant_refused_total", "counter", COUNT, sum.n_refused,
	  "Processes that were not let in."),
	T("tenant_records_total", "counter", COUNT, sum.records, "Calls taken from the tenant."),
	T("tenant_launches_total", "counter", COUNT, sum.launches, "Kernel launches queued."),
	T("tenant_kernels_total", "counter", COUNT, sum.kernels,
	  "Launches that ended without an error."),
	T("tenant_copies_total", "counter", COUNT, sum.copies, "Copies that ended."),
	T("tenant_fills_total", "counter", COUNT, sum.fills, "Fills that ended."),
	L("tenant_copied_bytes_total", "counter", COUNT, sum.bytes_h2d, "direction=\"to_device\"",
	  COPY_HELP),
	L("tenant_copied_bytes_total", "counter", COUNT, sum.bytes_d2h, "direction=\"from_device\"",
	  COPY_HELP),
	L("tenant_copied_bytes_total", "counter", COUNT, sum.bytes_d2d, "direction=\"on_device\"",
	  COPY_HELP),
	T("tenant_kernel_seconds_total", "counter", SECONDS, sum.device_ns,
	  "Device time of kernels; of two side by side each counts in full."),
	T("tenant_copy_seconds_total", "counter", SECONDS, sum.copy_ns,
	  "Device time of copies and fills."),
	T("tenant_sm_seconds_total", "counter", SECONDS, sum.sm_ns,
	  "SM time of kernels: one SM held whole for a second counts 1."),
	L("tenant_wait_seconds_total", "counter", SECONDS, sum.wait_ns[GSB_WAITED_ORDER],
	  "cause=\"order\"", WAIT_HELP),
	L("tenant_wait_seconds_total", "counter", SECONDS, sum.wait_ns[GSB_WAITED_EVENT],
	  "cause=\"event\"", WAIT_HELP),
	L("tenant_wait_seconds_total", "counter", SECONDS, sum.wait_ns[GSB_WAITED_CODE],
	  "cause=\"code\"", WAIT_HELP),
	L("tenant_wait_seconds_total", "counter", SECONDS, sum.wait_ns[GSB_WAITED_POLICY],
	  "cause=\"policy\"", WAIT_HELP),
	L("tenant_wait_seconds_total", "counter", SECONDS, sum.wait_ns[GSB_WAITED_DEVICE],
	  "cause=\"device\"", WAIT_HELP),
	T("tenant_warp_instructions_total", "counter", COUNT, sum.instructions,
	  "Instructions of warps, where the device counts them."),
	T("tenant_late_total", "counter", COUNT, sum.n_late,
	  "Kernels that completed behind the tenant's deadline."),
	T("tenant_resized_total", "counter", COUNT, sum.n_resized,
	  "Launches that were made in another geometry, or by a variant."),
	T("tenant_shadowed_total", "counter", COUNT, sum.n_shadowed,
	  "Launches that were run both ways."),
	T("tenant_differed_total", "counter", COUNT, sum.n_differed,
	  "Of these, with different results: the form is used no more."),
	T("tenant_predicted_kernels_total", "counter", COUNT, sum.n_predicted,
	  "Kernels of those that completed whose time the policy had predicted."),
	T("tenant_model_error_ratio_total", "counter", RATIO, sum.error_ppm,
	  "Sum over them of how far the prediction was off, as a part of what was measured."),
	T("tenant_known_kernel_seconds_total", "counter", SECONDS, sum.known_ns,
	  "Device time of those kernels of which it is known how long they take alone."),
	T("tenant_known_kernel_alone_seconds_total", "counter", SECONDS, sum.alone_ns,
	  "What they would have taken alone: by it, the slowdown."),
	T("tenant_charged_seconds_total", "counter", SECONDS, sum.charged_ns,
	  "Virtual time charged for holding up that of others."),
	T("tenant_faults_total", "counter", COUNT, sum.n_errors, "Contexts that failed."),
	T("tenant_memory_refusals_total", "counter", COUNT, sum.n_mem_refused,
	  "Allocations that failed, of device memory and pinned."),
	T("tenant_device_memory_bytes", "gauge", COUNT, device_mem_bytes,
	  "Device memory in use now."),
	T("tenant_device_memory_peak_bytes", "gauge", COUNT, sum.device_mem_peak_bytes,
	  "The most device memory that one process of that name had."),
	T("tenant_pinned_memory_bytes", "gauge", COUNT, host_mem_bytes,
	  "Pinned host memory in use now."),
	T("tenant_pinned_memory_peak_bytes", "gauge", COUNT, sum.host_mem_peak_bytes,
	  "The most pinned host memory that one process of that name had."),
	T("tenant_queued_operations", "gauge", COUNT, n_queued,
	  "Operations that wait in streams now."),
	T("tenant_commands_in_flight", "gauge", COUNT, n_in_flight, "Commands on the device now."),
#undef T
#undef L
};

/* ---- labels ---- */

/* Of a label's value three characters are written otherwise. */
static void print_escaped(FILE *f, const char *value)
{
	for (; *value; value++)
		if (*value == '\n')
			fputs("\\n", f);
		else if (*value == '"' || *value == '\\')
			fprintf(f, "\\%c", *value);
		else
			fputc(*value, f);
}

static void device_labels(const void *row, FILE *f)
{
	fputs("device=\"", f);
	print_escaped(f, ((const struct gsb_exposed_device *)row)->spec);
	fputc('"', f);
}

static void engine_labels(const void *row, FILE *f)
{
	const struct gsb_exposed_engine *e = row;

	fputs("device=\"", f);
	print_escaped(f, e->spec);
	fprintf(f, "\",engine=\"%" PRIu32 "\",uid=\"%" PRIu32 "\",policy=\"", e->pid, e->uid);
	print_escaped(f, e->policy);
	fputc('"', f);
}

/* Names of which no more is known have no user. */
static void tenant_labels(const void *row, FILE *f)
{
	const struct gsb_total *t = &((const struct gsb_exposed_tenant *)row)->sum;

	if (t->uid == GSB_HIDDEN) {
		fputs("tenant=\"others\",uid=\"\"", f);
		return;
	}
	fputs("tenant=\"", f);
	print_escaped(f, t->tenant);
	fprintf(f, "\",uid=\"%" PRIu32 "\"", t->uid);
}

/* ---- samples ---- */

/* Rows of one kind, and who says their labels; NULL: they have none. */
struct rows {
	const void *at;
	unsigned n;
	size_t size;
	void (*labels)(const void *row, FILE *f);
};

static void print_sample(const struct metric *m, const void *row,
			 void (*labels)(const void *row, FILE *f), FILE *f)
{
	uint64_t v;

	memcpy(&v, (const char *)row + m->offset, sizeof(v));
	fputs(m->name, f);
	if (labels) {
		fputc('{', f);
		labels(row, f);
		fprintf(f, "%s%s}", m->label ? "," : "", m->label ? m->label : "");
	}
	switch (m->kind) {
	case COUNT: fprintf(f, " %" PRIu64 "\n", v); break;
	case SECONDS:
		fprintf(f, " %" PRIu64 ".%09" PRIu64 "\n", v / 1000000000, v % 1000000000);
		break;
	case RATIO: fprintf(f, " %" PRIu64 ".%06" PRIu64 "\n", v / 1000000, v % 1000000); break;
	}
}

/* All samples of the name of m, which has n variants. */
static void print_family(const struct metric *m, unsigned n, const struct rows *rows, FILE *f)
{
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, m->type);
	for (unsigned i = 0; i < rows->n; i++)
		for (unsigned j = 0; j < n; j++)
			print_sample(&m[j], (const char *)rows->at + i * rows->size, rows->labels,
				     f);
}

static void print_all(const struct metric *m, unsigned n, const struct rows *rows, FILE *f)
{
	unsigned same;

	for (unsigned i = 0; rows->n && i < n; i += same) {
		for (same = 1; i + same < n && !strcmp(m[i].name, m[i + same].name); same++)
			;
		print_family(&m[i], same, rows, f);
	}
}

void gsb_exposition_write(const struct gsb_exposition *x, FILE *f)
{
	const struct rows broker = {&x->broker, 1, sizeof(x->broker), NULL};
	const struct rows devices = {x->devices, x->n_devices, sizeof(*x->devices), device_labels};
	const struct rows engines = {x->engines, x->n_engines, sizeof(*x->engines), engine_labels};
	const struct rows tenants = {x->tenants, x->n_tenants, sizeof(*x->tenants), tenant_labels};

	fputs("# HELP gsb_build_info The release of gsbrokerd.\n# TYPE gsb_build_info gauge\n"
	      "gsb_build_info{version=\"",
	      f);
	print_escaped(f, x->broker.version);
	fputs("\"} 1\n", f);
	print_all(broker_metrics, GSB_ARRAY_LEN(broker_metrics), &broker, f);
	print_all(device_metrics, GSB_ARRAY_LEN(device_metrics), &devices, f);
	print_all(engine_metrics, GSB_ARRAY_LEN(engine_metrics), &engines, f);
	print_all(tenant_metrics, GSB_ARRAY_LEN(tenant_metrics), &tenants, f);
}
