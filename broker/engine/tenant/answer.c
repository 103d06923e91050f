/*
 * answer.c - what a tenant is told: answers to its calls, and why it is cut off; and what a call costs it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "broker/engine/tenant/tenant.h"
#include "shm/wait.h"

/*
 * A thread is about to get its answer: if it was the only one that ran, its tenant has just been blocked, and
 * the time before must not be held against it. While work waits for time, answers change nothing: a tenant
 * that asks on and on would hold everybody up for ever.
 */
static void note_blocked(struct gsb_tenant *t, uint32_t thread)
{
	if ((!t->running_since_ns && !t->charged) || gsb_clock_is_waited_for(t->clock) ||
	    !gsb_threads_others_blocked(t->region, thread))
		return;
	t->running_since_ns = 0;
	t->charged = false;
}

void gsb_tenant_reply(struct gsb_tenant *t, const struct gsb_rec *call, CUresult result,
		      uint32_t bytes)
{
	note_blocked(t, call->thread);
	gsb_reply(t->region, call->thread, call->call, result, bytes);
	gsb_queues_touch(&t->queues);
}

void gsb_tenant_reply_with(struct gsb_tenant *t, const struct gsb_rec *call, const void *answer,
			   uint32_t bytes)
{
	memcpy(t->region->replies[call->thread], answer, bytes);
	gsb_tenant_reply(t, call, CUDA_SUCCESS, bytes);
}

int gsb_tenant_fail_call(struct gsb_tenant *t, const struct gsb_rec *call, int err)
{
	gsb_tenant_reply(t, call, gsb_cuda_result(err), 0);
	return 0;
}

int gsb_violation(struct gsb_tenant *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->why, sizeof(t->why), fmt, ap);
	va_end(ap);
	return -EPROTO;
}

int gsb_no_such(struct gsb_tenant *t, const struct gsb_rec *rec, const char *what, uint64_t h)
{
	return gsb_violation(t, "%s with %s %#" PRIx64 ", which it does not have",
			     gsb_rec_name(rec->type), what, h);
}

void gsb_tenant_charge_host(struct gsb_tenant *t)
{
	if (t->clock->is_virtual)
		t->host_ns = gsb_later_ns(t->host_ns, t->dev->ops->now_ns(t->dev)) +
			     t->clock->host_call_ns;
}

void gsb_tenant_refund_host(struct gsb_tenant *t)
{
	if (t->clock->is_virtual)
		t->host_ns -= t->clock->host_call_ns;
}
