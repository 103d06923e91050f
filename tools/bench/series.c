/*
 * series.c - see series.h.
 */
#include "tools/bench/series.h"

#include <stdlib.h>

void gsb_series_add(struct gsb_series *s, double value)
{
	if (s->n < GSB_SERIES_MAX)
		s->v[s->n++] = value;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void gsb_series_sort(struct gsb_series *s)
{
	qsort(s->v, s->n, sizeof(s->v[0]), by_value);
}

double gsb_series_median(const struct gsb_series *s)
{
	return s->n ? (s->v[(s->n - 1) / 2] + s->v[s->n / 2]) / 2 : 0;
}
