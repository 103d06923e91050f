/*
 * virtual.c - see virtual.h.
 */
#include "broker/engine/memory/virtual.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <uthash.h>

#include "base/checked.h"
#include "base/mapping.h"
#include "broker/engine/memory/addresses.h"
#include "broker/engine/memory/drain.h"
#include "broker/engine/memory/grant.h"
#include "broker/engine/memory/host.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/memory/pinner.h"
#include "broker/engine/memory/share.h"
#include "broker/engine/tenant/tenant.h"
#include "shm/region.h"

/* Of a tenant. Each costs a call of the driver, in the engine's thread, and all of them come at once when the tenant ends. */
#define N_BACKINGS_MAX	   16384
#define N_MAPPINGS_MAX	   16384
#define N_RESERVATIONS_MAX 4096

/* Of them in one turn, where one record, or the end of the tenant, is about many: some 9 us each on the emulated device (emu), so that others wait half a millisecond. */
#define N_CHANGES_A_TURN 64

struct backing {
	uint64_t id, size;
	uint64_t host_addr; /* of the host: where in the window; else 0 */
	struct gsb_holder holder;
	size_t n_mappings;
	UT_hash_handle hh;
};

struct gsb_virtual {
	struct gsb_ranges reserved;
	struct gsb_mappings mapped; /* of: the struct backing */
	struct backing *backings;
	unsigned n_of_host; /* of them */
	uint64_t last_id;
	unsigned round, n_changes; /* of mappings, in that turn */
};

/* The tenant's, made when it first needs it. NULL: no memory. */
static struct gsb_virtual *have(struct gsb_tenant *t)
{
	if (t->virtual)
		return t->virtual;
	t->virtual = calloc(1, sizeof(*t->virtual));
	if (t->virtual)
		gsb_ranges_init(&t->virtual->reserved, GSB_VIRTUAL_BASE, GSB_VIRTUAL_SIZE);
	return t->virtual;
}

static bool is_whole(uint64_t addr, uint64_t size)
{
	return size && !((addr | size) % GSB_VIRTUAL_UNIT);
}

/* ---- addresses ---- */

int gsb_virtual_reserve(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_address_reserve *body)
{
	struct gsb_virtual *v = have(t);
	struct gsb_reply_range range = {.size = body->size};
	int err = -ENOMEM;

	if (!is_whole(0, body->size) || body->align < GSB_VIRTUAL_UNIT || !gsb_is_pow2(body->align))
		return gsb_violation(t, "reservation of %" PRIu64 " bytes, aligned to %" PRIu64,
				     body->size, body->align);
	if (!t->dev->ops->backing_create)
		err = -ENOTSUP;
	else if (v && v->reserved.n_items < N_RESERVATIONS_MAX)
		err = gsb_addresses_take(t->addresses, t->slot, &v->reserved, body->size,
					 body->align, body->hint, &range.addr);
	if (err)
		return gsb_tenant_fail_call(t, rec, err);
	gsb_tenant_reply_with(t, rec, &range, sizeof(range));
	return 0;
}

int gsb_virtual_free(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t addr)
{
	struct gsb_virtual *v = t->virtual;
	const struct gsb_range *r = v ? gsb_ranges_find(&v->reserved, addr) : NULL;

	if (!r || r->start != addr || gsb_mappings_any(&v->mapped, r->start, r->size))
		return gsb_violation(t, "free of addresses at %#" PRIx64 ", %s", addr,
				     r ? "which are not whole, or mapped"
				       : "which are not reserved");
	gsb_addresses_give(t->addresses, t->slot, &v->reserved, addr);
	gsb_tenant_reply(t, rec, CUDA_SUCCESS, 0);
	return 0;
}

/* ---- memory ---- */

static void note_created(struct gsb_tenant *t, uint64_t bytes, int err)
{
	t->stats.n_mem_refused += err != 0;
	gsb_trace(ALLOCATED, allocated, t->id, .bytes = bytes, .error = err,
		  .memory = GSB_TRACE_MEMORY_DEVICE);
}

struct creation {
	struct gsb_later later; /* first */
	uint64_t size;
	uint64_t host_addr; /* of the host: its place in the window, which is taken */
	bool reclaimed;
	struct gsb_backing *memory;
};

