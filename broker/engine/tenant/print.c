/*
 * print.c - printf and assert of kernels: the device keeps the text, the tenant fetches it.
 *
 * Nothing is pushed, so nobody waits for a tenant that does not read: its device's buffer is as large as its limit,
 * and what is written over that takes the place of the oldest.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "broker/engine/tenant/tenant.h"

void gsb_print_note(struct gsb_ctx *ctx)
{
	struct gsb_tenant *t = ctx->tenant;

	ctx->printed = true;
	atomic_store_explicit(&t->region->header.n_printed, ++t->n_printed, memory_order_release);
}

struct reading {
	struct gsb_later later; /* first */
	uint32_t i;		/* the context that is asked */
	uint32_t bytes;
	uint32_t n_printed; /* of the tenant, when it was asked first */
	struct gsb_reply_print answer;
};

/* Of the first context that has any. */
static int read_text(struct gsb_later *l)
{
	struct reading *r = gsb_container_of(l, struct reading, later);
	const struct gsb_device_ops *ops = l->tenant->dev->ops;
	bool to_stderr = false, more = false;

	for (; ops->print_read && r->i < GSB_N_CTXS && !more; r->i++) {
		struct gsb_ctx *ctx = l->tenant->ctxs[r->i];
		int n = ctx ? ops->print_read(ctx->space, r->answer.text, sizeof(r->answer.text),
					      &to_stderr, &more)
			    : 0;

		if (n == -EINPROGRESS)
			return n;
		r->bytes = (uint32_t)n;
	}
	r->answer.to_stderr = to_stderr;
	r->answer.more = more;
	return 0;
}

static void have_read(struct gsb_later *l, int err)
{
	struct reading *r = gsb_container_of(l, struct reading, later);

	if (err) {
		gsb_tenant_fail_call(l->tenant, &l->call, err);
		return;
	}
	if (!r->answer.more)
		l->tenant->n_printed_read = r->n_printed;
	gsb_tenant_reply_with(l->tenant, &l->call, &r->answer,
			      (uint32_t)offsetof(struct gsb_reply_print, text) + r->bytes);
}

int gsb_print_read(struct gsb_tenant *t, const struct gsb_rec *rec)
{
	struct reading r = {
		.later = {.tenant = t, .call = *rec, .ask = read_text, .done = have_read},
		.n_printed = t->n_printed,
	};

	gsb_later_run(&r.later, sizeof(r));
	return 0;
}

struct limiting {
	struct gsb_later later; /* first */
	struct gsb_reply_number answer;
	uint64_t bytes;
};

static int limit_text(struct gsb_later *l)
{
	struct limiting *m = gsb_container_of(l, struct limiting, later);
	const struct gsb_device_ops *ops = l->tenant->dev->ops;

	m->answer.number = ops->print_limit ? ops->print_limit(l->ctx->space, m->bytes) : m->bytes;
	return ops->print_limit && !m->answer.number ? -EINPROGRESS : 0;
}

static void have_limited(struct gsb_later *l, int err)
{
	struct limiting *m = gsb_container_of(l, struct limiting, later);

	gsb_later_reply(l, err, &m->answer, sizeof(m->answer));
}

int gsb_print_limit(struct gsb_tenant *t, const struct gsb_rec *rec,
		    const struct gsb_rec_print_limit *body)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, body->ctx);
	struct limiting m = {
		.later = {.tenant = t,
			  .ctx = ctx,
			  .call = *rec,
			  .ask = limit_text,
			  .done = have_limited},
		.bytes = body->bytes,
	};

	if (!ctx)
		return gsb_no_such(t, rec, "context", body->ctx);
	if (ctx->printed) /* as on a GPU */
		return gsb_tenant_fail_call(t, rec, -EINVAL);
	gsb_later_run(&m.later, sizeof(m));
	return 0;
}
