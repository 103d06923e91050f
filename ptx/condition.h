/*
 * condition.h - PTX whose kernels set conditions of graphs: cudaGraphSetConditional().
 *
 * A driver has that function itself, and its handle is the driver's own. Here a handle is the address of a word, which the library reads when the node's turn
 * has come (interpose/cu/condition.h). So the function is one of ours, which writes there.
 */
#ifndef GSB_PTX_CONDITION_H
#define GSB_PTX_CONDITION_H

#include <stddef.h>

/* A text, of one module or several, with the function behind each that calls it, for free(), with a NUL behind it; *out stays NULL when none does.
 * 0, -ENOMEM. Context: pure. */
int gsb_ptx_define_condition(const char *text, size_t len, char **out);

#endif