static int ask_once(struct creation *c)
{
	struct gsb_tenant *t = c->later.tenant;

	return t->dev->ops->backing_create(t->dev, gsb_tenant_owner(t), c->size, &c->memory);
}

static int create(struct gsb_later *l)
{
	struct creation *c = gsb_container_of(l, struct creation, later);
	const struct gsb_virtual *v = have(l->tenant);
	int err = v && HASH_COUNT(v->backings) < N_BACKINGS_MAX ? ask_once(c) : -ENOMEM;

	if (err && err != -EINPROGRESS && v && !c->reclaimed &&
	    gsb_grant_reclaim(l->tenant->grant)) {
		c->reclaimed = true;
		err = ask_once(c);
	}
	return err;
}

static uint64_t add_backing(struct gsb_virtual *v, struct backing *b)
{
	b->size = b->holder.share->size;
	b->id = ++v->last_id;
	HASH_ADD(hh, v->backings, id, sizeof(b->id), b);
	return b->id;
}

static int hold_new(struct gsb_tenant *t, const struct creation *c, struct backing *b)
{
	int err = gsb_memory_charge(t, c->size);

	if (!err && !gsb_share_create(&b->holder, t, c->memory, c->size, c->size)) {
		t->device_used_bytes -= c->size;
		err = -ENOMEM;
	}
	return err;
}

/* The device has given it. If that is in vain it has it back. */
static int take_new(struct gsb_tenant *t, const struct creation *c, uint64_t *id)
{
	struct backing *b = calloc(1, sizeof(*b));
	int err = b ? hold_new(t, c, b) : -ENOMEM;

	if (err) {
		free(b);
		t->dev->ops->backing_destroy(c->memory);
		return err;
	}
	*id = add_backing(t->virtual, b);
	return 0;
}

static void created(struct gsb_later *l, int err)
{
	const struct creation *c = gsb_container_of(l, struct creation, later);
	struct gsb_reply_number answer;

	if (!err)
		err = take_new(l->tenant, c, &answer.number);
	note_created(l->tenant, c->size, err);
	if (err) {
		gsb_grant_give(l->tenant->grant, c->size);
		gsb_tenant_fail_call(l->tenant, &l->call, err);
		return;
	}
	gsb_tenant_reply_with(l->tenant, &l->call, &answer, sizeof(answer));
}

/* What it takes is granted already. */
static void create_granted(struct gsb_tenant *t, const struct gsb_rec *call, uint64_t size)
{
	struct creation c = {
		.later = {.tenant = t, .call = *call, .ask = create, .done = created},
		.size = size,
	};

	gsb_later_run(&c.later, sizeof(c));
}

/* A call that is answered when gsbrokerd has said whether there is so much. */
struct waiting_create {
	struct gsb_grant_wait wait;
	struct gsb_tenant *tenant;
	struct gsb_rec call;
};

static void waited(struct gsb_grant_wait *w, int err)
{
	struct waiting_create *c = gsb_container_of(w, struct waiting_create, wait);
	struct gsb_tenant *t = c->tenant;

	gsb_tenant_job_end(t);
	gsb_trace(GRANT_ANSWERED, grant_answered, t->id, .bytes = w->bytes,
		  .granted_bytes = t->grant->granted, .error = err);
	if (!err) {
		create_granted(t, &c->call, w->bytes);
	} else {
		note_created(t, w->bytes, err);
		gsb_tenant_fail_call(t, &c->call, err);
	}
	free(c);
}

static int wait_for_grant(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t size)
{
	struct waiting_create *c = malloc(sizeof(*c));

	if (!c)
		return gsb_tenant_fail_call(t, rec, -ENOMEM);
	*c = (struct waiting_create){
		.wait = {.owner = t, .bytes = size, .done = waited}, .tenant = t, .call = *rec};
	gsb_tenant_job_begin(t);
	gsb_trace(GRANT_ASKED, grant_asked, t->id, .bytes = size,
		  .granted_bytes = t->grant->granted);
	gsb_grant_take(t->grant, &c->wait);
	return 0;
}

