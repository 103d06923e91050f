/*
 * cli.h - the command lines of the tools: argp, and what it lacks for programs with commands.
 *
 * A program says in two tables which commands and options it has. Options may stand anywhere, before or
 * after the command; one that does not belong to the command is refused, never ignored. --help works for the
 * program and for each command, --version everywhere. Messages begin with the name that the program gives itself,
 * however it was started.
 */
#ifndef GSB_TOOLS_CLI_H
#define GSB_TOOLS_CLI_H

#include <argp.h>

#define GSB_CLI_OPTIONS_MAX  32
#define GSB_CLI_COMMANDS_MAX 32

struct gsb_cli_command {
	const char *name;
	const char *args; /* what follows it, as the synopsis says it: "KERNEL..." */
	const char *doc;
};

struct gsb_cli_option {
	struct argp_option option;
	unsigned int commands; /* bit i: command i has it; 0: all have it */
};

struct gsb_cli {
	const char *name, *doc;
	const struct gsb_cli_command *commands; /* ends with a NULL name */
	const struct gsb_cli_option *options;	/* ends with a key of 0 */
	/* An option is set: 0; else the program ends with GSB_WRONG_USAGE, @set has said why. */
	int (*set)(void *input, int key, char *value);
};

struct gsb_cli_call {
	unsigned int command; /* index in the table */
	int n_words;
	char **words; /* what is neither option nor command, in order; part of argv */
};

/* Options to @input, the rest to @call. Ends the program for --help, --version and wrong usage. */
void gsb_cli_parse(const struct gsb_cli *cli, int argc, char **argv, void *input,
		   struct gsb_cli_call *call);

#endif
