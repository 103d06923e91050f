/*
 * gsbctl.c - what a broker is doing, for people and for programs; and asking it to reload or end.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/program.h"
#include "tools/ask.h"
#include "tools/cli.h"
#include "tools/events_command.h"
#include "tools/show.h"
#include "tools/top.h"
#include "tools/trace_command.h"

enum { STATUS, PS, TOTALS, TOP, EVENTS, TRACE, RELOAD, SHUTDOWN };

static const struct gsb_cli_command commands[] = {
	[STATUS] = {"status", "", "The broker and its engines."},
	[PS] = {"ps", "", "The tenants."},
	[TOTALS] = {"totals", "", "What tenants that have left had done, by name."},
	[TOP] = {"top", "", "The tenants, again and again."},
	[EVENTS] = {"events", "", "What an engine does, as it does it."},
	[TRACE] = {"trace", GSB_TRACE_COMMAND_ARGS, "Record what an engine does, and read it."},
	[RELOAD] = {"reload", "", "Read the configuration again."},
	[SHUTDOWN] = {"shutdown", "", "End now, or when the last tenant has left."},
	{NULL, NULL, NULL},
};

static const struct {
	enum gsb_query_what what;
	void (*show)(const struct gsb_answers *a);
	void (*show_json)(const struct gsb_answers *a);
} queries[] = {
	[STATUS] = {GSB_QUERY_STATUS, gsb_show_status, gsb_show_status_json},
	[PS] = {GSB_QUERY_STATUS, gsb_show_ps, gsb_show_ps_json},
	[TOTALS] = {GSB_QUERY_TOTALS, gsb_show_totals, gsb_show_totals_json},
	[RELOAD] = {GSB_QUERY_RELOAD, NULL, NULL},
	[SHUTDOWN] = {GSB_QUERY_SHUTDOWN, NULL, NULL},
};

enum { OPTION_DELAY = 256, OPTION_SORT, OPTION_EVENT }; /* without a letter */

static const struct gsb_cli_option options[] = {
	{{"socket", 's', "PATH", 0,
	  "where gsbrokerd listens; else $GSB_SOCKET, else the user's own, else " GSB_SOCKET_DEFAULT,
	  0},
	 0},
	{{"json", 'j', NULL, 0, "print one JSON object with every field; events: one a line", 0},
	 1u << STATUS | 1u << PS | 1u << TOTALS | 1u << EVENTS},
	{{"follow", 'f', NULL, 0, "until the engine ends", 0}, 1u << EVENTS},
	{{"tenant", 't', "NAME", 0, "only of tenants of that name, or of that number", 0},
	 1u << EVENTS},
	{{"event", OPTION_EVENT, "NAME,...", 0, "only these (gsbctl trace events lists them)", 0},
	 1u << EVENTS},
	{{"drain", 'd', NULL, 0, "admit nobody any more, and end when the last tenant has left", 0},
	 1u << SHUTDOWN},
	{{"batch", 'b', NULL, 0, "as plain text, one round behind the other", 0}, 1u << TOP},
	{{"rounds", 'n', "N", 0, "end after so many; else when it is ended", 0}, 1u << TOP},
	{{"delay", OPTION_DELAY, "SECONDS", 0, "between two rounds; default 1, at least 0.1", 0},
	 1u << TOP},
	{{"sort", OPTION_SORT, "KEY", 0,
	  "share, memory, queue, waited, slowdown, error, name or id; default share", 0},
	 1u << TOP},
	{{"engine", 'e', "PID", 0, "which engine, where more than one runs (gsbctl status)", 0},
	 1u << TRACE | 1u << EVENTS},
	{{NULL, 0, NULL, 0, NULL, 0}, 0},
};

struct question {
	const char *socket;
	struct gsb_top_question top;
	struct gsb_events_question events;
	enum gsb_query_what what;
	bool json, drain;
	uint32_t engine;
	void (*show)(const struct gsb_answers *a);
};

