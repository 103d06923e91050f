/*
 * write.c - see write.h.
 */
#include "trace/write.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/compact.h"
#include "trace/event.h"

uint64_t gsb_trace_sum(uint64_t sum, const void *words, uint32_t bytes)
{
	const uint8_t *at = words;

	for (uint32_t i = 0; i < bytes; i += 8) {
		uint64_t word;

		memcpy(&word, at + i, sizeof(word));
		sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
		sum ^= sum >> 29; /* so that high bits reach low ones */
	}
	return sum;
}

static int write_all(struct gsb_trace_writer *w, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size) {
		ssize_t n = w->put ? w->put(w, at, size) : write(w->fd, at, size);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			at += n;
			size -= (size_t)n;
			w->n_bytes += (uint64_t)n;
		}
	}
	return 0;
}

/* ---- the list ---- */

static_assert(GSB_N_COMPACT_TYPES <= GSB_TRACE_PART_OF(0) &&
		      GSB_TRACE_PART_OF(GSB_N_COMPACT_TYPES) <= GSB_TRACE_EVENTS_MAX,
	      "no type is another's");

struct list {
	struct gsb_trace_event_format events[GSB_TRACE_EVENTS_MAX];
	struct gsb_trace_field_format fields[GSB_TRACE_FIELDS_MAX];
	unsigned n_events, n_fields;
};

static void add_field(struct list *l, const struct gsb_trace_field *f)
{
	struct gsb_trace_field_format *to = &l->fields[l->n_fields++];

	*to = (struct gsb_trace_field_format){f->offset, f->bytes, (uint8_t)f->type, {0}, ""};
	snprintf(to->name, sizeof(to->name), "%s", f->name);
}

static void add_event(struct list *l, unsigned type, const struct gsb_trace_event *e)
{
	struct gsb_trace_event_format *to = &l->events[l->n_events++];

	*to = (struct gsb_trace_event_format){(uint16_t)type, e->bytes, (uint16_t)l->n_fields,
					      e->n_fields, ""};
	snprintf(to->name, sizeof(to->name), "%s", e->name);
	for (unsigned i = 0; i < e->n_fields; i++)
		add_field(l, &e->fields[i]);
}

/* No record has the type of a part, and its name is what a reader finds it by. */
static void add_compact(struct list *l, unsigned type, const struct gsb_compact_layout *c)
{
	add_event(l, type, &c->record);
	if (c->part.bytes)
		add_event(l, GSB_TRACE_PART_OF(type), &c->part);
}

static struct list *make_list(void)
{
	struct list *l = calloc(1, sizeof(*l));

	for (unsigned type = 1; l && type < GSB_N_TRACE_TYPES; type++)
		add_event(l, type, gsb_trace_event(type));
	for (unsigned type = GSB_COMPACT_LAUNCH; l && type < GSB_N_COMPACT_TYPES; type++)
		add_compact(l, type, gsb_compact_layout(type));
	return l;
}

int gsb_trace_write_header(struct gsb_trace_writer *w, int fd, const struct gsb_trace_header *about)
{
	return gsb_trace_write_header_by(w, fd, NULL, about);
}

int gsb_trace_write_header_by(struct gsb_trace_writer *w, int fd, gsb_trace_put_bytes *put,
			      const struct gsb_trace_header *about)
{
	struct gsb_trace_header h = *about;
	struct list *l = make_list();
	uint32_t events, fields;
	int err;

	if (!l)
		return -ENOMEM;
	*w = (struct gsb_trace_writer){.fd = fd, .put = put};
	memcpy(h.magic, GSB_TRACE_MAGIC, sizeof(h.magic));
	h.byte_order = GSB_TRACE_BYTE_ORDER;
	h.major = GSB_TRACE_MAJOR;
	h.minor = GSB_TRACE_MINOR;
	h.n_events = l->n_events;
	h.n_fields = l->n_fields;
	events = l->n_events * (uint32_t)sizeof(l->events[0]);
	fields = l->n_fields * (uint32_t)sizeof(l->fields[0]);
	h.sum = gsb_trace_sum(0, &h, offsetof(struct gsb_trace_header, sum));
	h.sum = gsb_trace_sum(gsb_trace_sum(h.sum, l->events, events), l->fields, fields);
	err = write_all(w, &h, sizeof(h));
	if (!err)
		err = write_all(w, l->events, events);
	if (!err)
		err = write_all(w, l->fields, fields);
	free(l);
	return err;
}

int gsb_trace_write_pieces(struct gsb_trace_writer *w, const struct iovec *pieces, unsigned n)
{
	struct gsb_trace_chunk c = {GSB_TRACE_CHUNK_MAGIC, 0, w->n_chunks, 0};
	int err;

	for (unsigned i = 0; i < n; i++)
		c.bytes += (uint32_t)pieces[i].iov_len;
	c.sum = gsb_trace_sum(0, &c, offsetof(struct gsb_trace_chunk, sum));
	for (unsigned i = 0; i < n; i++)
		c.sum = gsb_trace_sum(c.sum, pieces[i].iov_base, (uint32_t)pieces[i].iov_len);
	err = write_all(w, &c, sizeof(c));
	for (unsigned i = 0; i < n && !err; i++)
		err = write_all(w, pieces[i].iov_base, pieces[i].iov_len);
	w->n_chunks += !err;
	return err;
}

int gsb_trace_write_chunk(struct gsb_trace_writer *w, const void *records, uint32_t bytes)
{
	const struct iovec piece = {(void *)records, bytes};

	return gsb_trace_write_pieces(w, &piece, bytes != 0);
}
