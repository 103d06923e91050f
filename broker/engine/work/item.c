/*
 * item.c - launches, copies and fills: from a checked record to an operation in a stream.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/err.h"
#include "broker/engine/code/code.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/order/fence.h"
#include "broker/engine/tenant/tenant.h"
#include "trace/compact.h"
#include "broker/engine/work/scheduler.h"

/* ---- what the order asks of an item ---- */

static struct gsb_item *to_item(struct gsb_op *op)
{
	return gsb_container_of(op, struct gsb_item, op);
}

/* While a launch of the tenant is run both ways, nothing of it may come between. */
static void start(struct gsb_op *op)
{
	struct gsb_tenant *t = gsb_tenant_of(op->stream->queues);

	if (t->shadowing)
		gsb_stream_park(op->stream, &t->shadow_waiters, GSB_TRACE_PARK_SHADOW, 0);
	else
		gsb_issue_ready(to_item(op));
}

static void park_on_code(struct gsb_item *item)
{
	item->code_wait_from_ns = gsb_clock_ns();
	gsb_stream_park(item->op.stream, &item->fn->waiters, GSB_TRACE_PARK_CODE, 0);
}

/* With a real clock the time of the device went on meanwhile: it was not the policy that held it. */
static void end_code_wait(struct gsb_item *item)
{
	struct gsb_tenant *t = gsb_tenant_of(item->op.stream->queues);

	t->stats.wait_ns[GSB_WAITED_CODE] += gsb_clock_ns() - item->code_wait_from_ns;
	if (!t->clock->is_virtual)
		item->op.ready_ns = gsb_later_ns(item->op.ready_ns, t->clock->turn_ns);
}

static void start_launch(struct gsb_op *op)
{
	struct gsb_item *item = to_item(op);
	struct gsb_kernel_fn *fn = item->fn;

	if (fn->state == GSB_FN_PREPARING) {
		park_on_code(item);
	} else if (fn->state == GSB_FN_READY) {
		if (item->code_wait_from_ns)
			end_code_wait(item);
		start(op);
	} else {
		gsb_ctx_fail(gsb_ctx_of(op->order), gsb_cuda_result(fn->prepare_err),
			     "a kernel that the device cannot run was launched");
		gsb_stream_retry(op->stream);
	}
}

static bool withdraw(struct gsb_op *op)
{
	struct gsb_item *item = to_item(op);
	bool was_ready = item->ready;

	if (was_ready)
		gsb_issue_unready(item);
	return was_ready;
}

/* ---- the trace ---- */

static uint32_t tenant_id(const struct gsb_item *item)
{
	return item->op.stream->queues->tenant_id;
}

static void tell_launch(const struct gsb_op *op)
{
	const struct gsb_item *item = gsb_container_of(op, struct gsb_item, op);
	const struct gsb_cmd_launch *l = &item->cmd.launch;

	gsb_trace_tell(LAUNCH, launch, tenant_id(item), .serial = op->serial,
		       .function = item->fn->handle, .n_blocks = gsb_item_n_blocks(item),
		       .grid_x = l->grid[0], .grid_y = l->grid[1], .grid_z = l->grid[2],
		       .block_x = l->block[0], .block_y = l->block[1], .block_z = l->block[2],
		       .smem_bytes = l->smem_bytes, .is_cooperative = l->cooperative);
}

static_assert(GSB_LIES_AS(struct gsb_rec, type, thread, struct gsb_compact_rec, type, thread) &&
		      GSB_LIES_AS(struct gsb_rec, type, stream, struct gsb_compact_rec, type,
				  stream) &&
		      GSB_LIES_AS(struct gsb_rec_launch, function, grid, struct gsb_compact_body,
				  function, grid) &&
		      GSB_LIES_AS(struct gsb_rec_launch, function, block, struct gsb_compact_body,
				  function, block) &&
		      GSB_LIES_AS(struct gsb_rec_launch, function, smem_bytes,
				  struct gsb_compact_body, function, smem_bytes) &&
		      GSB_LIES_AS(struct gsb_rec_launch, function, zero, struct gsb_compact_body,
				  function, zero) &&
		      sizeof(struct gsb_compact_body) == sizeof(struct gsb_rec_launch),
	      "they are copied as they lie");

/* Two words; a record at hand lies on a line of its own. */
typedef uint64_t pair __attribute__((vector_size(16), may_alias));
typedef uint64_t loose_pair __attribute__((vector_size(16), aligned(8), may_alias));

