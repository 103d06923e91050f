/*
 * course.c - see course.h.
 */
#include "broker/engine/work/course.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "broker/engine/code/code.h"
#include "broker/engine/code/counting.h"
#include "broker/engine/code/scratch.h"
#include "broker/engine/code/variants.h"
#include "broker/engine/tenant/tenant.h"
#include "broker/engine/work/scheduler.h"
#include "broker/engine/work/shadow.h"
#include "ptx/resize/variant.h"

/* ---- commands ---- */

static uint64_t n_blocks(const struct gsb_cmd_launch *l)
{
	return (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
}

static uint64_t control_of(const struct gsb_flight *f, const struct gsb_item *item)
{
	const struct gsb_scheduler *s = item->scheduler;

	return gsb_scratch_control(gsb_ctx_of(item->op.order), (unsigned)(f - s->flights));
}

/* The variant in the place of the original, with its parameters and behind them ours. */
static void put_variant(struct gsb_scheduler *s, const struct gsb_item *item,
			enum gsb_shape_form form, const void *own, size_t own_bytes,
			struct gsb_cmd_launch *l)
{
	uint32_t at = (uint32_t)gsb_round_up(l->params_bytes, 8);

	memset(s->params, 0, at);
	memcpy(s->params, l->params, l->params_bytes);
	memcpy(s->params + at, own, own_bytes);
	l->as = item->fn->function;
	l->function = item->fn->forms[form].function;
	l->params = s->params;
	l->params_bytes = at + (uint32_t)own_bytes;
}

static bool next_slice(struct gsb_course *c, const struct gsb_item *item, struct gsb_cmd *cmd)
{
	const struct gsb_cmd_launch *asked = &item->cmd.launch;
	struct gsb_variant_slice slice;

	if (!gsb_variant_slice_next(asked->grid, &c->done, (uint32_t)c->each, &slice,
				    cmd->launch.grid))
		return false;
	put_variant(item->scheduler, item, GSB_SHAPE_SLICE, &slice, sizeof(slice), &cmd->launch);
	memcpy(cmd->launch.first, slice.first, sizeof(cmd->launch.first));
	return true;
}

static void zero(struct gsb_cmd *cmd, uint64_t addr, uint64_t bytes)
{
	cmd->kind = GSB_CMD_FILL;
	cmd->fill = (struct gsb_cmd_fill){
		.dst = addr, .width = bytes / 4, .height = 1, .elem_bytes = 4};
}

/*
 * Blocks end after max_tiles each, and nothing else ends them: so how many tiles a launch has room for, and how many launches
 * there have to be, is known.
 */
static bool next_tiles(struct gsb_flight *f, const struct gsb_item *item, struct gsb_cmd *cmd)
{
	struct gsb_course *c = &f->course;
	struct gsb_variant_persistent p = {
		.control = control_of(f, item),
		.total = (uint32_t)n_blocks(&item->cmd.launch),
		.batch = 1,
		.max_tiles = c->shape.max_tiles ? c->shape.max_tiles : GSB_VARIANT_NO_LIMIT,
		.max_ns = GSB_VARIANT_NO_TIME,
	};

	if (!c->n_shaped) {
		zero(cmd, p.control, sizeof(struct gsb_variant_control));
		return true;
	}
	if (c->done >= c->total)
		return false;
	c->done += c->each;
	memcpy(p.grid, item->cmd.launch.grid, sizeof(p.grid));
	put_variant(item->scheduler, item, GSB_SHAPE_PERSISTENT, &p, sizeof(p), &cmd->launch);
	cmd->launch.grid[0] = c->shape.n_blocks;
	cmd->launch.grid[1] = cmd->launch.grid[2] = 1;
	return true;
}

static bool next_to_count(const struct gsb_course *c, const struct gsb_item *item,
			  struct gsb_cmd *cmd)
{
	const uint64_t addr = gsb_scratch_words(gsb_ctx_of(item->op.order));
	const uint64_t bytes = item->fn->proof->n_count_words * sizeof(uint64_t);
	struct gsb_variant_count p = {.words = addr,
				      .every = gsb_counting_every(&item->cmd.launch)};

	switch (c->n_shaped) {
	case 0: zero(cmd, addr, bytes); return true;
	case 1:
		put_variant(item->scheduler, item, GSB_SHAPE_COUNT, &p, sizeof(p), &cmd->launch);
		return true;
	case 2:
		cmd->kind = GSB_CMD_COPY;
		cmd->copy = (struct gsb_cmd_copy){.dst = (uint64_t)(uintptr_t)c->words,
						  .src = addr,
						  .width = bytes,
						  .height = 1,
						  .dst_is_ours = true};
		return true;
	default: return false;
	}
}

static bool next_once(const struct gsb_course *c, const struct gsb_item *item, struct gsb_cmd *cmd)
{
	struct gsb_cmd_launch *l = &cmd->launch;

	if (c->n_shaped)
		return false;
	l->as = item->fn->function;
	l->function = item->fn->forms[c->shape.form].function;
	if (c->shape.form == GSB_SHAPE_RESHAPE) {
		gsb_facts_cut(l, c->shape.n_threads);
	}
	return true;
}

/* False: there are no more. */
static bool next_of_shape(struct gsb_flight *f, const struct gsb_item *item, struct gsb_cmd *cmd)
{
	switch (f->course.shape.form) {
	case GSB_SHAPE_SLICE: return next_slice(&f->course, item, cmd);
	case GSB_SHAPE_PERSISTENT: return next_tiles(f, item, cmd);
	case GSB_SHAPE_COUNT: return next_to_count(&f->course, item, cmd);
	default: return next_once(&f->course, item, cmd);
	}
}

static bool next_shaped(struct gsb_flight *f, const struct gsb_item *item, struct gsb_cmd *cmd)
{
	bool any = next_of_shape(f, item, cmd);

	f->course.n_shaped += any;
	return any;
}

static bool next_asked(struct gsb_course *c)
{
	bool any = !c->asked;

	c->asked = true;
	return any;
}

static bool next_of_shadow(struct gsb_flight *f, const struct gsb_item *item, struct gsb_cmd *cmd)
{
	struct gsb_shadow *s = f->course.shadow;

	for (; gsb_shadow_part(s) < GSB_SHADOW_OVER; gsb_shadow_next_part(s)) {
		enum gsb_shadow_part part = gsb_shadow_part(s);

		if (part == GSB_SHADOW_SHAPED  ? next_shaped(f, item, cmd)
		    : part == GSB_SHADOW_ASKED ? next_asked(&f->course)
					       : gsb_shadow_next_copy(s, item, cmd))
			return true;
	}
	return false;
}

static bool next(struct gsb_flight *f, const struct gsb_item *item, struct gsb_cmd *cmd)
{
	*cmd = item->cmd;
	return f->course.shadow ? next_of_shadow(f, item, cmd) : next_shaped(f, item, cmd);
}

/* The first queue keeps the order of what was before the course, the fill that clears the counter included, and of what
 * follows; the second one knows of neither. */
static bool takes_turns(const struct gsb_course *c)
{
	return c->second && c->n_taken;
}

static bool is_beside_parts(const struct gsb_flight *f, const struct gsb_scheduler *s)
{
	for (uint32_t left = ~s->free_flights; left; left &= left - 1) {
		const struct gsb_flight *other = &s->flights[__builtin_ctz(left)];

		if (other != f && other->item && other->course.shape.form != GSB_SHAPE_AS_ASKED &&
		    other->course.yields)
			return true;
	}
	return false;
}

/* What is run both ways goes step by step: each may fail, and what then follows is another one. */
static unsigned ahead(const struct gsb_flight *f, const struct gsb_item *item)
{
	const struct gsb_course *c = &f->course;

	if (c->shadow)
		return 1;
	if (c->yields)
		return is_beside_parts(f, item->scheduler) ? 1 : GSB_COURSE_AHEAD;
	return takes_turns(c) ? 2 * GSB_COURSE_AHEAD : GSB_COURSE_AHEAD;
}

static int issue(const struct gsb_flight *f, const struct gsb_pooled_queue *q,
		 const struct gsb_item *item, struct gsb_cmd *cmd)
{
	const struct gsb_scheduler *s = item->scheduler;

	cmd->cookie = f->cookie;
	cmd->not_before_ns = s->clock.is_virtual ? item->op.ready_ns : 0;
	return s->ops->issue(q->queue, cmd);
}

/* The next command's, which is no longer the course's. */
static const struct gsb_pooled_queue *queue_of_next(const struct gsb_flight *f)
{
	const struct gsb_course *c = &f->course;

	return takes_turns(c) && c->n_shaped % 2 == 0 ? c->second : f->queue;
}

static bool waits(const struct gsb_course *c, const struct gsb_item *item)
{
	return c->yields && item->scheduler->yields_until_ns;
}

/* Of one that may have to wait. */
static bool has_more(const struct gsb_course *c)
{
	return c->yields && c->done < c->total;
}

static int issue_more(struct gsb_flight *f, const struct gsb_item *item)
{
	struct gsb_course *c = &f->course;
	struct gsb_cmd cmd;

	while (!c->err && !waits(c, item) && c->n_open < ahead(f, item)) {
		const struct gsb_pooled_queue *q = queue_of_next(f);

		if (!next(f, item, &cmd))
			break;
		c->err = issue(f, q, item, &cmd);
		if (c->err)
			break;
		c->n_open++;
	}
	return c->err;
}

static void drop_words(struct gsb_course *c, const struct gsb_item *item)
{
	if (!c->words)
		return;
	gsb_ctx_of(item->op.order)->counting = false;
	free(c->words);
	c->words = NULL;
}

/* ---- the beginning ---- */

/* The words are one launch's at a time. */
static void plan_to_count(struct gsb_course *c, const struct gsb_item *item)
{
	struct gsb_ctx *ctx = gsb_ctx_of(item->op.order);

	if (!ctx->counting)
		c->words = malloc(item->fn->proof->n_count_words * sizeof(uint64_t));
	if (c->words)
		ctx->counting = true;
	else
		c->shape.form = GSB_SHAPE_AS_ASKED;
}

/* Blocks of that form for which its SMs have room when they are idle. */
static uint64_t places(const struct gsb_item *item, enum gsb_shape_form form,
		       struct gsb_sm_range sms)
{
	const struct gsb_arch *arch = &item->scheduler->info->arch;
	uint64_t n = gsb_code_places(arch, &item->fn->forms[form], &item->cmd.launch);

	return sms.n ? n / arch->n_sms * sms.n : n;
}

/* A critical tenant waits for nobody. */
static bool may_yield(const struct gsb_course *c, const struct gsb_item *item)
{
	bool in_parts = c->shape.form == GSB_SHAPE_SLICE ||
			(c->shape.form == GSB_SHAPE_PERSISTENT && c->shape.max_tiles);

	return in_parts && item->scheduler->policy->yields_until &&
	       !item->head->work.claim->critical;
}

static void plan(struct gsb_course *c, const struct gsb_item *item, struct gsb_sm_range sms)
{
	const struct gsb_cmd_launch *l = &item->cmd.launch;
	struct gsb_shape *shape = &c->shape;

	if (shape->form == GSB_SHAPE_COUNT) {
		plan_to_count(c, item);
	} else if (shape->form == GSB_SHAPE_SLICE) {
		c->total = n_blocks(l);
		c->each = gsb_div_up(c->total, shape->n_slices);
		if (c->each > INT32_MAX)
			c->each = INT32_MAX;
	} else if (shape->form == GSB_SHAPE_PERSISTENT) {
		uint64_t n =
			shape->n_blocks ? shape->n_blocks : places(item, GSB_SHAPE_PERSISTENT, sms);

		if (!shape->n_blocks && shape->eighths)
			n = gsb_div_up(n * shape->eighths, 8);
		c->total = n_blocks(l);
		shape->n_blocks = (uint32_t)(n < c->total ? n : c->total);
		c->each =
			shape->max_tiles ? (uint64_t)shape->n_blocks * shape->max_tiles : c->total;
	}
}

static struct gsb_pooled_queue *take_like(struct gsb_queue_pool *p, const struct gsb_queue_kind *k)
{
	struct gsb_pooled_queue *q = gsb_queue_pool_take(p, k->priority, k->sms);

	if (!q || q->kind == k)
		return q;
	gsb_queue_pool_give(q);
	return NULL;
}

/* Blocks of one launch of its shape. */
static uint64_t blocks_of_one(const struct gsb_course *c)
{
	return c->shape.form == GSB_SHAPE_SLICE ? c->each : c->shape.n_blocks;
}

/* Blocks fewer than there are places are so few on purpose: with another launch beside it there would be twice as many. */
static bool is_for_two_queues(const struct gsb_flight *f, const struct gsb_item *item)
{
	const struct gsb_course *c = &f->course;

	return (c->shape.form == GSB_SHAPE_SLICE ||
		(c->shape.form == GSB_SHAPE_PERSISTENT && c->shape.max_tiles)) &&
	       !c->shadow && blocks_of_one(c) >= places(item, c->shape.form, f->queue->kind->sms);
}

/* For slices none: each has its blocks. */
static uint64_t spare_tiles(const struct gsb_course *c)
{
	if (c->shape.form == GSB_SHAPE_SLICE)
		return 0;
	return c->total < c->each ? c->total : c->each;
}

/* Before turns are taken, so many commands are in the first queue; of persistent blocks one is the fill. */
static bool is_over_before_turns(const struct gsb_course *c)
{
	uint64_t n = gsb_div_up(c->total + spare_tiles(c), c->each);

	return n + (c->shape.form == GSB_SHAPE_PERSISTENT) <= GSB_COURSE_AHEAD;
}

static void plan_second(struct gsb_flight *f, const struct gsb_item *item)
{
	struct gsb_course *c = &f->course;

	if (!is_for_two_queues(f, item) || is_over_before_turns(c))
		return;
	c->second = take_like(&item->scheduler->pool, f->queue->kind);
	if (c->second)
		c->total += spare_tiles(c);
}

static void drop_second(struct gsb_course *c)
{
	if (c->second)
		gsb_queue_pool_give(c->second);
	c->second = NULL;
}

/* One command: the item's own. Nothing else of the course is looked at. */
static int begin_as_asked(struct gsb_flight *f, struct gsb_item *item)
{
	int err = issue(f, f->queue, item, &item->cmd);

	f->course.shape.form = GSB_SHAPE_AS_ASKED;
	f->course.n_open = !err;
	return err;
}

static int begin(struct gsb_flight *f, struct gsb_item *item, const struct gsb_shape *shape)
{
	memset(&f->course, 0, offsetof(struct gsb_course, joint));
	f->course.shape = *shape;
	f->course.joint = (struct gsb_completion){.cookie = f->cookie};
	plan(&f->course, item, f->queue->kind->sms);
	if (f->course.shape.form == GSB_SHAPE_AS_ASKED)
		return begin_as_asked(f, item);
	f->course.shadow = gsb_shadow_create(item, f->course.shape.form);
	f->course.yields = !f->course.shadow && may_yield(&f->course, item);
	plan_second(f, item);
	return issue_more(f, item);
}

static GSB_NOINLINE int begin_shaped(struct gsb_flight *f, struct gsb_item *item,
				     const struct gsb_shape *shape)
{
	int err;

	item->cmd.more = false; /* of its stream: more of its own may come */
	item->cmd.n_beside = 0;
	err = begin(f, item, shape);
	if (!err || f->course.n_open)
		return 0; /* what is in the queue comes back, and then it ends */
	drop_second(&f->course);
	drop_words(&f->course, item);
	if (f->course.shadow)
		gsb_shadow_end(f->course.shadow, item, false);
	return begin_as_asked(f, item);
}

int gsb_course_begin(struct gsb_flight *f, struct gsb_item *item, const struct gsb_shape *shape)
{
	return shape->form == GSB_SHAPE_AS_ASKED ? begin_as_asked(f, item)
						 : begin_shaped(f, item, shape);
}

/* ---- the end ---- */

static void join(struct gsb_completion *all, const struct gsb_completion *c, bool is_first)
{
	uint64_t start_ns = is_first ? c->start_ns : all->start_ns;
	struct gsb_completion sum = all->result ? *all : *c;

	sum.cookie = c->cookie;
	sum.start_ns = start_ns;
	sum.end_ns = gsb_later_ns(all->end_ns, c->end_ns);
	sum.n_blocks = all->n_blocks + c->n_blocks;
	sum.n_instructions = all->n_instructions + c->n_instructions;
	sum.blocks_ns = all->blocks_ns + c->blocks_ns;
	sum.printed = all->printed || c->printed;
	*all = sum;
}

/* What the device has refused, after others of it were let run, fails as one that ran. */
static void fail_refused(struct gsb_course *c)
{
	if (!c->err || c->joint.result)
		return;
	c->joint.result = gsb_cuda_result(c->err);
	snprintf(c->joint.detail, sizeof(c->joint.detail),
		 "the device refused a part of a launch (%s)", gsb_shape_name(c->shape.form));
}

/* Of a launch that is run both ways it is the original that is told of; of the rest only whether it failed. */
static void note(struct gsb_course *c, const struct gsb_completion *done)
{
	if (!c->shadow || gsb_shadow_part(c->shadow) == GSB_SHADOW_ASKED)
		join(&c->joint, done, !c->n_taken++);
	else if (done->result && !c->joint.result)
		c->joint = *done;
}

/* What fails, or is refused, in its shape alone is not the tenant's: the original comes yet. */
static bool forgive(struct gsb_course *c)
{
	if (!c->shadow || gsb_shadow_part(c->shadow) != GSB_SHADOW_SHAPED ||
	    (!c->joint.result && !c->err))
		return false;
	gsb_shadow_failed(c->shadow);
	c->joint.result = CUDA_SUCCESS;
	c->err = 0;
	return true;
}

static void go_on(struct gsb_flight *f)
{
	struct gsb_course *c = &f->course;

	do {
		forgive(c);
		if (c->joint.result || f->item->op.order->failed)
			return;
	} while (issue_more(f, f->item) && forgive(c));
}

static void end_counting(struct gsb_course *c, struct gsb_item *item)
{
	uint64_t *words = c->words;

	if (!c->joint.result && !item->op.order->failed &&
	    gsb_counting_is_wanted(item->fn, &item->cmd.launch)) {
		c->words = NULL;
		gsb_ctx_of(item->op.order)->counting = false;
		gsb_counting_note(gsb_tenant_of(item->op.stream->queues), item->fn, item->op.fence,
				  &item->cmd.launch, words);
	}
	drop_words(c, item);
}

/* NULL: more of it is on the device, or will be. */
static const struct gsb_completion *next_or_end(struct gsb_flight *f)
{
	struct gsb_course *c = &f->course;
	bool failed = c->joint.result || f->item->op.order->failed;

	go_on(f);
	if (c->n_open || (has_more(c) && !c->err && !failed))
		return NULL;
	drop_second(c);
	fail_refused(c);
	if (c->words)
		end_counting(c, f->item);
	if (c->shadow)
		gsb_shadow_end(c->shadow, f->item, !c->joint.result && !f->item->op.order->failed);
	return &c->joint;
}

/* Launches of its shape that were issued: persistent blocks have a fill before them, and a count has a copy behind it, too. */
static unsigned n_launches(const struct gsb_course *c)
{
	switch (c->shape.form) {
	case GSB_SHAPE_PERSISTENT: return c->n_shaped - 1;
	case GSB_SHAPE_COUNT: return c->n_shaped > 1;
	default: return c->n_shaped;
	}
}

/* Nothing has run of it but what makes ready for it or looks after it. */
static bool is_refused(const struct gsb_course *c, const struct gsb_item *item)
{
	return c->n_refused && !c->n_open && !c->err && !c->shadow && !item->op.order->failed &&
	       c->n_failed == c->n_refused && c->n_refused == n_launches(c);
}

/* Nothing of it has run in another manner, nor has anybody been beside that. */
static void note_as_asked(struct gsb_scheduler *s, const struct gsb_flight *f)
{
	struct gsb_work *w = &f->item->head->work;

	for (uint32_t left = ~s->free_flights; w->manner && left; left &= left - 1) {
		struct gsb_flight *other = &s->flights[__builtin_ctz(left)];

		if (other != f)
			gsb_company_as_asked(&other->company, w->manner);
	}
	w->manner = 0;
}

/* As if the device had said so at once. */
static GSB_COLD const struct gsb_completion *ask_for_original(struct gsb_flight *f)
{
	struct gsb_course *c = &f->course;
	int err;

	drop_second(c);
	drop_words(c, f->item);
	note_as_asked(f->item->scheduler, f);
	err = begin_as_asked(f, f->item);
	if (!err)
		return NULL;
	c->joint.result = gsb_cuda_result(err);
	return &c->joint;
}

const struct gsb_completion *gsb_course_take(struct gsb_flight *f,
					     const struct gsb_completion *done)
{
	struct gsb_course *c = &f->course;

	c->n_open--;
	if (c->shape.form == GSB_SHAPE_AS_ASKED)
		return done;
	c->n_failed += done->result != CUDA_SUCCESS;
	c->n_refused += done->refused;
	note(c, done);
	return is_refused(c, f->item) ? ask_for_original(f) : next_or_end(f);
}

bool gsb_course_resume(struct gsb_flight *f)
{
	struct gsb_course *c = &f->course;

	if (!c->n_taken) /* it may be over before it began */
		c->joint.start_ns = c->joint.end_ns = f->item->issued_ns;
	if (!next_or_end(f))
		return true;
	c->shape.form = GSB_SHAPE_AS_ASKED;
	c->n_open = 1;
	return false;
}

uint64_t gsb_course_ran_ns(const struct gsb_flight *f, const struct gsb_device_ops *ops)
{
	uint64_t ran_ns = ops->ran_ns(f->queue->queue);
	const struct gsb_pooled_queue *second = f->course.second;

	return second ? gsb_later_ns(ran_ns, ops->ran_ns(second->queue)) : ran_ns;
}
