/*
 * run.c - see run.h.
 */
#include "tools/compare/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/compare/record.h"

#define ARGS_MAX 32

/* ---- the tenants ---- */

static void tenant_name(const struct gsb_mix *m, unsigned i, char out[32])
{
	snprintf(out, 32, "q%u-%02u", m->query[i] + 1, i);
}

/* One that runs, and what it is called. */
struct tenant {
	char name[32], output[16];
	struct gsb_seat seat;
	pid_t pid;
};

/* The options that the user gives for all, in room[]. */
static int add_options(const struct gsb_query_program *p, char *room, size_t size,
		       const char **argv, int n)
{
	char *word, *rest = room;

	snprintf(room, size, "%s", p->options ? p->options : "");
	while (n < ARGS_MAX - 1 && (word = strsep(&rest, " ")))
		if (*word)
			argv[n++] = word;
	return n;
}

/* Ahead of the first option: a data set, a query, how often. */
static int add_what(const struct gsb_query_program *p, const struct gsb_mix *m, unsigned i,
		    char query[8], char repeat[12], const char **argv)
{
	int n = 0;

	snprintf(query, 8, "q%u", m->query[i] + 1);
	snprintf(repeat, 12, "%u", m->repeat ? m->repeat : 1);
	argv[n++] = p->path;
	argv[n++] = "run";
	argv[n++] = "--data";
	argv[n++] = p->data;
	argv[n++] = "--query";
	argv[n++] = query;
	argv[n++] = "--repeat";
	argv[n++] = repeat;
	argv[n++] = "--quiet";
	if (!*p->checksums[m->query[i]])
		argv[n++] = "--verify";
	return n;
}

static void start_tenant(const struct gsb_bench_site *s, const struct gsb_query_program *p,
			 const struct gsb_mix *m, unsigned i, const struct gsb_compared_way *way,
			 const char *socket, struct tenant *t)
{
	char query[8], repeat[12], room[512];
	const char *argv[ARGS_MAX];
	int n = add_what(p, m, i, query, repeat, argv);

	argv[add_options(p, room, sizeof(room), argv, n)] = NULL;
	tenant_name(m, i, t->name);
	snprintf(t->output, sizeof(t->output), "out%u", i);
	t->seat = (struct gsb_seat){way, socket, t->name, t->output, -1, -1};
	t->pid = gsb_site_spawn(s, &t->seat, argv);
}

/* What it says of its result in the last line: verified if it is the first of that query, and else the same. */
static int check_result(const struct gsb_bench_site *s, struct gsb_query_program *p, unsigned query,
			const struct tenant *t)
{
	char path[PATH_MAX], line[512], checksum[20] = "";
	FILE *f;

	gsb_site_path(s, t->output, path);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, " checksum ");

		if (at)
			sscanf(at, " checksum %19s", checksum);
	}
	if (f)
		fclose(f);
	if (*checksum && !*p->checksums[query])
		memcpy(p->checksums[query], checksum, sizeof(checksum));
	if (*checksum && !strcmp(checksum, p->checksums[query]))
		return 0;
	fprintf(stderr,
		"gsb-bench compare: %s, %s: its result has the checksum '%s', and verified "
		"ones have %s\n",
		t->name, t->seat.way->name, checksum, p->checksums[query]);
	return -1;
}

static int await_tenant(const struct gsb_bench_site *s, struct gsb_query_program *p,
			const struct gsb_mix *m, unsigned i, const struct tenant *t)
{
	return gsb_site_await(s, &t->seat, t->pid) ? -1 : check_result(s, p, m->query[i], t);
}

static unsigned index_of(const struct tenant *t, unsigned n, pid_t pid)
{
	unsigned i = 0;

	while (i < n && t[i].pid != pid)
		i++;
	return i;
}

