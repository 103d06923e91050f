/*
 * traced.h - what a trace tells, joined: events of one serial are one operation, and tenants, streams and kernels are things
 * with names. Everything that gsb-trace says is made from this.
 *
 * Events come from any source, one after another, into gsb_traced_take(). In the order of events.def an operation goes
 * through steps; where a step is missing, is told twice or stands in the wrong place, the operation has a flaw, which is
 * counted and never hides the rest of it. All times without "real" are of the device and in ns; 0 where a step was not told.
 *
 * With on_done set, an operation is given to that function when it is completed and then forgotten: what is held is what is
 * under way, however long the trace. Without it all operations are kept, about 400 bytes each.
 *
 * Numbers and names of a trace may be hostile. Indices here are checked or made by us; texts hold nothing but printable
 * ASCII.
 */
#ifndef GSB_TOOLS_TRACE_TRACED_H
#define GSB_TOOLS_TRACE_TRACED_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/trace/map.h"
#include "trace/event.h"
#include "trace/format.h"

#define GSB_TRACED_NONE	     UINT32_MAX
#define GSB_TRACED_PARKS_MAX 4
#define GSB_TRACED_NAME_MAX  256
#define GSB_TRACED_FORMS     3 /* that change the geometry */

enum gsb_traced_step {
	GSB_STEP_QUEUED,
	GSB_STEP_DETAIL, /* launch, copy, fill, records, waits_for */
	GSB_STEP_PARKED,
	GSB_STEP_READY,
	GSB_STEP_DECIDED,
	GSB_STEP_ISSUED,
	GSB_STEP_FINISHED,
	GSB_STEP_COMPLETED,
	GSB_N_STEPS
};

/* What may be wrong with an operation. */
enum gsb_traced_flaw {
	GSB_FLAW_MISSING,  /* completed without a step that its kind has */
	GSB_FLAW_ORDER,	   /* a step after a later one, or twice */
	GSB_FLAW_TIMES,	   /* device times run backwards */
	GSB_FLAW_OVERTOOK, /* completed before one that was queued before it in its stream */
	GSB_FLAW_NUMBER,   /* the stream's word leaves a number out */
	GSB_N_FLAWS
};

struct gsb_traced_park {
	uint64_t on_serial;
	uint8_t on; /* enum gsb_trace_park */
};

struct gsb_traced_op {
	uint64_t serial;
	uint32_t tenant, stream; /* indices */
	uint32_t kernel;	 /* index; NONE */
	uint32_t range;		 /* index of the innermost that its thread had open; NONE */
	uint32_t previous;    /* index of the operation before it in its stream; NONE; all kept */
	uint64_t place;	      /* operations of its stream before it */
	uint8_t kind;	      /* enum gsb_trace_op */
	uint8_t steps, flaws; /* 1 << step, 1 << flaw */
	uint8_t n_parks, from, to;
	uint8_t before, failed;
	uint8_t reason; /* enum gsb_trace_reason of the issue */
	uint8_t hold_reason;
	uint8_t form; /* enum gsb_trace_form of the launch */
	uint16_t thread, n_running;
	uint32_t grid[3], block[3], smem_bytes;
	bool is_cooperative;
	uint32_t n_ready, predicted_slowdown_ppm, trust_ppm, threads_after;
	uint32_t queue, n_holds;
	int32_t result;
	uint64_t n_blocks, n_blocks_after, n_instructions;
	uint64_t bytes, waits_for;
	uint64_t after; /* serial: its program had waited for that one of its own; 0: for none */
	uint32_t
		n_parts; /* of the form: slices, tiles that a block does, or eighths of its places */
	uint64_t decision, beside[4], predicted_ns, part_ns;
	uint64_t posted_real_ns, queued_real_ns, completed_real_ns;
	uint64_t hold_not_before_ns, hold_until; /* of the last hold, as of held */
	uint64_t post_ns, held_ns, ready_ns, decided_ns, issued_ns, start_ns, end_ns, completed_ns;
	struct gsb_traced_park parks[GSB_TRACED_PARKS_MAX]; /* the first of them */
	uint64_t woke_real_ns; /* when its program was woken first because of it; 0: not told */
	uint32_t n_woke;       /* threads */
};

