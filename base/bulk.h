/*
 * bulk.h - copies of much memory from which nobody reads soon.
 *
 * memcpy reads each line that it is about to overwrite, until the length is that of a good part of the cache. A large copy that
 * is made in pieces is never so long in its parts; written past the cache it goes twice as fast.
 */
#ifndef GSB_BASE_BULK_H
#define GSB_BASE_BULK_H

#include <stddef.h>

/* As memcpy. What is written is there for other processors and devices when it returns. */
void gsb_bulk_copy(void *dst, const void *src, size_t n);

#endif
