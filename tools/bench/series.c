/*
 * series.c - see series.h.
 */
#include "tools/bench/series.h"

#include <stdlib.h>
#include <string.h>

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

double gsb_bench_query_ms(const char *line)
{
	static const char key[] = "\"wall_ms\": ";
	const char *at = strstr(line, key); /* that of the whole comes before those of its phases */
	double ms = at ? strtod(at + sizeof(key) - 1, NULL) : 0;

	return ms > 0 ? ms : 0;
}

double gsb_bench_rate(const double *ms, unsigned n)
{
	double rate = 0;

	for (unsigned i = 0; i < n; i++) {
		if (ms[i] <= 0)
			return 0;
		rate += 1e3 / ms[i];
	}
	return rate;
}
