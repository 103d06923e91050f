/*
 * host.c - pinned host memory: a window of the tenant's at one address on both sides, and for every context.
 */
#include "broker/engine/memory/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/compiler.h"
#include "base/log.h"
#include "broker/engine/memory/alias.h"
#include "broker/engine/memory/drain.h"
#include "broker/engine/memory/kept.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/memory/pinner.h"
#include "broker/engine/memory/puncher.h"
#include "broker/engine/order/fence.h"
#include "broker/engine/tenant/tenant.h"
#include "shm/region.h"

#define HOST_PAGE_BYTES GSB_WINDOW_PAGE

/* ---- in the spaces of contexts ---- */

static void unpin_space(const struct gsb_ctx *ctx, uint64_t addr, uint64_t size)
{
	if (ctx && ctx->space)
		ctx->tenant->dev->ops->host_unpin(ctx->space, addr, size);
}

static void unpin_spaces(struct gsb_tenant *t, uint64_t addr, uint64_t size, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		unpin_space(t->ctxs[i], addr, size);
}

bool gsb_memory_may_pin(struct gsb_tenant *t, struct gsb_later *l)
{
	if (!t->pinning)
		t->pinning = l;
	return t->pinning == l;
}

void gsb_memory_pinned(struct gsb_tenant *t, const struct gsb_later *l)
{
	if (t->pinning == l)
		t->pinning = NULL;
}

void gsb_memory_host_ctx_init(struct gsb_ctx *ctx)
{
	struct gsb_tenant *t = ctx->tenant;

	if (t->features & GSB_FEATURE_HOST_WINDOW)
		gsb_ranges_init(&ctx->host_owned, gsb_host_window_base(t->slot),
				t->limits.host_mem_bytes);
}

/* The first from there on. NULL: there is none. */
static const struct gsb_range *next_of(const struct gsb_ranges *r, uint64_t from)
{
	for (size_t i = 0; i < r->n_items; i++)
		if (r->items[i].start >= from)
			return &r->items[i];
	return NULL;
}

/* What is freed and kept may be had again at any time. */
static const struct gsb_range *next_pinned(const struct gsb_tenant *t, uint64_t from)
{
	const struct gsb_range *live = next_of(&t->host_live, from);
	const struct gsb_range *kept = next_of(&t->host_kept, from);

	return !live || (kept && kept->start < live->start) ? kept : live;
}

int gsb_memory_host_ctx_pin(struct gsb_ctx *ctx, uint64_t *from)
{
	const struct gsb_range *r;
	int err = 0;

	while (!err && (r = next_pinned(ctx->tenant, *from))) {
		err = ctx->tenant->dev->ops->host_pin(ctx->space, r->start, r->size);
		if (!err)
			*from = r->start + r->size;
	}
	return err;
}

/* ---- allocations ---- */

static int take_numbers(struct gsb_tenant *t, uint64_t size, uint64_t align, uint64_t *addr)
{
	return gsb_ranges_alloc(&t->host_taken, gsb_round_up(size, HOST_PAGE_BYTES), align, 0,
				addr);
}

/* Numbers in the window, which nothing may name yet. */
int gsb_memory_host_take(struct gsb_tenant *t, uint64_t size, uint64_t align, uint64_t *addr)
{
	int err;

	if (!(t->features & GSB_FEATURE_HOST_WINDOW))
		return -ENOTSUP;
	if (!size || size > t->limits.host_mem_bytes)
		return size ? -ENOMEM : -EINVAL;
	err = take_numbers(t, size, align, addr);
	if (err == -ENOMEM && gsb_kept_give_back_host(t) && !gsb_memory_host_is_going(t))
		err = take_numbers(t, size, align, addr); /* they were given at once */
	return err == -ENOMEM && (gsb_memory_host_is_going(t) || gsb_kept_host_waits(t)) ? -EAGAIN
											 : err;
}

void gsb_memory_host_count(struct gsb_tenant *t, uint64_t size)
{
	t->host_used_bytes += size;
	if (t->host_used_bytes > t->stats.host_mem_peak_bytes)
		t->stats.host_mem_peak_bytes = t->host_used_bytes;
}

