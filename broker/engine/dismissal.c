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

static void say_held(enum gsb_log_level level, unsigned n_held, const char *how)
{
	if (n_held)
		gsb_log(level, "tenant", "... and %u more %s", n_held, how);
}

static void say_cuts_held(unsigned n_held)
{
	say_held(GSB_LOG_ERROR, n_held, "were cut off");
}

static void say_leavings_held(unsigned n_held)
{
	say_held(GSB_LOG_INFO, n_held, "have left");
}

static void log_cut(struct gsb_engine *e, const struct gsb_tenant *t)
{
	unsigned n_held;

	if (!gsb_log_enabled(GSB_LOG_ERROR) ||
	    !gsb_log_limit_pass(&e->cuts, gsb_clock_ns(), &n_held))
		return;
	say_cuts_held(n_held);
	gsb_log(GSB_LOG_ERROR, "tenant", "%u (%s, pid %u) is cut off: %s", t->id, t->name, t->pid,
		t->why);
}

void gsb_dismissal_log_left(const struct gsb_tenant *t)
{
	unsigned n_held;

	if (!gsb_log_enabled(GSB_LOG_INFO) ||
	    !gsb_log_limit_pass(&t->engine->leavings, gsb_clock_ns(), &n_held))
		return;
	say_leavings_held(n_held);
	gsb_log(GSB_LOG_INFO, "tenant", "%u (%s, pid %u) has left", t->id, t->name, t->pid);
}

void gsb_dismissal_log_end(struct gsb_engine *e)
{
	say_cuts_held(e->cuts.n_held);
	say_leavings_held(e->leavings.n_held);
	e->cuts.n_held = e->leavings.n_held = 0;
}

void gsb_tenant_cut(struct gsb_tenant *t, CUresult result)
{
	if (t->state == GSB_TENANT_LEAVING)
		return;
	t->cut = true;
	t->engine->n_cut++;
	log_cut(t->engine, t);
	gsb_tenant_dismiss(t, result, t->why);
}
