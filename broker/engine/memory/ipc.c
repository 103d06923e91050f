/*
 * ipc.c - the calls by which an allocation becomes other programs', too: it is exported, and opened. See share.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "broker/engine/memory/account.h"
#include "broker/engine/memory/grant.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/memory/share.h"
#include "broker/engine/tenant/tenant.h"

/* Of a context. Each costs the device a mapping, and is in nobody's limit. */
#define N_SHARED_MAX 8192

/* ---- export of an allocation ---- */

struct exporting {
	struct gsb_later later; /* first */
	uint64_t addr;
	struct gsb_backing *memory;
	uint64_t at, size;
};

static int ask_for_memory(struct gsb_later *l)
{
	struct exporting *x = gsb_container_of(l, struct exporting, later);

	return l->tenant->dev->ops->mem_share(l->ctx->space, x->addr, &x->memory, &x->at, &x->size);
}

static int add_shared(const struct exporting *x, uint64_t extra, struct gsb_shared_memory **out)
{
	struct gsb_ctx *ctx = x->later.ctx;
	const struct gsb_range *live = gsb_ranges_find(&ctx->device_live, x->addr);
	struct gsb_shared_memory *m;

	if (!live || live->start != x->addr || gsb_share_at(ctx, x->addr))
		return -EINVAL; /* freed meanwhile, or exported */
	m = gsb_share_add(ctx, x->addr);
	if (!m)
		return -ENOMEM;
	if (!gsb_share_create(&m->holder, ctx->tenant, x->memory, x->size, extra)) {
		gsb_share_drop(ctx, m);
		return -ENOMEM;
	}
	m->cost = gsb_memory_bytes_at(ctx, x->addr);
	m->holder.share->at = x->at;
	m->holder.share->length = live->size;
	*out = m;
	return 0;
}

/* extra is granted. */
static int charge_and_add(const struct exporting *x, uint64_t extra, struct gsb_shared_memory **out)
{
	struct gsb_tenant *t = x->later.tenant;
	int err = gsb_memory_charge(t, extra);

	if (err) {
		gsb_grant_give(t->grant, extra);
		return err;
	}
	err = add_shared(x, extra, out);
	if (err)
		gsb_memory_discharge(t, extra);
	return err;
}

static void finish_export(const struct exporting *x, uint64_t extra, int err)
{
	struct gsb_tenant *t = x->later.tenant;
	struct gsb_shared_memory *m;

	if (!err)
		err = charge_and_add(x, extra, &m);
	if (!err) {
		gsb_share_answer_handle(t, &x->later.call, m->holder.share, GSB_IPC_MEMORY);
		return;
	}
	t->dev->ops->backing_destroy(x->memory);
	if (err == -ECANCELED)
		gsb_tenant_reply(t, &x->later.call, CUDA_ERROR_CONTEXT_IS_DESTROYED, 0);
	else
		gsb_tenant_fail_call(t, &x->later.call, err);
}

/* An export that goes on when gsbrokerd has said whether there is so much. */
struct waiting_export {
	struct gsb_grant_wait wait;
	struct exporting export;
};

static void waited(struct gsb_grant_wait *w, int err)
{
	struct waiting_export *x = gsb_container_of(w, struct waiting_export, wait);

	gsb_tenant_job_end(x->export.later.tenant);
	finish_export(&x->export, w->bytes, err);
	free(x);
}

static void wait_for_grant(const struct exporting *x, uint64_t extra)
{
	struct waiting_export *w = malloc(sizeof(*w));

	if (!w) {
		finish_export(x, 0, -ENOMEM);
		return;
	}
	*w = (struct waiting_export){
		.wait = {.owner = x->later.ctx, .bytes = extra, .done = waited},
		.export = *x,
	};
	gsb_tenant_job_begin(x->later.tenant);
	gsb_grant_take(x->later.tenant->grant, &w->wait);
}

/* What the device has in one piece, and the allocation is only a part of. */
static uint64_t extra_bytes(const struct exporting *x)
{
	const struct gsb_range *taken = gsb_ranges_find(&x->later.ctx->device_taken, x->addr);

	return taken && x->size > gsb_memory_bytes_at(x->later.ctx, x->addr) ? x->size : 0;
}

static void have_memory(struct gsb_later *l, int err)
{
	const struct exporting *x = gsb_container_of(l, struct exporting, later);
	uint64_t extra;

	if (err) {
		gsb_tenant_fail_call(l->tenant, &l->call, err);
		return;
	}
	/* Who ended the context has ended its waits already. */
	if (l->tenant->state == GSB_TENANT_LEAVING || l->ctx->order.closed) {
		finish_export(x, 0, -ECANCELED);
		return;
	}
	extra = extra_bytes(x);
	if (gsb_grant_try(l->tenant->grant, extra))
		finish_export(x, extra, 0);
	else
		wait_for_grant(x, extra);
}

