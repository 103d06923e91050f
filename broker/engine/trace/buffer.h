/*
 * buffer.h - records on their way from the engine's thread to the one that writes them: a ring of bytes without locks, one
 * producer, one consumer. The producer never waits: what finds no room is dropped and counted, and the count is a record
 * itself (lost), in front of the next one that finds room.
 *
 * A record is filled where it lies, and handed over with all others of a turn: so one costs the engine an addition, a comparison
 * and its own bytes. It is timed by a stamp, of which the consumer makes a time.
 *
 * Positions count bytes from 0 and never wrap. A record lies across the end of the ring as it comes; its size, in its
 * first 8 bytes, never does, because all sizes are multiples of 8. While it is filled it lies in one piece: there is room for
 * one behind the end, and what came to lie there is carried to the beginning before it is handed over.
 */
#ifndef GSB_BROKER_ENGINE_TRACE_BUFFER_H
#define GSB_BROKER_ENGINE_TRACE_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "trace/event.h"
#include "trace/write.h"

struct gsb_trace_buffer {
	uint8_t *ring;
	uint64_t size; /* a power of two */

	/* the producer's */
	_Alignas(64) uint64_t tail_next; /* as tail, and private */
	uint64_t
		free_until; /* up to here is room in one piece, and nothing else to be thought of */
	uint64_t n_put;	    /* records so far */
	uint64_t head_seen; /* head as it was last read: again only when the ring looks full */
	uint64_t n_lost_now; /* since the last record lost */
	uintptr_t lap;	     /* + a position up to free_until: where that lies */
	uint32_t spilled;    /* bytes behind the ring's end */

	_Alignas(64) _Atomic uint64_t tail; /* producer: rel after the records / consumer acq */
	_Atomic uint64_t n_records, n_lost; /* producer: so far; anybody reads */
	_Alignas(64) _Atomic uint64_t head; /* consumer: rel after it has read / producer acq */
	uint64_t last_ns;		    /* consumer: the time of the last record */
};

int gsb_trace_buffer_init(struct gsb_trace_buffer *b, uint64_t size); /* a power of two; -ENOMEM */
void gsb_trace_buffer_finish(struct gsb_trace_buffer *b);	      /* takes a zeroed one, too */

/* There is, in one piece, and nothing else is to be thought of: take it. */
static inline bool gsb_trace_buffer_has_room(const struct gsb_trace_buffer *b, uint32_t bytes)
{
	return b->tail_next + bytes <= b->free_until;
}

static inline void *gsb_trace_buffer_take(struct gsb_trace_buffer *b, uint32_t bytes)
{
	uint64_t at = b->tail_next;

	b->tail_next = at + bytes;
	b->n_put++;
	return (void *)(b->lap + at);
}

/* A record's room otherwise; NULL: it is lost. What was reserved before is handed over. */
void *gsb_trace_buffer_reserve_rare(struct gsb_trace_buffer *b, uint32_t bytes);

/*
 * gsb_trace_buffer_reserve() - producer: room for a record, to be filled before the next is reserved or this one published
 * @bytes: a multiple of 8, at most GSB_TRACE_RECORD_MAX
 * Return: NULL: it is lost.
 */
static inline void *gsb_trace_buffer_reserve(struct gsb_trace_buffer *b, uint32_t bytes)
{
	return gsb_likely(gsb_trace_buffer_has_room(b, bytes))
		       ? gsb_trace_buffer_take(b, bytes)
		       : gsb_trace_buffer_reserve_rare(b, bytes);
}

/* Producer: hand all of them over; and, after the last, try nothing any more. */
void gsb_trace_buffer_publish(struct gsb_trace_buffer *b);
void gsb_trace_buffer_close(struct gsb_trace_buffer *b);

/* Producer: a record as it is, handed over at once. False: it was lost. */
bool gsb_trace_buffer_put(struct gsb_trace_buffer *b, const struct gsb_trace_head *record);

/* Producer: bytes that the consumer has not taken, as far as the producer knows: never fewer. */
static inline uint64_t gsb_trace_buffer_used(const struct gsb_trace_buffer *b)
{
	return b->tail_next - b->head_seen;
}

/*
 * gsb_trace_buffer_look() - consumer: whole records where they lie, oldest first
 * @most:  bytes, at least one record's
 * @parts: the ring's end may lie between; the second is mostly empty
 * Return: bytes, which are there until they are dropped; 0: there are none.
 */
uint32_t gsb_trace_buffer_look(struct gsb_trace_buffer *b, uint32_t most,
			       struct gsb_trace_part parts[2]);
void gsb_trace_buffer_drop(struct gsb_trace_buffer *b, uint32_t bytes);

/* Where the time of posting stands in a record of that type, which is a stamp, too; 0: it has none. */
uint32_t gsb_trace_posted_at(unsigned type);

/* Consumer: make times of the stamps in the first bytes; once, and with a clock that was read after they were looked at. */
void gsb_trace_buffer_time(struct gsb_trace_buffer *b, uint32_t bytes,
			   const struct gsb_stamp_clock *clock);

/* Consumer: pages appear when they are first touched: here, so that it need not be in the producer. */
void gsb_trace_buffer_touch(struct gsb_trace_buffer *b);

/* The producer has ended: a record of what it had no more chance to say. False: there was nothing. */
bool gsb_trace_buffer_last_words(struct gsb_trace_buffer *b, struct gsb_trace_lost *out);

#endif
