/*
 * top.h - gsbctl top: the tenants, again and again.
 */
#ifndef GSB_TOOLS_TOP_H
#define GSB_TOOLS_TOP_H

#include <stdbool.h>

#include "tools/top_rows.h"

#define GSB_TOP_DELAY_MS     1000
#define GSB_TOP_DELAY_MIN_MS 100 /* more often shows no more, and asks the engines for nothing */

struct gsb_top_question {
	const char *socket;
	bool batch;	 /* as plain text, one round behind the other */
	unsigned rounds; /* 0: until it is ended */
	unsigned delay_ms;
	enum gsb_top_sort sort;
};

/* Returns the exit status. */
int gsb_top_command(const struct gsb_top_question *q);

/* One more round in place of the last. 0, or -errno and a sentence. */
int gsb_top_next(const struct gsb_top_question *q, struct gsb_top_round *r, char *why, size_t size);

/* On the screen, until q is pressed. */
int gsb_top_on_screen(const struct gsb_top_question *q);

#endif
