/*
 * run.c - see run.h. What a child says goes to a file of its own in the scratch folder, and is shown when it failed.
 */
#include "tools/compare/run.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/ask.h"
#include "tools/bench_run.h"
#include "tools/private_broker.h"

#define ARGS_MAX      32
#define GONE_TRIES    5000
#define GONE_PAUSE_US 2000

/* ---- the folder ---- */

int gsb_site_open(struct gsb_bench_site *s)
{
	snprintf(s->dir, sizeof(s->dir), "/tmp/gsb-compare-XXXXXX");
	if (mkdtemp(s->dir))
		return 0;
	fprintf(stderr, "gsb-bench compare: no folder in /tmp: %s\n", strerror(errno));
	return -errno;
}

static void path_in(const struct gsb_bench_site *s, const char *name, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s/%s", s->dir, name);
}

static int unlink_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void gsb_site_close(struct gsb_bench_site *s)
{
	nftw(s->dir, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- children ---- */

static pid_t spawn(const struct gsb_bench_site *s, char **argv, const char *output)
{
	char path[PATH_MAX];
	pid_t pid;

	path_in(s, output, path);
	pid = fork();
	if (!pid) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
		execv(argv[0], argv);
		fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	return pid;
}

static void show(const struct gsb_bench_site *s, const char *output)
{
	char path[PATH_MAX], line[512];
	FILE *f;

	path_in(s, output, path);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		fprintf(stderr, "  %s", line);
	if (f)
		fclose(f);
}

static int await(const struct gsb_bench_site *s, pid_t pid, const char *what, const char *output)
{
	int status;

	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	fprintf(stderr, "gsb-bench compare: %s failed:\n", what);
	show(s, output);
	return -1;
}

/* A tool that lies beside us, to its end. */
static int run_tool(const struct gsb_bench_site *s, const char *tool, const char *const *args)
{
	char path[PATH_MAX], below[32], *argv[ARGS_MAX];
	int n = 0;

	gsb_bench_sibling(tool, path, sizeof(path));
	if (access(path, X_OK) < 0) { /* in a build tree gsb-trace has a folder of its own */
		snprintf(below, sizeof(below), "trace/%s", tool);
		gsb_bench_sibling(below, path, sizeof(path));
	}
	argv[n++] = path;
	while (*args && n < ARGS_MAX - 1)
		argv[n++] = (char *)*args++;
	argv[n] = NULL;
	return await(s, spawn(s, argv, "tool"), tool, "tool");
}

/* ---- the tenants ---- */

static void tenant_name(const struct gsb_mix *m, unsigned i, char out[32])
{
	snprintf(out, 32, "q%u-%02u", m->query[i] + 1, i);
}

/* The options that the user gives for all, in room[]. */
static int add_options(const struct gsb_bench_site *s, char *room, size_t size, char **argv, int n)
{
	char *word, *rest = room;

	snprintf(room, size, "%s", s->options ? s->options : "");
	while (n < ARGS_MAX - 1 && (word = strsep(&rest, " ")))
		if (*word)
			argv[n++] = word;
	return n;
}

/* socket NULL: natively. */
static pid_t start_tenant(const struct gsb_bench_site *s, const struct gsb_mix *m, unsigned i,
			  const char *socket)
{
	char gsbrun[PATH_MAX], name[32], query[8], output[16], room[512], *argv[ARGS_MAX];
	int n = 0;

	tenant_name(m, i, name);
	snprintf(query, sizeof(query), "q%u", m->query[i] + 1);
	snprintf(output, sizeof(output), "out%u", i);
	if (socket) {
		gsb_bench_sibling("gsbrun", gsbrun, sizeof(gsbrun));
		argv[n++] = gsbrun;
		argv[n++] = "--socket";
		argv[n++] = (char *)socket;
		argv[n++] = "--tenant";
		argv[n++] = name;
		argv[n++] = "--";
	}
	argv[n++] = (char *)s->gpu_db;
	argv[n++] = "run";
	argv[n++] = "--data";
	argv[n++] = (char *)s->data;
	argv[n++] = "--query";
	argv[n++] = query;
	argv[n++] = "--quiet";
	n = add_options(s, room, sizeof(room), argv, n);
	argv[n] = NULL;
	return spawn(s, argv, output);
}

static int await_tenant(const struct gsb_bench_site *s, const struct gsb_mix *m, unsigned i,
			pid_t pid)
{
	char name[32], output[16];

	tenant_name(m, i, name);
	snprintf(output, sizeof(output), "out%u", i);
	return await(s, pid, name, output);
}

static unsigned index_of(const pid_t *pids, unsigned n, pid_t pid)
{
	unsigned i = 0;

	while (i < n && pids[i] != pid)
		i++;
	return i;
}

/* All of them at once, each timed from its exec to its exit. */
static int run_at_once(const struct gsb_bench_site *s, const struct gsb_mix *m, const char *socket,
		       struct gsb_outcome *out)
{
	uint64_t from = gsb_clock_ns();
	pid_t pids[GSB_MIX_MAX];
	int err = 0;

	for (unsigned i = 0; i < m->n; i++)
		pids[i] = start_tenant(s, m, i, socket);
	for (unsigned left = m->n; left; left--) {
		siginfo_t info = {0};
		unsigned i;

		/* Looked at and not taken: who else is a child here is somebody else's. */
		if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) < 0)
			return -1;
		i = index_of(pids, m->n, info.si_pid);
		if (i == m->n)
			return -1; /* the broker has ended: it has said why */
		out->tenant_ns[i] = (double)(gsb_clock_ns() - from);
		err |= await_tenant(s, m, i, pids[i]);
	}
	out->makespan_ns = (double)(gsb_clock_ns() - from);
	return err;
}

