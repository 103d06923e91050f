/*
 * trace_command.c - see trace_command.h.
 *
 * A file is opened here, by whoever asks, and travels to the engine: so nobody can have an engine write where he may not
 * write himself.
 */
#include "tools/trace_command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/program.h"
#include "shm/channel.h"
#include "tools/ask.h"
#include "tools/lttng_session.h"
#include "trace/read.h"

/* ---- recordings ---- */

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void show_counts(const struct gsb_ctl_trace_state *s)
{
	printf("%" PRIu64 " event%s, %" PRIu64 " lost, %" PRIu64 " bytes\n", s->n_events,
	       plural(s->n_events), s->n_lost, s->n_bytes);
}

/* What exists already may be somebody's only trace. */
static int open_new(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0)
		fprintf(stderr, "gsbctl: %s cannot be made: %s%s\n", path, strerror(errno),
			errno == EEXIST ? ": give another name, or remove it" : "");
	return fd;
}

static int record(const struct gsb_trace_question *q)
{
	struct gsb_answers a;
	int fd = open_new(q->words[1]), err;

	if (fd < 0)
		return 1;
	err = gsb_ask_or_say(q->socket, GSB_QUERY_TRACE_RECORD, q->engine, fd, &a);
	close(fd);
	if (err)
		unlink(q->words[1]);
	else if (a.trace.pid)
		printf("recording engine %" PRIu32 "; gsbctl trace stop ends it\n", a.trace.pid);
	else
		printf("no engine runs: the next one is recorded from its beginning\n");
	gsb_answers_finish(&a);
	return err ? 1 : 0;
}

/* ---- sessions of LTTng ---- */

static int lttng(const struct gsb_trace_question *q)
{
	struct gsb_answers a;
	int err = gsb_ask_or_say(q->socket, GSB_QUERY_TRACE_LTTNG, q->engine, -1, &a);

	if (!err && !a.trace.pid)
		printf("no engine runs: those that start offer their events to LTTng, until gsbctl "
		       "trace stop: lttng enable-event -u 'gsb:*'\n");
	else if (!err)
		printf("engine %" PRIu32 "%s offers its events to LTTng: lttng enable-event -u "
		       "'gsb:*'\n",
		       a.trace.pid, q->engine ? "" : ", and each that starts later,");
	gsb_answers_finish(&a);
	return err ? 1 : 0;
}

/* Engines that start offer their events no more. False: nobody wanted that, or nobody can be asked. */
static bool take_lttng_back(const char *socket)
{
	struct gsb_answers a;
	int err = gsb_ask(socket, GSB_QUERY_TRACE_NO_LTTNG, 0, &a);
	bool wanted = !err && !a.end.error;

	gsb_answers_finish(&a);
	return wanted;
}

static int fail(const char *why)
{
	fprintf(stderr, "gsbctl: %s\n", why);
	return 1;
}

/* Where the broker is, written one way however it was asked for: the session is named after it. */
static int find_socket(const struct gsb_trace_question *q, char socket[PATH_MAX])
{
	char path[PATH_MAX];

	if (gsb_channel_path(q->socket, path, sizeof(path)))
		return fail("the socket's path is too long");
	if (!realpath(path, socket))
		strcpy(socket, path); /* nobody listens there; a session of his may go on */
	return 0;
}

static int start_session(const struct gsb_trace_question *q, bool flight)
{
	char why[GSB_LTTNG_WHY_MAX], dir[PATH_MAX], socket[PATH_MAX];

	if (find_socket(q, socket))
		return 1;
	if (mkdir(q->words[1], 0777) < 0 || !realpath(q->words[1], dir)) {
		fprintf(stderr, "gsbctl: the folder %s cannot be made: %s\n", q->words[1],
			strerror(errno));
		return 1;
	}
	if (lttng(q)) { /* it has said why */
		rmdir(dir);
		return 1;
	}
	if (gsb_lttng_start(socket, dir, flight, why)) {
		rmdir(dir);
		if (!gsb_lttng_is_on(socket)) /* one that goes on still wants them */
			take_lttng_back(socket);
		return fail(why);
	}
	printf(flight ? "gsbctl trace snapshot writes the newest events to %s\n"
		      : "LTTng writes to %s; gsbctl trace stop ends it\n",
	       dir);
	return 0;
}

static int start(const struct gsb_trace_question *q)
{
	return start_session(q, false);
}

static int flight(const struct gsb_trace_question *q)
{
	return start_session(q, true);
}

static int snapshot(const struct gsb_trace_question *q)
{
	char why[GSB_LTTNG_WHY_MAX], socket[PATH_MAX];

	if (find_socket(q, socket))
		return 1;
	return gsb_lttng_snapshot(socket, why) ? fail(why) : 0;
}

static int stop_session(const char *socket)
{
	char why[GSB_LTTNG_WHY_MAX];
	uint64_t n_lost;

	if (gsb_lttng_stop(socket, &n_lost, why))
		return fail(why);
	printf("the session of LTTng has ended, %" PRIu64 " event%s lost\n", n_lost,
	       plural(n_lost));
	return 0;
}

static int stop(const struct gsb_trace_question *q)
{
	char socket[PATH_MAX];
	struct gsb_answers a;
	bool wanted;
	int err;

	if (find_socket(q, socket))
		return 1;
	wanted = take_lttng_back(socket);
	if (gsb_lttng_is_on(socket))
		return stop_session(socket);
	if (wanted) {
		printf("engines that start do not offer their events to LTTng any more\n");
		return 0;
	}
	err = gsb_ask_or_say(q->socket, GSB_QUERY_TRACE_STOP, q->engine, -1, &a);
	if (!err && a.trace.pid)
		show_counts(&a.trace.state);
	else if (!err)
		printf("no engine is going to be recorded any more\n");
	gsb_answers_finish(&a);
	return err ? 1 : 0;
}

