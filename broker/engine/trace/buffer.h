/*
 * buffer.h - records on their way from the engine's thread to the one that writes them: a ring of bytes without locks, one
 * producer, one consumer. The producer never waits: what finds no room is dropped and counted, and the count is a record
 * itself (lost), in front of the next one that finds room.
 *
 * A record is filled where it lies, and handed over with all others of a turn: so one costs the engine an addition, a comparison
 * and its own bytes. It is timed by a stamp, of which the consumer makes a time, where it lies; and it may be compact
 * (trace/compact.h), one for several events.
 *
 * A record can stand for many alike, and be continued by a few bytes for each, as long as nothing was told since and it was not
 * handed over: gsb_trace_buffer_open(), gsb_trace_buffer_add_more().
 *
 * Positions count bytes from 0 and never wrap. A record lies across the end of the ring as it comes; its size, in its
 * first 8 bytes, never does, because all sizes are multiples of 8. While it is filled it lies in one piece: there is room for
 * one behind the end, and what came to lie there is carried to the beginning before it is handed over.
 *
 * So that nothing has to be asked before a record is filled, there is room for the largest in front of the producer at all times,
 * and how large it is is said when it is there. Where the ring has less, that room lies elsewhere, and what is filled there goes
 * into the ring if that has room for it, and else is lost.
 */
#ifndef GSB_BROKER_ENGINE_TRACE_BUFFER_H
#define GSB_BROKER_ENGINE_TRACE_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "trace/event.h"
#include "trace/format.h"

struct gsb_trace_buffer {
	uint8_t *ring;
	uint64_t size; /* a power of two */

	/* the producer's */
	_Alignas(64) uint8_t *next; /* where the next record is filled */
	uint8_t *until;		    /* a record that ends here or before needs no other thought */
	uintptr_t lap;		    /* what a place is more than its position */
	uint64_t head_seen;  /* head as it was last read: again only when the ring looks full */
	uint64_t n_lost_now; /* since the last record lost */
	uint32_t spilled;    /* bytes behind the ring's end */
	struct gsb_trace_head *open; /* it may be continued, while it is the last, */
	uint8_t *open_end;	     /* which ends here; NULL: there is none */
	const void *open_of;	     /* whose it is */
	uint8_t *published;	     /* what is there up to here has been handed over */
	bool is_full;		     /* the next record is filled elsewhere */
	bool is_closed;

	_Alignas(64) _Atomic uint64_t tail; /* producer: rel after the records / consumer acq */
	_Atomic uint64_t n_lost;	    /* producer: events so far; anybody reads */
	_Alignas(64) _Atomic uint64_t head; /* consumer: rel after it has read / producer acq */
	_Atomic uint64_t n_drained;	    /* consumer: events so far; anybody reads */
	uint64_t last_ns;		    /* consumer: the time of the last record */
};

int gsb_trace_buffer_init(struct gsb_trace_buffer *b, uint64_t size); /* a power of two; -ENOMEM */
/* Takes a zeroed one, too. It is closed, as one that never was begun: records can be filled, and go nowhere. */
void gsb_trace_buffer_finish(struct gsb_trace_buffer *b);

/* Where records are filled that the ring has no room for, GSB_TRACE_RECORD_MAX bytes. */
extern GSB_OWN uint8_t gsb_trace_elsewhere[];
#define GSB_TRACE_CLOSED_BUFFER                                                 \
	{                                                                       \
		.next = gsb_trace_elsewhere, .is_full = true, .is_closed = true \
	}

/* Producer: room for a record of GSB_TRACE_RECORD_MAX bytes at most, to be filled before anything else is called here. */
static inline void *gsb_trace_buffer_begin(const struct gsb_trace_buffer *b)
{
	return b->next;
}

/* The same of a record for which more is to be thought of; false: it is lost. What was there before is handed over. */
bool gsb_trace_buffer_end_rare(struct gsb_trace_buffer *b, const struct gsb_trace_head *record);

