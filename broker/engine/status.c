/*
 * status.c - see status.h.
 */
#include "broker/engine/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "broker/engine/code/code.h"
#include "broker/engine/engine.h"
#include "broker/engine/tracing.h"

/* The kernel of t that has been on the device longest; NULL: none is there. */
static const struct gsb_flight *oldest_kernel(const struct gsb_tenant *t)
{
	const struct gsb_flight *oldest = NULL;

	for (int i = 0; i < GSB_N_QUEUES; i++) {
		const struct gsb_flight *f = &t->scheduler->flights[i];

		if (f->item && f->item->fn && f->item->op.order->queues == &t->queues &&
		    (!oldest || f->cookie < oldest->cookie))
			oldest = f;
	}
	return oldest;
}

static void fill_running(const struct gsb_tenant *t, struct gsb_ctl_tenant *row)
{
	const struct gsb_device_ops *ops = t->dev->ops;
	const struct gsb_flight *f = oldest_kernel(t);

	if (!f)
		return;
	memcpy(row->running_kernel, f->item->fn->name, sizeof(row->running_kernel));
	row->running_ns = ops->ran_ns ? gsb_course_ran_ns(f, ops)
				      : ops->now_ns(t->dev) - f->item->head->work.since_ns;
}

void gsb_status_row(const struct gsb_tenant *t, struct gsb_ctl_tenant *row)
{
	*row = t->stats;
	row->tenant_id = t->id;
	row->slot = t->slot;
	row->pid = t->pid;
	row->uid = t->uid;
	memcpy(row->tenant, t->name, sizeof(row->tenant));
	memcpy(row->program, t->program, sizeof(row->program));
	row->state = t->state;
	row->n_streams = t->queues.n_streams;
	row->n_events = t->queues.n_events;
	row->queued = t->queues.n_queued - t->n_in_flight;
	row->in_flight = t->n_in_flight;
	row->wait_ns[GSB_WAITED_ORDER] = t->queues.order_wait_ns;
	row->wait_ns[GSB_WAITED_EVENT] = t->queues.event_wait_ns;
	row->device_mem_bytes = t->device_used_bytes;
	row->device_mem_limit_bytes = t->limits.device_mem_bytes;
	row->host_mem_bytes = t->host_used_bytes;
	row->host_mem_limit_bytes = t->limits.host_mem_bytes;
	fill_running(t, row);
}

static void add_totals(struct gsb_ctl_status_reply *r, const struct gsb_ctl_tenant *row)
{
	r->records += row->records;
	r->launches += row->launches;
	r->kernels += row->kernels;
	r->device_busy_ns += row->device_ns;
}

struct gsb_ctl_status_reply *gsb_status_make(struct gsb_engine *e, uint64_t number)
{
	size_t bytes =
		sizeof(struct gsb_ctl_status_reply) + e->n_tenants * sizeof(struct gsb_ctl_tenant);
	struct gsb_ctl_status_reply *r = calloc(1, bytes);

	if (!r)
		return NULL;
	gsb_msg_init(&r->msg, (enum gsb_msg_type)GSB_CTL_STATUS_REPLY, (uint32_t)bytes);
	r->number = number;
	r->real_ns = gsb_clock_ns() - e->started_ns;
	r->device_ns = gsb_engine_now_ns(e);
	e->ops->mem_info(e->dev, &r->device_mem_free_bytes, &r->device_mem_total_bytes);
	r->records = e->gone_records;
	r->launches = e->gone_launches;
	r->kernels = e->gone_kernels;
	r->device_busy_ns = e->gone_device_ns;
	r->n_admitted = e->n_admitted;
	r->n_refused = e->n_refused;
	r->n_cut = e->n_cut;
	gsb_tracing_state(&r->trace);
	snprintf(r->policy, sizeof(r->policy), "%s", e->params.policy->name);
	r->n_sms = e->info->arch.n_sms;
	r->n_queues_busy = e->scheduler.clock.n_in_flight;
	for (int i = 0; i < GSB_N_SLOTS; i++)
		if (e->tenants[i]) {
			gsb_status_row(e->tenants[i], &r->tenants[r->n_tenants]);
			add_totals(r, &r->tenants[r->n_tenants++]);
		}
	return r;
}
