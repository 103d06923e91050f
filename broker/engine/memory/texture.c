/*
 * texture.c - texture and surface objects, which the device makes of views of a tenant's memory and arrays.
 *
 * What a view names is the tenant's word, as an address in a parameter of its kernels is: whether it may be read is for the device
 * to say. An object is the device's to count and to find; it goes when the work before that is done, as memory does.
 */
#include <errno.h>

#include "base/checked.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/memory/virtual.h"
#include "broker/engine/order/fence.h"
#include "broker/engine/tenant/tenant.h"

/* In the area of reserved addresses, of which the device does not know whose they are. */
static bool is_reserved(const struct gsb_texture *view)
{
	return view->base - GSB_VIRTUAL_BASE < GSB_VIRTUAL_SIZE;
}

/* All that its rows span. */
static uint64_t texel_bytes(const struct gsb_texture *view)
{
	uint64_t row =
		(uint64_t)view->width * gsb_texel_channel_bytes(view->format) * view->n_channels;
	uint64_t rows;

	if (view->height <= 1)
		return row;
	if (gsb_mul_overflows(view->pitch_bytes, view->height - 1, &rows) ||
	    gsb_add_overflows(rows, row, &rows))
		return UINT64_MAX;
	return rows;
}

struct texture_ask {
	struct gsb_later later; /* first */
	struct gsb_texture view;
	bool is_surface;
	struct gsb_reply_number reply; /* its handle */
};

static int create(struct gsb_later *l)
{
	struct texture_ask *a = gsb_container_of(l, struct texture_ask, later);

	return l->tenant->dev->ops->texture_create(l->ctx->space, &a->view, a->is_surface,
						   &a->reply.number);
}

static void created(struct gsb_later *l, int err)
{
	struct texture_ask *a = gsb_container_of(l, struct texture_ask, later);

	gsb_later_reply(l, err, &a->reply, sizeof(a->reply));
}

int gsb_memory_create_texture(struct gsb_tenant *t, const struct gsb_rec *rec,
			      const struct gsb_rec_texture_create *body)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, body->ctx);
	struct texture_ask a = {
		.later = {.tenant = t, .ctx = ctx, .call = *rec, .ask = create, .done = created},
		.view = body->view,
		.is_surface = body->is_surface,
	};

	if (!ctx)
		return gsb_no_such(t, rec, "context", body->ctx);
	if (is_reserved(&body->view) &&
	    !gsb_virtual_allows(t, body->view.base, texel_bytes(&body->view), body->is_surface))
		return gsb_tenant_fail_call(t, rec, -EINVAL);
	if (!t->dev->ops->texture_create)
		return gsb_tenant_fail_call(t, rec, -ENOTSUP);
	gsb_later_run(&a.later, sizeof(a));
	return 0;
}

struct texture_end {
	struct gsb_later later; /* first */
	uint64_t handle;
	bool is_surface;
};

static int ask_to_destroy(struct gsb_later *l)
{
	struct texture_end *e = gsb_container_of(l, struct texture_end, later);

	return l->tenant->dev->ops->texture_destroy(l->ctx->space, e->handle, e->is_surface);
}

static void destroyed(struct gsb_later *l, int err)
{
	if (err)
		gsb_tenant_fail_call(l->tenant, &l->call, err);
	else
		gsb_tenant_reply(l->tenant, &l->call, l->ctx->error, 0);
}

static void destroy(struct gsb_order *o, const struct gsb_fence_job *job, bool is_surface)
{
	struct gsb_ctx *ctx = gsb_ctx_of(o);
	struct texture_end e = {
		.later = {.tenant = ctx->tenant,
			  .ctx = ctx,
			  .call = job->call,
			  .ask = ask_to_destroy,
			  .done = destroyed},
		.handle = job->object,
		.is_surface = is_surface,
	};

	gsb_later_run(&e.later, sizeof(e));
}

static void destroy_texture(struct gsb_order *o, const struct gsb_fence_job *job)
{
	destroy(o, job, false);
}

static void destroy_surface(struct gsb_order *o, const struct gsb_fence_job *job)
{
	destroy(o, job, true);
}

int gsb_memory_destroy_texture(struct gsb_tenant *t, const struct gsb_rec *rec,
			       const struct gsb_rec_texture_destroy *body)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, body->ctx);
	struct gsb_fence *fresh;

	if (!ctx)
		return gsb_no_such(t, rec, "context", body->ctx);
	if (!t->dev->ops->texture_destroy)
		return gsb_tenant_fail_call(t, rec, -ENOTSUP);
	fresh = gsb_fence_reserve(&t->queues);
	if (!fresh)
		return -EAGAIN;
	gsb_fence_close(
		&ctx->order, fresh,
		&(struct gsb_fence_job){body->is_surface ? destroy_surface : destroy_texture,
					body->handle, *rec});
	return 0;
}
