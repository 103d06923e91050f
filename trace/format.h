/*
 * format.h - a trace file, byte by byte: what an engine writes and everybody reads.
 *
 *   struct gsb_trace_header
 *   n_events x struct gsb_trace_event_format, n_fields x struct gsb_trace_field_format
 *   struct gsb_trace_chunk, its records; again and again, to the end of the file
 *
 * The file says itself how its records are laid out, so a reader of another version skips events and fields that it does
 * not know, and finds those that it knows by name. Numbers are in the byte order of who wrote it: byte_order tells.
 *
 * A record is of the size that the list says; or, where the list has another entry whose name is its own and GSB_TRACE_PART, has
 * any number of parts behind it, of the size of that one, whose fields are counted from the beginning of each part. Such records
 * are the compact ones (compact.h), of which a reader makes events. They are what is new in format 2.
 *
 * A chunk has a sum over its records: of an engine that died, or a disk that was full, all chunks but the last can be
 * read. A file that was ended in order ends with an empty chunk, which has no records.
 *
 * Who reads trusts nothing of it: read.c.
 */
#ifndef GSB_TRACE_FORMAT_H
#define GSB_TRACE_FORMAT_H

#include <assert.h>
#include <stdint.h>

#define GSB_TRACE_MAGIC	     "gsbtrac" /* and its NUL: 8 bytes */
#define GSB_TRACE_BYTE_ORDER 0x01020304u
#define GSB_TRACE_MAJOR	     2 /* a reader understands its own, and those before */
#define GSB_TRACE_MINOR	     0

#define GSB_TRACE_NAME_MAX 40

struct gsb_trace_header {
	char magic[8];
	uint32_t byte_order;
	uint16_t major, minor;
	uint32_t n_events, n_fields; /* of the list that follows */
	uint64_t mono_ns, real_ns;   /* CLOCK_MONOTONIC and CLOCK_REALTIME at one moment */
	uint64_t device_ns;	     /* the device's clock at that moment */
	uint32_t is_virtual;	     /* 1: that clock is virtual */
	uint32_t pid;		     /* of the engine */
	char version[32];	     /* of the broker */
	char device[128], policy[32];
	uint32_t n_sms, zero; /* of the device */
	uint64_t sum;	      /* gsb_trace_sum of this struct up to here, and of the list */
};
static_assert(sizeof(struct gsb_trace_header) == 264, "the header is fixed");

struct gsb_trace_event_format {
	uint16_t type, bytes; /* as in the head of its records */
	uint16_t first_field, n_fields;
	char name[GSB_TRACE_NAME_MAX];
};

struct gsb_trace_field_format {
	uint16_t offset, bytes; /* from the beginning of the record */
	uint8_t type;		/* enum gsb_trace_field_type */
	uint8_t zero[3];
	char name[GSB_TRACE_NAME_MAX];
};
static_assert(sizeof(struct gsb_trace_event_format) == 48 &&
		      sizeof(struct gsb_trace_field_format) == 48,
	      "the list is fixed");

#define GSB_TRACE_MAJOR_OF_PARTS 2
#define GSB_TRACE_PART		 "_part"
#define GSB_TRACE_PART_OF(type) \
	((type) + 512u) /* what is in the list of the parts of a type; no record has it */

#define GSB_TRACE_CHUNK_MAGIC 0x6b6e6863u /* "chnk" */
#define GSB_TRACE_CHUNK_MAX   (1u << 20)  /* bytes of records */
#define GSB_TRACE_RECORD_MAX  4096u	  /* bytes of one record, head included */
#define GSB_TRACE_EVENTS_MAX  1024u
#define GSB_TRACE_FIELDS_MAX  16384u

struct gsb_trace_chunk {
	uint32_t magic;
	uint32_t bytes;	 /* of the records behind it, a multiple of 8 */
	uint64_t number; /* from 0 */
	uint64_t sum;	 /* gsb_trace_sum of the three above, and of the records */
};

/*
 * A sum of 64-bit words, so that a torn or damaged chunk is known; it is no protection from who means it.
 * Begin with 0; a part's sum is the beginning of the next. bytes is a multiple of 8.
 */
uint64_t gsb_trace_sum(uint64_t sum, const void *words, uint32_t bytes);

#endif
