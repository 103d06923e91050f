/*
 * buffer.c - see buffer.h.
 */
#include "broker/engine/trace/buffer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/compiler.h"

int gsb_trace_buffer_init(struct gsb_trace_buffer *b, uint64_t size)
{
	void *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (ring == MAP_FAILED)
		return -ENOMEM;
	*b = (struct gsb_trace_buffer){.ring = ring, .size = size};
	return 0;
}

void gsb_trace_buffer_finish(struct gsb_trace_buffer *b)
{
	if (b->ring)
		munmap(b->ring, b->size);
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

static inline void append(struct gsb_trace_buffer *b, const struct gsb_trace_head *record)
{
	uint64_t at = b->tail_next & (b->size - 1), first = b->size - at;

	if (gsb_likely(record->bytes <= first)) {
		memcpy(b->ring + at, record, record->bytes);
	} else {
		memcpy(b->ring + at, record, first);
		memcpy(b->ring, (const uint8_t *)record + first, record->bytes - first);
	}
	b->tail_next += record->bytes;
}

static void fill_lost(struct gsb_trace_buffer *b, struct gsb_trace_lost *out, uint64_t time_ns)
{
	*out = (struct gsb_trace_lost){
		.head = {GSB_TRACE_LOST, sizeof(*out), 0, time_ns},
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

static GSB_COLD bool lose(struct gsb_trace_buffer *b)
{
	b->n_lost_now++;
	count(&b->n_lost, 1);
	return false;
}

static GSB_COLD void append_lost(struct gsb_trace_buffer *b, uint64_t time_ns)
{
	struct gsb_trace_lost lost;

	fill_lost(b, &lost, time_ns);
	append(b, &lost.head);
	count(&b->n_records, 1);
}

bool gsb_trace_buffer_put(struct gsb_trace_buffer *b, const struct gsb_trace_head *record)
{
	uint32_t lost_bytes = b->n_lost_now ? sizeof(struct gsb_trace_lost) : 0;

	if (gsb_unlikely(!has_room(b, record->bytes + lost_bytes)))
		return lose(b);
	if (gsb_unlikely(lost_bytes))
		append_lost(b, record->time_ns);
	append(b, record);
	count(&b->n_records, 1);
	atomic_store_explicit(&b->tail, b->tail_next, memory_order_release);
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

void gsb_trace_buffer_drop(struct gsb_trace_buffer *b, uint32_t bytes)
{
	uint64_t head = atomic_load_explicit(&b->head, memory_order_relaxed);

	atomic_store_explicit(&b->head, head + bytes, memory_order_release);
}