static int set_engine(struct question *q, const char *value)
{
	char *end;
	unsigned long pid;

	errno = 0;
	pid = strtoul(value, &end, 10);
	if (errno || !pid || *end || pid > INT32_MAX) {
		fprintf(stderr, "gsbctl: --engine %s: not a process number\n", value);
		return -1;
	}
	q->engine = (uint32_t)pid;
	return 0;
}

static int set_rounds(struct question *q, const char *value)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(value, &end, 10);
	if (errno || !n || *end || n > INT32_MAX || *value == '-') {
		fprintf(stderr, "gsbctl: --rounds %s: not a number from 1\n", value);
		return -1;
	}
	q->top.rounds = (unsigned)n;
	return 0;
}

static int set_delay(struct question *q, const char *value)
{
	char *end;
	double s = strtod(value, &end);

	if (end == value || *end || !(s * 1000 >= GSB_TOP_DELAY_MIN_MS) || s > 86400) {
		fprintf(stderr, "gsbctl: --delay %s: not a number of seconds from 0.1 to 86400\n",
			value);
		return -1;
	}
	q->top.delay_ms = (unsigned)(s * 1000 + 0.5);
	return 0;
}

static int set_sort(struct question *q, const char *value)
{
	if (!gsb_top_sort_find(value, &q->top.sort))
		return 0;
	fprintf(stderr,
		"gsbctl: --sort %s: must be share, memory, queue, waited, slowdown, error, name or id\n",
		value);
	return -1;
}

static int set_option(void *input, int key, char *value)
{
	struct question *q = input;

	switch (key) {
	case 's': q->socket = value; return 0;
	case 'j': q->json = true; return 0;
	case 'd': q->drain = true; return 0;
	case 'e': return set_engine(q, value);
	case 'b': q->top.batch = true; return 0;
	case 'n': return set_rounds(q, value);
	case OPTION_DELAY: return set_delay(q, value);
	case 'f': q->events.follow = true; return 0;
	case 't': q->events.tenant = value; return 0;
	case OPTION_EVENT: q->events.events = value; return 0;
	case OPTION_SORT: return set_sort(q, value);
	default: return -1;
	}
}

static int run(const struct question *a)
{
	struct gsb_answers answers = {0};
	int err = gsb_ask_or_say(a->socket, a->what,
				 a->drain ? GSB_SHUTDOWN_DRAIN : GSB_SHUTDOWN_NOW, -1, &answers);

	if (!err && a->show)
		a->show(&answers);
	gsb_answers_finish(&answers);
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct gsb_cli cli = {
		.name = "gsbctl",
		.doc = "See what a GPU broker is doing, reload it, end it."
		       "\vExit status: 0 done, 1 not done, 2 wrong usage. See gsbctl(1).",
		.commands = commands,
		.options = options,
		.set = set_option,
	};
	struct question q = {.top.delay_ms = GSB_TOP_DELAY_MS};
	struct gsb_cli_call call;

	gsb_program_init(cli.name, argv);
	gsb_cli_parse(&cli, argc, argv, &q, &call);
	if (call.command == TRACE)
		return gsb_trace_command(
			&(struct gsb_trace_question){q.socket, q.engine, call.words, call.n_words});
	if (call.n_words) {
		fprintf(stderr, "gsbctl: %s takes no argument: what is '%s'?\n",
			commands[call.command].name, call.words[0]);
		return GSB_WRONG_USAGE;
	}
	if (call.command == EVENTS) {
		q.events.socket = q.socket;
		q.events.engine = q.engine;
		q.events.json = q.json;
		return gsb_events_command(&q.events);
	}
	if (call.command == TOP) {
		q.top.socket = q.socket;
		return gsb_top_command(&q.top);
	}
	q.what = queries[call.command].what;
	q.show = q.json ? queries[call.command].show_json : queries[call.command].show;
	return run(&q);
}