/* All of them at once, each timed from its exec to its exit. */
static int run_at_once(const struct gsb_bench_site *s, struct gsb_query_program *p,
		       const struct gsb_mix *m, const struct gsb_compared_way *way,
		       const char *socket, struct gsb_outcome *out)
{
	uint64_t from = gsb_clock_ns();
	struct tenant t[GSB_MIX_MAX];
	int err = 0;

	for (unsigned i = 0; i < m->n; i++)
		start_tenant(s, p, m, i, way, socket, &t[i]);
	for (unsigned left = m->n; left; left--) {
		siginfo_t info = {0};
		unsigned i;

		/* Looked at and not taken: who else is a child here is somebody else's. */
		if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) < 0)
			return -1;
		i = index_of(t, m->n, info.si_pid);
		if (i == m->n)
			return -1; /* the broker has ended: it has said why */
		out->tenant_ns[i] = (double)(gsb_clock_ns() - from);
		err |= await_tenant(s, p, m, i, &t[i]);
	}
	out->makespan_ns = (double)(gsb_clock_ns() - from);
	return err;
}

static int run_sequential(const struct gsb_bench_site *s, struct gsb_query_program *p,
			  const struct gsb_mix *m, const struct gsb_compared_way *way,
			  struct gsb_outcome *out)
{
	uint64_t from = gsb_clock_ns();
	struct tenant t;
	int err = 0;

	for (unsigned i = 0; !err && i < m->n; i++) {
		uint64_t begin = gsb_clock_ns();

		start_tenant(s, p, m, i, way, NULL, &t);
		err = await_tenant(s, p, m, i, &t);
		out->tenant_ns[i] = (double)(gsb_clock_ns() - begin);
	}
	out->makespan_ns = (double)(gsb_clock_ns() - from);
	return err;
}

/* ---- virtual time ---- */

/* From the start line to each tenant's last end, and to the last of them. */
static int take_times(const struct gsb_mix *m, const struct gsb_workload *l,
		      struct gsb_outcome *out)
{
	char name[32];

	out->makespan_ns = 0;
	for (unsigned i = 0; i < m->n; i++) {
		tenant_name(m, i, name);
		if (gsb_record_end_of(l, name, &out->tenant_ns[i]))
			return -1;
		if (out->makespan_ns < out->tenant_ns[i])
			out->makespan_ns = out->tenant_ns[i];
	}
	return 0;
}

static int take_virtual(const struct gsb_bench_site *s, const struct gsb_mix *m,
			struct gsb_outcome *out, struct gsb_workload *wanted)
{
	struct gsb_workload load;
	int err;

	if (gsb_record_read(s, &load))
		return -1;
	err = take_times(m, &load, out);
	if (wanted && !err)
		*wanted = load;
	else
		gsb_workload_finish(&load);
	return err;
}

/* ---- the whole ---- */

static int run_recorded(const struct gsb_bench_site *s, struct gsb_query_program *p,
			const struct gsb_mix *m, const struct gsb_compared_way *way,
			const char *socket, struct gsb_outcome *out)
{
	int err = gsb_record_begin(s, socket);

	if (!err)
		err = run_at_once(s, p, m, way, socket, out);
	if (!err)
		err = gsb_site_await_gone(socket, m->n, &out->sm_ns);
	if (!err)
		err = gsb_record_end(s, socket);
	return err;
}

static int run_policy(const struct gsb_bench_site *s, struct gsb_query_program *p,
		      const struct gsb_mix *m, const struct gsb_compared_way *way,
		      struct gsb_outcome *out, struct gsb_workload *load)
{
	struct gsb_private_broker broker;
	FILE *conf = gsb_site_begin_conf(s, way->policy);
	int err;

	if (!conf)
		return -1;
	fprintf(conf, "start_line = %u\n", m->n);
	if (fclose(conf) || gsb_site_start_broker(s, &broker))
		return -1;
	err = run_recorded(s, p, m, way, broker.socket, out);
	gsb_private_broker_stop(&broker);
	return err ? err : take_virtual(s, m, out, load);
}

int gsb_mix_run(const struct gsb_bench_site *s, struct gsb_query_program *p,
		const struct gsb_mix *m, const struct gsb_compared_way *way, const char *socket,
		struct gsb_outcome *out, struct gsb_workload *load)
{
	*out = (struct gsb_outcome){0};
	if (way->way == GSB_WAY_SEQUENTIAL)
		return run_sequential(s, p, m, way, out);
	if (way->way == GSB_WAY_POLICY && !socket)
		return run_policy(s, p, m, way, out, load);
	return run_at_once(s, p, m, way, socket, out);
}
