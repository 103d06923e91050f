/*
 * record.h - what a private broker's engine did in virtual time: recorded, and read back as a load.
 */
#ifndef GSB_TOOLS_COMPARE_RECORD_H
#define GSB_TOOLS_COMPARE_RECORD_H

#include "model/input/workload.h"
#include "tools/compare/site.h"

/* Around what is to be recorded. 0; -1: told on stderr, as by the others. */
int gsb_record_begin(const struct gsb_bench_site *s, const char *socket);
int gsb_record_end(const struct gsb_bench_site *s, const char *socket);
/* The last one; gsb_workload_finish() frees it. */
int gsb_record_read(const struct gsb_bench_site *s, struct gsb_workload *out);
/* When that tenant's last operation ended, from the start line on. */
int gsb_record_end_of(const struct gsb_workload *l, const char *tenant, double *ns);

#endif