/* Producer: the record ends there, a multiple of 8 bytes. False: say so by gsb_trace_buffer_end_rare(). */
static inline bool gsb_trace_buffer_end(struct gsb_trace_buffer *b, void *end)
{
	if (gsb_unlikely((uint8_t *)end > b->until))
		return false;
	b->next = end;
	return true;
}

/*
 * Producer: a record that was ended last, by gsb_trace_buffer_end(), may be continued, for whom @of points to, if there is room
 * for it whatever it becomes: who does so sees to it that it stays within GSB_TRACE_RECORD_MAX.
 */
static inline void gsb_trace_buffer_open(struct gsb_trace_buffer *b, struct gsb_trace_head *record,
					 const void *of)
{
	if ((uint8_t *)record + GSB_TRACE_RECORD_MAX > b->until)
		return;
	b->open = record;
	b->open_end = b->next;
	b->open_of = of;
}

/* Producer: nothing is; what comes next is a record of its own. */
static inline void gsb_trace_buffer_split(struct gsb_trace_buffer *b)
{
	b->open_end = NULL;
}

/* Producer: whether the last record may go on so, at gsb_trace_buffer_begin(). */
static inline bool gsb_trace_buffer_is_open(const struct gsb_trace_buffer *b, const void *of)
{
	return b->next == b->open_end && b->open_of == of;
}

/* Producer: it does, by so many bytes. */
static inline void gsb_trace_buffer_add_more(struct gsb_trace_buffer *b, uint16_t bytes)
{
	uint8_t *end = b->next + bytes;

	b->open->bytes = (uint16_t)(b->open->bytes + bytes);
	b->next = b->open_end = end;
}

/* Producer: hand all of them over; and, after the last, try nothing any more. */
void gsb_trace_buffer_publish(struct gsb_trace_buffer *b);
void gsb_trace_buffer_close(struct gsb_trace_buffer *b);

/* Producer: a record as it is, handed over at once. False: it was lost. */
bool gsb_trace_buffer_put(struct gsb_trace_buffer *b, const struct gsb_trace_head *record);

/* Producer: bytes that the consumer has not taken, as far as the producer knows: never fewer. */
static inline uint64_t gsb_trace_buffer_used(const struct gsb_trace_buffer *b)
{
	return (uintptr_t)b->next - b->lap - b->head_seen;
}

/* Consumer: bytes of whole records, oldest first, at most most of them, which is at least one record's; 0: there are none. */
uint32_t gsb_trace_buffer_look(const struct gsb_trace_buffer *b, uint32_t most);

/* Where the time of posting stands in a record of that type, which is a stamp, too; 0: it has none. */
uint32_t gsb_trace_posted_at(unsigned type);

/*
 * Consumer: make times of the stamps in the first bytes; once, and with a clock that was read after they were looked at.
 * Return: how many events these are.
 */
uint32_t gsb_trace_buffer_time(struct gsb_trace_buffer *b, uint32_t bytes,
			       const struct gsb_stamp_clock *clock);

/* Consumer: where the first bytes lie, in one piece or two. Return: how many. */
unsigned gsb_trace_buffer_pieces(const struct gsb_trace_buffer *b, uint32_t bytes,
				 struct iovec pieces[2]);

/* Consumer: the first bytes, so many events, are done with: their room is free again. */
void gsb_trace_buffer_release(struct gsb_trace_buffer *b, uint32_t bytes, uint32_t n_events);

/* Consumer: pages appear when they are first touched: here, so that it need not be in the producer. */
void gsb_trace_buffer_touch(struct gsb_trace_buffer *b);

/* The producer has ended: a record of what it had no more chance to say. False: there was nothing. */
bool gsb_trace_buffer_last_words(struct gsb_trace_buffer *b, struct gsb_trace_lost *out);

#endif
