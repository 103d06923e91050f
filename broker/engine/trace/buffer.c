/*
 * buffer.c - see buffer.h.
 */
#include "broker/engine/trace/buffer.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/compiler.h"
#include "trace/compact.h"
#include "trace/format.h"

#define AHEAD 64 /* parts of the ring: so often the producer looks around */

_Alignas(8) uint8_t gsb_trace_elsewhere[GSB_TRACE_RECORD_MAX];

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Of the next record. */
static uint64_t position(const struct gsb_trace_buffer *b)
{
	return (uintptr_t)b->next - b->lap;
}

static bool has_room(struct gsb_trace_buffer *b, uint64_t bytes)
{
	if (position(b) + bytes - b->head_seen <= b->size)
		return true;
	b->head_seen = atomic_load_explicit(&b->head, memory_order_acquire);
	return position(b) + bytes - b->head_seen <= b->size;
}

static void fill_at(struct gsb_trace_buffer *b, uint8_t *place)
{
	b->lap = (uintptr_t)place - position(b);
	b->next = place;
}

static void fill_in_ring(struct gsb_trace_buffer *b)
{
	b->is_full = false;
	fill_at(b, b->ring + (position(b) & (b->size - 1)));
}

static void fill_elsewhere(struct gsb_trace_buffer *b)
{
	b->is_full = true;
	b->until = NULL;
	fill_at(b, gsb_trace_elsewhere);
}

/* Have room for the next record, and know how far there is. */
static void look_ahead(struct gsb_trace_buffer *b)
{
	uint64_t free_until;

	if (!has_room(b, GSB_TRACE_RECORD_MAX)) {
		fill_elsewhere(b);
		return;
	}
	fill_in_ring(b);
	free_until =
		least(b->head_seen + b->size - GSB_TRACE_RECORD_MAX, position(b) + b->size / AHEAD);
	b->until = (uint8_t *)least(b->lap + free_until, (uintptr_t)b->ring + b->size);
}

int gsb_trace_buffer_init(struct gsb_trace_buffer *b, uint64_t size)
{
	void *ring = mmap(NULL, size + GSB_TRACE_RECORD_MAX, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (ring == MAP_FAILED)
		return -ENOMEM;
	*b = (struct gsb_trace_buffer){.ring = ring, .size = size};
	look_ahead(b);
	return 0;
}

void gsb_trace_buffer_finish(struct gsb_trace_buffer *b)
{
	if (b->ring)
		munmap(b->ring, b->size + GSB_TRACE_RECORD_MAX);
	b->ring = NULL;
	b->is_closed = true;
	fill_elsewhere(b);
}

/* ---- producer ---- */

/* What was filled in the ring is there. */
static void add(struct gsb_trace_buffer *b, uint32_t bytes)
{
	b->next += bytes;
	if (b->next > b->ring + b->size)
		b->spilled = (uint32_t)(b->next - b->ring - b->size);
}

static void fill_lost(struct gsb_trace_buffer *b, struct gsb_trace_lost *out, uint64_t time)
{
	*out = (struct gsb_trace_lost){
		.head = {GSB_TRACE_LOST, sizeof(*out), 0, time},
		.n_events = b->n_lost_now,
	};
	b->n_lost_now = 0;
}

static void count(_Atomic uint64_t *n, uint64_t more)
{
	/* One writer: no need of a locked add. */
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + more,
			      memory_order_relaxed);
}

static GSB_COLD bool lose(struct gsb_trace_buffer *b, const struct gsb_trace_head *record)
{
	uint32_t n = gsb_trace_n_events(record);

	b->n_lost_now += n;
	count(&b->n_lost, n);
	return false;
}

static void carry_spilled(struct gsb_trace_buffer *b)
{
	memcpy(b->ring, b->ring + b->size, b->spilled);
	b->spilled = 0;
}