static void show_engine(const struct gsb_answer_engine *e)
{
	const struct gsb_ctl_trace_state *s = &e->status.trace;

	if (e->is_hidden)
		return;
	printf("engine %" PRIu32 " (%.127s): ", e->pid, e->device);
	if (e->error) {
		printf("not known: %s\n", strerror(-e->error));
		return;
	}
	if (s->lttng)
		printf("LTTng events gsb:*; ");
	if (s->recording)
		printf("recording: ");
	else if (s->error)
		printf("its recording has ended early: %s: ", strerror(-s->error));
	else if (s->n_bytes)
		printf("was recorded: ");
	else
		printf("not recorded: ");
	show_counts(s);
}

static int status(const struct gsb_trace_question *q)
{
	struct gsb_answers a;
	int err = gsb_ask_or_say(q->socket, GSB_QUERY_STATUS, 0, -1, &a);

	if (!err && a.broker.trace_waits)
		printf("the next engine is recorded from its beginning\n");
	if (!err && a.broker.lttng_waits)
		printf("engines that start offer their events to LTTng\n");
	for (unsigned i = 0; !err && i < a.n_engines; i++)
		if (!q->engine || a.engines[i]->pid == q->engine)
			show_engine(a.engines[i]);
	gsb_answers_finish(&a);
	return err ? 1 : 0;
}

/* ---- files ---- */

static int say_ending(const char *path, const struct gsb_trace_reader *r)
{
	uint64_t n_lost = gsb_trace_n_lost(r);

	if (n_lost)
		fprintf(stderr, "gsbctl: %s: %" PRIu64 " event%s lost in recording\n", path, n_lost,
			n_lost == 1 ? " was" : "s were");
	switch (gsb_trace_ending(r)) {
	case GSB_TRACE_COMPLETE: return 0;
	case GSB_TRACE_TORN:
		fprintf(stderr,
			"gsbctl: %s has no end: its engine still writes it, had no room for it, or was killed\n",
			path);
		return 0;
	default: fprintf(stderr, "gsbctl: %s is damaged from here on\n", path); return 1;
	}
}

static int dump(const struct gsb_trace_question *q)
{
	const char *path = q->words[1];
	char why[GSB_TRACE_WHY_MAX];
	struct gsb_trace_record rec;
	struct gsb_trace_reader *r;
	int n, result;

	if (gsb_trace_open(path, &r, why)) {
		fprintf(stderr, "gsbctl: %s: %s\n", path, why);
		return 1;
	}
	while ((n = gsb_trace_next(r, &rec)) > 0)
		gsb_trace_print(stdout, r, &rec);
	fflush(stdout);
	result = say_ending(path, r);
	if (n < 0 && n != -EBADMSG) {
		fprintf(stderr, "gsbctl: %s: %s\n", path, strerror(-n));
		result = 1;
	}
	gsb_trace_close(r);
	return result;
}

static void print_choice(const struct gsb_trace_choice *c)
{
	printf(" (");
	for (unsigned i = 0; i < c->n_values; i++)
		printf("%s%s", i ? ", " : "", c->values[i]);
	printf(")");
}

static void print_field(const struct gsb_trace_field *f)
{
	static const char *const types[GSB_N_TRACE_FIELD_TYPES] = {
		[GSB_TRACE_FIELD_U64] = "u64",	 [GSB_TRACE_FIELD_U32] = "u32",
		[GSB_TRACE_FIELD_I32] = "i32",	 [GSB_TRACE_FIELD_U16] = "u16",
		[GSB_TRACE_FIELD_U8] = "u8",	 [GSB_TRACE_FIELD_PICK] = "pick",
		[GSB_TRACE_FIELD_TEXT] = "text", [GSB_TRACE_FIELD_SERIALS] = "serials",
	};

	if (f->type == GSB_TRACE_FIELD_PAD)
		return;
	printf("    %-24s %-8s%s%s", f->name, types[f->type], *f->doc ? " " : "", f->doc);
	if (f->choice)
		print_choice(f->choice);
	printf("\n");
}

static int events(const struct gsb_trace_question *q)
{
	for (unsigned type = 1; type < GSB_N_TRACE_TYPES; type++) {
		const struct gsb_trace_event *e = gsb_trace_event(type);

		printf("%s%s: %s.\n", type > 1 ? "\n" : "", e->name, e->doc);
		for (unsigned i = 0; i < e->n_fields; i++)
			print_field(&e->fields[i]);
	}
	return 0;
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int n_words;
	int (*run)(const struct gsb_trace_question *q);
} verbs[] = {
	{"record", 2, record}, {"stop", 1, stop},     {"status", 1, status},
	{"start", 2, start},   {"flight", 2, flight}, {"snapshot", 1, snapshot},
	{"lttng", 1, lttng},   {"dump", 2, dump},     {"events", 1, events},
};

int gsb_trace_command(const struct gsb_trace_question *q)
{
	for (size_t i = 0; q->n_words && i < GSB_ARRAY_LEN(verbs); i++)
		if (!strcmp(q->words[0], verbs[i].name) && q->n_words == verbs[i].n_words)
			return verbs[i].run(q);
	fprintf(stderr,
		"gsbctl: trace takes one of: record FILE, start DIR, flight DIR, snapshot, stop, "
		"status, lttng, dump FILE, events\n");
	return GSB_WRONG_USAGE;
}
