/*
 * tell.c - see tell.h.
 */
#include "broker/engine/tell.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "broker/engine/code/code.h"
#include "broker/engine/engine.h"
#include "broker/engine/order/event.h"
#include "broker/engine/order/stream.h"
#include "broker/engine/trace/trace.h"
#include "shm/wait.h"

static GSB_COLD void tell_tenant(const struct gsb_tenant *t, bool before)
{
	struct gsb_trace_tenant_come e = {
		.head = {GSB_TRACE_TENANT_COME, sizeof(e), t->id},
		.device_mem_limit_bytes = t->limits.device_mem_bytes,
		.queued_limit_bytes = t->limits.queued_bytes,
		.pid = t->pid,
		.uid = t->uid,
		.slot = t->slot,
		.before = before,
	};

	snprintf(e.name, sizeof(e.name), "%s", t->name);
	snprintf(e.program, sizeof(e.program), "%s", t->program);
	gsb_trace_put(&e.head);
}

void gsb_tell_tenant(const struct gsb_tenant *t, bool before)
{
	if (gsb_trace_is_on())
		tell_tenant(t, before);
}

void gsb_tell_stream(const struct gsb_stream *s, bool before)
{
	gsb_trace(STREAM_MADE, stream_made, s->queues->tenant_id, .stream = s->index,
		  .priority = s->priority, .is_blocking = s->blocking, .is_legacy = s->legacy,
		  .before = before);
}

static GSB_COLD void tell_refused(uint32_t tenant_id, uint32_t pid, uint32_t uid, int err,
				  const char *why)
{
	struct gsb_trace_tenant_refused e = {
		.head = {GSB_TRACE_TENANT_REFUSED, sizeof(e), tenant_id},
		.pid = pid,
		.uid = uid,
		.error = err,
	};

	snprintf(e.why, sizeof(e.why), "%s", why);
	gsb_trace_put(&e.head);
}

void gsb_tell_refused(uint32_t tenant_id, uint32_t pid, uint32_t uid, int err, const char *why)
{
	if (gsb_trace_is_on())
		tell_refused(tenant_id, pid, uid, err, why);
}

void gsb_tell_gone(const struct gsb_tenant *t)
{
	const struct gsb_ctl_tenant *n = &t->stats;

	if (t->scheduler->estimates)
		gsb_trace(TENANT_MODEL, tenant_model, t->id, .n_predicted = n->n_predicted,
			  .error_ppm = n->error_ppm, .known_ns = n->known_ns,
			  .alone_ns = n->alone_ns);
	gsb_trace(TENANT_GONE, tenant_gone, t->id, .n_records = n->records,
		  .n_launches = n->launches, .n_kernels = n->kernels, .n_copies = n->copies,
		  .n_fills = n->fills, .kernels_device_ns = n->device_ns,
		  .peak_bytes = n->device_mem_peak_bytes, .is_cut = t->cut,
		  .n_errors = n->n_errors);
}

static_assert(GSB_WAIT_REPLY == (int)GSB_TRACE_WAIT_REPLY &&
		      GSB_WAIT_EVENT == (int)GSB_TRACE_WAIT_EVENT &&
		      GSB_WAIT_NOTHING == (int)GSB_TRACE_WAIT_NOTHING,
	      "wire.h and events.def list the same waits");

/* What the tenant says that its thread waited for is a question to our own tables, and no more. */
static uint64_t serial_of(const struct gsb_queues *q, const struct gsb_wait *w)
{
	if (w->kind == GSB_WAIT_STREAM && w->index < GSB_N_STREAMS && q->streams[w->index])
		return gsb_stream_serial(q->streams[w->index], w->value);
	return w->kind == GSB_WAIT_EVENT && w->index < GSB_N_EVENTS ? q->events[w->index].serial
								    : 0;
}

static void tell_woken(void *arg, uint32_t slot, const struct gsb_wait *w)
{
	const struct gsb_tenant *t = arg;

	gsb_trace_tell(WOKEN, woken, t->id, .n_completed = t->queues.n_completed, .n_threads = 1,
		       .thread = slot, .serial = serial_of(&t->queues, w), .value = w->value,
		       .index = w->index, .waited = (uint8_t)w->kind);
}

void gsb_tell_and_wake(struct gsb_tenant *t)
{
	if (gsb_trace_is_on())
		gsb_wake_waiters_and_tell(t->region, tell_woken, t);
	else
		gsb_wake_waiters(t->region);
}

void gsb_tell_lines(void)
{
	static uint64_t n_told;
	uint64_t n = gsb_log_n_dropped();

	if (n != n_told)
		gsb_trace(LINES_DROPPED, lines_dropped, 0, .n_lines = n - n_told);
	n_told = n;
}

/* ---- what is there already ---- */

static void tell_item(const struct gsb_item *item)
{
	gsb_op_tell(&item->op, 0, 0, !item->head ? 1 : item->ready ? 2 : 3);
}

static void tell_queue(const struct gsb_stream *s)
{
	for (const struct gsb_op *op = s->first; op; op = op->next)
		if (gsb_item_is(op))
			tell_item(gsb_container_of(op, struct gsb_item, op));
		else
			gsb_op_tell(op, 0, 0, 1);
}

static void tell_functions(const struct gsb_tenant *t)
{
	for (uint32_t i = 0; i < t->functions.capacity; i++) {
		const struct gsb_kernel_fn *fn = t->functions.items[i];

		if (fn && fn->function && fn->module->handle)
			gsb_code_tell_function(fn, fn->name, true);
	}
}

static void tell_all_of(const struct gsb_tenant *t)
{
	gsb_tell_tenant(t, true);
	tell_functions(t);
	for (uint32_t i = 0; i < GSB_N_STREAMS; i++) {
		const struct gsb_stream *s = t->queues.streams[i];

		if (!s)
			continue;
		if (s->handle)
			gsb_tell_stream(s, true);
		tell_queue(s);
	}
}

static void number_queue(struct gsb_stream *s)
{
	memset(s->recent, 0, sizeof(s->recent));
	for (struct gsb_op *op = s->first; op; op = op->next) {
		struct gsb_head *h =
			gsb_item_is(op) ? gsb_container_of(op, struct gsb_item, op)->head : NULL;

		gsb_op_number(op);
		if (h) {
			h->told = false;
			h->n_ready = 0;
		}
	}
}

void gsb_tell_number_all(struct gsb_engine *e)
{
	for (int i = 0; i < GSB_N_SLOTS; i++)
		for (uint32_t at = 0; e->tenants[i] && at < GSB_N_STREAMS; at++)
			if (e->tenants[i]->queues.streams[at])
				number_queue(e->tenants[i]->queues.streams[at]);
}

void gsb_tell_all(struct gsb_engine *e)
{
	gsb_tell_number_all(e); /* first: they name each other */
	gsb_trace(CLOCK, clock, 0, .device_ns = gsb_engine_now_ns(e),
		  .is_virtual = e->scheduler.clock.is_virtual);
	for (int i = 0; i < GSB_N_SLOTS; i++)
		if (e->tenants[i])
			tell_all_of(e->tenants[i]);
}
