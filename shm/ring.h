/*
 * ring.h - the ring of records from a tenant to its engine: many threads of one process on one side
 * (serialised by the library's lock), one consumer on the other.
 *
 * Records are contiguous: one that would cross the end of the ring is preceded by a PAD record. Each side
 * keeps its own position privately and only publishes it; the engine never believes what it published.
 */
#ifndef GSB_SHM_RING_H
#define GSB_SHM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "gsb/wire.h"
#include "shm/keep.h"

/* ---- tenant ---- */

struct gsb_ring_producer {
	struct gsb_region_header *header;
	uint8_t *ring;
	uint64_t tail;	    /* next byte to write */
	uint64_t head_seen; /* cached head: read again only when the ring looks full */
};

/*
 * event_fd: the engine's doorbell as WELCOME brought it; it is noted in the region for those who block, too.
 * keep: where it was added; NULL: it is not asked after.
 */
void gsb_ring_producer_init(struct gsb_ring_producer *p, struct gsb_region *region, int event_fd,
			    const struct gsb_keep *keep);

/* A kept descriptor is not there: say so once, and set header.fatal. Who waits must be woken then. */
void gsb_ring_closed(struct gsb_region_header *header);

/*
 * gsb_ring_doorbell() - wake the engine, for those who saw engine_sleeps set
 * Keeps errno. False: the program has closed the doorbell, see gsb_ring_closed().
 */
bool gsb_ring_doorbell(struct gsb_region_header *header);

/* gsb_ring_reserve() where the ring ends or looks full. */
struct gsb_rec *gsb_ring_reserve_rare(struct gsb_ring_producer *p, uint32_t size,
				      uint64_t *wait_for);

/*
 * gsb_ring_reserve() - room for one record, to be filled in place
 * @size:     bytes with header, at most GSB_RECORD_MAX; rounded up to GSB_RECORD_ALIGN here
 * @wait_for: when full: the head position to wait for (GSB_WAIT_RING), untouched otherwise
 *
 * Context: the caller holds the library's ring lock until gsb_ring_commit.
 * Return: the header, its size field set and its other fields not; the stamp is gsb_ring_commit()'s; NULL when the ring is full.
 */
static inline struct gsb_rec *gsb_ring_reserve(struct gsb_ring_producer *p, uint32_t size,
					       uint64_t *wait_for)
{
	uint32_t at = (uint32_t)p->tail & (GSB_RING_BYTES - 1);
	struct gsb_rec *rec = (struct gsb_rec *)(p->ring + at);

	size = (size + GSB_RECORD_ALIGN - 1) & ~(uint32_t)(GSB_RECORD_ALIGN - 1);
	if (gsb_unlikely(at + size > GSB_RING_BYTES ||
			 p->tail + size - p->head_seen > GSB_RING_BYTES))
		return gsb_ring_reserve_rare(p, size, wait_for);
	rec->size = size;
	return rec;
}

/* Publish the reserved record; rings if the engine sleeps (the only system calls, and rare), and returns as that. */
static inline bool gsb_ring_publish(struct gsb_ring_producer *p, struct gsb_region_header *header,
				    const struct gsb_rec *rec)
{
	p->tail += rec->size;
	atomic_store_explicit(&header->tail, p->tail, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	return gsb_likely(!atomic_load_explicit(&header->engine_sleeps, memory_order_relaxed)) ||
	       gsb_ring_doorbell(header);
}

/* The same, stamped if the engine wants it so. */
static inline bool gsb_ring_commit(struct gsb_ring_producer *p, struct gsb_rec *rec)
{
	struct gsb_region_header *header = p->header; /* read once, whatever fences follow */

	rec->stamp = 0;
	if (gsb_unlikely(atomic_load_explicit(&header->is_traced, memory_order_relaxed)))
		rec->stamp = gsb_clock_stamp();
	return gsb_ring_publish(p, header, rec);
}

/* The same, stamped in any case: records of other rings are before it or after. */
static inline bool gsb_ring_commit_stamped(struct gsb_ring_producer *p, struct gsb_rec *rec)
{
	rec->stamp = gsb_clock_stamp_after();
	return gsb_ring_publish(p, p->header, rec);
}

/* ---- engine ---- */

struct gsb_ring_consumer {
	struct gsb_region_header *header;
	const uint8_t *ring;
	uint64_t head; /* private; published after each record */
};

void gsb_ring_consumer_init(struct gsb_ring_consumer *c, struct gsb_region *region);

/*
 * gsb_ring_peek() - copy the next record out of hostile memory
 * @buf: GSB_RECORD_MAX bytes, aligned to GSB_RECORD_ALIGN; holds the record on return 1
 *
 * PAD records are skipped. The copy has a known type, a size that holds at least header and body of that
 * type, and lies inside the ring; nothing else is checked here.
 * Return: 1, 0 (empty), -EPROTO (the tenant broke the protocol: cut it off).
 */
int gsb_ring_peek(struct gsb_ring_consumer *c, void *buf);

/* The record that the last peek returned is done with: publish head. Does not wake; see gsb_wake_waiters. */
void gsb_ring_advance(struct gsb_ring_consumer *c, const struct gsb_rec *rec);

bool gsb_ring_is_empty(const struct gsb_ring_consumer *c);

/* What a record behind the head is. */
struct gsb_ring_glance {
	uint16_t type;
	uint64_t stamp;
	uint64_t object; /* the first word of the body; 0: it has none */
};

/*
 * gsb_ring_glance() - look at a record of hostile memory that is not its turn yet
 * @tail: of the ring, as gsb_ring_tail() gave it
 * @at:   its position, from head on; on return 1 that of the one behind it
 * Return: 1, 0 (there is none, or nothing that gsb_ring_peek would take)
 */
int gsb_ring_glance(const struct gsb_ring_consumer *c, uint64_t tail, uint64_t *at,
		    struct gsb_ring_glance *out);
uint64_t gsb_ring_tail(const struct gsb_ring_consumer *c);

/*
 * Going to sleep: prepare for every region, then look at every ring once more, then sleep in epoll, then
 * awake for every region.
 */
void gsb_ring_prepare_sleep(struct gsb_ring_consumer *c);
/* The same, and the tenant rings when one of its threads blocks or ends, too: virtual time waits for that. */
void gsb_ring_prepare_gate(struct gsb_ring_consumer *c);
void gsb_ring_awake(struct gsb_ring_consumer *c);

/* Bytes of header + body of a record type, without the variable part; 0 for no such type. */
uint32_t gsb_rec_min_size(uint16_t type);
enum gsb_rec_class gsb_rec_class(uint16_t type); /* type < GSB_N_RECS */
const char *gsb_rec_name(uint16_t type);	 /* "Launch"; "?" for no such type */

#endif
