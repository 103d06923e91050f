/*
 * rewrite_slice.c - SLICE: %ctaid counts from the slice's first block, %nctaid is the logical grid.
 *
 * One addition for each axis that is read, once a thread; barriers and exits stay as they are.
 */
#include <stddef.h>

#include "ptx/resize/rewrite_parts.h"
#include "ptx/resize/variant.h"

static void put_axis(struct gsb_edit_func *f, unsigned int axis, bool id, bool count)
{
	if (id)
		gsb_edit_text(f,
			      "ld.param.u32 %s, [~v+%zu];\n\t"
			      "mov.u32 ~t, %%ctaid.%c;\n\t"
			      "add.u32 %s, %s, ~t",
			      gsb_rewrite_id_names[axis],
			      offsetof(struct gsb_variant_slice, first) + 4 * axis, "xyz"[axis],
			      gsb_rewrite_id_names[axis], gsb_rewrite_id_names[axis]);
	if (count)
		gsb_edit_text(f, "ld.param.u32 %s, [~v+%zu]", gsb_rewrite_id_names[3 + axis],
			      offsetof(struct gsb_variant_slice, grid) + 4 * axis);
}

void gsb_rewrite_slice(struct gsb_edit *e, const struct gsb_rewrite_work *w, const char *name)
{
	struct gsb_rewrite_ids ids;
	struct gsb_edit_func f;

	gsb_rewrite_id_funcs(e, w);
	gsb_edit_begin(&f, e, w->kernel.entry, name);
	gsb_edit_param(&f, sizeof(struct gsb_variant_slice));
	gsb_rewrite_declare_ids(&f, w, &ids);
	gsb_edit_reg(&f, "~t");
	for (unsigned int axis = 0; axis < 3; axis++)
		put_axis(&f, axis, w->ctaid >> axis & 1, w->nctaid >> axis & 1);
	gsb_rewrite_share_ids(&f, w);
	for (uint32_t i = 0; i < f.from->n_insns; i++) {
		gsb_edit_at(&f, i);
		gsb_rewrite_copy_with_ids(&f, w, &ids, i);
	}
	gsb_edit_end(&f);
}