void gsb_trace_buffer_publish(struct gsb_trace_buffer *b)
{
	gsb_trace_buffer_split(b);
	if (gsb_unlikely(b->spilled))
		carry_spilled(b);
	b->published = b->next;
	atomic_store_explicit(&b->tail, position(b), memory_order_release);
}

void gsb_trace_buffer_close(struct gsb_trace_buffer *b)
{
	gsb_trace_buffer_publish(b);
	b->is_closed = true;
	fill_elsewhere(b);
}

static GSB_COLD void put_lost(struct gsb_trace_buffer *b)
{
	fill_lost(b, gsb_trace_buffer_begin(b), gsb_clock_stamp());
	add(b, sizeof(struct gsb_trace_lost));
	gsb_trace_buffer_publish(b);
	fill_in_ring(b);
}

/* A record was filled elsewhere: into the ring with it, if there is room now, behind what says how many were lost before it. */
static GSB_COLD bool come_back(struct gsb_trace_buffer *b, const struct gsb_trace_head *record)
{
	uint32_t lost_bytes = b->n_lost_now ? sizeof(struct gsb_trace_lost) : 0;

	if (!has_room(b, lost_bytes + record->bytes))
		return false;
	fill_in_ring(b);
	if (lost_bytes)
		put_lost(b);
	memcpy(gsb_trace_buffer_begin(b), record, record->bytes);
	return true;
}

GSB_NOINLINE bool gsb_trace_buffer_end_rare(struct gsb_trace_buffer *b,
					    const struct gsb_trace_head *record)
{
	if (b->is_closed)
		return false;
	gsb_trace_buffer_publish(b);
	if (b->is_full && !come_back(b, record))
		return lose(b, record);
	add(b, record->bytes);
	look_ahead(b);
	return true;
}

bool gsb_trace_buffer_put(struct gsb_trace_buffer *b, const struct gsb_trace_head *record)
{
	uint8_t *to = gsb_trace_buffer_begin(b);

	memcpy(to, record, record->bytes);
	if (!gsb_trace_buffer_end(b, to + record->bytes) &&
	    !gsb_trace_buffer_end_rare(b, (const struct gsb_trace_head *)to))
		return false;
	gsb_trace_buffer_publish(b);
	return true;
}

bool gsb_trace_buffer_last_words(struct gsb_trace_buffer *b, struct gsb_trace_lost *out)
{
	if (!b->n_lost_now)
		return false;
	fill_lost(b, out, 0);
	count(&b->n_drained, 1);
	return true;
}

/* ---- consumer ---- */

void gsb_trace_buffer_touch(struct gsb_trace_buffer *b)
{
#ifdef MADV_POPULATE_WRITE
	/* An old kernel refuses, and then they appear one by one. */
	madvise(b->ring, b->size, MADV_POPULATE_WRITE);
#endif
}

static uint64_t *word_at(const struct gsb_trace_buffer *b, uint64_t position)
{
	return (uint64_t *)(b->ring + (position & (b->size - 1)));
}

static uint32_t bytes_at(const struct gsb_trace_buffer *b, uint64_t position)
{
	return ((const struct gsb_trace_head *)word_at(b, position))->bytes;
}

uint32_t gsb_trace_buffer_look(const struct gsb_trace_buffer *b, uint32_t most)
{
	uint64_t head = atomic_load_explicit(&b->head, memory_order_relaxed), end = head;
	uint64_t tail = atomic_load_explicit(&b->tail, memory_order_acquire);

	if (tail - head <= most)
		return (uint32_t)(tail - head);
	while (end + bytes_at(b, end) - head <= most)
		end += bytes_at(b, end);
	return (uint32_t)(end - head);
}

uint32_t gsb_trace_posted_at(unsigned type)
{
	switch (type) {
	case GSB_TRACE_QUEUED: return offsetof(struct gsb_trace_queued, posted_ns);
	case GSB_TRACE_TAKEN: return offsetof(struct gsb_trace_taken, posted_ns);
	case GSB_TRACE_RANGE: return offsetof(struct gsb_trace_range, posted_ns);
	case GSB_COMPACT_LAUNCH: return offsetof(struct gsb_compact_launch, posted_ns);
	default: return 0;
	}
}