int gsb_virtual_create(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t size)
{
	int err;

	if (!is_whole(0, size))
		return gsb_violation(t, "memory of %" PRIu64 " bytes, which are no units", size);
	err = t->dev->ops->backing_create ? gsb_memory_check_limit(t, size) : -ENOTSUP;
	if (err) {
		note_created(t, size, err);
		return gsb_tenant_fail_call(t, rec, err);
	}
	if (!gsb_grant_try(t->grant, size))
		return wait_for_grant(t, rec, size);
	create_granted(t, rec, size);
	return 0;
}

/* ---- memory of the host ---- */

static int create_of_host(struct gsb_later *l)
{
	struct creation *c = gsb_container_of(l, struct creation, later);
	struct gsb_tenant *t = l->tenant;
	const struct gsb_virtual *v = have(t);

	if (!v || HASH_COUNT(v->backings) >= N_BACKINGS_MAX)
		return -ENOMEM;
	return t->dev->ops->backing_of_host(t->dev, gsb_tenant_owner(t), t->host_fd,
					    c->host_addr - gsb_host_window_base(t->slot), c->size,
					    &c->memory);
}

static int take_new_of_host(struct gsb_tenant *t, const struct creation *c, uint64_t *id)
{
	struct backing *b = calloc(1, sizeof(*b));

	if (!b || !gsb_share_create(&b->holder, t, c->memory, c->size, 0)) {
		free(b);
		t->dev->ops->backing_destroy(c->memory);
		return -ENOMEM;
	}
	b->host_addr = c->host_addr;
	t->virtual->n_of_host++;
	*id = add_backing(t->virtual, b);
	return 0;
}

static void note_created_of_host(struct gsb_tenant *t, uint64_t addr, uint64_t bytes, int err)
{
	t->stats.n_mem_refused += err != 0;
	gsb_trace(ALLOCATED, allocated, t->id, .addr = err ? 0 : addr, .bytes = bytes, .error = err,
		  .memory = GSB_TRACE_MEMORY_PINNED);
}

static void created_of_host(struct gsb_later *l, int err)
{
	const struct creation *c = gsb_container_of(l, struct creation, later);
	struct gsb_reply_host_backing answer = {.addr = c->host_addr};

	if (!err)
		err = take_new_of_host(l->tenant, c, &answer.backing);
	if (err)
		gsb_memory_host_drop(l->tenant, c->host_addr);
	else
		gsb_memory_host_count(l->tenant, c->size);
	note_created_of_host(l->tenant, c->host_addr, c->size, err);
	gsb_later_reply(l, err, &answer, sizeof(answer));
}

int gsb_virtual_create_of_host(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t size)
{
	struct creation c = {
		.later = {.tenant = t,
			  .call = *rec,
			  .ask = create_of_host,
			  .done = created_of_host},
		.size = size,
	};
	int err = -ENOTSUP;

	if (gsb_memory_host_is_going(t))
		return -EAGAIN;
	if (!is_whole(0, size))
		return gsb_violation(t, "memory of %" PRIu64 " bytes, which are no units", size);
	if (t->dev->ops->backing_of_host)
		err = gsb_memory_host_take(t, size, GSB_VIRTUAL_UNIT, &c.host_addr);
	if (err == -EAGAIN)
		return err;
	if (err) {
		note_created_of_host(t, 0, size, err);
		return gsb_tenant_fail_call(t, rec, err);
	}
	gsb_later_run(&c.later, sizeof(c));
	return 0;
}

bool gsb_virtual_any_of_host(const struct gsb_tenant *t)
{
	return t->virtual && t->virtual->n_of_host;
}

bool gsb_virtual_is_of_host(const struct gsb_tenant *t, uint64_t addr)
{
	const struct gsb_mapping *m =
		gsb_virtual_any_of_host(t) ? gsb_mappings_find(&t->virtual->mapped, addr) : NULL;
	const struct backing *b = m ? m->of : NULL;

	return b && b->host_addr;
}

static struct backing *find_backing(const struct gsb_tenant *t, uint64_t id)
{
	struct backing *b = NULL;

	if (t->virtual)
		HASH_FIND(hh, t->virtual->backings, &id, sizeof(id), b);
	return b;
}

