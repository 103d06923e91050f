/*
 * read.c - see read.h. What the file says of its records is checked once, when it is opened, and made into a plan for each
 * event: which bytes of a record go where in this build's struct. From then on a record is a lookup and a few copies.
 */
#include "trace/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/compiler.h"

struct move {
	uint16_t from, to, bytes;
};

/* An event as this file has it. */
struct plan {
	struct gsb_trace_event event; /* as the file says; its fields are the reader's */
	enum gsb_trace_type type;     /* this build's; NONE: it has none of that name */
	struct move *moves;
	unsigned n_moves;
	bool there;
};

struct gsb_trace_reader {
	int fd;
	struct gsb_trace_header header;
	struct gsb_trace_event_format *events;
	struct gsb_trace_field_format *formats;
	struct gsb_trace_field *fields;
	struct move *moves;
	struct plan plans[GSB_TRACE_EVENTS_MAX]; /* by type in the file */

	_Alignas(8) uint8_t chunk[GSB_TRACE_CHUNK_MAX];
	uint32_t at, bytes; /* in chunk */
	uint64_t n_chunks, n_records, n_lost;
	enum gsb_trace_ending ending;
	union gsb_trace_any any;
};

/* Return: bytes read, fewer than size at the end of the file; -errno. */
static ssize_t read_all(int fd, void *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, (uint8_t *)to + done, size - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

static int read_part(int fd, void *to, size_t size)
{
	ssize_t n = read_all(fd, to, size);

	if (n < 0)
		return (int)n;
	return (size_t)n == size ? 0 : -EBADMSG;
}

/* ---- the list ---- */

static bool is_name(const char name[GSB_TRACE_NAME_MAX])
{
	size_t n = strnlen(name, GSB_TRACE_NAME_MAX);

	for (size_t i = 0; i < n; i++)
		if (!(name[i] >= 'a' && name[i] <= 'z') && !(name[i] >= '0' && name[i] <= '9') &&
		    name[i] != '_')
			return false;
	return n && n < GSB_TRACE_NAME_MAX;
}

/* Bytes that a field of a type has; 0: any number that the unit of it divides. */
static uint16_t bytes_of(unsigned type)
{
	switch (type) {
	case GSB_TRACE_FIELD_U64: return 8;
	case GSB_TRACE_FIELD_U32:
	case GSB_TRACE_FIELD_I32: return 4;
	case GSB_TRACE_FIELD_U16: return 2;
	case GSB_TRACE_FIELD_U8:
	case GSB_TRACE_FIELD_PICK: return 1;
	default: return 0;
	}
}

static bool is_field_ok(const struct gsb_trace_field_format *f, uint16_t record_bytes)
{
	uint16_t bytes = bytes_of(f->type);

	return is_name(f->name) && f->bytes && f->offset >= sizeof(struct gsb_trace_head) &&
	       gsb_range_ok(f->offset, f->bytes, record_bytes) && (!bytes || f->bytes == bytes) &&
	       (f->type != GSB_TRACE_FIELD_SERIALS || f->bytes % 8 == 0);
}

static int take_fields(struct gsb_trace_reader *r, const struct gsb_trace_event_format *e,
		       struct plan *p)
{
	for (unsigned i = 0; i < e->n_fields; i++) {
		const struct gsb_trace_field_format *f = &r->formats[e->first_field + i];

		if (!is_field_ok(f, e->bytes))
			return -EBADMSG;
		r->fields[e->first_field + i] = (struct gsb_trace_field){
			.name = f->name,
			.doc = "",
			.type = f->type < GSB_N_TRACE_FIELD_TYPES
					? (enum gsb_trace_field_type)f->type
					: GSB_TRACE_FIELD_PAD, /* of a later version */
			.offset = f->offset,
			.bytes = f->bytes,
		};
	}
	p->event = (struct gsb_trace_event){e->name, "", e->bytes, e->n_fields,
					    &r->fields[e->first_field]};
	return 0;
}

static enum gsb_trace_type type_named(const char *name)
{
	for (unsigned type = 1; type < GSB_N_TRACE_TYPES; type++)
		if (!strcmp(gsb_trace_event(type)->name, name))
			return (enum gsb_trace_type)type;
	return GSB_TRACE_NONE;
}

static const struct gsb_trace_field *field_named(const struct gsb_trace_event *e, const char *name)
{
	for (unsigned i = 0; i < e->n_fields; i++)
		if (!strcmp(e->fields[i].name, name))
			return &e->fields[i];
	return NULL;
}

/* Texts and serials may have become longer or shorter; a number that has changed its type is another field. */
static uint16_t common_bytes(const struct gsb_trace_field *from, const struct gsb_trace_field *to)
{
	if (!from || from->type != to->type || to->type == GSB_TRACE_FIELD_PAD)
		return 0;
	return from->bytes < to->bytes ? from->bytes : to->bytes;
}

/* Each of our fields takes one move at most, and there are as many moves as the file has fields. */
static void make_plan(struct plan *p, struct move *moves)
{
	const struct gsb_trace_event *own = gsb_trace_event(p->type);

	p->moves = moves;
	for (unsigned i = 0; own && i < p->event.n_fields; i++) {
		const struct gsb_trace_field *from = &p->event.fields[i];
		const struct gsb_trace_field *to = field_named(own, from->name);
		uint16_t bytes = to ? common_bytes(from, to) : 0;

		if (bytes)
			moves[p->n_moves++] = (struct move){from->offset, to->offset, bytes};
	}
}

static int take_event(struct gsb_trace_reader *r, const struct gsb_trace_event_format *e)
{
	struct plan *p = e->type < GSB_TRACE_EVENTS_MAX ? &r->plans[e->type] : NULL;

	if (!p || !e->type || p->there || !is_name(e->name) || e->bytes % 8 ||
	    e->bytes < sizeof(struct gsb_trace_head) || e->bytes > GSB_TRACE_RECORD_MAX ||
	    !gsb_range_ok(e->first_field, e->n_fields, r->header.n_fields) || take_fields(r, e, p))
		return -EBADMSG;
	p->there = true;
	p->type = type_named(e->name);
	make_plan(p, &r->moves[e->first_field]);
	return 0;
}

/* Events may share fields in the file of an enemy, but not the moves that are made of them. */
static int check_sharing(const struct gsb_trace_reader *r)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < r->header.n_events; i++) {
		if (r->events[i].first_field != next)
			return -EBADMSG;
		next += r->events[i].n_fields;
	}
	return next <= r->header.n_fields ? 0 : -EBADMSG;
}