void gsb_memory_host_drop(struct gsb_tenant *t, uint64_t addr)
{
	gsb_ranges_remove(&t->host_taken, addr, &(struct gsb_range){0});
}

/* The allocations of a context, or those of the process, which stay when all contexts have gone. */
static struct gsb_ranges *owned_by(struct gsb_tenant *t, struct gsb_ctx *ctx)
{
	return ctx ? &ctx->host_owned : &t->host_owned;
}

static void answer_alloc(struct gsb_tenant *t, const struct gsb_rec *call, uint64_t size,
			 uint64_t addr, int err)
{
	struct gsb_reply_range range = {.addr = addr, .size = size};

	t->stats.n_mem_refused += err != 0;
	gsb_trace(ALLOCATED, allocated, t->id, .addr = err ? 0 : addr, .bytes = size, .error = err,
		  .memory = GSB_TRACE_MEMORY_PINNED);
	if (err)
		gsb_tenant_fail_call(t, call, err);
	else
		gsb_tenant_reply_with(t, call, &range, sizeof(range));
}

/* Memory of an owner that is made; its numbers are taken. */
struct pinning {
	struct gsb_later later; /* first */
	struct gsb_ranges *owned;
	uint64_t addr, size; /* whole pages */
	uint64_t asked;	     /* bytes */
	uint32_t i;	     /* the context that is next */
};

/* Pinned memory is for every context of its process, as with unified addressing. */
static int pin_spaces(struct gsb_later *l)
{
	struct pinning *p = gsb_container_of(l, struct pinning, later);
	struct gsb_tenant *t = l->tenant;
	int err = gsb_memory_may_pin(t, l) ? 0 : -EINPROGRESS;

	while (!err && p->i < GSB_N_CTXS) {
		struct gsb_ctx *ctx = t->ctxs[p->i];

		err = ctx ? t->dev->ops->host_pin(ctx->space, p->addr, p->size) : 0;
		p->i += !err;
	}
	return err;
}

/* Nothing that ends needs it any more. */
static int add_pinned(struct gsb_tenant *t, const struct pinning *p)
{
	int err = t->state == GSB_TENANT_LEAVING || p->later.ctx->order.closed
			  ? -ECANCELED
			  : gsb_ranges_add(&t->host_live, p->addr, p->size);

	if (err)
		return err;
	err = gsb_ranges_add(p->owned, p->addr, p->size);
	if (err) {
		gsb_ranges_remove(&t->host_live, p->addr, &(struct gsb_range){0});
		return err;
	}
	gsb_memory_host_count(t, p->size);
	return 0;
}

static void let_go(struct gsb_tenant *t, uint64_t addr, uint64_t size);

/* If it is in vain it is given back. */
static void spaces_pinned(struct gsb_later *l, int err)
{
	const struct pinning *p = gsb_container_of(l, struct pinning, later);
	struct gsb_tenant *t = l->tenant;

	gsb_memory_pinned(t, l);
	if (!err)
		err = add_pinned(t, p);
	if (err) {
		unpin_spaces(t, p->addr, p->size, p->i);
		let_go(t, p->addr, p->size);
	}
	answer_alloc(t, &l->call, p->asked, p->addr, err);
}

/* What is asked for, with numbers. */
struct wanted {
	struct gsb_ctx *ctx;
	struct gsb_ranges *owned; /* of whose it will be */
	struct gsb_rec call;
	uint64_t asked, addr, size; /* bytes; whole pages */
	uint64_t shared[2];	    /* as gsb_alias_make() has them */
};

static void make_pinned(const struct wanted *w)
{
	struct pinning p = {
		.later = {.tenant = w->ctx->tenant,
			  .ctx = w->ctx,
			  .call = w->call,
			  .ask = pin_spaces,
			  .done = spaces_pinned},
		.owned = w->owned,
		.addr = w->addr,
		.size = w->size,
		.asked = w->asked,
	};

	gsb_later_run(&p.later, sizeof(p));
}

