/*
 * gsbctl.c - what a broker is doing, for people and for programs; and asking it to reload or end.
 *
 * Each thing that is shown stands once in a table of fields: its heading in the printed table, its
 * key in JSON, and where it lies in the answer. JSON has every field, in plain units; the printed
 * table has those with a heading, rounded for reading. JSON keys are stable: fields are added, never
 * renamed.
 */
#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tools/ask.h"

#define CELL_MAX    64
#define COLUMNS_MAX 24

enum kind {
	KIND_TEXT,
	KIND_U32,
	KIND_I32,
	KIND_U64,
	KIND_BYTES,  /* uint64_t */
	KIND_NS,     /* uint64_t */
	KIND_LIMIT,  /* bytes, 0 = none */
	KIND_TENANT, /* enum gsb_tenant_state */
	KIND_ENGINE, /* enum gsb_engine_state */
	KIND_CLOCK   /* enum gsb_clock_kind */
};

struct field {
	const char *heading; /* NULL: JSON only */
	const char *key;
	enum kind kind;
	size_t offset;
};

#define T(heading, key, kind, member)                                              \
	{                                                                          \
		heading, key, KIND_##kind, offsetof(struct gsb_ctl_tenant, member) \
	}
static const struct field tenant_fields[] = {
	T("ID", "id", U32, tenant_id),
	T("TENANT", "tenant", TEXT, tenant),
	T("PID", "pid", U32, pid),
	T("UID", "uid", U32, uid),
	T("PROGRAM", "program", TEXT, program),
	T("STATE", "state", TENANT, state),
	T("STREAMS", "streams", U32, n_streams),
	T("QUEUED", "queued", U32, queued),
	T(NULL, "in_flight", U32, in_flight),
	T("KERNELS", "kernels", U64, kernels),
	T(NULL, "launches", U64, launches),
	T(NULL, "copies", U64, copies),
	T(NULL, "fills", U64, fills),
	T(NULL, "records", U64, records),
	T("TO-DEV", "bytes_h2d", BYTES, bytes_h2d),
	T("FROM-DEV", "bytes_d2h", BYTES, bytes_d2h),
	T(NULL, "bytes_d2d", BYTES, bytes_d2d),
	T("DEV-TIME", "device_ns", NS, device_ns),
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
	T("ERRORS", "errors", U32, n_errors),
	T(NULL, "last_error", I32, last_error),
	T(NULL, "charged_ns", NS, charged_ns),
};
#undef T

#define E(heading, key, kind, member)                                                 \
	{                                                                             \
		heading, key, KIND_##kind, offsetof(struct gsb_answer_engine, member) \
	}
/* What gsbrokerd knows of an engine. */
static const struct field engine_fields[] = {
	E("DEVICE", "device", TEXT, device), E("PID", "pid", U32, pid),
	E("UID", "uid", U32, uid),	     E("STATE", "state", ENGINE, state),
	E("POLICY", "policy", TEXT, policy), E("ISOLATION", "isolation", TEXT, isolation),
	E("CLOCK", "clock", CLOCK, clock),   E("WAITING", "waiting", U32, n_waiting),
	E(NULL, "starts", U32, n_starts),    E("DEATHS", "deaths", U32, n_deaths),
};
/* What it answered itself; absent when it did not. */
static const struct field engine_status_fields[] = {
	E("TENANTS", "n_tenants", U32, status.n_tenants),
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
};
#undef E

#define B(key, kind, member)                                                       \
	{                                                                          \
		NULL, key, KIND_##kind, offsetof(struct gsb_answer_broker, member) \
	}
static const struct field broker_fields[] = {
	B("version", TEXT, version),  B("pid", U32, pid),
	B("uid", U32, uid),	      B("socket", TEXT, socket),
	B("up_ns", NS, up_ns),	      B("tenants", U32, n_tenants),
	B("pending", U32, n_pending), B("admitted", U64, n_admitted),
	B("refused", U64, n_refused), B("engines_died", U64, n_engines_died),
	B("reloads", U64, n_reloads),
};
#undef B

/* ---- values ---- */