static inline bool is_alike(const struct gsb_compact_launch *c, const struct gsb_rec *rec)
{
	const loose_pair *a = (const loose_pair *)&c->body;
	const pair *b = (const pair *)(rec + 1), d = (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]);

	static_assert(sizeof(c->body) == 3 * sizeof(pair), "that is all of it");
	return !(d[0] | d[1]) && c->rec.thread == rec->thread;
}

static void tell_another(const struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_op *op)
{
	struct gsb_compact_launch *c = gsb_trace_begin();

	gsb_compact_begin(&c->head, GSB_COMPACT_LAUNCH, sizeof(*c));
	c->head.tenant = t->id;
	c->serial = op->serial;
	c->post_device_ns = op->post_ns;
	c->posted_ns = rec->stamp;
	memcpy(&c->rec, rec, sizeof(c->rec));
	memcpy(&c->body, rec + 1, sizeof(c->body));
	if (t->clock->is_virtual) /* each has a device time of its own */
		gsb_trace_end(&c->head, c + 1);
	else
		gsb_trace_end_open(&c->head, c + 1, op->stream);
}

/* It was queued by that record, and nothing has looked at it yet. */
static inline void tell_queued(const struct gsb_tenant *t, const struct gsb_rec *rec,
			       struct gsb_op *op)
{
	struct gsb_compact_again *more;

	gsb_op_number_new(op);
	more = gsb_trace_begin();
	if (gsb_trace_is_open(op->stream) &&
	    is_alike((const struct gsb_compact_launch *)gsb_trace_ring.open, rec)) {
		more->time_ns = gsb_clock_count();
		more->posted_ns = rec->stamp;
		gsb_trace_add_more(sizeof(*more));
	} else {
		tell_another(t, rec, op);
	}
}

static void tell_copy(const struct gsb_op *op)
{
	const struct gsb_item *item = gsb_container_of(op, struct gsb_item, op);
	const struct gsb_cmd_copy *c = &item->cmd.copy;

	gsb_trace_tell(COPY, copy, tenant_id(item), .serial = op->serial,
		       .bytes = c->width * c->height, .dst = c->dst, .src = c->src,
		       .n_rows = c->height < UINT32_MAX ? (uint32_t)c->height : UINT32_MAX,
		       .to = item->dst_place, .from = item->src_place);
}

static void tell_fill(const struct gsb_op *op)
{
	const struct gsb_item *item = gsb_container_of(op, struct gsb_item, op);
	const struct gsb_cmd_fill *f = &item->cmd.fill;

	gsb_trace_tell(FILL, fill, tenant_id(item), .serial = op->serial,
		       .bytes = f->width * f->height * f->elem_bytes, .dst = f->dst);
}

/* ---- memory of other contexts ---- */

/*
 * An item that names memory of other contexts counts as work of theirs, too: what they free, and their own end, waits for it as for
 * any other. It lies behind the item's payload, in those alone that have it.
 */
struct holds {
	unsigned n;
	struct {
		struct gsb_order *order;
		struct gsb_fence *fence;
	} of[GSB_MEMORY_OWNERS_MAX];
};

static struct holds *holds_of(struct gsb_op *op)
{
	return (struct holds *)(void *)((uint8_t *)op + op->bytes - sizeof(struct holds));
}

static struct holds hold(const struct gsb_memory_user *user)
{
	struct holds h = {.n = user->n_owners};

	for (unsigned i = 0; i < h.n; i++) {
		h.of[i].order = &user->owners[i]->order;
		h.of[i].fence = gsb_fence_hold(h.of[i].order);
	}
	return h;
}

static void release(const struct holds *h)
{
	for (unsigned i = 0; i < h->n; i++)
		gsb_fence_release(h->of[i].order, h->of[i].fence);
}

static void let_go(struct gsb_op *op, uint64_t time_ns)
{
	const struct holds h = *holds_of(op);

	release(&h);
}

/* ---- kinds ---- */

static const struct gsb_op_class launch_class = {.kind = GSB_TRACE_OP_LAUNCH,
						 .start = start_launch,
						 .withdraw = withdraw,
						 .tell = tell_launch};
static const struct gsb_op_class copy_class = {
	.kind = GSB_TRACE_OP_COPY, .start = start, .withdraw = withdraw, .tell = tell_copy};
static const struct gsb_op_class fill_class = {
	.kind = GSB_TRACE_OP_FILL, .start = start, .withdraw = withdraw, .tell = tell_fill};