static void fail(const struct wanted *w, int err)
{
	let_go(w->ctx->tenant, w->addr, w->size);
	answer_alloc(w->ctx->tenant, &w->call, w->asked, w->addr, err);
}

static struct gsb_host_window window_of(const struct gsb_tenant *t)
{
	return (struct gsb_host_window){.dev = t->dev,
					.owner = gsb_tenant_owner(t),
					.base = t->host_taken.base,
					.fd = t->host_fd};
}

/* Memory that a thread makes ready. It counts as work of its context. */
struct preparation {
	struct gsb_pin_job job;
	struct wanted wanted;
	struct gsb_fence *fence;
};

/* What was prepared for nobody has to be pinned all the same, to be given up. */
static void prepared(struct gsb_mail *m)
{
	struct preparation *p = gsb_container_of(m, struct preparation, job.mail);
	struct gsb_ctx *ctx = p->wanted.ctx;
	struct gsb_tenant *t = ctx->tenant;
	struct gsb_fence *fence = p->fence;

	if (p->job.err)
		fail(&p->wanted, p->job.err);
	else
		make_pinned(&p->wanted);
	free(p);
	gsb_tenant_job_end(t);
	gsb_fence_release(&ctx->order, fence);
}

static void prepare(const struct wanted *w)
{
	struct gsb_tenant *t = w->ctx->tenant;
	struct preparation *p = malloc(sizeof(*p));

	if (!p) {
		fail(w, -ENOMEM);
		return;
	}
	*p = (struct preparation){
		.job = {.mail.collected = prepared,
			.owner = gsb_tenant_owner(t),
			.addr = w->addr,
			.size = w->size,
			.window = window_of(t),
			.shared = {w->shared[0], w->shared[1]}},
		.wanted = *w,
		.fence = gsb_fence_hold(&w->ctx->order),
	};
	gsb_tenant_job_begin(t);
	gsb_pinner_give(t->pinner, &p->job);
}

static void make_aliases(const struct wanted *w)
{
	const struct gsb_host_window window = window_of(w->ctx->tenant);
	int err = gsb_alias_make(&window, w->addr, w->size, w->shared);

	if (err)
		fail(w, err);
	else
		make_pinned(w);
}

/* Its context is there. */
static int alloc(struct gsb_tenant *t, struct wanted *w)
{
	int err;

	if (gsb_memory_host_is_going(t))
		return -EAGAIN;
	err = gsb_memory_host_take(t, w->asked, HOST_PAGE_BYTES, &w->addr);
	if (err == -EAGAIN)
		return err;
	if (err) {
		answer_alloc(t, &w->call, w->asked, 0, err);
		return 0;
	}
	w->size = gsb_ranges_find(&t->host_taken, w->addr)->size;
	err = gsb_alias_note(&t->host_aliases, w->addr, w->size, w->shared);
	if (err)
		fail(w, err);
	else if (t->dev->ops->host_prepare)
		prepare(w);
	else
		make_aliases(w);
	return 0;
}

int gsb_memory_host_alloc(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_mem_alloc *body)
{
	struct wanted w = {.ctx = gsb_ctx_find(t, body->ctx), .call = *rec, .asked = body->size};

	if (!w.ctx)
		return gsb_no_such(t, rec, "context", body->ctx);
	w.owned = owned_by(t, body->flags & GSB_HOST_OF_PROCESS ? NULL : w.ctx);
	return alloc(t, &w);
}

/* A page that a record may name. What its tenant frees meanwhile is its own affair, and stays memory of its own. */
static bool is_page(const struct gsb_tenant *t, uint64_t page)
{
	return !(page % HOST_PAGE_BYTES) && gsb_ranges_find(&t->host_live, page);
}

static bool is_sane(const struct gsb_tenant *t, const struct gsb_rec_host_mirror *b)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(b->shared); i++)
		if (b->shared[i] && !is_page(t, b->shared[i]))
			return false;
	return !(b->size % HOST_PAGE_BYTES) && (b->size > HOST_PAGE_BYTES || !b->shared[1]);
}