/* What the window has of it goes behind the device's. */
static void destroy_backing(struct gsb_tenant *t, struct backing *b)
{
	HASH_DELETE(hh, t->virtual->backings, b);
	if (!b->host_addr)
		gsb_trace(FREED, freed, t->id, .bytes = b->size, .memory = GSB_TRACE_MEMORY_DEVICE);
	gsb_share_let_go(&b->holder);
	if (b->host_addr) {
		t->virtual->n_of_host--;
		gsb_memory_host_give(t, b->host_addr);
	}
	free(b);
}

int gsb_virtual_destroy(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t id)
{
	struct backing *b = find_backing(t, id);

	if (!b || b->n_mappings)
		return gsb_no_such(t, rec, "unmapped memory", id);
	destroy_backing(t, b);
	gsb_tenant_reply(t, rec, CUDA_SUCCESS, 0);
	return 0;
}

/* ---- memory for others, and of others ---- */

int gsb_virtual_export(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t id)
{
	struct backing *b = find_backing(t, id);

	if (!b)
		return gsb_no_such(t, rec, "memory", id);
	if (b->host_addr)
		return gsb_tenant_fail_call(t, rec, -ENOTSUP);
	gsb_share_answer_handle(t, rec, b->holder.share, GSB_IPC_BACKING);
	return 0;
}

int gsb_virtual_open(struct gsb_tenant *t, const struct gsb_rec *rec,
		     const struct gsb_ipc_handle *handle)
{
	struct gsb_share *s = gsb_share_find(t->exports, GSB_IPC_BACKING, handle);
	struct gsb_virtual *v = have(t);
	struct gsb_reply_backing answer;
	struct backing *b;

	if (!s)
		return gsb_tenant_fail_call(t, rec, gsb_export_why_not(t, GSB_IPC_BACKING, handle));
	b = v && HASH_COUNT(v->backings) < N_BACKINGS_MAX ? calloc(1, sizeof(*b)) : NULL;
	if (!b)
		return gsb_tenant_fail_call(t, rec, -ENOMEM);
	gsb_share_hold(s, &b->holder, t);
	answer.backing = add_backing(v, b);
	answer.size = b->size;
	gsb_tenant_reply_with(t, rec, &answer, sizeof(answer));
	return 0;
}

/* ---- mappings ---- */

struct map_ask {
	struct gsb_later later; /* first */
	struct backing *backing;
	uint64_t addr;
};

static int map(struct gsb_later *l)
{
	const struct map_ask *a = gsb_container_of(l, struct map_ask, later);
	struct gsb_tenant *t = l->tenant;

	return t->dev->ops->backing_map(a->backing->holder.share->memory, gsb_tenant_owner(t),
					a->addr);
}

static void mapped(struct gsb_later *l, int err)
{
	const struct map_ask *a = gsb_container_of(l, struct map_ask, later);
	struct gsb_mappings *all = &l->tenant->virtual->mapped;
	struct gsb_mapping_run run;

	if (gsb_mappings_run(all, a->addr, a->backing->size, &run))
		err = -EINVAL; /* it is busy: nobody else has touched it */
	else if (err)
		gsb_mappings_remove(all, &run);
	else
		gsb_mappings_end_change(&run, GSB_MAPPING_NONE, false);
	a->backing->n_mappings -= err != 0;
	if (err)
		gsb_tenant_fail_call(l->tenant, &l->call, err);
	else
		gsb_tenant_reply(l->tenant, &l->call, CUDA_SUCCESS, 0);
}

/* Its place is taken at once, and nothing can be done with it until it is there. */
static int add_mapping(struct gsb_tenant *t, struct backing *b, uint64_t addr)
{
	struct gsb_mapping m = {.addr = addr, .size = b->size, .of = b, .busy = true};
	int err = t->virtual->mapped.n < N_MAPPINGS_MAX ? 0 : -ENOMEM;

	if (!err)
		err = gsb_mappings_add(&t->virtual->mapped, &m);
	b->n_mappings += !err;
	return err;
}

