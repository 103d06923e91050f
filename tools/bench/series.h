/*
 * series.h - what rounds of one measurement gave.
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

#endif