static uint32_t u32_at(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t u64_at(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static const char *word(const char *const *words, unsigned n, uint32_t i)
{
	return i < n ? words[i] : "?";
}

/* The word of an enumeration, or NULL for other kinds. */
static const char *word_of(enum kind kind, uint32_t v)
{
	static const char *const tenant[] = {"admitted", "active", "leaving"};
	static const char *const engine[] = {"starting", "ready", "stopping", "dead"};
	static const char *const clock[] = {"virtual", "real"};

	switch (kind) {
	case KIND_TENANT: return word(tenant, GSB_ARRAY_LEN(tenant), v);
	case KIND_ENGINE: return word(engine, GSB_ARRAY_LEN(engine), v);
	case KIND_CLOCK: return word(clock, GSB_ARRAY_LEN(clock), v);
	default: return NULL;
	}
}

/* At most four digits and a unit: 999, 1.5M, 12.3G. */
static void bytes_text(uint64_t v, char *out)
{
	static const char units[] = "BKMGTPE";
	double x = (double)v;
	unsigned i = 0;

	for (; x >= 1000 && units[i + 1]; i++)
		x /= 1024;
	if (i)
		snprintf(out, CELL_MAX, "%.1f%c", x, units[i]);
	else
		snprintf(out, CELL_MAX, "%" PRIu64, v);
}

static void ns_text(uint64_t v, char *out)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double x = (double)v;
	unsigned i = 0;

	for (; x >= 1000 && i + 1 < GSB_ARRAY_LEN(units); i++)
		x /= 1000;
	snprintf(out, CELL_MAX, i ? "%.2f%s" : "%.0f%s", x, units[i]);
}

static void cell_text(const struct field *f, const void *base, char *out)
{
	const char *p = (const char *)base + f->offset;

	switch (f->kind) {
	case KIND_TEXT: snprintf(out, CELL_MAX, "%.*s", CELL_MAX - 1, *p ? p : "-"); break;
	case KIND_U32: snprintf(out, CELL_MAX, "%" PRIu32, u32_at(p)); break;
	case KIND_I32: snprintf(out, CELL_MAX, "%" PRId32, (int32_t)u32_at(p)); break;
	case KIND_U64: snprintf(out, CELL_MAX, "%" PRIu64, u64_at(p)); break;
	case KIND_BYTES: bytes_text(u64_at(p), out); break;
	case KIND_NS: ns_text(u64_at(p), out); break;
	case KIND_LIMIT:
		if (u64_at(p))
			bytes_text(u64_at(p), out);
		else
			strcpy(out, "-");
		break;
	default: snprintf(out, CELL_MAX, "%s", word_of(f->kind, u32_at(p)));
	}
}

/* ---- the printed table ---- */

struct table {
	char (*cells)[COLUMNS_MAX][CELL_MAX]; /* the first row is the headings */
	unsigned n_rows, n_columns, room;
	bool left[COLUMNS_MAX]; /* texts and words stand left, numbers right */
};

static void table_row(struct table *t)
{
	if (t->n_rows == t->room) {
		t->room = t->room ? 2 * t->room : 16;
		t->cells = realloc(t->cells, t->room * sizeof(*t->cells));
		if (!t->cells) {
			fputs("gsbctl: out of memory\n", stderr);
			exit(1);
		}
	}
	memset(t->cells[t->n_rows++], 0, sizeof(*t->cells));
	t->n_columns = 0;
}

/* Append the cells of these fields to the last row; base NULL: their headings, or "-" below them. */
static void table_cells(struct table *t, const struct field *f, unsigned n, const void *base)
{
	for (unsigned i = 0; i < n; i++) {
		char *cell = t->cells[t->n_rows - 1][t->n_columns];

		if (!f[i].heading)
			continue;
		t->left[t->n_columns++] = f[i].kind == KIND_TEXT || f[i].kind >= KIND_TENANT;
		if (base)
			cell_text(&f[i], base, cell);
		else
			snprintf(cell, CELL_MAX, "%s", t->n_rows == 1 ? f[i].heading : "-");
	}
}

static void table_print(struct table *t)
{
	int width[COLUMNS_MAX] = {0};

	for (unsigned r = 0; r < t->n_rows; r++)
		for (unsigned c = 0; c < t->n_columns; c++)
			if ((int)strlen(t->cells[r][c]) > width[c])
				width[c] = (int)strlen(t->cells[r][c]);
	for (unsigned r = 0; r < t->n_rows; r++)
		for (unsigned c = 0; c < t->n_columns; c++) {
			bool last = c + 1 == t->n_columns;
			int w = t->left[c] ? (last ? 0 : -width[c]) : width[c];

			printf("%*s%s", w, t->cells[r][c], last ? "\n" : "  ");
		}
	free(t->cells);
}

/* ---- JSON ---- */

static void json_string(const char *s)
{
	putchar('"');
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < ' ')
			printf("\\u%04x", (unsigned)*s);
		else
			putchar(*s);
	putchar('"');
}