static int read_list(struct gsb_trace_reader *r)
{
	const struct gsb_trace_header *h = &r->header;
	uint32_t events = h->n_events * (uint32_t)sizeof(*r->events);
	uint32_t formats = h->n_fields * (uint32_t)sizeof(*r->formats);
	uint64_t sum;
	int err;

	r->events = calloc(h->n_events, sizeof(*r->events));
	r->formats = calloc(h->n_fields, sizeof(*r->formats));
	r->fields = calloc(h->n_fields, sizeof(*r->fields));
	r->moves = calloc(h->n_fields, sizeof(*r->moves));
	if (!r->events || !r->formats || !r->fields || !r->moves)
		return -ENOMEM;
	err = read_part(r->fd, r->events, events);
	if (!err)
		err = read_part(r->fd, r->formats, formats);
	if (err)
		return err;
	sum = gsb_trace_sum(0, h, offsetof(struct gsb_trace_header, sum));
	sum = gsb_trace_sum(gsb_trace_sum(sum, r->events, events), r->formats, formats);
	if (sum != h->sum)
		return -EBADMSG;
	err = check_sharing(r);
	for (uint32_t i = 0; !err && i < h->n_events; i++)
		err = take_event(r, &r->events[i]);
	return err;
}

static int check_header(const struct gsb_trace_header *h)
{
	if (memcmp(h->magic, GSB_TRACE_MAGIC, sizeof(h->magic)))
		return -EBADMSG;
	if (h->byte_order != GSB_TRACE_BYTE_ORDER || h->major != GSB_TRACE_MAJOR)
		return -EPROTONOSUPPORT;
	if (!h->n_events || h->n_events > GSB_TRACE_EVENTS_MAX || !h->n_fields ||
	    h->n_fields > GSB_TRACE_FIELDS_MAX)
		return -EBADMSG;
	return 0;
}

