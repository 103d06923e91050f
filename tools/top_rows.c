/*
 * top_rows.c - see top_rows.h.
 */
#include "tools/top_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tools/field.h"

#define UNKNOWN (-1.0)

/* ---- rates ---- */

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : UNKNOWN;
}

static const struct gsb_top_engine *engine_before(const struct gsb_top_round *before, uint32_t pid)
{
	for (unsigned i = 0; before && i < before->n_engines; i++)
		if (before->engines[i].now.pid == pid)
			return &before->engines[i];
	return NULL;
}

/* gsbrokerd never gives a number twice. */
static const struct gsb_ctl_tenant *tenant_before(const struct gsb_top_round *before, uint32_t id)
{
	for (unsigned i = 0; before && i < before->n_rows; i++)
		if (before->rows[i].now.tenant_id == id)
			return &before->rows[i].now;
	return NULL;
}

static uint64_t ran_ns(const struct gsb_ctl_tenant *t)
{
	return t->device_ns + t->copy_ns;
}

static uint64_t waited_ns(const struct gsb_ctl_tenant *t)
{
	return t->wait_ns[GSB_WAITED_POLICY] + t->wait_ns[GSB_WAITED_DEVICE];
}

/* capacity_ns: of all SMs of its engine, since the last round. */
static void fill_row(struct gsb_top_row *row, const struct gsb_ctl_tenant *now,
		     const struct gsb_ctl_tenant *before, double capacity_ns)
{
	static const struct gsb_ctl_tenant none;
	double ran, waited;

	if (!before)
		before = &none;
	row->now = *now;
	ran = (double)(ran_ns(now) - ran_ns(before));
	waited = (double)(waited_ns(now) - waited_ns(before));
	row->share = ratio((double)(now->sm_ns - before->sm_ns), capacity_ns);
	row->waited = ratio(waited, ran + waited);
	row->slowdown = ratio((double)(now->known_ns - before->known_ns),
			      (double)(now->alone_ns - before->alone_ns));
	row->error = ratio((double)(now->error_ppm - before->error_ppm) / 1e6,
			   (double)(now->n_predicted - before->n_predicted));
}

static void add_engine(struct gsb_top_round *r, const struct gsb_answer_engine *a,
		       const struct gsb_top_round *before)
{
	struct gsb_top_engine *e = &r->engines[r->n_engines++];
	const struct gsb_top_engine *old = engine_before(before, a->pid);
	double capacity_ns;

	memcpy(&e->now, a, a->error ? offsetof(struct gsb_answer_engine, status) : sizeof(*a));
	e->share = UNKNOWN;
	if (a->error)
		return;
	r->n_hidden += a->is_hidden ? a->n_tenants : 0;
	capacity_ns = (double)(a->status.device_ns - (old ? old->now.status.device_ns : 0)) *
		      a->status.n_sms;
	if (capacity_ns > 0 && !a->is_hidden)
		e->share = 0;
	for (uint32_t i = 0; i < a->status.n_tenants; i++) {
		const struct gsb_ctl_tenant *now = &a->status.tenants[i];
		struct gsb_top_row *row = &r->rows[r->n_rows++];

		fill_row(row, now, tenant_before(before, now->tenant_id), capacity_ns);
		if (row->share >= 0)
			e->share += row->share;
	}
}

int gsb_top_round_make(const struct gsb_answers *a, const struct gsb_top_round *before,
		       struct gsb_top_round *out)
{
	struct gsb_top_round r = {0};
	size_t n = 0;

	for (unsigned i = 0; i < a->n_engines; i++)
		n += a->engines[i]->error ? 0 : a->engines[i]->status.n_tenants;
	r.rows = calloc(n + 1, sizeof(*r.rows));
	r.engines = calloc(a->n_engines + 1u, sizeof(*r.engines));
	if (!r.rows || !r.engines) {
		gsb_top_round_finish(&r);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < a->n_engines; i++)
		add_engine(&r, a->engines[i], before);
	*out = r;
	return 0;
}

void gsb_top_round_finish(struct gsb_top_round *r)
{
	free(r->rows);
	free(r->engines);
	*r = (struct gsb_top_round){0};
}

/* ---- order ---- */

