/*
 * event.h - the records of a trace, made of the one list in events.def: an enumeration, a struct for each event, and
 * what a program that knows no struct needs to print one. Every record is of a fixed size and begins with a head.
 */
#ifndef GSB_TRACE_EVENT_H
#define GSB_TRACE_EVENT_H

#include <stddef.h>
#include <stdint.h>

enum gsb_trace_type {
	GSB_TRACE_NONE, /* 0 is no event */
#define GSB_TRACE_EVENT(NAME, name, doc, fields) GSB_TRACE_##NAME,
#include "trace/events.def"
	GSB_N_TRACE_TYPES
};

/* enum gsb_trace_op { GSB_TRACE_OP_LAUNCH, ... } and so on; on the wire one byte. */
#define GSB_TRACE_VALUE(choice, NAME, name) GSB_TRACE_VALUE_##choice(NAME)
#define GSB_TRACE_VALUE_op(NAME)	    GSB_TRACE_OP_##NAME,
#define GSB_TRACE_VALUE_park(NAME)	    GSB_TRACE_PARK_##NAME,
#define GSB_TRACE_VALUE_verdict(NAME)	    GSB_TRACE_VERDICT_##NAME,
#define GSB_TRACE_VALUE_reason(NAME)	    GSB_TRACE_REASON_##NAME,
#define GSB_TRACE_VALUE_place(NAME)	    GSB_TRACE_PLACE_##NAME,
#define GSB_TRACE_VALUE_form(NAME)	    GSB_TRACE_FORM_##NAME,
#define GSB_TRACE_VALUE_refusal(NAME)	    GSB_TRACE_REFUSAL_##NAME,
#define GSB_TRACE_VALUE_memory(NAME)	    GSB_TRACE_MEMORY_##NAME,
#define GSB_TRACE_VALUE_step(NAME)	    GSB_TRACE_STEP_##NAME,
#define GSB_TRACE_VALUE_wait(NAME)	    GSB_TRACE_WAIT_##NAME,
#define GSB_TRACE_VALUE_stall(NAME)	    GSB_TRACE_STALL_##NAME,
#define GSB_TRACE_VALUE_range_step(NAME)    GSB_TRACE_RANGE_STEP_##NAME,
#define GSB_TRACE_CHOICE(name, values)	    enum gsb_trace_##name{values};
#include "trace/events.def"

struct gsb_trace_head {
	uint16_t type;	  /* enum gsb_trace_type */
	uint16_t bytes;	  /* of the whole record, a multiple of 8 */
	uint32_t tenant;  /* 0: of none */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
};

/* struct gsb_trace_queued { head; fields } and so on. */
#define GSB_TRACE_MEMBER_u64(name, arg)	      uint64_t name;
#define GSB_TRACE_MEMBER_u32(name, arg)	      uint32_t name;
#define GSB_TRACE_MEMBER_i32(name, arg)	      int32_t name;
#define GSB_TRACE_MEMBER_u16(name, arg)	      uint16_t name;
#define GSB_TRACE_MEMBER_u8(name, arg)	      uint8_t name;
#define GSB_TRACE_MEMBER_pick(name, arg)      uint8_t name;
#define GSB_TRACE_MEMBER_text(name, arg)      char name[arg];
#define GSB_TRACE_MEMBER_serials(name, arg)   uint64_t name[arg];
#define GSB_TRACE_MEMBER_pad(name, arg)	      uint8_t name[arg];
#define GSB_TRACE_FIELD(type, name, arg, doc) GSB_TRACE_MEMBER_##type(name, arg)
#define GSB_TRACE_EVENT(NAME, name, doc, fields) \
	struct gsb_trace_##name {                \
		struct gsb_trace_head head;      \
		fields                           \
	};
#include "trace/events.def"

/* Any of them. */
union gsb_trace_any {
	struct gsb_trace_head head;
#define GSB_TRACE_EVENT(NAME, name, doc, fields) struct gsb_trace_##name name;
#include "trace/events.def"
};

/* ---- what readers know ---- */

enum gsb_trace_field_type {
	GSB_TRACE_FIELD_PAD,
	GSB_TRACE_FIELD_U64,
	GSB_TRACE_FIELD_U32,
	GSB_TRACE_FIELD_I32,
	GSB_TRACE_FIELD_U16,
	GSB_TRACE_FIELD_U8,
	GSB_TRACE_FIELD_PICK,
	GSB_TRACE_FIELD_TEXT,
	GSB_TRACE_FIELD_SERIALS,
	GSB_N_TRACE_FIELD_TYPES
};

struct gsb_trace_choice {
	const char *name;
	const char *const *values;
	unsigned n_values;
};

struct gsb_trace_field {
	const char *name, *doc;
	enum gsb_trace_field_type type;
	uint16_t offset, bytes;		       /* from the beginning of the record */
	const struct gsb_trace_choice *choice; /* PICK */
};

struct gsb_trace_event {
	const char *name, *doc;
	uint16_t bytes; /* of the record */
	uint16_t n_fields;
	const struct gsb_trace_field *fields;
};

/* NULL for no such type. */
const struct gsb_trace_event *gsb_trace_event(unsigned type);

/* "launch"; NULL for a value that the choice does not have. */
const char *gsb_trace_choice_name(const struct gsb_trace_choice *c, unsigned value);

#endif