int gsb_memory_host_mirror(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_host_mirror *body)
{
	struct wanted w = {.ctx = gsb_ctx_find(t, body->ctx),
			   .call = *rec,
			   .asked = body->size,
			   .shared = {body->shared[0], body->shared[1]}};

	if (!w.ctx)
		return gsb_no_such(t, rec, "context", body->ctx);
	if (!is_sane(t, body))
		return gsb_tenant_fail_call(t, rec, -EINVAL);
	w.owned = &w.ctx->host_owned;
	return alloc(t, &w);
}

/* ---- the end of it ---- */

/*
 * Memory of one owner must not be read by the next: the pages go, new ones read as zero. A thread sees to that, for it may wait for the tenant
 * (puncher.h); until then the numbers are taken, and the tenant is not freed.
 */
struct punching {
	struct gsb_punch_job job; /* first */
	struct gsb_tenant *tenant;
};

bool gsb_memory_host_is_going(const struct gsb_tenant *t)
{
	return t->punching;
}

static void note_kept(struct gsb_tenant *t, int err)
{
	gsb_tenant_log(t, GSB_LOG_WARN, "memory",
		       "tenant %u: freed pinned memory keeps its pages: %s", t->id, strerror(-err));
}

static void give_numbers(struct gsb_tenant *t, struct gsb_ranges *freed, int err)
{
	if (err)
		note_kept(t, err);
	for (size_t i = 0; i < freed->n_items; i++)
		gsb_ranges_remove(&t->host_taken, freed->items[i].start, &(struct gsb_range){0});
	gsb_ranges_finish(freed);
}

/* Numbers at which there may still be others' pages are not used again. */
static void keep_numbers(struct gsb_tenant *t, struct gsb_ranges *freed, int err)
{
	gsb_tenant_log(t, GSB_LOG_WARN, "memory",
		       "tenant %u: addresses of freed pinned memory are lost to it: %s", t->id,
		       strerror(-err));
	gsb_ranges_finish(freed);
}

static void punch(struct gsb_tenant *t);

static void punched(struct gsb_punch_job *job)
{
	struct punching *p = gsb_container_of(job, struct punching, job);
	struct gsb_tenant *t = p->tenant;

	t->punching = false;
	if (job->alias_err)
		keep_numbers(t, &job->ranges, job->alias_err);
	else
		give_numbers(t, &job->ranges, job->err);
	for (size_t i = 0; !job->alias_err && i < job->aliases.n_items; i++)
		gsb_ranges_remove(&t->host_aliases, job->aliases.items[i].start,
				  &(struct gsb_range){0});
	gsb_ranges_finish(&job->aliases);
	free(p);
	if (t->host_freed.n_items)
		punch(t);
	gsb_tenant_job_end(t);
}

/* All that was freed until now. */
static int begin_punching(struct gsb_tenant *t, const struct gsb_ranges *freed)
{
	struct punching *p = malloc(sizeof(*p));
	int err = 0;

	if (!p)
		return -ENOMEM;
	*p = (struct punching){
		.job = {.window = window_of(t), .ranges = *freed, .done = punched},
		.tenant = t,
	};
	gsb_ranges_init(&p->job.aliases, freed->base, freed->size);
	for (size_t i = 0; !err && i < freed->n_items; i++)
		err = gsb_alias_find(&t->host_aliases, freed->items[i].start, freed->items[i].size,
				     &p->job.aliases);
	if (!err)
		err = gsb_puncher_give(t->mailbox, &p->job);
	if (err) {
		gsb_ranges_finish(&p->job.aliases);
		free(p);
	}
	return err;
}

/* Of who leaves nothing is used again: its pages go with the file. */
static void punch(struct gsb_tenant *t)
{
	struct gsb_ranges freed = t->host_freed;
	int err;

	if (t->state == GSB_TENANT_LEAVING)
		return;
	gsb_ranges_init(&t->host_freed, freed.base, freed.size);
	err = begin_punching(t, &freed);
	if (err) {
		if (t->host_aliases.n_items)
			keep_numbers(t, &freed, err);
		else
			give_numbers(t, &freed, err);
		return;
	}
	t->punching = true;
	gsb_tenant_job_begin(t);
}

