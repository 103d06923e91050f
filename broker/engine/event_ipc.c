/*
 * event_ipc.c - see event_ipc.h.
 */
#include "broker/engine/event_ipc.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "broker/engine/tenant/export.h"
#include "broker/engine/order/shared.h"
#include "broker/engine/tenant/tenant.h"

struct ipc_event {
	struct gsb_shared shared;
	struct gsb_export export;
	struct gsb_exports *exports; /* NULL: it is not among them */
	uint32_t maker;		     /* tenant */
};

static struct ipc_event *to_ipc(struct gsb_shared *s)
{
	return gsb_container_of(s, struct ipc_event, shared);
}

/* ---- from hand to hand ---- */

static void on_end(struct gsb_shared *s)
{
	struct ipc_event *x = to_ipc(s);

	if (x->exports)
		gsb_export_remove(x->exports, &x->export);
	free(x);
}

int gsb_ipc_event_make(struct gsb_tenant *t, struct gsb_event *e)
{
	struct ipc_event *x = calloc(1, sizeof(*x));
	int err;

	if (!x)
		return -ENOMEM;
	x->shared.on_end = on_end;
	x->maker = t->id;
	err = gsb_event_share(e, &x->shared);
	if (err)
		free(x);
	return err;
}

int gsb_ipc_event_export(struct gsb_tenant *t, const struct gsb_rec *rec, struct gsb_event *e)
{
	struct ipc_event *x;
	int err;

	x = e->sharer ? to_ipc(e->sharer->of) : NULL;
	if (!x || x->maker != t->id) /* what was opened is not exported again */
		return gsb_tenant_fail_call(t, rec, -EBADF);
	err = x->exports ? 0 : gsb_export_add(t->exports, &x->export, GSB_IPC_EVENT);
	if (err)
		return gsb_tenant_fail_call(t, rec, err);
	x->exports = t->exports;
	gsb_tenant_reply_with(t, rec, &(struct gsb_reply_ipc){x->export.handle},
			      sizeof(struct gsb_reply_ipc));
	return 0;
}

int gsb_ipc_event_find(struct gsb_tenant *t, const struct gsb_ipc_handle *handle,
		       struct gsb_shared **out)
{
	struct gsb_export *found = gsb_export_find(t->exports, GSB_IPC_EVENT, handle);
	struct ipc_event *x;

	if (!found) {
		gsb_export_why_not(t, GSB_IPC_EVENT, handle);
		return -EXDEV; /* as the driver says of all that it cannot open */
	}
	x = gsb_container_of(found, struct ipc_event, export);
	if (x->maker == t->id)
		return -ELOOP;
	*out = &x->shared;
	return 0;
}

/* ---- calls that wait ---- */

struct gsb_event_call {
	struct gsb_await await;
	struct gsb_event_call *prev, *next; /* of the tenant */
	struct gsb_tenant *tenant;
	struct gsb_rec call;
};

static void drop(struct gsb_event_call *c)
{
	DL_DELETE(c->tenant->event_calls, c);
	c->tenant->n_event_calls--;
	free(c);
}

static void answer(struct gsb_await *a)
{
	struct gsb_event_call *c = gsb_container_of(a, struct gsb_event_call, await);

	gsb_tenant_reply(c->tenant, &c->call, CUDA_SUCCESS, 0);
	drop(c);
}

int gsb_ipc_event_await(struct gsb_tenant *t, const struct gsb_rec *rec, struct gsb_shared *s)
{
	struct gsb_event_call *c;

	if (t->n_event_calls == GSB_N_THREADS)
		return gsb_violation(t,
				     "more than %d calls wait for events, and each is a thread's",
				     GSB_N_THREADS);
	c = calloc(1, sizeof(*c));
	if (!c)
		return gsb_tenant_fail_call(t, rec, -ENOMEM);
	c->await.done = answer;
	c->tenant = t;
	c->call = *rec;
	gsb_await_begin(&c->await, s);
	DL_APPEND(t->event_calls, c);
	t->n_event_calls++;
	return 0;
}

void gsb_ipc_event_cancel(struct gsb_tenant *t)
{
	while (t->event_calls) {
		struct gsb_event_call *c = t->event_calls;

		gsb_await_cancel(&c->await);
		drop(c);
	}
}
