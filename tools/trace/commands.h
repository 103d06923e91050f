/*
 * commands.h - the commands of gsb-trace. Each has the trace joined and says one thing about it.
 *
 * Return of all: the program's exit status: 0, 1 (what was asked for is not there, or the check failed).
 */
#ifndef GSB_TOOLS_TRACE_COMMANDS_H
#define GSB_TOOLS_TRACE_COMMANDS_H

#include <stdbool.h>

#include "tools/trace/traced.h"

struct gsb_trace_request {
	const char *path;   /* the trace */
	const char *word;   /* explain, critical: whom or what */
	const char *output; /* -o */
	uint32_t engine;    /* its pid; 0: any */
	bool json, all;
};

int gsb_trace_summary(const struct gsb_traced *t, const struct gsb_trace_request *q);
int gsb_trace_explain(const struct gsb_traced *t, const struct gsb_trace_request *q);
int gsb_trace_critical(const struct gsb_traced *t, const struct gsb_trace_request *q);
int gsb_trace_model_error(const struct gsb_traced *t, const struct gsb_trace_request *q);
/* Reads the file itself: it holds only what is under way. */
int gsb_trace_check(const struct gsb_trace_request *q);

/* Of a JSON object: "trace": {...}, what it is of and how whole. */
void gsb_trace_json_about(const struct gsb_traced *t);

#endif
