/*
 * condition.c - see condition.h.
 */
#include "ptx/condition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"
#include "ptx/redirect.h"

static const char builtin[] = "cudaGraphSetConditional", ours[] = "cudaGraphSetConditiona$";
static const char definition[] =
	"\n.func cudaGraphSetConditiona$ (.param .b64 cudaGraphSetConditiona$0, .param .b32 cudaGraphSetConditiona$1)\n{\n"
	"\t.reg .b64 %word;\n\t.reg .b32 %value;\n"
	"\tld.param.u64 %word, [cudaGraphSetConditiona$0];\n"
	"\tld.param.u32 %value, [cudaGraphSetConditiona$1];\n"
	"\tst.volatile.u32 [%word], %value;\n\tret;\n}\n";

/* Whether it calls the function, which stands behind it then. */
static bool add_module(char **end, const char *text, size_t len)
{
	char *copy = *end;

	memcpy(copy, text, len);
	*end += len;
	if (!gsb_ptx_redirect(copy, len, builtin, ours, ours))
		return false;
	*end = stpcpy(*end, definition);
	return true;
}

int gsb_ptx_define_condition(const char *text, size_t len, char **out)
{
	bool calls = false;
	char *copy, *end;

	len = strnlen(text, len);
	if (!memmem(text, len, builtin, strlen(builtin)) || gsb_ptx_defines(text, len, builtin))
		return 0;
	copy = end = malloc(len + gsb_ptx_count_units(text, len) * sizeof(definition) + 1);
	if (!copy)
		return -ENOMEM;
	for (const char *next; text; text = next) {
		next = gsb_ptx_next_unit(text, len);
		calls |= add_module(&end, text, next ? (size_t)(next - text) : len);
		len -= next ? (size_t)(next - text) : len;
	}
	*end = 0;
	if (calls)
		*out = copy;
	else
		free(copy);
	return 0;
}
