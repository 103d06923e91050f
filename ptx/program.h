/*
 * program.h - the device code that a compiler has put into a program or library, for tools that read the file.
 *
 * nvcc gathers the fatbins of all parts of a program in the section .nv_fatbin, one behind the other. Parts that it has
 * linked (-rdc=true) have theirs in __nv_relfatbin, and .nv_fatbin has what came out, machine code alone. Nothing in the file
 * is trusted.
 */
#ifndef GSB_PTX_PROGRAM_H
#define GSB_PTX_PROGRAM_H

#include "ptx/image.h"

/* An ELF file for the host: neither a cubin nor anything else. */
bool gsb_program_is(const void *bytes, size_t size);

/**
 * gsb_program_next() - the fatbins of a program one after the other
 * @bytes, @size: the file
 * @at:   0 before the first call
 *
 * Context: pure. Return: 1 (a fatbin in @out, which points into the file), 0 (no more), -EBADMSG (no ELF file for
 * a 64-bit host, or what its headers say is not there).
 */
int gsb_program_next(const void *bytes, size_t size, uint64_t *at, struct gsb_image *out);

/**
 * gsb_program_parts() - the parts that nvcc has linked, as one image: what gsb_image_gather() makes in the program itself
 * @bytes, @size: the file
 * @out:  written when there are parts    @made: what it lies in, for free(), or NULL
 *
 * Context: allocates. Return: 1, 0 (nothing was linked), -EBADMSG as above, -ENOMEM.
 */
int gsb_program_parts(const void *bytes, size_t size, struct gsb_image *out, void **made);

#endif