/* The same with memory of other contexts. */
static const struct gsb_op_class copy_across_class = {.kind = GSB_TRACE_OP_COPY,
						      .start = start,
						      .withdraw = withdraw,
						      .tell = tell_copy,
						      .finish = let_go};
static const struct gsb_op_class fill_across_class = {.kind = GSB_TRACE_OP_FILL,
						      .start = start,
						      .withdraw = withdraw,
						      .tell = tell_fill,
						      .finish = let_go};

/* ---- records ---- */

/* A new item for the stream; NULL: there is no room now. */
static GSB_ALWAYS_INLINE struct gsb_item *begin(struct gsb_tenant *t, struct gsb_stream *s,
						const struct gsb_op_class *class, uint32_t payload)
{
	struct gsb_item *item = gsb_op_create(&t->queues, class, sizeof(*item), payload);

	if (!item)
		return NULL;
	item->op.post_ns = gsb_tenant_post_ns(t);
	item->scheduler = t->scheduler;
	item->cmd.space = gsb_ctx_of(s->order)->space;
	item->cmd.urgent = t->claim.critical;
	return item;
}

static GSB_ALWAYS_INLINE int push(struct gsb_stream *s, struct gsb_item *item)
{
	int err = gsb_stream_push(s, &item->op);

	if (err)
		gsb_op_discard(s->queues, &item->op);
	else if (item->scheduler->runs)
		gsb_run_queued(item);
	return err;
}

/* A copy or a fill that was checked. */
static GSB_NOINLINE struct gsb_item *begin_transfer(struct gsb_tenant *t, struct gsb_stream *s,
						    const struct gsb_memory_user *user,
						    enum gsb_cmd_kind kind, uint32_t payload)
{
	static const struct gsb_op_class *const classes[2][2] = {{&copy_class, &copy_across_class},
								 {&fill_class, &fill_across_class}};
	const bool across = user->n_owners;
	struct gsb_item *item;

	if (across)
		payload = (uint32_t)gsb_round_up(payload, _Alignof(struct holds)) +
			  sizeof(struct holds);
	item = begin(t, s, classes[kind == GSB_CMD_FILL][across], payload);
	if (item)
		item->cmd.kind = kind;
	return item;
}

static GSB_NOINLINE int push_transfer(struct gsb_stream *s, struct gsb_item *item,
				      const struct gsb_memory_user *user)
{
	struct holds h;
	int err;

	if (!user->n_owners)
		return push(s, item);
	h = hold(user);
	*holds_of(&item->op) = h;
	err = push(s, item);
	if (err)
		release(&h);
	return err;
}

static inline bool has_threads(const struct gsb_rec_launch *b)
{
	return b->grid[0] && b->grid[1] && b->grid[2] && b->block[0] && b->block[1] && b->block[2];
}

static bool are_clusters_ok(struct gsb_tenant *t, const struct gsb_rec_launch *b)
{
	uint32_t size = 1;

	if (!(b->flags & GSB_LAUNCH_IN_CLUSTERS))
		return true;
	for (int i = 0; i < 3; i++) {
		uint32_t n = gsb_launch_blocks(b->flags, i);

		if (!n || b->grid[i] % n)
			return false;
		size *= n;
	}
	return size <= GSB_CLUSTER_MAX &&
	       t->dev->ops->info(t->dev)->attrs[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH];
}

static GSB_ALWAYS_INLINE int check_launch(struct gsb_tenant *t, const struct gsb_rec *rec,
					  const struct gsb_rec_launch *b,
					  const struct gsb_kernel_fn *fn,
					  const struct gsb_stream *s)
{
	if (!fn || (s && &fn->module->ctx->order != s->order))
		return gsb_no_such(t, rec, "function", b->function);
	if (b->params_bytes != fn->params_bytes || b->params_bytes > gsb_rec_tail_bytes(rec))
		return gsb_violation(t,
				     "Launch with %u bytes of parameters in a record of %u; the "
				     "kernel takes %u",
				     b->params_bytes, rec->size, fn->params_bytes);
	if (!has_threads(b))
		return gsb_violation(t, "Launch of a grid without threads");
	if (b->flags & ~(GSB_LAUNCH_COOPERATIVE | GSB_LAUNCH_IN_CLUSTERS))
		return gsb_violation(t, "Launch with flags %#x", b->flags);
	if (!are_clusters_ok(t, b))
		return gsb_violation(t, "Launch of %ux%ux%u blocks in clusters of %ux%ux%u",
				     b->grid[0], b->grid[1], b->grid[2],
				     gsb_launch_blocks(b->flags, 0), gsb_launch_blocks(b->flags, 1),
				     gsb_launch_blocks(b->flags, 2));
	return s ? 0 : gsb_no_such(t, rec, "stream", rec->stream);
}

