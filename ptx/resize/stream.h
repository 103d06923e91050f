/*
 * stream.h - which accesses of a kernel stream: what they touch nobody touches again.
 *
 * Proven from the form of their addresses, as far as a form tells: sizes that the program gives (a width, a pitch, what a
 * block has to do) are taken to be as large as what they hold apart, and numbers of 32 bits not to wrap. doc/resizing.md.
 */
#ifndef GSB_PTX_RESIZE_STREAM_H
#define GSB_PTX_RESIZE_STREAM_H

#include "base/arena.h"
#include "ptx/kernel.h"

/**
 * gsb_streams() - of each instruction of the entry: is it an access of global memory that streams?
 * @out: by instruction
 *
 * Context: pure. Return: 0; -ENOMEM. In a kernel that takes too long to look at nothing streams.
 */
int gsb_streams(const struct gsb_ptx_module *m, const struct gsb_ptx_kernel *k,
		struct gsb_arena *arena, const bool **out);

#endif
