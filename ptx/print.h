/*
 * print.h - a parsed module as PTX text again.
 *
 * Parsing what is printed gives the same module, and printing that the same text: scopes are flat,
 * columns of debug lines are gone, numbers are in one form, everything else is kept.
 */
#ifndef GSB_PTX_PRINT_H
#define GSB_PTX_PRINT_H

#include <stdio.h>

#include "ptx/ptx.h"

/**
 * gsb_ptx_print() - text of a module
 * @out, @len: a NUL-terminated text for free(), and its length; written only on success
 *
 * Context: allocates. Return: 0, -ENOMEM.
 */
int gsb_ptx_print(const struct gsb_ptx_module *m, char **out, size_t *len);

/* "%r42", as it is printed. */
void gsb_ptx_print_reg_name(const struct gsb_ptx_reg *reg, FILE *f);

#endif
