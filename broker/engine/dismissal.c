/*
 * dismissal.c - see dismissal.h.
 */
#include "broker/engine/dismissal.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "broker/engine/engine.h"
#include "broker/engine/event_ipc.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/memory/virtual.h"
#include "broker/engine/tenant/tenant.h"
#include "broker/engine/watch.h"
#include "shm/channel.h"
#include "shm/wait.h"

void gsb_tenant_leave(struct gsb_tenant *t)
{
	if (t->state == GSB_TENANT_LEAVING)
		return;
	t->state = GSB_TENANT_LEAVING;
	t->left_ns = gsb_clock_ns();
	t->running_since_ns = 0; /* nobody waits for it */
	gsb_watches_remove(t->watches, &t->pidfd);
	gsb_watches_remove(t->watches, &t->socket);
	for (uint32_t i = 0; i < GSB_N_CTXS; i++) {
		struct gsb_ctx *ctx = t->ctxs[i];

		if (!ctx)
			continue;
		if (!ctx->error)
			ctx->error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
		gsb_order_fail(&ctx->order);
		if (t->dev->ops->space_cancel)
			t->dev->ops->space_cancel(ctx->space);
		gsb_memory_ctx_cancel(ctx);
	}
	gsb_virtual_cancel(t);
	gsb_ipc_event_cancel(t);
	gsb_host_func_drop(t);
}

void gsb_tenant_dismiss(struct gsb_tenant *t, CUresult result, const char *why)
{
	struct gsb_msg_cut m = {.result = result};

	if (t->state == GSB_TENANT_LEAVING)
		return;
	snprintf(m.reason, sizeof(m.reason), "%s", why);
	atomic_store_explicit(&t->region->header.fatal, (uint32_t)result, memory_order_release);
	gsb_wake_waiters(t->region);
	gsb_msg_init(&m.msg, GSB_MSG_CUT, sizeof(m));
	gsb_channel_send(t->socket.fd, &m.msg, NULL, 0); /* courtesy: fatal says it, too */
	gsb_tenant_leave(t);
}

void gsb_tenant_cut(struct gsb_tenant *t, CUresult result)
{
	if (t->state == GSB_TENANT_LEAVING)
		return;
	t->cut = true;
	t->engine->n_cut++;
	gsb_log(GSB_LOG_ERROR, "tenant", "%u (%s, pid %u) is cut off: %s", t->id, t->name, t->pid,
		t->why);
	gsb_tenant_dismiss(t, result, t->why);
}
