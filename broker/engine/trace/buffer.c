/*
 * buffer.c - see buffer.h.
 */
#include "broker/engine/trace/buffer.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/compiler.h"

#define AHEAD 64 /* parts of the ring: so often the producer looks around */

int gsb_trace_buffer_init(struct gsb_trace_buffer *b, uint64_t size)
{
	void *ring = mmap(NULL, size + GSB_TRACE_RECORD_MAX, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (ring == MAP_FAILED)
		return -ENOMEM;
	*b = (struct gsb_trace_buffer){.ring = ring, .size = size};
	return 0;
}

void gsb_trace_buffer_finish(struct gsb_trace_buffer *b)
{
	if (b->ring)
		munmap(b->ring, b->size + GSB_TRACE_RECORD_MAX);
	b->ring = NULL;
}

/* ---- producer ---- */

static bool has_room(struct gsb_trace_buffer *b, uint64_t bytes)
{
	if (b->tail_next + bytes - b->head_seen <= b->size)
		return true;
	b->head_seen = atomic_load_explicit(&b->head, memory_order_acquire);
	return b->tail_next + bytes - b->head_seen <= b->size;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* There is room. */
static void *take(struct gsb_trace_buffer *b, uint32_t bytes)
{
	uint64_t at = b->tail_next & (b->size - 1), end = b->tail_next - at + b->size;

	b->tail_next += bytes;
	b->n_put++;
	if (b->tail_next > end) {
		b->spilled = (uint32_t)(b->tail_next - end);
		end += b->size;
	}
	b->lap = (uintptr_t)b->ring - (end - b->size);
	b->free_until = least(least(b->head_seen + b->size, b->tail_next + b->size / AHEAD), end);
	return b->ring + at;
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

/* A smaller one behind it must not find room before that is said. */
static GSB_COLD void *lose(struct gsb_trace_buffer *b)
{
	b->n_lost_now++;
	b->free_until = b->tail_next;
	count(&b->n_lost, 1);
	return NULL;
}

static void carry_spilled(struct gsb_trace_buffer *b)
{
	memcpy(b->ring, b->ring + b->size, b->spilled);
	b->spilled = 0;
}

void gsb_trace_buffer_publish(struct gsb_trace_buffer *b)
{
	if (gsb_unlikely(b->spilled))
		carry_spilled(b);
	atomic_store_explicit(&b->n_records, b->n_put, memory_order_relaxed);
	atomic_store_explicit(&b->tail, b->tail_next, memory_order_release);
}

void gsb_trace_buffer_close(struct gsb_trace_buffer *b)
{
	gsb_trace_buffer_publish(b);
	b->free_until = 0;
}

static GSB_COLD void put_lost(struct gsb_trace_buffer *b)
{
	fill_lost(b, take(b, sizeof(struct gsb_trace_lost)), gsb_clock_stamp());
	gsb_trace_buffer_publish(b);
}

GSB_NOINLINE void *gsb_trace_buffer_reserve_rare(struct gsb_trace_buffer *b, uint32_t bytes)
{
	uint32_t lost_bytes = b->n_lost_now ? sizeof(struct gsb_trace_lost) : 0;

	gsb_trace_buffer_publish(b);
	if (gsb_unlikely(!has_room(b, bytes + lost_bytes)))
		return lose(b);
	if (gsb_unlikely(lost_bytes))
		put_lost(b);
	return take(b, bytes);
}

bool gsb_trace_buffer_put(struct gsb_trace_buffer *b, const struct gsb_trace_head *record)
{
	void *to = gsb_trace_buffer_reserve(b, record->bytes);

	if (!to)
		return false;
	memcpy(to, record, record->bytes);
	gsb_trace_buffer_publish(b);
	return true;
}

bool gsb_trace_buffer_last_words(struct gsb_trace_buffer *b, struct gsb_trace_lost *out)
{
	if (!b->n_lost_now)
		return false;
	fill_lost(b, out, 0);
	count(&b->n_records, 1);
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

/* Bytes of whole records from position at on, at most most. */
static uint32_t whole_records(const struct gsb_trace_buffer *b, uint64_t at, uint64_t end,
			      uint32_t most)
{
	uint32_t bytes = 0;

	if (end - at <= most)
		return (uint32_t)(end - at);
	for (;;) {
		struct gsb_trace_head head;

		memcpy(&head, b->ring + ((at + bytes) & (b->size - 1)), 8);
		if (bytes + head.bytes > most)
			return bytes;
		bytes += head.bytes;
	}
}

uint32_t gsb_trace_buffer_look(struct gsb_trace_buffer *b, uint32_t most,
			       struct gsb_trace_part parts[2])
{
	uint64_t head = atomic_load_explicit(&b->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&b->tail, memory_order_acquire);
	uint32_t bytes = whole_records(b, head, tail, most);
	uint64_t at = head & (b->size - 1), first = b->size - at;

	if (first > bytes)
		first = bytes;
	parts[0] = (struct gsb_trace_part){b->ring + at, (uint32_t)first};
	parts[1] = (struct gsb_trace_part){b->ring, (uint32_t)(bytes - first)};
	return bytes;
}

static uint64_t *word_at(const struct gsb_trace_buffer *b, uint64_t position)
{
	return (uint64_t *)(b->ring + (position & (b->size - 1)));
}

uint32_t gsb_trace_posted_at(unsigned type)
{
	switch (type) {
	case GSB_TRACE_QUEUED: return offsetof(struct gsb_trace_queued, posted_ns);
	case GSB_TRACE_TAKEN: return offsetof(struct gsb_trace_taken, posted_ns);
	default: return 0;
	}
}

void gsb_trace_buffer_time(struct gsb_trace_buffer *b, uint32_t bytes,
			   const struct gsb_stamp_clock *clock)
{
	uint64_t at = atomic_load_explicit(&b->head, memory_order_relaxed), end = at + bytes;
	struct gsb_trace_head head;

	for (; at < end; at += head.bytes) {
		uint64_t *time = word_at(b, at + offsetof(struct gsb_trace_head, time_ns));
		uint32_t posted;
		uint64_t ns;

		memcpy(&head, word_at(b, at), sizeof(uint64_t));
		posted = gsb_trace_posted_at(head.type);
		ns = gsb_stamp_clock_past(clock, *time);
		b->last_ns = ns > b->last_ns ? ns : b->last_ns;
		*time = b->last_ns;
		if (posted)
			*word_at(b, at + posted) =
				least(gsb_stamp_clock_past(clock, *word_at(b, at + posted)), *time);
	}
}

void gsb_trace_buffer_drop(struct gsb_trace_buffer *b, uint32_t bytes)
{
	uint64_t head = atomic_load_explicit(&b->head, memory_order_relaxed);

	atomic_store_explicit(&b->head, head + bytes, memory_order_release);
}
