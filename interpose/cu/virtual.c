/*
 * virtual.c - see virtual.h.
 */
#include "interpose/cu/virtual.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HASH_NONFATAL_OOM 1 /* never an exit in somebody else's process */
#include <uthash.h>

#include "base/checked.h"
#include "base/mapping.h"
#include "base/log.h"
#include "interpose/core/post.h"
#include "interpose/core/process.h"
#include "interpose/cu/alloc.h"
#include "interpose/cu/descriptor.h"
#include "shm/region.h"

#define HOST_MINOR 4  /* of the engine, from which on it has memory of the host */
#define TRIES	   16 /* to find addresses at which the program has nothing */

struct reservation {
	uint64_t addr, size;
	uint64_t blocked; /* bytes that the program's own memory keeps out of */
	uint64_t id;
	struct reservation *next;
};

struct backing {
	uint64_t handle, size; /* handle: as the engine has named it */
	uint64_t host_addr;    /* of the host: its pages in the window; else 0 */
	CUmemAllocationProp prop;
	unsigned n_refs; /* the program's; 0: released */
	size_t n_mappings;
	unsigned n_exports; /* descriptors that somebody has yet */
	UT_hash_handle hh;
};

struct export
{
	struct gsb_descriptor kept;
	struct backing *of;
	struct export *next;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
/* Under lock. */
static struct reservation *reservations;
static struct backing *backings;
static struct export *exports;
static struct gsb_mappings mapped; /* of: the struct backing */
static uint64_t last_id;

static CUresult tell(enum gsb_rec_type type, const void *body, uint32_t bytes)
{
	return gsb_call(&(struct gsb_call){.type = type, .body = body, .body_bytes = bytes}, NULL);
}

static CUresult ask(enum gsb_rec_type type, const void *body, uint32_t bytes, void *answer,
		    uint32_t answer_bytes)
{
	return gsb_call_into(&(struct gsb_call){.type = type, .body = body, .body_bytes = bytes},
			     answer, answer_bytes);
}

static bool is_whole(uint64_t addr, uint64_t size)
{
	return size && !((addr | size) % GSB_VIRTUAL_UNIT);
}

/* ---- addresses ---- */

static struct reservation *find_reservation(uint64_t addr)
{
	struct reservation *r = reservations;

