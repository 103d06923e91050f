/*
 * loaded.c - what is loaded of a tenant: found by its handle, and charged.
 */
#include <errno.h>

#include "broker/engine/code/code.h"
#include "broker/engine/code/variants.h"
#include "broker/engine/tenant/tenant.h"

struct gsb_code_module *gsb_code_find_loaded(struct gsb_tenant *t, uint64_t handle)
{
	struct gsb_code_module *m = gsb_table_find(&t->modules, handle);

	return m && m->module && !m->ctx->order.closed ? m : NULL;
}

struct gsb_code_module *gsb_code_find_module(struct gsb_tenant *t, uint64_t handle)
{
	struct gsb_code_module *m = gsb_code_find_loaded(t, handle);

	return m && (!m->managed_bytes || m->managed) ? m : NULL;
}

int gsb_code_charge(struct gsb_tenant *t, struct gsb_code_module *m)
{
	const struct gsb_device_ops *ops = t->dev->ops;
	uint64_t was = m->host_bytes;

	m->host_bytes = sizeof(*m) + (ops->module_bytes ? ops->module_bytes(m->module) : 0);
	if (m->variants)
		m->host_bytes += gsb_variants_bytes(m->variants);
	t->code_used_bytes += m->host_bytes - was;
	return m->host_bytes > was && t->code_used_bytes > t->limits.code_mem_bytes ? -ENOMEM : 0;
}

uint64_t gsb_code_room(const struct gsb_tenant *t)
{
	return t->limits.code_mem_bytes > t->code_used_bytes
		       ? t->limits.code_mem_bytes - t->code_used_bytes
		       : 0;
}
