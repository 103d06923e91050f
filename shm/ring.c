/*
 * ring.c - see ring.h.
 *
 * Ordering. T writes a record, then stores tail with release; E loads tail with acquire and copies. E
 * stores head with release after its copy; T loads it with acquire before it writes there again. The
 * doorbell needs more: T must not miss that E sleeps and E must not miss the new tail, so both sides put a
 * full fence between their store and their load (Dekker's pattern).
 */
#include "shm/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "gsb/cuabi.h"

struct rec_kind {
	const char *name;
	enum gsb_rec_class class;
	uint32_t min_size;
};

#define BODY_BYTES(body) (sizeof(struct gsb_rec_##body) > 1 ? sizeof(struct gsb_rec_##body) : 0)

static const struct rec_kind kinds[GSB_N_RECS] = {
#define GSB_REC(NAME, Name, class, body) \
	[GSB_REC_##NAME] = {#Name, GSB_CLASS_##class, sizeof(struct gsb_rec) + BODY_BYTES(body)},
#include "gsb/wire_records.def"
};

uint32_t gsb_rec_min_size(uint16_t type)
{
	return type < GSB_N_RECS ? kinds[type].min_size : 0;
}

enum gsb_rec_class gsb_rec_class(uint16_t type)
{
	return kinds[type].class;
}

const char *gsb_rec_name(uint16_t type)
{
	return type < GSB_N_RECS ? kinds[type].name : "?";
}

/* ---- tenant ---- */

void gsb_ring_producer_init(struct gsb_ring_producer *p, struct gsb_region *region, int event_fd,
			    const struct gsb_keep *keep)
{
	struct gsb_region_header *h = &region->header;

	*p = (struct gsb_ring_producer){.header = h, .ring = region->ring};
	atomic_store_explicit(&h->doorbell, (uint32_t)event_fd + 1, memory_order_relaxed);
	atomic_store_explicit(&h->keep, keep ? (uint32_t)keep->epoll_fd + 1 : 0,
			      memory_order_relaxed);
}

static uint32_t offset_of(uint64_t position)
{
	return (uint32_t)position & (GSB_RING_BYTES - 1);
}

static bool has_room(struct gsb_ring_producer *p, uint32_t need)
{
	if (p->tail + need - p->head_seen <= GSB_RING_BYTES)
		return true;
	p->head_seen = atomic_load_explicit(&p->header->head, memory_order_acquire);
	return p->tail + need - p->head_seen <= GSB_RING_BYTES;
}

/* Bytes from the tail to the end of the ring when a record of size bytes would cross it, else 0. */
static uint32_t pad_before(const struct gsb_ring_producer *p, uint32_t size)
{
	uint32_t left = GSB_RING_BYTES - offset_of(p->tail);

	return size > left ? left : 0;
}

static void write_pad(struct gsb_ring_producer *p, uint32_t pad)
{
	struct gsb_rec *rec = (struct gsb_rec *)(p->ring + offset_of(p->tail));

	/* The last bytes of the ring may be shorter than a header: type and size are all that is read. */
	rec->type = GSB_REC_PAD;
	rec->thread = 0;
	rec->size = pad;
	p->tail += pad;
}

struct gsb_rec *gsb_ring_reserve_rare(struct gsb_ring_producer *p, uint32_t size,
				      uint64_t *wait_for)
{
	uint32_t pad = pad_before(p, size);
	struct gsb_rec *rec;

	if (!has_room(p, pad + size)) {
		*wait_for = p->tail + pad + size - GSB_RING_BYTES;
		return NULL;
	}
	if (pad)
		write_pad(p, pad);
	rec = (struct gsb_rec *)(p->ring + offset_of(p->tail));
	rec->size = size;
	return rec;
}

GSB_COLD void gsb_ring_closed(struct gsb_region_header *header)
{
	uint32_t none = 0;

	if (atomic_compare_exchange_strong(&header->fatal, &none, CUDA_ERROR_SYSTEM_NOT_READY))
		gsb_log(GSB_LOG_ERROR, "connect",
			"this program has closed the descriptors of its connection to the broker: "
			"every further call fails with CUDA_ERROR_SYSTEM_NOT_READY; have it close "
			"descriptors before it calls cuInit, or none that are not its own");
}

/* The program's errno stays as it is unless something here fails, which only ends what it was asked to begin. */
bool gsb_ring_doorbell(struct gsb_region_header *header)
{
	static const uint64_t one = 1;
	uint32_t seen = atomic_load_explicit(&header->engine_sleeps, memory_order_relaxed);
	int fd;

	/* Who takes the flag down rings; the engine is on its way for all that follows until it sleeps again. */
	do
		if (!(seen & GSB_SLEEPS))
			return true;
	while (!atomic_compare_exchange_weak(&header->engine_sleeps, &seen, GSB_WAKES));
	fd = (int)header->doorbell - 1;
	if (fd < 0)
		return true;
	if (gsb_unlikely(!gsb_keep_has((struct gsb_keep){(int)header->keep - 1}, fd))) {
		gsb_ring_closed(header);
		return false;
	}
	/* Not write(2) of libc: that is a cancellation point, and the caller may hold the ring's lock. */
	while (gsb_unlikely(syscall(SYS_write, fd, &one, sizeof(one)) < 0) && errno == EINTR)
		;
	return true;
}

/* ---- engine ---- */

void gsb_ring_consumer_init(struct gsb_ring_consumer *c, struct gsb_region *region)
{
	*c = (struct gsb_ring_consumer){
		.header = &region->header,
		.ring = region->ring,
	};
}

/* Whether a record with avail bytes of the ring from its beginning on is sane: by its type and size, which are then known. */
static GSB_ALWAYS_INLINE bool is_sane(const struct gsb_ring_consumer *c,
				      const struct gsb_rec *shared, uint64_t avail, uint16_t *type,
				      uint32_t *size)
{
	uint64_t at = (uint64_t)((const uint8_t *)shared - c->ring);

	*type = *(volatile const uint16_t *)&shared->type;
	*size = *(volatile const uint32_t *)&shared->size;
	if (*type >= GSB_N_RECS || *size % GSB_RECORD_ALIGN || !*size || *size > avail ||
	    *size > GSB_RING_BYTES - at)
		return false;
	return *type == GSB_REC_PAD || (*size >= kinds[*type].min_size && *size <= GSB_RECORD_MAX);
}

static const struct gsb_rec *record_at(const struct gsb_ring_consumer *c, uint64_t position)
{
	return (const struct gsb_rec *)(c->ring + offset_of(position));
}

/*
 * Copy the record at head: first its type and size, then, when they are sane, all of it. The copy's type and
 * size are written from what was checked, so that a tenant which rewrites them in between gains nothing.
 */
static int copy_record(const struct gsb_ring_consumer *c, uint64_t avail, struct gsb_rec *out)
{
	const struct gsb_rec *shared = record_at(c, c->head);
	uint16_t type;
	uint32_t size;

	if (!is_sane(c, shared, avail, &type, &size))
		return -EPROTO;
	if (type != GSB_REC_PAD)
		memcpy(out, shared, size);
	out->type = type;
	out->size = size;
	return 1;
}

int gsb_ring_peek(struct gsb_ring_consumer *c, void *buf)
{
	struct gsb_rec *rec = buf;
	uint64_t tail = atomic_load_explicit(&c->header->tail, memory_order_acquire);

	for (;;) {
		uint64_t avail = tail - c->head;
		int r;

		if (!avail)
			return 0;
		if (avail > GSB_RING_BYTES || tail % GSB_RECORD_ALIGN)
			return -EPROTO;
		r = copy_record(c, avail, rec);
		if (r < 0 || rec->type != GSB_REC_PAD)
			return r;
		gsb_ring_advance(c, rec);
	}
}

void gsb_ring_advance(struct gsb_ring_consumer *c, const struct gsb_rec *rec)
{
	c->head += rec->size;
	atomic_store_explicit(&c->header->head, c->head, memory_order_release);
}

bool gsb_ring_is_empty(const struct gsb_ring_consumer *c)
{
	return atomic_load_explicit(&c->header->tail, memory_order_acquire) == c->head;
}

uint64_t gsb_ring_tail(const struct gsb_ring_consumer *c)
{
	return atomic_load_explicit(&c->header->tail, memory_order_acquire);
}

int gsb_ring_glance(const struct gsb_ring_consumer *c, uint64_t tail, uint64_t *at,
		    struct gsb_ring_glance *out)
{
	const struct gsb_rec *rec = record_at(c, *at);
	uint32_t size;

	if (tail - *at > GSB_RING_BYTES || !is_sane(c, rec, tail - *at, &out->type, &size))
		return 0;
	out->stamp = out->object = 0;
	if (out->type != GSB_REC_PAD)
		out->stamp = *(volatile const uint64_t *)&rec->stamp;
	if (out->type != GSB_REC_PAD && size > sizeof(*rec))
		out->object = *(volatile const uint64_t *)(rec + 1);
	*at += size;
	return 1;
}

void gsb_ring_prepare_sleep(struct gsb_ring_consumer *c)
{
	atomic_store_explicit(&c->header->engine_sleeps, GSB_SLEEPS, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

void gsb_ring_prepare_gate(struct gsb_ring_consumer *c)
{
	atomic_store_explicit(&c->header->engine_sleeps, GSB_SLEEPS | GSB_SLEEPS_UNTIL_BLOCKED,
			      memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

void gsb_ring_awake(struct gsb_ring_consumer *c)
{
	atomic_store_explicit(&c->header->engine_sleeps, 0, memory_order_relaxed);
}
