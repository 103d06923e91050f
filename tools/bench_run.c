/*
 * bench_run.c - see bench_run.h.
 */
#include "tools/bench_run.h"

#include <argp.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX     8
#define LAUNCHES_MAX 100000000ul

static const struct argp_option options[] = {
	{"launches", 'n', "N", 0, "how many", 0},
	{"device", 'd', "SPEC", 0, "of the broker: null (default), emu:h200, ...", 0},
	{0},
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
	struct gsb_bench_settings *s = state->input;
	unsigned long n;
	char *end;

	switch (key) {
	case 'n':
		n = strtoul(arg, &end, 10);
		if (*arg < '0' || *arg > '9' || *end || !n || n > LAUNCHES_MAX)
			argp_error(state, "--launches %s: must be a number from 1 to %lu", arg,
				   LAUNCHES_MAX);
		s->launches = arg;
		return 0;
	case 'd': s->device = arg; return 0;
	case ARGP_KEY_ARG: argp_error(state, "'%s' is no option", arg); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

void gsb_bench_parse(int argc, char **argv, struct gsb_bench_settings *s)
{
	static const struct argp argp = {.options = options, .parser = on_option};

	argp_parse(&argp, argc, argv, 0, NULL, s);
}

void gsb_bench_sibling(const char *name, char *path, size_t size)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *dir;

	self[n < 0 ? 0 : n] = 0;
	dir = dirname(self);
	/* libtool keeps a program in .libs and its siblings' start scripts one folder up */
	snprintf(path, size, "%s/../%s", dir, name);
	if (!strstr(dir, "/.libs") || access(path, X_OK) < 0)
		snprintf(path, size, "%s/%s", dir, name);
}

/* Run argv, its first line of output into line. Exit status, or -1 when it did not start. */
static int first_line_of(char **argv, char *line, int size)
{
	int fds[2], status;
	FILE *f;
	pid_t pid;

	if (pipe(fds) < 0)
		return -1;
	pid = fork();
	if (!pid) {
		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		execv(argv[0], argv);
		_exit(127);
	}
	close(fds[1]);
	f = fdopen(fds[0], "r");
	if (!f || !fgets(line, size, f))
		line[0] = 0;
	if (f)
		fclose(f);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

bool gsb_bench_self(const char *device, const char *const *args, char *line, int size)
{
	char gsbrun[PATH_MAX], self[PATH_MAX];
	const char *argv[ARGS_MAX + 8];
	int n = 0;

	gsb_bench_sibling("gsbrun", gsbrun, sizeof(gsbrun));
	gsb_bench_sibling("gsb-bench", self, sizeof(self));
	if (device) {
		argv[n++] = gsbrun;
		argv[n++] = "--private"; /* whoever else runs one here */
		argv[n++] = "--device";
		argv[n++] = device;
		argv[n++] = "--";
	}
	argv[n++] = self;
	for (int i = 0; i < ARGS_MAX && args[i]; i++)
		argv[n++] = args[i];
	argv[n] = NULL;
	return first_line_of((char **)argv, line, size) == 0;
}