/*
 * What a program may have waited for: a command of its own that was completed. With a virtual clock that is exact: time, and so
 * a command, goes on only while the program waits. What completes at once, as an event on an idle stream, is no wait.
 */
struct gsb_traced_release {
	uint64_t serial, real_ns, done_ns;
};
#define GSB_TRACED_RELEASES 4

struct gsb_traced_tenant {
	uint32_t number; /* as in the trace */
	uint32_t pid, uid;
	bool told;   /* there was a tenant_come */
	bool before; /* it was there before the recording */
	bool gone;
	char name[64], program[64];
	uint64_t come_real_ns, gone_real_ns;
	uint64_t come_ns, gone_ns; /* device time known when it came, and went */
	/* what its events add up to */
	uint64_t n_taken, n_queued, n_launches, n_kernels, n_copies, n_fills, kernels_ns;
	uint64_t n_predicted, error_ppm;
	uint64_t n_faults, n_allocations, allocated_bytes, n_stalls, peak_bytes;
	struct gsb_trace_tenant_gone counters; /* the broker's own, once gone */
	struct gsb_trace_tenant_model model;   /* likewise; its head is 0 where it was not told */
	struct gsb_traced_release done;	       /* the last to complete */
	struct gsb_traced_release releases[GSB_TRACED_RELEASES]; /* the latest first */
};

struct gsb_traced_stream {
	uint32_t tenant, number;
	int32_t priority;
	bool is_legacy, is_blocking;
	uint32_t last;			/* index of its last operation */
	uint64_t n_queued, n_completed; /* places given and passed */
	uint64_t last_number;		/* what its word said last; 0: nothing yet */
	uint64_t last_serial;		/* of the operation that it said that of */
};

struct gsb_traced_kernel {
	uint32_t tenant;
	uint64_t function;
	uint32_t regs, static_smem_bytes;
	uint32_t shapes; /* a bit for each enum gsb_trace_form that is proven */
	uint8_t refusals
		[GSB_TRACED_FORMS]; /* enum gsb_trace_refusal, of reshape, slice, persistent */
	char name[GSB_TRACED_NAME_MAX];
};

/* What a tenant used of the device's memory, from a moment on. */
struct gsb_traced_memory {
	uint64_t device_ns, bytes;
	uint32_t tenant;
};

/* What ranges.h makes of the ranges that programs have named. */
struct gsb_traced_label {
	uint32_t tenant, parent; /* label of the range around it; NONE */
	uint32_t depth;		 /* 1: it is in none */
	char name[128];
};

struct gsb_traced_range {
	uint32_t label, thread, parent; /* indices; parent: of the range around it, or NONE */
	uint32_t below, above;		/* open ones of its thread; NONE */
	bool nests, is_open;		/* nests: pushed, to be popped */
	uint64_t id;			/* of the range; nests: of the domain */
	uint64_t open_ns, close_ns;
};

struct gsb_traced_thread {
	uint32_t tenant, number;
	uint32_t innermost; /* range; NONE */
};

struct gsb_traced {
	struct gsb_trace_header header; /* its texts cleaned */
	struct gsb_traced_op *ops;
	uint32_t n_ops, ops_room; /* on_done: those under way and free places */
	struct gsb_traced_tenant *tenants;
	uint32_t n_tenants, tenants_room;
	struct gsb_traced_stream *streams;
	uint32_t n_streams, streams_room;
	struct gsb_traced_kernel *kernels;
	uint32_t n_kernels, kernels_room;
	struct gsb_traced_memory *memory;
	uint32_t n_memory, memory_room;
	struct gsb_traced_label *labels;
	uint32_t n_labels, labels_room;
	struct gsb_traced_range *ranges;
	uint32_t n_ranges, ranges_room;
	struct gsb_traced_thread *threads; /* that have named any */
	uint32_t n_threads, threads_room;