static int run_sequential(const struct gsb_bench_site *s, const struct gsb_mix *m,
			  struct gsb_outcome *out)
{
	uint64_t from = gsb_clock_ns();
	int err = 0;

	for (unsigned i = 0; !err && i < m->n; i++) {
		uint64_t begin = gsb_clock_ns();

		err = await_tenant(s, m, i, start_tenant(s, m, i, NULL));
		out->tenant_ns[i] = (double)(gsb_clock_ns() - begin);
	}
	out->makespan_ns = (double)(gsb_clock_ns() - from);
	return err;
}

/* ---- the broker ---- */

static int write_conf(const struct gsb_bench_site *s, const struct gsb_mix *m, const char *policy,
		      char path[PATH_MAX])
{
	FILE *f;

	path_in(s, "conf", path);
	f = fopen(path, "w");
	if (!f)
		return -1;
	/* However slow this machine is, nobody is charged: that would not repeat. */
	fprintf(f, "[device \"%s\"]\npolicy = %s\nstart_line = %u\ngate_timeout_ms = 600000\n",
		s->device, policy, s->is_real ? 0 : m->n);
	return fclose(f) ? -1 : 0;
}

/* The engine's counts of those that have left, once all have. */
static int await_gone(const char *socket, unsigned n, double *sm_ns)
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

/* ---- virtual time ---- */

static int record(const struct gsb_bench_site *s, const char *socket, bool begin)
{
	char path[PATH_MAX];

	path_in(s, "trace", path);
	if (begin) {
		unlink(path);
		return run_tool(
			s, "gsbctl",
			(const char *[]){"--socket", socket, "trace", "record", path, NULL});
	}
	return run_tool(s, "gsbctl", (const char *[]){"--socket", socket, "trace", "stop", NULL});
}

