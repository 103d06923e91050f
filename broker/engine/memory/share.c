/*
 * share.c - see share.h.
 */
#include "broker/engine/memory/share.h"

#include <stdlib.h>
#include <utlist.h>

#include "broker/engine/memory/account.h"
#include "broker/engine/tenant/tenant.h"

/* ---- who holds it ---- */

void gsb_share_hold(struct gsb_share *s, struct gsb_holder *h, struct gsb_tenant *t)
{
	h->share = s;
	h->tenant = t;
	DL_APPEND(s->holders, h);
}

struct gsb_share *gsb_share_create(struct gsb_holder *h, struct gsb_tenant *t,
				   struct gsb_backing *memory, uint64_t size, uint64_t bytes)
{
	struct gsb_share *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->exports = t->exports;
	s->memory = memory;
	s->size = s->length = size;
	s->bytes = bytes;
	gsb_share_hold(s, h, t);
	return s;
}

static void withdraw(struct gsb_share *s)
{
	if (!s->export.handle.id)
		return;
	gsb_export_remove(s->exports, &s->export);
	s->export.handle.id = 0;
}

void gsb_share_let_go(struct gsb_holder *h)
{
	struct gsb_share *s = h->share;
	bool is_payer = s->holders == h;

	DL_DELETE(s->holders, h);
	if (!s->holders) {
		withdraw(s);
		h->tenant->dev->ops->backing_destroy(s->memory);
		gsb_memory_discharge(h->tenant, s->bytes);
		free(s);
	} else if (is_payer) {
		gsb_memory_pass_on(h->tenant, s->holders->tenant, s->bytes);
	}
}

/* ---- handles ---- */

static int export(struct gsb_share *s, enum gsb_ipc_kind kind, struct gsb_ipc_handle *out)
{
	int err = s->export.handle.id ? 0 : gsb_export_add(s->exports, &s->export, kind);

	if (!err)
		*out = s->export.handle;
	return err;
}

void gsb_share_answer_handle(struct gsb_tenant *t, const struct gsb_rec *call, struct gsb_share *s,
			     enum gsb_ipc_kind kind)
{
	struct gsb_reply_ipc answer;
	int err = export(s, kind, &answer.handle);

	if (err)
		gsb_tenant_fail_call(t, call, err);
	else
		gsb_tenant_reply_with(t, call, &answer, sizeof(answer));
}

struct gsb_share *gsb_share_find(const struct gsb_exports *x, enum gsb_ipc_kind kind,
				 const struct gsb_ipc_handle *handle)
{
	struct gsb_export *e = gsb_export_find(x, kind, handle);

	return e ? gsb_container_of(e, struct gsb_share, export) : NULL;
}

/* ---- allocations ---- */

struct gsb_shared_memory *gsb_share_at(struct gsb_ctx *ctx, uint64_t addr)
{
	struct gsb_shared_memory *m;

	HASH_FIND(hh, ctx->shared, &addr, sizeof(addr), m);
	return m;
}

struct gsb_shared_memory *gsb_share_add(struct gsb_ctx *ctx, uint64_t addr)
{
	struct gsb_shared_memory *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->addr = addr;
	HASH_ADD(hh, ctx->shared, addr, sizeof(m->addr), m);
	return m;
}

void gsb_share_drop(struct gsb_ctx *ctx, struct gsb_shared_memory *m)
{
	HASH_DELETE(hh, ctx->shared, m);
	free(m);
}

void gsb_share_retire(struct gsb_ctx *ctx, uint64_t addr)
{
	struct gsb_shared_memory *m = gsb_share_at(ctx, addr);

	if (m && !m->base)
		withdraw(m->holder.share);
}

/* The allocation is all that the device has there, and others still have it. */
static bool is_needed(const struct gsb_shared_memory *m)
{
	return !m->base && !m->holder.share->bytes && m->holder.next;
}

uint64_t gsb_share_free(struct gsb_ctx *ctx, struct gsb_shared_memory *m)
{
	uint64_t cost = m->cost;

	if (is_needed(m)) {
		ctx->device_used_bytes -= cost;
		m->holder.share->bytes = cost;
		cost = 0;
	}
	gsb_share_retire(ctx, m->addr);
	gsb_share_let_go(&m->holder);
	gsb_share_drop(ctx, m);
	return cost;
}

void gsb_share_ctx_finish(struct gsb_ctx *ctx)
{
	while (ctx->shared)
		gsb_share_free(ctx, ctx->shared);
}