	uint64_t n_events, n_unknown, n_lost, n_queued, n_completed;
	uint64_t n_orphans;    /* events of operations that were never queued */
	uint64_t n_duplicates; /* serials that were queued twice */
	uint32_t engine;       /* LTTng: whose events are taken, by pid; 0: of who is heard first */
	uint32_t another;      /* one whose events were not; 0: there is none */
	uint64_t n_others;     /* how many events */
	uint64_t
		n_false_wakes; /* threads woken for what had not been completed, or was not theirs */
	uint64_t flaws[GSB_N_FLAWS], n_flawed;
	uint64_t now_ns; /* the latest device time told */
	enum { GSB_TRACED_WHOLE, GSB_TRACED_TORN, GSB_TRACED_DAMAGED } ending;

	void (*on_done)(void *arg, const struct gsb_traced *t, const struct gsb_traced_op *op);
	void *arg;

	/* private */
	struct gsb_map op_of, tenant_of, stream_of, kernel_of;
	struct gsb_map label_of, thread_of, started;
	uint32_t free_op;
	uint64_t last_serial; /* the highest that was queued */
};

void gsb_traced_init(struct gsb_traced *t, const struct gsb_trace_header *header);
void gsb_traced_finish(struct gsb_traced *t);

/* One event. Return: 0, -ENOMEM. */
int gsb_traced_take(struct gsb_traced *t, unsigned type, const union gsb_trace_any *e);

/* NULL: no such operation is kept. */
const struct gsb_traced_op *gsb_traced_find(const struct gsb_traced *t, uint64_t serial);

static inline bool gsb_traced_has(const struct gsb_traced_op *op, enum gsb_traced_step step)
{
	return op->steps >> step & 1;
}

/* It was on the device, and when is known. */
static inline bool gsb_traced_ran(const struct gsb_traced_op *op)
{
	return gsb_traced_has(op, GSB_STEP_FINISHED) && op->end_ns >= op->start_ns;
}

/* A launch whose time the policy had predicted, and that ran to its end. */
static inline bool gsb_traced_is_measured(const struct gsb_traced_op *op)
{
	return op->kind == GSB_TRACE_OP_LAUNCH && op->predicted_ns && !op->result &&
	       gsb_traced_ran(op) && op->end_ns > op->start_ns;
}

/* Goes to the device at all. */
static inline bool gsb_traced_is_command(const struct gsb_traced_op *op)
{
	return op->kind <= GSB_TRACE_OP_FILL;
}

/* Went in another geometry than its program asked for. */
static inline bool gsb_traced_is_resized(const struct gsb_traced_op *op)
{
	return op->form != GSB_TRACE_FORM_AS_ASKED || op->n_blocks_after != op->n_blocks;
}

/* "scan_lt of q1", "copy 4.0K host to device"; at most size bytes. */
void gsb_traced_name(const struct gsb_traced *t, const struct gsb_traced_op *op, char *out,
		     size_t size);
const char *gsb_traced_kind(const struct gsb_traced_op *op);
const char *gsb_traced_flaw_text(enum gsb_traced_flaw flaw);

/* Room for one more of an array, zeroed. NULL without memory; the array then is as it was. */
void *gsb_traced_append(void *array, uint32_t *n, uint32_t *room, size_t size);
#define GSB_TRACED_APPEND(t, what) \
	gsb_traced_append(&(t)->what, &(t)->n_##what, &(t)->what##_room, sizeof(*(t)->what))

/* Events were lost here. */
void gsb_traced_lose(struct gsb_traced *t, uint64_t n_events);

/* A text of @room bytes into @out of @size, its end and what is not printable ASCII made harmless. */
void gsb_traced_clean(char *out, size_t size, const char *text, size_t room);

#endif
