/*
 * subject.h - a kernel of a file with geometry and arguments, and its variants, ready for diff_try().
 */
#ifndef GSB_TOOLS_PTX_SUBJECT_H
#define GSB_TOOLS_PTX_SUBJECT_H

#include "tools/emu_args.h"
#include "tools/emu_file.h"
#include "tools/ptx/commands.h"
#include "tools/ptx/diff.h"

#define SUBJECT_MAX_ARGS 256

struct subject {
	struct emu_file file;
	struct emu_kernel kernel;
	struct gsb_arena arena;
	struct gsb_resize_facts facts;
	struct emu_arg args[SUBJECT_MAX_ARGS];
	size_t n_args;
	struct diff diff;
};

/* Memory for the arguments, once, in their order. 0; -1, and d->text. */
int subject_place(struct diff *d, struct emu_arg *args, size_t n, bool loose);
/* What they hold into that memory and into the parameters. 0; -1, and d->text. */
int subject_fill(struct diff *d, struct emu_arg *args, size_t n);

/* Blocks of other sizes on the x axis, as far as proven, of the diff's geometry. */
void subject_find_reshapes(struct diff *d, const struct gsb_resize_conditions *c);

/* With those of the forms, bits 1 << form, that the classifier allows and that can be written; at least one. 0; -1: told. Zeroed
 * before; close it in any case. */
int subject_open(struct subject *s, const struct gsb_ptx_request *q, unsigned int forms);
void subject_close(struct subject *s);

#endif
