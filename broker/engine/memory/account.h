/*
 * account.h - what a tenant and its contexts have of the device: the figures that limits and grants are held against.
 */
#ifndef GSB_BROKER_ENGINE_MEMORY_ACCOUNT_H
#define GSB_BROKER_ENGINE_MEMORY_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_ctx;
struct gsb_tenant;

/* What an allocation takes of the device; and the one of a context that begins at addr. */
uint64_t gsb_memory_cost(const struct gsb_tenant *t, uint64_t size);
uint64_t gsb_memory_bytes_at(struct gsb_ctx *ctx, uint64_t addr);

/* So many more are over the tenant's limit. */
bool gsb_memory_is_over(const struct gsb_tenant *t, uint64_t bytes);
/* It has so many more, which are granted and within its limit (gsb_memory_charge). */
void gsb_memory_add_used(struct gsb_tenant *t, uint64_t bytes);
/* The device has them again: so has the grant. */
void gsb_memory_discharge(struct gsb_tenant *t, uint64_t bytes);
void gsb_memory_unuse(struct gsb_ctx *ctx, uint64_t bytes);
/* What one had in its account another one has now, whatever its limit is. */
void gsb_memory_pass_on(struct gsb_tenant *from, struct gsb_tenant *to, uint64_t bytes);

#endif
