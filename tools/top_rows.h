/*
 * top_rows.h - what gsbctl top shows: the tenants that are there now, and what each has done since the last round.
 *
 * A round is one answer to STATUS, whose counts only grow; a rate is their difference to the round before, by the
 * device's own clock, which may be virtual. The first round has none before it and so shows all since the engine began.
 */
#ifndef GSB_TOOLS_TOP_ROWS_H
#define GSB_TOOLS_TOP_ROWS_H

#include <stdint.h>
#include <stdio.h>

#include "tools/ask.h"

/* GSB_TOP_SORT(NAME, word, key on the screen) */
#define GSB_TOP_SORTS                         \
	GSB_TOP_SORT(SHARE, share, 's')       \
	GSB_TOP_SORT(MEMORY, memory, 'm')     \
	GSB_TOP_SORT(QUEUE, queue, 'u')       \
	GSB_TOP_SORT(WAITED, waited, 'a')     \
	GSB_TOP_SORT(SLOWDOWN, slowdown, 'w') \
	GSB_TOP_SORT(ERROR, error, 'e')       \
	GSB_TOP_SORT(NAME, name, 'n')         \
	GSB_TOP_SORT(ID, id, 'i')
enum gsb_top_sort {
#define GSB_TOP_SORT(NAME, word, key) GSB_TOP_SORT_##NAME,
	GSB_TOP_SORTS
#undef GSB_TOP_SORT
		GSB_N_TOP_SORTS
};

struct gsb_top_row {
	struct gsb_ctl_tenant now;
	/* since the last round; negative: not known */
	double share;	 /* of all SMs */
	double waited;	 /* of the time of its commands from when they could go, what they waited */
	double slowdown; /* of its kernels while they ran: by what they would have taken alone */
	double error;	 /* of the times that the policy had predicted: mean without sign */
};

struct gsb_top_engine {
	double share;		      /* of the rows */
	struct gsb_answer_engine now; /* without its tenants */
};

struct gsb_top_round {
	struct gsb_top_row *rows;
	struct gsb_top_engine *engines;
	unsigned n_rows, n_engines, n_hidden; /* hidden: tenants of others */
};

/*
 * gsb_top_round_make() - the round that an answer is
 * @before: the last one; NULL: there was none
 * @out:    finish it; written only on success
 *
 * Return: 0, -ENOMEM.
 */
int gsb_top_round_make(const struct gsb_answers *a, const struct gsb_top_round *before,
		       struct gsb_top_round *out);
void gsb_top_round_finish(struct gsb_top_round *r);

/* Largest first, names and numbers ascending; of equal ones the older first. */
void gsb_top_round_sort(struct gsb_top_round *r, enum gsb_top_sort by);
/* -EINVAL: no such word, or key. */
int gsb_top_sort_find(const char *word, enum gsb_top_sort *out);
int gsb_top_sort_of_key(int key, enum gsb_top_sort *out);

/* A line for each engine, an empty one, the headings, a line for each tenant. */
void gsb_top_round_print(const struct gsb_top_round *r, FILE *f);

#endif
