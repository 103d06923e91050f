/*
 * text.h - small texts that people write: lines, comments, numbers, and where a fault is.
 *
 * Works on a buffer that the caller has read. Input is hostile: lines are bounded, a NUL is
 * refused.
 */
#ifndef GSB_MODEL_GPU_TEXT_H
#define GSB_MODEL_GPU_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

#define GSB_TEXT_LINE_MAX 1024

/* Where and why a text was refused. */
struct gsb_text_error {
	unsigned int line; /* from 1; 0 = the text as a whole */
	char what[200];
};

/* Set at and left; the rest zero. */
struct gsb_text {
	const char *at;
	size_t left;
	unsigned int number; /* of the line below, from 1 */
	char buf[GSB_TEXT_LINE_MAX];
	char *line; /* in buf: without comment, trimmed, never empty */
};

/* The next line that says something: 1; 0 at the end; -EINVAL and *err for a line too long or
 * binary. */
int gsb_text_next(struct gsb_text *t, struct gsb_text_error *err);
/* s without blanks at both ends; writes into s. */
char *gsb_text_trim(char *s);
/* Decimal digits only: no sign, no blank, no overflow. */
bool gsb_text_u64(const char *s, uint64_t *out);
/* Digits with at most one '.'; finite, not negative. */
bool gsb_text_double(const char *s, double *out);
/* Fill *err (NULL: nobody asks); returns -EINVAL, so that a parser can return it. */
GSB_PRINTF(3, 4)
int gsb_text_refuse(struct gsb_text_error *err, unsigned int line, const char *fmt, ...);

#endif
