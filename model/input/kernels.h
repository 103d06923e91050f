/*
 * kernels.h - kernels as people write them: "name=A,threads=256,regs=32,blocks=1024", or a table with
 * a line of column names and a line per kernel.
 *
 * One list of keys serves both forms, so that whatever can be said on a command line can stand in a
 * file. A kernel carries what any of the models may ask for; most keys may be left out.
 */
#ifndef GSB_MODEL_INPUT_KERNELS_H
#define GSB_MODEL_INPUT_KERNELS_H

#include "model/time/contend.h"
#include "model/time/fraction.h"
#include "model/papers/plan.h"
#include "model/gpu/text.h"

#define GSB_KERNEL_NAME_MAX 64

struct gsb_kernel_row {
	char name[GSB_KERNEL_NAME_MAX];
	struct gsb_plan_kernel plan; /* geometry, registers, shared memory; may it be re-sized? */
	struct gsb_contend_demand demand;
	struct gsb_curve held, rest; /* n = 0: not given */
	bool regs_estimated;	     /* from PTX: the assembler decides */
};

/* Keys, for a manual or a message: "name threads regs ...". */
extern const char gsb_kernel_keys[];

/* Set one key; -EINVAL with the reason in *err, err->line = @line. */
int gsb_kernel_row_set(struct gsb_kernel_row *row, const char *key, const char *value,
		       unsigned int line, struct gsb_text_error *err);
/* Set from "key=value,key=value"; @text is written into. */
int gsb_kernel_row_set_all(struct gsb_kernel_row *row, char *text, unsigned int line,
			   struct gsb_text_error *err);
/* What every model needs is there: threads, blocks; -EINVAL names what is missing. */
int gsb_kernel_row_check(const struct gsb_kernel_row *row, unsigned int line,
			 struct gsb_text_error *err);

/**
 * gsb_kernel_table_parse() - a table of kernels
 * @text, @len: the first line names the columns, blanks separate, "-" leaves a cell out, '#' comments
 * @rows, @max: room; @n_rows: how many there were, written only on success
 *
 * Context: pure, any thread, no allocation.
 * Return:  0, -EINVAL with line and reason in @err.
 */
int gsb_kernel_table_parse(const char *text, size_t len, struct gsb_kernel_row *rows, size_t max,
			   size_t *n_rows, struct gsb_text_error *err);

#endif