static void json_fields(const struct field *f, unsigned n, const void *base, bool first)
{
	for (unsigned i = 0; i < n; i++, first = false) {
		const char *p = (const char *)base + f[i].offset;

		printf("%s\"%s\": ", first ? "" : ", ", f[i].key);
		switch (f[i].kind) {
		case KIND_TEXT: json_string(p); break;
		case KIND_U32: printf("%" PRIu32, u32_at(p)); break;
		case KIND_I32: printf("%" PRId32, (int32_t)u32_at(p)); break;
		case KIND_U64:
		case KIND_BYTES:
		case KIND_NS:
		case KIND_LIMIT: printf("%" PRIu64, u64_at(p)); break;
		default: json_string(word_of(f[i].kind, u32_at(p)));
		}
	}
}

static void json_tenants(const struct gsb_answer_engine *e, const char *separator)
{
	for (uint32_t i = 0; !e->error && i < e->status.n_tenants; i++) {
		printf("%s{\"device\": ", i ? ", " : separator);
		json_string(e->device);
		json_fields(tenant_fields, GSB_ARRAY_LEN(tenant_fields), &e->status.tenants[i],
			    false);
		putchar('}');
	}
}

static void json_engine(const struct gsb_answer_engine *e)
{
	putchar('{');
	json_fields(engine_fields, GSB_ARRAY_LEN(engine_fields), e, true);
	if (!e->error)
		json_fields(engine_status_fields, GSB_ARRAY_LEN(engine_status_fields), e, false);
	printf(", \"tenants\": [");
	json_tenants(e, "");
	printf("]}");
}

/* ---- commands ---- */

static void show_status_json(const struct gsb_answers *a)
{
	printf("{\"broker\": {");
	json_fields(broker_fields, GSB_ARRAY_LEN(broker_fields), &a->broker, true);
	printf("}, \"engines\": [");
	for (unsigned i = 0; i < a->n_engines; i++) {
		printf("%s", i ? ", " : "");
		json_engine(a->engines[i]);
	}
	printf("]}\n");
}

static void show_status(const struct gsb_answers *a)
{
	const struct gsb_answer_broker *b = &a->broker;
	struct table t = {0};

	printf("gsbrokerd %.31s, pid %u, uid %u, listens on %.107s since %.1f s\n", b->version,
	       b->pid, b->uid, b->socket, (double)b->up_ns / 1e9);
	printf("%u tenants; %" PRIu64 " admitted, %" PRIu64 " refused, %" PRIu64
	       " engines died, %" PRIu64 " reloads so far\n\n",
	       b->n_tenants, b->n_admitted, b->n_refused, b->n_engines_died, b->n_reloads);
	table_row(&t);
	table_cells(&t, engine_fields, GSB_ARRAY_LEN(engine_fields), NULL);
	table_cells(&t, engine_status_fields, GSB_ARRAY_LEN(engine_status_fields), NULL);
	for (unsigned i = 0; i < a->n_engines; i++) {
		const struct gsb_answer_engine *e = a->engines[i];

		table_row(&t);
		table_cells(&t, engine_fields, GSB_ARRAY_LEN(engine_fields), e);
		table_cells(&t, engine_status_fields, GSB_ARRAY_LEN(engine_status_fields),
			    e->error ? NULL : e);
	}
	table_print(&t);
}

static void show_ps_json(const struct gsb_answers *a)
{
	const char *separator = "";

	printf("{\"tenants\": [");
	for (unsigned i = 0; i < a->n_engines; i++) {
		json_tenants(a->engines[i], separator);
		if (!a->engines[i]->error && a->engines[i]->status.n_tenants)
			separator = ", ";
	}
	printf("]}\n");
}

