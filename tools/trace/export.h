/*
 * export.h - a trace as files for other programs: a page for a browser, JSON for Perfetto, profiles for TAU.
 *
 * Names come from tenants. They hold printable ASCII (traced.h); what else a format cannot bear is replaced or escaped
 * where it is written.
 */
#ifndef GSB_TOOLS_TRACE_EXPORT_H
#define GSB_TOOLS_TRACE_EXPORT_H

#include <stdio.h>

#include "tools/trace/account.h"
#include "tools/trace/commands.h"

/* To an open file; that writing failed is to be asked of the file. Return: 0, -ENOMEM. */
int gsb_export_timeline(FILE *to, const struct gsb_traced *t, const struct gsb_accounts *a);

int gsb_export_perfetto(FILE *to, const struct gsb_traced *t, const struct gsb_accounts *a);

/* Predicted against measured, as a picture (SVG). */
int gsb_export_error_plot(FILE *to, const struct gsb_traced *t, const struct gsb_accounts *a);

/* The load, as model/input/workload.h has it. */
int gsb_export_workload(FILE *to, const struct gsb_traced *t, const struct gsb_accounts *a);

/*
 * gsb_export_tau() - TAU profile files, profile.0.CONTEXT.THREAD: a context for each tenant, a thread for each stream
 * @dir: is made if it is not there; profiles of the same names are replaced
 *
 * Return: 0, -errno: said on stderr.
 */
int gsb_export_tau(const char *dir, const struct gsb_traced *t, const struct gsb_accounts *a);

/* timeline.html. */
extern const char gsb_timeline_html[];

/* A JSON string, with nothing in it that a page would take for markup. */
void gsb_export_string(FILE *to, const char *s);

/* The commands: q->output says where to. */
int gsb_trace_timeline(const struct gsb_traced *t, const struct gsb_trace_request *q);
int gsb_trace_perfetto(const struct gsb_traced *t, const struct gsb_trace_request *q);
int gsb_trace_error_plot(const struct gsb_traced *t, const struct gsb_trace_request *q);
int gsb_trace_replay(const struct gsb_traced *t, const struct gsb_trace_request *q);
int gsb_trace_profile(const struct gsb_traced *t, const struct gsb_trace_request *q);

#endif