int gsb_virtual_map(struct gsb_tenant *t, const struct gsb_rec *rec,
		    const struct gsb_rec_backing_map *body)
{
	struct backing *b = find_backing(t, body->backing);
	struct map_ask a = {
		.later = {.tenant = t, .call = *rec, .ask = map, .done = mapped},
		.addr = body->addr,
	};
	const struct gsb_range *r;
	int err;

	if (!b)
		return gsb_no_such(t, rec, "memory", body->backing);
	r = gsb_ranges_find(&t->virtual->reserved, body->addr);
	if (!r || body->addr % GSB_VIRTUAL_UNIT ||
	    !gsb_range_ok(body->addr - r->start, b->size, r->size) ||
	    gsb_mappings_any(&t->virtual->mapped, body->addr, b->size))
		return gsb_violation(t, "mapping at %#" PRIx64 "+%" PRIu64 ", which is not free",
				     body->addr, b->size);
	err = add_mapping(t, b, body->addr);
	if (err)
		return gsb_tenant_fail_call(t, rec, err);
	a.backing = b;
	gsb_later_run(&a.later, sizeof(a));
	return 0;
}

bool gsb_virtual_allows(const struct gsb_tenant *t, uint64_t addr, uint64_t bytes, bool write)
{
	return t->virtual && gsb_mappings_allow(&t->virtual->mapped, addr, bytes,
						write ? GSB_MAPPING_BOTH : GSB_MAPPING_READ);
}

/* What is named by a record, from end to end, of which nothing is on its way already. */
static int find_run(struct gsb_tenant *t, const struct gsb_rec_backing_range *body,
		    struct gsb_mapping_run *out)
{
	bool ok = t->virtual && !gsb_mappings_run(&t->virtual->mapped, body->addr, body->size, out);

	for (size_t i = 0; ok && i < out->n; i++)
		ok = !out->first[i].busy;
	return ok ? 0
		  : gsb_violation(t, "range %#" PRIx64 "+%" PRIu64 " is not what it has mapped",
				  body->addr, body->size);
}

/* A change of mappings that waits for work. */
struct change {
	struct gsb_drain drain; /* first */
	struct gsb_rec call;
	struct gsb_rec_backing_range range;
};

/* Nothing that a record names is there any more, or not so: access is what is left meanwhile. */
static void begin_change(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_backing_range *body,
			 const struct gsb_drain_room *room, void (*done)(struct gsb_drain *d),
			 const struct gsb_mapping_run *run)
{
	struct change *c = room->drain;

	gsb_mappings_begin_change(run, body->access);
	*c = (struct change){.drain = {.tenant = t, .done = done}, .call = *rec, .range = *body};
	gsb_drain_begin(&c->drain, room);
}

/* Whether one more is to be changed in this turn. */
static bool may_change(struct gsb_later *l)
{
	struct gsb_virtual *v = l->tenant->virtual;
	unsigned round = l->tenant->laters->round;

	if (v->round != round)
		v->n_changes = 0;
	v->round = round;
	l->goes_on = v->n_changes >= N_CHANGES_A_TURN;
	v->n_changes += !l->goes_on;
	return !l->goes_on;
}

/* It is in the map still. */
static void unmap_one(struct gsb_tenant *t, const struct gsb_mapping *m)
{
	const struct backing *b = m->of;

	t->dev->ops->backing_unmap(b->holder.share->memory, gsb_tenant_owner(t), m->addr);
}

/* From here on its memory may go. */
static void let_go_of_one(const struct gsb_mapping *m)
{
	struct backing *b = m->of;

	b->n_mappings--;
}

static int access_one(struct gsb_tenant *t, const struct gsb_mapping *m, CUmemAccess_flags access)
{
	struct backing *b = m->of;

	return t->dev->ops->backing_access(b->holder.share->memory, gsb_tenant_owner(t), m->addr,
					   access);
}

/* Of a change in progress: they are busy, and so they are there. */
static bool find_busy(const struct gsb_later *l, const struct gsb_rec_backing_range *r,
		      struct gsb_mapping_run *run)
{
	return !gsb_mappings_run(&l->tenant->virtual->mapped, r->addr, r->size, run);
}

struct unmap_ask {
	struct gsb_later later; /* first */
	struct gsb_rec_backing_range range;
	size_t n; /* of them that the device has no more */
};

/* Some of them: there may be thousands. */
static int unmap(struct gsb_later *l)
{
	struct unmap_ask *a = gsb_container_of(l, struct unmap_ask, later);
	struct gsb_mapping_run run;

	if (!find_busy(l, &a->range, &run))
		return -EINVAL;
	for (; a->n < run.n; a->n++) {
		if (!may_change(l))
			return -EINPROGRESS;
		unmap_one(l->tenant, &run.first[a->n]);
	}
	return 0;
}

