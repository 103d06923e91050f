/*
 * run.c - see run.h.
 */
#include "broker/engine/work/run.h"

#include "broker/engine/code/code.h"
#include "broker/engine/code/counting.h"
#include "broker/engine/tenant/tenant.h"
#include "broker/engine/work/scheduler.h"
#include "broker/engine/work/view.h"

#define RUN_NS	   100000 /* all that are behind one */
#define SHORT_NS   50000  /* one of them */
#define COPY_NS	   3000	  /* a copy or fill takes about so long, */
#define COPY_SPEED 32	  /* and a nanosecond for so many bytes */
#define RUN_MAX	   64	  /* of them */
#define MARKS_MAX  8	  /* that stand between two */
#define AT_ONCE	   32 /* in a turn, and then others are looked at: the driver takes some 10 us */
#define LEAST	   16 /* with one that begins beside others; it counts: three times as long as for one */

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

	if (!item->fn || !item->fn->shapes)
		return true;
	return !item->scheduler->policy->reshapes && !item->fn->is_cut &&
	       t->resizing->force.form == GSB_SHAPE_AS_ASKED &&
	       !gsb_counting_is_wanted(item->fn, &item->cmd.launch);
}

/* What a short one takes; 0: it is not short, or not known. */
static uint64_t short_ns(const struct gsb_item *item)
{
	const struct gsb_kernel_fn *fn = item->fn;

	if (!fn) {
		uint64_t ns = COPY_NS + gsb_view_bytes(&item->cmd) / COPY_SPEED;

		return ns <= SHORT_NS ? ns : 0;
	}
	return fn->state == GSB_FN_READY && fn->took_ns <= SHORT_NS ? fn->took_ns : 0;
}

static bool is_of_same(const struct gsb_op *op, const struct gsb_op *last)
{
	return op->order == last->order && op->epoch == last->epoch;
}

/* The item behind an operation, with no more than marks between; NULL: there is none. */
static struct gsb_item *item_behind(const struct gsb_op *last)
{
	struct gsb_op *op = last->next;

	for (int n = 0; op && op->class->instant && n < MARKS_MAX && is_of_same(op, last); n++)
		op = op->next;
	return op && gsb_item_is(op) && is_of_same(op, last) ? to_item(op) : NULL;
}

/* The item behind the last of a flight, if it may go there; of_ns is what those before it take, without the flight's item. */
static struct gsb_item *behind(const struct gsb_item *last, unsigned n, uint64_t of_ns)
{
	struct gsb_item *item = item_behind(&last->op);
	uint64_t ns;

	if (!item || item->op.order->failed || n >= RUN_MAX)
		return NULL;
	ns = short_ns(item);
	if (!ns || of_ns + ns > RUN_NS || !is_plain(item))
		return NULL;
	return gsb_tenant_of(item->op.order->queues)->shadowing ? NULL : item;
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
	for (struct gsb_op *op = last_of(f)->op.next; op != &item->op; op = op->next)
		op->ahead = true;
	item->op.ahead = true;
	f->course.n_open++;
	f->run.last = item;
	f->run.n_behind++;
	item->run_ns = short_ns(item);
	f->run.behind_ns += item->run_ns;
	return 0;
}

/* At most @most; returns how many. Of those that the device was promised the first is issued in any case. */
static unsigned extend(struct gsb_flight *f, unsigned most)
{
	struct gsb_item *item = behind(last_of(f), f->run.n_behind, f->run.behind_ns), *next;
	unsigned n = 0;

	for (; item && n < most; item = next, n++) {
		next = behind(item, f->run.n_behind + 1, f->run.behind_ns + short_ns(item));
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

/* A launch in a shape has more commands to come. It may be in the place of what the bit was set for: that has landed since. */
static bool may_be_followed(const struct gsb_flight *f)
{
	return f->item && f->course.shape.form == GSB_SHAPE_AS_ASKED;
}

void gsb_run_begin_turn(struct gsb_scheduler *s)
{
	s->may_follow = AT_ONCE;
}

bool gsb_run_extend(struct gsb_scheduler *s)
{
	unsigned *left = &s->may_follow;

	if (s->ready.n)
		s->to_extend = 0;
	while (s->to_extend && *left) {
		struct gsb_flight *f = next_to_extend(s);

		*left -= may_be_followed(f) ? extend(f, *left) : 0;
		if (*left)
			s->to_extend &= ~(1u << (f - s->flights));
	}
	return !*left;
}

/* So many of a stream together where n begin. */
static unsigned share_of(unsigned n)
{
	unsigned share = AT_ONCE / n;

	return share > LEAST ? share : LEAST;
}

/* So many flights that begin next: those of the lowest free bits. */
static void look_at_next(struct gsb_scheduler *s, unsigned n)
{
	uint32_t left = s->free_flights;

	for (unsigned i = 0; i < n; i++, left &= left - 1)
		s->to_extend |= left & -left;
}

/*
 * A launch that does not end takes more of the GPU's connections beside others than by itself, and what comes to these waits until it ends, which may be for what
 * waits there. So none is beside others where nothing ends it.
 */
static uint8_t n_behind(const struct gsb_scheduler *s, unsigned n, unsigned i)
{
	return s->kernel_limit_ns ? (uint8_t)(n - 1 - i) : 0;
}

void gsb_run_decided(struct gsb_scheduler *s, struct gsb_item *const items[], unsigned n)
{
	look_at_next(s, n);
	if (n != s->ready.n || n + s->clock.n_in_flight <= 1)
		return;
	s->together = share_of(n);
	for (unsigned i = 0; i < n; i++) {
		items[i]->cmd.more = behind(items[i], 0, 0) != NULL;
		items[i]->cmd.n_beside = n_behind(s, n, i);
	}
}

void gsb_run_begin(struct gsb_flight *f)
{
	struct gsb_scheduler *s = f->item->scheduler;
	unsigned n = 1 + extend(f, s->together - 1);

	s->may_follow -= n < s->may_follow ? n : s->may_follow;
}

void gsb_run_look(struct gsb_scheduler *s, const struct gsb_flight *f)
{
	s->to_extend |= 1u << (f - s->flights);
}

void gsb_run_queued(struct gsb_item *item)
{
	struct gsb_op *first = item->op.stream->first;

	if (first != &item->op && gsb_item_is(first) && to_item(first)->flight)
		gsb_run_look(item->scheduler, to_item(first)->flight);
}

struct gsb_item *gsb_run_next(struct gsb_flight *f)
{
	struct gsb_item *next = item_behind(&f->item->op);

	f->run.n_behind--;
	f->run.behind_ns -= next->run_ns;
	if (!f->run.n_behind)
		f->run.last = NULL;
	return next;
}
