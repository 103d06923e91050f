/*
 * rewrite_hint.c - HINT: ".cs" on loads and stores that stream, "used once". A hint changes no result.
 */
#include <errno.h>
#include <string.h>

#include "ptx/resize/rewrite_parts.h"
#include "ptx/resize/stream.h"

/* Spelled with a hint of its own: a dotted word of words.def. */
static bool has_hint(const char *spelling)
{
	static const char *const hints[] = {
#define GSB_PTX_HINT(s) s,
#include "ptx/words.def"
	};

	for (const char *dot = strchr(spelling, '.'); dot; dot = strchr(dot + 1, '.')) {
		size_t len = strcspn(dot + 1, ".");

		for (size_t i = 0; i < GSB_ARRAY_LEN(hints); i++)
			if (strlen(hints[i]) == len && !memcmp(hints[i], dot + 1, len))
				return true;
	}
	return false;
}

/* Has it room for a hint? */
static bool may_hint(const struct gsb_ptx_insn *in)
{
	return (in->op == GSB_PTX_OP_LD || in->op == GSB_PTX_OP_ST) &&
	       (in->space == GSB_PTX_SPACE_GLOBAL || in->space == GSB_PTX_SPACE_GENERIC) &&
	       (!in->sem || in->sem == GSB_PTX_SEM_WEAK) && !(in->flags & GSB_PTX_F_POLICY) &&
	       !has_hint(in->spelling);
}

int gsb_rewrite_find_marked(struct gsb_rewrite_work *w)
{
	const struct gsb_ptx_func *f = w->kernel.entry;
	bool *marked = gsb_arena_alloc_array(w->arena, f->n_insns, sizeof(*marked));
	const bool *streams;
	int n = 0;

	if (!marked || gsb_streams(w->m, &w->kernel, w->arena, &streams))
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_insns; i++) {
		marked[i] = streams[i] && may_hint(&f->insns[i]);
		n += marked[i];
	}
	w->marked = marked;
	return n;
}

/* It stands behind the space: "ld.global.cs.nc.v4.f32", "ld.weak.cs.u32". */
static const char *with_hint(struct gsb_edit *e, const struct gsb_ptx_insn *in)
{
	static const char *const before[] = {".global", ".weak"};
	size_t len = 2; /* "ld", "st" */

	for (size_t i = 0; i < GSB_ARRAY_LEN(before); i++) {
		const char *word = strstr(in->spelling, before[i]);

		if (word) {
			len = (size_t)(word - in->spelling) + strlen(before[i]);
			break;
		}
	}
	return gsb_edit_format(e, "%.*s.cs%s", (int)len, in->spelling, in->spelling + len);
}

void gsb_rewrite_hint(struct gsb_edit *e, const struct gsb_rewrite_work *w, const char *name)
{
	const struct gsb_ptx_func *from = w->kernel.entry;
	struct gsb_edit_func f;

	gsb_edit_begin(&f, e, from, name);
	for (uint32_t i = 0; i < from->n_insns; i++) {
		struct gsb_ptx_insn *in;

		gsb_edit_at(&f, i);
		in = gsb_edit_copy(&f, i);
		if (in && w->marked[i])
			in->spelling = with_hint(e, in);
	}
	gsb_edit_end(&f);
}
