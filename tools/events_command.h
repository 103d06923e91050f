/*
 * events_command.h - gsbctl events --follow: what an engine does, as it does it.
 */
#ifndef GSB_TOOLS_EVENTS_COMMAND_H
#define GSB_TOOLS_EVENTS_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_events_question {
	const char *socket;
	uint32_t engine;    /* pid; 0: the only one */
	bool follow;	    /* there is no other way yet */
	bool json;	    /* an object a line */
	const char *tenant; /* of that name or number; NULL: of all, and of none */
	const char *events; /* names, separated by commas; NULL: all */
};

/* Returns the exit status. */
int gsb_events_command(const struct gsb_events_question *q);

#endif
