/*
 * ways.c - see ways.h.
 */
#include "tools/bench/ways.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/bench_run.h"

#define ARGS_MAX 24

/* ---- children ---- */

/* The command as it is executed: under gsbrun for a tenant. */
static void fill_argv(const struct gsb_bench_ways *w, enum gsb_bench_way way,
		      const char *const *argv, char gsbrun[PATH_MAX], const char *out[ARGS_MAX])
{
	int n = 0;

	if (way == GSB_BENCH_BROKER) {
		gsb_bench_sibling("gsbrun", gsbrun, PATH_MAX);
		out[n++] = gsbrun;
		out[n++] = "--socket";
		out[n++] = w->broker.socket;
		out[n++] = "--";
	}
	while (*argv && n < ARGS_MAX - 1)
		out[n++] = *argv++;
	out[n] = NULL;
}

static _Noreturn void execute(const struct gsb_bench_ways *w, enum gsb_bench_way way,
			      const char *const *argv, int out_fd)
{
	const char *args[ARGS_MAX];
	char gsbrun[PATH_MAX];

	fill_argv(w, way, argv, gsbrun, args);
	dup2(out_fd, STDOUT_FILENO);
	gsb_mps_choose(way == GSB_BENCH_MPS ? &w->mps : NULL);
	execv(args[0], (char **)args);
	fprintf(stderr, "gsb-bench: %s: %s\n", args[0], strerror(errno));
	_exit(127);
}

void gsb_bench_begin(const struct gsb_bench_ways *w, enum gsb_bench_way way,
		     const char *const *argv, bool piped, struct gsb_bench_child *out)
{
	int fds[2] = {-1, -1};

	*out = (struct gsb_bench_child){-1, -1};
	if (piped ? pipe2(fds, O_CLOEXEC) : (fds[1] = open("/dev/null", O_WRONLY | O_CLOEXEC)) < 0)
		return;
	out->pid = fork();
	if (!out->pid)
		execute(w, way, argv, fds[1]);
	close(fds[1]);
	out->out_fd = fds[0];
}

int gsb_bench_end(struct gsb_bench_child *c)
{
	int status = -1;

	if (c->out_fd >= 0)
		close(c->out_fd);
	if (c->pid > 0)
		waitpid(c->pid, &status, 0);
	*c = (struct gsb_bench_child){-1, -1};
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -1;
}

bool gsb_bench_lives(const struct gsb_bench_child *c)
{
	siginfo_t ended = {0};

	return c->pid > 0 && !waitid(P_PID, (id_t)c->pid, &ended, WEXITED | WNOHANG | WNOWAIT) &&
	       !ended.si_pid;
}

void gsb_bench_kill(struct gsb_bench_child *c)
{
	if (c->pid > 0)
		kill(c->pid, SIGKILL);
	gsb_bench_end(c);
}

/* ---- life ---- */

static bool can(const struct gsb_bench_ways *w, enum gsb_bench_way way)
{
	char self[PATH_MAX];
	const char *argv[] = {self, "probe", "once", NULL};
	struct gsb_bench_child c;

	gsb_bench_sibling("gsb-bench", self, sizeof(self));
	gsb_bench_begin(w, way, argv, false, &c);
	return !gsb_bench_end(&c);
}

static int start_broker(struct gsb_bench_ways *w, const char *device)
{
	char program[PATH_MAX];
	const struct gsb_private_settings settings = {.program = program, .device = device};

	gsb_bench_sibling("../broker/gsbrokerd", program, sizeof(program));
	if (access(program, X_OK) < 0)
		snprintf(program, sizeof(program), "%s", GSB_SBINDIR "/gsbrokerd");
	return gsb_private_broker_start(&w->broker, &settings);
}

int gsb_bench_ways_start(struct gsb_bench_ways *w, const char *device)
{
	*w = (struct gsb_bench_ways){.dir = "/tmp/gsb-bench-XXXXXX"};
	if (!mkdtemp(w->dir)) {
		fprintf(stderr, "gsb-bench: no folder in /tmp: %s\n", strerror(errno));
		return -1;
	}
	if (start_broker(w, device)) {
		gsb_bench_ways_stop(w);
		return -1;
	}
	w->can[GSB_BENCH_BROKER] = can(w, GSB_BENCH_BROKER);
	if (!strncmp(device, "cuda:", 5)) {
		w->can[GSB_BENCH_NATIVE] = can(w, GSB_BENCH_NATIVE);
		w->can[GSB_BENCH_MPS] = gsb_mps_start(&w->mps, w->dir) && can(w, GSB_BENCH_MPS);
	}
	if (w->can[GSB_BENCH_BROKER])
		return 0;
	fprintf(stderr, "gsb-bench: no program runs under a broker on %s\n", device);
	gsb_bench_ways_stop(w);
	return -1;
}

static int unlink_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void gsb_bench_ways_stop(struct gsb_bench_ways *w)
{
	gsb_mps_stop(&w->mps);
	if (w->broker.pid > 0)
		gsb_private_broker_stop(&w->broker);
	nftw(w->dir, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
}