/* Once for each @told: who is not listened to pays nothing for it. */
static GSB_ALWAYS_INLINE int take_launch(struct gsb_tenant *t, const struct gsb_rec *rec,
					 const struct gsb_rec_launch *b, bool told)
{
	struct gsb_kernel_fn *fn = gsb_code_find_function(t, b->function);
	struct gsb_stream *s = gsb_stream_find(&t->queues, rec->stream);
	struct gsb_item *item;
	int err = check_launch(t, rec, b, fn, s);

	if (!err && fn->state == GSB_FN_NEW)
		err = gsb_code_prepare(t, fn);
	if (err)
		return err;
	item = begin(t, s, &launch_class, b->params_bytes);
	if (!item)
		return -EAGAIN;
	memcpy(item->payload, b + 1, b->params_bytes);
	item->fn = fn;
	item->cmd.kind = GSB_CMD_LAUNCH;
	item->cmd.launch = (struct gsb_cmd_launch){
		.function = fn->function,
		.grid = {b->grid[0], b->grid[1], b->grid[2]},
		.block = {b->block[0], b->block[1], b->block[2]},
		.smem_bytes = b->smem_bytes,
		.cooperative = b->flags & GSB_LAUNCH_COOPERATIVE,
		.cluster = {gsb_launch_blocks(b->flags, 0), gsb_launch_blocks(b->flags, 1),
			    gsb_launch_blocks(b->flags, 2)},
		.params = item->payload,
		.params_bytes = b->params_bytes,
	};
	err = push(s, item);
	t->stats.launches += !err;
	if (told && !err)
		tell_queued(t, rec, &item->op);
	return err;
}

int gsb_item_launch(struct gsb_tenant *t, const struct gsb_rec *rec, const struct gsb_rec_launch *b)
{
	return take_launch(t, rec, b, false);
}

int gsb_item_launch_told(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_launch *b)
{
	return take_launch(t, rec, b, true);
}

int gsb_item_copy(struct gsb_tenant *t, const struct gsb_rec *rec, const struct gsb_rec_copy *b)
{
	bool is_inline = b->src_place == GSB_PLACE_INLINE;
	uint32_t payload = is_inline ? gsb_rec_tail_bytes(rec) : 0;
	struct gsb_stream *s = gsb_stream_find(&t->queues, rec->stream);
	struct gsb_memory_user user = {0};
	struct gsb_cmd_copy cmd;
	struct gsb_item *item;
	int err;

	if (!s)
		return gsb_no_such(t, rec, "stream", rec->stream);
	if (!b->width || !b->height) /* ordered like others */
		return gsb_stream_push_nop(s, gsb_tenant_post_ns(t));
	user.ctx = gsb_ctx_of(s->order);
	err = gsb_memory_check_copy(&user, b, payload, &cmd);
	if (err)
		return err;
	item = begin_transfer(t, s, &user, GSB_CMD_COPY, payload);
	if (!item)
		return -EAGAIN;
	item->src_place = (uint8_t)b->src_place;
	item->dst_place = (uint8_t)b->dst_place;
	item->cmd.copy = cmd;
	if (is_inline) {
		memcpy(item->payload, b + 1, payload);
		item->cmd.copy.src = (uint64_t)(uintptr_t)item->payload;
	}
	return push_transfer(s, item, &user);
}

int gsb_item_fill(struct gsb_tenant *t, const struct gsb_rec *rec, const struct gsb_rec_fill *b)
{
	struct gsb_stream *s = gsb_stream_find(&t->queues, rec->stream);
	struct gsb_memory_user user = {0};
	struct gsb_cmd_fill cmd;
	struct gsb_item *item;
	int err;

	if (!s)
		return gsb_no_such(t, rec, "stream", rec->stream);
	if (!b->width || !b->height) /* ordered like others */
		return gsb_stream_push_nop(s, gsb_tenant_post_ns(t));
	user.ctx = gsb_ctx_of(s->order);
	err = gsb_memory_check_fill(&user, b, &cmd);
	if (err)
		return err;
	item = begin_transfer(t, s, &user, GSB_CMD_FILL, 0);
	if (!item)
		return -EAGAIN;
	item->cmd.fill = cmd;
	return push_transfer(s, item, &user);
}
