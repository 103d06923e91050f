/*
 * pageable.h - copies with an end in the program's pageable memory, which no engine reads.
 *
 * It passes through chunks of the staging memory, in pieces that follow each other down the stream; what fits goes into
 * the record itself. A copy of a graph reads and writes pageable memory when its turn comes: there the library's own host
 * functions fill and empty the chunks.
 */
#ifndef GSB_INTERPOSE_CU_PAGEABLE_H
#define GSB_INTERPOSE_CU_PAGEABLE_H

#include "interpose/cu/copy.h"

/* The ends are checked, and one of them is pageable. */
CUresult gsb_cu_copy_pageable(const struct gsb_cu_copy *c);

/* The calling thread ends: what a copy of it that was left by siglongjmp() has. */
void gsb_cu_copy_end_thread(void);

/* From pageable memory, at most GSB_INLINE_COPY_MAX bytes: they travel in the record, whose number is *number. */
CUresult gsb_cu_copy_post_inline(const struct gsb_cu_copy *c, uint64_t *number);

#endif