/* What is not known is negative, and stands last. */
static int larger_first(double a, double b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int by_id(const void *a, const void *b)
{
	const struct gsb_top_row *x = a, *y = b;

	return x->now.tenant_id < y->now.tenant_id ? -1 : x->now.tenant_id > y->now.tenant_id;
}

static int or_by_id(int order, const void *a, const void *b)
{
	return order ? order : by_id(a, b);
}

static int by_share(const void *a, const void *b)
{
	const struct gsb_top_row *x = a, *y = b;

	return or_by_id(larger_first(x->share, y->share), a, b);
}

static int by_slowdown(const void *a, const void *b)
{
	const struct gsb_top_row *x = a, *y = b;

	return or_by_id(larger_first(x->slowdown, y->slowdown), a, b);
}

static int by_error(const void *a, const void *b)
{
	const struct gsb_top_row *x = a, *y = b;

	return or_by_id(larger_first(x->error, y->error), a, b);
}

static int by_waited(const void *a, const void *b)
{
	const struct gsb_top_row *x = a, *y = b;

	return or_by_id(larger_first(x->waited, y->waited), a, b);
}

static int by_memory(const void *a, const void *b)
{
	const struct gsb_top_row *x = a, *y = b;

	return or_by_id(
		larger_first((double)x->now.device_mem_bytes, (double)y->now.device_mem_bytes), a,
		b);
}

static int by_queue(const void *a, const void *b)
{
	const struct gsb_top_row *x = a, *y = b;

	return or_by_id(larger_first(x->now.queued, y->now.queued), a, b);
}

static int by_name(const void *a, const void *b)
{
	const struct gsb_top_row *x = a, *y = b;

	return or_by_id(strcmp(x->now.tenant, y->now.tenant), a, b);
}

static const struct {
	const char *word;
	int key;
	int (*compare)(const void *a, const void *b);
} sorts[] = {
#define GSB_TOP_SORT(NAME, word, key) {#word, key, by_##word},
	GSB_TOP_SORTS
#undef GSB_TOP_SORT
};

void gsb_top_round_sort(struct gsb_top_round *r, enum gsb_top_sort by)
{
	qsort(r->rows, r->n_rows, sizeof(*r->rows), sorts[by].compare);
}

int gsb_top_sort_find(const char *word, enum gsb_top_sort *out)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(sorts); i++)
		if (!strcmp(sorts[i].word, word)) {
			*out = (enum gsb_top_sort)i;
			return 0;
		}
	return -EINVAL;
}

int gsb_top_sort_of_key(int key, enum gsb_top_sort *out)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(sorts); i++)
		if (sorts[i].key == key) {
			*out = (enum gsb_top_sort)i;
			return 0;
		}
	return -EINVAL;
}

/* ---- text ---- */

#define R(heading, key, kind, member)                                                \
	{                                                                            \
		heading, key, GSB_FIELD_##kind, offsetof(struct gsb_top_row, member) \
	}
static const struct gsb_field row_fields[] = {
	R("ID", "id", U32, now.tenant_id),
	R("TENANT", "tenant", TEXT, now.tenant),
	R("PID", "pid", U32, now.pid),
	R("SMS", "share", PERCENT, share),
	R("MEMORY", "device_mem_bytes", BYTES, now.device_mem_bytes),
	R("QUEUED", "queued", U32, now.queued),
	R("IN-FLIGHT", "in_flight", U32, now.in_flight),
	R("KERNELS", "kernels", U64, now.kernels),
	R("WAITED", "waited", PERCENT, waited),
	R("SLOWDOWN", "slowdown", TIMES, slowdown),
	R("MODEL-ERROR", "model_error", PERCENT, error),
	R("AGE", "running_ns", AGE, now.running_ns),
	R("RUNNING", "running_kernel", TEXT, now.running_kernel),
};
#undef R

#define E(heading, key, kind, member)                                                   \
	{                                                                               \
		heading, key, GSB_FIELD_##kind, offsetof(struct gsb_top_engine, member) \
	}
static const struct gsb_field engine_fields[] = {
	E("DEVICE", "device", TEXT, now.device),
	E("ENGINE", "pid", ID, now.pid),
	E("STATE", "state", ENGINE, now.state),
	E("POLICY", "policy", TEXT, now.policy),
};
/* Absent when it did not answer. */
static const struct gsb_field engine_status_fields[] = {
	E("TENANTS", "n_tenants", U32, now.n_tenants),
	E("OF-SMS", "sms", U32, now.status.n_sms),
	E("HELD", "share", PERCENT, share),
	E("QUEUES", "queues_busy", U32, now.status.n_queues_busy),
	E("FREE", "device_mem_free_bytes", BYTES, now.status.device_mem_free_bytes),
	E("TOTAL", "device_mem_total_bytes", BYTES, now.status.device_mem_total_bytes),
	E("DEV-CLOCK", "device_ns", NS, now.status.device_ns),
};
#undef E

void gsb_top_round_print(const struct gsb_top_round *r, FILE *f)
{
	struct gsb_text_table engines = {0}, rows = {0};

	for (unsigned i = 0; i <= r->n_engines; i++) {
		const struct gsb_top_engine *e = i ? &r->engines[i - 1] : NULL;

		gsb_table_row(&engines);
		gsb_table_cells(&engines, engine_fields, GSB_ARRAY_LEN(engine_fields), e);
		gsb_table_cells(&engines, engine_status_fields, GSB_ARRAY_LEN(engine_status_fields),
				e && e->now.error ? NULL : e);
	}
	gsb_table_write(&engines, f);
	fputc('\n', f);
	for (unsigned i = 0; i <= r->n_rows; i++) {
		gsb_table_row(&rows);
		gsb_table_cells(&rows, row_fields, GSB_ARRAY_LEN(row_fields),
				i ? &r->rows[i - 1] : NULL);
	}
	gsb_table_write(&rows, f);
	if (r->n_hidden)
		fprintf(f, "and %u tenant%s of other users\n", r->n_hidden,
			r->n_hidden == 1 ? "" : "s");
}
