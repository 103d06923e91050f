/*
 * assemble.h - what NVIDIA's assembler refuses when a text is loaded, although this reader could take it: a kernel that
 * is not understood spoils itself alone here (unknown.c), while what no PTX has spoils its text.
 */
#ifndef GSB_PTX_ASSEMBLE_H
#define GSB_PTX_ASSEMBLE_H

#include "ptx/ptx.h"

/*
 * The newest PTX whose opcodes are known. A newer minor version may have more, which the kernels that use them are refused
 * for; of another major number nobody here has heard.
 */
#define GSB_PTX_NEWEST_MAJOR 9
#define GSB_PTX_NEWEST_MINOR 0

/**
 * gsb_ptx_assembles() - would a driver load this text, as far as can be said without compiling it?
 * @log: on failure the line, the word and the remedy
 *
 * For what a program gives as text only: of the parts of a fatbin a driver takes machine code, where there is some, and
 * does not look at the text.
 *
 * Refused are a version that is too new, 32-bit addresses, opcodes that no PTX has or that are newer than the text says
 * it is, and calls of functions that nobody defines. Pure.
 *
 * Return: 0, -ENOPKG (the version), -EILSEQ (the others).
 */
int gsb_ptx_assembles(const struct gsb_ptx_module *m, char *log, size_t log_size);

#endif
