/*
 * memory.c - device memory, and what memory a context has. See memory.h.
 */
#include "broker/engine/memory/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/err.h"
#include "broker/engine/memory/account.h"
#include "broker/engine/memory/grant.h"
#include "broker/engine/memory/host.h"
#include "broker/engine/memory/kept.h"
#include "broker/engine/memory/share.h"
#include "broker/engine/order/fence.h"
#include "broker/engine/order/stream.h"
#include "broker/engine/tenant/tenant.h"

#define STACK_UNIT 16
#define STACK_MAX  (512u << 10) /* what a thread can have of local memory */

/* ---- calls that wait for device memory ---- */

/* A call that is answered when gsbrokerd has said whether there is so much. */
struct waiting_call {
	struct gsb_grant_wait wait;
	struct gsb_ctx *ctx;
	struct gsb_rec call;
	uint64_t size;
	struct gsb_array array; /* what of; width 0: plain memory */
	bool *waits;		/* true until it does no longer; NULL: nobody asks */
	void (*go_on)(const struct waiting_call *c);
};

static void alloc_granted(const struct waiting_call *c);

static void note_allocated(struct gsb_tenant *t, uint64_t addr, uint64_t bytes, int err)
{
	t->stats.n_mem_refused += err != 0;
	gsb_trace(ALLOCATED, allocated, t->id, .addr = addr, .bytes = bytes, .error = err,
		  .memory = GSB_TRACE_MEMORY_DEVICE);
}

static void waited(struct gsb_grant_wait *w, int err)
{
	struct waiting_call *c = gsb_container_of(w, struct waiting_call, wait);
	struct gsb_tenant *t = c->ctx->tenant;

	gsb_tenant_job_end(t);
	gsb_trace(GRANT_ANSWERED, grant_answered, t->id, .bytes = w->bytes,
		  .granted_bytes = t->grant->granted, .error = err);
	if (c->waits)
		*c->waits = false;
	if (err && err != -ECANCELED && c->go_on == alloc_granted)
		note_allocated(t, 0, c->size, err);
	if (err == -ECANCELED)
		gsb_tenant_reply(t, &c->call, CUDA_ERROR_CONTEXT_IS_DESTROYED, 0);
	else if (err)
		gsb_tenant_fail_call(t, &c->call, err);
	else
		c->go_on(c);
	free(c);
}

/* A copy of want goes on when what it waits for is there. */
static int wait_for_grant(const struct waiting_call *want)
{
	struct gsb_tenant *t = want->ctx->tenant;
	struct waiting_call *c = malloc(sizeof(*c));

	if (!c)
		return gsb_tenant_fail_call(t, &want->call, -ENOMEM);
	*c = *want;
	if (c->waits)
		*c->waits = true;
	c->wait.owner = c->ctx;
	c->wait.done = waited;
	gsb_tenant_job_begin(t);
	gsb_trace(GRANT_ASKED, grant_asked, t->id, .bytes = c->wait.bytes,
		  .granted_bytes = t->grant->granted);
	gsb_grant_take(t->grant, &c->wait);
	return 0;
}

/* ---- device memory ---- */

int gsb_memory_check_limit(struct gsb_tenant *t, uint64_t bytes)
{
	if (!gsb_memory_is_over(t, bytes) ||
	    (gsb_kept_give_back(t) && !gsb_memory_is_over(t, bytes)))
		return 0;
	gsb_trace(QUOTA, quota, t->id, .bytes = bytes, .used_bytes = t->device_used_bytes,
		  .limit_bytes = t->limits.device_mem_bytes);
	return -EDQUOT;
}

int gsb_memory_charge(struct gsb_tenant *t, uint64_t bytes)
{
	int err = gsb_memory_check_limit(t, bytes);

	if (!err)
		gsb_memory_add_used(t, bytes);
	return err;
}

int gsb_memory_use(struct gsb_ctx *ctx, uint64_t bytes)
{
	int err = gsb_memory_charge(ctx->tenant, bytes);

	if (!err)
		ctx->device_used_bytes += bytes;
	return err;
}

/* What the device is asked for; it is granted already. */
struct allocation {
	struct gsb_later later; /* first */
	uint64_t size;
	struct gsb_array array; /* what of; width 0: plain memory */
	bool reclaimed;
	uint64_t addr; /* when it is there */
	void (*have)(struct gsb_ctx *ctx, uint64_t addr);
};

static struct allocation *to_allocation(struct gsb_later *l)
{
	return gsb_container_of(l, struct allocation, later);
}

