/*
 * compact.h - what the engine's thread writes for a launch: three records instead of its seven events or more. In each of them
 * lies what the engine has at hand at one moment, as it has it; times that are the same, names and sizes stand there once. So
 * they lie in the file, too, and who reads makes events of them, in their order: gsb_trace_expand(). What comes out of read.h,
 * and what LTTng has, is events.
 *
 *   GSB_COMPACT_LAUNCH     queued, launch; of all that come one behind another and are alike
 *   GSB_COMPACT_DECISION   of all that a decision lets go: ready, where that is not told; decided; shaped, where it is; issued
 *   GSB_COMPACT_RUN        where one behind another is on the device (work/run.h), of each that has ended, and of the next, which
 *                          has the device then: ready, decided, issued; finished, completed
 *   GSB_COMPACT_END        finished, completed
 *
 * Each is of a fixed size, with any number of parts behind it that are alike. In bursts that is one record for many launches,
 * which each continues by what is its own alone. When the engine took a launch from a ring is said of each; when it took what the
 * device says has ended is one moment for all that it says at once.
 */
#ifndef GSB_TRACE_COMPACT_H
#define GSB_TRACE_COMPACT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "gsb/wire.h"
#include "trace/event.h"

enum gsb_compact_type {
	GSB_COMPACT_LAUNCH = GSB_N_TRACE_TYPES,
	GSB_COMPACT_DECISION,
	GSB_COMPACT_RUN,
	GSB_COMPACT_END,
	GSB_N_COMPACT_TYPES
};

/* What is copied as it lies: in a record of the wire, in that of a launch, in an operation, a stream, and in what the policy says. */
struct gsb_compact_rec {
	uint16_t type, thread;
	uint32_t size;
	uint64_t stream; /* a handle */
};
struct gsb_compact_body {
	uint64_t function;
	uint32_t grid[3], block[3];
	uint32_t smem_bytes, flags, params_bytes, zero;
};

/* One more, alike but for that; its serial is the next. */
struct gsb_compact_again {
	uint64_t time_ns, posted_ns;
};

struct gsb_compact_launch {
	struct gsb_trace_head head;
	uint64_t serial, post_device_ns, posted_ns;
	struct gsb_compact_rec rec;
	struct gsb_compact_body body;
	struct gsb_compact_again more[];
};

struct gsb_compact_op {
	uint64_t serial, ready_device_ns;
};
struct gsb_compact_stream {
	uint32_t tenant, stream;
};
struct gsb_compact_why {
	uint32_t reason;
	int32_t priority;
	uint32_t first_sm, n_sms, predicted_slowdown_ppm, trust_ppm;
	uint64_t predicted_ns, part_ns;
};

/* An operation that goes; fields as in the events. */
struct gsb_compact_issue {
	struct gsb_compact_op op;
	struct gsb_compact_why why;
	struct gsb_compact_stream stream;
	uint64_t issued_device_ns, n_blocks_after;
	uint64_t n_blocks; /* where it has a form or is cut */
	uint32_t n_parts;  /* likewise */
	uint32_t threads_per_block;
	uint32_t n_ready; /* when it became ready; 0: that it is has been told */
	uint16_t queue;
	uint8_t form, cut;
};

#define GSB_COMPACT_BESIDE_MAX 4
struct gsb_compact_decision {
	struct gsb_trace_head head; /* its tenant is not filled */
	uint64_t decision, device_ns;
	uint32_t n_ready, n_running;
	uint64_t beside[GSB_COMPACT_BESIDE_MAX]; /* of n_running */
	struct gsb_compact_issue issues[];
};

/* As it lies in what the device says. */
struct gsb_compact_result {
	int32_t result;
	uint32_t failed; /* is not there, but in the context */
	uint64_t start_device_ns, end_device_ns, n_blocks, n_instructions;
};

/* One has ended, and another is next; by a decision with the next number. */
struct gsb_compact_step {
	struct gsb_compact_op next;
	uint64_t start_device_ns, end_device_ns, n_blocks,
		n_instructions; /* as in struct gsb_compact_result */
	uint64_t n_blocks_next;
	uint32_t threads_per_block_next, zero;
};

struct gsb_compact_run {
	struct gsb_trace_head head; /* its tenant is not filled */
	struct gsb_compact_stream stream;
	uint64_t serial, number; /* of the first that has ended */
	uint64_t decision;	 /* of the first that was next */
	int32_t priority;
	uint32_t first_sm, n_sms, queue, n_ready, n_running;
	uint64_t beside[GSB_COMPACT_BESIDE_MAX]; /* of n_running */
	struct gsb_compact_step steps[];
};

struct gsb_compact_end {
	struct gsb_trace_head head; /* its tenant is not filled */
	struct gsb_compact_stream stream;
	uint64_t serial, number;
	struct gsb_compact_result result;
};

/* From one field to another, a struct lies as a compact one does: these can be copied as they lie. */
#define GSB_LIES_AS(type, from, to, compact, compact_from, compact_to) \
	(offsetof(type, to) - offsetof(type, from) ==                  \
	 offsetof(compact, compact_to) - offsetof(compact, compact_from))

/* Its head, but for the tenant. */
static inline void gsb_compact_begin(struct gsb_trace_head *head, enum gsb_compact_type type,
				     uint16_t bytes)
{
	const uint16_t kind[2] = {(uint16_t)type, bytes};

	memcpy(head, kind, sizeof(kind)); /* one store */
	head->time_ns = gsb_clock_count();
}

/* The events of a record take at most so many times its bytes. */
#define GSB_TRACE_EXPANSION 8

/*
 * gsb_trace_expand() - the events that a record stands for: itself, where it is one
 * @to: room for GSB_TRACE_EXPANSION times its bytes; times are as in the record
 * Return: their bytes.
 */
uint32_t gsb_trace_expand(const struct gsb_trace_head *record, void *to);

/* How many these are. */
uint32_t gsb_trace_n_events(const struct gsb_trace_head *record);

/* ---- what readers know ---- */

/* The fields of a record, and of each part behind it, whose offsets are from its own beginning; without parts its size is 0. */
struct gsb_compact_layout {
	struct gsb_trace_event record, part;
};

/* NULL for no such type. */
const struct gsb_compact_layout *gsb_compact_layout(unsigned type);

#endif
