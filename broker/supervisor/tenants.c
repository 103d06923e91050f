/*
 * tenants.c - see tenants.h.
 */
#include "broker/supervisor/tenants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

void gsb_tenant_limits(const struct gsb_tenant_config *t, struct gsb_tenant_limits *out)
{
	*out = (struct gsb_tenant_limits){
		.device_mem_bytes = t->device_memory,
		.host_mem_bytes = t->host_memory,
		.staging_bytes = t->staging,
		.image_max_bytes = t->image_max,
		.code_mem_bytes = t->code_memory,
		.queued_bytes = t->queued_bytes,
		.queued_records = (uint32_t)t->queued_records,
		.weight = (uint32_t)t->weight,
		.critical = (uint32_t)t->critical,
		.max_wait_ns = t->max_wait_ms * 1000000,
		.deadline_ns = t->deadline_us * 1000,
		.slowdown_percent = (uint32_t)t->slowdown_percent,
	};
}

unsigned gsb_tenants_of_uid(const struct gsb_tenants *ts, uid_t uid)
{
	const struct gsb_admitted *t;
	unsigned n = 0;

	DL_FOREACH (ts->list, t)
		n += t->uid == uid && !t->ending;
	return n;
}

unsigned gsb_tenants_counting(const struct gsb_tenants *ts)
{
	const struct gsb_admitted *t;
	unsigned n = 0;

	DL_FOREACH (ts->list, t)
		n += !t->ending;
	return n;
}

unsigned gsb_tenants_of_engine(const struct gsb_tenants *ts, const struct gsb_served_engine *e)
{
	const struct gsb_admitted *t;
	unsigned n = 0;

	DL_FOREACH (ts->list, t)
		n += t->engine == e;
	return n;
}

struct gsb_admitted *gsb_tenants_find(const struct gsb_tenants *ts,
				      const struct gsb_served_engine *e, uint32_t id)
{
	struct gsb_admitted *t;

	DL_FOREACH (ts->list, t)
		if (t->engine == e && t->id == id)
			return t;
	return NULL;
}

void gsb_tenants_remove(struct gsb_tenants *ts, struct gsb_admitted *t)
{
	DL_DELETE(ts->list, t);
	ts->n--;
	free(t);
}

int gsb_tenants_add(struct gsb_tenants *ts, struct gsb_served_engine *e,
		    struct gsb_ctl_admit *admit)
{
	struct gsb_admitted *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	if (!admit->tenant_id)
		admit->tenant_id = ++ts->last_id;
	t->id = admit->tenant_id;
	t->pid = (pid_t)admit->pid;
	t->uid = admit->uid;
	memcpy(t->name, admit->tenant, sizeof(t->name));
	t->engine = e;
	DL_APPEND(ts->list, t);
	ts->n++;
	return 0;
}
