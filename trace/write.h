/*
 * write.h - trace files as they are made (format.h). The descriptor is the caller's, and so is when it is called: a write
 * may wait for a disk.
 */
#ifndef GSB_TRACE_WRITE_H
#define GSB_TRACE_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"

struct gsb_trace_writer {
	int fd;
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

/* Whole records, at most GSB_TRACE_CHUNK_MAX bytes; 0 bytes: the file ends here. 0, -errno. */
int gsb_trace_write_chunk(struct gsb_trace_writer *w, const void *records, uint32_t bytes);

#endif