static void end_texts(struct gsb_trace_header *h)
{
	h->version[sizeof(h->version) - 1] = 0;
	h->device[sizeof(h->device) - 1] = 0;
	h->policy[sizeof(h->policy) - 1] = 0;
}

static void explain(int err, const struct gsb_trace_header *h, char *why)
{
	if (err == -EPROTONOSUPPORT && h->byte_order != GSB_TRACE_BYTE_ORDER)
		snprintf(why, GSB_TRACE_WHY_MAX,
			 "it was recorded on a machine of another byte order: read it there");
	else if (err == -EPROTONOSUPPORT)
		snprintf(why, GSB_TRACE_WHY_MAX,
			 "it is a trace of format %u, this program reads %u: use the tools of the "
			 "release that recorded it",
			 (unsigned int)h->major, (unsigned int)GSB_TRACE_MAJOR);
	else if (err == -EBADMSG)
		snprintf(why, GSB_TRACE_WHY_MAX,
			 "it is no trace of gsbroker, or its beginning is damaged: record one with "
			 "gsbctl trace record");
	else
		snprintf(why, GSB_TRACE_WHY_MAX, "%s", strerror(-err));
}

/* ---- life ---- */

int gsb_trace_open_fd(int fd, struct gsb_trace_reader **out, char *why)
{
	struct gsb_trace_reader *r = calloc(1, sizeof(*r));
	static const struct gsb_trace_header none;
	int err = -ENOMEM;

	if (!r) {
		close(fd);
		explain(err, &none, why);
		return err;
	}
	r->fd = fd;
	err = read_part(fd, &r->header, sizeof(r->header));
	if (!err)
		err = check_header(&r->header);
	if (!err)
		err = read_list(r);
	end_texts(&r->header);
	if (err) {
		explain(err, &r->header, why);
		gsb_trace_close(r);
		return err;
	}
	*out = r;
	return 0;
}

int gsb_trace_open(const char *path, struct gsb_trace_reader **out, char *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = -errno;

	if (fd >= 0)
		return gsb_trace_open_fd(fd, out, why);
	snprintf(why, GSB_TRACE_WHY_MAX, "%s", strerror(-err));
	return err;
}

void gsb_trace_close(struct gsb_trace_reader *r)
{
	if (!r)
		return;
	close(r->fd);
	free(r->events);
	free(r->formats);
	free(r->fields);
	free(r->moves);
	free(r);
}

const struct gsb_trace_header *gsb_trace_header(const struct gsb_trace_reader *r)
{
	return &r->header;
}

bool gsb_trace_must_wait(const struct gsb_trace_reader *r)
{
	return r->at == r->bytes;
}

enum gsb_trace_ending gsb_trace_ending(const struct gsb_trace_reader *r)
{
	return r->ending;
}

uint64_t gsb_trace_n_lost(const struct gsb_trace_reader *r)
{
	return r->n_lost;
}

/* ---- records ---- */

static int end(struct gsb_trace_reader *r, enum gsb_trace_ending how)
{
	r->ending = how;
	r->at = r->bytes = 0;
	return how == GSB_TRACE_DAMAGED ? -EBADMSG : 0;
}

