/*
 * run.c - see run.h.
 */
#include "broker/engine/work/run.h"

#include "broker/engine/code/code.h"
#include "broker/engine/code/demand.h"
#include "broker/engine/tenant/tenant.h"
#include "broker/engine/work/scheduler.h"

#define RUN_NS	 100000 /* all that are behind one */
#define SHORT_NS 50000	/* one of them */
#define RUN_MAX	 64	/* of them */
#define AT_ONCE	 16 /* in a turn, and then others are looked at: each takes the driver some us */

static struct gsb_item *to_item(struct gsb_op *op)
{
	return gsb_container_of(op, struct gsb_item, op);
}

static struct gsb_item *last_of(const struct gsb_flight *f)
{
	return f->run.last ? f->run.last : f->item;
}

/* ---- which ---- */

/* A launch that counts, or has another shape, is for the policy and the course. */
static bool is_plain(const struct gsb_item *item)
{
	const struct gsb_tenant *t = gsb_tenant_of(item->op.order->queues);

	if (!item->fn->shapes)
		return true;
	return !item->scheduler->policy->reshapes &&
	       t->resizing->force.form == GSB_SHAPE_AS_ASKED &&
	       !gsb_demand_is_wanted(item->fn, &item->cmd.launch);
}

static bool is_short(const struct gsb_kernel_fn *fn)
{
	return fn->state == GSB_FN_READY && fn->took_ns && fn->took_ns <= SHORT_NS;
}

/* What stands behind the last of a flight, if it may go there; of_ns is what those before it take, without the flight's item. */
static struct gsb_item *behind(const struct gsb_item *last, unsigned n, uint64_t of_ns)
{
	struct gsb_op *op = last->op.next;
	struct gsb_item *item;

	if (!op || !gsb_item_is_launch(op) || op->order != last->op.order ||
	    op->epoch != last->op.epoch || op->order->failed || n >= RUN_MAX)
		return NULL;
	item = to_item(op);
	if (!is_short(item->fn) || of_ns + item->fn->took_ns > RUN_NS || !is_plain(item))
		return NULL;
	return gsb_tenant_of(op->order->queues)->shadowing ? NULL : item;
}

bool gsb_run_is_possible(const struct gsb_scheduler *s)
{
	return !s->clock.is_virtual && s->ops->lost && s->policy->runs;
}

/* ---- how ---- */

static int issue(struct gsb_flight *f, struct gsb_item *item, bool more)
{
	const struct gsb_scheduler *s = item->scheduler;
	int err;

	item->cmd.cookie = f->cookie;
	item->cmd.more = more;
	err = s->ops->issue(f->queue->queue, &item->cmd);
	if (err)
		return err; /* it is told when its turn has come */
	item->op.ahead = true;
	f->course.n_open++;
	f->run.last = item;
	f->run.n_behind++;
	item->run_ns = item->fn->took_ns;
	f->run.behind_ns += item->run_ns;
	return 0;
}

/* At most @most; returns how many. */
static unsigned extend(struct gsb_flight *f, unsigned most)
{
	struct gsb_item *item = behind(last_of(f), f->run.n_behind, f->run.behind_ns), *next;
	unsigned n = 0;

	for (; item && n < most; item = next, n++) {
		next = behind(item, f->run.n_behind + 1, f->run.behind_ns + item->fn->took_ns);
		if (issue(f, item, next && n + 1 < most))
			break;
	}
	return n;
}

/* The first of them, going round. */
static struct gsb_flight *next_to_extend(struct gsb_scheduler *s)
{
	uint32_t from_there = s->to_extend & UINT32_MAX << s->extend_from;
	unsigned i = (unsigned)__builtin_ctz(from_there ? from_there : s->to_extend);

	s->extend_from = (i + 1) % GSB_N_QUEUES;
	return &s->flights[i];
}

void gsb_run_extend(struct gsb_scheduler *s)
{
	unsigned left = AT_ONCE;

	if (s->ready.n)
		s->to_extend = 0;
	while (s->to_extend && left) {
		struct gsb_flight *f = next_to_extend(s);

		left -= f->item ? extend(f, left) : 0;
		if (left)
			s->to_extend &= ~(1u << (f - s->flights));
	}
}

void gsb_run_look(struct gsb_scheduler *s, const struct gsb_flight *f)
{
	if (f->course.shape.form == GSB_SHAPE_AS_ASKED)
		s->to_extend |= 1u << (f - s->flights);
}

void gsb_run_queued(struct gsb_item *item)
{
	struct gsb_op *first = item->op.stream->first;

	if (first != &item->op && gsb_item_is_launch(first) && to_item(first)->flight)
		gsb_run_look(item->scheduler, to_item(first)->flight);
}

struct gsb_item *gsb_run_next(struct gsb_flight *f)
{
	struct gsb_item *next = to_item(f->item->op.next);

	f->run.n_behind--;
	f->run.behind_ns -= next->run_ns;
	if (!f->run.n_behind)
		f->run.last = NULL;
	return next;
}
