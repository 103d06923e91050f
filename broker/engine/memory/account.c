/*
 * account.c - see account.h.
 */
#include "broker/engine/memory/account.h"

#include "base/checked.h"
#include "broker/engine/memory/grant.h"
#include "broker/engine/tenant/tenant.h"

static bool over_limit(uint64_t used, uint64_t size, uint64_t limit)
{
	uint64_t sum;

	return limit && (gsb_add_overflows(used, size, &sum) || sum > limit);
}

/* What an allocation takes of the device. */
uint64_t gsb_memory_cost(const struct gsb_tenant *t, uint64_t size)
{
	return t->dev->ops->mem_cost ? t->dev->ops->mem_cost(t->dev, size) : size;
}

bool gsb_memory_is_over(const struct gsb_tenant *t, uint64_t bytes)
{
	return over_limit(t->device_used_bytes, bytes, t->limits.device_mem_bytes);
}

uint64_t gsb_memory_bytes_at(struct gsb_ctx *ctx, uint64_t addr)
{
	return gsb_memory_cost(ctx->tenant, gsb_ranges_find(&ctx->device_taken, addr)->size);
}

static void tell_used(const struct gsb_tenant *t)
{
	gsb_trace(USED, used, t->id, .used_bytes = t->device_used_bytes,
		  .limit_bytes = t->limits.device_mem_bytes, .granted_bytes = t->grant->granted);
}

void gsb_memory_add_used(struct gsb_tenant *t, uint64_t bytes)
{
	t->device_used_bytes += bytes;
	if (t->device_used_bytes > t->stats.device_mem_peak_bytes)
		t->stats.device_mem_peak_bytes = t->device_used_bytes;
	tell_used(t);
}

void gsb_memory_pass_on(struct gsb_tenant *from, struct gsb_tenant *to, uint64_t bytes)
{
	from->device_used_bytes -= bytes;
	tell_used(from);
	gsb_memory_add_used(to, bytes);
}

void gsb_memory_discharge(struct gsb_tenant *t, uint64_t bytes)
{
	t->device_used_bytes -= bytes;
	gsb_grant_give(t->grant, bytes);
	tell_used(t);
}

void gsb_memory_unuse(struct gsb_ctx *ctx, uint64_t bytes)
{
	ctx->device_used_bytes -= bytes;
	gsb_memory_discharge(ctx->tenant, bytes);
}
