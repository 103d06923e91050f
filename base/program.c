/*
 * program.c - see program.h.
 */
#include <config.h>

#include "base/program.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *program;

static void report_output(const char *why)
{
	fprintf(stderr, "%s: standard output: %s\n", program, why);
	_exit(1);
}

/* A descriptor that was never open is nobody's loss when nothing was written. */
static void close_output(void)
{
	bool failed = ferror(stdout);

	errno = 0;
	if (fflush(stdout) || failed)
		report_output(errno ? strerror(errno) : "not written whole");
	if (fclose(stdout) && errno != EBADF)
		report_output(strerror(errno));
}

const char *gsb_program_name(void)
{
	return program;
}

void gsb_program_init(const char *name, char **argv)
{
	static char version[64];

	program = name;
	argv[0] = (char *)name;
	snprintf(version, sizeof(version), "%s %s", name, PACKAGE_VERSION);
	argp_program_version = version;
	argp_err_exit_status = GSB_WRONG_USAGE;
	atexit(close_output);
}
