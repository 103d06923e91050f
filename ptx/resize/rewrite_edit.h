/*
 * rewrite_edit.h - a module in the making: private to the rewriter.
 *
 * New functions are the old ones with instructions left out, changed, or text put between them. The text is PTX, with
 * '~' for the "gsb$" that all our names begin with; it is checked when the module is parsed again.
 */
#ifndef GSB_PTX_RESIZE_REWRITE_EDIT_H
#define GSB_PTX_RESIZE_REWRITE_EDIT_H

#include "base/arena.h"
#include "base/compiler.h"
#include "ptx/ptx.h"

#define GSB_EDIT_PREFIX "gsb$"

struct gsb_edit {
	const struct gsb_ptx_module *from;
	struct gsb_arena arena;
	struct gsb_ptx_func **funcs;
	uint32_t n_funcs, cap_funcs;
	struct gsb_ptx_var **vars;
	uint32_t n_vars, cap_vars;
	bool failed; /* without memory; sticky */
};

struct gsb_edit_func {
	struct gsb_edit *edit;
	const struct gsb_ptx_func *from;
	struct gsb_ptx_func *to;
	struct gsb_ptx_insn *insns;
	uint32_t n, cap;
	uint32_t *place; /* of each old instruction: the first of the new ones that stand for it */
};

void gsb_edit_init(struct gsb_edit *e, const struct gsb_ptx_module *from);
void gsb_edit_finish(struct gsb_edit *e);
/* What has been made, as a module. 0, -ENOMEM, -E2BIG. */
int gsb_edit_module(struct gsb_edit *e, struct gsb_ptx_module **out);

/* A variable of the module, in .shared: @n elements of a type; no second one of that name. */
void gsb_edit_shared(struct gsb_edit *e, const char *name, enum gsb_ptx_type type, uint32_t n);

/* A function that comes behind the others, under that name. What is put before the first gsb_edit_at() is passed once,
 * even where the old code begins with a loop. */
void gsb_edit_begin(struct gsb_edit_func *f, struct gsb_edit *e, const struct gsb_ptx_func *from,
		    const char *name);
void gsb_edit_end(struct gsb_edit_func *f);

/* From here on, what stands for the old instruction @i: labels lead here. */
void gsb_edit_at(struct gsb_edit_func *f, uint32_t i);
/* The old one, with operands of its own; the result may be changed. NULL: no memory. */
struct gsb_ptx_insn *gsb_edit_copy(struct gsb_edit_func *f, uint32_t i);
/* Instructions and declarations without the last ';'. */
void gsb_edit_text(struct gsb_edit_func *f, const char *format, ...) GSB_PRINTF(2, 3);
/* One instruction under the guard of the old one @i. */
void gsb_edit_text_guarded(struct gsb_edit_func *f, uint32_t i, const char *text);

/* A 32-bit register. */
uint32_t gsb_edit_reg(struct gsb_edit_func *f, const char *name);
/* A parameter "~v" behind the others: so many bytes at a multiple of 8. */
void gsb_edit_param(struct gsb_edit_func *f, uint32_t bytes);

/* "%r42" */
const char *gsb_edit_reg_name(struct gsb_edit_func *f, uint32_t reg);
/* A function to be called by that name: what prints as one. */
const struct gsb_ptx_func *gsb_edit_named(struct gsb_edit *e, const char *name);

char *gsb_edit_format(struct gsb_edit *e, const char *format, ...) GSB_PRINTF(2, 3);

#endif