static void make_time(struct gsb_trace_buffer *b, const struct gsb_stamp_clock *clock,
		      uint64_t *stamp)
{
	uint64_t ns = gsb_stamp_clock_past(clock, *stamp);

	b->last_ns = ns > b->last_ns ? ns : b->last_ns;
	*stamp = b->last_ns;
}

/* Of a moment before the last. */
static void make_time_before(const struct gsb_trace_buffer *b, const struct gsb_stamp_clock *clock,
			     uint64_t *stamp)
{
	*stamp = least(gsb_stamp_clock_past(clock, *stamp), b->last_ns);
}

/* Of launches that are told by one record: of those from there on. */
static void time_again(struct gsb_trace_buffer *b, const struct gsb_stamp_clock *clock, uint64_t at,
		       uint64_t end)
{
	for (; at < end; at += sizeof(struct gsb_compact_again)) {
		make_time(b, clock, word_at(b, at + offsetof(struct gsb_compact_again, time_ns)));
		make_time_before(b, clock,
				 word_at(b, at + offsetof(struct gsb_compact_again, posted_ns)));
	}
}

/* The record at a position: where it lies, or whole in spare. */
static const struct gsb_trace_head *record_at(const struct gsb_trace_buffer *b, uint64_t position,
					      uint8_t spare[GSB_TRACE_RECORD_MAX])
{
	uint64_t first = b->size - (position & (b->size - 1));
	const struct gsb_trace_head *record = (const struct gsb_trace_head *)word_at(b, position);

	if (record->bytes <= first)
		return record;
	memcpy(spare, record, first);
	memcpy(spare + first, b->ring, record->bytes - first);
	return (const struct gsb_trace_head *)spare;
}

/* Of the record at a position. */
static void time_record(struct gsb_trace_buffer *b, const struct gsb_stamp_clock *clock,
			uint64_t at, unsigned type, uint32_t bytes)
{
	uint32_t posted = gsb_trace_posted_at(type);

	make_time(b, clock, word_at(b, at + offsetof(struct gsb_trace_head, time_ns)));
	if (posted)
		make_time_before(b, clock, word_at(b, at + posted));
	if (type == GSB_COMPACT_LAUNCH)
		time_again(b, clock, at + sizeof(struct gsb_compact_launch), at + bytes);
}

uint32_t gsb_trace_buffer_time(struct gsb_trace_buffer *b, uint32_t bytes,
			       const struct gsb_stamp_clock *clock)
{
	uint64_t at = atomic_load_explicit(&b->head, memory_order_relaxed), end = at + bytes;
	_Alignas(8) uint8_t spare[GSB_TRACE_RECORD_MAX];
	uint32_t n_events = 0;

	while (at < end) {
		const struct gsb_trace_head *record = record_at(b, at, spare);

		n_events += gsb_trace_n_events(record);
		time_record(b, clock, at, record->type, record->bytes);
		at += record->bytes;
	}
	return n_events;
}

unsigned gsb_trace_buffer_pieces(const struct gsb_trace_buffer *b, uint32_t bytes,
				 struct iovec pieces[2])
{
	uint64_t head = atomic_load_explicit(&b->head, memory_order_relaxed);
	uint64_t first = least(bytes, b->size - (head & (b->size - 1)));

	pieces[0] = (struct iovec){word_at(b, head), first};
	pieces[1] = (struct iovec){b->ring, bytes - first};
	return first < bytes ? 2 : 1;
}

void gsb_trace_buffer_release(struct gsb_trace_buffer *b, uint32_t bytes, uint32_t n_events)
{
	uint64_t head = atomic_load_explicit(&b->head, memory_order_relaxed);

	count(&b->n_drained, n_events);
	atomic_store_explicit(&b->head, head + bytes, memory_order_release);
}
