/*
 * events_command.c - see events_command.h.
 *
 * A recording (trace_command.c) into a socket instead of a file: the engine writes what the socket takes, and what finds
 * no room with it is lost and counted. So this reader may be as slow as it likes; it is told what it has missed. When it
 * leaves, the recording ends.
 */
#include "tools/events_command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/program.h"
#include "tools/ask.h"
#include "trace/read.h"

/* ---- which events ---- */

struct filter {
	const struct gsb_events_question *q;
	bool wanted[GSB_N_TRACE_TYPES];
	uint32_t *tenants; /* numbers of those with the name that is wanted */
	unsigned n_tenants;
};

static enum gsb_trace_type find_event(const char *name, size_t n)
{
	for (unsigned type = 1; type < GSB_N_TRACE_TYPES; type++) {
		const char *its = gsb_trace_event(type)->name;

		if (strlen(its) == n && !memcmp(its, name, n))
			return (enum gsb_trace_type)type;
	}
	return GSB_TRACE_NONE;
}

static int want_events(struct filter *f, const char *names)
{
	size_t n;

	for (unsigned type = 0; type < GSB_N_TRACE_TYPES; type++)
		f->wanted[type] = !names;
	for (; names && *names; names += n + (names[n] == ',')) {
		enum gsb_trace_type type;

		n = strcspn(names, ",");
		type = find_event(names, n);
		if (type == GSB_TRACE_NONE) {
			fprintf(stderr,
				"gsbctl: there is no event '%.*s': gsbctl trace events lists "
				"them\n",
				(int)n, names);
			return -EINVAL;
		}
		f->wanted[type] = true;
	}
	return 0;
}

static int note_tenant(struct filter *f, uint32_t id)
{
	uint32_t *grown = realloc(f->tenants, (f->n_tenants + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	f->tenants = grown;
	f->tenants[f->n_tenants++] = id;
	return 0;
}

static bool is_number(const char *s, uint32_t id)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, id);
	return !strcmp(s, text);
}

/* Who comes, or was there before, says its name once. */
static int learn(struct filter *f, const struct gsb_trace_record *rec)
{
	const struct gsb_trace_tenant_come *come = &rec->any->tenant_come;

	if (!f->q->tenant || rec->type != GSB_TRACE_TENANT_COME)
		return 0;
	if (strcmp(come->name, f->q->tenant) != 0 && !is_number(f->q->tenant, come->head.tenant))
		return 0;
	return note_tenant(f, come->head.tenant);
}

static bool passes(const struct filter *f, const struct gsb_trace_record *rec)
{
	if (!f->wanted[rec->type])
		return false;
	if (!f->q->tenant)
		return true;
	for (unsigned i = 0; i < f->n_tenants; i++)
		if (f->tenants[i] == rec->any->head.tenant)
			return true;
	return false;
}

/* ---- reading ---- */

static void say_lost(const struct gsb_trace_record *rec)
{
	uint64_t n = rec->any->lost.n_events;

	fflush(stdout);
	fprintf(stderr, "gsbctl: %" PRIu64 " event%s lost here: this reader is too slow\n", n,
		n == 1 ? " was" : "s were");
}

static int show(struct filter *f, const struct gsb_trace_reader *r,
		const struct gsb_trace_record *rec)
{
	int err = learn(f, rec);

	if (rec->type == GSB_TRACE_LOST)
		say_lost(rec);
	if (err || !passes(f, rec))
		return err;
	if (f->q->json)
		gsb_trace_print_json(stdout, r, rec);
	else
		gsb_trace_print(stdout, r, rec);
	return 0;
}

static int say_end(const struct gsb_trace_reader *r)
{
	switch (gsb_trace_ending(r)) {
	case GSB_TRACE_COMPLETE: return 0;
	case GSB_TRACE_TORN:
		fprintf(stderr, "gsbctl: the engine has died, or did not wait for this reader\n");
		return 1;
	default: fprintf(stderr, "gsbctl: what comes is no trace any more\n"); return 1;
	}
}

/* Until the engine ends. What has come is shown before more is waited for. */
static int read_all(struct filter *f, struct gsb_trace_reader *r)
{
	struct gsb_trace_record rec;
	int n = 1, err = 0;

	while (!err && n > 0) {
		if (gsb_trace_must_wait(r) && fflush(stdout))
			return 1;
		n = gsb_trace_next(r, &rec);
		if (n > 0)
			err = show(f, r, &rec);
	}
	fflush(stdout);
	if (err) {
		fprintf(stderr, "gsbctl: %s\n", strerror(-err));
		return 1;
	}
	return say_end(r);
}

static int follow(struct filter *f, int fd)
{
	char why[GSB_TRACE_WHY_MAX];
	struct gsb_trace_reader *r;
	int result;

	if (gsb_trace_open_fd(fd, &r, why)) {
		fprintf(stderr, "gsbctl: %s\n", why);
		return 1;
	}
	result = read_all(f, r);
	gsb_trace_close(r);
	return result;
}

/* The engine's end of a new socket pair is on its way to it. */
static int begin(const struct gsb_events_question *q, int *fd)
{
	struct gsb_answers a;
	int fds[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
		fprintf(stderr, "gsbctl: %s\n", strerror(errno));
		return -errno;
	}
	err = gsb_ask_or_say(q->socket, GSB_QUERY_TRACE_RECORD, q->engine, fds[1], &a);
	if (!err && !a.trace.pid)
		fprintf(stderr, "gsbctl: no engine runs: the next one is followed from its "
				"beginning\n");
	gsb_answers_finish(&a);
	close(fds[1]);
	if (err)
		close(fds[0]);
	*fd = fds[0];
	return err;
}

int gsb_events_command(const struct gsb_events_question *q)
{
	struct filter f = {.q = q};
	int fd, result = GSB_WRONG_USAGE;

	if (!q->follow) {
		fprintf(stderr, "gsbctl: events needs --follow; gsbctl trace dump prints a file, "
				"and gsbctl trace events says which events there are\n");
		return GSB_WRONG_USAGE;
	}
	if (!want_events(&f, q->events))
		result = begin(q, &fd) ? 1 : follow(&f, fd);
	free(f.tenants);
	return result;
}
