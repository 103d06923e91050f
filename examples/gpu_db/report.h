/*
 * report.h - what `gpu_db run` prints: text for people, one JSON object per query for programs.
 */
#ifndef GPU_DB_REPORT_H
#define GPU_DB_REPORT_H

#include "query.h"

enum report_form { REPORT_TEXT, REPORT_QUIET, REPORT_JSON };

/* All runs of one query; times are sums over the runs. */
struct report {
	const struct query *query;
	const struct data *data;
	struct result result; /* of the last run; words are not kept */
	struct run_books books;
	uint64_t wall_ns, best_wall_ns;
	unsigned runs;
	bool verified, failed;
	bool says_share;	/* of kernels in the device time */
	struct failure failure; /* what differed */
};

void report_add(struct report *r, const struct run_books *books);
void report_session(const struct session *s);
void report_print(const struct report *r, enum report_form form);

#endif
