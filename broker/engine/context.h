/*
 * context.h - a tenant's contexts are made and ended: an address space of the device, an order of their
 * own, memory and code.
 */
#ifndef GSB_BROKER_ENGINE_CONTEXT_H
#define GSB_BROKER_ENGINE_CONTEXT_H

#include "gsb/wire.h"

struct gsb_ctx;
struct gsb_tenant;

/* A CALL: answered when it is made, or could not be. -EPROTO, -ENOMEM: dispatch.h. */
int gsb_ctx_create(struct gsb_tenant *t, const struct gsb_rec *rec,
		   const struct gsb_rec_ctx_create *body);

/* No handle of it is valid from now on; it is destroyed, and the call answered, when its work is done. -EAGAIN. */
int gsb_ctx_end(struct gsb_ctx *ctx, const struct gsb_rec *call);

/* Nothing of it is queued or in flight, and all of its modules are unloaded. */
void gsb_ctx_destroy(struct gsb_ctx *ctx);

#endif
