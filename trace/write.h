/*
 * write.h - trace files as they are made (format.h). The descriptor is the caller's, and so is when it is called: a write
 * may wait for a disk.
 */
#ifndef GSB_TRACE_WRITE_H
#define GSB_TRACE_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "trace/format.h"

struct gsb_trace_writer;

/* As write(2). */
typedef ssize_t gsb_trace_put_bytes(struct gsb_trace_writer *w, const void *bytes, size_t size);

struct gsb_trace_writer {
	int fd;
	gsb_trace_put_bytes *put;   /* NULL: write(2) */
	uint64_t n_chunks, n_bytes; /* so far */
};

/*
 * gsb_trace_write_header() - begin a file
 * @about: what it says of the engine; magic, versions, counts and sum are filled in here
 *
 * Return: 0, -errno of write(2), -ENOMEM.
 */
int gsb_trace_write_header(struct gsb_trace_writer *w, int fd,
			   const struct gsb_trace_header *about);
/* The same by put instead of write(2). */
int gsb_trace_write_header_by(struct gsb_trace_writer *w, int fd, gsb_trace_put_bytes *put,
			      const struct gsb_trace_header *about);

/*
 * gsb_trace_write_chunk() - whole records, events (event.h) or compact ones (compact.h), with times for stamps
 * @bytes: GSB_TRACE_CHUNK_MAX at most; 0: the file ends here
 *
 * Return: 0, -errno.
 */
int gsb_trace_write_chunk(struct gsb_trace_writer *w, const void *records, uint32_t bytes);
/* The same of records that lie in n pieces, each a multiple of 8 bytes. */
int gsb_trace_write_pieces(struct gsb_trace_writer *w, const struct iovec *pieces, unsigned n);

#endif
