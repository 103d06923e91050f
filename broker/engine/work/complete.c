/*
 * complete.c - from the device back to the tenant: counts, sticky errors, and the next head.
 *
 * A completion is looked up by its cookie among the commands in flight; the queue is free again at
 * once. The error word of a context is set before the done word of the stream, so a tenant that
 * sees its work done sees what became of it, too.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "broker/engine/engine.h"
#include "broker/engine/trace/tp.h"

#define POLL_BATCH 64

static void count_copy(struct gsb_ctl_tenant *stats, const struct gsb_item *item)
{
	uint64_t bytes = item->cmd.copy.width * item->cmd.copy.height;
	bool from_device = item->src_place == GSB_PLACE_DEVICE;
	bool to_device = item->dst_place == GSB_PLACE_DEVICE;

	stats->copies++;
	if (from_device && to_device)
		stats->bytes_d2d += bytes;
	else if (to_device)
		stats->bytes_h2d += bytes;
	else if (from_device)
		stats->bytes_d2h += bytes;
}

static void count(struct gsb_ctl_tenant *stats, const struct gsb_item *item,
		  const struct gsb_completion *c)
{
	switch ((enum gsb_rec_type)item->type) {
	case GSB_REC_LAUNCH:
		stats->device_ns += c->end_ns - c->start_ns;
		stats->instructions += c->n_instructions;
		stats->kernels += c->result == CUDA_SUCCESS;
		break;
	case GSB_REC_COPY: count_copy(stats, item); break;
	default: stats->fills++; break;
	}
}

static void complete(struct gsb_engine *e, const struct gsb_completion *c)
{
	struct gsb_flight *f = &e->flights[c->cookie % GSB_N_QUEUES];
	struct gsb_stream *s = f->stream;
	struct gsb_tenant *t;

	if (!s || f->cookie != c->cookie) {
		gsb_log(GSB_LOG_ERROR, "complete",
			"the device completed command %" PRIu64 ", which is not in flight",
			c->cookie);
		return;
	}
	t = s->tenant;
	f->stream = NULL;
	f->abandoned = false;
	e->n_in_flight--;
	t->n_in_flight--;
	gsb_tp(complete, t->id, s->index, c->cookie, c->result, c->start_ns, c->end_ns);
	count(&t->stats, s->first, c);
	if (c->result != CUDA_SUCCESS)
		gsb_ctx_fail(s->first->ctx, c->result, c->detail);
	gsb_stream_pop(s, c->end_ns);
}

bool gsb_complete_poll(struct gsb_engine *e)
{
	struct gsb_completion batch[POLL_BATCH];
	bool any = false;
	unsigned n;

	if (!e->n_in_flight && !e->device_rang)
		return false;
	e->device_rang = false;
	do {
		n = e->ops->poll(e->dev, batch, POLL_BATCH);
		for (unsigned i = 0; i < n; i++)
			complete(e, &batch[i]);
		any |= n > 0;
	} while (n == POLL_BATCH);
	if (any)
		e->advancing = false;
	return any;
}

/* ---- kernels that do not end ---- */

static void count_running_time(struct gsb_engine *e)
{
	uint64_t now = gsb_clock_ns();

	if (e->n_in_flight && (!e->virtual_clock || e->advancing))
		e->run_ns += now - e->run_from_ns;
	e->run_from_ns = now;
}

/*
 * What is left to a kernel of its limit. Where the device knows how long it was executed, that is what counts: a
 * kernel that shares the device with one that never ends must not be taken for that one.
 */
static uint64_t left_ns(const struct gsb_engine *e, const struct gsb_flight *f)
{
	uint64_t limit = e->params.kernel_limit_ns, ran = e->run_ns - f->since_run_ns;

	if (ran >= limit && e->ops->ran_ns)
		ran = e->ops->ran_ns(f->queue);
	return ran < limit ? limit - ran : 0;
}

/* The kernel that has least left, NULL without kernels; *left is then as it was. */
static struct gsb_flight *next_overdue(struct gsb_engine *e, uint64_t *left)
{
	struct gsb_flight *next = NULL;

	for (int i = 0; i < GSB_N_QUEUES; i++) {
		struct gsb_flight *f = &e->flights[i];
		uint64_t ns;

		if (!f->stream || f->abandoned || f->work.kind != GSB_WORK_KERNEL)
			continue;
		ns = left_ns(e, f);
		if (next && ns >= *left)
			continue;
		next = f;
		*left = ns;
	}
	return next;
}

static void abandon(struct gsb_engine *e, struct gsb_flight *f)
{
	struct gsb_ctx *ctx = f->stream->first->ctx;

	f->abandoned = true;
	gsb_ctx_fail(ctx, CUDA_ERROR_LAUNCH_TIMEOUT, "a kernel ran longer than kernel_limit_ms");
	if (e->ops->space_cancel) {
		e->ops->space_cancel(ctx->space);
		return;
	}
	gsb_log(GSB_LOG_ERROR, "complete", "the device cannot abandon a kernel; the engine ends");
	e->dead = true;
}

void gsb_complete_overdue(struct gsb_engine *e)
{
	uint64_t left;
	struct gsb_flight *f;

	if (!e->params.kernel_limit_ns)
		return;
	count_running_time(e);
	f = next_overdue(e, &left);
	if (f && !left)
		abandon(e, f);
}

uint64_t gsb_complete_due_ns(struct gsb_engine *e)
{
	uint64_t left = UINT64_MAX;

	if (e->params.kernel_limit_ns && (!e->virtual_clock || e->advancing))
		next_overdue(e, &left);
	return left;
}
