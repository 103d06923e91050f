/*
 * site.c - see site.h. What a child says goes to a file of its own in the scratch folder, and is shown when it failed.
 */
#include "tools/compare/site.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/ask.h"
#include "tools/bench_run.h"

#define ARGS_MAX      40
#define GONE_TRIES    5000
#define GONE_PAUSE_US 2000

/* ---- the folder ---- */

int gsb_site_open(struct gsb_bench_site *s)
{
	snprintf(s->dir, sizeof(s->dir), "/tmp/gsb-compare-XXXXXX");
	if (!mkdtemp(s->dir)) {
		fprintf(stderr, "gsb-bench compare: no folder in /tmp: %s\n", strerror(errno));
		return -errno;
	}
	if (s->is_real && !gsb_mps_start(&s->mps, s->dir))
		fprintf(stderr, "gsb-bench compare: nvidia-cuda-mps-control starts no daemon here: "
				"nothing is compared with MPS\n");
	return 0;
}

void gsb_site_path(const struct gsb_bench_site *s, const char *name, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s/%s", s->dir, name);
}

static int unlink_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void gsb_site_close(struct gsb_bench_site *s)
{
	gsb_mps_stop(&s->mps);
	nftw(s->dir, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- children ---- */

/* The command as it is executed: under gsbrun for a tenant. */
static void fill_argv(const struct gsb_seat *seat, const char *const *argv, char gsbrun[PATH_MAX],
		      const char *out[ARGS_MAX])
{
	int n = 0;

	if (seat->socket) {
		gsb_bench_sibling("gsbrun", gsbrun, PATH_MAX);
		out[n++] = gsbrun;
		out[n++] = "--socket";
		out[n++] = seat->socket;
		out[n++] = "--tenant";
		out[n++] = seat->tenant;
		out[n++] = "--";
	}
	while (*argv && n < ARGS_MAX - 1)
		out[n++] = *argv++;
	out[n] = NULL;
}

static _Noreturn void execute(const struct gsb_bench_site *s, const struct gsb_seat *seat,
			      const char *const *argv)
{
	bool mps = seat->way && seat->way->way == GSB_WAY_MPS;
	char gsbrun[PATH_MAX], path[PATH_MAX];
	const char *args[ARGS_MAX];
	int fd;

	gsb_site_path(s, seat->output, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (seat->in_fd >= 0)
		dup2(seat->in_fd, STDIN_FILENO);
	dup2(seat->out_fd >= 0 ? seat->out_fd : fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	gsb_mps_choose(mps ? &s->mps : NULL);
	fill_argv(seat, argv, gsbrun, args);
	execv(args[0], (char **)args);
	fprintf(stderr, "%s: %s\n", args[0], strerror(errno));
	_exit(127);
}

pid_t gsb_site_spawn(const struct gsb_bench_site *s, const struct gsb_seat *seat,
		     const char *const *argv)
{
	pid_t pid = fork();

	if (!pid)
		execute(s, seat, argv);
	return pid;
}

static void show(const struct gsb_bench_site *s, const char *output)
{
	char path[PATH_MAX], line[512];
	FILE *f;

	gsb_site_path(s, output, path);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		fprintf(stderr, "  %s", line);
	if (f)
		fclose(f);
}

int gsb_site_await(const struct gsb_bench_site *s, const struct gsb_seat *seat, pid_t pid)
{
	int status;

	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	fprintf(stderr, "gsb-bench compare: %s failed:\n", seat->tenant);
	show(s, seat->output);
	return -1;
}

int gsb_site_run_tool(const struct gsb_bench_site *s, const char *tool, const char *const *args)
{
	const struct gsb_seat seat = {.tenant = tool, .output = "tool", .in_fd = -1, .out_fd = -1};
	char path[PATH_MAX], below[32];
	const char *argv[ARGS_MAX] = {path};
	int n = 1;

	gsb_bench_sibling(tool, path, sizeof(path));
	if (access(path, X_OK) < 0) { /* in a build tree gsb-trace has a folder of its own */
		snprintf(below, sizeof(below), "trace/%s", tool);
		gsb_bench_sibling(below, path, sizeof(path));
	}
	while (*args && n < ARGS_MAX - 1)
		argv[n++] = *args++;
	return gsb_site_await(s, &seat, gsb_site_spawn(s, &seat, argv));
}

/* ---- the broker ---- */

FILE *gsb_site_begin_conf(const struct gsb_bench_site *s, const char *policy)
{
	char path[PATH_MAX];
	FILE *f;

	gsb_site_path(s, "conf", path);
	f = fopen(path, "w");
	if (!f) {
		fprintf(stderr, "gsb-bench compare: %s: %s\n", path, strerror(errno));
		return NULL;
	}
	/* However slow this machine is, nobody is charged: that would not repeat. An engine stays warm. */
	fprintf(f, "[broker]\nidle_timeout_ms = 0\n");
	if (s->resizes || s->critical_wait_us)
		fprintf(f, "[resize]\nmode = safe\n");
	fprintf(f, "[device \"%s\"]\npolicy = %s\ncritical_wait_us = %u\n", s->device, policy,
		s->critical_wait_us);
	if (s->critical_sms_percent)
		fprintf(f, "critical_sms_percent = %u\n", s->critical_sms_percent);
	if (!s->is_real)
		fprintf(f, "gate_timeout_ms = 600000\n");
	return f;
}

int gsb_site_start_broker(const struct gsb_bench_site *s, struct gsb_private_broker *b)
{
	char conf[PATH_MAX], program[PATH_MAX];
	const struct gsb_private_settings settings = {.program = program, .config = conf};

	gsb_site_path(s, "conf", conf);
	gsb_bench_sibling("../broker/gsbrokerd", program, sizeof(program));
	if (access(program, X_OK) < 0)
		snprintf(program, sizeof(program), "%s", GSB_SBINDIR "/gsbrokerd");
	return gsb_private_broker_start(b, &settings) ? -1 : 0;
}

int gsb_site_await_gone(const char *socket, unsigned n, double *sm_ns)
{
	for (int i = 0; i < GONE_TRIES; i++) {
		struct gsb_answers a = {0};
		uint64_t n_left = 0;

		*sm_ns = 0;
		if (gsb_ask(socket, GSB_QUERY_TOTALS, 0, &a))
			return -1;
		for (unsigned t = 0; t < a.n_totals; t++) {
			n_left += a.totals[t].n_left;
			*sm_ns += (double)a.totals[t].sm_ns;
		}
		gsb_answers_finish(&a);
		if (n_left == n)
			return 0;
		usleep(GONE_PAUSE_US);
	}
	fprintf(stderr, "gsb-bench compare: tenants have ended and the broker does not see it\n");
	return -1;
}
