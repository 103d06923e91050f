/*
 * fail.c - why a run has ended: see state.h.
 */
#include <stdarg.h>
#include <stdio.h>

#include "sim/state.h"

int gsb_sim_fail(struct gsb_sim *s, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->why, s->why_size, fmt, ap);
	va_end(ap);
	return err;
}