static bool is_chunk_ok(const struct gsb_trace_reader *r, const struct gsb_trace_chunk *c)
{
	return c->magic == GSB_TRACE_CHUNK_MAGIC && c->number == r->n_chunks &&
	       c->bytes <= GSB_TRACE_CHUNK_MAX && c->bytes % 8 == 0;
}

/* 1, 0 at the end, -errno. */
static int next_chunk(struct gsb_trace_reader *r)
{
	struct gsb_trace_chunk c;
	ssize_t n = read_all(r->fd, &c, sizeof(c));

	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(c))
		return end(r, GSB_TRACE_TORN);
	if (!is_chunk_ok(r, &c))
		return end(r, GSB_TRACE_DAMAGED);
	n = read_all(r->fd, r->chunk, c.bytes);
	if (n < 0)
		return (int)n;
	if ((size_t)n < c.bytes)
		return end(r, GSB_TRACE_TORN);
	if (gsb_trace_sum(gsb_trace_sum(0, &c, offsetof(struct gsb_trace_chunk, sum)), r->chunk,
			  c.bytes) != c.sum)
		return end(r, GSB_TRACE_DAMAGED);
	r->n_chunks++;
	r->at = 0;
	r->bytes = c.bytes;
	return c.bytes ? 1 : end(r, GSB_TRACE_COMPLETE);
}

static void end_own_texts(union gsb_trace_any *any, const struct gsb_trace_event *own)
{
	for (unsigned i = 0; i < own->n_fields; i++)
		if (own->fields[i].type == GSB_TRACE_FIELD_TEXT)
			((char *)any)[own->fields[i].offset + own->fields[i].bytes - 1] = 0;
}

/* The record in this build's struct. */
static void translate(struct gsb_trace_reader *r, const struct plan *p, const uint8_t *record)
{
	const struct gsb_trace_event *own = gsb_trace_event(p->type);
	uint8_t *to = (uint8_t *)&r->any;

	memset(to, 0, own ? own->bytes : sizeof(r->any.head));
	memcpy(to, record, sizeof(struct gsb_trace_head));
	r->any.head.type = (uint16_t)p->type;
	if (!own)
		return;
	r->any.head.bytes = own->bytes;
	for (unsigned i = 0; i < p->n_moves; i++)
		memcpy(to + p->moves[i].to, record + p->moves[i].from, p->moves[i].bytes);
	end_own_texts(&r->any, own);
	if (p->type == GSB_TRACE_LOST)
		r->n_lost += r->any.lost.n_events;
}

/* NULL: what stands there is none. */
static const struct plan *plan_of_next(const struct gsb_trace_reader *r)
{
	struct gsb_trace_head head;
	const struct plan *p;

	if (r->bytes - r->at < sizeof(head))
		return NULL;
	memcpy(&head, r->chunk + r->at, sizeof(head));
	p = head.type < GSB_TRACE_EVENTS_MAX ? &r->plans[head.type] : NULL;
	return p && p->there && head.bytes == p->event.bytes && head.bytes <= r->bytes - r->at
		       ? p
		       : NULL;
}

int gsb_trace_next(struct gsb_trace_reader *r, struct gsb_trace_record *out)
{
	const struct plan *p;
	int got = 1;

	if (r->ending)
		return r->ending == GSB_TRACE_DAMAGED ? -EBADMSG : 0;
	if (r->at == r->bytes)
		got = next_chunk(r);
	if (got <= 0)
		return got;
	p = plan_of_next(r);
	if (!p)
		return end(r, GSB_TRACE_DAMAGED);
	translate(r, p, r->chunk + r->at);
	*out = (struct gsb_trace_record){
		.type = p->type,
		.any = &r->any,
		.event = p->type ? gsb_trace_event(p->type) : &p->event,
		.bytes = p->type ? (const void *)&r->any : r->chunk + r->at,
		.number = r->n_records++,
	};
	r->at += p->event.bytes;
	return 1;
}