static int ask_device_once(struct allocation *a)
{
	const struct gsb_device_ops *ops = a->later.tenant->dev->ops;
	struct gsb_space *space = a->later.ctx->space;

	return a->array.width && ops->array_alloc ? ops->array_alloc(space, &a->array, &a->addr)
						  : ops->mem_alloc(space, a->size, &a->addr);
}

/* Room that is granted may be in pieces between what is kept. */
static int ask_device(struct gsb_later *l)
{
	struct allocation *a = to_allocation(l);
	int err = ask_device_once(a);

	if (err == -ENOMEM && !a->reclaimed && gsb_grant_reclaim(l->tenant->grant)) {
		a->reclaimed = true;
		err = ask_device_once(a);
	}
	return err;
}

/* What of it a record may name. */
static uint64_t live_bytes(const struct allocation *a)
{
	return a->array.width ? gsb_array_bytes(&a->array) : a->size;
}

/* The device has given it. If that is in vain it has it back. */
static int take_into_maps(const struct allocation *a)
{
	struct gsb_ctx *ctx = a->later.ctx;
	struct gsb_tenant *t = ctx->tenant;
	int err = gsb_ranges_add(&ctx->device_taken, a->addr, a->size);

	if (err)
		goto err_taken;
	err = gsb_ranges_add(&ctx->device_live, a->addr, live_bytes(a));
	if (err)
		goto err_live;
	err = gsb_memory_use(ctx, gsb_memory_cost(t, a->size));
	if (err)
		goto err_use;
	return 0;
err_use:
	gsb_ranges_remove(&ctx->device_live, a->addr, &(struct gsb_range){0});
err_live:
	gsb_ranges_remove(&ctx->device_taken, a->addr, &(struct gsb_range){0});
err_taken:
	t->dev->ops->mem_free(ctx->space, a->addr);
	return err;
}

static void have_of_engine(struct gsb_later *l, int err)
{
	struct allocation *a = to_allocation(l);
	uint64_t bytes = gsb_memory_cost(l->tenant, a->size);

	if (!err) {
		err = gsb_memory_use(l->ctx, bytes);
		if (err)
			l->tenant->dev->ops->mem_free(l->ctx->space, a->addr);
	}
	if (err)
		gsb_grant_give(l->tenant->grant, bytes);
	a->have(l->ctx, err ? 0 : a->addr);
}

void gsb_memory_of_engine(struct gsb_ctx *ctx, uint64_t size,
			  void (*have)(struct gsb_ctx *ctx, uint64_t addr))
{
	struct gsb_tenant *t = ctx->tenant;
	struct allocation a = {
		.later = {.tenant = t, .ctx = ctx, .ask = ask_device, .done = have_of_engine},
		.size = size,
		.have = have,
	};

	if (gsb_grant_try_at_once(t->grant, gsb_memory_cost(t, size)))
		gsb_later_run(&a.later, sizeof(a));
	else
		have(ctx, 0);
}

static void allocated(struct gsb_later *l, int err)
{
	struct allocation *a = to_allocation(l);
	struct gsb_reply_range range = {.size = live_bytes(a)};

	if (!err)
		err = take_into_maps(a);
	note_allocated(l->tenant, err ? 0 : a->addr, a->size, err);
	if (err) {
		gsb_grant_give(l->tenant->grant, gsb_memory_cost(l->tenant, a->size));
		gsb_tenant_fail_call(l->tenant, &l->call, err);
		return;
	}
	range.addr = a->addr;
	gsb_tenant_reply_with(l->tenant, &l->call, &range, sizeof(range));
}

static void alloc_granted(const struct waiting_call *c)
{
	struct allocation a = {
		.later = {.tenant = c->ctx->tenant,
			  .ctx = c->ctx,
			  .call = c->call,
			  .ask = ask_device,
			  .done = allocated},
		.size = c->size,
		.array = c->array,
	};

	gsb_later_run(&a.later, sizeof(a));
}

/* So much, of a context that is there or not. err: what is wrong with the size. */
static int allocate(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t ctx, int err,
		    struct waiting_call *want)
{
	want->ctx = gsb_ctx_find(t, ctx);
	want->call = *rec;
	want->go_on = alloc_granted;
	if (!want->ctx)
		return gsb_no_such(t, rec, "context", ctx);
	if (!err) {
		want->wait.bytes = gsb_memory_cost(t, want->size);
		err = gsb_memory_check_limit(t, want->wait.bytes);
	}
	if (err) {
		note_allocated(t, 0, want->size, err);
		return gsb_tenant_fail_call(t, rec, err);
	}
	if (!gsb_grant_try(t->grant, want->wait.bytes))
		return wait_for_grant(want);
	alloc_granted(want);
	return 0;
}