static void let_go(struct gsb_tenant *t, uint64_t addr, uint64_t size)
{
	int err = gsb_ranges_add(&t->host_freed, addr, size);

	if (err)
		note_kept(t, err);
	else if (!t->punching)
		punch(t);
}

static void tell_freed(const struct gsb_tenant *t, const struct gsb_range *r)
{
	gsb_trace(FREED, freed, t->id, .addr = r->start, .bytes = r->size,
		  .memory = GSB_TRACE_MEMORY_PINNED);
}

static void give(struct gsb_tenant *t, const struct gsb_range *r)
{
	t->host_used_bytes -= r->size;
	let_go(t, r->start, r->size);
}

void gsb_memory_host_give(struct gsb_tenant *t, uint64_t addr)
{
	const struct gsb_range *r = gsb_ranges_find(&t->host_taken, addr);

	if (!r || r->start != addr)
		return;
	tell_freed(t, r);
	give(t, r);
}

static void release_host(struct gsb_tenant *t, uint64_t addr)
{
	const struct gsb_range *r = gsb_ranges_find(&t->host_taken, addr);
	struct gsb_range was;

	if (!r)
		return;
	unpin_spaces(t, addr, r->size, GSB_N_CTXS);
	unpin_space(t->making, addr, r->size);
	if (gsb_ranges_remove(&t->host_kept, addr, &was))
		tell_freed(t, r); /* else that was said when it was kept */
	give(t, r);
}

void gsb_memory_host_release(struct gsb_ctx *ctx, uint64_t addr)
{
	gsb_ranges_remove(&ctx->host_owned, addr, &(struct gsb_range){0});
	release_host(ctx->tenant, addr);
}

/*
 * Pinned memory that nothing can name any more. It is given back when what every context had to do until then is
 * done, and not only the one that allocated it: any of them may be copying from it.
 */
struct retired {
	struct gsb_drain drain; /* first; home: who freed it, if the process has not */
	struct gsb_ranges ranges;
	bool is_call;	     /* somebody waits for an answer */
	struct gsb_rec call; /* whom to answer */
};

static void release_retired(struct gsb_drain *d)
{
	struct retired *r = gsb_container_of(d, struct retired, drain);

	for (size_t i = 0; i < r->ranges.n_items; i++)
		release_host(d->tenant, r->ranges.items[i].start);
	if (r->is_call)
		gsb_tenant_reply(d->tenant, &r->call, d->result, 0);
	gsb_ranges_finish(&r->ranges);
}

/* Release it when all contexts have finished what they have. Consumes what was reserved. */
static void retire(const struct retired *want, const struct gsb_drain_room *room)
{
	struct retired *r = room->drain;

	*r = *want;
	r->drain.done = release_retired;
	gsb_drain_begin(&r->drain, room);
}

/* Nothing may name them from now on. */
static void forget(struct gsb_tenant *t, struct gsb_ranges *owned, const struct gsb_ranges *ranges)
{
	struct gsb_range was;

	for (size_t i = 0; i < ranges->n_items; i++) {
		gsb_ranges_remove(owned, ranges->items[i].start, &was);
		gsb_ranges_remove(&t->host_live, ranges->items[i].start, &was);
	}
}

int gsb_memory_host_retire(struct gsb_ctx *ctx, uint64_t addr, uint64_t *size)
{
	struct gsb_tenant *t = ctx->tenant;
	const struct gsb_range *r = gsb_ranges_find(&ctx->host_owned, addr);
	int err;

	if (!r || r->start != addr || !gsb_ranges_find(&t->host_live, addr))
		return gsb_violation(t, "MemKeep of %#" PRIx64 ", where no allocation begins",
				     addr);
	*size = r->size;
	err = gsb_ranges_add(&t->host_kept, addr, r->size);
	if (!err)
		gsb_ranges_remove(&t->host_live, addr, &(struct gsb_range){0});
	return err;
}

