/*
 * describe.c - names, types and places of all fields, made of the one list.
 */
#include "trace/event.h"

#include "base/compiler.h"

/* ---- choices ---- */

#define GSB_TRACE_VALUE(choice, NAME, name) #name,
#define GSB_TRACE_CHOICE(name, values)	    static const char *const values_of_##name[] = {values};
#include "trace/events.def"

#define GSB_TRACE_CHOICE(name, values)                                                 \
	static const struct gsb_trace_choice choice_##name = {#name, values_of_##name, \
							      GSB_ARRAY_LEN(values_of_##name)};
#include "trace/events.def"

const char *gsb_trace_choice_name(const struct gsb_trace_choice *c, unsigned value)
{
	return value < c->n_values ? c->values[value] : NULL;
}

/* ---- fields ---- */

#define TYPE_u64(arg)	  GSB_TRACE_FIELD_U64
#define TYPE_u32(arg)	  GSB_TRACE_FIELD_U32
#define TYPE_i32(arg)	  GSB_TRACE_FIELD_I32
#define TYPE_u16(arg)	  GSB_TRACE_FIELD_U16
#define TYPE_u8(arg)	  GSB_TRACE_FIELD_U8
#define TYPE_pick(arg)	  GSB_TRACE_FIELD_PICK
#define TYPE_text(arg)	  GSB_TRACE_FIELD_TEXT
#define TYPE_serials(arg) GSB_TRACE_FIELD_SERIALS
#define TYPE_pad(arg)	  GSB_TRACE_FIELD_PAD

#define CHOICE_u64(arg)	    NULL
#define CHOICE_u32(arg)	    NULL
#define CHOICE_i32(arg)	    NULL
#define CHOICE_u16(arg)	    NULL
#define CHOICE_u8(arg)	    NULL
#define CHOICE_pick(arg)    &choice_##arg
#define CHOICE_text(arg)    NULL
#define CHOICE_serials(arg) NULL
#define CHOICE_pad(arg)	    NULL

/* A field does not name its event, so each event has a scope of its own, in which RECORD is its struct. */
#define GSB_TRACE_FIELD(type, name, arg, doc) \
	{#name,                               \
	 doc,                                 \
	 TYPE_##type(arg),                    \
	 offsetof(RECORD, name),              \
	 sizeof(((RECORD *)0)->name),         \
	 CHOICE_##type(arg)},
#define GSB_TRACE_EVENT(NAME, name, doc, fields)                                         \
	static const struct gsb_trace_event *describe_##name(void)                       \
	{                                                                                \
		typedef struct gsb_trace_##name RECORD;                                  \
		static const struct gsb_trace_field list[] = {fields};                   \
		static const struct gsb_trace_event event = {#name, doc, sizeof(RECORD), \
							     GSB_ARRAY_LEN(list), list}; \
                                                                                         \
		return &event;                                                           \
	}
#include "trace/events.def"

static const struct gsb_trace_event *(*const describe[GSB_N_TRACE_TYPES])(void) = {
#define GSB_TRACE_EVENT(NAME, name, doc, fields) [GSB_TRACE_##NAME] = describe_##name,
#include "trace/events.def"
};

const struct gsb_trace_event *gsb_trace_event(unsigned type)
{
	return type && type < GSB_N_TRACE_TYPES ? describe[type]() : NULL;
}