int gsb_memory_alloc(struct gsb_tenant *t, const struct gsb_rec *rec,
		     const struct gsb_rec_mem_alloc *body)
{
	struct waiting_call want = {.size = body->size};

	return allocate(t, rec, body->ctx, body->size ? 0 : -EINVAL, &want);
}

int gsb_memory_alloc_array(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_array_alloc *body)
{
	const struct gsb_device_ops *ops = t->dev->ops;
	struct waiting_call want = {.array = body->array};
	bool sane = gsb_array_is_sane(&body->array);

	if (sane)
		want.size = ops->array_bytes ? ops->array_bytes(t->dev, &body->array)
					     : gsb_array_bytes(&body->array);
	return allocate(t, rec, body->ctx, sane ? 0 : -EINVAL, &want);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * What is left to the tenant of its limit, or to all of the device if that is less. What is kept counts as free, as natively: it is given
 * back before this tenant is refused.
 */
static void answer_info(struct gsb_later *l, int err)
{
	struct gsb_tenant *t = l->tenant;
	struct gsb_reply_mem_info info;
	uint64_t limit = t->limits.device_mem_bytes, used, left;

	if (err) {
		gsb_tenant_fail_call(t, &l->call, err);
		return;
	}
	t->dev->ops->mem_info(t->dev, &info.free_bytes, &info.total_bytes);
	info.free_bytes += t->grant->kept;
	if (limit && limit < info.total_bytes)
		info.total_bytes = limit;
	used = t->device_used_bytes - gsb_kept_bytes(t);
	left = info.total_bytes > used ? info.total_bytes - used : 0;
	info.free_bytes = least(info.free_bytes, least(left, gsb_grant_free(t->grant)));
	gsb_tenant_reply_with(t, &l->call, &info, sizeof(info));
}

static int await_settled(struct gsb_later *l)
{
	struct gsb_device *dev = l->tenant->dev;

	return !dev->ops->is_settled || dev->ops->is_settled(dev, gsb_tenant_owner(l->tenant))
		       ? 0
		       : -EINPROGRESS;
}

static void have_figures(const struct waiting_call *c)
{
	struct gsb_later l = {
		.tenant = c->ctx->tenant,
		.ctx = c->ctx,
		.call = c->call,
		.ask = await_settled,
		.done = answer_info,
	};

	gsb_later_run(&l, sizeof(l));
}

int gsb_memory_info(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t handle)
{
	struct waiting_call want = {
		.wait.figures = true,
		.ctx = gsb_ctx_find(t, handle),
		.call = *rec,
		.go_on = have_figures,
	};

	if (!want.ctx)
		return gsb_no_such(t, rec, "context", handle);
	if (!t->grant->keep)
		return wait_for_grant(&want);
	have_figures(&want);
	return 0;
}

/* ---- memory that kernels take themselves ---- */

static uint64_t heap_growth(const struct gsb_ctx *ctx, uint64_t size)
{
	uint64_t bytes = gsb_memory_cost(ctx->tenant, size);

	return ctx->heap_bytes && bytes > ctx->heap_bytes ? bytes - ctx->heap_bytes : 0;
}

struct resizing {
	struct gsb_later later; /* first */
	uint64_t size, more;
	struct gsb_reply_number answer;
};

static int ask_for_heap(struct gsb_later *l)
{
	struct resizing *r = gsb_container_of(l, struct resizing, later);

	return l->tenant->dev->ops->heap_size(l->ctx->space, r->size, &r->answer.number);
}

static void heap_resized(struct gsb_later *l, int err)
{
	const struct resizing *r = gsb_container_of(l, struct resizing, later);
	struct gsb_ctx *ctx = l->ctx;
	uint64_t bytes =
		err ? ctx->heap_bytes - r->more : gsb_memory_cost(l->tenant, r->answer.number);

	ctx->heap_grows = false;
	if (ctx->heap_bytes > bytes) {
		gsb_memory_unuse(ctx, ctx->heap_bytes - bytes);
		ctx->heap_bytes = bytes;
	}
	gsb_later_reply(l, err, &r->answer, sizeof(r->answer));
}

/* What it takes more than now is granted. A heap that nothing needs yet takes nothing. */
static void resize_heap(const struct waiting_call *c)
{
	struct gsb_ctx *ctx = c->ctx;
	struct gsb_tenant *t = ctx->tenant;
	struct resizing r = {
		.later = {.tenant = t,
			  .ctx = ctx,
			  .call = c->call,
			  .ask = ask_for_heap,
			  .done = heap_resized},
		.size = c->size,
		.more = heap_growth(ctx, c->size),
	};
	int err = gsb_memory_use(ctx, r.more);

	if (err) {
		gsb_grant_give(t->grant, r.more);
		gsb_tenant_fail_call(t, &c->call, err);
		return;
	}
	ctx->heap_bytes += r.more;
	ctx->heap_grows = true;
	gsb_later_run(&r.later, sizeof(r));
}

static int limit_heap(struct gsb_ctx *ctx, const struct gsb_rec *rec, uint64_t size)
{
	struct gsb_tenant *t = ctx->tenant;
	struct waiting_call want = {.wait.bytes = heap_growth(ctx, size),
				    .ctx = ctx,
				    .call = *rec,
				    .size = size,
				    .waits = &ctx->heap_grows,
				    .go_on = resize_heap};
	int err = gsb_memory_check_limit(t, want.wait.bytes);

	if (!t->dev->ops->heap_size)
		err = -ENOTSUP;
	else if (ctx->heap_grows) /* by another thread's call */
		err = -ENOMEM;
	if (err)
		return gsb_tenant_fail_call(t, rec, err);
	if (want.wait.bytes && !gsb_grant_try(t->grant, want.wait.bytes))
		return wait_for_grant(&want);
	resize_heap(&want);
	return 0;
}

static void stack_limited(struct gsb_later *l, int err)
{
	const struct resizing *r = gsb_container_of(l, struct resizing, later);

	gsb_later_reply(l, err, &r->answer, sizeof(r->answer));
}

/* The device need not answer, but it has to have done it: else who asks without end would have so much kept for a device that is slow. */
static int limit_stack(struct gsb_ctx *ctx, const struct gsb_rec *rec, uint64_t bytes)
{
	const struct gsb_device_ops *ops = ctx->tenant->dev->ops;
	struct resizing r = {
		.later = {.tenant = ctx->tenant,
			  .ctx = ctx,
			  .call = *rec,
			  .ask = await_settled,
			  .done = stack_limited},
		.answer = {.number = gsb_round_up(bytes, STACK_UNIT)},
	};

	if (bytes > STACK_MAX)
		return gsb_tenant_fail_call(ctx->tenant, rec, -EINVAL);
	if (ops->stack_size)
		ops->stack_size(ctx->space, r.answer.number);
	gsb_later_run(&r.later, sizeof(r));
	return 0;
}

int gsb_memory_of_kernels(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_kernel_memory *body)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, body->ctx);

	if (!ctx)
		return gsb_no_such(t, rec, "context", body->ctx);
	if (body->which >= GSB_N_KERNEL_MEMORIES)
		return gsb_no_such(t, rec, "memory of kernels", body->which);
	return body->which == GSB_KERNEL_HEAP ? limit_heap(ctx, rec, body->bytes)
					      : limit_stack(ctx, rec, body->bytes);
}

