/*
 * program.c - see program.h.
 */
#include <config.h>

#include "base/program.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
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

/*
 * Else one of ours would get the number of a standard one that the starter had closed, and be written to or inherited as that.
 * They are opened the wrong way round, so that whoever writes or reads is told EBADF as before, and are not there behind an exec.
 */
static void fill_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags | O_CLOEXEC) < 0)
			return;
	}
}

const char *gsb_program_name(void)
{
	return program;
}

void gsb_program_init(const char *name, char **argv)
{
	static char version[64];

	fill_standard_fds();
	program = name;
	argv[0] = (char *)name;
	snprintf(version, sizeof(version), "%s %s", name, PACKAGE_VERSION);
	argp_program_version = version;
	argp_err_exit_status = GSB_WRONG_USAGE;
	atexit(close_output);
}