int gsb_memory_host_revive(struct gsb_ctx *ctx, uint64_t addr)
{
	struct gsb_tenant *t = ctx->tenant;
	const uint64_t size = gsb_ranges_find(&t->host_kept, addr)->size;
	int err = gsb_ranges_add(&t->host_live, addr, size);

	if (err)
		return err;
	gsb_ranges_remove(&t->host_kept, addr, &(struct gsb_range){0});
	gsb_trace(ALLOCATED, allocated, t->id, .addr = addr, .bytes = size,
		  .memory = GSB_TRACE_MEMORY_PINNED);
	return 0;
}

/* The allocation at addr as the only one of a new map. -ENOENT, -ENOMEM. What is kept is freed already. */
static int pick(const struct gsb_tenant *t, const struct gsb_ranges *owned, uint64_t addr,
		struct gsb_ranges *out)
{
	const struct gsb_range *r = gsb_ranges_find(owned, addr);

	if (!r || r->start != addr || !gsb_ranges_find(&t->host_live, addr))
		return -ENOENT;
	gsb_ranges_init(out, r->start, r->size);
	return gsb_ranges_add(out, r->start, r->size);
}

int gsb_memory_host_free(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_mem_free *body)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, body->ctx);
	struct gsb_ranges *owned = owned_by(t, ctx), ranges;
	struct gsb_drain_room room;
	int err;

	if (body->ctx && !ctx)
		return gsb_no_such(t, rec, "context", body->ctx);
	err = pick(t, owned, body->addr, &ranges);
	if (err == -ENOENT)
		return gsb_violation(t, "HostFree of %#" PRIx64 ", where no allocation begins",
				     body->addr);
	if (err)
		return gsb_tenant_fail_call(t, rec, err);
	err = gsb_drain_reserve(t, sizeof(struct retired), &room);
	if (err) {
		gsb_ranges_finish(&ranges);
		return err;
	}
	forget(t, owned, &ranges);
	retire(&(struct retired){.drain = {.tenant = t, .home = ctx},
				 .ranges = ranges,
				 .is_call = true,
				 .call = *rec},
	       &room);
	return 0;
}

int gsb_memory_host_ctx_retire(struct gsb_ctx *ctx)
{
	struct gsb_tenant *t = ctx->tenant;
	struct gsb_ranges ranges = ctx->host_owned;
	struct gsb_drain_room room;
	int err;

	if (!ranges.n_items)
		return 0;
	err = gsb_drain_reserve(t, sizeof(struct retired), &room);
	if (err)
		return err;
	gsb_ranges_init(&ctx->host_owned, ranges.base, ranges.size);
	forget(t, &ctx->host_owned, &ranges);
	retire(&(struct retired){.drain.tenant = t, .ranges = ranges}, &room);
	return 0;
}

/* Its tenant leaves, and nothing of that is queued or in flight any more. */
void gsb_memory_host_ctx_finish(struct gsb_ctx *ctx)
{
	while (ctx->host_owned.n_items) {
		struct gsb_range was;

		gsb_ranges_remove(&ctx->host_owned, ctx->host_owned.items[0].start, &was);
		gsb_ranges_remove(&ctx->tenant->host_live, was.start, &was);
		release_host(ctx->tenant, was.start);
	}
	gsb_ranges_finish(&ctx->host_owned);
}

/* ---- the end of a tenant ---- */

/* Here alone: then all of the window is one mapping again, which can be moved. */
static void end_aliases(const struct gsb_tenant *t, uint64_t base)
{
	for (size_t i = 0; i < t->host_aliases.n_items; i++) {
		const uint64_t addr = t->host_aliases.items[i].start;

		gsb_window_page(t->host_fd, addr, addr - base);
	}
}

struct gsb_gone gsb_memory_host_leave(struct gsb_tenant *t)
{
	const uint64_t base = gsb_host_window_base(t->slot), size = t->limits.host_mem_bytes;
	struct gsb_gone gone = {.bytes = size, .fd = t->host_fd};

	if (t->host_fd < 0)
		return gone;
	end_aliases(t, base);
	gone.at = gsb_window_move(base, size);
	if (!gone.at)
		gsb_window_unmap(base, size);
	return gone;
}