/* Another thread of the program may have freed it: that is no breach of the protocol. */
int gsb_share_export_memory(struct gsb_tenant *t, const struct gsb_rec *rec,
			    const struct gsb_rec_mem_free *body)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, body->ctx);
	const struct gsb_shared_memory *m;
	struct exporting x = {
		.later = {.tenant = t,
			  .ctx = ctx,
			  .call = *rec,
			  .ask = ask_for_memory,
			  .done = have_memory},
		.addr = body->addr,
	};

	if (!ctx)
		return gsb_no_such(t, rec, "context", body->ctx);
	if (!t->dev->ops->mem_share)
		return gsb_tenant_fail_call(t, rec, -ENOTSUP);
	m = gsb_share_at(ctx, body->addr);
	if (m && (m->base || !m->holder.share->export.handle.id))
		return gsb_tenant_fail_call(t, rec, -EINVAL);
	if (m)
		gsb_share_answer_handle(t, rec, m->holder.share, GSB_IPC_MEMORY);
	else if (!gsb_ranges_find(&ctx->device_taken, body->addr))
		return gsb_tenant_fail_call(t, rec, -EINVAL);
	else
		gsb_later_run(&x.later, sizeof(x));
	return 0;
}

/* ---- opening one ---- */

struct opening {
	struct gsb_later later; /* first */
	struct gsb_shared_memory *m;
	uint64_t base;
};

static int ask_to_open(struct gsb_later *l)
{
	struct opening *o = gsb_container_of(l, struct opening, later);

	return l->tenant->dev->ops->mem_open(l->ctx->space, o->m->holder.share->memory, &o->base);
}

static int take_into_maps(struct gsb_ctx *ctx, uint64_t addr, uint64_t length)
{
	int err = gsb_ranges_add(&ctx->device_taken, addr, length);

	if (err)
		return err;
	err = gsb_ranges_add(&ctx->device_live, addr, length);
	if (err)
		gsb_ranges_remove(&ctx->device_taken, addr, &(struct gsb_range){0});
	return err;
}

static int enter(struct opening *o)
{
	struct gsb_ctx *ctx = o->later.ctx;
	struct gsb_shared_memory *m = o->m;
	const struct gsb_share *s = m->holder.share;
	int err;

	m->addr = o->base + s->at;
	m->base = o->base;
	err = take_into_maps(ctx, m->addr, s->length);
	if (err)
		ctx->tenant->dev->ops->mem_free(ctx->space, o->base);
	else
		HASH_ADD(hh, ctx->shared, addr, sizeof(m->addr), m);
	return err;
}

static void opened(struct gsb_later *l, int err)
{
	struct opening *o = gsb_container_of(l, struct opening, later);
	struct gsb_reply_range range = {.size = o->m->holder.share->length};

	if (!err)
		err = enter(o);
	if (err) {
		gsb_share_let_go(&o->m->holder);
		free(o->m);
		gsb_tenant_fail_call(l->tenant, &l->call, err);
		return;
	}
	range.addr = o->m->addr;
	gsb_tenant_reply_with(l->tenant, &l->call, &range, sizeof(range));
}

/* As natively, a program does not open what it has exported itself. */
int gsb_share_open_memory(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_mem_open *body)
{
	struct gsb_share *s = gsb_share_find(t->exports, GSB_IPC_MEMORY, &body->handle);
	struct opening o = {
		.later = {.tenant = t,
			  .ctx = gsb_ctx_find(t, body->ctx),
			  .call = *rec,
			  .ask = ask_to_open,
			  .done = opened},
	};

	if (!o.later.ctx)
		return gsb_no_such(t, rec, "context", body->ctx);
	if (!s)
		return gsb_tenant_fail_call(t, rec,
					    gsb_export_why_not(t, GSB_IPC_MEMORY, &body->handle));
	if (s->holders->tenant == t) {
		gsb_tenant_reply(t, rec, CUDA_ERROR_INVALID_CONTEXT, 0);
		return 0;
	}
	if (HASH_COUNT(o.later.ctx->shared) < N_SHARED_MAX)
		o.m = calloc(1, sizeof(*o.m));
	if (!o.m)
		return gsb_tenant_fail_call(t, rec, -ENOMEM);
	gsb_share_hold(s, &o.m->holder, t);
	gsb_later_run(&o.later, sizeof(o));
	return 0;
}
