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

/* Of the first context that has any. Bytes. */
static uint32_t read_text(struct gsb_tenant *t, struct gsb_reply_print *out)
{
	const struct gsb_device_ops *ops = t->dev->ops;
	bool to_stderr = false, more = false;
	size_t bytes = 0;

	for (uint32_t i = 0; ops->print_read && i < GSB_N_CTXS && !more; i++)
		if (t->ctxs[i])
			bytes = ops->print_read(t->ctxs[i]->space, out->text, sizeof(out->text),
						&to_stderr, &more);
	out->to_stderr = to_stderr;
	out->more = more;
	return (uint32_t)bytes;
}

int gsb_print_read(struct gsb_tenant *t, const struct gsb_rec *rec)
{
	struct gsb_reply_print answer;
	uint32_t bytes = read_text(t, &answer);

	if (!answer.more)
		t->n_printed_read = t->n_printed;
	gsb_tenant_reply_with(t, rec, &answer,
			      (uint32_t)offsetof(struct gsb_reply_print, text) + bytes);
	return 0;
}

int gsb_print_limit(struct gsb_tenant *t, const struct gsb_rec *rec,
		    const struct gsb_rec_print_limit *body)
{
	const struct gsb_device_ops *ops = t->dev->ops;
	struct gsb_ctx *ctx = gsb_ctx_find(t, body->ctx);
	struct gsb_reply_number answer = {.number = body->bytes};

	if (!ctx)
		return gsb_no_such(t, rec, "context", body->ctx);
	if (ctx->printed) /* as on a GPU */
		return gsb_tenant_fail_call(t, rec, -EINVAL);
	if (ops->print_limit)
		answer.number = ops->print_limit(ctx->space, body->bytes);
	gsb_tenant_reply_with(t, rec, &answer, sizeof(answer));
	return 0;
}