	while (r && addr - r->addr >= r->size)
		r = r->next;
	return r;
}

static CUresult free_addresses(uint64_t addr)
{
	const struct gsb_rec_address body = {.addr = addr};

	return tell(GSB_REC_ADDRESS_FREE, &body, sizeof(body));
}

static void add_reservation(struct reservation *r)
{
	pthread_rwlock_wrlock(&lock);
	r->id = ++last_id;
	r->next = reservations;
	reservations = r;
	pthread_rwlock_unlock(&lock);
}

/*
 * Numbers of reserved addresses must never come out of malloc. Where the program has something of its own already it asks for what lies
 * behind, some times.
 */
static CUresult take_addresses(struct gsb_rec_address_reserve *body, uint64_t *addr)
{
	const uint64_t step = body->align > GSB_VIRTUAL_PART ? body->align : GSB_VIRTUAL_PART;
	struct gsb_reply_range range;

	for (int i = 0; i < TRIES; i++) {
		CUresult result =
			ask(GSB_REC_ADDRESS_RESERVE, body, sizeof(*body), &range, sizeof(range));

		if (result)
			return result;
		if (!gsb_window_block(range.addr, body->size)) {
			*addr = range.addr;
			return CUDA_SUCCESS;
		}
		result = free_addresses(range.addr);
		if (result)
			return result;
		body->hint = gsb_round_up(range.addr + body->size, step);
	}
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gsb_cu_virtual_reserve(uint64_t size, uint64_t align, uint64_t hint, uint64_t *addr)
{
	struct reservation *r = malloc(sizeof(*r));
	struct gsb_rec_address_reserve body = {.align = align, .hint = hint};
	CUresult result;

	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (body.align < GSB_VIRTUAL_UNIT)
		body.align = GSB_VIRTUAL_UNIT;
	body.size = gsb_round_up(size, GSB_VIRTUAL_UNIT);
	result = take_addresses(&body, &r->addr);
	if (result) {
		free(r);
		return result;
	}
	*r = (struct reservation){.addr = r->addr, .size = size, .blocked = body.size};
	add_reservation(r);
	*addr = r->addr;
	return CUDA_SUCCESS;
}

/* The one that is just this, and of which nothing is mapped, taken out of the list. */
static struct reservation *take_reservation(uint64_t addr, uint64_t size)
{
	struct reservation **at, *r = NULL;

	pthread_rwlock_wrlock(&lock);
	for (at = &reservations; *at && (*at)->addr != addr; at = &(*at)->next)
		;
	if (*at && (*at)->size == size && !gsb_mappings_any(&mapped, addr, size)) {
		r = *at;
		*at = r->next;
	}
	pthread_rwlock_unlock(&lock);
	return r;
}

CUresult gsb_cu_virtual_free(uint64_t addr, uint64_t size)
{
	struct reservation *r = take_reservation(addr, size);
	CUresult result;

	if (!r)
		return CUDA_ERROR_INVALID_VALUE;
	gsb_window_unmap(r->addr, r->blocked);
	result = free_addresses(r->addr);
	free(r);
	return result;
}

/* ---- memory ---- */

static struct backing *find_backing(uint64_t handle)
{
	struct backing *b;

	HASH_FIND(hh, backings, &handle, sizeof(handle), b);
	return b;
}

static CUresult destroy(struct backing *b)
{
	const struct gsb_rec_object body = {.handle = b->handle};

	free(b);
	return tell(GSB_REC_BACKING_DESTROY, &body, sizeof(body));
}

/* Nobody needs it any more: it is in the table no longer, and to be destroyed. Under lock. */
static bool is_over(struct backing *b)
{
	if (b->n_refs || b->n_mappings || b->n_exports)
		return false;
	HASH_DELETE(hh, backings, b);
	return true;
}

static CUresult destroy_all(struct backing *over)
{
	CUresult result = CUDA_SUCCESS;

	while (over) {
		struct backing *next = over->hh.next;
		CUresult one = destroy(over);

		result = result ? result : one;
		over = next;
	}
	return result;
}

/* What is in the table may be used. */
static CUresult add_backing(struct backing *b, uint64_t *handle)
{
	uint64_t name = b->handle;
	bool known;

	pthread_rwlock_wrlock(&lock);
	HASH_ADD(hh, backings, handle, sizeof(b->handle), b);
	known = b->hh.tbl;
	pthread_rwlock_unlock(&lock);
	if (!known) {
		destroy(b);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*handle = name;
	return CUDA_SUCCESS;
}

/* One reference less; what is over then goes before the list of others. Under lock. */
static struct backing *drop_export(struct export **at, struct backing *over)
{
	struct export *x = *at;
	struct backing *b = x->of;

	*at = x->next;
	gsb_descriptor_close(&x->kept);
	free(x);
	b->n_exports--;
	if (!is_over(b))
		return over;
	b->hh.next = over;
	return b;
}

/* Memory that its last descriptor has kept goes at the next call about any. */
static void drop_closed_exports(void)
{
	struct backing *over = NULL;
	struct export **at = &exports;

	pthread_rwlock_wrlock(&lock);
	while (*at) {
		if (gsb_descriptor_is_open(&(*at)->kept))
			at = &(*at)->next;
		else
			over = drop_export(at, over);
	}
	pthread_rwlock_unlock(&lock);
	destroy_all(over);
}

CUresult gsb_cu_virtual_create(uint64_t size, const CUmemAllocationProp *prop, uint64_t *handle)
{
	const struct gsb_rec_backing_create body = {.size = size};
	struct gsb_reply_number number;
	struct backing *b;
	CUresult result;

	if (!is_whole(0, size))
		return CUDA_ERROR_INVALID_VALUE;
	drop_closed_exports();
	b = malloc(sizeof(*b));
	if (!b)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = ask(GSB_REC_BACKING_CREATE, &body, sizeof(body), &number, sizeof(number));
	if (result) {
		free(b);
		return result;
	}
	*b = (struct backing){.handle = number.number, .size = size, .prop = *prop, .n_refs = 1};
	return add_backing(b, handle);
}

/* An engine that is older knows no such memory. */
CUresult gsb_cu_virtual_create_of_host(uint64_t size, const CUmemAllocationProp *prop,
				       uint64_t *handle)
{
	const struct gsb_rec_backing_create body = {.size = size};
	struct gsb_reply_host_backing made;
	struct backing *b;
	CUresult result;

	if (!is_whole(0, size))
		return CUDA_ERROR_INVALID_VALUE;
	if (gsb_proc.region->header.minor < HOST_MINOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!gsb_proc.host_bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	drop_closed_exports();
	b = malloc(sizeof(*b));
	if (!b)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = ask(GSB_REC_BACKING_OF_HOST, &body, sizeof(body), &made, sizeof(made));
	if (result) {
		free(b);
		return result;
	}
	*b = (struct backing){.handle = made.backing,
			      .size = size,
			      .host_addr = made.addr,
			      .prop = *prop,
			      .n_refs = 1};
	return add_backing(b, handle);
}

CUresult gsb_cu_virtual_release(uint64_t handle)
{
	struct backing *b;
	bool known, over;

	pthread_rwlock_wrlock(&lock);
	b = find_backing(handle);
	known = b && b->n_refs;
	if (known)
		b->n_refs--;
	over = known && is_over(b);
	pthread_rwlock_unlock(&lock);
	if (!known)
		return CUDA_ERROR_INVALID_VALUE;
	return over ? destroy(b) : CUDA_SUCCESS;
}

/* ---- memory of other processes, and for them ---- */

static void say_not_exported(void)
{
	static _Atomic bool said;

	if (!atomic_exchange(&said, true))
		gsb_log_say(
			"cuMemExportToShareableHandle of memory of the host is not supported: it is this process's alone; "
			"memory of the device can be exported");
}

/* It stays from here on, be it released meanwhile. */
static CUresult begin_export(uint64_t handle, CUmemAllocationHandleType type, struct backing **out)
{
	struct backing *b;
	CUresult result;

	pthread_rwlock_wrlock(&lock);
	b = find_backing(handle);
	result = !b || !b->n_refs || (b->prop.requestedHandleTypes & type) != type
			 ? CUDA_ERROR_INVALID_VALUE
		 : b->host_addr ? CUDA_ERROR_NOT_SUPPORTED
				: CUDA_SUCCESS;
	if (!result)
		b->n_exports++;
	pthread_rwlock_unlock(&lock);
	*out = b;
	if (result == CUDA_ERROR_NOT_SUPPORTED)
		say_not_exported();
	return result;
}

static CUresult make_descriptor(const struct backing *b, struct export *x, int *fd)
{
	const struct gsb_rec_object body = {.handle = b->handle};
	struct gsb_reply_ipc answer;
	CUresult result = ask(GSB_REC_BACKING_EXPORT, &body, sizeof(body), &answer, sizeof(answer));

	return result ? result : gsb_descriptor_make(&answer.handle, &x->kept, fd);
}

static void end_export(struct backing *b)
{
	struct backing *over = NULL;

	pthread_rwlock_wrlock(&lock);
	b->n_exports--;
	if (is_over(b)) {
		b->hh.next = NULL;
		over = b;
	}
	pthread_rwlock_unlock(&lock);
	destroy_all(over);
}

CUresult gsb_cu_virtual_export(uint64_t handle, CUmemAllocationHandleType type, int *fd)
{
	struct export *x = malloc(sizeof(*x));
	CUresult result = x ? begin_export(handle, type, &x->of) : CUDA_ERROR_OUT_OF_MEMORY;

	if (result) {
		free(x);
		return result;
	}
	drop_closed_exports();
	result = make_descriptor(x->of, x, fd);
	if (result) {
		end_export(x->of);
		free(x);
		return result;
	}
	pthread_rwlock_wrlock(&lock);
	x->next = exports;
	exports = x;
	pthread_rwlock_unlock(&lock);
	return CUDA_SUCCESS;
}

/* What has come from elsewhere is not exported again. */
CUresult gsb_cu_virtual_import(const struct gsb_ipc_handle *from, uint64_t *handle)
{
	const struct gsb_rec_ipc body = {.handle = *from};
	struct gsb_reply_backing answer;
	struct backing *b = malloc(sizeof(*b));
	CUresult result;

	if (!b)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = ask(GSB_REC_BACKING_OPEN, &body, sizeof(body), &answer, sizeof(answer));
	if (result) {
		free(b);
		return result;
	}
	*b = (struct backing){
		.handle = answer.backing,
		.size = answer.size,
		.prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
			 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
		.n_refs = 1,
	};
	return add_backing(b, handle);
}

CUresult gsb_cu_virtual_retain(uint64_t addr, uint64_t *handle)
{
	struct gsb_mapping *m;

	pthread_rwlock_wrlock(&lock);
	m = gsb_mappings_find(&mapped, addr);
	if (m) {
		struct backing *b = m->of;

		b->n_refs++;
		*handle = b->handle;
	}
	pthread_rwlock_unlock(&lock);
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult gsb_cu_virtual_prop(uint64_t handle, CUmemAllocationProp *prop)
{
	const struct backing *b;

	pthread_rwlock_rdlock(&lock);
	b = find_backing(handle);
	if (b)
		*prop = b->prop;
	pthread_rwlock_unlock(&lock);
	return b ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- mappings ---- */

/* Under lock. */
static CUresult add_mapping(uint64_t addr, uint64_t size, uint64_t handle)
{
	const struct reservation *r = find_reservation(addr);
	struct backing *b = find_backing(handle);
	struct gsb_mapping m = {.addr = addr, .size = size, .of = b, .busy = true};

	if (b && size != b->size)
		return CUDA_ERROR_NOT_SUPPORTED; /* what the driver says of a part */
	if (!r || !b || !b->n_refs || !gsb_range_ok(addr - r->addr, size, r->size) ||
	    gsb_mappings_any(&mapped, addr, size))
		return CUDA_ERROR_INVALID_VALUE;
	if (gsb_mappings_add(&mapped, &m))
		return CUDA_ERROR_OUT_OF_MEMORY;
	b->n_mappings++;
	return CUDA_SUCCESS;
}

/* What was changed is as it should be, and others may change it. */
static void settle(uint64_t addr, uint64_t size)
{
	struct gsb_mapping_run run;

	if (gsb_mappings_run(&mapped, addr, size, &run))
		return;
	for (size_t i = 0; i < run.n; i++)
		run.first[i].busy = false;
}

/* Of memory that has been unmapped and released what nobody needs any more, as a list by hh.next. Under lock. */
static struct backing *remove_mappings(uint64_t addr, uint64_t size)
{
	struct backing *over = NULL;
	struct gsb_mapping_run run;

	if (gsb_mappings_run(&mapped, addr, size, &run))
		return NULL;
	for (size_t i = 0; i < run.n; i++) {
		struct backing *b = run.first[i].of;

		b->n_mappings--;
		if (is_over(b)) {
			b->hh.next = over;
			over = b;
		}
	}
	gsb_mappings_remove(&mapped, &run);
	return over;
}

/* Of what lies there, which is busy, the first that is of the host. Copied, since others may change the map. Under lock. */
static bool first_of_host(uint64_t addr, uint64_t size, struct gsb_mapping *out)
{
	struct gsb_mapping_run run;

	if (gsb_mappings_run(&mapped, addr, size, &run))
		return false;
	for (size_t i = 0; i < run.n; i++) {
		const struct backing *b = run.first[i].of;

		if (b->host_addr) {
			*out = run.first[i];
			return true;
		}
	}
	return false;
}

static bool find_first_of_host(uint64_t addr, uint64_t size, struct gsb_mapping *out)
{
	bool found;

	pthread_rwlock_rdlock(&lock);
	found = first_of_host(addr, size, out);
	pthread_rwlock_unlock(&lock);
	return found;
}

/* The program sees no more what it has unmapped; its numbers stay blocked. */
static void hide(uint64_t addr, uint64_t size)
{
	struct gsb_mapping m;

	while (find_first_of_host(addr, size, &m)) {
		if (gsb_window_block_again(m.addr, m.size))
			gsb_log(GSB_LOG_ERROR, "virtual", "%#llx stays mapped: %m",
				(unsigned long long)m.addr);
		size -= m.addr + m.size - addr;
		addr = m.addr + m.size;
	}
}

/* And so does the engine, when it is of the host. */
static CUresult map_for_program(uint64_t addr, uint64_t size)
{
	const struct gsb_rec_backing_range all = {.addr = addr, .size = size};
	const struct backing *b;
	struct gsb_mapping m;

	if (!find_first_of_host(addr, size, &m))
		return CUDA_SUCCESS;
	b = m.of;
	if (!gsb_window_map_again(b->host_addr, addr, size))
		return CUDA_SUCCESS;
	tell(GSB_REC_BACKING_UNMAP, &all, sizeof(all));
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gsb_cu_virtual_map(uint64_t addr, uint64_t size, uint64_t handle)
{
	const struct gsb_rec_backing_map body = {.backing = handle, .addr = addr};
	struct backing *over = NULL;
	CUresult result;

	if (!is_whole(addr, GSB_VIRTUAL_UNIT) || !size)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_rwlock_wrlock(&lock);
	result = add_mapping(addr, size, handle);
	pthread_rwlock_unlock(&lock);
	if (result)
		return result;
	result = tell(GSB_REC_BACKING_MAP, &body, sizeof(body));
	if (!result)
		result = map_for_program(addr, size);
	pthread_rwlock_wrlock(&lock);
	if (result)
		over = remove_mappings(addr, size);
	else
		settle(addr, size);
	pthread_rwlock_unlock(&lock);
	destroy_all(over);
	return result;
}

static bool any_busy(const struct gsb_mapping_run *run)
{
	for (size_t i = 0; i < run->n; i++)
		if (run->first[i].busy)
			return true;
	return false;
}

/*
 * Whole mappings, which nobody else changes, are busy from now on. What they may not be accessed for any longer is refused before the
 * engine hears of it. Under lock.
 */
static CUresult begin_change(uint64_t addr, uint64_t size, unsigned access)
{
	struct gsb_mapping_run run;

	if (gsb_mappings_run(&mapped, addr, size, &run) || any_busy(&run))
		return CUDA_ERROR_INVALID_VALUE;
	gsb_mappings_begin_change(&run, access);
	gsb_alloc_note_removal();
	return CUDA_SUCCESS;
}

/* What is unmapped at once: ranges without gaps. A gap is nobody's, and others may map there meanwhile. */
struct unmapping {
	struct gsb_rec_backing_range *ranges;
	size_t n;
};

static void add_ranges(const struct gsb_mapping_run *run, struct unmapping *u)
{
	for (size_t i = 0; i < run->n; i++) {
		const struct gsb_mapping *m = &run->first[i];
		struct gsb_rec_backing_range *last = u->n ? &u->ranges[u->n - 1] : NULL;

		if (last && last->addr + last->size == m->addr)
			last->size += m->size;
		else
			u->ranges[u->n++] =
				(struct gsb_rec_backing_range){.addr = m->addr, .size = m->size};
	}
}

/* Under lock. */
static CUresult begin_unmap(uint64_t addr, uint64_t size, struct unmapping *u)
{
	struct gsb_mapping_run run;

	if (!find_reservation(addr) || gsb_mappings_within(&mapped, addr, size, &run) ||
	    any_busy(&run))
		return CUDA_ERROR_INVALID_VALUE;
	u->ranges = calloc(run.n + 1, sizeof(*u->ranges));
	if (!u->ranges)
		return CUDA_ERROR_OUT_OF_MEMORY;
	add_ranges(&run, u);
	gsb_mappings_begin_change(&run, GSB_MAPPING_NONE);
	gsb_alloc_note_removal();
	return CUDA_SUCCESS;
}

static CUresult unmap_range(const struct gsb_rec_backing_range *body)
{
	struct backing *over;
	CUresult result = tell(GSB_REC_BACKING_UNMAP, body, sizeof(*body));

	hide(body->addr, body->size);
	pthread_rwlock_wrlock(&lock);
	over = remove_mappings(body->addr, body->size);
	pthread_rwlock_unlock(&lock);
	return result ? result : destroy_all(over);
}

CUresult gsb_cu_virtual_unmap(uint64_t addr, uint64_t size)
{
	struct unmapping u = {0};
	CUresult result;

	pthread_rwlock_wrlock(&lock);
	result = begin_unmap(addr, size, &u);
	pthread_rwlock_unlock(&lock);
	for (size_t i = 0; i < u.n; i++) {
		CUresult one = unmap_range(&u.ranges[i]);

		result = result ? result : one;
	}
	free(u.ranges);
	return result;
}

static CUresult change(uint64_t addr, uint64_t size, unsigned access)
{
	CUresult result;

	pthread_rwlock_wrlock(&lock);
	result = begin_change(addr, size, access);
	pthread_rwlock_unlock(&lock);
	return result;
}

CUresult gsb_cu_virtual_set_access(uint64_t addr, uint64_t size, CUmemAccess_flags access)
{
	const struct gsb_rec_backing_range body = {
		.addr = addr, .size = size, .access = (uint32_t)access};
	struct gsb_mapping_run run;
	CUresult result = change(addr, size, (unsigned)access);

	if (result)
		return result;
	result = tell(GSB_REC_BACKING_ACCESS, &body, sizeof(body));
	pthread_rwlock_wrlock(&lock);
	if (!gsb_mappings_run(&mapped, addr, size, &run))
		gsb_mappings_end_change(&run, (unsigned)access, result != CUDA_SUCCESS);
	pthread_rwlock_unlock(&lock);
	return result;
}

/* ---- the processor's access ---- */

static int protection(CUmemAccess_flags access)
{
	return (access & 1 ? PROT_READ : 0) | (access & 2 ? PROT_WRITE : 0);
}

/* Whole mappings of the host. Under lock. */
static CUresult find_run_of_host(uint64_t addr, uint64_t size, struct gsb_mapping_run *run)
{
	if (gsb_mappings_run(&mapped, addr, size, run) || any_busy(run))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < run->n; i++) {
		const struct backing *b = run->first[i].of;

		if (!b->host_addr)
			return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}

CUresult gsb_cu_virtual_check_host_access(uint64_t addr, uint64_t size)
{
	struct gsb_mapping_run run;
	CUresult result;

	pthread_rwlock_rdlock(&lock);
	result = find_run_of_host(addr, size, &run);
	pthread_rwlock_unlock(&lock);
	return result;
}

CUresult gsb_cu_virtual_set_host_access(uint64_t addr, uint64_t size, CUmemAccess_flags access)
{
	struct gsb_mapping_run run;
	CUresult result;

	pthread_rwlock_wrlock(&lock);
	result = find_run_of_host(addr, size, &run);
	for (size_t i = 0; !result && i < run.n; i++) {
		struct gsb_mapping *m = &run.first[i];

		if (mprotect((void *)m->addr, m->size, protection(access)))
			result = CUDA_ERROR_OUT_OF_MEMORY;
		else
			m->host_access = (uint8_t)access;
	}
	pthread_rwlock_unlock(&lock);
	return result;
}

/* ---- questions ---- */

static bool find(uint64_t addr, struct gsb_cu_virtual_place *out)
{
	const struct reservation *r = find_reservation(addr);
	const struct gsb_mapping *m = gsb_mappings_find(&mapped, addr);

	if (!r)
		return false;
	*out = (struct gsb_cu_virtual_place){
		.reserved_addr = r->addr, .reserved_size = r->size, .id = r->id};
	if (m) {
		const struct backing *b = m->of;

		out->addr = m->addr;
		out->size = m->size;
		out->access = (CUmemAccess_flags)m->access;
		out->host_access = (CUmemAccess_flags)m->host_access;
		out->is_of_host = b->host_addr;
		out->types = b->prop.requestedHandleTypes;
	}
	return true;
}

bool gsb_cu_virtual_find(uint64_t addr, struct gsb_cu_virtual_place *out)
{
	bool found;

	if (addr - GSB_VIRTUAL_BASE >= GSB_VIRTUAL_SIZE)
		return false;
	pthread_rwlock_rdlock(&lock);
	found = find(addr, out);
	pthread_rwlock_unlock(&lock);
	return found;
}

bool gsb_cu_virtual_has(uint64_t addr)
{
	struct gsb_cu_virtual_place ignored;

	return gsb_cu_virtual_find(addr, &ignored);
}

bool gsb_cu_virtual_allows(uint64_t addr, uint64_t bytes, bool write)
{
	bool ok;

	pthread_rwlock_rdlock(&lock);
	ok = gsb_mappings_allow(&mapped, addr, bytes, write ? GSB_MAPPING_BOTH : GSB_MAPPING_READ);
	pthread_rwlock_unlock(&lock);
	return ok;
}
