/*
 * read.c - see read.h. What the file says of its records is checked once, when it is opened, and made into a plan for each
 * event: which bytes of a record go where in this build's struct. From then on a record is a lookup and a few copies. A compact
 * record is brought into this build's structs likewise, part by part, and then made into its events, which are handed out one
 * by one.
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
#include "trace/compact.h"

struct move {
	uint16_t from, to, bytes;
};

/* A record, or the parts of one, as this file has it. */
struct plan {
	struct gsb_trace_event event;	   /* as the file says; its fields are the reader's */
	const struct gsb_trace_event *own; /* this build's of that name; NULL: it has none */
	unsigned type;			   /* of that: an event's, or a compact record's */
	const struct plan *part;	   /* what may be behind it; NULL: nothing */
	struct move *moves;
	unsigned n_moves;
	bool there, is_part;
};

/* Parts of one record; a part has no fewer bytes than the head of a record. */
#define PARTS_MAX (GSB_TRACE_RECORD_MAX / sizeof(struct gsb_trace_head))

/* This build's form of a compact record with parts, of which a file may have smaller ones. */
#define COMPACT_BYTES_MAX                                                                   \
	(sizeof(struct gsb_compact_launch) + sizeof(struct gsb_compact_decision) +          \
	 sizeof(struct gsb_compact_run) + sizeof(struct gsb_compact_end) +                  \
	 PARTS_MAX * (sizeof(struct gsb_compact_again) + sizeof(struct gsb_compact_issue) + \
		      sizeof(struct gsb_compact_step)))
static_assert(COMPACT_BYTES_MAX <= UINT16_MAX, "its head can say so");

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

	_Alignas(8) uint8_t compact[COMPACT_BYTES_MAX];
	_Alignas(8) uint8_t events_of_it[GSB_TRACE_EXPANSION * COMPACT_BYTES_MAX];
	uint32_t expanded_at,
		expanded; /* bytes of events_of_it that were handed out; that there are */
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

static bool is_field_ok(const struct gsb_trace_field_format *f, const struct plan *p,
			uint16_t record_bytes)
{
	uint16_t bytes = bytes_of(f->type);

	return is_name(f->name) && f->bytes &&
	       (p->is_part || f->offset >= sizeof(struct gsb_trace_head)) &&
	       gsb_range_ok(f->offset, f->bytes, record_bytes) && (!bytes || f->bytes == bytes) &&
	       (f->type != GSB_TRACE_FIELD_SERIALS || f->bytes % 8 == 0);
}

