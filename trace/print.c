/*
 * print.c - a record as a line of text.
 */
#include <inttypes.h>
#include <string.h>

#include "base/at.h"
#include "trace/read.h"

uint64_t gsb_trace_value(const void *record, const struct gsb_trace_field *f)
{
	const uint8_t *at = (const uint8_t *)record + f->offset;

	switch (f->type) {
	case GSB_TRACE_FIELD_U64: return gsb_u64_at(at);
	case GSB_TRACE_FIELD_U32: return gsb_u32_at(at);
	case GSB_TRACE_FIELD_I32: return (uint64_t)(int64_t)(int32_t)gsb_u32_at(at);
	case GSB_TRACE_FIELD_U16: return gsb_u16_at(at);
	case GSB_TRACE_FIELD_U8:
	case GSB_TRACE_FIELD_PICK: return *at;
	default: return 0;
	}
}

/* What a terminal would act on, and what would end the text, becomes a question mark. */
static void print_text(FILE *to, const char *text, size_t room)
{
	size_t n = strnlen(text, room);

	putc('"', to);
	for (size_t i = 0; i < n; i++)
		putc(text[i] < ' ' || text[i] > '~' || text[i] == '"' ? '?' : text[i], to);
	putc('"', to);
}

static void print_serials(FILE *to, const uint8_t *at, unsigned n)
{
	putc('[', to);
	for (unsigned i = 0; i < n && gsb_u64_at(at + i * 8ul); i++)
		fprintf(to, "%s%" PRIu64, i ? "," : "", gsb_u64_at(at + i * 8ul));
	putc(']', to);
}

static void print_pick(FILE *to, const struct gsb_trace_field *f, unsigned value)
{
	const char *name = f->choice ? gsb_trace_choice_name(f->choice, value) : NULL;

	if (name)
		fputs(name, to);
	else
		fprintf(to, "%u", value);
}

static void print_field(FILE *to, const void *record, const struct gsb_trace_field *f)
{
	const uint8_t *at = (const uint8_t *)record + f->offset;
	uint64_t value = gsb_trace_value(record, f);

	if (f->type == GSB_TRACE_FIELD_PAD)
		return;
	fprintf(to, " %s=", f->name);
	switch (f->type) {
	case GSB_TRACE_FIELD_TEXT: print_text(to, (const char *)at, f->bytes); break;
	case GSB_TRACE_FIELD_SERIALS: print_serials(to, at, f->bytes / 8u); break;
	case GSB_TRACE_FIELD_PICK: print_pick(to, f, (unsigned)value); break;
	case GSB_TRACE_FIELD_I32: fprintf(to, "%" PRId64, (int64_t)value); break;
	default: fprintf(to, "%" PRIu64, value);
	}
}

void gsb_trace_print(FILE *to, const struct gsb_trace_reader *r, const struct gsb_trace_record *rec)
{
	double s = (double)(int64_t)(rec->any->head.time_ns - gsb_trace_header(r)->mono_ns) / 1e9;

	fprintf(to, "%.9f tenant=%" PRIu32 " %s", s, rec->any->head.tenant, rec->event->name);
	for (unsigned i = 0; i < rec->event->n_fields; i++)
		print_field(to, rec->bytes, &rec->event->fields[i]);
	putc('\n', to);
}

/* ---- JSON ---- */

/* Bytes that are no printable ASCII stand for themselves, as if they were Latin-1. */
static void json_text(FILE *to, const char *text, size_t room)
{
	size_t n = strnlen(text, room);

	putc('"', to);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < ' ' || c > '~')
			fprintf(to, "\\u%04x", c);
		else
			fprintf(to, "%s%c", c == '"' || c == '\\' ? "\\" : "", c);
	}
	putc('"', to);
}

static void json_pick(FILE *to, const struct gsb_trace_field *f, unsigned value)
{
	const char *name = f->choice ? gsb_trace_choice_name(f->choice, value) : NULL;

	if (name)
		fprintf(to, "\"%s\"", name);
	else
		fprintf(to, "%u", value);
}

static void json_field(FILE *to, const void *record, const struct gsb_trace_field *f)
{
	const uint8_t *at = (const uint8_t *)record + f->offset;
	uint64_t value = gsb_trace_value(record, f);

	if (f->type == GSB_TRACE_FIELD_PAD)
		return;
	fprintf(to, ",\"%s\":", f->name);
	switch (f->type) {
	case GSB_TRACE_FIELD_TEXT: json_text(to, (const char *)at, f->bytes); break;
	case GSB_TRACE_FIELD_SERIALS: print_serials(to, at, f->bytes / 8u); break;
	case GSB_TRACE_FIELD_PICK: json_pick(to, f, (unsigned)value); break;
	case GSB_TRACE_FIELD_I32: fprintf(to, "%" PRId64, (int64_t)value); break;
	default: fprintf(to, "%" PRIu64, value);
	}
}

void gsb_trace_print_json(FILE *to, const struct gsb_trace_reader *r,
			  const struct gsb_trace_record *rec)
{
	fprintf(to, "{\"time_ns\":%" PRIu64 ",\"tenant\":%" PRIu32 ",\"event\":\"%s\"",
		rec->any->head.time_ns, rec->any->head.tenant, rec->event->name);
	for (unsigned i = 0; i < rec->event->n_fields; i++)
		json_field(to, rec->bytes, &rec->event->fields[i]);
	fputs("}\n", to);
}
