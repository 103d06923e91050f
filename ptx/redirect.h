/*
 * redirect.h - PTX whose calls of a built-in function go to another one.
 *
 * What a text declares and does not define (vprintf, malloc) the driver defines. Where somebody else is to do it, the name is
 * written over, in the declaration as in calls, by one of the same length: so no other byte of the text moves.
 */
#ifndef GSB_PTX_REDIRECT_H
#define GSB_PTX_REDIRECT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a function of that name stands in the text, of one module or several, other than as .extern. Context: pure. */
bool gsb_ptx_defines(const char *text, size_t len, const char *name);

/**
 * gsb_ptx_redirect() - have calls of one function go to another, which is defined behind the text
 * @text, @len: one module; changed in place
 * @from: a name
 * @to:   another of that length, which no compiler makes
 * @to_without: likewise, where the module declares @from without a result, as some compilers do that want none
 *
 * Its declarations are not .extern any more. Context: pure.
 * Return: @to or @to_without; NULL, and the text is as it was, if that does not declare @from as an .extern function.
 */
const char *gsb_ptx_redirect(char *text, size_t len, const char *from, const char *to,
			     const char *to_without);

#endif