/* Where there is no memory to wait with, all of them at once. */
static void unmapped(struct gsb_later *l, int err)
{
	struct unmap_ask *a = gsb_container_of(l, struct unmap_ask, later);
	struct gsb_mapping_run run;

	if (find_busy(l, &a->range, &run)) {
		for (; a->n < run.n; a->n++)
			unmap_one(l->tenant, &run.first[a->n]);
		for (size_t i = 0; i < run.n; i++)
			let_go_of_one(&run.first[i]);
		gsb_mappings_remove(&l->tenant->virtual->mapped, &run);
	}
	gsb_tenant_reply(l->tenant, &l->call, CUDA_SUCCESS, 0);
}

static void unmap_now(struct gsb_drain *d)
{
	const struct change *c = gsb_container_of(d, struct change, drain);
	struct unmap_ask a = {
		.later = {.tenant = d->tenant, .call = c->call, .ask = unmap, .done = unmapped},
		.range = c->range,
	};

	gsb_later_run(&a.later, sizeof(a));
}

int gsb_virtual_unmap(struct gsb_tenant *t, const struct gsb_rec *rec,
		      const struct gsb_rec_backing_range *body)
{
	struct gsb_rec_backing_range none = *body;
	struct gsb_drain_room room;
	struct gsb_mapping_run run;

	none.access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	if (find_run(t, body, &run))
		return -EPROTO;
	if (gsb_drain_reserve(t, sizeof(struct change), &room))
		return -EAGAIN;
	begin_change(t, rec, &none, &room, unmap_now, &run);
	return 0;
}

struct access_ask {
	struct gsb_later later; /* first */
	struct gsb_rec_backing_range range;
	size_t n; /* of its mappings that have been asked for it, or are left to be given back what they had */
	int err;
};

/* All of it, or none: where the device refuses one, those before it are given back what they had. */
static int set_access(struct gsb_later *l)
{
	struct access_ask *a = gsb_container_of(l, struct access_ask, later);
	struct gsb_mapping_run run;
	int err;

	if (!find_busy(l, &a->range, &run))
		return -EINVAL;
	while (!a->err && a->n < run.n) {
		if (!may_change(l))
			return -EINPROGRESS;
		err = access_one(l->tenant, &run.first[a->n], (CUmemAccess_flags)a->range.access);
		if (err == -EINPROGRESS)
			return err;
		a->err = err;
		a->n++;
	}
	for (; a->err && a->n > 0; a->n--) {
		const struct gsb_mapping *m = &run.first[a->n - 1];

		if (!may_change(l) ||
		    access_one(l->tenant, m, (CUmemAccess_flags)m->had) == -EINPROGRESS)
			return -EINPROGRESS;
	}
	return a->err;
}

static void answer_access(struct gsb_later *l, int err)
{
	const struct access_ask *a = gsb_container_of(l, struct access_ask, later);
	struct gsb_mapping_run run;

	if (find_busy(l, &a->range, &run))
		gsb_mappings_end_change(&run, a->range.access, err != 0);
	if (err)
		gsb_tenant_fail_call(l->tenant, &l->call, err);
	else
		gsb_tenant_reply(l->tenant, &l->call, CUDA_SUCCESS, 0);
}

static void ask_access(struct gsb_tenant *t, const struct gsb_rec *rec,
		       const struct gsb_rec_backing_range *range)
{
	struct access_ask a = {
		.later = {.tenant = t, .call = *rec, .ask = set_access, .done = answer_access},
		.range = *range,
	};

	gsb_later_run(&a.later, sizeof(a));
}

/* Memory of the host that the device is to reach from now on: a pinner makes it ready, one mapping after the other. They are busy meanwhile. */
struct exposure {
	struct gsb_pin_job job; /* first */
	struct gsb_tenant *tenant;
	struct gsb_rec call;
	struct gsb_rec_backing_range range;
};

