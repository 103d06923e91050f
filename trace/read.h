/*
 * read.h - trace files as they are read: one record after another, from front to back. The file may be of another
 * version, cut off, damaged, or made by an enemy: whatever it holds, nothing outside of it is read and nothing is
 * believed that was not checked.
 *
 *   struct gsb_trace_reader *r;
 *   struct gsb_trace_record rec;
 *   char why[GSB_TRACE_WHY_MAX];
 *   int n, err = gsb_trace_open("trace.gsb", &r, why);
 *
 *   while (!err && (n = gsb_trace_next(r, &rec)) > 0)
 *           if (rec.type == GSB_TRACE_FINISHED)
 *                   use(rec.any->head.tenant, rec.any->finished.serial);
 *   if (!err)
 *           say(gsb_trace_ending(r));      n < 0: it cannot be read on
 *   gsb_trace_close(r);
 *
 * A record of an event that this build knows comes in this build's struct, whatever the file's layout is: fields are
 * found by their names, what the file does not have is 0. So programs say rec.any->queued.serial and need no offsets.
 * Records of other events have type GSB_TRACE_NONE, and can be printed with what the file says of them.
 *
 * Context: any thread, one at a time for each reader.
 */
#ifndef GSB_TRACE_READ_H
#define GSB_TRACE_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/event.h"
#include "trace/format.h"

#define GSB_TRACE_WHY_MAX 256

struct gsb_trace_reader;

struct gsb_trace_record {
	enum gsb_trace_type type;	/* NONE: this build does not know the event */
	const union gsb_trace_any *any; /* until the next one; NONE: its head alone */
	const struct gsb_trace_event
		*event;	   /* its name and fields; NONE: as the file says, without doc */
	const void *bytes; /* the record as event describes it, event->bytes of them */
	uint64_t number;   /* records before it in the file */
};

enum gsb_trace_ending {
	GSB_TRACE_GOES_ON, /* not read to its end yet */
	GSB_TRACE_COMPLETE,
	GSB_TRACE_TORN,	  /* it ends in the middle: the engine died, or still writes */
	GSB_TRACE_DAMAGED /* a chunk is not what was written */
};

/*
 * gsb_trace_open() - read a file's header
 * @why: GSB_TRACE_WHY_MAX bytes; a sentence when it fails
 * Return: 0, -errno of open(2) or read(2), -EBADMSG (no trace, or damaged), -EPROTONOSUPPORT (of another major version
 * or byte order), -ENOMEM.
 */
int gsb_trace_open(const char *path, struct gsb_trace_reader **out, char *why);
/* The same from a descriptor, which is the reader's from now on, also when this fails; it may be a pipe. */
int gsb_trace_open_fd(int fd, struct gsb_trace_reader **out, char *why);
void gsb_trace_close(struct gsb_trace_reader *r); /* NULL is fine */

const struct gsb_trace_header *gsb_trace_header(const struct gsb_trace_reader *r);

/* 1: out is the next record. 0: there are no more. -EBADMSG: damaged from here on. -errno of read(2). */
int gsb_trace_next(struct gsb_trace_reader *r, struct gsb_trace_record *out);

/* How the file ends, and how many events were lost before they came to it, as far as it has been read. */
enum gsb_trace_ending gsb_trace_ending(const struct gsb_trace_reader *r);
uint64_t gsb_trace_n_lost(const struct gsb_trace_reader *r);

/* The value of a number or pick; a text or serials: 0. */
uint64_t gsb_trace_value(const void *record, const struct gsb_trace_field *f);

/* Whether the next record has still to come from the file. */
bool gsb_trace_must_wait(const struct gsb_trace_reader *r);

/* One line, a JSON object: time_ns (CLOCK_MONOTONIC), tenant, event, and its fields; choices by name. */
void gsb_trace_print_json(FILE *to, const struct gsb_trace_reader *r,
			  const struct gsb_trace_record *rec);

/* One line: time since the header's, tenant, name, fields. What a text holds cannot harm a terminal. */
void gsb_trace_print(FILE *to, const struct gsb_trace_reader *r,
		     const struct gsb_trace_record *rec);

#endif