static int parse_load(const char *path, struct gsb_workload *out)
{
	struct gsb_text_error error = {0};
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;
	ssize_t n = f ? getdelim(&text, &room, 0, f) : -1;
	int err = n < 0 ? -EIO : gsb_workload_parse(text, (size_t)n, out, &error);

	if (f)
		fclose(f);
	free(text);
	if (err)
		fprintf(stderr, "gsb-bench compare: %s:%u: %s\n", path, error.line,
			err == -EINVAL ? error.what : strerror(-err));
	return err ? -1 : 0;
}

static int read_load(const struct gsb_bench_site *s, struct gsb_workload *out)
{
	char trace[PATH_MAX], load[PATH_MAX];

	path_in(s, "trace", trace);
	path_in(s, "load", load);
	if (run_tool(s, "gsb-trace", (const char *[]){"replay", "-o", load, trace, NULL}))
		return -1;
	return parse_load(load, out);
}

/* From the start line to each tenant's last end, and to the last of them. */
static int take_times(const struct gsb_mix *m, const struct gsb_workload *l,
		      struct gsb_outcome *out)
{
	char name[32];

	out->makespan_ns = 0;
	for (unsigned i = 0; i < m->n; i++) {
		uint64_t last = 0;

		tenant_name(m, i, name);
		for (uint32_t o = 0; o < l->n_ops; o++) {
			const struct gsb_workload_op *op = &l->ops[o];

			if (!strcmp(l->tenants[op->tenant_at].name, name) && op->done_ns > last)
				last = op->done_ns;
		}
		if (!last) {
			fprintf(stderr, "gsb-bench compare: %s is not in the recording\n", name);
			return -1;
		}
		out->tenant_ns[i] = (double)last;
		if (out->makespan_ns < (double)last)
			out->makespan_ns = (double)last;
	}
	return 0;
}

static int take_virtual(const struct gsb_bench_site *s, const struct gsb_mix *m,
			struct gsb_outcome *out, struct gsb_workload *wanted)
{
	struct gsb_workload load;
	int err;

	if (read_load(s, &load))
		return -1;
	err = take_times(m, &load, out);
	if (wanted && !err)
		*wanted = load;
	else
		gsb_workload_finish(&load);
	return err;
}

/* ---- the whole ---- */

static int run_under(const struct gsb_bench_site *s, const struct gsb_mix *m, const char *socket,
		     struct gsb_outcome *out)
{
	int err = s->is_real ? 0 : record(s, socket, true);

	if (!err)
		err = run_at_once(s, m, socket, out);
	if (!err)
		err = await_gone(socket, m->n, &out->sm_ns);
	if (!err && !s->is_real)
		err = record(s, socket, false);
	return err;
}

static int run_policy(const struct gsb_bench_site *s, const struct gsb_mix *m, const char *policy,
		      struct gsb_outcome *out, struct gsb_workload *load)
{
	char conf[PATH_MAX], program[PATH_MAX];
	const struct gsb_private_settings settings = {.program = program, .config = conf};
	struct gsb_private_broker broker;
	int err;

	gsb_bench_sibling("../broker/gsbrokerd", program, sizeof(program));
	if (access(program, X_OK) < 0)
		snprintf(program, sizeof(program), "%s", GSB_SBINDIR "/gsbrokerd");
	if (write_conf(s, m, policy, conf) || gsb_private_broker_start(&broker, &settings))
		return -1;
	err = run_under(s, m, broker.socket, out);
	gsb_private_broker_stop(&broker);
	return err || s->is_real ? err : take_virtual(s, m, out, load);
}

int gsb_mix_run(const struct gsb_bench_site *s, const struct gsb_mix *m, enum gsb_way way,
		const char *policy, struct gsb_outcome *out, struct gsb_workload *load)
{
	*out = (struct gsb_outcome){0};
	switch (way) {
	case GSB_WAY_SEQUENTIAL: return run_sequential(s, m, out);
	case GSB_WAY_AT_ONCE: return run_at_once(s, m, NULL, out);
	default: return run_policy(s, m, policy, out, load);
	}
}