/* The first from there on that is to be made ready. */
static bool next_to_expose(const struct gsb_tenant *t, const struct gsb_rec_backing_range *range,
			   uint64_t from, struct gsb_mapping *out)
{
	struct gsb_mapping_run run;

	if (!range->access || !t->dev->ops->host_prepare || !gsb_virtual_any_of_host(t) ||
	    gsb_mappings_run(&t->virtual->mapped, range->addr, range->size, &run))
		return false;
	for (size_t i = 0; i < run.n; i++) {
		const struct backing *b = run.first[i].of;

		*out = run.first[i];
		if (out->addr >= from && b->host_addr && !out->had)
			return true;
	}
	return false;
}

static void expose(struct exposure *x, const struct gsb_mapping *m)
{
	x->job.owner = gsb_tenant_owner(x->tenant);
	x->job.addr = m->addr;
	x->job.size = m->size;
	gsb_pinner_give(x->tenant->pinner, &x->job);
}

/* What was made ready for nobody is unmapped with all that the tenant has, and for who leaves nothing more is. */
static void exposed(struct gsb_mail *mail)
{
	struct exposure *x = gsb_container_of(mail, struct exposure, job.mail);
	struct gsb_tenant *t = x->tenant;
	struct gsb_mapping m;

	if (t->state != GSB_TENANT_LEAVING &&
	    next_to_expose(t, &x->range, x->job.addr + x->job.size, &m)) {
		expose(x, &m);
		return;
	}
	ask_access(t, &x->call, &x->range);
	free(x);
	gsb_tenant_job_end(t);
}

static void begin_access(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_backing_range *range)
{
	struct exposure *x = NULL;
	struct gsb_mapping m;

	if (next_to_expose(t, range, 0, &m))
		x = malloc(sizeof(*x));
	if (!x) { /* the device does it all, be it slowly */
		ask_access(t, rec, range);
		return;
	}
	*x = (struct exposure){
		.job.mail.collected = exposed, .tenant = t, .call = *rec, .range = *range};
	gsb_tenant_job_begin(t);
	expose(x, &m);
}

static void access_now(struct gsb_drain *d)
{
	struct change *c = gsb_container_of(d, struct change, drain);

	begin_access(d->tenant, &c->call, &c->range);
}

static bool takes_away(const struct gsb_mapping_run *run, uint32_t access)
{
	for (size_t i = 0; i < run->n; i++)
		if (run->first[i].access & ~access)
			return true;
	return false;
}

int gsb_virtual_access(struct gsb_tenant *t, const struct gsb_rec *rec,
		       const struct gsb_rec_backing_range *body)
{
	struct gsb_drain_room room;
	struct gsb_mapping_run run;

	if (body->access > GSB_MAPPING_BOTH || body->access == 2)
		return gsb_violation(t, "access %u, which there is not", body->access);
	if (find_run(t, body, &run))
		return -EPROTO;
	if (!takes_away(&run, body->access)) {
		gsb_mappings_begin_change(&run, GSB_MAPPING_BOTH);
		begin_access(t, rec, body);
		return 0;
	}
	if (gsb_drain_reserve(t, sizeof(struct change), &room))
		return -EAGAIN;
	begin_change(t, rec, body, &room, access_now, &run);
	return 0;
}

/* ---- the end ---- */

void gsb_virtual_cancel(struct gsb_tenant *t)
{
	gsb_grant_cancel(t->grant, t);
}

/* Some of its mappings, then of its memory. */
static void finish_some(struct gsb_tenant *t)
{
	struct gsb_virtual *v = t->virtual;
	unsigned n = 0;

	for (; v->mapped.n && n < N_CHANGES_A_TURN; n++) {
		const struct gsb_mapping *m = &v->mapped.items[--v->mapped.n];

		unmap_one(t, m);
		let_go_of_one(m);
	}
	for (; v->backings && n < N_CHANGES_A_TURN; n++)
		destroy_backing(t, v->backings);
}

bool gsb_virtual_finish(struct gsb_tenant *t)
{
	struct gsb_virtual *v = t->virtual;

	if (!v)
		return true;
	finish_some(t);
	if (v->mapped.n || v->backings)
		return false;
	while (v->reserved.n_items)
		gsb_addresses_give(t->addresses, t->slot, &v->reserved,
				   v->reserved.items[v->reserved.n_items - 1].start);
	gsb_mappings_finish(&v->mapped);
	gsb_ranges_finish(&v->reserved);
	free(v);
	t->virtual = NULL;
	return true;
}
