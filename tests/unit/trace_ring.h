/*
 * trace_ring.h - what a reader of the file makes of what an engine's thread has put into the ring.
 */
#ifndef TESTS_UNIT_TRACE_RING_H
#define TESTS_UNIT_TRACE_RING_H

#include <stdint.h>
#include <string.h>

#include "broker/engine/trace/buffer.h"
#include "trace/compact.h"

/* The events of the first bytes, GSB_TRACE_EXPANSION times as many at most, out of the ring. Return: their bytes. */
static inline uint32_t trace_ring_drain(struct gsb_trace_buffer *b, uint32_t bytes, void *to)
{
	static _Alignas(8) uint8_t records[1 << 20];
	struct iovec pieces[2];
	uint32_t n = 0, at = 0, n_events = 0;
	uint8_t *events = to;

	for (unsigned i = 0; i < gsb_trace_buffer_pieces(b, bytes, pieces); i++) {
		memcpy(records + n, pieces[i].iov_base, pieces[i].iov_len);
		n += (uint32_t)pieces[i].iov_len;
	}
	while (at < n) {
		const struct gsb_trace_head *record = (const struct gsb_trace_head *)(records + at);

		n_events += gsb_trace_n_events(record);
		events += gsb_trace_expand(record, events);
		at += record->bytes;
	}
	gsb_trace_buffer_release(b, bytes, n_events);
	return (uint32_t)(events - (uint8_t *)to);
}

#endif