static int take_fields(struct gsb_trace_reader *r, const struct gsb_trace_event_format *e,
		       struct plan *p)
{
	for (unsigned i = 0; i < e->n_fields; i++) {
		const struct gsb_trace_field_format *f = &r->formats[e->first_field + i];

		if (!is_field_ok(f, p, e->bytes))
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

static bool is_called(const struct gsb_trace_event *e, const char *name)
{
	return e->bytes && !strcmp(e->name, name);
}

static const struct gsb_trace_event *own_part(const char *name, unsigned *type)
{
	for (*type = GSB_COMPACT_LAUNCH; *type < GSB_N_COMPACT_TYPES; (*type)++)
		if (is_called(&gsb_compact_layout(*type)->part, name))
			return &gsb_compact_layout(*type)->part;
	*type = GSB_TRACE_NONE;
	return NULL;
}

static const struct gsb_trace_event *own_record(const char *name, bool or_compact, unsigned *type)
{
	for (*type = 1; *type < GSB_N_TRACE_TYPES; (*type)++)
		if (is_called(gsb_trace_event(*type), name))
			return gsb_trace_event(*type);
	for (; or_compact && *type < GSB_N_COMPACT_TYPES; (*type)++)
		if (is_called(&gsb_compact_layout(*type)->record, name))
			return &gsb_compact_layout(*type)->record;
	*type = GSB_TRACE_NONE;
	return NULL;
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
	p->moves = moves;
	for (unsigned i = 0; p->own && i < p->event.n_fields; i++) {
		const struct gsb_trace_field *from = &p->event.fields[i];
		const struct gsb_trace_field *to = field_named(p->own, from->name);
		uint16_t bytes = to ? common_bytes(from, to) : 0;

		if (bytes)
			moves[p->n_moves++] = (struct move){from->offset, to->offset, bytes};
	}
}

static bool has_parts(const struct gsb_trace_reader *r)
{
	return r->header.major >= GSB_TRACE_MAJOR_OF_PARTS;
}

static bool is_name_of_part(const char *name)
{
	const size_t n = strlen(name), end = strlen(GSB_TRACE_PART);

	return n > end && !strcmp(name + n - end, GSB_TRACE_PART);
}

static int take_event(struct gsb_trace_reader *r, const struct gsb_trace_event_format *e)
{
	struct plan *p = e->type < GSB_TRACE_EVENTS_MAX ? &r->plans[e->type] : NULL;

	if (!p || !e->type || p->there || !is_name(e->name) || e->bytes % 8 ||
	    e->bytes < sizeof(struct gsb_trace_head) || e->bytes > GSB_TRACE_RECORD_MAX ||
	    !gsb_range_ok(e->first_field, e->n_fields, r->header.n_fields))
		return -EBADMSG;
	p->is_part = has_parts(r) && is_name_of_part(e->name);
	if (take_fields(r, e, p))
		return -EBADMSG;
	p->there = true;
	p->own = p->is_part ? own_part(e->name, &p->type)
			    : own_record(e->name, has_parts(r), &p->type);
	make_plan(p, &r->moves[e->first_field]);
	return 0;
}

static const struct plan *plan_named(const struct gsb_trace_reader *r, const char *name)
{
	for (uint32_t i = 0; i < r->header.n_events; i++)
		if (!strcmp(r->events[i].name, name))
			return &r->plans[r->events[i].type];
	return NULL;
}

/* Which of them have any. */
static void find_parts(struct gsb_trace_reader *r)
{
	char name[GSB_TRACE_NAME_MAX + sizeof(GSB_TRACE_PART)];

	for (uint32_t i = 0; i < r->header.n_events; i++) {
		struct plan *p = &r->plans[r->events[i].type];

		snprintf(name, sizeof(name), "%s" GSB_TRACE_PART, p->event.name);
		p->part = p->is_part ? NULL : plan_named(r, name);
	}
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
	if (!err && has_parts(r))
		find_parts(r);
	return err;
}

static int check_header(const struct gsb_trace_header *h)
{
	if (memcmp(h->magic, GSB_TRACE_MAGIC, sizeof(h->magic)))
		return -EBADMSG;
	if (h->byte_order != GSB_TRACE_BYTE_ORDER || h->major > GSB_TRACE_MAJOR || !h->major)
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
			 "it is a trace of format %u, this program reads them up to %u: use the "
			 "tools of the release that recorded it",
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
	return r->at == r->bytes && r->expanded_at == r->expanded;
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

/* What the file says, in this build's form of it. */
static void move(const struct plan *p, const uint8_t *from, uint8_t *to)
{
	memset(to, 0, p->own->bytes);
	for (unsigned i = 0; i < p->n_moves; i++)
		memcpy(to + p->moves[i].to, from + p->moves[i].from, p->moves[i].bytes);
}

static void put_head(const struct plan *p, const uint8_t *record, uint32_t bytes, uint8_t *to)
{
	struct gsb_trace_head head;

	memcpy(&head, record, sizeof(head));
	head.type = (uint16_t)p->type;
	head.bytes = (uint16_t)bytes;
	memcpy(to, &head, sizeof(head));
}

/* The record in this build's struct, or its head alone. */
static void translate(struct gsb_trace_reader *r, const struct plan *p, const uint8_t *record)
{
	uint8_t *to = (uint8_t *)&r->any;

	if (!p->own) {
		put_head(p, record, p->event.bytes, to);
		return;
	}
	move(p, record, to);
	put_head(p, record, p->own->bytes, to);
	end_own_texts(&r->any, p->own);
	if (p->type == GSB_TRACE_LOST)
		r->n_lost += r->any.lost.n_events;
}

static bool is_compact(const struct plan *p)
{
	return p->type >= GSB_COMPACT_LAUNCH;
}

/* The events of a compact record of so many bytes. */
static void expand(struct gsb_trace_reader *r, const struct plan *p, const uint8_t *record,
		   uint32_t bytes)
{
	const struct plan *part = p->part;
	uint8_t *to = r->compact;

	move(p, record, to);
	to += p->own->bytes;
	for (uint32_t at = p->event.bytes; at < bytes; at += part->event.bytes)
		if (part->own) { /* else this build knows the record without parts */
			move(part, record + at, to);
			to += part->own->bytes;
		}
	put_head(p, record, (uint32_t)(to - r->compact), r->compact);
	r->expanded = gsb_trace_expand((const struct gsb_trace_head *)r->compact, r->events_of_it);
	r->expanded_at = 0;
}

/* As many as the list says, and whole parts behind them. */
static bool is_size_ok(const struct plan *p, uint32_t bytes)
{
	if (bytes <= p->event.bytes || !p->part)
		return bytes == p->event.bytes;
	return bytes <= GSB_TRACE_RECORD_MAX &&
	       (bytes - p->event.bytes) % p->part->event.bytes == 0;
}

/* NULL: what stands there is none. */
static const struct plan *plan_of_next(const struct gsb_trace_reader *r,
				       struct gsb_trace_head *head)
{
	const struct plan *p;

	if (r->bytes - r->at < sizeof(*head))
		return NULL;
	memcpy(head, r->chunk + r->at, sizeof(*head));
	p = head->type < GSB_TRACE_EVENTS_MAX ? &r->plans[head->type] : NULL;
	return p && p->there && !p->is_part && is_size_ok(p, head->bytes) &&
			       head->bytes <= r->bytes - r->at
		       ? p
		       : NULL;
}

/* Of those that a compact record stands for. */
static int next_of_expanded(struct gsb_trace_reader *r, struct gsb_trace_record *out)
{
	const union gsb_trace_any *any =
		(const union gsb_trace_any *)(r->events_of_it + r->expanded_at);

	*out = (struct gsb_trace_record){
		.type = (enum gsb_trace_type)any->head.type,
		.any = any,
		.event = gsb_trace_event(any->head.type),
		.bytes = any,
		.number = r->n_records++,
	};
	r->expanded_at += any->head.bytes;
	return 1;
}

static int next_of_file(struct gsb_trace_reader *r, const struct plan *p, const uint8_t *record,
			struct gsb_trace_record *out)
{
	translate(r, p, record);
	*out = (struct gsb_trace_record){
		.type = (enum gsb_trace_type)p->type,
		.any = &r->any,
		.event = p->own ? p->own : &p->event,
		.bytes = p->own ? (const void *)&r->any : record,
		.number = r->n_records++,
	};
	return 1;
}

int gsb_trace_next(struct gsb_trace_reader *r, struct gsb_trace_record *out)
{
	while (r->expanded_at == r->expanded) {
		const uint8_t *record;
		const struct plan *p;
		struct gsb_trace_head head;
		int got = 1;

		if (r->ending)
			return r->ending == GSB_TRACE_DAMAGED ? -EBADMSG : 0;
		if (r->at == r->bytes)
			got = next_chunk(r);
		if (got <= 0)
			return got;
		p = plan_of_next(r, &head);
		if (!p)
			return end(r, GSB_TRACE_DAMAGED);
		record = r->chunk + r->at;
		r->at += head.bytes;
		if (!is_compact(p))
			return next_of_file(r, p, record, out);
		expand(r, p, record, head.bytes);
	}
	return next_of_expanded(r, out);
}
