/*
 * forms.h - in which forms a kernel may be launched, and why not in the others: in words.
 */
#ifndef GSB_TOOLS_TRACE_FORMS_H
#define GSB_TOOLS_TRACE_FORMS_H

#include <stdio.h>

#include "tools/trace/traced.h"

/* A line for each form, of what was told of kernels of that name: once, if it is the same for all tenants. */
void gsb_trace_print_forms(FILE *to, const struct gsb_traced *t, const char *kernel);

#endif