static void show_ps(const struct gsb_answers *a)
{
	struct table t = {0};

	table_row(&t);
	table_cells(&t, tenant_fields, GSB_ARRAY_LEN(tenant_fields), NULL);
	for (unsigned i = 0; i < a->n_engines; i++) {
		const struct gsb_answer_engine *e = a->engines[i];

		for (uint32_t j = 0; !e->error && j < e->status.n_tenants; j++) {
			table_row(&t);
			table_cells(&t, tenant_fields, GSB_ARRAY_LEN(tenant_fields),
				    &e->status.tenants[j]);
		}
	}
	table_print(&t);
}

/* ---- arguments ---- */

static const char usage_text[] =
	"usage: gsbctl [--socket PATH] status [--json]      the broker and its engines\n"
	"       gsbctl [--socket PATH] ps [--json]          the tenants\n"
	"       gsbctl [--socket PATH] reload               read the configuration again\n"
	"       gsbctl [--socket PATH] shutdown [--drain]   end now, or when the last tenant left\n"
	"       gsbctl --version | --help\n"
	"\n"
	"The socket is --socket, else $GSB_SOCKET, else the user's own, else " GSB_SOCKET_DEFAULT
	".\n"
	"Exit status: 0 done, 1 not done, 2 wrong usage. See gsbctl(1).\n";

struct command {
	const char *name;
	enum gsb_query_what what;
	void (*show)(const struct gsb_answers *a);
	void (*show_json)(const struct gsb_answers *a);
};

static const struct command commands[] = {
	{"status", GSB_QUERY_STATUS, show_status, show_status_json},
	{"ps", GSB_QUERY_STATUS, show_ps, show_ps_json},
	{"reload", GSB_QUERY_RELOAD, NULL, NULL},
	{"shutdown", GSB_QUERY_SHUTDOWN, NULL, NULL},
};

struct arguments {
	const char *socket;
	const struct command *command;
	bool json, drain;
};

GSB_NORETURN static void usage(void)
{
	fputs(usage_text, stderr);
	exit(2);
}

static const struct command *find_command(const char *name)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	fprintf(stderr, "gsbctl: there is no command '%s'\n", name);
	usage();
}

static void parse_arguments(int argc, char **argv, struct arguments *a)
{
	static const struct option options[] = {
		{"socket", required_argument, NULL, 's'}, {"json", no_argument, NULL, 'j'},
		{"drain", no_argument, NULL, 'd'},	  {"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},	  {0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 's': a->socket = optarg; break;
		case 'j': a->json = true; break;
		case 'd': a->drain = true; break;
		case 'v': puts("gsbctl " PACKAGE_VERSION); exit(0);
		case 'h': fputs(usage_text, stdout); exit(0);
		default: usage();
		}
	if (optind != argc - 1)
		usage();
	a->command = find_command(argv[optind]);
	if ((a->json && !a->command->show_json) ||
	    (a->drain && a->command->what != GSB_QUERY_SHUTDOWN))
		usage();
}

static int run(const struct arguments *a)
{
	struct gsb_answers answers = {0};
	char path[128] = "", why[512];
	int err = gsb_channel_path(a->socket, path, sizeof(path));

	if (!err)
		err = gsb_ask(path, a->command->what,
			      a->drain ? GSB_SHUTDOWN_DRAIN : GSB_SHUTDOWN_NOW, &answers);
	if (err) {
		gsb_ask_explain(err, a->socket && err == -ENAMETOOLONG ? a->socket : path, why,
				sizeof(why));
		fprintf(stderr, "gsbctl: %s\n", why);
	} else if (*answers.end.text) {
		fprintf(stderr, "gsbctl: %.511s\n", answers.end.text);
	}
	if (!err && !answers.end.error && a->command->show)
		(a->json ? a->command->show_json : a->command->show)(&answers);
	gsb_answers_finish(&answers);
	return err || answers.end.error ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct arguments a = {0};
	int status;

	parse_arguments(argc, argv, &a);
	status = run(&a);
	return fflush(stdout) ? 1 : status;
}
