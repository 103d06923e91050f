/*
 * trace_command.h - gsbctl trace: recordings of engines, begun, ended and printed.
 */
#ifndef GSB_TOOLS_TRACE_COMMAND_H
#define GSB_TOOLS_TRACE_COMMAND_H

#include <stdint.h>

#define GSB_TRACE_COMMAND_ARGS \
	"record FILE\nstart DIR\nflight DIR\nsnapshot\nstop\nstatus\nlttng\ndump FILE\nevents"

struct gsb_trace_question {
	const char *socket;
	uint32_t engine; /* pid; 0: the only one */
	char **words;
	int n_words;
};

/* Returns the exit status. */
int gsb_trace_command(const struct gsb_trace_question *q);

#endif
