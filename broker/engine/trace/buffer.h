/*
 * buffer.h - records on their way from the engine's thread to the one that writes them: a ring of bytes without locks, one
 * producer, one consumer. The producer never waits: what finds no room is dropped and counted, and the count is a record
 * itself (lost), in front of the next one that finds room.
 *
 * Positions count bytes from 0 and never wrap. A record lies across the end of the ring as it comes; its size, in its
 * first 8 bytes, never does, because all sizes are multiples of 8.
 */
#ifndef GSB_BROKER_ENGINE_TRACE_BUFFER_H
#define GSB_BROKER_ENGINE_TRACE_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/write.h"

struct gsb_trace_buffer {
	uint8_t *ring;
	uint64_t size; /* a power of two */

	/* the producer's */
	_Alignas(64) uint64_t tail_next; /* as tail, and private */
	uint64_t head_seen;  /* head as it was last read: again only when the ring looks full */
	uint64_t n_lost_now; /* since the last record lost */

	_Alignas(64) _Atomic uint64_t tail; /* producer: rel after the records / consumer acq */
	_Atomic uint64_t n_records, n_lost; /* producer: so far; anybody reads */
	_Alignas(64) _Atomic uint64_t head; /* consumer: rel after it has read / producer acq */
};

int gsb_trace_buffer_init(struct gsb_trace_buffer *b, uint64_t size); /* a power of two; -ENOMEM */
void gsb_trace_buffer_finish(struct gsb_trace_buffer *b);	      /* takes a zeroed one, too */

/* Producer. False: it was lost. head->bytes of it, a multiple of 8. */
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

/* Consumer: pages appear when they are first touched: here, so that it need not be in the producer. */
void gsb_trace_buffer_touch(struct gsb_trace_buffer *b);

/* The producer has ended: a record of what it had no more chance to say. False: there was nothing. */
bool gsb_trace_buffer_last_words(struct gsb_trace_buffer *b, struct gsb_trace_lost *out);

#endif