int gsb_memory_add_global(struct gsb_ctx *ctx, uint64_t addr, uint64_t size)
{
	return gsb_ranges_add(&ctx->device_live, addr, size);
}

void gsb_memory_remove_global(struct gsb_ctx *ctx, uint64_t addr)
{
	gsb_ranges_remove(&ctx->device_live, addr, &(struct gsb_range){0});
}

/* ---- contexts ---- */

void gsb_memory_ctx_init(struct gsb_ctx *ctx)
{
	gsb_ranges_init(&ctx->device_taken, ctx->window_base, ctx->window_size);
	gsb_ranges_init(&ctx->device_live, 0,
			UINT64_MAX); /* variables lie where the device has put them */
	gsb_memory_host_ctx_init(ctx);
}

int gsb_memory_ctx_pin(struct gsb_ctx *ctx, uint64_t *from)
{
	return gsb_memory_host_ctx_pin(ctx, from);
}

int gsb_memory_ctx_retire(struct gsb_ctx *ctx)
{
	int err = gsb_memory_host_ctx_retire(ctx);

	if (!err)
		gsb_kept_ctx_retire(ctx);
	return err;
}

void gsb_memory_ctx_cancel(struct gsb_ctx *ctx)
{
	gsb_grant_cancel(ctx->tenant->grant, ctx);
}

void gsb_memory_ctx_finish(struct gsb_ctx *ctx)
{
	gsb_kept_ctx_finish(ctx);
	gsb_memory_host_ctx_finish(ctx);
	gsb_ranges_finish(&ctx->device_taken);
	gsb_ranges_finish(&ctx->device_live);
}
