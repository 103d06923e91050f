/*
 * arguments.h - gsbrokerd's command line.
 */
#ifndef GSB_BROKER_SUPERVISOR_ARGUMENTS_H
#define GSB_BROKER_SUPERVISOR_ARGUMENTS_H

#include <stdbool.h>

#define GSB_DEFAULT_CONFIG GSB_SYSCONFDIR "/gsbroker.conf"

struct gsb_arguments {
	const char *config;		    /* file, "-"; NULL: not given */
	const char *device, *policy, *gate; /* instead of a configuration */
	const char *socket, *private_dir;   /* at most one of them */
	bool check_config, print_config;    /* at most one of them */
	int ready_fd, lifeline_fd;	    /* open; -1: none */
};

/* Ends the program for --help, --version and wrong usage. */
void gsb_arguments_parse(int argc, char **argv, struct gsb_arguments *a);

#endif
