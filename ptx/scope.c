/*
 * scope.c - names of a function's scopes: what a thing is called when all scopes are one, and labels that are used before they are declared.
 */
#include "ptx/parse.h"

#include <stdio.h>
#include <string.h>

#define SUFFIX_BYTES 16 /* "$4294967295_" */

static const char *numbered_name(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok,
				 struct gsb_ptx_name *e, const char *tail)
{
	char *name = gsb_ptx_alloc(p, 1, tok->len + SUFFIX_BYTES);
	uint32_t index;
	size_t len;

	if (!name)
		return "";
	memcpy(name, tok->at, tok->len);
	do {
		snprintf(name + tok->len, SUFFIX_BYTES, "$%u%s", ++e->count, tail);
		len = strlen(name);
	} while (gsb_ptx_names_get(&p->body.spelled, name, len) ||
		 gsb_ptx_names_find(&p->names, name, len, &index));
	if (!gsb_ptx_names_add(&p->body.spelled, name, len))
		gsb_ptx_fail_memory(p);
	return name;
}

/* The entry of the name as written counts how many suffixes were given out for it. */
const char *gsb_ptx_unique_name(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok,
				const char *tail)
{
	struct gsb_ptx_name *e = gsb_ptx_names_get(&p->body.spelled, tok->at, tok->len);
	const char *name;
	uint32_t index;

	if (!e) {
		e = gsb_ptx_names_add(&p->body.spelled, tok->at, tok->len);
		if (!e) {
			gsb_ptx_fail_memory(p);
			return "";
		}
		if (p->body.depth <= 1 &&
		    !gsb_ptx_names_find(&p->names, tok->at, tok->len, &index)) {
			name = gsb_ptx_strndup(p, tok->at, tok->len);
			return name ? name : "";
		}
	}
	return numbered_name(p, tok, e, tail);
}

const char *gsb_ptx_static_name(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok)
{
	const char *func = p->body.func->name;
	size_t size = strlen(func) + 1 + tok->len + SUFFIX_BYTES;
	char *name = gsb_ptx_alloc(p, 1, size);

	if (!name)
		return "";
	snprintf(name, size, "%s$%.*s$%u", func, GSB_PTX_TOKEN_ARGS(tok), p->vars.n);
	return name;
}

void gsb_ptx_refer_label(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok, uint32_t *slot)
{
	struct gsb_ptx_label_ref *ref =
		gsb_ptx_push(p, &p->body.refs, sizeof(*ref), "uses of labels", GSB_PTX_MAX_INSNS);

	if (ref)
		*ref = (struct gsb_ptx_label_ref){.slot = slot, .tok = *tok};
}
