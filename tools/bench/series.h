/*
 * series.h - what rounds of one measurement gave, and what a program said.
 */
#ifndef GSB_TOOLS_BENCH_SERIES_H
#define GSB_TOOLS_BENCH_SERIES_H

#define GSB_SERIES_MAX 20

/* Zeroed is empty. */
struct gsb_series {
	double v[GSB_SERIES_MAX];
	unsigned n;
};

/* One more, while there is room. */
void gsb_series_add(struct gsb_series *s, double value);
/* Least first: median, least and most are asked for afterwards. */
void gsb_series_sort(struct gsb_series *s);
/* Of an even number the mean of the two in the middle; 0 of none. */
double gsb_series_median(const struct gsb_series *s);

/* gsb_bench_query_ms() - "wall_ms" of the line that `gpu_db run --json` writes: what one of its queries took; 0: there is none */
double gsb_bench_query_ms(const char *line);
/* Queries a second of programs at once, of which each takes so long for one of its own; 0 when one of them had none. */
double gsb_bench_rate(const double *ms, unsigned n);

#endif
