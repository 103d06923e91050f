/*
 * ctf.c - see ctf.h.
 */
#include "tools/trace/ctf.h"

#include <stdio.h>
#include <string.h>

#include "trace/read.h"

#define PROVIDER "gsb:"

/* NONE: not one that this build knows. */
static unsigned type_of(const char *name)
{
	for (unsigned type = 1; type < GSB_N_TRACE_TYPES; type++)
		if (!strcmp(gsb_trace_event(type)->name, name))
			return type;
	return GSB_TRACE_NONE;
}

static const struct gsb_trace_field *field_of(const struct gsb_trace_event *e, const char *name)
{
	for (unsigned i = 0; i < e->n_fields; i++)
		if (!strcmp(e->fields[i].name, name))
			return &e->fields[i];
	return NULL;
}

/* A number as it is read, of whatever width; 0 of what is none. */
static uint64_t number_of(const bt_field *field)
{
	bt_field_class_type type = bt_field_get_class_type(field);

	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		return bt_field_integer_unsigned_get_value(field);
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		return (uint64_t)bt_field_integer_signed_get_value(field);
	return 0;
}

/* The low bytes of a number; what this runs on has them first. */
static void put_number(uint8_t *to, uint64_t value, unsigned bytes)
{
	memcpy(to, &value, bytes < sizeof(value) ? bytes : sizeof(value));
}

static void put_serials(uint8_t *to, const struct gsb_trace_field *f, const bt_field *field)
{
	uint64_t n;

	if (!bt_field_class_type_is(bt_field_get_class_type(field), BT_FIELD_CLASS_TYPE_ARRAY))
		return;
	n = bt_field_array_get_length(field);
	for (uint64_t i = 0; i < n && i < f->bytes / 8u; i++)
		put_number(to + i * 8,
			   number_of(bt_field_array_borrow_element_field_by_index_const(field, i)),
			   8);
}

static void put_text(uint8_t *to, const struct gsb_trace_field *f, const bt_field *field)
{
	if (bt_field_class_type_is(bt_field_get_class_type(field), BT_FIELD_CLASS_TYPE_STRING))
		snprintf((char *)to, f->bytes, "%s", bt_field_string_get_value(field));
}

static void put_field(union gsb_trace_any *any, const struct gsb_trace_field *f,
		      const bt_field *field)
{
	uint8_t *to = (uint8_t *)any + f->offset;

	switch (f->type) {
	case GSB_TRACE_FIELD_PAD: return;
	case GSB_TRACE_FIELD_TEXT: put_text(to, f, field); return;
	case GSB_TRACE_FIELD_SERIALS: put_serials(to, f, field); return;
	default: put_number(to, number_of(field), f->bytes);
	}
}

/* engine: who has told it; older ones do not say. */
static void put_payload(union gsb_trace_any *any, const struct gsb_trace_event *e,
			const bt_field *payload, uint32_t *engine)
{
	const bt_field_class *class = bt_field_borrow_class_const(payload);
	uint64_t n = bt_field_class_structure_get_member_count(class);

	for (uint64_t i = 0; i < n; i++) {
		const char *name = bt_field_class_structure_member_get_name(
			bt_field_class_structure_borrow_member_by_index_const(class, i));
		const bt_field *field =
			bt_field_structure_borrow_member_field_by_index_const(payload, i);
		const struct gsb_trace_field *f = field_of(e, name);

		if (!strcmp(name, "tenant"))
			any->head.tenant = (uint32_t)number_of(field);
		else if (!strcmp(name, "engine"))
			*engine = (uint32_t)number_of(field);
		else if (f)
			put_field(any, f, field);
	}
}

/* As LTTng's clock counts: CLOCK_MONOTONIC, of which the times in fields are, too. */
static void put_time(union gsb_trace_any *any, const bt_message *message)
{
	if (bt_message_event_borrow_stream_class_default_clock_class_const(message))
		any->head.time_ns = bt_clock_snapshot_get_value(
			bt_message_event_borrow_default_clock_snapshot_const(message));
}

/* The trace begins where device time is told first. */
static void take_clocks(struct gsb_traced *t, const union gsb_trace_any *any,
			const struct gsb_trace_event *e)
{
	const struct gsb_trace_field *now = field_of(e, "device_ns"),
				     *is_virtual = field_of(e, "is_virtual");

	if (is_virtual)
		t->header.is_virtual = (uint32_t)gsb_trace_value(any, is_virtual);
	if (t->header.mono_ns || !now)
		return;
	t->header.mono_ns = any->head.time_ns;
	t->header.device_ns = t->now_ns = gsb_trace_value(any, now);
}

/* What stands in a file's header, and so is no event of the run. */
static void take_about(struct gsb_traced *t, const struct gsb_trace_about *e)
{
	struct gsb_trace_header *h = &t->header;

	if (h->pid)
		return;
	h->pid = e->pid;
	h->n_sms = e->n_sms;
	gsb_traced_clean(h->device, sizeof(h->device), e->device, sizeof(e->device));
	gsb_traced_clean(h->policy, sizeof(h->policy), e->policy, sizeof(e->policy));
	gsb_traced_clean(h->version, sizeof(h->version), e->version, sizeof(e->version));
}

/* Serials and tenants are numbers of one engine. */
static bool is_wanted(struct gsb_traced *t, uint32_t engine)
{
	if (!engine)
		return true;
	if (!t->engine)
		t->engine = engine;
	if (t->engine == engine)
		return true;
	t->another = engine;
	t->n_others++;
	return false;
}

static int take_event(struct gsb_traced *t, const bt_message *message)
{
	const bt_event *event = bt_message_event_borrow_event_const(message);
	const bt_field *payload = bt_event_borrow_payload_field_const(event);
	const char *name = bt_event_class_get_name(bt_event_borrow_class_const(event));
	union gsb_trace_any any = {.head = {0}};
	uint32_t engine = 0;
	unsigned type;

	if (!name || strncmp(name, PROVIDER, strlen(PROVIDER)))
		return 0;
	type = type_of(name + strlen(PROVIDER));
	memset(&any, 0, sizeof(any));
	if (type != GSB_TRACE_NONE && payload) {
		put_payload(&any, gsb_trace_event(type), payload, &engine);
		if (!is_wanted(t, engine))
			return 0;
		put_time(&any, message);
		take_clocks(t, &any, gsb_trace_event(type));
	}
	if (type != GSB_TRACE_ABOUT)
		return gsb_traced_take(t, type, &any);
	take_about(t, &any.about);
	return 0;
}

void gsb_ctf_begin(struct gsb_traced *t)
{
	const struct gsb_trace_header unknown = {
		.device = "device not told (LTTng)",
		.policy = "not told",
	};
	struct gsb_traced asked = *t;

	gsb_traced_init(t, &unknown);
	t->on_done = asked.on_done;
	t->arg = asked.arg;
	t->engine = asked.engine;
}

int gsb_ctf_take(struct gsb_traced *t, const bt_message *message)
{
	uint64_t n;

	switch (bt_message_get_type(message)) {
	case BT_MESSAGE_TYPE_EVENT: return take_event(t, message);
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		if (bt_message_discarded_events_get_count(message, &n) ==
		    BT_PROPERTY_AVAILABILITY_AVAILABLE)
			gsb_traced_lose(t, n);
		return 0;
	default: return 0;
	}
}
